"""`tilewise vector`: how wide, and what blocks the next width."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ("S[(64, 64) : (64, 1)]", "--dtype", "f16"),
            ["row:16B: 8 elements of f16 a lane, 16 requests of 32 lanes"],
        ),
        (
            ("S[(64, 96) : (100, 1)]", "--dtype", "f16"),
            [
                "row:8B: 4 elements of f16 a lane, 48 requests of 32 lanes",
                "  16 bytes: lane 12 of request 0 asks for 16 bytes from element 96 on, which is at "
                "byte 200, no multiple of 16",
            ],
        ),
        (
            ("S[(64, 64) : (1, 64)]", "--dtype", "f16", "--access", "col"),
            [
                "col:2B: one element of f16 a lane, 128 requests of 32 lanes",
                "  4 bytes: lane 0 of request 0 asks for 4 bytes, and elements 0 and 1 are at bytes 0 "
                "and 128: no neighbours",
                "  hint: elements are neighbours down the columns: swap the modes, S[(64, 64) : (64, 1)], "
                "and ask for row:4B",
            ],
        ),
        (
            ("S[(8, 4) : (4, 1)]", "--dtype", "f64", "--base", "8"),
            [
                "row:8B: one element of f64 a lane, 1 request of 32 lanes",
                "  16 bytes: the tile is at byte 8, no multiple of 16",
                "  hint: nothing else is in the way: put it at a multiple of 16",
            ],
        ),
    ],
)
def test_how_wide_and_why_no_wider(tilewise, words, lines) -> None:
    assert tilewise("vector", *words).out.splitlines() == lines


def test_the_answer_in_json(tilewise) -> None:
    words = (
        "vector",
        "S[(64, 64) : (66, 1)]",
        "--dtype",
        "f16",
        "--access",
        "row",
        "--access",
        "tma",
        "--json",
    )
    run = tilewise(*words)
    assert run.code == 1
    assert run.json["accesses"] is None
    row = tilewise(*words[:-3], "--json").json["accesses"][0]
    assert (row["access"], row["bytes"], row["elements"], row["next"]) == ("row:4B", 4, 2, 8)
    assert row["narrower"] == ["row:2B"]
    assert row["witness"]["rule"] == "alignment"
    assert row["witness"]["addresses"] == [132]


def test_where_nothing_can_be_moved_the_answer_is_no(tilewise) -> None:
    run = tilewise("vector", "S[(64, 64) : (64, 1)]", "--dtype", "f32", "--base", "6")
    assert run.code == 1
    assert run.out == (
        "no: the tile is at byte 6, no multiple of 4\n"
        "  hint: nothing else is in the way: put it at a multiple of 4\n"
    )
    assert tilewise("vector", "S[(64, 64) : (64, 1)]").code == 2


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ("S[(64, 96) : (100, 1)]", "--dtype", "f16", "--access", "row:16B"),
            [
                "no: lane 12 of request 0 asks for 16 bytes from element 96 on, which is at byte 200, "
                "no multiple of 16",
                "the widest is row:8B: 4 elements of f16 a lane, 48 requests of 32 lanes",
            ],
        ),
        (
            ("S[(64, 64) : (64, 1)]", "--dtype", "f16", "--access", "row:8B", "--base", "2"),
            [
                "no: the tile is at byte 2, no multiple of 8",
                "the widest is row:2B: one element of f16 a lane, 128 requests of 32 lanes",
                "  4 bytes: the tile is at byte 2, no multiple of 4",
                "  hint: nothing else is in the way: put it at a multiple of 4",
            ],
        ),
    ],
)
def test_a_width_that_is_said_and_cannot_be_moved_is_a_no(tilewise, words, lines) -> None:
    run = tilewise("vector", *words)
    assert run.code == 1
    assert run.out.splitlines() == lines
    data = tilewise("vector", *words, "--json").json
    assert lines[0] == f"no: {data['reason']}"
    assert data["code"] == "TW610"
    (access,) = data["accesses"]
    assert access["asked"] == int(words[4].partition(":")[2].rstrip("B"))
    assert lines[1].startswith(f"the widest is {access['access']}:")
    assert tilewise("vector", *words[:4], access["access"], *words[5:]).code == 0


def test_a_width_that_can_be_moved_is_a_yes_though_wider_ones_can(tilewise) -> None:
    run = tilewise("vector", "S[(64, 64) : (64, 1)]", "--dtype", "f16", "--access", "row:4B", "--json")
    assert (run.code, run.json["accesses"][0]["bytes"]) == (0, 16)
    assert "asked" not in run.json["accesses"][0]
