"""Descriptors that two compilers wrote for sm_100a, decoded to the layouts that their authors declared.

Nothing here computes a descriptor: each was read back out of PTX, and is held to the declaration element by
element. A list has the known places where they depart from the document, and a test shows each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.hardware.compiled_products import COMPILERS, START, Kernel, Side, name_of, recorded, sides
from tests.hardware.of_tcgen05 import addresses, pieces_of, unread, unread_of

from tilewise import Refused
from tilewise.hardware.mma.kinds import Scaling
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.instruction import InstructionWord
from tilewise.hardware.tcgen05.kinds import KINDS
from tilewise.hardware.tcgen05.operand import modes_of, stored_as
from tilewise.hardware.tcgen05.scales import Factors, Take, takes
from tilewise.tables import table

KERNELS = [(compiler, kernel) for compiler in COMPILERS for kernel in recorded(compiler)]
NAMES = [f"{compiler} {name_of(kernel)}" for compiler, kernel in KERNELS]
every_kernel = pytest.mark.parametrize(("compiler", "kernel"), KERNELS, ids=NAMES)


def tabled(kernel: Kernel, side: str) -> bool:
    """Return whether the document's table has the mode of an operand: two of CuTe's kernels have others."""
    case = kernel["case"]
    mode = Descriptor.decode(kernel["products"][0][side]).mode
    return mode in modes_of(stored_as(KINDS[case["kind"]], case[side]), case[f"{side}_major"])


# -- shared memory ---------------------------------------------------------------------------------


@every_kernel
def test_descriptors_read_what_was_declared(compiler: str, kernel: Kernel) -> None:
    """Each reads a whole tile of the operand, byte by byte, and all of them together the whole operand."""
    for letter, side in sides(kernel):
        descriptors = [Descriptor.decode(said[letter]) for said in kernel["products"]]
        first = min(descriptor.start for descriptor in descriptors)
        assert first >= START
        begun = set()
        for descriptor in descriptors:
            at = side.tiles[descriptor.start - first]
            begun.add(at)
            np.testing.assert_array_equal(_read(descriptor, side, kernel, letter), first + side.tile(*at))
        assert begun == {*side.tiles.values()}


def _read(descriptor: Descriptor, side: Side, kernel: Kernel, letter: str) -> np.ndarray:
    of = side.operand
    if tabled(kernel, letter):
        return np.array(addresses(descriptor, of))
    (piece,) = pieces_of(descriptor, **_extents(side))
    return table(piece.layout).array.reshape(of.rows, of.depth)


def _extents(side: Side) -> dict[str, Any]:
    """Return the extents that an instruction reads, whether the document has them or not."""
    of = side.operand
    return {"dtype": of.element, "major": of.major, "rows": of.rows, "k": of.depth}


@every_kernel
def test_a_descriptor_that_is_wrong_is_noticed(compiler: str, kernel: Kernel) -> None:
    """One bit more in SBO, where it is read, and the layout is another one."""
    for letter, side in sides(kernel):
        word = kernel["products"][0][letter]
        descriptor, other = Descriptor.decode(word), Descriptor.decode(word ^ 1 << 34)
        silent = "sbo" in unread_of(descriptor, **_extents(side))
        assert np.array_equal(*(_read(d, side, kernel, letter) for d in (descriptor, other))) == silent


def test_how_many_there_are() -> None:
    """As the page says: kernels, descriptors, different ones, strides and modes, instruction descriptors."""
    counts = {}
    for compiler in COMPILERS:
        kernels = recorded(compiler)
        words = [
            (side, kernel["case"]["kind"], kernel["case"][side], said[side])
            for kernel in kernels
            for said in kernel["products"]
            for side in kernel["declared"]
        ]
        strides = {word >> 14 for *_, word in words}
        instructions = {(k["instruction"], said["word"]) for k in kernels for said in k["products"]}
        counts[compiler] = (len(kernels), len(words), len({*words}), len(strides), len(instructions))
    assert counts == {"gluon": (56, 668, 464, 21, 51), "cute": (60, 516, 422, 22, 43)}


# -- where they do otherwise than the document ------------------------------------------------------


def test_triton_writes_a_base_offset_where_there_is_no_swizzle() -> None:
    """It is (start >> 7) & 7, which no one reads: without a swizzle there is no pattern to be moved."""
    offsets = set()
    for kernel in recorded("gluon"):
        for letter, side in sides(kernel):
            for said in kernel["products"]:
                descriptor = Descriptor.decode(said[letter])
                if descriptor.base_offset:
                    assert descriptor.mode.name == "none"
                    assert "base_offset" in unread(descriptor, side.operand)
                    assert descriptor.base_offset == descriptor.start >> 7 & 7
                    offsets.add(descriptor.base_offset)
    assert offsets


@pytest.mark.parametrize(("compiler", "lbo"), [("gluon", 0), ("cute", 16)])
def test_the_leading_dimension_that_no_one_reads(compiler: str, lbo: int) -> None:
    """K-major with a swizzle: Triton writes 0 to the field, CuTe 1, and wgmma's documents said 1."""
    found = set()
    for kernel in recorded(compiler):
        for letter, side in sides(kernel):
            descriptor = Descriptor.decode(kernel["products"][0][letter])
            if side.operand.major == "k" and descriptor.mode.bits:
                assert "lbo" in unread(descriptor, side.operand)
                found.add(descriptor.lbo)
    assert found == {lbo}


def test_cute_compiles_modes_that_the_document_has_not() -> None:
    """MN-major: 16 bits in atoms of 32 bytes, and 32 bits in any other; both are refused here."""
    found = set()
    for compiler, kernel in KERNELS:
        for letter, side in sides(kernel):
            if not tabled(kernel, letter):
                descriptor = Descriptor.decode(kernel["products"][0][letter])
                with pytest.raises(Refused, match="reads no MN-major"):
                    addresses(descriptor, side.operand)
                found.add((compiler, side.operand.dtype, descriptor.mode.name))
    assert found == {("cute", "f16", "128B_ATOM_32B"), ("cute", "tf32", "128B")}


def test_triton_takes_unsigned_bytes_for_signed_ones() -> None:
    """Its integers have no sign, and the word that it writes for both is that of s8."""
    words = {
        kernel["case"]["a"]: {said["word"] for said in kernel["products"]}
        for kernel in recorded("gluon")
        if kernel["case"]["kind"] == "i8"
    }
    assert words["u8"] == words["s8"]
    (word,) = words["u8"]
    assert InstructionWord.decode(word, "i8").a == "s8"


# -- instruction descriptors -----------------------------------------------------------------------


@every_kernel
def test_instruction_descriptors_say_the_product_that_was_declared(compiler: str, kernel: Kernel) -> None:
    case = kernel["case"]
    unsigned = compiler == "gluon" and case["a"] == "u8"
    for said, step in zip(kernel["products"], _steps(kernel), strict=True):
        scale = {"scale": _scaling(case).word} if "scale_dtype" in case else {}
        found = InstructionWord.decode(said["word"], case["kind"], cta_group=case["cta_group"], **scale)
        assert found.value == said["word"]
        assert kernel["instruction"].startswith(found.words.partition(".block_scale")[0])
        for name in ("m", "n", "d", "a_major", "b_major", *(["scale_dtype"] if scale else [])):
            assert getattr(found, name) == case[name], name
        assert (found.a, found.b) == (("s8", "s8") if unsigned else (case["a"], case["b"]))
        assert not any((found.sparse, found.negate_a, found.negate_b))
        assert found.saturate == (compiler == "cute" and case["kind"] == "i8")
        if scale:
            assert (found.sfa_id, found.sfb_id) == (step.id, step.id)


def _scaling(case: Kernel) -> Scaling:
    kind = KINDS[case["kind"]]
    return kind.scaling(f"{kind.k // case['block']}X", case["scale_dtype"])


def _steps(kernel: Kernel) -> list[Take | None]:
    """Return each product's share of its row of scale factors; one accumulator's follow one another."""
    case = kernel["case"]
    if "scale_dtype" not in case:
        return [None] * len(kernel["products"])
    factors = case["tile"][2] // case["block"]
    row = takes(
        _scaling(case), factors, Factors("SFA", case["m"], factors, case["m"], case["cta_group"]).next_word
    )
    return [*row] * (len(kernel["products"]) // len(row))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_products_along_k_step_through_the_scale_factors_of_a(compiler: str) -> None:
    """The address of the word, and the id of the byte in it, which CuTe writes into bits 31-30 as well."""
    seen = 0
    for kernel in recorded(compiler):
        if "scale_dtype" not in kernel["case"]:
            continue
        first: dict[int, int] = {}
        for said, step in zip(kernel["products"], _steps(kernel), strict=True):
            column = said["sfa"] & (1 << 30) - 1
            assert said["sfa"] >> 30 == (step.id if compiler == "cute" else 0)
            assert column - first.setdefault(said["d"], column) == step.column * _rows_of_blocks(
                kernel, compiler
            )
            seen += 1
    assert seen > 20


def test_the_next_factors_of_b_are_where_the_kernel_has_them() -> None:
    """CuTe has room for whole blocks of 128 rows, as ours; Triton for as many as there are, 64 at least."""
    for compiler, kernel in KERNELS:
        case = kernel["case"]
        if "scale_dtype" not in case or case["tile"][0] != case["m"]:
            continue
        n, factors = case["n"], case["tile"][2] // case["block"]
        ours = Factors("SFB", n, factors, case["m"], case["cta_group"]).next_word
        beside = max(2, n // 32) if compiler == "gluon" else ours
        first = kernel["products"][0]["sfb"]
        for said, step in zip(kernel["products"], _steps(kernel), strict=True):
            assert (said["sfb"] - first) & (1 << 30) - 1 == step.first // 4 * beside


def _rows_of_blocks(kernel: Kernel, compiler: str) -> int:
    """Triton has the factors of all rows of a buffer beside one another, M of several products as well."""
    case = kernel["case"]
    return case["tile"][0] // case["m"] if compiler == "gluon" else 1
