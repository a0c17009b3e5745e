"""Refusals, with the whole text that a user sees: what, where, why, and what to do."""

from itertools import pairwise
from pathlib import Path

import pytest
from tests.notation.malformed import GROUPS

from tilewise import LayoutError, parse
from tilewise.core.errors import CODES

GOLDENS = Path(__file__).with_name("goldens")
EVERY = [text for group in GROUPS.values() for text in group]


def refusal(text, **options):
    with pytest.raises(LayoutError) as error:
        parse(text, let={"K": 64} if "Kk" in text else None, **options)
    return error.value


def shown(text):
    """A text as one line of ASCII and letters, so that the golden can be read anywhere."""
    spelled = repr(text)
    return spelled if len(spelled) <= 100 else f"{spelled[:60]}... ({len(text)} characters)"


@pytest.mark.parametrize("group", GROUPS)
def test_whole_messages(group, golden):
    reports = []
    for text in GROUPS[group]:
        error = refusal(text)
        start, end = error.span
        reports.append(f"{shown(text)}\n{start}..{end}\n{error}\n")
    golden(GOLDENS / f"{group}.txt", "\n".join(reports))


@pytest.mark.parametrize("text", EVERY, ids=lambda text: repr(text[:30]))
def test_every_error_has_a_code_and_a_span_in_its_text(text):
    error = refusal(text)
    start, end = error.span
    assert error.code in CODES
    assert error.source == text
    assert 0 <= start <= end <= len(text)
    assert max(map(len, str(error).splitlines())) < 250
    assert all(c.isprintable() for line in str(error).splitlines() for c in line)


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "under"),
    [
        ("S[(8, 4) : (4, 1)", "TW004", 1, 2, "["),
        ("S[(8, 4 : (4, 1)]", "TW004", 1, 3, "("),
        ("S[8 : 1] + S[4 : 8]", "TW107", 1, 12, "S[4 : 8]"),
        ("S[8 : 1] - R[2 : 4]", "TW004", 1, 10, "- R[2 : 4]"),
        ("S[(8, 4) : (4, 1, 1)]", "TW003", 1, 12, "(4, 1, 1)"),
        ("S[((8, 2), 4) : ((8, 4, 2), 1)]", "TW003", 1, 18, "(8, 4, 2)"),
        ("S[(8, 0) : (4, 1)]", "TW102", 1, 7, "0"),
        ("S[(8, K) : (4, 1)]", "TW007", 1, 7, "K"),
        ("Swizzle<3,3,2> o S[8]", "TW104", 1, 1, "Swizzle<3,3,2>"),
        ("SWIZZLE_128B(b15) o S[8]", "TW105", 1, 14, "b15"),
        ("S[(8, 4)\n : (4, x)]", "TW007", 2, 8, "x"),
        ("S[(8,\n4)\n: 4]", "TW003", 3, 3, "4"),
        ("S[8 : 1]\n+ R[2 :\n   4@m@reg]", "TW004", 3, 7, "@"),
        ("\n\n  S[8 : 1.5]", "TW101", 3, 9, "1.5"),
        ("S[8 : 1@名前@x]", "TW004", 1, 11, "@"),
        ("S[8 : 1@T.laneid]", "TW002", 1, 9, "T."),
        ("(8,4):(1@0,1@1@0)", "TW008", 1, 14, "1@0"),
        ("T.TileLayout(T.S[8])", "TW002", 1, 1, "T.TileLayout"),
    ],
)
def test_line_and_column(text, code, line, column, under):
    error = refusal(text)
    start, end = error.span
    assert error.code == code
    assert text[start:end] == under
    assert text.count("\n", 0, start) + 1 == line
    assert start - text.rfind("\n", 0, start) == column


@pytest.mark.parametrize(
    "text", ["S[(8, 4)\n  : (4, x)]", "S[" + "8, " * 90 + "x]", "S[８ : x]", "S[名前 : x]"]
)
def test_the_caret_stands_under_the_fault(text):
    fault = text.rindex("x") if "８" not in text and "名" not in text else text.index(text[2])
    shown = str(refusal(text)).splitlines()
    line, carets = next((a, b) for a, b in pairwise(shown) if b.strip("^ ") == "")
    column = len(carets) - len(carets.lstrip())
    assert line[column] == text[fault]
    wide = any(ord(character) > 255 for character in text[refusal(text).span[0] : refusal(text).span[1]])
    first, last = refusal(text).span
    assert carets.count("^") == (last - first) * (2 if wide else 1)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"unit": "bytes"}, "TW106"),
        ({"dialect": "halide"}, "TW008"),
        ({"dtype": "b15"}, "TW105"),
        ({"storage": ["laneid"]}, "TW103"),
    ],
    ids=str,
)
def test_options_are_checked(options, code):
    assert refusal("S[8 : 1@laneid]", **options).code == code


@pytest.mark.parametrize("value", [2.5, True, "64", None], ids=repr)
def test_values_of_names_are_integers(value):
    with pytest.raises(LayoutError) as error:
        parse("S[K : 1]", let={"K": value})
    assert (error.value.code, error.value.span) == ("TW101", (2, 3))


@pytest.mark.parametrize("text", [None, 5, b"S[8]", ["S[8]"]], ids=repr)
def test_only_text_is_read(text):
    with pytest.raises(LayoutError) as error:
        parse(text)
    assert error.value.code == "TW001"


def test_what_other_systems_accept_silently_is_refused():
    """A length mismatch, a dropped term, two shards, a float, an extent 0: each by its own code."""
    silently = {
        "S[(8, 4) : (4,)]": "TW003",
        "S[8 : 1] - R[2 : 4]": "TW004",
        "S[8 : 1] + S[8 : 8]": "TW107",
        "S[8 : 1.0]": "TW101",
        "S[0 : 1]": "TW102",
    }
    assert {text: refusal(text).code for text in silently} == silently
    assert parse("S[8 : 1] - 1@m").offset == {"m": -1}
