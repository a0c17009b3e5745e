"""What `tilewise match --engine mma` prints where the answer is yes: how a warp moves a tile."""

from __future__ import annotations

from dataclasses import asdict

from tilewise.cli.answer import YES, Answer
from tilewise.cli.reasons import near_data, near_lines, reason_lines, reasons_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tilewise.check.feeding import Feed
    from tilewise.check.feeding.forms import Step
    from tilewise.check.feeding.steps import Way

SHOWN = 8
"""So many steps stand on a line."""

DIRECTIONS = {"A": ("mn", "k"), "B": ("mn", "k"), "C": ("m", "n"), "D": ("m", "n")}
"""{operand: what counts its instructions}."""

LANES = 32

TOGETHER = 4
"""So many loads of one instruction stand on a line."""

FIRST_WITH_TMA = 90

_MOST_STEPS = 1 << 10
"""So many steps are listed in JSON."""


def moved(found: Feed, asked: dict[str, Any]) -> Answer:
    """Yes: the instruction, the addresses as a layout and as code, and every step."""
    from tilewise.check.feeding.forms import Vector
    from tilewise.check.feeding.steps import from_the_tile, from_zero, stepping
    from tilewise.emit.feeding import code_of

    how = stepping(found)
    down, along = DIRECTIONS[found.operand]
    form, vector = found.form, isinstance(found.form, Vector)
    data = {
        "legal": True,
        **asked,
        "shape": str(found.shape),
        "form": str(form),
        "name": _name(found),
        "kind": "vector" if vector else form.instruction,
        "count": form.registers if isinstance(form, Vector) else form.count,
        "bits": form.bits if vector else None,
        "trans": form.trans,
        "addresses": str(found.addresses),
        "unit": "byte",
        "origin": 0 if from_zero(found) else found.base,
        "offsets": str(from_the_tile(found).addresses),
        "at": str(how) if how else None,
        "numbers": {way.name: list(way.numbers) for way in how.ways} if how else None,
        "code": code_of(found),
        "instructions": len(found.steps),
        "tiles": {down: found.counts[0], along: found.counts[1]},
        "registers": found.registers,
        "banks": _banks(found),
        "fragment": str(found.fragment),
        "needs": _needs(found) or None,
        "alignment": found.alignment,
        "base": found.base,
        "pattern": found.pattern,
        "steps": [_step(step, down, along) for step in found.steps[:_MOST_STEPS]],
        "reasons": reasons_data(found.reasons),
        "nearest": [near_data(near) for near in found.nearest],
        "confirmed": _confirmed(found),
    }
    return Answer(data, "\n".join(_lines(found)), YES)


def as_code(found: Feed, asked: dict[str, Any]) -> Answer:
    """Yes, as CUDA alone: the address of a lane, the instruction, and all steps of the tile."""
    from tilewise.emit.feeding import source_of_tile

    code = source_of_tile(found)
    return Answer({"legal": True, **asked, "shape": str(found.shape), "source": code}, code, YES)


def _confirmed(found: Feed) -> list[str]:
    """How both the fragment and the form are known: what is said of each of them."""
    from tilewise.check.feeding.forms import Vector
    from tilewise.hardware.catalog.confirmed import confirmed_by
    from tilewise.hardware.matrices.forms import short
    from tilewise.hardware.mma.instructions import families_of

    dtypes = [found.dtype]
    if found.operand in "CD":
        dtypes += [name for family in families_of(found.shape) for name in family.results]
    instruction = found.question.instruction
    entry = f"mma.sp.{found.operand.replace('C', 'D')}" if instruction.sparse else f"mma.{found.operand}"
    ways = next((ways for name in dtypes if (ways := confirmed_by(entry, f"{found.shape} {name}"))), ())
    if instruction.group:
        ways = confirmed_by("wgmma.D")
    if isinstance(found.form, Vector):
        return list(ways)
    trans = " trans" if found.trans else ""
    form = confirmed_by(found.form.instruction, short(found.form).replace(".trans", "") + trans)
    return [way for way in ways if way in form]


def _step(step: Step, down: str, along: str) -> dict[str, Any]:
    said: dict[str, Any] = {down: step.row, along: step.column, "add": step.add, "xor": step.xor}
    if step.add is None and step.xor is None:
        said["addresses"] = str(step.addresses)
    said["parts"] = [
        {
            down: part.row,
            along: part.column,
            "register": part.register,
            "byte": part.byte,
            "bytes": part.bytes,
        }
        for part in step.parts
    ]
    return said


# -- one lane ------------------------------------------------------------------------------------------


def of_lane(found: Feed, lane: int, asked: dict[str, Any]) -> Answer:
    """The addresses that one lane gives, step by step."""
    from tilewise.check.feeding.steps import feeds

    down, along = DIRECTIONS[found.operand]
    own = [(step, step.addresses.place(lane)["m"]) for step in found.steps]
    data = {
        "legal": True,
        **asked,
        "shape": str(found.shape),
        "form": str(found.form),
        "lane": lane,
        "unit": "byte",
        "base": found.base,
        "names": _row(found, lane),
        "steps": [{**_step(step, down, along), "address": at} for step, at in own],
    }
    start = f", from address 0: the tile is at {found.base:#x}" if found.base else " of the tile"
    head = f"lane {lane} of {_name(found)}, {_many(found)}: bytes{start}"
    width = max(len(str(at)) for _, at in own)
    lines = [f"  {at:{width}}  {feeds(found, step)}" for step, at in own]
    return Answer(data, "\n".join([head, *_row_line(found, lane), *lines]), YES)


def _row(found: Feed, lane: int) -> list[int] | None:
    """(matrix, row) that a lane's address names; None of vectors, and where no lane reads it."""
    from tilewise.hardware.matrices.forms import Form

    form = found.form
    lane %= LANES
    if not isinstance(form, Form) or lane >= form.count * form.rows:
        return None
    return [*divmod(lane, form.rows)]


def _row_line(found: Feed, lane: int) -> Iterator[str]:
    from tilewise.hardware.matrices.forms import Form

    row = _row(found, lane)
    if row is not None:
        yield f"  each names row {row[1]} of matrix {row[0]}; what the lane itself holds:"
    elif isinstance(found.form, Form):
        yield "  they are not read, and repeat those of another lane; what the lane itself holds:"


# -- text ----------------------------------------------------------------------------------------------


def _lines(found: Feed) -> Iterator[str]:
    from tilewise.check.feeding.banks import cure_of, wavefronts_of
    from tilewise.check.feeding.steps import from_the_tile, from_zero
    from tilewise.emit.feeding import address_of

    down, along = (names.upper() for names in DIRECTIONS[found.operand])
    down = {"A": "M", "B": "N"}.get(found.operand, down)
    verb = "stores" if found.operand == "D" else "loads"
    many = len(found.steps)
    tiles = f"{found.shape}, {found.counts[0]} along {down} x {found.counts[1]} along {along}"
    yield f"{_name(found)} {verb} it as {found.operand} of {found.dtype}, {many} of them: {tiles}"
    yield f"  instruction  {found.form}{_needs(found, ' ({})')}"
    of = "" if from_zero(found) else " of the tile"
    yield f"  addresses    {from_the_tile(found).addresses}, lane to byte{of}"
    yield f"  registers    {_registers(found)}"
    yield f"  banks        {wavefronts_of(found.fill)}"
    cure = cure_of(found)
    if cure is not None:
        yield f"               as {cure.layout}: {cure.banks}"
    yield from _steps(found)
    yield f"  alignment    {_alignment(found)}"
    yield from (f"  {line}" for line in address_of(found).splitlines())
    if found.reasons:
        yield "no form of ldmatrix moves it:" if found.operand != "D" else "no form of stmatrix moves it:"
        yield from reason_lines(found.reasons)
        yield from near_lines(found)


def _banks(found: Feed) -> dict[str, Any]:
    """The wavefronts of all loads, or stores, and the layout that takes fewer."""
    from tilewise.check.feeding.banks import cure_of, wavefronts_of

    cure = cure_of(found)
    better = None if cure is None else {"layout": str(cure.layout), **asdict(cure.banks)}
    return asdict(wavefronts_of(found.fill)) | {"better": better}


def _name(found: Feed) -> str:
    from tilewise.check.feeding.forms import named

    return named(found.form)


def _many(found: Feed) -> str:
    what = "store" if found.operand == "D" else "load"
    return f"{len(found.steps)} {what}{'s' * (len(found.steps) > 1)}"


def _needs(found: Feed, words: str = "{}") -> str:
    """Which architectures have the form; nothing of vectors, which all have."""
    from tilewise.check.feeding.forms import Vector

    return "" if isinstance(found.form, Vector) else words.format(found.form.kind.needs)


def _registers(found: Feed) -> str:
    """What the first step moves, as the document names elements."""
    return f"{_held(found, found.steps[0])}; {found.registers} of 32 bits hold the whole tile"


def _held(found: Feed, step: Step) -> str:
    from tilewise.check.feeding.steps import elements

    return ", ".join(elements(found, part) for part in step.parts)


def _steps(found: Feed) -> Iterator[str]:
    """The address of every step from the first one of a lane, and the numbers in it."""
    from tilewise.check.feeding.steps import WITHIN, stepping

    if len(found.steps) == 1:
        return
    how = stepping(found)
    if how is None:
        yield "  each at      an address of its own: --code has them, and --lane 17 those of one lane"
        return
    yield f"  each at      {how}"
    for way in how.ways:
        if way.name == WITHIN:
            yield from _in_one(found, way)
        else:
            yield f"  along {way.name.upper():<7}{way.name} = {_numbers(way)} B{_from(found, way)}"


def _in_one(found: Feed, way: Way) -> Iterator[str]:
    """All loads of one instruction: the number of each, and what it brings."""
    said = [f"{number} for {_held(found, found.steps[i])}" for i, number in enumerate(way.numbers)]
    for first in range(0, len(said), TOGETHER):
        head = f"in one       {way.name} = " if not first else " " * 17
        end = ", in bytes" if first + TOGETHER >= len(said) else ";"
        yield f"  {head}{'; '.join(said[first : first + TOGETHER])}{end}"


def _numbers(way: Way) -> str:
    shown = ", ".join(map(str, way.numbers[:SHOWN]))
    return shown + (f", ... {way.numbers[-1]}" if len(way.numbers) > SHOWN else "")


def _from(found: Feed, way: Way) -> str:
    """Which instructions each step feeds, where it is not one after the other."""
    from tilewise.check.feeding.steps import firsts

    own = firsts(found, way)
    each = own[1]
    if own == [number * each for number in range(len(own))]:
        return f", {each} instructions each" if each > 1 else ""
    shown = ", ".join(map(str, own[:SHOWN])) + (f", ... {own[-1]}" if len(own) > SHOWN else "")
    return f", for the instructions from {shown} on"


def _alignment(found: Feed) -> str:
    from tilewise.check.feeding.steps import from_zero

    many = found.alignment
    swizzled = any(swizzle.bits for swizzle in found.addresses.swizzles)
    if from_zero(found):
        where = f"; the swizzle counts from address 0, and the tile is at {found.base:#x}" if swizzled else ""
        return f"every address {f'a multiple of {many} B' if many > 1 else 'will do'}{where}"
    here = f", as {found.base:#x} is" if found.base else ""
    counted = "; its swizzle counts from there" if swizzled else ""
    where = f"at a multiple of {many} B{here}" if many > 1 else "anywhere"
    return f"the tile {where}{counted}{_of_tma(found)}"


def _of_tma(found: Feed) -> str:
    """What TMA, whose swizzle counts from address 0, wants of a tile in one of its modes."""
    from tilewise.check.diagnose import mode_of
    from tilewise.hardware.architectures import Architecture

    question = found.question
    mode = mode_of(question.cells.chain)
    has_tma = question.arch is None or Architecture.of(question.arch).number >= FIRST_WITH_TMA
    if mode is None or not mode.bits or not has_tma:
        return ""
    return f" (where TMA writes it, align the tile to {mode.period} B)"
