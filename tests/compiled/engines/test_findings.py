"""Findings of descriptors, and the commands that open layouts and accesses."""

from __future__ import annotations

import shlex
from html import escape
from pathlib import Path

import pytest
from tests.compiled import sass_texts
from tests.compiled.engines.agreement import texts
from tests.compiled.engines.written import BLACKWELL_A, IDESC, A, halves, in_code, opened
from tests.pictures.test_kernel import Reader

import tilewise
from tilewise.cli.main import main
from tilewise.compiled.findings import findings_of
from tilewise.compiled.kernel import ReadKernel
from tilewise.compiled.launch import Launch
from tilewise.compiled.run import Run, counted
from tilewise.compiled.texts import programs_of
from tilewise.compiled.ttgir.module import module_of

PRODUCT = Path(__file__).parents[3] / "docs" / "read" / "product.sass"

# -- findings --------------------------------------------------------------------------------------------


def found(run: Run) -> list[tuple[str, str, str]]:
    """Return (kind, cause, command) of findings that are of descriptors."""
    kernel = ReadKernel("kernel", run.program, run)
    return [
        (one.kind, one.cause, one.command or "") for one in findings_of(kernel) if one.kind == "descriptor"
    ]


FAULTS = [
    (0x4000000400010040, "the next 8 begin after 64: they overlap"),
    (0x4000404000010040, "reserved bit 46 is set"),
    (0x4000004000010000, "it starts at byte 0"),
    (0x4000004000013FFF, "it faults, an illegal address"),
    (0x4000004000010048, "the lowest starts 128 bytes past a multiple of 1024"),
    (0x0000000800000040, "share byte"),
]


@pytest.mark.parametrize(("word", "fault"), FAULTS)
def test_faults_of_descriptors_are_found(word, fault, capsys):
    line = "HGMMA.64x16x16.F32 R24, gdesc[UR4], R24"
    causes = found(in_code(line, {"UR4": halves(word, A)}))
    assert [cause for _, cause, _ in causes if fault in cause], causes
    for _, _, command in causes:
        assert main(shlex.split(command)[1:]) in (0, 1)
        assert f"{word:#018x}" in capsys.readouterr().out


def test_right_descriptors_are_no_findings():
    assert found(in_code("HGMMA.64x16x16.F32 R24, gdesc[UR4], R24", {"UR4": halves(A, A + 2)})) == []


def test_words_that_are_no_descriptors_are_found():
    line = "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR10], tmem[UR8], idesc[UR9], UP0"
    ((_, cause, _),) = found(in_code(line, {"UR4": halves(0x6000404000010040, BLACKWELL_A), "UR9": IDESC}))
    assert "no descriptor is like that: " in cause
    assert "3 is no swizzling mode" in cause
    ((_, cause, command),) = found(
        in_code(line, {"UR4": halves(BLACKWELL_A, BLACKWELL_A), "UR9": 0x08400890})
    )
    assert "is no instruction descriptor" in cause
    assert command == "tilewise idesc 0x08400890 --kind f16"


@pytest.mark.parametrize("name", [*texts()][::8])
def test_compilers_make_descriptors_without_findings(name):
    for kind in ("ptx", "sass"):
        assert found(counted(next(programs_of(texts()[name][kind])), Launch((1, 1, 1), (128, 1, 1)))) == []


# -- commands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["boxes_bf16_mn_128x128x64_90", "loads_tf32_kn_64x64x16_100", "scaled_e2m1_kk_128x64x128_100"]
)
def test_every_layout_opens_in_the_explorer(name):
    text = texts()[name]
    run = counted(next(programs_of(text["sass"])), Launch((1, 1, 1), (128, 1, 1), [None] * 2 + [256] * 20))
    kernel = ReadKernel(name, run.program, run, module_of(text["ttgir"]))
    data = kernel.as_dict()
    operands = [one for row in data["products"] for one in row["operands"]]
    rows = [*data["layouts"], *data["buffers"], *data["accesses"], *operands]
    commands = [one["explore"] for one in rows if one["explore"]]
    assert {one["explore"] for one in data["layouts"] if one["layout"]} <= {*commands}
    assert len(operands) == len([one for one in operands if one["explore"]]) >= 2
    for command in dict.fromkeys(commands):
        assert opened(command).startswith("#1&e=")
    assert any(one.get("command") for one in data["accesses"])


def test_addresses_of_lanes_open_as_a_layout():
    run = counted(
        sass_texts.program_of("S2R R0, SR_TID.X", "LDS R1, [R0.X16+0x404]", "EXIT"), sass_texts.ONE_WARP
    )
    (row,) = ReadKernel("kernel", run.program, run).as_dict()["accesses"]
    assert row["explore"] == "tilewise explore 'S[32 : 4] + 1' --dtype b32"
    assert row["command"].startswith("tilewise banks")
    (finding,) = [
        one for one in findings_of(ReadKernel("kernel", run.program, run)) if one.kind == "conflicts"
    ]
    assert finding.as_dict()["explore"] == row["explore"]


# -- as lines and on the page ----------------------------------------------------------------------------


def test_products_and_copies_are_told_as_lines_and_on_the_page(tmp_path):
    page = tmp_path / "page.html"
    report = tilewise.read(PRODUCT, grid=(4, 4), block=128, args=[None, None, None, 256], html=page)
    kernel, shown, written = report.kernels[0], report.shown(), page.read_text(encoding="utf-8")
    (row,) = kernel["products"]
    assert (row["times"], row["shape"]) == (4 * 4 * 4 * 4, (64, 8, 16))
    assert "A  K-major 128B, SBO 64; from byte 1,024; 4 steps of 32 B" in shown
    assert "9,216 B in 2 copies" in " ".join(shown.split())
    for command in (row["operands"][0]["command"], row["operands"][1]["explore"]):
        assert escape(command) in written
    assert "Bulk copies" in Reader(written).text
    assert tilewise.read(PRODUCT, fail_on="descriptor").answer is False


def test_ptx_beside_machine_code_has_the_lines_of_products():
    texts_of = texts()["loads_bf16_kk_128x128x64_90"]
    line = module_of(texts_of["ttgir"]).dots[0].number
    for given in (["sass", "ptx"], ["sass", "ttgir"]):
        kernel = tilewise.read([texts_of[kind] for kind in given]).kernels[0]
        assert [row["line"]["number"] for row in kernel["products"]] == [line]
