"""Saving, loading and handing over: nothing lost, and nothing in a file is trusted."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bpe
from bpe import GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, BPETokenizer
from strategies import some_text

TEXT = "the cat sat on the mat, the rat that sat 한글 한국\n" * 3

Content = dict[str, Any]
one_folder_serves = settings(
    max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def trained(pattern: str | None = GPT4_SPLIT_PATTERN) -> BPETokenizer:
    tokenizer = BPETokenizer(pattern, ["<|end|>", "<|끝|>"])
    tokenizer.register_special_tokens({"<|pad|>": 5000})
    return tokenizer.train(TEXT, 280)


def state(tokenizer: BPETokenizer) -> tuple[object, ...]:
    return (
        tokenizer.pattern,
        list(tokenizer.merges.items()),
        tokenizer.vocab,
        tokenizer.special_tokens,
    )


class TestSaveAndLoad:
    @one_folder_serves
    @given(text=some_text, pattern=st.sampled_from([GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, None]))
    def test_a_loaded_tokenizer_is_the_saved_one(
        self, tmp_path: Path, text: str, pattern: str | None
    ) -> None:
        tokenizer = trained(pattern)
        tokenizer.save(tmp_path / "t.json")
        loaded = BPETokenizer().load(tmp_path / "t.json")
        assert state(loaded) == state(tokenizer)
        assert loaded.encode(text) == tokenizer.encode(text)
        again = BPETokenizer("x", ["gone"]).train("xyxy", 257)
        assert again.load(str(tmp_path / "t.json")) is again
        assert state(again) == state(tokenizer)
        assert again.pretokenize(text) == tokenizer.pretokenize(text)

    def test_which_ids_were_chosen_is_kept(self, tmp_path: Path) -> None:
        trained().save(tmp_path / "t.json")
        loaded = BPETokenizer().load(tmp_path / "t.json").train(TEXT, 260)
        assert loaded.special_tokens == {"<|end|>": 260, "<|끝|>": 261, "<|pad|>": 5000}

    def test_the_file_is_readable_line_by_line(self, tmp_path: Path) -> None:
        tokenizer = BPETokenizer(None, ["<|끝|>"]).train("ababab", 258)
        tokenizer.save(tmp_path / "t.json")
        assert (tmp_path / "t.json").read_text(encoding="utf-8") == (
            '{\n "version": 1,\n "pattern": null,\n "special_tokens": {"<|끝|>": 258},\n'
            ' "chosen_ids": [],\n "merges": [\n  [97, 98],\n  [256, 256]\n ]\n}\n'
        )

    def test_saving_replaces_as_a_whole(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "t.json"
        trained().save(path)
        before = path.read_bytes()

        def fails(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(Path, "replace", fails)
        with pytest.raises(OSError, match="disk full"):
            BPETokenizer().save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_permissions_stay(self, tmp_path: Path) -> None:
        path = tmp_path / ("n" * 250)
        trained().save(path)
        path.chmod(0o640)
        trained().save(path)
        assert path.stat().st_mode & 0o777 == 0o640

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError) as refusal:
            trained().save(tmp_path / "none" / "t.json")
        assert refusal.value.filename == str(tmp_path / "none")

    def test_many_may_save_at_once(self, tmp_path: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(trained().save, [tmp_path / "t.json"] * 100))
        assert state(BPETokenizer().load(tmp_path / "t.json")) == state(trained())
        assert len(list(tmp_path.iterdir())) == 1

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
        trained().save(tmp_path / "link.json")
        assert (tmp_path / "link.json").is_symlink()
        assert (tmp_path / "real.json").is_file()

    def test_a_missing_file_is_pythons_own_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            BPETokenizer().load(tmp_path / "none.json")

    def test_two_tokens_of_the_same_bytes_are_kept(self, tmp_path: Path) -> None:
        write(tmp_path / "t.json", merges=[[97, 97], [97, 256], [256, 97]])
        tokenizer = BPETokenizer().load(tmp_path / "t.json")
        assert tokenizer.vocab[257] == tokenizer.vocab[258] == b"aaa"
        tokenizer.save(tmp_path / "again.json")
        assert state(BPETokenizer().load(tmp_path / "again.json")) == state(tokenizer)
        exports: list[Callable[[], object]] = [
            tokenizer.mergeable_ranks,
            lambda: tokenizer.to_tiktoken(tmp_path / "ranks"),
            lambda: tokenizer.to_huggingface(tmp_path / "tokenizer.json"),
        ]
        for export in exports:
            with pytest.raises(ValueError, match="tokens 257 and 258 spell the same bytes b'aaa'"):
                export()


def write(path: Path, **changes: object) -> None:
    content: Content = {
        "version": 1,
        "pattern": None,
        "special_tokens": {"<|end|>": 300},
        "chosen_ids": [],
        "merges": [[97, 98], [256, 99]],
    }
    path.write_text(json.dumps(content | changes), encoding="utf-8")


BAD_FILES = [
    ({"version": 2}, "version 2 is not 1"),
    ({"version": True}, "version True is not 1"),
    ({"version": None}, "version None is not 1"),
    ({"extra": 1}, "not a tokenizer"),
    ({"pattern": 5}, "pattern is neither a string nor null"),
    ({"pattern": "("}, "invalid split pattern"),
    ({"pattern": r"\p{Foo}"}, "invalid split pattern"),
    ({"special_tokens": ["<|end|>"]}, "special_tokens is not an object of ids"),
    ({"special_tokens": {"x": "300"}}, "special_tokens is not an object of ids"),
    ({"special_tokens": {"x": True}}, "special_tokens is not an object of ids"),
    ({"special_tokens": {"x": 3.5}}, "special_tokens is not an object of ids"),
    ({"special_tokens": {"x": 257}}, "'x' cannot have the id 257: it is taken"),
    ({"special_tokens": {"x": 400, "y": 400}}, "'y' cannot have the id 400: it is taken"),
    ({"special_tokens": {"x": -1}}, "'x' cannot have the id -1"),
    ({"special_tokens": {"": 300}}, "cannot be empty"),
    ({"special_tokens": {"\ud800": 300}}, "surrogates not allowed"),
    ({"chosen_ids": ["y"]}, "chosen_ids is not a list of names"),
    ({"chosen_ids": [[]]}, "chosen_ids is not a list of names"),
    ({"chosen_ids": {}}, "chosen_ids is not a list of names"),
    ({"merges": {}}, "merges is not a list"),
    ({"merges": [[97, 98, 99]]}, "rule 0 is not a pair of ids"),
    ({"merges": [[97, 98], "ab"]}, "rule 1 is not a pair of ids"),
    ({"merges": [[97, 98.0]]}, "rule 0 is not a pair of ids"),
    ({"merges": [[True, 98]]}, "rule 0 is not a pair of ids"),
    ({"merges": [[97, 256]]}, "rule 0 uses token 256, which is not defined yet"),
    ({"merges": [[97, -1]]}, "rule 0 uses token -1, which is not defined yet"),
    ({"merges": [[97, 98], [97, 98]]}, "rule 1 repeats the pair"),
    ({"merges": [[97, 97], *([n, n] for n in range(256, 300))]}, "the tokens exceed 268435456"),
]


class TestDistrust:
    @pytest.mark.parametrize(("changes", "fault"), BAD_FILES)
    def test_a_bad_file_is_refused_and_nothing_lost(
        self, tmp_path: Path, changes: Content, fault: str
    ) -> None:
        path = tmp_path / "bad.json"
        write(path, **changes)
        self.refused(path, fault)

    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            (b"", "Expecting value"),
            (b"{", "Expecting property name"),
            (b"[1]", "not a tokenizer"),
            (b"\xff\xfe", "codec can't decode"),
            (b"[" * 100_000, "recursion"),
            (b'{"version": 1, "version": 1}', "the key 'version' stands twice"),
            (b'{"version": ' + b"9" * 10_000 + b"}", "integer string conversion"),
        ],
    )
    def test_what_is_not_even_such_an_object(self, tmp_path: Path, data: bytes, fault: str) -> None:
        path = tmp_path / "bad.json"
        path.write_bytes(data)
        self.refused(path, fault)

    @one_folder_serves
    @given(data=st.data())
    def test_a_mutated_file_raises_nothing_but_a_value_error(
        self, tmp_path: Path, data: st.DataObject
    ) -> None:
        path = tmp_path / "t.json"
        trained().save(path)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            start = data.draw(st.integers(0, len(content)))
            stop = data.draw(st.integers(start, min(start + 9, len(content))))
            content[start:stop] = data.draw(
                st.binary(max_size=3) | st.sampled_from([b"[", b"]", b"-", b"9", b'"', b"null"])
            )
        path.write_bytes(content)
        tokenizer = BPETokenizer()
        message = ""
        try:
            tokenizer.load(path)
        except ValueError as fault:
            message = str(fault)
        if message:
            assert str(path) in message
            assert state(tokenizer) == state(BPETokenizer())
        assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT

    def refused(self, path: Path, fault: str) -> None:
        tokenizer = trained()
        before = state(tokenizer)
        with pytest.raises(ValueError, match=fault) as refusal:
            tokenizer.load(path)
        assert str(path) in str(refusal.value)
        assert state(tokenizer) == before
        assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT


class TestExports:
    def test_ranks_are_the_bytes_and_the_learned_tokens(self) -> None:
        tokenizer = trained()
        ranks = tokenizer.mergeable_ranks()
        assert list(ranks.values()) == list(range(280))
        assert all(ranks[tokenizer.vocab[token]] == token for token in range(280))

    def test_tiktokens_file(self, tmp_path: Path) -> None:
        tokenizer = trained()
        tokenizer.to_tiktoken(tmp_path / "ranks.tiktoken")
        lines = (tmp_path / "ranks.tiktoken").read_text().splitlines()
        pairs = [line.split(" ") for line in lines]
        assert {base64.b64decode(data): int(rank) for data, rank in pairs} == (
            tokenizer.mergeable_ranks()
        )

    def test_a_token_that_is_never_reached_is_refused_for_tiktoken(self, tmp_path: Path) -> None:
        write(tmp_path / "t.json", merges=[[97, 98], [98, 99], [97, 257]])
        tokenizer = BPETokenizer().load(tmp_path / "t.json")
        with pytest.raises(ValueError, match=r"token 258 is never reached: .* \[256, 99\]"):
            tokenizer.mergeable_ranks()
        tokenizer.to_huggingface(tmp_path / "tokenizer.json")

    def test_huggingfaces_file(self, tmp_path: Path) -> None:
        tokenizer = trained()
        tokenizer.to_huggingface(tmp_path / "tokenizer.json")
        content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
        assert len(content["model"]["vocab"]) == 283
        assert content["model"]["vocab"]["Ġcat"] == tokenizer.encode(" cat")[0]
        assert len(content["model"]["merges"]) == 24
        assert [token["id"] for token in content["added_tokens"]] == [280, 281, 5000]

    @pytest.mark.parametrize(
        ("special", "fault"),
        [
            ({"at": 300}, "spelled like token 256"),
            ({"a": 300}, "spelled like token 97"),
            ({"éé": 300}, "as bytes"),
            ({"<|end|>": 2**32}, "the id 4294967296 .* is too large"),
        ],
    )
    def test_a_special_token_that_it_would_confuse_is_refused(
        self, tmp_path: Path, special: dict[str, int], fault: str
    ) -> None:
        tokenizer = BPETokenizer().train("cat cat", 300)
        tokenizer.register_special_tokens(special)
        with pytest.raises(ValueError, match=fault):
            tokenizer.to_huggingface(tmp_path / "tokenizer.json")
        assert list(tmp_path.iterdir()) == []


def test_bytes_are_spelled_as_in_gpt2s_vocabulary() -> None:
    spelling = bpe._byte_spelling()
    assert len(set(spelling)) == 256
    assert [spelling[byte] for byte in b" \n\t\x00\x7f\xadA~"] == list("ĠĊĉĀġŃA~")
