"""Saving, loading and handing over: nothing lost, and nothing in a file is trusted."""

from __future__ import annotations

import base64
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st

import bpe
from bpe import GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN, BPETokenizer
from strategies import some_text

TEXT = "the cat sat on the mat, the rat that sat 한글 한국\n" * 3

Content = dict[str, Any]
one_folder_serves = settings(
    max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
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


def inverted(names: dict[str, int]) -> dict[int, str]:
    return {token_id: name for name, token_id in names.items()}


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

    @one_folder_serves
    @given(
        steps=st.lists(
            st.lists(st.sampled_from("stuvwxyz"), max_size=3, unique=True)
            | st.dictionaries(st.sampled_from("stuvwxyz"), st.integers(256, 272), max_size=3)
            | st.sampled_from(["train", "extend"]),
            max_size=6,
        )
    )
    @example(steps=[["s"], {"t": 300}, ["u"]])
    def test_whatever_was_registered_in_whatever_order(
        self, tmp_path: Path, steps: list[str | list[str] | dict[str, int]]
    ) -> None:
        tokenizer = BPETokenizer(None)
        for step in steps:
            with suppress(ValueError):  # taken, or registered already
                if step == "train":
                    tokenizer.train("abababcd abcd", 259)
                elif step == "extend":
                    tokenizer.extend("efefef", 261)
                elif not isinstance(step, str):
                    tokenizer.register_special_tokens(step)
        tokenizer.save(tmp_path / "t.json")
        loaded = BPETokenizer().load(tmp_path / "t.json")
        assert state(loaded) == state(tokenizer)
        assert list(loaded.special_tokens) == list(tokenizer.special_tokens)
        for changed in (loaded, tokenizer):
            changed.register_special_tokens(["next", "and"])
        assert state(loaded) == state(tokenizer)
        for changed in (loaded, tokenizer):
            with suppress(ValueError):  # an id that was chosen is needed
                changed.train("abcabcabc", 258)
        assert state(loaded) == state(tokenizer)

    def test_the_file_is_readable_line_by_line(self, tmp_path: Path) -> None:
        tokenizer = BPETokenizer(None, ["<|끝|>"]).train("ababab", 258)
        tokenizer.save(tmp_path / "t.json")
        assert (tmp_path / "t.json").read_text(encoding="utf-8") == (
            '{\n "version": 2,\n "pattern": null,\n "normalization": null,\n'
            ' "whole_tokens": false,\n "special_tokens": {"<|끝|>": 258},\n "chosen_ids": [],\n'
            ' "byte_ids": null,\n "other_tokens": {},\n'
            ' "merges": [\n  [97, 98, 256],\n  [256, 256, 257]\n ]\n}\n'
        )

    def test_tokens_that_no_merge_makes_stand_by_id(self, tmp_path: Path) -> None:
        ranks = {bytes([byte]): byte for byte in range(256)} | {b"xyz": 300, b"abc": 299}
        BPETokenizer.from_tiktoken(ranks).save(tmp_path / "t.json")
        text = (tmp_path / "t.json").read_text(encoding="utf-8")
        assert ' "other_tokens": {"abc": 299, "xyz": 300},\n' in text

    @one_folder_serves
    @given(
        text=some_text,
        byte_ids=st.permutations(range(300, 556)) | st.none(),
        tokens=st.lists(st.text("ab", min_size=2, max_size=5), unique=True, max_size=8),
        pattern=st.sampled_from([None, (r"\p{N}", GPT2_SPLIT_PATTERN)]),
        special=st.dictionaries(st.text("<|xy", min_size=1), st.integers(600, 620), max_size=3),
    )
    def test_a_vocabulary_of_others_is_kept(
        self,
        tmp_path: Path,
        text: str,
        byte_ids: list[int] | None,
        tokens: list[str],
        pattern: str | tuple[str, ...] | None,
        special: dict[str, int],
    ) -> None:
        ranks = {bytes([byte]): (byte_ids or range(256))[byte] for byte in range(256)}
        ranks |= {token.encode(): 560 + 2 * number for number, token in enumerate(tokens)}
        special = {name: special_id for special_id, name in inverted(special).items()}
        try:
            tokenizer = BPETokenizer.from_tiktoken(ranks, pattern, special)
        except ValueError:  # a token that would be merged after its turn
            reject()
        tokenizer.extend("xyxyxy", len(ranks) + 2)
        tokenizer.save(tmp_path / "t.json")
        for loaded in (
            BPETokenizer().load(tmp_path / "t.json"),
            BPETokenizer.from_file(tmp_path / "t.json"),
            pickle.loads(pickle.dumps(tokenizer)),
        ):
            assert state(loaded) == state(tokenizer)
            for sample in (text, "".join(tokens), "aabbabxy"):
                assert loaded.encode(sample) == tokenizer.encode(sample)

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


class TestVersion1:
    written = """{
 "version": 1,
 "pattern": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| ?\
[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+",
 "special_tokens": {"<|pad|>": 5000, "<|end|>": 267, "<|끝|>": 268},
 "chosen_ids": ["<|pad|>"],
 "merges": [
  [108, 111],
  [256, 119],
  [32, 237],
  [149, 156],
  [257, 101],
  [258, 259],
  [261, 234],
  [32, 115],
  [32, 260],
  [184, 128],
  [262, 265]
 ]
}
"""

    def test_a_file_that_the_first_version_wrote_is_the_same_tokenizer(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "v1.json").write_text(self.written, encoding="utf-8")
        learned = BPETokenizer(special_tokens=["<|end|>", "<|끝|>"])
        learned.register_special_tokens({"<|pad|>": 5000})
        learned.train("low lower lowest, slow slower 한글 한국 한글", 268)
        loaded = BPETokenizer().load(tmp_path / "v1.json")
        assert state(loaded) == state(BPETokenizer.from_file(tmp_path / "v1.json"))
        assert state(loaded) == state(learned)
        text = "lowest slow 한글<|끝|><|pad|>"
        assert loaded.encode(text) == [260, 115, 116, 263, 257, 266, 268, 5000]
        loaded.save(tmp_path / "new.json")
        assert state(BPETokenizer().load(tmp_path / "new.json")) == state(learned)

    @pytest.mark.parametrize(
        ("old", "new", "fault"),
        [
            ("[262, 265]", "[262, 265, 266]", "rule 10 is not a pair of ids and a new id"),
            ("[108, 111]", "[108]", "rule 0 is not a pair"),
            ("[108, 111]", "5", "merges .* is not supported"),
            ("[108, 111]", "[108, 256]", "rule 0 makes no new token"),
            ("[262, 265]", "[119, 101], [256, 266]", "rule 11 makes no new token"),
            ('"<|end|>": 267', '"<|end|>": 270', "special_tokens is not what would be written"),
            ('"chosen_ids": ["<|pad|>"]', '"chosen_ids": []', "special_tokens is not what would"),
            (
                '"merges"',
                '"normalization": null, "merges"',
                "its keys are not version, pattern, special_tok",
            ),
        ],
    )
    def test_it_is_distrusted_like_the_others(
        self, tmp_path: Path, old: str, new: str, fault: str
    ) -> None:
        assert old in self.written
        (tmp_path / "v1.json").write_text(self.written.replace(old, new), encoding="utf-8")
        with pytest.raises(ValueError, match=fault):
            BPETokenizer().load(tmp_path / "v1.json")


def content_with(changes: Content) -> Content:
    content: Content = {
        "version": 2,
        "pattern": None,
        "normalization": None,
        "whole_tokens": False,
        "special_tokens": {"<|end|>": 258},
        "chosen_ids": [],
        "byte_ids": None,
        "other_tokens": {},
        "merges": [[97, 98, 256], [256, 99, 257]],
    }
    return content | changes


def write(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(content_with(changes)), encoding="utf-8")


BYTES_MIXED = [*range(255, -1, -1)]
NOT_WRITTEN = "is not what would be written for these tokens"

BAD_FILES = [
    ({"version": 3}, "version 3 is not supported"),
    ({"version": 0}, "version 0 is not supported"),
    ({"version": True}, "version True is not supported"),
    ({"version": None}, "version None is not supported"),
    ({"extra": 1}, "its keys are not version, pattern, .*, merges$"),
    ({"pattern": 5}, "pattern 5 is not supported"),
    ({"pattern": ["a", 5]}, "pattern .'a', 5. is not supported"),
    ({"pattern": {"a": 5}}, "pattern {'a': 5} is not supported"),
    ({"pattern": "("}, "invalid split pattern"),
    ({"pattern": ["a", r"\p{Foo}"]}, "invalid split pattern"),
    ({"normalization": "NFD"}, "normalization 'NFD' is not supported"),
    ({"whole_tokens": 0}, "whole_tokens 0 is not supported"),
    ({"special_tokens": ["<|end|>"]}, "special_tokens .* is not supported"),
    ({"special_tokens": {"x": "258"}}, f"special_tokens {NOT_WRITTEN}"),
    ({"special_tokens": {"x": 258.0}}, f"special_tokens {NOT_WRITTEN}"),
    ({"special_tokens": {"x": 257}}, f"special_tokens {NOT_WRITTEN}"),
    ({"special_tokens": {"x": 259}}, f"special_tokens {NOT_WRITTEN}"),
    ({"special_tokens": {"x": 259, "y": 258}}, f"special_tokens {NOT_WRITTEN}"),
    ({"special_tokens": {"x": "300"}, "chosen_ids": ["x"]}, "the id of 'x' cannot be '300'"),
    ({"special_tokens": {"x": True}, "chosen_ids": ["x"]}, "the id of 'x' cannot be True"),
    ({"special_tokens": {"x": 300.0}, "chosen_ids": ["x"]}, "the id of 'x' cannot be 300.0"),
    ({"special_tokens": {"x": -1}, "chosen_ids": ["x"]}, "the id of 'x' cannot be -1"),
    ({"special_tokens": {"x": 257}, "chosen_ids": ["x"]}, "'x' cannot have the id 257: it is ta"),
    (
        {"special_tokens": {"x": 400, "y": 400}, "chosen_ids": ["x", "y"]},
        "'y' cannot have the id 400: it is taken",
    ),
    ({"special_tokens": {"": 258}}, "cannot be empty"),
    ({"special_tokens": {"\ud800": 258}}, "surrogates not allowed"),
    ({"chosen_ids": ["y"]}, f"chosen_ids {NOT_WRITTEN}"),
    ({"chosen_ids": ["<|end|>", "<|end|>"]}, f"chosen_ids {NOT_WRITTEN}"),
    ({"chosen_ids": [[]]}, r"chosen_ids \[\[\]\] is not supported"),
    ({"chosen_ids": {}}, "chosen_ids {} is not supported"),
    ({"byte_ids": 5}, "byte_ids 5 is not supported"),
    ({"byte_ids": []}, "the byte .* is not a token"),
    ({"byte_ids": [*range(255), True]}, "the id of 'ÿ' cannot be True"),
    ({"byte_ids": [*range(255), []]}, r"the id of 'ÿ' cannot be \[\]"),
    ({"byte_ids": [*range(1, 256), -1]}, "the id of 'ÿ' cannot be -1"),
    ({"byte_ids": [*range(255)]}, "the byte b'.xff' is not a token"),
    ({"byte_ids": [*range(1, 258)], "merges": []}, f"byte_ids {NOT_WRITTEN}"),
    ({"byte_ids": [*range(255), 0]}, "'Ā' and 'ÿ' both have the id 0"),
    ({"byte_ids": [*range(256)]}, f"byte_ids {NOT_WRITTEN}"),
    ({"other_tokens": ["xy"]}, "other_tokens .* is not supported"),
    ({"other_tokens": {"xy": 3.0}}, "the id of 'xy' cannot be 3.0"),
    ({"other_tokens": {"xy": -1}}, "the id of 'xy' cannot be -1"),
    ({"other_tokens": {"xy": 97}}, "'a' and 'xy' both have the id 97"),
    ({"other_tokens": {"xy": 300, "yz": 300}}, "'xy' and 'yz' both have the id 300"),
    ({"other_tokens": {"xy": 257}}, f"other_tokens {NOT_WRITTEN}"),
    ({"other_tokens": {"abc": 300}}, f"other_tokens {NOT_WRITTEN}"),
    ({"other_tokens": {"a": 300}, "merges": []}, f"byte_ids {NOT_WRITTEN}"),
    ({"other_tokens": {"a": 97}}, f"other_tokens {NOT_WRITTEN}"),
    ({"other_tokens": {"한": 300}}, "'한' spells no bytes"),
    ({"other_tokens": {"": 300}}, "a token is empty"),
    ({"other_tokens": {"xy": 300, "xz": 299}}, f"(special|other)_tokens {NOT_WRITTEN}"),
    ({"merges": {}}, "merges {} is not supported"),
    ({"merges": [[97, 98, 256], "ab"]}, r"merges \[\[97, 98, 256\], 'ab'\] is not supported"),
    ({"merges": [[97, 98]]}, "rule 0 is not a pair of ids"),
    ({"merges": [[97, 98, 256, 257]]}, "rule 0 is not a pair of ids"),
    ({"merges": [[97, 98.0, 256]]}, "rule 0 is not a pair of ids"),
    ({"merges": [[True, 98, 256]]}, "rule 0 is not a pair of ids"),
    *(
        ({"merges": rules}, f"rule {len(rules) - 1} makes no new token of two that may be neigh")
        for rules in (
            [[97, 256, 256]],  # what is not there yet
            [[97, -1, 256]],
            [[97, 98, 99]],  # what is there already
            [[97, 98, -1]],
            [[97, 98, 256], [98, 97, 256]],
            [[97, 98, 256], [97, 98, 257]],
            [[97, 98, 256], [98, 99, 257], [97, 257, 258]],  # earlier ones leave no such pair
            [[97, 97, 256], [97, 256, 257]],  # it is (256, 97)
        )
    ),
    (
        {"merges": [[97, 97, 256], *([n, n, n + 1] for n in range(256, 300))]},
        "with rule 26 the tokens exceed 268435456",
    ),
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
        "changes",
        [
            {},
            {"pattern": ["a", "b"], "normalization": "NFC", "whole_tokens": True},
            {"special_tokens": {"x": 400, "<|end|>": 258}, "chosen_ids": ["x"]},
            {"special_tokens": {"x": 258, "y": 400, "z": 259}, "chosen_ids": ["y"]},
            {"special_tokens": {"x": 2**70}, "chosen_ids": ["x"]},
            {"byte_ids": BYTES_MIXED},
            {
                "byte_ids": [*range(1, 257)],
                "merges": [[98, 99, 0]],
                "special_tokens": {"<|end|>": 257},
            },
            {
                "byte_ids": [*range(1, 257)],
                "merges": [],
                "other_tokens": {"xy": 0},
                "special_tokens": {"<|end|>": 257},
            },
            {"other_tokens": {"xy": 258, "Ġz": 900}, "special_tokens": {"<|end|>": 901}},
            {"merges": [[0, 0, 256], [97, 0, 300]], "special_tokens": {"<|end|>": 301}},
        ],
    )
    def test_a_good_file_is_what_is_written_again(self, tmp_path: Path, changes: Content) -> None:
        write(tmp_path / "t.json", **changes)
        BPETokenizer().load(tmp_path / "t.json").save(tmp_path / "again.json")
        again = json.loads((tmp_path / "again.json").read_bytes())
        assert again == content_with(changes)
        assert list(again) == list(content_with({}))

    @pytest.mark.parametrize("key", [*content_with({})])
    def test_keys_stand_in_their_order_and_none_is_missing(self, tmp_path: Path, key: str) -> None:
        content = content_with({})
        value = content.pop(key)
        for wrong in (content, {key: value} | content, content | {key: value}):
            if [*wrong] != [*content_with({})]:
                (tmp_path / "bad.json").write_text(json.dumps(wrong))
                self.refused(tmp_path / "bad.json", "its keys are not|version None is not")

    @pytest.mark.parametrize("depth", [10, 500, *range(970, 1000), 45_000])
    def test_nesting_is_refused_at_whatever_depth_and_place(
        self, tmp_path: Path, depth: int
    ) -> None:
        for changes in ({"special_tokens": {"x": 0}}, {"byte_ids": [*range(256), 0]}):
            write(tmp_path / "bad.json", **changes)
            text = (tmp_path / "bad.json").read_text()
            place = '{"x": 0' if "special_tokens" in changes else "255, 0"
            nested = place[:-1] + "[" * depth + "1" + "]" * depth
            (tmp_path / "bad.json").write_text(text.replace(place, nested))
            assert nested in (tmp_path / "bad.json").read_text()
            self.refused(tmp_path / "bad.json", "is not what would be written|too deeply")

    def test_an_id_that_others_cannot_hold_is_kept_and_not_exported(self, tmp_path: Path) -> None:
        write(tmp_path / "t.json", merges=[[97, 97, 2**32]], special_tokens={})
        tokenizer = BPETokenizer().load(tmp_path / "t.json")
        assert tokenizer.encode("aa") == [2**32]
        for export in (tokenizer.to_huggingface, tokenizer.to_tiktoken):
            with pytest.raises(ValueError, match=r"the id .*4294967296"):
                export(tmp_path / "exported")
        assert not (tmp_path / "exported").exists()

    @pytest.mark.parametrize("most", [259, 260, 261])
    def test_the_number_of_tokens_is_bounded(
        self, tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        others = {"xy": 258, "xz": 259}  # and two that rules make, beside the 256
        write(tmp_path / "t.json", other_tokens=others, special_tokens={"<|end|>": 260})
        monkeypatch.setattr(bpe, "_MOST_TOKENS", most)
        if most >= 260:
            assert len(BPETokenizer().load(tmp_path / "t.json")) == 261
        else:
            write(tmp_path / "t.json", other_tokens=others, merges=[[97, 256, 256], [0, 0, 257]])
            self.refused(tmp_path / "t.json", "260 tokens are too many: there may be 259")  # first

    def test_an_untrained_tokenizer_is_saved_as_one_that_merges(self, tmp_path: Path) -> None:
        BPETokenizer().save(tmp_path / "t.json")
        written = json.loads((tmp_path / "t.json").read_bytes())
        assert [written[key] for key in ("whole_tokens", "merges", "other_tokens")] == [
            False,
            [],
            {},
        ]

    def test_what_would_not_be_loaded_is_not_saved(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe, "_MOST_TOKENS", 260)
        tokenizer = BPETokenizer(None).train("abcdefgh" * 9, 260)
        tokenizer.save(tmp_path / "t.json")
        assert state(BPETokenizer().load(tmp_path / "t.json")) == state(tokenizer)
        before = (tmp_path / "t.json").read_bytes()
        tokenizer.train("abcdefgh" * 9, 261)
        for refused in (
            lambda: tokenizer.save(tmp_path / "t.json"),
            lambda: pickle.dumps(tokenizer),
        ):
            with pytest.raises(ValueError, match="261 tokens are too many: there may be 260"):
                refused()
        assert (tmp_path / "t.json").read_bytes() == before

    @pytest.mark.parametrize("limit", [262, 263, 264])
    def test_the_bytes_of_all_tokens_are_bounded(
        self, tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe, "_MOST_BYTES", limit)
        write(
            tmp_path / "t.json",
            merges=[[97, 98, 256], [98, 99, 257], [257, 100, 258]],
            special_tokens={},
        )  # of 2, 2 and 3 bytes, beside the 256
        if limit >= 263:
            assert len(BPETokenizer().load(tmp_path / "t.json")) == 259
        else:
            with pytest.raises(ValueError, match="with rule 2 the tokens exceed 262 bytes"):
                BPETokenizer().load(tmp_path / "t.json")

    @pytest.mark.parametrize("limit", [-1, 0, 1])
    def test_the_size_of_a_file_is_bounded(
        self, tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path / "t.json")
        size = (tmp_path / "t.json").stat().st_size
        monkeypatch.setattr(bpe, "_LARGEST_FILE", size + limit)
        if limit >= 0:
            assert len(BPETokenizer().load(tmp_path / "t.json")) == 259
        else:
            with pytest.raises(ValueError, match=f"it has more than {size - 1} bytes"):
                BPETokenizer().load(tmp_path / "t.json")

    def test_a_small_file_of_many_values_is_refused_before_it_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe, "_MOST_VALUES", 1000)
        write(tmp_path / "bad.json", merges=[[]] * 1000)
        self.refused(tmp_path / "bad.json", "it holds more than 1000 values")

    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            (b"", "Expecting value"),
            (b"{", "Expecting property name"),
            (b"[1]", r"the file is not an object: \[1\]"),
            (b"{}", "version None is not supported"),
            (b'{"version": 1', "Expecting ',' delimiter"),
            (b'{"version": 1}]', "Extra data"),
            (b"\xff\xfe", "codec can't decode"),
            (b'{"version": ' + b"[" * 100_000, "nested too deeply"),
            (b'{"version": 2, "version": 2}', "the key 'version' stands twice in one object"),
            (b'{"version": 1, "pattern": ', "Expecting value"),
            (b'{"version": 1, "pattern": null, "special_tokens": {"a": 1, "a": 1', "Expecting"),
            (
                b'{"version": 1, "pattern": null, "special_tokens": {"a": 1, "a": 1}',
                "the key 'a' stands twice in one object",
            ),
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
        try:
            tokenizer.load(path)
        except ValueError as fault:
            message = str(fault)
            assert state(tokenizer) == state(BPETokenizer())
        else:
            message = str(path)
            tokenizer.save(path)
            assert json.loads(path.read_bytes()) == json.loads(content)
        assert str(path) in message
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

    @one_folder_serves
    @given(learned_from=some_text, text=some_text)
    def test_the_ranks_give_the_same_ids(
        self, tmp_path: Path, learned_from: str, text: str
    ) -> None:
        tokenizer = BPETokenizer().train(learned_from, 270)
        tokenizer.to_tiktoken(tmp_path / "ranks.tiktoken")
        for source in (tokenizer.mergeable_ranks(), tmp_path / "ranks.tiktoken"):
            assert BPETokenizer.from_tiktoken(source).encode(text) == tokenizer.encode(text)

    def test_ranks_that_would_merge_otherwise_are_refused(self, tmp_path: Path) -> None:
        # As ids say when tiktoken merges, a rule that makes a smaller id than one before cannot be.
        merges = [[97, 98, 300], [99, 100, 299]]
        write(tmp_path / "t.json", merges=merges, special_tokens={})
        tokenizer = BPETokenizer().load(tmp_path / "t.json")
        tokenizer.to_huggingface(tmp_path / "tokenizer.json")
        with pytest.raises(ValueError, match=r"token (300|299) is not merged when its id says so"):
            tokenizer.mergeable_ranks()
        write(tmp_path / "t.json", other_tokens={"xyz": 400}, special_tokens={})
        with pytest.raises(ValueError, match="no merge makes token 400, but tiktoken might"):
            BPETokenizer().load(tmp_path / "t.json").mergeable_ranks()
        write(tmp_path / "t.json", whole_tokens=True, other_tokens={"xy": 400}, special_tokens={})
        with pytest.raises(ValueError, match="token 400 is not merged when its id says so"):
            BPETokenizer().load(tmp_path / "t.json").mergeable_ranks()
        write(tmp_path / "t.json", normalization="NFC")
        with pytest.raises(ValueError, match="tiktoken does not normalize text to NFC"):
            BPETokenizer().load(tmp_path / "t.json").mergeable_ranks()

    def test_bytes_are_spelled_as_gpt2_spells_them(self, tmp_path: Path) -> None:
        BPETokenizer().to_huggingface(tmp_path / "tokenizer.json")
        vocab = json.loads((tmp_path / "tokenizer.json").read_bytes())["model"]["vocab"]
        spelling = {token_id: name for name, token_id in vocab.items()}
        visible = b"!~\xa1\xac\xae\xff"
        assert [spelling[byte] for byte in visible] == list(visible.decode("latin-1"))
        others = {0: "\u0100", 10: "\u010a", 32: "\u0120", 0x7F: "\u0121", 0x80: "\u0122"}
        others |= {0xA0: "\u0142", 0xAD: "\u0143"}
        assert {byte: spelling[byte] for byte in others} == others

    def test_huggingfaces_file(self, tmp_path: Path) -> None:
        tokenizer = trained()
        tokenizer.to_huggingface(tmp_path / "tokenizer.json")
        content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
        assert len(content["model"]["vocab"]) == 283
        assert content["model"]["vocab"]["Ġcat"] == tokenizer.encode(" cat")[0]
        assert len(content["model"]["merges"]) == 24
        assert [token["id"] for token in content["added_tokens"]] == [280, 281, 5000]
        assert all(token["special"] for token in content["added_tokens"])  # left out on demand

    @pytest.mark.parametrize(
        ("special", "fault"),
        [
            ({"at": 300}, "spelled like token 256"),
            ({"a": 300}, "spelled like token 97"),
            ({"éé": 300}, "as bytes"),
            ({"".join(bpe._byte_spelling()): 300}, "as bytes"),
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

    @pytest.mark.parametrize("name", ["é한", "".join(bpe._byte_spelling()) + " ", "abc", "é "])
    def test_one_that_is_spelled_only_partly_like_bytes_is_not(
        self, tmp_path: Path, name: str
    ) -> None:
        tokenizer = BPETokenizer(special_tokens=[name])
        tokenizer.to_huggingface(tmp_path / "tokenizer.json")
        loaded = BPETokenizer.from_huggingface(tmp_path / "tokenizer.json")
        assert loaded.special_tokens == {name: 256}
        assert loaded.encode(f"a{name}") == [97, 256]


def test_bytes_are_spelled_as_in_gpt2s_vocabulary() -> None:
    spelling = bpe._byte_spelling()
    assert len(set(spelling)) == 256
    assert [spelling[byte] for byte in b" \n\t\x00\x7f\xadA~"] == list("ĠĊĉĀġŃA~")
