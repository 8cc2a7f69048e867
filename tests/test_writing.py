"""Where files may be written, and what is said where they may not."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bpe import BPETokenizer


def trained() -> BPETokenizer:
    return BPETokenizer().train("low lower lowest", 260)

    @pytest.mark.parametrize("make", [BPETokenizer.save, BPETokenizer.to_huggingface])
    def test_a_pipe_is_written_to(
        self, tmp_path: Path, make: Callable[[BPETokenizer, Path], None]
    ) -> None:
        make(trained(), tmp_path / "t.json")
        os.mkfifo(tmp_path / "pipe")
        with ThreadPoolExecutor(1) as pool:
            received = pool.submit((tmp_path / "pipe").read_bytes)
            make(trained(), tmp_path / "pipe")
            assert received.result() == (tmp_path / "t.json").read_bytes()
        assert (tmp_path / "pipe").is_fifo()
        assert len(list(tmp_path.iterdir())) == 2

    def test_a_device_is_written_to() -> None:
        trained().save(os.devnull)
        assert Path(os.devnull).is_char_device()
        if Path("/dev/full").is_char_device():
            with pytest.raises(OSError, match="No space left"):
                trained().save("/dev/full")

    def test_a_link_to_a_pipe_without_a_name_is_written_to() -> None:
        reading, writing = os.pipe()
        with open(reading, "rb") as received:  # noqa: PTH123
            BPETokenizer().save(f"/dev/fd/{writing}")
            os.close(writing)
            assert json.load(received)["merges"] == []

    @pytest.mark.parametrize("path", ["/", "."])
    def test_a_folder_is_refused(path: str) -> None:
        with pytest.raises(IsADirectoryError) as refusal:
            BPETokenizer().save(path)
        assert refusal.value.filename == path

    def test_an_empty_path_is_named_as_such() -> None:
        with pytest.raises(FileNotFoundError, match=r"the path .* is empty"):
            BPETokenizer().save("")

    def test_a_folder_that_cannot_be_written_is_the_targets_fault(tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        folder = tmp_path if os.geteuid() else Path("/proc")  # not even by root
        with pytest.raises(OSError, match=str(folder)) as refusal:
            BPETokenizer().save(folder / "t.json")
        assert refusal.value.filename == str(folder / "t.json")
        assert refusal.value.filename2 is None
        assert ".tmp" not in str(refusal.value)
        tmp_path.chmod(0o700)

    def test_an_error_while_replacing_names_the_target(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(temporary: Path, target: Path) -> None:
            raise PermissionError(errno.EPERM, "no", str(temporary), None, str(target))

        monkeypatch.setattr(Path, "replace", fails)
        with pytest.raises(PermissionError) as refusal:
            BPETokenizer().save(tmp_path / "t.json")
        assert str(refusal.value) == f"[Errno 1] no: {str(tmp_path / 't.json')!r}"
        assert list(tmp_path.iterdir()) == []

    def test_many_may_save_at_once(tmp_path: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(trained().save, [tmp_path / "t.json"] * 100))
        assert state(BPETokenizer().load(tmp_path / "t.json")) == state(trained())
        assert len(list(tmp_path.iterdir())) == 1

    def test_a_link_stays_a_link(tmp_path: Path) -> None:
        (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
        trained().save(tmp_path / "link.json")
        assert (tmp_path / "link.json").is_symlink()
        assert (tmp_path / "real.json").is_file()

    def test_a_missing_file_is_pythons_own_error(tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            BPETokenizer().load(tmp_path / "none.json")

    def test_two_tokens_of_the_same_bytes_are_kept(tmp_path: Path) -> None:
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
