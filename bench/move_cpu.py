"""Moves on the CPU beside a copy of as many bytes, and beside what NumPy makes of the same permutation.

python bench/move_cpu.py [--only PART_OF_A_NAME ...]

Bytes are random, results are new arrays each time, and what is compared takes turns in one process.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from clock import side_by_side
from page import Answers, Row, Section, spelled_seconds
from tilewise import Layout, S, Swizzle
from tilewise.moves import plan
from tilewise.moves.arrays.run import Bound
from tilewise.moves.named import tile_for_wgmma

BYTES = 64 << 20
REPETITIONS = 7
ENOUGH, SLOW, FASTER = 0.95, 0.1, 3.0
"""The aim: so much of `np.ascontiguousarray`'s speed; where that is below a part of a copy's, a multiple."""

KINDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
Work = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A permutation of a tensor that lies row by row."""

    what: str
    unit: int
    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def layouts(self) -> tuple[Layout, Layout]:
        """Return the tensor as it lies, and as it shall lie."""
        after = [self.shape[axis] for axis in self.order]
        steps = {axis: prod(after[place + 1 :]) for place, axis in enumerate(self.order)}
        return _rows(self.shape), S[self.shape : tuple(steps[axis] for axis in range(len(self.shape)))]


def _rows(shape: tuple[int, ...]) -> Layout:
    return S[shape : tuple(prod(shape[place + 1 :]) for place in range(len(shape)))]


def _transpose(unit: int, rows: int, columns: int) -> Case:
    return Case(f"transpose {rows} x {columns}", unit, (rows, columns), (1, 0))


CASES = [
    _transpose(1, 8192, 8192),
    _transpose(2, 4096, 8192),
    _transpose(4, 4096, 4096),
    _transpose(8, 2048, 4096),
    _transpose(16, 2048, 2048),
    _transpose(1, 8191, 8191),
    _transpose(2, 5791, 5801),
    _transpose(4, 4099, 4093),
    _transpose(8, 2897, 2903),
    _transpose(16, 2053, 2039),
    _transpose(1, 8, 1 << 23),
    _transpose(1, 1 << 23, 8),
    _transpose(2, 3, 11_184_811),
    _transpose(2, 11_184_811, 3),
    _transpose(4, 16, 1 << 20),
    _transpose(4, 1 << 20, 16),
    _transpose(16, 4, 1 << 20),
    _transpose(16, 1 << 20, 4),
    Case("NCHW to NHWC, 3 x 448 x 467", 1, (107, 3, 448, 467), (0, 2, 3, 1)),
    Case("NHWC to NCHW, 3 x 448 x 467", 1, (107, 448, 467, 3), (0, 3, 1, 2)),
    Case("NCHW to NHWC, 64 x 64 x 64", 4, (64, 64, 64, 64), (0, 2, 3, 1)),
    Case("NHWC to NCHW, 64 x 64 x 64", 4, (64, 64, 64, 64), (0, 3, 1, 2)),
    Case("pixels of 3 bytes turned", 1, (4733, 4727, 3), (1, 0, 2)),
    Case("rows of 512 bytes exchanged", 4, (128, 1024, 128), (1, 0, 2)),
    Case("rank 5, the last axis kept", 4, (32, 32, 32, 32, 16), (0, 3, 2, 1, 4)),
    Case("rank 5", 4, (32, 32, 32, 32, 16), (4, 2, 0, 3, 1)),
    Case("rank 6, all axes turned", 2, (18,) * 6, (5, 4, 3, 2, 1, 0)),
    Case("rank 6", 2, (18,) * 6, (3, 0, 5, 1, 4, 2)),
    Case("rank 6, pairs of axes", 4, (16,) * 6, (1, 0, 3, 2, 5, 4)),
    Case("rank 6, prime extents", 4, (7, 11, 13, 17, 19, 47), (2, 5, 0, 3, 1, 4)),
]


def sections(_: dict[str, ModuleType]) -> list[Section | Answers]:
    """Permutations, with all three figures; and moves that NumPy has no one call for."""
    return [_permutations(CASES), _others(_moves())]


def _permutations(cases: list[Case]) -> Answers:
    lines, rows = [], []
    for case in cases:
        seconds = side_by_side(_works(case), REPETITIONS)
        copied, theirs, ours = (seconds[name] for name in ("copyto", "ascontiguousarray", "move"))
        lines.append(
            (
                f"{case.what}, {8 * case.unit} bits",
                *map(spelled_seconds, (copied, theirs, ours)),
                f"{copied / theirs:.2f}",
                f"{copied / ours:.2f}",
                f"{theirs / ours:.2f}",
            )
        )
        aim = 1 / (FASTER if copied < SLOW * theirs else ENOUGH)
        rows.append(Row(f"{case.what}, {8 * case.unit} bits", ours, "`np.ascontiguousarray`", theirs, aim))
    return Answers(
        "Permutations of 64 MB on the CPU",
        "`tilewise.move` of NumPy arrays beside `np.ascontiguousarray` of the permuted view, both into a new "
        "array, and beside `np.copyto` of as many bytes into an array that is there. The next two columns "
        "are parts of that copy's speed, the last one is tilewise's over NumPy's. "
        f"Aimed at: {ENOUGH} of NumPy's speed, and {FASTER:.0f} times it wherever NumPy has less than {SLOW} "
        "of the copy's.",
        (
            "what",
            "`copyto`",
            "`ascontiguousarray`",
            "tilewise",
            "NumPy of copy",
            "tilewise of copy",
            "over NumPy",
        ),
        lines,
        tuple(rows),
    )


def _works(case: Case) -> dict[str, Work]:
    array = _random(prod(case.shape), case.unit)
    view, there = array.reshape(case.shape).transpose(case.order), np.empty_like(array)
    moved = Bound(plan(*case.layouts, f"b{8 * case.unit}"))
    if moved(array).tobytes() != np.ascontiguousarray(view).tobytes():
        raise AssertionError(f"{case} is moved elsewhere than by NumPy")
    return {
        "copyto": lambda: np.copyto(there, array),
        "ascontiguousarray": lambda: np.ascontiguousarray(view),
        "move": lambda: moved(array),
    }


def _random(elements: int, unit: int) -> np.ndarray:
    held = np.random.default_rng(0).bytes(elements * unit)
    return np.frombuffer(held, KINDS[unit])


# -- moves that are no permutations ----------------------------------------------------------------


def _others(moves: dict[str, tuple[Work, Work]]) -> Section:
    rows = [Row(what, *_taken(work, copied), 1 / SLOW) for what, (work, copied) in moves.items()]
    return Section(
        "Other moves on the CPU",
        "Beside `np.copyto` of the source into an array that is there; the result is new.",
        rows,
    )


def _taken(work: Work, copied: Work) -> tuple[float, str, float]:
    seconds = side_by_side({"move": work, "copyto": copied}, REPETITIONS)
    return seconds["move"], "`np.copyto`", seconds["copyto"]


def _moves() -> dict[str, tuple[Work, Work]]:
    side = 8192
    return {
        "scales packed by 128 x 4, ragged: 65,501 x 1021, u8": _move(
            _rows((65_501, 1021)), _packed(65_501, 1021), 1, (65_501, 1021)
        ),
        "scales packed by 128 x 4: 65,536 x 1024, u8": _move(_rows((65_536, 1024)), _packed(65_536, 1024), 1),
        "padded to 8192 x 8192: 8100 x 8001, u8": _move(
            _rows((8100, 8001)), _rows((side, side)), 1, (8100, 8001)
        ),
        "turned and padded: 8100 x 8001, u8": _move(
            _rows((8100, 8001)), S[(side, side) : (1, side)], 1, (8100, 8001)
        ),
        "tile_for_wgmma: 4096 x 8192, bf16": _move(
            _rows((side // 2, side)), tile_for_wgmma(side // 2, side, "bf16").target, 2
        ),
        "rows into atoms of Swizzle<3,3,3>: 4096 x 8192, b16": _move(
            _rows((side // 2, side)), Swizzle(3, 3, 3) @ _atoms(side // 2, side), 2
        ),
        "turned out of atoms of Swizzle<3,3,3>: 4096 x 8192, b16": _move(
            Swizzle(3, 3, 3) @ _atoms(side // 2, side), S[(side // 2, side) : (1, side // 2)], 2
        ),
        "two swizzles, u8": _move(
            Swizzle(3, 4, 3) @ _rows((side, side)), Swizzle(2, 4, 3) @ S[(side, side) : (1, side)], 1
        ),
    }


def _atoms(rows: int, columns: int) -> Layout:
    """Tiles of 8 rows of 64, one after another."""
    return S[((rows // 8, 8), (columns // 64, 64)) : ((8 * columns, 64), (512, 1))]


def _packed(rows: int, columns: int) -> Layout:
    """Scale factors in blocks of 128 x 4."""
    down, across = -(-rows // 128), -(-columns // 4)
    return S[((down, 4, 32), (across, 4)) : ((512 * across, 4, 16), (512, 1))]


def _move(
    source: Layout, target: Layout, unit: int, shape: tuple[int, int] | None = None
) -> tuple[Work, Work]:
    moved = Bound(plan(source, target, f"b{8 * unit}", shape=shape))
    array = _random(moved.plan.pair.source.size, unit)
    there = np.empty_like(array)
    return lambda: moved(array), lambda: np.copyto(there, array)


def _asked(parts: list[str]) -> list[Section | Answers]:
    """Return the sections of what has one of these parts in its name; of all, where none is given."""
    if not parts:
        return sections({})
    cases = [case for case in CASES if any(part in case.what for part in parts)]
    moves = {what: work for what, work in _moves().items() if any(part in what for part in parts)}
    return [_permutations(cases), _others(moves)]


if __name__ == "__main__":
    parser = ArgumentParser(description="moves on the CPU beside NumPy's")
    parser.add_argument("--only", nargs="+", default=[], metavar="PART_OF_A_NAME")
    for section in _asked(parser.parse_args().only):
        print(section.markdown())
        for row in section.rows:
            if row.missed:
                print(f"short of the aim: {row.what}: {row.ratio:.2f}, aimed at {row.aim:.2f}")
