"""The way a warp moves a tile, where `match` says yes for mma: its form, its steps, and those of one lane."""

from __future__ import annotations

from dataclasses import asdict

from tilewise.check.diagnose import mode_of
from tilewise.check.feeding import Feed
from tilewise.check.feeding.banks import cure_of, wavefronts_of
from tilewise.check.feeding.forms import Step, Vector, named
from tilewise.check.feeding.steps import (
    WITHIN,
    Stepping,
    Way,
    elements,
    feeds,
    firsts,
    from_the_tile,
    from_zero,
    stepping,
)
from tilewise.codegen.feeding import address_of, code_of
from tilewise.core.integers import counted
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.catalog.confirmed import confirmed_by
from tilewise.hardware.matrices.forms import short
from tilewise.hardware.mma.instructions import families_of
from tilewise.questions.report import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

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


def fields_of_moves(found: Feed) -> dict[str, Any]:
    """Return the instruction, the addresses as a layout and as code, and every step."""
    how = stepping(found)
    down, along = DIRECTIONS[found.operand]
    form = found.form
    if isinstance(form, Vector):
        kind, count, bits = "vector", form.registers, form.bits
    else:
        kind, count, bits = form.instruction, form.count, None
    return {
        "form": form,
        "name": named(form),
        "kind": kind,
        "count": count,
        "bits": bits,
        "trans": form.trans,
        "addresses": found.addresses,
        "unit": "byte",
        "origin": 0 if from_zero(found) else found.base,
        "offsets": from_the_tile(found).addresses,
        "at": how,
        "numbers": {way.name: way.numbers for way in how.ways} if how else None,
        "code": code_of(found),
        "instructions": len(found.steps),
        "tiles": {down: found.counts[0], along: found.counts[1]},
        **fields_of(found, "registers", "fragment", "alignment", "base", "pattern"),
        "banks": _banks(found),
        "needs": _needs(found) or None,
        "steps": [_step(step, down, along) for step in found.steps[:_MOST_STEPS]],
        "confirmed": _confirmed(found),
    }


def _confirmed(found: Feed) -> list[str]:
    """Return how both the fragment and the form are known: what confirms each of them."""
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
    fields = {down: step.row, along: step.column, **fields_of(step, "add", "xor")}
    if step.add is None and step.xor is None:
        fields["addresses"] = step.addresses
    parts = [
        {down: part.row, along: part.column, **fields_of(part, "register", "byte", "bytes")}
        for part in step.parts
    ]
    return fields | {"parts": parts}


# -- one lane ------------------------------------------------------------------------------------------


def of_lane(found: Feed, lane: int) -> tuple[dict[str, Any], list[str]]:
    """Return the addresses that one lane gives, step by step: fields and lines."""
    row, form = None, found.form
    lines = ["  they are not read, and repeat those of another lane; what the lane itself holds:"]
    if isinstance(form, Vector):
        lines = []
    elif lane % LANES < form.count * form.rows:
        row = divmod(lane % LANES, form.rows)
        lines = [f"  each names row {row[1]} of matrix {row[0]}; what the lane itself holds:"]
    addresses = [step.addresses.place(lane)["m"] for step in found.steps]
    by_step = list(zip(found.steps, addresses, strict=True))
    fields = {
        "form": form,
        "lane": lane,
        "unit": "byte",
        "base": found.base,
        "names": row,
        "steps": [
            _step(step, *DIRECTIONS[found.operand]) | {"address": address} for step, address in by_step
        ],
    }
    start = f", from address 0: the tile is at {found.base:#x}" if found.base else " of the tile"
    stores = counted(len(found.steps), "store" if found.operand == "D" else "load")
    width = max(len(str(address)) for address in addresses)
    lines = [f"lane {lane} of {named(form)}, {stores}: bytes{start}", *lines]
    return fields, [*lines, *(f"  {address:{width}}  {feeds(found, step)}" for step, address in by_step)]


# -- text ----------------------------------------------------------------------------------------------


def lines_of_moves(found: Feed, fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield how a warp moves a tile, of which the fields say more."""
    down, along = (names.upper() for names in DIRECTIONS[found.operand])
    down = {"A": "M", "B": "N"}.get(found.operand, down)
    verb, many = "stores" if found.operand == "D" else "loads", len(found.steps)
    tiles = f"{found.shape}, {found.counts[0]} along {down} x {found.counts[1]} along {along}"
    yield f"{fields['name']} {verb} it as {found.operand} of {found.dtype}, {many} of them: {tiles}"
    yield f"  instruction  {found.form}{_needs(found, ' ({})')}"
    of = "" if from_zero(found) else " of the tile"
    yield f"  addresses    {fields['offsets']}, lane to byte{of}"
    held = _held(found, found.steps[0])
    yield f"  registers    {held}; {found.registers} of 32 bits hold the whole tile"
    yield f"  banks        {wavefronts_of(found.fill)}"
    cure = cure_of(found)
    if cure is not None:
        yield f"               as {cure.layout}: {cure.banks}"
    yield from _steps(found, fields["at"])
    yield f"  alignment    {_alignment(found)}"
    yield from (f"  {line}" for line in address_of(found).splitlines())


def _banks(found: Feed) -> dict[str, Any]:
    """Return the wavefronts of all loads, or stores, and the layout that takes fewer."""
    cure = cure_of(found)
    better = None if cure is None else {"layout": cure.layout, **asdict(cure.banks)}
    return asdict(wavefronts_of(found.fill)) | {"better": better}


def _needs(found: Feed, words: str = "{}") -> str:
    """Return which architectures have the form; nothing of vectors, which all have."""
    return "" if isinstance(found.form, Vector) else words.format(found.form.kind.needs)


def _held(found: Feed, step: Step) -> str:
    return ", ".join(elements(found, part) for part in step.parts)


def _steps(found: Feed, how: Stepping | None) -> Iterator[str]:
    """Yield the address of every step from the first one of a lane, and the numbers in it."""
    if len(found.steps) == 1:
        return
    if how is None:
        yield "  each at      an address of its own: --code has them, and --lane 17 those of one lane"
        return
    yield f"  each at      {how}"
    for way in how.ways:
        if way.name == WITHIN:
            yield from _in_one(found, way)
        else:
            yield f"  along {way.name.upper():<7}{way.name} = {_listed(way.numbers)} B{_from(found, way)}"


def _in_one(found: Feed, way: Way) -> Iterator[str]:
    """Yield all loads of one instruction: the number of each, and what it brings."""
    said = [f"{number} for {_held(found, found.steps[i])}" for i, number in enumerate(way.numbers)]
    for first in range(0, len(said), TOGETHER):
        head = f"in one       {way.name} = " if not first else " " * 17
        end = ", in bytes" if first + TOGETHER >= len(said) else ";"
        yield f"  {head}{'; '.join(said[first : first + TOGETHER])}{end}"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:SHOWN])) + (f", ... {numbers[-1]}" if len(numbers) > SHOWN else "")


def _from(found: Feed, way: Way) -> str:
    """Return which instructions each step feeds, where it is not one after the other."""
    fed = firsts(found, way)
    each = fed[1]
    if fed == [number * each for number in range(len(fed))]:
        return f", {each} instructions each" if each > 1 else ""
    return f", for the instructions from {_listed(fed)} on"


def _alignment(found: Feed) -> str:
    many = found.alignment
    swizzled = any(swizzle.bits for swizzle in found.addresses.swizzles)
    if from_zero(found):
        where = f"; the swizzle counts from address 0, and the tile is at {found.base:#x}" if swizzled else ""
        return f"every address {f'a multiple of {many} B' if many > 1 else 'will do'}{where}"
    here = f", as {found.base:#x} is" if found.base else ""
    origin = "; its swizzle counts from there" if swizzled else ""
    where = f"at a multiple of {many} B{here}" if many > 1 else "anywhere"
    return f"the tile {where}{origin}{_of_tma(found)}"


def _of_tma(found: Feed) -> str:
    """Return what TMA, whose swizzle counts from address 0, wants of a tile in one of its modes."""
    question = found.question
    mode = mode_of(question.cells.chain)
    has_tma = question.arch is None or Architecture.of(question.arch).number >= FIRST_WITH_TMA
    if mode is None or not mode.bits or not has_tma:
        return ""
    return f" (where TMA writes it, align the tile to {mode.period} B)"
