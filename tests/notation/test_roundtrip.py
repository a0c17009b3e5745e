"""A layout that is written and read again is the layout that it was: text, Python, JSON, CuTe."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.notation import writing

import tilewise
from tilewise import Axis, LayoutError, R, S, Swizzle, laneid, parse
from tilewise.core.shapes import extents_of
from tilewise.notation import from_json, is_cute, to_cute, to_json
from tilewise.testing import naive_map
from tilewise.testing.generate import random_layout
from tilewise.testing.strategies import layouts

NAMES = {name: getattr(tilewise, name) for name in tilewise.__all__}


def own_storage(layout):
    return [axis.name for axis in layout.axes if axis.kind == "storage"]


def read_again(text, layout):
    return parse(text, storage=own_storage(layout), unit=layout.unit)


def evaluated(source, layout):
    """The value of a Python expression, where the layout's axes are defined."""
    return eval(source, {**NAMES, **{axis.name: axis for axis in layout.axes}})


def assert_comes_back(layout):
    text = str(layout)
    again = read_again(text, layout)
    assert again == layout or (layout.order == "cute" and again == layout.in_order("row")), text
    assert str(read_again(text, layout)) == text
    if not {axis.name for axis in layout.axes} & set("SRO"):  # an axis S hides the builder S in Python
        assert evaluated(repr(layout), layout) == layout, repr(layout)
    assert from_json(json.loads(json.dumps(to_json(layout)))) == layout


@given(layouts())
def test_layouts_come_back(layout):
    assert_comes_back(layout)


def test_seeded_layouts_come_back(times):
    rng = Random(3)
    for _ in range(times(600)):
        assert_comes_back(random_layout(rng))


@given(st.randoms(use_true_random=False))
def test_what_was_read_comes_back(rng):
    layout = parse(writing.text(rng), let=writing.LET, storage=writing.STORAGE)
    assert_comes_back(layout)


@given(layouts())
def test_json_keeps_what_equality_does_not_see(layout):
    again = from_json(json.loads(json.dumps(to_json(layout))))
    assert [(a.name, a.storage) for a in again.axes] == [(a.name, a.storage) for a in layout.axes]
    assert to_json(again) == to_json(layout)


def test_large_numbers_come_back():
    layout = S[(10**300, 2) : (10**999, -(10**999))] + 10**999 @ laneid
    assert_comes_back(layout)
    assert json.loads(json.dumps(to_json(layout)))["strides"][0] == {"m": 10**999}


# -- CuTe ------------------------------------------------------------------------------------------


def sayable(layout):
    """Return whether CuTe has words for a layout, by its own account of what it is."""
    axes = {axis.name for stride in layout.strides for axis, steps in stride.terms if steps}
    return layout.unit == "element" and (
        not layout.replica
        and not layout.outer.terms
        and layout.swizzled_axis in (None, Axis("m"))
        and (bool(layout.swizzles) or not any(steps for _, steps in layout.offset.terms))
        and all(axis.name == "m" for axis, steps in layout.offset.terms if steps)
        and all(len(stride.nonzero.terms) < 2 for stride in layout.strides)
        and axes <= {"m", *(f"e{mode}" for mode in range(10))}
    )


def assert_cute_comes_back_or_is_refused(layout):
    if not sayable(layout):
        with pytest.raises(LayoutError) as error:
            to_cute(layout)
        assert error.value.code == "TW008"
        return False
    text = to_cute(layout)
    assert is_cute(text)
    again = parse(text, unit=layout.unit)
    assert extents_of(again.shape) == extents_of(layout.shape), text
    assert naive_map(again.in_order("row")) == naive_map(layout.in_order("row")), text
    return True


@given(layouts(replicas=False))
def test_cute_keeps_coordinates_or_refuses(layout):
    assert_cute_comes_back_or_is_refused(layout)


def test_seeded_layouts_in_cute(times):
    rng = Random(4)
    said = sum(
        assert_cute_comes_back_or_is_refused(random_layout(rng, max_size=64)) for _ in range(times(800))
    )
    assert times(40) < said < times(760)


@given(st.randoms(use_true_random=False))
def test_cute_texts_come_back(rng):
    layout = parse(writing.spelled(rng, writing.cute(rng)))
    if layout.size <= 4_096 and sayable(layout):
        assert assert_cute_comes_back_or_is_refused(layout)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (S[(8, 4) : (4, 1)], "(8,4):(4,1)"),
        (S[8:3], "8:3"),
        (S[()], "():()"),
        (S[((4, 2), 8) : ((16, 4), 1)], "((2,4),8):((4,16),1)"),
        (S[(4, 8) : (1 @ Axis("e0"), 1 @ Axis("e1"))], "(4,8):(1@0,1@1)"),
        (Swizzle(3, 3, 3) @ (S[(8, 64) : (64, 1)] - 4), "Sw<3,3,3> o -4 o (8,64):(64,1)"),
        (
            Swizzle(1, 0, 1) @ Swizzle(1, 0, 2) @ S[8:1],
            "Sw<1,0,1> o Sw<1,0,2> o 0 o 8:1",
        ),
    ],
    ids=str,
)
def test_spellings_in_cute(layout, text):
    assert to_cute(layout) == text
    assert parse(text).in_order("row") == layout


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (S[8:1] + R[2:8], "replicas"),
        (S[8:1] + 5, "pointer"),
        (S[8:1] + 5 @ laneid, "5@laneid"),
        (S[8 : 1 @ laneid], "no axis laneid"),
        (S[8 : 1 @ Axis("x") + 1 @ Axis("y")], "two axes"),
        (Swizzle(1, 0, 1) @ (S[8:1] + 5 @ laneid), "laneid"),
        (parse("Swizzle<1,0,1>@reg o S[8 : 1@reg]"), "linear offsets"),
        (parse("O[1] o Swizzle<1,1,1> o S[8]"), "outside a swizzle"),
    ],
    ids=str,
)
def test_what_cute_cannot_say(layout, reason):
    with pytest.raises(LayoutError, match=reason) as error:
        to_cute(layout)
    assert error.value.code == "TW008"


# -- documents -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"schema": True},
        {"schema": None},
        {"shape": None},
        {"shape": [8, "4"]},
        {"shape": [8, 4, 2]},
        {"strides": [1, 2]},
        {"strides": [{"m": 4}]},
        {"strides": [{"m": 1.5}, {"m": 1}]},
        {"strides": [{"m": True}, {"m": 1}]},
        {"strides": [{"not an axis": 1}, {}]},
        {"replica": [[2]]},
        {"replica": {"m": 1}},
        {"offset": [5]},
        {"swizzles": [{"B": 1}]},
        {"swizzles": [{"B": 3, "M": 3, "S": 1}]},
        {"swizzles": [{"B": 1, "M": 3, "S": 1, "axis": "laneid"}]},
        {"unit": "bytes"},
        {"storage": ["laneid"], "strides": [{"laneid": 1}, {}]},
        {"storage": 5},
        {"colour": "red"},
    ],
    ids=str,
)
def test_documents_that_do_not_hold_together(change):
    document = {**to_json(S[(8, 4) : (4, 1)]), **change}
    with pytest.raises(LayoutError) as error:
        from_json(document)
    assert error.value.code in ("TW003", "TW101", "TW102", "TW103", "TW104", "TW106", "TW108")


@pytest.mark.parametrize("document", [None, 5, "S[8]", [], {}, [["schema", 1]]], ids=repr)
def test_what_is_no_document(document):
    with pytest.raises(LayoutError) as error:
        from_json(document)
    assert error.value.code == "TW108"
