"""Calls of the catalogue wherever a layout is read: what they mean, where they stand, and their spans."""

import json

import pytest
from tests.interpreter import said

import tilewise
from tilewise import LayoutError, parse, wid_in_wg
from tilewise.cli.main import main
from tilewise.hardware.calls import read_call
from tilewise.hardware.catalog import entries, find
from tilewise.hardware.catalog.registry import ENGINES
from tilewise.notation import parse as parse_without

D = find("wgmma.D")("f32", 64).layout
TILE = find("wgmma.smem")("B", "k", "128B", "bf16", 128, 64).layout


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("wgmma.D(f32, n=64)", D),
        ("wgmma.D(f32, 64)", D),
        ("wgmma.D(n=64, dtype=f32)", D),
        (" wgmma . D ( f32 ,\n n = 0x40 , ) ", D),
        ("wgmma.D(f32, n=4*16)", D),
        ("wgmma.D(float32, n=128//2)", D),
        ("wgmma.smem(operand=B, major=k, mode=128B, dtype=bf16, rows=128, k=64)", TILE),
        ("wgmma.smem(B, k, SWIZZLE_128B, bf16, 128, 64, mn)", TILE),
        ("wgmma.smem(B, k, 128, bf16, 128, 64)", TILE),
        ("wgmma.smem(b, K, 128B, bf16, 128, 64)", TILE),
        ("wgmma.figure(number=157)", find("wgmma.figure")(157).layout),
        ("wgmma.D(f32, n=64) + 4@wid_in_wg", D + 4 @ wid_in_wg),
        ("4@wid_in_wg + wgmma.D(f32, n=64)", D + 4 @ wid_in_wg),
        ("(wgmma.D(f32, n=64) + 4@wid_in_wg)", D + 4 @ wid_in_wg),
        ("wgmma.D(f32, n=64) + R[2 : 4@wid_in_wg]", parse(f"{D} + R[2 : 4@wid_in_wg]")),
        ("Swizzle<1,4,3> o wgmma.atom(none, k, bf16)", parse("Swizzle<1,4,3> o S[(8, 8) : (8, 1)]")),
        ("Swizzle<1,4,3>@wgmma.atom(none, k, bf16)", parse("Swizzle<1,4,3> o S[(8, 8) : (8, 1)]")),
        ("SWIZZLE_64B(bf16) o wgmma.atom(none, k, bf16)", parse("Swizzle<2,3,3> o S[(8, 8) : (8, 1)]")),
        (
            "wgmma.atom(128B, k, bf16) + 512",
            parse("Swizzle<3,3,3> o (S[(8, 64) : (64, 1)] + 512)"),
        ),
        ("O[512] o wgmma.atom(128B, k, bf16)", parse("O[512] o Swizzle<3,3,3> o S[(8, 64) : (64, 1)]")),
    ],
)
def test_what_a_call_means(text, layout):
    assert parse(text) == layout


def test_names_have_values():
    assert parse("wgmma.D(f32, n=N)", let={"N": 64}) == D
    assert parse("wgmma.D(f32, n=2*N)", let={"N": 32}) == D
    assert parse("wgmma.smem(B, k, 128B, bf16, rows=R, k=k)", let={"R": 128, "k": 64}) == TILE


@pytest.mark.parametrize(
    ("text", "code", "under"),
    [
        ("wgmma.D(f32, n=41)", "TW602", "wgmma.D(f32, n=41)"),
        ("5@reg + wgmma.D(f32, n=41)", "TW602", "wgmma.D(f32, n=41)"),
        ("wgmma.D(f33, n=64)", "TW105", "f33"),
        ("wgmma.D(f32, m=64)", "TW601", "m=64"),
        ("wgmma.smem(B, k, 96B, bf16,\n 128, 64)", "TW601", "96B"),
        ("wgmma.Q(f32)", "TW601", "wgmma.Q"),
        ("wgmma.shapes(s8)", "TW601", "wgmma.shapes(s8)"),
        ("wgmma.sp.D(f32)", "TW602", "wgmma.sp.D"),
        ("wgmma.D(f32, n=64) wgmma", "TW004", "wgmma"),
        ("wgmma.D(f32, n=N)", "TW007", "n=N"),
    ],
)
def test_the_caret_is_under_the_fault(text, code, under):
    with pytest.raises(LayoutError) as error:
        parse(text)
    start, end = error.value.span
    assert (error.value.code, text[start:end], error.value.source) == (code, under, text)


def test_cute_has_no_calls():
    with pytest.raises(LayoutError) as error:
        parse("wgmma.D(f32, n=64)", dialect="cute")
    assert (error.value.code, error.value.hint) == ("TW008", "leave the dialect out")


def test_the_catalogue_counts_elements():
    for unit in ("byte", "bit"):
        with pytest.raises(LayoutError, match="counts elements"):
            parse("wgmma.D(f32, n=64)", unit=unit)


def test_notation_alone_knows_no_catalogue():
    with pytest.raises(LayoutError) as error:
        parse_without("wgmma.D(f32, n=64)")
    assert (error.value.code, error.value.span) == ("TW001", (0, 7))
    assert "tilewise.parse" in error.value.hint


def test_any_catalogue_can_be_given():
    def toys(name):
        assert name == "a.b"
        return lambda arguments: tilewise.S[arguments[0].number :]

    with pytest.raises(LayoutError):
        parse_without("a.b(5)", catalog=toys)  # S[5:] is refused, with the span of the call
    seen = []

    def listed(name):
        return lambda arguments: seen.append((name, arguments)) or tilewise.S[4]

    assert parse_without("x(7, a=b, c=64B)", catalog=listed) == tilewise.S[4]
    [(name, arguments)] = seen
    assert name == "x"
    assert [(a.name, a.text, a.number, a.span) for a in arguments] == [
        ("", "7", 7, (2, 3)),
        ("a", "b", None, (5, 8)),
        ("c", "64B", None, (10, 15)),
    ]


def test_a_call_is_one_word_of_the_algebra(capsys):
    assert main(["algebra", "compose", "wgmma.D(f32, n=8)", "S[8 : 1]", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"].startswith("S[")
    assert main(["same", "wgmma.D(f32, n=64)", "wgmma.D(s32, n=64)"]) == 0
    capsys.readouterr()
    assert main(["algebra", "zipped_divide", "S[(64, 64) : (64, 1)]", "wgmma.atom(none, k, bf16)"]) == 0
    assert capsys.readouterr().out == "S[((8, 8), 64) : ((8, 1), 64)]\n"


def test_a_call_is_read_back():
    entry, given, named = read_call("wgmma.smem(B, k, mode=128B, dtype=bf16, rows=128, k=64)")
    assert entry(*given, **named).layout == TILE
    with pytest.raises(LayoutError, match="ends before"):
        read_call("wgmma.D(f32, n=64) + 1")


def test_nothing_heavy_is_imported_for_a_call():
    code = (
        "import sys; from tilewise.cli.main import main; main(['at', 'wgmma.D(f32, n=8)', '3,4']);"
        "print({'numpy', 'rich', 'typing'} & set(sys.modules))"
    )
    assert said(code).splitlines()[-1] == "set()"


def test_the_engines_are_imported_for_calls_alone():
    code = (
        "import sys, tilewise; tilewise.parse('S[8 : 1]');"
        "loaded = [name for name in sys.modules if name.startswith('tilewise.hardware.')];"
        "print(*loaded); tilewise.parse('wgmma.D(f32, n=8)');"
        "print('tilewise.hardware.wgmma.catalog' in sys.modules, 'tilewise.hardware.mma' in sys.modules)"
    )
    assert said(code).splitlines() == ["tilewise.hardware.calls", "True False"]


def test_every_entry_is_found_by_the_first_word_of_its_name():
    for name in entries():
        assert name.partition(".")[0] in ENGINES
        assert find(name) is entries()[name]
