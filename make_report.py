"""Measure what one paragraph costs in Korean and in English, and write both reports.

    python3 make_report.py [--output-dir DIR]

Two vocabularies are learned from the samples in `bpe`, one from both languages and one
from English alone; both paragraphs are encoded with each. `token_report.json` holds the
figures, `token_report.md` (in Korean) explains them. Every number in them is computed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import bpe
from bpe import SAMPLE_EN, SAMPLE_KO, Rule

VOCAB_SIZE = 512
CURVE_SIZES = [256, 320, 384, 512]
BAR_WIDTH = 40  # block characters for the longest bar
JSON_NAME, MARKDOWN_NAME = "token_report.json", "token_report.md"

UNSEEN = {
    "새 한국어 문장": "내일은 비가 그칠까요?",
    "새 영어 문장": "Will it stop raining?",
    "가족 이모지": "👨‍👩‍👧‍👦",
    "일본어": "駅前の店で雨宿りをした。",
    "아랍어": "المطر يتوقف قريبًا",
    "수식": "∀x∈ℝ: x² ≥ 0",
    "드문 음절": "뷁쀍",
    "줄 바꿈과 탭": "a\r\n\tb",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both reports and print where they are and what they say."""
    parser = argparse.ArgumentParser(description="Write token_report.json and token_report.md.")
    parser.add_argument(
        "--output-dir",
        type=Path,
        default=Path(__file__).resolve().parent,
        help="where to write them (default: beside this script)",
    )
    output_dir = parser.parse_args(arguments).output_dir
    output_dir.mkdir(parents=True, exist_ok=True)

    joined = SAMPLE_KO + "\n" + SAMPLE_EN
    shared = bpe.train(joined, VOCAB_SIZE)
    english_only = bpe.train(SAMPLE_EN, VOCAB_SIZE)
    report = measure(joined, shared, english_only)
    contents = {
        JSON_NAME: "{\n"
        + ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in report.items())
        + "\n}\n",
        MARKDOWN_NAME: render(report, shared, english_only),
    }
    for name, content in contents.items():
        bpe.write_atomically(output_dir / name, content)
        print(output_dir / name)
    print(summary(report))


def measure(joined: str, shared: list[Rule], english_only: list[Rule]) -> dict[str, Any]:
    """Return the figures of `token_report.json`, in its order."""
    ko_shared, en_shared = (bpe.encode(text, shared) for text in (SAMPLE_KO, SAMPLE_EN))
    ko_en_only, en_en_only = (bpe.encode(text, english_only) for text in (SAMPLE_KO, SAMPLE_EN))
    ko_bytes, en_bytes = len(bpe.to_ids(SAMPLE_KO)), len(bpe.to_ids(SAMPLE_EN))
    return {
        "vocab_size": VOCAB_SIZE,
        "ko_chars": len(SAMPLE_KO),
        "ko_bytes": ko_bytes,
        "en_chars": len(SAMPLE_EN),
        "en_bytes": en_bytes,
        "shared_rules": len(shared),
        "en_only_rules": len(english_only),
        "ko_tokens_shared": len(ko_shared),
        "en_tokens_shared": len(en_shared),
        "ko_tokens_en_only": len(ko_en_only),
        "en_tokens_en_only": len(en_en_only),
        "ko_bytes_per_token": ko_bytes / len(ko_shared),
        "en_bytes_per_token": en_bytes / len(en_shared),
        "curve": [list(point) for point in bpe.vocab_curve(joined, CURVE_SIZES)],
        "roundtrip_ok": all(
            bpe.decode(ids, rules) == text
            for ids, rules, text in (
                (ko_shared, shared, SAMPLE_KO),
                (en_shared, shared, SAMPLE_EN),
                (ko_en_only, english_only, SAMPLE_KO),
                (en_en_only, english_only, SAMPLE_EN),
            )
        ),
    }


def summary(report: dict[str, Any]) -> str:
    """Return the figures in four lines."""
    lines = [
        f"{name}: {report[f'{language}_chars']} characters, {report[f'{language}_bytes']} bytes, "
        f"{report[f'{language}_tokens_shared']} tokens (shared vocabulary), "
        f"{report[f'{language}_tokens_en_only']} tokens (English-only)"
        for name, language in (("Korean", "ko"), ("English", "en"))
    ]
    curve = ", ".join(f"{tokens} at {size}" for size, tokens in report["curve"])
    lines.append(f"Tokens by vocabulary size: {curve}")
    lines.append(f"Round trip: {'exact' if report['roundtrip_ok'] else 'BROKEN'}")
    return "\n".join(lines)


def render(report: dict[str, Any], shared: list[Rule], english_only: list[Rule]) -> str:
    """Return `token_report.md`: four sections, each with its tables and what they mean."""
    sections = {
        "무엇을 쟀나": _what_was_measured(report),
        "어휘를 키우면 토큰이 어떻게 줄었나": _curve(report),
        "한국어가 손해를 보는 이유": _why_korean_pays(report, shared, english_only),
        "바이트 수준이라 안 깨지는 것": _what_does_not_break(report, shared, english_only),
    }
    text = "".join(f"\n## {title}\n\n{body}\n" for title, body in sections.items())
    return f"# 같은 글, 다른 토큰 수: 한국어와 영어\n{text}"


def _what_was_measured(report: dict[str, Any]) -> str:
    ko_ratio = report["ko_bytes"] / report["ko_chars"]
    en_ratio = report["en_bytes"] / report["en_chars"]
    texts = _table(
        ["글", "글자", "바이트", "글자당 바이트"],
        [
            ["한국어", report["ko_chars"], report["ko_bytes"], f"{ko_ratio:.2f}"],
            ["영어", report["en_chars"], report["en_bytes"], f"{en_ratio:.2f}"],
        ],
    )
    vocabularies = _table(
        ["어휘", "학습한 글", "허용한 크기", "배운 규칙", "실제 크기"],
        [
            [
                "공유",
                "한국어 + 영어",
                VOCAB_SIZE,
                report["shared_rules"],
                256 + report["shared_rules"],
            ],
            [
                "영어 전용",
                "영어",
                VOCAB_SIZE,
                report["en_only_rules"],
                256 + report["en_only_rules"],
            ],
        ],
    )
    return f"""\
일상을 적은 글 한 편을 한국어와 영어로, 문장 하나하나 같은 내용이 되게 썼다. 이 두 글을 같은
바이트 수준 BPE 토크나이저로 자르고 토큰 수를 세었다.

{texts}

어휘는 두 가지를 학습했다. 둘 다 바이트 256개에서 출발해 가장 자주 나오는 이웃 쌍을 새 토큰으로
합쳐 나간다.

{vocabularies}

{_early_stop(report)}"""


def _early_stop(report: dict[str, Any]) -> str:
    room = VOCAB_SIZE - 256
    stopped = [
        f"{name} 어휘는 규칙 {rules}개"
        for name, rules in (
            ("공유", report["shared_rules"]),
            ("영어 전용", report["en_only_rules"]),
        )
        if rules < room
    ]
    if not stopped:
        return f"두 어휘 모두 규칙 {room}개를 다 채웠다."
    return f"""\
규칙은 {room}개까지 배울 수 있었지만 {", ".join(stopped)}에서 학습이 끝났다. 글이 짧아서
{bpe.MIN_PAIR_COUNT}번 이상 나오는 쌍이 더는 남지 않았기 때문이다."""


def _curve(report: dict[str, Any]) -> str:
    curve = [
        (size, min(size - 256, report["shared_rules"]), tokens) for size, tokens in report["curve"]
    ]
    largest = max(tokens for _, _, tokens in curve)
    bars = ["█" * round(BAR_WIDTH * tokens / largest) for _, _, tokens in curve]
    rows: list[list[object]] = [[*curve[0], "-", "-", bars[0]]]
    savings = []  # tokens saved per rule, and by which step of the vocabulary
    for (size, rules, tokens), (next_size, next_rules, next_tokens), bar in zip(
        curve, curve[1:], bars[1:], strict=False
    ):
        per_rule = (tokens - next_tokens) / (next_rules - rules)
        savings.append((per_rule, f"{size} → {next_size}"))
        rows.append(
            [next_size, next_rules, next_tokens, tokens - next_tokens, f"{per_rule:.2f}", bar]
        )
    table = _table(
        ["어휘 크기", "배운 규칙", "토큰", "앞보다 줄어든 토큰", "새 규칙 하나당", "막대"], rows
    )
    (most, steepest), (least, flattest) = max(savings), min(savings)
    kept = 100 * curve[-1][2] / curve[0][2]
    return f"""\
두 글을 줄 바꿈 하나로 이은 글의 토큰 수를 어휘 크기마다 쟀다. 어휘가 {curve[0][0]}이면 바이트 하나가 토큰 하나다.

{table}

어휘 크기 {curve[-1][0]}에서는 처음 토큰의 {kept:.1f} %만 남는다. 그러나 고르게 줄지는 않는다. {steepest} 구간에서는
새 규칙 하나가 토큰을 평균 {most:.2f}개 줄였고, {flattest} 구간에서는 {least:.2f}개 줄였다. 자주 나오는 쌍부터
합치기 때문에, 나중에 배우는 규칙일수록 쓰일 자리가 적다. 어휘를 키우는 데 드는 값은 갈수록 비싸진다."""


def _why_korean_pays(report: dict[str, Any], shared: list[Rule], english_only: list[Rule]) -> str:
    rows = [
        _cost_row(
            "한국어", "공유", report["ko_chars"], report["ko_bytes"], report["ko_tokens_shared"]
        ),
        _cost_row(
            "영어", "공유", report["en_chars"], report["en_bytes"], report["en_tokens_shared"]
        ),
        _cost_row(
            "한국어",
            "영어 전용",
            report["ko_chars"],
            report["ko_bytes"],
            report["ko_tokens_en_only"],
        ),
        _cost_row(
            "영어", "영어 전용", report["en_chars"], report["en_bytes"], report["en_tokens_en_only"]
        ),
    ]
    table = _table(["글", "어휘", "글자", "바이트", "토큰", "글자당 토큰", "토큰당 바이트"], rows)
    syllable_bytes, letter_bytes = len(bpe.to_ids("한")), len(bpe.to_ids("h"))
    hangul = [character for character in SAMPLE_KO if "가" <= character <= "힣"]
    hangul_shared, hangul_en_only = (
        sum(len(bpe.encode(character, rules)) for character in hangul) / len(hangul)
        for rules in (shared, english_only)
    )
    shared_ratio = report["ko_tokens_shared"] / report["en_tokens_shared"]
    en_only_ratio = report["ko_tokens_en_only"] / report["en_tokens_en_only"]
    return f"""\
{table}

**출발선이 다르다.** UTF-8에서 한글 한 음절은 {syllable_bytes}바이트, 영어 글자 하나는 {letter_bytes}바이트다. 그래서 이
한국어 글은 글자 수가 영어의 {report["ko_chars"] / report["en_chars"]:.2f}배밖에 안 되는데도 바이트 수는 {report["ko_bytes"] / report["en_bytes"]:.2f}배다. 한글은
규칙을 {syllable_bytes - 1}번 써야 겨우 한 음절이 되고, 영어는 그만큼의 규칙으로 이미 낱말 조각을 만든다.

**글자로 세면 공유 어휘에서도 비싸다.** 글자당 토큰은 한국어 {report["ko_tokens_shared"] / report["ko_chars"]:.2f}개, 영어 {report["en_tokens_shared"] / report["en_chars"]:.2f}개다.
다만 한국어는 적은 글자에 같은 내용을 담으므로, 글 전체의 토큰은 영어의 {shared_ratio:.2f}배다. 두 언어를 함께
배운 어휘라면 글 전체로는 손해가 거의 없다. 토큰 하나에 한국어는 {report["ko_bytes_per_token"]:.2f}바이트, 영어는
{report["en_bytes_per_token"]:.2f}바이트가 담긴 것도 같은 이야기다.

**배우지 않은 글자는 바이트로 돌아간다.** 영어만 보고 배운 어휘에는 한글을 합치는 규칙이 없다. 이
글의 한글 음절을 하나씩 따로 자르면 공유 어휘로는 평균 {hangul_shared:.2f}토큰, 영어 전용 어휘로는 평균
{hangul_en_only:.2f}토큰이다. 그래서 같은 한국어 글의 토큰이 {report["ko_tokens_shared"]}개에서 {report["ko_tokens_en_only"]}개로 늘어, 내용이 같은 영어
글의 {en_only_ratio:.2f}배가 된다. 바이트 수({report["ko_bytes"]})와 거의 같은 수다. 영어는 공유 어휘에서 {report["en_tokens_shared"]}개,
영어 전용 어휘에서 {report["en_tokens_en_only"]}개다. 손해는 언어가 아니라 어휘를 무엇으로 배웠는지에서 온다.

여기서 잰 것은 이 두 글로 배운 작은 어휘뿐이며, 실제 모델의 토크나이저에 대한 말이 아니다."""


def _cost_row(text: str, vocabulary: str, chars: int, data: int, tokens: int) -> list[object]:
    return [text, vocabulary, chars, data, tokens, f"{tokens / chars:.2f}", f"{data / tokens:.2f}"]


def _what_does_not_break(
    report: dict[str, Any], shared: list[Rule], english_only: list[Rule]
) -> str:
    rows = []
    for name, text in UNSEEN.items():
        encodings = [(bpe.encode(text, rules), rules) for rules in (shared, english_only)]
        returned = all(bpe.decode(ids, rules) == text for ids, rules in encodings)
        counts = [len(ids) for ids, _ in encodings]
        rows.append(
            [name, f"`{_visible(text)}`", len(text), len(bpe.to_ids(text)), *counts, _yes(returned)]
        )
    table = _table(
        ["글", "보기", "글자", "바이트", "토큰(공유)", "토큰(영어 전용)", "그대로 돌아옴"], rows
    )
    whole = bpe.encode("한", english_only)
    cuts = _table(
        ["남긴 토큰", "되돌린 글"],
        [
            [str(whole[:length]), f"`{bpe.decode(whole[:length], english_only)}`"]
            for length in range(1, len(whole) + 1)
        ],
    )
    return f"""\
규칙은 바이트를 합치기만 하고 버리지 않는다. 토큰을 끝까지 풀면 처음의 바이트가 그대로 나오므로,
배운 적이 없는 글도 잃는 것이 없다. 규칙이 맞지 않으면 토큰이 많아질 뿐이다. 두 글이 두 어휘
모두에서 글자 하나까지 그대로 돌아오는지 확인한 결과는 “{_yes(report["roundtrip_ok"])}”다.

아래는 학습한 글에 없던 글이다.

{table}

깨지는 것은 토큰 열이 글자 한가운데에서 끊길 때뿐이다. `한`은 영어 전용 어휘로 토큰 {len(whole)}개다.
앞에서부터 몇 개만 남기고 되돌리면, 덜 끝난 글자 자리에 U+FFFD가 나오고 오류는 나지 않는다.

{cuts}"""


def _visible(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")


def _yes(value: bool) -> str:
    return "예" if value else "아니요"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


if __name__ == "__main__":
    main()
