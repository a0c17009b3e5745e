"""A suggested tile as source text: shared memory and descriptors in CUDA, and the same in CuTe's words."""

from __future__ import annotations

from math import prod

from tilewise.check.suggest import Suggestion
from tilewise.codegen.parts.template import filled
from tilewise.codegen.wgmma.styles import ATOM, ELEMENT
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.operands.stepping import Digits

ROOM = {"wgmma": "GMMA", "tcgen05": "UMMA"}
"""CuTe's namespace for the atoms of an engine."""

ATOMS = {**ATOM, "128B_ATOM_32B": "SW128_32B"}

STATIC_BYTES = 48 * 1024
"""Shared memory that a kernel can declare; the launch has to request more."""

CUDA = """\
// ${found.operand} [${found.rows}, ${found.k}] ${found.dtype}, $major, mode ${found.mode}: $tile
$declaration
constexpr unsigned ${found.operand}_STRIDE = ${found.stages.stride};  // bytes from stage to stage
constexpr unsigned ${found.operand}_EXPECT = ${found.bytes};  \
// bytes of a stage, for the mbarrier: TMA takes $copies
constexpr unsigned long long ${found.operand}_DESCRIPTOR = $value;  \
// lbo ${found.descriptor.lbo}, sbo ${found.descriptor.sbo} bytes$ignored

// The descriptor of one instruction: $each. `smem` is the shared address of the stage.
__device__ __forceinline__ constexpr unsigned long long ${name}_descriptor($arguments)
{
    return ${found.operand}_DESCRIPTOR + ($sum);
}"""

CUTE = """\
// ${found.operand} [${found.rows}, ${found.k}] ${found.dtype}, $major, mode ${found.mode}
using ${found.operand}Atom = cute::${room}::Layout_${way}_${atom}_Atom<$type>;
using ${found.operand}Layout = decltype(cute::tile_to_shape(
    ${found.operand}Atom{},
    cute::Shape<cute::Int<${found.rows}>, cute::Int<${found.k}>, cute::Int<${found.stages.count}>>{},
    $order{}));
struct ${found.operand}Storage {
    alignas(${found.alignment}) cute::ArrayEngine<$type, cute::cosize_v<${found.operand}Layout>> data;
};"""


def cuda_of(found: Suggestion) -> str | None:
    """Return shared memory, the bare constant, and a function from a step to its descriptor, in CUDA C++.

    Return None where steps differ in more than their start: K of 48 bytes, in one chunk or in two.

    >>> from tilewise.check.suggest import suggest
    >>> print(cuda_of(suggest(operand="A", rows=128, k=128, dtype="bf16")).splitlines()[-1 - 1])
        return A_DESCRIPTOR + ((smem >> 4) + m * 512 + k / 4 * 1024 + k % 4 * 2);
    """
    if found.intake.absolute:
        return None
    fed, name = found.feeding, found.operand.lower()
    letters = {"m" if found.operand == "A" else "n": fed.along_mn, "k": fed.along_k}
    moving = {letter: digits for letter, digits in letters.items() if prod(count for count, _ in digits) > 1}
    sizes = {"m": f"rows {fed.n} m", "n": f"rows {fed.n} n", "k": f"K from {fed.depth} k"}
    slots = _slots(found) | {
        "name": name,
        "tile": found.tile.coalesce(by_mode=True),
        "declaration": _declaration(found, name),
        "copies": found.copies[found.order],
        "value": f"{found.value:#018x}",
        "ignored": f"; {' and '.join(found.ignored)} not read" if found.ignored else "",
        "each": " and ".join(sizes[letter] for letter in moving) or "all of the stage",
        "arguments": ", ".join(["unsigned smem", *(f"unsigned {letter}" for letter in moving)]),
        "sum": " + ".join(["(smem >> 4)", *(_step(letter, digits) for letter, digits in moving.items())]),
    }
    return filled(CUDA, slots)


def cute_of(found: Suggestion) -> str | None:
    """Return the layout as CuTe makes it from an atom; None for types without atoms in CuTe.

    >>> from tilewise.check.suggest import suggest
    >>> print(cute_of(suggest(operand="A", rows=128, k=64, dtype="bf16", major="mn")).splitlines()[1])
    using AAtom = cute::GMMA::Layout_MN_SW128_Atom<cute::bfloat16_t>;
    """
    if found.dtype.name not in ELEMENT:
        return None
    name = ELEMENT[found.dtype.name]
    first, second = (1, 2) if found.order == "mn" else (2, 1)
    slots = _slots(found) | {
        "way": found.major.upper(),
        "room": ROOM[found.engine],
        "atom": ATOMS[found.mode.name],
        "type": name if name.endswith("int8_t") else f"cute::{name}",
        "order": f"cute::Step<cute::_{first}, cute::_{second}, cute::_3>",
    }
    return filled(CUTE, slots)


def _slots(found: Suggestion) -> dict[str, object]:
    rows = "M" if found.operand == "A" else "N"
    return {"found": found, "major": f"{'K' if found.major == 'k' else rows}-major"}


def _declaration(found: Suggestion, name: str) -> str:
    size, count = found.stages.stride, found.stages.count
    if found.stages.bytes <= STATIC_BYTES:
        return f"alignas({found.alignment}) __shared__ unsigned char {name}_smem[{count}][{size}];"
    return "\n".join(
        (
            f"// {found.stages.bytes} bytes are more than a kernel declares: the launch asks for them,",
            "// cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes).",
            f"extern __shared__ __align__({found.alignment}) unsigned char {name}_smem[];"
            f"  // [{count}][{size}]",
        )
    )


def _step(letter: str, digits: Digits) -> str:
    """Return the number that an index adds to the descriptor, in 16 bytes.

    >>> _step("k", ((2, 16384), (4, 32)))
    'k / 4 * 1024 + k % 4 * 2'
    """
    terms, place = [], 1
    for i, (count, step) in reversed(list(enumerate(digits))):
        term = letter if place == 1 else f"{letter} / {place}"
        term = term if i == 0 else f"{term} % {count}"
        terms.append(f"{term} * {step // CHUNK}")
        place *= count
    return " + ".join(reversed(terms))
