"""Block-scaled mma and the kinds against the manual: scales that the layouts place, read as is written."""

import re
from random import Random

import pytest

from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.places import position_of
from tilewise.hardware.mma.instructions import kind_instructions
from tilewise.hardware.mma.kinds import KINDS, Kind, container
from tilewise.hardware.mma.scales import Scales

# -- section 9.7.14.3: tables 36 and 40, and what the selectors do --------------------------------------

VALID = [
    ("mxf8f6f4", 1, "ue8m0"),
    ("mxf4", 2, "ue8m0"),
    ("mxf4nvf4", 2, "ue8m0"),
    ("mxf4nvf4", 4, "ue8m0"),
    ("mxf4nvf4", 4, "ue4m3"),
]
BYTES = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}
THREADS = {"SFA": (0, 1), "SFB": (0, 1, 2, 3)}
K = {"mxf8f6f4": (32, 64), "mxf4": (64, 128), "mxf4nvf4": (64, 128)}
"""{kind: K of the dense and of the sparse instruction}."""

EVERY = [
    (operand, kind, vector, dtype, byte, thread, sparse)
    for operand in ("SFA", "SFB")
    for kind, vector, dtype in VALID
    for byte in BYTES[vector]
    for thread in THREADS[operand]
    for sparse in (False, True)
]
NAMES = [" ".join(map(str, one)) for one in EVERY]


def contributes(operand, thread, lane):
    """Return whether a lane's register is read."""
    return lane % 4 == thread if operand == "SFB" else lane % 4 in {0: (0, 1), 1: (2, 3)}[thread]


def row_of(operand, lane):
    """The row whose scales a lane has: figures 43 and 44, and llama.cpp's loads of them."""
    return lane // 4 if operand == "SFB" else lane // 4 + lane % 2 * 8


def written(operand, vector, byte, thread, words):
    """[scales of each row], from the register of each lane."""
    rows = {}
    for lane, word in enumerate(words):
        if contributes(operand, thread, lane):
            rows[row_of(operand, lane)] = [word >> 8 * (byte + j) & 255 for j in range(vector)]
    return [rows[row] for row in sorted(rows)]


def scales(operand, kind, vector, dtype, byte, thread, sparse):
    return Scales.of(operand, kind, f"{vector}X", dtype, byte=byte, thread=thread, sparse=sparse)


@pytest.mark.parametrize(("operand", "kind", "vector", "dtype", "byte", "thread", "sparse"), EVERY, ids=NAMES)
def test_the_scales_that_the_layout_places_are_read(operand, kind, vector, dtype, byte, thread, sparse):
    rng = Random(f"{operand} {kind} {vector} {byte} {thread}")
    this = scales(operand, kind, vector, dtype, byte, thread, sparse)
    values = [[rng.randrange(256) for _ in range(vector)] for _ in range(this.rows)]
    assert this.rows == (16 if operand == "SFA" else 8)
    words = [rng.getrandbits(32) for _ in range(32)]
    for row in range(this.rows):
        for j in range(vector):
            place = this.layout.place(row, j).as_dict()
            lane, at = place["laneid"], place.get("reg", 0)
            words[lane] = words[lane] & ~(255 << 8 * at) | values[row][j] << 8 * at
    assert written(operand, vector, byte, thread, words) == values
    assert this.unpack(words) == values
    assert written(operand, vector, byte, thread, this.pack(values)) == values
    assert this.lanes == tuple(lane for lane in range(32) if contributes(operand, thread, lane))


@pytest.mark.parametrize(("operand", "kind", "vector", "dtype", "byte", "thread", "sparse"), EVERY, ids=NAMES)
def test_every_column_has_the_scale_of_its_block(operand, kind, vector, dtype, byte, thread, sparse):
    this = scales(operand, kind, vector, dtype, byte, thread, sparse)
    k = K[kind][sparse]
    assert this.block * vector == k
    for row in range(this.rows):
        for column in range(0, k, 8):
            lane, at = this.scale_of(row, column)
            assert contributes(operand, thread, lane)
            assert row_of(operand, lane) == row
            assert at == byte + column * vector // k


# -- a second source: what a device of sm_120 said to others ------------------------------------------------

PROBED = [
    *(("mxf8f6f4", "1X", "ue8m0", byte, thread) for byte in range(4) for thread in range(2)),
    *(("mxf4nvf4", "4X", "ue4m3", 0, thread) for thread in range(2)),
]
"""The probes of github.com/shiinamiyuki/sm120_gemm; its mxfp8_mma.cuh and nvfp4_mma.cuh have the answers."""


def probed(operand, row, thread):
    """The lane that it found for a row of A, or for a column of PTX's B."""
    return 4 * (row % 8) + 2 * thread + row // 8 if operand == "SFA" else 4 * row + thread


@pytest.mark.parametrize(("kind", "scale", "dtype", "byte", "thread"), PROBED)
def test_a_device_of_sm_120_said_the_same_to_others(kind, scale, dtype, byte, thread):
    for operand in ("SFA", "SFB"):
        this = Scales.of(operand, kind, scale, dtype, byte=byte, thread=thread)
        for row in range(this.rows):
            for j in range(this.scaling.vector):
                assert this.scale_of(row, j * this.block) == (probed(operand, row, thread), byte + j)


@pytest.mark.parametrize(("kind", "vector", "dtype"), VALID)
def test_scales_that_came_late_say_so(kind, vector, dtype):
    """PTX 9.1 has 4X of ue8m0, and the assembler of CUDA 13.0, which knows 9.0, does not."""
    late = [note for note in find("mma.SFA")(kind, f"{vector}X", dtype).notes if "came with PTX 9.1" in note]
    assert bool(late) == ((vector, dtype) == (4, "ue8m0"))
    assert {*late} <= {*find("mma.kinds")(kind).notes}


def test_scales_of_numpy_lose_no_bits():
    """Those of 8 bits, shifted to where they belong, would be 0."""
    np = pytest.importorskip("numpy")
    this = Scales.of("SFA", "mxf4", byte=2)
    given = [[row, 255 - row] for row in range(16)]
    words = this.pack(np.array(given, dtype=np.uint8))
    assert words == this.pack(given)
    assert this.unpack(np.array(words, dtype=np.uint32).view(np.int32)) == given


@pytest.mark.parametrize("one", EVERY, ids=NAMES)
def test_a_scale_is_in_bits_of_a_register(one):
    """In those of the one register of its lane; in the lowest byte, too, where a lane has one scale."""
    operand, kind, vector, dtype, byte, thread, sparse = one
    built = find(f"mma.{operand}")(kind, f"{vector}X", dtype, byte, thread, sparse)
    this = scales(*one)
    for row in range(this.rows):
        for j in range(vector):
            lane, first = this.scale_of(row, j * this.block)
            found = position_of(built, (row, j))
            assert (found.thread, found.register) == (lane, 0)
            assert (found.bits, found.name) == ((8 * first, 8 * first + 7), f"sf{first}")


def test_the_entries_have_every_instance_and_no_other():
    from tilewise.hardware.catalog.instances import instances_of

    for operand in ("SFA", "SFB"):
        found = {
            (v["kind"], int(v["scale"][0]), v["dtype"], v["byte"], v["thread"], v["sparse"])
            for v in instances_of(find(f"mma.{operand}")).values()
        }
        assert found == {one[1:] for one in EVERY if one[0] == operand}


# -- the kinds --------------------------------------------------------------------------------------------


def test_the_table_of_kinds():
    assert [
        (kind.name, each.vector, each.dtype) for kind in KINDS.values() for each in kind.scalings
    ] == VALID
    assert {name: (kind.shape().k, kind.shape(sparse=True).k) for name, kind in KINDS.items()} == {
        "f8f6f4": (32, 64),
        **K,
    }


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("e4m3", "76543210"),
        ("e5m2", "76543210"),
        ("e3m2", "..543210"),
        ("e2m3", "..543210"),
        ("e2m1", "..3210.."),
    ],
)
@pytest.mark.parametrize("entry", ["mma.A", "mma.B", "mma.sp.A", "mma.sp.B"])
def test_the_bits_of_a_byte_that_an_element_has(entry, dtype, bits):
    """Six bits lie low in their byte and four in its middle; what is drawn is the highest bit first."""
    shape = "m16n8k64" if ".sp." in entry else "m16n8k32"
    built = find(entry)(shape, dtype)
    drawn = bits[::-1]
    low, high = (next(i for i in some if drawn[i] != ".") for some in (range(8), range(7, -1, -1)))
    for column in range(8):
        found = position_of(built, (1, column))
        assert found.bits == (column % 4 * 8 + low, column % 4 * 8 + high)
    assert container(shape, dtype, ".sp." in entry) == (8, low)
    facts = built.facts.get("container")
    assert (facts is None) == ("." not in bits)
    assert facts in (None, {"bits": 8, "lowest": low, "highest": high})


def test_mxf4_packs():
    found = position_of(find("mma.A")("m16n8k64", "e2m1"), (0, 3))
    assert (found.register, found.bits) == (0, (12, 15))
    assert "container" not in find("mma.sp.A")("m16n8k128", "e2m1").facts


def test_instructions_of_one_shape_are_braced_and_none_is_lost():
    facts = find("mma.kinds")("mxf8f6f4").facts
    every = {str(this) for this in kind_instructions() if this.kind.name == "mxf8f6f4"}
    spelled = set()
    for text in facts["instructions"]:
        first, a, b, last = re.fullmatch(r"(.*)\.\{([^}]*)\}\.\{([^}]*)\}(\..*)", text).groups()
        spelled |= {f"{first}.{one}.{other}{last}" for one in a.split(",") for other in b.split(",")}
    assert spelled == every
    assert len(every) == 50


# -- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "said", "hint"),
    [
        (lambda: Scales.of("SFA", "f8f6f4"), "kind::f8f6f4 has no scales", "mxf8f6f4 mxf4 mxf4nvf4 have"),
        (
            lambda: Scales.of("SFA", "mxf4", "4X"),
            "kind::mxf4 has no scales 4X",
            "it has scale_vec::2X of ue8m0",
        ),
        (lambda: Scales.of("SFA", "mxf4", 2), "kind::mxf4 has no scales 2", "it has scale_vec::2X"),
        (lambda: Scales.of("SFA", "mxf4", None, 8), "kind::mxf4 has no scales 8", "it has scale_vec::2X"),
        (
            lambda: Scales.of("SFB", "mxf4nvf4", "2X", "ue4m3"),
            "has no scales 2X of ue4m3",
            "scale_vec::4X of ue4m3",
        ),
        (lambda: Scales.of("SFA", "mxf4", byte=1), "no byte 1: 2 bytes of a register", "byte is 0 or 2"),
        (
            lambda: Scales.of("SFA", "mxf4nvf4", "4X", "ue4m3", byte=2),
            "SFA of mxf4nvf4 with scale_vec::4X of ue4m3 has no byte 2",
            "byte is 0",
        ),
        (lambda: Scales.of("SFA", "mxf4", thread=2), "no thread 2: a pair of each four", "thread is 0 or 1"),
        (
            lambda: Scales.of("SFB", "mxf4", thread=4),
            "no thread 4: one of each four",
            "thread is 0 or 1 or 2 or 3",
        ),
        (lambda: KINDS["mxf4"].check("e3m2"), "kind::mxf4 does not multiply e3m2", "it multiplies e2m1"),
    ],
    ids=[
        "none",
        "vector",
        "number",
        "type of a number",
        "type",
        "byte of two",
        "byte of four",
        "pair",
        "lane",
        "element",
    ],
)
def test_what_there_is_not_is_refused(ask, said, hint):
    with pytest.raises(Refused) as no:
        ask()
    assert (no.value.code, said in no.value.reason, hint in no.value.hint) == ("TW602", True, True)
    assert no.value.witness


@pytest.mark.parametrize(
    ("ask", "said", "hint"),
    [
        (lambda: Kind.of("mxf6"), "'mxf6' is no kind of mma", "known: f8f6f4 mxf8f6f4 mxf4 mxf4nvf4"),
        (lambda: Scales.of("SF", "mxf4"), "'SF' are no scales", "SFA or SFB"),
        (lambda: Scales.of("SFA", "mxf4nvf4"), "several scalings", "scale_vec::2X of ue8m0 and"),
    ],
    ids=["kind", "operand", "several"],
)
def test_what_is_not_understood(ask, said, hint):
    with pytest.raises(LayoutError) as error:
        ask()
    assert (error.value.code, said in str(error.value), hint in error.value.hint) == ("TW601", True, True)


@pytest.mark.parametrize(
    ("ask", "code", "said"),
    [
        (lambda this: this.pack(16 * [[1]]), "TW202", "SFA of mxf4 has 16 rows of 2 scales"),
        (lambda this: this.pack(15 * [[1, 2]] + [[1, 256]]), "TW201", "row 15: 256 is no byte"),
        (lambda this: this.unpack([0]), "TW202", "32 registers, and 1 were given"),
    ],
    ids=["rows", "byte", "lanes"],
)
def test_what_has_another_size_is_refused(ask, code, said):
    with pytest.raises(LayoutError) as error:
        ask(Scales.of("SFA", "mxf4"))
    assert (error.value.code, said in str(error.value)) == (code, True)


def test_scales_of_four_steps_share_a_register():
    rng = Random(4)
    steps = [[[rng.randrange(256)] for _ in range(16)] for _ in range(4)]
    words = [0] * 32
    for byte, values in enumerate(steps):
        packed = Scales.of("SFA", "mxf8f6f4", byte=byte).pack(values)
        words = [word | more for word, more in zip(words, packed, strict=True)]
    assert [Scales.of("SFA", "mxf8f6f4", byte=byte).unpack(words) for byte in range(4)] == steps


# -- what programs read -------------------------------------------------------------------------------------

KEYS = {
    "mma.sp.A(m16n8k64, dtype=e2m1)": "chunk means metadata dtype elements registers container",
    "mma.sp.B(m16n8k32, dtype=f16)": "dtype elements registers",
    "mma.sp.D(m16n8k32, dtype=f32)": "dtype elements registers",
    "mma.E(m16n8k32, dtype=f16)": "dtype chunk means indices patterns selectors lanes",
    "mma.SFA(mxf4, scale=2X)": "dtype scales bytes threads lanes",
    "mma.SFB(mxf4, scale=2X)": "dtype scales bytes threads lanes",
    "mma.kinds(mxf4)": "kind types results shapes bits scales",
    "mma.sp.shapes(s8)": "dtype shapes runs_as",
}
"""{call: the keys of its facts beside `instructions` and `architectures`}."""


@pytest.mark.parametrize("call", KEYS)
def test_the_names_of_facts_stay(call):
    from tilewise.hardware.calls import read_call

    entry, given, named = read_call(call)
    facts = entry(*given, **named).facts
    assert {*facts} - {"instructions", "architectures"} == {*KEYS[call].split()}


def test_a_vector_may_be_said_in_small_letters():
    assert Scales.of("SFB", "mxf4", "2x") == Scales.of("SFB", "mxf4", "2X")
