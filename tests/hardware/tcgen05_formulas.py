"""The formulas of the PTX manual for tcgen05.ld, .st and .cp, plainly: tests are held to them."""

WORDS = {
    "32x32b": lambda t, r: (t, r),
    "16x64b": lambda t, r: (t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2),
    "16x128b": lambda t, r: (t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4),
    "16x256b": lambda t, r: (t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2),
}
"""(lane, column) of register r of lane t, counted from the address."""

REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
"""Registers of a lane for one repeat."""

MOST = {"32x32b": 128, "16x64b": 128, "16x128b": 64, "16x256b": 32, "16x32bx2": 128}
"""The most repeats."""


def halves(form, t, r, packed=False, split=None):
    """Where register r of lane t has its bits from, lowest first: ((lane, column, its low bits), ...).

    One word; of packed registers the low halves of two columns. The second half-warp of 16x32bx2 is `split`
    columns further on, whatever is packed.
    """
    lane, column = (t % 16, r) if form == "16x32bx2" else WORDS[form](t, r)
    further = split * (t // 16) if form == "16x32bx2" else 0
    if packed:
        return tuple((lane, 2 * column + h + further, 16) for h in (0, 1))
    return ((lane, column + further, 32),)


ROWS = {
    "128x256b": (128, 32, lambda i: {i}),
    "4x256b": (4, 32, lambda i: {32 * i}),
    "128x128b": (128, 16, lambda i: {i}),
    "64x128b.warpx2::02_13": (64, 16, lambda i: {i, i + 64}),
    "64x128b.warpx2::01_23": (64, 16, lambda i: {i + i // 32 * 32, i + i // 32 * 32 + 32}),
    "32x128b.warpx4": (32, 16, lambda i: {i, i + 32, i + 64, i + 96}),
}
"""{form with its multicast: (rows of the source, bytes of a row, the lanes of row i)}."""
