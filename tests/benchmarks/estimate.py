"""How good `ByteTokenizer.estimate_token_count` is, for documents of several kinds.

Every document is estimated with many seeds, and each estimate compared with the exact
count. "rmse" is the root mean square of the errors, in percent of that count; "bias" is
their mean, with the standard error of this mean: a bias below two standard errors may be
chance. Beside it stands a simpler way, four chunks at random places.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Callable, Mapping
from math import hypot, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from common import (
    Table,
    argument_parser,
    ascii_only,
    bpe,
    corpus_halves,
    corpus_section,
    learned_rules,
    machine_line,
    running,
    standard_library_text,
    tokens_of,
)

BUDGETS = (5_000, 20_000)
LEARNED_FROM = 600_000  # characters; the code document begins after them
COLUMNS = {
    "document": "<",
    "budget": ">",
    "estimator rmse %": ">",
    "bias %": ">",
    "four-chunk rmse %": ">",
    "its bias %": ">",
}

Estimator = Callable[[bpe.ByteTokenizer, bytes, int, random.Random], int | float]


class Errors(NamedTuple):
    """What many estimates of one number are like, in percent of it."""

    rmse: float
    bias: float
    standard_error: float  # of the bias
    seeds: int

    def bias_text(self) -> str:
        return f"{self.bias:+.2f} ± {self.standard_error:.2f}"

    def uncertainty(self) -> float:
        """Return the standard error of the rmse, as it is for normal errors."""
        return self.rmse / sqrt(2 * self.seeds)


class Row(NamedTuple):
    """How both ways did on one document with one budget."""

    document: str
    budget: int
    estimator: Errors
    four_chunks: Errors


# ---------------------------------------------------------------------------
# The documents
# ---------------------------------------------------------------------------


def make_documents(size: int) -> dict[str, bytes]:
    """Return documents of about `size` bytes: six kinds, and two that mix them."""
    generator = random.Random(1)
    code = ascii_only(standard_library_text(LEARNED_FROM + size)[LEARNED_FROM:])
    kinds = {
        "code": code.encode("ascii"),
        "prose, random sentences": _random_sentences(size, generator),
        "prose, repeated paragraphs": _repeated_paragraphs(size, generator),
        "numbers": _numbers(size, generator),
        "base64": base64.encodebytes(generator.randbytes(size * 3 // 4)),
        "random bytes": generator.randbytes(size),
    }
    return {
        **kinds,
        "mixed, long sections": _long_sections(kinds, size, generator),
        "mixed, short sections": _short_sections(kinds, size, generator),
    }


def _paragraphs() -> list[str]:
    """Return the English of this project: of its corpus and its sample."""
    paragraphs = bpe.SAMPLE_EN.splitlines()
    for half in corpus_halves():
        paragraphs += corpus_section(half, "prose").strip().split("\n\n")
        paragraphs += corpus_section(half, "dialogue").strip().split("\n\n")
    return paragraphs


def _repeated_paragraphs(size: int, generator: random.Random) -> bytes:
    """Return all paragraphs over and over, each time in another order.

    They are so few that a chunk of 5,000 bytes holds more than half of them, which makes
    four chunks look better than they are on a document that does not repeat itself.
    """
    paragraphs = _paragraphs()
    text = ""
    while len(text) < size:
        text += "\n\n".join(generator.sample(paragraphs, len(paragraphs))) + "\n\n"
    return text.encode("utf-8")[:size]


def _random_sentences(size: int, generator: random.Random) -> bytes:
    """Return sentences of those paragraphs, each drawn anew."""
    text = " ".join(_paragraphs()).replace("\n", " ")
    sentences = re.split(r"(?<=[.!?]) ", text)
    return " ".join(generator.choices(sentences, k=size // 20)).encode("utf-8")[:size]


def _numbers(size: int, generator: random.Random) -> bytes:
    """Return the rows of a table: a number, a date, a price and a measurement."""
    rows: list[str] = []
    for number in range(size // 40):
        day, month = generator.randint(1, 28), generator.randint(1, 12)
        price, measured = generator.uniform(0, 9999), generator.gauss(0, 1)
        rows.append(f"{number:6} 2024-{month:02}-{day:02} {price:9.2f} {measured:11.8f}\n")
    return "".join(rows).encode("ascii")


def _long_sections(kinds: Mapping[str, bytes], size: int, generator: random.Random) -> bytes:
    """Return half prose, then less and less of the other kinds."""
    percent = {
        "prose, random sentences": 50,
        "code": 25,
        "base64": 15,
        "numbers": 7,
        "random bytes": 3,
    }
    return b"".join(
        _section(kinds[kind], size * share // 100, generator) for kind, share in percent.items()
    )


def _short_sections(kinds: Mapping[str, bytes], size: int, generator: random.Random) -> bytes:
    """Return sections of any kind, from 200 bytes to 20 KB."""
    document = b""
    while len(document) < size:
        length = int(200 * 100 ** generator.random())
        document += _section(generator.choice(list(kinds.values())), length, generator)
    return document[:size]


def _section(document: bytes, length: int, generator: random.Random) -> bytes:
    start = generator.randrange(len(document) - length + 1)
    return document[start : start + length]


# ---------------------------------------------------------------------------
# The estimates
# ---------------------------------------------------------------------------


def estimate(
    tokenizer: bpe.ByteTokenizer, text: bytes, budget: int, generator: random.Random
) -> int:
    return tokenizer.estimate_token_count(text, budget, generator)


def estimate_by_four_chunks(
    tokenizer: bpe.ByteTokenizer, text: bytes, budget: int, generator: random.Random
) -> float:
    """Tokenize four chunks at random places, and take their tokens per byte for all."""
    chunks = [_section(text, budget // 4, generator) for _ in range(4)]
    return (
        sum(len(tokenizer.tokenize(chunk)) for chunk in chunks) * len(text) / sum(map(len, chunks))
    )


def errors_of(
    estimator: Estimator, tokenizer: bpe.ByteTokenizer, text: bytes, budget: int, seeds: int
) -> Errors:
    """Estimate with each seed, and sum up how far the estimates are from the exact count."""
    exact = len(tokenizer.tokenize(text))
    errors = [
        100 * (estimator(tokenizer, text, budget, random.Random(seed)) / exact - 1)
        for seed in range(seeds)
    ]
    rmse = sqrt(fmean(error * error for error in errors))
    return Errors(rmse, fmean(errors), stdev(errors) / sqrt(seeds), seeds)


def measure(tokenizer: bpe.ByteTokenizer, documents: Mapping[str, bytes], seeds: int) -> list[Row]:
    """Measure both ways on every document with every budget."""
    rows = []
    for name, text in documents.items():
        for budget in BUDGETS:
            with running(f"{name}, {budget:,} bytes"):
                ours = errors_of(estimate, tokenizer, text, budget, seeds)
                theirs = errors_of(estimate_by_four_chunks, tokenizer, text, budget, seeds)
            rows.append(Row(name, budget, ours, theirs))
    return rows


# ---------------------------------------------------------------------------
# What is printed
# ---------------------------------------------------------------------------


def table_of(rows: list[Row]) -> Table:
    table = Table(COLUMNS)
    for row in rows:
        table.add(
            row.document,
            f"{row.budget:,}",
            f"{row.estimator.rmse:.2f}",
            row.estimator.bias_text(),
            f"{row.four_chunks.rmse:.2f}",
            row.four_chunks.bias_text(),
        )
    return table


def aims_text(rows: list[Row]) -> str:
    """Return each aim with the rows that do not meet it."""
    small, large = ([row for row in rows if row.budget == budget] for budget in BUDGETS)
    failing = {
        f"bias within 1 % at {BUDGETS[1]:,}": [
            f"{row.document} ({row.estimator.bias_text()})"
            for row in large
            if abs(row.estimator.bias) > 1
        ],
        f"rmse at most 3 % at {BUDGETS[1]:,}": _above(large, 3),
        f"rmse at most 8 % at {BUDGETS[0]:,}": _above(small, 8),
        "rmse never above that of four chunks": [
            _worse_text(row) for row in rows if row.estimator.rmse > row.four_chunks.rmse
        ],
    }
    lines = (
        f"- {aim}: {'not met by ' + '; '.join(names) if names else 'met'}"
        for aim, names in failing.items()
    )
    return "Aims:\n\n" + "\n".join(lines)


def _above(rows: list[Row], percent: float) -> list[str]:
    return [
        f"{row.document} ({row.estimator.rmse:.2f} ± {row.estimator.uncertainty():.2f})"
        for row in rows
        if row.estimator.rmse > percent
    ]


def _worse_text(row: Row) -> str:
    """Say by how much four chunks are better, and how much of it may be chance."""
    difference = row.estimator.rmse - row.four_chunks.rmse
    uncertainty = hypot(row.estimator.uncertainty(), row.four_chunks.uncertainty())
    return f"{row.document} at {row.budget:,} (by {difference:.2f} ± {uncertainty:.2f})"


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--seeds", type=int, help="how many estimates for each row (150)")
    arguments = parser.parse_args()
    seeds = max(arguments.seeds or (20 if arguments.quick else 150), 2)
    sample = ascii_only(standard_library_text(LEARNED_FROM // (6 if arguments.quick else 1)))
    alphabet = tokens_of(learned_rules(sample, 3_000 if arguments.quick else 10_256))
    documents = make_documents(100_000 if arguments.quick else 300_000)
    rows = measure(bpe.ByteTokenizer(alphabet), documents, seeds)
    source = f"{len(alphabet):,} learned tokens; {seeds} seeds for each row."
    print(table_of(rows), source, machine_line(), aims_text(rows), sep="\n\n")


if __name__ == "__main__":
    main()
