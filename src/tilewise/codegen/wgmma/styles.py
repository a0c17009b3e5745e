"""The same tiles and instruction as bare constants for an existing kernel, or in CuTe's words."""

from __future__ import annotations

from tilewise.codegen.parts.plan import refused
from tilewise.codegen.parts.template import filled
from tilewise.codegen.wgmma.plan import DescribedOperand, WgmmaPlan
from tilewise.codegen.wgmma.text import facts, multiplied
from tilewise.core.errors import Refused
from tilewise.hardware.wgmma.instructions import M

ELEMENT = {
    "f16": "half_t",
    "bf16": "bfloat16_t",
    "tf32": "tfloat32_t",
    "e4m3": "float_e4m3_t",
    "e5m2": "float_e5m2_t",
    "s8": "int8_t",
    "u8": "uint8_t",
}
ATOM = {"none": "INTER", "32B": "SW32", "64B": "SW64", "128B": "SW128"}
PLAIN_N = (8, 16, 32, 64, 96, 128, 192, 256)
"""The N that CuTe has without its macro for more."""

PROGRAM = """\
// ${plan.instruction}
//
$facts
$extended
#include <cute/tensor.hpp>
using namespace cute;

$tiles

// A warpgroup for each 64 rows of the tile.
using Mma = decltype(make_tiled_mma(
    $atom{}, Layout<Shape<Int<$warpgroups>, _1, _1>>{}));

// d += A B^T over the K of one tile, by the ${plan.threads} threads of a block.
template <$given>
__device__ void multiply($a, $b_type const *b, D &d)
{
    const auto mine = Mma{}.get_thread_slice(threadIdx.x);
    $a_tensor
    Tensor b_tile = make_tensor(make_smem_ptr(b), BTile{});
    warpgroup_fence_operand(d);
    warpgroup_arrive();
    gemm(Mma{}, $a_fragment, mine.partition_fragment_B(b_tile), d);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    warpgroup_fence_operand(d);
}"""


def cute_source(plan: WgmmaPlan) -> str:
    """Return C++ on CuTe.

        refused  TW008 types without an instruction in CuTe

    >>> from tilewise.codegen.wgmma import planned
    >>> text = cute_source(planned((64, 64, 64), "bf16"))
    >>> "SM90_64x64x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>" in text
    True
    """
    if plan.a.dtype.name not in ELEMENT:
        raise refused(
            f"CuTe has no wgmma on {plan.a.dtype.name}",
            "--style kernel and --style constants have it",
            code="TW008",
            dtype=plan.a.dtype.name,
        )
    if plan.a.in_registers and plan.a.major == "mn":
        raise refused(
            "CuTe's wgmma takes A from registers K-major alone",
            "its fragment is the same whatever the matrix was: --major-a k",
            code="TW008",
            major="mn",
        )
    if any(own.order is None for own in plan.in_shared):
        raise Refused(
            "TW008",
            "this style names CuTe's atoms, and you ask for a layout of your own",
            hint="tilewise code LAYOUT --lang cute spells a layout",
        )
    held, a_type = plan.a.in_registers, ELEMENT[plan.a.dtype.name]
    slots = {
        "plan": plan,
        "facts": "\n".join(f"// {line}" for line in _facts(plan)),
        "extended": "" if plan.n in PLAIN_N else "#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED",
        "tiles": "\n".join(_tile(own) for own in plan.in_shared),
        "atom": _atom(plan),
        "warpgroups": plan.m // M,
        "given": "class A, class D" if held else "class D",
        "a": "A const &a" if held else f"{a_type} const *a",
        "a_tensor": "" if held else "Tensor a_tile = make_tensor(make_smem_ptr(a), ATile{});",
        "a_fragment": "a" if held else "mine.partition_fragment_A(a_tile)",
        "b_type": ELEMENT[plan.b.dtype.name],
    }
    return filled(PROGRAM, slots)


def _tile(own: DescribedOperand) -> str:
    atom = f"GMMA::Layout_{own.major.upper()}_{ATOM[own.mode.name]}_Atom<{ELEMENT[own.dtype.name]}>"
    order = "Step<_1, _2>" if own.order == "mn" else "Step<_2, _1>"
    shape = f"Shape<Int<{own.rows}>, Int<{own.k}>>"
    return f"using {own.name}Tile = decltype(tile_to_shape(\n    {atom}{{}}, {shape}{{}}, {order}{{}}));"


def _atom(plan: WgmmaPlan) -> str:
    where = "RS" if plan.a.in_registers else "SS"
    types = f"{plan.accumulator}{plan.a.dtype}{plan.b.dtype}".upper()
    name = f"SM90_{M}x{plan.n}x{plan.a.input.k}_{types}_{where}"
    if plan.a.dtype.bits != 16:
        return f"{name}_TN<>" if plan.accumulator.name != "s32" else f"{name}_TN"
    majors = ", ".join(f"GMMA::Major::{own.major.upper()}" for own in plan.operands)
    return f"{name}<{majors}>"


def constants_source(plan: WgmmaPlan) -> str:
    """Return descriptors, the number that each step adds to them, and the asm statement, as C++.

    >>> from tilewise.codegen.wgmma import planned
    >>> text = constants_source(planned((64, 64, 64), "bf16"))
    >>> "constexpr unsigned B_STEP[] = {0, 2, 4, 6};" in text
    True
    """
    lines = [f"// {plan.instruction}", "//", *(f"// {line}" for line in _facts(plan)), ""]
    for own in plan.in_shared:
        name, descriptor = own.name, own.descriptor
        ignored = " (ignored)" if own.major == "k" and own.mode.bits else ""
        lines += [
            f"// {name}: lbo {descriptor.lbo}{ignored}, sbo {descriptor.sbo} bytes, mode {own.mode}. "
            f"The tile begins at a multiple of {own.mode.period} bytes.",
            f"// The descriptor of step k is constant + (address >> 4) + {name}_STEP[k], of 16 bytes each.",
            f"constexpr unsigned long long {name}_DESCRIPTOR = {descriptor.value:#018x};",
            _array(f"{name}_STEP", own.along_k),
        ]
        if len(own.along_rows) > 1:
            lines += ["// What each 64 rows add to that.", _array(f"{name}_ROWS", own.along_rows)]
        lines.append("")
    return "\n".join([*lines, multiplied(plan)])


def _facts(plan: WgmmaPlan) -> list[str]:
    d = f"D [{plan.m}, {plan.n}] {plan.accumulator}, a warpgroup for each {M} rows:"
    return [*facts(plan), d, f"    {plan.fragment}"]


def _array(name: str, numbers: tuple[int, ...]) -> str:
    return f"constexpr unsigned {name}[] = {{{', '.join(map(str, numbers))}}};"
