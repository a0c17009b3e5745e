"""Wrong parts are refused where they enter, with a code, and nothing given twice is taken once."""

from __future__ import annotations

import pytest

from tilewise import Axis, Layout, LayoutError, O, R, S, Swizzle, laneid, m, parse
from tilewise.core.vectors import Vector
from tilewise.notation import from_json, to_json


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda: S[4:1].same("S[4 : 1]"), "TW107"),
        (lambda: Layout(8, "1"), "TW101"),
        (lambda: Layout(8, (1,), (5,)), "TW107"),
        (lambda: Layout(8, (1,), swizzles=(5,)), "TW107"),
        (lambda: Swizzle(3, 3, 3, "m"), "TW103"),
        (lambda: Swizzle.named(5), "TW104"),
        (lambda: Vector(((laneid, 1.5),)), "TW101"),
        (lambda: Vector((("m", 1),)), "TW103"),
        (lambda: Axis("℘"), "TW103"),
        (lambda: Axis("a·b"), "TW103"),
        (lambda: S[8:1].who(1, 2), "TW203"),
        (lambda: S[8:1].who({"m": 1}, m=1), "TW203"),
        (lambda: S[8:1].who(lane=1), "TW203"),
        (lambda: S[8:1].span("lane"), "TW203"),
        (lambda: S[(4, 4)].coordinates(100), "TW201"),
        (lambda: S[(4, 4)].coordinates(-1), "TW201"),
        (lambda: S[(4, 4)].coordinates(1.5), "TW101"),
        (lambda: from_json(to_json(S[8:1]) | {"storage": "buf"}), "TW108"),
    ],
)
def test_a_wrong_part_is_refused(wrong, code):
    with pytest.raises(LayoutError) as error:
        wrong()
    assert error.value.code == code


def test_one_name_is_a_list_of_names():
    assert parse("S[8 : 1@buf]", storage="buf").axes[0].kind == "storage"


def test_a_stride_alone_is_a_list_of_strides():
    assert Layout(8, 1) == S[8:1]


def test_a_unit_is_part_of_what_is_written_in_python():
    in_bytes = S[(8, 64) : (64, 1)].in_bytes("bf16")
    assert repr(in_bytes) == "S[(8, 64) : (128, 2)].counted('byte')"
    assert eval(repr(in_bytes), {"S": S}) == in_bytes
    assert in_bytes.counted("element") == S[(8, 64) : (128, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "5 + R[2 : 4] + S[8 : 1]",
        "R[2 : 4] + 5 + S[8 : 1]",
        "R[2 : 4] - 5 + S[8 : 1]",
        "R[2 : 4] + R[3 : 8] + S[8 : 1] + 7",
        "1@laneid + R[2 : 4] + 2@laneid + S[8 : 1]",
        "O[5] @ S[8 : 1]",
        "O[5@m] @ Swizzle(1, 0, 1) @ S[8 : 1]",
    ],
)
def test_what_stands_before_the_shard_reads_alike_in_text_and_in_python(text):
    names = {"S": S, "R": R, "O": O, "Swizzle": Swizzle, "laneid": laneid, "m": m}
    assert eval(text, names) == parse(text)


@pytest.mark.parametrize("text", ["R[2 : 4] + 0.5", "True + R[2 : 4]", "R[2 : 4] + 'x'"])
def test_what_cannot_stand_there_is_refused(text):
    with pytest.raises(LayoutError):
        eval(text, {"R": R})
