"""The report: current, reproducible, and as the contract says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bpe
import make_report

ROOT = Path(make_report.__file__).parent
NAMES = ["token_report.json", "token_report.md"]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / NAMES[0]).read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / NAMES[1]).read_text(encoding="utf-8")


def test_the_committed_reports_are_current(tmp_path: Path) -> None:
    make_report.main(["--output-dir", str(tmp_path / "new")])
    for name in NAMES:
        assert (tmp_path / "new" / name).read_bytes() == (ROOT / name).read_bytes(), name
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == NAMES


def test_two_files_alone_suffice_and_write_beside_themselves(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    for name in ("bpe.py", "make_report.py"):
        shutil.copy(ROOT / name, home)
    done = subprocess.run(
        [sys.executable, "-B", str(home / "make_report.py")],
        cwd=elsewhere,
        capture_output=True,
        check=True,
    )
    lines = done.stdout.decode("utf-8").splitlines()
    assert [Path(line) for line in lines[:2]] == [home / name for name in NAMES]
    assert len(lines) == 6
    assert list(elsewhere.iterdir()) == []
    for name in NAMES:
        assert (home / name).read_bytes() == (ROOT / name).read_bytes(), name


def test_the_keys_and_their_order(report: dict[str, Any]) -> None:
    assert list(report) == (
        "vocab_size ko_chars ko_bytes en_chars en_bytes shared_rules en_only_rules "
        "ko_tokens_shared en_tokens_shared ko_tokens_en_only en_tokens_en_only "
        "ko_bytes_per_token en_bytes_per_token curve roundtrip_ok"
    ).split(" ")


def test_the_figures_are_what_the_module_gives(report: dict[str, Any]) -> None:
    joined = bpe.SAMPLE_KO + "\n" + bpe.SAMPLE_EN
    shared, en_only = bpe.train(joined, 512), bpe.train(bpe.SAMPLE_EN, 512)
    ko_tokens, en_tokens = (
        len(bpe.encode(text, shared)) for text in (bpe.SAMPLE_KO, bpe.SAMPLE_EN)
    )
    ko_bytes, en_bytes = (len(text.encode()) for text in (bpe.SAMPLE_KO, bpe.SAMPLE_EN))
    assert report == {
        "vocab_size": 512,
        "ko_chars": len(bpe.SAMPLE_KO),
        "ko_bytes": ko_bytes,
        "en_chars": len(bpe.SAMPLE_EN),
        "en_bytes": en_bytes,
        "shared_rules": len(shared),
        "en_only_rules": len(en_only),
        "ko_tokens_shared": ko_tokens,
        "en_tokens_shared": en_tokens,
        "ko_tokens_en_only": len(bpe.encode(bpe.SAMPLE_KO, en_only)),
        "en_tokens_en_only": len(bpe.encode(bpe.SAMPLE_EN, en_only)),
        "ko_bytes_per_token": ko_bytes / ko_tokens,
        "en_bytes_per_token": en_bytes / en_tokens,
        "curve": [
            [size, len(bpe.encode(joined, bpe.train(joined, size)))]
            for size in (256, 320, 384, 512)
        ],
        "roundtrip_ok": True,
    }


def test_the_sections_of_the_page(page: str) -> None:
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == [
        "무엇을 쟀나",
        "어휘를 키우면 토큰이 어떻게 줄었나",
        "한국어가 손해를 보는 이유",
        "바이트 수준이라 안 깨지는 것",
    ]


def test_the_page_shows_the_reports_integers(page: str, report: dict[str, Any]) -> None:
    shown = set(re.findall(r"\d+(?:\.\d+)?", page))
    whole = [value for value in report.values() if type(value) is int]
    curve = [number for point in report["curve"] for number in point]
    assert {str(number) for number in [*whole, *curve]} <= shown
    assert f"{report['ko_bytes_per_token']:.2f}" in shown


def test_a_bar_beside_each_point_of_the_curve(page: str, report: dict[str, Any]) -> None:
    bars = {int(size): len(bar) for size, bar in re.findall(r"\| (\d+) \|.*\| (█+) \|", page)}
    assert list(bars) == [size for size, _ in report["curve"]]
    largest = max(tokens for _, tokens in report["curve"])
    for size, tokens in report["curve"]:
        assert bars[size] == round(40 * tokens / largest)


def test_the_tables_hold_what_training_never_saw(page: str) -> None:
    section = page.split("## 바이트 수준이라 안 깨지는 것")[1]
    for text in make_report.UNSEEN.values():
        assert text not in bpe.SAMPLE_KO + bpe.SAMPLE_EN
        assert make_report._visible(text) in section
    assert "아니요" not in section
    assert "\ufffd" in section


def test_a_full_vocabulary_is_worded_as_such() -> None:
    sentence = make_report._early_stop({"shared_rules": 256, "en_only_rules": 256})
    assert sentence == "두 어휘 모두 규칙 256개를 다 채웠다."
