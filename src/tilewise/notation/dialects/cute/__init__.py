"""CuTe's texts of one layout: the prints of C++ and the DSL, names of C++ types, and calls.

    ((8,2),(4,4)):((8,64),(1,4))    sA : smem_ptr[16b](0x400) o Sw<3,3,3> o _0 o (_8,_64):(_64,_1)
    tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>
    cute::Layout<cute::tuple<cute::C<8>, cute::C<4>>, cute::tuple<cute::C<4>, cute::C<1>>>
    make_layout(make_shape(Int<8>{}, _4{}), LayoutRight{})    cute.make_layout((8, 4), stride=(4, 1))

printed    the layout and the tensor as they print themselves, with pointers
made       types and calls, which have one grammar, and the layouts that they make

The layout has CuTe's order: its index counts with the leftmost digit fastest, at every level. The reader
leaves out the surroundings of a layout: its label, the values printed below it, and other lines. A text that
has several layouts has them by their labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilewise.core.layout import Layout
from tilewise.core.text import cute_text
from tilewise.notation.calls import dotted
from tilewise.notation.cute import CUTE_LABEL, CUTE_NAMED, CUTE_PRINTED, CUTE_SHAPE
from tilewise.notation.dialects.cute.made import Maker
from tilewise.notation.dialects.cute.printed import CuteParser
from tilewise.notation.dialects.given import Given, Reading, words
from tilewise.notation.tokens import Token, tokens_of
from tilewise.notation.trees import Names, NumberCursor

EXAMPLES = (
    Given("ThrLayoutVMNK:  (_32,_1,_1,_1):(_1,_0,_0,_0)"),
    Given("sA : Sw<3,4,3>_smem_ptr[16b](0x7f8f00000c00) o (_8,_64):(_64,_1)"),
    Given(
        "gmem_ptr[16b](0x7fff5f3df3c0) o (2,3):(_1,2):\n    0.00    1.00    2.00\n    0.50    1.50    2.50\n"
    ),
    Given("tmem_[32b](0x0000.0100) o (_128,_64):(_65536,_1)"),
    Given("ArithTuple(2,_0) o (4,8):(_1@0,_1@1)"),
    Given("tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>"),
    Given("tensor<(0,0) o (4,8):(1@0,1@1)>"),
    Given(
        "tensor(raw_ptr(0x0000556f832a47c0: f16, generic, align<2>) o (2,2):(2,1), data=\n"
        "       [[ 0.000000,  1.000000, ],\n        [ 2.000000,  3.000000, ]])"
    ),
    Given("cute::Layout<cute::tuple<cute::C<8>, cute::C<4> >, cute::tuple<cute::C<4>, cute::C<1> > >"),
    Given(
        "cute::ComposedLayout<cute::Swizzle<3, 4, 3>, cute::smem_ptr_flag_bits<16>, cute::Layout<cute::tuple"
        "<cute::C<8>, cute::C<64> >, cute::tuple<cute::C<64>, cute::C<1> > > >"
    ),
    Given("auto layout = make_layout(make_shape(Int<8>{}, _4{}), make_stride(_1{}, 8));"),
    Given("cute.make_layout((8, 4), stride=(4, 1))"),
    Given("make_ordered_layout((8, (4, 2)), order=(1, (0, 2)))"),
    Given("Layout((8,4),(1,8))"),
)

_NAMED, _LABEL = re.compile(CUTE_NAMED), re.compile(CUTE_LABEL)
_LAYOUT = re.compile(rf"{CUTE_NAMED}|{CUTE_PRINTED}|{CUTE_SHAPE}")

_VALUES = re.compile(r"\s*,\s*data=.*|\s*=\s*$|(?<=[\w)])\s*:\s*$")
"""The end of a tensor's line, where its values are printed below it."""
_ELIDED = re.compile(r"(?<=\()0x[0-9a-fA-F]*(?:\.{2,3}|…)(?=[:)])")
"""An address that is not written out."""
_GOES_ON = re.compile(r"\s*(?:[o∘](?![A-Za-z])|[:,*@]|[+-](?!-))")
"""The beginning of a line that goes on with the layout of the line before."""
_OPEN = re.compile(r"(?:(?<![A-Za-z])o|[∘,*@-])$")
"""The end of a line whose layout goes on in the next."""
_PLAIN = re.compile(r"[(\d_?-]|(?:Sw|S|Swizzle)\s*<|_?(?:[sgrt]mem_)?ptr\b|tmem_")
"""The beginning of a printed layout, complete in its line or not."""
_TABLE = re.compile(r"\n[ \t]+[\d \t]+(?:\n[ \t]+\+-[^\n]*|\n[ \t]*\d+[ \t]*\|[^\n]*)+")
"""The rows of `print_layout`."""


def read(given: Given) -> Reading:
    """Return the layout of a text, or the chosen one of several."""
    text = given.text
    parts = _parts(text)
    start, end = parts[given.chosen(parts, "the text")] if parts else (0, len(text))
    names = Names(given.let, frozenset())
    if _NAMED.match(text, start):
        return Maker(NumberCursor(text, names, words, (start, end)), given.unit).reading()
    parser = CuteParser(text, names, given.unit, _tokens, (start, end))
    if len(dotted(parser)) > 1:
        raise parser.error("TW008", f"{parser.next} begins no layout of CuTe", hint="leave the dialect out")
    with parser.blame(parser.next):
        return parser.reading()


def _tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of a printed layout, whose address may be cut short."""
    yield from tokens_of(_ELIDED.sub(lambda found: "0".ljust(len(found[0])), source))[:-1]


def write(layout: Layout, given: Given) -> str:
    """Return the layout as C++ prints it."""
    return cute_text(layout)


# -- lines -----------------------------------------------------------------------------------------


def _parts(text: str) -> dict[str, tuple[int, int]]:
    """Return the positions of the layouts of a text, by their labels; those without one have a number.

    A line that is no layout is left out before the first layout, after a label, and after a layout that
    announces values below it. Else it belongs to the layout, whose reader refuses it.
    """
    found: dict[str, tuple[int, int]] = {}
    name, loose = "", True
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        labelled = _labelled(line)
        if labelled is None:
            if not found and _PLAIN.match(text, at + len(line) - len(line.lstrip())):
                return {}
            if not loose and line.strip():
                found[name] = found[name][0], end
            at = end + 1
            continue
        label, start = labelled[0], at + labelled[1]
        number = str(len(found) + 1)
        name = label or number
        name = f"{name} {number}" if name in found else name
        at = _end(text, start)
        values = None if _NAMED.match(text, start) else _VALUES.search(text, start, end)
        found[name] = start, values.start() if values else at
        table = _TABLE.match(text, at)
        at = table.end() if table else at
        loose = bool(label or values)
    return found


def _labelled(line: str) -> tuple[str, int] | None:
    """Return the label that a line begins with, or '', and the start of the layout after it; or None."""
    indent = len(line) - len(line.lstrip())
    found = _LABEL.match(line, indent)
    for start in (indent, found.end()) if found else (indent,):
        if _LAYOUT.match(line, start):
            words_before = line[:start].rstrip(":= \t").split()
            return words_before[-1] if words_before else "", start
    return None


def _end(text: str, start: int) -> int:
    """Return the end of the layout that begins at `start`: of its line, or of the line that completes it.

    Brackets are closed there, and a printed layout has its strides.
    """
    named = _NAMED.match(text, start) is not None
    depth = -1 if text.startswith("tensor(", start) else 0  # it may be left open
    colons = 0
    for at in range(start, len(text)):
        if text[at] in "([{<":
            depth += 1
        elif text[at] in ")]}>":
            depth -= 1
        elif text[at] == ":" and depth <= 0:
            colons += 1
        elif text[at] == "\n" and depth <= 0:
            before = text[max(start, at - 80) : at].rstrip()
            complete = named or colons > before.endswith(":")
            if complete and not _GOES_ON.match(text, at) and not _OPEN.search(before):
                return at
    return len(text)
