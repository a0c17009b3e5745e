"""Tensor memory in the model: 128 lanes of 512 words of a CTA; tcgen05.ld, tcgen05.st and tcgen05.cp.

    ld    the registers of one warp, from the words of the warp's 32 lanes
    st    the other way; with unpack::16b the upper halves of its words count as not written
          afterwards, for no document gives their content
    cp    rows of shared memory by a descriptor, to every lane that gets a copy

Words have a mark for each written bit, and a load copies the marks. Registers may hold words of lanes that no
row of an accumulator has; their use is refused (TW612). A store of a register that nothing has written is
refused at once. So are a copy of bytes that were not all written, a lane that the warp does not reach or the
form does not begin at, and a column past the last allocated.

`hardware.tcgen05` has the place of each word; its authors had no Blackwell for a test.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, number_text
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.limits import LANES as THREADS
from tilewise.hardware.mma.kinds import LOWEST
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.tcgen05.addresses import COLUMNS, LANES, WARPS, Address, lanes_of
from tilewise.hardware.tcgen05.copies import SOURCES, Copy
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.loads import Form, instruction
from tilewise.simulate.faults import HOST, Step, clash, fault
from tilewise.simulate.memory import Memory
from tilewise.simulate.registers import EVERY, HeldType, Padded, Registers
from tilewise.tables import table

Array = np.ndarray[Any, Any]

HALF = 16
"""Bits of half a word."""
LANE_HINT = "an address is lane << 16 | column, and warp w of a warpgroup has lanes 32 w to 32 w + 31"
COLUMN_HINT = "allocate more, or begin further left"

_LOW_HALF = np.uint32((1 << HALF) - 1)


class TensorMemory:
    """The words of one CTA's tensor memory, each bit written or not; `columns` is the number allocated.

    >>> from tilewise.hardware.catalog import find
    >>> d = find("tcgen05.D")("f32", 128, 64).layout
    >>> held = TensorMemory(64)
    >>> held.put(np.arange(128 * 64).reshape(128, 64), d, "f32")
    >>> ld(held, "32x32b", 8, 32 << 16 | 16, warp=1).words[0, 5, :3].view(np.float32).tolist()
    [2384.0, 2385.0, 2386.0]
    """

    def __init__(self, columns: int = COLUMNS) -> None:
        if not 1 <= as_int(columns, "the columns") <= COLUMNS:
            raise LayoutError("TW203", f"{number_text(columns)} columns", hint=f"a CTA has 1 to {COLUMNS}")
        self.columns = columns
        self._held = Registers.empty(columns, warps=WARPS)

    def __repr__(self) -> str:
        return f"TensorMemory({self.columns}): {int((self.known != 0).sum())} words written"

    @property
    def words(self) -> Array:
        """Return [lane, column], 32 bits each, 0 where nothing was written."""
        return self._held.words.reshape(LANES, self.columns)

    @property
    def known(self) -> Array:
        """Return the bits of each that were written, as ones."""
        return self._held.known.reshape(LANES, self.columns)

    # -- the host ------------------------------------------------------------------------------------

    def put(self, numbers: Any, layout: Layout, dtype: HeldType) -> None:
        """Write numbers of a type at the places of a layout over TLane and TCol; 1@TCol is an element.

        requires       the layout of one CTA
        postcondition  take(layout, dtype) gives them back
        """
        self._held = self._held.put(numbers, _as_registers(layout, self.columns, dtype), dtype)

    def take(self, layout: Layout, dtype: HeldType) -> Array:
        """Return the numbers of a type at a layout's places.

        requires  every bit of them was written, and copies of an element are the same
        """
        as_registers = _as_registers(layout, self.columns, dtype)
        try:
            return self._held.numbers(as_registers, dtype)
        except Refused as no:
            raise _in_lanes(no, layout) from None

    # -- steps ---------------------------------------------------------------------------------------

    def read(self, step: Step, lanes: Array, columns: Array) -> tuple[Array, Array]:
        """Return (the words, their written bits) of some places."""
        self._check(step, lanes, columns, "reads")
        return self.words[lanes, columns], self.known[lanes, columns]

    def write(self, step: Step, lanes: Array, columns: Array, words: Array, known: Array) -> None:
        """Put words, with their written bits, at some places.

        requires  equal words where places meet
        """
        self._check(step, lanes, columns, "writes")
        to = (lanes * self.columns + columns).reshape(-1)
        both = np.stack([words.reshape(-1), known.reshape(-1)], axis=-1)
        if two := clash(to, both):
            one, other = two
            place = {
                "lane_of_tensor_memory": int(to[one]) // self.columns,
                "column": int(to[one]) % self.columns,
            }
            raise fault(
                "overlapping",
                f"{step.words(one)} and {step.row_words(other)} write different words to lane "
                f"{place['lane_of_tensor_memory']}, column {place['column']}",
                step.culprit(one) | {"other": step.counted(other)} | place,
                "which of them stays is not defined",
            )
        held = [self._held.words.copy(), self._held.known.copy()]
        for array, part in zip(held, both.T, strict=True):
            array.reshape(-1)[to] = part
        self._held = Registers(*held)

    def _check(self, step: Step, lanes: Array, columns: Array, does: str) -> None:
        """Refuse a lane that does not exist or that the warp does not reach, and a column past the last."""
        reach = range(LANES) if step.warp is None else lanes_of(step.warp)
        whose = "tensor memory" if step.warp is None else f"warp {step.warp}"
        lane_says = f"and {whose} has lanes {reach[0]} to {reach[-1]}"
        column_says = f"of which {self.columns} are allocated"
        beyond = (lanes < reach[0]) | (lanes > reach[-1])
        for numbers, outside, name, key, says, hint in (
            (lanes, beyond, "lane", "lane_of_tensor_memory", lane_says, LANE_HINT),
            (columns, columns >= self.columns, "column", "column", column_says, COLUMN_HINT),
        ):
            if outside.any():
                row = int(np.argmax(outside.reshape(-1)))
                number = int(numbers.reshape(-1)[row])
                message = f"{step.words(row)} {does} {name} {number} of tensor memory, {says}"
                raise fault("outside", message, step.culprit(row) | {key: number}, hint)


# -- loads and stores --------------------------------------------------------------------------------


def ld(
    memory: TensorMemory,
    form: Form | str,
    repeat: int | str,
    address: Address | int,
    *,
    packed: bool = False,
    split: int | None = None,
    warp: int = 0,
) -> Registers:
    """Return the registers of a warp after a tcgen05.ld from an address; `packed` means pack::16b.

    `split` is the number of columns from the first half of 16x32bx2 to the second; by default the first
    half's width.

        requires  the address has the warp's first lane, 32 w; with forms of 16 lanes 32 w + 16 too
    """
    step, lanes, columns = _access(False, form, repeat, address, packed, split, warp)
    words, known = memory.read(step, lanes, columns)
    if packed:
        words, known = ((half[..., 0] & _LOW_HALF) | half[..., 1] << HALF for half in (words, known))
    return Registers(words.reshape(1, THREADS, -1), known.reshape(1, THREADS, -1))


def st(
    memory: TensorMemory,
    form: Form | str,
    repeat: int | str,
    address: Address | int,
    registers: Registers,
    *,
    packed: bool = False,
    split: int | None = None,
    warp: int = 0,
) -> None:
    """Write registers of a warp to tensor memory by a tcgen05.st; `packed` means unpack::16b.

    requires  as for ld; as many registers as the form has, each written in part at least

    >>> held = TensorMemory(32)
    >>> st(held, "16x64b", 2, 16 << 16, Registers.of(np.arange(64).reshape(32, 2)))
    >>> ld(held, "16x64b", 2, 16 << 16).words[0, 31].tolist(), held.words[16, :4].tolist()
    ([62, 63], [0, 4, 1, 5])
    """
    step, lanes, columns = _access(True, form, repeat, address, packed, split, warp)
    if (registers.count, registers.warps) != (lanes.shape[1], 1):
        raise LayoutError(
            "TW203", f"{step.instruction} takes {lanes.shape[1]} registers of one warp, not {registers}"
        )
    Registers(registers.words, np.where(registers.known == 0, np.uint32(0), EVERY)).held(step)
    words, known = registers.words[0], registers.known[0]
    if packed:
        words, known = (
            np.stack([part & _LOW_HALF, part >> np.uint32(HALF)], axis=-1) for part in (words, known)
        )
    memory.write(step, lanes, columns, words, known)


def _access(
    store: bool,
    form: Form | str,
    repeat: int | str,
    address: Address | int,
    packed: bool,
    split: int | None,
    warp: int,
) -> tuple[Step, Array, Array]:
    """Return the step, and the lane and the column of every register, for packed ones of both halves.

    refused  an address at whose lane the form does not begin in any warp
    """
    this = Form.of(form)
    count = this.check_repeat(repeat)
    apart = this.check_split(split, count, packed)
    name, first = instruction(store, this, count, packed), Address.of(address)
    if first.lane % this.lanes:
        raise fault(
            "misaligned",
            f"{name}, warp {warp} begins at lane {first.lane} of tensor memory, which is no multiple of "
            f"{this.lanes}",
            {"instruction": name, "warp": warp, "lane_of_tensor_memory": first.lane},
            "warp w of a warpgroup begins at lane 32 w, with forms of 16 lanes at 32 w + 16 too",
        )
    lanes, columns = _words(this, count, packed, apart or 0)
    step = Step(name, warp, ("lane", "register", "half")[: lanes.ndim], lanes.shape)
    return step, lanes + first.lane, columns + first.column


@cache
def _words(form: Form, count: int, packed: bool, split: int) -> tuple[Array, Array]:
    """Return [lane, register], packed [lane, register, half]: the lane and the column from the address."""
    layout = form.layout(count, packed)
    found = table(layout)
    thread, register = (
        found.columns[axis].reshape(-1) if axis in found.columns else np.zeros(layout.size, int)
        for axis in ("laneid", "reg")
    )
    index = np.unravel_index(np.arange(layout.size), extents_of(layout.shape))
    lane, column = index[0], index[-1] + (index[1] * split if form.halves else 0)
    held = np.zeros((2, THREADS, layout.size // THREADS), np.int64)
    held[:, thread, register] = lane, column
    shape = (2, THREADS, -1, 2) if packed else (2, THREADS, -1)
    lanes, columns = held.reshape(shape)
    return lanes, columns


# -- copies ------------------------------------------------------------------------------------------


def cp(
    memory: TensorMemory,
    shared: Memory,
    form: Copy | str,
    descriptor: Descriptor | int,
    address: Address | int = 0,
    *,
    multicast: str | None = None,
    source: str | None = None,
) -> None:
    """Copy rows of shared memory to tensor memory: tcgen05.cp of one CTA.

    `source` spreads elements of 6 or 4 bits to bytes; padding in the 16 bytes of 16 elements is not
    read.

        requires  every byte that is read was written; rows that lie inside a row of the swizzle's atom

    >>> shared, held = Memory(512), TensorMemory(32)
    >>> shared.put(np.arange(128), "u32")
    >>> cp(held, shared, "32x128b", Descriptor(sbo=128))
    >>> held.words[[0, 1, 33], :4].tolist()
    [[0, 1, 2, 3], [4, 5, 6, 7], [4, 5, 6, 7]]
    """
    this = form if isinstance(form, Copy) else Copy.of(form, multicast)
    given = descriptor if isinstance(descriptor, Descriptor) else Descriptor.decode(descriptor)
    chunks = this.bytes // CHUNK
    step = Step(this.instruction(source=source), rows=("row", "chunk"), shape=(this.row_count, chunks))
    first = np.array(this.reads(given).table())[: this.row_count, ::CHUNK]
    if source is None:
        data = shared.read(step, first, CHUNK, aligned=CHUNK)
    else:
        data = _spread(shared.read(step, first, SOURCES[source][1]), source)
    words = np.ascontiguousarray(data).view("<u4").reshape(this.row_count, -1)
    # a row goes to the same lanes with all of its bytes
    at = table(this.layout).columns["TLane"].reshape(this.row_count, this.bytes, -1)[:, 0]
    to = Address.of(address)
    lanes = np.broadcast_to(at[:, :, None] + to.lane, (*at.shape, words.shape[1]))
    columns = np.broadcast_to(np.arange(words.shape[1]) + to.column, lanes.shape)
    held = np.broadcast_to(words[:, None], lanes.shape).astype(np.uint32)
    written = Step(step.instruction, rows=("row", "copy", "column"), shape=lanes.shape)
    memory.write(written, lanes, columns, held, np.full_like(held, EVERY))


def _spread(data: Array, source: str) -> Array:
    """Return the bytes of elements of 6 or 4 bits, each at its lowest bit, with zeros around it."""
    bits, _ = SOURCES[source]
    held = np.unpackbits(data, axis=-1, bitorder="little").reshape(*data.shape[:-1], CHUNK, bits)
    each = np.packbits(held, axis=-1, bitorder="little")[..., 0]
    return each << np.uint8(LOWEST.get(bits, 0))


# -- layouts as registers ----------------------------------------------------------------------------


def _as_registers(layout: Layout, columns: int, dtype: HeldType) -> Layout:
    """Return a layout of tensor memory as registers of 128 threads, with a register for each column."""
    names = {"TLane": "tid_in_wg", "TCol": "reg"}
    own = [str(axis) for axis in layout.axes]
    if strange := [name for name in own if name not in names]:
        pair = strange[0] == "cbx"
        raise LayoutError(
            "TW203",
            f"{layout} has the axis {strange[0]}, and tensor memory of a CTA has TLane and TCol",
            hint="slice out what one CTA has" if pair else "such as tcgen05.D(f32, m=128, n=64)",
        )
    for name, many in (("TLane", LANES), ("TCol", columns * 32 // Padded.of(dtype).taken)):
        low, high = layout.extremes(name) if name in own else (0, 0)
        if low < 0 or high >= many:
            raise LayoutError(
                "TW203",
                f"{layout} reaches {name} {low if low < 0 else high}",
                hint=f"this tensor memory has lanes 0 to {LANES - 1} and columns 0 to {columns - 1}",
            )
    return layout.relabel({name: names[name] for name in own})


def _in_lanes(no: Refused, layout: Layout) -> Refused:
    """Return a refusal of registers in the words of tensor memory."""
    witness = dict(no.witness)
    if witness.get("fault") == "unwritten":
        lane, column = THREADS * witness.pop("warp") + witness.pop("lane"), witness.pop("register")
        place = {"lane_of_tensor_memory": lane, "column": column}
        message = f"{HOST.instruction} reads lane {lane}, column {column}, which nothing wrote"
        return fault("unwritten", message, witness | place, "store, copy or accumulate there first")
    lanes = [THREADS * warp + lane for warp, lane in witness.pop("threads")]
    index = witness["element"]
    return fault(
        "apart",
        f"{HOST.instruction} reads element {index} of {layout}, of which lanes {lanes[0]} and {lanes[1]} "
        "hold different numbers",
        witness | {"lanes": lanes},
        "copies of an element are one element",
    )
