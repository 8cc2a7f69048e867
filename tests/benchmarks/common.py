"""What the benchmarks share: text to measure on, clocks, tables, peers and the command line.

Importing it also makes `bpe` and `reference` importable, wherever a script is started.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.metadata
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import bpe
import reference

__all__ = [
    "Action",
    "Table",
    "argument_parser",
    "ascii_only",
    "best_seconds",
    "bpe",
    "corpus_halves",
    "corpus_section",
    "encoding_seconds",
    "learned_rules",
    "machine_line",
    "peer",
    "python_name",
    "reference",
    "running",
    "seconds_of",
    "size_text",
    "standard_library_file",
    "standard_library_text",
    "tokens_of",
    "train_huggingface",
    "train_rustbpe",
]

# ---------------------------------------------------------------------------
# Text: the sources that come with Python, and the corpus of the tests
# ---------------------------------------------------------------------------

CORPUS = Path(__file__).resolve().parents[1] / "data" / "tokenizer_corpus.txt"
NOT_LIBRARY = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"}
MADE_BY_THE_BUILD = ("_sysconfigdata", "config-")  # these differ from machine to machine


def standard_library_text(size: int, leave_out: str = "") -> str:
    """Return the first `size` characters of the installed Python's own sources.

    They are joined in the order of their names, without tests, without packages added
    later, and without the file `leave_out`.
    """
    parts: list[str] = []
    length = 0
    for name, path in _standard_library_files():
        if length >= size:
            break
        if name != leave_out:
            parts.append(path.read_text("utf-8", errors="replace"))
            length += len(parts[-1])
    return "".join(parts)[:size]


def standard_library_file(name: str) -> str:
    """Return one of those sources."""
    return dict(_standard_library_files())[name].read_text("utf-8")


def _standard_library_files() -> list[tuple[str, Path]]:
    root = Path(sysconfig.get_path("stdlib"))
    paths = (path.relative_to(root) for path in root.rglob("*.py"))
    return sorted(
        (path.as_posix(), root / path)
        for path in paths
        if not NOT_LIBRARY & {*path.parts} and not path.parts[0].startswith(MADE_BY_THE_BUILD)
    )


def ascii_only(text: str) -> str:
    """Return `text` without the characters that are not ASCII."""
    return text.encode("ascii", errors="ignore").decode("ascii")


def corpus_halves() -> tuple[str, str]:
    """Return the two halves of the tests' corpus: to train on, and held out."""
    training, held_out = CORPUS.read_text("utf-8").split("=== held out ===\n")
    return training, held_out


def corpus_section(half: str, name: str) -> str:
    """Return one section of a half, such as "prose"."""
    _, *named = re.split(r"^--- (.+) ---\n", half, flags=re.MULTILINE)
    return dict(zip(named[::2], named[1::2], strict=True))[name]


def learned_rules(text: str, vocab_size: int) -> list[bpe.Rule]:
    """Learn rules from `text` as one piece, which gives tokens that hold several words."""
    with running(f"learning {vocab_size:,} tokens"):
        return bpe.train(text, vocab_size)


def tokens_of(rules: Iterable[bpe.Rule]) -> list[bytes]:
    """Return the byte tokens and those that `rules` make: an alphabet for `ByteTokenizer`."""
    tokens = [bytes([byte]) for byte in range(256)]
    for (first, second), _ in rules:
        tokens.append(tokens[first] + tokens[second])
    return tokens


# ---------------------------------------------------------------------------
# Clocks
# ---------------------------------------------------------------------------

Action = Callable[[], object]


def seconds_of(action: Action) -> float:
    """Return how long `action` takes; what earlier ones left is cleared away before."""
    gc.collect()
    start = perf_counter()
    action()
    return perf_counter() - start


def best_seconds(actions: Sequence[Action], runs: int = 3) -> list[float]:
    """Return the best time of each action.

    They are run in turns, so that a busy moment of the machine strikes all of them: the
    ratio of two such times is steadier than that of two taken one after the other.
    """
    rounds = [[seconds_of(action) for action in actions] for _ in range(runs)]
    return [min(times) for times in zip(*rounds, strict=True)]


def encoding_seconds(
    tokenizer: bpe.BPETokenizer, text: str, runs: int = 3
) -> tuple[float, float, bpe.BPETokenizer]:
    """Return the times of a first pass over `text` and of a warm one, and the warm tokenizer.

    A first pass needs a tokenizer that has encoded nothing yet, so every run gets a copy of
    `tokenizer`, which itself stays as it is.
    """
    copies = [deepcopy(tokenizer) for _ in range(runs)]
    first_pass = min(seconds_of(partial(copy.encode_ordinary, text)) for copy in copies)
    [warm] = best_seconds([partial(copies[0].encode_ordinary, text)], runs)
    return first_pass, warm, copies[0]


# ---------------------------------------------------------------------------
# Tables and progress
# ---------------------------------------------------------------------------


@dataclass
class Table:
    """Rows under headings; printed, it is aligned text that is Markdown as well.

    `alignments` says for each heading on which side its column is flush: "<" or ">".
    """

    alignments: Mapping[str, str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        self.rows.append([cell.replace("|", r"\|") for cell in cells])

    def __str__(self) -> str:
        rows = [list(self.alignments), *self.rows]
        widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
        head, *body = (self._line(row, widths) for row in rows)
        return "\n".join([head, self._rule(widths), *body])

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        aligned = map("{:{}{}}".format, cells, self.alignments.values(), widths)
        return f"| {' | '.join(aligned)} |"

    def _rule(self, widths: Sequence[int]) -> str:
        marks = {"<": ":{}", ">": "{}:"}
        sides = [marks[side] for side in self.alignments.values()]
        lines = ["-" * (width - 1) for width in widths]
        return f"| {' | '.join(map(str.format, sides, lines))} |"


@contextmanager
def running(task: str) -> Iterator[None]:
    """Say on a terminal what runs now, and take it back afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    print(f"\r\x1b[K{task} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def size_text(size: int) -> str:
    """Return a number of bytes as one reads it: "500 KB", "4.7 MB"."""
    return f"{size / 1e6:.3g} MB" if size >= 999_500 else f"{size / 1e3:.3g} KB"


# ---------------------------------------------------------------------------
# Peers: other tokenizers, if they are installed
# ---------------------------------------------------------------------------


PEERS = ("tiktoken", "tokenizers", "rustbpe")


def peer(name: str) -> Any | None:
    """Return the module `name`, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def train_huggingface(documents: Sequence[str], pattern: str, vocab_size: int) -> Any:
    """Train Hugging Face's tokenizers, which must be installed, as `BPETokenizer` trains."""
    library = importlib.import_module("tokenizers")
    byte_level = library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = library.pre_tokenizers.Split(library.Regex(pattern), "isolated")
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence([split, byte_level])
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def train_rustbpe(documents: Sequence[str], pattern: str, vocab_size: int) -> None:
    """Train rustbpe, which must be installed, on the same."""
    tokenizer = importlib.import_module("rustbpe").Tokenizer()
    tokenizer.train_from_iterator(iter(documents), vocab_size, pattern=pattern)


# ---------------------------------------------------------------------------
# The command line, and the machine
# ---------------------------------------------------------------------------


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows --help and --quick."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="take smaller sizes, to see in some 15 seconds that everything works",
    )
    return parser


def machine_line() -> str:
    """Return what the numbers depend on: the processor, Python, and the peers' versions."""
    peers = ", ".join(f"{name} {_version(name)}" for name in PEERS)
    return f"Measured on: {_processor_name()}, {os.cpu_count()} cores; {python_name()}; {peers}."


def python_name() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor_name() -> str:
    try:
        description = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        description = ""
    found = re.search(r"^model name\s*:\s*(.+)$", description, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()
