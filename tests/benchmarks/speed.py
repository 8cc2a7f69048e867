"""How fast everything is: the lab, BPETokenizer and ByteTokenizer.

One table. Each time is the best of several runs. A ratio compares two times that were
taken in turns in this same process: with the textbook's way of doing it (the tests' oracle
`reference`), with tiktoken, Hugging Face's tokenizers and rustbpe where they are installed,
or with half the text. The text is made of the sources that come with Python.
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, pairwise, product
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import NamedTuple

from common import (
    Action,
    Table,
    argument_parser,
    ascii_only,
    best_seconds,
    bpe,
    corpus_halves,
    corpus_section,
    encoding_seconds,
    learned_rules,
    machine_line,
    peer,
    reference,
    running,
    size_text,
    standard_library_text,
    tokens_of,
    train_huggingface,
    train_rustbpe,
)

COLUMNS = {"task": "<", "size": ">", "seconds": ">", "MB/s": ">", "ratio": "<", "aim": "<"}
PATTERNS = {"GPT-2": bpe.GPT2_SPLIT_PATTERN, "GPT-4": bpe.GPT4_SPLIT_PATTERN}
UNCUT_PATTERN = r"(?s).+"  # one piece, whatever the text is
STREAM_LENGTH = 300_000  # words; a third of them is more than a tokenizer remembers
GROWTH_LIMIT = 2.5  # twice the text may take this many times as long: "about twice"

# ---------------------------------------------------------------------------
# The report: measuring, and a row for each measurement
# ---------------------------------------------------------------------------


class Aim(NamedTuple):
    """What a row should reach, and whether it did."""

    text: str
    met: bool


class Rival(NamedTuple):
    """Another way to do the same. Its action is None where it is not installed.

    We should be `factor` times as fast; 0 stands for no aim.
    """

    name: str
    action: Action | None
    factor: float = 0
    runs: int = 5  # fewer for one that is slow


@dataclass
class Report:
    """The table, row by row. A quick run has smaller sizes, and the aims are not for those."""

    quick: bool
    table: Table = field(default_factory=lambda: Table(COLUMNS))
    missed: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def size(self, full: int) -> int:
        return full // 16 if self.quick else full

    def add(self, task: str, *cells: str, aim: Aim | None = None) -> None:
        """Add a row, and remember an aim that was not met."""
        if aim is None or self.quick:
            self.table.add(task, *cells, "-")
            return
        self.table.add(task, *cells, f"{aim.text}: {'met' if aim.met else 'not met'}")
        if not aim.met:
            self.missed.append(f"{task}: {aim.text}")

    def add_time(
        self, task: str, size: int, seconds: float, ratio: str = "-", aim: Aim | None = None
    ) -> None:
        """Add a row for `size` bytes that took `seconds`."""
        self.add(task, size_text(size), f"{seconds:.3f}", _rate(size, seconds), ratio, aim=aim)

    def measure(self, task: str, size: int, action: Action, limit: float, stated: str = "") -> None:
        """Measure what should take less than `limit` seconds, perhaps stated otherwise."""
        with running(task):
            [seconds] = best_seconds([action])
        aim = Aim(stated or f"less than {limit:g} s", seconds < limit)
        self.add_time(task, size, seconds, aim=aim)

    def compare(self, task: str, size: int, ours: Action, rival: Rival) -> None:
        """Measure `ours` and a rival in turns."""
        if rival.action is None:
            self.add_time(task, size, best_seconds([ours])[0], f"{rival.name} is not installed")
            return
        with running(f"{task}, beside {rival.name}"):
            seconds, rival_seconds = best_seconds([ours, rival.action], rival.runs)
            if rival.runs == 1:  # too slow to be run again, but ours is not
                seconds = min(seconds, *best_seconds([ours]))
        ratio = rival_seconds / seconds
        aim = Aim(_factor_text(rival.factor), ratio >= rival.factor) if rival.factor else None
        self.add_time(task, size, seconds, _ratio_text(ratio, rival.name), aim)

    def measure_growth(self, task: str, sizes: Sequence[int], actions: Sequence[Action]) -> None:
        """Measure a task on texts each of which is twice as long as the one before."""
        with running(task):
            times = best_seconds(actions, runs=2)
        factors = [longer / shorter for shorter, longer in pairwise(times)]
        self.add(
            task,
            " / ".join(f"{size / 1e6:.2g}" for size in sizes) + " MB",
            " / ".join(f"{seconds:.2g}" for seconds in times),
            _rate(sizes[-1], times[-1]),
            " and ".join(f"{factor:.1f}" for factor in factors) + " times when doubled",
            aim=Aim(f"at most {GROWTH_LIMIT} times", max(factors) <= GROWTH_LIMIT),
        )

    def summary(self) -> str:
        if self.quick:
            return "A quick run: the sizes are smaller than those the aims are for."
        missed = "\n".join(f"- {task}" for task in self.missed)
        return f"Aims that were not met:\n\n{missed}" if missed else "All aims were met."


def _rate(size: int, seconds: float) -> str:
    return f"{size / 1e6 / seconds:.2f}"


def _ratio_text(ratio: float, name: str) -> str:
    """Say who is faster."""
    if 0.995 < ratio < 1.005:
        return f"as fast as {name}"
    if ratio > 1:
        return f"{ratio:.3g} times as fast as {name}"
    return f"{name} is {1 / ratio:.3g} times as fast"


def _factor_text(factor: float) -> str:
    if factor == 1:
        return "at least as fast"
    if factor > 1:
        return f"at least {factor:g} times as fast"
    return f"at most {1 / factor:g} times as slow"


def doubled_sizes(report: Report) -> list[int]:
    """Return three sizes, each twice the one before, up to a million."""
    return [report.size(full) for full in (250_000, 500_000, 1_000_000)]


# ---------------------------------------------------------------------------
# The lab
# ---------------------------------------------------------------------------


def measure_lab(report: Report, rules: list[bpe.Rule]) -> None:
    """Measure `train` and `encode`, for which a text is one piece, however long it is."""
    text = ascii_only(standard_library_text(report.size(200_000)))
    _compare_with_textbook(report, text)
    learning = partial(bpe.train, text, 8192)
    report.measure("lab: train to 8,192", len(text), learning, limit=2)
    longer = ascii_only(standard_library_text(report.size(500_000)))
    encoding = partial(bpe.encode, longer, rules)
    report.measure(f"lab: encode with {len(rules):,} rules", len(longer), encoding, limit=1.5)
    for kind, texts in _uncut_texts(doubled_sizes(report)).items():
        _measure_growth_of_lab(report, kind, texts)


def _compare_with_textbook(report: Report, text: str) -> None:
    rules = bpe.train(text, 512)
    learning = Rival("the textbook", partial(reference.train, text, 512), factor=40, runs=1)
    report.compare("lab: train to 512", len(text), partial(bpe.train, text, 512), learning)
    encoding = Rival("the textbook", partial(reference.encode, text, rules), factor=25, runs=1)
    task = "lab: encode with those rules"
    report.compare(task, len(text), partial(bpe.encode, text, rules), encoding)


def _uncut_texts(sizes: Sequence[int]) -> dict[str, list[str]]:
    """Return kinds of text that no split pattern cuts, each at several sizes."""
    letters = "".join(random.Random(1).choices(ascii_lowercase, k=sizes[-1]))
    return {
        "the same letter": ["a" * size for size in sizes],
        "random letters": [letters[:size] for size in sizes],
    }


def _measure_growth_of_lab(report: Report, kind: str, texts: list[str]) -> None:
    sizes = list(map(len, texts))
    learning = [partial(bpe.train, text, 1024) for text in texts]
    report.measure_growth(f"lab: train to 1,024 on {kind}", sizes, learning)
    encoding = [partial(bpe.encode, text, bpe.train(text, 1024)) for text in texts]
    report.measure_growth(f"lab: encode {kind}", sizes, encoding)


# ---------------------------------------------------------------------------
# BPETokenizer
# ---------------------------------------------------------------------------


def measure_tokenizer(report: Report) -> None:
    """Measure `BPETokenizer` under two patterns, encoding text that it did not learn from."""
    size = report.size(4_700_000)
    text = standard_library_text(2 * size)
    learned, unseen = text[:size], ascii_only(text[size:])
    for name in PATTERNS:
        tokenizer = _measure_training(report, name, learned.splitlines(keepends=True))
        _measure_first_pass(report, f"{name} pattern, learned from", tokenizer, learned)
        _measure_encoding(report, f"{name} pattern, ASCII", tokenizer, unseen)
        _measure_encoding(report, f"{name} pattern, mixed", tokenizer, mixed_text(unseen))
    _measure_growth_of_tokenizer(report, tokenizer)
    _measure_memory(report)


def _measure_training(report: Report, name: str, lines: list[str]) -> bpe.BPETokenizer:
    """Measure training to two sizes, and return the tokenizer of the larger one."""
    size = sum(len(line.encode("utf-8")) for line in lines)
    tokenizer = bpe.BPETokenizer(PATTERNS[name])
    for vocab_size in (8_192, 32_768):
        ours = partial(tokenizer.train, lines, vocab_size)
        for rival in _training_rivals(lines, PATTERNS[name], vocab_size):
            report.compare(f"{name} pattern: train to {vocab_size:,}", size, ours, rival)
        if 256 + len(tokenizer.merges) < vocab_size:
            reached = f"{256 + len(tokenizer.merges):,} tokens no pair occurs twice"
            report.remarks.append(f"{name} pattern, training to {vocab_size:,}: after {reached}.")
    return tokenizer


def _training_rivals(lines: list[str], pattern: str, vocab_size: int) -> list[Rival]:
    huggingface = partial(train_huggingface, lines, pattern, vocab_size)
    rustbpe = partial(train_rustbpe, lines, pattern, vocab_size)
    return [
        Rival("tokenizers", huggingface if peer("tokenizers") else None, factor=1, runs=2),
        Rival("rustbpe", rustbpe if peer("rustbpe") else None, runs=2),
    ]


def _measure_encoding(report: Report, name: str, tokenizer: bpe.BPETokenizer, text: str) -> None:
    """Measure a first pass over `text`, warm passes beside the peers, and decoding."""
    size = len(text.encode("utf-8"))
    tokenizer = _measure_first_pass(report, name, tokenizer, text)
    ids = tokenizer.encode_ordinary(text)
    ours = partial(tokenizer.encode_ordinary, text)
    ranks, pattern = tokenizer.mergeable_ranks(), str(tokenizer.pattern)
    aim_beside_tiktoken = 1 if text.isascii() else 0.5
    for rival in (
        _tiktoken(ranks, pattern, text, ids, aim_beside_tiktoken),
        _huggingface(tokenizer, text, ids),
    ):
        report.compare(f"{name}: encode, warm", size, ours, rival)
    decoding = partial(tokenizer.decode, ids)
    report.measure(f"{name}: decode", size, decoding, size / 30e6, "at least 30 MB/s")


def _measure_first_pass(
    report: Report, name: str, tokenizer: bpe.BPETokenizer, text: str
) -> bpe.BPETokenizer:
    """Measure a first pass over `text` beside a warm one, and return the warm tokenizer."""
    task = f"{name}: encode, first pass"
    with running(task):
        first_pass, warm, tokenizer = encoding_seconds(tokenizer, text)
    longer = f"{first_pass / warm:.2f} times as long as warm"
    aim = Aim("at most 2 times as long", first_pass <= 2 * warm)
    report.add_time(task, len(text.encode("utf-8")), first_pass, longer, aim)
    return tokenizer


def _tiktoken(
    ranks: dict[bytes, int], pattern: str, text: str, ids: list[int], factor: float = 0
) -> Rival:
    """Return tiktoken's way to encode `text`, which must give the same `ids`."""
    tiktoken = peer("tiktoken")
    if tiktoken is None:
        return Rival("tiktoken", None)
    encoding = tiktoken.Encoding(
        "learned", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
    )
    _require_same(encoding.encode_ordinary(text), ids, "tiktoken")
    return Rival("tiktoken", partial(encoding.encode_ordinary, text), factor)


def _huggingface(tokenizer: bpe.BPETokenizer, text: str, ids: list[int]) -> Rival:
    """Return Hugging Face's way to encode `text`, which must give the same `ids`."""
    tokenizers = peer("tokenizers")
    if tokenizers is None:
        return Rival("tokenizers", None)
    with TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        tokenizer.to_huggingface(path)
        loaded = tokenizers.Tokenizer.from_file(str(path))

    def encode() -> list[int]:
        return list(loaded.encode(text).ids)

    _require_same(encode(), ids, "tokenizers")
    return Rival("tokenizers", encode, factor=5, runs=1)


def _require_same(theirs: Sequence[int], ours: Sequence[int], name: str) -> None:
    """Refuse to compare the times of different results."""
    if list(theirs) != list(ours):
        raise SystemExit(f"{name} gives other token ids: the times cannot be compared")


def mixed_text(text: str) -> str:
    """Return the lines of `text` with a sentence in another script after every sixth."""
    generator = random.Random(1)
    sentences = _foreign_sentences()
    lines = []
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        lines.append(line)
        if number % 6 == 0:
            lines.append(generator.choice(sentences) + "\n")
    return "".join(lines)


def _foreign_sentences() -> list[str]:
    """Return Korean, Chinese and Russian sentences, and messages with emoji."""
    held_out = corpus_halves()[1]
    korean = bpe.SAMPLE_KO.split(". ")
    chinese = corpus_section(held_out, "chinese").replace("\n", "").split("。")
    russian = corpus_section(held_out, "other scripts").splitlines()[:1]
    emoji = corpus_section(held_out, "emoji").splitlines()
    return list(filter(None, [*korean, *chinese, *russian * 5, *emoji]))


def _measure_growth_of_tokenizer(report: Report, tokenizer: bpe.BPETokenizer) -> None:
    sizes = doubled_sizes(report)
    texts = {**_uncut_texts(sizes), "spaces": [" " * size for size in sizes]}
    for kind, several in texts.items():
        encoding = [partial(tokenizer.encode_ordinary, text) for text in several]
        report.measure_growth(f"GPT-4 pattern: encode one piece, {kind}", sizes, encoding)


def _measure_memory(report: Report) -> None:
    """See whether memory keeps growing while ever new words are encoded.

    An untrained tokenizer remembers words as any other does, and is traced faster.
    """
    task = "untrained: encode ever new words"
    with running(task):
        first, _, last = _peaks_of_memory(bpe.BPETokenizer())
    growth = f"peak memory {first / 1e6:.1f} MB in the first third, {last / 1e6:.1f} in the last"
    aim = Aim("at most 5 % more", last <= 1.05 * first)
    report.add(task, f"{STREAM_LENGTH:,} words", "-", "-", growth, aim=aim)


def _peaks_of_memory(tokenizer: bpe.BPETokenizer) -> list[int]:
    """Return the most memory taken, in bytes, in each third of a stream of words."""
    words = map("".join, product(ascii_lowercase, repeat=7))
    peaks = []
    tracemalloc.start()
    for _ in range(3):
        tracemalloc.reset_peak()
        for _ in range(STREAM_LENGTH // 3_000):
            tokenizer.encode_ordinary(" ".join(islice(words, 1_000)))
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return peaks


# ---------------------------------------------------------------------------
# ByteTokenizer
# ---------------------------------------------------------------------------


def measure_alphabet(report: Report, rules: list[bpe.Rule]) -> None:
    """Measure `ByteTokenizer` with learned tokens, and setting up many more."""
    alphabet = tokens_of(rules)
    tokenizer = bpe.ByteTokenizer(alphabet)
    text = ascii_only(standard_library_text(report.size(500_000))).encode("ascii")
    task = f"ByteTokenizer: tokenize with {len(alphabet):,} tokens"
    ours = partial(tokenizer.tokenize, text)
    report.measure(task, len(text), ours, limit=1)
    for rival in _alphabet_rivals(alphabet, text, tokenizer.tokenize(text)):
        report.compare(task, len(text), ours, rival)
    _measure_set_up(report)
    _measure_growth_of_alphabet(report, tokenizer)


def _alphabet_rivals(alphabet: list[bytes], text: bytes, ids: list[int]) -> list[Rival]:
    linked_list = reference.LinkedListTokenizer(alphabet)
    ranks = {token: rank for rank, token in enumerate(alphabet)}
    uncut = text.decode("ascii")
    return [
        Rival("the linked list", partial(linked_list.tokenize, text), factor=3, runs=2),
        _tiktoken(ranks, UNCUT_PATTERN, uncut, ids, factor=1 / 4),
    ]


def _measure_set_up(report: Report) -> None:
    alphabet = made_up_alphabet(report.size(100_000))
    size = sum(map(len, alphabet))
    mean = f"{size / len(alphabet):.1f} bytes each"
    task = f"ByteTokenizer: set up {len(alphabet):,} tokens, {mean}"
    report.measure(task, size, partial(bpe.ByteTokenizer, alphabet), limit=2)


def made_up_alphabet(size: int) -> list[bytes]:
    """Return an alphabet of parts of words, in which every token has all its splits."""
    text = ascii_only(standard_library_text(120 * size))
    words = (word.encode("ascii") for word in dict.fromkeys(text.split()) if len(word) <= 16)
    parts: dict[bytes, None] = {}
    for word in words:
        if len(parts) >= size:
            break
        for start in range(len(word) - 1):
            parts |= dict.fromkeys(word[start:stop] for stop in range(start + 2, len(word) + 1))
    return [bytes([byte]) for byte in range(256)] + sorted(parts, key=len)[: size - 256]


def _measure_growth_of_alphabet(report: Report, tokenizer: bpe.ByteTokenizer) -> None:
    sizes = doubled_sizes(report)
    noise = random.Random(1).randbytes(sizes[-1])
    texts = {
        "equal bytes": [b" " * size for size in sizes],
        "random bytes": [noise[:size] for size in sizes],
    }
    for kind, several in texts.items():
        actions = [partial(tokenizer.tokenize, text) for text in several]
        report.measure_growth(f"ByteTokenizer: tokenize {kind}", sizes, actions)


# ---------------------------------------------------------------------------


def main() -> None:
    arguments = argument_parser(__doc__).parse_args()
    report = Report(arguments.quick)
    sample = ascii_only(standard_library_text(report.size(600_000)))
    rules = learned_rules(sample, 256 + report.size(10_000))
    measure_lab(report, rules)
    measure_tokenizer(report)
    measure_alphabet(report, rules)
    print(report.table, machine_line(), *report.remarks, report.summary(), sep="\n\n")


if __name__ == "__main__":
    main()
