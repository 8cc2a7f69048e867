"""How many tokens a vocabulary needs: 512, 2,048 and 8,192 tokens, beside Hugging Face's.

`BPETokenizer` and, where they are installed, Hugging Face's tokenizers are trained on the
same text with the same split pattern: the training half of the tests' corpus and sources
that come with Python. Then both encode text that was not in it. Words are what stands
between white space.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from textwrap import indent
from typing import Any, NamedTuple

from common import (
    Table,
    argument_parser,
    bpe,
    corpus_halves,
    corpus_section,
    encoding_seconds,
    machine_line,
    peer,
    python_name,
    running,
    size_text,
    standard_library_file,
    standard_library_text,
    train_huggingface,
)

VOCABULARY_SIZES = (512, 2_048, 8_192)
LEARNED_SIZE = 3_000_000  # characters of the standard library's sources
HELD_OUT_FILE = "textwrap.py"
COUNT_COLUMNS = {
    "vocabulary": ">",
    "text": "<",
    "bytes": ">",
    "tokens": ">",
    "bytes/token": ">",
    "tokens/word": ">",
    "tokenizers: tokens": ">",
    "tokenizers: bytes/token": ">",
    "tokenizers: tokens/word": ">",
}
SPEED_COLUMNS = {"vocabulary": ">", "first pass MB/s": ">", "warm MB/s": ">"}


class Pair(NamedTuple):
    """What was trained to one size: ours, and Hugging Face's if it is installed."""

    ours: bpe.BPETokenizer
    theirs: Any | None


def train_pairs(documents: Sequence[str]) -> dict[int, Pair]:
    """Train to every size. Ours counts the pre-tokens only once."""
    splitter = bpe.BPETokenizer()
    with running("counting pre-tokens"):
        counts = Counter(chain.from_iterable(map(splitter.pretokenize, documents)))
    pairs = {}
    for size in VOCABULARY_SIZES:
        with running(f"training to {size:,}"):
            ours = bpe.BPETokenizer().train_from_counts(counts, size)
            theirs = None
            if peer("tokenizers"):
                theirs = train_huggingface(documents, bpe.GPT4_SPLIT_PATTERN, size)
        pairs[size] = Pair(ours, theirs)
    return pairs


def count_table(pairs: dict[int, Pair], texts: dict[str, str]) -> Table:
    """Return how many tokens each text becomes with each vocabulary."""
    table = Table(COUNT_COLUMNS)
    for size, (ours, theirs) in pairs.items():
        for name, text in texts.items():
            table.add(
                f"{size:,}",
                name,
                f"{len(text.encode('utf-8')):,}",
                *_count_cells(len(ours.encode_ordinary(text)), text),
                *(_count_cells(len(theirs.encode(text).ids), text) if theirs else "---"),
            )
    return table


def _count_cells(token_count: int, text: str) -> tuple[str, str, str]:
    size, words = len(text.encode("utf-8")), len(text.split())
    return f"{token_count:,}", f"{size / token_count:.2f}", f"{token_count / words:.2f}"


def speed_table(pairs: dict[int, Pair], text: str) -> Table:
    """Return how fast `text` is encoded with each vocabulary."""
    table = Table(SPEED_COLUMNS)
    megabytes = len(text.encode("utf-8")) / 1e6
    for size, (ours, _) in pairs.items():
        with running(f"encoding with {size:,} tokens"):
            first_pass, warm, _ = encoding_seconds(ours, text)
        table.add(f"{size:,}", f"{megabytes / first_pass:.1f}", f"{megabytes / warm:.1f}")
    return table


def segmentations(pairs: dict[int, Pair], text: str) -> str:
    """Return `text` as each vocabulary cuts it, with a bar between two tokens."""
    parts = []
    for size, (ours, _) in pairs.items():
        token_count = len(ours.encode_ordinary(text))
        cut = ours.show(text, color=False).replace("\n", "\\n\n")
        parts.append(f"With {size:,} tokens, {token_count} of them:\n\n{indent(cut, '    ')}")
    return "\n\n".join(parts)


def held_out_texts(held_out: str) -> dict[str, str]:
    return {
        "English prose": corpus_section(held_out, "prose"),
        "SAMPLE_EN": bpe.SAMPLE_EN,
        "SAMPLE_KO": bpe.SAMPLE_KO,
        HELD_OUT_FILE: standard_library_file(HELD_OUT_FILE),
    }


def what_was_used(learned: str, training: str) -> str:
    """Return what the numbers come from, to stand beneath the tables."""
    return (
        f"Trained on the training half of the corpus ({_bytes_text(training)}) and on the first "
        f"{_bytes_text(learned)} of the standard library's sources of {python_name()}, "
        f"without {HELD_OUT_FILE}, split by the GPT-4 pattern. Words are what stands between "
        "white space. Columns headed tokenizers: Hugging Face's, trained on the same text with "
        "the same split."
    )


def _bytes_text(text: str) -> str:
    return size_text(len(text.encode("utf-8")))


def main() -> None:
    arguments = argument_parser(__doc__).parse_args()
    learned_size, unseen_size = (250_000, 100_000) if arguments.quick else (LEARNED_SIZE, 1_000_000)
    training, held_out = corpus_halves()
    sources = standard_library_text(learned_size + unseen_size, leave_out=HELD_OUT_FILE)
    learned, unseen = sources[:learned_size], sources[learned_size:]
    pairs = train_pairs([training, learned])
    prose, code = corpus_section(held_out, "prose"), corpus_section(held_out, "code")
    sentence = prose[: prose.index(".") + 1].replace("\n", " ")
    few_lines = "\n".join(code.splitlines()[3:8])
    print(
        count_table(pairs, held_out_texts(held_out)),
        what_was_used(learned, training),
        speed_table(pairs, unseen),
        f"Encoding the {_bytes_text(unseen)} of sources that follow. {machine_line()}",
        segmentations(pairs, sentence),
        segmentations(pairs, few_lines),
        sep="\n\n",
    )


if __name__ == "__main__":
    main()
