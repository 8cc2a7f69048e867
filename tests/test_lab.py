"""The lab's functions: their laws, the contract's examples, and what they refuse."""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bpe
import reference
from bpe import count_pairs, decode, encode, from_ids, merge, to_ids, train, vocab_curve
from reference import Rule
from strategies import near_ids, rule_lists, small_text, some_text, well_formed_rules, wild_ids
from work import lines_run

ids_lists = st.lists(st.sampled_from([0, 1, 97, 255]), max_size=40)
sizes = st.integers(250, 275)
NESTING = 100_000


class TestBytes:
    @given(st.text())
    def test_ids_are_utf8_bytes(self, text: str) -> None:
        assert to_ids(text) == list(text.encode("utf-8"))
        assert from_ids(to_ids(text)) == text

    @given(st.lists(st.integers(0, 255)))
    def test_any_bytes_become_text(self, ids: list[int]) -> None:
        assert from_ids(ids) == bytes(ids).decode("utf-8", errors="replace")

    @pytest.mark.parametrize("wrong", [-1, 256, 10**20])
    def test_an_id_that_is_no_byte_is_named(self, wrong: int) -> None:
        with pytest.raises(ValueError, match=f"{wrong} at position 1"):
            from_ids([97, wrong])

    def test_a_lone_surrogate_is_pythons_own_error(self) -> None:
        for refused in (to_ids, lambda text: train(text, 300), lambda text: encode(text, [])):
            with pytest.raises(UnicodeEncodeError):
                refused("a\ud800")


class TestCountAndMerge:
    def test_the_contracts_examples(self) -> None:
        assert count_pairs([9, 9, 9]) == {(9, 9): 2}
        assert count_pairs([]) == count_pairs([7]) == {}
        assert merge([5, 5, 5], (5, 5), 300) == [300, 5]

    @given(ids_lists)
    def test_pairs_are_counted_wherever_they_are(self, ids: list[int]) -> None:
        counts = count_pairs(ids)
        assert type(counts) is dict
        assert sum(counts.values()) == max(len(ids) - 1, 0)
        assert counts == reference.count_pairs(ids)

    @given(ids_lists, ids_lists)
    def test_given_counts_are_added_to(self, one: list[int], other: list[int]) -> None:
        counts = count_pairs(one)
        assert count_pairs(other, counts) is counts
        for pair in counts:
            assert counts[pair] == count_pairs(one).get(pair, 0) + count_pairs(other).get(pair, 0)

    def test_given_empty_counts_are_the_ones_returned(self) -> None:
        counts: dict[tuple[int, int], int] = {}
        assert count_pairs([1, 2], counts) is counts
        assert counts == {(1, 2): 1}

    @given(ids_lists, st.tuples(near_ids, near_ids) | st.just((97, 97)), wild_ids)
    def test_merge_is_the_textbooks(self, ids: list[int], pair: Any, new_id: int) -> None:
        before = list(ids)
        assert merge(ids, pair, new_id) == reference.merge(before, pair, new_id)
        assert ids == before

    @given(st.lists(st.sampled_from([97, 98]), max_size=30))
    def test_merge_preserves_the_expansion(self, ids: list[int]) -> None:
        rules = [((97, 98), 256)]
        assert decode(merge(ids, (97, 98), 256), rules) == from_ids(ids)

    def test_merge_takes_any_integers(self) -> None:
        assert merge([-3, 10**30, -3, 10**30], (-3, 10**30), -1) == [-1, -1]


class TestTrain:
    @settings(max_examples=400)
    @given(some_text, sizes)
    def test_it_learns_what_the_textbook_learns(self, text: str, vocab_size: int) -> None:
        assert train(text, vocab_size) == reference.train(text, vocab_size)

    @pytest.mark.parametrize("minimum", [-1, 0, 1, 2, 3])
    @given(text=small_text)
    def test_the_minimum_count_is_read_when_it_runs(self, minimum: int, text: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "MIN_PAIR_COUNT", minimum)
            assert train(text, 270) == reference.train(text, 270, minimum)

    @pytest.mark.parametrize("rare", [1, 3])  # nearly all pairs are, at first
    @given(text=small_text, vocab_size=sizes)
    def test_pairs_that_were_left_out_as_rare_come_in_time(
        self, rare: int, text: str, vocab_size: int
    ) -> None:
        counted: list[int] = []
        count = bpe._Learner._count

        def counting(learner: bpe._Learner, minimum: int) -> None:
            counted.append(minimum)
            count(learner, minimum)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe._Learner, "RARE", rare)
            patch.setattr(bpe._Learner, "_count", counting)
            assert train(text, vocab_size) == reference.train(text, vocab_size)
        assert len(counted) <= 2  # and not in every round

    @given(some_text, sizes, sizes)
    def test_a_shorter_training_is_a_prefix(self, text: str, one: int, other: int) -> None:
        shorter, longer = sorted([one, other])
        assert train(text, longer)[: max(shorter - 256, 0)] == train(text, shorter)

    @pytest.mark.parametrize("vocab_size", [256, 255, 0, -5])
    def test_a_small_vocabulary_has_no_rules(self, vocab_size: int) -> None:
        assert train("aaaa", vocab_size) == []

    def test_a_huge_vocabulary_is_an_upper_bound(self) -> None:
        assert len(train("aaaabbbb", 10**30)) == 2

    def test_rules_are_plain_tuples_of_ints(self) -> None:
        rules = train("abab" * 9, 260)
        assert all(type(rule) is tuple and type(rule[0]) is tuple for rule in rules)
        assert {type(number) for (a, b), c in rules for number in (a, b, c)} == {int}

    def test_more_tokens_than_there_are_characters_is_said(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe, "_LARGEST_TOKEN", 257)
            assert len(train("abcabcabc", 258)) == 2
            with pytest.raises(ValueError, match="at most 258 tokens"):
                train("abcabcabcxyxyxy", 300)


class TestEncode:
    @settings(max_examples=300)
    @given(
        text=small_text,
        times=st.sampled_from([1, 5]),  # short text and long text are encoded in two ways
        rules=rule_lists(near_ids) | well_formed_rules(),
    )
    @example(text="abb", times=1, rules=[((97, 98), 97)])  # makes its pair again: it had its turn
    @example(text="abbab", times=1, rules=[((97, 98), 256), ((98, 97), 256), ((256, 256), 257)])
    @example(text="abbb", times=1, rules=[((97, 98), 256), ((98, 98), 256), ((256, 256), 257)])
    def test_any_rules_are_applied_once_and_in_order(
        self, text: str, times: int, rules: list[Rule]
    ) -> None:
        assert encode(text * times, rules) == reference.encode(text * times, rules)
        mapping = dict(rules)
        assert encode(text * times, mapping) == reference.encode(text * times, [*mapping.items()])

    @given(small_text, rule_lists(wild_ids))
    def test_ids_may_be_negative_or_huge(self, text: str, rules: list[Rule]) -> None:
        assert encode(text, rules) == reference.encode(text, rules)

    @settings(max_examples=300)
    @given(
        st.lists(small_text, min_size=1, max_size=3),
        well_formed_rules(),
        st.integers(2, 7),
        st.sampled_from([1, 4, 512]),
    )
    def test_cutting_long_text_changes_nothing(
        self, texts: list[str], rules: list[Rule], shortest_run: int, reach: int
    ) -> None:
        text = "".join(letter * 70 if letter == "b" else letter for letter in "".join(texts)) * 2
        run = re.compile(rb"(?s)(.)\1{%d,6}" % (shortest_run - 1))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bpe._Encoder, "SHORT", 2)
            patch.setattr(bpe._Encoder, "FEW_RULES", 0)
            patch.setattr(bpe._Encoder, "REACH", reach)
            patch.setattr(bpe._Encoder, "BACK", min(reach, 16))
            patch.setattr(bpe._Encoder, "MOST_REMEMBERED", reach)
            patch.setattr(bpe, "_RUN", run)
            assert encode(text, rules) == reference.encode(text, rules)

    @pytest.mark.parametrize("few_rules", [0, 1000])
    def test_long_text_as_it_comes(self, few_rules: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bpe._Encoder, "FEW_RULES", few_rules)
        text = "".join(random.Random(3).choices("ab c", k=9000)) + "a" * 9000
        rules = train(text, 400)
        assert encode(text, rules) == reference.encode(text, rules)

    def test_surrogates_are_ordinary_ids(self) -> None:
        rules = [((97, 98), 0xD800), ((0xD800, 99), 0xDFFF)]
        assert encode("abcab", rules) == [0xDFFF, 0xD800]

    def test_rules_may_be_lists(self) -> None:
        rules: Any = [[[97, 98], 256]]
        assert encode("ab", rules) == [256]
        assert decode([256], rules) == "ab"

    def test_rules_may_be_a_mapping_in_their_order(self) -> None:
        merges = {(98, 99): 256, (97, 98): 257, (97, 256): 258}
        assert encode("abcab", merges) == [258, 257]
        assert decode([258, 257], merges) == "abcab"


class TestDecode:
    @settings(max_examples=300)
    @given(some_text, some_text, sizes)
    def test_text_comes_back(self, learned_from: str, text: str, vocab_size: int) -> None:
        rules = train(learned_from, vocab_size)
        assert decode(encode(text, rules), rules) == text

    @given(st.lists(st.integers(0, 261), max_size=12), st.randoms(use_true_random=False))
    def test_the_order_of_the_rules_is_nothing(self, ids: list[int], rng: Any) -> None:
        rules = train("abcabcabcabdabd한한한", 262)
        assert len(rules) == 6
        shuffled = rng.sample(rules, len(rules))
        assert decode(ids, shuffled) == reference.decode(ids, rules)

    def test_deep_nesting(self) -> None:
        upward = [((255 + level, 97), 256 + level) for level in range(1, NESTING)]
        rules = [((97, 97), 256), *upward]
        assert decode([255 + NESTING], rules) == "a" * (NESTING + 1)

    def test_deep_nesting_downward(self) -> None:
        downward = [((97, -level - 1), -level) for level in range(1, NESTING)]
        assert decode([-1], [*downward, ((97, 97), -NESTING)]) == "a" * (NESTING + 1)

    @pytest.mark.parametrize(
        ("rules", "circle"),
        [
            ([((256, 97), 256)], r"\[256, 256\]$"),
            (
                [((97, 257), 256), ((256, 98), 257), ((97, 97), 300)],
                r"\[(256, 257, 256|257, 256, 257)\]$",
            ),
            ([((97, 256 + (i + 1) % 9), 256 + i) for i in range(9)], r"\[(\d+, ){6}\.\.\.\]$"),
        ],
    )
    def test_a_circle_is_refused_whatever_the_ids(self, rules: list[Rule], circle: str) -> None:
        for ids in ([], [97, 300, 256]):
            with pytest.raises(ValueError, match=f"circle: {circle}"):
                decode(ids, rules)

    @pytest.mark.parametrize("unknown", [-1, 257, 10**25])
    def test_an_unknown_id_is_named(self, unknown: int) -> None:
        with pytest.raises(ValueError, match=f"id {unknown} is neither"):
            decode([97, unknown], [((97, 98), 256)])
        with pytest.raises(ValueError, match=f"id {unknown} is neither"):
            decode([256], [((97, unknown), 256)])

    def test_a_byte_stays_a_byte(self) -> None:
        assert decode([97], [((98, 98), 97)]) == "a"

    def test_a_cut_character_is_replaced(self) -> None:
        assert decode(to_ids("a한")[:-1], []) == "a\ufffd"


class TestVocabCurve:
    @given(some_text, st.lists(sizes, max_size=6))
    def test_each_point_is_measured_with_the_rules_of_its_size(
        self, text: str, sizes: list[int]
    ) -> None:
        curve = vocab_curve(text, sizes)
        assert curve == [(size, len(encode(text, train(text, size)))) for size in sizes]
        assert all(type(point) is tuple for point in curve)

    @given(some_text)
    def test_it_never_rises(self, text: str) -> None:
        counts = [tokens for _, tokens in vocab_curve(text, range(250, 300))]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] == len(text.encode("utf-8"))


class TestWork:
    """Work is counted in lines of the module that run, and so is the same on every machine."""

    rules = train("def f(x):\n        return x\n" * 40 + bpe.SAMPLE_EN + " " * 300 + "b" * 300, 700)
    random = random.Random(6)
    texts = (
        " " * 8000,
        "a" * 8000,
        "b" * 7999 + "a",
        "def g(y):\n    return y\n" * 300,
        "".join(random.choices("abc def\n", k=8000)),
        "".join(chr(random.randrange(1, 128)) for _ in range(8000)),
        "".join(" " * random.randrange(60) + random.choice("abx") for _ in range(300)),
        bpe.SAMPLE_KO * 20,
    )

    @pytest.mark.parametrize("text", texts, ids=lambda text: repr(text[:9]))
    def test_twice_the_text_is_at_most_twice_the_work(
        self, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe._Encoder, "FEW_RULES", 0)
        encode(text * 8, self.rules)  # what is worked out once is worked out
        none, once, twice = (lines_run(partial(encode, text * n, self.rules)) for n in (0, 4, 8))
        assert twice - none < 2.2 * (once - none)
        assert once - none < 4 * 60 * len(text.encode("utf-8"))

    def test_what_a_seam_takes_back_is_bounded_by_the_text(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where a whole run of letters joins what comes after it, at every seam."""
        monkeypatch.setattr(bpe._Encoder, "FEW_RULES", 0)
        rules = [((97, 98), 256), *(((97, 255 + k), 256 + k) for k in range(1, 200))]
        lengths = random.Random(8)
        text = "".join("a" * lengths.randrange(200) + "b" for _ in range(60))
        encode(text * 4, rules)  # what is worked out once is worked out
        once, twice = (lines_run(partial(encode, text * n, rules)) for n in (2, 4))
        assert twice < 2.2 * once
        assert encode(text, rules) == reference.encode(text, rules)

    @pytest.mark.parametrize("start", [" ", "a", " b", "ab" * 300])
    def test_a_long_run_is_encoded_a_few_times(
        self, start: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also where its beginning joins what is before it."""
        rules = [((97, 97), 256), ((256, 256), 257), ((257, 257), 258), ((258, 258), 259)]
        rules += [((32, 97), 260), ((98, 97), 261), ((261, 97), 262), ((260, 98), 263)]
        text = start + "a" * 40_000
        wanted = encode(text, rules)  # by one rule after the other, as there are few
        sizes = self.sizes_of_stretches(monkeypatch)
        assert encode(text, rules) == wanted
        assert len(text) <= sum(sizes) < 4 * len(text)

    def test_it_is_so_too_where_a_token_holds_most_of_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rules = [((97 if size == 0 else 255 + size,) * 2, 256 + size) for size in range(16)]
        rules.append(((98, 271), 272))
        text = "b" + "a" * 100_000
        wanted = encode(text, rules)
        sizes = self.sizes_of_stretches(monkeypatch)
        assert encode(text, rules) == wanted
        assert len(text) <= sum(sizes) < 50 * len(text)  # and not once for every 512 bytes

    def sizes_of_stretches(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Return a list that grows with what is encoded from now on."""
        sizes: list[int] = []
        encode_stretch = bpe._Encoder._encode_stretch

        def counted(encoder: bpe._Encoder, stretch: bytes) -> list[int]:
            sizes.append(len(stretch))
            return encode_stretch(encoder, stretch)

        monkeypatch.setattr(bpe._Encoder, "FEW_RULES", 0)
        monkeypatch.setattr(bpe._Encoder, "_encode_stretch", counted)
        return sizes

    def test_a_token_that_holds_much_of_a_run_and_what_is_before_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bpe._Encoder, "FEW_RULES", 0)
        rules = [((97 if size == 0 else 255 + size,) * 2, 256 + size) for size in range(12)]
        rules += [((98, 267), 268), ((268, 265), 269)]  # b and 4,096 or 5,120 times an a
        for length in (3000, 4096, 5000, 5120, 20_000, 90_000):
            for text in ("b" + "a" * length, "a" * 90 + "b" + "a" * length + "b"):
                assert encode(text, rules) == reference.encode(text, rules)

    def test_few_stretches_are_remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bpe._Encoder, "FEW_RULES", 0)
        monkeypatch.setattr(bpe._Encoder, "MOST_REMEMBERED", 3)
        encoder = bpe._encoder_of_rules(tuple(self.rules))
        assert encoder is not None
        encoder.encode(b"".join(b"a" * size + b" x" for size in range(20, 60)))
        assert 0 < len(encoder.remembered) <= 3

    def test_training_does_not_count_the_text_again_for_every_rule(self) -> None:
        text = "".join(self.random.choices("abcdefgh ", k=6000))
        assert len(train(text, 500)) == 244
        assert lines_run(lambda: train(text, 500)) < 20 * len(text)
        assert lines_run(lambda: vocab_curve(text, range(256, 500))) < 20 * len(text)


untyped: Any = bpe

WRONG_TYPES = [  # each argument once, and once each way in which it can be wrong
    (lambda: untyped.to_ids(b"abc"), "text must be str, not bytes"),
    (lambda: untyped.from_ids("abc"), "ids must be a list of integers, not str"),
    (lambda: untyped.from_ids(7), "ids must be a list of integers, not int"),
    (lambda: untyped.from_ids([97, 98.0]), r"ids\[1\] must be int, not float"),
    (lambda: untyped.count_pairs("abc"), "ids must be a list of integers, not str"),
    (lambda: untyped.count_pairs([97], 5), "counts must be dict, not int"),
    (lambda: untyped.merge("abc", (97, 98), 256), "ids must be a list of integers, not str"),
    (lambda: untyped.merge([97], 97, 256), "pair must be a list of integers, not int"),
    (lambda: untyped.merge([97], (97, 97), None), "new_id must be int, not NoneType"),
    (lambda: untyped.train(b"abc", 300), "text must be str, not bytes"),
    (lambda: untyped.train("abc", 300.0), "vocab_size must be int, not float"),
    (lambda: untyped.encode(b"abc", []), "text must be str, not bytes"),
    (lambda: untyped.encode("abc", "rules"), "merges must be a list of rules, not str"),
    (lambda: untyped.encode("abc", [((97, 98), 256), (97, 98)]), r"rule 1 must be .* \(97, 98\)"),
    (lambda: untyped.encode("abc", [((97, 98), "x")]), r"rule 0 must be .* \(\(97, 98\), 'x'\)"),
    (
        lambda: untyped.encode("abc", {(97, 98, 99): 256}),
        r"rule 0 must be .* \(\(97, 98, 99\), 256",
    ),
    (lambda: untyped.decode("abc", []), "ids must be a list of integers, not str"),
    (lambda: untyped.decode([97], None), "merges must be a list of rules, not NoneType"),
    (lambda: untyped.vocab_curve(b"abc", [256]), "text must be str, not bytes"),
    (lambda: untyped.vocab_curve("abc", 256), "sizes must be a list of integers, not int"),
]


@pytest.mark.parametrize(("call", "message"), WRONG_TYPES)
def test_a_wrong_type_is_said(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


class TestTheModule:
    def test_the_samples(self) -> None:
        assert 350 <= len(bpe.SAMPLE_KO) <= 500
        assert sum("가" <= character <= "힣" for character in bpe.SAMPLE_KO) > 200
        assert bpe.SAMPLE_EN.isascii()
        assert bpe.SAMPLE_KO.count(".") == bpe.SAMPLE_EN.count(".")

    def test_it_imports_the_standard_library_only(self) -> None:
        tree = ast.parse(Path(bpe.__file__).read_text(encoding="utf-8"))
        imported = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
        assert {name.split(".")[0] for name in imported} <= set(sys.stdlib_module_names)

    def test_nothing_is_printed_at_import_from_any_folder(self, tmp_path: Path) -> None:
        command = f"import sys; sys.path.insert(0, {str(Path(bpe.__file__).parent)!r}); import bpe"
        done = subprocess.run(
            [sys.executable, "-c", command], cwd=tmp_path, capture_output=True, check=True
        )
        assert done.stdout == done.stderr == b""
        assert list(tmp_path.iterdir()) == []

    def test_every_public_name_has_a_docstring_with_an_example(self) -> None:
        for name in bpe.__all__:
            thing = getattr(bpe, name)
            if callable(thing):
                assert ">>> " in (thing.__doc__ or ""), name
        for kind in (bpe.BPETokenizer, bpe.ByteTokenizer):
            for name, method in vars(kind).items():
                if callable(method) and not name.startswith("_"):
                    assert method.__doc__, name
