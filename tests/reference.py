"""The textbook algorithms, written from the contract: slow, plain, and the oracle of the tests.

Nothing here imports `bpe`. Every function recounts and rebuilds from scratch.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence

Pair = tuple[int, int]
Rule = tuple[Pair, int]


def count_pairs(ids: Sequence[int]) -> dict[Pair, int]:
    counts: dict[Pair, int] = {}
    for i in range(len(ids) - 1):
        pair = (ids[i], ids[i + 1])
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids: Sequence[int], pair: Pair, new_id: int) -> list[int]:
    out = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def train(text: str, vocab_size: int, minimum: int = 2) -> list[Rule]:
    return train_words({text: 1}, vocab_size, minimum)


def train_words(words: Mapping[str, int], vocab_size: int, minimum: int = 2) -> list[Rule]:
    """Train on separate words, each of which counts as often as `words` says."""
    return extend_words(words, [], range(256, vocab_size), minimum)


def extend_words(
    words: Mapping[str, int], rules: Sequence[Rule], new_ids: Iterable[int], minimum: int = 2
) -> list[Rule]:
    """Encode the words with the rules there are, then go on learning; return all rules."""
    sequences = [(encode(word, rules), times) for word, times in words.items()]
    learned = list(rules)
    for new_id in new_ids:
        counts: dict[Pair, int] = {}
        for ids, times in sequences:
            for pair, n in count_pairs(ids).items():
                counts[pair] = counts.get(pair, 0) + n * times
        best = max(counts.values(), default=0)
        if best == 0 or best < minimum:
            break
        pair = min(p for p, n in counts.items() if n == best)
        sequences = [(merge(ids, pair, new_id), times) for ids, times in sequences]
        learned.append((pair, new_id))
    return learned


def encode(text: str, rules: Sequence[Rule]) -> list[int]:
    ids = list(text.encode("utf-8"))
    for pair, new_id in rules:
        ids = merge(ids, pair, new_id)
    return ids


def expand(token: int, rules: Sequence[Rule]) -> bytes:
    """Return the bytes of a token; for rules in the order learned and not too deep."""
    for (first, second), new_id in rules:
        if new_id == token:
            return expand(first, rules) + expand(second, rules)
    return bytes([token])


def decode(ids: Sequence[int], rules: Sequence[Rule]) -> str:
    return b"".join(expand(token, rules) for token in ids).decode("utf-8", errors="replace")


def cut_at_names(text: str, names: Collection[str]) -> list[str]:
    """Cut `text` before and after each name in it: the leftmost wins, then the longest."""
    pieces, ordinary = [], ""
    i = 0
    while i < len(text):
        found = [name for name in names if text.startswith(name, i)]
        if found:
            pieces += [ordinary, max(found, key=len)]
            ordinary = ""
            i += len(pieces[-1])
        else:
            ordinary += text[i]
            i += 1
    return [piece for piece in [*pieces, ordinary] if piece]


def alphabet_tokenize(alphabet: Sequence[bytes], text: bytes) -> list[int]:
    """Tokenize by a token alphabet as its definition says."""
    last_index = {token: i for i, token in enumerate(alphabet)}
    ids = list(text)
    for token_id in range(256, len(alphabet)):
        token = alphabet[token_id]
        pairs = set()
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in last_index and right in last_index:
                pairs.add((last_index[left], last_index[right]))
        out = []
        i = 0
        while i < len(ids):
            if i + 1 < len(ids) and (ids[i], ids[i + 1]) in pairs:
                out.append(token_id)
                i += 2
            else:
                out.append(ids[i])
                i += 1
        ids = out
    return ids


class LinkedListTokenizer:
    """The popular way: a heap of candidate pairs over a linked list. The one to beat.

    The usual version merges a pair whenever it comes up first in the heap, even if the
    token it makes has had its turn already. This one enters a pair only if its token's
    turn is still to come: that mends the fault.
    """

    def __init__(self, alphabet: Sequence[bytes]) -> None:
        last_index = {token: i for i, token in enumerate(alphabet)}
        self.targets: dict[Pair, list[int]] = {}
        for token_id in range(256, len(alphabet)):
            token = alphabet[token_id]
            for cut in range(1, len(token)):
                left, right = token[:cut], token[cut:]
                if left in last_index and right in last_index:
                    pair = (last_index[left], last_index[right])
                    self.targets.setdefault(pair, []).append(token_id)

    def tokenize(self, text: bytes) -> list[int]:
        ids: list[int] = list(text)
        after = [*range(1, len(ids)), -1]
        before = list(range(-1, len(ids) - 1))
        heap: list[tuple[int, int, int, int]] = []

        def enter(left: int, right: int, turn: int) -> None:
            for target in self.targets.get((ids[left], ids[right]), ()):
                if target > turn:
                    heapq.heappush(heap, (target, left, ids[left], ids[right]))
                    return

        for position in range(len(ids) - 1):
            enter(position, position + 1, -1)
        while heap:
            target, left, first, second = heapq.heappop(heap)
            right = after[left]
            if ids[left] != first or right == -1 or ids[right] != second:
                continue
            ids[left], ids[right] = target, -1
            after[left] = after[right]
            if after[left] != -1:
                before[after[left]] = left
                enter(left, after[left], target)
            if before[left] != -1:
                enter(before[left], left, target)
        return [token for token in ids if token != -1]
