"""The command line as a user runs it: in a process of its own, in pipes and on a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import struct
import subprocess
import sys
import time
import tty
from collections.abc import Sequence
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import bpe
from bpe import BPETokenizer
from strategies import some_text

ROOT = Path(bpe.__file__).parent
CORPUS = Path(__file__).parent / "data" / "tokenizer_corpus.txt"
HOSTILE = '</span><script>alert("1")</script> &amp; \x00\x1b[31m\r\n\r \ufeff\t <!-- 한글 🎉'

one_folder_serves = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
patterns = st.sampled_from(["gpt2", "gpt4", "gpt4o", "digits", "none", r"\w+|\W"])
spaced_text = st.text(alphabet="ab1_.'é한! \n\t\r\x1c\u3000", max_size=60)


def run(
    folder: Path, *arguments: object, given: bytes | str = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m bpe` in `folder`, with `given` as its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "bpe", *map(str, arguments)],
        cwd=folder,
        input=given.encode() if isinstance(given, str) else given,
        capture_output=True,
        env=environment_for_python(),
        timeout=100,
        check=False,
    )


def environment_for_python() -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"}


def output(folder: Path, *arguments: object, given: bytes | str = b"") -> bytes:
    """Run a command that must succeed and say nothing, and return what it printed."""
    done = run(folder, *arguments, given=given)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def failure(folder: Path, *arguments: object, given: bytes | str = b"", status: int = 1) -> str:
    """Run a command that must fail with `status`, and return the one line that it says."""
    done = run(folder, *arguments, given=given)
    assert (done.returncode, done.stdout) == (status, b"")
    said = done.stderr.decode()
    assert re.fullmatch(r"bpe: [^\n]*\n", said)
    return said[5:-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a vocabulary, `t.json`, that has the special token `<|end|>`."""
    text = CORPUS.read_text(encoding="utf-8")
    BPETokenizer(special_tokens=["<|end|>"]).train(text, 600).save(tmp_path / "t.json")
    return tmp_path


@pytest.fixture
def tokenizer(folder: Path) -> BPETokenizer:
    return BPETokenizer.from_file(folder / "t.json")


def test_a_folder_of_files_there_and_back(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    texts = {
        "prose.txt": CORPUS.read_text(encoding="utf-8"),
        "hostile.txt": HOSTILE,
        "dos.txt": "\ufeffone\r\ntwo\r\n\r\n",
        "empty.txt": "",
        "code.py": (ROOT / "make_report.py").read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        (corpus / name).write_bytes(text.encode())
    files = sorted(corpus.iterdir())
    data = [file.read_bytes() for file in files]

    size = ["--vocab-size", 700, "--special", "<|end|>"]
    assert output(tmp_path, "train", *files, *size, "-o", "t.json") == b""
    tokenizer = BPETokenizer.from_file(tmp_path / "t.json")
    expected = BPETokenizer(special_tokens=["<|end|>"]).train([d.decode() for d in data], 700)
    assert list(tokenizer.merges.items()) == list(expected.merges.items())
    assert tokenizer.special_tokens == {"<|end|>": 700}

    encoded = [expected.encode_ordinary(part.decode()) for part in data]
    rows = [line.split() for line in output(tmp_path, "count", "-t", "t.json", *files).splitlines()]
    assert [(int(row[0]), int(row[1])) for row in rows[:-1]] == [
        (len(ids), len(part)) for ids, part in zip(encoded, data, strict=True)
    ]
    assert [os.fsdecode(row[3]) for row in rows] == [*map(str, files), "total"]
    assert int(rows[-1][0]) == sum(map(len, encoded))

    shown = output(tmp_path, "show", "-t", "t.json", corpus / "prose.txt").decode()
    assert shown == expected.show(texts["prose.txt"], color=False)

    ids = output(tmp_path, "encode", "-t", "t.json", *files)
    assert ids == (" ".join(str(id_) for part in encoded for id_ in part) + "\n").encode()
    assert output(tmp_path, "decode", "-t", "t.json", given=ids) == b"".join(data)

    done = run(tmp_path, "encode", "-t", "t.json", *files, "-o", "x.bin", "--separator", "<|end|>")
    assert (done.returncode, done.stdout) == (0, b"")
    joined = [id_ for part in encoded for id_ in [700, *part]][1:]
    assert done.stderr.decode() == f"x.bin: {len(joined)} tokens as little-endian uint16\n"
    assert (tmp_path / "x.bin").read_bytes() == struct.pack(f"<{len(joined)}H", *joined)
    raw = ["decode", "-t", "t.json", "--dtype", "uint16", "x.bin"]
    assert output(tmp_path, *raw) == b"<|end|>".join(data)
    assert output(tmp_path, *raw, "-o", "x.txt") == b""
    assert (tmp_path / "x.txt").read_bytes() == b"<|end|>".join(data)


class TestPieces:
    """Files are read block by block, and cut only where nothing is lost."""

    @given(blocks=st.lists(spaced_text | some_text, max_size=3))
    @example(blocks=["a_\n\n", "!\n b", "\n"])
    def test_no_pretoken_goes_on_where_a_piece_ends(self, blocks: list[str]) -> None:
        pieces = list(bpe._blocks_of(blocks))
        assert "".join(pieces) == "".join(blocks)
        assert all(pieces)
        for pattern in ("gpt2", "gpt4", "gpt4o", "digits"):
            pretokenize = BPETokenizer(bpe._PATTERNS[pattern]).pretokenize
            assert [word for piece in pieces for word in pretokenize(piece)] == pretokenize(
                "".join(blocks)
            )

    def test_a_piece_comes_before_all_is_read(self) -> None:
        blocks = iter(["ab cd", " ef gh", " never read"])
        assert next(bpe._blocks_of(blocks)) == "ab"
        assert next(blocks) == " ef gh"

    @one_folder_serves
    @given(texts=st.lists(spaced_text | some_text, min_size=1, max_size=3), pattern=patterns)
    @example(texts=["a b a b a b a b a b"], pattern="gpt2")
    def test_training_is_that_of_whole_files(
        self, tmp_path: Path, texts: list[str], pattern: str
    ) -> None:
        files = self.written(tmp_path, texts)
        special = ["a b", "한"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_READ_AT_ONCE", 7)
            arguments = ["--vocab-size", "270", "--pattern", pattern, "-o", f"{tmp_path}/t.json"]
            for names in (special, special[1:]):
                named = [f"--special={name}" for name in names]
                assert bpe.main(["train", *files, *arguments, *named]) == 0
                learned = BPETokenizer().load(tmp_path / "t.json")
                expected = BPETokenizer(bpe._PATTERNS.get(pattern, pattern), names)
                assert learned.merges == expected.train(texts, 270).merges

    @one_folder_serves
    @given(texts=st.lists(spaced_text | some_text, min_size=1, max_size=3), pattern=patterns)
    def test_encoding_is_that_of_whole_files(
        self, tmp_path: Path, texts: list[str], pattern: str
    ) -> None:
        files = self.written(tmp_path, texts)
        tokenizer = BPETokenizer(bpe._PATTERNS.get(pattern, pattern), ["a b", "<s>"])
        tokenizer.train(["a ba. b1'a\n\n한 b ", *texts], 270).save(tmp_path / "t.json")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_READ_AT_ONCE", 7)
            patch.setattr(bpe, "_IDS_AT_ONCE", 5)
            arguments = ["-t", f"{tmp_path}/t.json", "-o", f"{tmp_path}/x", "--separator=<s>"]
            for option, allowed in ([], "none"), (["--special-tokens"], "all"):
                assert bpe.main(["encode", *files, *arguments, *option]) == 0
                expected = tokenizer.encode(texts[0], allowed)
                for text in texts[1:]:
                    expected += [tokenizer.special_tokens["<s>"], *tokenizer.encode(text, allowed)]
                packed = struct.pack(f"<{len(expected)}H", *expected)
                assert (tmp_path / "x").read_bytes() == packed

    @one_folder_serves
    @given(data=st.binary(max_size=40) | some_text.map(str.encode), dtype=st.sampled_from("HI"))
    def test_decoding_is_that_of_the_whole_file(
        self, tmp_path: Path, data: bytes, dtype: str
    ) -> None:
        BPETokenizer().save(tmp_path / "t.json")
        written = " ".join(map(str, data)).encode(), struct.pack(f"<{len(data)}{dtype}", *data)
        arguments = ["decode", "-t", f"{tmp_path}/t.json", f"{tmp_path}/x", "-o", f"{tmp_path}/y"]
        raw = ["--dtype", {"H": "uint16", "I": "uint32"}[dtype]]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_READ_AT_ONCE", 7)
            for form, option in zip(written, ([], raw), strict=True):
                (tmp_path / "x").write_bytes(form)
                assert bpe.main([*arguments, *option]) == 0
                assert (tmp_path / "y").read_bytes() == data

    @one_folder_serves
    @given(data=st.binary(max_size=30) | some_text.map(lambda text: text.encode() + b"\xed\xa0a"))
    @example(data="123456한".encode()[:-1])
    def test_bytes_that_are_not_utf8(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes
    ) -> None:
        BPETokenizer().save(tmp_path / "t.json")
        (tmp_path / "x").write_bytes(data)
        encode = ["encode", "-t", f"{tmp_path}/t.json", f"{tmp_path}/x", "-o", f"{tmp_path}/y"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_READ_AT_ONCE", 7)
            assert bpe.main([*encode, "--errors", "replace"]) == 0
            replaced = data.decode("utf-8", "replace").encode()
            assert (tmp_path / "y").read_bytes() == struct.pack(f"<{len(replaced)}H", *replaced)
            faults: list[int] = []
            try:
                data.decode()
            except UnicodeDecodeError as fault:
                faults.append(fault.start)
            capsys.readouterr()
            assert bpe.main(encode) == len(faults)
            places = re.findall(r"x: not UTF-8 at byte offset (\d+) ", capsys.readouterr().err)
            assert list(map(int, places)) == faults

    def written(self, folder: Path, texts: list[str]) -> list[str]:
        files = [folder / f"{number}.txt" for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_bytes(text.encode())
        return list(map(str, files))


class TestCount:
    def test_one_line_for_each_file_and_a_total(self, folder: Path) -> None:
        (folder / "a.txt").write_text(" the the")
        (folder / "b c.txt").write_text("")
        assert output(folder, "count", "-t", "t.json", "a.txt", "b c.txt", "a.txt").decode() == (
            "         2          8   4.00 a.txt\n"
            "         0          0      - b c.txt\n"
            "         2          8   4.00 a.txt\n"
            "         4         16   4.00 total\n"
        )

    @pytest.mark.parametrize("files", [[], ["-"]])
    def test_standard_input(self, folder: Path, files: list[str]) -> None:
        printed = output(folder, "count", "-t", "t.json", *files, given=" the the")
        assert printed == b"         2          8   4.00 -\n"

    def test_special_tokens_are_text_unless_asked_for(self, folder: Path) -> None:
        counted = ["count", "-t", "t.json"]
        assert output(folder, *counted, given="<|end|>").split()[0] != b"1"
        assert output(folder, *counted, "--special-tokens", given="<|end|>").split()[0] == b"1"

    def test_bytes_are_those_of_the_file(self, folder: Path) -> None:
        counted = ["count", "-t", "t.json", "--errors", "replace"]
        assert output(folder, *counted, given=b"\xff\xff").split()[1] == b"2"


class TestShow:
    def test_bars_where_there_is_no_colour(self, folder: Path, tokenizer: BPETokenizer) -> None:
        text = f"the water, 한글{HOSTILE}"
        plain = tokenizer.show(text, color=False, allowed_special="none")
        assert output(folder, "show", "-t", "t.json", given=text).decode() == plain + "\n"
        assert output(folder, "show", "-t", "t.json", given="the\n").decode().endswith("he|\n")

    def test_several_vocabularies(self, folder: Path) -> None:
        BPETokenizer().save(folder / "bytes.json")
        shown = output(folder, "show", "-t", "t.json", "-t", "bytes.json", given="the<|end|>")
        lines = shown.decode().splitlines()
        assert lines[0::2] == ["==> t.json <==", "==> bytes.json <=="]
        assert lines[1].startswith("t|he|<|")
        assert lines[3] == "t|h|e|<|||e|n|d|||>"

    def test_colour_on_a_terminal(
        self, folder: Path, tokenizer: BPETokenizer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        shown = on_a_terminal(folder, "show", "-t", "t.json", given="the water")
        assert shown == tokenizer.show("the water", color=True) + "\n"
        assert "\x1b[" in shown
        monkeypatch.setenv("NO_COLOR", "1")
        bars = on_a_terminal(folder, "show", "-t", "t.json", given="the water")
        assert bars == tokenizer.show("the water", color=False) + "\n"


class Page(HTMLParser):
    """What a page holds: its tags, and of each text its characters and its tokens."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.spans: list[list[tuple[str, str, str]]] = []
        self.about = ""
        self.inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = {name: value or "" for name, value in attrs}
        if given.get("class") == "text":
            self.inside = True
            self.spans.append([])
        if tag == "span":
            self.spans[-1].append((given["class"], given["title"], ""))

    @property
    def texts(self) -> list[str]:
        return ["".join(text for _, _, text in spans) for spans in self.spans]

    def handle_endtag(self, tag: str) -> None:
        self.inside &= tag != "div"

    def handle_data(self, data: str) -> None:
        if self.inside:
            kind, title, text = self.spans[-1][-1]
            self.spans[-1][-1] = kind, title, text + data
        else:
            self.about += data


class TestPage:
    def test_the_text_of_the_page_is_the_text(self, folder: Path) -> None:
        BPETokenizer().save(folder / "bytes.json")
        (folder / "<i>.txt").write_bytes(HOSTILE.encode())
        vocabularies = ["-t", "t.json", "-t", "bytes.json"]
        assert output(folder, "show", *vocabularies, "<i>.txt", "--html", "page.html") == b""
        source = (folder / "page.html").read_bytes().decode()
        page = Page(source)
        assert page.texts == [HOSTILE, HOSTILE]
        assert page.tags == {*"meta title style h1 h2 p div span i".split()}
        assert not re.search(r"https?:|url\(|@import|src=|href=|\r", source)
        assert "prefers-color-scheme: dark" in source
        assert "<i>.txt" in page.about

    def test_each_token_has_its_id_and_bytes(self, folder: Path) -> None:
        BPETokenizer().save(folder / "bytes.json")
        output(folder, "show", "-t", "bytes.json", "--html", "page.html", given="a한\n\rb")
        page = Page((folder / "page.html").read_bytes().decode())
        assert page.spans == [
            [
                ("", "97: 61", "a"),
                ("b cut n3", "237: ed\n149: 95\n156: 9c", "한"),
                ("", "10: 0a", "\n"),
                ("b", "13: 0d", "\r"),
                ("", "98: 62", "b"),
            ]
        ]

    @given(text=some_text, cuts=st.sets(st.integers(1, 100)))
    @example(text="é한é", cuts={1, 3, 4})
    def test_each_character_is_shown_with_the_tokens_that_hold_it(
        self, text: str, cuts: set[int]
    ) -> None:
        whole = text.encode()
        ends = sorted(cut for cut in {*cuts, len(whole)} if 0 < cut <= len(whole))
        tokens = [whole[start:stop] for start, stop in zip([0, *ends], ends, strict=False)]
        stretches = list(bpe._parts(tokens))
        assert "".join(stretch for stretch, _, _ in stretches) == text
        assert {place for _, *span in stretches for place in range(*span)} == {*range(len(tokens))}
        position = 0
        for stretch, start, stop in stretches:
            assert len(stretch) == 1 or stop - start == 1
            before, data = sum(map(len, tokens[:start])), b"".join(tokens[start:stop])
            end = position + len(stretch.encode())
            assert before <= position < before + len(tokens[start])
            assert before + len(data) - len(tokens[stop - 1]) < end <= before + len(data)
            position = end

    def test_the_counts_stand_above(self, folder: Path, tokenizer: BPETokenizer) -> None:
        text = CORPUS.read_text(encoding="utf-8")
        output(folder, "show", "-t", "t.json", CORPUS, "--html", "page.html")
        about = Page((folder / "page.html").read_text(encoding="utf-8")).about
        tokens, size = len(tokenizer.encode_ordinary(text)), len(text.encode())
        assert f"t.json\n{len(text):,} characters, {size:,} bytes, {tokens:,} tokens, " in about
        assert f" {size / tokens:.2f} bytes per token" in about

    def test_a_megabyte(self, folder: Path) -> None:
        text = "The water was cold. 물이 차가웠다.\n" * 25_000
        BPETokenizer().train(text[:200], 300).save(folder / "t.json")
        output(folder, "show", "-t", "t.json", "--html", "page.html", given=text)
        assert len(text.encode()) > 1_000_000
        assert Page((folder / "page.html").read_bytes().decode()).texts == [text]


class TestEncodeAndDecode:
    @pytest.mark.parametrize("text", ["", "\ufeff", "\r\n", HOSTILE, "<|end|> 한글 " * 50_000])
    def test_what_is_encoded_decodes_to_the_same_bytes(self, folder: Path, text: str) -> None:
        for option in ([], ["--special-tokens"]):
            ids = output(folder, "encode", "-t", "t.json", *option, given=text)
            assert output(folder, "decode", "-t", "t.json", given=ids) == text.encode()

    def test_uint32_where_an_id_needs_it(self, folder: Path) -> None:
        for largest, kind in ((65535, "uint16"), (65536, "uint32"), (2**32 - 1, "uint32")):
            BPETokenizer(special_tokens={"<s>": largest}).save(folder / "s.json")
            encode = ["encode", "-t", "s.json", "--special-tokens", "-o", "x.bin"]
            done = run(folder, *encode, given="a<s>")
            assert done.stderr.decode() == f"x.bin: 2 tokens as little-endian {kind}\n"
            letter = {"uint16": "H", "uint32": "I"}[kind]
            assert (folder / "x.bin").read_bytes() == struct.pack(f"<2{letter}", 97, largest)
            decode = ["decode", "-t", "s.json", "--dtype", kind, "x.bin"]
            assert output(folder, *decode) == b"a<s>"
        BPETokenizer(special_tokens={"<s>": 2**32}).save(folder / "s.json")
        said = failure(folder, "encode", "-t", "s.json", "-o", "y.bin", given="a")
        assert said == "s.json: the id 4294967296 does not fit into uint32"
        assert not (folder / "y.bin").exists()

    def test_workers_change_nothing(self, folder: Path) -> None:
        many = ["encode", "-t", "t.json", CORPUS, CORPUS]
        assert output(folder, *many, "--workers", 2) == output(folder, *many)
        train = ["train", CORPUS, CORPUS, "--vocab-size", 300]
        output(folder, *train, "-o", "one.json", "--workers", 1)
        output(folder, *train, "-o", "two.json", "--workers", 2)
        assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()

    def test_to_a_pipe(self, folder: Path) -> None:
        encode = ["encode", "-t", "t.json", "-o", "/dev/stdout"]
        assert run(folder, *encode, given="ab").stdout == struct.pack("<2H", 97, 98)


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "the following arguments are required: COMMAND"),
            (["tokenize"], "argument COMMAND: invalid choice: 'tokenize'"),
            (["count"], "the following arguments are required: -t"),
            (["train", "x"], "the following arguments are required: -o, --vocab-size"),
            (["train", "-o", "x", "--vocab-size", "9"], "argument --vocab-size: 9 is less than"),
            (["train", "-o", "x", "--vocab-size", "many"], "argument --vocab-size: invalid"),
            (["train", "-o", "x", "--vocab-size", "300", "--workers", "0"], "argument --workers"),
            (
                ["train", "-o", "x", "--vocab-size", "300", "--pattern", "("],
                "argument --pattern: invalid split pattern '('",
            ),
            (
                ["train", "-o", "x", "--vocab-size", "300", "--pattern", "gtp2"],
                "argument --pattern: no split pattern is called 'gtp2'",
            ),
            (["encode", "-t", "t.json", "--special"], "unrecognized arguments: --special"),
            (["decode", "-t", "t.json", "--dtype", "int8"], "argument --dtype: invalid choice"),
            (["show", "-t", "t.json", "a", "b\nc"], "unrecognized arguments: b c"),
        ],
    )
    def test_usage(self, folder: Path, arguments: list[str], said: str) -> None:
        assert failure(folder, *arguments, status=2).startswith(said)

    @pytest.mark.parametrize(
        ("arguments", "given", "said"),
        [
            (["count", "-t", "none.json"], b"", "none.json: No such file or directory"),
            (["count", "-t", "bad\n.json"], b"", "bad .json: "),
            (["count", "-t", "t.json", "t.json", "none"], b"", "none: No such file or directory"),
            (["count", "-t", "t.json", "."], b"", ".: Is a directory"),
            (["count", "-t", "t.json"], b"ab\xff", "-: not UTF-8 at byte offset 2 "),
            (["encode", "-t", "t.json"], b"ab\xed\x95", "-: not UTF-8 at byte offset 2 "),
            (["encode", "-t", "t.json", "-o", "no/x"], b"", "FOLDER/no: No such file or directory"),
            (
                ["encode", "-t", "t.json", "--separator", "x"],
                b"",
                "'x' is not a registered special",
            ),
            (
                ["train", "-o", "no/t", "--vocab-size", "300"],
                b"",
                "FOLDER/no: No such file or directory",
            ),
            (["train", "-o", "t", "--vocab-size=300", "--special="], b"", "special token '' c"),
            (["decode", "-t", "t.json"], b"97 x98", "-: b'x98' at byte offset 3 is not a token id"),
            (["decode", "-t", "t.json"], b"97 -1", "-: b'-1' at byte offset 3 is not a token id"),
            (["decode", "-t", "t.json"], b"1" * 50, "-: b'11111111111111111111' at byte offset 0"),
            (["decode", "-t", "t.json", "-o", "x"], b"97 9999", "-: unknown id 9999 at position 1"),
            (["decode", "-t", "t.json"], b"97 9999 12345 8888", "-: unknown id 9999 at position 1"),
            (
                ["decode", "-t", "t.json", "--dtype", "uint16", "-o", "x"],
                b"a\0c",
                "-: the last 1 bytes are",
            ),
            (["decode", "-t", "t.json", "-o", "."], b"", ".: Is a directory"),
        ],
    )
    def test_the_rest(self, folder: Path, arguments: list[str], given: bytes, said: str) -> None:
        (folder / "bad\n.json").write_bytes(b"")
        before = sorted(folder.iterdir())
        assert failure(folder, *arguments, given=given).startswith(
            said.replace("FOLDER", str(folder))
        )
        assert sorted(folder.iterdir()) == before

    def test_places_are_counted_from_the_start_of_the_file(self, folder: Path) -> None:
        ids = "97 " * 500_000
        decode = ["decode", "-t", "t.json", "-o", "x"]
        said = failure(folder, *decode, given=ids + "x")
        hint = "(--dtype reads what `encode -o` wrote)"
        assert said == f"-: b'x' at byte offset 1500000 is not a token id {hint}"
        said = failure(folder, *decode, given=ids + "9999")
        assert said == "-: unknown id 9999 at position 500000"

    def test_a_failure_leaves_the_old_file(self, folder: Path) -> None:
        (folder / "x.bin").write_bytes(b"old")
        (folder / "bad").write_bytes(b"the " * 500_000 + b"\xff")
        said = failure(folder, "encode", "-t", "t.json", "bad", "-o", "x.bin")
        assert said.startswith("bad: not UTF-8 at byte offset 2000000 ")
        assert (folder / "x.bin").read_bytes() == b"old"
        assert {path.name for path in folder.iterdir()} == {"t.json", "bad", "x.bin"}

    def test_a_full_disk(self, folder: Path) -> None:
        with open("/dev/full", "wb") as full:  # noqa: PTH123
            command = [sys.executable, "-m", "bpe", "count", "-t", "t.json", "t.json"]
            done = subprocess.run(
                command,
                cwd=folder,
                stdout=full,
                stderr=subprocess.PIPE,
                env=environment_for_python(),
                check=False,
            )
        assert (done.returncode, done.stderr) == (1, b"bpe: No space left on device\n")

    @pytest.mark.parametrize("command", ["encode", "show", "decode"])
    def test_a_closed_pipe_ends_quietly(self, folder: Path, command: str) -> None:
        text = "the water " * 200_000
        given = (
            text if command != "decode" else output(folder, "encode", "-t", "t.json", given=text)
        )
        (folder / "given").write_bytes(given.encode() if isinstance(given, str) else given)
        process = started(folder, command, "-t", "t.json", "given")
        assert process.stdout
        assert len(process.stdout.read(10)) == 10
        process.stdout.close()
        assert process.wait(20) == 0
        assert process.stderr
        assert process.stderr.read() == b""

    @pytest.mark.parametrize(
        "arguments",
        [
            ["encode", "-t", "t.json", "-o", "x.json"],
            ["decode", "-t", "t.json", "--dtype", "uint16", "-o", "x.json"],
        ],
    )
    def test_an_interrupt_leaves_no_half_written_file(
        self, folder: Path, arguments: list[str]
    ) -> None:
        (folder / "x.json").write_bytes(b"old")
        process = started(folder, *arguments)
        assert process.stdin
        process.stdin.write(b"a\0" * 1_000_000)
        process.stdin.flush()
        while len(list(folder.iterdir())) < 3:  # until the temporary file is there
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr
        assert process.stderr.read() == b""
        assert (folder / "x.json").read_bytes() == b"old"
        assert {path.name for path in folder.iterdir()} == {"t.json", "x.json"}

    def test_an_interrupted_training_writes_nothing(self, folder: Path) -> None:
        process = started(folder, "train", "--vocab-size", "300", "-o", "new.json")
        assert process.stdin
        process.stdin.write(b"the water " * 400_000)  # more than it reads ahead
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr
        assert process.stderr.read() == b""
        assert [path.name for path in folder.iterdir()] == ["t.json"]


class TestProgress:
    def test_on_a_terminal_it_is_said_and_taken_away(self, folder: Path) -> None:
        train = ["train", CORPUS, "--vocab-size", 400, "-o", "new.json"]
        said = on_a_terminal(folder, *train, streams=["stderr"])
        assert "reading: 0.0 MB of 0.0, 100%" in said
        assert said.endswith("\r")
        assert said.split("\r")[-2].strip() == ""
        assert "\x1b" not in said
        for command in (["count"], ["encode", "-o", "x.bin"], ["encode"], ["show"]):
            said = on_a_terminal(folder, *command, "-t", "t.json", CORPUS, streams=["stderr"])
            assert "\rreading: 0.0 MB of 0.0, 100% " in said

    def test_a_terminal_full_of_results_has_none(self, folder: Path) -> None:
        shown = on_a_terminal(
            folder, "encode", "-t", "t.json", CORPUS, streams=["stdout", "stderr"]
        )
        assert "reading" not in shown

    def test_a_terminal_with_rows_has_it_before_each(self, folder: Path) -> None:
        streams = ["stdout", "stderr"]
        shown = on_a_terminal(folder, "count", "-t", "t.json", CORPUS, streams=streams)
        assert re.fullmatch(rf"\rreading: .* +\r +\r +\d+ +\d+ +[\d.]+ {CORPUS}\n", shown)

    def test_what_it_says(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        seconds = iter(range(1000))
        monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
        progress = bpe._Progress(shown=True)
        progress.reading(1_500_000)
        progress.size = 6_000_000
        progress.reading(1_500_000)
        progress.learning(0, 500)
        for done in (1, 2, 101):
            progress.learning(done, 500)
        progress.clear()
        progress.note("a\nb")
        said = [part.rstrip() for part in capsys.readouterr().err.split("\r")]
        assert said[1:3] == ["reading: 1.5 MB", "reading: 3.0 MB of 6.0, 50%"]
        assert said[3] == "learning: 1 of 500 rules, 0:00 left"
        assert re.fullmatch(r"learning: 101 of 500 rules, 0:\d\d left", said[5])
        assert said[6:] == ["", "a b"]
        progress.shown = False
        progress.reading(1)
        assert capsys.readouterr().err == ""

    def test_early_end_of_training_is_said(self, folder: Path) -> None:
        done = run(folder, "train", "--vocab-size", 300, "-o", "new.json", given="aab aab")
        assert done.returncode == 0
        assert done.stderr == b"new.json: 258 tokens, as no pair occurs twice any more\n"

    def test_a_vocabulary_of_bytes_alone_needs_no_training(self, folder: Path) -> None:
        done = run(folder, "train", "--vocab-size", 256, "-o", "new.json", given="aab aab")
        assert (done.returncode, done.stderr) == (0, b"")
        assert len(BPETokenizer.from_file(folder / "new.json")) == 256


@pytest.mark.parametrize("command", ["train", "count", "show", "encode", "decode"])
def test_help_says_what_it_does_with_an_example(tmp_path: Path, command: str) -> None:
    said = output(tmp_path, command, "--help").decode()
    assert said.startswith(f"usage: bpe {command} ")
    assert f"\nFor example:\n  bpe {command} " in said
    assert command in output(tmp_path, "--help").decode()


def test_the_arguments_of_main_are_those_of_the_process_by_default(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "a").write_bytes(b"a")
    monkeypatch.setattr(sys, "argv", ["bpe", "encode", "-t", "t.json", "a"])
    assert bpe.main() == 0
    assert capfdbinary.readouterr() == (b"97\n", b"")
    with pytest.raises(SystemExit):
        bpe.main(["encode"])


def started(
    folder: Path, *arguments: object, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "bpe", *map(str, arguments)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env=environment_for_python(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def on_a_terminal(
    folder: Path, *arguments: object, given: str = "", streams: Sequence[str] = ("stdout",)
) -> str:
    """Return what a command writes to a terminal that is its standard output, error, or both."""
    terminal, end = pty.openpty()
    tty.setraw(end)
    ends = {name: end if name in streams else subprocess.DEVNULL for name in ("stdout", "stderr")}
    with started(folder, *arguments, **ends) as process:
        os.close(end)
        assert process.stdin
        process.stdin.write(given.encode())
        process.stdin.close()
        shown = b""
        with suppress(OSError):  # which a terminal gives when nobody writes to it any more
            while part := os.read(terminal, 1 << 16):
                shown += part
        os.close(terminal)
    assert process.returncode == 0
    return shown.decode()


@pytest.mark.parametrize("raw", [False, True])
def test_an_unknown_id_is_named_by_its_place_in_the_whole_file(
    folder: Path,
    raw: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    ids = [97, 98, 99, 100, 101, 60_000, 102]
    spelled = " ".join(map(str, ids)).encode()
    (folder / "ids").write_bytes(struct.pack("<7H", *ids) if raw else spelled)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(bpe, "_READ_AT_ONCE", 4)
    assert bpe.main(["decode", "-t", "t.json", "ids", *["--dtype=uint16"] * raw]) == 1
    assert capfdbinary.readouterr().err == b"bpe: ids: unknown id 60000 at position 5\n"
