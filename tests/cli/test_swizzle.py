"""`tilewise swizzle`: the layout, its proof, and what was searched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., Any]


def test_the_layout_comes_first(tilewise: Command) -> None:
    words = ("swizzle", "128x64", "--dtype", "bf16", "--access", "row:16B@st", "--access", "ldmatrix.x4")
    run = tilewise(*words)
    assert run.code == 0
    assert run.out.splitlines()[0] == "Swizzle<3,3,3> o S[(128, 64) : (64, 1)]"


def test_json_has_all_of_it(tilewise: Command) -> None:
    words = ("swizzle", "32x32", "--dtype", "f32", "--access", "2*row:4B@st", "--access", "col:4B", "--json")
    data = tilewise(*words).json
    assert (data["layout"], data["wavefronts"], data["ideal"]) == (
        "Swizzle<5,0,5> o S[(32, 32) : (32, 1)]",
        96,
        96,
    )
    assert (data["proof"], data["bound"], data["bytes"]) == ("ideal", 96, 4096)
    assert data["accesses"][0] == {"access": "row:4B@st", "weight": 2, "wavefronts": 32, "ideal": 32}
    assert [one["family"] for one in data["searched"]] == ["plain", "mode", "swizzle", "padding", "linear"]
    assert data["tma"]["boxes"] is None
    assert data["wgmma"] == {"operands": [], "reason": "wgmma does not multiply f32"}


def test_the_answer_goes_to_other_commands(tilewise: Command) -> None:
    words = (
        "swizzle",
        "64x48",
        "--dtype",
        "bf16",
        "--access",
        "row:16B@st",
        "--access",
        "ldmatrix.x4",
        "--json",
    )
    found = tilewise(*words)
    counted = tilewise("banks", "-", "--dtype", "bf16", "--access", "ldmatrix.x4", "--json", stdin=found.out)
    assert counted.json["accesses"][0]["wavefronts"] == 48


def test_a_layout_and_standard_input_are_tiles_too(tilewise: Command) -> None:
    words = ("--dtype", "bf16", "--access", "ldmatrix.x4.trans", "--json")
    text = "S[(64, 128) : (1, 64)]"
    given, piped = tilewise("swizzle", text, *words), tilewise("swizzle", "-", *words, stdin=text)
    assert given.json == piped.json
    in_bytes = tilewise("swizzle", "S[(64, 128) : (2, 128)]", "--unit", "byte", *words)
    assert in_bytes.json == given.json


def test_families_can_be_left_out(tilewise: Command) -> None:
    words = (
        "swizzle",
        "64x96",
        "--dtype",
        "f16",
        "--access",
        "ldmatrix.x4",
        "--among",
        "mode, padding",
        "--json",
    )
    data = tilewise(*words).json
    assert [one["family"] for one in data["searched"]] == ["mode", "padding"]


def test_ideal_or_no(tilewise: Command) -> None:
    words = ("swizzle", "128x64", "--dtype", "bf16", "--access", "row:16B@st", "--access", "col:2B", "--json")
    assert tilewise(*words).json["proof"] == "bound"
    no = tilewise(*words, "--ideal")
    assert no.code == 1
    assert no.json["layout"] is None
    assert no.json["code"] == "TW611"
    assert no.json["witness"]["wavefronts"] == 1152


@pytest.mark.parametrize(
    "words",
    [
        ("32x32", "--access", "row"),
        ("32x32", "--dtype", "f32"),
        ("32x32", "--dtype", "f32", "--access", "row", "--among", "xor"),
        ("32x", "--dtype", "f32", "--access", "row"),
        ("32x32", "--dtype", "f32", "--access", "0*row"),
        ("0x32", "--dtype", "f32", "--access", "row"),
    ],
    ids="no-dtype no-access no-family no-shape no-weight no-rows".split(),
)
def test_what_is_not_understood(tilewise: Command, words: tuple[str, ...]) -> None:
    run = tilewise("swizzle", *words)
    assert run.code == 2
    assert "Traceback" not in run.err


def test_the_type_goes_through_the_pipe(tilewise: Command) -> None:
    """The answer of `swizzle` names the type, and so does the text that it reads."""
    found = tilewise("swizzle", "64x48", "--dtype", "bf16", "--access", "ldmatrix.x4", "--json")
    assert found.json["dtype"] == "bf16"
    for command in (["banks", "-"], ["coalesce", "-"], ["swizzle", "-"]):
        access = "row:16B" if command[0] == "coalesce" else "ldmatrix.x4"
        run = tilewise(*command, "--access", access, "--json", stdin=found.out)
        assert (run.code, run.json["dtype"]) == (0, "bf16")
    suggested = tilewise("suggest", "--operand", "A", "--dtype", "f16", "--tile", "64x64", "--json")
    run = tilewise("swizzle", "-", "--access", "ldmatrix.x4", "--json", stdin=suggested.out)
    assert (run.code, run.json["dtype"]) == (0, "f16")


@pytest.mark.parametrize(
    "words",
    [
        ("128x64", "--access", "row:16B@st", "--access", "ldmatrix.x4"),
        ("32x32", "--access", "row:2B@st", "--access", "col:2B"),
        ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", "--access", "ldmatrix.x4.trans", "--access", "tma"),
        ("S[(64, 64) : (1, 64)]", "--access", "ldmatrix.x4.trans"),
    ],
    ids=lambda words: words[0],
)
def test_extents_that_are_powers_of_two_need_no_numpy(words: tuple[str, ...]) -> None:
    program = (
        "import sys; from tilewise.cli.main import main; main(sys.argv[1:]);"
        "heavy = {'numpy', 'rich'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    command = [sys.executable, "-c", program, "swizzle", *words, "--dtype", "bf16", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


PLAIN = ("swizzle", "64x64", "--dtype", "f16")


def test_an_operation_is_said_once_for_what_does_not_say_it(tilewise: Command) -> None:
    accesses = ("--access", "row:16B", "--access", "col:2B", "--json")
    stored = tilewise(*PLAIN, "--op", "st", *accesses).json
    assert [one["access"] for one in stored["accesses"]] == ["row:16B@st", "col:2B@st"]
    said = tilewise(*PLAIN, "--access", "row:16B@st", "--access", "col:2B@st", "--json").json
    assert stored == said
    clash = tilewise(*PLAIN, "--op", "st", "--access", "ldmatrix.x4", "--json")
    assert (clash.code, clash.json["error"]["code"]) == (2, "TW601")


def test_vectors_begin_with_the_tile(tilewise: Command) -> None:
    """At a whole vector nothing of the banks changes; wgmma's answer is for the address."""
    accesses = ("--access", "row", "--access", "ldmatrix.x4", "--json")
    here, there = (tilewise(*PLAIN, "--base", base, *accesses).json for base in ("0", "0x410"))
    assert (there["base"], there["wgmma"]["operands"]) == (0x410, [])
    assert here["wgmma"]["operands"] == ["A", "B"]
    assert {name: here[name] for name in ("layout", "wavefronts", "bound", "accesses", "tma")} == {
        name: there[name] for name in ("layout", "wavefronts", "bound", "accesses", "tma")
    }
    narrow = tilewise(*PLAIN, "--base", "8", "--access", "row", "--json").json
    assert narrow["accesses"][0]["access"] == "row:8B"


@pytest.mark.parametrize(
    ("access", "base", "widest"), [("row:16B", "8", 16), ("row:2B", "2", 4), ("ldmatrix.x4", "0x1008", 16)]
)
def test_a_base_at_which_no_vector_begins_is_a_no(
    tilewise: Command, access: str, base: str, widest: int
) -> None:
    run = tilewise(*PLAIN, "--base", base, "--access", access, "--json")
    assert (run.code, run.json["code"], run.json["layout"]) == (1, "TW610", None)
    assert run.json["reason"] == f"the tile is at byte {int(base, 0)}, no multiple of {widest}"


@pytest.mark.parametrize("bytes", [4, 8, 16])
def test_the_ideal_is_that_of_banks(tilewise, bytes):
    words = ("S[(64, 64) : (64, 1)]", "--dtype", "f32", "--access", f"row:{bytes}B@cp.async")
    run = tilewise("swizzle", *words)
    counted = tilewise("banks", *words, "--json").json["accesses"][0]
    assert f"  {counted['wavefronts']}, ideal {counted['ideal']}\n" in run.out
    assert f"wavefronts  {counted['wavefronts']}: no conflicts" in run.out
    assert "more than the ideal" not in run.out
    data = tilewise("swizzle", *words, "--json").json
    assert (data["ideal"], data["accesses"][0]["ideal"]) == (counted["ideal"], counted["ideal"])
