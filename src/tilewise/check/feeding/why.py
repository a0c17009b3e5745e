"""Reasons why a tile is not moved, or not by matrices, as data, the most basic reason in front.

The shape comes first, then bytes that elements share, and the end of shared memory: after each of them
nothing else can be checked. Where vectors move the tile and no matrices do, the reason may be the
architecture, the form that the user named, or the unit. Otherwise it is the template of a matrix: rows of 16
bytes that stay together, at multiples of 16, of which a lane holds 4.

Then come the nearest layouts that matrices move, with the change that leads to each, the cheapest first:

nothing    the bytes stay: they are read in another unit, or with the modes swapped
address    the tile stays as it is, elsewhere in shared memory
chunks     the contiguous direction stays: who fills the tile writes its 16 bytes elsewhere
copy       the contiguous direction changes: elements move one by one
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from tilewise.check.diagnose import transposed, unit_reason
from tilewise.check.feeding.forms import REGISTER, Vector, filled_by, named
from tilewise.check.operand import OPERANDS, Near, Reason, SharedTile, in_bytes, not_contiguous, overlap
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
"""The number of rows, and of columns, searched for the first ones that a swizzle parts."""

COSTS = ("nothing", "address", "chunks", "copy")
"""The changes that lead to a layout, the cheapest first."""

UNTOUCHED = {
    "unit": "the same numbers, read in their own unit",
    "transposed": "the same tile, with its modes swapped",
}
"""{rule: the change that mends it while the bytes stay}."""

SHOWN = 3
LINE = 128
"""Bytes that all banks of shared memory have side by side."""


def impossible(question: Question) -> tuple[Reason, ...]:
    """Return the reasons why nothing moves the tile as given: its shape, its bytes, its place."""
    cells = question.cells
    shape = [*_shape(question)]
    if shape:
        return tuple(shape)
    found = [*_range(question), *overlap(cells)] or [*_parted(cells)]
    bits = question.packed
    if bits and any(
        reason.rule == "overlap" for reason in found
    ):  # sixteen elements share their 16 bytes with others
        message = (
            f"ldmatrix unpacks sixteen elements of {bits} bits from 16 bytes of their own, and here others "
            f"begin after {2 * bits}"
        )
        hint = f"leave {16 - 2 * bits} bytes after every sixteen, as TMA's 16U{bits}_ALIGN16B does"
        found[-1] = Reason("padding", message, {"bits": bits, "bytes": 2 * bits, "wanted": 16}, hint)
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
    """Yield the reason of an element whose bytes a swizzle would part."""
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
    """Return the reasons why vectors move the tile, or why nothing does if the user asked for matrices."""
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
    if other:
        return (other,)
    swizzles = {"swizzles": [[one.bits, one.base, one.shift] for one in question.cells.chain]}
    message = "no choice of registers makes rows of 16 bytes at multiples of 16"
    return tuple([*_rows(question)] or [Reason("differs", message, swizzles)])


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


def _rows(question: Question) -> Iterator[Reason]:
    """Yield the faults of the rows that matrices would have of a tile, the most basic in front."""
    cells, mover = question.cells, question.mover
    size, (down, along) = cells.size, OPERANDS[cells.name]
    by_row = cells.step(1, 0) if cells.rows > 1 else 0
    by_column = cells.step(0, 1) if cells.columns > 1 else 0
    witness = {"row_step": by_row, "column_step": by_column, "wanted": size}
    turned = by_row == size and by_column != size
    lanes = _lanes(question) if by_column == size or (by_row == size and size >= REGISTER) else None
    if lanes:
        yield lanes
    elif turned and size != 2:
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
    elif turned:
        yield from _matrix_rows(cells.turned(), along, down)
    else:
        yield from _matrix_rows(cells, down, along)


def _lanes(question: Question) -> Reason | None:
    """Return the reason of a lane that holds more or fewer neighbours of a row than matrices give."""
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


def _matrix_rows(cells: SharedTile, across: str, along: str) -> Iterator[Reason]:
    """Yield the faults of rows of 16 bytes, which run along the columns; the two names are those of modes."""
    size, each = cells.size, cells.elements
    together, name = CHUNK // size, along.lower()
    if cells.base % CHUNK:
        message = f"the tile's address {cells.base:#x} is no multiple of 16"
        yield Reason("base", message, {"base": cells.base}, "align the tile to 16 bytes")
    for number in range(1, together):
        found, wanted = cells.step(0, number) if number < cells.columns else 0, number * size
        if found != wanted:
            yield Reason(
                "chunk",
                f"16 bytes of a row must stay together: {name} = {number * each} is {found} B from "
                f"{name} = 0, wanted {wanted}",
                {"element": number * each, "found": found, "wanted": wanted},
                f"{together * each} elements along {name} are one row of a matrix",
            )
            break
    inside = [one for one in cells.chain if one.base < 4]
    listed = product(range(min(cells.rows, LISTED)), range(min(cells.columns, LISTED))) if inside else ()
    for far, near in listed:
        wanted = near % together * size
        found = cells.byte(far, near) - cells.byte(far, near - near % together)
        if found != wanted:
            yield Reason(
                "swizzle",
                f"{inside[0]} on bytes parts 16 bytes: in row {far} byte {wanted} is {found} B from "
                "the first",
                {"row": far, "found": found, "wanted": wanted},
                f"keep 16 bytes together: {_meant(inside[0], cells)}",
            )
            break
    for name, down, right, many, elements in (
        (across, 1, 0, cells.rows, 1),
        (along, 0, together, cells.columns, each),
    ):
        twos = (1 << bit for bit in range(many.bit_length()))
        numbers = [number * (down + right) for number in twos if number * (down + right) < many]
        for number in numbers:
            found = cells.step(number, 0) if down else cells.step(0, number)
            if found % CHUNK:
                yield Reason(
                    "stride-16",
                    f"from {name.lower()} = 0 to {number * elements} is {in_bytes(found, size)}, no multiple "
                    "of 16, and each row of a matrix starts at one",
                    {"element": number * elements, "found": found},
                    f"pad it to {in_bytes(-(-found // CHUNK) * CHUNK, size)}",
                )
                break
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


# -- the nearest layouts -------------------------------------------------------------------------------


def nearest(question: Question, reasons: Sequence[Reason]) -> tuple[Near, ...]:
    """Return the nearest layouts that matrices move, the cheapest first.

    postcondition  each is moved by matrices, for the question's operand, shape and type
    """
    found: dict[object, Near] = {}
    candidates = [] if question.packed else [*_mended(question, reasons), *_dense(question, reasons)]
    for cost, cells, message in sorted(candidates, key=lambda one: COSTS.index(one[0])):
        near = _near(question, cost, cells, message)
        if near is not None:
            found.setdefault((cells.key, cells.chain), near)
        if len(found) == SHOWN:
            break
    return tuple(found.values())


def _mended(question: Question, reasons: Sequence[Reason]) -> Iterator[tuple[str, SharedTile, str]]:
    """Yield the tile with one fault mended."""
    cells, rules = question.cells, {reason.rule for reason in reasons}
    for reason in reasons:
        if reason.rule in UNTOUCHED and reason.repair is not None:
            yield "nothing", reason.repair, UNTOUCHED[reason.rule]
    if rules & {"base", "start"} or ("range" in rules and cells.base):
        yield "address", replace(cells, start=0, outer=0), "the tile as it is, at a multiple of 16 bytes"
    if "swizzle" in rules:
        try:
            chain = tuple([Swizzle(one.bits, max(4, one.base), one.shift) for one in cells.chain])
        except LayoutError:
            return
        message = "the same strides under a swizzle that keeps 16 bytes together"
        yield "chunks", replace(cells, chain=chain), message


def _dense(question: Question, reasons: Sequence[Reason]) -> Iterator[tuple[str, SharedTile, str]]:
    """Yield dense tiles, row by row or column by column: padded or swizzled so that eight rows meet all
    banks.
    """
    if any(reason.rule in ("fewer", "arch", "form", "lanes") for reason in reasons):
        return
    cells, size = question.cells, question.cells.size
    rows, columns = (
        -(-many // each) * each
        for many, each in zip((cells.rows, cells.columns), question.whole, strict=True)
    )
    grown = "".join(
        f"; {name} padded from {now} to {then}"
        for name, now, then in zip(
            OPERANDS[cells.name], cells.shape, (rows, columns * cells.elements), strict=True
        )
        if now != then
    )
    for major, across, inside in (("k", rows, columns), ("mn", columns, rows)):
        cost = "chunks" if major == cells.contiguous() else "copy"
        width = inside * size
        padded = -(-width // CHUNK) * CHUNK
        padded += CHUNK if padded // CHUNK % 2 == 0 else 0
        ways: list[tuple[int, tuple[Swizzle, ...], str]] = []
        if width % CHUNK == 0 and not width & (width - 1):  # a swizzle spreads eight rows over all banks
            bits = (min(width, LINE) // CHUNK).bit_length() - 1
            swizzle = Swizzle(bits, 4, max(3, width.bit_length() - 1 - 4))
            under = f" under {swizzle} on bytes" if bits else ""
            ways.append((width, (swizzle,) if bits else (), f"rows of {width} B{under}"))
        if padded != width:
            ways.append((padded, (), f"rows padded from {width} to {padded} B"))
        for far, chain, message in ways:
            tile = replace(cells, digits=([(across, far)], [(inside, size)]), start=0, outer=0, chain=chain)
            yield cost, tile if major == "k" else tile.turned(), message + grown


def _near(question: Question, cost: str, cells: SharedTile, message: str) -> Near | None:
    """Return the answer, where matrices move a tile at an aligned address."""
    cells = replace(cells, base=0)
    asked = replace(question, cells=cells, plainly=False)
    found = None if impossible(asked) else asked.by_matrices(asked.tile())
    elements = cells.layout("element")
    if found is None or elements is None:
        return None
    moved: int | None = 0
    if cost not in ("nothing", "address"):
        same_size = cells.rows * cells.columns == question.cells.rows * question.cells.columns
        moved = question.cells.moved(cells) if same_size else None
    return Near(elements, cost, f"{named(found.form)}: {message}", moved=moved)
