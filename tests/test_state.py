"""What happens in between: interrupted, beside other threads, changed by hand, pickled."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import bpe
from bpe import GPT2_SPLIT_PATTERN, BPETokenizer

TEXT = "the cat sat on the mat, <|end|> the rat that sat 한글 한국\n" * 2
SPECIAL = ["<|end|>", "<|끝|>"]


def trained(size: int = 270) -> BPETokenizer:
    return BPETokenizer(special_tokens=SPECIAL).train(TEXT, size)


def state(tokenizer: BPETokenizer) -> tuple[object, ...]:
    """Return all that can be seen, what it encodes among it."""
    return (
        list(tokenizer.merges.items()),
        tokenizer.vocab,
        tokenizer.special_tokens,
        tokenizer.encode(TEXT + "<|끝|>"),
        len(tokenizer),
        pickle.dumps(tokenizer),
    )


class TestInterrupted:
    @pytest.mark.parametrize(
        "learn",
        [
            lambda t: t.train(TEXT, 280),
            lambda t: t.train_from_counts({"abab": 3, " the": 2}, 280),
            lambda t: t.extend("new words, new rules: " * 3, 280),
        ],
        ids=["train", "train_from_counts", "extend"],
    )
    def test_training_stopped_anywhere_leaves_the_old_or_the_new_whole(
        self, learn: Callable[[BPETokenizer], object]
    ) -> None:
        old, new = trained(), trained()
        learn(new)
        assert state(old) != state(new)
        total = lines_before(interrupt, partial(learn, trained()))
        for stop in [*range(1, total, total // 100), *range(max(total - 100, 1), total + 1)]:
            tokenizer = trained()
            assert lines_before(interrupt, partial(learn, tokenizer), stop) == stop
            assert state(tokenizer) in (state(old), state(new))

    def test_a_progress_callback_that_raises_leaves_the_old(self, tmp_path: Path) -> None:
        def stop(done: int, _: int) -> None:
            if done == 5:
                raise KeyboardInterrupt

        tokenizer = trained()
        with pytest.raises(KeyboardInterrupt):
            tokenizer.train(TEXT, 290, progress=stop)
        assert state(tokenizer) == state(trained())
        tokenizer.save(tmp_path / "t.json")
        assert state(BPETokenizer().load(tmp_path / "t.json")) == state(trained())

    def test_loading_stopped_anywhere_leaves_the_old_or_the_new_whole(self, tmp_path: Path) -> None:
        trained(290).save(tmp_path / "t.json")
        wanted = [state(trained()), state(trained(290))]
        total = lines_before(interrupt, partial(trained().load, tmp_path / "t.json"))
        for stop in [*range(1, total, total // 50), *range(total - 30, total + 1)]:
            tokenizer = trained()
            call = partial(tokenizer.load, tmp_path / "t.json")
            assert lines_before(interrupt, call, stop) == stop
            assert state(tokenizer) in wanted

    def test_a_special_token_registered_meanwhile_is_there_afterwards(self) -> None:
        tokenizer = trained()

        def register(done: int, _: int) -> None:
            if done == 3:
                tokenizer.register_special_tokens(["<|late|>"])

        tokenizer.train(TEXT, 275, progress=register)
        assert tokenizer.special_tokens == {"<|end|>": 275, "<|끝|>": 276, "<|late|>": 277}
        assert tokenizer.encode("<|late|>") == [277]

    def test_one_at_an_id_that_training_needs_is_refused_and_all_stays(self) -> None:
        tokenizer = trained(258)

        def register(done: int, _: int) -> None:
            if done == 3:
                tokenizer.register_special_tokens({"<|late|>": 265})

        with pytest.raises(ValueError, match=r"'<\|late\|>' cannot have the id 265: it is taken"):
            tokenizer.train(TEXT, 270, progress=register)
        wanted = trained(258)
        wanted.register_special_tokens({"<|late|>": 265})
        assert state(tokenizer) == state(wanted)


def interrupt() -> None:
    raise KeyboardInterrupt


def lines_before(action: Callable[[], object], call: Callable[[], object], stop: int = 0) -> int:
    """Run `call`, with `action` before the `stop`th of its lines; return how many ran till then."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != bpe.__file__ or sys.gettrace() is not trace:
            return None
        if event == "line":
            lines += 1
            if lines == stop:
                sys.settrace(before)
                action()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        assert action is interrupt
    finally:
        sys.settrace(before)
    return lines


@contextmanager
def meanwhile(call: Callable[[], object], threads: int = 2) -> Iterator[None]:
    """Let threads `call` again and again; what they raise is raised at the end."""
    done = threading.Event()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            while not done.is_set():
                call()
        except BaseException as fault:
            raised.append(fault)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    workers = [threading.Thread(target=work) for _ in range(threads)]
    try:
        for worker in workers:
            worker.start()
        yield
    finally:
        done.set()
        for worker in workers:
            worker.join()
        sys.setswitchinterval(interval)
    if raised:
        raise raised[0]


class TestBesideOtherThreads:
    @pytest.mark.parametrize(
        "call",
        [
            BPETokenizer.save,
            lambda t, _: copy.copy(t),
            lambda t, _: pickle.dumps(t),
            lambda t, _: t.encode(TEXT + "<|끝|>"),
            lambda t, _: list(t.encode_iterable([TEXT[:50], TEXT[50:] + "<|끝|>"])),
        ],
        ids=["save", "copy", "pickle", "encode", "encode_iterable"],
    )
    def test_trained_anew_before_any_line_of_what_it_does(
        self, tmp_path: Path, call: Callable[[BPETokenizer, Path], object]
    ) -> None:
        """As another thread might, but at each line once, and not now and then."""
        path = tmp_path / "t.json"
        results: list[object] = []

        def work(tokenizer: BPETokenizer) -> None:
            results.append(call(tokenizer, path))

        def last_result() -> object:
            if isinstance(results[-1], BPETokenizer):
                return state(results[-1])
            return results[-1] or path.read_bytes()

        wanted = []
        for size in (270, 285):
            work(trained(size))
            wanted.append(last_result())
        total = lines_before(interrupt, partial(work, trained()))
        assert total > 5
        for stop in range(1, total + 1, max(total // 200, 1)):
            tokenizer = trained()
            train = partial(tokenizer.train, TEXT, 285)
            assert lines_before(train, partial(work, tokenizer), stop) == stop
            assert last_result() in wanted
            assert state(tokenizer) == state(trained(285))

    def test_used_while_it_trains(self, tmp_path: Path) -> None:
        tokenizer = trained()
        text = TEXT + "<|끝|>"
        states = [state(trained(size)) for size in (270, 285)]
        encoded = [trained(size).encode(text) for size in (270, 285)]

        def use() -> None:
            assert tokenizer.encode(text) in encoded
            assert list(tokenizer.encode_iterable([text[:40], text[40:]])) in encoded
            assert tokenizer.count(text) in map(len, encoded)
            assert tokenizer.pretokenize(text)[-1] == "<|끝|>"
            path = tmp_path / f"{threading.get_ident()}.json"
            tokenizer.save(path)
            assert state(BPETokenizer().load(path)) in states
            assert state(copy.copy(tokenizer)) in states
            assert state(pickle.loads(pickle.dumps(tokenizer))) in states

        with meanwhile(use):
            for size in [285, 270] * 60:
                tokenizer.train(TEXT, size)

    def test_pickling_while_it_meets_new_words(self) -> None:
        tokenizer = trained()
        before = pickle.dumps(tokenizer)
        words = iter(range(10**9))
        with meanwhile(lambda: tokenizer.encode(f"word{next(words)} x{next(words)}"), threads=1):
            for _ in range(100):
                assert pickle.dumps(tokenizer) == before


def turned_round(tokenizer: BPETokenizer, name: str) -> None:
    setattr(tokenizer, name, dict(reversed(getattr(tokenizer, name).items())))


BY_HAND: list[tuple[str, Callable[[BPETokenizer], object]]] = [
    ("merges", lambda t: t.merges.popitem()),
    ("merges", lambda t: t.merges.update({(0, 0): 900})),
    ("merges", lambda t: turned_round(t, "merges")),
    ("vocab", lambda t: t.vocab.update({97: b"b"})),
    ("vocab", lambda t: t.vocab.pop(260)),
    ("vocab", lambda t: t.vocab.update({900: b"more"})),
    ("special_tokens", lambda t: t.special_tokens.update({"<|x|>": 900})),
    ("special_tokens", lambda t: t.special_tokens.update({"<|end|>": 900})),
    ("special_tokens", lambda t: turned_round(t, "special_tokens")),
    ("pattern", lambda t: setattr(t, "pattern", GPT2_SPLIT_PATTERN)),
]


class TestChangedByHand:
    @pytest.mark.parametrize(("name", "change"), BY_HAND)
    def test_what_was_changed_is_named_by_all_that_write(
        self, tmp_path: Path, name: str, change: Callable[[BPETokenizer], object]
    ) -> None:
        tokenizer = trained()
        change(tokenizer)
        writers: list[Callable[[], object]] = [
            lambda: tokenizer.save(tmp_path / "t.json"),
            lambda: tokenizer.to_huggingface(tmp_path / "tokenizer.json"),
            lambda: tokenizer.to_tiktoken(tmp_path / "ranks.tiktoken"),
            tokenizer.mergeable_ranks,
            lambda: pickle.dumps(tokenizer),
            lambda: copy.deepcopy(tokenizer),
        ]
        for write in writers:
            with pytest.raises(ValueError, match=f"^{name} was changed by hand"):
                write()
        assert list(tmp_path.iterdir()) == []

    def test_training_makes_it_whole_again(self, tmp_path: Path) -> None:
        tokenizer = trained()
        tokenizer.merges.clear()
        tokenizer.vocab.clear()
        tokenizer.train(TEXT, 270).save(tmp_path / "t.json")
        assert state(tokenizer) == state(trained())

    def test_reading_the_attributes_changes_nothing(self, tmp_path: Path) -> None:
        tokenizer = trained()
        assert [*tokenizer.vocab][:256] == list(range(256))
        assert {type(kept) for kept in (tokenizer.merges, tokenizer.vocab)} == {dict}
        tokenizer.save(tmp_path / "t.json")
        assert state(BPETokenizer().load(tmp_path / "t.json")) == state(tokenizer)


class TestCopies:
    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_a_pickle_holds_the_tokenizer_and_not_the_words_it_met(self, protocol: int) -> None:
        tokenizer = BPETokenizer((r"\p{N}", GPT2_SPLIT_PATTERN), {"<|x|>": 999}).train(TEXT, 270)
        before = pickle.dumps(tokenizer, protocol)
        assert len(before) < 2500
        for number in range(500):
            tokenizer.encode(f"word{number} 한글")
        assert pickle.dumps(tokenizer, protocol) == before
        loaded = pickle.loads(before)
        assert state(loaded) == state(tokenizer)
        assert loaded.train(TEXT, 260).special_tokens == {"<|x|>": 999}

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_a_copy_goes_its_own_way(self, copied: Callable[[BPETokenizer], BPETokenizer]) -> None:
        tokenizer = trained()
        tokenizer.register_special_tokens({"<|y|>": 400})
        before = state(tokenizer)
        other = copied(tokenizer)
        assert state(other) == before
        other.extend("abab", 271)
        assert state(tokenizer) == before
        other.register_special_tokens({"<|x|>": 300})
        other.encode("words that only one has met")
        assert state(tokenizer) == before
        tokenizer.train(TEXT, 301)
        assert [*tokenizer.special_tokens] == [*SPECIAL, "<|y|>"]
        assert other.special_tokens["<|x|>"] == 300
        assert other.encode("ab<|x|>") == [other.merges[97, 98], 300]

    def test_a_copy_of_a_subclass_is_one(self) -> None:
        tokenizer = Subclass().train(TEXT, 260)
        for other in (
            copy.copy(tokenizer),
            copy.deepcopy(tokenizer),
            pickle.loads(pickle.dumps(tokenizer)),
        ):
            assert type(other) is Subclass
            assert other.merges == tokenizer.merges


class Subclass(BPETokenizer):
    pass


def test_what_nobody_has_any_more_is_freed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokenizers are large, and the collector waits for many objects, not for large ones."""

    def use() -> None:
        tokenizer = BPETokenizer(None, SPECIAL).train(TEXT, 280)
        assert tokenizer.decode(tokenizer.encode(TEXT * 9)) == TEXT * 9
        given = bpe.ByteTokenizer([bytes([byte]) for byte in range(256)] + [b"th", b"the"])
        assert given.decode(given.tokenize(TEXT.encode() * 9)) == TEXT.encode() * 9

    monkeypatch.setattr(bpe._Encoder, "FEW_RULES", 0)
    use()  # what is made once for all is made
    gc.collect()
    use()
    assert gc.collect() == 0
