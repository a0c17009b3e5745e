"""The defects of a neighbour's layouts, by their numbers in our notes, done right here.

The defects of slicing, tiling and packing (1, 2, 6 to 8) belong to the algebra above this floor;
here are those of building, evaluating, measuring and storing layouts.
"""

import copy
import pickle

import pytest

from tilewise import (
    Axis,
    LayoutError,
    R,
    S,
    Swizzle,
    bx,
    gpuid_x,
    laneid,
    m,
    reg,
    tx,
    warpid,
    wgid,
    wid_in_wg,
)
from tilewise.testing import naive_difference, naive_facts, naive_map


def refused(code, build):
    with pytest.raises(LayoutError) as error:
        build()
    assert error.value.code == code


def test_defect_3_canonical_form_keeps_every_offset():
    fragment = S[(4, 32) : (1 @ warpid, 1 @ laneid)] + 2 @ warpid + 3 @ laneid
    form = fragment.canonical()
    assert form.offset == {"warpid": 2, "laneid": 3}
    assert naive_difference(form, fragment) is None


def test_defect_3_offsets_on_one_axis_add_up():
    assert (S[4 : 1 @ laneid] + 2 @ laneid + 3 @ laneid).offset == 5 @ laneid
    assert (S[4:1] + 64 + 1 @ m).offset == 65 @ m


def test_defect_4_canonical_form_does_not_rename_axes():
    warps = S[(2, 4) : (1 @ wgid, 1 @ wid_in_wg)]
    assert warps.canonical() == warps
    assert warps.place(1, 3) == 1 @ wgid + 3 @ wid_in_wg


def test_defect_5_grid_and_thread_axes_stand_together():
    layout = S[(4, 128, 2) : (1 @ bx, 1 @ tx, 1 @ reg)] + 3 @ bx
    assert layout.canonical() == layout
    assert (layout.span(bx), layout.span(tx)) == (4, 128)
    assert layout.injective
    assert layout.onto
    assert layout.who(bx=4, tx=5, reg=1) == ((1, 5, 1),)


def test_defect_7_span_counts_no_offset():
    assert (S[8:1] + 5).span() == 8
    assert (S[4:1] + 3).span() == 4


def test_defect_7_span_of_negative_strides_is_positive():
    assert S[8:-1].span() == 8
    assert S[(4, 4) : (-4, 1)].span() == 16


def test_defect_7_span_counts_copies_on_axes_without_digits():
    layout = S[4:1] + R[2 : 4 @ warpid]
    assert (layout.span(warpid), layout.span()) == (5, 4)


def test_defect_7_span_is_of_one_axis():
    tensor_memory = S[(128, 256) : (1 @ Axis("TLane"), 1 @ Axis("TCol"))]
    assert (tensor_memory.span("TLane"), tensor_memory.span("TCol")) == (128, 256)


def test_defect_8_counting_in_bytes_scales_storage_alone():
    layout = S[(8, 4) : (4 @ laneid, 1 @ reg)] + R[2 : 4 @ reg] + 8 @ reg + 1 @ laneid
    in_bytes = layout.in_bytes("f16")
    assert in_bytes.strides == (4 @ laneid, 2 @ reg)
    assert in_bytes.replica == R[2 : 8 @ reg].iters
    assert in_bytes.offset == 16 @ reg + 1 @ laneid
    refused("TW106", lambda: S[128 : 1 @ Axis("TCol")].in_bytes("e2m1"))


@pytest.mark.parametrize("axis", [gpuid_x, Axis("mine"), Axis("buf", storage=True)], ids=str)
def test_defect_9_every_axis_works_everywhere(axis):
    layout = S[(2, 4, 8) : (1 @ axis, 8 @ laneid, 1 @ laneid)] + R[2 : 4 @ axis] + 1 @ axis
    facts = naive_facts(layout)
    assert layout.extremes(axis) == facts.extremes[axis.name] == (1, 6)
    assert layout.canonical().canonical() == layout.canonical()
    assert layout.copies == 2
    assert layout.injective
    assert layout.who({axis: 6, laneid: 9}) == ((1, 1, 1),)
    assert naive_difference(layout.canonical(), layout) is None


def test_defect_10_layouts_are_stored_and_read_back():
    layout = Swizzle(3, 3, 3) @ (S[((4, 2), 64) : ((128, 64), 1)] + R[2 : 1 @ laneid] + 5)
    for twin in (pickle.loads(pickle.dumps(layout)), copy.deepcopy(layout)):
        assert twin == layout
        assert naive_map(twin) == naive_map(layout)


def test_defect_11_a_length_mismatch_is_an_error():
    refused("TW003", lambda: S[(8, 4) : (1,)])
    refused("TW003", lambda: S[(8,) : (1, 2)])


def test_defect_11_two_replicas_join():
    both = S[2:1] + R[2:4] + R[3:16]
    assert both.copies == 6
    assert both == S[2:1] + (R[2:4] + R[3:16])


def test_defect_11_two_shards_are_an_error():
    refused("TW107", lambda: S[8:1] + S[4:8])


@pytest.mark.parametrize("extent", [0, -4])
def test_defect_11_extents_that_are_not_positive_are_an_error(extent):
    refused("TW102", lambda: S[extent:1])
    refused("TW102", lambda: S[4:1] + R[extent:1])


def test_defect_11_floats_are_an_error():
    refused("TW101", lambda: S[8:1.0])
    refused("TW101", lambda: S[8.0:1])
    refused("TW101", lambda: 4.0 @ laneid)
    refused("TW101", lambda: S[8:1] + 0.5)


def test_indices_past_the_end_are_an_error():
    """Their evaluation ran on beyond the shape, in both directions."""
    for index in (100, -1, 64, (8, 0), (0, -1)):
        refused("TW201", lambda index=index: S[(8, 8) : (10, 1)].place(index))


def test_an_asked_shape_of_another_size_is_an_error():
    refused("TW202", lambda: S[(8, 8)].place(1, 1, shape=(5, 5)))


def test_evaluation_shows_every_copy():
    assert (S[4:1] + R[2:8]).places(1) == (1 @ m, 9 @ m)


def test_equal_layouts_are_equal_and_hash_alike():
    assert S[(8, 4) : (4, 1)] == S[(8, 4) : (4, 1)]
    assert len({S[(8, 4) : (4, 1)], S[8, 4]}) == 1


def test_swizzled_layouts_hold_other_axes_too():
    assert (Swizzle(1, 0, 1) @ S[(2, 4) : (1 @ laneid, 1 @ m)]).place(1, 2) == 1 @ laneid + 3 @ m
