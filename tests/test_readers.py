"""Reading files that others made: what they say, in full, or a refusal that names the fault."""

from __future__ import annotations

import base64
import json
import re
import tracemalloc
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpe
from bpe import (
    DIGIT_SPLIT_PATTERN,
    GPT2_SPLIT_PATTERN,
    GPT4_SPLIT_PATTERN,
    GPT4O_SPLIT_PATTERN,
    BPETokenizer,
)

Json = dict[str, Any]

SPELLING = bpe._byte_spelling()
BYTES = {bytes([byte]): byte for byte in range(256)}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
WITHOUT_REGEX = BYTE_LEVEL | {"use_regex": False}
MERGES = [["l", "o"], ["lo", "w"], ["Ġ", "low"], ["é", "Ń"]]
DIGITS = {"type": "Digits", "individual_digits": True}


def vocab(*more: str) -> dict[str, int]:
    """The bytes from 1000 down, then the tokens of `MERGES`, with gaps, then `more`."""
    spellings = [*SPELLING, *map("".join, MERGES), *more]
    return {
        spelling: 1000 - i if i < 256 else 1000 + 10 * (i - 255)
        for i, spelling in enumerate(spellings)
    }


def huggingface(**changes: Any) -> Json:
    """A small `tokenizer.json`; `changes` are of the model where it has that key."""
    content: Json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added("<|end|>", 3000)],
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": {"type": "ByteLevel", "add_prefix_space": True},
        "decoder": BYTE_LEVEL | {"add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab(),
            "merges": MERGES,
        },
    }
    for key, value in changes.items():
        (content["model"] if key in content["model"] else content)[key] = value
    return content


def added(name: str, token: int, **flags: bool) -> Json:
    usual = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
    return {"id": token, "content": name, "special": True, **usual, **flags}


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> Json:
    given_pattern = {"Regex": pattern}
    return {"type": "Split", "pattern": given_pattern, "behavior": behavior, "invert": invert}


def stages(*steps: Json, last: Json = WITHOUT_REGEX) -> Json:
    return {"type": "Sequence", "pretokenizers": [*steps, last]}


def merges_of(vocabulary: bpe._Vocabulary) -> list[tuple[bytes, bytes]]:
    token_bytes = dict(zip(vocabulary.ids, vocabulary.bytes, strict=True))
    return [(token_bytes[first], token_bytes[second]) for first, second in vocabulary.merges()]


def comparable(contents: bpe._Contents) -> dict[str, Any]:
    vocabulary = contents.vocabulary
    return contents._asdict() | {"vocabulary": (vocabulary.ids, merges_of(vocabulary))}


def read_json(data: bytes) -> bpe._Contents:
    return bpe._read_huggingface(bpe._parse_json(data))


def read(**changes: Any) -> dict[str, Any]:
    return comparable(read_json(json.dumps(huggingface(**changes)).encode()))


def rank_file(ranks: dict[bytes, int] | None = None, *lines: bytes) -> bytes:
    pairs = (BYTES if ranks is None else ranks).items()
    written = [base64.b64encode(token) + b" %d" % rank for token, rank in pairs]
    return b"\n".join([*written, *lines, b""])


def refused(reader: Callable[..., object], *arguments: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=fault) as refusal:
        reader(*arguments)
    assert len(str(refusal.value)) < 300


class TestTiktokensFile:
    def test_any_order_and_any_ids(self) -> None:
        ranks = {token: 5 * rank + 3 for token, rank in reversed(BYTES.items())}
        ranks |= {b"low": 0, b"lo": 2**32 - 2}
        assert bpe._read_tiktoken(rank_file(ranks)) == ranks

    def test_line_ends_and_empty_lines(self) -> None:
        data = rank_file().replace(b"\n", b"\r\n\r\n")
        assert bpe._read_tiktoken(data) == bpe._read_tiktoken(rank_file()[:-1]) == BYTES

    @pytest.mark.parametrize(
        ("line", "fault"),
        [
            (b"!bG8= 256", "line 257 is not base64: b'!bG8= 256"),
            (b"bG8 256", "line 257 is not base64"),
            (b"bG\xff8= 256", "line 257 is not base64"),
            (b"bG8=", "line 257 is not a token and its rank"),
            (b" 256", "line 257 is not a token and its rank"),
            (b"bG8= 256 1", "line 257 is not a token and its rank"),
            (b"bG8= -1", "line 257 is not a token and its rank"),
            (b"bG8= 1e3", "line 257 is not a token and its rank"),
            (b"bG8= 1_0", "line 257 is not a token and its rank"),
            (b"bG8= " + b"9" * 100_000, "line 257 is not a token and its rank"),
            (b"bG8= 4294967295", "the id of b'lo' cannot be 4294967295"),
            (b"bG8= 97", "b'a' and b'lo' both have the id 97"),
            (b"YQ== 256", "line 257 repeats the token b'a'"),
            (b"bG8= 256\nbG8= 256", "line 258 repeats the token b'lo'"),
        ],
    )
    def test_a_bad_line(self, line: bytes, fault: str) -> None:
        refused(bpe._read_tiktoken, rank_file(None, line), fault=fault)

    @pytest.mark.parametrize("byte", [0, 97, 255])
    def test_a_byte_that_is_missing(self, byte: int) -> None:
        ranks = {token: rank for token, rank in BYTES.items() if rank != byte}
        fault = f"the byte b.{'a' if byte == 97 else f'.x{byte:02x}'}. is not a token"
        refused(bpe._read_tiktoken, rank_file(ranks | {b"lo": 300}), fault=fault)

    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            (b"", "the byte b'.x00' is not a token"),
            (bytes(1000), "line 1 is not a token"),
            (b"\n" * 2_000_000, "2000000 tokens are too many"),
            (b"<!DOCTYPE html>\n<html>", "line 1 is not a token and its rank: b'<!DOCTYPE"),
        ],
    )
    def test_junk(self, data: bytes, fault: str) -> None:
        refused(bpe._read_tiktoken, data, fault=fault)

    @given(position=st.integers(0, 2000), junk=st.binary(max_size=3))
    def test_changed_anywhere_it_is_ranks_or_a_value_error(
        self, position: int, junk: bytes
    ) -> None:
        data = rank_file(BYTES | {b"lo": 300, b"low": 290})
        data = data[:position] + junk + data[position + len(junk) :]
        try:
            ranks = bpe._read_tiktoken(data)
        except ValueError:
            return
        assert ranks.keys() >= BYTES.keys()
        assert len(set(ranks.values())) == len(ranks)


class TestRanksOfACaller:
    def test_they_are_copied(self) -> None:
        given_ranks = BYTES | {b"lo": 256}
        ranks = bpe._checked_ranks(given_ranks)
        assert ranks == given_ranks
        assert ranks is not given_ranks

    @pytest.mark.parametrize(
        ("more", "error", "fault"),
        [
            ({"lo": 256}, TypeError, "ranks must map bytes to int, not 'lo' to 256"),
            ({b"lo": "256"}, TypeError, "not b'lo' to '256'"),
            ({b"lo": None}, TypeError, "not b'lo' to None"),
            ({b"": 256}, ValueError, "a token is empty"),
            ({b"lo": -1}, ValueError, "the id of b'lo' cannot be -1"),
            ({b"lo": 10**1000}, ValueError, "the id of b'lo' cannot be 1000"),
            ({b"lo": 5}, ValueError, "both have the id 5"),
        ],
    )
    def test_what_is_refused(self, more: Any, error: type[Exception], fault: str) -> None:
        with pytest.raises(error, match=fault):
            BPETokenizer.from_tiktoken(BYTES | more)

    def test_a_byte_that_is_missing(self) -> None:
        with pytest.raises(ValueError, match=r"the byte b'a' is not a token"):
            BPETokenizer.from_tiktoken({token: rank for token, rank in BYTES.items() if rank != 97})

    def test_ranks_that_are_not_in_the_order_of_merging(self, tmp_path: Path) -> None:
        ranks = BYTES | {b"low": 256, b"lo": 257}
        fault = "token b'low' would be merged after the turn that its rank gives"
        with pytest.raises(ValueError, match=fault):
            BPETokenizer.from_tiktoken(ranks)
        path = tmp_path / "low.tiktoken"
        path.write_bytes(rank_file(ranks))
        for read in (BPETokenizer.from_tiktoken, BPETokenizer.from_file):
            with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: .*{fault}"):
                read(path)


class TestGpt2sFiles:
    MERGES = "#version: 0.2\nl o\nlo w\nĠ low\né Ń\n".encode()

    def read(self, merges: bytes = MERGES, *names: str) -> bpe._Contents:
        return bpe._read_gpt2(json.dumps(vocab("<|end|>", "한 글")).encode(), merges, names)

    def test_what_they_say(self) -> None:
        contents = self.read(self.MERGES, "<|end|>", "한 글", "<|other|>")
        assert contents.special_tokens == {"<|end|>": 1050, "한 글": 1060}
        assert contents.tokens[b"low"] == 1020
        assert contents.tokens[b"\n"] == 990
        assert len(contents.tokens) == 260
        assert merges_of(contents.vocabulary) == [
            (b"l", b"o"),
            (b"lo", b"w"),
            (b" ", b"low"),
            (b"\xe9", b"\xad"),
        ]
        assert contents.pattern == GPT2_SPLIT_PATTERN
        assert not contents.whole_tokens
        assert contents.normalization is None

    def test_the_first_line_and_line_ends(self) -> None:
        expected = comparable(self.read(self.MERGES, "한 글"))
        assert comparable(self.read(self.MERGES.split(b"\n", 1)[1], "한 글")) == expected
        assert comparable(self.read(self.MERGES.replace(b"\n", b"\r\n"), "한 글")) == expected
        assert comparable(self.read(self.MERGES[:-1], "한 글")) == expected

    def test_a_special_token_that_is_not_named_is_only_decoded(self) -> None:
        contents = self.read(self.MERGES, "한 글")
        assert contents.tokens[b"<|end|>"] == 1050
        assert contents.special_tokens == {"한 글": 1060}

    @pytest.mark.parametrize(
        ("merges", "fault"),
        [
            (b"l o\n\nlo w", "merge 1 is not two tokens: ''"),
            (b"l o\nlow", "merge 1 is not two tokens: 'low'"),
            (b"l o w", "merge 0 is not two tokens: 'l o w'"),
            (b"l  o", "merge 0 is not two tokens"),
            (b"l o\nl o", "merge 1 repeats an earlier one: 'l o'"),
            (b"l o\nw w", "merge 1: 'ww' is not a token of the vocab"),
            (b"l o\nww w", "merge 1: 'ww' is not a token of the vocab"),
            (b"l ", "merge 0: '' is not a token of the vocab"),
            (b"l o\n\xff o", "can't decode byte 0xff"),
            (b"\n" * 2_000_000, "2000000 tokens are too many"),
            (b"lo w\nl o", "b'lo', b'w'. comes before those that make its halves"),
        ],
    )
    def test_bad_merges(self, merges: bytes, fault: str) -> None:
        refused(self.read, merges, "한 글", fault=fault)

    def test_a_name_that_spells_no_bytes(self) -> None:
        refused(self.read, fault="'한 글' spells no bytes, as '한' does not, and is no")


class TestHuggingFacesFile:
    def test_what_it_says(self) -> None:
        tokens = {bytes([byte]): 1000 - byte for byte in range(256)}
        tokens |= {b"lo": 1010, b"low": 1020, b" low": 1030, b"\xe9\xad": 1040}
        merges = [(b"l", b"o"), (b"lo", b"w"), (b" ", b"low"), (b"\xe9", b"\xad")]
        assert read() == {
            "pattern": GPT2_SPLIT_PATTERN,
            "tokens": tokens,
            "vocabulary": (list(tokens.values()), merges),
            "special_tokens": {"<|end|>": 3000},
            "whole_tokens": False,
            "normalization": None,
        }

    def test_merges_as_strings(self) -> None:
        assert read(merges=[" ".join(merge) for merge in MERGES]) == read()

    def test_what_may_be_left_out(self) -> None:
        content = huggingface()
        content = {key: content[key] for key in ["added_tokens", "model", "pre_tokenizer"]}
        content["model"] = {key: content["model"][key] for key in ["vocab", "merges"]}
        assert comparable(bpe._read_huggingface(content)) == read()

    @pytest.mark.parametrize(
        "changes",
        [
            {"unk_token": "<unk>", "fuse_unk": True},  # with all bytes there is nothing unknown
            {"dropout": 0.0},
            {"continuing_subword_prefix": "", "end_of_word_suffix": ""},
            {"decoder": None},
            {"decoder": {"type": "Sequence", "decoders": [BYTE_LEVEL]}},
            {"normalizer": {"type": "Sequence", "normalizers": []}},
            {"post_processor": {"type": "TemplateProcessing", "single": []}},
            {"pre_tokenizer": stages(last=BYTE_LEVEL)},
            {"pre_tokenizer": stages(last=BYTE_LEVEL | {"use_regex": True})},
        ],
    )
    def test_what_changes_nothing(self, changes: Json) -> None:
        assert read(**changes) == read()

    def test_whole_tokens(self) -> None:
        assert read(ignore_merges=True) == read() | {"whole_tokens": True}

    @pytest.mark.parametrize(
        "normalizer",
        [{"type": "NFC"}, {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]}],
    )
    def test_normalization(self, normalizer: Json) -> None:
        assert read(normalizer=normalizer) == read() | {"normalization": "NFC"}

    @pytest.mark.parametrize(
        ("pre_tokenizer", "pattern"),
        [
            (WITHOUT_REGEX, None),
            (stages(), None),
            (stages(split(GPT4_SPLIT_PATTERN)), GPT4_SPLIT_PATTERN),
            (stages(split(GPT4_SPLIT_PATTERN, invert=True)), GPT4_SPLIT_PATTERN),
            (stages(split(DIGIT_SPLIT_PATTERN, "Removed", True)), DIGIT_SPLIT_PATTERN),
            (stages(split(GPT4O_SPLIT_PATTERN, "Removed", True)), GPT4O_SPLIT_PATTERN),
            (stages(DIGITS), r"\p{N}"),
            (stages(DIGITS | {"individual_digits": False}), r"\p{N}+"),
            (stages(DIGITS, last=BYTE_LEVEL), (r"\p{N}", GPT2_SPLIT_PATTERN)),
            (
                stages(split("[\r\n]"), split(r"\s?[A-Za-zµÀ-Ö]+"), split(r"\s+$"), DIGITS),
                ("[\r\n]", r"\s?[A-Za-zµÀ-Ö]+", r"\s+(?m:$)", r"\p{N}"),
            ),
            (stages(split("x") | {"pattern": {"String": "a.b"}}), r"a\.b"),
        ],
    )
    def test_pre_tokenizers(self, pre_tokenizer: Json, pattern: object) -> None:
        assert read(pre_tokenizer=pre_tokenizer)["pattern"] == pattern

    def test_added_tokens(self) -> None:
        """Special or not, in the vocab or not, also as a token that merges make."""
        names = [
            added("<|a b|>", 2, special=False, normalized=True),
            added("한글", 2**32 - 1),
            added("<|in|>", 1050),
            added("lo", 1010),
        ]
        contents = read(added_tokens=names, vocab=vocab("<|in|>"))
        assert contents["special_tokens"] == {
            "<|a b|>": 2,
            "한글": 2**32 - 1,
            "<|in|>": 1050,
            "lo": 1010,
        }
        assert contents["tokens"] == read()["tokens"]  # with "lo", which "low" is made of
        assert read(added_tokens=None)["special_tokens"] == {}

    def test_of_many_pairs_that_spell_a_token_the_one_that_merges(self) -> None:
        merges = [["l", "o"], ["l", "ow"], ["lo", "w"], ["Ġ", "low"], ["Ġl", "ow"], ["Ġlo", "w"]]
        more = vocab("ow", "Ġl", "Ġlo")
        (_, reachable), (_, expected) = (
            each["vocabulary"] for each in (read(vocab=more, merges=merges), read())
        )
        assert reachable == expected[:3]

    @pytest.mark.parametrize(
        ("changes", "fault"),
        [
            ({"truncation": {"max_length": 5}}, "the file: truncation {.*} is not supported"),
            ({"padding": {}}, "the file: padding {} is not supported"),
            ({"type": "WordPiece"}, "model: type 'WordPiece' is not supported"),
            ({"type": "Unigram"}, "model: type 'Unigram' is not supported"),
            ({"type": ["BPE"]}, r"model: type \['BPE'\] is not supported"),
            ({"dropout": 0.1}, "model: dropout 0.1 is not supported"),
            ({"continuing_subword_prefix": "##"}, "continuing_subword_prefix '##' is not"),
            ({"end_of_word_suffix": "</w>"}, "end_of_word_suffix '</w>' is not supported"),
            ({"byte_fallback": True}, "byte_fallback True is not supported"),
            ({"ignore_merges": "yes"}, "ignore_merges 'yes' is not supported"),
            ({"normalizer": {"type": "NFKC"}}, "normalizer: type 'NFKC' is not supported"),
            ({"normalizer": {"type": "Lowercase"}}, "normalizer: type 'Lowercase' is not"),
            (
                {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Strip"}]}},
                "normalizer: type 'Strip' is not supported",
            ),
            ({"normalizer": {"type": "Sequence"}}, "normalizer: normalizers None is not supported"),
            ({"normalizer": "NFC"}, "normalizer is not an object: 'NFC'"),
            ({"decoder": {"type": "WordPiece"}}, "decoder: type 'WordPiece' is not supported"),
            ({"pre_tokenizer": None}, "pre_tokenizer must have one ByteLevel, at its end"),
            ({"pre_tokenizer": DIGITS}, "pre_tokenizer must have one ByteLevel, at its end"),
            ({"pre_tokenizer": stages(BYTE_LEVEL)}, "must have one ByteLevel, at its end"),
            ({"pre_tokenizer": stages(last=DIGITS)}, "must have one ByteLevel, at its end"),
            ({"pre_tokenizer": {"type": "Metaspace"}}, "pre_tokenizer: type 'Metaspace' is not"),
            ({"pre_tokenizer": stages({"type": "Punctuation"})}, "'Punctuation' is not supported"),
            ({"pre_tokenizer": stages(stages())}, "pre_tokenizer: type 'Sequence' is not"),
            (
                {"pre_tokenizer": BYTE_LEVEL | {"add_prefix_space": True}},
                "ByteLevel: add_prefix_space True is not supported",
            ),
            ({"pre_tokenizer": stages({"type": "Digits"})}, "individual_digits None is not"),
            (
                {"pre_tokenizer": stages(split("x", "MergedWithNext"))},
                "Split: behavior 'MergedWithNext' is not supported",
            ),
            ({"pre_tokenizer": stages(split("x", "Removed"))}, "Removed may lose text: 'x'"),
            ({"pre_tokenizer": stages(split("x", "Removed", True))}, "may lose text: 'x'"),
            (
                {"pre_tokenizer": stages(split(GPT4_SPLIT_PATTERN, "Removed"))},
                "Removed may lose text",
            ),
            (
                {"pre_tokenizer": stages(split("x") | {"pattern": "x"})},
                "Split: pattern 'x' is not supported",
            ),
            (
                {"pre_tokenizer": stages(split("x") | {"pattern": {}})},
                "Split: pattern {} is not supported",
            ),
            (
                {"pre_tokenizer": stages(split("x") | {"pattern": {"Regex": 5}})},
                "Split: pattern {'Regex': 5} is not supported",
            ),
            ({"model": None}, "model is not an object: None"),
            ({"vocab": []}, r"model: vocab \[\] is not supported"),
            ({"vocab": vocab() | {"lo": -1}}, "the id of 'lo' cannot be -1"),
            ({"vocab": vocab() | {"lo": 2**32}}, "the id of 'lo' cannot be 4294967296"),
            ({"vocab": vocab() | {"lo": True}}, "the id of 'lo' cannot be True"),
            ({"vocab": vocab() | {"lo": 5.0}}, "the id of 'lo' cannot be 5.0"),
            ({"vocab": vocab() | {"lo": "5"}}, "the id of 'lo' cannot be '5'"),
            ({"vocab": vocab() | {"lo": 1000}}, "'Ā' and 'lo' both have the id 1000"),
            ({"vocab": vocab("")}, "a token is empty"),
            ({"vocab": vocab("한")}, "'한' spells no bytes, as '한' does not"),
            ({"vocab": vocab("a b")}, "'a b' spells no bytes, as ' ' does not"),
            ({"vocab": vocab("\ud800")}, r"'\\ud800' spells no bytes"),
            ({"merges": {}}, "model: merges {} is not supported"),
            ({"merges": None}, "model: merges None is not supported"),
            ({"merges": [5]}, "merge 0 is not two tokens: 5"),
            ({"merges": ["l o", "low"]}, "merge 1 is not two tokens: 'low'"),
            ({"merges": ["l o w"]}, "merge 0 is not two tokens: 'l o w'"),
            ({"merges": [["l", "o", "w"]]}, "merge 0 is not two tokens"),
            ({"merges": [["l", ["o"]]]}, "merge 0 is not two tokens"),
            ({"merges": [["l", "o"], ["l", "o"]]}, "merge 1 repeats an earlier one"),
            ({"merges": [["l", "xy"]]}, "merge 0: 'xy' is not a token of the vocab"),
            ({"merges": [["w", "w"]]}, "merge 0: 'ww' is not a token of the vocab"),
            ({"merges": [["l", "한"]]}, "merge 0: '한' is not a token of the vocab"),
            ({"merges": [["lo", "w"], ["l", "o"]]}, "b'lo', b'w'.* comes before those that make"),
            ({"added_tokens": {"a": 5}}, "the file: added_tokens {.*} is not supported"),
            ({"added_tokens": 0}, "the file: added_tokens 0 is not supported"),
            ({"added_tokens": ["<|a|>"]}, "added token 0 is not an object: '<|a|>'"),
            ({"added_tokens": [{"id": 5}]}, "added token 0: content None is not supported"),
            ({"added_tokens": [added("", 5)]}, "added token 0, '': it has no name of its own"),
            (
                {"added_tokens": [added("<a>", 5), added("<a>", 6)]},
                "added token 1, '<a>': it has no name of its own",
            ),
            ({"added_tokens": [added("<a>", -5)]}, "the id of '<a>' cannot be -5"),
            ({"added_tokens": [added("<a>", 2**32)]}, "cannot be 4294967296"),
            ({"added_tokens": [added("<a>", 1000)]}, "'<a>': the vocab says otherwise .* 1000"),
            ({"added_tokens": [added("lo", 5)]}, "'lo': the vocab says otherwise of the id 5"),
            (
                {"added_tokens": [added("<a>", 5), added("<b>", 5)]},
                "added token 1, '<b>': the vocab says otherwise of the id 5",
            ),
            ({"added_tokens": [added("a", 5, lstrip=True)]}, "token 0: lstrip True is not supp"),
            ({"added_tokens": [added("a", 5, rstrip=True)]}, "token 0: rstrip True is not supp"),
            ({"added_tokens": [added("a", 5, single_word=True)]}, "single_word True is not supp"),
            (
                {
                    "added_tokens": [added("<a>", 5, normalized=True)],
                    "normalizer": {"type": "NFC"},
                },
                "added token '<a>': normalized, which NFC may change",
            ),
            ({"added_tokens": [added("éé", 5)]}, "token .éé. would be decoded as bytes"),
            ({"added_tokens": [added("".join(SPELLING), 5)]}, "would be decoded as bytes"),
            ({"added_tokens": [added("Ġ", 968)]}, "token .Ġ. would be decoded as bytes"),
        ],
    )
    def test_what_is_refused(self, changes: Json, fault: str) -> None:
        refused(lambda: read(**changes), fault=fault)

    @pytest.mark.parametrize("byte", [0, 32, 97, 255])
    def test_a_byte_that_is_missing(self, byte: int) -> None:
        tokens = {spelling: i for spelling, i in vocab().items() if i != 1000 - byte}
        fault = f"the byte {bytes([byte])!r} is not a token".replace("\\", ".")
        refused(lambda: read(vocab=tokens, merges=[]), fault=fault)

    @pytest.mark.parametrize(
        ("name", "refusal"),
        [
            ("<b>x", True),  # holds one that is looked for before it
            ("x<b>", True),
            ("x<", True),  # may end in the beginning of one
            ("x<b", True),
            ("<b", False),  # longer ones are found first anyway
            ("b>", False),
            ("xb>", False),
        ],
    )
    def test_added_tokens_that_overlap_others_looked_for_first(
        self, name: str, refusal: bool
    ) -> None:
        tokens = [added("<b>", 5), added(name, 6, normalized=True)]
        if refusal:
            refused(lambda: read(added_tokens=tokens), fault=f"'{name}': normalized, it overlaps")
        else:
            assert read(added_tokens=tokens)["special_tokens"] == {"<b>": 5, name: 6}
        for same in (False, True):
            tokens = [added("<b>", 5, normalized=same), added(name, 6, normalized=same)]
            assert read(added_tokens=tokens)["special_tokens"] == {"<b>": 5, name: 6}

    def test_names_too_long_to_compare(self) -> None:
        tokens = [added("a" * 5000, 5), added("b" * 5000, 6, normalized=True)]
        refused(lambda: read(added_tokens=tokens), fault="too long to be compared")

    def test_names_that_are_found_in_one_pass_are_not_compared(self) -> None:
        tokens = [added("a" * 20_000, 5), added("b" * 20_000, 6)]
        tracemalloc.start()
        try:
            assert len(read(added_tokens=tokens)["special_tokens"]) == 2
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()


class TestPatternsOfHuggingFace:
    @pytest.mark.parametrize(
        "pattern",
        [
            GPT2_SPLIT_PATTERN,
            GPT4_SPLIT_PATTERN,
            GPT4O_SPLIT_PATTERN,
            DIGIT_SPLIT_PATTERN,
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
            r"\p{N}{1,3}",
            "[一-龥぀-ゟ゠-ヿ]+",
            r"(?<=\d)a*?(?<!x)b+(?=\S)(c|d){2}(?:e{3,}|\u00e9|\x41|\P{^Lu})",
            r"'(?i:[sdmt]|ll|ve|re)",
            r"\s+(?m:$)",
        ],
    )
    def test_what_means_the_same(self, pattern: str) -> None:
        assert bpe._portable(pattern) == pattern

    @pytest.mark.parametrize(
        ("pattern", "rest"),
        [
            (r"a\w+", r"\w+"),
            (r"\bx", r"\bx"),
            (r"\h", r"\h"),
            (r"\Z", r"\Z"),
            (r"(a)\1", r"\1"),
            (r"\xe9", r"\xe9"),
            (r"\pL", r"\pL"),
            (r"\p{Han}", r"\p{Han}"),
            (r"x^", "^"),
            (r"[a[bc]]", "[a[bc]]"),
            (r"[a-z&&[^b]]", "[a-z&&[^b]]"),
            (r"[\w]", r"[\w]"),
            (r"[]a]", "[]a]"),
            (r"[a", "[a"),
            (r"\p{N}{1,3}+", "{1,3}+"),
            (r"a{2}?", "{2}?"),
            (r"a{,2}", "{,2}"),
            (r"(?i)a", "(?i)a"),
            (r"(?i:ss)(?i:k)", "(?i:k)"),
            (r"(?m:.)", "(?m:.)"),
            (r"(?s).", "(?s)."),
            (r"(?P<a>b)", "(?P<a>b)"),
            ("a\\", "\\"),
        ],
    )
    def test_what_does_not(self, pattern: str, rest: str) -> None:
        with pytest.raises(ValueError, match="may mean something else here") as refusal:
            bpe._portable(pattern)
        assert str(refusal.value).startswith(repr(rest))

    def test_long_patterns_take_no_memory_beyond_their_length(self) -> None:
        assert bpe._portable("a" * 2_000_000) == "a" * 2_000_000


class TestWhoseFileItIs:
    @pytest.mark.parametrize("indent", [None, 2])
    def test_each_kind(self, tmp_path: Path, indent: int | None) -> None:
        path = tmp_path / "file"
        own = BPETokenizer(special_tokens={'"model":{': 300, "model": 301})
        own.save(path)
        assert BPETokenizer.from_file(path).special_tokens == own.special_tokens
        path.write_bytes(b"\n" + rank_file())
        assert BPETokenizer.from_file(path).encode("low") == [108, 111, 119]
        path.write_text(" \n" + json.dumps(huggingface(), indent=indent))
        assert BPETokenizer.from_file(path).encode("low<|end|>") == [1020, 3000]

    @pytest.mark.parametrize("content", [vocab(), {}, [1], ["model"], {"model": None}])
    def test_no_kind(self, tmp_path: Path, content: object) -> None:
        (tmp_path / "file").write_text(json.dumps(content))
        refused(BPETokenizer.from_file, tmp_path / "file", fault="file: not a tokenizer: ")

    def test_what_our_exports_are(self, tmp_path: Path) -> None:
        tokenizer = BPETokenizer(special_tokens=["<|end|>"]).train("low lower lowest", 260)
        tokenizer.to_huggingface(tmp_path / "huggingface")
        contents = read_json((tmp_path / "huggingface").read_bytes())
        assert contents.pattern == GPT4_SPLIT_PATTERN
        assert contents.tokens == tokenizer.mergeable_ranks()
        assert contents.special_tokens == tokenizer.special_tokens
        assert contents.vocabulary.merges() == tokenizer.merges
        tokenizer.to_tiktoken(tmp_path / "ranks")
        ranks = bpe._read_tiktoken((tmp_path / "ranks").read_bytes())
        assert ranks == tokenizer.mergeable_ranks()

    @pytest.mark.parametrize(
        ("tokens", "pattern"),
        [
            ([], GPT4_SPLIT_PATTERN),
            ([b"low", b"123", b"\xff", b";\n"], GPT4_SPLIT_PATTERN),
            ([b"low", b"1", b" don", b"'t"], GPT4_SPLIT_PATTERN),
            ([b"don't", b"123", b"*/\n", b"\n//"], GPT4O_SPLIT_PATTERN),
            ([b" 2010", b"2010", b"\xed\x95", b"low"], GPT2_SPLIT_PATTERN),
        ],
    )
    def test_what_the_tokens_show_of_the_pattern(self, tokens: list[bytes], pattern: str) -> None:
        assert bpe._likely_pattern([*BYTES, *tokens]) == pattern


def lowest_rank_first(word: str, ranks: dict[tuple[str, str], int]) -> list[str]:
    """What Hugging Face does: merge the pair of the lowest rank, the leftmost, and start over."""
    parts = list(word)
    while found := [(ranks[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in ranks]:
        _, i = min(found)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return parts


@st.composite
def merge_lists(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Merges of tokens that are there, and perhaps all pairs that spell them, in any order."""
    tokens = ["a", "b", "c"]
    merges = []
    for _ in range(draw(st.integers(1, 7))):
        pair = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if len("".join(pair)) < 9 and pair not in merges:
            merges.append(pair)
            tokens = list(dict.fromkeys([*tokens, "".join(pair)]))
    if draw(st.booleans()):
        cuts = [(token[:cut], token[cut:]) for token in tokens for cut in range(1, len(token))]
        merges = [(a, b) for a, b in cuts if a in tokens and b in tokens]
    return draw(st.permutations(merges)) if draw(st.booleans()) else merges


@given(merges=merge_lists(), word=st.text(alphabet="abc", min_size=1, max_size=20))
def test_the_reachable_merges_one_after_the_other_do_what_all_do(
    merges: list[tuple[str, str]], word: str
) -> None:
    pairs = [(first.encode(), second.encode()) for first, second in merges]
    try:
        tokens = {token: token[0] for token in BYTES}
        tokens |= {b"".join(pair): 256 + number for number, pair in enumerate(pairs)}
        rules = list(bpe._vocabulary_of_merges(tokens, pairs).merges().items())
    except ValueError:  # only where a merge stands before one that makes a half of it
        made_later = [{"".join(pair) for pair in merges[i:]} for i in range(len(merges))]
        assert any(made & {*pair} for made, pair in zip(made_later, merges, strict=True))
        return
    expected = lowest_rank_first(word, {pair: rank for rank, pair in enumerate(merges)})
    assert bpe.encode(word, rules) == [tokens[token.encode()] for token in expected]


def check(contents: bpe._Contents) -> None:
    """Raise if these are no contents that a tokenizer can be made of."""
    tokens, special_tokens = contents.tokens, contents.special_tokens
    assert tokens.keys() >= BYTES.keys()
    names = {token: data for data, token in tokens.items()}
    assert len(names) == len(tokens)
    assert len(set(special_tokens.values())) == len(special_tokens)
    for name, token in special_tokens.items():
        assert names.get(token, name.encode()) == name.encode()
    assert all(type(token) is int for token in [*names, *special_tokens.values()])
    assert all(0 <= token < 2**32 for token in [*names, *special_tokens.values()])
    made = set(BYTES)
    for first, second in merges_of(contents.vocabulary):
        assert {first, second} <= made
        assert first + second not in made
        made.add(first + second)
    assert made <= tokens.keys()
    assert contents.normalization in (None, "NFC")
    assert type(contents.whole_tokens) is bool
    pattern = contents.pattern
    patterns = pattern if isinstance(pattern, tuple) else [pattern] if pattern is not None else []
    assert all(type(each) is str for each in patterns)


def contents_or_value_error(data: bytes) -> None:
    message = ""
    try:
        check(read_json(data))
    except ValueError as fault:
        message = str(fault)
    assert len(message) < 300


JUNK: st.SearchStrategy[Any] = (
    st.sampled_from([None, True, False, 0, -1, 1000, 2**32, 1e400, "", "l", "lo", "Ġ", "\ud800"])
    | st.sampled_from([[], {}, [[]], {"type": "Sequence"}, {"type": []}, "x" * 500, 10**400])
    | st.sampled_from(["NFC", "ByteLevel", "Split", "Digits", "(", r"\w", "l o", ["l", "o"]])
    | st.text(max_size=3)
)


class TestHostileFiles:
    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            (b"", "Expecting value"),
            (b"[]", r"the file is not an object: \[\]"),
            (b"\xff{", "can't decode byte 0xff"),
            (b"{" * 100_000, "Expecting property name"),
            (b'{"model":' * 100_000, "nested too deeply"),
            (b"[" * 100_000, "nested too deeply"),
            (b"[" * 5_000_000, "more than 4194304 values"),
            (b"[1" + b",1" * 5_000_000 + b"]", "more than 4194304 values"),
            (bytes(2**26), "Expecting value"),
            (b'{"model": {}, "model": {}}', "the key 'model' stands twice"),
            (b'{"' + b"k" * 5000 + b'": 1, "' + b"k" * 5000 + b'": 1}', "stands twice"),
            (b'{"model": ' + b"9" * 10_000 + b"}", "integer string conversion"),
            (b'{"model": NaN}', "model is not an object: nan"),
        ],
    )
    def test_what_is_not_even_such_an_object(self, tmp_path: Path, data: bytes, fault: str) -> None:
        (tmp_path / "t.json").write_bytes(data)
        refused(BPETokenizer.from_huggingface, tmp_path / "t.json", fault=fault)

    @pytest.mark.parametrize(
        "changes",
        [
            {"type": "x" * 10**6},
            {"merges": ["x" * 10**6]},
            {"merges": [["x" * 10**6, "y"]]},
            {"vocab": {"x" * 10**6: -1}},
            {"vocab": vocab("한" * 10**6)},
            {"added_tokens": [added("é" * 10**6, 5)]},
            {"added_tokens": [added("x" * 10**6, 1000)]},
            {"pre_tokenizer": {"type": [[["y" * 100] * 100] * 100] * 3}},
            {"pre_tokenizer": stages(split("(?P" + "x" * 10**6))},
            {"pre_tokenizer": stages(split("x" * 10**6, "Removed"))},
        ],
    )
    def test_messages_are_short(self, changes: Json) -> None:
        refused(lambda: read(**changes), fault=".")

    @given(data=st.data())
    def test_changed_in_one_place_it_is_contents_or_a_value_error(
        self, data: st.DataObject
    ) -> None:
        parts = [split(GPT4_SPLIT_PATTERN), DIGITS]
        more = [added("<|end|>", 3000), added("<|pad|>", 3, normalized=True)]
        content = deepcopy(huggingface(pre_tokenizer=stages(*parts), added_tokens=more))
        node: Any = content
        while True:
            key = data.draw(st.sampled_from(list(node) if type(node) is dict else range(len(node))))
            if type(node[key]) not in (dict, list) or not node[key] or data.draw(st.booleans()):
                break
            node = node[key]
        if type(node) is dict and data.draw(st.booleans()):
            node[data.draw(st.text(max_size=2))] = node.pop(key)
        else:
            node[key] = data.draw(JUNK)
        contents_or_value_error(json.dumps(content).encode())

    @given(data=st.data())
    def test_mutated_bytes_are_contents_or_a_value_error(self, data: st.DataObject) -> None:
        text = json.dumps(huggingface(), ensure_ascii=data.draw(st.booleans()))
        content = bytearray(text.encode())
        for _ in range(data.draw(st.integers(1, 4))):
            start = data.draw(st.integers(0, len(content)))
            stop = data.draw(st.integers(start, min(start + 9, len(content))))
            content[start:stop] = data.draw(
                st.binary(max_size=3) | st.sampled_from([b"[", b"]", b"-", b"9", b'"', b"null"])
            )
        contents_or_value_error(bytes(content))


def test_an_added_token_that_has_no_utf_8(tmp_path: Path) -> None:
    content = huggingface(added_tokens=[added("\ud800", 5)])
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    path = tmp_path / "tokenizer.json"
    refused(BPETokenizer.from_huggingface, path, fault="surrogates not allowed")


def test_a_special_token_may_have_the_id_0() -> None:
    ranks = {token: rank + 1 for token, rank in BYTES.items()}
    tokenizer = BPETokenizer.from_tiktoken(ranks, special_tokens={"<|start|>": 0})
    assert tokenizer.encode("<|start|>a") == [0, 98]


@pytest.mark.parametrize(
    "special", [["<|end|>", "<|new|>", "<|end|>"], {"<|end|>": 3000, "<|new|>": 5000}]
)
def test_special_tokens_beside_gpt2s_files(special: Any, tmp_path: Path) -> None:
    ids = {spelling: byte for byte, spelling in enumerate(bpe._byte_spelling())}
    (tmp_path / "vocab.json").write_text(json.dumps(ids | {"<|end|>": 3000}), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("")
    paths = tmp_path / "vocab.json", tmp_path / "merges.txt"
    tokenizer = BPETokenizer.from_gpt2(*paths, special_tokens=special)
    new = tokenizer.special_tokens["<|new|>"]
    assert new == (5000 if isinstance(special, dict) else 256)
    assert tokenizer.encode("<|end|>a<|new|>") == [3000, 97, new]
    with pytest.raises(ValueError, match=r"'<\|end\|>' has the id 3000"):
        BPETokenizer.from_gpt2(*paths, special_tokens={"<|end|>": 3001})
    with pytest.raises(TypeError, match="not one string"):
        BPETokenizer.from_gpt2(*paths, special_tokens="<|end|>")
