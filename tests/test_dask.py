"""Many machines: pre-tokens counted with dask give the rules that `train` gives.

`train_with_dask` is the whole of it, to be copied. A script calls it after
`if __name__ == "__main__":`, as dask starts other processes, which import the script.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import bpe
from bpe import BPETokenizer

pytest.importorskip("dask.bag", reason="dask is not installed")
import dask
import dask.bag
from dask.distributed import Client

VOCAB_SIZE = 1000
SOURCES = ["_collections_abc.py", "argparse.py", "heapq.py", "textwrap.py", "typing.py"]


def train_with_dask(
    tokenizer: BPETokenizer, documents: dask.bag.Bag, vocab_size: int
) -> BPETokenizer:
    """Count the pre-tokens of `documents` where dask holds them, and learn from the counts here."""
    counts = documents.map(tokenizer.pretokenize).flatten().frequencies()
    return tokenizer.train_from_counts(dict(counts.compute()), vocab_size)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Some real files: Python's sources, prose in two languages, one with special tokens."""
    folder = tmp_path_factory.mktemp("corpus")
    for name in SOURCES:
        shutil.copy(Path(shutil.__file__).with_name(name), folder / f"{name}.txt")
    shutil.copy(Path(__file__).parent / "data" / "tokenizer_corpus.txt", folder)
    samples = [bpe.SAMPLE_KO, bpe.SAMPLE_EN] * 3
    (folder / "samples.txt").write_text("<|end|>".join(samples), encoding="utf-8")
    return sorted(folder.iterdir())


@pytest.fixture(params=["threads", "processes", "cluster"])
def scheduler(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run dask in this process, in others, or as it runs on many machines."""
    if request.param != "cluster":
        with dask.config.set(scheduler=request.param, num_workers=2):
            yield
        return
    with Client(n_workers=2, threads_per_worker=2, dashboard_address=None):
        yield


def untrained() -> BPETokenizer:
    return BPETokenizer(special_tokens=["<|end|>"])


@pytest.mark.usefixtures("scheduler")
def test_whole_files(paths: list[Path]) -> None:
    files = dask.bag.from_sequence(paths).map(Path.read_text, encoding="utf-8")
    trained = train_with_dask(untrained(), files, VOCAB_SIZE)
    expected = untrained().train([path.read_text(encoding="utf-8") for path in paths], VOCAB_SIZE)
    assert len(trained.merges) == VOCAB_SIZE - 256
    assert list(trained.merges.items()) == list(expected.merges.items())
    assert trained.special_tokens == expected.special_tokens == {"<|end|>": VOCAB_SIZE}


@pytest.mark.usefixtures("scheduler")
def test_lines(paths: list[Path]) -> None:
    lines = dask.bag.read_text(list(map(str, paths)), encoding="utf-8")
    trained = train_with_dask(untrained(), lines, VOCAB_SIZE)
    opened = [path.open(encoding="utf-8") for path in paths]
    expected = untrained().train(chain.from_iterable(opened), VOCAB_SIZE)
    for file in opened:
        file.close()
    assert list(trained.merges.items()) == list(expected.merges.items())
