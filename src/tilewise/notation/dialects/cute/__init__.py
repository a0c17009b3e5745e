"""CuTe's texts of one layout: what C++ and the DSL print, names of C++ types, and calls.

    ((8,2),(4,4)):((8,64),(1,4))    sA : smem_ptr[16b](0x400) o Sw<3,3,3> o _0 o (_8,_64):(_64,_1)
    tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>
    cute::Layout<cute::tuple<cute::C<8>, cute::C<4>>, cute::tuple<cute::C<4>, cute::C<1>>>
    make_layout(make_shape(Int<8>{}, _4{}), LayoutRight{})    cute.make_layout((8, 4), stride=(4, 1))

printed    the layout and the tensor as they print themselves, with pointers
terms      types and calls, which have one grammar: a word, and what is in its brackets
made       the layout that a type or a call makes

The layout has CuTe's order: its index counts with the leftmost digit fastest, at every level. What stands
around a layout is left out: its label, the values that are printed below it, and other lines. A text that
has several layouts has them by their labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.text import cute_text
from tilewise.notation.calls import dotted
from tilewise.notation.cute import LABEL, NAMED, PRINTED, SHAPE
from tilewise.notation.dialects.cute.made import Maker
from tilewise.notation.dialects.cute.printed import CuteParser
from tilewise.notation.dialects.given import Given, Reading, words
from tilewise.notation.tokens import Cursor, Token
from tilewise.notation.trees import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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

_NAMED, _PRINTED, _SHAPE, _LABEL = map(re.compile, (NAMED, PRINTED, SHAPE, LABEL))

_VALUES = re.compile(r"\s*,\s*data=.*|\s*=\s*$|(?<=[\w)])\s*:\s*$")
"""The end of a tensor's line, where its values are printed below it."""
_ELIDED = re.compile(r"(?<=\()0x[0-9a-fA-F]*(?:\.{2,3}|…)(?=[:)])")
"""An address that is not written out."""
_GOES_ON = re.compile(r"\s*(?:[o∘](?![A-Za-z])|[:,*@]|[+-](?!-))")
"""How a line begins that goes on with the layout of the line before."""
_OPEN = re.compile(r"(?:(?<![A-Za-z])o|[∘,*@-])$")
"""How a line ends whose layout goes on in the next."""
_PLAIN = re.compile(r"[(\d_?-]|(?:Sw|S|Swizzle)\s*<|_?(?:[sgrt]mem_)?ptr\b|tmem_")
"""How a printed layout begins, complete in its line or not."""
_TABLE = re.compile(r"\n[ \t]+[\d \t]+(?:\n[ \t]+\+-[^\n]*|\n[ \t]*\d+[ \t]*\|[^\n]*)+")
"""The rows of `print_layout`."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Where a layout stands in a text, and the label before it."""

    label: str
    start: int
    end: int


def read(given: Given) -> Reading:
    """Return the layout of a text, or the one of several that is asked for."""
    text = given.text
    parts = {part.label: part for part in _parts(text)}
    if not parts:
        return _read_part(given, _Part("", 0, len(text)))
    return _read_part(given, parts[given.chosen(parts, "the text")])


def write(layout: Layout, given: Given) -> str:
    """Return the layout as C++ prints it."""
    return cute_text(layout)


def _read_part(given: Given, part: _Part) -> Reading:
    names = Names(given.let, frozenset())
    if _NAMED.match(given.text, part.start):
        return Maker(_cursor(given.text, part, words), names, given.unit).reading()
    cursor = _cursor(given.text, part)
    if len(dotted(cursor)) > 1:
        raise cursor.error("TW008", f"{cursor.next} begins no layout of CuTe", hint="leave the dialect out")
    with cursor.blame(cursor.next):
        return CuteParser(cursor, names, given.unit).reading()


def _cursor(text: str, part: _Part, scan: Callable[[str], Iterator[Token]] | None = None) -> Cursor:
    """Return a cursor over a part of a text, with the spans of the whole."""
    source = _ELIDED.sub(lambda found: "0".ljust(len(found[0])), text[part.start : part.end])
    try:
        cursor = Cursor(" " * part.start + source, scan)
    except LayoutError as error:
        error.source = text
        raise
    cursor.source = text
    return cursor


# -- lines -----------------------------------------------------------------------------------------


def _parts(text: str) -> list[_Part]:
    """Return where the layouts of a text are; those without a label have a number.

    A line that is no layout is left out before the first layout, after a label, and where a layout says that
    its values are printed below it. Else it belongs to the layout, whose reader refuses it.
    """
    found: list[_Part] = []
    labels: set[str] = set()
    at, loose = 0, True
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        part = _labelled(line)
        if part is None:
            if not found and _PLAIN.match(text, at + len(line) - len(line.lstrip())):
                return []
            if not loose and line.strip():
                found[-1] = replace(found[-1], end=end)
            at = end + 1
            continue
        start = at + part.start
        label = part.label or str(len(found) + 1)
        label = f"{label} {len(found) + 1}" if label in labels else label
        labels.add(label)
        at = _end(text, start)
        values = None if _NAMED.match(text, start) else _VALUES.search(text, start, end)
        if values is not None and not values[0].lstrip().startswith(",") and not text[end:].strip():
            values = None
        found.append(_Part(label, start, values.start() if values else at))
        table = _TABLE.match(text, at)
        at = table.end() if table else at
        loose = bool(part.label or values)
    return found


def _labelled(line: str) -> _Part | None:
    """Return the layout that a line begins with, after a label or none."""
    indent = len(line) - len(line.lstrip())
    found = _LABEL.match(line, indent)
    for start in (indent, found.end()) if found else (indent,):
        if any(pattern.match(line, start) for pattern in (_NAMED, _PRINTED, _SHAPE)):
            words_before = line[:start].rstrip(":= \t").split()
            return _Part(words_before[-1] if words_before else "", start, len(line))
    return None


def _end(text: str, start: int) -> int:
    """Return where the layout ends that begins there: with its line, or the line that completes it.

    Brackets are closed there, and what is printed has its strides.
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
