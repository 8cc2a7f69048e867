r"""The split patterns: `\p{…}` and `\s` with the standard library, and nothing ever lost."""

from __future__ import annotations

import re
import sys
import tracemalloc
import unicodedata
import warnings
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpe
from bpe import DIGIT_SPLIT_PATTERN, GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, BPETokenizer

PATTERNS = [GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, DIGIT_SPLIT_PATTERN]

# For each text its pieces under GPT-2's and under GPT-4's pattern, as `regex` gives them.
FIXED_CASES = [
    ("I'll say it's THEY'RE", "I|'ll| say| it|'s| THEY|'|RE", "I|'ll| say| it|'s| THEY|'RE"),
    ("a\x1cb \x1fc", "a|\x1c|b| \x1f|c", "a|\x1cb| \x1f|c"),
    ("a\x85b", "a|\x85|b", "a|\x85b"),
    ("a\xa0b\xa0\xa0c", "a|\xa0|b|\xa0|\xa0|c", "a|\xa0b|\xa0|\xa0c"),
    ("x² 10³", "x|²| 10³", "x|²| |10³"),
    ("Ⅳ Ⅷ5", "Ⅳ| Ⅷ5", "Ⅳ| |Ⅷ5"),
    ("e\u0301a \u0301", "e|\u0301|a| \u0301", "e|\u0301a| \u0301"),
    ("한국어, 토큰!", "한국어|,| 토큰|!", "한국어|,| 토큰|!"),
    ("👨‍👩‍👧 hi", "👨‍👩‍👧| hi", "👨‍👩‍👧| hi"),
    ("a 𐐀𐐨𠀀 b𝟙𝟚", "a| 𐐀𐐨𠀀| b|𝟙𝟚", "a| 𐐀𐐨𠀀| b|𝟙𝟚"),
    ("a   b  ", "a|  | b|  ", "a|  | b|  "),
    ("a\r\n\r\n  b\r\n", "a|\r\n\r\n | b|\r\n", "a|\r\n\r\n| | b|\r\n"),
    ("f(x) == 12345;\n", "f|(|x|)| ==| 12345|;|\n", "f|(x|)| ==| |123|45|;\n"),
]

letters_and_more = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cn"])
    | st.sampled_from(
        "aB'sStTlLvVeErRmMdDſ  \t\r\n\x1c\x1f\x85\xa0\u2003\u3000123²Ⅳ½٣،한𐐀𝟙👨\u200d\u0301"
    ),
    max_size=40,
)


def pieces(pattern: str | None, text: str) -> list[str]:
    return BPETokenizer(pattern).pretokenize(text)


@pytest.mark.parametrize(("text", "gpt2", "gpt4"), FIXED_CASES)
def test_fixed_cases(text: str, gpt2: str, gpt4: str) -> None:
    assert pieces(GPT2_SPLIT_PATTERN, text) == gpt2.split("|")
    assert pieces(GPT4_SPLIT_PATTERN, text) == gpt4.split("|")


def test_single_digits() -> None:
    assert pieces(DIGIT_SPLIT_PATTERN, "it's 1234") == ["it", "'s", " ", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    "pattern", [*PATTERNS, None, r"\p{Lu}", r"x*", r"(a)|(b)\2", r"\b", r"(?!)"]
)
@given(text=letters_and_more)
def test_joined_the_pieces_are_the_text(pattern: str | None, text: str) -> None:
    found = pieces(pattern, text)
    assert "".join(found) == text
    assert "" not in found


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=letters_and_more | st.text(" a,\r\n", max_size=40), lead=st.integers(0, 30))
def test_long_text_is_cut_in_blocks_without_a_trace(pattern: str, text: str, lead: int) -> None:
    text = "a" * (bpe._BLOCK_SIZE - lead) + text + text
    splitter = bpe._Splitter(pattern)
    assert list(splitter.split(text)) == splitter._split_block(text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_long_text_is_never_held_whole_in_pieces(pattern: str) -> None:
    text = "It's 12 words: a, b; c.\n" * 20_000
    tracemalloc.start()
    number_of_pieces = sum(1 for _ in bpe._Splitter(pattern).split(text))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert number_of_pieces > 200_000
    assert peak < 2 * len(text)


def test_what_does_not_match_is_a_piece_of_its_own() -> None:
    assert pieces(r"\p{Lu}", "abCdE") == ["ab", "C", "d", "E"]
    assert pieces(r"(\d)(?:x)", "a1x22xb") == ["a", "1x", "2", "2x", "b"]
    assert pieces("b*", "abba") == ["a", "bb", "a"]
    assert pieces(None, "a b") == ["a b"]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\p{Ll}+", "aBc", "a|B|c"),
        (r"\pL+", "ab12", "ab|12"),
        (r"\P{L}+", "ab12한", "ab|12|한"),
        (r"\p{^L}+", "ab12", "ab|12"),
        (r"[\P{L}]+", "ab1𐐀2", "ab|1|𐐀|2"),
        (r"[^\p{L}\s]+", "ab12 c", "ab|12| c"),
        (r"[\S]+", "ab\x1c c\xa0d", "ab\x1c| |c|\xa0|d"),
        (r"\s+", "a\x1c\u3000b", "a\x1c|\u3000|b"),
        (r"[+-\p{N}]+", "a1+-,b", "a|1+-|,b"),
        (r"[\p{Nd}-z]+", "a1-zb", "a|1-z|b"),
        (r"[]\p{L}]+", "a]b1", "a]b|1"),
        (r"[^]\p{L}]+", "a]b1", "a]b|1"),
        (r"[[\p{L}]+", "[a1", "[a|1"),
        (r"\\p\{L\}", r"a\p{L}b", r"a|\p{L}|b"),
        (r"[\]\p{L}]+", "]a1", "]a|1"),
        (r"\[\p{L}\]", "x[a]y", "x|[a]|y"),
        (r"\p{So}+", "a🎉🎊b", "a|🎉🎊|b"),
        (r"\p{Lo}+", "ABC", "ABC"),
        (r"\p{Co}+", "a\U0010ffff\U0010fffdb", "a\U0010ffff|\U0010fffd|b"),
        (r"\p{Cn}", "a\U0010ffffb", "a|\U0010ffff|b"),
        (r"(?i:a(?-i:\p{Lu}))|(?i:b)\p{Ll}", "AAaaBbBB", "AA|a|aB|bBB"),
        (r"[\p{N}&&~~x]+", "a&~1xb", "a|&~1x|b"),
        (r"(?i:[\s\\p]+)", "aP \\b", "a|P \\|b"),
    ],
)
def test_patterns_of_ones_own(pattern: str, text: str, expected: str) -> None:
    assert pieces(pattern, text) == expected.split("|")


CATEGORIES = list(map(unicodedata.category, map(chr, range(sys.maxunicode + 1))))
LASTS = [code for code, (one, next_one) in enumerate(pairwise(CATEGORIES)) if one != next_one]
EDGES = [chr(code) for last in LASTS for code in (last, last + 1)]


@pytest.mark.parametrize("name", [*bpe._CATEGORIES, *"CLMNPSZ"])
def test_a_property_is_its_general_category(name: str) -> None:
    wanted = {edge for edge in EDGES if CATEGORIES[ord(edge)].startswith(name)}
    compiled = re.compile(bpe._translate(rf"\p{{{name}}}", bpe._UNICODE))
    assert set(compiled.findall("".join(EDGES))) == wanted
    negated = re.compile(bpe._translate(rf"[\P{{{name}}}]", bpe._UNICODE))
    assert set(negated.findall("".join(EDGES))) == set(EDGES) - wanted


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        (r"\p{Foo}", r"\p{Foo} is not a general category"),
        (r"\p{}", "is not a general category"),
        (r"\p{L", r"\p{ is not a general category"),
        (r"[\p{Greek}]", "is not a general category"),
        ("(", "missing )"),
        ("[a", "unterminated character set"),
        (r"[a\p{L}", "unterminated character set"),
        ("a{9999999999999}", "invalid split pattern"),
        ("(?x) a # [", "verbose patterns are not supported"),
        ("(?ix: a)", "verbose patterns are not supported"),
        ("[[:alpha:]]", "POSIX classes are not supported"),
        (r"(?i)a|\p{L}", r"\p{L} under (?i) is not supported"),
        (r"(?i:a(b)[x\P{L}])", r"[x\P{L}] under (?i) is not supported"),
        (r"(?-i:a)|(?si:(?-s:\p{L}))", r"\p{L} under (?i) is not supported"),
        ("\ud800", "surrogates not allowed"),
        ("\\", "bad escape"),
    ],
)
def test_an_invalid_pattern_is_refused(pattern: str, fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)):
        BPETokenizer(pattern)


def test_no_pattern_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pieces(r"[\p{L}&&||~~[a]+", "x&y") == ["x&y"]


def test_a_pattern_is_a_string() -> None:
    wrong: Any = b"a"
    with pytest.raises(TypeError, match="pattern must be str, not bytes"):
        BPETokenizer(wrong)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=letters_and_more)
def test_it_gives_what_regex_gives(pattern: str, text: str) -> None:
    regex = pytest.importorskip("regex", reason="regex is not installed")
    known = [c for c in text if _same_category(regex, c)]  # the two may know other Unicodes
    text = "".join(known)
    assert pieces(pattern, text) == regex.findall(pattern, text)


def _same_category(regex: Any, character: str) -> bool:
    category = unicodedata.category(character)
    return all(
        bool(regex.match(rf"\p{{{name}}}", character)) == category.startswith(name)
        for name in ("L", "N")
    )
