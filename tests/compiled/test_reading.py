"""Texts of one kernel are joined; launches, arguments and their names; what is refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiled.ptx_texts import text_of as ptx_text
from tests.compiled.sass_texts import text_of
from tests.compiled.test_slow import texts
from tests.interpreter import said

from tilewise.compiled.files import CODE, PTX, TTGIR, Artifact, artifacts_of
from tilewise.compiled.ptx.integers import ARITHMETIC, BITS
from tilewise.compiled.reading import WantedLaunch, kernels_of
from tilewise.compiled.run import LOADED
from tilewise.compiled.sass.floats import EXACT
from tilewise.compiled.sass.integers import COMPUTED
from tilewise.compiled.sass.warps import WARPS
from tilewise.core.errors import LayoutError

FEW = WantedLaunch(block=(32, 1, 1), steps=500)
COPY = text_of("S2R R0, SR_TID.X", "LDS R1, [R0.X4]", "STS [R0.X4+0x80], R1", "EXIT", name="copy")


def artifacts(name: str, folder: str = "") -> list[Artifact]:
    kinds = {"sass": CODE, "ttgir": TTGIR}
    return [Artifact(kind, texts()[f"{name}.{end}"], f"{name}.{end}", folder) for end, kind in kinds.items()]


def test_texts_of_one_kernel_are_joined():
    (kernel,) = kernels_of(artifacts("bias_between_dots"), WantedLaunch())
    assert kernel.source == "machine code"
    assert kernel.module is not None
    assert kernel.run is not None
    assert kernel.run.launch.block == (128, 1, 1)


def test_kernels_of_one_name_in_two_folders_stay_apart():
    both = [*artifacts("bias_between_dots", "cache/AA"), *artifacts("bias_between_dots", "cache/BB")]
    one, other = kernels_of(both, WantedLaunch())
    assert (one.name, other.name) == ("bias_between_dots", "bias_between_dots in BB")
    assert one.module is not None
    assert other.module is not None


def test_lines_of_a_load_are_those_of_its_ttgir():
    (kernel,) = kernels_of(artifacts("group_peak_transposed"), WantedLaunch())
    assert {row.line.number for row in kernel.rows if row.operation == "ld" and row.space == "global"} == {20}


def test_one_kernel_of_several():
    two = COPY + text_of("EXIT", name="other")
    assert [kernel.name for kernel in kernels_of([Artifact(CODE, two)], WantedLaunch(), "other")] == ["other"]
    with pytest.raises(LayoutError, match="no kernel is called third"):
        kernels_of([Artifact(CODE, two)], WantedLaunch(), "third")


def test_value_by_name_goes_to_the_kernels_that_have_it():
    one, two = (
        ptx_text("ld.param.u32 %r1, [M]", "ret", parameters=parameters).replace("kernel(", f"{name}(")
        for name, parameters in (
            ("one", ".param .u64 a, .param .u32 M"),
            ("two", ".param .u32 N, .param .u32 M"),
        )
    )
    other = ptx_text("ret", parameters=".param .u32 K").replace("kernel(", "other(")
    files = [Artifact(PTX, text) for text in (one, two, other)]
    kernels = kernels_of(files, WantedLaunch(let={"M": 256, "N": 3}))
    args = {kernel.name: kernel.run.launch.args for kernel in kernels if kernel.run is not None}
    assert args == {"one": [None, 256], "two": [3, 256], "other": [None]}
    with pytest.raises(LayoutError, match="no kernel has an argument P") as error:
        kernels_of(files, WantedLaunch(let={"M": 1, "P": 1}))
    assert "a, M, N, K" in str(error.value)
    with pytest.raises(LayoutError, match="other has no argument M"):
        kernels_of(files, WantedLaunch(let={"M": 1}), "other")


@pytest.mark.parametrize("block", [(0, 1, 1), (2048, 1, 1), (32, 32, 2)])
def test_block_that_cannot_be(block):
    with pytest.raises(LayoutError, match="block"):
        kernels_of([Artifact(CODE, COPY)], WantedLaunch(block=block))


def test_argument_that_is_not_given_is_named():
    loads = text_of("LDC R0, c[0x0][0x210]", "LDS R1, [R0]", "EXIT", name="given")
    notes = """//--------------------- .nv.info.given  ---------
	//----- nvinfo : EIATTR_KPARAM_INFO
        /*0000*/ .byte 0x04, 0x17
        /*0002*/ .short 0x000c
        /*0004*/ .word 0x00000000
        /*0008*/ .short 0x0000
        /*000a*/ .short 0x0000
        /*000c*/ .byte 0x00, 0xf0, 0x11, 0x00
	//----- nvinfo : EIATTR_PARAM_CBANK
        /*0010*/ .byte 0x04, 0x0a
        /*0012*/ .short 0x0008
        /*0014*/ .word 0x00000000
        /*0018*/ .short 0x0210
        /*001a*/ .short 0x0004
"""
    text = [Artifact(CODE, notes + loads)]
    (without,) = kernels_of(text, FEW)
    (given_it,) = kernels_of(text, replace(FEW, args=(64,)))
    assert [one["reason"] for one in without.left_out] == [LOADED]
    assert any("argument 0 is not given" in note for note in without.notes)
    assert not given_it.left_out
    assert given_it.rows[0].cost == 1


def test_nothing_to_read():
    for given_text in ("hello\nworld\n", b"\x00\x01\x02", ""):
        with pytest.raises(LayoutError):
            artifacts_of([given_text])


@given(st.integers(0, len(COPY)), st.text(max_size=30), st.booleans())
def test_text_that_is_cut_off_or_garbled_is_no_traceback(end, garbage, middle):
    text = COPY[:end] + garbage + (COPY[end:] if middle else "")
    with suppress(LayoutError):
        kernels_of([Artifact(CODE, text)], FEW)


OTHERS = (
    "LDS STS LDG.E STG.E LDGSTS.E LDGSTS.E.BYPASS.128 ATOMS.ADD ATOMG.E.ADD RED.E.ADD LDSM.16.M88.4 LDC ULDC "
    "HGMMA.64x8x16.F32 UTCHMMA UTMALDG.2D UTMASTG.2D UBLKCP.S.G UBLKPF.G SYNCS.ARRIVE.TRANS64 HMMA.16816.F32 "
    "BRA BSSY BSYNC BRX RET CALL LD.E ST.E I2F.RP I2F.U16 F2I.U32.TRUNC FMUL.RZ FSETP.GT.AND MUFU.RCP"
)
"""Instructions of memory, engines, branches and floats, beside those that are computed."""


@pytest.mark.parametrize("name", sorted({*COMPUTED, *EXACT, *WARPS, *OTHERS.split()}))
def test_instructions_that_lack_operands_are_no_traceback(name):
    registers = ["R1", "R2", "R4", "R6"]
    forms = [begin + registers[:count] for begin in ([], ["P0"], ["[R2]"]) for count in range(5)]
    for operands in forms:
        with suppress(LayoutError):
            kernels_of([Artifact(CODE, text_of(f"{name} {', '.join(operands)}".strip(), "EXIT"))], FEW)


@pytest.mark.parametrize("name", sorted({*ARITHMETIC, *BITS}))
def test_instructions_of_ptx_that_lack_operands_are_no_traceback(name, monkeypatch):
    monkeypatch.setenv("PATH", "")  # no ptxas, which would refuse the text
    registers, kind = ["%r1", "%r2", "%r3", "%r4"], "b32" if name in ("prmt", "bfi") else "u32"
    lines = [f"{name}.{kind} {', '.join(registers[:count])}".strip() for count in range(5)]
    (kernel,) = kernels_of([Artifact(PTX, ptx_text(".reg .b32 %r<9>", *lines, "ret"))], FEW)
    assert kernel.source == "PTX"


PIECES = [*"RUPZ[]().,+-!@0x9 :;`*/", "R1", "UR4", "c[0x0]", "LDS", "IMAD", "BRA"]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_garbage_for_operands_is_no_traceback(pieces):
    for name in "IMAD.WIDE LDG.E.64 LEA.HI.X BRA SHF.L.U32 ISETP.GE.AND.EX SHFL.IDX LDC.64".split():
        line = f"        /*0000*/                   {name} {''.join(pieces)} ;"
        with suppress(LayoutError):
            kernels_of([Artifact(CODE, f"//--------------------- .text.k ---\n.text.k:\n{line}\n")], FEW)


def test_ttgir_alone_loads_no_machine(tmp_path):
    """Hold the start of a reader of TTGIR to what it needs: the machine would add a third."""
    file = tmp_path / "kernel.ttgir"
    file.write_text(texts()["bias_between_dots.ttgir"])
    program = f"import sys, tilewise; print(tilewise.read({str(file)!r}))\nprint('loaded', *sys.modules)"
    loaded = set(said(program).rpartition("loaded ")[2].split())
    assert "tilewise.compiled.ttgir.accesses" in loaded
    for name in ("machine", "counts", "program", "sass.reader", "ptx.reader"):
        assert f"tilewise.compiled.{name}" not in loaded
    assert not {"tilewise.pictures.scene.model", "numpy.random"} & loaded
