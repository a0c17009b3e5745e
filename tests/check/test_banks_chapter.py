"""The chapter's claims about swizzles and banks, and where its rules end."""

from __future__ import annotations

import pytest
from tests.check.banks_cases import naive_wavefronts

from tilewise import S, Swizzle
from tilewise.check.banks import Conflicts, conflicts
from tilewise.core.layout import Layout

MODES = {16: None, 32: "SWIZZLE_32B", 64: "SWIZZLE_64B", 128: "SWIZZLE_128B"}
"""{bytes of a row of the atom: the mode}; 16 is the arrangement without a swizzle."""

PITCHES = (16, 32, 64, 128, 256, 512, 1024)


def swizzled(width: int, dtype: str, layout: Layout) -> Layout:
    """The layout in a mode."""
    mode = MODES[width]
    return layout if mode is None else Swizzle.named(mode, dtype) @ layout


def ways(tile: Layout, access: str, dtype: str = "f16") -> int:
    """Wavefronts of the worst phase, held to the plain loop over every request."""
    found = conflicts(tile, access, dtype=dtype)
    assert found.wavefronts == sum(plain(found))
    return found.ways


def plain(found: Conflicts) -> list[int]:
    """The wavefronts of every request by the plain loop."""
    access = found.access
    return [naive_wavefronts(access.operation.name, access.bytes, row.tolist()) for row in found.lanes.table]


def naive_rows(width: int, pitch: int, chunk: int) -> list[int]:
    """The addresses of 16 bytes of eight rows that are `pitch` bytes apart, swizzled by hand."""
    found = []
    for row in range(8):
        address = row * pitch + 16 * chunk
        line = address // 128
        found.append(address ^ (line % (width // 16)) * 16)
    return found


# -- the 8 x 8 toy ---------------------------------------------------------------------------------


def test_a_column_of_the_toy_takes_8_ways_and_1_with_the_xor() -> None:
    """Eight cells across are all banks, so one cell is 16 bytes."""
    toy = S[(8, 8) : (8, 1)]
    assert [ways(toy, access, "b128") for access in ("row", "col")] == [1, 8]
    xored = Swizzle(3, 0, 3) @ toy
    assert [ways(xored, access, "b128") for access in ("row", "col")] == [1, 1]


# -- SWIZZLE_128B ----------------------------------------------------------------------------------


def test_swizzle_128b_is_free_for_8_rows_and_for_8_columns_of_fp16() -> None:
    atom = swizzled(128, "f16", S[(8, 64) : (64, 1)])
    found = conflicts(atom, "ldmatrix.x1", dtype="f16")
    assert found.requests == 8
    assert plain(found) == [1] * 8
    assert ways(atom, "row:16B") == 1
    assert ways(S[(8, 64) : (64, 1)], "ldmatrix.x1") == 8


@pytest.mark.parametrize(("dtype", "bytes"), [("f32", 4), ("f16", 2), ("e4m3", 1)])
def test_the_claim_is_not_about_columns_of_single_elements(dtype: str, bytes: int) -> None:
    """32 lanes down one column share the eight places of the row's chunk."""
    tile = S[(32, 128 // bytes) : (128 // bytes, 1)]
    assert ways(tile, f"col:{bytes}B", dtype) == 32
    assert ways(swizzled(128, dtype, tile), f"col:{bytes}B", dtype) == 4


def test_a_finer_swizzle_frees_columns_of_words() -> None:
    assert ways(Swizzle(5, 0, 5) @ S[(32, 32) : (32, 1)], "col:4B", "f32") == 1


# -- the pitch table -------------------------------------------------------------------------------

TABLE = {32: (1, 1, 2, 4, 8, 8), 64: (1, 1, 1, 2, 4, 8), 128: (1, 1, 1, 1, 2, 4)}
"""Ways of 8 rows x 16 bytes at pitches of 16 to 512 bytes."""


@pytest.mark.parametrize("width", TABLE)
def test_the_pitch_table(width: int) -> None:
    found = [ways(swizzled(width, "f16", S[(8, p // 2) : (p // 2, 1)]), "ldmatrix.x1") for p in PITCHES[:6]]
    assert tuple(found) == TABLE[width]


@pytest.mark.parametrize("width", MODES)
@pytest.mark.parametrize("pitch", PITCHES)
def test_ways_are_the_pitch_over_the_width_of_the_mode(width: int, pitch: int) -> None:
    expected = min(8, max(1, pitch // width))
    tile = swizzled(width, "f16", S[(8, pitch // 2) : (pitch // 2, 1)])
    assert ways(tile, "ldmatrix.x1") == expected
    by_hand = [naive_wavefronts("ldmatrix", 16, naive_rows(width, pitch, c)) for c in range(pitch // 16)]
    assert max(by_hand) == expected


# -- the largest atom that the row fills -----------------------------------------------------------


def in_atoms(row: int, width: int) -> Layout:
    """16 rows of `row` bytes of f16, cut into atoms of 8 x `width` bytes."""
    shape, steps = (2, 8, row // width, width // 2), (4 * row, width // 2, 4 * width, 1)
    return swizzled(width, "f16", S[shape:steps].group(16, row // 2))


CUTS = [(row, width) for row in (16, 32, 64, 128, 256, 512) for width in MODES if width <= row]


@pytest.mark.parametrize(("row", "width"), CUTS)
def test_rows_are_free_in_the_largest_atom_that_they_fill_and_in_no_other(row: int, width: int) -> None:
    tile = in_atoms(row, width)
    assert ways(tile, "row:16B") == min(row, 128) // width
    assert ways(tile, "ldmatrix.x1") == 1


@pytest.mark.parametrize("chunks", range(1, 33))
def test_a_pitch_of_an_odd_number_of_chunks_needs_no_swizzle(chunks: int) -> None:
    found = ways(S[(8, 8) : (8 * chunks, 1)], "ldmatrix.x1")
    expected = min(8, chunks & -chunks)
    assert found == expected
    assert (found == 1) == (chunks % 2 == 1)


@pytest.mark.parametrize(("row", "fits"), [(96, 32), (192, 64), (160, 32), (384, 128)])
def test_a_row_that_is_no_multiple_of_the_atom_takes_the_largest_that_divides_it(row: int, fits: int) -> None:
    """In those atoms matrices are free, and so is no other atom along the row."""
    divides = [width for width in MODES if row % width == 0]
    assert max(divides) == fits
    along = {width: conflicts(in_atoms(row, width), "row:16B", dtype="f16").wavefronts for width in divides}
    assert min(along, key=lambda width: (along[width], width)) == fits
    assert ways(in_atoms(row, fits), "ldmatrix.x1") == 1


def test_a_wide_row_that_is_not_cut_into_atoms_is_not_free() -> None:
    assert ways(swizzled(128, "f16", S[(8, 128) : (128, 1)]), "ldmatrix.x1") == 2
    assert ways(in_atoms(256, 128), "ldmatrix.x1") == 1
