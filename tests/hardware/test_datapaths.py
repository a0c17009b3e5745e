"""D and A of tcgen05.mma in tensor memory, against the manual's figures written out as formulas."""

from itertools import product

import pytest

from tilewise import LayoutError, Refused, parse
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.tcgen05.addresses import Cells, lanes_of
from tilewise.hardware.tcgen05.datapaths import DATA_PATHS, DataPath
from tilewise.hardware.tcgen05.kinds import KINDS, Product

# (M, cta_group, ws, sparse): the letter of the manual's table
TABLE = {
    (256, 2, False, False): "A",
    (256, 2, False, True): "A",
    (128, 2, False, False): "B",
    (128, 2, False, True): "C",
    (128, 1, False, False): "D",
    (128, 1, False, True): "D",
    (128, 1, True, False): "D",
    (128, 1, True, True): "D",
    (64, 1, True, False): "E",
    (64, 1, True, True): "E",
    (64, 1, False, False): "F",
    (64, 1, False, True): "F",
    (32, 1, True, False): "G",
    (32, 1, True, True): "G",
}
ORGANISATION = {"A": "4x1", "B": "2x2", "C": "4x1", "D": "4x1", "E": "2x2", "F": "4x1", "G": "1x4"}


def place(letter, row, column, n):
    """(CTA, lane, column) as the figures draw them, each path by itself."""
    if letter == "A":
        return row // 128, row % 128, column
    if letter == "B":
        cta, row = divmod(row, 64)
        return (cta, row, column) if column < n // 2 else (cta, row + 64, column - n // 2)
    if letter == "C":
        cta, row = divmod(row, 64)
        return cta, [0, 32, 64, 96][row // 16] + row % 16, column
    if letter == "D":
        return 0, row, column
    if letter == "E":
        return (0, row, column) if column < n // 2 else (0, row + 64, column - n // 2)
    if letter == "F":
        return 0, [0, 32, 64, 96][row // 16] + row % 16, column
    quarter, column = divmod(column, n // 4)
    return 0, row + 32 * quarter, column


def at(vector):
    steps = vector.as_dict()
    assert steps.keys() <= {"cbx", "TLane", "TCol"}
    return steps.get("cbx", 0), steps.get("TLane", 0), steps.get("TCol", 0)


def sampled(extent):
    return sorted({*range(0, extent, 7), *range(0, extent, 16), extent // 2 - 1, extent // 4, extent - 1})


# -- which path ------------------------------------------------------------------------------------


def test_the_table_has_these_rows_and_no_others():
    for rows, group, ws, sparse in product(range(16, 272, 16), (1, 2), (False, True), (False, True)):
        letter = TABLE.get((rows, group, ws, sparse))
        if letter is None:
            with pytest.raises(Refused, match=f"no data path has M = {rows} of cta_group {group}") as no:
                DataPath.of(rows, group, ws, sparse)
            assert no.value.hint
        else:
            path = DataPath.of(rows, group, ws, sparse)
            assert path is DATA_PATHS[letter]
            assert path.organisation.split(",")[0] == ORGANISATION[letter]
            assert path.source.url.endswith(f"#tcgen05-data-path-layout-{letter.lower()}")


def test_every_m_that_a_kind_has_has_a_path():
    for kind, group, ws, sparse in product(KINDS.values(), (1, 2), (False, True), (False, True)):
        for rows in Product(kind, group, sparse, ws).shapes:
            assert (rows, group, ws, sparse) in TABLE
            assert DataPath.of(rows, group, ws, sparse).m == rows


# -- D ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("such", TABLE)
@pytest.mark.parametrize("dtype", ["f32", "f16", "s32"])
def test_every_element_of_d_is_where_the_figure_has_it(such, dtype):
    rows, group, ws, sparse = such
    letter, entry = TABLE[such], find("tcgen05.D")
    for n in (64, 128) if ws else (32, 64, 256):
        for slab in (0, 1) if letter in "CF" else (0,):
            values = {"m": rows, "n": n, "dtype": dtype, "cta_group": group, "ws": ws, "sparse": sparse}
            built = entry(**values, slab=slab)
            assert built.facts["datapath"] == letter
            assert built.layout.size == rows * n
            for row, column in product(sampled(rows), sampled(n)):
                cta, lane, word = place(letter, row, column, n)
                step = 2 if dtype == "f16" else 1  # f16 has the lower half of a column to itself
                assert at(built.layout.place(row, column)) == (cta, lane + 16 * slab, step * word)
            words = {place(letter, row, column, n)[2] for row in sampled(rows) for column in range(n)}
            assert built.facts["columns"] == max(words) + 1


def test_the_rows_of_each_cta_and_the_lanes_are_those_of_the_figures():
    for (rows, group, ws, sparse), letter in TABLE.items():
        places = [{place(letter, row, column, 64)[:2] for column in range(64)} for row in range(rows)]
        lanes = sorted({lane for some in places for _, lane in some})
        facts = find("tcgen05.D")("f32", rows, 64, group, ws, sparse).facts
        assert facts["lanes"]["count"] == len(lanes)
        assert facts["lanes"]["first"] == lanes[0]
        assert facts["lanes"]["of_each_warp"] == sum(lane < 32 for lane in lanes)
        ctas = facts.get("ctas", {})
        assert len(ctas) == (2 if group == 2 else 0)
        for number, said in enumerate(ctas.values()):
            own = [row for row, some in enumerate(places) if any(cta == number for cta, _ in some)]
            assert said == {"first_row": own[0], "last_row": own[-1]}


@pytest.mark.parametrize("such", TABLE)
def test_no_two_elements_of_d_share_a_word(such):
    rows, group, ws, sparse = such
    layout = find("tcgen05.D")("f16", rows, 64, group, ws, sparse).layout
    taken = set()
    for row, column in product(range(rows), range(64)):
        cta, lane, step = at(layout.place(row, column))
        taken.add((cta, lane, step * 16 // 32))
    assert len(taken) == rows * 64
    assert layout.injective


def test_f16_leaves_the_upper_half_of_its_columns_free():
    built = find("tcgen05.D")("f16", 128, 64)
    assert built.facts["container"] == {"bits": 32, "lowest": 0, "highest": 15}
    assert built.held is None  # TCol counts f16: hardware column = TCol * 16 // 32
    assert built.layout.same(parse("S[(128, 64) : (1@TLane, 2@TCol)]"))
    for number in range(64):
        assert Cells.of("f16", 32).at(number) == (number, 0, 15)
        assert Cells.of("f16").at(2 * number) == (number, 0, 15)


@pytest.mark.parametrize("such", TABLE)
def test_each_warp_loads_what_is_in_its_lanes(such):
    rows, group, ws, sparse = such
    built = find("tcgen05.D")("f32", rows, 64, group, ws, sparse)
    shares = {warp: set() for warp in range(4)}
    for row, column in product(range(rows // group), range(64)):  # those of CTA 0
        cta, lane, _ = at(built.layout.place(row, column))
        assert cta == 0
        shares[next(warp for warp in range(4) if lane in lanes_of(warp))].add((row, column))
    for warp, share in shares.items():
        said = built.facts["loaded_by"][f"warp_{warp}"]
        assert share == {
            *product(
                range(said["first_row"], said["last_row"] + 1),
                range(said["first_column"], said["last_column"] + 1),
            )
        }


def test_lanes_are_those_that_have_rows():
    for such, letter in TABLE.items():
        path = DataPath.of(*such)
        for slab in path.slabs:
            layout = path.accumulator(64, slab=slab)
            found = {at(layout.place(row, column))[1] for row in range(path.m) for column in range(0, 64, 8)}
            assert found == set(path.lanes(slab))
            assert len(found) == (64 if letter in "CF" else 128)


def test_two_tiles_of_m_64_share_columns_in_the_two_slabs():
    low, high = (find("tcgen05.D")("f32", 64, 64, slab=slab).layout for slab in (0, 1))
    lanes = [{at(own.place(row, 0))[1] for row in range(64)} for own in (low, high)]
    assert lanes[0] | lanes[1] == set(range(128))
    assert not lanes[0] & lanes[1]


def test_the_kinds_of_d_are_those_that_have_its_type_and_its_shape():
    entry = find("tcgen05.D")
    for such in TABLE:
        rows, group, ws, sparse = such
        for dtype, n in product(("f32", "f16", "s32"), (8, 16, 24, 32, 40, 64, 128, 192, 256, 264)):
            having = []
            for kind in KINDS.values():
                if dtype in kind.results and n in Product(kind, group, sparse, ws).shapes.get(rows, ()):
                    having.append(f"kind::{kind.name}")
            if having:
                said = entry(dtype, rows, n, group, ws, sparse).facts["instructions"]
                assert [next(word for word in one.split(".") if "kind" in word) for one in said] == having
                assert all((".sp." in one, ".ws." in one) == (sparse, ws) for one in said)
                assert all(f"cta_group::{group}" in one for one in said)
            else:
                with pytest.raises(Refused, match=r"has no M|nothing of"):
                    entry(dtype, rows, n, group, ws, sparse)


# -- A ---------------------------------------------------------------------------------------------


def lanes_of_a(letter, row):
    """The lanes of a row of A, with its copies, and its CTA."""
    if letter == "A":
        return row // 128, {row % 128}
    if letter == "B":
        return row // 64, {row % 64, row % 64 + 64}
    if letter == "E":
        return 0, {row, row + 64}
    if letter == "G":
        return 0, {row, row + 32, row + 64, row + 96}
    cta, lane, _ = place(letter, row, 0, 64)
    return cta, {lane}


# {(kind, type): (elements of a column, lowest bit of the first)}
PACKED = {
    ("f16", "f16"): 2,
    ("f16", "bf16"): 2,
    ("tf32", "tf32"): 1,
    ("i8", "s8"): 4,
    ("i8", "u8"): 4,
    **{
        (kind, dtype): 4
        for kind in ("f8f6f4", "mxf8f6f4")
        for dtype in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
    },
    ("mxf4", "e2m1"): 8,
    ("mxf4nvf4", "e2m1"): 8,
}


@pytest.mark.parametrize(("kind", "dtype"), PACKED)
def test_every_element_of_a_is_in_all_its_lanes_packed_along_k(kind, dtype):
    each = PACKED[kind, dtype]
    for such, letter in TABLE.items():
        rows, group, ws, sparse = such
        if rows not in Product(KINDS[kind], group, sparse, ws).shapes:
            continue
        for slab in (0, 1) if letter in "CF" else (0,):
            built = find("tcgen05.A")(dtype, rows, kind, cta_group=group, ws=ws, sparse=sparse, slab=slab)
            stored = each * 8  # a product reads 32 bytes of each row, 8 columns
            assert built.layout.size == rows * stored
            assert built.facts["columns"] == 8 == built.facts["step"]["columns"]
            assert built.facts["k"]["whole"] == stored * (2 if sparse else 1)
            unit = built.held[0] if built.held else built.dtype.bits
            for row, k in product(sampled(rows), sampled(stored)):
                cta, lanes = lanes_of_a(letter, row)
                found = [at(own) for own in built.layout.places(row, k)]
                bit = k % each * (32 // each)
                assert {(c, lane) for c, lane, _ in found} == {(cta, lane + 16 * slab) for lane in lanes}
                assert {step * unit for _, _, step in found} == {32 * (k // each) + bit}


def test_containers_of_a():
    entry = find("tcgen05.A")
    assert entry("e2m1", 128).facts["container"] == {"bits": 8, "lowest": 2, "highest": 5}
    assert entry("e3m2", 128).facts["container"] == {"bits": 8, "lowest": 0, "highest": 5}
    assert "container" not in entry("e2m1", 128, "mxf4").facts
    assert "container" not in entry("e4m3", 128).facts
    assert any("6..1" in note for note in entry("e2m3", 128).notes)
    assert not any("6..1" in note for note in entry("e4m3", 128).notes)


def test_k_of_several_instructions():
    entry = find("tcgen05.A")
    dense = entry("f16", 128, k=256)
    assert dense.facts["columns"] == 128
    assert dense.facts["step"] == {"columns": 8, "count": 16}
    sparse = entry("s8", 64, k=256, sparse=True)
    assert sparse.facts["k"] == {"whole": 256, "stored": 128, "instruction": 64}
    assert sparse.layout.size == 64 * 128
    assert sparse.facts["step"]["count"] == 4
    for step in range(4):  # the instruction of a step reads 8 columns at the address of A + 8 * step
        lowest = min(at(sparse.layout.place(0, k))[2] for k in range(32 * step, 32 * step + 32))
        assert lowest * 8 // 32 == 8 * step
    for k in (0, -16, 8, 100):
        with pytest.raises(Refused, match=f"of which K = {k} is no multiple") as no:
            entry("f16", 128, k=k)
        assert "16, 32, 48" in no.value.hint
    with pytest.raises(Refused, match="K = 64 of sparse A, of which K = 32 is no multiple"):
        entry("s8", 128, k=32, sparse=True)
    with pytest.raises(Refused, match="K = 96 is no multiple") as no:
        entry("e2m1", 128, "mxf4", k=96)
    assert "no A in tensor memory" in no.value.hint
    with pytest.raises(Refused, match="no 2048 columns"):
        entry("f16", 128, k=4096)


# -- E ---------------------------------------------------------------------------------------------

# {kind: (columns of a chunk, chunks of an instruction, whether 16 lanes share a column)}
CHUNKS = {
    "f16": (4, 8, True),
    "tf32": (2, 8, True),
    "i8": (4, 16, False),
    "f8f6f4": (4, 16, False),
    "mxf8f6f4": (4, 16, False),
    "mxf4": (8, 16, False),
    "mxf4nvf4": (8, 16, False),
}


def field_of(letter, row, chunk, shared):
    """(CTA, lane, column, lowest bit) of the two indices of a chunk, as the figures have it."""
    cta, lanes = lanes_of_a(letter, row)
    if not shared:
        return cta, lanes, chunk // 8, 4 * (chunk % 8)
    half, eighth = divmod(chunk, 4)
    bit = 16 * (row // 8 % 2) + 4 * eighth
    return cta, {lane - row // 8 % 2 * 8 + 8 * half for lane in lanes}, 0, bit


@pytest.mark.parametrize("kind", CHUNKS)
def test_every_index_of_the_metadata_is_where_the_figures_have_it(kind):
    wide, chunks, shared = CHUNKS[kind]
    assert KINDS[kind].depth(sparse=True) == wide * chunks
    seen = set()
    for such, letter in TABLE.items():
        rows, group, ws, sparse = such
        if not sparse or rows not in Product(KINDS[kind], group, sparse, ws).shapes:
            continue
        seen.add(letter)
        for slab, selector in product((0, 1) if letter in "CF" else (0,), (0, 1) if shared else (0,)):
            built = find("tcgen05.E")(kind, rows, selector, group, ws, slab)
            assert built.dtype.bits == 2
            assert built.layout.size == rows * chunks * 2
            assert built.facts["chunk"]["columns"] == wide
            assert built.facts["columns"] == (1 if shared else 2)
            for row, chunk, index in product(sampled(rows), range(chunks), (0, 1)):
                cta, lanes, column, bit = field_of(letter, row, chunk, shared)
                found = [at(own) for own in built.layout.places(row, 2 * chunk + index)]
                assert {(c, lane) for c, lane, _ in found} == {(cta, lane + 16 * slab) for lane in lanes}
                assert {2 * step for _, _, step in found} == {32 * (column + selector) + bit + 2 * index}
    assert seen == set("AD" if kind.startswith("mx") else "ACDEFG")


def test_no_two_indices_share_bits():
    for kind, such in product(("f16", "i8"), [such for such in TABLE if such[3]]):
        rows, group, ws, _ = such
        layout = find("tcgen05.E")(kind, rows, cta_group=group, ws=ws).layout
        assert layout.injective
        assert layout.disjoint_copies


def test_patterns_are_those_that_the_manual_lists():
    entry = find("tcgen05.E")
    seven = ["0b0100", "0b1000", "0b1100", "0b1001", "0b1101", "0b0110", "0b1110"]
    assert entry("f16", 128).facts["patterns"] == entry("mxf4", 128).facts["patterns"] == seven
    assert sorted(entry("tf32", 128).facts["patterns"]) == ["0b0100", "0b1110"]
    with pytest.raises(Refused, match="kind::i8 has no sparsity selector 1"):
        entry("i8", 128, selector=1)
    with pytest.raises(LayoutError, match="there is no selector"):
        entry("f16", 128, selector=4)
    with pytest.raises(Refused) as no:
        find("tcgen05.metadata")
    assert "tcgen05.E" in no.value.reason


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "given", "said"),
    [
        ("tcgen05.D", {"m": 32, "n": 64, "dtype": "f32"}, "M = 32 is of cta_group 1 with .ws"),
        ("tcgen05.D", {"m": 256, "n": 64, "dtype": "f32"}, "M = 256 is of cta_group 2"),
        ("tcgen05.D", {"m": 64, "n": 64, "dtype": "f32", "cta_group": 2}, "with .ws or cta_group 1 without"),
        ("tcgen05.D", {"m": 128, "n": 64, "dtype": "f32", "slab": 1}, "C and F have half of them"),
        ("tcgen05.D", {"m": 128, "n": 12, "dtype": "f32"}, "the nearest N are 8 and 16"),
        ("tcgen05.D", {"m": 96, "n": 64, "dtype": "f32"}, "did you mean 64"),
        ("tcgen05.D", {"m": 128, "n": 64, "dtype": "bf16"}, "D is of f32, f16, s32"),
        ("tcgen05.A", {"m": 128, "dtype": "f16", "kind": "i8"}, "f16 is of f16"),
        ("tcgen05.A", {"m": 64, "dtype": "e2m1", "kind": "mxf4"}, "M is 128"),
        ("tcgen05.A", {"m": 64, "dtype": "e2m1", "kind": "mxf4", "ws": 1}, "of kinds without scales"),
        ("tcgen05.C", {"m": 64}, "catalog lists"),
    ],
)
def test_what_there_is_not(entry, given, said):
    with pytest.raises(LayoutError) as caught:
        find(entry)(**given)
    assert said in caught.value.hint


def test_the_fold_of_n_has_whole_columns():
    with pytest.raises(Refused, match="N = 66 does not fold over 4"):
        DATA_PATHS["G"].columns(66)
    with pytest.raises(LayoutError, match="there is no slab 2"):
        DATA_PATHS["F"].check_slab(2)


def test_instances_are_all_paths_types_and_slabs():
    of_d = instances_of(find("tcgen05.D"))
    # A 2, B 1, C 2 (slabs), D 4, E 2, F 4, G 2, each for three types
    assert len(of_d) == 3 * (2 + 1 + 2 + 4 + 2 + 4 + 2)
    of_a = instances_of(find("tcgen05.A"))
    for name, entry, instances in (("D", "tcgen05.D", of_d), ("A", "tcgen05.A", of_a)):
        for values in instances.values():
            assert find(entry).build(**values).layout is not None, name


def test_a_call_is_a_layout_of_the_notation():
    layout = parse("tcgen05.D(f32, m=128, n=64, cta_group=2)")
    assert at(layout.place(100, 40)) == (1, 36 + 64, 8)
    assert {axis.name for axis in layout.axes} == {"cbx", "TLane", "TCol"}
    assert parse("tcgen05.D(f32, m=64, n=64, ws)").shape == (64, (2, 32))
