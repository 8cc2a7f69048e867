"""More than one process: the same rules and ids, read as needed; each ends, whatever happens."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import repeat
from operator import length_hint
from pathlib import Path

import pytest

import bpe
from bpe import GPT2_SPLIT_PATTERN, BPETokenizer

ROOT = Path(bpe.__file__).parent
DOCUMENTS = [bpe.SAMPLE_EN, bpe.SAMPLE_KO, "<|end|>", "", "a  b\n\n" * 40, bpe.SAMPLE_EN[::-1]] * 3


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe, "_BATCH_SIZE", 500)


def state(tokenizer: BPETokenizer) -> tuple[object, ...]:
    return list(tokenizer.merges.items()), tokenizer.vocab, tokenizer.special_tokens


class TestTraining:
    @pytest.mark.parametrize(
        "text", [DOCUMENTS, "".join(DOCUMENTS), []], ids=["documents", "text", "nothing"]
    )
    @pytest.mark.parametrize("pattern", [(r"\p{N}", GPT2_SPLIT_PATTERN), bpe.GPT4_SPLIT_PATTERN])
    def test_rules_do_not_depend_on_the_workers(
        self, text: str | list[str], pattern: str | tuple[str, ...]
    ) -> None:
        one = BPETokenizer(pattern, ["<|end|>"]).train(text, 400)
        two = BPETokenizer(pattern, ["<|end|>"]).train(text, 400, workers=2)
        assert state(two) == state(one)
        assert state(two.extend(DOCUMENTS, 420, workers=2)) == state(one.extend(DOCUMENTS, 420))

    def test_text_is_composed_there_too(self, tmp_path: Path) -> None:
        BPETokenizer(special_tokens=["<|e|>"]).save(tmp_path / "t.json")
        text = (tmp_path / "t.json").read_text()
        text = text.replace('"normalization": null', '"normalization": "NFC"')
        (tmp_path / "t.json").write_text(text)
        one, two = (BPETokenizer.from_file(tmp_path / "t.json") for _ in range(2))
        documents = ["e\u0301te\u0301 "] * 9
        assert state(two.train(documents, 300, workers=2)) == state(one.train(documents, 300))
        assert one.merges[195, 169] == 256

    def test_progress_tells_of_all_that_was_read(self) -> None:
        calls: list[tuple[int, int]] = []
        BPETokenizer().train(DOCUMENTS, 260, lambda *call: calls.append(call), workers=2)
        read = [done for done, total in calls if total == 0]
        assert read == sorted(set(read))
        assert sum(map(len, DOCUMENTS)) - 500 <= read[-1] <= sum(map(len, DOCUMENTS))
        assert calls[len(read) :] == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def test_documents_are_read_as_needed_and_not_held(self) -> None:
        for workers in (1, 2):
            alive, most = Document.alive, 0

            def documents() -> Iterator[str]:
                nonlocal most
                for number in range(200):
                    most = max(most, Document.alive - alive)  # noqa: B023
                    yield Document(f"document {number} " * 20)

            BPETokenizer().train(documents(), 260, workers=workers)
            assert 0 < most < 50


class Document(str):
    """A string that is counted as long as it is held."""

    alive = 0

    def __init__(self, *_: object) -> None:
        Document.alive += 1

    def __del__(self) -> None:
        Document.alive -= 1

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class TestEncoding:
    def test_ids_come_in_order_and_are_those_of_one(self) -> None:
        tokenizer = BPETokenizer(special_tokens=["<|end|>"]).train(DOCUMENTS, 400)
        wanted = [tokenizer.encode(text) for text in DOCUMENTS]
        assert [list(ids) for ids in tokenizer.encode_batch(DOCUMENTS, workers=2)] == wanted
        ordinary = [tokenizer.encode_ordinary(text) for text in DOCUMENTS]
        batch = tokenizer.encode_batch(iter(DOCUMENTS), workers=2, allowed_special="none")
        assert [list(ids) for ids in batch] == ordinary

    def test_texts_are_read_as_they_are_needed(self) -> None:
        read = 0

        def texts() -> Iterator[str]:
            nonlocal read
            for _ in range(1000):
                read += 1
                yield "some words " * 50  # more than a batch

        ids = BPETokenizer().encode_batch(texts(), workers=2)
        assert read == 0
        next(ids)
        assert 0 < read < 10
        for _ in range(100):
            next(ids)
        assert 100 < read < 110
        del ids
        assert not multiprocessing.active_children()

    def test_even_many_empty_texts_are_read_as_they_are_needed(self) -> None:
        texts = repeat("", 200_000)
        ids = BPETokenizer().encode_batch(texts, workers=2)
        assert list(next(ids)) == []
        assert length_hint(texts) > 100_000


def learn(tokenizer: BPETokenizer, documents: Iterator[str]) -> None:
    tokenizer.train(documents, 300, workers=2)


def learn_more(tokenizer: BPETokenizer, documents: Iterator[str]) -> None:
    tokenizer.extend(documents, 300, workers=2)


def encode(tokenizer: BPETokenizer, documents: Iterator[str]) -> None:
    list(tokenizer.encode_batch(documents, workers=2))


class TestWhatGoesWrong:
    @pytest.mark.parametrize("call", [learn, learn_more, encode])
    def test_a_fault_of_the_iterable_is_the_callers(
        self, call: Callable[[BPETokenizer, Iterator[str]], None]
    ) -> None:
        def documents() -> Iterator[str]:
            yield from DOCUMENTS
            raise LookupError("no more")

        tokenizer = BPETokenizer().train("abab", 257)
        with pytest.raises(LookupError, match="no more"):
            call(tokenizer, documents())
        assert state(tokenizer) == state(BPETokenizer().train("abab", 257))
        assert not multiprocessing.active_children()

    @pytest.mark.parametrize("call", [learn, learn_more, encode])
    def test_a_worker_that_dies_is_said(
        self, call: Callable[[BPETokenizer, Iterator[str]], None]
    ) -> None:
        def documents() -> Iterator[str]:
            yield from DOCUMENTS
            for child in multiprocessing.active_children():
                child.kill()
                child.join()
            yield from DOCUMENTS

        tokenizer = BPETokenizer().train("abab", 257)
        with pytest.raises(RuntimeError, match="a worker process ended before its work was done"):
            call(tokenizer, documents())
        assert state(tokenizer) == state(BPETokenizer().train("abab", 257))

    def test_nothing_is_left_of_a_pool_with_a_dead_worker(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also if all that is done here comes between two jobs that the pool marks as failed."""
        done_here = threading.Event()
        fail, shutdown = Future.set_exception, ProcessPoolExecutor.shutdown

        def fail_and_wait(job: Future[None], fault: BaseException) -> None:
            fail(job, fault)
            done_here.wait(20)

        def shut_down(pool: ProcessPoolExecutor, *arguments: bool, **options: bool) -> None:
            done_here.set()
            shutdown(pool, *arguments, **options)

        def jobs() -> Iterator[int]:
            yield from [30] * 4  # seconds: two are begun, one is on its way, one waits here
            multiprocessing.active_children()[0].kill()
            yield 30

        monkeypatch.setattr(Future, "set_exception", fail_and_wait)
        monkeypatch.setattr(ProcessPoolExecutor, "shutdown", shut_down)
        monkeypatch.setattr("concurrent.futures.process.EXTRA_QUEUED_CALLS", -1)
        threads = threading.active_count()
        with pytest.raises(RuntimeError, match="a worker process ended"):
            list(bpe._in_processes(time.sleep, jobs(), workers=2))
        assert not multiprocessing.active_children()
        assert threading.active_count() == threads

    def test_what_a_worker_refuses_is_raised_here(self) -> None:
        with pytest.raises(UnicodeEncodeError):
            BPETokenizer().train(["a" * 999, "b\ud800"], 300, workers=2)
        tokenizer = BPETokenizer(special_tokens=["<|end|>"])
        batch = tokenizer.encode_batch(DOCUMENTS, workers=2, allowed_special="none_raise")
        with pytest.raises(ValueError, match="at position 0"):
            list(batch)
        with pytest.raises(TypeError, match="text must be str, not bytes"):
            list(tokenizer.encode_batch(["a", b"b"], workers=2))  # type: ignore[list-item]

    @pytest.mark.parametrize("workers", [0, -1])
    def test_less_than_one_is_refused(self, workers: int) -> None:
        for call in (
            lambda: BPETokenizer().train("a", 300, workers=workers),
            lambda: BPETokenizer().extend("a", 300, workers=workers),
            lambda: list(BPETokenizer().encode_batch(["a"], workers=workers)),
        ):
            with pytest.raises(ValueError, match=f"workers is {workers}, but must be at least 1"):
                call()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_however_processes_start(method: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import multiprocessing, sys
sys.path.insert(0, {str(ROOT)!r})
import bpe
if __name__ == "__main__":
    multiprocessing.set_start_method({method!r})
    bpe._BATCH_SIZE = 500
    documents = [bpe.SAMPLE_EN, bpe.SAMPLE_KO] * 3
    two = bpe.BPETokenizer().train(documents, 300, workers=2)
    one = bpe.BPETokenizer().train(documents, 300)
    ids = [list(ids) for ids in two.encode_batch(documents, workers=2)]
    print(one.merges == two.merges, ids == [one.encode(text) for text in documents])
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True True\n", "")


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


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
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


def test_one_worker_is_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "Process", None)
    monkeypatch.setattr("concurrent.futures.process.ProcessPoolExecutor", None)
    tokenizer = BPETokenizer().train(DOCUMENTS, 300).extend(DOCUMENTS, 310)
    assert [list(ids) for ids in tokenizer.encode_batch(["the"])] == [tokenizer.encode("the")]


@pytest.mark.parametrize("largest", [2**32 - 1, 2**32, 2**64 - 1])
def test_an_array_holds_ids_of_any_size(largest: int) -> None:
    tokenizer = BPETokenizer(special_tokens={"<|end|>": largest})
    assert [list(ids) for ids in tokenizer.encode_batch(["a<|end|>"])] == [[97, largest]]


def test_an_id_that_fits_in_no_array_is_named() -> None:
    tokenizer = BPETokenizer(special_tokens={"<|end|>": 2**64})
    with pytest.raises(ValueError, match=f"the id {2**64} does not fit into an array"):
        list(tokenizer.encode_batch(["a"]))


def test_one_string_is_no_batch() -> None:
    with pytest.raises(TypeError, match="texts must be strings, not one string"):
        BPETokenizer().encode_batch("abc")
