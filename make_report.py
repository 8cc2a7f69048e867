"""Measure what one paragraph costs in Korean and in English, and write both reports.

    python3 make_report.py [--output-dir DIR]

Two vocabularies are learned from the samples in `bpe`, one from both languages and one
from English alone; both paragraphs are encoded with each. `token_report.json` holds the
figures, `token_report.md` (in Korean) explains them. What depends on the samples is computed:
every figure, and the words that would be wrong for other figures.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - before `bpe`, which does not load there
    sys.exit("make_report.py needs Python 3.10 or newer, this is {}.{}".format(*sys.version_info))

import argparse
import json
import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
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
    """Write both reports, then print where they are and what they say."""
    parser = argparse.ArgumentParser(description="Write token_report.json and token_report.md.")
    parser.add_argument(
        "--output-dir",
        type=Path,
        default=Path(__file__).resolve().parent,
        help="where to write them (default: beside this script)",
    )
    output_dir = parser.parse_args(arguments).output_dir

    joined = SAMPLE_KO + "\n" + SAMPLE_EN
    shared = bpe.train(joined, VOCAB_SIZE)
    english_only = bpe.train(SAMPLE_EN, VOCAB_SIZE)
    report = measure(joined, shared, english_only)
    lines = [f'  "{key}": {json.dumps(value)}' for key, value in report.items()]
    contents = {
        output_dir / JSON_NAME: "{\n" + ",\n".join(lines) + "\n}\n",
        output_dir / MARKDOWN_NAME: render(report, shared, english_only),
    }
    for path, content in contents.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            bpe.write_atomically(path, content)
        except OSError as error:
            sys.exit(f"make_report.py: cannot write {path}: {error.strerror or error}")
    _tell("\n".join([*map(str, contents), summary(report)]))


def measure(joined: str, shared: list[Rule], english_only: list[Rule]) -> dict[str, Any]:
    """Return the figures of `token_report.json`, in its order."""
    texts = {"ko": SAMPLE_KO, "en": SAMPLE_EN}
    rules = {"shared": shared, "en_only": english_only}
    ids = {(text, name): bpe.encode(texts[text], rules[name]) for text in texts for name in rules}
    ko_bytes, en_bytes = len(bpe.to_ids(SAMPLE_KO)), len(bpe.to_ids(SAMPLE_EN))
    return {
        "vocab_size": VOCAB_SIZE,
        "ko_chars": len(SAMPLE_KO),
        "ko_bytes": ko_bytes,
        "en_chars": len(SAMPLE_EN),
        "en_bytes": en_bytes,
        "shared_rules": len(shared),
        "en_only_rules": len(english_only),
        "ko_tokens_shared": len(ids["ko", "shared"]),
        "en_tokens_shared": len(ids["en", "shared"]),
        "ko_tokens_en_only": len(ids["ko", "en_only"]),
        "en_tokens_en_only": len(ids["en", "en_only"]),
        "ko_bytes_per_token": ko_bytes / len(ids["ko", "shared"]),
        "en_bytes_per_token": en_bytes / len(ids["en", "shared"]),
        "curve": [list(point) for point in bpe.vocab_curve(joined, CURVE_SIZES)],
        "roundtrip_ok": all(
            bpe.decode(ids[text, name], rules[name]) == texts[text] for text, name in ids
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


def _tell(text: str) -> None:
    """Print `text` as well as standard output can take it: the reports are written by then."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError:  # nobody reads it; what is left would be tried, and fail, again at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def render(report: dict[str, Any], shared: list[Rule], english_only: list[Rule]) -> str:
    """Return `token_report.md`: four sections, each with its tables and what they mean."""
    figures = SimpleNamespace(**report)
    sections = {
        "무엇을 쟀나": _what_was_measured(figures),
        "어휘를 키우면 토큰이 어떻게 줄었나": _curve(figures),
        "한국어가 손해를 보는 이유": _why_korean_pays(figures, shared, english_only),
        "바이트 수준이라 안 깨지는 것": _what_does_not_break(figures, shared, english_only),
    }
    text = "".join(f"\n## {title}\n\n{body}\n" for title, body in sections.items())
    return f"# 같은 글, 다른 토큰 수: 한국어와 영어\n{text}"


def _what_was_measured(figures: SimpleNamespace) -> str:
    return f"""\
일상을 적은 글 한 편을 한국어와 영어로, 문장마다 내용이 같도록 썼다. 두 글을 바이트 수준 BPE
토크나이저로 나누고, 그 조각인 토큰의 수를 셌다. 글자 수에는 공백과 문장 부호도 들어 있다.

| 글 | 글자 | 바이트 | 글자당 바이트 |
| --- | --- | --- | --- |
| 한국어 | {figures.ko_chars} | {figures.ko_bytes} | {figures.ko_bytes / figures.ko_chars:.2f} |
| 영어 | {figures.en_chars} | {figures.en_bytes} | {figures.en_bytes / figures.en_chars:.2f} |

토큰의 목록인 어휘는 두 벌을 만들었다. 둘 다 256가지 바이트를 하나씩 토큰으로 두고 출발해, 이웃한
두 토큰의 쌍 가운데 가장 자주 나오는 것을 새 토큰 하나로 합쳐 나간다. 어떤 쌍을 어떤 새 토큰으로
합치는지 적은 것이 병합 규칙이고, 규칙이 하나 늘 때마다 어휘도 토큰 하나만큼 커진다. 글을 낱말로
미리 나누지 않으므로, 공백을 사이에 두고 낱말 둘에 걸친 토큰도 생긴다.

| 어휘 | 학습한 글 | 크기 상한 | 병합 규칙 | 실제 크기 |
| --- | --- | --- | --- | --- |
| 공유 | 한국어 + 영어 | {VOCAB_SIZE} | {figures.shared_rules} | {256 + figures.shared_rules} |
| 영어 전용 | 영어 | {VOCAB_SIZE} | {figures.en_only_rules} | {256 + figures.en_only_rules} |

{_early_stop(figures)}"""


def _early_stop(figures: SimpleNamespace) -> str:
    room = VOCAB_SIZE - 256
    learned = {"공유": figures.shared_rules, "영어 전용": figures.en_only_rules}
    stopped = [f"{name} 어휘는 {rules}개" for name, rules in learned.items() if rules < room]
    if not stopped:
        return f"두 어휘 모두 병합 규칙 {room}개를 다 채웠다."
    return f"""\
병합 규칙은 {room}개까지 늘릴 수 있었지만 {", ".join(stopped)}에서 학습이
끝났다. 글이 짧아서 {bpe.MIN_PAIR_COUNT}번 이상 나오는 쌍이 더는 남지 않았기 때문이다."""


def _curve(figures: SimpleNamespace) -> str:
    points = [(size, min(size - 256, figures.shared_rules), count) for size, count in figures.curve]
    first, last = points[0], points[-1]
    rows: list[Sequence[object]] = [(*first, "-", "-", "█" * BAR_WIDTH)]
    gains = []
    for (size, few, before), (next_size, more, after) in pairwise(points):
        gain = f"{(before - after) / max(more - few, 1):.2f}"
        gains.append(f"{size} → {next_size} 구간에서 평균 {gain}개")
        bar = "█" * round(BAR_WIDTH * after / first[2])
        rows.append((next_size, more, after, before - after, gain, bar))
    return f"""\
두 글을 줄 바꿈 하나로 이어, 공유 어휘의 크기를 바꿔 가며 토큰 수를 셌다. 어휘 크기가 256이면
바이트 하나가 토큰 하나다.

{_table(["어휘 크기(상한)", "병합 규칙", "토큰", "앞보다 줄어든 토큰", "새 규칙 하나당", "그래프"], rows)}

어휘 크기 {last[0]}에서는 처음 토큰 수의 {last[2] / first[2]:.1%}로 줄어든다. 그러나 고르게 줄지는 않는다. 새 규칙
하나가 줄인 토큰은 {", ".join(gains)}다.
자주 나오는 쌍부터 합치기 때문에, 나중에 학습한 규칙일수록 쓰일 자리가 적다. 규칙 하나로 얻는
이득은 갈수록 작아진다."""


def _why_korean_pays(figures: SimpleNamespace, shared: list[Rule], english_only: list[Rule]) -> str:
    return f"""\
{_costs(figures)}

**출발선이 다르다.** UTF-8에서 한글 한 음절은 3바이트, 영어 글자 하나는 1바이트다. 그래서
이 한국어 글은 글자 수가 영어의 {figures.ko_chars / figures.en_chars:.2f}배밖에 안 되는데도 바이트 수는 {figures.ko_bytes / figures.en_bytes:.2f}배다. 한글은 두 번
병합해야 비로소 한 음절이 되지만, 영어는 두 번이면 벌써 세 글자짜리 낱말 조각이 된다.

{_by_character(figures, shared)}

{_across_syllables(figures, shared, english_only)}

두 글의 첫 문장은 이렇게 나뉜다. 토큰 사이에 세로줄(`|`)을 넣었고, 온전한 글자를 이루지 못한 바이트는
`\\xNN`으로 적었다.

{_first_sentences(shared, english_only)}

바이트 수가 거의 같은 이 두 글에서, 토큰 수의 차이는 어휘를 무엇으로 학습했느냐에서 왔다. 다만
여기서 잰 것은 이 두 글로 학습한 작은 어휘뿐이어서, 이 수치를 실제 모델에 그대로 적용할 수 없다."""


def _costs(figures: SimpleNamespace) -> str:
    korean = ("한국어", figures.ko_chars, figures.ko_bytes)
    english = ("영어", figures.en_chars, figures.en_bytes)
    encodings = [
        (korean, "공유", figures.ko_tokens_shared),
        (english, "공유", figures.en_tokens_shared),
        (korean, "영어 전용", figures.ko_tokens_en_only),
        (english, "영어 전용", figures.en_tokens_en_only),
    ]
    return _table(
        ["글", "어휘", "글자", "바이트", "토큰", "글자당 토큰", "토큰당 바이트"],
        [
            [name, vocabulary, chars, size, count, f"{count / chars:.2f}", f"{size / count:.2f}"]
            for (name, chars, size), vocabulary, count in encodings
        ],
    )


def _by_character(figures: SimpleNamespace, shared: list[Rule]) -> str:
    ko_tokens, en_tokens = figures.ko_tokens_shared, figures.en_tokens_shared
    ko_size, en_size = figures.ko_bytes_per_token, figures.en_bytes_per_token
    ko_unseen, en_unseen = (UNSEEN[f"새 {language} 문장"] for language in ("한국어", "영어"))
    ko_new, en_new = (len(bpe.encode(text, shared)) for text in (ko_unseen, en_unseen))
    return f"""\
**글자 수를 기준으로 하면 공유 어휘에서도 한국어에 토큰이 더 든다.** 글자당 토큰은 한국어 {ko_tokens / figures.ko_chars:.2f}개, 영어
{en_tokens / figures.en_chars:.2f}개다. 다만 한국어는 더 적은 글자로 같은 내용을 담으므로, 글 전체의 토큰 수는 영어의
{ko_tokens / en_tokens:.2f}배로 {_compared(ko_tokens / en_tokens)}. 토큰당 바이트도 한국어가 {_compared(ko_size / en_size)}. 그러나 이는 어휘를 학습하는 데
쓴 바로 그 글에서 잰 값이다. 학습하지 않은 문장 한 쌍(“{ko_unseen}”, “{en_unseen}”)을
같은 어휘로 나누면 한국어는 {ko_new}개, 영어는 {en_new}개로, 한국어가 영어의 {ko_new / en_new:.2f}배다."""


def _compared(ratio: float) -> str:
    """Say how the Korean figure compares with the English one, as two decimals show it."""
    if f"{ratio:.2f}" == "1.00":
        return "거의 같다"
    return "조금 많다" if ratio > 1 else "조금 적다"


def _across_syllables(
    figures: SimpleNamespace, shared: list[Rule], english_only: list[Rule]
) -> str:
    ko_shared, ko_en_only = figures.ko_tokens_shared, figures.ko_tokens_en_only
    en_shared, en_en_only = figures.en_tokens_shared, figures.en_tokens_en_only
    english = f"공유 어휘로 {en_shared}개, 영어 전용 어휘로 {en_en_only}개"
    if en_shared == en_en_only:
        english = f"어느 어휘로든 {en_shared}개"
    syllables = [character for character in SAMPLE_KO if "가" <= character <= "힣"]
    alone_shared, alone_en_only = (
        sum(len(bpe.encode(syllable, rules)) for syllable in syllables)
        for rules in (shared, english_only)
    )
    tokens = _token_bytes(SAMPLE_KO, shared)
    crossing = [_crosses_a_border(token) for token in tokens]
    partial = ["\ufffd" in token.decode("utf-8", "replace") for token in tokens]
    both = sum(map(all, zip(crossing, partial, strict=True)))
    return f"""\
**학습하지 않은 글자는 바이트 단위로 쪼개진다.** 영어로만 학습한 어휘에는 한글을 합치는 병합 규칙이
없다. 그래서 같은 한국어 글의 토큰이 {ko_shared}개에서 {ko_en_only}개로 {ko_en_only / ko_shared:.2f}배가 되고, 내용이 같은 영어
글의 {ko_en_only / en_en_only:.2f}배가 된다. 영어 글은 {english}다.

**공유 어휘에는 음절의 경계를 넘는 토큰이 있다.** 음절이 쪼개지는 것만으로는 {ko_en_only / ko_shared:.2f}배까지 벌어지지 않는다.
이 글의 한글 음절 {len(syllables)}개를 하나씩 따로 나누면 토큰은 공유 어휘로 모두 {alone_shared}개, 영어 전용 어휘로
모두 {alone_en_only}개여서 {alone_en_only / alone_shared:.2f}배일 뿐이다. 그런데 공유 어휘로 글을 통째로 나누면 공백과 문장 부호까지 더해도
{ko_shared}개다. 음절의 경계를 넘어 이웃한 글자까지 담은 토큰이 있기 때문이다. {ko_shared}개 가운데
{sum(crossing)}개가 두 글자 이상에 걸쳐 있고, {sum(partial)}개에는 글자의 조각이 들어 있다. {both}개는 두 경우에 모두 해당한다."""


def _first_sentences(shared: list[Rule], english_only: list[Rule]) -> str:
    lines = []
    for name, text in (("한국어", SAMPLE_KO), ("영어", SAMPLE_EN)):
        sentence = text[: text.index(".") + 1]
        for vocabulary, rules in (("공유", shared), ("영어 전용", english_only)):
            tokens = _token_bytes(sentence, rules)
            shown = "|".join(token.decode("utf-8", "backslashreplace") for token in tokens)
            lines.append(f"{name} 문장을 {vocabulary} 어휘로: 토큰 {len(tokens)}개\n{shown}\n")
    return "```text\n" + "\n".join(lines) + "```"


def _token_bytes(text: str, rules: list[Rule]) -> list[bytes]:
    """Return the bytes of each token of `text`."""
    spelled = {byte: bytes([byte]) for byte in range(256)}
    for (first, second), token in rules:
        spelled[token] = spelled[first] + spelled[second]
    return [spelled[token] for token in bpe.encode(text, rules)]


def _crosses_a_border(token: bytes) -> bool:
    """Say whether a character begins inside `token`: UTF-8 goes on with bytes 0x80 to 0xBF."""
    return any(byte & 0xC0 != 0x80 for byte in token[1:])


def _what_does_not_break(
    figures: SimpleNamespace, shared: list[Rule], english_only: list[Rule]
) -> str:
    rows = []
    for name, text in UNSEEN.items():
        encodings = [(bpe.encode(text, rules), rules) for rules in (shared, english_only)]
        restored = all(bpe.decode(ids, rules) == text for ids, rules in encodings)
        counts = [len(ids) for ids, _ in encodings]
        shown = text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
        yes_or_no = "예" if restored else "아니요"
        rows.append([name, f"`{shown}`", len(text), len(bpe.to_ids(text)), *counts, yes_or_no])
    table = _table(
        ["종류", "글", "글자", "바이트", "토큰(공유)", "토큰(영어 전용)", "그대로 복원"], rows
    )
    whole = bpe.encode("한", english_only)
    orders = [whole[:length] for length in range(1, len(whole) + 1)] + [whole[::-1]]
    broken = _table(
        ["토큰", "복원한 글"], [[ids, f"`{bpe.decode(ids, english_only)}`"] for ids in orders]
    )
    result = "복원하면 달라지는 글이 있다"
    if figures.roundtrip_ok:
        result = "두 글 모두 어느 어휘로든 한 글자도 다르지 않게 복원됐다"
    return f"""\
병합 규칙은 바이트를 합치기만 하고 버리지 않는다. 토큰을 끝까지 풀면 처음의 바이트가 그대로 나오므로,
학습하지 않은 글도 빠짐없이 복원된다. 들어맞는 규칙이 없으면 토큰이 많아질 뿐이다.
{result}.

아래는 학습한 글에 없던 글이다.

{table}

글자가 깨지는 것은 한 글자를 이루는 토큰이 일부만 남거나 순서가 바뀔 때다. `한`은 영어 전용
어휘로 나누면 토큰 {len(whole)}개가 된다. 앞에서부터 몇 개만 남기거나 순서를 뒤집어 복원하면, 완성되지 않은 글자 자리에
대체 문자 `�`(U+FFFD)가 나오고 오류는 나지 않는다.

{broken}"""


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


if __name__ == "__main__":
    main()
