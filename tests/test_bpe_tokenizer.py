"""BPETokenizer: training, special tokens, encoding, streams, and what it refuses."""

from __future__ import annotations

import copy
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bpe
import reference
from bpe import DIGIT_SPLIT_PATTERN, GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, BPETokenizer
from strategies import some_text

PATTERNS = [GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, DIGIT_SPLIT_PATTERN, None]
SPECIAL = ["<|end|>", "<|end|>!", "a<|", "한"]
SPACES = " \n a  b   c\n\n  1   1\r\n \r\n  \t\t x \n\n\n    y"
CORPUS = f"the cat sat on the mat, the rat that sat; 'tis 12345 and 1234 한글 한국{SPACES}\n" * 3

patterns = st.sampled_from(PATTERNS)
parts = [*SPECIAL, "<|", "end", "|>", "!", "a", " the", " ", "  ", "\n", "\r", "'ll", "1234", "é"]
special_text = st.lists(st.sampled_from(parts)).map("".join)


def trained(pattern: str | None = GPT4_SPLIT_PATTERN, special: Any = ()) -> BPETokenizer:
    return BPETokenizer(pattern, special).train(CORPUS, 300)


def rules(tokenizer: BPETokenizer) -> list[reference.Rule]:
    return list(tokenizer.merges.items())


class TestTraining:
    @settings(max_examples=200)
    @given(some_text, st.integers(256, 275), patterns)
    def test_it_learns_what_the_textbook_learns(
        self, text: str, vocab_size: int, pattern: str | None
    ) -> None:
        tokenizer = BPETokenizer(pattern).train(text, vocab_size)
        words = Counter(BPETokenizer(pattern).pretokenize(text))
        assert rules(tokenizer) == reference.train_words(words, vocab_size)
        assert list(tokenizer.vocab) == list(range(256 + len(tokenizer.merges)))
        for token, data in tokenizer.vocab.items():
            assert data == reference.expand(token, rules(tokenizer))

    @given(some_text, st.integers(256, 275))
    def test_without_a_pattern_it_learns_what_the_lab_learns(self, text: str, size: int) -> None:
        assert rules(BPETokenizer(None).train(text, size)) == bpe.train(text, size)

    @given(st.lists(special_text), patterns)
    def test_counts_from_elsewhere_give_the_same(
        self, documents: list[str], pattern: str | None
    ) -> None:
        mapper = BPETokenizer(pattern, SPECIAL)
        counts = Counter(piece for text in documents for piece in mapper.pretokenize(text))
        from_counts = BPETokenizer(pattern, SPECIAL).train_from_counts(counts, 275)
        from_text = BPETokenizer(pattern, SPECIAL).train(documents, 275)
        assert from_counts.merges == from_text.merges
        assert from_counts.vocab == from_text.vocab

    def test_documents_are_read_once_and_borders(self) -> None:
        tokenizer = BPETokenizer(None).train(iter(["ab", "ab", "ba"]), 300)
        assert rules(tokenizer) == [((97, 98), 256)]

    def test_special_tokens_are_borders_and_nothing_is_learned_from_them(self) -> None:
        tokenizer = BPETokenizer(None, ["<|x|>"]).train("a<|x|>b" * 9, 300)
        assert tokenizer.merges == {((98, 97)): 256}

    def test_the_minimum_count_is_the_labs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bpe, "MIN_PAIR_COUNT", 3)
        counts = {"ab": 2, "cd": 3}
        assert BPETokenizer().train_from_counts(counts, 300).merges == {(99, 100): 256}

    def test_a_second_call_starts_afresh(self) -> None:
        tokenizer = BPETokenizer().train("low low", 300)
        tokenizer.encode("low")
        assert tokenizer.train("abab", 257).merges == {(97, 98): 256}
        assert tokenizer.encode("abab low") == [256, 256, 32, 108, 111, 119]
        assert len(tokenizer.vocab) == 257

    def test_progress_is_reported_rule_by_rule(self) -> None:
        calls: list[tuple[int, int]] = []
        BPETokenizer(None).train("ababab", 266, progress=lambda *call: calls.append(call))
        assert calls == [(1, 10), (2, 10)]

    def test_zero_counts_count_nothing(self) -> None:
        counts = {"ab": 0, "cd": 2, "": 5}
        assert BPETokenizer().train_from_counts(counts, 300).merges == {(99, 100): 256}

    @pytest.mark.parametrize("size", [255, 0, -1])
    def test_a_vocabulary_smaller_than_the_bytes_is_refused(self, size: int) -> None:
        with pytest.raises(ValueError, match=f"vocab_size is {size}"):
            BPETokenizer().train("abc", size)
        with pytest.raises(ValueError, match=f"vocab_size is {size}"):
            BPETokenizer().train_from_counts({}, size)

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda t: t.train(b"abc", 300), TypeError, "text must be str, not int"),
            (lambda t: t.train(["a", b"b"], 300), TypeError, "text must be str, not bytes"),
            (lambda t: t.train(Path("a"), 300), TypeError, "text must be Iterable, not "),
            (lambda t: t.train("abc", 300.0), TypeError, "vocab_size must be int, not float"),
            (lambda t: t.train_from_counts(["a"], 300), TypeError, "counts must be Mapping"),
            (lambda t: t.train_from_counts({b"a": 1}, 300), TypeError, "a pre-token must be str"),
            (lambda t: t.train_from_counts({"a": 1.5}, 300), TypeError, "count of 'a' must be int"),
            (lambda t: t.train_from_counts({"a": -1}, 300), ValueError, "count of 'a' is -1"),
        ],
    )
    def test_bad_input_is_refused_and_nothing_lost(
        self, call: Any, error: type[Exception], message: str
    ) -> None:
        tokenizer = trained()
        before = dict(tokenizer.merges)
        with pytest.raises(error, match=message):
            call(tokenizer)
        assert tokenizer.merges == before


class TestTheCorpus:
    corpus = (Path(__file__).parent / "data" / "tokenizer_corpus.txt").read_text(encoding="utf-8")
    training, held_out = corpus.split("=== held out ===\n")

    def test_it_is_large_enough(self) -> None:
        assert len(self.corpus.encode()) >= 12 * 1024
        assert min(len(self.training.encode()), len(self.held_out.encode())) >= 6 * 1024

    def test_held_out_prose_is_compressed(self) -> None:
        tokenizer = BPETokenizer().train(self.training, 512)
        prose = self.held_out.split("--- prose ---\n")[1].split("--- dialogue ---")[0]
        assert prose.isascii()
        assert len(prose) > 3000
        assert len(prose) / len(tokenizer.encode(prose)) > 1.5


class TestSpecialTokens:
    def test_names_follow_the_learned_tokens(self) -> None:
        tokenizer = BPETokenizer(special_tokens=["<|end|>", "<|user|>"])
        assert tokenizer.special_tokens == {"<|end|>": 256, "<|user|>": 257}
        tokenizer.train(CORPUS, 270)
        assert tokenizer.special_tokens == {"<|end|>": 270, "<|user|>": 271}
        tokenizer.register_special_tokens(["<|late|>"])
        assert tokenizer.special_tokens["<|late|>"] == 272
        assert tokenizer.vocab[272] == b"<|late|>"
        tokenizer.train(CORPUS, 257)
        assert list(tokenizer.special_tokens.values()) == [257, 258, 259]
        assert sorted(tokenizer.vocab) == list(range(260))

    def test_chosen_ids_stay(self) -> None:
        tokenizer = BPETokenizer(special_tokens={"<|end|>": 1000, "<|pad|>": 270})
        tokenizer.register_special_tokens(["<|next|>"])
        assert tokenizer.train(CORPUS, 270).special_tokens == {
            "<|end|>": 1000,
            "<|pad|>": 270,
            "<|next|>": 271,
        }

    def test_a_chosen_id_that_training_needs_is_refused_before(self) -> None:
        tokenizer = BPETokenizer(special_tokens={"<|end|>": 300})
        with pytest.raises(ValueError, match=r"'<\|end\|>' has the id 300"):
            tokenizer.train(CORPUS, 301)
        assert tokenizer.merges == {}

    @pytest.mark.parametrize(
        ("tokens", "error", "message"),
        [
            ({"x": 97}, ValueError, "'x' cannot have the id 97: it is taken"),
            ({"x": 256}, ValueError, "'x' cannot have the id 256: it is taken"),
            ({"x": 900}, ValueError, "'x' cannot have the id 900: it is taken"),
            ({"x": 901, "y": 901}, ValueError, "'y' cannot have the id 901: it is taken"),
            ({"x": -1}, ValueError, "'x' cannot have the id -1"),
            (["x", ""], ValueError, "cannot be empty"),
            (["x", "x"], ValueError, "'x' is registered already"),
            (["<|end|>"], ValueError, "registered already"),
            ("<|x|>", TypeError, "not one string"),
            (["x", 5], TypeError, "a special token must be str, not int"),
            ({"x": "y"}, TypeError, "the id of 'x' must be int, not str"),
            ({"x": None}, TypeError, "the id of 'x' must be int, not NoneType"),
            (["x", "\ud800"], UnicodeEncodeError, "surrogates not allowed"),
        ],
    )
    def test_a_bad_one_is_refused_and_none_is_added(
        self, tokens: Any, error: type[Exception], message: str
    ) -> None:
        tokenizer = BPETokenizer(special_tokens={"<|end|>": 900}).train("abab", 257)
        vocab = dict(tokenizer.vocab)
        with pytest.raises(error, match=message):
            tokenizer.register_special_tokens(tokens)
        assert tokenizer.special_tokens == {"<|end|>": 900}
        assert tokenizer.vocab == vocab
        tokenizer.register_special_tokens(["x"])
        assert tokenizer.special_tokens["x"] == 257

    def test_a_shallow_copy_goes_its_own_way(self) -> None:
        tokenizer = BPETokenizer(special_tokens=["<|end|>"])
        vocab = dict(tokenizer.vocab)
        copy.copy(tokenizer).register_special_tokens({"<|x|>": 300})
        assert tokenizer.vocab == vocab
        assert tokenizer.train(CORPUS, 301).special_tokens == {"<|end|>": 301}

    def test_the_leftmost_then_the_longest_wins(self) -> None:
        tokenizer = BPETokenizer(special_tokens={"ab": 300, "abc": 301, "bcd": 302, "b": 303})
        assert tokenizer.encode("abcd") == [301, 100]
        assert tokenizer.encode("bcdab") == [302, 300]
        assert tokenizer.encode("abcd", allowed_special=["ab", "bcd"]) == [300, 99, 100]
        assert tokenizer.encode("abcd", allowed_special={"bcd"}) == [97, 302]

    def test_what_is_allowed(self) -> None:
        tokenizer = trained(special=["<|end|>"])
        end = tokenizer.special_tokens["<|end|>"]
        ordinary = tokenizer.encode_ordinary("<|end|>")
        assert end not in ordinary
        assert tokenizer.decode(ordinary) == "<|end|>"
        assert tokenizer.encode("the<|end|>") == [*tokenizer.encode("the"), end]
        assert tokenizer.encode("<|end|>", allowed_special="none") == ordinary
        assert tokenizer.encode("<|end|>", allowed_special=[]) == ordinary
        assert tokenizer.encode("<|end>", allowed_special="none_raise") == (
            tokenizer.encode_ordinary("<|end>")
        )
        with pytest.raises(ValueError, match=r"'<\|end\|>' at position 4"):
            tokenizer.encode("the <|end|>", allowed_special="none_raise")
        assert BPETokenizer().encode("a", allowed_special="none_raise") == [97]

    @pytest.mark.parametrize("wrong", ["<|end|>", "ALL", "", 5, None])
    def test_another_word_for_what_is_allowed_is_refused(self, wrong: Any) -> None:
        with pytest.raises(ValueError, match="allowed_special must be"):
            trained(special=["<|end|>"]).encode("a", allowed_special=wrong)

    def test_an_unregistered_name_is_refused(self) -> None:
        with pytest.raises(ValueError, match="'x' is not a registered special token"):
            trained().encode("a", allowed_special=["x"])


class TestEncoding:
    @settings(max_examples=200)
    @given(some_text | special_text, patterns, st.booleans(), st.booleans())
    def test_text_comes_back(
        self, text: str, pattern: str | None, is_trained: bool, special: bool
    ) -> None:
        tokenizer = BPETokenizer(pattern, SPECIAL if special else [])
        if is_trained:
            tokenizer.train(CORPUS, 300)
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert tokenizer.decode(tokenizer.encode_ordinary(text)) == text
        assert "".join(tokenizer.pretokenize(text)) == text

    @settings(max_examples=200)
    @given(some_text, some_text, patterns)
    def test_each_piece_is_encoded_as_by_the_textbook(
        self, learned_from: str, text: str, pattern: str | None
    ) -> None:
        tokenizer = BPETokenizer(pattern).train(learned_from, 290)
        wanted = [
            token
            for piece in tokenizer.pretokenize(text)
            for token in reference.encode(piece, rules(tokenizer))
        ]
        assert tokenizer.encode(text) == wanted
        assert tokenizer.encode_ordinary(text) == wanted
        assert tokenizer.encode(text) == wanted  # from the cache

    def test_nothing_is_encoded_as_nothing(self) -> None:
        for pattern in PATTERNS:
            tokenizer = BPETokenizer(pattern, ["<|end|>"])
            assert tokenizer.encode("") == tokenizer.encode_ordinary("") == []
            assert list(tokenizer.encode_iterable([])) == []
            assert tokenizer.pretokenize("") == []
            assert tokenizer.decode([]) == ""
            assert tokenizer.train("", 300).merges == {}

    def test_half_a_character_is_replaced(self) -> None:
        assert BPETokenizer().decode([0xED, 0x95]) == "\ufffd"
        assert BPETokenizer().decode_bytes([0xED, 0x95]) == b"\xed\x95"

    @pytest.mark.parametrize("unknown", [256, -1, 10**30])
    def test_an_unknown_id_is_named_with_its_position(self, unknown: int) -> None:
        for decode in (BPETokenizer().decode, BPETokenizer().decode_bytes):
            with pytest.raises(ValueError, match=f"unknown id {unknown} at position 2"):
                decode([97, 98, unknown])

    def test_long_lists_of_ids(self) -> None:
        data = bytes(range(256)) * 50
        assert BPETokenizer().decode_bytes(data) == data
        with pytest.raises(ValueError, match="unknown id 256 at position 12800"):
            BPETokenizer().decode_bytes([*data, 256, *data, 256])

    @pytest.mark.parametrize(
        "method", ["encode", "encode_ordinary", "pretokenize", "tokens", "show"]
    )
    def test_text_is_a_string(self, method: str) -> None:
        with pytest.raises(TypeError, match="text must be str, not bytes"):
            getattr(BPETokenizer(), method)(b"abc")

    def test_ids_are_integers(self) -> None:
        wrong: Any
        for wrong in ("abc", [97.0], [97, None], [97, 98, 0.5, 0.5], [10**400, 0.5]):
            with pytest.raises(TypeError, match="ids must be"):
                BPETokenizer().decode(wrong)

    def test_tokens_to_look_at(self) -> None:
        tokenizer = trained(special=["<|end|>"])
        text = "the cat 한é<|end|>"
        assert tokenizer.tokens(text) == ["the", " cat", " 한", r"\xc3", r"\xa9", "<|end|>"]
        assert tokenizer.show(text, color=False) == r"the| cat| 한|\xc3|\xa9|<|end|>"
        shown = tokenizer.show("the cat")
        assert shown == "\x1b[44mthe\x1b[0m\x1b[46m cat\x1b[0m"

    def test_the_cache_is_bounded(self) -> None:
        tokenizer = BPETokenizer()
        limit = tokenizer._encoded.LIMIT
        for start in range(0, 3 * limit, 1000):
            words = "".join(f" w{number}" for number in range(start, start + 1000))
            assert tokenizer.decode(tokenizer.encode(words)) == words
            assert len(tokenizer._encoded) <= limit
        tokenizer.encode("x" * 1000)
        assert "x" * 1000 not in tokenizer._encoded


class TestStreams:
    @settings(max_examples=400)
    @given(
        special_text | some_text | st.text("x 1!'l\n"),
        patterns,
        st.lists(st.integers(0, 60)),
        st.integers(1, 9),
    )
    @example("<|end|>!a<| the", GPT2_SPLIT_PATTERN, [8, 14], 1)  # held text shorter than a name
    def test_wherever_the_cuts_fall(
        self, text: str, pattern: str | None, cuts: list[int], at_least: int
    ) -> None:
        tokenizer = trained(pattern, SPECIAL)
        edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        chunks = [text[start:stop] for start, stop in pairwise(edges)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_STREAM_CHUNK", at_least)
            assert list(tokenizer.encode_iterable(chunks)) == tokenizer.encode(text)

    def test_white_space_before_what_is_held_back(self) -> None:
        tokenizer = BPETokenizer().train(["  ", "  "], 257)
        text = "x!" * (bpe._STREAM_CHUNK // 2 - 2) + "  1a"
        assert list(tokenizer.encode_iterable([text])) == tokenizer.encode(text)

    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_character_by_character(
        self, pattern: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe, "_STREAM_CHUNK", 1)
        tokenizer = trained(pattern, SPECIAL)
        text = CORPUS + "they'll \r\n \r\n  x'r 'S a<|end|>!<|end|>a<| \t\n\t. \x85\x1c !!\n\n x"
        assert list(tokenizer.encode_iterable(text)) == tokenizer.encode(text)

    def test_it_is_lazy_and_its_memory_bounded(self) -> None:
        tokenizer = trained()

        def stream() -> Iterator[str]:
            for number in range(200_000):
                yield f"word {number} "

        tracemalloc.start()
        try:
            ids = tokenizer.encode_iterable(stream())
            assert next(ids) == tokenizer.encode("word")[0]
            total = 1 + sum(1 for _ in ids)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert total > 400_000
        assert peak < 40 * 2**20

    def test_a_chunk_is_a_string(self) -> None:
        wrong: Any = ["a", b"b"]
        with pytest.raises(TypeError, match="a chunk must be str, not bytes"):
            list(BPETokenizer().encode_iterable(wrong))
