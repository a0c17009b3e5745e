"""Kernels that go element by element, checked: they make the naive move, and no access is beyond or amiss."""

import numpy as np
import pytest
from tests.moves.pairs import Case
from tests.moves.shim import aligned, run
from tests.moves.test_move import element, expected, storage

from tilewise import DType, O, S, Swizzle, plan
from tilewise.moves.kernels.checked import Fault

APART = S[(64, 16) : (32, 2)]
"""A source without neighbours, of which no tile is taken."""


def checked(source, target, dtype, box):
    """The plan of a case, whose kernel has made the naive move without a fault."""
    asked = Case(source, target, DType.of(dtype), box, 9)
    found = plan(source, target, dtype, shape=box, fill=element(asked), checked=True)
    own = storage(asked, 1)
    given, made = aligned(own.size), aligned(found.sizes[1])
    given[:], made[:] = own, np.frombuffer(found.fill * made.size, np.uint8)[: made.size]
    fault = Fault.in_dll(run(found.kernel, *found.launch[:2], given, made), "move_fault")
    assert not fault.found, fault
    assert made.tobytes() == expected(asked, own, target.max("m") + 1).tobytes()
    assert found.kind == "gather"
    return found


@pytest.mark.parametrize(
    ("target", "box", "dtype", "written"),
    [
        (S[64, 16], None, "u8", 16),
        (S[64, 16] + 4, None, "u8", 4),
        (S[64, 16] + 2, None, "bf16", 4),
        (O[4] @ Swizzle(1, 4, 2) @ S[64, 16], None, "u8", 4),
        (O[6] @ Swizzle(2, 3, 3) @ S[64, 16], None, "f32", 8),
        (Swizzle(1, 2, 4) @ S[64, 16], None, "u8", 4),
        (S[(64, 16) : (20, 1)], None, "u8", 4),
        (S[72, 16], (64, 14), "u8", 1),
        (S[64, 16], (62, 12), "bf16", 2),
    ],
    ids=str,
)
def test_what_is_written_at_once_is_whole_and_aligned(target, box, dtype, written):
    assert checked(APART, target, dtype, box).vector["write"] == written


@pytest.mark.parametrize(
    ("source", "target", "box"),
    [
        (S[(33, 21) : (64, 3)], S[40, 24], (33, 21)),
        (S[(33, 21) : (64, 3)], S[30, 24] + 5, (29, 20)),
        (S[(33, 24) : (72, 3)], S[30, 21], (30, 19)),
    ],
    ids=str,
)
def test_words_of_4_bits_end_where_the_box_does(source, target, box):
    found = checked(source, target, "u4", box)
    assert found.way.in_words
    assert found.way.pair.limits


@pytest.mark.parametrize(
    ("source", "target", "box", "dtype"),
    [
        (S[((4, 2), 5) : ((30, 10), 2)], S[((3, 3), 6) : ((20, 6), 1)], (8, 5), "u8"),
        (S[((4, 2), 7) : ((30, 10), 1)], S[((3, 3), 6) : ((20, 6), 1)], (7, 5), "u4"),
        (S[(5, (4, 3)) : (16, (4, 1))], S[(6, (2, 5)) : (1, (50, 8))], (4, 9), "f32"),
    ],
    ids=str,
)
def test_a_box_of_no_common_digits_lies_in_each_side_s_own_shape(source, target, box, dtype):
    assert checked(source, target, dtype, box).pair.digits is None


@pytest.mark.parametrize("step", [1, 2, 6, 8])
def test_elements_are_as_wide_as_what_is_behind_a_swizzle_is_whole(step):
    swizzled, apart = O[step] @ Swizzle(1, 4, 3) @ S[8, 16], S[(8, 16) : (32, 1)]
    for sides in ((swizzled, apart), (apart, swizzled)):
        assert checked(*sides, "u8", None).way.pair.bits == 8 * (step & -step)
