"""The other tokenizers, each set up to do what ours does.

They come with the extra `benchmarks`, and each is imported only where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bpe


def train_huggingface(documents: Iterable[str], pattern: str, vocab_size: int) -> Any:
    """Train Hugging Face's tokenizers as `BPETokenizer` trains."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        initial_alphabet=byte_level.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def train_rustbpe(documents: Iterable[str], pattern: str, vocab_size: int) -> Any:
    """Train rustbpe on the same."""
    from rustbpe import Tokenizer

    tokenizer = Tokenizer()
    tokenizer.train_from_iterator(iter(documents), vocab_size, pattern=pattern)
    return tokenizer


def as_huggingface(tokenizer: bpe.BPETokenizer) -> Any:
    """Return what Hugging Face's tokenizers read from our export."""
    from tokenizers import Tokenizer

    with TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        tokenizer.to_huggingface(path)
        return Tokenizer.from_file(str(path))


def as_tiktoken(ranks: dict[bytes, int], pattern: str) -> Any:
    """Return tiktoken's encoding with these tokens and this split."""
    from tiktoken import Encoding

    return Encoding("these", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
