"""An H200's answers against the manual's arithmetic, written out here: no layout, no table of tilewise.

`test_truth` holds the catalogue to the record; this holds the record to plain numbers, so that a fault
which measuring and comparing share is seen.
"""

import numpy as np
import pytest
from tests.hardware.test_truth import TRUTH

from tilewise.gpu.verify.parts import PARTS
from tilewise.gpu.verify.run import recorded_truth

WIDTHS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
BITS = {"f64": 64, "f32": 32, "s32": 32, "f16": 16, "bf16": 16, "tf32": 32, "b1": 1}
BITS |= dict.fromkeys(("e4m3", "e5m2", "s8", "u8"), 8) | dict.fromkeys(("s4", "u4"), 4)
DESCRIPTORS = [name for name in PARTS if name.startswith("descriptors.") and name != "descriptors.end"]


def recorded(name):
    truth = recorded_truth(PARTS[name], TRUTH)
    (array,) = truth.arrays
    return list(zip(truth.cases, truth.parted(array), strict=True))


def pairs(name):
    """(case, the places of D, the places of B), N for each place of A."""
    truth = recorded_truth(PARTS[name], TRUTH)
    return list(zip(truth.cases, truth.parted("d"), truth.parted("b"), strict=True))


def swizzled(address, width, base_offset=0):
    """Bits 9-7 of the address, less the base offset, into bits 6-4, as many as the width has."""
    return address ^ ((address >> 7) - base_offset & width // 16 - 1) << 4


# -- registers -------------------------------------------------------------------------------------


def test_the_owners_of_d():
    for case, owned in recorded("fragments.d"):
        thread, e = np.divmod(np.arange(64 * case["n"]), case["n"] // 2)
        warp, group, t = thread // 32, thread % 32 // 4, thread % 4
        row = 16 * warp + 8 * (e // 2 % 2) + group
        column = 8 * (e // 4) + 2 * t + e % 2
        assert np.array_equal(owned, row * case["n"] + column), case


def test_the_owners_of_a():
    for case, owned in recorded("fragments.a"):
        bits = BITS[case["a"]]
        k, each = 256 // bits, 32 // bits
        thread, e = np.divmod(np.arange(64 * k), k // 2)
        warp, group, t = thread // 32, thread % 32 // 4, thread % 4
        register = e // each
        row = 16 * warp + 8 * (register % 2) + group
        column = register // 2 * (k // 2) + each * t + e % each
        assert np.array_equal(owned, row * k + column), case


# -- descriptors -----------------------------------------------------------------------------------


def chunks(case):
    """The address of each chunk of 16 bytes: [row, chunk of K], or [chunk of rows, k]."""
    value, bits = int(case["value"], 16), BITS[case["types"][0]]
    start, lbo, sbo = (16 * (value >> low & 0x3FFF) for low in (0, 16, 32))
    width = {0: 16, 3: 32, 2: 64, 1: 128}[value >> 62]
    rows = 64 if case["operand"] == "A" else case["n"]
    if case["major"] == "k":
        r, c = np.ogrid[:rows, :2]
        between = lbo if width == 16 else 16
        address = start + r // 8 * sbo + r % 8 * width + c * between
    else:
        j, k = np.ogrid[: rows * bits // 128, : 256 // bits]
        along, across = (sbo, lbo) if width == 16 else (lbo, sbo)
        together = width // 16
        address = start + j // together * along + j % together * 16 + k // 8 * across + k % 8 * width
    return swizzled(address, width, value >> 49 & 7 if width > 16 else 0)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_the_chunks_that_descriptors_read(name):
    cases = recorded(name)
    for case, places in cases:
        assert case["whole"], case
        assert np.array_equal(places, chunks(case).ravel() // 16), case
    assert len(cases) >= 500


# -- boxes -----------------------------------------------------------------------------------------


def slots_of(case, length):
    """Return the contents of each element-sized slot of shared memory after the copy."""
    each = {"8": 1, "16": 2, "32": 4, "64": 8}[case["dtype"].lstrip("bfu")]
    width = WIDTHS[case["mode"]]
    steps = [*case["steps"][:-1], 1] if case["steps"] else [1] * len(case["box"])
    counts = [-(-extent // step) for extent, step in zip(case["box"], steps, strict=True)]
    index = np.indices(counts).reshape(len(counts), -1)
    pitch = max(counts[-1] * each, width) if width > 16 else counts[-1] * each
    row = np.zeros_like(index[0])
    for count, i in zip(counts[:-1], index[:-1], strict=True):
        row = row * count + i
    byte = swizzled(case["start"] + row * pitch + index[-1] * each, width)
    inside, place, stride = np.ones(len(row), bool), np.full(len(row), 1025), 1
    for i, corner, step, extent in zip(
        index[::-1], case["corner"][::-1], steps[::-1], case["shape"][::-1], strict=True
    ):
        at = corner + step * i
        inside &= (at >= 0) & (at < extent)
        place += at * stride
        stride = -(-stride * extent * each // 32) * 32 // each
    slots = np.full(length, -1)
    slots[byte // each] = np.where(inside, place, -3 if case["fill"] == "nan" else 0)
    return slots, len(row) * each


def test_the_bytes_that_boxes_land_in():
    loaded = [(case, slots) for case, slots in recorded("tma.boxes") if not case["result"]]
    for case, slots in loaded:
        want, size = slots_of(case, len(slots))
        assert np.array_equal(slots, want), case
        assert case["counted"] == size, case
    assert len(loaded) >= 500
    assert any(case["fill"] == "nan" for case, _ in loaded)


def test_a_box_wider_than_its_swizzle_is_refused():
    refused = [case for case, _ in recorded("tma.boxes") if case["result"]]
    assert len(refused) >= 20
    for case in refused:
        inner = case["box"][-1] * int(case["dtype"].lstrip("bfu")) // 8
        assert inner > WIDTHS[case["mode"]] > 16 or case["fill"] == "nan", case


# -- mma.sync: (product, row, column) of every place, lane after lane ---------------------------------


def extents(case):
    return tuple(map(int, case["shape"][1:].replace("n", " ").replace("k", " ").split()))


def of_input(rows, k, bits):
    """A, or B [N, K]: a lane holds neighbours in K, 32 bits of them at a time."""
    each = max(1, 32 // bits)
    lane, e = np.divmod(np.arange(rows * k), rows * k // 32)
    register, inside, halves = e // each, e % each, rows // 8
    row = lane // 4 + 8 * (register % halves)
    return np.zeros_like(row), row, register // halves * 4 * each + lane % 4 * each + inside


def of_result(m, n):
    lane, e = np.divmod(np.arange(m * n), m * n // 32)
    return np.zeros_like(e), lane // 4 + 8 * (e // 2), 2 * (lane % 4) + e % 2


def of_volta(each, along):
    """A or B of Volta: four elements of a lane, along K or along the rows."""
    lane, i = np.divmod(np.arange(32 * each), each)
    across, high = lane % 4, 4 * (lane // 16)
    return (lane % 16 // 4, across + high, i) if along else (lane % 16 // 4, i + high, across)


def of_volta_result(dtype):
    lane, i = np.divmod(np.arange(256), 8)
    if dtype == "f16":
        return lane % 16 // 4, lane % 4 + 4 * (lane // 16), i
    row, column = (lane & 1) + (i & 2) + 4 * (lane // 16), (i & 4) + (lane & 2) + (i & 1)
    return lane % 16 // 4, row, column


def operands(case):
    m, n, k = extents(case)
    a, b, c, d = case["types"]
    if case["shape"] == "m8n8k4" and a == "f16":
        row, column = case["majors"]
        return (
            of_volta(4, row == "row"),
            of_volta(4, column == "col"),
            of_volta_result(c),
            of_volta_result(d),
        )
    return of_input(m, k, BITS[a]), of_input(n, k, BITS[b]), of_result(m, n), of_result(m, n)


def holds(a, b, d, reached, met, n):
    """Each place of A reaches the N places of D in its row, by the places of B of that column and its k."""
    (p, row, k), (p_d, row_d, column_d), (p_b, column_b, k_b) = (
        [one[at] for one in operand]
        for operand, at in ((a, np.repeat(np.arange(len(a[0])), n)), (d, reached), (b, met))
    )
    assert np.array_equal(p, p_d)
    assert np.array_equal(p, p_b)
    assert np.array_equal(row, row_d)
    assert np.array_equal(k, k_b)
    assert np.array_equal(column_d, column_b)
    assert (np.sort(column_d.reshape(-1, n)) == np.arange(n)).all()


def test_what_dense_products_multiply():
    for case, reached, met in pairs("mma.dense"):
        a, b, _, d = operands(case)
        holds(a, b, d, reached, met, extents(case)[1])
    assert len(pairs("mma.dense")) == 70


def test_accumulators_keep_their_element():
    for case, came in recorded("mma.accumulators"):
        *_, c, d = operands(case)
        assert all(np.array_equal(one[came], other) for one, other in zip(c, d, strict=True)), case
    for case, came in recorded("mma.sparse.accumulators"):
        assert np.array_equal(came, np.arange(128)), case


# -- mma.sp -------------------------------------------------------------------------------------------


def indices_at(case, row, stored):
    """(lane, bit, bits) of the metadata that say where each stored element of a row was."""
    bits, k, selector = BITS[case["types"][0]], extents(case)[2], case["selector"]
    each = {32: 4, 4: 1}.get(bits, 2)  # bits for a stored element; those of 4 bits go in pairs
    at = each * stored // 2 * 2
    wide = each * k // 2
    lane = 4 * (row % 8)
    if wide == 16:
        return lane + selector, 16 * (row // 8) + at, max(each, 2)
    if wide == 32 and bits >= 16:
        return lane + 2 * selector + at // 16, 16 * (row // 8) + at % 16, max(each, 2)
    if wide == 32:
        return lane + 2 * selector + row // 8, at, max(each, 2)
    return lane + row // 8 + 2 * (at // 32), at % 32, max(each, 2)


def columns_of(case, row, stored):
    bits = BITS[case["types"][0]]
    lane, low, width = indices_at(case, row, stored)
    index = np.array(case["metadata"])[lane] >> low & (1 << width) - 1
    if bits == 32:
        return 2 * stored + (index == 0b1110)
    if bits == 4:
        return stored // 4 * 8 + 2 * index + stored % 2
    return stored // 2 * 4 + index


def test_what_sparse_products_multiply():
    """By the metadata, legal ones and any: each stored element has the column that its indices name."""
    for case, reached, met in pairs("mma.sparse"):
        m, n, k = extents(case)
        a, b, d = (
            of_input(m, k // 2, BITS[case["types"][0]]),
            of_input(n, k, BITS[case["types"][1]]),
            of_result(m, n),
        )
        holds((a[0], a[1], columns_of(case, a[1], a[2])), b, d, reached, met, n)


def test_which_four_bits_each_stored_element_listens_to():
    """Told by ten cases alone: two have all four bits alike, eight have them by a bit of their number."""
    chosen = {}
    for case, _, met in pairs("mma.sparse"):
        if case["ordered"]:
            name = (case["shape"], *case["types"], case["selector"])
            chosen.setdefault(name, []).append((case, met))
    for every in chosen.values():
        case = every[0][0]
        m, n, k = extents(case)
        first, second, *told = [met.reshape(-1, n) for _, met in every[:10]]
        assert (first != second).all()
        number = np.zeros_like(first)
        for bit, met in enumerate(told):
            assert ((met == first) | (met == second)).all()
            number += (met == second) << bit
        _, row, stored = of_input(m, k // 2, BITS[case["types"][0]])
        lane, low, _ = indices_at(case, row, stored)
        assert np.array_equal(number, np.repeat(lane * 8 + low // 4, n).reshape(-1, n)), case
    assert len(chosen) == 52


# -- ldmatrix, stmatrix, movmatrix --------------------------------------------------------------------


def bytes_met(case):
    """The byte that each half of each register meets, lane after lane."""
    word, _, trans = case["form"].partition(".")
    count = int(word[1:])
    lane, half = np.divmod(np.arange(64 * count), 2 * count)
    row, column = lane // 4, 2 * (lane % 4) + half % 2
    if trans:
        row, column = column, row
    return np.array(case["addresses"])[8 * (half // 2) + row] + 2 * column


@pytest.mark.parametrize("name", ["matrices.ldmatrix", "matrices.stmatrix"])
def test_the_bytes_that_matrices_meet(name):
    cases = recorded(name)
    for case, met in cases:
        assert np.array_equal(met, bytes_met(case)), case
        assert case["others"] == 0
    assert len(cases) == 372


def test_where_the_halves_of_movmatrix_come_from():
    lane, half = np.divmod(np.arange(64), 2)
    came = 2 * (8 * (lane % 4) + 4 * half + lane // 8) + lane // 4 % 2
    assert all(np.array_equal(halves, came) for _, halves in recorded("matrices.movmatrix"))


def test_only_addresses_that_are_read_fault():
    seen = set()
    for case, (result, *met) in recorded("matrices.faults"):
        count = 8 * int(case["form"][1])
        read, unread = np.split(np.array(case["addresses"]), [count])
        wanted = {716} if (read % 16).any() else {700, 715} if (read > 32 * 1024 - 16).any() else {0}
        assert result in wanted, case
        assert result or np.array_equal(met, bytes_met(case)), case
        seen.add((min(wanted), bool((unread % 16).any() or (unread > 32 * 1024).any())))
    assert seen == {(0, False), (0, True), (700, False), (716, False)}
