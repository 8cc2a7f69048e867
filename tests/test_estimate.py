"""ByteTokenizer's estimate: its budget, its randomness, how near it comes, how sure it is."""

from __future__ import annotations

import random
from collections import Counter
from math import sqrt
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpe
from bpe import BPETokenizer, ByteTokenizer

SINGLE_BYTES = [bytes([byte]) for byte in range(256)]


def learned_tokenizer(text: str, size: int) -> ByteTokenizer:
    return ByteTokenizer(BPETokenizer(None).train(text, size).vocab.values())


class Recording(ByteTokenizer):
    """Keeps what is handed to `tokenize`."""

    def __init__(self, alphabet: list[bytes]) -> None:
        super().__init__(alphabet)
        self.read: list[bytes] = []

    def tokenize(self, text: bytes) -> list[int]:
        self.read.append(text)
        return super().tokenize(text)

    def read_bytes(self) -> int:
        return sum(map(len, self.read))


PROSE = learned_tokenizer(bpe.SAMPLE_EN, 340)
texts = st.integers(0, 3000).map(lambda size: (bpe.SAMPLE_EN.encode() * 4)[:size])
short_texts = st.text(alphabet="ab é", max_size=40).map(str.encode)
sizes = st.integers(1, 3000)


def prose(size: int) -> bytes:
    sentences = bpe.SAMPLE_EN.split(". ")
    rng = random.Random(size)
    return ". ".join(rng.choice(sentences) for _ in range(size // 50)).encode()[:size]


def log_lines(number: int, rng: random.Random) -> str:
    return "".join(
        f"2026-11-{rng.randint(1, 30):02} 12:{rng.randint(0, 59):02}:{rng.randint(0, 59):02} INFO "
        f"[worker-{rng.randint(0, 9)}] com.example.service.UserController - "
        f"GET /api/v1/users/{rng.randint(1000, 9999)}/profile HTTP/1.1 200\n"
        for _ in range(number)
    )


def errors(tokenizer: ByteTokenizer, text: bytes, sample_size: int, seeds: int) -> list[float]:
    """Return the errors of so many estimates, as shares of the exact count."""
    exact = len(tokenizer.tokenize(text))
    return [
        tokenizer.estimate_token_count(text, sample_size, random.Random(seed)) / exact - 1
        for seed in range(seeds)
    ]


def root_mean_square(values: list[float]) -> float:
    return sqrt(fmean(value * value for value in values))


@pytest.fixture(scope="module")
def of_log_lines() -> tuple[ByteTokenizer, bytes]:
    """Return a tokenizer whose tokens hold much of a line, and other such lines."""
    rng = random.Random(1)
    tokenizer = learned_tokenizer(log_lines(6000, rng), 4000)
    return tokenizer, log_lines(6000, rng).encode()[:400_000]


class TestBudget:
    @given(texts | short_texts, sizes | st.integers(1, 40), st.integers())
    def test_it_is_kept_over_all_calls(self, text: bytes, sample_size: int, seed: int) -> None:
        recording = Recording(PROSE.token_alphabet)
        estimate = recording.estimate_token_count(text, sample_size, random.Random(seed))
        assert 0 < recording.read_bytes() <= sample_size or text == b""
        assert bool(text) <= estimate <= len(text)
        if len(text) <= sample_size:
            assert recording.read == [text]
            assert estimate == len(PROSE.tokenize(text))

    def test_it_is_kept_where_tokens_get_longer_on_the_way(self) -> None:
        runs = [b" " * 2**power for power in range(1, 12)]
        recording = Recording([*SINGLE_BYTES, *runs])
        text = b"few bytes " * 2_000 + b" " * 40_000 + b"few bytes " * 2_000
        for sample_size in (100, 1000, 5000, 50_000):
            recording.read.clear()
            recording.estimate_token_count(text, sample_size, random.Random(sample_size))
            assert recording.read_bytes() <= sample_size

    @pytest.mark.parametrize(("sample_size", "seeds"), [(10, 2000), (1, 20_000)])
    def test_all_bytes_are_equally_likely_to_be_looked_at(
        self, sample_size: int, seeds: int
    ) -> None:
        recording = Recording(SINGLE_BYTES)
        for seed in range(seeds):
            recording.estimate_token_count(bytes(range(50)), sample_size, random.Random(seed))
        looks = Counter(b"".join(recording.read))
        assert sum(looks.values()) == 20_000
        assert all(abs(looks[byte] - 400) < 5 * 400**0.5 for byte in range(50))


class TestRandomness:
    @given(texts, sizes, st.integers())
    def test_the_same_seed_gives_the_same_answer(self, text: bytes, size: int, seed: int) -> None:
        one, other, third = (random.Random(seed) for _ in range(3))
        random.seed(seed)
        estimate = PROSE.estimate_token_count(text, size, one)
        assert PROSE.estimate_token_count(text, size, other) == estimate
        assert PROSE.estimate_token_count_interval(text, size, third)[0] == estimate

    def test_it_comes_from_rng_alone(self) -> None:
        state = random.getstate()
        text = prose(9000)
        estimates = {
            PROSE.estimate_token_count_interval(text, 300, random.Random(seed)) for seed in range(9)
        }
        assert random.getstate() == state
        assert len(estimates) > 1


class TestNearness:
    @pytest.mark.parametrize(
        ("sample_size", "seeds", "tolerance"),
        [(5000, 30, 0.06), (20_000, 10, 0.03), (200_000, 2, 0.01)],
    )
    def test_on_log_lines(
        self,
        of_log_lines: tuple[ByteTokenizer, bytes],
        sample_size: int,
        seeds: int,
        tolerance: float,
    ) -> None:
        found = errors(*of_log_lines, sample_size, seeds)
        assert root_mean_square(found) < tolerance
        assert abs(fmean(found)) < 0.02

    def test_on_code_and_log_lines(self, of_log_lines: tuple[ByteTokenizer, bytes]) -> None:
        tokenizer, lines = of_log_lines
        found = errors(tokenizer, prose(100_000) + lines[:100_000], 5000, 40)
        assert root_mean_square(found) < 0.15
        assert abs(fmean(found)) < 0.04

    def test_on_tokens_of_thousands_of_bytes(self) -> None:
        """One word of 1,024 pairs that all differ; it, its halves, their halves are tokens."""
        rng = random.Random(1)
        pairs = [bytes([first, second]) for first in range(32) for second in range(128, 160)]
        word = b"".join(rng.sample(pairs, 1024))
        tokens = [
            word[start : start + 2**power]
            for power in range(1, 12)
            for start in range(0, len(word), 2**power)
        ]
        tokenizer = ByteTokenizer([*SINGLE_BYTES, *tokens])
        assert len(tokenizer.tokenize(word)) == 1
        assert root_mean_square(errors(tokenizer, word * 75, 75_000, 3)) < 0.05

    @pytest.mark.parametrize("longest", [16, 128])
    def test_on_a_run_of_one_byte(self, longest: int) -> None:
        """Its tokens all begin at the same places of a chunk."""
        runs = [b"a" * 2**power for power in range(1, longest.bit_length())]
        tokenizer = ByteTokenizer([*SINGLE_BYTES, *runs])
        assert root_mean_square(errors(tokenizer, b"a" * 300_000, 20_000, 5)) < 0.01

    def test_on_tokens_that_break_into_single_bytes(self) -> None:
        """All that begins inside a token looks as if there were no tokens, until it ends."""
        word = random.Random(1).randbytes(200)
        chain = [word[:length] for length in range(2, len(word) + 1)]
        tokenizer = ByteTokenizer([*SINGLE_BYTES, *chain])
        assert root_mean_square(errors(tokenizer, word * 1000, 20_000, 20)) < 0.05

    @pytest.mark.parametrize(("sample_size", "tolerance"), [(1000, 0.20), (20_000, 0.05)])
    def test_on_ordinary_text(self, sample_size: int, tolerance: float) -> None:
        assert max(map(abs, errors(PROSE, prose(100_000), sample_size, 5))) <= tolerance

    def test_on_an_uneven_document(self) -> None:
        one = prose(60_000)
        text = one + b"7" * 30_000 + one[:20_000] + random.Random(7).randbytes(40_000)
        found = errors(PROSE, text, 5000, 40)
        assert abs(fmean(found)) < 0.01
        assert root_mean_square(found) < 0.03


class TestInterval:
    @given(texts | short_texts, sizes | st.integers(1, 40), st.integers())
    def test_the_estimate_lies_in_it(self, text: bytes, sample_size: int, seed: int) -> None:
        low, estimate, high = 0, 0, len(text)
        for confidence in (0.999, 0.95, 0.5, 0.01):  # each narrower than the one before
            wider = low, high
            estimate, low, high = PROSE.estimate_token_count_interval(
                text, sample_size, random.Random(seed), confidence
            )
            assert wider[0] <= low <= estimate <= high <= wider[1]
        if len(text) <= sample_size:
            assert low == estimate == high == len(PROSE.tokenize(text))

    @pytest.mark.parametrize("sample_size", [1000, 5000, 30_000])
    def test_it_holds_the_exact_count(self, sample_size: int) -> None:
        text = prose(40_000) + random.Random(7).randbytes(20_000)
        exact = len(PROSE.tokenize(text))
        held = Counter[bool]()
        for seed in range(100):
            _, low, high = PROSE.estimate_token_count_interval(
                text, sample_size, random.Random(seed)
            )
            held[low <= exact <= high] += 1
        assert held[True] >= 90

    def test_it_becomes_narrow(self) -> None:
        text = prose(60_000)
        widths = []
        for sample_size in (1000, 5000, 20_000, 59_000):
            _, low, high = PROSE.estimate_token_count_interval(text, sample_size, random.Random(1))
            widths.append(high - low)
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] < widths[0] / 20

    def test_chunks_that_are_all_alike_are_not_taken_for_certain(self) -> None:
        tokenizer = ByteTokenizer([*SINGLE_BYTES, b"ab", b"abc"])
        estimate, low, high = tokenizer.estimate_token_count_interval(
            b"ab" * 10_000, 2000, random.Random(1)
        )
        assert low < estimate == 10_000 < high

    @pytest.mark.parametrize("sample_size", [1, 10, 100, 1000, 4000])
    def test_where_tokens_are_longer_than_chunks(self, sample_size: int) -> None:
        tokenizer = ByteTokenizer([*SINGLE_BYTES, *[b"a" * 2**power for power in range(1, 13)]])
        text = b"a" * 4096 * 20
        for seed in range(5):
            estimate, low, _ = tokenizer.estimate_token_count_interval(
                text, sample_size, random.Random(seed)
            )
            assert low == 20 < estimate


class TestRefusals:
    @pytest.mark.parametrize("sample_size", [0, -1])
    def test_a_sample_of_nothing(self, sample_size: int) -> None:
        for count in (PROSE.estimate_token_count, PROSE.estimate_token_count_interval):
            with pytest.raises(ValueError, match=f"sample_size is {sample_size}"):
                count(b"abc", sample_size, random.Random(1))

    @pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0, float("nan"), float("inf")])
    def test_a_confidence_that_is_none(self, confidence: float) -> None:
        with pytest.raises(ValueError, match=f"confidence is {confidence}"):
            PROSE.estimate_token_count_interval(b"abc", 5, random.Random(1), confidence)

    @pytest.mark.parametrize("confidence", [1e-300, 1 - 2**-53])
    def test_an_extreme_confidence(self, confidence: float) -> None:
        text = prose(9000)
        estimate, low, high = PROSE.estimate_token_count_interval(
            text, 900, random.Random(1), confidence
        )
        assert low <= estimate <= high

    def test_a_wrong_type(self) -> None:
        rng = random.Random(1)
        count: Any
        for count in (PROSE.estimate_token_count, PROSE.estimate_token_count_interval):
            with pytest.raises(TypeError, match="text must be bytes, not str"):
                count("abc", 5, rng)
            with pytest.raises(TypeError, match="sample_size must be int, not float"):
                count(b"abc", 2.0, rng)
            with pytest.raises(TypeError, match="rng must be Random, not int"):
                count(b"abc", 5, 1)
        with pytest.raises(TypeError, match="confidence must be float, not int"):
            count(b"abc", 5, rng, 95)
