"""Byte-level byte-pair encoding (BPE) in one module: to read, to learn from, and to use.

Text becomes UTF-8 bytes, and the 256 byte values are the first 256 tokens. Training
looks for the pair of neighbouring tokens that occurs most often, makes it a new token,
and starts over; what it leaves is a list of merge rules. Encoding replays the rules in
that order, decoding takes every token apart into its bytes again.

The lab (`to_ids` to `vocab_curve`) has a function for each step. Under `train` and
`encode` lies an engine with one idea: *a token is a character*. A sequence of token ids is
kept as a `str` in which `chr(i)` stands for token `i`. Then merging a pair from the left
is `str.replace`, and `str.split` at a pair shows all the neighbours that a merge changes:
the interpreter's C loops do the work, and no Python step is spent on a token that stays
as it is.

    lab            to_ids, from_ids, count_pairs, merge, train, encode, decode, vocab_curve
    to take away   BPETokenizer: split patterns, special tokens, files, exports
    given tokens   ByteTokenizer: a token alphabet instead of rules, and an estimator

Standard library only; nothing happens at import.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re
import secrets
import shutil
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, reduce
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import chain, count, groupby, pairwise
from math import ceil, isqrt
from operator import add, iconcat, itemgetter
from pathlib import Path
from typing import Any

__all__ = [
    "DIGIT_SPLIT_PATTERN",
    "GPT2_SPLIT_PATTERN",
    "GPT4_SPLIT_PATTERN",
    "MIN_PAIR_COUNT",
    "SAMPLE_EN",
    "SAMPLE_KO",
    "BPETokenizer",
    "ByteTokenizer",
    "count_pairs",
    "decode",
    "encode",
    "from_ids",
    "merge",
    "to_ids",
    "train",
    "vocab_curve",
    "write_atomically",
]

# ---------------------------------------------------------------------------
# The samples: one piece of everyday prose, sentence by sentence in two languages
# ---------------------------------------------------------------------------

SAMPLE_KO = (
    "어제는 퇴근길에 갑자기 비가 쏟아졌다. "
    "우산이 없어서 지하철역 앞 편의점에서 비를 피하기로 했다. "
    "따뜻한 커피를 한 잔 사서 창가에 앉아 지나가는 사람들을 바라보았다. "
    "가방으로 머리를 가리고 뛰는 사람도 있었고, 아예 포기한 듯 천천히 걷는 사람도 있었다. "
    "옆자리에 앉은 할머니가 웃으면서 이런 비는 금방 그친다고 말씀해 주셨다. "
    "우리는 요즘 날씨며 동네에 새로 생긴 빵집 이야기를 나누었다. "
    "정말 이십 분쯤 지나자 비가 그치고 하늘 한쪽이 조금씩 밝아졌다. "
    "할머니는 가방에서 귤 두 개를 꺼내 내 손에 쥐여 주고 먼저 나가셨다. "
    "집으로 걸어가는 동안 젖은 신발은 차가웠지만 마음은 이상하게 따뜻했다. "
    "다음에 그 빵집에 가면 할머니 몫까지 하나 더 사야겠다고 생각했다."
)

SAMPLE_EN = (
    "Yesterday it suddenly started pouring on my way home from work. "
    "I had no umbrella, so I decided to wait out the rain in the convenience store in front "
    "of the subway station. "
    "I bought a cup of hot coffee, sat down by the window and watched the people going by. "
    "Some ran with their bags held over their heads, and some walked slowly, as if they had "
    "given up altogether. "
    "An old woman in the next seat smiled and told me that rain like this never lasts long. "
    "We talked about the recent weather and about the new bakery in the neighborhood. "
    "Sure enough, some twenty minutes later the rain stopped and one side of the sky slowly "
    "grew brighter. "
    "She took two tangerines out of her bag, pressed them into my hand and left before me. "
    "As I walked home my wet shoes were cold, but somehow my heart felt warm. "
    "The next time I go to that bakery, I thought, I should buy one more for her."
)

# ---------------------------------------------------------------------------
# The lab: byte-level BPE by hand
# ---------------------------------------------------------------------------

MIN_PAIR_COUNT = 2
"""A pair that occurs less often than this is never made a token. Read when training runs."""

Pair = tuple[int, int]
Rule = tuple[Pair, int]


def to_ids(text: str) -> list[int]:
    """Return the UTF-8 bytes of `text` as a list of ints: the first 256 token ids.

    A character may take one byte or up to four. A lone surrogate has no UTF-8 form and
    raises Python's own `UnicodeEncodeError`.

    >>> to_ids("hi")
    [104, 105]
    >>> to_ids("한")
    [237, 149, 156]
    """
    _require(text, str, "text")
    return list(text.encode("utf-8"))


def from_ids(ids: Iterable[int]) -> str:
    """Return the text whose UTF-8 bytes are `ids`; broken UTF-8 shows as U+FFFD.

    An id outside 0 to 255 is a `ValueError`.

    >>> from_ids([237, 149, 156])
    '한'
    >>> from_ids([104, 105, 237])
    'hi\ufffd'
    """
    ids = _integers(ids, "ids")
    for position, token in enumerate(ids):
        if not 0 <= token < 256:
            raise ValueError(f"id {token} at position {position} is not a byte")
    return bytes(ids).decode("utf-8", errors="replace")


def count_pairs(ids: Iterable[int], counts: dict[Pair, int] | None = None) -> dict[Pair, int]:
    """Count every pair of neighbours in `ids`, overlapping ones too.

    Given `counts`, add to it and return it, so that several chunks are counted together.

    >>> count_pairs([1, 2, 1, 2])
    {(1, 2): 2, (2, 1): 1}
    >>> count_pairs([9, 9, 9])
    {(9, 9): 2}
    >>> count_pairs([1, 2], {(1, 2): 5})
    {(1, 2): 6}
    """
    ids = _integers(ids, "ids")
    counts = {} if counts is None else counts
    _require(counts, dict, "counts")
    for pair in pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids: Iterable[int], pair: Pair, new_id: int) -> list[int]:
    """Return a new list in which every `pair` has become `new_id`.

    It goes from the left and steps over both halves of what it merged, so nothing
    overlaps.

    >>> merge([1, 2, 3, 1, 2], (1, 2), 300)
    [300, 3, 300]
    >>> merge([5, 5, 5], (5, 5), 300)
    [300, 5]
    """
    ids = _integers(ids, "ids")
    first, second = _integers(pair, "pair")
    _require(new_id, int, "new_id")
    merged = []
    position = 0
    while position < len(ids):
        if ids[position] == first and ids[position + 1 : position + 2] == [second]:
            merged.append(new_id)
            position += 2
        else:
            merged.append(ids[position])
            position += 1
    return merged


def train(text: str, vocab_size: int) -> list[Rule]:
    """Learn merge rules from `text` until the vocabulary has `vocab_size` tokens.

    In each round the pair that occurs most often (of several such, the smallest) becomes
    the next token; ids count up from 256. Learning stops early when no pair occurs
    `MIN_PAIR_COUNT` times any more.

    >>> train("aaabdaaabac", 259)
    [((97, 97), 256), ((97, 98), 257), ((256, 257), 258)]
    >>> train("aaabdaaabac", 256)
    []
    """
    _require(text, str, "text")
    _require(vocab_size, int, "vocab_size")
    return list(_Learner({text.encode("utf-8"): 1}).learn(vocab_size))


def encode(text: str, merges: Iterable[Rule]) -> list[int]:
    """Turn `text` into token ids: its bytes, then each rule once, in the order given.

    The result is that of `merge` with one rule after the other, whatever the rules are,
    but once the rules are read, time depends on the text and not on how many they are.

    >>> rules = train("aaabdaaabac", 259)
    >>> encode("aaabdaaabac", rules)
    [258, 100, 258, 97, 99]
    >>> encode("aaa", rules)
    [256, 97]
    """
    rules = _rules(merges)
    ids = to_ids(text)
    applier = _applier(tuple(rules))
    if applier is not None:
        return applier.encode(bytes(ids))
    for pair, new_id in rules:
        ids = merge(ids, pair, new_id)
    return ids


def decode(ids: Iterable[int], merges: Iterable[Rule]) -> str:
    """Turn token ids back into text: the inverse of `encode`.

    The rules may come in any order (if several make the same id, the last counts; a byte
    stays a byte). An id that is neither a byte nor made by a rule is a `ValueError`, and
    so are rules that go round in a circle.

    >>> decode([258, 100, 258, 97, 99], train("aaabdaaabac", 259))
    'aaabdaaabac'
    >>> decode([300], [])
    Traceback (most recent call last):
    ...
    ValueError: id 300 is neither a byte nor made by a rule
    """
    halves = {new_id: pair for pair, new_id in _rules(merges) if not 0 <= new_id < 256}
    _check_cycles(halves)
    stack = _integers(ids, "ids")[::-1]
    data = bytearray()
    while stack:  # instead of recursion: rules may be nested to any depth
        token = stack.pop()
        if token in halves:
            stack += reversed(halves[token])
        elif 0 <= token < 256:
            data.append(token)
        else:
            raise ValueError(f"id {token} is neither a byte nor made by a rule")
    return data.decode("utf-8", errors="replace")


def vocab_curve(text: str, sizes: Iterable[int]) -> list[tuple[int, int]]:
    """Return `(size, token count)` for each vocabulary size, in the order of `sizes`.

    The tokens counted are those of `text` under the rules that `train(text, size)` gives.
    A shorter training is the beginning of a longer one, so it learns only once, and the
    text as merged so far is the encoding at that size.

    >>> vocab_curve("aaabdaaabac", [258, 256, 257])
    [(258, 7), (256, 11), (257, 9)]
    """
    _require(text, str, "text")
    sizes = _integers(sizes, "sizes")
    learner = _Learner({text.encode("utf-8"): 1})
    token_counts = [len(learner.words[0])]
    for _ in learner.learn(max(sizes, default=256)):
        token_counts.append(len(learner.words[0]))
    return [(size, token_counts[min(max(size - 256, 0), len(token_counts) - 1)]) for size in sizes]


@lru_cache(maxsize=4)
def _applier(rules: tuple[Rule, ...]) -> _Applier | None:
    """Return what applies `rules` fast, unless an id has no character to stand for it."""
    ids = [0, *chain.from_iterable((first, second, new_id) for (first, second), new_id in rules)]
    return _Applier(rules) if min(ids) == 0 and max(ids) <= _LARGEST_ID else None


def _check_cycles(halves: dict[int, Pair]) -> None:
    if all(max(pair) < token for token, pair in halves.items()):
        return  # every step goes down: no cycle is possible
    try:
        TopologicalSorter(halves).prepare()
    except CycleError as cycle:
        first, *others = map(str, cycle.args[1])
        path = " -> ".join([first, *others[:4], *["..."] * (len(others) > 4)])
        raise ValueError(f"the rules go round in a circle: {path}") from None


def _require(value: object, kind: type, name: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}")


def _list(values: Iterable[Any], name: str, content: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of {content}, not {type(values).__name__}")
    return list(values)


def _integers(values: Iterable[int], name: str) -> list[int]:
    integers = _list(values, name, "integers")
    with suppress(TypeError, ArithmeticError):  # the loop below says what is wrong
        if isinstance(sum(integers), int):  # faster: numbers add up to an int only if all are
            return integers
    for value in integers:
        if not isinstance(value, int):
            raise TypeError(f"{name} must be integers, but one is {type(value).__name__}")
    return integers


def _rules(merges: Iterable[Rule]) -> list[Rule]:
    rules: list[Rule] = []
    given = _list(merges, "merges", "rules")
    try:
        rules.extend(((first, second), new_id) for (first, second), new_id in given)
    except (TypeError, ValueError):
        number = len(rules)
        message = f"rule {number} must be ((first, second), new_id), not {given[number]!r}"
        raise TypeError(message) from None
    _integers(chain.from_iterable((a, b, new_id) for (a, b), new_id in rules), "the ids of rules")
    return rules


# ---------------------------------------------------------------------------
# The engine: one learner and one applier; nothing else merges pairs
#
# Inside, a token is a character, a pair a string of two, a word the string of its tokens.
# ---------------------------------------------------------------------------

_LARGEST_ID = 0x10FFFF  # the last character there is


class _Learner:
    """Learns merge rules from words (or one whole text), each with its count.

    Invariant between two rounds: `counts` is exact, and `holders[pair]` names every
    word that holds the pair (perhaps repeatedly, and perhaps some that no longer do).
    New occurrences of a pair only arise in the round that makes one of its tokens, so
    counts only fall afterwards: the queue corrects an outdated entry when it comes up.
    """

    def __init__(self, word_counts: Mapping[bytes, int]) -> None:
        self.words = [word.decode("latin-1") for word in word_counts]  # chr(i) for byte i
        self.word_counts = list(word_counts.values())
        self.minimum = max(MIN_PAIR_COUNT, 1)
        self.counts: dict[str, int] = defaultdict(int)
        self.holders: dict[str, list[int]] = defaultdict(list)
        for number, (word, weight) in enumerate(zip(self.words, self.word_counts, strict=True)):
            for pair in map(add, word, word[1:]):
                self.counts[pair] += weight
                self.holders[pair].append(number)
        self.queue = [(-times, pair) for pair, times in self.counts.items()]
        heapify(self.queue)

    def learn(self, vocab_size: int) -> Iterator[Rule]:
        """Yield one rule after the other; between two, `words` are merged so far."""
        for new_id in range(256, vocab_size):
            pair = self._most_frequent_pair()
            if pair is None:
                return
            if new_id > _LARGEST_ID:
                raise ValueError(f"a vocabulary holds at most {_LARGEST_ID + 1} tokens")
            self._merge_everywhere(pair, chr(new_id))
            yield (ord(pair[0]), ord(pair[1])), new_id

    def _most_frequent_pair(self) -> str | None:
        """Return the pair with the highest count, the smallest of several, if any is left."""
        while self.queue:
            negative_count, pair = heappop(self.queue)
            times = self.counts[pair]
            if times == -negative_count >= self.minimum:
                return pair
            if times >= self.minimum:
                heappush(self.queue, (-times, pair))
        return None

    def _merge_everywhere(self, pair: str, token: str) -> None:
        """Merge `pair` into `token`, correcting the counts where it stood and only there.

        Splitting at the pair leaves the stretches before, between and after its occurrences.
        Only the characters next to an occurrence get a new neighbour: the last one before it
        had the pair's first half beside it, the first one after it had the second half. An
        empty stretch in between means two occurrences side by side.
        """
        first, second = pair[0], pair[1]
        words, word_counts, counts = self.words, self.word_counts, self.counts
        new_holders: dict[str, list[int]] = defaultdict(list)
        for number in set(self.holders.pop(pair)):
            stretches = words[number].split(pair)
            words[number] = token.join(stretches)
            weight = word_counts[number]
            for before, after in pairwise(stretches):
                if before:
                    counts[before[-1] + first] -= weight
                    neighbours = before[-1] + token
                    counts[neighbours] += weight
                    new_holders[neighbours].append(number)
                if after:
                    counts[second + after[0]] -= weight
                    neighbours = token + after[0]
                    counts[neighbours] += weight
                    new_holders[neighbours].append(number)
            if side_by_side := stretches[1:-1].count(""):
                counts[second + first] -= weight * side_by_side
                counts[token + token] += weight * side_by_side
                new_holders[token + token].append(number)
        del counts[pair]
        for neighbours, numbers in new_holders.items():
            if counts[neighbours] >= self.minimum:
                self.holders[neighbours] = numbers
                heappush(self.queue, (-counts[neighbours], neighbours))


class _Applier:
    """Applies rules to text, each once and in order: what `str.replace` for all would give.

    It visits only the rules whose pair is in the text: a queue holds their ranks, and
    after a merge only the neighbours of the new token can be new pairs. That needs rules
    in which each id stands for one byte string. Then two tokens become neighbours at one
    rank only, and the first rule after it that has this pair is the one that applies.

    Long text is encoded piece by piece. That is exact because a token's bytes are merged
    in any text just as they are alone, no merge ever crossing their borders, so that
    whether two tokens can be neighbours in an encoding depends on these two alone.

    Other rules (an id that is made twice, or is a byte) are simply applied one by one, and
    so are rules fewer than `FEW_RULES` and than the bytes of the text: it is the fastest then.
    """

    PIECE = 2048  # bytes; shorter pieces take more Python steps, longer ones longer scans
    FEW_RULES = 750  # up to about so many, `str.replace` for each is fastest
    REACH = 8  # tokens on either side of a border that are encoded anew at first

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: list[tuple[str, str]] = []
        self.ranks: dict[str, int] = {}
        self.ids = {chr(byte): byte for byte in range(256)}
        self.lengths = dict.fromkeys(self.ids, 1)  # in bytes, of reachable tokens
        self.one_by_one = False
        for pair, new_id in rules:
            self.add_rule(pair, new_id)

    def add_rule(self, pair: Pair, new_id: int) -> None:
        """Take one more rule, to be applied after those that are there."""
        first, second = map(chr, pair)
        token = chr(new_id)
        self.one_by_one |= token in self.lengths
        if first in self.lengths and second in self.lengths and first + second not in self.ranks:
            self.ranks[first + second] = len(self.rules)
            self.lengths[token] = self.lengths[first] + self.lengths[second]
        self.rules.append((first + second, token))
        self.ids.setdefault(token, new_id)  # the very object that `vocab` has: it is found faster

    def encode(self, data: bytes) -> list[int]:
        """Return the token ids of `data`."""
        return list(self.ids_of(self._apply(data.decode("latin-1"))))

    def ids_of(self, tokens: str) -> Iterator[int]:
        """Yield the ids of tokens that are characters."""
        return map(self.ids.__getitem__, tokens)

    def _apply(self, text: str) -> str:
        if self.one_by_one or len(self.rules) < min(self.FEW_RULES, len(text)):
            for pair, token in self.rules:
                text = text.replace(pair, token)
            return text
        if len(text) <= self.PIECE:  # as most are
            return self._apply_by_rank(text)
        joined = [self._apply_by_rank(text[: self.PIECE])]
        position = size = self.PIECE
        while position < len(text):
            stop = min(position + size, len(text))
            window_size = self._join(joined, text, position, stop)
            position, size = stop, max(self.PIECE, window_size)
        return "".join(joined)

    def _apply_by_rank(self, piece: str) -> str:
        rules, ranks = self.rules, self.ranks
        queue = list({ranks[pair] for pair in map(add, piece, piece[1:]) if pair in ranks})
        heapify(queue)
        while queue:
            pair, token = rules[heappop(queue)]
            if pair in piece:
                stretches = piece.split(pair)
                piece = token.join(stretches)
                for neighbours in _neighbours(token, stretches):
                    if neighbours in ranks:
                        heappush(queue, ranks[neighbours])
        return piece

    def _join(self, left: list[str], text: str, middle: int, stop: int) -> int:
        """Append the encoding of `text[middle:stop]` to `left`, that of all before.

        What is around the border is encoded anew, in a window that grows on each side until
        the token at its end is the one that stood there before. Then each two neighbours in
        the result were neighbours in some encoding.

        Return how many bytes the window took: the next piece should be as long, so that time
        stays proportional to the text.
        """
        right = self._apply_by_rank(text[middle:stop])
        left_reach = right_reach = self.REACH
        while True:
            while left_reach > len(left[-1]) and len(left) > 1:
                left[-2:] = [left[-2] + left[-1]]
            end_of_left, start_of_right = left[-1][-left_reach:], right[:right_reach]
            window_start = middle - sum(map(self.lengths.__getitem__, end_of_left))
            window_stop = middle + sum(map(self.lengths.__getitem__, start_of_right))
            window = self._apply_by_rank(text[window_start:window_stop])
            same_start = window_start == 0 or window[0] == end_of_left[0]
            same_stop = window_stop == stop or window[-1] == start_of_right[-1]
            if same_start and same_stop:
                left[-1] = left[-1][:-left_reach] + window
                left.append(right[right_reach:])
                return window_stop - window_start
            left_reach *= 1 if same_start else 4
            right_reach *= 1 if same_stop else 4


def _neighbours(token: str, stretches: list[str]) -> Collection[str]:
    """Return the pairs that `token` makes with what is around it when it joins `stretches`.

    At the ends of a piece this is `token` alone, which is no pair and does no harm.
    """
    if len(stretches) == 2:  # most merges are single; this spares them two sets
        return stretches[0][-1:] + token, token + stretches[1][:1]
    pairs = {stretch[-1:] + token for stretch in stretches[:-1]}
    pairs.update([token + stretch[:1] for stretch in stretches[1:]])
    if "" in stretches[1:-1]:
        pairs.add(token + token)
    return pairs


# ---------------------------------------------------------------------------
# Split patterns: where text is cut into pre-tokens before any pair is counted
# ---------------------------------------------------------------------------

GPT2_SPLIT_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of GPT-2: words, numbers and the rest, each with one space before it."""

GPT4_SPLIT_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern of GPT-4: numbers in groups of three digits, line ends on their own."""

DIGIT_SPLIT_PATTERN = GPT4_SPLIT_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}")
"""GPT-4's pattern with every digit on its own.

It helps arithmetic: a digit's token then always means the same digit, and the digits of
two numbers line up, whereas groups of three are cut from the left, so that the same digit
stands for units in one number and for hundreds in another.
"""

_LATIN_1, _BASIC_PLANE, _UNICODE = 0xFF, 0xFFFF, 0x10FFFF

# What is known of these patterns: they leave no character out, and where a space follows a
# character that is not white space, a piece ends, whatever comes after.
_KNOWN_PATTERNS = {GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, DIGIT_SPLIT_PATTERN}
_BLOCK_SIZE = 1 << 12  # characters; what a block becomes stays in the processor's cache
# At least so many characters, then on to the first such place, or to the end.
_BLOCK = re.compile(rf"(?s).{{1,{_BLOCK_SIZE}}}(?:.*?\S(?= )|.*)")

_CATEGORIES = re.findall("..", "CcCfCnCoCsLlLmLoLtLuMcMeMnNdNlNoPcPdPePfPiPoPsScSkSmSoZlZpZs")

_PROPERTY = r"\\(?P<sign>[pP])(?:\{(?P<not>\^?)(?P<name>[^{}]*)\}|(?P<letter>.))|\\(?P<space>[sS])"
_CLASS = r"\[(?P<start>\^?\]?)(?P<body>(?:\\.|[^\\\]])*)\]"
_FLAGS = r"\?(?P<on>[a-zA-Z]*)(?P<off>-[a-zA-Z]+)?(?P<end>[:)])"
_GROUP = rf"(?P<open>\((?:{_FLAGS})?)|(?P<close>\))"
_OUTSIDE_CLASS = re.compile(rf"{_PROPERTY}|\\.|{_CLASS}|(?P<unclosed>\[)|{_GROUP}", re.DOTALL)
_INSIDE_CLASS = re.compile(
    rf"{_PROPERTY}|\\.|(?P<posix>\[:)|\[|-(?=\\[pPsS])|&&|\|\||~~", re.DOTALL
)
_BEYOND_BASIC_PLANE = re.compile("[\U00010000-\U0010ffff]")


class _Splitter:
    r"""Cuts text into pre-tokens as a split pattern says, with `re` instead of `regex`.

    `re` has no `\p{L}`, so properties are written out as ranges of characters. Ranges
    beyond the Basic Multilingual Plane make `re` several times slower, so there are forms
    of the pattern without them, for texts that have no character in those ranges; and one
    for ASCII text, with the ranges in Latin-1, which is the first to be ready. All the
    rest, such as `\w` and `\b`, means what it means in `re`.
    """

    def __init__(self, pattern: str | None) -> None:
        self.pattern = pattern
        if pattern is not None:
            pattern.encode("utf-8")  # a lone surrogate shows now, and so
            self.for_ascii = _compile(pattern, _LATIN_1)  # does an invalid pattern
            items = _INSIDE_CLASS.finditer(pattern)
            self.categories = tuple(_category(item) for item in items if item["sign"])

    def split(self, text: str) -> Iterable[str]:
        """Return the pre-tokens of `text`, some perhaps empty; joined they are the text."""
        if self.pattern is None:
            return [text]
        if len(text) > _BLOCK_SIZE and self.pattern in _KNOWN_PATTERNS:
            return chain.from_iterable(map(self._split_block, _BLOCK.findall(text)))
        return self._split_block(text)

    def _split_block(self, text: str) -> list[str]:
        if text.isascii():
            compiled = self.for_ascii
        else:
            compiled = _compile(self.pattern, self._largest_needed(text))
        if not compiled.groups:
            pieces = compiled.findall(text)
            if self.pattern in _KNOWN_PATTERNS or "".join(pieces) == text:
                return pieces
        return _matches_and_gaps(compiled, text)

    def _largest_needed(self, text: str) -> int:
        """Return the last character up to which properties matter for text beyond ASCII."""
        beyond = map(unicodedata.category, set(_BEYOND_BASIC_PLANE.findall(text)))
        return _UNICODE if any(c.startswith(self.categories) for c in beyond) else _BASIC_PLANE


def _matches_and_gaps(compiled: re.Pattern[str], text: str) -> list[str]:
    pieces = []
    end = 0
    for match in compiled.finditer(text):
        pieces += [text[end : match.start()], match.group()]
        end = max(end, match.end())
    return [*pieces, text[end:]]


@lru_cache(maxsize=64)
def _compile(pattern: str, largest: int) -> re.Pattern[str]:
    try:
        _check_flags(pattern)
        return re.compile(_translate(pattern, largest))
    except (re.error, ValueError, OverflowError, RecursionError) as fault:
        raise ValueError(f"invalid split pattern {pattern!r}: {fault}") from None


def _translate(pattern: str, largest: int) -> str:
    """Write out the properties in `pattern` as ranges of characters up to `largest`."""

    def outside(item: re.Match[str]) -> str:
        if item["unclosed"]:
            raise ValueError("unterminated character set")
        if item["body"] is not None:
            return f"[{item['start']}{_INSIDE_CLASS.sub(inside, item['body'])}]"
        return f"[{_property(item, largest)}]" if item["sign"] or item["space"] else item.group()

    def inside(item: re.Match[str]) -> str:
        if item["posix"]:
            raise ValueError("POSIX classes are not supported")
        if item["sign"] or item["space"]:
            return _property(item, largest)
        # What `re` may take for more some day stands for itself, and so does a hyphen that
        # cannot make a range.
        text = item.group()
        return text if text.startswith("\\") else "".join("\\" + character for character in text)

    return _OUTSIDE_CLASS.sub(outside, pattern)


def _check_flags(pattern: str) -> None:
    """Raise where flags would give a property, or all the rest, another meaning."""
    ignores_case = [False]  # for each open group
    for item in _OUTSIDE_CLASS.finditer(pattern):
        on, off = item["on"] or "", item["off"] or ""
        if "x" in on:
            raise ValueError("verbose patterns are not supported")
        if item["end"] == ")":  # such flags hold for all that follows
            ignores_case[-1] |= "i" in on
        elif item["open"]:
            ignores_case.append("i" in on or (ignores_case[-1] and "i" not in off))
        elif item["close"]:
            ignores_case[1:] = ignores_case[1:-1]
        elif ignores_case[-1] and any(part["sign"] for part in _INSIDE_CLASS.finditer(item[0])):
            raise ValueError(f"{item[0]} under (?i) is not supported")


def _property(item: re.Match[str], largest: int) -> str:
    """Return a property as the ranges that go into a character class."""
    name = "Z" if item["space"] else _category(item)
    ranges = _category_ranges(name, largest)
    if item["space"]:  # Unicode's White_Space; the \s of `re` has U+001C to U+001F too
        ranges = sorted([(0x09, 0x0D), (0x85, 0x85), *ranges])
    elif not ranges:  # none up to `largest`: put in a character that the text does not hold
        ranges = [(_UNICODE, _UNICODE)]
    negated = item["space"] == "S" or (item["sign"] == "P") != bool(item["not"])
    if negated:
        starts = [0, *(last + 1 for _, last in ranges)]
        stops = [*(first - 1 for first, _ in ranges), _UNICODE]
        ranges = [(start, stop) for start, stop in zip(starts, stops, strict=True) if start <= stop]
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def _category(item: re.Match[str]) -> str:
    name = item["letter"] or item["name"]
    if not name or not any(category.startswith(name) for category in _CATEGORIES):
        raise ValueError(f"{item.group()} is not a general category of one or two letters")
    return name


def _category_ranges(name: str, largest: int) -> list[tuple[int, int]]:
    groups = groupby(_category_runs(largest), key=lambda run: run[0].startswith(name))
    chosen = [list(runs) for belongs, runs in groups if belongs]
    return [(runs[0][1], runs[-1][2]) for runs in chosen]


@cache
def _category_runs(largest: int) -> list[tuple[str, int, int]]:
    """Return `(category, first, last)` for each run of characters of one category."""
    runs = groupby(range(largest + 1), key=lambda code: unicodedata.category(chr(code)))
    return [(category, codes[0], codes[-1]) for category, run in runs for codes in [list(run)]]


# ---------------------------------------------------------------------------
# BPETokenizer: train on a corpus, encode and decode anything, keep it, hand it over
# ---------------------------------------------------------------------------

_FORMAT_VERSION = 1
_LARGEST_VOCABULARY = 256 * 2**20  # bytes of all tokens together that `load` accepts
_STREAM_CHUNK = 1 << 16  # characters that `encode_iterable` collects before it goes on
_DECODED_AT_ONCE = 4096  # ids; so many tokens stay in the processor's cache

# What is always the same in Hugging Face's file.
_BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": False,
    "use_regex": False,
}
_ISOLATED = {"behavior": "Isolated", "invert": False}
_SPECIAL = {"special": True} | dict.fromkeys(
    ["single_word", "lstrip", "rstrip", "normalized"], False
)


class BPETokenizer:
    """A byte-level BPE tokenizer with a split pattern and special tokens.

    `pattern` cuts text into pre-tokens, and no token crosses their borders; `None` cuts
    nothing. `special_tokens` goes to `register_special_tokens`. An untrained tokenizer
    knows the 256 byte tokens, so it can encode and decode anything.

    Attributes, to be read: `pattern`; `merges`, a dict from pair of ids to new id in rank
    order; `vocab`, a dict from id to bytes that holds the byte tokens, the learned and
    the special ones; `special_tokens`, a dict from name to id.

    >>> tokenizer = BPETokenizer(special_tokens=["<|end|>"])
    >>> tokenizer.train("low lower lowest", 259).merges
    {(108, 111): 256, (256, 119): 257, (32, 257): 258}
    >>> tokenizer.encode("low lower<|end|>")
    [257, 258, 101, 114, 259]
    >>> tokenizer.decode([257, 258, 101, 114, 259])
    'low lower<|end|>'
    """

    def __init__(
        self,
        pattern: str | None = GPT4_SPLIT_PATTERN,
        special_tokens: Mapping[str, int] | Iterable[str] = (),
    ) -> None:
        if pattern is not None:
            _require(pattern, str, "pattern")
        self.pattern = pattern
        self.merges: dict[Pair, int] = {}
        self.vocab: dict[int, bytes] = {}
        self.special_tokens: dict[str, int] = {}
        self._names: frozenset[str] = frozenset()  # of the special tokens
        self._chosen_ids: set[str] = set()  # names that came with an id, which they keep
        self._splitter = _Splitter(pattern)
        self._set_merges([])
        self.register_special_tokens(special_tokens)

    # -- training ----------------------------------------------------------

    def train(
        self,
        text: str | Iterable[str],
        vocab_size: int,
        progress: Callable[[int, int], object] | None = None,
    ) -> BPETokenizer:
        """Learn at most `vocab_size - 256` merge rules from `text`, and return `self`.

        `text` is a string or an iterable of strings (documents, the lines of an open file;
        not a file's name), which is read once and never held whole. Special tokens in it
        are borders. Earlier rules are forgotten. `progress(done, total)` is called after
        each rule. A `vocab_size` below 256 is a `ValueError`.

        >>> BPETokenizer(pattern=None).train(["aaab", "aaab"], 258).merges
        {(97, 97): 256, (97, 98): 257}
        """
        self._check_vocab_size(vocab_size)
        documents = [text] if isinstance(text, str) else text
        _require(documents, Iterable, "text")
        counts = Counter(chain.from_iterable(map(self._pieces, documents)))
        return self.train_from_counts(counts, vocab_size, progress)

    def train_from_counts(
        self,
        counts: Mapping[str, int],
        vocab_size: int,
        progress: Callable[[int, int], object] | None = None,
    ) -> BPETokenizer:
        """Do the same as `train` from `{pre-token: count}` counted elsewhere.

        This is how a corpus too large for one machine is trained: `pretokenize` is the
        map step of a distributed word count, and this is what comes after it.

        >>> words = ["low", " lower", " low", " lower"]
        >>> BPETokenizer().train_from_counts(Counter(words), 258).merges
        {(108, 111): 256, (256, 119): 257}
        """
        self._check_vocab_size(vocab_size)
        _require(counts, Mapping, "counts")
        for piece, times in counts.items():
            _require(piece, str, "a pre-token")
            _require(times, int, f"the count of {piece!r}")
            if times < 0:
                raise ValueError(f"the count of {piece!r} is {times}")
        words = {word: times for word, times in counts.items() if word not in self.special_tokens}
        learner = _Learner({word.encode("utf-8"): times for word, times in words.items()})
        learned = []
        for pair, _ in learner.learn(vocab_size):
            learned.append(pair)
            if progress is not None:
                progress(len(learned), vocab_size - 256)
        self._set_merges(learned)
        self._encoded.seed(words, learner.words)
        return self

    def pretokenize(self, text: str) -> list[str]:
        """Return the pieces within which pairs are counted; joined they are `text` again.

        A registered special token is a piece of its own, and so is what the split
        pattern does not match.

        >>> BPETokenizer(special_tokens=["<|end|>"]).pretokenize("It's 12345!<|end|>")
        ['It', "'s", ' ', '123', '45', '!', '<|end|>']
        """
        return list(filter(None, self._pieces(text)))

    def register_special_tokens(self, tokens: Mapping[str, int] | Iterable[str]) -> None:
        """Add special tokens: names, whose ids follow the learned tokens, or `{name: id}`.

        Ids given by name alone are assigned anew whenever training ends; an id given
        explicitly stays. An id that is taken, an empty name or one that is registered
        already is a `ValueError`, and then none is added.

        >>> tokenizer = BPETokenizer()
        >>> tokenizer.register_special_tokens({"<|end|>": 100257})
        >>> tokenizer.register_special_tokens(["<|user|>"])
        >>> tokenizer.special_tokens
        {'<|end|>': 100257, '<|user|>': 256}
        """
        if isinstance(tokens, str):
            raise TypeError("special tokens must be a list of names or {name: id}, not one string")
        if isinstance(tokens, Mapping):
            for name, token in tokens.items():
                _require(token, int, f"the id of {name!r}")
            self._add_special_tokens(tokens.items())
            self._chosen_ids = self._chosen_ids | tokens.keys()
        else:
            self._add_special_tokens([(name, None) for name in tokens])

    # -- encoding and decoding ---------------------------------------------

    def encode(self, text: str, allowed_special: str | Collection[str] = "all") -> list[int]:
        """Return the token ids of `text`.

        `allowed_special` says which special tokens are recognised: `"all"` that are
        registered, `"none"` (they are ordinary text), `"none_raise"` (one in the text is
        a `ValueError`), or a collection of names. Where several could stand, the leftmost
        wins, then the longest. On text that users typed, call `encode_ordinary`.

        >>> tokenizer = BPETokenizer(special_tokens=["<|end|>"])
        >>> tokenizer.encode("a<|end|>")
        [97, 256]
        >>> tokenizer.encode("a<|end|>", allowed_special="none")
        [97, 60, 124, 101, 110, 100, 124, 62]
        """
        _require(text, str, "text")
        allowed = self._allowed_names(text, allowed_special)
        ids: list[int] = []
        for segment in _split_at_names(text, allowed):
            if segment in allowed:
                ids.append(self.special_tokens[segment])
            else:
                ids += self.encode_ordinary(segment)
        return ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the token ids of `text`, in which no special token is recognised.

        This is what to call on text that users typed: a special token steers the model
        (it ends a document, it says who speaks), and nobody should be able to type one.

        >>> BPETokenizer(special_tokens=["<|end|>"]).encode_ordinary("<|end|>")
        [60, 124, 101, 110, 100, 124, 62]
        """
        _require(text, str, "text")
        # `reduce` with `iconcat` is a loop of `ids += …` in C.
        return reduce(iconcat, map(self._encoded.__getitem__, self._splitter.split(text)), [])

    def encode_iterable(self, chunks: Iterable[str]) -> Iterator[int]:
        """Yield the token ids of a stream, which is never held whole.

        The ids are those of `encode` on all chunks joined, wherever the cuts fall, for
        the split patterns of this module (and for others in which more text can change
        at most the last two pieces). One piece must fit into memory.

        >>> tokenizer = BPETokenizer(special_tokens=["<|end|>"])
        >>> list(tokenizer.encode_iterable(["a<|e", "nd|>", "b"]))
        [97, 256, 98]
        """
        held, collected, size = "", list[str](), 0
        for chunk in chunks:
            _require(chunk, str, "a chunk")
            collected.append(chunk)
            size += len(chunk)
            if size >= max(_STREAM_CHUNK, len(held)):  # so each character is read twice or so
                text = held + "".join(collected)
                border, pieces = self._settled(text)
                yield from self.encode(text[:border])
                yield from chain.from_iterable(map(self._encoded.__getitem__, pieces))
                held, collected, size = text[border + sum(map(len, pieces)) :], [], 0
        yield from self.encode(held + "".join(collected))

    def decode(self, ids: Iterable[int]) -> str:
        r"""Return the text of token ids; bytes that are not UTF-8 show as U+FFFD.

        An unknown id is a `ValueError` that names it and its position.

        >>> BPETokenizer().decode([237, 149, 156, 237])
        '한�'
        """
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        r"""Return the bytes of token ids, exactly as they are.

        >>> BPETokenizer().decode_bytes([237, 149])
        b'\xed\x95'
        """
        ids = _integers(ids, "ids")
        return _join_tokens(self.vocab, ids)

    def tokens(self, text: str) -> list[str]:
        r"""Return each token of `text` as text, for looking at where it is cut.

        Bytes that are not a whole character are shown as `\xNN`.

        >>> print(*BPETokenizer().tokens("é!"))
        \xc3 \xa9 !
        """
        return [
            self.vocab[token].decode("utf-8", "backslashreplace") for token in self.encode(text)
        ]

    def show(self, text: str, color: bool = True) -> str:
        """Return `text` with its tokens on alternating backgrounds, for a terminal.

        With `color=False` they are separated by `|`.

        >>> BPETokenizer(pattern=None).train("low low", 259).show("low slow", color=False)
        'low| |s|low'
        """
        tokens = self.tokens(text)
        if not color:
            return "|".join(tokens)
        return "".join(
            f"\x1b[{44 + number % 2 * 2}m{token}\x1b[0m" for number, token in enumerate(tokens)
        )

    # -- files and exports --------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tokenizer to one JSON file, a line for each merge rule.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BPETokenizer(pattern=None).train("aaab aaab", 257).save(folder + "/tokenizer.json")
        ...     print(Path(folder, "tokenizer.json").read_text())
        {
         "version": 1,
         "pattern": null,
         "special_tokens": {},
         "chosen_ids": [],
         "merges": [
          [97, 97]
         ]
        }
        <BLANKLINE>
        """
        head = {
            "version": _FORMAT_VERSION,
            "pattern": self.pattern,
            "special_tokens": self.special_tokens,
            "chosen_ids": [name for name in self.special_tokens if name in self._chosen_ids],
        }
        lines = [
            f' "{key}": {json.dumps(value, ensure_ascii=False)},' for key, value in head.items()
        ]
        merges = ",\n".join(f"  [{first}, {second}]" for first, second in self.merges)
        write_atomically(path, "\n".join(["{", *lines, ' "merges": [', merges, " ]", "}", ""]))

    def load(self, path: str | os.PathLike[str]) -> BPETokenizer:
        """Become the tokenizer that `save` wrote to `path`, and return `self`.

        A file that `save` cannot have written is a `ValueError` that names the file and
        the fault, and this tokenizer stays as it was.

        >>> import tempfile
        >>> tokenizer = BPETokenizer().train("low lower lowest", 260)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokenizer.save(folder + "/low.json")
        ...     BPETokenizer().load(folder + "/low.json").merges == tokenizer.merges
        True
        """
        data = Path(path).read_bytes()
        try:
            loaded = _parse_tokenizer(data.decode("utf-8"))
        except (ValueError, RecursionError) as fault:
            raise ValueError(f"{os.fspath(path)}: not a tokenizer: {fault}") from fault
        vars(self).update(vars(loaded))
        return self

    def to_huggingface(self, path: str | os.PathLike[str]) -> None:
        """Write a `tokenizer.json` that `tokenizers.Tokenizer.from_file` loads.

        It gives the same ids and the same text back, special tokens included, with the
        split patterns of this module; one of your own must mean there what it means here.
        What that format cannot hold is a `ValueError`: two tokens of the same bytes, a
        special token that is spelled like another token or like bytes, an id of 2**32.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BPETokenizer().train("low low", 258).to_huggingface(folder + "/tokenizer.json")
        ...     json.loads(Path(folder, "tokenizer.json").read_bytes())["model"]["merges"]
        [['l', 'o'], ['lo', 'w']]
        """
        vocab = self._huggingface_vocab()
        spelled = {token: spelling for spelling, token in vocab.items()}
        special = sorted(self.special_tokens.items(), key=itemgetter(1))
        split = {"type": "Split", "pattern": {"Regex": self.pattern}, **_ISOLATED}
        content = {
            "version": "1.0",
            "added_tokens": [{"content": name, "id": token, **_SPECIAL} for name, token in special],
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [_BYTE_LEVEL] if self.pattern is None else [split, _BYTE_LEVEL],
            },
            "decoder": _BYTE_LEVEL,
            "model": {
                "type": "BPE",
                "vocab": vocab,
                "merges": [[spelled[first], spelled[second]] for first, second in self.merges],
            },
        }
        write_atomically(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    def mergeable_ranks(self) -> dict[bytes, int]:
        """Return `{token bytes: rank}` for `tiktoken.Encoding`; special tokens go in apart.

        tiktoken merges whatever two tokens spell a third, so a token that our own rules
        never bring about (no training learns one, a file by hand may) is a `ValueError`.
        Of special tokens it may take the shorter one, where a name begins with another.

        >>> ranks = BPETokenizer().train("low lower lowest", 258).mergeable_ranks()
        >>> ranks[b"low"], ranks[b"l"]
        (257, 108)
        """
        ranks = self._ranks()
        for token in self.merges.values():
            ids = self._encoded.applier.encode(self.vocab[token])
            if ids != [token]:
                raise ValueError(f"token {token} is never reached: its bytes are encoded as {ids}")
        return ranks

    def to_tiktoken(self, path: str | os.PathLike[str]) -> None:
        """Write the ranks as tiktoken's file: base64 of the bytes, a space, the rank.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BPETokenizer().train("low low", 258).to_tiktoken(folder + "/low.tiktoken")
        ...     Path(folder, "low.tiktoken").read_text().splitlines()[-2:]
        ['bG8= 256', 'bG93 257']
        """
        ranks = self.mergeable_ranks().items()
        lines = [f"{base64.b64encode(data).decode('ascii')} {rank}\n" for data, rank in ranks]
        write_atomically(path, "".join(lines))

    # -- shared by the above ----------------------------------------------

    def _pieces(self, text: str) -> Iterable[str]:
        """Return the pieces of `text`, special tokens among them, and some perhaps empty."""
        _require(text, str, "text")
        if not self._names:
            return self._splitter.split(text)
        segments = _split_at_names(text, self._names)
        return chain.from_iterable(
            [segment] if segment in self._names else self._splitter.split(segment)
            for segment in segments
        )

    def _add_special_tokens(self, tokens: Iterable[tuple[str, int | None]]) -> None:
        ids = dict(self.special_tokens)
        first_free = 256 + len(self.merges)
        taken = set(ids.values())
        free = (token for token in count(first_free) if token not in taken)
        for name, token in sorted(tokens, key=lambda named: named[1] is None):
            _require(name, str, "a special token")
            if not name:
                raise ValueError("a special token cannot be empty")
            if name in ids:
                raise ValueError(f"special token {name!r} is registered already")
            token = next(free) if token is None else token
            if token < first_free or token in taken:
                raise ValueError(f"special token {name!r} cannot have the id {token}: it is taken")
            ids[name] = token
            taken.add(token)
        self.vocab = self.vocab | {token: name.encode("utf-8") for name, token in ids.items()}
        self.special_tokens = ids
        self._names = frozenset(ids)

    def _set_merges(self, pairs: Sequence[Pair]) -> None:
        """Take `pairs` as the merge rules, and number the special tokens after them."""
        self.merges = dict(zip(pairs, count(256)))
        self.vocab = {byte: bytes([byte]) for byte in range(256)}
        for (first, second), token in self.merges.items():
            self.vocab[token] = self.vocab[first] + self.vocab[second]
        self._encoded = _EncodedPieces(_Applier(self.merges.items()))
        registered, self.special_tokens = self.special_tokens, {}
        self._add_special_tokens(
            (name, token if name in self._chosen_ids else None)
            for name, token in registered.items()
        )

    def _check_vocab_size(self, vocab_size: int) -> None:
        _require(vocab_size, int, "vocab_size")
        if vocab_size < 256:
            raise ValueError(f"vocab_size is {vocab_size}, but the byte tokens alone are 256")
        for name in self._chosen_ids:
            if self.special_tokens[name] < vocab_size:
                raise ValueError(
                    f"special token {name!r} has the id {self.special_tokens[name]}, "
                    f"which a vocabulary of {vocab_size} needs for a learned token"
                )

    def _settled(self, text: str) -> tuple[int, list[str]]:
        """Return how far `text` is settled: up to a border, and by how many pieces beyond it.

        The border is the end of the last special token that stays one whatever comes after
        `text`. Of the pieces behind it the last two are left out: more text may change them.
        """
        longest_name = max(map(len, self._names), default=1)
        decided = max(len(text) - longest_name + 1, 0)  # a name that starts later may go on
        names = _names_pattern(self._names).finditer(text)
        border = max((name.end() for name in names if name.start() < decided), default=0)
        return border, list(filter(None, self._splitter.split(text[border:decided])))[:-2]

    def _allowed_names(self, text: str, allowed_special: str | Collection[str]) -> frozenset[str]:
        if allowed_special == "all":
            return self._names
        if allowed_special in ("none", "none_raise"):
            found = allowed_special == "none_raise" and _names_pattern(self._names).search(text)
            if found:
                raise ValueError(f"special token {found.group()!r} at position {found.start()}")
            return frozenset()
        if isinstance(allowed_special, str) or not isinstance(allowed_special, Collection):
            raise ValueError(
                "allowed_special must be 'all', 'none', 'none_raise' or a collection of names, "
                f"not {allowed_special!r}"
            )
        for name in frozenset(allowed_special) - self._names:
            raise ValueError(f"{name!r} is not a registered special token")
        return frozenset(allowed_special)

    def _huggingface_vocab(self) -> dict[str, int]:
        """Return the ids of all tokens as spelled in Hugging Face's file, if it can hold them."""
        alphabet = _byte_spelling()
        ranks = self._ranks().items()
        vocab = {"".join(alphabet[byte] for byte in data): token for data, token in ranks}
        for name, token in self.special_tokens.items():
            if token >= 2**32:
                raise ValueError(f"the id {token} of special token {name!r} is too large there")
            if name in vocab:
                raise ValueError(
                    f"special token {name!r} is spelled like token {vocab[name]} there"
                )
            if set(name) <= set(alphabet) and not name.isascii():
                raise ValueError(f"special token {name!r} would be decoded as bytes there")
        return vocab | self.special_tokens

    def _ranks(self) -> dict[bytes, int]:
        ranks: dict[bytes, int] = {}
        for token in range(256 + len(self.merges)):
            data = self.vocab[token]
            if ranks.setdefault(data, token) != token:
                raise ValueError(f"tokens {ranks[data]} and {token} spell the same bytes {data!r}")
        return ranks


def write_atomically(path: str | os.PathLike[str], content: str) -> None:
    r"""Write `content` to a temporary neighbour of `path`, then replace `path` by it.

    Whoever reads `path` finds the old content or the new one, never half of it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(folder + "/note.txt", "한")
    ...     Path(folder, "note.txt").read_bytes()
    b'\xed\x95\x9c'
    """
    data = content.encode("utf-8")
    target = Path(os.path.realpath(path))
    target.parent.resolve(strict=True)  # a folder that is not there is named in the error
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


class _EncodedPieces(dict[str, tuple[int, ...]]):
    """From pre-token to ids, worked out when first asked for; bounded, so it may forget."""

    LIMIT = 1 << 16
    LONGEST = 64  # characters; longer pieces hardly ever come again

    def __init__(self, applier: _Applier) -> None:
        super().__init__()
        self.applier = applier

    def __missing__(self, piece: str) -> tuple[int, ...]:
        ids = tuple(self.applier.encode(piece.encode("utf-8")))
        if len(piece) <= self.LONGEST:
            if len(self) >= self.LIMIT:
                self.clear()
            self[piece] = ids
        return ids

    def seed(self, counts: Mapping[str, int], encoded: Iterable[str]) -> None:
        """Enter the words met most often in a training, and what each became, in tokens."""
        words = zip(counts.values(), counts, encoded, strict=True)
        for _, word, tokens in sorted(words, key=itemgetter(0), reverse=True)[: self.LIMIT // 2]:
            if len(word) <= self.LONGEST:
                self[word] = tuple(self.applier.ids_of(tokens))


@lru_cache(maxsize=64)
def _names_pattern(names: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile("(" + ("|".join(map(re.escape, longest_first)) or "(?!)") + ")")


def _split_at_names(text: str, names: frozenset[str]) -> list[str]:
    """Cut `text` before and after each of `names` in it; where two could be, the longest."""
    return list(filter(None, _names_pattern(names).split(text))) if names else [text]


def _join_tokens(vocab: Mapping[int, bytes], ids: Sequence[int]) -> bytes:
    starts = range(0, len(ids), _DECODED_AT_ONCE)
    parts = (ids[start : start + _DECODED_AT_ONCE] for start in starts)
    try:
        return b"".join(b"".join(map(vocab.__getitem__, part)) for part in parts)
    except KeyError as unknown:
        token = unknown.args[0]
        raise ValueError(f"unknown id {token} at position {ids.index(token)}") from None


def _byte_spelling() -> list[str]:
    """Return the characters by which GPT-2's and Hugging Face's files spell the 256 bytes.

    Visible Latin-1 characters stand for themselves, the other bytes for those from U+0100.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = count(0x100)
    return [chr(byte if byte in visible else next(others)) for byte in range(256)]


def _parse_tokenizer(text: str) -> BPETokenizer:
    """Return the tokenizer that a file's text describes; trust nothing in it."""
    content = json.loads(text, object_pairs_hook=_without_repeated_keys)
    keys = ["version", "pattern", "special_tokens", "chosen_ids", "merges"]
    if type(content) is not dict or sorted(content) != sorted(keys):
        raise ValueError(f"expected an object with the keys {', '.join(keys)}")
    version, pattern, special_tokens, chosen_ids, merges = map(content.__getitem__, keys)
    if type(version) is not int or version != _FORMAT_VERSION:
        raise ValueError(f"version {version!r} is not {_FORMAT_VERSION}")
    if pattern is not None and type(pattern) is not str:
        raise ValueError("pattern is neither a string nor null")
    if type(special_tokens) is not dict or {*map(type, special_tokens.values())} - {int}:
        raise ValueError("special_tokens is not an object of ids")
    if type(chosen_ids) is not list or not all(
        type(name) is str and name in special_tokens for name in chosen_ids
    ):
        raise ValueError("chosen_ids is not a list of names of special tokens")
    tokenizer = BPETokenizer(pattern)
    tokenizer._set_merges(_checked_merges(merges))
    tokenizer.register_special_tokens(special_tokens)
    tokenizer._chosen_ids = set(chosen_ids)
    return tokenizer


def _checked_merges(merges: object) -> list[Pair]:
    if type(merges) is not list:
        raise ValueError("merges is not a list")
    lengths = [1] * 256
    pairs: dict[Pair, None] = {}
    total = 256
    for number, pair in enumerate(merges):
        if type(pair) is not list or list(map(type, pair)) != [int, int]:
            raise ValueError(f"rule {number} is not a pair of ids: {pair!r}")
        first, second = pair
        for token in pair:
            if not 0 <= token < len(lengths):
                raise ValueError(f"rule {number} uses token {token}, which is not defined yet")
        if (first, second) in pairs:
            raise ValueError(f"rule {number} repeats the pair {pair}")
        pairs[first, second] = None
        lengths.append(lengths[first] + lengths[second])
        total += lengths[-1]
        if total > _LARGEST_VOCABULARY:
            raise ValueError(f"with rule {number} the tokens exceed {_LARGEST_VOCABULARY} bytes")
    return list(pairs)


def _without_repeated_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    repeated = [key for key, times in Counter(key for key, _ in items).items() if times > 1]
    if repeated:
        raise ValueError(f"the key {repeated[0]!r} stands twice in one object")
    return dict(items)


# ---------------------------------------------------------------------------
# ByteTokenizer: a given token alphabet instead of learned rules
# ---------------------------------------------------------------------------


class ByteTokenizer:
    """Tokenizes bytes with a given list of tokens.

    `token_alphabet[i]` is the bytes of token `i`: first the 256 single bytes in order,
    then longer tokens in merge order. `token_to_id` maps bytes to ids; for an entry that
    is listed again, to the last. An alphabet that is not like that is a `ValueError` that
    names the index, an entry that is not bytes a `TypeError`.

    >>> single_bytes = [bytes([byte]) for byte in range(256)]
    >>> tokenizer = ByteTokenizer([*single_bytes, b"lo", b"low"])
    >>> tokenizer.tokenize(b"slow")
    [115, 257]
    >>> tokenizer.decode([115, 257])
    b'slow'
    """

    def __init__(self, token_alphabet: Iterable[bytes]) -> None:
        self.token_alphabet = _list(token_alphabet, "token_alphabet", "bytes")
        _check_alphabet(self.token_alphabet)
        self.token_to_id = {token: i for i, token in enumerate(self.token_alphabet)}
        self._vocab = dict(enumerate(self.token_alphabet))
        # Before a token's turn, the earlier rules have brought its bytes to the same tokens
        # wherever it can be made. So encoding its bytes alone shows the one pair that makes
        # it, if there is one.
        known = set(self.token_to_id.values())
        self._applier = _Applier()
        for token, data in enumerate(self.token_alphabet[256:], start=256):
            halves = self._applier.encode(data)
            if len(halves) == 2 and known.issuperset(halves):
                self._applier.add_rule((halves[0], halves[1]), token)

    def slow_tokenize(self, text: bytes) -> list[int]:
        """Return the token ids of `text`: the definition, simple and slow on purpose.

        Start with one token for each byte: id `b` for the byte `b`. Then each id from 256
        up has its turn, once. Cut that token's bytes into two parts in every possible
        way; wherever both parts are tokens, the pair of their ids (by `token_to_id`) is
        one that makes this token. Walk through the sequence from the left: where two
        neighbours are such a pair, put this id in their place and step over both; where
        not, step over one. After the last id the sequence is the result.

        >>> single_bytes = [bytes([byte]) for byte in range(256)]
        >>> ByteTokenizer([*single_bytes, b"aa", b"aaa"]).slow_tokenize(b"aaaaa")
        [256, 257]
        """
        _require(text, bytes, "text")
        ids = list(text)
        id_of = self.token_to_id
        for token, data in enumerate(self.token_alphabet[256:], start=256):
            splits = [(data[:cut], data[cut:]) for cut in range(1, len(data))]
            pairs = {(id_of[a], id_of[b]) for a, b in splits if a in id_of and b in id_of}
            walked = []
            position = 0
            while position < len(ids):
                if tuple(ids[position : position + 2]) in pairs:
                    walked.append(token)
                    position += 2
                else:
                    walked.append(ids[position])
                    position += 1
            ids = walked
        return ids

    def tokenize(self, text: bytes) -> list[int]:
        """Return what `slow_tokenize` returns, fast.

        >>> single_bytes = [bytes([byte]) for byte in range(256)]
        >>> ByteTokenizer([*single_bytes, b"th", b"the"]).tokenize(b"the path")
        [257, 32, 112, 97, 256]
        """
        _require(text, bytes, "text")
        return self._applier.encode(text)

    def decode(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of token ids; an unknown id is a `ValueError` that names it.

        >>> single_bytes = [bytes([byte]) for byte in range(256)]
        >>> ByteTokenizer([*single_bytes, b"th", b"the"]).decode([257, 32, 112, 97, 256])
        b'the path'
        """
        return _join_tokens(self._vocab, _integers(ids, "ids"))

    def estimate_token_count(self, text: bytes, sample_size: int, rng: random.Random) -> int:
        """Estimate `len(tokenize(text))`, tokenizing no more than `sample_size` bytes.

        Text that fits is counted exactly. Of longer text, chunks are tokenized: one at a
        random place in each of as many equal stretches, so that every part of an uneven
        document is met. Many small chunks follow such a document better than few large
        ones, so a chunk is about as long as there are chunks to have, up to 96 bytes, and
        longer only where tokens are so long that a chunk would hold few of them.

        A cut breaks a token and may disturb the next one, which would bias small chunks.
        So a chunk has a margin at both ends, two tokens wide as they were met last, and only
        what lies in the core between them counts. A token on the core's edge counts by the
        share of it that lies inside: that favours neither long tokens nor short ones.

        All randomness comes from `rng`. A `sample_size` below 1 is a `ValueError`.

        >>> tokenizer = ByteTokenizer([bytes([byte]) for byte in range(256)])
        >>> tokenizer.estimate_token_count(b"a" * 5000, 500, random.Random(1))
        5000
        """
        _require(text, bytes, "text")
        _require(sample_size, int, "sample_size")
        _require(rng, random.Random, "rng")
        if sample_size < 1:
            raise ValueError(f"sample_size is {sample_size}, but must be at least 1")
        if len(text) <= sample_size:
            return len(self.tokenize(text))
        usual_size = min(96, isqrt(2 * sample_size))
        token_length = usual_size / 8  # in bytes, as met last
        estimate, done, left = 0.0, 0, sample_size
        while done < len(text):
            chunk_count = max(left // max(usual_size, ceil(8 * token_length)), 1)
            size, stretch = left // chunk_count, (len(text) - done) // chunk_count
            margin = min(ceil(2 * token_length), size // 5)
            core = min(size - 2 * margin, stretch)
            start = done + rng.randrange(stretch - core + 1)
            chunk_start = max(start - margin, 0)
            chunk = text[chunk_start : start + core + margin]
            ids = self.tokenize(chunk)
            counted = self._tokens_between(ids, start - chunk_start, core)
            estimate += counted * stretch / core
            token_length = len(chunk) / len(ids)
            done += stretch
            left -= size
        return round(estimate)

    def _tokens_between(self, ids: Iterable[int], start: int, length: int) -> float:
        """Return how many tokens lie in `length` bytes from `start`, in parts of tokens too."""
        counted, position = 0.0, 0
        for token in ids:
            size = len(self.token_alphabet[token])
            inside = min(position + size, start + length) - max(position, start)
            counted += max(inside, 0) / size
            position += size
        return counted


def _check_alphabet(token_alphabet: Sequence[bytes]) -> None:
    for index, token in enumerate(token_alphabet):
        _require(token, bytes, f"token {index}")
        if not token:
            raise ValueError(f"token {index} is empty")
        if index < 256 and token != bytes([index]):
            raise ValueError(f"token {index} must be {bytes([index])!r}, not {token!r}")
    if len(token_alphabet) < 256:
        raise ValueError(f"token {len(token_alphabet)} is missing: the first 256 are the bytes")
    if len(token_alphabet) > _LARGEST_ID + 1:
        raise ValueError(f"token {_LARGEST_ID + 1} is one too many")
