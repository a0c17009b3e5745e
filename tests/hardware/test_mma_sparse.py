"""Sparse mma against the manual's formulas: what the layouts put into registers, they read and multiply."""

from random import Random

import pytest
from tests.hardware import written_sparse as written

from tilewise import LayoutError
from tilewise.core.errors import Refused
from tilewise.hardware.catalog import find
from tilewise.hardware.instructions import values, where
from tilewise.hardware.mma.instructions import (
    SPARSE,
    Instruction,
    kind_instructions,
    sparse_instructions,
)
from tilewise.hardware.mma.kinds import KINDS
from tilewise.hardware.mma.sparse import Sparse

EVERY = [
    (shape, dtype, selector)
    for (shape, dtype), this in written.WRITTEN.items()
    for selector in this.selectors
]
NAMES = [f"{shape} {dtype} {selector}" for shape, dtype, selector in EVERY]


def random_indices(this, rng):
    pairs = ((0, 1), (2, 3)) if this.chunk == 2 else [(i, j) for j in range(4) for i in range(j)]
    return [[i for _ in range(this.indices // 2) for i in rng.choice(pairs)] for _ in range(16)]


def filled(layout, values):
    """[value of each register element] for each lane, the values of a matrix put where a layout says."""
    lanes = [[None] * layout.span("reg") for _ in range(32)]
    for row, several in enumerate(values):
        for at, value in enumerate(several):
            place = layout.place(row, at).as_dict()
            assert lanes[place["laneid"]][place["reg"]] is None
            lanes[place["laneid"]][place["reg"]] = value
    assert all(None not in lane for lane in lanes)
    return lanes


def test_everything_written_is_there_and_nothing_else():
    there = {(str(this.shape), this.a) for this in (*sparse_instructions(), *kind_instructions(sparse=True))}
    assert there == {*written.WRITTEN}
    assert {
        (str(shape), dtype) for _, dtype in there for shape in values(where(SPARSE, a=dtype), "shape")
    } == there


@pytest.mark.parametrize(("shape", "dtype", "selector"), EVERY, ids=NAMES)
def test_the_registers_that_the_layouts_fill_multiply(shape, dtype, selector):
    rng = Random(f"{shape} {dtype} {selector}")
    this, said = Sparse.of(shape, dtype), written.WRITTEN[shape, dtype]
    assert this.selectors == said.selectors
    assert this.chunk == said.chunk
    stored = [[rng.randint(1, 99) for _ in range(said.k // 2)] for _ in range(16)]
    indices = random_indices(this, rng)
    factors = [[rng.randint(-99, 99) for _ in range(said.k)] for _ in range(8)]
    dense = this.expand(stored, indices)
    a = filled(this.a_fragment, stored)
    b = filled(this.b_fragment, factors)
    e = this.pack(indices, selector, other=rng.getrandbits(32))
    result = written.machine(said, selector, a, b, e)
    for m in range(16):
        for n in range(8):
            assert result[m, n] == sum(x * y for x, y in zip(dense[m], factors[n], strict=True))


@pytest.mark.parametrize(("shape", "dtype", "selector"), EVERY, ids=NAMES)
def test_one_bit_of_metadata_elsewhere_and_the_product_differs(shape, dtype, selector):
    """The test above can fail: another index of one chunk moves an element."""
    rng = Random(f"{shape} {dtype} {selector} again")
    this, said = Sparse.of(shape, dtype), written.WRITTEN[shape, dtype]
    stored = [[rng.randint(1, 99) for _ in range(said.k // 2)] for _ in range(16)]
    indices = random_indices(this, rng)
    row, chunk = rng.randrange(16), rng.randrange(this.indices // 2)
    moved = [list(one) for one in indices]
    pair = tuple(moved[row][2 * chunk : 2 * chunk + 2])
    moved[row][2 * chunk : 2 * chunk + 2] = rng.choice([other for other in this.patterns if other != pair])
    factors = [[rng.randint(1, 1 << 20) for _ in range(said.k)] for _ in range(8)]
    a = filled(this.a_fragment, stored)
    b = filled(this.b_fragment, factors)
    results = [written.machine(said, selector, a, b, this.pack(each, selector)) for each in (indices, moved)]
    assert {m for m, n in results[0] if results[0][m, n] != results[1][m, n]} == {row}


@pytest.mark.parametrize(
    ("shape", "dtype"), [*written.WRITTEN], ids=[" ".join(one) for one in written.WRITTEN]
)
def test_d_lies_as_c_of_every_m16n8(shape, dtype):
    fragment = Sparse.of(shape, dtype).d_fragment
    for lane in range(32):
        for i in range(4):
            row, column = written.d_168(*divmod(lane, 4), i)
            assert fragment.place(row, column).as_dict() == {"laneid": lane, "reg": i}


# -- a second source: CUTLASS writes E of a quad out, where it makes an sm_89 product of two of sm_80 --


def quad(*groups):
    """[(lane t, element i of A)] from the lowest index of a register on."""
    return [(t, i) for elements in groups for t in range(4) for i in elements]


CUTLASS = {
    ("m16n8k64", "e4m3", 0): [quad((4 * q, 4 * q + 1, 4 * q + 2, 4 * q + 3)) for q in range(4)],
    ("m16n8k32", "f16", 0): [quad((0, 1), (2, 3)), quad((4, 5), (6, 7))],
    ("m16n8k32", "f16", 1): [[], [], quad((0, 1), (2, 3)), quad((4, 5), (6, 7))],
}
"""The element of each index of each lane of a quad, from cutlass/arch/mma_sparse_sm89.h."""


@pytest.mark.parametrize(("shape", "dtype", "selector"), [*CUTLASS], ids=["e4m3", "f16 0", "f16 1"])
def test_cutlass_says_the_same_of_a_quad(shape, dtype, selector):
    this = Sparse.of(shape, dtype)
    for q, entries in enumerate(CUTLASS[shape, dtype, selector]):
        for at, (t, i) in enumerate(entries):
            for group in range(8):
                ((row, stored),) = pairs(this.a_fragment, 4 * group + t, i)
                assert this.supplier(row, stored, selector) == (4 * group + q, 2 * at, 2 * at + 1)


def pairs(layout, lane, i):
    """The (row, column) of what is at an element of a lane."""
    columns = layout.size // 16
    return [divmod(layout.flat_index(index), columns) for index in layout.who(laneid=lane, reg=i)]


# -- the registers, both ways -------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "dtype", "selector"), EVERY, ids=NAMES)
def test_indices_and_registers_both_ways(shape, dtype, selector):
    rng = Random(f"{shape} {dtype} {selector} both")
    this, said = Sparse.of(shape, dtype), written.WRITTEN[shape, dtype]
    indices = random_indices(this, rng)
    words = this.pack(indices, selector)
    assert this.unpack(words, selector) == indices
    assert {lane for lane, word in enumerate(words) if word} == {*this.lanes(selector)}
    assert len(this.lanes(selector)) == 8 * this.threads
    for row in range(16):
        for number in range(this.stored):
            lane, low, high = this.supplier(row, number, selector)
            own = written.indices_of(said.chunk, number)
            assert (lane, low) == said.e(row, own[0], selector)
            assert high == low + 2 * len(own) - 1
            assert this.column(number, indices[row]) == written.column(
                said.chunk, number, [indices[row][index] for index in own]
            )


@pytest.mark.parametrize(
    ("shape", "dtype"), [*written.WRITTEN], ids=[" ".join(one) for one in written.WRITTEN]
)
def test_compressing_undoes_expanding(shape, dtype):
    rng = Random(f"{shape} {dtype} compressing")
    this = Sparse.of(shape, dtype)
    stored = [[rng.randint(1, 99) for _ in range(this.stored)] for _ in range(16)]
    indices = random_indices(this, rng)
    dense = this.expand(stored, indices)
    assert this.compress(dense) == (stored, indices)
    for row in dense:  # zeros among what is kept are no fault
        row[rng.randrange(this.shape.k)] = 0
    kept, where = this.compress(dense)
    this.check_indices(where)
    assert this.expand(kept, where) == dense


def test_pairs_of_4_bit_elements_go_together():
    this = Sparse.of("m16n8k64", "s4")
    row = [0] * 64
    row[3], row[7] = 5, 6
    stored, indices = this.compress([row])
    assert stored[0][:4] == [0, 5, 0, 6]
    assert indices[0][:2] == [1, 3]
    row[0] = 1
    with pytest.raises(Refused, match="columns 0 to 7 of row 0 hold more than two pairs other than 0") as no:
        this.compress([row])
    assert no.value.witness == {"row": 0, "columns": [0, 7]}


# -- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "said", "hint"),
    [
        (
            lambda: Sparse.of("m16n8k8", "f16"),
            "no mma.sp m16n8k8 multiplies f16",
            "m16n8k8 multiplies tf32; with a whole A",
        ),
        (
            lambda: Sparse.of("m16n8k16", "f64"),
            "no mma.sp multiplies f64",
            "it multiplies f16, bf16, tf32",
        ),
        (
            lambda: Sparse.of("m16n8k16", "f16").metadata(4),
            "has no selector 4: one lane of each four",
            "0 1 2 3",
        ),
        (
            lambda: Sparse.of("m16n8k32", "bf16").metadata(2),
            "has no selector 2: a pair of each four",
            "takes 0 1",
        ),
        (lambda: Sparse.of("m16n8k64", "u8").metadata(1), "has no selector 1: all four lanes", "it takes 0"),
        (
            lambda: Sparse.of("m16n8k16", "f16").pack(16 * [[1, 0, 0, 1, 0, 1, 0, 1]]),
            "row 0, chunk 0: indices 1 and 0 mean nothing",
            "0 1, 0 2, 1 2, 0 3, 1 3, 2 3",
        ),
        (
            lambda: Sparse.of("m16n8k8", "tf32").pack(16 * [[0, 1, 0, 2, 0, 1, 0, 1]]),
            "row 0, chunk 1: indices 0 and 2 mean nothing",
            "legal: 0 1, 2 3",
        ),
    ],
    ids=["shape", "type", "one", "pair", "all", "descending", "half of tf32"],
)
def test_what_there_is_not_is_refused(ask, said, hint):
    with pytest.raises(Refused) as no:
        ask()
    assert (no.value.code, said in no.value.reason, hint in no.value.hint) == ("TW602", True, True)
    assert no.value.witness


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda half: half.pack(16 * [[0, 1]]), "metadata has rows of 8, and row 0 has 2"),
        (lambda half: half.pack([[0, 1] * 4]), "1 rows of indices, where there are 16 rows"),
        (
            lambda half: half.expand([[1] * 8, [1] * 7], 2 * [[0, 1] * 4]),
            "stored A has rows of 8, and row 1 has 7",
        ),
        (lambda half: half.expand([[1] * 8], []), "0 rows of indices, where there are 1 rows"),
        (lambda half: half.compress([[1] * 15]), "an A has rows of 16, and row 0 has 15"),
        (lambda half: half.unpack([0] * 31), "32 registers, and 31 were given"),
    ],
    ids=["short", "few", "stored", "none", "A", "lanes"],
)
def test_what_has_another_size_is_refused(ask, said):
    with pytest.raises(LayoutError) as error:
        ask(Sparse.of("m16n8k16", "f16"))
    assert (error.value.code, said in str(error.value)) == ("TW202", True)


def test_indices_of_numpy_lose_no_bits():
    """Those of 8 bits, shifted to where they belong, would be 0."""
    np = pytest.importorskip("numpy")
    half = Sparse.of("m16n8k16", "f16")
    indices = 16 * [[1, 3, 0, 2, 2, 3, 0, 1]]
    for dtype in (np.uint8, np.int32, np.int64):
        words = half.pack(np.array(indices, dtype=dtype), 1)
        assert words == half.pack(indices, 1)
        assert half.unpack(np.array(words, dtype=np.uint32), 1) == indices
        assert half.unpack(np.array(words, dtype=np.uint32).view(np.int32), 1) == indices
        assert {type(word) for word in words} == {int}
    stored = np.arange(8, dtype=np.float16).reshape(1, 8)
    assert half.expand(stored, np.array(indices[:1], dtype=np.uint8)) == half.expand(stored, indices[:1])


@pytest.mark.parametrize(
    ("ask", "code", "said"),
    [
        (lambda half: half.column(8, [0, 1] * 4), "TW201", "8 is outside 0..7"),
        (lambda half: half.column(-1, [0, 1] * 4), "TW201", "-1 is outside 0..7"),
        (lambda half: half.column(1, [0]), "TW202", "metadata has rows of 8, and row 0 has 1"),
        (lambda half: half.pack(16 * [[0.0, 1.0] * 4]), "TW101", "an index"),
    ],
    ids=["past", "before", "short", "float"],
)
def test_a_stored_element_that_there_is_not_has_no_column(ask, code, said):
    with pytest.raises(LayoutError) as error:
        ask(Sparse.of("m16n8k16", "f16"))
    assert (error.value.code, said in str(error.value)) == (code, True), error.value


def test_indices_that_mean_nothing_are_not_expanded():
    with pytest.raises(Refused, match="row 0, chunk 1: indices 2 and 2 mean nothing"):
        Sparse.of("m16n8k16", "f16").expand([[1] * 8], [[0, 1, 2, 2, 0, 1, 0, 1]])


def test_too_dense_a_matrix_is_refused_where_it_is():
    dense = [[0] * 32 for _ in range(16)]
    dense[5][8:11] = [1, 2, 3]
    with pytest.raises(Refused) as no:
        Sparse.of("m16n8k32", "f16").compress(dense)
    assert no.value.reason == (
        "A is not as sparse as m16n8k32 of f16 wants it: "
        "columns 8 to 11 of row 5 hold more than two elements other than 0"
    )
    assert no.value.witness == {"row": 5, "columns": [8, 11]}


# -- what the catalogue says ----------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "dtype", "selector"), EVERY, ids=NAMES)
def test_the_entry_says_which_lanes_and_patterns(shape, dtype, selector):
    built = find("mma.E")(shape, dtype, selector)
    this, said = Sparse.of(shape, dtype), written.WRITTEN[shape, dtype]
    assert built.layout == this.metadata(selector)
    assert built.facts["selectors"] == [*said.selectors]
    assert built.facts["lanes"]["of_four"] == sorted(
        {said.e(row, index, selector)[0] % 4 for row in range(16) for index in range(this.indices)}
    )
    meant = (
        ["0b0100", "0b1110"]
        if said.chunk == 2
        else ["0b0100", "0b1000", "0b1001", "0b1100", "0b1101", "0b1110"]
    )
    assert built.facts["patterns"] == meant


@pytest.mark.parametrize(
    ("shape", "dtype"), [*written.WRITTEN], ids=[" ".join(one) for one in written.WRITTEN]
)
def test_what_the_meaning_says_is_the_column(shape, dtype):
    """The words of `means` are a formula: Python reads it."""
    this = Sparse.of(shape, dtype)
    rng = Random(f"{shape} {dtype} means")
    words = find("mma.sp.A")(shape, dtype).facts["means"].partition("is column ")[2]
    formula = words.replace("(index 2 s)", "index[2 * s]").replace("(index s // 2)", "index[s // 2]")
    formula = formula.replace("index s", "index[s]")
    for number in "248":
        formula = formula.replace(f"{number} (", f"{number} * (").replace(
            f"{number} index", f"{number} * index"
        )
        formula = formula.replace(f"{number} s ", f"{number} * s ")
    for row in random_indices(this, rng):
        for s in range(this.stored):
            assert eval(formula, {"index": row, "s": s}) == this.column(s, row), formula


def test_ordered_or_not():
    plain = Instruction(Sparse.of("m16n8k16", "f16").shape, "f16", "f16", "f32", sparse=True, ordered=False)
    assert str(plain) == "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert "ordered_metadata" in str(kind_instructions(sparse=True)[0])
    assert KINDS["mxf4"].needs(sparse=True).met("sm_121a")
    assert not KINDS["mxf4"].needs(sparse=True).met("sm_121f")


@pytest.mark.parametrize("kind", KINDS)
def test_only_packed_kinds_with_sparse_a_are_of_one_architecture_alone(kind):
    packed = kind in ("mxf4", "mxf4nvf4")
    for arch in ("sm_120f", "sm_121f"):
        assert KINDS[kind].needs().met(arch)
        assert KINDS[kind].needs(sparse=True).met(arch) == (not packed)
    for arch in ("sm_120a", "sm_121a"):
        assert KINDS[kind].needs().met(arch)
        assert KINDS[kind].needs(sparse=True).met(arch)
    assert not KINDS[kind].needs().met("sm_120")
