"""How good `ByteTokenizer.estimate_token_count` is, for documents and alphabets of several kinds.

Every document is estimated with many seeds, and each estimate compared with the exact
count. "rmse" is the root mean square of the errors, in percent of that count; "bias" is
their mean, with its standard error: below two of these it may be chance. "covered" is how
many of the 95 % intervals hold the exact count. Beside it stands a simpler way, four chunks
at random places. The rows with the largest errors come first.

The aims: where no token is longer than a hundredth of the budget, a bias within 1 % (3 % at
a budget of 1,000) or two standard errors; at most 1.1 times the rmse of four chunks on even
documents, and half of it on uneven ones; at least 90 % covered.

No method can reach them everywhere. Where a small part holds most of the tokens, a sample
that misses it cannot know of it. A document that repeats itself is known better by one
chunk as long as what comes again than by many short ones; but the sample does not tell.
Tokens longer than a hundredth of the budget are broken wherever one looks.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

import common
import peers
from common import bpe, corpus_sections, running, standard_library_text, train_uncut

BUDGETS = (1_000, 5_000, 20_000)  # and half of the text
LEARNED_FROM = 600_000  # characters; the code document begins after them
OURS = ("rmse %", "bias %", "covered %")
FOUR_CHUNKS = ("four-chunk rmse %", "its bias %")
COLUMNS = ("document", "budget", *OURS, *FOUR_CHUNKS, "aims missed")
SINGLE_BYTES = [bytes([byte]) for byte in range(256)]


class Document(NamedTuple):
    """A text, the tokenizer that is to count its tokens, and whether all its parts are alike."""

    name: str
    tokenizer: bpe.ByteTokenizer
    text: bytes
    even: bool = True


# -- The documents ------------------------------------------------------------


def all_documents(size: int, learned: int, vocab_size: int) -> Iterator[Document]:
    """Yield documents of about `size` bytes, with alphabets learned from `learned` characters."""
    code = common.ascii_only(standard_library_text(learned))
    tokenizer = learned_from(code, vocab_size)
    kinds = make_documents(size)
    for name, text in kinds.items():
        yield Document(name, tokenizer, text, even=not name.startswith("mixed"))

    half = b" " * (size // 2)
    dense = random.Random(1).randbytes(size // 100)
    yield Document("a rare dense part", tokenizer, half + dense + half, even=False)

    generator = random.Random(1)
    log_tokenizer = learned_from(log_lines(6_000, generator), 4_000)
    lines = log_lines(size // 100, generator).encode("ascii")
    yield Document("log lines", log_tokenizer, lines[:size])
    mixed = kinds["code"][: size // 2] + lines[: size // 2]
    yield Document("half code, half log lines", log_tokenizer, mixed, even=False)

    spaces = learned_from(" " * (size // 2) + code[: size // 2], 4_000)
    text = b" " * size + kinds["code"][: size // 4]
    yield Document("spaces, then code", spaces, text, even=False)
    runs = bpe.ByteTokenizer(SINGLE_BYTES + [b"a" * length for length in range(2, 65)])
    yield Document("one letter, all its runs", runs, b"a" * size)
    yield _random_runs(size)
    yield _long_tokens(size)

    tokenizer = bpe.ByteTokenizer(peers.real_alphabet("cl100k_base")[:20_000])
    for name in ("code", "prose, random sentences", "mixed, short sections"):
        even = not name.startswith("mixed")
        yield Document(f"cl100k_base, {name}", tokenizer, kinds[name], even)


def learned_from(text: str, vocab_size: int) -> bpe.ByteTokenizer:
    """Return a tokenizer with the tokens that training on `text` gives."""
    return bpe.ByteTokenizer(train_uncut(text, vocab_size).vocab.values())


def log_lines(number: int, generator: random.Random) -> str:
    """Return lines as a web service writes them."""
    date = "2026-11-{:02} 12:{:02}:{:02}"
    request = "GET /api/v1/users/{:04}/profile HTTP/1.1 200"
    line = f"{date} INFO [worker-{{}}] com.example.service.UserController - {request}\n"
    limits = (30, 60, 60, 10, 10_000)
    return "".join(line.format(*map(generator.randrange, limits)) for _ in range(number))


def _random_runs(size: int) -> Document:
    """Return runs of eight letters, 40 on average, and all runs up to 64 as tokens."""
    letters = [b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"]
    generator = random.Random(1)
    drawn = (
        generator.choice(letters) * int(generator.expovariate(1 / 40) + 1)
        for _ in range(size // 20)
    )
    tokens = SINGLE_BYTES + [letter * length for length in range(2, 65) for letter in letters]
    return Document("random runs of letters", bpe.ByteTokenizer(tokens), b"".join(drawn)[:size])


def _long_tokens(size: int) -> Document:
    """Return a text of eight paragraphs of 2,000 random letters, each of which is one token."""
    generator = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz "
    paragraphs = ["".join(generator.choices(letters, k=2_000)) for _ in range(8)]
    learned = train_uncut("".join(generator.choices(paragraphs, k=60)), 256 + 8 * 2_000)
    tokens = [token for token in learned.vocab.values() if len(token) <= 2_000]
    text = "".join(generator.choices(paragraphs, k=size // 2_000))
    return Document("tokens of 2,000 bytes", bpe.ByteTokenizer(tokens), text.encode("ascii"))


def make_documents(size: int) -> dict[str, bytes]:
    """Return documents of about `size` bytes: six kinds, and two that mix them."""
    generator = random.Random(1)
    paragraphs = _paragraphs()
    sentences = re.split(r"(?<=[.!?]) ", " ".join(paragraphs).replace("\n", " "))
    rounds = range(0, size, len("\n\n".join(paragraphs)) + 2)
    texts = {
        "code": common.ascii_only(standard_library_text(LEARNED_FROM + size)[LEARNED_FROM:]),
        "prose, random sentences": " ".join(generator.choices(sentences, k=size // 20)),
        "prose, repeated paragraphs": "\n\n".join(
            "\n\n".join(generator.sample(paragraphs, len(paragraphs))) for _ in rounds
        ),
        "numbers": "".join(_table_row(number, generator) for number in range(size // 40)),
    }
    kinds = {name: text.encode("utf-8")[:size] for name, text in texts.items()}
    kinds["base64"] = base64.encodebytes(generator.randbytes(size * 3 // 4))
    kinds["random bytes"] = generator.randbytes(size)
    long_sections = _long_sections(kinds, size, generator)
    short_sections = _short_sections(list(kinds.values()), size, generator)
    return kinds | {"mixed, long sections": long_sections, "mixed, short sections": short_sections}


def _paragraphs() -> list[str]:
    """Return the English of this project: of its corpus and its sample."""
    paragraphs = bpe.SAMPLE_EN.splitlines()
    for sections in map(corpus_sections, common.corpus_halves()):
        for name in ("prose", "dialogue"):
            paragraphs += sections[name].strip().split("\n\n")
    return paragraphs


def _table_row(number: int, generator: random.Random) -> str:
    """Return a number, a date, a price and a measurement."""
    day, month = generator.randint(1, 28), generator.randint(1, 12)
    price, measured = generator.uniform(0, 9999), generator.gauss(0, 1)
    return f"{number:6} 2024-{month:02}-{day:02} {price:9.2f} {measured:11.8f}\n"


def _long_sections(kinds: Mapping[str, bytes], size: int, generator: random.Random) -> bytes:
    """Return half prose, then less and less of the other kinds."""
    names = ("prose, random sentences", "code", "base64", "numbers", "random bytes")
    shares = zip(names, (50, 25, 15, 7, 3), strict=True)  # percent
    return b"".join(_section(kinds[name], size * share // 100, generator) for name, share in shares)


def _short_sections(kinds: list[bytes], size: int, generator: random.Random) -> bytes:
    """Return sections of any kind, from 200 bytes to 20 KB."""
    document = b""
    while len(document) < size:
        length = int(200 * 100 ** generator.random())
        document += _section(generator.choice(kinds), length, generator)
    return document[:size]


def _section(document: bytes, length: int, generator: random.Random) -> bytes:
    start = generator.randrange(len(document) - length + 1)
    return document[start : start + length]


# -- The estimates ------------------------------------------------------------


class Errors:
    """How far estimates are from the exact count, in percent of it."""

    def __init__(self, estimates: Iterable[float], exact: int) -> None:
        errors = [100 * (estimate / exact - 1) for estimate in estimates]
        self.rmse = sqrt(fmean(error * error for error in errors))
        self.bias = fmean(errors)
        self.standard_error = stdev(errors) / sqrt(len(errors))

    def cells(self) -> tuple[str, str]:
        return f"{self.rmse:.2f}", f"{self.bias:+.2f} ± {self.standard_error:.2f}"


class Row(NamedTuple):
    """How both ways did on one document with one budget."""

    document: Document
    budget: int
    longest_token: int  # of those that occur
    ours: Errors
    covered: float  # percent of the intervals
    four_chunks: Errors

    def cells(self) -> list[str | int]:
        measured = *self.ours.cells(), f"{self.covered:.0f}", *self.four_chunks.cells()
        return [self.document.name, self.budget, *measured, "; ".join(self.aims_missed()) or "-"]

    def aims_missed(self) -> Iterator[str]:
        bias_limit = max(3 if self.budget == BUDGETS[0] else 1, 2 * self.ours.standard_error)
        if self.longest_token * 100 <= self.budget and abs(self.ours.bias) > bias_limit:
            yield "bias"
        ratio = self.ours.rmse / max(self.four_chunks.rmse, 1e-9)
        if ratio > (1.1 if self.document.even else 0.5):
            yield f"{ratio:.2f} times the rmse of four chunks"
        if self.covered < 90:
            yield "covered"


def measure(document: Document, seeds: int) -> Iterator[Row]:
    """Measure both ways on a document, with every budget."""
    _, tokenizer, text, _ = document
    estimate = tokenizer.estimate_token_count_interval
    tokens = tokenizer.tokenize(text)
    longest = max(len(tokenizer.token_alphabet[token]) for token in set(tokens))
    for budget in (*BUDGETS, len(text) // 2):
        with running(f"{document.name}, {budget:,} bytes"):
            sampled = [estimate(text, budget, random.Random(seed), 0.95) for seed in range(seeds)]
            others = [four_chunks(document, budget, random.Random(seed)) for seed in range(seeds)]
        ours = Errors((estimate for estimate, _, _ in sampled), len(tokens))
        covered = 100 * fmean(low <= len(tokens) <= high for _, low, high in sampled)
        yield Row(document, budget, longest, ours, covered, Errors(others, len(tokens)))


def four_chunks(document: Document, budget: int, generator: random.Random) -> float:
    """Tokenize four chunks at random places, and take their tokens per byte for all."""
    chunks = [_section(document.text, budget // 4, generator) for _ in range(4)]
    count = sum(len(document.tokenizer.tokenize(chunk)) for chunk in chunks)
    return count * len(document.text) / sum(map(len, chunks))


def main() -> None:
    quick = common.argument_parser(__doc__).parse_args().quick
    seeds = 3 if quick else 150
    sizes = (60_000, 100_000, 3_000) if quick else (400_000, LEARNED_FROM, 10_256)
    rows = [row for document in all_documents(*sizes) for row in measure(document, seeds)]
    table = common.Table(COLUMNS)
    for row in sorted(rows, key=lambda row: row.ours.rmse, reverse=True):
        table.add(*row.cells())
    chance = f"chance alone moves the ratio of two rmses by some {100 / sqrt(seeds):.0f} %"
    print(table, f"{seeds} seeds for each row: {chance}. {common.machine_line()}", sep="\n\n")


if __name__ == "__main__":
    main()
