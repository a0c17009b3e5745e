"""Moves of a tile by a warp, as CUDA: the address of every lane, and the instruction."""

from __future__ import annotations

from dataclasses import replace

from tilewise.check.feeding import Feed
from tilewise.check.feeding.forms import Vector
from tilewise.check.feeding.steps import address_text, feeds, from_the_tile, from_zero, terms
from tilewise.codegen.c import cuda_source
from tilewise.codegen.forward import place_function
from tilewise.codegen.functions import Index
from tilewise.codegen.parts.template import filled, listed
from tilewise.core.layout import Layout

_LOAD = """\
__device__ __forceinline__ void ${letter}_load($type (&r)[$count], unsigned address)
{
    asm volatile("$opcode $registers, [%$count];"
                 : $operands : "r"(address) : "memory");
}"""

_STORE = """\
__device__ __forceinline__ void ${letter}_store(const $type (&r)[$count], unsigned address)
{
    asm volatile("$opcode [%$count], $registers;"
                 :: $operands, "r"(address) : "memory");
}"""

_TILE = """\
// r[i]: what number i ${verb}s of the tile$at.
// (row, column) counts instructions of $product; \
${letter}0, ${letter}1, ... are the elements of a lane there.
__device__ __forceinline__ void ${letter}_${verb}_tile($type (&r)[$many][${found.form.registers}], \
${tile}unsigned lane)
{
    const unsigned first = ${letter}_address(lane);
    $lines
}"""

_TYPES = {
    8: ("unsigned", "r"),
    16: ("unsigned short", "h"),
    32: ("unsigned", "r"),
    64: ("unsigned long long", "l"),
}
"""{bits of a register: (its type in CUDA, its letter in asm)}. Eight bits lie in a register of 32."""


def code_of(found: Feed) -> str:
    """Return a lane's address in the first step, and the instruction, each as a CUDA function.

    The first function counts from the tile. Steps add their numbers to its result, or XOR them into it,
    before the tile's address is added; with the pattern "address" the result is the address.

    >>> from tilewise import S, Swizzle
    >>> from tilewise.check.feeding import feed
    >>> found = feed(Swizzle(1, 3, 3) @ S[(16, 16) : (16, 1)], operand="A", shape="m16n8k16", dtype="f16")
    >>> print(code_of(found))
    // Swizzle<1,4,3> o S[(2, 16) : (16, 32)]
    // a_address(lane): the byte of the tile at which a lane points.
    // lane in 0..31; byte in 0..496
    __host__ __device__ __forceinline__ constexpr unsigned a_address(unsigned lane)
    {
        const unsigned t = (lane << 5) - (lane >> 4) * 496;
        return t ^ ((t >> 3) & 0x10);
    }
    <BLANKLINE>
    __device__ __forceinline__ void a_load(unsigned (&r)[4], unsigned address)
    {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
    }
    """
    return f"{address_of(found)}\n\n{instruction_of(found)}"


def source_of_tile(found: Feed) -> str:
    """Return the two functions, and a function that moves the whole tile, step by step.

    >>> from tilewise import S, Swizzle
    >>> from tilewise.check.feeding import feed
    >>> tile = Swizzle(2, 3, 3) @ S[(16, 32) : (32, 1)]
    >>> code = source_of_tile(feed(tile, operand="A", shape="m16n8k16", dtype="f16"))
    >>> print("\\n".join(code.splitlines()[15:]))
    // r[i]: what number i loads of the tile at a shared address that is a multiple of 16 B.
    // (row, column) counts instructions of mma.sync; a0, a1, ... are the elements of a lane there.
    __device__ __forceinline__ void a_load_tile(unsigned (&r)[2][4], unsigned tile, unsigned lane)
    {
        const unsigned first = a_address(lane);
        a_load(r[0], tile + first);  // (0, 0): a0-a1, a2-a3, a4-a5, a6-a7
        a_load(r[1], tile + (first ^ 32));  // (0, 1): a0-a1, a2-a3, a4-a5, a6-a7
    }
    """
    letter, verb, kind, _ = _words(found)
    steps, zero = list(from_the_tile(found).steps()), from_zero(found)
    own, lines = [], []
    for number, (step, term) in enumerate(zip(steps, terms(found), strict=True)):
        first, (flipped, added) = "first", term or (0, 0)
        if term is None:
            name = f"{letter}_address_{number}"
            first = f"{name}(lane)"
            own.append(_address(found, step.addresses, name, f" in {feeds(found, step)}"))
        at = address_text(first, [flipped] if flipped else [], [added] if added else [], zero)
        lines.append(f"{letter}_{verb}(r[{number}], {at});  // {feeds(found, step)}")
    group = found.question.instruction.group
    slots = {
        "found": found,
        "product": "wgmma, in parts of 8 columns" if group else "mma.sync",
        "letter": letter,
        "verb": verb,
        "at": "" if zero else f" at a shared address that is a multiple of {found.alignment} B",
        "type": f"const {kind}" if verb == "store" else kind,
        "many": len(steps),
        "tile": "" if zero else "unsigned tile, ",
        "lines": "\n".join(lines),
    }
    return "\n\n".join([address_of(found), *own, instruction_of(found), filled(_TILE, slots)])


def _address(found: Feed, addresses: Layout, name: str, when: str = "") -> str:
    function = place_function(addresses, name, Index(flat=True), ("lane",))
    where = "the byte" if from_zero(found) else "the byte of the tile"
    return cuda_source(
        replace(
            function,
            results=tuple(replace(byte, name="byte") for byte in function.results),
            sentences=(f"{name}(lane): {where} at which a lane points{when}.",),
        )
    )


def _words(found: Feed) -> tuple[str, str, str, str]:
    """Return the operand's letter, its verb, a register's type in CUDA, and its letter in asm."""
    form = found.form
    kind, constraint = _TYPES[min(form.bits, form.unit) if isinstance(form, Vector) else 32]
    return found.operand.lower(), "store" if found.operand == "D" else "load", kind, constraint


def address_of(found: Feed) -> str:
    """Return the address that a lane gives to the first step, from the tile's address, as a CUDA function."""
    return _address(found, from_the_tile(found).addresses, f"{found.operand.lower()}_address")


def instruction_of(found: Feed) -> str:
    """Return the instruction as a CUDA function of its registers and an address."""
    letter, verb, kind, constraint = _words(found)
    numbers, is_vector = range(found.form.registers), isinstance(found.form, Vector)
    registers, to = listed("%#", numbers), "=" * (verb == "load")
    slots = {
        "letter": letter,
        "type": kind,
        "count": len(numbers),
        "opcode": str(found.form).replace(".b8", ".u8") if is_vector else found.form,
        "registers": registers if is_vector and len(numbers) == 1 else f"{{{registers}}}",
        "operands": listed(f'"{to}{constraint}"(r[#])', numbers),
    }
    return filled(_STORE if verb == "store" else _LOAD, slots)
