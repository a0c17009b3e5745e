"""The parts `tma.*`: the places of boxes, the tensor maps that the driver takes, the copies that fault.

One TMA load on the hardware: a box of a tensor, and the content of shared memory after it.

The element at place i of the global buffer holds i + 1, in as many passes as its bytes need. The tensor
begins inside the buffer, so that an element from outside it would be known as well. Shared memory is
poisoned in two ways, to tell bytes that the copy left alone from bytes that it wrote.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.gpu.compile import Source, cubin
from tilewise.gpu.device import HOPPER, checked, find, package
from tilewise.gpu.launch import Array
from tilewise.gpu.verify.kernels import Progress, alone, result_name
from tilewise.gpu.verify.part import Answered, Findings, Part, measured, of_row
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.tma.rules import DRIVER, HARDWARE, RULES, violations
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import (
    ELEMENT_TYPES,
    FILLS,
    INTERLEAVES,
    L2_PROMOTIONS,
    SWIZZLE_VALUES,
    ElementType,
    nan_fill,
)
from tilewise.tables import table

POISONS = (0xA5, 0x5A)
"""Bytes of shared memory before the copy: they differ in every bit."""

MARGIN = 1024
"""Elements of the buffer before the tensor."""

TOO_MANY = 16
"""Bytes beyond a box that the barrier expects in the last pass: it must miss exactly these."""

SLACK = 2048
"""Bytes behind the box that are watched too."""

MOST_SHARED = 230_000
"""Dynamic shared memory in bytes of the largest box with its slack."""

ELEMENTS = {1: 1 << 20, 2: 1 << 20, 4: 1 << 19, 8: 1 << 19}
"""Elements of the buffer, by the bytes of an element."""

UNTOUCHED, FILL, TORN, OTHER = -1, 0, -2, -3
"""A slot of shared memory besides element i, which is i + 1: untouched by the copy, zero, a part of an
element, or, at OTHER - i, the i-th value that is no element of the buffer."""


@dataclass(frozen=True, slots=True)
class BoxLoad:
    """A load of one box, all dimensions slowest first."""

    dtype: str
    mode: str
    shape: tuple[int, ...]
    box: tuple[int, ...]
    corner: tuple[int, ...]
    start: int = 0
    """The copy's address, after a multiple of 1024."""
    steps: tuple[int, ...] = ()
    """Element strides; empty if all are 1."""
    fill: str = "zero"

    @property
    def tensor_map(self) -> TensorMap:
        """Return the arguments of the driver."""
        return TensorMap(
            ElementType.of(self.dtype),
            self.shape,
            tuple(stride * self.bytes_each for stride in self.strides[:-1]),
            self.box,
            self.element_strides,
            "none",
            Mode.of(self.mode),
            fill=self.fill,
        )

    @property
    def bytes_each(self) -> int:
        """Return the bytes of an element."""
        return DType.of(self.dtype).bits // 8

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Return one element stride a dimension."""
        return self.steps or (1,) * len(self.box)

    @property
    def strides(self) -> tuple[int, ...]:
        """Return elements between neighbours along each dimension; rows begin at multiples of 32 bytes."""
        strides, each = [1], self.bytes_each
        for extent in reversed(self.shape[1:]):
            dense = strides[-1] * extent
            strides.append(-(-dense * each // 32) * 32 // each)
        return tuple(reversed(strides))

    @property
    def landed(self) -> tuple[int, ...]:
        """Return the box in shared memory."""
        return self.tensor_map.loaded

    @property
    def bytes(self) -> int:
        """Return the bytes of the box in shared memory, which the barrier expects."""
        return self.tensor_map.bytes

    @property
    def window(self) -> int:
        """Return the bytes of shared memory that are watched."""
        width = Mode.of(self.mode).width
        rows, inner = prod(self.landed[:-1]), self.landed[-1] * self.bytes_each
        reach = rows * max(inner, width)
        return -(-(self.start + reach + SLACK) // 16) * 16


@dataclass(frozen=True, eq=False)
class Landed:
    """Shared memory after a copy, one number an element-sized slot."""

    slots: Array
    """UNTOUCHED, FILL, the element's place in the buffer + 1, or OTHER and below."""
    counted: int | None
    """The bytes that the barrier counted; None if no number of missing bytes explains its state."""
    others: tuple[int, ...] = ()
    """The bits of values that belong to no element of the buffer."""


def place_of(box: BoxLoad) -> Array:
    """Return the place in the buffer + 1 of each element of the landed box, or FILL out of bounds."""
    grids = np.indices(box.landed, dtype=np.int64, sparse=True)
    steps = (*box.element_strides[:-1], 1)
    inside: Any = np.ones((), bool)
    place: Any = np.int64(MARGIN + 1)
    for grid, corner, step, extent, stride in zip(
        grids, box.corner, steps, box.shape, box.strides, strict=True
    ):
        at = corner + grid * step
        inside = inside & (at >= 0) & (at < extent)
        place = place + at * stride
    return np.where(inside, place, FILL)


def passes_of(each: int) -> int:
    """Return the passes that tell every element of the buffer from the others."""
    return -(-ELEMENTS[each].bit_length() // (8 * each))


def decode(passes: Sequence[Array], other: Array, each: int) -> tuple[Array, tuple[int, ...]]:
    """Return slots and other values, from the windows of all passes, and of the first pass once more with the
    other poison."""
    numbers = np.zeros(len(passes[0]) // each, np.uint64)
    for digit, window in enumerate(passes):
        numbers |= window.view(f"<u{each}").astype(np.uint64) << np.uint64(8 * each * digit)
    free = ((passes[0] == POISONS[0]) & (other == POISONS[1])).reshape(-1, each)
    slots = np.where(numbers <= ELEMENTS[each], numbers, 0).astype(np.int64)
    strange = (numbers > ELEMENTS[each]) & ~free.any(axis=1)
    values, which = np.unique(numbers[strange], return_inverse=True)
    slots[strange] = OTHER - which
    slots[free.all(axis=1)] = UNTOUCHED
    slots[free.any(axis=1) & ~free.all(axis=1)] = TORN
    element = (1 << 8 * each) - 1
    return slots, tuple(int(value) & element for value in values)


# -- the driver ------------------------------------------------------------------------------------


class Aligned:
    """Bytes at an address that is a multiple of 64."""

    def __init__(self, size: int) -> None:
        self._room = ctypes.create_string_buffer(size + 64)
        self.address = -(-ctypes.addressof(self._room) // 64) * 64


def encoder() -> Any:
    """Return the driver's cuTensorMapEncodeTiled, which takes any numbers."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise LayoutError("TW608", "there is no CUDA driver", hint="a machine with an NVIDIA GPU") from error
    return library.cuTensorMapEncodeTiled


def encode(function: Any, out: Aligned, address: int, numbers: Iterable[Any]) -> int:
    """Return the CUresult of an encoding; `numbers` are in the driver's order, valid or not."""
    dtype, rank, *tuples, interleave, swizzle, l2, fill = numbers
    kinds = (ctypes.c_uint64 * 8, ctypes.c_uint64 * 8, ctypes.c_uint32 * 8, ctypes.c_uint32 * 8)
    arrays = [kind(*values) for kind, values in zip(kinds, tuples, strict=True)]
    begin = (
        ctypes.c_void_p(out.address),
        ctypes.c_int(dtype),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
    )
    return int(function(*begin, *arrays, *map(ctypes.c_int, (interleave, swizzle, l2, fill))))


class CopyRequest(ctypes.Structure):
    """The request to the kernel that copies, in the form of its text."""

    _fields_ = (
        ("rank", ctypes.c_int),
        ("corner", ctypes.c_int * 5),
        ("start", ctypes.c_uint),
        ("window", ctypes.c_uint),
        ("bytes", ctypes.c_uint),
        ("poison", ctypes.c_uint),
    )


class TensorCopies:
    """A device that loads boxes, one launch a pass."""

    def __init__(self) -> None:
        gpu = find(capability=HOPPER)
        driver = self._driver = package("cuda.bindings.driver")
        checked(driver.cuInit(0))
        device = checked(driver.cuDeviceGet(gpu.index))
        self._context = checked(driver.cuDevicePrimaryCtxRetain(device))
        checked(driver.cuCtxSetCurrent(self._context))
        module = checked(driver.cuModuleLoadData(_code(gpu.arch)))
        self._kernel = checked(driver.cuModuleGetFunction(module, b"tilewise_land"))
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checked(driver.cuFuncSetAttribute(self._kernel, attribute, MOST_SHARED + 1024))
        self._encode = encoder()
        self._map = Aligned(128)
        self._out = self._allocate(MOST_SHARED)
        self._told = self._allocate(16)
        self._buffers: dict[tuple[int, int], int] = {}

    @classmethod
    def of(cls, wanted: Iterable[str], *, told: Progress) -> TensorCopies:
        """Return the device; one kernel loads boxes of every type."""
        return cls()

    @property
    def anywhere(self) -> int:
        """Return an address of device memory that is a multiple of 256."""
        return self._buffer(1, 0)

    def load(self, box: BoxLoad) -> Landed | int:
        """Load a box; return what landed, or the CUresult with which the driver refuses it."""
        if box.window > MOST_SHARED:
            raise LayoutError("TW602", f"a box of {box.bytes} bytes with its slack does not fit")
        each = box.bytes_each
        windows, missing = [], 0
        for digit, poison in [*((digit, 0) for digit in range(passes_of(each))), (0, 1)]:
            refused = self._encode_box(box, self._buffer(each, digit))
            if refused:
                return refused
            window, missing = self._launch(box, POISONS[poison], box.bytes + TOO_MANY * poison)
            windows.append(window)
        slots, others = decode(windows[:-1], windows[-1], each)
        return Landed(slots, box.bytes + TOO_MANY - missing if missing >= 0 else None, others)

    def _encode_box(self, box: BoxLoad, buffer: int) -> int:
        return encode(
            self._encode, self._map, buffer + MARGIN * box.bytes_each, box.tensor_map.numbers.values()
        )

    def _launch(self, box: BoxLoad, poison: int, expected: int) -> tuple[Array, int]:
        """Return the window after a copy, and the expected bytes that the barrier missed, or -1."""
        driver, rank = self._driver, len(box.box)
        corner = (ctypes.c_int * 5)(*box.corner[::-1])
        request = CopyRequest(rank, corner, box.start, box.window, expected, poison)
        out, told = ctypes.c_uint64(self._out), ctypes.c_uint64(self._told)
        pointers = (ctypes.c_void_p * 4)(
            self._map.address, *(ctypes.addressof(value) for value in (request, out, told))
        )
        checked(
            driver.cuLaunchKernel(
                self._kernel, 1, 1, 1, 256, 1, 1, box.window + 1024, 0, ctypes.addressof(pointers), 0
            )
        )
        checked(driver.cuCtxSynchronize())
        window = np.empty(box.window, np.uint8)
        words = np.empty(2, np.int64)
        checked(driver.cuMemcpyDtoH(window.ctypes.data, self._out, window.nbytes))
        checked(driver.cuMemcpyDtoH(words.ctypes.data, self._told, words.nbytes))
        return window, int(words[1])

    def _buffer(self, each: int, digit: int) -> int:
        """Return device memory in which element i has a digit of i + 1."""
        if (each, digit) not in self._buffers:
            numbers = np.arange(1, ELEMENTS[each] + 1, dtype=np.uint64) >> np.uint64(8 * each * digit)
            values = (numbers & np.uint64((1 << 8 * each) - 1)).astype(f"<u{each}")
            address = self._allocate(values.nbytes)
            checked(self._driver.cuMemcpyHtoD(address, values.ctypes.data, values.nbytes))
            self._buffers[each, digit] = address
        return self._buffers[each, digit]

    def _allocate(self, size: int) -> int:
        return int(checked(self._driver.cuMemAlloc(size)))


def _code(arch: str) -> bytes:
    """Return the kernel, compiled."""
    text = Path(__file__).with_name("tma.cu").read_text(encoding="utf-8")
    return cubin(Source("tilewise_land", text, arch))


def _against_the_rules(
    findings: Findings, case: object, result: int, broken: Sequence[str] | None, unnamed: str = ""
) -> bool:
    """Add a difference if driver and rules disagree on a refusal; return True if either refuses."""
    refused = broken is None or bool(broken)
    if bool(result) != refused:
        message = (
            f"the driver refuses it with {result}, and no rule of ours does"
            if result
            else f"the driver takes it, and we name {', '.join(broken or [unnamed])}"
        )
        findings.differs(case, message, result=int(result), rules=broken)
    return bool(result) or refused


# -- boxes -----------------------------------------------------------------------------------------


def landed(answer: Landed | int) -> Answered:
    """Return the recorded answer of a load, or of the driver's refusal."""
    if isinstance(answer, int):
        return {"slots": [], "result": answer}
    others = [hex(value) for value in answer.others]
    return {"slots": answer.slots, "result": 0, "counted": answer.counted, "others": others}


def _load(device: TensorCopies, some: list[BoxLoad]) -> Iterator[Answered]:
    for box in some:
        try:
            yield landed(device.load(box))
        except RuntimeError as error:
            raise RuntimeError(f"{box}: {error}") from error


def expected(box: BoxLoad) -> Array:
    """Return the slots of the window after the copy by the tables."""
    first = np.asarray(table(box.tensor_map.landing(box.start)).array).ravel() // box.bytes_each
    slots = np.full(box.window // box.bytes_each, UNTOUCHED, np.int64)
    places = place_of(box).ravel()
    slots[first] = np.where(places == FILL, OTHER if box.fill == "nan" else FILL, places)
    return slots


def judge_box(findings: Findings, box: BoxLoad, row: Mapping[str, Any], slots: Array) -> None:
    """Compare every slot of shared memory, and the count of bytes, with the tables."""
    inner, width = box.box[-1] * box.bytes_each, Mode.of(box.mode).width
    swizzled = "as wide as the swizzle" if inner == width else "narrower" if inner < width else "wider"
    if not _against_the_rules(findings, box, row["result"], driver_rules(box.tensor_map)):
        _judge_slots(findings, box, row, slots)
    findings.count(
        max(len(slots), 1),
        swizzle=box.mode,
        element=f"{box.bytes_each} B",
        rank=len(box.box),
        outcome="refused by the driver" if row["result"] else "loaded",
        reach="beyond the tensor" if (place_of(box) == FILL).any() else "inside",
        start=box.start,
        inner_box="without swizzle" if box.mode == "none" else swizzled,
        element_strides="other than 1" if set(box.element_strides) != {1} else "1",
    )


def _judge_slots(findings: Findings, box: BoxLoad, row: Mapping[str, Any], slots: Array) -> None:
    each, counted = box.bytes_each, row["counted"]
    fill = [hex(nan_fill(8 * each))] if box.fill == "nan" else []
    if counted != box.bytes:
        message = f"the barrier counted {counted} bytes, the box has {box.bytes}"
        findings.differs(box, message, counted=counted, expected=box.bytes)
    elif strange := [bits for bits in row["others"] if bits not in fill]:
        message = f"the value {strange[0]} is no element of the tensor"
        findings.differs(box, message, others=strange)
    else:
        findings.hold(box, expected(box), slots, lambda slot: {"byte": slot * each}, "holding", _slot_name)


def _slot_name(slot: int) -> str:
    if slot > FILL:
        return f"element {slot - 1} of the buffer"
    known = {UNTOUCHED: "what it held before", FILL: "zero", OTHER: "a NaN"}
    return known.get(int(slot), "a part of an element")


# -- rules -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MapArguments:
    """The arguments of a tensor map, fastest dimension first, strides in bytes, enumerators as numbers."""

    dtype: int = 1
    rank: int = 3
    address: int = 0
    """An offset to an address that is a multiple of 256."""
    dims: tuple[int, ...] = (256, 64, 32)
    strides: tuple[int, ...] = (512, 32768)
    box: tuple[int, ...] = (16, 8, 4)
    element_strides: tuple[int, ...] = (1, 1, 1)
    interleave: int = 0
    swizzle: int = 0
    l2: int = 0
    fill: int = 0

    @property
    def numbers(self) -> tuple[Any, ...]:
        """Return the arguments in the driver's order, without the address."""
        tuples = (self.dims, self.strides, self.box, self.element_strides)
        return (self.dtype, self.rank, *tuples, self.interleave, self.swizzle, self.l2, self.fill)

    @property
    def broken(self) -> list[str] | None:
        """Return the driver's rules that these arguments break; None if our tables do not name a number."""
        interleaves, promotions, fills = (
            {number: name for name, (_, number) in names.items()}
            for names in (INTERLEAVES, L2_PROMOTIONS, FILLS)
        )
        try:
            tensor_map = TensorMap(
                {row.value: row for row in ELEMENT_TYPES.values()}[self.dtype],
                self.dims[::-1],
                self.strides[::-1],
                self.box[::-1],
                self.element_strides[::-1],
                interleaves[self.interleave],
                {SWIZZLE_VALUES[name]: mode for name, mode in MODES.items()}[self.swizzle],
                promotions[self.l2],
                fills[self.fill],
            )
        except KeyError:
            return None
        return driver_rules(tensor_map, self.address)


def driver_rules(tensor_map: TensorMap, address: int = 0) -> list[str]:
    """Return the driver's rules that a tensor map breaks, by our tables."""
    rules = (violation.rule for violation in violations(tensor_map, address))
    return [rule for rule in rules if RULES[rule].kind == DRIVER]


def _ask_the_driver(cases: Sequence[MapArguments], told: Progress) -> list[Answered]:
    base, function, room = TensorCopies().anywhere, encoder(), Aligned(128)
    answers: list[Answered] = []
    for case in cases:
        answers.append({"results": encode(function, room, base + case.address, case.numbers)})
        told(len(answers), len(cases))
    return answers


def judge_rules(findings: Findings, case: MapArguments, row: Mapping[str, Any], results: Array) -> None:
    """Compare the driver with our rules: it refuses only broken rules and numbers without a name."""
    result, broken = int(results[0]), case.broken
    _against_the_rules(findings, case, result, broken, unnamed="no such value")
    rules = sorted(set(broken or ()))
    findings.count(
        1,
        outcome="refused" if result else "taken",
        rules_broken="a value without a name" if broken is None else len(rules),
        rule=rules,
    )


# -- faults ----------------------------------------------------------------------------------------


def copied(box: BoxLoad) -> int:
    """Return 0, or the CUresult of the driver's refusal; a fault may end the process."""
    answer = TensorCopies().load(box)
    return answer if isinstance(answer, int) else 0


def _copy_alone(cases: Sequence[BoxLoad], told: Progress) -> list[Answered]:
    return [{"results": result or refused} for result, refused in alone(copied, cases, told)]


def judge_fault(findings: Findings, box: BoxLoad, row: Mapping[str, Any], results: Array) -> None:
    """Compare a copy with our rules: it faults only if it breaks a rule of the hardware."""
    result = int(results[0])
    every = violations(box.tensor_map, shared=box.start, coordinates=box.corner[::-1])
    broken = [violation.rule for violation in every if RULES[violation.rule].kind == HARDWARE]
    if bool(result) != bool(broken):
        message = f"the device says {result_name(result)}, we say {', '.join(broken) or 'no rule'}"
        findings.differs(box, message, result=result, rules=broken)
    rule = ", ".join(broken) or "none"
    findings.count(1, outcome=result_name(result), rule=rule, swizzle=box.mode, element=box.dtype)


PARTS = (
    Part(
        "tma.boxes",
        "TMA: the byte of every element of a box, and the bytes that the barrier counts",
        ("slots",),
        partial(of_row, BoxLoad),
        partial(measured, device=TensorCopies, probe=attrgetter("dtype"), ask=_load),
        judge_box,
    ),
    Part(
        "tma.rules",
        "TMA: which tensor maps the driver takes, and the rule that the others break",
        ("results",),
        partial(of_row, MapArguments),
        _ask_the_driver,
        judge_rules,
    ),
    Part(
        "tma.faults",
        "TMA: which shared addresses and which coordinates a copy faults at",
        ("results",),
        partial(of_row, BoxLoad),
        _copy_alone,
        judge_fault,
    ),
)
"""Boxes, tensor maps, copies that may fault."""
