"""Calls of the catalogue in texts: `wgmma.D(f32, n=64)` wherever a layout is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.notation import read
from tilewise.notation.calls import Argument, whole_call
from tilewise.notation.cute import pointer_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from tilewise.hardware.catalog.entry import Entry, Value
    from tilewise.notation.dialects import Reading
    from tilewise.notation.read import Options


def parse(text: str, **options: Unpack[Options]) -> Layout:
    """Return the layout that a text spells, in the notation or in a dialect, which its looks decide.

        postcondition  parse(str(L)) == L, given the storage axes and the unit of L, if any

    A layout in CuTe's notation counts its index as CuTe does, the leftmost digit fastest.

        dialect   the name of the dialect, where looks do not decide
        storage   names of your own axes that hold elements
        unit      "byte" or "bit" where strides, offsets and swizzle count those
        dtype     the type of an element; with another unit, strides become those of elements
        let       {name: number} for names in the text
        shape     the extents of the tensor, where a text such as an encoding has none
        part      one of several layouts in a text
        triton    the version of Triton that printed the text, such as "3.2"

    A layout of the hardware is written as a call: an entry of the catalogue and its parameters.

    >>> parse("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]").place(5, 3, 1)
    23@laneid + 1@reg
    >>> print(parse("((8,2),(4,4)):((8,64),(1,4))"))
    ((8,2),(4,4)):((8,64),(1,4))
    >>> parse("SWIZZLE_128B o S[(8, K) : (K, 1)]", dtype="bf16", let={"K": 64})
    Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]
    >>> parse("wgmma.D(f32, n=N) + 4@wid_in_wg", let={"N": 64}).place(9, 3)
    4@wid_in_wg + 3@reg + 5@laneid
    """
    return reading(text, **options).layout


def reading(text: str, **options: Unpack[Options]) -> Reading:
    """Return the layout that a text spells, as `parse` does, and the other facts in the text.

    >>> found = reading("f32[2,100,200]{2,1,0:T(8,128)}")
    >>> found.dtype, found.box
    (f32, (2, 100, 200))
    """
    if isinstance(text, str) and options.get("dialect") is None and text.startswith("tiled_"):
        from tilewise.hardware import tiled
        from tilewise.notation.dialects import Reading

        if tiled.is_tiled(text):
            return Reading(tiled.read_tiled(text, options.get("let") or {}))
    try:
        return read.reading(text, layout_named, **options)
    except LayoutError as error:
        if error.code == "TW001" and (call := _as_call(str(text).strip())):
            error.hint = f"an entry of the catalogue is written as a call: {call}"
        raise


def doubts(
    text: str, layout: Layout, unit: str = "element", dtype: DType | str | None = None
) -> tuple[str, ...]:
    """Return a remark where a text may mean another layout than `parse` read: swizzles and pointers have
    units.

    `layout` is that of the text, and `unit` and `dtype` are those with which it was read.

    >>> text = "S<3,4,3> o 0 o (8,64):(64,1)"
    >>> len(doubts(text, parse(text), dtype="f16")), len(doubts(text, parse(text), dtype="u8"))
    (1, 0)
    """
    pointer, element = pointer_in(text), None if dtype is None else DType.of(dtype)
    if pointer is not None:
        bits, address = pointer
        told = []
        if element is not None and bits != element.bits:
            told.append(f"the pointer is to elements of {bits} bits, and {element} has {element.bits}")
        period = layout.period * bits
        if past := address * 8 % period:
            told.append(
                f"{address:#x} is {past // 8} bytes past a multiple of {period // 8}, by which the swizzle"
                f" repeats, and no part of the layout: {past // bits} o after the pointer counts them"
            )
        return tuple(told)
    if element is None or not layout.swizzles:
        return ()
    from tilewise.hardware.modes import other_unit_of

    found = other_unit_of(layout, unit, element)
    return () if found is None else (str(found),)


def _as_call(word: str) -> str:
    """Return an example of the entry that a word names."""
    from tilewise.hardware.catalog import entries

    entry = entries().get(word) if word.isidentifier() else None
    return entry.call if entry is not None else ""


def layout_named(name: str) -> Callable[[Sequence[Argument]], Layout]:
    """Return the function that makes the layout of an entry from the arguments of a call."""
    from tilewise.hardware.catalog import find

    entry = find(name)
    return lambda arguments: layout_of(entry, arguments)


def layout_of(entry: Entry, arguments: Sequence[Argument]) -> Layout:
    """Return the layout of an entry; an error points to the wrong argument in the text."""
    given, named = values_of(entry, arguments)
    layout = entry(*given, **named).layout
    if layout is None:
        raise Refused(
            "TW601",
            f"{entry.name} is a table, and no layout",
            witness={"entry": entry.name},
            hint=f"tilewise catalog {entry.name} shows it",
        )
    return layout


def values_of(entry: Entry, arguments: Sequence[Argument]) -> tuple[list[Value], dict[str, Value]]:
    """Return the values by position and by name, each of its parameter's kind."""
    given: list[Value] = []
    named: dict[str, Value] = {}
    flags = [parameter.name for parameter in entry.parameters if parameter.flag]
    for position, argument in enumerate(arguments):
        name = argument.name
        value: Value = True
        try:
            if not name and argument.text in flags:
                name = argument.text
            elif not name and named:
                hint = f"{entry.usage}; those without a name come first"
                raise LayoutError("TW601", "a value without a name after values with names", hint=hint)
            else:
                value = _value(entry, argument, position)
            taken = [parameter.name for parameter in entry.parameters[: len(given)]]
            if name in (*taken, *named):
                raise LayoutError("TW601", f"{name} is given twice", hint=entry.usage)
        except LayoutError as error:
            error.span = argument.span
            raise
        if name:
            named[name] = value
        else:
            given.append(value)
    return given, named


def _value(entry: Entry, argument: Argument, position: int) -> Value:
    if not argument.name and position >= len(entry.parameters):
        raise LayoutError(
            "TW601", f"{entry.name} has {len(entry.parameters)} parameters, not more", hint=entry.usage
        )
    parameter = entry.parameter(argument.name) if argument.name else entry.parameters[position]
    if not parameter.number:
        return parameter.read(argument.text)
    if argument.number is not None:
        return parameter.read(argument.number)
    raise LayoutError(
        "TW007",
        f"{parameter.name} is a number, and '{argument.text}' has no value",
        hint=f"give it one: --let {argument.text}=64" if argument.text.isidentifier() else entry.usage,
    )


def read_call(text: str, let: Mapping[str, int] | None = None) -> tuple[Entry, list[Value], dict[str, Value]]:
    """Return the entry that a call names, and its values by position and by name.

    >>> entry, given, named = read_call("wgmma.D(f32, n=64)")
    >>> entry.name, given, named
    ('wgmma.D', ['f32'], {'n': 64})
    >>> read_call("wgmma.D(f32, n=N)", {"N": 8})[2]
    {'n': 8}
    """
    from tilewise.hardware.catalog import find

    def values(name: str) -> Callable[[Sequence[Argument]], tuple[Entry, list[Value], dict[str, Value]]]:
        entry = find(name)
        return lambda arguments: (entry, *values_of(entry, arguments))

    entry, given, named = whole_call(text, values, let)
    return entry, given, named
