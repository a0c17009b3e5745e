"""A cubin is read by nvdisasm, of the extra `sass`: the text and the machine code have one answer."""

from __future__ import annotations

import pytest
from tests.codegen import nvrtc

import tilewise
from tilewise.compiled.files import disassembled, found

SOURCE = """
extern "C" __global__ void columns(float *to) {
    __shared__ float tile[32 * 32];
    tile[threadIdx.x * 32] = threadIdx.x;
    __syncthreads();
    to[threadIdx.x] = tile[threadIdx.x * 32];
}
"""


@pytest.fixture(scope="module")
def cubin() -> bytes:
    library = nvrtc.load()
    if library is None:
        pytest.skip("NVRTC is not installed: there is no cubin to read")
    if found("nvdisasm") is None:
        pytest.skip("nvdisasm is not installed: no cubin is read here")
    code, _ = nvrtc.compile_to_cubin(library, SOURCE, "--gpu-architecture=sm_90", "-lineinfo")
    return code


@pytest.mark.slow
def test_a_cubin_and_its_text_have_one_answer(cubin, tmp_path):
    path = tmp_path / "columns.cubin"
    path.write_bytes(cubin)
    report = tilewise.read(path, block=32)
    assert report.kernels[0]["totals"]["shared"]["store"]["wavefronts"] == 32
    assert report.kernels[0]["findings"][0]["kind"] == "conflicts"
    assert report.kernels[0]["findings"][0]["line"]["number"] in (4, 6)
    for other in (cubin, disassembled(cubin), {"cubin": cubin}):
        assert tilewise.read(other, block=32).data() == report.data()
