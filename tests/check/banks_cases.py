"""Requests of a warp for the tests of banks, and the count as the plainest loop."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tilewise.hardware.memory.banks import OPERATIONS

PHASES = {1: 1, 2: 1, 4: 1, 8: 2, 16: 4}
"""Phases of 32 lanes, by the bytes of a lane."""


def naive_wavefronts(name: str, bytes: int, addresses: Sequence[int | None]) -> int:
    """One loop a phase: the most words that one bank has to give."""
    lanes = [*addresses, *[None] * (32 - len(addresses))]
    phases = PHASES[bytes]
    in_turn = name in ("atom", "cp.async")
    if name == "ld" and phases > 1 and any(naive_paired(lanes, distance) for distance in (1, 2)):
        phases //= 2
    total = 0
    for phase in range(phases):
        asked = []
        for lane in range(32):
            address = lanes[lane]
            if lane * phases // 32 == phase and address is not None:
                asked += sorted({byte // 4 for byte in range(address, address + bytes)})
        words = asked if in_turn else set(asked)
        total += max(sum(1 for word in words if word % 32 == bank) for bank in range(32))
    return total


def naive_turns(bytes: int, targets: Sequence[int | None], sources: Sequence[int | None]) -> int:
    """The wavefronts of a copy: each one takes every lane for which no lane before it waits.

    A lane waits while one before it, of its phase, has one of its banks on either side.
    """
    total = 0
    for first in range(0, 32, 128 // bytes):
        own = range(first, min(first + 128 // bytes, len(targets)))
        waiting = [lane for lane in own if targets[lane] is not None]
        while waiting:
            total += 1
            held: set[tuple[int, int]] = set()
            left = []
            for lane in waiting:
                ends = (targets[lane], sources[lane])
                banks = {
                    (side, at // 4 % 32 + word)
                    for side, at in enumerate(ends)
                    if at is not None
                    for word in range(bytes // 4)
                }
                if banks & held:
                    left.append(lane)
                held |= banks
            waiting = left
    return total


def naive_paired(lanes: Sequence[int | None], distance: int) -> bool:
    """Return whether each pair of active partners asks for one address."""
    pairs = [(lanes[lane], lanes[lane ^ distance]) for lane in range(32)]
    return all(one == other for one, other in pairs if one is not None and other is not None)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, int, list[int | None]]:
    """An operation, its width, the addresses of its lanes: equal, near, far, paired and inactive ones."""
    name = draw(st.sampled_from((*OPERATIONS, "ld", "ld")))
    bytes = draw(st.sampled_from(OPERATIONS[name].widths))
    reach = draw(st.sampled_from((1, 2, 8, 40, 300)))
    vector = st.integers(0, reach).map(lambda at: at * bytes)
    lanes = draw(st.integers(1, 32))
    addresses: list[int | None] = [*draw(st.lists(vector, min_size=lanes, max_size=lanes))]
    distance = draw(st.sampled_from((0, 0, 1, 2, 4)))
    for lane in range(lanes):
        if lane & distance:
            addresses[lane] = addresses[lane ^ distance]
    for lane in draw(st.one_of(st.just(()), st.lists(st.integers(0, lanes - 1)))):
        addresses[lane] = None
    return name, bytes, addresses
