"""ByteTokenizer: fast equals slow equals the definition; the estimate; what is refused."""

from __future__ import annotations

import pickle
import random
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpe
import reference
from bpe import BPETokenizer, ByteTokenizer
from strategies import token_alphabets
from work import lines_run

SINGLE_BYTES = [bytes([byte]) for byte in range(256)]

small_bytes = st.text(alphabet="ab", max_size=50).map(str.encode)


def learned_alphabet(text: str, size: int) -> list[bytes]:
    return list(BPETokenizer(None).train(text, size).vocab.values())


class TestTokenize:
    @settings(max_examples=300)
    @given(alphabet=token_alphabets(), text=small_bytes, times=st.sampled_from([1, 4]))
    def test_it_is_the_definition(self, alphabet: list[bytes], text: bytes, times: int) -> None:
        tokenizer = ByteTokenizer(alphabet)
        wanted = reference.alphabet_tokenize(alphabet, text * times)
        assert tokenizer.slow_tokenize(text * times) == wanted
        assert tokenizer.tokenize(text * times) == wanted
        assert reference.LinkedListTokenizer(alphabet).tokenize(text * times) == wanted
        assert tokenizer.decode(wanted) == text * times

    @settings(max_examples=300)
    @given(token_alphabets(), small_bytes, st.integers(1, 6), st.integers(2, 7))
    def test_cutting_long_text_changes_nothing(
        self, alphabet: list[bytes], text: bytes, times: int, shortest_run: int
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_RUN", re.compile(rb"(?s)(.)\1{%d,6}" % (shortest_run - 1)))
            patch.setattr(bpe._Encoder, "SHORT", 2)
            patch.setattr(bpe._Encoder, "REACH", shortest_run)
            patch.setattr(bpe._Encoder, "BACK", 1)
            self.check(alphabet, text * times + b"a" * 65, few_rules=0)

    @given(st.binary(max_size=80), st.text(alphabet="abc ", max_size=80), st.integers(256, 290))
    def test_on_learned_alphabets(self, more: bytes, text: str, size: int) -> None:
        alphabet = learned_alphabet(text, size)
        tokenizer = ByteTokenizer(alphabet)
        assert tokenizer.tokenize(text.encode()) == bpe.encode(text, bpe.train(text, size))
        assert tokenizer.tokenize(more) == reference.alphabet_tokenize(alphabet, more)

    def test_of_several_splits_of_one_token_one_is_a_rule(self) -> None:
        tokenizer = ByteTokenizer([*SINGLE_BYTES, b"ab", b"bc", b"abc"])
        assert tokenizer.tokenize(b"abcbc") == [258, 257]

    def test_where_a_heap_alone_goes_wrong(self) -> None:
        alphabet = [*SINGLE_BYTES, b"abb", b"bb", b"aa"]
        text = b"bbaabaabbaab"
        assert ByteTokenizer(alphabet).tokenize(text) == [257, 258, 98, 258, 257, 258, 98]

    def test_a_repeated_token_is_known_by_its_last_id(self) -> None:
        tokenizer = ByteTokenizer([*SINGLE_BYTES, b"ab", b"abc", b"ab", b"abd", b"c"])
        known = {byte: i for i, byte in enumerate(SINGLE_BYTES)}
        assert tokenizer.token_to_id == known | {b"ab": 258, b"abc": 257, b"abd": 259, b"c": 260}
        assert tokenizer.tokenize(b"ababcabd") == [256, 256, 99, 256, 100]
        assert tokenizer.tokenize(b"c") == [99]

    @pytest.mark.parametrize("few_rules", [0, 1000])
    @pytest.mark.parametrize("length", [0, 1, 2, 3, 4095, 4096, 4097, 9999])
    def test_equal_bytes(self, length: int, few_rules: int) -> None:
        alphabet = [*SINGLE_BYTES, b"aa", b"aaa", b"a" * 4, b"a" * 7, b"a" * 64, b"a" * 8]
        self.check(alphabet, b"a" * length, few_rules)

    @pytest.mark.parametrize("few_rules", [0, 1000])
    def test_long_text(self, few_rules: int) -> None:
        alphabet = learned_alphabet(bpe.SAMPLE_KO + bpe.SAMPLE_EN, 450)
        random.Random(2).shuffle(tail := alphabet[256:])
        text = (bpe.SAMPLE_EN + bpe.SAMPLE_KO).encode() * 6
        self.check(alphabet[:256] + tail, text, few_rules)

    def check(self, alphabet: list[bytes], text: bytes, few_rules: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe._Encoder, "FEW_RULES", few_rules)
            wanted = reference.alphabet_tokenize(alphabet, text)
            assert ByteTokenizer(alphabet).tokenize(text) == wanted

    def test_the_callers_list_is_copied(self) -> None:
        alphabet = [*SINGLE_BYTES, b"ab"]
        tokenizer = ByteTokenizer(alphabet)
        alphabet[256] = b"xy"
        assert tokenizer.token_alphabet == [*SINGLE_BYTES, b"ab"]
        assert tokenizer.tokenize(b"ab") == [256]
        assert tokenizer.decode([256]) == b"ab"

    @pytest.mark.parametrize("kind", [bytearray, memoryview])
    def test_what_holds_bytes_is_taken_for_them(self, kind: Any) -> None:
        token = bytearray(b"ab")
        tokenizer = ByteTokenizer([*map(kind, SINGLE_BYTES), kind(token)])
        token[0] = ord("x")
        assert tokenizer.token_alphabet == [*SINGLE_BYTES, b"ab"]
        assert (
            tokenizer.tokenize(kind(b"abc")) == tokenizer.slow_tokenize(kind(b"abc")) == [256, 99]
        )

    def test_a_pickle_holds_the_alphabet(self) -> None:
        tokenizer = ByteTokenizer([*SINGLE_BYTES, b"ab", b"abc", b"ab"])
        before = pickle.dumps(tokenizer)
        tokenizer.tokenize(b"abcab" * 100)
        assert pickle.dumps(tokenizer) == before
        assert pickle.loads(before).tokenize(b"abcab") == tokenizer.tokenize(b"abcab")


class TestWork:
    """What is counted are the lines of the module that run; what is in C, each does once."""

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize("letters", [b"a", b"ab"])
    def test_a_nested_chain_is_set_up_in_time_linear_in_its_bytes(
        self, letters: bytes, order: int
    ) -> None:
        def work(length: int) -> int:
            chain = [letters * size for size in range(2, length + 1)][::order]
            return lines_run(lambda: ByteTokenizer([*SINGLE_BYTES, *chain]))

        without, few, many = work(1), work(100), work(200)
        assert many - without < 5 * (few - without)  # four times the bytes

    @pytest.mark.parametrize("text", [b"a" * 6000, b"ab" * 3000, b"aab" * 2000, b"a" * 5999 + b"b"])
    def test_twice_the_text_is_twice_the_work(
        self, text: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe._Encoder, "FEW_RULES", 0)
        runs = [b"a" * size for size in range(2, 40)]
        tokenizer = ByteTokenizer([*SINGLE_BYTES, *runs, b"ab", b"ba", b"abab"])
        tokenizer.tokenize(text)
        once, twice = (lines_run(partial(tokenizer.tokenize, text * n)) for n in (2, 4))
        assert twice < 2.2 * once


class TestRefusals:
    @pytest.mark.parametrize(
        ("alphabet", "error", "message"),
        [
            (SINGLE_BYTES[:255], ValueError, r"token 255 must be b'\\xff', not None"),
            ([], ValueError, r"token 0 must be b'\\x00', not None"),
            ([*SINGLE_BYTES[:97], b"b"], ValueError, "token 97 must be b'a', not b'b'"),
            ([*SINGLE_BYTES, b"ab", b""], ValueError, "token 257 is empty"),
            ([*SINGLE_BYTES, "ab"], TypeError, "token 256 must be bytes, not str"),
            ([*SINGLE_BYTES, None], TypeError, "token 256 must be bytes, not NoneType"),
            ("abc", TypeError, "token_alphabet must be a list of bytes, not str"),
            (None, TypeError, "token_alphabet must be a list of bytes, not NoneType"),
        ],
    )
    def test_an_alphabet(self, alphabet: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            ByteTokenizer(alphabet)

    def test_more_tokens_than_there_are_characters(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_LARGEST_TOKEN", 256)
            assert ByteTokenizer([*SINGLE_BYTES, b"ab"]).tokenize(b"ab") == [256]
            with pytest.raises(ValueError, match="token 257 is one too many"):
                ByteTokenizer([*SINGLE_BYTES, b"ab", b"bc"])

    @pytest.mark.parametrize("unknown", [-1, 257, 10**30])
    def test_an_unknown_id(self, unknown: int) -> None:
        with pytest.raises(ValueError, match=f"unknown id {unknown} at position 1"):
            ByteTokenizer([*SINGLE_BYTES, b"ab"]).decode([256, unknown])

    def test_a_wrong_type(self) -> None:
        tokenizer = ByteTokenizer(SINGLE_BYTES)
        wrong: Any = "abc"
        for call in (tokenizer.tokenize, tokenizer.slow_tokenize):
            with pytest.raises(TypeError, match="text must be bytes, not str"):
                call(wrong)
        with pytest.raises(TypeError, match="ids must be a list of integers, not str"):
            tokenizer.decode(wrong)
