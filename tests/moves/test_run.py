"""`move` and bound plans on the CPU: what they give and refuse, and what reaches a driver that is made up."""

import ctypes
import re
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from tests.moves import shim

import tilewise
from tilewise import LayoutError, Refused, S, Swizzle, laneid, plan
from tilewise.moves import move
from tilewise.moves.arrays import device, exchanged, run
from tilewise.moves.arrays.run import bound_of
from tilewise.moves.arrays.storage import NUMPY, handle_of
from tilewise.moves.kernels.checked import BeyondStorage, Fault
from tilewise.moves.kernels.tile_kernel import STATIC
from tilewise.moves.pairs.fills import element_of, packed
from tilewise.simulate.numbers import decode

TURN = S[3, 4], S[(3, 4) : (1, 3)]
PAIR = np.dtype([("a", "i4"), ("b", "f4")])


def refused(code, *said):
    """The error of a code, the message of which says all of that."""
    return pytest.raises(LayoutError, match=f"(?s)^{code}: " + "".join(f"(?=.*{word})" for word in said))


# -- what is given ---------------------------------------------------------------------------------


def test_the_module_is_the_move():
    assert tilewise.move(np.arange(12), *TURN).tolist() == move(np.arange(12), *TURN).tolist()
    assert tilewise.plan is plan


def test_a_result_has_the_type_of_the_source():
    assert move(np.arange(12, dtype=np.float32), *TURN).dtype == np.float32


def test_without_a_source_the_array_is_read_by_its_strides():
    array = np.arange(24).reshape(4, 6)[:, ::2].T
    assert move(array, None, S[3, 4]).reshape(3, 4).tolist() == array.tolist()


def test_an_axis_of_one_element_steps_nowhere():
    pairs = np.arange(8.0).reshape(4, 1, 2)[::2, ::-1]
    alone = np.zeros(2, [("a", "i4"), ("b", "i2")])["a"][:1]
    assert (pairs.strides, alone.strides) == ((32, -16, 8), (6,))
    assert move(pairs, None, S[2, 1, 2]).tolist() == [0, 1, 4, 5]
    assert move(pairs, S[(2, 2) : (4, 1)], S[4]).tolist() == [0, 1, 4, 5]
    assert move(alone, None, S[1]).tolist() == [0]


def test_the_same_layouts_move_arrays_of_other_strides():
    target = S[3, 4]
    for array in (np.arange(12).reshape(3, 4), np.arange(12).reshape(4, 3).T):
        assert move(array, None, target).reshape(3, 4).tolist() == array.tolist()


def test_fills_that_are_equal_and_not_the_same_are_kept_apart():
    array, target = np.ones(1), S[1] + 1
    found = [str(move(array, S[1], target, fill=fill)[0]) for fill in (0, -0.0, float("nan"), 0.0, 2, 2.5)]
    assert found == ["0.0", "-0.0", "nan", "0.0", "2.0", "2.5"]


def test_a_shape_may_be_a_list():
    assert move(np.arange(6), None, S[6], shape=[6]).tolist() == list(range(6))


@pytest.mark.parametrize(
    ("shape", "near"),
    [(6, 6.0), ((2, 3), (2.0, 3)), (((2, 3), 1), ((2, 3), True)), ([2, 3], [2, 3.0]), (np.int64(6), 6.0)],
)
@pytest.mark.parametrize("other", [False, True])
def test_a_shape_that_equals_one_of_a_call_before_is_refused_as_ever(shape, near, other):
    """Layouts that are equal have plans together, and calls of their own."""
    source = S[shape]
    target = source + 0 if other else source
    x = np.arange(6)
    for _ in range(2):
        assert move(x, source, source, shape=shape).tolist() == x.tolist()
        with refused("TW101", "extent"):
            move(x, source, target, shape=near)


def test_storage_beyond_the_last_whole_element_is_filled():
    given = np.arange(1, 3, dtype=np.uint32)
    assert move(given, S[5], S[5], dtype="u8", fill=9).view(np.uint8).tolist() == [1, 0, 0, 0, 2, 9, 9, 9]


@pytest.mark.parametrize(("box", "holes"), [((2, 3), 9), (None, 9)])
def test_out_keeps_its_holes_and_gets_the_fill_of_its_elements(box, holes):
    target = S[(2, 4) : (6, 1)]
    source = S[2, 3] if box else S[2, 4]
    given = np.arange(source.size, dtype=np.int32)
    out = np.full(12, holes, np.int32)
    assert move(given, source, target, out, shape=box, fill=7) is out
    rows = given.reshape(source.shape)
    beyond = [[7], [7]] if box else [[], []]
    wanted = [[*row, *more, holes, holes] for row, more in zip(rows, beyond, strict=True)]
    assert out.reshape(2, 6).tolist() == wanted


@pytest.mark.parametrize("given", [False, True])
def test_elements_beyond_the_box_are_filled_where_no_digits_are_common(given):
    source, target = S[((2, 3),) : ((4, 1),)], S[((3, 4),) : ((1, 3),)]
    assert plan(source, target, "u8", shape=(6,)).pair.digits is None
    x, out = np.arange(12, dtype=np.uint8), np.full(12, 9, np.uint8) if given else None
    found = move(x, source, target, out, shape=(6,), fill=7)
    wanted = [7] * 12
    for element in range(6):
        wanted[target.place(element)["m"]] = source.place(element)["m"]
    assert found.tolist() == wanted


def test_elements_beyond_the_box_are_filled_by_a_move_that_is_made_once(monkeypatch):
    made, once = [], run.memory_plan
    monkeypatch.setattr(
        run, "memory_plan", lambda *words, **asked: made.append(words) or once(*words, **asked)
    )
    padded = plan(S[2, 3], S[(2, 4) : (6, 1)], "s32", shape=(2, 3), fill=7).bind()
    for first in (0, 10):
        x, out = np.arange(first, first + 6, dtype=np.int32), np.full(10, 9, np.int32)
        padded(x, out)
        assert out.tolist() == [*x[:3], 7, 9, 9, *x[3:], 7]
    assert len(made) == 1


def test_a_bound_plan_moves_arrays_of_any_type_of_its_width():
    turn = plan(*TURN, "f32").bind()
    for kind in (np.float32, np.int32):
        assert turn(np.arange(12, dtype=kind)).tolist() == move(np.arange(12, dtype=kind), *TURN).tolist()


@pytest.mark.parametrize(
    ("given", "dtype", "read"),
    [
        ("u1", "u16", "u2"),
        ("u4", "u8", "u1"),
        ("F", "f32", "f4"),
        ("f8", "b128", "D"),
        ("M8[s]", "u16", "u2"),
    ],
)
def test_the_bytes_of_an_array_are_read_as_a_type_of_another_width(given, dtype, read):
    """As NumPy's view has them; the result is of the array's own type again."""
    x = np.frombuffer(np.random.default_rng(1).bytes(96), given)
    elements = x.view(read).reshape(2, -1)
    columns = elements.shape[1]
    found = move(x, S[2, columns], S[(2, columns) : (1, 2)], dtype=dtype)
    assert found.dtype == x.dtype
    assert found.tobytes() == np.ascontiguousarray(elements.T).tobytes()
    bound = plan(S[2, columns], S[(2, columns) : (1, 2)], dtype).bind()
    assert bound(x).tobytes() == found.tobytes()


def test_a_type_of_the_same_width_may_be_said_of_an_array_with_its_own_strides():
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    assert move(array, None, S[6], dtype="u32").tolist() == array.ravel().tolist()


def test_out_is_whole_elements():
    with refused("TW704", "out has 7 bytes, no whole elements of u16"):
        move(np.zeros(6, np.uint8), S[3], S[3], np.zeros(7, np.uint8), dtype="u16")


def test_a_bound_plan_of_4_bits_refuses_elements_of_a_byte_each(monkeypatch):
    sides, x = (S[2, 4], S[(2, 4) : (1, 2)]), np.array([0x10, 0x32, 0x54, 0x76], np.uint8)
    ready = plan(*sides, "s4").bind()
    assert ready(x).tolist() == move(x, *sides, dtype="s4").tolist() == [0x40, 0x51, 0x62, 0x73]
    monkeypatch.setattr(
        "tilewise.moves.arrays.run.storage_of", lambda array: replace(NUMPY.seen(array), type="int4")
    )
    for asked in (lambda: ready(x), lambda: move(x, *sides, dtype="s4")):
        with pytest.raises(LayoutError, match="two to a byte") as refused:
            asked()
        assert refused.value.code == "TW106"


def test_a_bound_plan_says_which():
    assert repr(plan(S[4], S[4:2], "u8").bind()) == "<Bound of <Plan gather: u8 from S[4 : 1] to S[4 : 2]>>"


def test_fills_that_are_printed_alike_are_kept_apart():
    x, source, target = np.ones(1), S[1], S[1] + 1
    with np.printoptions(precision=3):
        made = [move(x, source, target, fill=np.array(fill))[0] for fill in (0.12345, 0.12346)]
    assert made == [0.12345, 0.12346]


def test_types_that_are_said_of_the_same_array_are_kept_apart():
    x, source, target = np.arange(32, dtype=np.uint8), S[2, 2], S[(2, 2) : (1, 2)]
    for dtype, read in (("u8", "u1"), ("u16", "u2"), (None, "u1"), ("u64", "u8"), ("u32", "u4")):
        wanted = x.view(read)[:4].reshape(2, 2).T.tobytes()
        assert move(x, source, target, dtype=dtype).tobytes() == wanted


def test_calls_are_remembered_by_the_layouts_and_found_again(monkeypatch):
    made = []
    monkeypatch.setattr(
        "tilewise.moves.arrays.run.bound_of", lambda *words: made.append(words) or bound_of(*words)
    )
    source, target = S[5, 7], S[(5, 7) : (1, 5)]
    for _ in range(3):
        move(np.arange(35), source, target)
    assert len(made) == 1
    move(np.arange(35, dtype=np.float32), source, target)
    move(np.arange(35), source, target, fill=1)
    assert len(made) == 3


def test_what_another_thread_forgets_amid_a_call_is_moved_all_the_same(monkeypatch):
    class Forgetful(dict):
        def __setitem__(self, key, value):
            """As if another had emptied it right after."""

    monkeypatch.setattr(run, "_known", Forgetful())
    assert move(np.arange(12), *TURN)[:4].tolist() == [0, 4, 8, 1]


def test_what_is_remembered_has_a_bound(monkeypatch):
    monkeypatch.setattr(run, "REMEMBERED", 3)
    for count in range(1, 9):
        move(np.arange(count), S[count], S[count])
    assert len(run._known) <= 3


def test_the_cpu_has_no_use_for_the_way_of_a_gpu(monkeypatch):
    def asked(pair, aligned):
        raise AssertionError("a tile was looked for")

    monkeypatch.setattr(sys.modules["tilewise.moves.memory"], "way_of", asked)
    assert move(np.arange(6), S[2, 3], S[(2, 3) : (1, 2)]).tolist() == [0, 3, 1, 4, 2, 5]
    assert move(np.arange(4), S[4], S[4:2], fill=9).tolist() == [0, 9, 1, 9, 2, 9, 3]
    padded = move(np.arange(6), S[2, 3], S[(2, 4) : (1, 2)], shape=(2, 3), fill=9)
    assert padded.tolist() == [0, 3, 1, 4, 2, 5, 9, 9]
    halves = move(np.array([0x21, 0x03], np.uint8), S[3], S[3], dtype="u4", fill=15)
    assert halves.tolist() == [0x21, 0xF3]
    with pytest.raises(AssertionError, match="a tile"):
        _ = plan(S[2, 3], S[(2, 3) : (1, 2)], "u8").way


# -- arrays that are known by DLPack ---------------------------------------------------------------


class Spoken:
    """An array of a library of which nothing is known but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self):
        return SimpleNamespace(asarray=type(self))


class Converted(Spoken):
    """One that NumPy converts as well."""

    def __array__(self, dtype=None, copy=None):
        return self.array


class Nameless:
    """One that has no library for a result."""

    __dlpack__, __dlpack_device__ = Spoken.__dlpack__, Spoken.__dlpack_device__


LIBRARIES = pytest.mark.parametrize("library", [np.asarray, Spoken, Converted])
"""All of them are read as NumPy's own arrays are."""


def repeated(array, count):
    """As `np.broadcast_to` has it, but not read-only, which DLPack did not say before its version 1."""
    return np.lib.stride_tricks.as_strided(array, (count,), (0,))


@pytest.mark.parametrize("library", [Spoken, Converted])
def test_a_result_is_handed_to_the_library_that_the_array_names(library):
    made = move(library(np.arange(12)), *TURN)
    assert type(made) is library
    assert made.array.tolist() == move(np.arange(12), *TURN).tolist()


@LIBRARIES
def test_arrays_of_all_libraries_are_read_by_their_own_strides(library):
    row = np.arange(8.0)
    views = row[::2], row[5:], repeated(row[5:], 3), row.reshape(2, 4).T, row.reshape(4, 1, 2)[::2, ::-1]
    for view in views:
        made = move(library(view), None, S[view.shape])
        assert np.array_equal(getattr(made, "array", made), view.ravel())


@LIBRARIES
@pytest.mark.parametrize(
    ("view", "source", "code", "said"),
    [
        (np.arange(6.0)[::-1], S[6], "TW701", "steps down"),
        (np.arange(6.0)[::-1], None, "TW701", "steps down"),
        (np.arange(6.0).reshape(2, 3)[:, ::-1], S[6], "TW701", "steps down"),
        (repeated(np.arange(6.0)[5:], 6), S[6], "TW704", "8 bytes.*reaches 48"),
        (np.arange(6.0)[::2], S[6], "TW704", "40 bytes.*reaches 48"),
        (np.zeros(0), S[6], "TW704", "0 bytes.*reaches 48"),
    ],
)
def test_no_memory_beyond_a_view_is_read(library, view, source, code, said):
    with refused(code, said):
        move(library(view), source, S[6])


@LIBRARIES
def test_the_hint_of_what_steps_down_fits_x_and_out(library):
    down = library(np.arange(6.0)[::-1])
    for given in ({"x": down}, {"x": library(np.arange(6.0)), "out": down}):
        with pytest.raises(LayoutError, match="steps down") as no:
            move(source=S[6], target=S[6], **given)
        assert no.value.hint == "pass the storage from its lowest element, and say the steps in its layout"


@pytest.mark.parametrize(
    ("library", "said"), [(Spoken, "NumPy does not read the Spoken"), (Converted, "type object")]
)
def test_objects_are_not_moved(library, said):
    with refused("TW704", said):
        move(library(np.array([None])), S[1], S[1], dtype="b64")


def test_what_numpy_does_not_read_is_refused(monkeypatch):
    def unread(self, **asked):
        raise BufferError("bfloat16 is not known\n")

    monkeypatch.setattr(Spoken, "__dlpack__", unread)
    with refused("TW704", "NumPy does not read the Spoken: bfloat16 is not known"):
        move(Spoken(np.zeros(6)), S[6], S[6])


def test_an_array_on_a_gpu_that_steps_down_is_refused(monkeypatch):
    monkeypatch.setattr(exchanged, "_own", lambda index: (None, SimpleNamespace(handle=0)))
    monkeypatch.setattr(Spoken, "__dlpack_device__", lambda self: (2, 0))
    monkeypatch.setattr(Spoken, "__dlpack__", lambda self, stream: self.array.__dlpack__())
    for source in (S[6], None):
        with refused("TW701", "steps down"):
            move(Spoken(np.arange(6.0)[::-1]), source, S[6])


def test_an_array_that_names_no_library_for_its_result_is_refused():
    with refused("TW704", "Nameless", "__array_namespace__", r"np\.from_dlpack\("):
        move(Nameless(), S[6], S[6])


# -- fills -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fill", [5, b"\x05", b"\x55"])
def test_elements_of_4_bits_are_filled_alike_by_numbers_and_bytes_with_and_without_out(fill):
    x, asked = np.array([0x21, 0x43, 0x65], np.uint8), {"shape": (2, 3), "dtype": "u4", "fill": fill}
    into = np.zeros(4, np.uint8)
    move(x, S[2, 3], S[2, 4], out=into, **asked)
    assert into.tolist() == move(x, S[2, 3], S[2, 4], **asked).tolist() == [0x21, 0x53, 0x54, 0x56]
    assert plan(S[2, 3], S[2, 4], **asked).kernel == plan(S[2, 3], S[2, 4], **asked | {"fill": 5}).kernel


@pytest.mark.parametrize(
    ("fill", "dtype", "wanted"),
    [
        (1.0, "f32", "0000803f"),
        (-2, "f16", "00c0"),
        (1, "bf16", "803f"),
        (1.00390625, "bf16", "803f"),
        (1.01171875, "bf16", "823f"),
        (float("inf"), "bf16", "807f"),
        (-1, "s8", "ff"),
        (255, "u8", "ff"),
        (-8, "s4", "88"),
        (2.0, "b16", "0200"),
        (1 + 2**-8 + 2**-40, "bf16", "813f"),
        (1 + 2**-11 + 2**-40, "tf32", "0020803f"),
        (0, "e4m3", "00"),
        (-0.0, "e4m3", "80"),
        (0, "ue8m0", "00"),
        (0.5, "ue8m0", "7e"),
        (450, "e4m3", "7e"),
        (0, "e4m3fnuz", "00"),
        (b"\x38", "e4m3", "38"),
        (b"\x12\x34", "u16", "1234"),
        (b"\x05", "u4", "55"),
        (b"\x55", "u4", "55"),
    ],
)
def test_a_fill_is_the_bytes_of_an_element(fill, dtype, wanted):
    assert element_of(fill, tilewise.DType.of(dtype)).hex() == wanted


@pytest.mark.parametrize("dtype", ["f16", "bf16", "e5m2", "e4m3", "ue4m3", "ue8m0", "e2m1"])
def test_every_number_of_a_type_is_an_element_of_it(dtype):
    """Its bits are those of which `decode` says the number."""
    kind = tilewise.DType.of(dtype)
    step = 1 if kind.bits <= 8 else 97
    for code in range(0, 1 << kind.bits, step):
        number = float(decode(code, kind))
        own = code & 0x7F if dtype == "ue4m3" else code
        if not np.isnan(number):
            assert element_of(number, kind) == packed(own, kind), number


def test_floats_of_eight_bits_fill_in_python():
    filled = move(np.zeros(2, np.uint8), S[2], S[2:2] + 1, dtype="e4m3", fill=0.5)
    assert filled.tolist() == [0x30, 0, 0x30, 0]


def test_a_bf16_that_is_no_number_stays_none():
    word = int.from_bytes(element_of(float("nan"), tilewise.DType.of("bf16")), "little")
    assert word & 0x7F80 == 0x7F80
    assert word & 0x7F


@pytest.mark.parametrize(
    ("fill", "dtype"),
    [
        (256, "u8"),
        (-1, "u8"),
        (1.5, "s32"),
        (float("nan"), "u8"),
        (float("inf"), "s8"),
        (16, "u4"),
        (1e6, "f16"),
        (1e39, "f32"),
        (3.4e38, "bf16"),
        ("1", "u8"),
        ("1", "f32"),
        (1, "e4m3fnuz"),
        (1000, "e4m3"),
        (float("inf"), "e4m3"),
        (-1, "ue4m3"),
        (7, "e2m1"),
        (float("nan"), "e2m1"),
        (3, "ue8m0"),
        (3.4028235e38, "tf32"),
        ("1", "e4m3"),
        (b"\0", "u16"),
        (b"\x25", "u4"),
        (b"\x50", "e2m1"),
    ],
)
def test_a_fill_that_the_type_does_not_hold_is_refused(fill, dtype):
    with refused("TW705", dtype):
        plan(S[2], S[2] + 1, dtype, fill=fill)


@pytest.mark.parametrize(
    ("fill", "kind"), [(300, np.uint8), (-1, np.uint16), (1.5, np.int32), (1e6, np.float16), ("x", np.int8)]
)
def test_a_fill_of_an_arrays_own_type_is_held_to_it(fill, kind):
    with refused("TW705", np.dtype(kind).name):
        move(np.zeros(2, kind), S[2], S[2] + 1, fill=fill)


@pytest.mark.parametrize(
    ("x", "fill", "filled"),
    [
        (np.array(["a", "b"]), 0, ""),
        (np.array(["a", "b"]), "z", "z"),
        (np.array([b"a", b"b"]), b"z", b"z"),
        (np.array([b"abcd", b"b"]), b"z", b"z"),
        (np.array([1, 2], "M8[D]"), 0, np.datetime64(0, "D")),
        (np.array([1, 2], "m8[s]"), np.timedelta64(7, "s"), np.timedelta64(7, "s")),
        (np.array([(1, 2), (3, 4)], [("a", "u1"), ("b", "u1")]), 0, (0, 0)),
        (np.array([(1, 2), (3, 4)], [("a", "u1"), ("b", "u1")]), (5, 6), (5, 6)),
        (np.array([(1, 2)] * 2, PAIR), np.array((5, 6.5), PAIR)[()], (5, 6.5)),
        (np.array([1, 2], np.complex64), 1 + 2j, 1 + 2j),
        (np.array([1, 2], np.complex128), 1.5e308 + 1.5e308j, 1.5e308 + 1.5e308j),
    ],
)
def test_what_is_no_number_is_moved_and_filled(x, fill, filled):
    wanted = np.array([filled, x[0], filled, x[1]], x.dtype)
    assert move(x, S[2], S[2:2] + 1, fill=fill).tolist() == wanted.tolist()


@pytest.mark.parametrize("kind", ["M8", "m8"])
@pytest.mark.parametrize("unit", ["", "[s]", "[D]"])
def test_no_time_fills_times_of_every_unit(kind, unit):
    x, nothing = np.zeros(1, f"{kind}[s]"), np.array("NaT", kind + unit)
    for fill in (nothing, nothing[()]):
        for words in ({}, {"dtype": x.dtype}):
            assert np.isnat(move(x, S[1], S[1] + 1, fill=fill, **words)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("x", "fill"),
    [
        (np.zeros(1, "M8[s]"), np.timedelta64("NaT")),
        (np.zeros(1, "m8[s]"), np.datetime64("NaT", "s")),
        (np.zeros(1, "M8[s]"), np.array(["NaT", "NaT"], "M8")),
        (np.zeros(1, "i8"), np.datetime64("NaT")),
        (np.zeros(1, "f8"), np.timedelta64("NaT")),
        (np.array(["a", "b"]), 5),
        (np.array(["a", "b"]), "longer"),
        (np.array([1, 2], "M8[D]"), 5),
        (np.zeros(2, np.float32), "inf"),
        (np.zeros(2, np.float32), "1"),
        (np.zeros(2, np.float32), [1]),
        (np.zeros(2, np.float32), b"1"),
        (np.zeros(2, np.int16), bytearray(3)),
        (np.array([b"abcd", b"b"]), b"longer"),
        (np.zeros(2, np.float64), 1 + 2j),
        (np.zeros(2, np.float32), np.complex64(1 + 2j)),
        (np.zeros(2, np.int8), 1 + 2j),
        (np.zeros(2, np.int8), float("nan")),
        (np.zeros(2, np.uint8), np.float32("inf")),
        (np.zeros(2, np.complex64), 1e300),
        (np.zeros(2, PAIR), (1, 2, 3)),
        (np.zeros(2, np.int8), np.array([1, 2])),
    ],
)
def test_a_fill_of_another_kind_is_refused(x, fill):
    with refused("TW705", re.escape(str(x.dtype))):
        move(x, S[2], S[2] + 1, fill=fill)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [slice(0, 12), slice(6, 18), slice(11, 23)])
def test_out_that_shares_memory_with_the_source_is_refused(part):
    memory = np.arange(40)
    with refused("TW704", "share memory"):
        move(memory[:12], *TURN, memory[part])


@pytest.mark.parametrize(("given", "out"), [(slice(0, 12), slice(12, 24)), (slice(12, 24), slice(0, 12))])
def test_neighbours_share_no_memory(given, out):
    memory = np.arange(24)
    wanted = memory[given].reshape(3, 4).T.flatten().tolist()
    move(memory[given], *TURN, memory[out])
    assert memory[out].tolist() == wanted


def read_only():
    out = np.zeros(12, np.int64)
    out.flags.writeable = False
    return out


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (np.zeros(11, np.int64), "88 bytes.*reaches 96.*12 elements"),
        (np.zeros(24, np.int64)[::2], "not contiguous"),
        (read_only(), "read-only"),
        (np.zeros(12, np.float64), "int64.*float64"),
        (np.zeros(12, np.int32), "int64.*int32"),
        ([0] * 12, "list is no array"),
        (np.ndarray, "type is no array"),
    ],
)
def test_an_out_that_cannot_take_the_result_is_refused(out, said):
    with refused("TW704", said):
        move(np.arange(12), *TURN, out)


def test_an_out_elsewhere_is_refused(monkeypatch):
    class Elsewhere(np.ndarray):
        pass

    away = type("Away", (type(NUMPY),), {"name": "a friend"})()
    monkeypatch.setitem(sys.modules["tilewise.moves.arrays.storage"]._LIBRARIES, Elsewhere, away)
    with refused("TW704", "x is NumPy's on the CPU, out is a friend's on the CPU"):
        move(np.arange(12), *TURN, np.zeros(12, np.int64).view(Elsewhere))


@pytest.mark.parametrize("name", ["x", "out"])
def test_storage_that_begins_inside_an_element_is_refused(name):
    whole = np.zeros(12, np.float64)
    inside = np.frombuffer(bytearray(8 * 12 + 4), np.uint8)[4:].view(np.float64)
    given, out = (inside, whole) if name == "x" else (whole, inside)
    with refused("TW704", f"{name} begins at", "8 bytes"):
        move(given, *TURN, out)


@pytest.mark.parametrize(
    ("x", "source", "target", "words", "code", "said"),
    [
        (np.arange(11), *TURN, {}, "TW704", "88 bytes.*96: 12 elements of b64"),
        (np.arange(12), S[3, 4], S[13], {}, "TW702", "12 elements.*13"),
        (np.arange(12), S[12], S[12] - 1, {}, "TW701", "target.*below zero.*-1"),
        (np.arange(12), S[(12,) : (-1,)], S[12], {}, "TW701", "source.*below zero"),
        (np.arange(12)[::-1], None, S[12], {}, "TW701", "steps down"),
        (np.arange(12), S[12], S[(3, 4) : (4, 2)], {}, "TW703", "two elements"),
        (np.arange(12), S[12], S[12 : 1 @ laneid], {}, "TW701", "laneid"),
        (np.arange(12), S[12], S[12], {"dtype": "f31"}, "TW105", "f31"),
        (np.arange(12), S[12], S[12], {"dtype": ["u8"]}, "TW105", "u8"),
        (np.arange(12), S[12], S[12], {"shape": np.array([12])}, "TW702", "no shape"),
        (np.arange(12), "", S[12], {}, "TW107", "a layout for the source"),
        (np.arange(12), S[12], S[12], {"dtype": "e2m3"}, "TW602", "6 bits"),
        (np.arange(12), S[12], S[12], {"shape": (2.5,)}, "TW101", "2.5"),
        (np.arange(12), S[12], S[12], {"shape": "twelve"}, "TW101", "twelve"),
        (np.arange(12), S[12], S[12], {"shape": 10**5000}, "TW005", "digits"),
        (np.arange(12), "S[12]", S[12], {}, "TW107", "a layout for the source"),
        (np.arange(12), S[12], (12,), {}, "TW107", "a layout for the target"),
        (np.zeros(0), None, S[1], {}, "TW704", "no element"),
        (np.zeros(6, "u1"), S[1], S[1], {"dtype": "f32"}, "TW704", "x has 6 bytes, no whole elements of f32"),
        (np.zeros(3, "u2"), S[1], S[1], {"dtype": "b128"}, "TW704", "6 bytes.*reaches 16: 1 element of b128"),
        (np.zeros((2, 3), "f4"), None, S[6], {"dtype": "u8"}, "TW106", "4 bytes.*u8 has 8 bits"),
        (np.zeros(8, "u1"), None, S[2], {"dtype": "f32"}, "TW106", "1 byte.*f32 has 32 bits"),
        (np.zeros(4, "u1"), None, S[8], {"dtype": "u4"}, "TW106", "1 byte.*u4 has 4 bits"),
        (np.zeros((3, 2), "V3"), None, S[6], {}, "TW704", "3 bytes"),
        (np.array([None, 1]), S[2], S[2], {}, "TW704", "object"),
        ([1, 2, 3], S[3], S[3], {}, "TW704", "list is no array"),
    ],
)
def test_what_cannot_be_moved_is_refused(x, source, target, words, code, said):
    with refused(code, said):
        move(x, source, target, **words)


def test_strides_that_are_no_whole_elements_are_refused():
    array = np.zeros(6, [("a", "i2"), ("b", "i4")])["b"]
    with refused("TW704", "strides"):
        move(array, None, S[6])


@pytest.mark.parametrize("mask", [np.ma.nomask, [True, False] * 6])
def test_a_mask_is_not_dropped(mask):
    masked = np.ma.array(np.arange(12), mask=mask)
    for x, out in ((masked, None), (np.arange(12), masked)):
        with refused("TW704", "mask", r"filled\(", r"getmaskarray\("):
            move(x, *TURN, out)
    with refused("TW704", "mask"):
        plan(*TURN, "s64").bind()(masked)
    assert move(masked.filled(-1), *TURN).tolist() == move(np.asarray(masked.filled(-1)), *TURN).tolist()


@pytest.mark.parametrize("stream", [0, 5, "fast"])
def test_on_the_cpu_there_is_no_stream(stream):
    x, out = np.arange(12), np.full(12, -1)
    for given in (None, out):
        with refused("TW704", "stream", "NumPy's on the CPU"):
            move(x, *TURN, given, stream=stream)
        with refused("TW704", "stream", "NumPy's on the CPU"):
            plan(*TURN, "s64").bind()(x, given, stream=stream)
    assert out.tolist() == [-1] * 12
    assert move(x, *TURN, stream=None).tolist() == move(x, *TURN).tolist()


def test_a_result_that_no_memory_holds_is_refused_with_its_size():
    with refused("TW706", f"{8 << 50} bytes, which the CPU does not give"):
        move(np.zeros(1), S[1], S[1] + (1 << 50) - 1)


@pytest.mark.parametrize("stream", ["fast", object()])
def test_what_is_no_stream_is_refused(stream):
    with refused("TW704", "no stream"):
        handle_of(stream)


@pytest.mark.parametrize(
    "stream", [5, SimpleNamespace(cuda_stream=5), SimpleNamespace(ptr=5), SimpleNamespace(handle=5)]
)
def test_streams_of_every_library_are_known_by_their_handles(stream):
    assert handle_of(stream) == 5


# -- a driver that is made up ----------------------------------------------------------------------


KEPT = device.gpu_of, device.devices.context, device._module, device._function, bound_of
"""Caches of a driver's answers, and of plans that it loaded."""


class Driver:
    """A driver that keeps its calls in order; memory is the process's own, and it makes copies."""

    def __init__(self, monkeypatch):
        self.said, self.context, self.status, self.fault = [], 77, 0, Fault()
        driver, core = ModuleType("cuda.bindings.driver"), ModuleType("cuda.core")
        driver.cuInit = lambda flags: (0,)
        driver.cuDeviceGet = lambda index: (0, index)
        driver.cuDeviceGetName = lambda size, device: (0, b"made up\0")
        driver.cuDeviceGetAttribute = lambda name, device: (0, {"major": 9, "minor": 0}[name])
        driver.CUdevice_attribute = SimpleNamespace(
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major",
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor",
        )
        driver.cuDevicePrimaryCtxRetain = lambda device: (0, 77)
        driver.cuCtxGetCurrent = lambda: (0, self.context)
        driver.cuCtxPushCurrent = lambda context: self._say("push", context)
        driver.cuCtxPopCurrent = lambda: self._say("pop")
        driver.cuModuleLoadData = lambda code: (0, code)
        driver.cuModuleGetFunction = lambda module, name: (0, (module, name))
        driver.cuFuncSetAttribute = lambda function, attribute, value: self._say("shared", value)
        driver.CUfunction_attribute = SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="shared"
        )
        driver.cuModuleGetGlobal = lambda module, name: (0, ctypes.addressof(self.fault), 64)
        driver.cuStreamSynchronize = lambda stream: self._say("wait", stream)
        driver.cuMemcpyDtoH = lambda to, of, size: (ctypes.memmove(to, of, size), (0,))[1]
        driver.cuMemsetD8 = lambda at, value, size: (ctypes.memset(at, value, size), (0,))[1]
        driver.cuMemcpyDtoDAsync = self._copy
        driver.cuMemsetD8Async = lambda *words: self._say("set", *words)
        driver.cuLaunchKernel = self._launch
        core.Device = lambda index: SimpleNamespace(name="made up", compute_capability=(9, 0))
        for name, module in {"cuda.core": core, "cuda.bindings.driver": driver}.items():
            monkeypatch.setitem(sys.modules, name.rpartition(".")[0], ModuleType("above"))
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(device, "cubin", lambda source: source.text.encode())
        monkeypatch.setattr("tilewise.moves.arrays.run._known", {})
        for kept in KEPT:
            kept.cache_clear()

    def _say(self, *words):
        self.said.append(words)
        return (self.status,)

    def _copy(self, target, source, size, stream):
        ctypes.memmove(target, source, size)
        return self._say("copy", size, stream)

    def _launch(self, function, blocks, _y, _z, threads, _v, _w, shared, stream, arguments, _extra):
        name = function[1]
        count = 4 if name == b"fill" else 2
        places = (ctypes.c_void_p * count).from_address(arguments)
        values = [ctypes.c_uint64.from_address(place).value for place in places]
        return self._say(name.decode(), blocks, threads, shared, stream, *values)


@pytest.fixture
def driver(monkeypatch):
    found = Driver(monkeypatch)
    yield found
    for kept in KEPT:
        kept.cache_clear()


class OnDevice(np.ndarray):
    """An array that says that it is on GPU 0."""


class Gpu(type(NUMPY)):
    name = "made up"

    def seen(self, array):
        return replace(super().seen(array), library=self, device=0)

    def empty(self, like, count, stream):
        return self.seen(np.empty(count, like.type).view(OnDevice))

    def stream(self, device, stream):
        return 3 if stream is None else handle_of(stream)


@pytest.fixture
def on_device(driver, monkeypatch):
    monkeypatch.setitem(sys.modules["tilewise.moves.arrays.storage"]._LIBRARIES, OnDevice, Gpu())
    memory = np.zeros(1 << 14, np.uint8)
    start = -memory.ctypes.data % 256
    return lambda count, kind=np.float32, after=0: (
        memory[start + after : start + after + count * np.dtype(kind).itemsize].view(kind).view(OnDevice)
    )


def test_a_kernel_is_launched_once_for_a_move(driver, on_device):
    x = on_device(64 * 32)
    turn = plan(S[64, 32], S[(64, 32) : (1, 64)], "f32").bind()
    for stream in (None, 9):
        driver.said.clear()
        made = turn(x, stream=stream)
        ((name, blocks, threads, _, handle, *addresses),) = driver.said
        low = x.ctypes.data | made.ctypes.data | 256
        assert name == "move"
        assert (blocks, threads) == turn.plan.for_alignment(low & -low).launch[:2]
        assert handle == (3 if stream is None else 9)
        assert addresses == [x.ctypes.data, made.ctypes.data]


def test_a_launch_amid_another_has_arguments_of_its_own(driver, on_device):
    """As another thread's may come when the first has its arguments, and has not been launched."""
    arrays = [on_device(64, np.uint8, after) for after in (0, 1024, 2048, 3072)]
    amid = [lambda: turn(*arrays[2:])]
    sys.modules["cuda.bindings.driver"].cuCtxGetCurrent = lambda: (0, (amid.pop()(), 77)[1] if amid else 77)
    turn = plan(S[8, 8], S[(8, 8) : (1, 8)], "u8").bind()
    asked, amid = amid, []
    turn(*arrays[:2])  # loads it
    driver.said.clear()
    amid = asked
    turn(*arrays[:2])
    turn(*arrays[:2])
    addresses = [array.ctypes.data for array in arrays]
    assert [said[-2:] for said in driver.said] == [
        tuple(addresses[2:]),
        tuple(addresses[:2]),
        tuple(addresses[:2]),
    ]


def test_neighbours_are_copied_by_the_driver(driver, on_device):
    x = on_device(64)
    x[:] = np.arange(64)
    assert move(x, S[64] + 0, S[8, 8]).tolist() == list(range(64))
    assert driver.said == [("copy", 256, 3)]


def test_holes_are_filled_before(driver, on_device):
    move(on_device(4), S[4], S[4] + 4, fill=1.5)
    name, _, _, _, handle, _, *words = driver.said[0]
    assert (name, handle, *words) == ("fill", 3, 32, 0x3FC000003FC00000, 0x3FC000003FC00000)
    assert [words[0] for words in driver.said] == ["fill", "copy"]


def test_bytes_that_are_all_the_same_are_the_drivers(driver, on_device):
    made = move(on_device(4), S[4], S[4] + 4)
    assert driver.said[0] == ("set", made.ctypes.data, 0, 32, 3)


_FILLS = """
typedef unsigned long long u64;
static const Dim gridDim = {BLOCKS, 1, 1}, blockDim = {THREADS, 1, 1};
extern "C" { int torn; }
static u64* whole(unsigned char* at) { torn |= (u64)at % 8 != 0; return (u64*)at; }
"""
_CALLED = """
extern "C" void move(const u8* asked, u8* target)
{
    const u64* words = (const u64*)asked;
    fill(target, words[0], words[1], words[2]);
}
"""


@pytest.mark.parametrize("size", [2, 4, 8, 16])
@pytest.mark.parametrize("after", [0, 2, 5, 8])
@pytest.mark.parametrize("count", [1, 8, 30, 4099])
def test_the_kernel_of_a_fill_writes_an_element_again_and_again(driver, size, after, count):
    """As it is launched, run on the CPU, and by a grid that has to go around; words of 8 bytes lie whole."""
    element = bytes(range(1, size + 1))
    loaded = device.loaded(plan(S[4], S[4], f"b{8 * size}", fill=element), 0)
    room = shim.aligned(after + count + 16)
    target = room[after : after + count]
    loaded.fill(target.ctypes.data, count, 3)
    ((name, blocks, threads, shared, _, at, *asked),) = driver.said
    assert (name, shared, at) == ("fill", 0, target.ctypes.data)
    for grid in {1, blocks}:
        room[:] = 0xA5
        head = _FILLS.replace("BLOCKS", str(grid)).replace("THREADS", str(threads))
        text = head + device._FILL.replace("*(u64*)", "*whole") + _CALLED
        program = shim.run(text, grid, threads, np.array(asked, np.uint64), target)
        assert target.tobytes() == (element * count)[:count]
        assert {*room[:after], *room[after + count :]} == {0xA5}
        assert ctypes.c_int.in_dll(program, "torn").value == 0


def test_out_is_not_filled_between_its_elements(driver, on_device):
    whole = on_device(256)
    move(whole[:4], S[4], S[4] + 4, whole[64:])
    assert [words[0] for words in driver.said] == ["copy"]


def test_each_alignment_has_its_plan(driver, on_device):
    turn = plan(S[64, 32], S[(64, 32) : (1, 64)], "u8").bind()
    for after in (0, 1, 4, 0):
        turn(on_device(2048, np.uint8, after), on_device(2048, np.uint8, 4096 + after))
    aligned = [key[1] for key in turn._ready]
    assert aligned == [256, 1, 4]


@pytest.mark.parametrize(("after", "kernels"), [(0, ["move"]), (1, ["set", "move", "move"])])
def test_elements_beyond_the_box_are_filled_by_whoever_moves(driver, on_device, after, kernels):
    """A tile fills them itself; before elements are moved one by one, the fill is moved to all of them."""
    source, target = S[38] + 16, Swizzle(1, 4, 4) @ S[((5, 8),) : ((8, 1),)]
    x, out = on_device(64, np.uint8, after), on_device(64, np.uint8, 4096 + after)
    assert move(x, source, target, out, shape=(38,), fill=7) is out
    assert [words[0] for words in driver.said] == kernels


def test_a_fill_of_elements_loads_no_kernel_that_is_not_launched(driver, on_device, monkeypatch):
    loaded, once = [], device.loaded
    monkeypatch.setattr(device, "loaded", lambda own, index: loaded.append(own.kernel) or once(own, index))
    padded = plan(S[38] + 16, Swizzle(1, 4, 4) @ S[((5, 8),) : ((8, 1),)], "u8", shape=(38,), fill=7).bind()
    for _ in range(2):
        padded(on_device(64, np.uint8, 1), on_device(64, np.uint8, 4097))
    ours, filling = loaded
    assert ours == padded.plan.for_alignment(1).kernel != filling
    assert [words[0] for words in driver.said] == ["set", "move", "move"] * 2


def test_a_checked_kernel_is_waited_for_and_its_fault_is_raised_once(driver, on_device):
    turn = plan(S[64, 32], S[(64, 32) : (1, 64)], "f32", checked=True).bind()
    turn(on_device(2048))
    assert [words[0] for words in driver.said] == ["move", "wait"]
    driver.fault.found, driver.fault.bytes, driver.fault.at, driver.fault.size = 1, 16, 8192, 8192
    with pytest.raises(
        BeyondStorage, match="16 bytes were to be read at byte 8192 of the source, which has 8192"
    ):
        turn(on_device(2048))
    turn(on_device(2048))


def test_a_copy_of_memory_is_as_it_is_when_it_is_checked(driver, on_device):
    plan(S[64] + 0, S[8, 8], "f32", checked=True).bind()(on_device(64))
    assert [words[0] for words in driver.said] == ["copy"]


LARGE = plan(S[32768, 1024], S[(32768, 1024) : (1, 32768)], "u4")
"""Its tile has more shared memory than a kernel is given without asking."""


@pytest.mark.parametrize("asked", [LARGE, plan(S[64, 32], S[(64, 32) : (1, 64)], "f32")], ids=str)
def test_a_tile_has_its_shared_memory(driver, asked):
    """As the kernel's own, or asked for and given with the launch."""
    dynamic = asked.shared_bytes if asked.shared_bytes > STATIC else 0
    assert ("extern __shared__" in asked.kernel) == (dynamic > 0) == (asked is LARGE)
    device.loaded(asked, 0)(1 << 20, 2 << 20, 3)
    blocks, threads, _ = asked.launch
    launched = "move", blocks, threads, dynamic, 3, 1 << 20, 2 << 20
    assert driver.said == [*([("shared", dynamic)] if dynamic else []), launched]


@pytest.mark.parametrize(("one", "other", "aligned"), [(0, 1, 1), (1, 0, 1), (0, 4, 4), (8, 0, 8), (4, 6, 2)])
def test_a_plan_is_for_what_is_aligned_least(driver, on_device, one, other, aligned):
    turn = plan(S[64, 32], S[(64, 32) : (1, 64)], "u8").bind()
    turn(on_device(2048, np.uint8, one), on_device(2048, np.uint8, 4096 + other))
    assert list(turn._ready) == [(0, aligned)]


def test_bytes_behind_the_last_whole_element_are_filled_before(driver, on_device):
    made = move(on_device(3, np.uint32), S[3, 3], S[(3, 3) : (1, 3)], dtype="u8", fill=9)
    assert (made.nbytes, driver.said[0]) == (12, ("set", made.ctypes.data, 9, 12, 3))
    assert [words[0] for words in driver.said] == ["set", "move"]


@pytest.mark.parametrize("context", [77, 5])
@pytest.mark.parametrize("fill", [0, 1.5])
def test_a_launch_that_the_driver_refuses_is_raised(driver, on_device, context, fill):
    """Of a move, and of a fill before it."""
    driver.context = context
    x, target = on_device(64), S[(8, 8) : (1, 8)] + (4 if fill else 0)
    move(x, S[8, 8], target, fill=fill)
    refuse, launched = lambda *words: (driver._say("launch"), (719,))[1], driver.said
    bound = plan(S[8, 8], target, "f32", fill=fill).bind()
    sys.modules["cuda.bindings.driver"].cuLaunchKernel = refuse
    launched.clear()
    with pytest.raises(RuntimeError, match="answered 719"):
        bound(x)
    words, wanted = (
        [words[0] for words in launched],
        ["launch"] if context == 77 else ["push", "launch", "pop"],
    )
    assert words[-len(wanted) :] == wanted
    assert words.count("launch") == 1


def test_another_context_is_left_as_it_was(driver, on_device):
    driver.context = 5
    move(on_device(64), S[8, 8], S[64])
    assert [words[0] for words in driver.said] == ["push", "copy", "pop"]


def test_an_error_of_the_driver_is_raised_and_the_context_is_left(driver, on_device):
    driver.context, driver.status = 5, 700
    driver.said.clear()
    turn = plan(S[8, 8], S[64], "f32").bind()
    with pytest.raises(RuntimeError, match="700"):
        turn(on_device(64))


def test_no_device_memory_is_said_with_its_size(driver, on_device, monkeypatch):
    def full(self, like, count, stream):
        raise RuntimeError("CUDA out of memory. Tried to allocate\nmore")

    monkeypatch.setattr(Gpu, "empty", full)
    with refused("TW706", "256 bytes, which GPU 0 does not give: CUDA out of memory. Tried to allocate\n"):
        move(on_device(64), S[8, 8], S[64])


def test_without_a_driver_there_is_a_refusal(driver, on_device, monkeypatch):
    class DynamicLibNotFoundError(RuntimeError):
        pass

    def missing(index):
        raise DynamicLibNotFoundError

    monkeypatch.setattr(sys.modules["cuda.core"], "Device", missing)
    monkeypatch.setattr(sys.modules["cuda.bindings.driver"], "cuInit", missing)
    with pytest.raises(Refused, match="no NVIDIA driver is installed"):
        move(on_device(64), S[8, 8], S[64], fill=3)


def test_without_nvidias_packages_there_is_a_refusal(on_device, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(Refused, match=r"cuda\.bindings\.driver is not installed"):
        move(on_device(64), S[8, 8], S[64], fill=4)
