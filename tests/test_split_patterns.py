r"""The split patterns: `\p{…}` and `\s` with the standard library, and nothing ever lost."""

from __future__ import annotations

import re
import sys
import tracemalloc
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bpe

if sys.version_info < (3, 11):
    from sre_parse import parse
else:
    from re._parser import parse

from bpe import (
    DIGIT_SPLIT_PATTERN,
    GPT2_SPLIT_PATTERN,
    GPT4_SPLIT_PATTERN,
    GPT4O_SPLIT_PATTERN,
    BPETokenizer,
)

# The patterns of known tokenizers, as their own files spell them.
PUBLISHED = {
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "GPT-4, Llama 3, Phi 4": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "Qwen 2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "GPT-4o": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "GPT-2, tiktoken": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$"
    r"|\s+(?!\S)|\s",
    "GPT-4, tiktoken": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "Qwen 3.5": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "Mistral": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "DeepSeek 3": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "DeepSeek, one stage": r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    "Falcon, one stage": r"[\p{P}\$\+<=>\^~\|`]+",
    "Jais 2, in part": r"\p{N}{1,3}|\s*[\r\n]+|\s{512}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}",
    "digits from the right": r"\d{1,3}(?=(?:\d{3})*\b)",
    "the same elsewhere": r"(?=(\d{3})+(?!\d))",
}
PATTERNS = {
    "GPT-2": GPT2_SPLIT_PATTERN,
    "GPT-4, Llama 3, Phi 4": GPT4_SPLIT_PATTERN,
    "Qwen 2": DIGIT_SPLIT_PATTERN,
    "GPT-4o": GPT4O_SPLIT_PATTERN,
    "GPT-2, tiktoken": bpe._TIKTOKEN_GPT2,
    "GPT-4, tiktoken": bpe._TIKTOKEN_GPT4,
}
DEEPSEEK_3 = (r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", PUBLISHED["DeepSeek 3"])
STARCODER = (r"\p{N}", GPT2_SPLIT_PATTERN)

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


def pieces(pattern: str | tuple[str, ...] | None, text: str) -> list[str]:
    return BPETokenizer(pattern).pretokenize(text)


def test_the_worked_example() -> None:
    result = bpe._translate(r" ?\p{L}+|[^\s\p{Lu}]", bpe._LATIN_1)
    wanted = r" ?[A-Za-zª-ªµ-µº-ºÀ-ÖØ-öø-ÿ]+|[^\t-\r \x85\xa0…A-ZÀ-ÖØ-Þ]"
    before, after = wanted.split("…")
    assert result.startswith(before)
    assert result.endswith(after)
    assert wanted in Path(bpe.__file__).read_text(encoding="utf-8").replace("\n# ", " ")


@pytest.mark.parametrize("name", PATTERNS)
def test_the_shipped_patterns_are_spelled_as_published(name: str) -> None:
    assert PATTERNS[name] == PUBLISHED[name]
    assert PATTERNS[name] in bpe._KNOWN_PATTERNS


def test_the_pattern_of_gpt_4o() -> None:
    text = "I'll helloWorld ABCdef don'T /\n/ 1234 e\u0301a"
    wanted = "I'll| hello|World| ABCdef| don'T| /\n/| |123|4| e\u0301a"
    assert pieces(GPT4O_SPLIT_PATTERN, text) == wanted.split("|")


def test_white_space_at_the_end_is_all_in_which_tiktoken_spells_it_otherwise() -> None:
    assert pieces(GPT4_SPLIT_PATTERN, "a \n ") == ["a", " \n", " "]
    assert pieces(bpe._TIKTOKEN_GPT4, "a \n ") == ["a", " \n "]


@given(text=letters_and_more)
def test_otherwise_the_two_spellings_are_one(text: str) -> None:
    assert pieces(bpe._TIKTOKEN_GPT2, text) == pieces(GPT2_SPLIT_PATTERN, text)
    text += "."
    assert pieces(bpe._TIKTOKEN_GPT4, text) == pieces(GPT4_SPLIT_PATTERN, text)


@pytest.fixture
def python_3_10(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    bpe._compile.cache_clear()
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    yield
    bpe._compile.cache_clear()


def test_python_3_10_knows_no_possessive_quantifiers(python_3_10: None) -> None:
    for pattern in (bpe._TIKTOKEN_GPT2, bpe._TIKTOKEN_GPT4):
        assert not re.search(r"[*+?}]\+", bpe._Splitter(pattern).for_ascii.pattern)
    for text, gpt2, gpt4 in FIXED_CASES:
        assert pieces(bpe._TIKTOKEN_GPT2, text) == gpt2.split("|")
        assert pieces(bpe._TIKTOKEN_GPT4, text) == gpt4.split("|")
    for pattern in (r"\p{L}++|.", "a{1,3}+", "a?+"):
        with pytest.raises(ValueError, match=r"possessive quantifiers need Python 3\.11"):
            bpe._Splitter(pattern)


@pytest.mark.parametrize(("text", "gpt2", "gpt4"), FIXED_CASES)
def test_fixed_cases(text: str, gpt2: str, gpt4: str) -> None:
    assert pieces(GPT2_SPLIT_PATTERN, text) == gpt2.split("|")
    assert pieces(GPT4_SPLIT_PATTERN, text) == gpt4.split("|")


def test_single_digits() -> None:
    assert pieces(DIGIT_SPLIT_PATTERN, "it's 1234") == ["it", "'s", " ", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    "pattern",
    [
        *PUBLISHED.values(),
        *(None, (), r"\p{Lu}", r"x*", r"(a)|(b)\2", r"\b", r"(?!)"),
        *(DEEPSEEK_3, STARCODER, ("x*", r"(\p{L})\1")),
    ],
)
@given(text=letters_and_more)
def test_joined_the_pieces_are_the_text(pattern: str | tuple[str, ...] | None, text: str) -> None:
    found = pieces(pattern, text)
    assert "".join(found) == text
    assert "" not in found


@pytest.mark.parametrize("pattern", PATTERNS.values())
@given(text=letters_and_more | st.text(" a,\r\n", max_size=40), lead=st.integers(0, 30))
def test_long_text_is_cut_in_blocks_without_a_trace(pattern: str, text: str, lead: int) -> None:
    text = "a" * (bpe._BLOCK_SIZE - lead) + text + text
    assert pieces(pattern, text) == list(filter(None, bpe._Splitter(pattern).split(text)))


@pytest.mark.parametrize("pattern", PATTERNS.values())
def test_long_text_is_never_held_whole_in_pieces(pattern: str) -> None:
    text = "It's 12 words: a, b; c.\n" * 20_000
    tracemalloc.start()
    number_of_pieces = sum(1 for _ in BPETokenizer(pattern)._coder.split(text))
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
        (r"[\[\p{L}]+", "[a1", "[a|1"),
        (r"[^^\p{L}]+", "^a1", "^a|1"),
        (r"\\p\{L\}", r"a\p{L}b", r"a|\p{L}|b"),
        (r"[\]\p{L}]+", "]a1", "]a|1"),
        (r"\[\p{L}\]", "x[a]y", "x|[a]|y"),
        (r"\p{So}+", "a🎉🎊b", "a|🎉🎊|b"),
        (r"\p{Lo}+", "ABC", "ABC"),
        (r"\p{Co}+", "a\U0010ffff\U0010fffdb", "a\U0010ffff|\U0010fffd|b"),
        (r"\p{Cn}", "a\U0010ffffb", "a|\U0010ffff|b"),
        (r"(?i:b)\p{Ll}", "AAaaBbBB", "AAaa|Bb|BB"),
        (r"[\p{N}\&&\~~\|\|\-+x]+", "a&~1-xb", "a|&~1-x|b"),
        (r"[\p{L}\&&\[a\--]+", "x&y", "x&y"),
        (r"[\s\\p]+", "ap \\b", "a|p \\|b"),
        (r"[\s-a]+", "b-a c", "b|-a |c"),
        (r"(?:\p{L}\d)+", "a1b2cd3", "a1b2|c|d3"),
        (r"(?:[(+]\d{2})*", "(12+34+5", "(12+34|+|5"),
        (r"(?P<x>a)(?P=x)|(?<=b)c|\(?d", "aabc(d", "aa|b|c|(d"),
    ],
)
def test_patterns_of_ones_own(pattern: str, text: str, expected: str) -> None:
    assert pieces(pattern, text) == expected.split("|")


CATEGORIES = list(map(unicodedata.category, map(chr, range(sys.maxunicode + 1))))
LASTS = [code for code, (one, next_one) in enumerate(pairwise(CATEGORIES)) if one != next_one]
EDGES = [chr(code) for last in LASTS for code in (last, last + 1)]


@pytest.mark.parametrize("name", [*sorted(set(CATEGORIES)), *"CLMNPSZ"])
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
        (r"\p{l}", r"\p{l} is not a general category"),
        (r"\p{^^L}", "is not a general category"),
        (r"\p{}", "is not a general category"),
        (r"\p{L", r"bad escape \p"),
        (r"[\p{Greek}]", "is not a general category"),
        ("(", "missing )"),
        ("a)*", "a group that holds"),
        (r"(\pL" + r"\pL" * 99, "missing )"),
        ("[a", "a class that does not end"),
        (r"[a\p{L}", "a class that does not end"),
        (r"[]\p{L}", "a class that does not end"),
        (r"[^]\p{L}", "a class that does not end"),
        ("[[:alpha:]]", "or holds [, &&, ||, -- or ~~"),
        ("[a[b]]", "or holds [, &&, ||, -- or ~~"),
        (r"[&&\p{L}]", "or holds [, &&, ||, -- or ~~"),
        (r"[\p{L}||a]", "or holds [, &&, ||, -- or ~~"),
        ("[^+--]", "or holds [, &&, ||, -- or ~~"),
        ("[a~~]", "or holds [, &&, ||, -- or ~~"),
        ("a{9999999999999}", "a count above 999: '{9999999999999}'"),
        ("a{1000}", "a count above 999: '{1000}'"),
        ("a{1,1000}", "a count above 999: '{1,1000}'"),
        ("()(\\1{1000})", "a count above 999: '{1000})'"),
        ("(?x) a # [", "a flag other than (?m:$)"),
        ("(?ix: a)", "a flag other than (?m:$)"),
        ("a(?i)b", "a flag other than (?m:$)"),
        ("(?#[)a", "a flag other than (?m:$)"),
        (r"(?i)a|\p{L}", "a flag other than (?m:$)"),
        (r"(?i:a(b)[x])", "without groups or backslashes, or a comment: '(?i:a(b)[x])'"),
        (r"(?i:a[x\P{L}])", r"without groups or backslashes, or a comment: '(?i:a[x\\P{L}])'"),
        ("\ud800", "surrogates not allowed"),
        ("\\", "bad escape"),
        ("(a+)+$|.", "a group that holds a quantifier, a group or | is repeated: ')+$|.'"),
        ("(a|b){2}", "a group that holds a quantifier, a group or | is repeated"),
        ("(?:(?:a){2})*", "a group that holds a quantifier, a group or | is repeated"),
        ("(?=a?){2,}", "a group that holds a quantifier, a group or | is repeated"),
        ("a?" * 11, "more than 10 groups and quantifiers in one alternative"),
        ("(a|a)" * 11, "more than 10 groups and quantifiers in one alternative"),
        ("a|(b|" + "a*" * 10 + ")", "more than 10 groups and quantifiers in one alternative"),
        ("a" * 10_001, "more than 10,000 characters"),
        (r"\pL" * 101, "100 properties"),
        # Published: BLOOM's, and parts of Kimi's, EXAONE's and Chameleon's.
        (r" ?[^(\s|[.,!?…。，、।۔،])]+", "or holds [, &&, ||, -- or ~~"),
        (r"[\p{Lu}\p{M}&&[^\p{Han}]]+", "or holds [, &&, ||, -- or ~~"),
        (r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+", "a group that holds"),
        (r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "a group that holds"),
    ],
)
def test_an_invalid_pattern_is_refused(pattern: str, fault: str) -> None:
    for patterns in (pattern, ("a", pattern)):
        with pytest.raises(ValueError, match=re.escape(fault)) as caught:
            BPETokenizer(patterns)
        assert len(str(caught.value)) < 350


@pytest.mark.parametrize("start", ["", "(", "[", "([", r"(\p{L}"])
@pytest.mark.parametrize(
    "part",
    r"""[ ( ) [( ([ [\p{L} [\s\\ (\\ [] [^ (a[b] () (?i:a (?: { {1 {1, {1,2} a| \pL \p{ \p{L \p{L}
    \p{1} [a] [a& * (?# a?|""".split(),
)
def test_checking_ends(start: str, part: str) -> None:
    """If a part could be read in two ways, 99 of them could in 2⁹⁹, and all might be tried."""
    for times in (99, 10_000):
        with suppress(ValueError):
            bpe._check((start + part * times)[:10_000])


ITEMS = r"""a b \p{L} \P{Ll} \s \S \pN \d . [ab] [^a] ] } []a] [^]a] [^\s\p{L}] [\P{L}a] [-\p{L}]
    [a-\s] [\S-a] [\]\\] ( ) (?: (?= (?! (?<= (?<! (?i:ab) (?i:[a-c]|x) | | * + ? *? +? ?? {2}
    {1,3} {,2} {2,} { \b ^ $ \A (?P<n>a) (?P=n) \1 (?:a|b) (?:ab) (a) (b|c) [a&&b] [[a] (?s:.)"""
patterns = st.lists(st.sampled_from([" ", *ITEMS.split()]), min_size=1, max_size=7).map("".join)
short_texts = st.text("abAB1² -]\\}\n\x1c\xa0한𐐀🎉", max_size=12)


def _accepted(pattern: str) -> bool:
    try:
        bpe._Splitter(pattern)
    except ValueError:
        return False
    return True


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    pattern=patterns.filter(lambda pattern: r"\b" not in pattern and _accepted(pattern)),
    text=short_texts,
)
def test_what_is_accepted_means_what_it_means_in_regex(pattern: str, text: str) -> None:
    regex = pytest.importorskip("regex", reason="regex is not installed")
    _compare(regex, pattern, text)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(pattern=patterns.filter(_accepted), text=short_texts)
def test_what_does_not_look_back_depends_on_nothing_before(pattern: str, text: str) -> None:
    if bpe._Splitter(pattern).looks_back:
        assert any(sign in pattern for sign in ("^", r"\A", r"\b", "(?<"))
        return
    found = pieces(pattern, text)
    for number, border in enumerate(accumulate(map(len, found)), 1):
        assert pieces(pattern, text[border:]) == found[number:]


@pytest.mark.parametrize(
    "pattern", [r"\ba", r"a\B.", "^a", r"(?:\Aa)", "(?<=a)b", "(?<!a)b", ("a", r"b|\b")]
)
def test_it_is_known_what_looks_back(pattern: str | tuple[str, ...]) -> None:
    assert BPETokenizer(pattern)._coder.looks_back


@pytest.mark.parametrize(
    "pattern", [*PATTERNS.values(), *DEEPSEEK_3, STARCODER, None, r"[^a]\^\\b[\b^]", "a$(?!b)"]
)
def test_it_is_known_what_does_not_look_back(pattern: str | tuple[str, ...] | None) -> None:
    assert not BPETokenizer(pattern)._coder.looks_back


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(pattern=patterns.filter(_accepted))
def test_nothing_with_a_choice_in_it_is_repeated(pattern: str) -> None:
    with suppress(re.error):
        _check_tree(parse(bpe._translate(pattern, bpe._LATIN_1)), repeated=False)


def _check_tree(tree: Any, *, repeated: bool) -> None:
    for operator, argument in tree:
        name = str(operator)
        if "REPEAT" in name:
            least, most, inner = argument
            assert most < 1_000 or str(most) == "MAXREPEAT"
            assert not repeated or least == most
            _check_tree(inner, repeated=repeated or most > 1)
        elif name == "BRANCH":
            assert not repeated
            for inner in argument[1]:
                _check_tree(inner, repeated=repeated)
        elif name == "SUBPATTERN":
            _check_tree(argument[-1], repeated=repeated)
        elif name.startswith("ASSERT"):
            _check_tree(argument[1], repeated=repeated)
        elif name == "ATOMIC_GROUP":
            _check_tree(argument, repeated=repeated)


def test_each_stage_cuts_the_pieces_of_the_one_before() -> None:
    assert pieces((r"\d", r"\p{L}+"), "ab12 c") == ["ab", "1", "2", " ", "c"]
    assert pieces((r"\p{L}+", "b|^c"), "abc c") == ["a", "b", "c", " ", "c"]
    assert pieces(STARCODER, "it's 12") == ["it", "'s", " ", "1", "2"]
    assert pieces((), "a b") == pieces((".+",), "a b") == ["a b"]


@given(text=letters_and_more)
def test_stages_give_what_hugging_face_gives(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    before = tokenizers.pre_tokenizers
    splits = [before.Split(tokenizers.Regex(one), "isolated") for one in DEEPSEEK_3]
    gpt2 = before.Split(tokenizers.Regex(GPT2_SPLIT_PATTERN), "isolated")
    starcoder = [before.Digits(individual_digits=True), gpt2]
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cn", "Co"))
    for ours, theirs in ((DEEPSEEK_3, splits), (STARCODER, starcoder)):
        wanted = before.Sequence(theirs).pre_tokenize_str(text)
        assert pieces(ours, text) == [piece for piece, _ in wanted]


def test_a_pattern_is_a_string() -> None:
    wrong: Any = b"a"
    with pytest.raises(TypeError, match="pattern must be str, not bytes"):
        BPETokenizer(wrong)


# Without \b: what is a word character for `regex` is not quite what it is for `re`.
@pytest.mark.parametrize("name", [name for name in PUBLISHED if r"\b" not in PUBLISHED[name]])
@given(text=letters_and_more)
def test_it_gives_what_regex_gives(name: str, text: str) -> None:
    regex = pytest.importorskip("regex", reason="regex is not installed")
    _compare(regex, PUBLISHED[name], "".join(c for c in text if c in _known_alike(regex)))


@pytest.mark.parametrize("name", PATTERNS)
def test_it_gives_what_regex_gives_for_every_character(name: str) -> None:
    regex = pytest.importorskip("regex", reason="regex is not installed")
    same = sorted(_known_alike(regex))
    _compare(regex, PATTERNS[name], "".join(same) + "".join(f"{c} a{c}" for c in same[::7]))


def _compare(regex: Any, pattern: str, text: str) -> None:
    wanted, end = [], 0
    for match in regex.finditer(pattern, text):
        wanted += [text[end : match.start()], match.group()]
        end = match.end()
    assert pieces(pattern, text) == list(filter(None, [*wanted, text[end:]]))


@cache
def _known_alike(regex: Any) -> set[str]:
    """Return the characters that both know alike: the two may know other Unicodes."""
    every = "".join(chr(code) for code, one in enumerate(CATEGORIES) if one not in ("Cn", "Cs"))
    return {
        character
        for category in set(CATEGORIES)
        for character in regex.findall(rf"\p{{{category}}}", every)
        if unicodedata.category(character) == category
    }


@pytest.mark.parametrize("pattern", [None, "[^x]+", ("[^x]+", "[^y]+")])
def test_long_text_is_one_piece_if_the_pattern_says_so(
    pattern: str | tuple[str, ...] | None,
) -> None:
    text = "ab cd " * bpe._BLOCK_SIZE
    assert BPETokenizer(pattern).pretokenize(text) == [text]
