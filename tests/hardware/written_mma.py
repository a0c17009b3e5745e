"""mma.sync's fragments as the PTX manual (9.2, sections 9.7.14.5.1 to 13) writes them, formula by formula.

Every function is one formula: (row, column) of an element i that a lane holds, group its lane divided by 4
and t the rest. B's row is along K and its column along N, as the manual has it. `WRITTEN` says which shapes
and types each is written for.
"""

from collections.abc import Callable

Formula = Callable[[int, int, int], tuple[int, int]]

# -- 9.7.14.5.2 to 5: m8n8k4 of f64, m8n8k16, m8n8k32, m8n8k128 -------------------------------------


def a_884_f64(group, t, i):
    return group, t


def b_884_f64(group, t, i):
    return t, group


def c_88(group, t, i):
    return group, t * 2 + (i & 1)


def a_8816(group, t, i):
    return group, t * 4 + i


def b_8816(group, t, i):
    return t * 4 + i, group


def a_8832(group, t, i):
    return group, t * 8 + i


def b_8832(group, t, i):
    return t * 8 + i, group


def a_88128(group, t, i):
    return group, t * 32 + i


def b_88128(group, t, i):
    return t * 32 + i, group


# -- 9.7.14.5.6 to 13: m16n8 ------------------------------------------------------------------------


def c_168(group, t, i):
    return group if i < 2 else group + 8, t * 2 + (i & 1)


def a_1684(group, t, i):
    return {0: group, 1: group + 8}[i], t


def b_1684(group, t, i):
    return t, group


def a_1688_f16(group, t, i):
    return {0: group, 1: group, 2: group + 8, 3: group + 8}[i], t * 2 + (i & 1)


def b_1688_f16(group, t, i):
    return t * 2 + i, group


def a_1688_wide(group, t, i):
    return (group if i in (0, 2) else group + 8), (t if i in (0, 1) else t + 4)


def b_1688_wide(group, t, i):
    return {0: t, 1: t + 4}[i], group


def a_16816_f16(group, t, i):
    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
    return row, t * 2 + (i & 1) if i < 4 else t * 2 + (i & 1) + 8


def b_16816_f16(group, t, i):
    return t * 2 + (i & 1) if i < 2 else t * 2 + (i & 1) + 8, group


def a_16816_f64(group, t, i):
    return (group, i * 2 + t) if i % 2 == 0 else (group + 8, i * 2 - 2 + t)


def b_16816_f64(group, t, i):
    return t + i * 4, group


def a_16816_i8(group, t, i):
    return group if i < 4 else group + 8, t * 4 + (i & 3)


def b_16816_i8(group, t, i):
    return t * 4 + i, group


def a_16832_i4(group, t, i):
    return group if i < 8 else group + 8, t * 8 + (i & 7)


def b_16832_i4(group, t, i):
    return t * 8 + (i & 7), group


def a_16832_i8(group, t, i):
    row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
    return row, t * 4 + (i & 3) if i < 8 else t * 4 + (i & 3) + 16


def b_16832_i8(group, t, i):
    return t * 4 + (i & 3) if i < 4 else t * 4 + (i & 3) + 16, group


def a_16864(group, t, i):
    row = group if 0 <= i < 8 or 16 <= i < 24 else group + 8
    return row, t * 8 + (i & 7) if i < 16 else t * 8 + (i & 7) + 32


def b_16864(group, t, i):
    return t * 8 + (i & 7) if i < 8 else t * 8 + (i & 7) + 32, group


def a_168128(group, t, i):
    return group if i < 32 else group + 8, t * 32 + (i & 31)


def b_168128(group, t, i):
    return t * 32 + i, group


def a_168256_as_printed(group, t, i):
    """The column is misprinted: i of 32 to 63 leaves the lane's 32 columns, and is another lane's."""
    row = group if 0 <= i < 32 or 64 <= i < 96 else group + 8
    return row, t * 32 + i if i < 64 else t * 32 + (i & 31) + 128


def a_168256(group, t, i):
    row, _ = a_168256_as_printed(group, t, i)
    return row, t * 32 + (i & 31) if i < 64 else t * 32 + (i & 31) + 128


def b_168256(group, t, i):
    return t * 32 + (i & 31) if i < 32 else t * 32 + (i & 31) + 128, group


# -- 9.7.14.5.1: m8n8k4 of f16, by the lane of the warp ---------------------------------------------


def volta_a_row(lane, i):
    return (lane % 4 if lane < 16 else lane % 4 + 4), i


def volta_a_col(lane, i):
    return (i % 4 if lane < 16 else i % 4 + 4), lane % 4


def volta_b_row(lane, i):
    return lane % 4, (i if lane < 16 else i + 4)


def volta_b_col(lane, i):
    return i, (lane % 4 if lane < 16 else lane % 4 + 4)


def volta_c_f16(lane, i):
    return (lane % 4 if lane < 16 else lane % 4 + 4), i


def volta_c_f32(lane, i):
    x = (lane & 0b1) + (i & 0b10)
    return (x if lane < 16 else x + 4), (i & 0b100) + (lane & 0b10) + (i & 0b1)


def volta_lanes(product):
    """The lanes of the low and of the high group of a product."""
    return [*range(4 * product, 4 * product + 4), *range(4 * product + 16, 4 * product + 20)]


# -- which is written for what ----------------------------------------------------------------------

I8, I4, F8 = ("s8", "u8"), ("s4", "u4"), ("e4m3", "e5m2")
WRITTEN: dict[
    str, list[tuple[tuple[str, ...], int, Formula, int, Formula, int, Formula, tuple[str, ...]]]
] = {
    "m8n8k4": [(("f64",), 1, a_884_f64, 1, b_884_f64, 2, c_88, ("f64",))],
    "m8n8k16": [(I8, 4, a_8816, 4, b_8816, 2, c_88, ("s32",))],
    "m8n8k32": [(I4, 8, a_8832, 8, b_8832, 2, c_88, ("s32",))],
    "m8n8k128": [(("b1",), 32, a_88128, 32, b_88128, 2, c_88, ("s32",))],
    "m16n8k4": [
        (("tf32",), 2, a_1684, 1, b_1684, 4, c_168, ("f32",)),
        (("f64",), 2, a_1684, 1, b_1684, 4, c_168, ("f64",)),
    ],
    "m16n8k8": [
        (("f16",), 4, a_1688_f16, 2, b_1688_f16, 4, c_168, ("f16", "f32")),
        (("bf16",), 4, a_1688_f16, 2, b_1688_f16, 4, c_168, ("f32",)),
        (("tf32",), 4, a_1688_wide, 2, b_1688_wide, 4, c_168, ("f32",)),
        (("f64",), 4, a_1688_wide, 2, b_1688_wide, 4, c_168, ("f64",)),
    ],
    "m16n8k16": [
        (("f16",), 8, a_16816_f16, 4, b_16816_f16, 4, c_168, ("f16", "f32")),
        (("bf16",), 8, a_16816_f16, 4, b_16816_f16, 4, c_168, ("f32",)),
        (("f64",), 8, a_16816_f64, 4, b_16816_f64, 4, c_168, ("f64",)),
        (I8, 8, a_16816_i8, 4, b_16816_i8, 4, c_168, ("s32",)),
        (F8, 8, a_16816_i8, 4, b_16816_i8, 4, c_168, ("f16", "f32")),
    ],
    "m16n8k32": [
        (I4, 16, a_16832_i4, 8, b_16832_i4, 4, c_168, ("s32",)),
        (I8, 16, a_16832_i8, 8, b_16832_i8, 4, c_168, ("s32",)),
        (F8, 16, a_16832_i8, 8, b_16832_i8, 4, c_168, ("f16", "f32")),
    ],
    "m16n8k64": [(I4, 32, a_16864, 16, b_16864, 4, c_168, ("s32",))],
    "m16n8k128": [(("b1",), 64, a_168128, 32, b_168128, 4, c_168, ("s32",))],
    "m16n8k256": [(("b1",), 128, a_168256, 64, b_168256, 4, c_168, ("s32",))],
}
"""{shape: [(types of A and B, elements of A, A's, of B, B's, of C, C's, types of C and D)]}."""
