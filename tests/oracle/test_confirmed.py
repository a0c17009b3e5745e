"""The catalogue, instance by instance, against CuTe's headers and Triton's compiler; and its table of them.

The table of what confirms each instance says of these oracles what they say here: no more and no less.
`--update-goldens` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.notation.conftest import golden  # noqa: F401 - a fixture
from tests.oracle import (
    cute_claims,
    cute_dsl_tcgen05_claims,
    cute_tensor_memory,
    cute_tensor_memory_claims,
    cute_traits,
    shape_claims,
    tirx_claims,
    triton_claims,
    triton_matrices,
)
from tests.oracle.claims import Claim, confirmed_in, difference, disputed
from tools.record import table_text

from tilewise import S, laneid, reg
from tilewise.hardware.catalog import confirmed as table_of
from tilewise.hardware.catalog import entries
from tilewise.hardware.catalog.confirmed import confirmations
from tilewise.hardware.catalog.instances import instances_of
from tilewise.hardware.matrices.forms import Form, forms
from tilewise.hardware.matrices.moves import OPCODE
from tilewise.hardware.mma.instructions import instructions, kind_instructions, sparse_instructions

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

FAULTS = {
    "CuTe": cute_claims.FAULTS | cute_tensor_memory_claims.FAULTS,
    "CuTe DSL": cute_dsl_tcgen05_claims.FAULTS,
    "CuTe headers": shape_claims.FAULTS,
    "TIRx": tirx_claims.FAULTS,
    "Triton": {},
    "sm120_gemm": {},
    "tensor-layouts": {},
    "AMD calculator": {},
    "vLLM": {},
    "tinygrad": {},
}
"""Where an oracle is known to be wrong."""


@pytest.fixture(params=[*FAULTS])
def oracle(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def said(oracle: str, request: pytest.FixtureRequest) -> list[Claim]:
    fixture = oracle.lower().replace(" ", "_").replace("-", "_") + "_said"
    found: list[Claim] = request.getfixturevalue(fixture)
    return found


def test_it_says_the_same_but_where_it_is_known_to_be_wrong(oracle: str, said: list[Claim]) -> None:
    wrong = disputed(said)
    assert wrong.keys() == FAULTS[oracle].keys(), "\n".join(map(str, wrong.values()))


def test_it_speaks_of_instances_that_there_are(said: list[Claim]) -> None:
    for name in {claim.entry for claim in said}:
        there = instances_of(entries()[name])
        assert {claim.instance for claim in said if claim.entry == name} <= there.keys()


def test_the_table_says_what_it_says(oracle: str, said: list[Claim], pytestconfig: pytest.Config) -> None:
    way, found = f"oracle: {oracle}", confirmed_in(said)
    if pytestconfig.getoption("--update-goldens"):
        _write(way, found)
    table = {
        name: set(instances_of(entries()[name])) if ways[way] is None else set(ways[way] or ())
        for name, ways in confirmations().items()
        if way in ways
    }
    assert table == found


def _write(way: str, found: dict[str, set[str]]) -> None:
    """The table with the instances that an oracle confirms, `all` where it is all of an entry's."""
    written: dict[str, table_of.Ways] = {}
    for name, ways in confirmations().items():
        others = {other: those for other, those in ways.items() if other != way}
        every = instances_of(entries()[name]).keys()
        mine = {way: None if found[name] == every else frozenset(found[name])} if name in found else {}
        written[name] = dict(
            sorted({**others, **mine}.items(), key=lambda pair: _ORDER.index(pair[0].split(":")[0]))
        )
    Path(table_of.__file__).with_name(table_of.TABLE).write_text(table_text(written))
    table_of.confirmations.cache_clear()


_ORDER = ("document", "oracle", "device")


def test_an_element_elsewhere_and_one_that_is_nowhere_are_noticed() -> None:
    ours = S[(2, 2) : (1 @ laneid, 1 @ reg)]
    right = [((i, j), {"laneid": i, "reg": j}) for i in range(2) for j in range(2)]
    assert difference(ours, right) == ""
    assert difference(ours, right[1:]) == "(0, 0) is nowhere"
    assert (
        difference(ours, [((0, 1), {"laneid": 0, "reg": 2})])
        == "(0, 1) is at {'reg': 2}, and at {'reg': 1} by ours"
    )
    assert difference(ours, [((0, 2), {})]) == "(0, 2) is no element of ours"


def test_a_copy_by_another_move_of_matrices_is_noticed() -> None:
    """The warp that runs Triton's copies tells one form from another."""
    if why := triton_claims.missing():
        pytest.skip(why)
    ptx = triton_matrices.compiled()
    load, turned = Form("ldmatrix", 2, True, "m16n16", "b8"), Form("ldmatrix", 4, True)
    store, other = Form("stmatrix", 2, True, "m16n8", "b8"), Form("stmatrix", 2, True)
    assert [triton_matrices.copies(ptx[load], load, meant) for meant in (load, turned)] == [True, False]
    assert [triton_matrices.copies(ptx[store], store, meant) for meant in (store, other)] == [True, False]


def test_a_place_in_tensor_memory_that_is_another_is_noticed(
    cute_fragments: list[cute_tensor_memory.Fragment],
) -> None:
    for fragment in {one.what: one for one in cute_fragments}.values():
        first, *places = fragment.places
        moved = replace(fragment, places=[first + fragment.lane, *places])
        assert disputed(cute_tensor_memory_claims.claims([moved])), fragment.type


# -- what CuTe has, and what it has not ------------------------------------------------------------

HAS = Path(__file__).with_name("goldens") / "cute.txt"


def every_instruction() -> Iterator[str]:
    """Of the catalogue, mma.sp with ordered metadata."""
    yield from map(str, (*instructions(), *sparse_instructions(), *kind_instructions(), *forms(), OPCODE))


def test_instructions_that_the_catalogue_and_cute_have(
    cute_atoms: dict[str, list[cute_traits.Atom]],
    golden: Callable[[Path, str], None],  # noqa: F811
) -> None:
    """Listed in a file: nothing of CuTe's is missing, and where CuTe has nothing another source is needed."""
    ours = {cute_claims.words_of(one): one for one in every_instruction()}
    theirs = {
        cute_claims.words_of(atom.instruction): atom.instruction
        for kind in cute_atoms.values()
        for atom in kind
    }
    lines = [f"both: {len(ours.keys() & theirs.keys())}"]
    lines += ["", "CuTe's alone:", *sorted(theirs[words] for words in theirs.keys() - ours.keys())]
    lines += ["", "the catalogue's alone:", *sorted(ours[words] for words in ours.keys() - theirs.keys())]
    golden(HAS, "\n".join([*lines, ""]))
