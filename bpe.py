"""Byte-level byte-pair encoding (BPE) in one module: to read, to learn from, and to use.

Text becomes UTF-8 bytes, and the 256 byte values are the first 256 tokens. Training
looks for the pair of neighbouring tokens that occurs most often, makes it a new token,
and starts over; what it leaves is a list of merge rules. Encoding replays the rules in
that order, decoding takes every token apart into its bytes again.

    the lab        to_ids, from_ids, count_pairs, merge, train, encode, decode, vocab_curve:
                   a function for each step; read these and you know the algorithm
    the engine     what makes `train` and `encode` fast, by two ideas: a token is a character,
                   so that `str.replace` merges; and nothing crosses a token's borders
    to take away   BPETokenizer: split patterns, special tokens, files of every kind
    given tokens   ByteTokenizer: a token alphabet instead of rules, and an estimator
    from a shell   python -m bpe: train, count, show, encode, decode

Standard library only; nothing happens at import.
"""

from __future__ import annotations

import argparse
import base64
import codecs
import copy
import errno
import html
import io
import json
import os
import random
import re
import reprlib
import secrets
import shutil
import signal
import struct
import sys
import time
import unicodedata
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, cached_property, lru_cache, partial, reduce
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from inspect import cleandoc
from itertools import chain, combinations, count, cycle, groupby, islice, pairwise, tee, zip_longest
from math import ceil, floor, inf, isqrt, sqrt
from operator import add, iconcat, index, itemgetter, mul
from pathlib import Path
from statistics import NormalDist
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeVar, cast

__all__ = [
    "DIGIT_SPLIT_PATTERN",
    "GPT2_SPLIT_PATTERN",
    "GPT4O_SPLIT_PATTERN",
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
    "main",
    "merge",
    "to_ids",
    "train",
    "vocab_curve",
    "write_atomically",
]

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
    return list(_utf8(text, "text"))


def from_ids(ids: Iterable[int]) -> str:
    """Return the text whose UTF-8 bytes are `ids`; broken UTF-8 shows as U+FFFD.

    An id outside 0 to 255 is a `ValueError`.

    >>> from_ids([237, 149, 156])
    '한'
    >>> from_ids([104, 105, 237])
    'hi\ufffd'
    """
    ids = _integers(ids, "ids")
    for position, token_id in enumerate(ids):
        if not 0 <= token_id < 256:
            raise ValueError(f"id {_shown(token_id)} at position {position} is not a byte")
    return bytes(ids).decode("utf-8", errors="replace")


def count_pairs(ids: Iterable[int], counts: dict[Pair, int] | None = None) -> dict[Pair, int]:
    """Count every pair of neighbours in `ids`, overlapping ones too.

    Given `counts`, add to it and return it, so that several texts are counted together.

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
    overlaps. A `pair` that is not two ids is a `ValueError`.

    >>> merge([1, 2, 3, 1, 2], (1, 2), 300)
    [300, 3, 300]
    >>> merge([5, 5, 5], (5, 5), 300)
    [300, 5]
    """
    ids, pair_ids = _integers(ids, "ids"), _integers(pair, "pair")
    new_id = _integer(new_id, "new_id")
    if len(pair_ids) != 2:
        raise ValueError(f"pair must be two ids, not {len(pair_ids)}")
    merged = []
    position = 0
    while position < len(ids):
        if ids[position : position + 2] == pair_ids:
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
    `MIN_PAIR_COUNT` times any more. Here is the whole algorithm, for three rules:

    >>> ids, rules = to_ids("aaabdaaabac"), []
    >>> for new_id in range(256, 259):
    ...     counts = count_pairs(ids)
    ...     best = min(counts, key=lambda pair: (-counts[pair], pair))
    ...     ids = merge(ids, best, new_id)
    ...     rules.append((best, new_id))
    >>> rules
    [((97, 97), 256), ((97, 98), 257), ((256, 257), 258)]
    >>> ids
    [258, 100, 258, 97, 99]
    >>> train("aaabdaaabac", 259) == rules
    True

    `train` does not run this loop, which counts the whole text again for every rule; it
    corrects the counts where a pair stood (see the engine).
    """
    learner = _Learner([_utf8(text, "text").decode("latin-1")], [1])
    return list(learner.learn(range(256, _integer(vocab_size, "vocab_size"))))


def encode(text: str, merges: Iterable[Rule] | Mapping[Pair, int]) -> list[int]:
    """Turn `text` into token ids: its bytes, then each rule once, in the order given.

    `merges` is a list of rules as `train` returns it, or a mapping from pair to id as
    `BPETokenizer.merges` is one. By hand it is a `merge` for each rule:

    >>> rules = train("aaabdaaabac", 259)
    >>> ids = to_ids("aaab aa")
    >>> for pair, new_id in rules:
    ...     ids = merge(ids, pair, new_id)
    >>> ids
    [258, 32, 256]
    >>> encode("aaab aa", rules) == ids
    True

    That is what it gives whatever the rules are. It runs this loop only where rules make an
    id that is there already, or tokens too large to keep; else a longer text hardly takes more
    time with more rules (see the engine). Each call reads the rules once, so for many texts
    there is `BPETokenizer`.
    """
    rules = _rules(merges)
    data = _utf8(text, "text")
    encoder = _encoder_of_rules(tuple(rules))
    if encoder is not None:
        return encoder.encode(data)
    ids = list(data)
    for pair, new_id in rules:
        ids = merge(ids, pair, new_id)
    return ids


def decode(ids: Iterable[int], merges: Iterable[Rule] | Mapping[Pair, int]) -> str:
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
        token_id = stack.pop()
        if token_id in halves:
            stack += reversed(halves[token_id])
        elif 0 <= token_id < 256:
            data.append(token_id)
        else:
            raise ValueError(f"id {_shown(token_id)} is neither a byte nor made by a rule")
    return data.decode("utf-8", errors="replace")


def vocab_curve(text: str, sizes: Iterable[int]) -> list[tuple[int, int]]:
    """Return `(size, token count)` for each vocabulary size, in the order of `sizes`.

    The tokens counted are those of `text` under the rules that `train(text, size)` gives.
    A shorter training is the beginning of a longer one, so it learns only once, and the
    text as merged so far is the encoding at that size.

    >>> vocab_curve("aaabdaaabac", [258, 256, 257])
    [(258, 7), (256, 11), (257, 9)]
    """
    sizes = _integers(sizes, "sizes")
    learner = _Learner([_utf8(text, "text").decode("latin-1")], [1])
    rules = learner.learn(range(256, max(sizes, default=256)))
    token_counts = [len(learner.words[0]), *(len(learner.words[0]) for _ in rules)]
    return [(size, token_counts[min(max(size - 256, 0), len(token_counts) - 1)]) for size in sizes]


# ---------------------------------------------------------------------------
# The engine: one learner and one encoder, for all but the textbook's own loops
#
# token            in here a number: the 256 bytes, then one for each merge rule, in their order
# token character  `chr` of that number: the learner keeps a sequence of tokens as a `str`
# token id         the int that users see; `_Vocabulary.ids` leads from number to id
# token bytes      what the token stands for in a text
# word             what is learned from as a whole: a pre-token, in the lab all of the text
# pre-token        what a split pattern cuts text into; a piece is one, or a special token
# stretch          what a long text that nothing splits is cut into to encode it
# run              one byte again and again, 16 times or more
# ---------------------------------------------------------------------------

_LARGEST_TOKEN = 0x10FFFF  # the last character there is
_MOST_BYTES = 256 * 2**20  # of all tokens together, in the lab's rules and in our own file
_BYTES = [bytes([byte]) for byte in range(256)]


class _Learner:
    """Learns merge rules from words (or one whole text), each with its count.

    Invariant between two rounds: of every pair that occurs at least `minimum` times, `counts` is
    exact and `holders` names the words that hold it (perhaps repeatedly, and some that no longer
    do). New occurrences of a pair only arise in the round that makes one of its tokens, so
    counts only fall afterwards: the queue corrects an outdated entry when it comes up.
    """

    RARE = 128  # a pair is rare below a 128th of the text's size over the number of rules wanted

    def __init__(self, words: Iterable[str], word_counts: Iterable[int]) -> None:
        self.words = list(words)
        self.word_counts = list(word_counts)

    def learn(self, tokens: range) -> Iterator[Rule]:
        """Yield a rule for each of the new `tokens`; between two, `words` are merged so far.

        Rare pairs are left out at first, as their turn hardly ever comes: 3.6 s instead of 4.5,
        102 MB instead of 142 for 32,511 rules from 139,987 words. When no others are left, all
        are counted.
        """
        least = max(MIN_PAIR_COUNT, 1)
        size = sum(map(mul, map(len, self.words), self.word_counts))
        wanted = max(tokens.stop - tokens.start, 1)  # `len` refuses a range of 2**63
        self._count(max(least, size // (self.RARE * wanted)))
        for token in tokens:
            pair = self._most_frequent_pair()
            if pair is None and self.minimum > least:
                self._count(least)
                pair = self._most_frequent_pair()
            if pair is None:
                return
            if token > _LARGEST_TOKEN:
                raise ValueError(f"a vocabulary holds at most {_LARGEST_TOKEN + 1} tokens")
            self._merge_everywhere(pair, chr(token))
            yield (ord(pair[0]), ord(pair[1])), token

    def _count(self, minimum: int) -> None:
        """Count the pairs in all words, and queue those that occur at least `minimum` times."""
        self.minimum = minimum
        self.counts: dict[str, int] = {}
        self.holders: dict[str, list[int]] = {}
        self.queue: list[tuple[int, str]] = []
        found: dict[str, list[int]] = defaultdict(list)
        for number, word in enumerate(self.words):
            for pair in _pairs(word):
                found[pair].append(number)
        for pair, numbers in found.items():
            self._enter(pair, numbers)

    def _enter(self, pair: str, numbers: list[int]) -> int:
        """Enter a new pair that stands in the words `numbers`, if that is often enough."""
        times = sum(map(self.word_counts.__getitem__, numbers))
        if times >= self.minimum:
            self.counts[pair] = times
            self.holders[pair] = numbers
            heappush(self.queue, (-times, pair))
        return times

    def _most_frequent_pair(self) -> str | None:
        """Return the pair to merge next, if one is left that occurs often enough.

        The tie rule: the queue is ordered by `(-count, pair)`, and strings are compared by
        code point, so of several pairs that are equally frequent the smallest comes first.
        """
        while self.queue:
            negative_count, pair = heappop(self.queue)
            times = self.counts[pair]
            if times == -negative_count >= self.minimum:
                return pair
            if times >= self.minimum:
                heappush(self.queue, (-times, pair))
        return None

    def _merge_everywhere(self, pair: str, token: str) -> None:
        """Merge `pair` into `token` in all words, and correct the counts of its neighbours.

        In `aaabdaaabac` the pair `aa` becomes `X`. Splitting at `aa` leaves the parts `""`,
        `abd`, `abac`. Where a part begins, its first character had an `a` before it and now
        has `X`: twice `aa` is lost and `Xa` gained. Where one ends, its last character (here
        the `d`) had `a` after it and now has `X`: `da` is lost and `dX` gained. An empty part
        in between would mean two occurrences side by side: `aa` lost, `XX` gained. All other
        counts stand. In `XabdXabac` the most frequent pairs are now `Xa` and `ab`, twice each;
        `ab` is the smaller (`X` is token 256) and becomes `Y`. Then `XY` becomes `Z`: `ZdZac`.

        Words are collected by neighbour first, once for each occurrence, so that a neighbour
        changes two counts once and not wherever it stands: 2.7 s instead of 3.0 for 32,512
        rules from 118,573 words.
        """
        before: dict[str, list[int]] = defaultdict(list)
        after: dict[str, list[int]] = defaultdict(list)
        touching: list[int] = []
        for number in set(self.holders.pop(pair)):
            word = self.words[number]
            if pair not in word:
                continue
            parts = word.split(pair)
            self.words[number] = token.join(parts)
            for left, right in pairwise(parts):
                if left:
                    before[left[-1]].append(number)
                if right:
                    after[right[0]].append(number)
            if len(parts) > 2:
                touching += [number] * parts[1:-1].count("")
        first, second = pair[0], pair[1]
        for neighbour, numbers in before.items():
            self._exchange(neighbour + first, neighbour + token, numbers)
        for neighbour, numbers in after.items():
            self._exchange(second + neighbour, token + neighbour, numbers)
        if touching:
            self._exchange(second + first, token + token, touching)
        del self.counts[pair]

    def _exchange(self, lost: str, gained: str, numbers: list[int]) -> None:
        """Count one pair less and another, new one more, in each of the words `numbers`."""
        times = self._enter(gained, numbers)
        if lost in self.counts:
            self.counts[lost] -= times


def _pairs(word: str) -> Iterator[str]:
    """Return each two neighbours, overlapping ones too: of `abc` these are `ab` and `bc`."""
    return map(add, word, word[1:])


class _Vocabulary:
    """Tokens in the order of their merge rules, and which of them may stand side by side.

    *Borders*. Rules apply in order, so while a token's bytes are merged inside a text, no
    merge crosses their borders (it would leave no token that ends there): they are merged
    as they would be alone. Hence whether two tokens may stand side by side in an encoding,
    *may touch* for short, depends on these two alone. A sequence of tokens of which every
    two neighbours may is the encoding of the text that it spells: by induction over the
    rules, each rule merges inside every token what it merges there alone, and nothing
    across a border. So a text has just one such sequence, and so has every beginning of it.

    With the rules `ab`, `bc` and `ab c`, the text `abcbc` becomes `ab c b c`, `ab c bc` and at
    last `abc bc`. Both tokens came about as they do in `abc` and in `bc` alone, and nothing
    crossed between them. But `a` and `bc` may never touch: in `abc` the first rule joins what
    meets at their border.
    """

    def __init__(self, byte_ids: Iterable[int] = range(256)) -> None:
        self.ids = list(byte_ids)
        self.bytes = _BYTES.copy()
        self.left_halves = [-1] * 256
        self.right_halves = [-1] * 256
        self.joined: dict[Pair, int] = {}  # from two tokens to the one that they become

    def copy(self) -> _Vocabulary:
        other = _Vocabulary()
        vars(other).update({name: value.copy() for name, value in vars(self).items()})
        return other

    def merges(self) -> dict[Pair, int]:
        """Return the rules as users see them: from a pair of ids to the new one, in rank order."""
        ids = self.ids
        return {
            (ids[self.left_halves[token]], ids[self.right_halves[token]]): ids[token]
            for token in range(256, len(ids))
        }

    def add(self, first: int, second: int, token_id: int) -> int:
        """Take one more rule, whose halves may stand side by side, and return its token."""
        token = self.joined[first, second] = len(self.ids)
        self.ids.append(token_id)
        self.bytes.append(self.bytes[first] + self.bytes[second])
        self.left_halves.append(first)
        self.right_halves.append(second)
        return token

    def may_touch(self, first: int, second: int) -> bool:
        """Return whether `second` may come after `first` in an encoding.

        Go back in time: of the two tokens at the border take apart the one that was made
        later. If a rule that came before that joins the two, it has crossed the border. (A rule
        goes from the left, so of one token twice the left one was made first: with the rule
        `aa`, the text `aaa` becomes `aa a`, and `a` may not touch `aa`.) -1 stands for no
        token, which may touch any.
        """
        joined, left_halves, right_halves = self.joined, self.left_halves, self.right_halves
        earlier_than = len(self.ids)
        while first >= 0 and second >= 0:
            pair = first, second
            if pair in joined and joined[pair] < earlier_than:
                return False
            if first > second:
                first, earlier_than = right_halves[first], first
            else:
                second, earlier_than = left_halves[second], second + 1
        return True


class _Encoder:
    """Encodes bytes as `merge` would, each rule once and in order, without all that work.

    A text that is a token becomes it. A short one is merged pair by pair, first the pair whose
    rule comes first: a new token takes part in later rules only, so that is their order. But
    the time grows with the square of the length: a word of 7 bytes takes 7 µs, one of 128 bytes
    230.

    A long text under few rules goes through them one by one. Under many, it is walked along. By
    *Borders* the encoding is the one sequence of tokens that spells the text and in which every
    two neighbours may touch. So at each place take the longest token that comes next and may
    touch the one before; if there is none, go one token back and on with the next shorter one.
    A beginning of the text has one encoding only, so going forward comes to no place twice:
    time is linear in the text, with a factor for how many lengths are tried at a place. That
    word of 7 bytes takes 9 µs, the one of 128 bytes 80.
    """

    SHORT = 128  # bytes; hardly a pre-token has more, and the walk's index takes up to 0.2 s
    # Up to about so many, `str.replace` for each is faster on a long text met first: for 200 KB
    # under 256 rules 0.08 s instead of 0.16, under 750 rules 0.15 instead of 0.17.
    FEW_RULES = 750
    REACH = 512  # bytes, of a stretch that is walked along, without what is taken back before it
    BACK = 16  # bytes, that are taken back at first
    MOST_REMEMBERED = 1 << 12  # stretches, as runs and what stands between come again

    def __init__(self, vocabulary: _Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.tokens = {data: token for token, data in enumerate(vocabulary.bytes)}
        self.remembered: dict[bytes, list[int]] = {}

    @cached_property
    def lengths(self) -> dict[bytes, tuple[int, ...]]:
        return _lengths_by_beginning(self.tokens)

    def encode(self, text: bytes) -> list[int]:
        """Return the token ids of `text`."""
        ids = self.vocabulary.ids
        return [ids[token] for token in self.encode_to_tokens(text)]

    def encode_to_tokens(self, text: bytes) -> list[int]:
        """Return the tokens of `text`, as numbers."""
        if text in self.tokens:
            return [self.tokens[text]]
        if len(text) <= self.SHORT:  # as most are
            return self._merge(text)
        number = len(self.vocabulary.ids)
        if number <= 256 + self.FEW_RULES:
            return self._replace(text, range(256, number))
        return self._glue(text)

    def _merge(self, text: bytes) -> list[int]:
        joined, never = self.vocabulary.joined.get, len(self.vocabulary.ids)
        tokens = list(text)
        joins = [joined(pair, never) for pair in pairwise(tokens)]
        while joins and (token := min(joins)) < never:
            place = joins.index(token)
            tokens[place] = token
            del tokens[place + 1], joins[place]
            if place > 0:
                joins[place - 1] = joined((tokens[place - 1], token), never)
            if place < len(joins):
                joins[place] = joined((token, tokens[place + 1]), never)
        return tokens

    def _walk(self, text: bytes) -> list[int]:
        token_of, may_touch = self.tokens.get, self.vocabulary.may_touch
        tokens: list[int] = []
        before, position, lengths = -1, 0, self._lengths_at(text, 0)
        while position < len(text):
            for length in lengths:  # beyond the end it stands for all that is left
                token = token_of(text[position : position + length], -1)
                if token >= 0 and may_touch(before, token):
                    tokens.append(token)
                    before, position = token, position + length
                    lengths = self._lengths_at(text, position)
                    break
            else:  # nothing leads on from here: one token back, and a shorter one in its place
                length = len(self.vocabulary.bytes[tokens.pop()])
                before, position = tokens[-1] if tokens else -1, position - length
                lengths = self._lengths_at(text, position)
                lengths = lengths[lengths.index(length) + 1 :]
        return tokens

    def _lengths_at(self, text: bytes, position: int) -> tuple[int, ...]:
        """Return the lengths of the tokens that begin as `text` does here, the longest first."""
        lengths: tuple[int, ...] = (2, 1)
        known, size, end = self.lengths, 3, len(text)
        while position + size <= end and (longer := known.get(text[position : position + size])):
            lengths, size = longer, 2 * size
        return lengths

    def _replace(self, text: bytes, rules: Iterable[int]) -> list[int]:
        """Encode by one rule after the other, as the textbook does; a token is a character."""
        left_halves, right_halves = self.vocabulary.left_halves, self.vocabulary.right_halves
        characters = text.decode("latin-1")
        for token in rules:
            pair = chr(left_halves[token]) + chr(right_halves[token])
            characters = characters.replace(pair, chr(token))
        return list(map(ord, characters))

    def _encode_stretch(self, stretch: bytes) -> list[int]:
        tokens = self.remembered.get(stretch)
        if tokens is None:
            if _is_run(stretch):
                tokens = self._replace(stretch, self.runs[stretch[:1]])
            else:
                tokens = self._walk(stretch)
            if len(stretch) <= self.REACH:
                if len(self.remembered) >= self.MOST_REMEMBERED:
                    self.remembered.clear()
                self.remembered[stretch] = tokens
        return tokens

    @cached_property
    def runs(self) -> dict[bytes, list[int]]:
        """From a byte to the tokens of it alone."""
        runs = defaultdict[bytes, list[int]](list)
        for token, data in enumerate(self.vocabulary.bytes[256:], start=256):
            if _is_run(data):
                runs[data[:1]].append(token)
        return runs

    def _glue(self, text: bytes) -> list[int]:
        """Encode a long text stretch by stretch; where the tokens at a seam may touch, glue there.

        Before a stretch some bytes are taken back, as a token may lie across; if the tokens at
        the seam may not touch, four times as many. A walk along a run would try all lengths at
        nearly every byte, so a run is a stretch of its own, to which only few rules apply. Of one
        that must be encoded together with other bytes, only the beginning is, and if the rest
        must be too, twice as much of it. If more than four times the text is walked along in
        vain, one walk is faster.
        """
        tokens: list[int] = []
        stretches = _stretches(text, self.REACH)
        in_vain, reach = 0, self.REACH
        while stretches:
            stretch, taken = stretches.pop(), b""
            back = 0 if _is_run(stretch) else self.BACK
            is_cut = False
            while True:
                taken = self._take_back(tokens, back) + taken
                if len(stretch) > reach and not _is_run(taken + stretch):
                    stretches.append(stretch[reach:])
                    stretch, is_cut = stretch[:reach], True
                together = taken + stretch
                added = self._encode_stretch(together)
                if not tokens or self.vocabulary.may_touch(tokens[-1], added[0]):
                    break
                back = max(4 * back, self.BACK)
                in_vain += 0 if _is_run(together) else len(together)
                if in_vain > 4 * len(text):
                    return self._walk(text)
            tokens += added
            reach = 2 * reach if is_cut else self.REACH
        return tokens

    def _take_back(self, tokens: list[int], size: int) -> bytes:
        """Remove tokens from the end, of at least `size` bytes if there are as many."""
        taken: list[bytes] = []
        while tokens and size > 0:
            taken.append(self.vocabulary.bytes[tokens.pop()])
            size -= len(taken[-1])
        return b"".join(reversed(taken))


_RUN = re.compile(rb"(?s)(.)\1{15,}")


def _is_run(data: bytes) -> bool:
    return data.count(data[0]) == len(data)


def _stretches(text: bytes, size: int) -> list[bytes]:
    """Cut `text` into runs, and what is between into at most `size` bytes; the last comes first."""
    borders = [border for run in _RUN.finditer(text) for border in run.span()]
    stretches: list[bytes] = []
    # What is between runs and a run take turns.
    for (start, end), step in zip(pairwise([0, *borders, len(text)]), cycle([size, len(text)])):
        stretches += [text[at : min(at + step, end)] for at in range(start, end, step)]
    return stretches[::-1]


def _longest_beginnings(strings: Iterable[bytes]) -> dict[bytes, bytes]:
    """Return for each string the longest other one that it begins with, `b""` if none does.

    In sorted order, between a string and one that it begins with stand only others that begin so.
    """
    found: dict[bytes, bytes] = {}
    open_ones = [b""]
    for data in sorted(set(strings)):
        while not data.startswith(open_ones[-1]):
            open_ones.pop()
        found[data] = open_ones[-1]
        open_ones.append(data)
    return found


def _lengths_by_beginning(tokens: Iterable[bytes]) -> dict[bytes, tuple[int, ...]]:
    """Return which lengths the tokens with a certain beginning may have, the longest first.

    The beginnings are those of 3, 6, 12, … bytes; each has the lengths from its own to below
    the next one's, and then those of the beginning half as long. So few are tried, also where
    `a`, `aa`, `aaa` and so on all are tokens.
    """
    found: dict[bytes, tuple[int, ...]] = {}
    for data in sorted(tokens, key=len):  # so what a new beginning takes over is complete
        size = 3
        lengths: tuple[int, ...] = (2, 1)
        while size <= len(data):
            lengths = found.setdefault(data[:size], lengths)
            size *= 2
        if lengths[0] < len(data):
            found[data[: size // 2]] = (len(data), *lengths)
    return found


@lru_cache(maxsize=4)
def _encoder_of_rules(rules: tuple[Rule, ...]) -> _Encoder | None:
    """Return what encodes by `rules`, in whatever order their ids are, if they are well formed.

    That is, no rule that ever applies makes an id that is there already, and all tokens fit
    into memory. Rules that never apply are left out: those with a half that no rule before
    makes, or with halves that may not touch.
    """
    vocabulary = _Vocabulary()
    tokens = {token_id: token for token, token_id in enumerate(vocabulary.ids)}
    size = 256
    for (first_id, second_id), token_id in rules:
        first, second = tokens.get(first_id), tokens.get(second_id)
        if first is None or second is None or not vocabulary.may_touch(first, second):
            continue
        size += len(vocabulary.bytes[first]) + len(vocabulary.bytes[second])
        if token_id in tokens or len(tokens) > _LARGEST_TOKEN or size > _MOST_BYTES:
            return None
        tokens[token_id] = vocabulary.add(first, second, token_id)
    return _Encoder(vocabulary)


def _vocabulary_of_tokens(
    byte_ids: Iterable[int], tokens: Mapping[int, bytes], id_of: Mapping[bytes, int]
) -> _Vocabulary:
    """Return the rules by which `tokens`, in their order, come about.

    By *Borders*, wherever a token is made, the rules before have turned its bytes into the same
    two tokens. So the pair that makes it, if there is one, is the one split of its bytes into
    tokens that may touch. (`id_of` says by which id a token is known as a part of others.)
    """
    vocabulary = _Vocabulary(byte_ids)
    parts = {data: i for i, data in enumerate(vocabulary.bytes) if id_of[data] == vocabulary.ids[i]}
    beginnings = _longest_beginnings(tokens.values())
    for token_id, data in tokens.items():
        first = beginnings[data]
        while first:
            left, right = parts.get(first), parts.get(data[len(first) :])
            if left is not None and right is not None and vocabulary.may_touch(left, right):
                token = vocabulary.add(left, right, token_id)
                if id_of[data] == token_id:
                    parts[data] = token
                break
            first = beginnings[first]
    return vocabulary


def _vocabulary_of_ranks(ranks: Mapping[bytes, int]) -> _Vocabulary:
    """Return the rules of tiktoken's ranks, which are ids and the order of merging at once."""
    tokens = {rank: data for data, rank in sorted(ranks.items(), key=itemgetter(1))}
    vocabulary = _vocabulary_of_tokens([ranks[byte] for byte in _BYTES], tokens, ranks)
    if len(vocabulary.ids) < len(ranks):
        encoder = _Encoder(vocabulary)
        for data in ranks.keys() - set(vocabulary.bytes):
            if len(encoder.encode(data)) == 2:
                message = f"token {_shown(data)} would be merged after the turn that its rank gives"
                raise ValueError(message)
    return vocabulary


class _EncodedPreTokens(dict[str, tuple[int, ...]]):
    """From pre-token to ids: what most of the time of encoding goes to is a look-up in here.

    At most `LIMIT` are kept, in two generations: when the young one is full it becomes the old
    one, which is looked into before anything is encoded anew. So what is in use stays, and a
    hit costs what it costs in a `dict`.

    A pre-token that is one of `whole_tokens` becomes it, though no merge does that.
    """

    LIMIT = 1 << 18  # pre-tokens, in some 60 MB: all 118,573 of the standard library stay
    LONGEST = 64  # characters; longer pre-tokens hardly ever come again

    def __init__(self, vocabulary: _Vocabulary, whole_tokens: Mapping[bytes, int]) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.whole_tokens = whole_tokens
        self.old: dict[str, tuple[int, ...]] = {}

    def __missing__(self, pre_token: str) -> tuple[int, ...]:
        ids = self.old.get(pre_token)
        if ids is None:
            data = pre_token.encode("utf-8")
            whole = self.whole_tokens.get(data)
            ids = tuple(self.encoder.encode(data)) if whole is None else (whole,)
        if len(pre_token) <= self.LONGEST:
            if len(self) >= self.LIMIT // 2:
                self.old = dict(self)
                self.clear()
            self[pre_token] = ids
        return ids

    @cached_property
    def encoder(self) -> _Encoder:
        return _Encoder(self.vocabulary)  # made when it is first needed, as it takes a while

    def characters(self, pre_token: str) -> str:
        """Return the token characters of a pre-token, which learning goes on from.

        There are none if it is a token as a whole: no pair in it is ever merged.
        """
        data = pre_token.encode("utf-8")
        if data in self.whole_tokens:
            return ""
        if len(self.vocabulary.ids) == 256:
            return data.decode("latin-1")
        return "".join(map(chr, self.encoder.encode_to_tokens(data)))


# ---------------------------------------------------------------------------
# Split patterns: where text is cut into pre-tokens before any pair is counted
#
# `re` has no `\p{L}`, so the characters of such a property are written out as ranges, and
# `\s` as what is white space in Unicode. Up to U+00FF, r" ?\p{L}+|[^\s\p{Lu}]" becomes
# r" ?[A-Za-zª-ªµ-µº-ºÀ-ÖØ-öø-ÿ]+|[^\t-\r \x85\xa0…A-ZÀ-ÖØ-Þ]". What has a property is
# what the interpreter's Unicode says (`unicodedata.unidata_version`), others may know more.
# ---------------------------------------------------------------------------

GPT2_SPLIT_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of GPT-2: words, numbers and the rest, each with one space before it."""

GPT4_SPLIT_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern of GPT-4: numbers in groups of three digits, line ends on their own."""

GPT4O_SPLIT_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern of GPT-4o: a capital after a small letter begins a word, marks are letters."""

DIGIT_SPLIT_PATTERN = GPT4_SPLIT_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}")
"""GPT-4's pattern with every digit on its own, which helps arithmetic: in groups of three, cut
from the left, a digit stands for units in one number and for hundreds in another.
"""

# GPT-2's and GPT-4's pattern as tiktoken spells them now. With the second, white space at
# the end of a text is one piece, even if it holds a line end; nothing else differs.
_TIKTOKEN_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_TIKTOKEN_GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

# What is known of these patterns: they leave no character out; where a space follows a
# character that is not white space, a piece ends, whatever comes after; and a quantifier
# means the same without its possessive `+`, which Python 3.10 does not know.
_KNOWN_PATTERNS = {GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, GPT4O_SPLIT_PATTERN}
_KNOWN_PATTERNS |= {DIGIT_SPLIT_PATTERN, _TIKTOKEN_GPT2, _TIKTOKEN_GPT4}
# So many characters or more, on to the first such place or the end. What a block becomes stays
# in the processor's cache: 5 MB are split in 0.30 s instead of 0.34, and never held in pieces.
_BLOCK_SIZE = 1 << 12
_BLOCK = re.compile(rf"(?s).{{1,{_BLOCK_SIZE}}}(?:.*?\S(?= )|.*)")
# The longest beginning of a text after which one may cut, whatever follows: before a space
# after something else, or before a line end after a letter or digit.
_UP_TO_A_SAFE_CUT = re.compile(r"(?s).*(?:\S(?= )|[^\W_](?=\n))")

_LATIN_1, _BASIC_PLANE, _UNICODE = 0xFF, 0xFFFF, 0x10FFFF
_BEYOND_BASIC_PLANE = re.compile("[\U00010000-\U0010ffff]")


class _Splitter:
    r"""Cuts text as one pattern says. What is not written out, as `\b`, is what it is in `re`.

    Ranges beyond the Basic Multilingual Plane make `re` several times slower (750,000 Korean
    letters: 0.29 s instead of 0.04), so there are forms without them, for text with none.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.is_known = pattern in _KNOWN_PATTERNS
        self.for_ascii = _compile(pattern, _LATIN_1)  # an invalid pattern shows now
        properties = re.findall(r"\\[pP](\{\^?\w+|\w)", pattern)  # in \\p, one too many: no harm
        self.categories = tuple(name.strip("{^") for name in properties)
        self.looks_back = any(re.findall(rf"(?s)\\[^AbB]|{_CLASS}|(\^|\\[AbB]|\(\?<[=!])", pattern))

    def split(self, text: str) -> list[str]:
        """Return the pieces of `text`, some perhaps empty; joined they are the text."""
        compiled = self.for_ascii if text.isascii() else _compile(self.pattern, self.reach(text))
        if not compiled.groups:
            pieces: list[str] = compiled.findall(text)
            if self.is_known or "".join(pieces) == text:
                return pieces
        borders = [border for match in compiled.finditer(text) for border in match.span()]
        return [text[start:end] for start, end in pairwise([0, *borders, len(text)])]

    def reach(self, text: str) -> int:
        """Return the last character up to which properties matter for text beyond ASCII."""
        beyond = map(unicodedata.category, set(_BEYOND_BASIC_PLANE.findall(text)))
        return _UNICODE if any(c.startswith(self.categories) for c in beyond) else _BASIC_PLANE


def _cut(pieces: Iterable[str], splitters: Iterable[_Splitter]) -> Iterable[str]:
    """Cut as one splitter after the other says; each sees no more than a piece at a time."""
    for splitter in splitters:
        pieces = chain.from_iterable(map(splitter.split, pieces))
    return pieces


# A property; a class, with ] as a member if it comes first; a group that may be repeated.
# Whatever is one of these is so in one way only, so looking for them takes no detours.
_PROPERTY = r"\\[pP](?:\{[^{}]*\}|\w)"
_MEMBER = r"\\.|(?!&&|\|\||--|~~)[^\\[\]]"
_CLASS = rf"\[(?:\^|(?!\^))(?:\]|{_MEMBER})(?:{_MEMBER})*\]"
_PLAIN_GROUP = rf"\((?:\?:)?(?:{_PROPERTY}|\\[^pP]|{_CLASS}|\{{\d{{1,3}}\}}|[^\\()[{{*+?|])*\)"
_ITEM = re.compile(
    rf"(?s)\\.|{_CLASS}|{_PLAIN_GROUP}|(?P<class>\[)|(?P<repeated>\)[*+{{])"
    r"|(?P<count>\{\d*,?\d{4})|(?P<flags>\(\?(?!i:[^()\\]*\)|m:\$\)|P[<=])[a-zA-Z#-])"
    r"|(?P<bar>\|)|(?P<open>\(\??)|(?P<close>\))"
    r"|(?P<quantifier>(?:[*+?]|\{[\d,]+\})(?P<suffix>[+?]?))|."
)
_REFUSED = {
    "class": "a class that does not end, or holds [, &&, ||, -- or ~~ without a backslash",
    "repeated": "a group that holds a quantifier, a group or | is repeated",
    "count": "a count above 999",
    "flags": "a flag other than (?m:$) and (?i:…) without groups or backslashes, or a comment",
}


def _check(pattern: str) -> None:
    r"""Raise where other engines read a pattern otherwise, or where it might cost too much.

    A pattern that is accepted never takes a time exponential in the length of the text, as
    `(a+)+$` would, but may take a power of it: `\s*\s*\s*x` n⁴ steps in a run of n spaces.
    """
    if len(pattern) > 10_000 or len(re.findall(r"\\[pP]", pattern)) > 100:
        raise ValueError("it has more than 10,000 characters or 100 properties")
    pattern.encode("utf-8")  # raises if a lone surrogate is in it
    depth = choices = 0  # of groups; of places where matching may go on in several ways
    for item in _ITEM.finditer(pattern):
        kind = item.lastgroup or ""
        depth += (kind == "open") - (kind == "close")
        choices = 0 if kind == "bar" and depth == 0 else choices + (kind in ("open", "quantifier"))
        fault = _REFUSED.get(kind)
        if item["suffix"] == "+" and sys.version_info < (3, 11):
            fault = "possessive quantifiers need Python 3.11"
        if choices > 10:
            fault = "more than 10 groups and quantifiers in one alternative"
        if fault:
            raise ValueError(f"{fault}: {pattern[item.start() : item.start() + 30]!r}")


@lru_cache(maxsize=64)
def _compile(pattern: str, largest: int) -> re.Pattern[str]:
    try:
        if sys.version_info < (3, 11) and pattern in _KNOWN_PATTERNS:
            pattern = re.sub(r"([*+?]|\d\})\+", r"\1", pattern)
        _check(pattern)
        return re.compile(_translate(pattern, largest))
    except (re.error, ValueError) as fault:
        raise ValueError(f"invalid split pattern {pattern[:100]!r}: {fault}") from None


def _translate(pattern: str, largest: int) -> str:
    """Return `pattern` with its properties up to the character `largest` written out."""

    def written_out(item: re.Match[str]) -> str:
        members = re.sub(parts, lambda part: _members(part[0], largest), item[0])
        return members if item[0][0] == "[" or members == item[0] else f"[{members}]"

    parts = rf"(?s){_PROPERTY}|\\.|-(?=\\[pPsS])"
    return re.sub(rf"(?s){_CLASS}|{_PROPERTY}|\\.", written_out, pattern)


# What stands in a class for Unicode's White_Space (the \s of `re` has U+001C to U+001F too), for
# what is not, and for a hyphen before such an escape.
_MEMBERS = {
    r"\s": r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000-\u3000",
    r"\S": r"\0-\x08\x0e-\x1f!-\x84\x86-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e"
    r"\u2030-\u205e\u2060-\u2fff\u3001-\U0010ffff",
    "-": r"\-",
}


def _members(part: str, largest: int) -> str:
    """Return what stands in a class for a property, or for one of `_MEMBERS`."""
    if not re.fullmatch(_PROPERTY, part):
        return _MEMBERS.get(part, part)
    name = part[2:].strip("{}").removeprefix("^")
    complement = (part[1] == "P") != ("^" in part)
    if not re.fullmatch("C[cfnos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?", name):
        raise ValueError(f"{part[:100]} is not a general category of one or two letters")
    runs = groupby(_category_runs(largest), lambda run: run[0].startswith(name) != complement)
    chosen = ["".join(run for _, run in neighbours) for wanted, neighbours in runs if wanted]
    # A class cannot be empty: if need be it has a character that is in no text it is for.
    return "".join(f"{re.escape(run[0])}-{re.escape(run[-1])}" for run in chosen or ["\U0010ffff"])


@cache
def _category_runs(largest: int) -> list[tuple[str, str]]:
    """Return `(category, first and last character)` for each run; what is beyond has none."""
    runs = groupby(map(chr, range(largest + 1)), unicodedata.category)
    known = [(category, next(run) + "".join(deque(run, maxlen=1))) for category, run in runs]
    return known if largest == _UNICODE else [*known, ("", f"{chr(largest + 1)}\U0010ffff")]


# ---------------------------------------------------------------------------
# BPETokenizer: train on a corpus, encode and decode anything, keep it, hand it over
# ---------------------------------------------------------------------------

Corpus = str | Iterable[str]  # one text, or documents
FilePath = str | os.PathLike[str]
SplitPattern = str | Sequence[str] | None  # of several, each cuts the pieces of the one before
SpecialTokens = Mapping[str, int] | Iterable[str]  # `{name: id}`, or names alone
AllowedSpecial = str | Collection[str]
Progress = Callable[[int, int], object] | None  # called with how much is done, and of how much

_STREAM_CHUNK = 1 << 16  # characters that `encode_iterable` goes on with at once


class BPETokenizer:
    """A byte-level BPE tokenizer with a split pattern and special tokens.

    `pattern` cuts text into pre-tokens, and no token crosses their borders; of several,
    each cuts the pieces of the one before; `None` cuts nothing. One that is accepted never
    takes a time exponential in the length of a text, from a file too; others are refused by
    name. What is a letter, the interpreter's Unicode says (`unicodedata.unidata_version`): where
    characters are new to it or to another library, the two may split text in different ways.
    `special_tokens` goes to `register_special_tokens`. An untrained tokenizer knows the 256
    byte tokens, so it can encode and decode anything. To read a file, of whatever kind, call
    `BPETokenizer.from_file(path)`.

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
    >>> tokenizer
    <BPETokenizer of 260 tokens, 3 merge rules, 1 special token, split by GPT4_SPLIT_PATTERN>
    """

    def __init__(
        self, pattern: SplitPattern = GPT4_SPLIT_PATTERN, special_tokens: SpecialTokens = ()
    ) -> None:
        self.pattern = _checked_pattern(pattern)
        self.special_tokens: dict[str, int] = {}
        self._normalization: str | None = None
        self._whole_tokens = False  # whether a pre-token that is a token needs no merge for it
        self._names_with_chosen_id: frozenset[str] = frozenset()  # the others are numbered anew
        self._take_tokens(_Vocabulary(), {})
        self.register_special_tokens(special_tokens)

    def __len__(self) -> int:
        """Return the number of tokens, special ones included.

        >>> len(BPETokenizer(special_tokens=["<|end|>"]))
        257
        """
        return len(self.vocab)

    def __repr__(self) -> str:
        known = {globals()[name]: name for name in __all__ if name.endswith("_PATTERN")}
        counts = {"token": len(self), "merge rule": len(self.merges)}
        counts["special token"] = len(self.special_tokens)
        of = ", ".join(f"{number} {word}{'s' * (number != 1)}" for word, number in counts.items())
        pattern = known.get(self.pattern) or _shown(self.pattern)
        return f"<{type(self).__name__} of {of}, split by {pattern}>"

    # -- training ----------------------------------------------------------

    def train(
        self, text: Corpus, vocab_size: int, progress: Progress = None, workers: int = 1
    ) -> BPETokenizer:
        """Learn at most `vocab_size - 256` merge rules from `text`, and return `self`.

        `text` is a string or an iterable of strings: documents, each with a border at its
        end, and not the name of a file. It is read once, as it is needed, and never held
        whole. (An open file gives its lines: no token then holds a line end and the
        indentation after it. Better give whole files.) Special tokens in it are borders.
        Earlier rules are forgotten. A `vocab_size` below 256, or above an id that was given to
        a special token, is a `ValueError`. After any error the tokenizer is as it was.

        `progress(done, total)` is called after each rule; and with the characters read so
        far and 0 for the total while pre-tokens are counted. That is the work of `workers`
        processes; the rules do not depend on how many.

        >>> BPETokenizer(pattern=None).train(["aaab", "aaab"], 258).merges
        {(97, 97): 256, (97, 98): 257}
        """
        self._check_vocab_size(vocab_size)
        counts = self._count_pre_tokens(text, progress, workers)
        return self.train_from_counts(counts, vocab_size, progress)

    def train_from_counts(
        self, counts: Mapping[str, int], vocab_size: int, progress: Progress = None
    ) -> BPETokenizer:
        """Do the same as `train` from `{pre-token: count}` counted elsewhere.

        This is how a corpus too large for one machine is trained: `pretokenize` is the
        map step of a distributed word count, and this is what comes after it. A count
        below 0 is a `ValueError`.

        >>> words = ["low", " lower", " low", " lower"]
        >>> BPETokenizer().train_from_counts(Counter(words), 258).merges
        {(108, 111): 256, (256, 119): 257}
        """
        vocab_size = self._check_vocab_size(vocab_size)
        start = copy.copy(self)
        start._whole_tokens = False
        start._take_tokens(_Vocabulary(), {})
        return self._learn(counts, vocab_size, progress, start)

    def extend(
        self, text: Corpus, vocab_size: int, progress: Progress = None, workers: int = 1
    ) -> BPETokenizer:
        """Go on training from the rules that are there, on new text, and return `self`.

        Its pre-tokens are first encoded with the present rules, then pairs are counted and
        learned as ever, until there are `vocab_size` tokens without the special ones. The
        present ids stay, those of special tokens too; new tokens take the free ones after the
        highest that is not special. Of equally frequent pairs the one goes first whose tokens
        were there first. A `vocab_size` below the number of tokens there are is a `ValueError`.

        >>> tokenizer = BPETokenizer().train("low lower lowest", 258)
        >>> tokenizer.extend("lowest of the lowest", 260).merges
        {(108, 111): 256, (256, 119): 257, (101, 115): 258, (257, 258): 259}
        """
        vocab_size = _integer(vocab_size, "vocab_size", len(self._ordinary))
        counts = self._count_pre_tokens(text, progress, workers)
        start = copy.copy(self)
        start._names_with_chosen_id = frozenset(self.special_tokens)
        return self._learn(counts, vocab_size, progress, start)

    def pretokenize(self, text: str) -> list[str]:
        """Return the pieces within which pairs are counted; joined they are `text` again.

        A registered special token is a piece of its own, and so is what the split
        pattern does not match.

        >>> BPETokenizer(special_tokens=["<|end|>"]).pretokenize("It's 12345!<|end|>")
        ['It', "'s", ' ', '123', '45', '!', '<|end|>']
        """
        return list(filter(None, self._coder.pieces(text)))

    def register_special_tokens(self, tokens: SpecialTokens) -> None:
        """Add special tokens: names, whose ids follow the learned tokens, or `{name: id}`.

        Ids given by name alone are assigned anew whenever `train` ends, until `extend` keeps
        them for good; an id given explicitly stays. An id that is taken, an empty name or one
        that is registered already is a `ValueError`, and then none is added.

        >>> tokenizer = BPETokenizer()
        >>> tokenizer.register_special_tokens({"<|end|>": 100257})
        >>> tokenizer.register_special_tokens(["<|user|>"])
        >>> tokenizer.special_tokens
        {'<|end|>': 100257, '<|user|>': 256}
        """
        self._add_special_tokens(_names_and_ids(tokens))

    # -- encoding and decoding ---------------------------------------------

    def encode(self, text: str, allowed_special: AllowedSpecial = "all") -> list[int]:
        """Return the token ids of `text`.

        `allowed_special` says which special tokens are recognised: `"all"` that are
        registered, `"none"` (they are ordinary text), `"none_raise"` (one in the text is
        a `ValueError`), or a collection of registered names (any other is a `ValueError`).
        Where several could stand, the leftmost wins, then the longest. On text that users
        typed, call `encode_ordinary`.

        >>> tokenizer = BPETokenizer(special_tokens=["<|end|>"])
        >>> tokenizer.encode("a<|end|>")
        [97, 256]
        >>> tokenizer.encode("a<|end|>", allowed_special="none")
        [97, 60, 124, 101, 110, 100, 124, 62]
        """
        _utf8(text, "text")
        # `reduce` with `iconcat` is a loop of `ids += …` in C.
        return reduce(iconcat, self._coder.encoded_pieces(text, allowed_special), [])

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the token ids of `text`, in which no special token is recognised.

        This is what to call on text that users typed: a special token steers the model
        (it ends a document, it says who speaks), and nobody should be able to type one.

        >>> BPETokenizer(special_tokens=["<|end|>"]).encode_ordinary("<|end|>")
        [60, 124, 101, 110, 100, 124, 62]
        """
        return self.encode(text, allowed_special="none")

    def count(self, text: str, allowed_special: AllowedSpecial = "all") -> int:
        """Return how many tokens `text` has, without making a list of them.

        >>> BPETokenizer(special_tokens=["<|end|>"]).count("low<|end|>")
        4
        """
        _utf8(text, "text")
        return sum(map(len, self._coder.encoded_pieces(text, allowed_special)))

    def encode_batch(
        self, texts: Iterable[str], workers: int = 1, allowed_special: AllowedSpecial = "all"
    ) -> Iterator[array[int]]:
        """Yield for each text, in order, an array of its token ids.

        `texts` are read as they are needed. With several `workers`, processes share them;
        the tokenizer goes to each of these once. An id in the vocabulary of 2**64 or more, which
        no array holds, is a `ValueError`.

        >>> list(BPETokenizer().encode_batch(["a", "bc"]))
        [array('I', [97]), array('I', [98, 99])]
        """
        if isinstance(texts, str):
            raise TypeError("texts must be strings, not one string")
        task = partial(_encode_texts, self, allowed_special)
        workers = _integer(workers, "workers", 1)
        return chain.from_iterable(_in_processes(task, _batches(texts), workers))

    def encode_iterable(
        self, chunks: Iterable[str], allowed_special: AllowedSpecial = "all"
    ) -> Iterator[int]:
        r"""Yield the token ids of a stream, which is never held whole, as they are settled.

        The ids are those of `encode` on all chunks joined, wherever the cuts fall, for
        the split patterns of this module (and for others in which more text can change
        at most the last two pieces; a pattern that looks back, as with `\b`, is a
        `ValueError`). One piece must fit into memory; with a pattern that is not of this
        module and normalization, all up to the next special token.

        >>> tokenizer = BPETokenizer(special_tokens=["<|end|>"])
        >>> list(tokenizer.encode_iterable(["a<|e", "nd|>", "b"]))
        [97, 256, 98]
        """
        coder, done = self._coder, 0
        if coder.looks_back:
            pattern = _shown(self.pattern)
            raise ValueError(f"a stream cannot be split by {pattern}, which looks back")
        held, fresh = "", io.StringIO()
        for chunk in chunks:
            _utf8(chunk, "a chunk")
            for start in range(0, len(chunk), _STREAM_CHUNK):
                fresh.write(chunk[start : start + _STREAM_CHUNK])
                if fresh.tell() >= len(held) or len(held) <= 256:  # so that all is read few times
                    text = held + fresh.getvalue()
                    place, pieces = coder.settled(text, allowed_special)
                    yield from chain.from_iterable(
                        coder.encoded_pieces(text[:place], allowed_special, done)
                    )
                    yield from chain.from_iterable(map(coder.encoded.__getitem__, pieces))
                    place += sum(map(len, pieces))
                    held, fresh = text[place:], io.StringIO()
                    done += place
        text = held + fresh.getvalue()
        yield from chain.from_iterable(coder.encoded_pieces(text, allowed_special, done))

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        r"""Return the text of token ids; bytes that are not UTF-8 show as U+FFFD.

        `errors` is any of Python's error handlers; with `"strict"` such bytes are a
        `UnicodeDecodeError`. An unknown id is a `ValueError` that names it and its position.

        >>> BPETokenizer().decode([237, 149, 156, 237])
        '한�'
        """
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        r"""Return the bytes of token ids, exactly as they are.

        >>> BPETokenizer().decode_bytes([237, 149])
        b'\xed\x95'
        """
        return _join_tokens(self.vocab, _integers(ids, "ids"))

    def decode_iterable(self, ids: Iterable[int], errors: str = "replace") -> Iterator[str]:
        """Yield the text of token ids as they come, a character as soon as it is whole.

        Joined it is what `decode` returns, and an unknown id is a `ValueError` as there.

        >>> list(BPETokenizer().decode_iterable([104, 237, 149, 156, 33]))
        ['h', '한', '!']
        """
        decoder = codecs.getincrementaldecoder("utf-8")(errors)
        vocab = self.vocab
        for position, token_id in enumerate(ids):
            data = vocab.get(_integer(token_id, "an id"))
            if data is None:
                raise ValueError(f"unknown id {_shown(token_id)} at position {position}")
            if text := decoder.decode(data):
                yield text
        if text := decoder.decode(b"", final=True):
            yield text

    def tokens(self, text: str, allowed_special: AllowedSpecial = "all") -> list[str]:
        r"""Return each token of `text` as text, for looking at where it is cut.

        Bytes that are not a whole character are shown as `\xNN`.

        >>> print(*BPETokenizer().tokens("é!"))
        \xc3 \xa9 !
        """
        ids = self.encode(text, allowed_special)
        return [self.vocab[token_id].decode("utf-8", "backslashreplace") for token_id in ids]

    def show(self, text: str, color: bool = True, allowed_special: AllowedSpecial = "all") -> str:
        """Return `text` with its tokens on alternating backgrounds, for a terminal.

        With `color=False` they are separated by `|`.

        >>> BPETokenizer(pattern=None).train("low low", 259).show("low slow", color=False)
        'low| |s|low'
        """
        tokens = self.tokens(text, allowed_special)
        if not color:
            return "|".join(tokens)
        return "".join(
            f"\x1b[{44 + number % 2 * 2}m{token}\x1b[0m" for number, token in enumerate(tokens)
        )

    # -- files and exports --------------------------------------------------

    def save(self, path: FilePath) -> None:
        """Write the tokenizer to one JSON file, a line for each merge rule.

        What was changed by hand so that `load` would refuse the file is a `ValueError`, and so
        are more than 2**19 tokens beside the special ones. How the file is replaced,
        `write_atomically` says.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BPETokenizer(pattern=None).train("aaab aaab", 257).save(folder + "/tokenizer.json")
        ...     print(Path(folder, "tokenizer.json").read_text())
        {
         "version": 2,
         "pattern": null,
         "normalization": null,
         "whole_tokens": false,
         "special_tokens": {},
         "chosen_ids": [],
         "byte_ids": null,
         "other_tokens": {},
         "merges": [
          [97, 97, 256]
         ]
        }
        <BLANKLINE>
        """
        write_atomically(path, _text_of(_content_of(self._checked())))

    def load(self, path: FilePath) -> BPETokenizer:
        """Become the tokenizer that `save` wrote to `path`, and return `self`.

        A file that `save` cannot have written is a `ValueError` that names the file and
        the fault, and this tokenizer stays as it was. To make one from a file of any kind, call
        `BPETokenizer.from_file(path)`.

        >>> import tempfile
        >>> tokenizer = BPETokenizer().train("low lower lowest", 260)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokenizer.save(folder + "/low.json")
        ...     BPETokenizer().load(folder + "/low.json").merges == tokenizer.merges
        True
        """
        with _reading(path) as data:
            loaded = _read_own(_parse_json(data))
        return self._become(loaded)

    @classmethod
    def from_file(cls, path: FilePath) -> BPETokenizer:
        """Return the tokenizer in a file of any kind, which its content shows.

        That is what `save` wrote, a `.tiktoken` file, or Hugging Face's `tokenizer.json`.
        A `.tiktoken` file does not name its split pattern: of GPT-4's, GPT-4o's and GPT-2's
        the one is taken that cuts the fewest of its tokens. It has no special tokens.

        >>> import tempfile
        >>> tokenizer = BPETokenizer().train("low lower lowest", 258)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokenizer.to_tiktoken(folder + "/low.tiktoken")
        ...     BPETokenizer.from_file(folder + "/low.tiktoken").merges == tokenizer.merges
        True
        """
        with _reading(path) as data:
            if not data.lstrip().startswith((b"{", b"[")):
                ranks = _read_tiktoken(data)
                return cls.from_tiktoken(ranks, _likely_pattern(ranks))
            content = _parse_json(data)
            if isinstance(content, dict) and "model" in content:
                return cls._of_contents(_read_huggingface(content))
            return cls()._become(_read_own(content))

    @classmethod
    def from_tiktoken(
        cls,
        source: FilePath | Mapping[bytes, int],
        pattern: SplitPattern = GPT4_SPLIT_PATTERN,
        special_tokens: SpecialTokens = (),
    ) -> BPETokenizer:
        """Return the tokenizer of tiktoken's ranks: a `.tiktoken` file, or `{bytes: rank}`.

        It gives the ids of `tiktoken.Encoding` with the same arguments, also where a
        pre-token is a token that no merge reaches (of new characters, see the class).

        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
        >>> BPETokenizer.from_tiktoken(ranks).encode("low slow")
        [257, 32, 115, 257]
        """
        if isinstance(source, Mapping):
            ranks = _checked_ranks(source)
            vocabulary = _vocabulary_of_ranks(ranks)
        else:
            with _reading(source) as data:
                ranks = _read_tiktoken(data)
                vocabulary = _vocabulary_of_ranks(ranks)
        contents = _Contents(pattern, ranks, vocabulary, {}, True, None)
        return cls._of_contents(contents, _names_and_ids(special_tokens))

    @classmethod
    def from_huggingface(cls, path: FilePath) -> BPETokenizer:
        """Return the tokenizer of a `tokenizer.json` that holds a byte-level BPE model.

        It gives the ids of `tokenizers.Tokenizer.encode(text, add_special_tokens=False)`: the
        post-processor is left out, as it adds tokens only when asked to. (Of new characters, see
        the class.) What changes ids and is not supported is a `ValueError` that names it.

        >>> import tempfile
        >>> tokenizer = BPETokenizer(special_tokens=["<|end|>"]).train("low low", 258)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokenizer.to_huggingface(folder + "/tokenizer.json")
        ...     BPETokenizer.from_huggingface(folder + "/tokenizer.json").encode("low<|end|>")
        [257, 258]
        """
        with _reading(path) as data:
            return cls._of_contents(_read_huggingface(_parse_json(data)))

    @classmethod
    def from_gpt2(
        cls,
        vocab_path: FilePath,
        merges_path: FilePath,
        pattern: SplitPattern = GPT2_SPLIT_PATTERN,
        special_tokens: SpecialTokens = (),
    ) -> BPETokenizer:
        r"""Return the tokenizer of GPT-2's two files, `vocab.json` and `merges.txt`.

        Names of special tokens that `vocab.json` has keep the ids that they have there; another
        id given for one is a `ValueError`.

        >>> import tempfile
        >>> ids = {spelling: byte for byte, spelling in enumerate(_byte_spelling())}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     vocab, merges = Path(folder, "vocab.json"), Path(folder, "merges.txt")
        ...     _ = vocab.write_text(json.dumps(ids | {"lo": 256, "<|end|>": 257}))
        ...     _ = merges.write_text("#version: 0.2\nl o\n")
        ...     tokenizer = BPETokenizer.from_gpt2(vocab, merges, special_tokens=["<|end|>"])
        >>> tokenizer.encode("low<|end|>")
        [256, 119, 257]
        """
        given = _names_and_ids(special_tokens)
        with _reading(vocab_path) as vocab, _reading(merges_path) as merges:
            contents = _read_gpt2(vocab, merges, [name for name, _ in given])
        listed = contents.special_tokens
        for name, chosen in given:
            if chosen not in (None, listed.get(name, chosen)):
                raise ValueError(f"special token {_shown(name)} has the id {listed[name]}")
        others = [(name, chosen) for name, chosen in given if name not in listed]
        return cls._of_contents(contents._replace(pattern=pattern), others)

    def to_huggingface(self, path: FilePath) -> None:
        """Write a `tokenizer.json` that `tokenizers.Tokenizer.from_file` loads (0.20 or newer).

        It gives the same ids (of new characters, see the class) and the same text back. What that
        format cannot hold is a `ValueError`: a split pattern that means something else there, a
        special token that is spelled like another token or like bytes, an id of 2**32.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BPETokenizer().train("low low", 258).to_huggingface(folder + "/tokenizer.json")
        ...     json.loads(Path(folder, "tokenizer.json").read_bytes())["model"]["merges"]
        [['l', 'o'], ['lo', 'w']]
        """
        content = _huggingface_content(self._checked())
        write_atomically(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    def mergeable_ranks(self) -> dict[bytes, int]:
        """Return `{token bytes: rank}` for `tiktoken.Encoding`; special tokens go in apart.

        tiktoken merges whatever two tokens spell a third, the one of the lowest id first, and
        takes a pre-token that is a token as it stands. Where that would give other ids than
        this tokenizer does, it is a `ValueError`. Of special tokens it may take the shorter
        one, where a name begins with another.

        >>> ranks = BPETokenizer().train("low lower lowest", 258).mergeable_ranks()
        >>> ranks[b"low"], ranks[b"l"]
        (257, 108)
        """
        self._checked()
        if self._normalization is not None:
            raise ValueError(f"tiktoken does not normalize text to {self._normalization}")
        if self._unmerged and not self._whole_tokens:
            token_id = min(self._unmerged.values())
            raise ValueError(f"no merge makes token {token_id}, but tiktoken might")
        ranks = _checked_ranks({data: i for i, data in sorted(self._ordinary.items())})
        for ours, theirs in zip_longest(self._vocabulary.ids, _vocabulary_of_ranks(ranks).ids):
            if ours != theirs:
                token_id = theirs if ours is None else ours
                raise ValueError(f"token {token_id} is not merged when its id says so")
        return ranks

    def to_tiktoken(self, path: FilePath) -> None:
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

    def __copy__(self) -> BPETokenizer:
        other = object.__new__(type(self))._become(self)
        for name in ("merges", "vocab", "special_tokens"):
            setattr(other, name, dict(getattr(other, name)))  # `self` may be another by now
        return other

    def __reduce__(self) -> tuple[Callable[..., BPETokenizer], tuple[type, bytes]]:
        text = _text_of(_content_of(self._checked()))
        return _restored, (type(self), text.encode("utf-8"))  # and not the words that it has met

    def _become(self, other: BPETokenizer) -> BPETokenizer:
        vars(self).update(vars(other))  # one step, in C: nothing comes between
        return self

    @classmethod
    def _of_contents(
        cls, contents: _Contents, more_special_tokens: Iterable[tuple[str, int | None]] = ()
    ) -> BPETokenizer:
        tokenizer = cls(contents.pattern)
        tokenizer._normalization = contents.normalization
        tokenizer._whole_tokens = contents.whole_tokens
        tokenizer._take_tokens(contents.vocabulary, contents.tokens)
        tokenizer._add_special_tokens([*contents.special_tokens.items(), *more_special_tokens])
        return tokenizer

    def _take_tokens(self, vocabulary: _Vocabulary, tokens: dict[bytes, int]) -> None:
        """Take a vocabulary for the present one; `tokens` may hold more, that no merge makes.

        Special tokens without an id of their own are numbered anew, after all others.
        """
        self._vocabulary = vocabulary
        merged = dict(zip(vocabulary.ids, vocabulary.bytes, strict=True))
        self._unmerged = {data: i for data, i in tokens.items() if i not in merged}
        self._ordinary = merged | {token_id: data for data, token_id in self._unmerged.items()}
        self._encoded = _EncodedPreTokens(vocabulary, self._unmerged if self._whole_tokens else {})
        self.merges = vocabulary.merges()
        self.vocab = dict(self._ordinary)
        self._first_free = max(self._ordinary) + 1
        registered, self.special_tokens = self.special_tokens, {}
        own = self._names_with_chosen_id
        self._add_special_tokens([(n, i if n in own else None) for n, i in registered.items()])

    def _add_special_tokens(self, tokens: Sequence[tuple[str, int | None]]) -> None:
        """Add names with the ids chosen for them, or else (`None`) with the first free ones."""
        chosen = {name: token_id for name, token_id in tokens if token_id is not None}
        reserved = set(chosen.values())
        added: dict[str, int] = {}
        added_bytes: dict[int, bytes] = {}
        free = (i for i in count(self._first_free) if i not in self.vocab and i not in reserved)
        for name, token_id in tokens:
            data = _utf8(name, "a special token")
            if not name or name in self.special_tokens or name in added:
                reason = "is registered already" if name else "cannot be empty"
                raise ValueError(f"special token {_shown(name)} {reason}")
            token_id = next(free) if token_id is None else token_id
            # It may be an ordinary token too, if it stands for the same bytes there.
            if added_bytes.setdefault(token_id, self.vocab.get(token_id, data)) != data:
                reason = f"cannot have the id {_shown(token_id)}: it is taken"
                raise ValueError(f"special token {_shown(name)} {reason}")
            added[name] = token_id
        self.vocab |= added_bytes
        self.special_tokens |= added
        self._names_with_chosen_id = self._names_with_chosen_id.union(chosen)
        self._first_free = next(free)
        self._coder = _Coder(self)

    def _check_vocab_size(self, vocab_size: int) -> int:
        vocab_size = _integer(vocab_size, "vocab_size", 256)
        for name in self._names_with_chosen_id:
            if self.special_tokens[name] < vocab_size:
                raise ValueError(
                    f"special token {_shown(name)} has the id {self.special_tokens[name]}, "
                    f"which a vocabulary of {vocab_size} needs for a learned token"
                )
        return vocab_size

    def _count_pre_tokens(self, text: Corpus, progress: Progress, workers: int) -> Counter[str]:
        workers = _integer(workers, "workers", 1)
        if isinstance(text, (bytes, os.PathLike)) or not isinstance(text, Iterable):
            hint = "; to train on a file, read it: Path(…).read_text(encoding='utf-8')"
            raise TypeError(f"text must be str or strings, not {type(text).__name__}{hint}")
        if isinstance(text, str):
            _utf8(text, "text")
            blocks = (block[0] for block in _BLOCK.finditer(text))
            text = blocks if self._coder.has_safe_cuts else [text]
        documents = _reported(text, progress)
        if workers == 1:
            return _count_pieces(self, documents)
        plain = BPETokenizer(self.pattern, list(self.special_tokens))  # all that cutting needs
        plain._normalization = self._normalization
        plain._take_tokens(_Vocabulary(), {})
        total: Counter[str] = Counter()
        task = partial(_count_pieces, plain)
        for counts in _in_processes(task, _batches(documents), workers):
            total.update(counts)
        return total

    def _learn(
        self, counts: Mapping[str, int], vocab_size: int, progress: Progress, start: BPETokenizer
    ) -> BPETokenizer:
        """Learn on top of what `start` has, until there are `vocab_size` ordinary tokens."""
        words = self._words(counts)
        vocabulary = start._vocabulary.copy()
        ids = {data: token_id for token_id, data in start._ordinary.items()}
        learner = _Learner(map(start._encoded.characters, words), words.values())
        taken = {start.special_tokens[name] for name in start._names_with_chosen_id}
        free = (token_id for token_id in count(max(start._ordinary) + 1) if token_id not in taken)
        room = vocab_size - len(start._ordinary)
        first = len(vocabulary.ids)
        for (left, right), token in learner.learn(range(first, first + room)):
            data = vocabulary.bytes[left] + vocabulary.bytes[right]
            vocabulary.add(left, right, ids[data] if data in ids else next(free))
            if progress is not None:
                progress(token + 1 - first, room)
        learned = copy.copy(self)
        learned._whole_tokens = start._whole_tokens
        learned._names_with_chosen_id |= start._names_with_chosen_id
        learned._take_tokens(vocabulary, ids)
        return self._become(learned)

    def _words(self, counts: Mapping[str, int]) -> dict[str, int]:
        _require(counts, Mapping, "counts")
        words: dict[str, int] = {}
        for word, times in counts.items():
            _require(word, str, "a pre-token")
            if word not in self.special_tokens:
                words[word] = _integer(times, f"the count of {word[:80]!r}", 0)
        return words

    def _checked(self) -> BPETokenizer:
        """Return a copy, of one moment, if nothing in it was changed by hand."""
        now = copy.copy(self)
        ids = now._coder.special_tokens
        names = {token_id: name.encode("utf-8") for name, token_id in ids.items()}
        unchanged = {
            "pattern": now.pattern == now._coder.pattern,
            "merges": [*now.merges.items()] == [*now._vocabulary.merges().items()],  # in order
            "special_tokens": [*now.special_tokens.items()] == [*ids.items()],
            "vocab": now.vocab == now._ordinary | names,
        }
        for name, is_right in unchanged.items():
            if not is_right:
                raise ValueError(f"{name} was changed by hand; it does not fit the rest any more")
        return now


def _names_and_ids(special_tokens: SpecialTokens) -> list[tuple[str, int | None]]:
    """Return the names of special tokens, each with the id chosen for it, if there is one."""
    if isinstance(special_tokens, str):
        raise TypeError("special tokens must be a list of names or {name: id}, not one string")
    if isinstance(special_tokens, Mapping):
        return [(n, _integer(i, f"the id of {_shown(n)}", 0)) for n, i in special_tokens.items()]
    return [(name, None) for name in special_tokens]


class _Coder:
    """All that cutting and encoding need, of one moment: training does not disturb them."""

    def __init__(self, tokenizer: BPETokenizer) -> None:
        self.pattern = tokenizer.pattern
        self.splitters = _splitters(self.pattern)
        self.is_known = self.pattern in _KNOWN_PATTERNS
        self.looks_back = any(splitter.looks_back for splitter in self.splitters)
        self.normalization = tokenizer._normalization
        self.encoded = tokenizer._encoded
        self.special_tokens = dict(tokenizer.special_tokens)
        self.names = frozenset(self.special_tokens)
        # Whether neither a pre-token nor a name goes on where `_UP_TO_A_SAFE_CUT` ends.
        self.has_safe_cuts = self.is_known and not any(map(_UP_TO_A_SAFE_CUT.match, self.names))

    def split(self, text: str) -> Iterable[str]:
        if self.normalization is not None:
            text = unicodedata.normalize("NFC", text)
        in_blocks = self.is_known and len(text) > _BLOCK_SIZE
        return _cut(_BLOCK.findall(text) if in_blocks else [text], self.splitters)

    def pieces(self, text: str) -> Iterable[str]:
        """Return the pieces of `text`, special tokens among them, and some perhaps empty."""
        _utf8(text, "text")
        return chain.from_iterable(
            [segment] if segment in self.names else self.split(segment)
            for segment in _split_at_names(text, self.names)
        )

    def encoded_pieces(
        self, text: str, allowed_special: AllowedSpecial, offset: int = 0
    ) -> Iterable[tuple[int, ...]]:
        """Return the ids of each piece of `text`, which begins at `offset` in what is encoded."""
        names = self.names_sought(allowed_special)
        if isinstance(allowed_special, str) and allowed_special == "none_raise":
            if found := _names_pattern(names).search(text):
                position = offset + found.start()
                raise ValueError(f"special token {_shown(found[0])} at position {position}")
            names = frozenset()
        return chain.from_iterable(
            [(self.special_tokens[segment],)]
            if segment in names
            else map(self.encoded.__getitem__, self.split(segment))
            for segment in _split_at_names(text, names)
        )

    def names_sought(self, allowed_special: AllowedSpecial) -> frozenset[str]:
        """Return the special tokens to find: those allowed, and all if one found is an error."""
        if isinstance(allowed_special, str):
            if allowed_special in ("all", "none_raise"):
                return self.names
            if allowed_special == "none":
                return frozenset()
        elif isinstance(allowed_special, Collection):
            for name in frozenset(allowed_special) - self.names:
                raise ValueError(f"{_shown(name)} is not a registered special token")
            return frozenset(allowed_special)
        raise ValueError(
            "allowed_special must be 'all', 'none', 'none_raise' or a collection of names, "
            f"not {_shown(allowed_special)}"
        )

    def settled(self, text: str, allowed_special: AllowedSpecial) -> tuple[int, list[str]]:
        """Return how much of `text` is cut the same whatever comes after it.

        That is, as if nothing came after it, up to a place: the end of the last special token
        that stays one, and then the last safe cut of a known pattern. If there is none, some
        pieces follow: what comes of all that the first pattern cuts but the last two, which
        more text may change.
        """
        names = self.names_sought(allowed_special)
        # A name that starts at or after this place may still turn out to be a longer one.
        decided = max(len(text) - max(map(len, names), default=1) + 1, 0)
        found = _names_pattern(names).finditer(text)
        place = max((name.end() for name in found if name.start() < decided), default=0)
        rest = text[place:decided]
        if self.is_known and (sure := _UP_TO_A_SAFE_CUT.match(rest)):
            return place + sure.end(), []
        if self.normalization is not None:
            return place, []
        first_cut = list(filter(None, _cut([rest], self.splitters[:1])))
        return place, list(_cut(first_cut[:-2], self.splitters[1:]))


@lru_cache(maxsize=64)
def _splitters(pattern: str | tuple[str, ...] | None) -> list[_Splitter]:
    return list(map(_Splitter, (pattern,) if isinstance(pattern, str) else pattern or ()))


def _checked_pattern(pattern: SplitPattern) -> str | tuple[str, ...] | None:
    if pattern is None or isinstance(pattern, str):
        return pattern
    if isinstance(pattern, bytes) or not isinstance(pattern, Sequence):
        _require(pattern, str, "pattern")
    for stage in pattern:
        _require(stage, str, "a pattern of several")
    return tuple(pattern)


@lru_cache(maxsize=64)
def _names_pattern(names: frozenset[str]) -> re.Pattern[str]:
    sought = names or {"\ud800"}  # a lone surrogate, which is in no text
    return re.compile(f"({_any_of(sought, 3)})")


def _any_of(names: Iterable[str], depth: int) -> str:
    """Return a pattern for the longest of `names`, which tells them apart by first letters.

    Tried one after the other, thousands of names take a hundred times as long.
    """
    names = sorted(names, reverse=True)  # a name comes before its own beginnings
    if depth == 0 or len(names) == 1:
        return "|".join(map(re.escape, names))
    return "|".join(
        f"{re.escape(first)}(?:{_any_of((name[1:] for name in group), depth - 1)})"
        for first, group in groupby(names, key=lambda name: name[:1])
    )


def _split_at_names(text: str, names: frozenset[str]) -> list[str]:
    """Cut `text` before and after each of `names` in it; where two could be, the longest."""
    return list(filter(None, _names_pattern(names).split(text))) if names else [text]


def _join_tokens(vocab: Mapping[int, bytes], ids: Sequence[int], offset: int = 0) -> bytes:
    """Return the bytes of `ids`, which begin at `offset` in what is decoded."""
    # In stretches, whose tokens stay in the processor's cache: 0.08 s instead of 0.14 for 5 MB.
    stretches = (ids[start : start + 4096] for start in range(0, len(ids), 4096))
    try:
        return b"".join(b"".join(map(vocab.__getitem__, stretch)) for stretch in stretches)
    except KeyError as unknown:
        token_id = unknown.args[0]
        position = offset + ids.index(token_id)
        raise ValueError(f"unknown id {_shown(token_id)} at position {position}") from None


# ---------------------------------------------------------------------------
# Our own file
# ---------------------------------------------------------------------------

_OWN_FILE: dict[str, object] = {  # its keys in their order, and the shapes of their values
    "version": int,
    "pattern": (None, str, [str]),
    "normalization": (None, "NFC"),
    "whole_tokens": bool,
    "special_tokens": dict,
    "chosen_ids": [str],
    "byte_ids": (None, list),
    "other_tokens": dict,
    "merges": [list],
}
_NOT_IN_VERSION_1: dict[str, Any] = {  # and what stands for them
    "normalization": None,
    "whole_tokens": False,
    "byte_ids": None,
    "other_tokens": {},
}
_MOST_TOKENS = 1 << 19  # in our own file; they take some 500 bytes of memory each


def _content_of(tokenizer: BPETokenizer) -> dict[str, Any]:
    """Return what `save` writes: ordinary values under the keys of the latest version."""
    byte_ids, others = tokenizer._vocabulary.ids[:256], tokenizer._unmerged.items()
    _check_number(len(tokenizer._ordinary), _MOST_TOKENS)
    chosen = tokenizer._names_with_chosen_id
    return {
        "version": 2,
        "pattern": tokenizer.pattern,
        "normalization": tokenizer._normalization,
        "whole_tokens": tokenizer._whole_tokens,
        "special_tokens": tokenizer.special_tokens,
        "chosen_ids": [name for name in tokenizer.special_tokens if name in chosen],
        "byte_ids": None if byte_ids == [*range(256)] else byte_ids,
        "other_tokens": {_spelled(data): i for data, i in sorted(others, key=itemgetter(1))},
        "merges": [[*pair, token_id] for pair, token_id in tokenizer.merges.items()],
    }


def _text_of(content: dict[str, Any]) -> str:
    """Return the text of a file: a line for each key, and one for each merge rule."""
    *head, (_, merges) = content.items()
    lines = [f' "{key}": {json.dumps(value, ensure_ascii=False)},' for key, value in head]
    rules = ",\n".join(f"  {json.dumps(rule)}" for rule in merges)
    return "\n".join(["{", *lines, ' "merges": [', rules, " ]", "}", ""])


def _read_own(value: object) -> BPETokenizer:
    """Return the tokenizer that a file describes, if for it `save` would write just this.

    So only what cannot be made is refused before. Where two tokens have the same bytes or the
    same id, one of them is lost, which shows in the end.
    """
    content = _content_in(value)
    byte_ids = range(256) if content["byte_ids"] is None else content["byte_ids"]
    ids = dict(zip(_byte_spelling(), byte_ids, strict=False)) | content["other_tokens"]
    _check_number(len(ids) + len(content["merges"]), _MOST_TOKENS)
    _check_ids(ids, _byte_spelling())
    tokens = {data: ids[spelling] for spelling, data in _unspelled(ids).items()}
    vocabulary = _vocabulary_of_rules(content["merges"], [tokens[byte] for byte in _BYTES])
    tokens |= zip(vocabulary.bytes, vocabulary.ids, strict=True)
    whole_tokens, normalization = content["whole_tokens"], content["normalization"]
    names, chosen = content["special_tokens"], set(content["chosen_ids"])
    tokenizer = BPETokenizer._of_contents(
        _Contents(content["pattern"], tokens, vocabulary, {}, whole_tokens, normalization),
        [(n, _checked_id(i, n, inf) if n in chosen else None) for n, i in names.items()],
    )
    written = _content_of(tokenizer)
    for key in content:
        if json.dumps(content[key]) != json.dumps(written[key]):
            raise ValueError(f"{key} is not what would be written for these tokens")
    return tokenizer


def _restored(kind: type[BPETokenizer], data: bytes) -> BPETokenizer:
    return object.__new__(kind)._become(_read_own(_parse_json(data)))


def _content_in(value: object) -> dict[str, Any]:
    """Return the values under the keys of the latest version, each of its shape.

    In version 1 the ids of bytes are their values, and rules stand without the ids they make.
    """
    content = _fields(value, {"version": int}, "the file")
    version = content["version"]
    if version not in (1, 2):
        raise ValueError(f"version {_shown(version)} is not supported")
    keys = [key for key in _OWN_FILE if version == 2 or key not in _NOT_IN_VERSION_1]
    if [*content] != keys:
        raise ValueError(f"its keys are not {', '.join(keys)}")
    content = _fields(_NOT_IN_VERSION_1 | content | {"version": 2}, _OWN_FILE, "the file")
    if version == 1:
        rules = enumerate(content["merges"], start=256)
        content["merges"] = [[*rule, token_id] for token_id, rule in rules]
    return content


def _vocabulary_of_rules(rules: list[list[Any]], byte_ids: list[int]) -> _Vocabulary:
    vocabulary = _Vocabulary(byte_ids)
    tokens = {token_id: token for token, token_id in enumerate(byte_ids)}
    size = 256
    for number, rule in enumerate(rules):
        if list(map(type, rule)) != [int, int, int]:
            raise ValueError(f"rule {number} is not a pair of ids and a new id: {_shown(rule)}")
        *pair, token_id = rule
        first, second = (tokens.get(half, -1) for half in pair)
        is_new = token_id >= 0 and token_id not in tokens
        if min(first, second) < 0 or not is_new or not vocabulary.may_touch(first, second):
            raise ValueError(
                f"rule {number} makes no new token of two that may be neighbours: {_shown(rule)}"
            )
        size += len(vocabulary.bytes[first]) + len(vocabulary.bytes[second])
        if size > _MOST_BYTES:
            raise ValueError(f"with rule {number} the tokens exceed {_MOST_BYTES} bytes")
        tokens[token_id] = vocabulary.add(first, second, token_id)
    return vocabulary


# ---------------------------------------------------------------------------
# Reading and writing any file
# ---------------------------------------------------------------------------

_LARGEST_FILE = 1 << 26  # bytes; no vocabulary known fills more than half of it
_MOST_VALUES = 1 << 22  # in a file of JSON, so that they fit into memory whatever they are
_ID_LIMIT = 1 << 32  # ids in the files of others are below it


def write_atomically(path: FilePath, content: str) -> None:
    r"""Write `content` to a temporary neighbour of `path`, then replace `path` by it.

    Whoever reads `path` finds the old content or the new one, never half of it. The mode
    of an old file is kept, its owner and hard links are not. What is not a regular file (a
    FIFO, a device) is not replaced but written to. An `OSError` names `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(folder + "/note.txt", "한")
    ...     Path(folder, "note.txt").read_bytes()
    b'\xed\x95\x9c'
    """
    data = content.encode("utf-8")
    with _replacing(path) as file:
        file.write(data)


@contextmanager
def _replacing(path: FilePath) -> Iterator[BinaryIO]:
    """Open what will replace `path` if all goes well, as `write_atomically` says."""
    if not os.fspath(path):
        raise FileNotFoundError(errno.ENOENT, "the path of the file to write is empty", path)
    if Path(path).exists() and not Path(path).is_file():
        with Path(path).open("wb") as file:  # a folder is refused here
            yield file
        return
    target = Path(os.path.realpath(path))
    target.parent.resolve(strict=True)  # a folder that is not there is named in the error
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as fault:
        if fault.errno and fault.filename in (None, str(temporary)):
            raise OSError(fault.errno, fault.strerror, os.fspath(path)) from None
        raise
    finally:
        with suppress(OSError):  # where it could not be made, or has replaced `path`
            temporary.unlink()


@contextmanager
def _reading(path: FilePath) -> Iterator[bytes]:
    """Give the bytes of a file; a `ValueError` in the block that uses them then names it."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise ValueError(f"it has more than {_LARGEST_FILE} bytes")
        yield data
    except RecursionError:
        raise ValueError(f"{os.fspath(path)}: not a tokenizer: nested too deeply") from None
    except ValueError as fault:
        raise ValueError(f"{os.fspath(path)}: not a tokenizer: {fault}") from fault


def _parse_json(data: bytes) -> Any:
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise ValueError(f"it holds more than {_MOST_VALUES} values")
    return json.loads(data.decode("utf-8"), object_pairs_hook=_without_repeated_keys)


def _without_repeated_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in items:
        if key in content:
            raise ValueError(f"the key {_shown(key)} stands twice in one object")
        content[key] = value
    return content


def _fields(value: object, shapes: Mapping[str, object], where: str) -> dict[str, Any]:
    """Return an object of JSON if its values have these shapes; null is a missing key too."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not an object: {_shown(value)}")
    for key, shape in shapes.items():
        if not _fits(value.get(key), shape):
            raise ValueError(f"{where}: {key} {_shown(value.get(key))} is not supported")
    return value


def _fits(value: Any, shape: object) -> bool:
    """Return whether a value of JSON has a shape: a type, that very value, or one of several.

    `[str]` is a list of strings, `{"Regex": str}` an object with this key alone, and a tuple
    holds the shapes that are possible.
    """
    if isinstance(shape, tuple):
        return any(_fits(value, each) for each in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(each, shape[0]) for each in value)
    if isinstance(shape, dict):
        same_keys = isinstance(value, dict) and value.keys() == shape.keys()
        return same_keys and all(_fits(value[key], shape[key]) for key in shape)
    return type(value) is shape if isinstance(shape, type) else value == shape


Key = TypeVar("Key", str, bytes)


def _check_number(tokens: int, most: int = _LARGEST_TOKEN + 1) -> None:
    if tokens > most:
        raise ValueError(f"{tokens} tokens are too many: there may be {most}")


def _check_ids(ids: Mapping[Key, object], byte_tokens: list[Key], limit: int = _ID_LIMIT) -> None:
    """Raise unless each token has an id of its own, and the 256 bytes are among them."""
    _check_number(len(ids))
    owners: dict[int, Key] = {}
    for token, value in ids.items():
        if not token:
            raise ValueError("a token is empty")
        token_id = _checked_id(value, token, limit)
        if owners.setdefault(token_id, token) is not token:
            both = f"{_shown(owners[token_id])} and {_shown(token)}"
            raise ValueError(f"{both} both have the id {token_id}")
    for byte, token in zip(_BYTES, byte_tokens, strict=True):
        if token not in ids:
            raise ValueError(f"the byte {byte!r} is not a token")


def _checked_id(token_id: object, owner: str | bytes, limit: float = _ID_LIMIT) -> int:
    if type(token_id) is not int or not 0 <= token_id < limit:
        raise ValueError(f"the id of {_shown(owner)} cannot be {_shown(token_id)}")
    return token_id


def _unspelled(spellings: Iterable[str], special_tokens: Collection[str] = ()) -> dict[str, bytes]:
    """Return the bytes that each spelling stands for; a special token may be free of it."""
    byte_of = {character: byte for byte, character in enumerate(_byte_spelling())}
    token_bytes: dict[str, bytes] = {}
    for spelling in spellings:
        unknown = [character for character in spelling if character not in byte_of]
        if not unknown:
            token_bytes[spelling] = bytes(map(byte_of.__getitem__, spelling))
        elif spelling not in special_tokens:
            why = f"as {unknown[0]!r} does not, and is no special token"
            raise ValueError(f"{_shown(spelling)} spells no bytes, {why}")
    return token_bytes


def _spelled(token: bytes) -> str:
    """Return a token as `tokenizer.json` spells it: a character for each byte."""
    return token.decode("latin-1").translate(_byte_spelling())


@cache
def _byte_spelling() -> list[str]:
    """Return the characters by which GPT-2's and Hugging Face's files spell the 256 bytes.

    Visible Latin-1 characters stand for themselves, the other bytes for those from U+0100.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = count(0x100)
    return [chr(byte if byte in visible else next(others)) for byte in range(256)]


# ---------------------------------------------------------------------------
# More than one core
# ---------------------------------------------------------------------------

Result = TypeVar("Result")

_BATCH_SIZE = 1 << 20  # characters that go to another process at once
_SIZE_OF_A_TEXT = 64  # what it costs beside its characters, in characters


def _count_pieces(tokenizer: BPETokenizer, documents: Iterable[str]) -> Counter[str]:
    return Counter(chain.from_iterable(map(tokenizer._coder.pieces, documents)))


def _encode_texts(
    tokenizer: BPETokenizer, allowed_special: AllowedSpecial, texts: Iterable[str]
) -> list[array[int]]:
    largest = max(tokenizer.vocab)
    if largest >= 1 << 64:
        raise ValueError(f"the id {_shown(largest)} does not fit into an array")
    typecode = "I" if largest < 1 << 32 else "Q"
    return [array(typecode, tokenizer.encode(text, allowed_special)) for text in texts]


def _reported(documents: Iterable[str], progress: Progress) -> Iterator[str]:
    """Yield `documents`, and tell after each batch's worth of characters how many there were."""
    done = told = 0
    for document in documents:
        yield document
        done += len(document)
        if progress is not None and done - told >= _BATCH_SIZE:
            progress(done, 0)
            told = done


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch, size = list[str](), 0
    for text in texts:
        _require(text, str, "text")
        batch.append(text)
        size += len(text) + _SIZE_OF_A_TEXT
        if size >= _BATCH_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _in_processes(
    task: Callable[[Any], Result], jobs: Iterable[Any], workers: int
) -> Iterator[Result]:
    """Yield what `task` gives for each job, in order; it goes to each process once."""
    if workers == 1:
        yield from map(task, jobs)
        return
    # Only here, as there are places, such as a browser, where Python has no processes.
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    pool = ProcessPoolExecutor(workers, initializer=_keep_task, initargs=(task,))
    waiting: deque[Any] = deque()
    try:
        for job in jobs:
            waiting.append(pool.submit(_do_task, job))
            if len(waiting) > 2 * workers:  # jobs are made as they are needed
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        if sys.version_info < (3, 11, 5):  # it would wait for a write that nobody reads
            cast(Any, pool)._call_queue._reader.close()
        raise RuntimeError("a worker process ended before its work was done") from None
    finally:
        # The pool's own thread cancels the jobs left. Cancelled from here, one that it is about
        # to mark as done would stop that thread.
        pool.shutdown(cancel_futures=True)


def _keep_task(task: Callable[[Any], Any]) -> None:
    from multiprocessing import parent_process
    from threading import Thread

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits
    Thread(target=_end_after, args=[parent_process()], daemon=True).start()
    _kept[:] = [task]


def _end_after(parent: Any) -> None:
    """End this process after the one that it works for, which, killed, could not end it."""
    parent.join()
    os._exit(1)


_kept: list[Callable[[Any], Any]] = []  # in a worker process: what it is there for


def _do_task(job: Any) -> Any:
    return _kept[0](job)


# ---------------------------------------------------------------------------
# Vocabularies that others made, read and written: tiktoken's, Hugging Face's, GPT-2's
#
# What reads them trusts nothing in a file. What is not as it should be, or would change ids
# and is not supported, is a `ValueError` that names it.
# ---------------------------------------------------------------------------


class _Contents(NamedTuple):
    """What a vocabulary's file says, whoever wrote it."""

    pattern: SplitPattern
    tokens: dict[bytes, int]  # the 256 bytes are among them
    vocabulary: _Vocabulary  # those of them that merges make
    special_tokens: dict[str, int]  # an id that `tokens` has too stands for the same bytes
    whole_tokens: bool  # a pre-token that is a token becomes it even if no merge reaches it
    normalization: str | None  # "NFC" or none, of the text between special tokens


def _likely_pattern(tokens: Collection[bytes]) -> str:
    """Return GPT-4's split pattern, or GPT-4o's or GPT-2's if that one cuts fewer tokens.

    No training learns a token that its split pattern cuts, so some 4,000 tokens show it. (Where
    none has two digits, GPT-4's gives the same ids as that with every digit on its own.)
    """
    chosen = list(tokens)[:: max(len(tokens) // 4096, 1)]
    words = [token.decode("utf-8", "ignore") for token in chosen]

    def tokens_cut(pattern: str) -> int:
        return sum(len(pieces) > 1 for pieces in map(BPETokenizer(pattern).pretokenize, words))

    return min([GPT4_SPLIT_PATTERN, GPT4O_SPLIT_PATTERN, GPT2_SPLIT_PATTERN], key=tokens_cut)


def _read_tiktoken(data: bytes) -> dict[bytes, int]:
    """Return the ranks in tiktoken's file: base64 of a token's bytes, a space, its rank."""
    _check_number(data.count(b"\n"))
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(io.BytesIO(data), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2 or not fields[1].isdigit() or len(fields[1]) > 10:
            raise ValueError(f"line {number} is not a token and its rank: {_shown(line)}")
        try:
            token = base64.b64decode(fields[0], validate=True)
        except ValueError:
            raise ValueError(f"line {number} is not base64: {_shown(line)}") from None
        if token in ranks:
            raise ValueError(f"line {number} repeats the token {_shown(token)}")
        ranks[token] = int(fields[1])
    return _checked_ranks(ranks)


def _checked_ranks(ranks: Mapping[bytes, int]) -> dict[bytes, int]:
    """Return a copy of `ranks`, from a file or a caller, if ranks of tokens is what they are."""
    for token, rank in ranks.items():
        if not isinstance(token, bytes) or not isinstance(rank, int):
            raise TypeError(f"ranks must map bytes to int, not {_shown(token)} to {_shown(rank)}")
    ranks = {token: int(rank) for token, rank in ranks.items()}
    _check_ids(ranks, _BYTES, _ID_LIMIT - 1)  # tiktoken keeps the last number for itself
    return ranks


# The shapes of values; any other one would change ids.
_HUGGINGFACE: dict[str, dict[str, object]] = {
    "the file": {"truncation": None, "padding": None, "added_tokens": (None, list)},
    "model": {
        "type": (None, "BPE"),
        "dropout": (None, 0),
        "continuing_subword_prefix": (None, ""),
        "end_of_word_suffix": (None, ""),
        "byte_fallback": (None, False),
        "ignore_merges": (None, False, True),
        "vocab": dict,
        "merges": list,
    },
    "added token": {
        "content": str,
        "normalized": (None, False, True),
        **dict.fromkeys(["single_word", "lstrip", "rstrip"], (None, False)),
    },
    "normalizer": {"type": "NFC"},
    "decoder": {"type": "ByteLevel"},
    "pre_tokenizer": {"type": ("Split", "Digits", "ByteLevel")},
    "Split": {
        "pattern": ({"Regex": str}, {"String": str}),
        "behavior": ("Isolated", "Removed"),
        "invert": (None, False, True),
    },
    "Digits": {"individual_digits": (False, True)},
    "ByteLevel": {"add_prefix_space": (None, False), "use_regex": (None, False, True)},
}


def _read_gpt2(vocab: bytes, merges: bytes, names: Iterable[str] = ()) -> _Contents:
    """Return what `vocab.json` and `merges.txt` say; what of `names` they hold is special."""
    _check_number(merges.count(b"\n"))
    ids = _fields(_parse_json(vocab), {}, "vocab")
    listed = io.StringIO(re.sub(rb"\A#version.*\n?", b"", merges).decode("utf-8"))
    special = [name for name in dict.fromkeys(names) if name in ids]
    content = {
        "added_tokens": [{"content": name, "id": ids[name]} for name in special],
        "pre_tokenizer": {"type": "ByteLevel"},
        "model": {"vocab": ids, "merges": [line.rstrip("\r\n") for line in listed]},
    }
    return _read_huggingface(content)


def _read_huggingface(value: object) -> _Contents:
    """Return what a `tokenizer.json` says; it must be byte-level BPE as supported here.

    The post-processor is left out: it adds tokens only when asked to. An added token that is
    not in the model's vocab has the id it is given, whatever number the library gives it.
    """
    content = _fields(value, _HUGGINGFACE["the file"], "the file")
    model = _fields(content.get("model"), _HUGGINGFACE["model"], "model")
    ids, whole_tokens = model["vocab"], bool(model.get("ignore_merges"))
    _check_ids(ids, _byte_spelling())
    pattern = _stages(content)
    normalization = "NFC" if _steps(content, "normalizer") else None
    _steps(content, "decoder")
    entries = content.get("added_tokens") or []
    special_tokens = _added_tokens(entries, ids)
    _check_passes(entries, normalization)
    token_bytes = _unspelled(ids, special_tokens)
    pairs = _checked_pairs(model["merges"], token_bytes)
    needed = {*chain.from_iterable(pairs), *map(b"".join, pairs), *_BYTES}
    tokens = {
        data: ids[spelling]
        for spelling, data in token_bytes.items()
        if spelling not in special_tokens or data in needed  # as merges may need a special one
    }
    vocabulary = _vocabulary_of_merges(tokens, pairs)
    return _Contents(pattern, tokens, vocabulary, special_tokens, whole_tokens, normalization)


def _steps(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return what stands under `key`: nothing, one step, or a sequence of them."""
    value = content.get(key)
    steps = [] if value is None else [value]
    if isinstance(value, dict) and value.get("type") == "Sequence":
        plural = key.replace("_", "") + "s"
        steps = _fields(value, {plural: list}, key)[plural]
    return [_fields(step, _HUGGINGFACE[key], key) for step in steps]


def _stages(content: dict[str, Any]) -> str | tuple[str, ...] | None:
    """Return the split patterns of the pre-tokenizer, one for each stage that cuts."""
    steps = _steps(content, "pre_tokenizer")
    if [step["type"] == "ByteLevel" for step in steps] != [*[False] * (len(steps) - 1), True]:
        raise ValueError("pre_tokenizer must have one ByteLevel, at its end")
    patterns = [pattern for pattern in map(_stage, steps) if pattern is not None]
    return tuple(patterns) if len(patterns) > 1 else next(iter(patterns), None)


def _stage(step: dict[str, Any]) -> str | None:
    kind = step["type"]
    _fields(step, _HUGGINGFACE[kind], kind)
    if kind == "ByteLevel":
        return GPT2_SPLIT_PATTERN if step.get("use_regex") in (None, True) else None
    if kind == "Digits":  # what counts as a digit there is just \p{N}
        return r"\p{N}" if step["individual_digits"] else r"\p{N}+"
    ((form, text),) = step["pattern"].items()
    pattern = re.escape(text) if form == "String" else _portable(text)
    # Removed and inverted: what the pattern does not match is dropped.
    if step["behavior"] == "Removed" and not (step.get("invert") and pattern in _KNOWN_PATTERNS):
        raise ValueError(f"Split with the behavior Removed may lose text: {_shown(pattern)}")
    return pattern


# What means the same in a pattern here and in Oniguruma, which Hugging Face uses. Not so, for
# example: sets in sets, &&, \w, \b, ^, {1,3}+, and letters whatever their case.
_ESCAPE = r"\\(?:[pP]\{\^?[A-Z][a-z]?\}|[dDsSrntfv]|u[0-9a-fA-F]{4}|x[0-7][0-9a-fA-F]|[^a-zA-Z0-9])"
_PORTABLE = re.compile(
    rf"{_ESCAPE}|\[\^?(?:{_ESCAPE}|&(?!&)|[^\\\[\]&])+\]"
    r"|\(\?m:\$\)|\((?:\?(?:[:=!>]|<[=!]|i:(?=['sdmtrevl|\[\]]*\)))|(?!\?))"
    r"|\{\d+(?:,\d*)?\}(?![+?])|\$|[^\\\[({^$]+|(?P<other>.)",
    re.DOTALL,
)


def _portable(pattern: str) -> str:
    """Return a pattern of Hugging Face's as one of ours, if it means the same here."""

    def translated(item: re.Match[str]) -> str:
        if item["other"]:
            rest = pattern[item.start() : item.start() + 20]
            raise ValueError(f"{rest!r} in the split pattern may mean something else here")
        return "(?m:$)" if item[0] == "$" else item[0]  # there every line has an end

    return _PORTABLE.sub(translated, pattern)


def _added_tokens(entries: list[Any], ids: Mapping[str, int]) -> dict[str, int]:
    """Return the added tokens, special or not: text is cut at them before anything else."""
    spellings = {token_id: spelling for spelling, token_id in ids.items()}
    added: dict[str, int] = {}
    for number, entry in enumerate(entries):
        fields = _fields(entry, _HUGGINGFACE["added token"], f"added token {number}")
        name = fields["content"]
        token_id = _checked_id(fields.get("id"), name)
        where = f"added token {number}, {_shown(name)}"
        if not name or name in added:
            raise ValueError(f"{where}: it has no name of its own")
        if ids.get(name, token_id) != token_id or spellings.setdefault(token_id, name) != name:
            raise ValueError(f"{where}: the vocab says otherwise of the id {token_id}")
        _check_no_bytes(name)
        added[name] = token_id
    return added


def _check_passes(entries: list[dict[str, Any]], normalization: str | None) -> None:
    """Raise if all added tokens, looked for at once, may not be those found in two passes.

    Hugging Face's library first looks for those that are not `normalized`, then for the others
    in what is left, after normalization. One of these is lost there, and not here, if it
    holds one of the first, or if one of the first begins within it and goes on.
    """
    first = [entry["content"] for entry in entries if not entry.get("normalized")]
    second = [entry["content"] for entry in entries if entry.get("normalized")]
    if second and normalization:
        raise ValueError(f"added token {_shown(second[0])}: normalized, which NFC may change")
    if not first or not second:
        return
    if sum(len(name) ** 3 for name in first + second) > 1 << 30:
        raise ValueError("the added tokens are too long to be compared with one another")
    names = set(first)
    beginnings = {name[:stop] for name in first for stop in range(1, len(name) + 1)}
    for name in second:
        for start, stop in combinations(range(len(name) + 1), 2):
            part = name[start:stop]
            if part in names or (start and stop == len(name) and part in beginnings):
                raise ValueError(f"added token {_shown(name)}: normalized, it overlaps others")


def _checked_pairs(
    merges: Iterable[object], token_bytes: Mapping[str, bytes]
) -> list[tuple[bytes, bytes]]:
    pairs: dict[tuple[bytes, bytes], None] = {}
    for number, merge in enumerate(merges):
        halves = merge.split(" ", 2) if isinstance(merge, str) else merge
        if not isinstance(halves, list) or list(map(type, halves)) != [str, str]:
            raise ValueError(f"merge {number} is not two tokens: {_shown(merge)}")
        for spelling in (*halves, "".join(halves)):
            if spelling not in token_bytes:
                raise ValueError(f"merge {number}: {_shown(spelling)} is not a token of the vocab")
        pair = token_bytes[halves[0]], token_bytes[halves[1]]
        if pair in pairs:
            raise ValueError(f"merge {number} repeats an earlier one: {_shown(merge)}")
        pairs[pair] = None
    return list(pairs)


def _vocabulary_of_merges(
    tokens: Mapping[bytes, int], pairs: Iterable[tuple[bytes, bytes]]
) -> _Vocabulary:
    """Return the rules that can ever apply: for each token one, of tokens made before.

    Files often list every pair that spells a token. But by *Borders* of all these one at
    most may touch, and none after the token is made.
    """
    vocabulary = _Vocabulary(tokens[byte] for byte in _BYTES)
    made = {data: token for token, data in enumerate(vocabulary.bytes)}
    early: list[tuple[bytes, bytes]] = []
    for first, second in pairs:
        data = first + second
        if data in made:
            continue
        if first not in made or second not in made:
            early.append((first, second))
        elif vocabulary.may_touch(made[first], made[second]):
            made[data] = vocabulary.add(made[first], made[second], tokens[data])
    never = len(made)
    for pair in early:
        if max(made.get(half, never) for half in pair) < made.get(b"".join(pair), never):
            raise ValueError(f"the merge of {_shown(pair)} comes before those that make its halves")
    return vocabulary


# What is always the same in Hugging Face's file.
_BYTE_LEVEL = {"type": "ByteLevel"} | dict.fromkeys(
    ["add_prefix_space", "trim_offsets", "use_regex"], False
)
_ISOLATED = {"behavior": "Isolated", "invert": False}
_SPECIAL = {"special": True} | dict.fromkeys(
    ["single_word", "lstrip", "rstrip", "normalized"], False
)


def _huggingface_content(tokenizer: BPETokenizer) -> dict[str, Any]:
    """Return what `to_huggingface` writes, if that format can hold it."""
    spelled = {token_id: _spelled(data) for token_id, data in tokenizer._ordinary.items()}
    normalization = tokenizer._normalization
    stages = [splitter.pattern for splitter in tokenizer._coder.splitters]
    for stage in stages:
        if _portable(stage) != stage:
            raise ValueError(f"split pattern {_shown(stage)} may mean something else there")
    splits = [{"type": "Split", "pattern": {"Regex": stage}, **_ISOLATED} for stage in stages]
    special = sorted(tokenizer.special_tokens.items(), key=itemgetter(1))
    return {
        "version": "1.0",
        "added_tokens": [
            {"content": name, "id": token_id, **_SPECIAL} for name, token_id in special
        ],
        "normalizer": None if normalization is None else {"type": normalization},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, _BYTE_LEVEL]},
        "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "ignore_merges": tokenizer._whole_tokens,
            "vocab": _huggingface_vocab(tokenizer, spelled),
            "merges": [[spelled[first], spelled[second]] for first, second in tokenizer.merges],
        },
    }


def _huggingface_vocab(tokenizer: BPETokenizer, spelled: Mapping[int, str]) -> dict[str, int]:
    if (largest := max(tokenizer.vocab)) >= _ID_LIMIT:
        owner = _shown(tokenizer.vocab[largest])
        raise ValueError(f"the id {_shown(largest)} of {owner} is too large there")
    ids = {spelling: token_id for token_id, spelling in spelled.items()}
    for name, token_id in tokenizer.special_tokens.items():
        if ids.setdefault(name, token_id) != token_id:
            other = f"token {ids[name]}"
            raise ValueError(f"special token {_shown(name)} is spelled like {other} there")
        _check_no_bytes(name)
    return ids


def _check_no_bytes(name: str) -> None:
    if not name.isascii() and set(name) <= set(_byte_spelling()):
        raise ValueError(f"special token {_shown(name)} would be decoded as bytes there")


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
        self.token_alphabet = [
            _bytes(token, f"token {number}")
            for number, token in enumerate(_list(token_alphabet, "token_alphabet", "bytes"))
        ]
        _check_alphabet(self.token_alphabet)
        self.token_to_id = {token: i for i, token in enumerate(self.token_alphabet)}
        self._vocab = dict(enumerate(self.token_alphabet))
        vocabulary = _vocabulary_of_tokens(range(256), self._vocab, self.token_to_id)
        self._encoder = _Encoder(vocabulary)

    def __reduce__(self) -> tuple[type[ByteTokenizer], tuple[list[bytes]]]:
        return type(self), (self.token_alphabet,)

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
        ids = list(_bytes(text, "text"))
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
        return self._encoder.encode(_bytes(text, "text"))

    def decode(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of token ids; an unknown id is a `ValueError` that names it.

        >>> single_bytes = [bytes([byte]) for byte in range(256)]
        >>> ByteTokenizer([*single_bytes, b"th", b"the"]).decode([257, 32, 112, 97, 256])
        b'the path'
        """
        return _join_tokens(self._vocab, _integers(ids, "ids"))

    def estimate_token_count(self, text: bytes, sample_size: int, rng: random.Random) -> int:
        """Estimate `len(tokenize(text))`, tokenizing no more than `sample_size` bytes.

        Text that fits is counted exactly. A longer one is divided into stretches, and of
        each a chunk at a random place is tokenized; its tokens per byte stand for the whole
        stretch. So every part of an uneven document has its share.

        The error goes to zero as the sample grows. Tokens of up to a hundredth of the sample
        are seen whole; longer ones are taken for shorter ones, and if all the text is like
        that, the estimate may be several times too high. A part of the text that is smaller
        than a stretch may be missed, or taken for larger than it is.

        All randomness comes from `rng`. A `sample_size` below 1 is a `ValueError`.

        >>> tokenizer = ByteTokenizer([bytes([byte]) for byte in range(256)])
        >>> tokenizer.estimate_token_count(b"a" * 5000, 500, random.Random(1))
        5000
        """
        return self.estimate_token_count_interval(text, sample_size, rng)[0]

    def estimate_token_count_interval(
        self, text: bytes, sample_size: int, rng: random.Random, confidence: float = 0.95
    ) -> tuple[int, int, int]:
        """Return what `estimate_token_count` returns, and a lowest and a highest count.

        The exact count lies between these two in as many of all cases as `confidence` says,
        in most documents in more: a float above 0 and below 1, or it is a `ValueError`. Of
        text that fits in the sample, all three are the exact count.

        What no chunk has met cannot be known: a rare part that is unlike all others, or
        tokens longer than any chunk that leave nothing but single bytes when broken.

        >>> tokenizer = ByteTokenizer([bytes([byte]) for byte in range(256)] + [b"aa"])
        >>> tokenizer.estimate_token_count_interval(b"aab" * 2000, 500, random.Random(1))
        (3987, 3919, 4056)
        """
        text = _bytes(text, "text")
        sample_size = _integer(sample_size, "sample_size", 1)
        _require(rng, random.Random, "rng")
        _require(confidence, float, "confidence")
        if not 0 < confidence < 1:
            raise ValueError(f"confidence is {confidence}, but must be above 0 and below 1")
        if len(text) <= sample_size:
            exact = len(self.tokenize(text))
            return exact, exact, exact
        chunks = list(self._chunks(text, sample_size, rng))
        estimate = sum(chunk.token_count for chunk in chunks)
        error = _error_bound(chunks, confidence)
        # Where margins had no room, all that was counted may be pieces of longer tokens.
        unsure = sum(chunk.token_count for chunk in chunks if chunk.is_filled)
        fewest = ceil(len(text) / max(map(len, self.token_alphabet)))
        counts = round(estimate), floor(estimate - error - unsure), ceil(estimate + error)
        middle, low, high = (min(max(count, fewest), len(text)) for count in counts)
        return middle, low, high

    def _chunks(self, text: bytes, sample_size: int, rng: random.Random) -> Iterator[_Chunk]:
        """Tokenize chunks of `sample_size` bytes in all, each at a random place of its stretch.

        The end of the text is joined to its beginning and the first stretch begins anywhere in
        this ring: then all bytes are equally likely to be looked at. A stretch is as much of
        the text that is left as its chunk is of the sample that is left. It is fixed before the
        chunk is seen, so what is in it cannot choose its weight.

        The size of a chunk goes by what the one before showed. But the first one, and one after
        each third of the sample, is long: where a broken token leaves nothing but single bytes,
        short chunks would never show that there are tokens.
        """
        origin = rng.randrange(len(text))
        position, left = 0, sample_size
        size, long_chunks = 0, _LONG_CHUNKS
        while left:
            if left * _LONG_CHUNKS <= sample_size * long_chunks:
                size = max(size, sample_size // _LONG_CHUNK_SHARE)
                long_chunks -= 1
            size = max(min(size, sample_size // _FEWEST_CHUNKS), 1)
            size += rng.randint(-(size // 4), size // 4)  # text that repeats could keep step
            size = left // max(left // size, 1)  # so that the last chunk is not a crumb
            stretch = (len(text) - position) * size // left
            start = (origin + position + rng.randrange(stretch - size + 1)) % len(text)
            beyond = max(start + size - len(text), 0)
            ids = self.tokenize(text[start : start + size]) + self.tokenize(text[:beyond])
            lengths = [len(self.token_alphabet[token]) for token in ids]
            yield (chunk := _Chunk(stretch, lengths))
            position += stretch
            left -= size
            size = _next_size(sample_size, chunk.token_length)


# How large chunks are, and what of them counts: found by trying, on the documents and
# alphabets of `tests/benchmarks/estimate.py`.

_MARGIN = 1.5  # tokens; with 1, tokens in log lines came out 1 % too many
_LARGEST_MARGIN = 1 / 3  # of a chunk, so that a third of it counts, however long tokens are
_CHUNK_TOKENS = 48  # both margins are a sixteenth of such a chunk; longer ones would be fewer
_MOST_CHUNKS = 1000  # rather than more, longer ones, in which the ends matter less and less
_FEWEST_CHUNKS = 8  # fewer miss whole parts of an uneven document
_LONG_CHUNKS = 3  # they take an eighth of the sample together ...
_LONG_CHUNK_SHARE = 24  # ... and each has room for four tokens of a hundredth of the sample


def _next_size(sample_size: int, token_length: float) -> int:
    """Return how large chunks should be where tokens are about `token_length` bytes long."""
    as_many_chunks_as_tokens = isqrt(round(sample_size * token_length))
    size = min(as_many_chunks_as_tokens, round(_CHUNK_TOKENS * token_length))
    return max(size, sample_size // _MOST_CHUNKS)


class _Chunk:
    """What one tokenized chunk, with tokens of these `lengths`, says about its stretch.

    A cut breaks a token and may disturb the next one, so only the *core* of a chunk counts,
    without a margin of one and a half tokens on either side. A token on its edge counts by the
    share of its bytes that lie inside, which favours neither long tokens nor short ones.

    How long tokens are is a mean over bytes: each byte gives the length of the token that it
    is in. For one token of 90 bytes and ten of 1 byte that is 81.1, where the mean over tokens
    is 9.1: what matters are the tokens that fill the text, not the small pieces between them.
    """

    def __init__(self, stretch: int, lengths: Sequence[int]) -> None:
        size = sum(lengths)
        self.token_length = sum(length * length for length in lengths) / size
        margin = ceil(_MARGIN * self.token_length)
        self.is_filled = margin > size * _LARGEST_MARGIN
        margin = min(margin, int(size * _LARGEST_MARGIN))
        self.stretch = stretch
        self.core = size - 2 * margin
        shares = chain.from_iterable([1 / length] * length for length in lengths)  # of each byte
        self.density = sum(islice(shares, margin, size - margin)) / self.core
        self.token_count = stretch * self.density

    def variance(self, before: _Chunk, after: _Chunk) -> float:
        """Return the square of the error to expect of `token_count`; the part counted has none.

        Of three values that vary alike, one differs from the mean of the others by one and a
        half times their variance. And where all are alike, half a token is still in doubt.
        """
        difference = self.density - (before.density + after.density) / 2
        variance = difference**2 / 1.5 + (0.5 / self.core) ** 2
        return self.stretch**2 * variance * (1 - self.core / self.stretch)


def _error_bound(chunks: list[_Chunk], confidence: float) -> float:
    """Return how far from the exact count the sum over `chunks` is, at `confidence`."""
    before, after = chunks[-1:] + chunks[:-1], chunks[1:] + chunks[:1]
    variances = list(map(_Chunk.variance, chunks, before, after))
    deciding = sum(variances) ** 2 / sum(variance**2 for variance in variances)
    deviations = -NormalDist().inv_cdf((1 - confidence) / 2)
    # That few chunks decide makes their spread uncertain too: Student's distribution, nearly.
    deviations *= 1 + (deviations**2 + 1) / (4 * deciding)
    return deviations * sqrt(sum(variances))


def _check_alphabet(token_alphabet: Sequence[bytes]) -> None:
    for number, (token, byte) in enumerate(zip_longest(token_alphabet, _BYTES)):
        if byte is not None and token != byte:
            raise ValueError(f"token {number} must be {byte!r}, not {_shown(token)}")
        if not token:
            raise ValueError(f"token {number} is empty")
    if len(token_alphabet) > _LARGEST_TOKEN + 1:
        raise ValueError(f"token {_LARGEST_TOKEN + 1} is one too many")


# ---------------------------------------------------------------------------
# The command line: train, count, show, encode and decode from a shell
# ---------------------------------------------------------------------------

_READ_AT_ONCE = 1 << 20  # bytes
_IDS_AT_ONCE = 1 << 14
_RAW_FORMATS = {"uint16": "H", "uint32": "I"}  # as `struct` calls them
_PATTERNS = {
    "gpt2": GPT2_SPLIT_PATTERN,
    "gpt4": GPT4_SPLIT_PATTERN,
    "gpt4o": GPT4O_SPLIT_PATTERN,
    "digits": DIGIT_SPLIT_PATTERN,
    "none": None,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, with `arguments` or else those of the process; return its exit status.

    That is 0, or 1 after an error, told on one line of standard error, or 130 after Ctrl-C.
    Wrong arguments, and `--help`, end in `SystemExit`, as everywhere with `argparse`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = Path(folder, "low.txt").write_text("low lower lowest")
    ...     main(f"train {folder}/low.txt --vocab-size 258 -o {folder}/low.json".split())
    ...     BPETokenizer().load(folder + "/low.json").merges
    0
    {(108, 111): 256, (256, 119): 257}
    """
    options = _argument_parser().parse_args(arguments)
    prints_at_length = options.output is None and options.run is not _run_count
    progress = options.progress = _Progress(
        os.isatty(2) and not (prints_at_length and os.isatty(1))
    )
    try:
        sources = (0 if name == "-" else name for name in options.files)
        progress.size = sum(os.stat(source).st_size for source in sources)  # noqa: PTH116
        options.run(options)
        return 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0  # whoever read the output has seen enough
    except (OSError, ValueError, RuntimeError, MemoryError) as fault:
        message = str(fault) or type(fault).__name__
        if isinstance(fault, OSError) and fault.strerror:
            named = f"{os.fsdecode(fault.filename)}: " if fault.filename else ""
            message = named + fault.strerror
        progress.note(f"bpe: {message}")
        return 1
    finally:
        progress.clear()


def _run_train(options: argparse.Namespace) -> None:
    """Learn a vocabulary from text files and write it to one file.

    Each file is a document of its own. Files are read in pieces, but with another pattern than
    those named, or a special token with a space in it, a whole document must fit into memory.
    The names of special tokens in the text are borders, and nothing is learned from them.

    For example:
      bpe train corpus/*.txt --vocab-size 32768 --special '<|end|>' -o tokenizer.json
    """
    tokenizer = BPETokenizer(options.pattern, options.special)
    Path(os.path.realpath(options.output)).parent.resolve(strict=True)  # before the long work
    texts = (_read_text(name, options) for name in options.files)
    pieces = chain.from_iterable(_blocks_of(text, tokenizer._coder.has_safe_cuts) for text in texts)
    tokenizer.train(pieces, options.vocab_size, options.progress.learning, options.workers)
    tokenizer.save(options.output)
    size = 256 + len(tokenizer.merges)
    if size < options.vocab_size:
        options.progress.note(f"{options.output}: {size} tokens, as no pair occurs twice any more")


def _run_count(options: argparse.Namespace) -> None:
    """Print for each file tokens, bytes, bytes per token and name; and the total of several.

    For example:
      bpe count -t tokenizer.json *.txt
    """

    def print_row(tokens: int, size: int, name: str) -> None:
        options.progress.clear()
        bytes_per_token = f"{size / tokens:.2f}" if tokens else "-"
        with _output(None) as file:
            file.write(os.fsencode(f"{tokens:10} {size:10} {bytes_per_token:>6} {name}\n"))

    tokenizer = BPETokenizer.from_file(options.vocabulary)
    total = 0
    for name in options.files:
        start = options.progress.done
        tokens = sum(map(len, _encoded(tokenizer, [name], options)))
        print_row(tokens, options.progress.done - start, name)
        total += tokens
    if len(options.files) > 1:
        print_row(total, options.progress.done, "total")


def _run_show(options: argparse.Namespace) -> None:
    """Show where text is cut: tokens on alternating backgrounds, or with `|` between them.

    The bars stand where there is no colour: not on a terminal, or with NO_COLOR set. `--html`
    writes a page instead that has the id and the bytes of each token on hovering.

    For example:
      bpe show -t cl100k_base.tiktoken -t o200k_base.tiktoken korean.txt --html korean.html
    """
    tokenizers = {name: BPETokenizer.from_file(name) for name in options.vocabulary}
    text = _read_text(options.files[0], options)
    if options.output is not None:
        write_atomically(options.output, _page("".join(text), tokenizers, options))
        return
    color = os.isatty(1) and not os.environ.get("NO_COLOR")
    has_safe_cuts = all(tokenizer._coder.has_safe_cuts for tokenizer in tokenizers.values())
    copies = tee(_blocks_of(text, has_safe_cuts), len(tokenizers))
    with _output(None) as file:
        for (name, tokenizer), pieces in zip(tokenizers.items(), copies, strict=True):
            file.write(os.fsencode(f"==> {name} <==\n") if len(tokenizers) > 1 else b"")
            bar, piece = "", "\n"
            for piece in pieces:
                shown = tokenizer.show(piece, color, options.allowed_special)
                file.write((bar + shown).encode("utf-8"))
                bar = "" if color else "|"
            file.write(b"" if piece.endswith("\n") else b"\n")


def _run_encode(options: argparse.Namespace) -> None:
    """Print the token ids of files, or write them as the numbers that training scripts read.

    With `-o` they are little-endian uint16, or uint32 if the vocabulary has ids above 65535;
    standard error says which. Each file is encoded on its own.

    For example:
      bpe encode -t tokenizer.json corpus/*.txt --separator '<|end|>' -o corpus.bin
      bpe encode -t tokenizer.json < text.txt | bpe decode -t tokenizer.json
    """
    tokenizer = BPETokenizer.from_file(options.vocabulary)
    largest = max(tokenizer.vocab)
    if options.output is not None and largest >= 1 << 32:
        raise ValueError(f"{options.vocabulary}: the id {largest} does not fit into uint32")
    dtype = "uint16" if largest < 1 << 16 else "uint32"
    total = 0
    with _output(options.output) as file:
        for ids in filter(len, _encoded(tokenizer, options.files, options)):
            if options.output is None:
                space = " " if total else ""
                file.write((space + " ".join(map(str, ids))).encode("ascii"))
            else:
                file.write(struct.pack(f"<{len(ids)}{_RAW_FORMATS[dtype]}", *ids))
            total += len(ids)
        file.write(b"\n" if options.output is None else b"")
    if options.output is not None:
        options.progress.note(f"{options.output}: {total} tokens as little-endian {dtype}")


def _run_decode(options: argparse.Namespace) -> None:
    """Turn token ids back into the bytes that they stand for.

    Ids are numbers with white space between them, or with `--dtype` what `encode -o` wrote.

    For example:
      bpe decode -t tokenizer.json --dtype uint16 corpus.bin -o corpus.txt
    """
    tokenizer = BPETokenizer.from_file(options.vocabulary)
    name = options.files[0]
    position = 0
    with _output(options.output) as file:
        for ids in _raw_ids(name, options) if options.dtype else _ids(name, options):
            try:
                file.write(_join_tokens(tokenizer.vocab, ids, position))
            except ValueError as fault:
                raise ValueError(f"{name}: {fault}") from None
            position += len(ids)


def _encoded(
    tokenizer: BPETokenizer, names: Iterable[str], options: argparse.Namespace
) -> Iterator[Sequence[int]]:
    """Yield the ids of files in batches, some perhaps empty; the separator stands between two."""
    separator: list[int] = []
    if options.separator is not None:
        separator = tokenizer.encode(options.separator, allowed_special=[options.separator])
    texts = (_read_text(name, options) for name in names)
    if tokenizer._coder.has_safe_cuts:
        # An empty text stands between two files, and comes back as no ids at all.
        pieces = chain.from_iterable(chain([""], _blocks_of(text)) for text in texts)
        after_first = islice(pieces, 1, None)
        batches = tokenizer.encode_batch(after_first, options.workers, options.allowed_special)
        yield from (ids or separator for ids in batches)
        return
    for number, text in enumerate(texts):
        yield separator if number else ()
        stream = tokenizer.encode_iterable(text, options.allowed_special)
        while ids := list(islice(stream, _IDS_AT_ONCE)):
            yield ids


def _raw_ids(name: str, options: argparse.Namespace) -> Iterator[Sequence[int]]:
    one, rest = struct.Struct(f"<{_RAW_FORMATS[options.dtype]}"), b""
    for block in _read(name, options):
        block = rest + block
        number = len(block) // one.size
        yield struct.unpack_from(f"<{number}{_RAW_FORMATS[options.dtype]}", block)
        rest = block[number * one.size :]
    if rest:
        raise ValueError(f"{name}: the last {len(rest)} bytes are not a whole {options.dtype}")


def _ids(name: str, options: argparse.Namespace) -> Iterator[Sequence[int]]:
    offset, rest = 0, b""
    for block in chain(_read(name, options), [b"\n"]):
        block = rest + block
        if wrong := re.search(rb"[^\d\s]\S{,19}|\d{20}", block):
            place = f"byte offset {offset + wrong.start()}"
            hint = "(--dtype reads what `encode -o` wrote)"
            raise ValueError(f"{name}: {wrong[0]!r} at {place} is not a token id {hint}")
        numbers = block.rstrip(b"0123456789")  # what comes after them may go on
        yield list(map(int, numbers.split()))
        offset += len(numbers)
        rest = block[len(numbers) :]


_PAGE_HEAD = """<!DOCTYPE html>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: tokens</title>
<style>
:root { color-scheme: light dark; --a: #d3e5fb; --b: #fbe6c2; --ink: #1f2328; --paper: #fff;
  --faint: #59636e; --cut: #c0262d; }
@media (prefers-color-scheme: dark) { :root { --a: #17426f; --b: #594112; --ink: #e6edf3;
  --paper: #12161c; --faint: #9aa4af; --cut: #ff8077; } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin: 2rem 0 0; }
h1, h2 { overflow-wrap: anywhere; } p { color: var(--faint); margin: .3rem 0 .8rem; }
.text { font: 1rem/1.8 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
  unicode-bidi: plaintext; }
span { background: var(--a); padding: .15em 0; } .b { background: var(--b); }
i::before { content: "\\21b5"; color: var(--faint); font-style: normal; }
.cut { --from: var(--a); --to: var(--b); border-bottom: 2px solid var(--cut);
  background: repeating-linear-gradient(90deg, var(--from) 0 calc(100% / var(--n)),
  var(--to) 0 calc(200% / var(--n))); }
.cut.b { --from: var(--b); --to: var(--a); }
.n2 { --n: 2; } .n3 { --n: 3; } .n4 { --n: 4; }
</style>
<h1>{name}</h1>
<p>The two colours tell a token from the next; its id and bytes show on hovering. A character in
stripes, with a line below, is cut: each stripe is a token that holds some of its bytes.</p>
"""


def _page(text: str, tokenizers: Mapping[str, BPETokenizer], options: argparse.Namespace) -> str:
    """Return a page, complete in itself, with `text` cut into tokens by each of `tokenizers`."""
    parts = [_PAGE_HEAD.replace("{name}", html.escape(options.files[0]))]
    size = len(text.encode("utf-8"))
    for vocabulary, tokenizer in tokenizers.items():
        ids = tokenizer.encode(text, options.allowed_special)
        tokens = [tokenizer.vocab[token] for token in ids]
        titles = [f"{token}: {data.hex(' ')}" for token, data in zip(ids, tokens, strict=True)]
        parts.append(
            f"<h2>{html.escape(Path(vocabulary).name)}</h2>\n<p>{len(text):,} characters, "
            f"{size:,} bytes, {len(ids):,} tokens, {size / max(len(ids), 1):.2f} bytes per token"
            '</p>\n<div class="text">'
        )
        for stretch, start, stop in _parts(tokens):
            kind = "b" * (start % 2) + f" cut n{stop - start}" * (stop - start > 1)
            shown = html.escape(stretch, quote=False).replace("\r", "&#13;")
            shown = shown.replace("\n", "<i>\n</i>")  # makes the end of a line visible
            title = "&#10;".join(titles[start:stop])
            parts.append(f'<span class="{kind}" title="{title}">{shown}</span>')
        parts.append("</div>\n")
    return "".join(parts)


def _parts(tokens: Iterable[bytes]) -> Iterator[tuple[str, int, int]]:
    r"""Yield the text of tokens in stretches, and for each where its tokens start and stop.

    That is one token, or for a character that is cut all those that hold some of its bytes.

    >>> list(_parts([b"a\xc3", b"\xa9b"]))
    [('a', 0, 1), ('é', 0, 2), ('b', 1, 2)]
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    start = 0  # of the tokens that hold some of the character that is not whole yet
    for number, token in enumerate(tokens):
        goes_on = decoder.getstate()[0] != b""
        text = decoder.decode(token)
        if goes_on and text:
            yield text[0], start, number + 1
            text, goes_on = text[1:], False
        if text:
            yield text, number, number + 1
        start = start if goes_on else number


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = " ".join(message.splitlines())
        self.exit(2, f"bpe: {message} ({self.prog} --help says more)\n")


def _argument_parser() -> argparse.ArgumentParser:
    parser = _ArgumentParser(prog="bpe", description="Byte-level BPE from a shell.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        description = cleandoc(run.__doc__ or "")
        added = commands.add_parser(
            run.__name__.removeprefix("_run_"),
            help=description.partition("\n")[0],
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        added.set_defaults(run=run, files=["-"], output=None, separator=None, workers=1)
        return added

    def add(to: Iterable[Any], about: str, *names: str, **settings: Any) -> None:
        for each in to:
            each.add_argument(*names, help=about, **settings)

    train, count, show, encode, decode = map(
        command, (_run_train, _run_count, _run_show, _run_encode, _run_decode)
    )
    about = "what `bpe train` wrote, a .tiktoken file, a tokenizer.json"
    add([count, encode, decode], about, "-t", "--vocabulary", required=True)
    about += "; of several, the text under each"
    add([show], about, "-t", "--vocabulary", required=True, action="append")
    about = "what to read; without it, or for -, standard input"
    add([train, count, encode], about, "files", metavar="FILE", nargs="*")
    add([show, decode], about, "files", metavar="FILE", nargs="?", type=lambda name: [name])
    add([train], "write to this file", "-o", dest="output", metavar="OUT", required=True)
    add([encode, decode], "write to this file", "-o", dest="output", metavar="OUT")
    add([show], "write a page to this file", "--html", dest="output", metavar="OUT")
    add([train, encode], "processes to use (1)", "--workers", metavar="N", type=_at_least(1))
    about = "recognise special tokens in the text; without it their names are ordinary text"
    recognised: dict[str, Any] = {"action": "store_const", "const": "all", "default": "none"}
    add([count, show, encode], about, "--special-tokens", dest="allowed_special", **recognised)
    about = "for bytes that are not UTF-8: end with an error (strict, the default) or put U+FFFD"
    choices = ["strict", "replace"]
    add([train, count, show, encode], about, "--errors", choices=choices, default="strict")
    about = "tokens to have in the end, bytes and learned ones; special tokens come on top"
    add([train], about, "--vocab-size", metavar="N", type=_at_least(256), required=True)
    about, names = "how text is split first (gpt4)", "|".join([*_PATTERNS, "REGEX"])
    add([train], about, "--pattern", metavar=names, type=_pattern, default="gpt4")
    about = "a special token to have; can be repeated"
    add([train], about, "--special", metavar="NAME", action="append", default=[])
    add([encode], "a special token between two files", "--separator", metavar="NAME")
    add([decode], "read what `encode -o` wrote", "--dtype", choices=_RAW_FORMATS)
    return parser


def _at_least(minimum: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text} is less than {minimum}")
        return int(text)

    return number


def _pattern(text: str) -> str | None:
    if text.isalnum() and text not in _PATTERNS:
        raise argparse.ArgumentTypeError(f"no split pattern is called {text!r}")
    pattern = _PATTERNS.get(text, text)
    try:
        BPETokenizer(pattern)  # an invalid one shows now
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    return pattern


def _read(name: str, options: argparse.Namespace) -> Iterator[bytes]:
    """Yield a file, or standard input if `name` is `-`, in blocks."""
    source = 0 if name == "-" else name
    # Without a buffer, which would go on waiting for a pipe to fill it after Ctrl-C.
    with open(source, "rb", buffering=0, closefd=source != 0) as file:
        while block := file.read(_READ_AT_ONCE):
            options.progress.reading(len(block))
            yield block


def _read_text(name: str, options: argparse.Namespace) -> Iterator[str]:
    """Yield a UTF-8 file in blocks; what is not UTF-8 is a `ValueError` that says where."""
    decoder = codecs.getincrementaldecoder("utf-8")(options.errors)
    offset = 0
    for block in chain(_read(name, options), [b""]):
        offset += len(block)
        try:
            yield decoder.decode(block, final=not block)
        except UnicodeDecodeError as fault:  # in this block, or a character that began before
            place = f"byte offset {offset - len(fault.object) + fault.start}"
            raise ValueError(f"{name}: not UTF-8 at {place} (--errors replace goes on)") from None


def _blocks_of(text: Iterable[str], has_safe_cuts: bool = True) -> Iterator[str]:
    """Yield a text that comes in blocks in others, none empty, that end at safe cuts."""
    held: list[str] = []
    for block in text:
        inside = _UP_TO_A_SAFE_CUT.match(block) if has_safe_cuts else None
        if inside:
            yield "".join([*held, inside[0]])
            held = []
        held.append(block[inside.end() :] if inside else block)
    if any(held):
        yield "".join(held)


def _output(path: str | None) -> AbstractContextManager[BinaryIO]:
    """Open what results go to: what will replace the file at `path`, or standard output."""
    # Not `sys.stdout`, which would complain once more about a closed pipe at the end.
    return open(1, "wb", closefd=False) if path is None else _replacing(path)


class _Progress:
    """Says on one line of standard error how far the work is; a note is a line that stays."""

    WIDTH = 60  # of the longest line

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.size = 0  # of all input in bytes; what a pipe holds counts as 0
        self.done = 0  # bytes read so far
        self.due = self.learning_since = 0.0

    def reading(self, size: int) -> None:
        self.done += size
        known = self.done <= self.size
        share = f" of {self.size / 1e6:.1f}, {self.done / self.size:.0%}" if known else ""
        self._say(f"reading: {self.done / 1e6:.1f} MB{share}")

    def learning(self, done: int, total: int) -> None:
        if done:  # else documents are still being counted
            now = time.monotonic()
            self.learning_since = self.learning_since or now
            left = int((now - self.learning_since) / done * (total - done))
            self._say(f"learning: {done:,} of {total:,} rules, {left // 60}:{left % 60:02} left")

    def note(self, line: str) -> None:
        self.clear()
        sys.stderr.write(" ".join(line.splitlines()) + "\n")

    def clear(self) -> None:
        if self.due:  # something has been said
            sys.stderr.write(f"\r{'':{self.WIDTH}}\r")
            self.due = 0.0

    def _say(self, line: str) -> None:
        if self.shown and time.monotonic() >= self.due:
            sys.stderr.write(f"\r{line:{self.WIDTH}}")
            sys.stderr.flush()
            self.due = time.monotonic() + 0.1


# ---------------------------------------------------------------------------
# Checks that all parts share
# ---------------------------------------------------------------------------


def _require(value: object, kind: type, name: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}")


def _utf8(text: str, name: str) -> bytes:
    """Return the bytes of `text`; a lone surrogate shows here, with its place in the whole."""
    _require(text, str, name)
    return text.encode("utf-8")


def _bytes(data: bytes | bytearray | memoryview, name: str) -> bytes:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name} must be bytes, not {type(data).__name__}")
    return bytes(data)


def _integer(value: int, name: str, minimum: float = -inf) -> int:
    try:
        number = index(value)  # NumPy's integers are integers too
    except TypeError:
        raise TypeError(f"{name} must be int, not {type(value).__name__}") from None
    if number < minimum:
        raise ValueError(f"{name} is {_shown(number)}, but must be at least {minimum}")
    return number


def _integers(values: Iterable[int], name: str) -> list[int]:
    listed = _list(values, name, "integers")
    try:
        return list(map(index, listed))
    except TypeError:
        return [_integer(value, f"{name}[{number}]") for number, value in enumerate(listed)]


def _list(values: Iterable[Any], name: str, content: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of {content}, not {type(values).__name__}")
    return list(values)


def _rules(merges: Iterable[Rule] | Mapping[Pair, int]) -> list[Rule]:
    rules: list[Rule] = []
    listed = _list(merges.items() if isinstance(merges, Mapping) else merges, "merges", "rules")
    try:
        for (first, second), new_id in listed:
            rules.append(((index(first), index(second)), index(new_id)))
    except (TypeError, ValueError):
        number = len(rules)
        message = f"rule {number} must be ((first, second), new_id), not {_shown(listed[number])}"
        raise TypeError(message) from None
    return rules


def _check_cycles(halves: dict[int, Pair]) -> None:
    if all(max(pair) < token_id for token_id, pair in halves.items()):
        return  # every step goes down: no cycle is possible
    try:
        TopologicalSorter(halves).prepare()
    except CycleError as cycle:
        path = _shown(cycle.args[1])
        raise ValueError(f"the rules go round in a circle: {path}") from None


_quoted = reprlib.Repr()
_quoted.maxstring = _quoted.maxother = 100


def _shown(value: object) -> str:
    """Return `value` as an error message quotes it: what is long is cut."""
    text = _quoted.repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


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


if __name__ == "__main__":
    sys.exit(main())
