"""`tilewise coalesce`: accesses of a tile of global memory, and one request by its addresses."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROWS = "S[(64, 64) : (64, 1)]"


def test_accesses_are_counted_and_added_up(tilewise) -> None:
    words = ("--access", "row:16B", "--access", "col:2B", "--json")
    data = tilewise("coalesce", ROWS, "--dtype", "f16", *words).json
    row, column = data["accesses"]
    assert (row["sectors"], row["ideal"], row["lines"], row["efficiency"]) == (256, 256, 64, 1)
    assert (column["sectors"], column["ideal"], column["lines"]) == (4096, 256, 4096)
    assert (column["efficiency"], column["alignment"], column["closed"]) == (0.0625, 2, True)
    assert (data["sectors"], data["ideal"], data["excess"]) == (4352, 512, 3840)
    assert row["metric"] == "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    assert column["request"]["touched"][0]["4"] == [1]


def test_the_table_is_for_people(tilewise) -> None:
    out = tilewise("coalesce", ROWS, "--dtype", "f16", "--access", "row:16B", "--access", "col:2B").out
    head, row, column, why = out.splitlines()
    assert head.split()[2:] == "bytes requests sectors ideal excess lines used aligned".split()
    assert row.split() == "row:16B ld 16 16 256 256 0 64 100% 128".split()
    assert column.split() == "col:2B ld 2 128 4096 256 3840 4096 6% 2".split()
    assert why == "col:2B, request 0 of 128: 64 bytes in 32 sectors of 32 lines; 2 sectors would do"


def test_narrower_vectors_are_shown(tilewise) -> None:
    words = ("--dtype", "f16", "--access", "row", "--widths", "--json")
    accesses = tilewise("coalesce", ROWS, *words).json["accesses"]
    assert [own["access"] for own in accesses] == ["row:16B", "row:8B", "row:4B", "row:2B"]
    assert [own["sectors"] for own in accesses] == [256] * 4
    assert [own["requests"] for own in accesses] == [16, 32, 64, 128]


def test_the_address_of_the_tile_counts(tilewise) -> None:
    words = ("coalesce", ROWS, "--dtype", "f16", "--access", "row:4B")
    assert tilewise(*words, "--base", "0x80", "--json").json["excess"] == 0
    out = tilewise(*words, "--base", "4", "--request", "5").out
    assert out.splitlines()[-1] == (
        "row:4B, request 5 of 64: 128 bytes in 5 sectors of 2 lines; 4 sectors would do; "
        "the first byte is 4 into its sector"
    )


def test_a_request_by_its_addresses(tilewise) -> None:
    words = ("coalesce", "--bytes", "4", "--addresses", "0,4,8,x,16,0x400")
    data = tilewise(*words, "--json").json
    assert (data["sectors"], data["ideal"], data["lines"], data["useful"]) == (2, 1, 2, 20)
    assert data["touched"] == [{"0": [0, 1, 2, 4], "32": [5]}]
    assert tilewise(*words).out == "20 bytes in 2 sectors of 2 lines; 1 sector would do\n"
    assert (
        tilewise("coalesce", "--bytes", "4", "--addresses", "x,x").out == "0 bytes in 0 sectors of 0 lines\n"
    )
    stored = tilewise("coalesce", "--op", "st", "--bytes", "16", "--addresses", "16,32", "--json").json
    assert (stored["operation"], stored["sectors"], stored["first"]) == ("st", 2, 16)


def test_an_access_that_no_instruction_makes_is_a_no(tilewise) -> None:
    run = tilewise("coalesce", "S[(64, 64) : (65, 1)]", "--dtype", "f16", "--access", "row:4B", "--json")
    assert run.code == 1
    assert run.json["sectors"] is None
    assert run.json["witness"]["rule"] == "alignment"
    assert run.json["hint"].startswith("tilewise vector says")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "coalesce needs LAYOUT and --access, or --addresses"),
        (("--addresses", "0"), "bytes of one lane"),
        (("--addresses", "0", "--bytes", "four"), "no number"),
        (("--addresses", "0", "--bytes", "4", "--widths"), "--widths is about a LAYOUT"),
        (("--addresses", "2", "--bytes", "4"), "no multiple of 4"),
        (("--addresses", "0", "--bytes", "16", "--op", "ldmatrix"), "does not reach global memory"),
        ((ROWS, "--dtype", "f16"), "needs --access"),
        ((ROWS, "--access", "row"), "needs --dtype"),
        ((ROWS, "--access", "row", "--dtype", "f16", "--bytes", "4"), "--bytes is for a request"),
        ((ROWS, "--access", "row", "--dtype", "f16", "--request", "99"), "there is no request 99"),
    ],
)
def test_what_is_not_understood(tilewise, words, said) -> None:
    run = tilewise("coalesce", *words)
    assert run.code == 2
    assert said in run.err


@pytest.mark.parametrize("command", ["coalesce", "vector"])
def test_what_ranks_decide_imports_no_numpy(command: str) -> None:
    code = (
        "import sys; from tilewise.cli.main import main; "
        f"main(['{command}', '{ROWS}', '--dtype', 'f16', '--access', 'row']); "
        "sys.exit('numpy' in sys.modules or 'rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
