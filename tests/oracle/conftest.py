"""The claims of the oracles about the catalogue, gathered once a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from tests.oracle import (
    amd_claims,
    cute_claims,
    cute_dsl_claims,
    cute_dsl_tcgen05_claims,
    cute_tensor_memory,
    cute_tensor_memory_claims,
    cute_traits,
    probe_claims,
    shape_claims,
    tirx_claims,
    triton_claims,
    triton_matrices,
    triton_mfma_claims,
    triton_tcgen05_claims,
    weight_claims,
)
from tests.oracle.claims import Claim, Place, claim

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of


@pytest.fixture(scope="session")
def cute_atoms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[cute_traits.Atom]]:
    """{mma, copy: what CuTe has}."""
    if why := cute_traits.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("cute")
    return {kind: cute_traits.atoms(folder, kind) for kind in ("mma", "copy")}


@pytest.fixture(scope="session")
def cute_fragments(tmp_path_factory: pytest.TempPathFactory) -> list[cute_tensor_memory.Fragment]:
    """Return CuTe's tensors in tensor memory."""
    if why := cute_traits.missing():
        pytest.skip(why)
    return cute_tensor_memory.fragments(tmp_path_factory.mktemp("cute_fragments"))


@pytest.fixture(scope="session")
def cute_said(
    cute_atoms: dict[str, list[cute_traits.Atom]], cute_fragments: list[cute_tensor_memory.Fragment]
) -> list[Claim]:
    """Return CuTe's claims: fragments, metadata, scales, matrices, tables of instructions, tensor memory."""
    mma, copy = cute_atoms["mma"], cute_atoms["copy"]
    return [
        *cute_claims.of_mma(mma),
        *cute_claims.of_matrices(copy),
        *cute_claims.of_tables([*mma, *copy]),
        *cute_tensor_memory_claims.claims(cute_fragments),
    ]


@pytest.fixture(scope="session")
def triton_said() -> list[Claim]:
    """Return Triton's claims about fragments, scales and matrices, about mfma and about tcgen05."""
    if why := triton_claims.missing():
        pytest.skip(why)
    return [
        *triton_claims.claims(),
        *triton_matrices.claims(),
        *triton_mfma_claims.claims(),
        *triton_tcgen05_claims.claims(),
    ]


@pytest.fixture(scope="session")
def amd_calculator_said() -> list[Claim]:
    """Return the claims of AMD's calculator about mfma."""
    return [*amd_claims.claims(), *amd_claims.of_tables()]


@pytest.fixture(scope="session")
def cute_dsl_said() -> list[Claim]:
    """Return the claims of CuTe's Python DSL about matrices, products with scales, and tcgen05."""
    if why := cute_dsl_claims.missing():
        pytest.skip(why)
    return [*cute_dsl_claims.claims(), *cute_dsl_tcgen05_claims.claims()]


@pytest.fixture(scope="session")
def cute_headers_said() -> list[Claim]:
    """Return the assertions in the text of CuTe's headers about products of tcgen05."""
    if why := shape_claims.missing():
        pytest.skip(why)
    return [*shape_claims.claims()]


@pytest.fixture(scope="session")
def tirx_said() -> list[Claim]:
    """Return TIRx's claims about tcgen05."""
    if why := tirx_claims.missing():
        pytest.skip(why)
    return [*tirx_claims.claims()]


@pytest.fixture(scope="session")
def sm120_gemm_said() -> list[Claim]:
    """Return the answers that a GPU of sm_120 gave to others."""
    return [*probe_claims.claims()]


@pytest.fixture(scope="session")
def vllm_said() -> list[Claim]:
    """Return the claims of vLLM about packed weights."""
    return [*weight_claims.claims("vLLM")]


@pytest.fixture(scope="session")
def tinygrad_said() -> list[Claim]:
    """Return the claims of tinygrad about GGUF's blocks."""
    return [*weight_claims.claims("tinygrad")]


@pytest.fixture(scope="session")
def tensor_layouts_said() -> list[Claim]:
    """Return the claims of tensor-layouts about wgmma's accumulators: one layout an N, for every type."""
    atoms = pytest.importorskip("tensor_layouts.atoms_nv", reason="tensor-layouts is not installed")

    def places(n: int) -> Iterator[Place]:
        theirs = atoms.gmma_c_layout(n)
        for thread, value in product(range(128), range(n // 2)):
            column, row = divmod(theirs(thread, value), 64)
            yield (row, column), {"wid_in_wg": thread // 32, "laneid": thread % 32, "reg": value}

    every = instances_of(find("wgmma.D")).values()
    return [claim(f"gmma_c_layout({v['n']})", "wgmma.D", places(v["n"]), **v) for v in every]
