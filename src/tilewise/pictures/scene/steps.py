"""An access as steps: one a wavefront, with the lanes that it serves and the elements that they get.

The accesses of the tensor core and of TMA have modules of their own: `descriptors` and `boxes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewise.check.access import Access
from tilewise.check.banks import Conflicts, Phase, conflicts
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.pictures.scene.boxes import ACCESS as BOXES
from tilewise.pictures.scene.boxes import boxes_asked
from tilewise.pictures.scene.descriptors import ACCESS as DESCRIPTORS
from tilewise.pictures.scene.descriptors import descriptors_asked
from tilewise.pictures.scene.logical import MOST_CELLS
from tilewise.pictures.scene.model import Asked, Note, Step

WORD_BITS = 32


def asked_of(layout: Layout, access: Layout | str, dtype: DType | None, base: int = 0) -> Asked:
    """Return the steps of an access, and in a sentence what it needs; of lanes, of wgmma, tcgen05 or TMA.

        requires  the text of an access, a layout of (lane, element), descriptor.A and its like, or boxes
        refused   TW401 no type; TW301 a tile of more than 1,048,576 elements; what `conflicts` refuses

    >>> from tilewise import S
    >>> found = asked_of(S[(8, 64)], "ldmatrix.x1", DType.of("bf16"))
    >>> found.notes[0].text
    'ldmatrix.x1: 64 wavefronts, ideal 8, 8 ways'
    >>> found.steps[1].title, found.steps[1].elements[:2], found.steps[1].lanes[:2]
    ('request 0, phase 0, wavefront 2 of 8', (64, 65), (1, 1))
    >>> asked_of(S[(8, 64)], "boxes", DType.of("bf16")).notes[0].text
    'boxes: 64 x 8 elements, SWIZZLE_NONE, 1 box of 1024 bytes'
    """
    layout = by_coordinates(layout)
    if layout.size > MOST_CELLS:
        raise LayoutError(
            "TW301",
            f"an access of {layout.size} elements, and those of {MOST_CELLS} are drawn at most",
            hint="tilewise banks counts without a picture",
        )
    if dtype is None:
        raise LayoutError("TW401", "the type of an element is not given", hint='such as dtype="bf16"')
    name = access.strip() if isinstance(access, str) else ""
    if name.startswith(DESCRIPTORS):
        return descriptors_asked(layout, name, dtype, base)
    if name == BOXES:
        return boxes_asked(layout, dtype, base)
    return _wavefronts(layout, access, dtype, base)


def _wavefronts(layout: Layout, access: Layout | str, dtype: DType, base: int) -> Asked:
    """Return one step a wavefront, with what all of them cost, in Nsight Compute's words."""
    found = conflicts(layout, access, dtype=dtype, base=base)
    own = found.access
    notes = [Note("no" if found.ways > 1 else "yes", str(found))]
    asked = Asked.of(own.name, _steps(found), found.wavefronts, "wavefronts", notes)
    hints = [own.idle_said] if own.idle else []
    if own.operation.guessed(own.bytes):
        hints.append(f"of {own.operation.name} no document says {own.operation.unknown}")
    if own.operation.least:
        hints.append(f"{own.operation.name} takes at least so many: {own.operation.least}")
    return replace(asked, notes=(*asked.notes, *(Note("hint", said) for said in hints)))


def _steps(found: Conflicts) -> Iterator[Step]:
    access = found.access
    for number in range(access.requests):
        addresses, first = found.lanes.request(number), number * access.lanes * access.elements
        for position, phase in enumerate(found.request(number).phases):
            for wavefront, asked in enumerate(_wavefronts_of(access, phase, addresses, first), 1):
                yield Step(
                    title=f"request {number}, phase {position}, wavefront {wavefront} of {phase.wavefronts}",
                    elements=tuple(access.index.points(at)[0][0] for _, at in asked),
                    lanes=tuple(lane for lane, _ in asked),
                    cost=phase.wavefronts,
                    note=_why(phase),
                )


def _wavefronts_of(
    access: Access, phase: Phase, addresses: Sequence[int | None], first: int
) -> list[list[tuple[int, int]]]:
    """Return for each wavefront who asks for what is whole after it: lanes, and positions in the access."""
    served = {
        (lane, word): wavefront
        for bank in phase.banks
        for wavefront, (word, lanes) in enumerate(phase.served(bank))
        for lane in lanes
    }
    wavefronts: list[list[tuple[int, int]]] = [[] for _ in range(phase.wavefronts)]
    for lane in phase.lanes:
        address = addresses[lane]
        assert address is not None
        for i in range(access.elements):
            begin = 8 * address + i * access.dtype.bits
            words = range(begin // WORD_BITS, (begin + access.dtype.bits - 1) // WORD_BITS + 1)
            wavefronts[max(served[lane, word] for word in words)].append(
                (lane, first + lane * access.elements + i)
            )
    return wavefronts


def _why(phase: Phase) -> str:
    lanes = phase.lanes
    if len(lanes) != lanes[-1] - lanes[0] + 1:
        together = "lanes " + ", ".join(map(str, lanes))
    else:
        together = f"lanes {lanes[0]}..{lanes[-1]}" if len(lanes) > 1 else f"lane {lanes[0]}"
    if phase.wavefronts < 2:
        return f"{together} go together, and no bank gives two words"
    does = f"serves {phase.wavefronts} lanes in turn" if phase.in_turn else f"gives {phase.wavefronts} words"
    return f"{together} go together, and bank {phase.busiest} {does}"
