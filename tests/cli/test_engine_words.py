"""Other spellings of the engines' options: each gives the answer of the longer one."""

from __future__ import annotations

import pytest

TILE = "S[(128, 64) : (64, 1)]"
WORD = "0x4000004000010000"


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (f"match|{TILE}|wgmma.B|--dtype|bf16", f"match|{TILE}|--engine|wgmma|--operand|B|--dtype|bf16"),
        (f"match|{TILE}|wgmma|--operand|A|--dtype|bf16", f"match|{TILE}|--operand|A|--dtype|bf16"),
        (f"match|--dtype|bf16|{TILE}|TCGEN05.a", f"match|{TILE}|--engine|tcgen05|--operand|A|--dtype|bf16"),
        (
            f"match|{TILE}|mma.A|--shape|m16n8k16|--dtype|f16",
            f"match|{TILE}|--operand|A|--shape|m16n8k16|--dtype|f16",
        ),
        (
            "suggest|wgmma|--operand|A|--shape|128,64|--dtype|bf16",
            "suggest|--operand|A|--tile|128x64|--dtype|bf16",
        ),
        (
            "suggest|tcgen05.B|--tile|128x64|--dtype|bf16",
            "suggest|--engine|tcgen05|--operand|B|--tile|128x64|--dtype|bf16",
        ),
        (f"descriptor|{WORD}", f"descriptor|decode|{WORD}"),
        (f"descriptor|{WORD}|--operand|A|--dtype|bf16", f"descriptor|decode|{WORD}|--operand|A|--dtype|bf16"),
        (
            f"descriptor|{WORD}|{TILE}|--operand|A|--dtype|bf16",
            f"agree|{TILE}|descriptor({WORD}, A)|--dtype|bf16",
        ),
        (
            f"descriptor|{WORD}|Swizzle<3,3,3> o {TILE}|--operand|B|--n|64|--dtype|bf16|--base|0x400",
            f"agree|Swizzle<3,3,3> o {TILE}|descriptor({WORD}, B, n=64)|--dtype|bf16|--base|0x400",
        ),
        ("idesc|0x08400010", "idesc|decode|0x08400010"),
        (
            "tma|--dtype|bf16|--shape|4096,4096|--tile|128,64|--swizzle|128B",
            "tma|--dtype|bf16|--shape|4096,4096|--tile|128,64|--mode|128B",
        ),
    ],
)
def test_a_shorter_spelling_asks_the_same(tilewise, short, long):
    one, other = (tilewise(*words.split("|"), "--json") for words in (short, long))
    assert one.code in (0, 1)
    assert (one.code, one.json) == (other.code, other.json)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (f"match|{TILE}|wgmma.B|--dtype|bf16|--operand|A", "--operand"),
        (f"match|{TILE}|wgmma.B|--dtype|bf16|--engine|mma", "wgmma.B"),
        (f"match|{TILE}|wgma.B|--dtype|bf16", "did you mean wgmma?"),
        (f"match|{TILE}|bf16", "did you mean --dtype bf16?"),
        (f"match|{TILE}|--wgmma|--dtype|bf16", "wgmma.B"),
        ("suggest|wgmma.A|--dtype|bf16", "--tile 128x64"),
        (f"descriptor|{WORD}|{TILE}|--mode|128B", "--mode"),
        ("descriptor|wgmma", "decode"),
    ],
)
def test_a_word_that_contradicts_or_is_none_is_refused(tilewise, words, told):
    run = tilewise(*words.split("|"))
    assert run.code == 2
    assert told in run.err
