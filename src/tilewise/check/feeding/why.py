"""Why a tile is not moved, or not by matrices: reasons as data, the first one to look at in front.

The shape comes first, then bytes that elements share, and the end of shared memory: each of them ends all
questions. Where vectors move the tile and no matrices do, it may be the architecture, the form that the user
named, or the unit. Else it is the template of a matrix: rows of 16 bytes that stay together, at multiples of
16, of which a lane holds 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewise.check.diagnose import transposed, unit_reason
from tilewise.check.feeding.forms import REGISTER, Vector, filled_by, named
from tilewise.check.operand import OPERANDS, Reason, SharedTile, in_bytes, not_contiguous, overlap
from tilewise.core.errors import LayoutError
from tilewise.core.swizzles import Swizzle, apply_chain, period_of
from tilewise.hardware.limits import LANE_BITS, SM_SHARED_BYTES, sm_shared_bytes
from tilewise.hardware.matrices.forms import forms
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.feeding.forms import Fill, Tile
    from tilewise.check.feeding.question import Question

LISTED = 64
"""So many rows, and columns, are looked through for the first that a swizzle parts."""


def impossible(question: Question) -> tuple[Reason, ...]:
    """Return why nothing moves the tile as it is: its shape, its bytes, its place."""
    cells = question.cells
    shape = [*_shape(question)]
    if shape:
        return tuple(shape)
    found = [*_range(question), *overlap(cells)] or [*_parted(cells)]
    if question.packed:
        found = [_padding(question.packed) if reason.rule == "overlap" else reason for reason in found]
    if not found:
        cells.check_apart()
    return tuple(found)


def _shape(question: Question) -> Iterator[Reason]:
    cells, (each_rows, each_columns), shape = question.cells, question.whole, question.instruction.shape
    names = OPERANDS[cells.name]
    rules = "rows", "k" if names[1] == "K" else "columns"
    one = each_rows, each_columns * cells.elements
    whole = True
    for rule, name, extent, each in zip(rules, names, cells.shape, one, strict=True):
        if extent % each:
            whole = False
            message = f"{name} of {extent} is no multiple of {each}, the {name} of {shape}"
            hint = f"pad {name} to {-(-extent // each) * each}"
            yield Reason(rule, message, {name.lower(): extent, "instruction": each}, hint)
    if not whole:
        yield from transposed(
            cells,
            names[1],
            names[0],
            lambda turned: ", by whole instructions" if question.tile(turned) else None,
        )
    elif replace(question, warps=(1, 1)).tile() is None:
        message = f"the digits of {question.layout.shape} do not divide into parts of {shape}"
        hint = "where extents divide, the rows of one instruction have digits of their own"
        yield Reason("digits", message, {"shape": str(question.layout.shape)}, hint)
    elif question.tile() is None:
        down, along = question.warps
        message = f"the tile does not divide between {down} x {along} warps"
        hint = "write it with the rows of a warp as digits of their own, or take other --warps"
        yield Reason("warps", message, {"warps": [down, along]}, hint)


def _padding(bits: int) -> Reason:
    """Return the reason of sixteen small elements that have no 16 bytes to themselves."""
    return Reason(
        "padding",
        f"ldmatrix unpacks sixteen elements of {bits} bits from 16 bytes of their own, and here others begin "
        f"after {2 * bits}",
        {"bits": bits, "bytes": 2 * bits, "wanted": 16},
        f"leave {16 - 2 * bits} bytes after every sixteen, as TMA's 16U{bits}_ALIGN16B does",
    )


def _range(question: Question) -> Iterator[Reason]:
    cells = question.cells
    limit = SM_SHARED_BYTES if question.arch is None else sm_shared_bytes(question.arch)
    if cells.ends[0] >= 0 and cells.high < limit - period_of(cells.chain):
        return
    first, last = cells.reach()
    if first < 0 or last >= limit:
        yield Reason(
            "range",
            f"the tile reaches from byte {first} to {last}, and shared memory has {limit}",
            {"first": first, "last": last, "limit": limit},
            "bring its parts closer together, or cut it into smaller tiles",
        )


def _parted(cells: SharedTile) -> Iterator[Reason]:
    """Yield the reason of an element that a swizzle of its bytes would part,
    so that they are elsewhere than it."""
    chain, size = cells.chain, cells.size
    lowest = min((one.base for one in chain), default=size)
    steps = [cells.start, *(step for digits in cells.digits for _, step in digits)]
    if size == 1 or (1 << lowest >= size and not any(step % size for step in steps)):
        return
    for flat in range(cells.rows * cells.columns):
        row, column = divmod(flat, cells.columns)
        first = cells.start + cells.step(row, column)
        at = [apply_chain(chain, first + byte) for byte in range(size)]
        if at != [*range(at[0], at[0] + size)]:
            yield Reason(
                "swizzle",
                f"element {(row, column)} begins at byte {first} before the swizzle, which parts its "
                f"{size} bytes",
                {"index": [row, column], "byte": first},
                f"begin elements at multiples of {size}, and swizzle none of the bits below {size}",
            )
            return


# -- no matrices ---------------------------------------------------------------------------------------


def why_no_matrices(
    question: Question, tile: Tile, by_matrices: Fill | None, by_vectors: Fill
) -> tuple[Reason, ...]:
    """Return why vectors move the tile, or nothing does where matrices were asked for."""
    if by_matrices is not None:
        counts = {"matrices": by_matrices.count, "vectors": by_vectors.count}
        message = f"{named(by_matrices.form)} would take {by_matrices.count} instructions"
        return (Reason("fewer", f"{message}, and {by_vectors.form} takes {by_vectors.count}", counts),)
    if question.form == "vectors":
        return ()
    if question.packed and not question.usable:
        form = next(form for form in forms(question.mover) if form.kind.stored == question.packed)
        lacks = f"{question.arch} unpacks no elements of {question.packed} bits"
        return (
            Reason(
                "arch",
                f"{lacks}: {named(form)} is of {form.kind.needs}",
                {"bits": question.packed, "needs": str(form.kind.needs)},
                "lay the tile out with a byte for each, --unit byte",
            ),
        )
    other = _other_form(question, tile) or _other_unit(question, by_vectors)
    return (other,) if other else tuple([*_rows(question)] or [_differs(question.cells)])


def _other_form(question: Question, tile: Tile) -> Reason | None:
    """Return the reason of a form that moves the tile, where the architecture or the question lacks it."""
    for form in sorted(forms(question.mover), key=lambda form: -form.registers):
        needs = form.kind.needs
        other = question.packed or form in question.forms or needs.since is None
        if other or filled_by(tile, form) is None:
            continue
        witness = {"form": str(form), "needs": str(needs)}
        if question.arch is None or needs.met(question.arch):
            return Reason("form", f"{question.form} does not move it, and {named(form)} does", witness)
        message = f"{named(form)} would move it, and {question.arch} has none: it is of {needs}"
        return Reason("arch", message, witness)
    return None


def _other_unit(question: Question, by_vectors: Fill) -> Reason | None:
    """Return the reason of numbers in another unit: read so, matrices move the tile, or wider vectors do."""

    def read(cells: SharedTile) -> str | None:
        tile = question.tile(cells)
        if tile is None or not cells.apart:
            return None
        found = question.by_matrices(tile) or question.by_vectors(tile)
        wider = not isinstance(found.form, Vector) or found.form.bits > by_vectors.form.bits
        return f", {named(found.form)} moves it" if wider else None

    return None if question.layout.unit == "bit" else unit_reason(question.cells, question.layout.unit, read)


# -- rows of 16 bytes ----------------------------------------------------------------------------------


def _step(cells: SharedTile, row: int, column: int) -> int:
    """Return the bytes from element (0, 0) to another, before the swizzle;
    0 where there is no such element."""
    return cells.step(row, column) if row < cells.rows and column < cells.columns else 0


def _rows(question: Question) -> Iterator[Reason]:
    """Yield what is wrong with the rows that matrices would have of a tile, the first to look at in front."""
    cells, mover = question.cells, question.mover
    size, (down, along) = cells.size, OPERANDS[cells.name]
    by_row, by_column = _step(cells, 1, 0), _step(cells, 0, 1)
    witness = {"row_step": by_row, "column_step": by_column, "wanted": size}
    turned = by_row == size and by_column != size
    if by_column == size or (by_row == size and size >= REGISTER):
        lanes = _lanes(question)
        if lanes:
            yield lanes
            return
    if turned and size != 2:
        later = size == 1 and cells.elements == 1
        yield Reason(
            "major-type",
            f"{down} is contiguous, and {mover} transposes elements of 16 bits alone"
            f"{' before sm_100' * later}: {cells.row.name} wants {along} contiguous",
            witness,
            f"lay the tile out with {along} contiguous{', or see --arch sm_100a' * later}",
        )
    elif by_column != size and not turned:
        steps = f"{along.lower()} = 0 to 1", f"{down.lower()} = 0 to 1"
        hint = "16 bytes of one row of a matrix stay together"
        yield not_contiguous(cells, (by_column, by_row), steps, witness, hint)
    else:
        yield from _matrix_rows(cells, turned)


def _lanes(question: Question) -> Reason | None:
    """Return the reason of a lane that holds more or fewer neighbours of a row than matrices give it."""
    held, together = set(question.fragment.bits[LANE_BITS:]), 1
    while together in held:
        together *= 2
    if together == REGISTER:
        return None
    name, mover = question.cells.name, question.mover
    gives = "gives it" if mover == "ldmatrix" else "takes from it"
    hint = "; results of 16 bits, converted in registers, go through stmatrix" if name == "D" else ""
    return Reason(
        "lanes",
        f"a lane holds {together} neighbouring bytes of a row of {name}, and {mover} {gives} {REGISTER}",
        {"held": together, "wanted": REGISTER},
        f"vectors move them{hint}",
    )


def _matrix_rows(cells: SharedTile, turned: bool) -> Iterator[Reason]:
    """Yield the faults of rows of 16 bytes, which run down the rows of the tile where it is turned."""
    size, together = cells.size, CHUNK // cells.size
    across, along = OPERANDS[cells.name][:: -1 if turned else 1]
    many = [(cells.rows, 1), (cells.columns, cells.elements)][:: -1 if turned else 1]

    def index(far: int, near: int) -> tuple[int, int]:
        return (near, far) if turned else (far, near)

    if cells.base % CHUNK:
        message = f"the tile's address {cells.base:#x} is no multiple of 16"
        yield Reason("base", message, {"base": cells.base}, "align the tile to 16 bytes", cells)
    each = many[1][1]
    for number in range(together):
        found = _step(cells, *index(0, number))
        if found != number * size:
            where, name = number * each, along.lower()
            yield Reason(
                "chunk",
                f"16 bytes of a row must stay together: {name} = {where} is {found} B from {name} = 0, "
                "wanted "
                f"{number * size}",
                {"element": where, "found": found, "wanted": number * size},
                f"{together * each} elements along {name} are one row of a matrix",
            )
            break
    inside = [one for one in cells.chain if one.base < 4]
    rows = range(min(many[0][0], LISTED)) if inside else ()
    for far, near in ((far, near) for far in rows for near in range(min(many[1][0], LISTED))):
        found = cells.byte(*index(far, near)) - cells.byte(*index(far, near - near % together))
        if found != near % together * size:
            swizzle, wanted = inside[0], near % together * size
            yield Reason(
                "swizzle",
                f"{swizzle} on bytes parts 16 bytes: in row {far} byte {wanted} is {found} B from the first",
                {"row": far, "found": found, "wanted": wanted},
                f"keep 16 bytes together: {_meant(swizzle, cells)}",
            )
            break
    for name, (extent, elements), first in ((across, many[0], 1), (along, many[1], together)):
        numbers = [first << bit for bit in range(extent.bit_length()) if first << bit < extent]
        at = [
            (number, cells.step(*(index(number, 0) if first == 1 else index(0, number))))
            for number in numbers
        ]
        apart = next(((number, found) for number, found in at if found % CHUNK), None)
        if apart is not None:
            number, found = apart[0] * elements, apart[1]
            yield Reason(
                "stride-16",
                f"from {name.lower()} = 0 to {number} is {in_bytes(found, size)}, no multiple of 16, and "
                "each row of a "
                "matrix starts at one",
                {"element": number, "found": found},
                f"pad it to {in_bytes(-(-found // CHUNK) * CHUNK, size)}",
            )
    start = cells.start + cells.outer
    if start % CHUNK:
        hint = f"{start // CHUNK * CHUNK} is the multiple below"
        yield Reason("start", f"the tile starts at byte {start}, no multiple of 16", {"start": start}, hint)


def _meant(swizzle: Swizzle, cells: SharedTile) -> str:
    """Return in words the swizzle that keeps 16 bytes together."""
    meant = Swizzle(swizzle.bits, 4, swizzle.shift)
    try:
        elements = f"{meant.scaled(8, cells.row.dtype.bits)} on {cells.row.name}"
    except LayoutError:
        elements = str(meant)
    return f"{elements}, {meant} on bytes"


def _differs(cells: SharedTile) -> Reason:
    return Reason(
        "differs",
        "no choice of registers makes rows of 16 bytes at multiples of 16",
        {"swizzles": [[one.bits, one.base, one.shift] for one in cells.chain]},
    )
