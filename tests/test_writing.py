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
def test_a_pipe_is_written_to(tmp_path: Path, make: Callable[[BPETokenizer, Path], None]) -> None:
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(temporary: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "no", str(temporary), None, str(target))

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(PermissionError) as refusal:
        BPETokenizer().save(tmp_path / "t.json")
    assert str(refusal.value) == f"[Errno 1] no: {str(tmp_path / 't.json')!r}"
    assert list(tmp_path.iterdir()) == []
