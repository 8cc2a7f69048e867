"""The checkout and the package: line ends, metadata that is true, and what the wheel holds."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bpe

ROOT = Path(bpe.__file__).parent
toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
SETTINGS: dict[str, Any] = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = SETTINGS["project"]


@pytest.mark.skipif(
    not ((ROOT / ".git").exists() and shutil.which("git")), reason="this is no git checkout"
)
def test_a_checkout_has_line_feeds_whatever_git_is_told(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    told = ["-c", "core.autocrlf=true", "-c", "core.eol=crlf"]
    subprocess.run(["git", "clone", "-q", *told, ROOT, clone], check=True)
    files = [path for path in clone.rglob("*") if ".git" not in path.parts and path.is_file()]
    assert clone / ".ci" / "run" in files
    assert [path for path in files if b"\r" in path.read_bytes()] == []


def test_the_licence_that_is_named_is_there() -> None:
    [name] = PROJECT["license-files"]
    first_line, *_ = (ROOT / name).read_text(encoding="utf-8").splitlines()
    assert first_line == f"{PROJECT['license']} License"


def test_the_lowest_python_is_the_same_everywhere() -> None:
    versions = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    lowest = min(map(int, versions))
    assert PROJECT["requires-python"] == f">=3.{lowest}"
    assert SETTINGS["tool"]["mypy"]["python_version"] == f"3.{lowest}"
    assert SETTINGS["tool"]["ruff"]["target-version"] == f"py3{lowest}"
    assert sorted(map(int, versions)) == list(range(lowest, lowest + len(versions)))


def test_nothing_is_needed_to_run() -> None:
    assert PROJECT["dependencies"] == []
    assert imported_by(ROOT / "bpe.py") <= sys.stdlib_module_names
    assert imported_by(ROOT / "make_report.py") <= sys.stdlib_module_names | {"bpe"}


def test_whatever_the_tests_import_is_in_an_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    sources = list((ROOT / "tests").rglob("*.py"))
    ours = {path.stem for path in [*ROOT.glob("*.py"), *sources]}
    # tomli comes with pytest where it is needed, tiktoken_ext with tiktoken.
    known = ours | sys.stdlib_module_names | {"tomli", "tiktoken_ext"}
    needed = set().union(*map(imported_by, sources)) - known
    assert needed <= {
        re.split(r"\W", requirement)[0] for name in extras for requirement in extras[name]
    }
    assert f"{PROJECT['name']}[peers]" in extras["benchmarks"]


def imported_by(path: Path) -> set[str]:
    """Return the top-level names of the modules that a source imports, or would if it could."""
    return {name.split(".")[0] for name in _imported_names(ast.parse(path.read_bytes()))}


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.importorskip":
            yield ast.literal_eval(node.args[0])


def test_the_wheel_holds_the_module_and_the_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = pytest.importorskip("hatchling.build", reason="hatchling is not installed")
    monkeypatch.chdir(ROOT)
    wheel = zipfile.ZipFile(tmp_path / backend.build_wheel(str(tmp_path)))
    [described] = {name.split("/")[0] for name in wheel.namelist()} - {"bpe.py"}
    name, version = PROJECT["name"].replace("-", "_"), PROJECT["version"]
    assert described == f"{name}-{version}.dist-info"
    assert wheel.read("bpe.py") == (ROOT / "bpe.py").read_bytes()
    [licence] = PROJECT["license-files"]
    assert wheel.read(f"{described}/licenses/{licence}") == (ROOT / licence).read_bytes()
    assert b"bpe = bpe:main" in wheel.read(f"{described}/entry_points.txt").splitlines()


def test_the_command_is_there() -> None:
    assert PROJECT["scripts"] == {"bpe": "bpe:main"}
    assert callable(bpe.main)
