"""BPETokenizer: training, special tokens, encoding, streams, and what it refuses."""

from __future__ import annotations

import random
import re
import tempfile
import tracemalloc
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
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
from work import lines_run

Pattern = str | tuple[str, ...] | None
PATTERNS: list[Pattern] = [
    GPT2_SPLIT_PATTERN,
    GPT4_SPLIT_PATTERN,
    DIGIT_SPLIT_PATTERN,
    (r"\p{N}", GPT2_SPLIT_PATTERN),
    None,
]
SPECIAL = ["<|end|>", "<|end|>!", "a<|", "한"]
SPACES = " \n a  b   c\n\n  1   1\r\n \r\n  \t\t x \n\n\n    y"
CORPUS = (
    f"the cat sat on the mat, the rat that sat; 'tis 12345 and 1234 한글 한국{SPACES}\n" * 3
    + "we'll they'll you'll it'll " * 3  # so that a cut contraction has other ids
)

patterns = st.sampled_from(PATTERNS)
parts = [*SPECIAL, "<|", "end", "|>", "!", "a", " the", " ", "  ", "\n", "\r", "'ll", "1234", "é"]
special_text = st.lists(st.sampled_from(parts)).map("".join)


def trained(pattern: Pattern = GPT4_SPLIT_PATTERN, special: Any = ()) -> BPETokenizer:
    return BPETokenizer(pattern, special).train(CORPUS, 320)


def rules(tokenizer: BPETokenizer) -> list[reference.Rule]:
    return list(tokenizer.merges.items())


class TestTraining:
    @settings(max_examples=200)
    @given(some_text, st.integers(256, 275), patterns)
    def test_it_learns_what_the_textbook_learns(
        self, text: str, vocab_size: int, pattern: Pattern
    ) -> None:
        tokenizer = BPETokenizer(pattern).train(text, vocab_size)
        words = Counter(BPETokenizer(pattern).pretokenize(text))
        assert rules(tokenizer) == reference.train_words(words, vocab_size)
        assert list(tokenizer.vocab) == list(range(256 + len(tokenizer.merges)))
        for token, data in tokenizer.vocab.items():
            assert data == reference.expand(token, rules(tokenizer))

    @given(st.lists(special_text), patterns)
    def test_counts_from_elsewhere_give_the_same(
        self, documents: list[str], pattern: Pattern
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
        counts = {"ab": 2, "cd": 3, "ef": 0, "": 5}
        assert BPETokenizer().train_from_counts(counts, 300).merges == {(99, 100): 256}

    def test_a_second_call_starts_afresh(self) -> None:
        tokenizer = BPETokenizer().train("low low", 300)
        tokenizer.encode("low")
        assert tokenizer.train("abab", 257).merges == {(97, 98): 256}
        assert tokenizer.encode("abab low") == [256, 256, 32, 108, 111, 119]
        assert len(tokenizer.vocab) == 257

    def test_progress_tells_how_far_counting_is_and_then_each_rule(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe, "_BATCH_SIZE", 10)
        calls: list[tuple[int, int]] = []
        documents = ["ab cd"] * 5 + [""]
        BPETokenizer().train(documents, 260, progress=lambda *call: calls.append(call))
        assert calls == [(10, 0), (20, 0), (1, 4), (2, 4), (3, 4)]  # all there is to learn

    @pytest.mark.parametrize("method", ["train", "extend"])
    def test_a_surrogate_far_into_the_text_is_found_at_its_place(self, method: str) -> None:
        with pytest.raises(UnicodeEncodeError) as refusal:
            getattr(BPETokenizer(), method)("x " * 600_000 + "\ud800", 300)
        assert refusal.value.start == 1_200_000

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda t: t.train(b"abc", 300), TypeError, "str or strings, not bytes; .* read it"),
            (lambda t: t.train(["a", b"b"], 300), TypeError, "text must be str, not bytes"),
            (lambda t: t.train(Path("a"), 300), TypeError, "strings, not .*Path; .*read_text"),
            (lambda t: t.train(5, 300), TypeError, "text must be str or strings, not int"),
            (lambda t: t.train("abc", 255), ValueError, "vocab_size is 255, but must be at"),
            (lambda t: t.train_from_counts({}, -1), ValueError, "vocab_size is -1"),
            (lambda t: t.extend("abc", 257), ValueError, r"is 257, but must be at least 3\d\d"),
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


class TestExtending:
    @settings(max_examples=200)
    @given(some_text, some_text, st.integers(256, 270), st.integers(0, 12), patterns)
    def test_new_text_is_encoded_then_learned_from_as_ever(
        self, first: str, second: str, size: int, more: int, pattern: Pattern
    ) -> None:
        tokenizer = BPETokenizer(pattern).train(first, size)
        old, start = rules(tokenizer), len(tokenizer)
        words = Counter(tokenizer.pretokenize(second))
        assert tokenizer.extend(second, start + more) is tokenizer
        wanted = reference.extend_words(words, old, range(start, start + more))
        assert rules(tokenizer) == wanted
        assert list(tokenizer.vocab) == list(range(256 + len(wanted)))
        for piece in words:
            assert tokenizer.encode(piece) == reference.encode(piece, wanted)

    @given(some_text, st.integers(256, 270), st.integers(256, 270), patterns)
    def test_the_same_text_again_is_training_on(
        self, text: str, one: int, other: int, pattern: Pattern
    ) -> None:
        smaller, larger = sorted([one, other])
        extended = BPETokenizer(pattern).train(text, smaller).extend(text, larger)
        assert extended.merges == BPETokenizer(pattern).train(text, larger).merges

    def test_present_ids_stay_and_new_ones_go_round_the_special_tokens(self) -> None:
        special = {"<|a|>": 258, "<|b|>": 260, "<|c|>": 1000}
        tokenizer = BPETokenizer(None, special).train("abab", 257)
        tokenizer.register_special_tokens(["<|d|>"])
        assert tokenizer.special_tokens["<|d|>"] == 257
        tokenizer.extend("cdcdcd<|a|>efefef", 260)
        assert tokenizer.merges == {
            (97, 98): 256,
            (99, 100): 259,
            (101, 102): 261,
            (259, 259): 262,
        }
        assert tokenizer.special_tokens == special | {"<|d|>": 257}
        tokenizer.register_special_tokens(["<|e|>"])
        assert tokenizer.encode("cdcd<|d|><|e|>") == [262, 257, 263]

    def test_of_equal_pairs_the_one_of_the_older_tokens_goes_first(self) -> None:
        ranks = {bytes([byte]): 255 - byte for byte in range(256)} | {b"zz": 300}
        tokenizer = BPETokenizer.from_tiktoken(ranks, None).extend("ab yzz ab yzz", 259)
        assert [*tokenizer.vocab.values()][-2:] == [b" y", b"ab"]  # by bytes, not by ids

    def test_a_pre_token_that_is_a_token_is_not_taken_apart(self) -> None:
        ranks = {bytes([byte]): byte for byte in range(256)} | {b"abcd": 256}
        tokenizer = BPETokenizer.from_tiktoken(ranks, r"\w+").extend("abcd " * 9 + "xy xy", 258)
        assert tokenizer.merges == {(120, 121): 257}
        assert tokenizer.encode("abcd xy") == [256, 32, 257]


class TestTheCorpus:
    corpus = (Path(__file__).parent / "data" / "tokenizer_corpus.txt").read_text(encoding="utf-8")
    training, held_out = corpus.split("=== held out ===\n")

    def test_it_is_large_enough(self) -> None:
        assert len(self.corpus.encode()) >= 12 * 1024
        assert min(len(self.training.encode()), len(self.held_out.encode())) >= 6 * 1024

    sections = re.split(r"^--- .* ---\n", training, flags=re.MULTILINE)[1:]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "a",
            "한",
            "  two   three    spaces     ",
            "Hello 世界 🚀",
            "🤖🧠🔥",
            "∇L(θ) ∈ ℝⁿ",
            "こんにちは世界",
            "def f(x):\n    return x 🚀 ∑",
            "<|begin|>the repair shop<|end|><|end|> <|begin",
            *sections,
            corpus,
        ],
        ids=lambda text: text[:12],
    )
    def test_text_comes_back(self, text: str) -> None:
        tokenizer = BPETokenizer(special_tokens=["<|begin|>", "<|end|>"]).train(self.training, 320)
        assert len(tokenizer.merges) == 64
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert sum(token_id > 319 for token_id in ids) == len(re.findall(r"<\|\w+\|>", text))
        assert tokenizer.decode(tokenizer.encode_ordinary(text)) == text
        assert max(tokenizer.encode_ordinary(text), default=0) < 320

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
            ({"x": 0}, ValueError, "'x' cannot have the id 0: it is taken"),
            ({"x": 256}, ValueError, "'x' cannot have the id 256: it is taken"),
            ({"x": 900}, ValueError, "'x' cannot have the id 900: it is taken"),
            ({"x": 901, "y": 901}, ValueError, "'y' cannot have the id 901: it is taken"),
            ({"x": -1}, ValueError, "the id of 'x' is -1, but must be"),
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

    @settings(max_examples=300)
    @given(
        st.lists(st.text("abc", min_size=1, max_size=5), unique=True),
        st.text("abc", max_size=40),
        st.data(),
    )
    def test_the_leftmost_then_the_longest_wins(
        self, names: list[str], text: str, data: st.DataObject
    ) -> None:
        tokenizer = BPETokenizer(None, names)
        assert tokenizer.pretokenize(text) == reference.cut_at_names(text, names)
        allowed = [name for name in names if data.draw(st.booleans())]
        wanted: list[int] = []
        for piece in reference.cut_at_names(text, allowed):
            wanted += [tokenizer.special_tokens[piece]] if piece in allowed else piece.encode()
        assert tokenizer.encode(text, allowed_special=allowed) == wanted

    def test_thousands_of_names(self) -> None:
        rng = random.Random(5)
        names = {"".join(rng.choices("abcdefgh<|", k=rng.randint(1, 9))) for _ in range(4000)}
        names |= {f"{chr(0x4E00 + number)}|" for number in range(1000)}
        text = "".join(rng.choices("abcdefgh<| 一丁丂", k=3000))
        tokenizer = BPETokenizer(None, sorted(names))
        assert tokenizer.pretokenize(text) == reference.cut_at_names(text, names)

    def test_registering_one_by_one_is_not_making_all_anew_each_time(self) -> None:
        def work(count: int) -> int:
            tokenizer = BPETokenizer()

            def register() -> None:
                for number in range(count):
                    tokenizer.register_special_tokens([f"<|{number}|>"])

            return lines_run(register)

        assert work(400) < 2.2 * work(200)

    def test_what_is_allowed(self) -> None:
        tokenizer = trained(special=["<|end|>"])
        ordinary = tokenizer.encode_ordinary("<|end|>")
        assert tokenizer.special_tokens["<|end|>"] not in ordinary
        assert tokenizer.encode("<|end|>", allowed_special="none") == ordinary
        assert tokenizer.encode("<|end|>", allowed_special=[]) == ordinary
        assert tokenizer.encode("<|end", allowed_special="none_raise") == ordinary[:-2]
        with pytest.raises(ValueError, match=r"'<\|end\|>' at position 4"):
            tokenizer.encode("the <|end|>", allowed_special="none_raise")
        assert BPETokenizer().encode("a", allowed_special="none_raise") == [97]

    @pytest.mark.parametrize("wrong", ["<|end|>", "ALL", "", 5, None])
    def test_another_word_for_what_is_allowed_is_refused(self, wrong: Any) -> None:
        tokenizer = trained(special=["<|end|>"])
        with pytest.raises(ValueError, match="allowed_special must be"):
            tokenizer.encode("a", allowed_special=wrong)
        with pytest.raises(ValueError, match="'x' is not a registered special token"):
            tokenizer.encode("a", allowed_special=["x"])

    @given(special_text, st.sampled_from(["all", "none", "none_raise", ["a<|"], SPECIAL[:2]]))
    def test_it_means_the_same_everywhere(self, text: str, allowed: Any) -> None:
        tokenizer = trained(special=SPECIAL)
        calls: list[Callable[[], Any]] = [
            lambda: [*tokenizer.encode_iterable([text], allowed)],
            lambda: [*next(tokenizer.encode_batch([text], allowed_special=allowed))],
            lambda: tokenizer.count(text, allowed),
            lambda: tokenizer.tokens(text, allowed),
            lambda: tokenizer.show(text, False, allowed),
        ]
        try:
            ids = tokenizer.encode(text, allowed)
        except ValueError as refusal:
            for call in calls:
                with pytest.raises(ValueError, match=re.escape(str(refusal))):
                    call()
        else:
            shown = [tokenizer.vocab[token].decode("utf-8", "backslashreplace") for token in ids]
            assert [call() for call in calls] == [ids, ids, len(ids), shown, "|".join(shown)]


class TestEncoding:
    @settings(max_examples=200)
    @given(some_text | special_text, patterns, st.booleans(), st.booleans())
    def test_text_comes_back(
        self, text: str, pattern: Pattern, is_trained: bool, special: bool
    ) -> None:
        tokenizer = BPETokenizer(pattern, SPECIAL if special else [])
        if is_trained:
            tokenizer.train(CORPUS, 320)
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert tokenizer.decode(tokenizer.encode_ordinary(text)) == text
        assert "".join(tokenizer.pretokenize(text)) == text

    @settings(max_examples=200)
    @given(some_text, some_text, patterns)
    def test_each_piece_is_encoded_as_by_the_textbook(
        self, learned_from: str, text: str, pattern: Pattern
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

    @pytest.mark.parametrize(
        "method", ["encode", "encode_ordinary", "count", "pretokenize", "tokens", "show"]
    )
    def test_what_is_no_text_is_refused(self, method: str) -> None:
        call = getattr(BPETokenizer(special_tokens=["<|x|>"]), method)
        with pytest.raises(TypeError, match="text must be str, not bytes"):
            call(b"abc")
        with pytest.raises(UnicodeEncodeError) as refusal:
            call("<|x|> y" * 9000 + "\ud800")
        assert refusal.value.start == 63_000  # in the text, not in a piece of it

    def test_tokens_and_show(self) -> None:
        tokenizer = trained(special=["<|end|>"])
        text = "the cat 한é<|end|>"
        assert tokenizer.tokens(text) == ["the", " cat", " 한", r"\xc3", r"\xa9", "<|end|>"]
        assert tokenizer.show(text, color=False) == r"the| cat| 한|\xc3|\xa9|<|end|>"
        shown = tokenizer.show(text)
        assert re.sub(r"\x1b\[\d*m", "", shown) == r"the cat 한\xc3\xa9<|end|>"
        starts = re.findall(r"\x1b\[(\d+)m([^\x1b]+)\x1b\[0m", shown)
        assert [token for _, token in starts] == tokenizer.tokens(text)
        assert [color for color, _ in starts] == ["44", "46"] * 3

    def test_how_many_tokens_there_are(self) -> None:
        tokenizer = BPETokenizer(None)
        assert len(tokenizer) == 256
        tokenizer.train("abab", 300).register_special_tokens(["<|a|>", "<|b|>"])
        assert len(tokenizer) == len(tokenizer.vocab) == 259
        assert repr(tokenizer) == (
            "<BPETokenizer of 259 tokens, 1 merge rule, 2 special tokens, split by None>"
        )
        assert "split by GPT2_SPLIT_PATTERN>" in repr(BPETokenizer(GPT2_SPLIT_PATTERN))
        assert "split by ('a', 'b')>" in repr(BPETokenizer(["a", "b"]))
        assert len(repr(BPETokenizer("x" * 9000))) < 200

    @given(st.lists(some_text | special_text))
    def test_a_batch_is_each_text_for_itself(self, texts: list[str]) -> None:
        tokenizer = trained(special=SPECIAL)
        batch = [list(ids) for ids in tokenizer.encode_batch(texts)]
        assert batch == [tokenizer.encode(text) for text in texts]

    @pytest.mark.parametrize(("largest", "size"), [(2**32 - 1, 4), (2**32, 8), (2**64 - 1, 8)])
    def test_arrays_hold_the_largest_id(self, largest: int, size: int) -> None:
        tokenizer = BPETokenizer(special_tokens={"<|x|>": largest})
        (ids,) = tokenizer.encode_batch(["a<|x|>"])
        assert list(ids) == [97, largest]
        assert ids.itemsize == size

    def test_the_cache_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A pre-token takes some 200 bytes: 4,000 would take 0.8 MB, and the long ones 9 MB."""
        monkeypatch.setattr(bpe._EncodedPreTokens, "LIMIT", 200)
        tokenizer = BPETokenizer()
        letters = random.Random(1)
        words = ["".join(letters.choices("abcdefgh", k=12)) for _ in range(4000)]
        long_words = [letter * 100_000 for letter in "abcdefghij"]
        tokenizer.encode("warm")
        tracemalloc.start()
        try:
            for word in words + long_words:
                tokenizer.count(word)
            left, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert left < 200_000

    def test_what_is_used_stays_in_the_cache(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bpe._EncodedPreTokens, "LIMIT", 40)
        tokenizer = BPETokenizer()
        first = (
            lines_run(lambda: tokenizer.encode("warm")),
            lines_run(lambda: tokenizer.encode("used")),
        )
        known = lines_run(lambda: tokenizer.encode("used"))
        assert known < first[1]
        for number in range(200):
            tokenizer.encode("other" + "abcdefghij"[number % 10] * (number // 10 + 1))
            if number % 10 == 0:
                assert lines_run(lambda: tokenizer.encode("used")) < first[1]
        assert lines_run(lambda: tokenizer.encode("warm")) > known  # and what is not, does not


class TestDecoding:
    @given(
        st.lists(st.sampled_from([97, 0xED, 0x95, 0x9C, 0xF0, 0x9F, 0x8E, 0x89, 0xC3, 256, 257]))
    )
    def test_pieces_joined_are_the_whole(self, ids: list[int]) -> None:
        tokenizer = BPETokenizer(None, {"<|한|>": 257}).train("한한", 257)
        data = b"".join(tokenizer.vocab[token] for token in ids)
        assert tokenizer.decode_bytes(ids) == data
        for errors in ("replace", "ignore", "backslashreplace", "surrogateescape", "strict"):
            try:
                wanted = data.decode("utf-8", errors)
            except UnicodeDecodeError:
                for decode in (tokenizer.decode, lambda *call: [*tokenizer.decode_iterable(*call)]):
                    with pytest.raises(UnicodeDecodeError):
                        decode(ids, errors)
            else:
                assert tokenizer.decode(ids, errors) == wanted
                pieces = list(tokenizer.decode_iterable(iter(ids), errors))
                assert "" not in pieces
                assert "".join(pieces) == wanted

    @given(st.text(max_size=20))
    def test_a_character_comes_as_soon_as_it_is_whole(self, text: str) -> None:
        read: list[int] = []

        def arriving() -> Iterator[int]:
            for byte in text.encode("utf-8"):
                read.append(byte)
                yield byte

        for number, piece in enumerate(BPETokenizer().decode_iterable(arriving()), start=1):
            assert piece == text[number - 1]
            assert len(read) == len(text[:number].encode("utf-8"))

    @pytest.mark.parametrize("unknown", [256, -1, 10**30])
    def test_an_unknown_id_is_named_with_its_position(self, unknown: int) -> None:
        tokenizer = BPETokenizer()
        for decode in (tokenizer.decode, tokenizer.decode_bytes):
            with pytest.raises(ValueError, match=f"unknown id {unknown} at position 2"):
                decode([97, 98, unknown])
        stream = tokenizer.decode_iterable([97, 98, unknown])
        assert [next(stream), next(stream)] == ["a", "b"]
        with pytest.raises(ValueError, match=f"unknown id {unknown} at position 2"):
            next(stream)

    def test_long_lists_of_ids(self) -> None:
        data = bytes(range(256)) * 50
        assert BPETokenizer().decode_bytes(data) == data
        with pytest.raises(ValueError, match="unknown id 256 at position 12800"):
            BPETokenizer().decode_bytes([*data, 256, *data, 256])

    def test_ids_are_integers(self) -> None:
        wrong: Any
        for wrong, kind in [([97, "a"], "str"), ([97, 98.0], "float"), ([97, None], "NoneType")]:
            with pytest.raises(TypeError, match=rf"ids\[1\] must be int, not {kind}"):
                BPETokenizer().decode(wrong)
            with pytest.raises(TypeError, match=f"an id must be int, not {kind}"):
                list(BPETokenizer().decode_iterable(wrong))

    def test_numpys_integers_are_integers(self) -> None:
        numpy = pytest.importorskip("numpy")
        tokenizer = trained(special=["<|end|>"])
        text = "the cat 한글<|end|>"
        for kind in (numpy.uint16, numpy.int64):
            ids = numpy.array(tokenizer.encode(text), dtype=kind)
            for given_ids in (ids, list(ids), iter(ids)):
                assert tokenizer.decode(given_ids) == text
            assert "".join(tokenizer.decode_iterable(ids)) == text
            assert bpe.decode(ids[:-1], tokenizer.merges) == text.removesuffix("<|end|>")
            assert bpe.from_ids(numpy.frombuffer(b"abc", dtype=numpy.uint8)) == "abc"
        with pytest.raises(ValueError, match="unknown id 60000 at position 1"):
            tokenizer.decode(numpy.array([97, 60_000], dtype=numpy.uint16))
        sized = BPETokenizer(special_tokens={"<|end|>": numpy.int64(300)})
        sized.train("ab" * 9, numpy.int64(257))
        assert {type(token) for token in [*sized.special_tokens.values(), *sized.vocab]} == {int}
        rules = bpe.train("abab", numpy.int64(257))
        assert rules == [((97, 98), 256)]
        assert bpe.encode("ab", numpy.array([[97, 98]])[:0]) == [97, 98]
        assert bpe.merge(numpy.array([1, 2]), numpy.array([1, 2]), numpy.int8(3)) == [3]


def composing(pattern: Pattern) -> BPETokenizer:
    """Return a tokenizer that normalizes text to NFC, which only a file can ask for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        BPETokenizer(pattern).train("é é à à", 260).save(path)
        content = path.read_text(encoding="utf-8")
        content = content.replace('"normalization": null', '"normalization": "NFC"')
        path.write_text(content, encoding="utf-8")
        return BPETokenizer.from_file(path)


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
        self, text: str, pattern: Pattern, cuts: list[int], at_least: int
    ) -> None:
        tokenizer = trained(pattern, SPECIAL)
        edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        chunks = [text[start:stop] for start, stop in pairwise(edges)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_STREAM_CHUNK", at_least)
            assert list(tokenizer.encode_iterable(chunks)) == tokenizer.encode(text)

    @settings(max_examples=200)
    @given(
        st.text("ea \u0301\u0327가\u11a8", max_size=30),
        st.sampled_from([GPT2_SPLIT_PATTERN, r"\w+|\W", "[ae]", None]),
        st.integers(1, 5),
    )
    @example("e\u0301a", "[ae]", 1)
    def test_text_that_is_composed(self, text: str, pattern: Pattern, size: int) -> None:
        tokenizer = composing(pattern)
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_STREAM_CHUNK", size)
            ids = list(tokenizer.encode_iterable(chunks))
        assert ids == tokenizer.encode(text)
        assert tokenizer.decode(ids) == unicodedata.normalize("NFC", text)

    def test_white_space_before_what_is_held_back(self) -> None:
        tokenizer = BPETokenizer().train(["  ", "  "], 257)
        text = "x!" * (bpe._STREAM_CHUNK // 2 - 2) + "  1a"
        assert list(tokenizer.encode_iterable([text])) == tokenizer.encode(text)

    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_character_by_character(
        self, pattern: Pattern, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe, "_STREAM_CHUNK", 1)
        tokenizer = trained(pattern, SPECIAL)
        text = CORPUS + "they'll \r\n \r\n  x'r 'S a<|end|>!<|end|>a<| \t\n\t. \x85\x1c !!\n\n x"
        assert list(tokenizer.encode_iterable(text)) == tokenizer.encode(text)

    @settings(max_examples=400)
    @given(
        st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=5, unique=True),
        st.text("ab ", max_size=30),
        st.sampled_from([GPT2_SPLIT_PATTERN, "[ab]", None]),
        st.integers(1, 5),
        st.data(),
    )
    def test_names_that_begin_or_hold_others_on_every_cut(
        self, names: list[str], text: str, pattern: Pattern, at_least: int, data: st.DataObject
    ) -> None:
        tokenizer = BPETokenizer(pattern, names)
        allowed = [name for name in names if data.draw(st.booleans())]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_STREAM_CHUNK", at_least)
            for cut in range(len(text) + 1):
                chunks = [text[:cut], text[cut:]]
                assert list(tokenizer.encode_iterable(chunks)) == tokenizer.encode(text)
                assert list(tokenizer.encode_iterable(chunks, allowed)) == (
                    tokenizer.encode(text, allowed)
                )

    @given(special_text, st.integers(1, 9))
    def test_a_name_that_raises_is_found_at_its_place_in_the_stream(
        self, text: str, size: int
    ) -> None:
        tokenizer = trained(special=SPECIAL)
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        try:
            ids = tokenizer.encode(text, "none_raise")
        except ValueError as refusal:
            with pytest.raises(ValueError, match=re.escape(str(refusal))):
                list(tokenizer.encode_iterable(chunks, "none_raise"))
        else:
            assert list(tokenizer.encode_iterable(chunks, "none_raise")) == ids

    @pytest.mark.parametrize(
        "pattern", [r"\b\w|\w+|\W", r"(?<=a)b", "^a", r"\Ba", (r"\d", "(?<!a)b")]
    )
    def test_a_pattern_that_looks_back_is_refused_by_name(self, pattern: Pattern) -> None:
        with pytest.raises(ValueError, match="which looks back") as refusal:
            next(BPETokenizer(pattern).encode_iterable(["ab"]))
        assert repr(pattern) in str(refusal.value)

    @pytest.mark.parametrize("pattern", [r"[\^]a", r"[^a]+|a", r"\^|a", r"(?=a)a|[^a]"])
    def test_a_pattern_that_only_seems_to_is_not(self, pattern: str) -> None:
        assert list(BPETokenizer(pattern).encode_iterable("a^b")) == [97, 94, 98]

    def test_what_is_settled_comes_at_once(self) -> None:
        tokenizer = trained(special=["<|end|>", "<|user|>"])
        given_out: list[list[str]] = []

        def talking() -> Iterator[str]:
            for chunk in ["the cat ", "sat", " on", "<|us", "er|>", "the ", " mat, ", "<|end|>"]:
                given_out.append([])
                yield chunk

        for token in tokenizer.encode_iterable(talking()):
            given_out[-1].append(tokenizer.vocab[token].decode())
        whole = ["".join(tokens) for tokens in given_out]
        assert "".join(whole) == "the cat sat on<|user|>the  mat, <|end|>"
        # Held back is what may be the beginning of a name, or go on as a word.
        assert whole[0] == ""
        assert whole[1] == "the"
        assert whole[4].endswith("<|user|>")
        given_out.clear()
        plain = trained().encode_iterable(talking())
        for token_id in trained().encode("the cat"):
            assert next(plain) == token_id
            assert len(given_out) == 1

    @pytest.mark.parametrize("size", [3, 2000, 1_000_000])
    def test_it_is_lazy_and_its_memory_bounded(self, size: int) -> None:
        tokenizer = trained()
        text = "".join(f"word {number % 100} " for number in range(130_000))[:1_000_000]
        text = text[: size * 10_000]
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        read = 0

        def stream() -> Iterator[str]:
            nonlocal read
            for chunk in chunks:
                read += 1
                yield chunk

        wanted = tokenizer.count(text)
        tracemalloc.start()
        try:
            ids = tokenizer.encode_iterable(stream())
            next(ids)
            assert read * size <= max(size, 20)
            total = 1 + sum(1 for _ in ids)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert total == wanted
        assert peak < 2.5 * 2**20 + size  # and not the 8 MB of all ids

    @pytest.mark.parametrize("pattern", PATTERNS[:-1])
    def test_twice_the_stream_is_twice_the_work(self, pattern: Pattern) -> None:
        tokenizer = trained(pattern, SPECIAL)

        def work(text: str, size: int) -> int:
            chunks = [text[start : start + size] for start in range(0, len(text), size)]
            return lines_run(lambda: list(tokenizer.encode_iterable(chunks)))

        for text in ("the cat sat " * 500, "a" * 6000, "  \n" * 2000, "12" * 3000):
            work(text, 7)  # what is met again is known
            assert work(text * 2, 7) < 2.3 * work(text, 7)

    def test_a_chunk_is_a_string(self) -> None:
        wrong: Any = ["a", b"b"]
        with pytest.raises(TypeError, match="a chunk must be str, not bytes"):
            list(BPETokenizer().encode_iterable(wrong))
