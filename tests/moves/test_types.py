"""Plans by the types of arrays, as NumPy has them: the plan is the one of the move of such arrays."""

import numpy as np
import pytest

from tilewise import LayoutError, S, laneid, plan, reg
from tilewise.moves import move
from tilewise.moves.named import pack_scales_128x4, tile_for_wgmma, transpose

TURN = S[3, 4], S[(3, 4) : (1, 3)]
APART = S[12], S[12:2] + 1
RECORD = np.dtype([("a", "i4"), ("b", "f4")])
KINDS = ["?", "F", "D", "g", ">f4", ">i2", "M8[s]", "m8[ns]", "U1", "S4", "V4", RECORD]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layouts", [TURN, APART])
def test_a_plan_by_the_type_of_an_array_is_the_plan_of_its_move(kind, layouts):
    x = np.frombuffer(np.random.default_rng(1).bytes(12 * np.dtype(kind).itemsize), kind)
    found = plan(*layouts, x.dtype)
    assert found == plan(*layouts, f"b{8 * x.itemsize}")
    assert found.data()["dtype"] == f"b{8 * x.itemsize}"
    assert found.bind()(x).tobytes() == move(x, *layouts).tobytes()


@pytest.mark.parametrize(
    ("kind", "fill"),
    [
        ("?", True),
        ("F", 1),
        ("D", 1.5 + 2j),
        ("D", float("nan")),
        (">f4", 1.5),
        (">i2", 258),
        ("M8[s]", np.datetime64(5, "s")),
        ("U1", "z"),
        ("S4", b"z"),
        (RECORD, (1, 2.5)),
        (RECORD, b"12345678"),
        ("f2", 0.1),
        ("i1", -1),
        ("f8", 0),
    ],
)
def test_the_fill_of_such_a_plan_is_an_element_of_the_array(kind, fill):
    x = np.zeros(12, kind)
    found = plan(*APART, x.dtype, fill=fill)
    assert found.fill == move(x, *APART, fill=fill)[:1].tobytes()
    assert found.bind()(x).tobytes() == move(x, *APART, fill=fill).tobytes()


@pytest.mark.parametrize(
    ("kind", "fill"), [("?", 2), ("F", "1"), (">i2", 1.5), (RECORD, 1), ("M8[s]", 5), ("S4", b"longer")]
)
def test_a_fill_that_the_array_does_not_hold_is_none_of_its_plan(kind, fill):
    with pytest.raises(LayoutError, match="TW705"):
        plan(*APART, np.dtype(kind), fill=fill)


@pytest.mark.parametrize(("kind", "name"), [(np.bool_, "b8"), (np.complex64, "b64"), (np.longlong, "s64")])
def test_a_class_of_numpy_stands_for_its_type(kind, name):
    assert plan(*TURN, kind) == plan(*TURN, name)


@pytest.mark.parametrize("kind", ["O", [("a", "O"), ("b", "i8")], "S3", "U3", "V3", "V0"])
def test_types_that_are_not_moved_have_no_plan(kind):
    x = np.zeros(12, kind)
    with pytest.raises(LayoutError) as no_move:
        move(x, *TURN)
    with pytest.raises(LayoutError) as no_plan:
        plan(*TURN, x.dtype)
    assert str(no_plan.value) == str(no_move.value)
    assert no_plan.value.code == "TW704"


def test_a_class_that_has_a_type_stands_for_it():
    """As JAX has them."""
    assert plan(*TURN, type("complex64", (), {"dtype": np.dtype("F")})) == plan(*TURN, "b64")


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        (np.floating, "known: "),
        (np.generic, "known: "),
        (bool, "bool is b8"),
        ("bool", "bool is b8"),
        ("complex64", "complex64 is b64"),
        ("torch.complex128", "complex128 is b128"),
        (np.zeros(3), "its elements' type is x.dtype"),
        (np.float32(1), "its elements' type is x.dtype"),
    ],
)
def test_what_is_no_type_of_elements_is_none(kind, hint):
    with pytest.raises(LayoutError, match="TW105: ") as refused:
        plan(*TURN, kind)
    assert refused.value.hint.startswith(hint)


def test_named_moves_and_registers_take_the_types_of_arrays():
    assert transpose(3, 4).plan(np.dtype("F"), fill=1) == plan(transpose(3, 4), dtype=np.dtype("F"), fill=1)
    assert transpose(3, 4).plan(np.dtype("F")).dtype.name == "b64"
    assert pack_scales_128x4(2, 3).plan(np.dtype("?")).dtype.name == "b8"
    assert tile_for_wgmma(64, 64, np.dtype(">f2")).dtype.name == "b16"
    fragments = S[(32, 2) : (1 @ laneid, 1 @ reg)], S[(32, 2) : (1 @ reg, 1 @ laneid)]
    assert plan(*fragments, np.dtype("F")).data() == plan(*fragments, "b64").data()


def test_what_bytes_are_read_as_may_be_the_type_of_an_array():
    x = np.arange(8.0)
    made = move(x, S[4], S[4] + 1, dtype=np.complex128, fill=1)
    assert made.view(complex).tolist() == [1, 1j, 2 + 3j, 4 + 5j, 6 + 7j]
    assert move(x, S[4], S[5], dtype=np.dtype("D"), shape=[4], fill=1).view(complex)[4] == 1
    assert move(x.astype("F"), None, S[8], dtype=np.dtype("F")).tolist() == x.tolist()
