"""LaTeX and Markdown of layouts."""

import re

import pytest
from hypothesis import given

from tilewise import Axis, O, R, S, Swizzle, gpuid_x, laneid, m, reg
from tilewise.notation import to_latex, to_markdown
from tilewise.testing.strategies import layouts

COMMANDS = {
    r"\mathrm", r"\mathtt", r"\left", r"\right", r"\langle", r"\rangle", r"\circ", r"\,", r"\_",
}  # fmt: skip


def assert_compiles_in_principle(latex):
    """Braces and delimiters are closed in order; nothing is left that math mode reads otherwise."""
    assert set(re.findall(r"\\(?:[a-zA-Z]+|.)", latex)) <= COMMANDS
    plain = re.sub(r"\\left\[", "⟦", latex)
    plain = re.sub(r"\\right\]", "⟧", plain)
    plain = re.sub(r"\\langle", "⟨", plain)
    plain = re.sub(r"\\rangle", "⟩", plain)
    opened = []
    for character in plain:
        if character in "{(⟦⟨":
            opened.append(character)
        elif character in "})⟧⟩":
            assert opened, latex
            assert opened.pop() + character in ("{}", "()", "⟦⟧", "⟨⟩"), latex
    assert not opened, latex
    assert not re.search(r"(?<!\\)_|[\[\]<>#$%&^~]", plain), latex
    assert plain.isascii() or set(re.sub(r"[ -~]", "", plain)) <= set("⟦⟧⟨⟩"), latex


@given(layouts())
def test_latex_is_well_formed(layout):
    assert_compiles_in_principle(to_latex(layout))


@given(layouts())
def test_latex_says_every_number_of_the_text(layout):
    assert re.findall(r"\d+", to_latex(layout)) == re.findall(r"\d+", str(layout))


@pytest.mark.parametrize(
    ("layout", "latex"),
    [
        (S[(8, 4) : (4, 1)], r"\mathrm{S}\left[(8, 4) : (4, 1)\right]"),
        (S[()] - 3, r"\mathrm{S}\left[()\right] - 3"),
        (
            S[8 : 4 @ laneid] + R[2 : 1 @ gpuid_x] + 5 @ reg,
            r"\mathrm{S}\left[8 : 4\,@\,\mathtt{laneid}\right]"
            r" + \mathrm{R}\left[2 : 1\,@\,\mathtt{gpuid\_x}\right] + 5\,@\,\mathtt{reg}",
        ),
        (
            O[128 @ m] @ Swizzle(3, 4, 3) @ (S[8:128] - 128),
            r"\mathrm{O}\left[128\right] \circ \mathrm{Swizzle}\langle 3, 4, 3 \rangle"
            r" \circ (\mathrm{S}\left[8 : 128\right] - 128)",
        ),
        (
            Swizzle(1, 0, -1, Axis("my_buf", storage=True)) @ S[4 : 1 @ Axis("my_buf", storage=True)],
            r"\mathrm{Swizzle}\langle 1, 0, -1 \rangle\,@\,\mathtt{my\_buf}"
            r" \circ \mathrm{S}\left[4 : 1\,@\,\mathtt{my\_buf}\right]",
        ),
        (
            S[8 : 1 @ Axis("o") + 1 @ Axis("S")],
            r"\mathrm{S}\left[8 : 1\,@\,\mathtt{o} + 1\,@\,\mathtt{S}\right]",
        ),
    ],
    ids=str,
)
def test_latex_of_a_few(layout, latex):
    assert to_latex(layout) == latex
    assert_compiles_in_principle(latex)


def test_markdown_of_everything():
    layout = O[3 @ m] @ Swizzle(1, 1, 1) @ (S[(8, 2) : (4, 1 @ laneid)] + R[(2, 3) : (32, 1 @ reg)] + 5)
    assert to_markdown(layout).splitlines() == [
        "`O[3@m] o Swizzle<1,1,1> o (S[(8, 2) : (4@m, 1@laneid)] + R[(2, 3) : (32@m, 1@reg)] + 5@m)`",
        "",
        "| term | extent | stride |",
        "| --- | ---: | --- |",
        "| digit 0 | 8 | `4@m` |",
        "| digit 1 | 2 | `1@laneid` |",
        "| copies | 2 | `32@m` |",
        "| copies | 3 | `1@reg` |",
        "| offset |  | `5@m` |",
        "| swizzle |  | `Swizzle<1,1,1>` |",
        "| outer offset |  | `3@m` |",
    ]


@given(layouts())
def test_markdown_has_a_row_a_term(layout):
    first, blank, *table = to_markdown(layout).splitlines()
    terms = len(layout.strides) + len(layout.replica) + len(layout.swizzles)
    terms += bool(layout.offset.terms) + bool(layout.outer.terms)
    assert (first, blank, len(table)) == (f"`{layout}`", "", 2 + terms)
    assert all(row.count("|") == 4 for row in table)
