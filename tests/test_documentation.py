"""What is written: every example runs, every figure is the one that was measured."""

from __future__ import annotations

import doctest
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import bpe

ROOT = Path(bpe.__file__).parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_examples_of_the_module() -> None:
    results = doctest.testmod(bpe)
    assert results.attempted > 60
    assert results.failed == 0


def test_the_examples_of_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert results.attempted > 40
    assert results.failed == 0


def test_the_readmes_report_table_is_the_reports() -> None:
    report = json.loads((ROOT / "token_report.json").read_text(encoding="utf-8"))
    rows = {row[0]: row[1:] for row in table("What a paragraph costs")}
    for language, name in (("ko", "Korean"), ("en", "English")):
        assert rows[name] == [
            str(report[f"{language}_chars"]),
            str(report[f"{language}_bytes"]),
            str(report[f"{language}_tokens_shared"]),
            f"{report[f'{language}_bytes_per_token']:.2f}",
            str(report[f"{language}_tokens_en_only"]),
        ]
    curve = " → ".join(f"{tokens} ({size})" for size, tokens in report["curve"])
    assert curve in re.sub(r"\s+", " ", README)
    rules = f"{report['shared_rules']} and {report['en_only_rules']} rules"
    assert rules in re.sub(r"\s+", " ", README)


def test_the_readmes_vocabulary_table_is_what_compare_prints() -> None:
    compare = pytest.importorskip("compare", reason="the extra `benchmarks` is not installed")
    common = compare.common
    if common.python_name() not in README:
        pytest.skip("the README's table was made from the sources of another Python")
    training, held_out = common.corpus_halves()
    learned = common.standard_library_text(compare.LEARNED_SIZE, compare.HELD_OUT_FILE)
    pairs = compare.train_pairs([training, learned])
    printed = compare.count_table(pairs, compare.held_out_texts(held_out)).rows
    shown = table("What vocabulary size buys")[2:]
    assert shown == [row[:6] for row in printed]
    # "needs the same number of tokens in every row"
    assert [row[3:6] for row in printed] == [row[6:9] for row in printed]
    chart = re.findall(r"^    line \[(.*)\]$", README, re.MULTILINE)
    by_text = [", ".join(row[4] for row in shown[start::4]) for start in range(4)]
    assert chart == by_text
    for tokenizer, _ in pairs.values():
        prose = common.corpus_section(held_out, "prose")
        sentence = prose[: prose.index(".") + 1].replace("\n", " ")
        assert f"\n{tokenizer.show(sentence, color=False)}\n" in README


def table(section: str) -> list[list[str]]:
    body = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*) \|$", body, re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows]


def test_the_readmes_commands() -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert commands[0] == "python3 make_report.py"
    assert commands[1].startswith("python3 -m venv ")
    assert commands[1].endswith("-m pytest")
    assert "\n" not in commands[1]


def test_the_readmes_layout_is_the_top_level() -> None:
    listed = {
        Path(name).parts[0] for name in re.findall(r"`([^`]+)`", README.split("## Layout")[1])
    }
    assert top_level() - {"README.md", "pyproject.toml", "PKG-INFO"} <= listed


def top_level() -> set[str]:
    """Return the names that git tracks there or, outside a checkout, all that stand there."""
    tracked = b""
    if shutil.which("git"):
        listing = ["git", "ls-files", "-z"]
        tracked = subprocess.run(listing, cwd=ROOT, capture_output=True, check=False).stdout
    names = {Path(name).parts[0] for name in tracked.decode("utf-8").split("\0") if name}
    names = names or {path.name for path in ROOT.iterdir()}
    return {name for name in names if not name.startswith((".", "_"))}
