"""Beside the libraries people deploy with: the same ids, the same text, the same rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpe
from bpe import DIGIT_SPLIT_PATTERN, GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, BPETokenizer
from strategies import small_text

CORPUS = (Path(__file__).parent / "data" / "tokenizer_corpus.txt").read_text(encoding="utf-8")
TRAINING, HELD_OUT = CORPUS.split("=== held out ===\n")
SPECIAL = ["<|end|>", "<|end|>!", "<|끝|>", "[a b]"]
PATTERNS = [GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, DIGIT_SPLIT_PATTERN, None]

SAMPLES = {
    "prose": HELD_OUT,
    "code": Path(bpe.__file__).read_text(encoding="utf-8"),
    "hangul": bpe.SAMPLE_KO,
    "emoji": "👨‍👩‍👧‍👦👍🏽🇰🇷 x🎉\u200d 𝒳𝟙 \U0001f9d1\u200d\U0001f680",
    "white space": " a  b\t\t\r\n\r\n \n   c\x1c\x85\xa0\u3000d  ",
    "special tokens": "one<|end|>two<|end|>!three <|끝|>[a b] four<|end|><|end|>",
}


def trained(pattern: str | None) -> BPETokenizer:
    tokenizer = BPETokenizer(pattern, SPECIAL)
    tokenizer.train(TRAINING.splitlines(keepends=True), 1500)
    tokenizer.register_special_tokens({"<|pad|>": 5000})
    return tokenizer


@pytest.fixture(scope="module", params=PATTERNS, ids=["gpt2", "gpt4", "digits", "none"])
def tokenizer(request: pytest.FixtureRequest) -> BPETokenizer:
    return trained(request.param)


def as_huggingface(tokenizer: BPETokenizer, folder: Path) -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    tokenizer.to_huggingface(folder / "tokenizer.json")
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def as_tiktoken(tokenizer: BPETokenizer) -> Any:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    return tiktoken.Encoding(
        "ours",
        pat_str=tokenizer.pattern or "(?s).+",
        mergeable_ranks=tokenizer.mergeable_ranks(),
        special_tokens={"<|end|>": tokenizer.special_tokens["<|end|>"]},  # it knows no longest
    )


def test_huggingface_gives_the_same_ids_and_the_same_text(
    tokenizer: BPETokenizer, tmp_path: Path
) -> None:
    peer = as_huggingface(tokenizer, tmp_path)
    for text in [*SAMPLES.values(), "a<|pad|>b"]:
        ids = tokenizer.encode(text)
        assert peer.encode(text).ids == ids
        assert peer.decode(ids, skip_special_tokens=False) == text
    for name, token in tokenizer.special_tokens.items():
        assert peer.token_to_id(name) == token
    assert peer.get_vocab_size() == len(tokenizer.vocab)


def test_tiktoken_gives_the_same_ids_and_the_same_text(tokenizer: BPETokenizer) -> None:
    peer = as_tiktoken(tokenizer)
    for text in SAMPLES.values():
        assert peer.encode_ordinary(text) == tokenizer.encode_ordinary(text)
        ids = tokenizer.encode(text, allowed_special=["<|end|>"])
        assert peer.encode(text, allowed_special="all") == ids
        assert peer.decode(ids) == text


def test_any_text_that_no_pattern_cuts(tmp_path: Path) -> None:
    """With a pattern, only the Unicode versions of the libraries would be compared."""
    tokenizer = trained(None)
    huggingface, tiktoken = as_huggingface(tokenizer, tmp_path), as_tiktoken(tokenizer)

    @given(text=st.text(max_size=100) | st.text(alphabet=" abtheè한", max_size=100))
    def compare(text: str) -> None:
        ids = tokenizer.encode_ordinary(text)
        assert huggingface.encode(text).ids == tokenizer.encode(text)
        assert tiktoken.encode_ordinary(text) == ids
        assert huggingface.decode(ids) == tiktoken.decode(ids) == text

    compare()


def test_tiktoken_reads_the_rank_file(tmp_path: Path) -> None:
    load = pytest.importorskip("tiktoken.load", reason="tiktoken is not installed")
    tokenizer = trained(GPT4_SPLIT_PATTERN)
    tokenizer.to_tiktoken(tmp_path / "ranks.tiktoken")
    ranks = load.load_tiktoken_bpe(str(tmp_path / "ranks.tiktoken"))
    assert ranks == tokenizer.mergeable_ranks()


@settings(max_examples=60)
@given(words=st.lists(small_text.filter(bool), min_size=1, max_size=30))
def test_huggingfaces_trainer_learns_the_same_rules(words: list[str]) -> None:
    """Its ids order the bytes otherwise than ours, but not those of visible ASCII."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    peer.pre_tokenizer = byte_level(add_prefix_space=False, use_regex=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=280,
        min_frequency=bpe.MIN_PAIR_COUNT,
        initial_alphabet=byte_level.alphabet(),
        show_progress=False,
    )
    peer.train_from_iterator(words, trainer)
    learned = sorted((token, name) for name, token in peer.get_vocab().items() if token >= 256)
    ours = BPETokenizer(None).train(words, 280)
    assert [name.encode() for _, name in learned] == [ours.vocab[t] for t in ours.merges.values()]
