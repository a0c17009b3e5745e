"""`algebra recognise` of functions and files, and lambdas wherever a layout is read."""

from __future__ import annotations

import pytest

TILE = "lambda i, j: i * 64 + (j ^ i % 8 * 8)"
SWIZZLED = "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((TILE, "--shape", "64,64"), SWIZZLED),
        ((TILE, "--shape", "((8, 8), 64)"), "Swizzle<3,3,3> o S[((8, 8), 64) : ((512, 64), 1)]"),
        (("lambda i: i * K", "--shape", "8", "--let", "K=3"), "S[8 : 3]"),
        (
            ("lambda i, j: (i * 4 + j // 2, j % 2)", "--shape", "8,8", "--axes", "laneid,reg"),
            "S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))]",
        ),
        (("lambda i, j: i * 8 + j", "--shape", "4,8", "--dialect", "cute"), "(4,8):(8,1)"),
        (("[0, 1, 2, 3]", "--shape", "2,2"), "S[(2, 2) : (2, 1)]"),
        (("[0, 1, 2, 3]", "--axes", "laneid"), "S[4 : 1@laneid]"),
    ],
)
def test_a_function_or_a_table_in_a_shape(tilewise, words, said):
    assert tilewise("algebra", "recognise", *words).out == said + "\n"


def test_the_witness_is_in_the_answer(tilewise):
    run = tilewise("algebra", "recognise", TILE + " + (i == 9)", "--shape", "64,64", "--json")
    assert run.code == 1
    assert run.json["witness"] == [9, 0]
    assert run.json["hint"] == f"{SWIZZLED} has the elements before it, and puts it at 584@m"


def test_all_explanations_in_a_shape(tilewise):
    run = tilewise("algebra", "explanations", "lambda i, j: i * 4 + j * 3", "--shape", "2,2")
    assert run.out.splitlines()[0] == "S[(2, 2) : (4, 3)]"
    assert len(run.out.splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((TILE,), "TW202", "--shape"),
        ((TILE, "--shape", "64"), "TW202", "one coordinate a mode"),
        (("lambda i: (i, i)", "--shape", "4"), "TW107", "name the axes"),
        (("[0, 1]", "--axes", "laneid,reg"), "TW107", "--axes laneid,reg"),
        (("[0, 1, 2]", "--shape", "2,2"), "TW202", ""),
        (("lambda i: i +", "--shape", "4"), "TW001", ""),
        (("none.npy",), "TW402", ""),
    ],
)
def test_what_is_refused(tilewise, words, code, said):
    error = tilewise("algebra", "recognise", *words, "--json").json["error"]
    assert error["code"] == code
    assert said in error["hint"]


def test_an_array_that_numpy_has_saved(tilewise, tmp_path):
    np = pytest.importorskip("numpy")
    path = tmp_path / "order.npy"
    np.save(path, np.arange(64).reshape(8, 8).T)
    assert tilewise("algebra", "recognise", str(path)).out == "S[(8, 8) : (1, 8)]\n"
    assert tilewise("algebra", "recognise", str(path), "--shape", "4,2,8").out == "S[(4, 2, 8) : (2, 1, 8)]\n"
    for wrong in (np.array([{}]), np.arange(3.0)):
        np.save(path, wrong, allow_pickle=True)
        assert tilewise("algebra", "recognise", str(path), "--json").json["error"]["code"] in (
            "TW402",
            "TW101",
        )
    np.save(path, np.zeros((1 << 11, 1 << 12), np.int8))
    assert tilewise("algebra", "recognise", str(path), "--json").json["error"]["code"] == "TW301"
    path.write_text("0 1 2 3")
    assert tilewise("algebra", "recognise", str(path), "--json").json["error"]["code"] == "TW402"


# -- wherever a layout is read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        ("info", ()),
        ("at", ("3,4",)),
        ("who", ("100",)),
        ("explain", ()),
        ("banks", ("--dtype", "f16", "--access", "row:16B")),
        ("code", ("--lang", "c")),
        ("say", ()),
    ],
)
def test_a_command_says_of_a_lambda_what_it_says_of_the_layout(tilewise, command, rest):
    asked = tilewise(command, TILE, *rest, "--shape", "64,64")
    assert asked.code == 0
    assert asked.out.replace(TILE, SWIZZLED) == tilewise(command, SWIZZLED, *rest).out


def test_two_layouts_of_which_one_is_a_lambda(tilewise):
    assert tilewise("same", TILE, SWIZZLED, "--shape", "64,64").code == 0
