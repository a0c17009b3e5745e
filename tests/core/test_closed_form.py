"""Cost by iters, not by elements: 2^50 elements answer as fast as 64.

The tests count the lines of the core that run, so that a slow machine is no failure.
"""

import sys
from pathlib import Path

import pytest

import tilewise.core
from tilewise import R, S, Swizzle, laneid, m, reg, warpid

CORE = str(Path(tilewise.core.__file__).parent)
FEW = 150_000


def lines_run(question):
    """Return how many lines of the core a question takes."""
    count = 0

    def in_the_core(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(CORE):
            return None
        count += event == "line"
        return in_the_core

    before = sys.gettrace()
    sys.settrace(in_the_core)
    try:
        question()
    finally:
        sys.settrace(before)
    return count


def large(axes=(m,)):
    """2^50 elements in 12 iters, digits of mixed order, alternating over the axes."""
    bits = (5, 4, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4)
    order = (3, 0, 7, 1, 10, 4, 6, 11, 2, 9, 5, 8)
    step = dict.fromkeys(axes, 1)
    strides = [None] * 12
    for position in order:
        axis = axes[position % len(axes)]
        strides[position] = step[axis] @ axis
        step[axis] <<= bits[position]
    layout = S[tuple(1 << b for b in bits) : tuple(strides)]
    assert (layout.size, len(layout.shard)) == (2**50, 12)
    return layout


LARGE = [
    large(),
    large((m, laneid)),
    large((reg, laneid, warpid)),
    large() + 12345,
    large() + R[(2, 4) : (1 @ warpid, 2**50 @ m)],
    Swizzle(3, 3, 3) @ large(),
    Swizzle(2, 1, 20) @ (large((m, laneid)) + 2**40),
]

QUESTIONS = {
    "extremes": lambda x: [x.extremes(axis) for axis in x.axes],
    "copies": lambda x: x.copies,
    "injective": lambda x: x.injective.answer,
    "disjoint copies": lambda x: x.disjoint_copies.answer,
    "holes": lambda x: x.holes.count,
    "contiguous": lambda x: x.contiguous.answer,
    "canonical": lambda x: x.canonical(),
    "same as itself, respelled": lambda x: x.same(halved(x)).answer,
    "same as another": lambda x: x.same(x + 1).answer,
    "place": lambda x: x.places(x.size - 12345),
    "who": lambda x: x.who(x.places(x.size // 3)[0]),
}


def halved(layout):
    """The same map with its slowest digit written as two."""
    (_, *others), (stride, *steps) = layout.shape, layout.strides
    first = layout.shard[0].extent // 2
    respelled = S[(2, first, *others) : (stride * first, stride, *steps)]
    replica = layout.replica
    tail = R[tuple(i.extent for i in replica) : tuple(i.stride for i in replica)] if replica else R[1:0]
    return (respelled + tail + layout.offset).swizzled(layout.swizzles, layout.outer)


@pytest.mark.parametrize("layout", LARGE, ids=range(len(LARGE)))
@pytest.mark.parametrize("question", QUESTIONS)
def test_2_to_the_50_elements_answer_in_few_steps(question, layout):
    answers = []
    assert lines_run(lambda: answers.append(QUESTIONS[question](layout))) < FEW
    assert answers[0] is not None


def test_the_answers_are_right():
    for layout in LARGE:
        assert layout.injective
        assert layout.copies == (8 if layout.replica else 1)
        assert layout.same(halved(layout))
        assert layout.same(layout + 1).witness == 0
        flat = layout.size // 3
        for place in layout.places(flat):
            assert layout.who(place, shape=layout.size) == ((flat,),)
    assert large().extremes() == (0, 2**50 - 1)
    assert large().onto
    assert (S[(2**25, 2**25) : (2**25 + 1, 1)]).holes.count == 2**25 - 1
    assert S[(2**25, 2**25) : (2**25, 1)].contiguous
    assert S[(2**25, 2**25) : (2**25 + 8, 1)].same(S[2**50 : 1]).witness == 2**25


def test_what_no_sum_of_steps_can_reach_is_told_at_once():
    even = S[(2**20, 2**20) : (6, 4)]
    answers = []
    assert lines_run(lambda: answers.append(even.who(2**21 + 1))) < 1_000
    assert answers == [()]


def test_sets_of_copies_of_another_reach_differ_at_once():
    diagonal = 1 @ laneid + 1 @ warpid
    one, other = (S[2:1] + R[(2**20, 3) : (diagonal, far @ warpid)] for far in (2**21, 2**22))
    assert lines_run(lambda: one.same(other)) < 5_000
    assert one.same(other).witness == 0


def test_the_counter_counts():
    small, twice = S[(2,) * 4], S[(2,) * 40]
    assert 0 < lines_run(small.canonical) < lines_run(twice.canonical)
