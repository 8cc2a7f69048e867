"""The report: current, reproducible, true, and written wherever it can be."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import bpe
import make_report
import reference
from bpe import SAMPLE_EN, SAMPLE_KO

ROOT = Path(make_report.__file__).parent
NAMES = ["token_report.json", "token_report.md"]
JOINED = SAMPLE_KO + "\n" + SAMPLE_EN
TEXTS = {"ko": SAMPLE_KO, "en": SAMPLE_EN}
RULES = {  # the textbook's, not the module's
    "shared": reference.train(JOINED, 512),
    "en_only": reference.train(SAMPLE_EN, 512),
}
COUNTS = {
    f"{language}_tokens_{vocabulary}": len(reference.encode(text, rules))
    for language, text in TEXTS.items()
    for vocabulary, rules in RULES.items()
}


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / NAMES[0]).read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def page() -> str:
    """Return the page with every line break inside a paragraph turned into a space."""
    text = (ROOT / NAMES[1]).read_text(encoding="utf-8")
    return re.sub(r"(?<=[^\n|`])\n(?=[^\n|`])", " ", text)


def run(script: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-B", str(script), *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, check=False, **options)


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
    done = run(home / "make_report.py", cwd=elsewhere, stdout=subprocess.PIPE)
    lines = done.stdout.decode("utf-8").splitlines()
    assert [Path(line) for line in lines[:2]] == [home / name for name in NAMES]
    assert len(lines) == 6
    assert list(elsewhere.iterdir()) == []
    for name in NAMES:
        assert (home / name).read_bytes() == (ROOT / name).read_bytes(), name


class TestWhatCanGoWrong:
    @pytest.mark.parametrize(
        "settings", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}], ids=str
    )
    def test_a_name_that_standard_output_cannot_show(
        self, tmp_path: Path, settings: dict[str, str]
    ) -> None:
        folder = tmp_path / "한글"
        done = run(
            ROOT / "make_report.py",
            "--output-dir",
            str(folder),
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert sorted(path.name for path in folder.iterdir()) == NAMES
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        assert [line.rpartition(os.sep)[2] for line in lines[:2]] == NAMES
        assert len(lines) == 6

    def test_nobody_reads_what_is_printed(self, tmp_path: Path) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = run(
                ROOT / "make_report.py",
                "--output-dir",
                str(tmp_path),
                env={**os.environ, "PYTHONUNBUFFERED": ""},  # the last moment to fail is the end
                stdout=writing,
            )
        finally:
            os.close(writing)
        assert (done.returncode, done.stderr) == (0, b"")
        assert sorted(path.name for path in tmp_path.iterdir()) == NAMES

    @pytest.mark.parametrize("obstacle", ["a file for a folder", "a folder for a file"])
    def test_a_place_that_cannot_be_written(self, tmp_path: Path, obstacle: str) -> None:
        folder = tmp_path / "reports"
        if obstacle == "a file for a folder":
            folder.write_text("")
        else:
            (folder / NAMES[1] / "full").mkdir(parents=True)
        done = run(ROOT / "make_report.py", "--output-dir", str(folder), stdout=subprocess.PIPE)
        assert (done.returncode, done.stdout) == (1, b"")
        start = f"make_report.py: cannot write {folder}{os.sep}token_report."
        assert done.stderr.decode().startswith(start)
        assert done.stderr.count(b"\n") == 1
        assert b".tmp" not in done.stderr

    def test_a_folder_without_permission(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path, content: str) -> None:
            raise PermissionError(13, "Permission denied", str(path.with_name(".0123.tmp")))

        monkeypatch.setattr(bpe, "write_atomically", refuse)
        with pytest.raises(SystemExit) as stopped:
            make_report.main(["--output-dir", str(tmp_path)])
        place = tmp_path / NAMES[0]
        assert stopped.value.code == f"make_report.py: cannot write {place}: Permission denied"

    def test_an_older_python_is_told_before_anything_of_bpe_is_read(self) -> None:
        script = ROOT / "make_report.py"
        ast.parse(script.read_text(encoding="utf-8"), feature_version=(3, 8))
        older = (
            "import runpy, sys; sys.version_info = (3, 8, 18, 'final', 0); "
            "sys.modules['bpe'] = None; "  # importing it now fails
            f"runpy.run_path({str(script)!r}, run_name='__main__')"
        )
        done = subprocess.run([sys.executable, "-c", older], capture_output=True, check=False)
        assert done.returncode == 1
        assert done.stdout == b""
        message = "make_report.py needs Python 3.10 or newer, this is 3.8"
        assert done.stderr.decode().splitlines() == [message]

    def test_it_is_not_installed_where_it_would_write(self) -> None:
        settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        assert '\nonly-include = ["bpe.py"]\n' in settings


class TestTheFigures:
    def test_the_keys_and_their_order(self, report: dict[str, Any]) -> None:
        assert list(report) == (
            "vocab_size ko_chars ko_bytes en_chars en_bytes shared_rules en_only_rules "
            "ko_tokens_shared en_tokens_shared ko_tokens_en_only en_tokens_en_only "
            "ko_bytes_per_token en_bytes_per_token curve roundtrip_ok"
        ).split(" ")

    def test_the_tokens_are_the_textbooks(self, report: dict[str, Any]) -> None:
        assert {key: report[key] for key in COUNTS} == COUNTS

    @pytest.mark.parametrize("language", TEXTS)
    def test_the_tokens_hold_the_bytes_of_the_text(
        self, report: dict[str, Any], language: str
    ) -> None:
        per_token, tokens = (
            report[f"{language}_bytes_per_token"],
            report[f"{language}_tokens_shared"],
        )
        assert round(per_token * tokens, 6) == len(TEXTS[language].encode())
        assert report[f"{language}_bytes"] == len(TEXTS[language].encode())
        assert report[f"{language}_chars"] == len(TEXTS[language])

    @pytest.mark.parametrize(("vocabulary", "text"), [("shared", JOINED), ("en_only", SAMPLE_EN)])
    def test_training_went_as_far_as_it_could(
        self, report: dict[str, Any], vocabulary: str, text: str
    ) -> None:
        rules = report[f"{vocabulary}_rules"]
        tokens = reference.encode(text, RULES[vocabulary][:rules])
        more = max(reference.count_pairs(tokens).values()) >= 2
        assert 256 + rules == report["vocab_size"] or not more

    def test_the_curve_falls_from_one_token_a_byte(self, report: dict[str, Any]) -> None:
        sizes, tokens = zip(*report["curve"], strict=True)
        assert sizes == (256, 320, 384, 512)
        assert tokens[0] == report["ko_bytes"] + 1 + report["en_bytes"]
        assert all(before > after for before, after in pairwise(tokens))
        for size, count in report["curve"]:
            assert count == len(reference.encode(JOINED, RULES["shared"][: size - 256]))

    def test_a_text_that_does_not_come_back_is_reported(
        self, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert report["roundtrip_ok"] is True
        decode = bpe.decode
        for text in TEXTS.values():
            for rules in RULES.values():
                lost = (bpe.encode(text, rules), rules)
                monkeypatch.setattr(
                    bpe,
                    "decode",
                    lambda *call, lost=lost: "" if call == lost else decode(*call),
                )
                measured = make_report.measure(JOINED, RULES["shared"], RULES["en_only"])
                assert measured["roundtrip_ok"] is False


def restore(shown: str) -> list[bytes]:
    r"""Read a line of tokens: `|` between them, `\xNN` for a byte."""
    return [
        re.sub(rb"\\x(..)", lambda byte: bytes.fromhex(byte[1].decode()), token.encode())
        for token in shown.split("|")
    ]


class TestThePage:
    def test_its_sections(self, page: str) -> None:
        assert re.findall(r"^## (.*)$", page, re.MULTILINE) == [
            "무엇을 쟀나",
            "어휘를 키우면 토큰이 어떻게 줄었나",
            "한국어가 손해를 보는 이유",
            "바이트 수준이라 안 깨지는 것",
        ]

    def test_it_shows_the_reports_figures(self, page: str, report: dict[str, Any]) -> None:
        shown = set(re.findall(r"\d+(?:\.\d+)?", page))
        whole = [value for value in report.values() if type(value) is int]
        curve = [number for point in report["curve"] for number in point]
        assert {str(number) for number in [*whole, *curve]} <= shown
        assert f"{report['ko_bytes_per_token']:.2f}" in shown

    def test_a_bar_beside_each_point_of_the_curve(self, page: str, report: dict[str, Any]) -> None:
        bars = {int(size): len(bar) for size, bar in re.findall(r"\| (\d+) \|.*\| (█+) \|", page)}
        assert list(bars) == [size for size, _ in report["curve"]]
        largest = max(tokens for _, tokens in report["curve"])
        for size, tokens in report["curve"]:
            assert bars[size] == round(40 * tokens / largest)

    def test_the_sizes_reached(self, page: str, report: dict[str, Any]) -> None:
        for name, vocabulary in (("공유", "shared"), ("영어 전용", "en_only")):
            rules = report[f"{vocabulary}_rules"]
            assert re.search(rf"\| {name} \|.*\| 512 \| {rules} \| {256 + rules} \|", page)

    def test_each_rule_gains_less(self, page: str, report: dict[str, Any]) -> None:
        gains = re.findall(r"구간에서 평균 ([\d.]+)개", page)
        rules = [min(size - 256, report["shared_rules"]) for size, _ in report["curve"]]
        tokens = [count for _, count in report["curve"]]
        assert gains == [
            f"{(tokens[i] - tokens[i + 1]) / (rules[i + 1] - rules[i]):.2f}" for i in range(3)
        ]
        assert all(float(before) > float(after) for before, after in pairwise(gains))
        assert "규칙 하나로 얻는 이득은 갈수록 작아진다." in page

    def test_why_the_same_korean_costs_more(self, page: str) -> None:
        shared, en_only = COUNTS["ko_tokens_shared"], COUNTS["ko_tokens_en_only"]
        assert f"토큰이 {shared}개에서 {en_only}개로 {en_only / shared:.2f}배" in page

        syllables = re.findall("[가-힣]", SAMPLE_KO)
        alone, alone_en_only = (
            sum(len(reference.encode(syllable, rules)) for syllable in syllables)
            for rules in RULES.values()
        )
        assert f"한글 음절 {len(syllables)}개를" in page
        assert f"공유 어휘로 모두 {alone}개, 영어 전용 어휘로 모두 {alone_en_only}개여서" in page
        assert f"개여서 {alone_en_only / alone:.2f}배일 뿐이다" in page
        assert f"것만으로는 {en_only / shared:.2f}배까지 벌어지지 않는다" in page
        assert alone_en_only / alone < en_only / shared
        assert shared < alone  # "그런데"

        borders = [len(SAMPLE_KO[:length].encode()) for length in range(len(SAMPLE_KO) + 1)]
        crossing = partial = both = start = 0
        for token in reference.encode(SAMPLE_KO, RULES["shared"]):
            end = start + len(reference.expand(token, RULES["shared"]))
            crosses = any(start < border < end for border in borders)
            cut = start not in borders or end not in borders
            crossing, partial, both = crossing + crosses, partial + cut, both + (crosses and cut)
            start = end
        assert f"{crossing}개가 두 글자 이상에 걸쳐 있고, {partial}개에는 글자의 조각이" in page
        assert f"글자의 조각이 들어 있다. {both}개는 두 경우에 모두 해당한다." in page

    def test_where_korean_gains_and_where_not(self, page: str, report: dict[str, Any]) -> None:
        ratio = report["ko_tokens_shared"] / report["en_tokens_shared"]
        assert f"{ratio:.2f}배로 조금 적다. 토큰당 바이트도 한국어가 조금 많다." in page
        pair = [make_report.UNSEEN[f"새 {name} 문장"] for name in ("한국어", "영어")]
        ko, en = (len(reference.encode(text, RULES["shared"])) for text in pair)
        assert f"한국어는 {ko}개, 영어는 {en}개로, 한국어가 영어의 {ko / en:.2f}배다" in page
        # "글자 수를 기준으로 하면 … 더 든다", "바이트 수가 거의 같은"
        assert ratio > report["ko_chars"] / report["en_chars"]
        assert 0.9 < report["ko_bytes"] / report["en_bytes"] < 1.1

        readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
        en_only = report["ko_tokens_en_only"] / report["en_tokens_en_only"]
        assert f"takes {en_only:.2f} times the tokens of the English" in readme
        assert f"takes {ratio:.2f} times as many" in readme
        assert f"the Korean takes {ko} tokens and the English {en}" in readme

    def test_the_first_sentences_token_by_token(self, page: str) -> None:
        blocks = re.search(r"```text\n(.*?)```", (ROOT / NAMES[1]).read_text("utf-8"), re.DOTALL)
        assert blocks
        shown = [block.strip("\n").split("\n") for block in blocks[1].split("\n\n")]
        expected = [(text, rules) for text in TEXTS.values() for rules in RULES.values()]
        assert len(shown) == len(expected)
        for (title, line), (text, rules) in zip(shown, expected, strict=True):
            sentence = text.split(". ")[0] + "."
            tokens = [reference.expand(token, rules) for token in reference.encode(sentence, rules)]
            assert restore(line) == tokens
            assert title.endswith(f" {len(tokens)}개")
        assert not re.search("[가-힣]", shown[1][1])  # the Korean line, English-only

    def test_the_tables_hold_what_training_never_saw(self, page: str) -> None:
        section = page.split("## 바이트 수준이라 안 깨지는 것")[1]
        for text in make_report.UNSEEN.values():
            assert text not in SAMPLE_KO + SAMPLE_EN
            shown = text.replace("\r", r"\r").replace("\n", r"\n").replace("\t", r"\t")
            tokens = [len(reference.encode(text, rules)) for rules in RULES.values()]
            assert f"| `{shown}` | {len(text)} | {len(text.encode())} | " in section
            assert f" | {tokens[0]} | {tokens[1]} | 예 |" in section.split(f"`{shown}`")[1]

    def test_a_character_cut_or_turned_round_is_broken(self, page: str) -> None:
        for ids in ([237], [237, 149], [237, 149, 156], [156, 149, 237]):
            restored = bytes(ids).decode("utf-8", "replace")
            assert f"| {ids} | `{restored}` |" in page

    @pytest.mark.parametrize(
        ("figures", "sentence"),
        [
            (
                {"shared_rules": 256, "en_only_rules": 256},
                "두 어휘 모두 병합 규칙 256개를 다 채웠다.",
            ),
            ({"shared_rules": 256, "en_only_rules": 9}, "있었지만 영어 전용 어휘는 9개에서"),
            ({"ko_tokens_shared": 6, "en_tokens_shared": 5}, "1.20배로 조금 많다."),
            ({"ko_tokens_shared": 5, "en_tokens_shared": 5}, "1.00배로 거의 같다."),
            ({"ko_bytes_per_token": 2.0}, "토큰당 바이트도 한국어가 조금 적다."),
            ({"en_tokens_shared": 7, "en_tokens_en_only": 7}, "영어 글은 어느 어휘로든 7개다."),
            (
                {"en_tokens_shared": 7, "en_tokens_en_only": 6},
                "공유 어휘로 7개, 영어 전용 어휘로 6개다.",
            ),
            ({}, "두 글 모두 어느 어휘로든 한 글자도 다르지 않게 복원됐다."),
            ({"roundtrip_ok": False}, "\n복원하면 달라지는 글이 있다."),
        ],
    )
    def test_its_words_follow_the_figures(
        self, report: dict[str, Any], figures: dict[str, Any], sentence: str
    ) -> None:
        changed = {**report, **figures}
        assert sentence in make_report.render(changed, RULES["shared"], RULES["en_only"])
