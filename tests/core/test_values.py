"""Values that one may write, those that are refused and how; values are equal, hashable, picklable."""

import copy
import pickle
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import Axis, Layout, LayoutError, O, R, S, Swizzle, laneid, m, reg, warpid
from tilewise.core.layout import Iter
from tilewise.core.vectors import Vector
from tilewise.testing.generate import random_layout
from tilewise.testing.strategies import layouts


def refused(code, build):
    with pytest.raises(LayoutError) as error:
        build()
    assert error.value.code == code
    assert error.value.message
    return error.value


# -- what is refused -------------------------------------------------------------------------------

NOT_INTEGERS = [True, False, 1.0, 0.5, float("nan"), "4", 1j, Fraction(4), Decimal(4), b"4", object()]


@pytest.mark.parametrize("value", NOT_INTEGERS, ids=lambda v: type(v).__name__)
def test_numbers_are_integers_everywhere(value):
    refused("TW101", lambda: S[value])
    refused("TW101", lambda: S[(8, value)])
    refused("TW101", lambda: S[8:value])
    refused("TW101", lambda: S[(8, 4) : (4, value)])
    refused("TW101", lambda: R[value:1])
    refused("TW101", lambda: R[2:value])
    refused("TW101", lambda: O[value])
    refused("TW101", lambda: value @ laneid)
    refused("TW101", lambda: Swizzle(value, 0, 1))
    refused("TW101", lambda: Swizzle(1, value, 1))
    refused("TW101", lambda: Swizzle(1, 0, value))
    refused("TW101", lambda: S[8:1].place(value))


@pytest.mark.parametrize("value", [1.5, True, np.float32(2), np.float64(2)], ids=repr)
def test_offsets_are_integers(value):
    refused("TW101", lambda: S[8:1] + value)
    refused("TW101", lambda: value + S[8:1])
    refused("TW101", lambda: S[8:1] - value)
    refused("TW101", lambda: 1 @ m + value)
    refused("TW101", lambda: 1 @ m - value)
    refused("TW101", lambda: 1 @ m * value)


@pytest.mark.parametrize("extent", [0, -1, -(10**30), np.int64(0)], ids=str)
def test_extents_are_positive(extent):
    refused("TW102", lambda: S[extent])
    refused("TW102", lambda: S[(4, extent) : (1, 1)])
    refused("TW102", lambda: R[extent:1])
    refused("TW102", lambda: Iter(extent, 1 @ m))
    refused("TW102", lambda: S[((), 2)])


@pytest.mark.parametrize(
    "build",
    [
        lambda: S[(8, 4) : 1],
        lambda: S[(8, 4) : (1,)],
        lambda: S[(8, 4) : (1, 2, 3)],
        lambda: S[8 : (1, 2)],
        lambda: S[(8, (2, 2)) : (4, 2, 1)],
        lambda: S[(8, (2, 2)) : (4, (2, 1, 1))],
        lambda: S[(8, 4) : (4, (1, 1))],
        lambda: S[() : 1],
        lambda: R[(2, 2) : 1],
        lambda: R[2],
        lambda: S[8, 4:4, 1],
        lambda: Layout((8, 4), (1 @ m,)),
    ],
)
def test_every_extent_has_one_stride(build):
    refused("TW003", build)


@pytest.mark.parametrize("build", [lambda: S[8:1:1], lambda: S[:1], lambda: S[8:], lambda: R[:]])
def test_shape_and_strides_stand_around_one_colon(build):
    refused("TW004", build)


def test_two_layouts_are_not_one():
    refused("TW107", lambda: S[8:1] + S[4:8])
    refused("TW107", lambda: S[8:1] + S[()])


@pytest.mark.parametrize("name", ["", "4x", "a b", "a-b", None, 4, "x@y", "é!"], ids=repr)
def test_an_axis_is_an_identifier(name):
    refused("TW103", lambda: Axis(name))


def test_an_axis_is_declared_in_one_way():
    refused("TW103", lambda: Axis("laneid", storage=True))
    refused("TW103", lambda: Axis("m", storage=False))
    refused("TW103", lambda: Axis("gpuid_z", storage=True))
    buf, owner = Axis("buf", storage=True), Axis("buf")
    refused("TW103", lambda: S[(2, 2) : (1 @ buf, 2 @ owner)])
    refused("TW103", lambda: S[2 : 1 @ buf] + R[2 : 2 @ owner])
    refused("TW103", lambda: S[2 : 1 @ buf] + 1 @ owner)


def test_a_sum_does_not_hide_that_an_axis_is_declared_in_two_ways():
    buf, owner = Axis("buf", storage=True), Axis("buf")
    for both in (1 @ buf + 1 @ owner, 1 @ owner + 1 @ buf):
        assert both.axes[0].kind == "storage"
        refused("TW103", lambda both=both: S[(2, 2) : (both, 1 @ owner)])


def test_swizzles_that_are_no_permutations_are_refused():
    for bits, base, shift in [(2, 0, 1), (3, 3, -2), (1, 0, 0), (5, 9, 4)]:
        error = refused("TW104", lambda b=bits, m_=base, s=shift: Swizzle(b, m_, s))
        first, last = base + abs(shift), base + bits - 1
        assert error.message.endswith(f" bit {first}" if first == last else f" bits {first}..{last}")
    for bits, base in [(-1, 0), (1, -1)]:
        refused("TW104", lambda b=bits, m_=base: Swizzle(b, m_, 3))
    refused("TW104", lambda: Swizzle(1, 0, 1, axis=laneid))
    refused("TW104", lambda: Swizzle(1, 0, 1, axis=Axis("own")))
    refused("TW104", lambda: Swizzle.named("SWIZZLE_256B"))
    refused("TW104", lambda: Swizzle(1, 0, 1) @ Swizzle(1, 0, 1, axis=reg) @ S[4:1])
    refused("TW104", lambda: O[1 @ m] @ Swizzle(1, 0, 1) @ O[1 @ m] @ Swizzle(1, 0, 1) @ S[4:1])
    refused("TW005", lambda: Swizzle(1, 2000, 1))


def test_literals_have_a_thousand_digits_and_no_more():
    longest = 10**1000 - 1
    assert S[8:longest].place(7)["m"] == 7 * longest
    assert (S[8:-longest] + longest).min() == -6 * longest
    assert S[longest].size == longest
    for build in (
        lambda: S[8 : longest + 1],
        lambda: S[8 : -longest - 1],
        lambda: S[longest + 1],
        lambda: S[8:1] + (longest + 1),
        lambda: (longest + 1) @ laneid,
        lambda: S[(longest, 10)],
        lambda: S[4].place(10**5000),
        lambda: S[4].who(10**5000),
    ):
        refused("TW005", build)


def nest(depth):
    shape = 2
    for _ in range(depth):
        shape = (shape, 2)
    return shape


def test_shapes_nest_to_64_and_no_deeper():
    assert S[nest(64)].size == 2**65
    for depth in (65, 500, 50_000):
        refused("TW005", lambda d=depth: S[nest(d)])
    alone = 8
    for _ in range(1_000):
        alone = (alone,)
    refused("TW005", lambda: S[alone])


def test_a_layout_has_1024_iters_and_no_more():
    assert S[(2,) * 1_024].size == 2**1_024
    refused("TW005", lambda: S[(1,) * 1_025])
    assert len((S[2] + R[(1,) * 1_024 : (1,) * 1_024]).replica) == 1_024
    refused("TW005", lambda: S[2] + R[(1,) * 1_025 : (1,) * 1_025])


def test_unknown_units_and_dtypes_are_refused():
    refused("TW106", lambda: Layout((8,), (1 @ m,), unit="word"))
    refused("TW105", lambda: S[8].in_bytes("f17"))


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from([laneid, 1 @ reg, ..., S, S[2], R[2:1], Swizzle(1, 0, 1), [], (), {}]),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(ANYTHING, ANYTHING)
def test_whatever_stands_in_the_brackets_gives_a_layout_or_a_layout_error(left, right):
    for build in (
        lambda: S[left],
        lambda: S[left:right],
        lambda: R[left:right],
        lambda: O[left],
        lambda: Swizzle(left, 0, right),
        lambda: Axis(left),
        lambda: S[(2, (2, 2))].places(left),
        lambda: S[(2, (2, 2))].places(left, right),
        lambda: S[8].coordinates(0, shape=left),
    ):
        with suppress(LayoutError):
            build()


# -- how numbers and shapes are read ---------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_numpy_integers_are_integers(kind):
    layout = S[(kind(8), kind(4)) : (kind(4) @ laneid, kind(1) @ reg)] + R[kind(2) : kind(3)]
    expected = S[(8, 4) : (4 @ laneid, 1 @ reg)] + R[2:3]
    assert layout == expected
    assert layout + kind(5) == kind(5) + layout == expected + 5
    assert layout - kind(5) == expected - 5
    assert kind(4) @ laneid + kind(1) == 4 @ laneid + 1 @ m
    assert kind(3) * (2 @ laneid) == 6 @ laneid
    assert layout.places(kind(3), kind(1)) == expected.places(3, 1)
    assert layout.who(laneid=kind(4)) == expected.who(laneid=4)
    assert all(type(steps) is int for stride in layout.strides for _, steps in stride.terms)
    assert type(layout.size) is int
    assert Swizzle(kind(3), kind(3), kind(3)) == Swizzle(3, 3, 3)


@pytest.mark.parametrize("value", [np.bool_(True), np.array([1]), np.array([1, 2])], ids=repr)
def test_other_numpy_values_are_not(value):
    refused("TW101", lambda: S[value])
    refused("TW101", lambda: value @ laneid)


def test_one_shape_has_many_spellings():
    assert S[8] == S[(8,)] == S[((8,),)] == S[[8]] == S[8:1] == S[(8,) : (1,)] == S[8 : 1 @ m]
    assert S[(8, (4,))] == S[8, 4] == S[(8, 4) : (4, 1)]
    assert S[((4, 2),)] != S[(4, 2)]
    assert S[(8, (4,)) : (4, (1,))] == S[8, 4]


def test_offsets_and_replicas_join():
    assert S[8:1] + R[2:8] + R[3:16] == S[8:1] + R[(2, 3) : (8, 16)] == S[8:1] + (R[2:8] + R[3:16])
    assert R[2:8] + S[8:1] == S[8:1] + R[2:8]
    assert S[8:1] + 5 @ m + 2 @ warpid - 1 @ m == 4 + 2 @ warpid + S[8:1] == S[8:1] + O[4 @ m, 2 @ warpid]
    assert S[8:1] - 3 == S[8:1] + -3 == S[8:1] + O[-3]


# -- what a value is -------------------------------------------------------------------------------


def test_vectors_are_sums_of_terms():
    diagonal = 1 @ laneid + 2 @ reg
    assert (diagonal["laneid"], diagonal[reg], diagonal["m"]) == (1, 2, 0)
    assert diagonal - diagonal == 0 @ laneid + 0 @ reg
    assert not diagonal - diagonal
    assert -diagonal * 3 == -3 @ laneid - 6 @ reg
    assert 5 - 1 @ m == 4 @ m
    assert 2 @ reg + 1 @ laneid != diagonal
    assert 2 @ reg + 1 @ laneid == {"laneid": 1, "reg": 2} == diagonal
    assert hash(1 @ reg + 1 @ reg) == hash(2 @ reg)


def test_equality_is_what_is_written():
    assert S[(4, 4) : (4, 1)] != S[16:1]
    assert S[4:1] != S[4:1] + 0 @ m
    assert S[(2, 1) : (1, 5)] != S[(2, 1) : (1, 6)]
    assert S[4:1] != "S[4 : 1]"


@given(layouts(units=("element", "byte", "bit")))
def test_values_are_hashable_picklable_and_copyable(layout):
    for twin in (
        pickle.loads(pickle.dumps(layout)),
        copy.copy(layout),
        copy.deepcopy(layout),
        Layout(*(getattr(layout, name) for name in layout.__dataclass_fields__)),
    ):
        assert twin == layout
        assert hash(twin) == hash(layout)
        assert [axis.kind for axis in twin.axes] == [axis.kind for axis in layout.axes]
        assert twin.points(layout.size - 1) == layout.points(layout.size - 1)


def test_pickles_work_after_every_answer_was_given():
    layout = random_layout(Random(4))
    _ = layout.copies, layout.injective, layout.holes, layout.contiguous, layout.places(0), layout.shard
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(layout, protocol)) == layout


def test_errors_survive_pickling():
    error = refused("TW102", lambda: S[0])
    twin = pickle.loads(pickle.dumps(error))
    assert (type(twin), twin.code, str(twin)) == (LayoutError, error.code, str(error))


def test_values_are_frozen():
    for value, field in ((S[4:1], "shape"), (1 @ m, "terms"), (Swizzle(1, 0, 1), "bits"), (m, "name")):
        with pytest.raises(AttributeError):
            setattr(value, field, None)


@given(layouts())
def test_repr_is_python(layout):
    names = {axis.name: axis for axis in layout.axes} | {"m": m}
    assert eval(repr(layout), {"S": S, "R": R, "O": O, "Swizzle": Swizzle, "Axis": Axis} | names) == layout


def test_a_layout_is_no_vector():
    with pytest.raises(TypeError):
        Vector() + S[4:1] @ 2
