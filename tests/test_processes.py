"""Several processes: what they get at once is little, and they end when nobody waits for them."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import repeat
from operator import length_hint
from pathlib import Path

import pytest

import bpe
from bpe import BPETokenizer

ROOT = Path(bpe.__file__).parent
PROGRAM = """
import multiprocessing, sys
import bpe

def texts():
    yield from ["a" * bpe._BATCH_SIZE] * 3
    print("at work", flush=True)
    sys.stdin.read()

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    bpe.BPETokenizer(None).train(texts(), 300, workers=2)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_end_with_the_process_that_they_work_for(method: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, "program.py", method],
        cwd=tmp_path,
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"at work\n"
        process.kill()
        # What they hold of the pipe is closed when the last of them ends.
        assert process.communicate(timeout=60)[0] == b""


@pytest.mark.parametrize("text", ["", "a"])
def test_even_many_empty_texts_are_read_as_they_are_needed(text: str) -> None:
    texts = repeat(text, 200_000)
    ids = BPETokenizer().encode_batch(texts, workers=2)
    assert list(next(ids)) == list(text.encode())
    assert length_hint(texts) > 100_000
