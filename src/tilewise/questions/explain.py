"""A layout on one screen: what it is, what it costs, what takes it; with INDEX, how a place comes about.

  tilewise explain 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' --dtype bf16
  tilewise explain 'S[(64, 64) : (72, 1)]' --dtype f16 --access row:16B --access ldmatrix.x4.trans
  tilewise explain 'mma.D(m16n8k16, f32)'
  tilewise explain 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' 5,3,1
  tilewise explain 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 1,8

Without INDEX: the map as arithmetic and in words, its facts, its corner; of a tile of shared memory, with
--dtype, the bank conflicts of natural accesses or of --access, which engine takes it, and what to change; of
registers who holds what, and what the catalogue calls them. Wavefronts are those of
`tilewise banks`.

With INDEX: the digits, strides, copies, offset and XOR of one element.
"""

from __future__ import annotations

from tilewise.questions.accesses import listed
from tilewise.questions.addresses import address_in
from tilewise.questions.asking import ASKED_IN, LAYOUT, asks
from tilewise.questions.report import Report, order_of, table_lines
from tilewise.questions.texts import Texts, misused, refuse_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from tilewise.questions.asking import IndexText, LayoutText, Many, Number, ShapeText, TextOptions, Type


@asks(
    layout=LAYOUT,
    index="INDEX: such as 5,3,1 or 47",
    shape=ASKED_IN,
    access="A: instead of the natural ones; repeatable",
    base="N: the address of the tile in shared memory (0)",
    width="W: columns of the screen (those of the terminal, up to 100)",
)
def explain(
    layout: LayoutText,
    index: IndexText | None = None,
    dtype: Type | None = None,
    *,
    shape: ShapeText | None = None,
    access: Many = (),
    base: Number | None = None,
    width: Number | None = None,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return a layout on one screen, with its costs; with an index, the steps to its place.

    >>> explain("Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", (1, 8)).places
    (64@m,)
    """
    if index is None:
        texts = Texts(dtype, shape=shape, **reading)
        return _screen(texts, layout, listed(access), base, width)
    screen = {"access": access, "base": base, "width": width}
    refuse_given(screen, "is an option of the screen, without INDEX", "leave --{} out")
    return _steps(Texts(dtype, asked_shape=shape, **reading), layout, index)


def _screen(
    texts: Texts, layout: LayoutText, accesses: list[Any], base: Number | None, width: Number | None
) -> Report:
    from tilewise.pictures.screen import screen_of

    text, _ = texts.told_by(layout, "dtype")
    columns = _width(width)
    screen = screen_of(texts.layout(text), texts.dtype, accesses, address_in(base))

    def draw() -> None:
        from tilewise.pictures.page import page_of
        from tilewise.pictures.terminal import print_out

        print_out(page_of(screen, columns))

    return texts.report(screen.as_dict(), draw)


def _width(asked: Number | None) -> int:
    from tilewise.pictures.page import WIDTH
    from tilewise.pictures.terminal import size

    if asked is None:
        return min(WIDTH, size(WIDTH, 40)[0])
    if not str(asked).isdecimal() or int(asked) < 40:
        raise misused(f"--width {asked}", "a number of columns, 40 or more")
    return int(asked)


def _steps(texts: Texts, layout: LayoutText, index: IndexText) -> Report:
    from tilewise.pictures.steps import steps_of

    where = texts.layout(layout)
    flat, coordinates = texts.index(where, index)
    steps = steps_of(where, flat, texts.asked_shape)
    fields = {
        "index": coordinates,
        "flat": flat,
        **order_of(where),
        "steps": [{"step": step.name, "lines": step.lines} for step in steps],
        "places": where.places(flat),
    }
    rows = [("" if i else step.name, line) for step in steps for i, line in enumerate(step.lines)]
    return texts.report(fields, "\n".join(table_lines(rows)))
