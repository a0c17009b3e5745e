"""How a warp moves a tile, as CUDA: the address of every lane, and the instruction."""

from __future__ import annotations

from dataclasses import replace

from tilewise.check.feeding import Feed
from tilewise.check.feeding.forms import Step, Vector
from tilewise.check.feeding.steps import address_text, feeds, from_the_tile, from_zero, terms
from tilewise.core.layout import Layout
from tilewise.emit.c import cuda_source
from tilewise.emit.forward import place_function
from tilewise.emit.functions import Index

_LOAD = """\
__device__ __forceinline__ void {name}_load({type} (&r)[{count}], unsigned address)
{{
    asm volatile("{opcode} {registers}, [%{count}];"
                 : {operands} : "r"(address) : "memory");
}}"""

_STORE = """\
__device__ __forceinline__ void {name}_store(const {type} (&r)[{count}], unsigned address)
{{
    asm volatile("{opcode} [%{count}], {registers};"
                 :: {operands}, "r"(address) : "memory");
}}"""

_TILE = """\
// r[i]: what number i {moves} of the tile{at}.
// (row, column) counts instructions of {product}; {names} are the elements of a lane there.
__device__ __forceinline__ void {name}({type} (&r)[{many}][{count}], {tile}unsigned lane)
{{
    const unsigned first = {letter}_address(lane);
{lines}
}}"""

_TYPES = {
    8: ("unsigned", "r"),
    16: ("unsigned short", "h"),
    32: ("unsigned", "r"),
    64: ("unsigned long long", "l"),
}
"""{bits of a register: (its type in CUDA, its letter in asm)}. Eight bits lie in a register of 32."""


def code_of(found: Feed) -> str:
    """The address that a lane gives to the first step, and the instruction, each as a CUDA function.

    What the first function gives counts from the tile. Steps add their numbers to it, or XOR it with them,
    before the tile's address is added; with the pattern "address" it is the address itself.

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
    """The same, and a function that moves the whole tile, step by step.

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
    letter, stores = found.operand.lower(), found.operand == "D"
    name = f"{letter}_{'store' if stores else 'load'}"
    kind, _ = _register(found)
    steps, known = list(from_the_tile(found).steps()), terms(found)
    zero = from_zero(found)
    group = found.question is not None and found.question.instruction.group
    product = "wgmma, in parts of 8 columns" if group else "mma.sync"
    whole = _TILE.format(
        moves="stores" if stores else "loads",
        at="" if zero else f" at a shared address that is a multiple of {found.alignment} B",
        product=product,
        names=f"{letter}0, {letter}1, ...",
        name=f"{name}_tile",
        type=f"const {kind}" if stores else kind,
        many=len(steps),
        count=found.form.registers,
        tile="" if zero else "unsigned tile, ",
        letter=letter,
        lines="\n".join(
            f"    {name}(r[{number}], {_at(found, number, known[number])});  // {feeds(found, step)}"
            for number, step in enumerate(steps)
        ),
    )
    apart = (number for number, term in enumerate(known) if term is None)
    own = [_own_address(found, steps[number], f"{letter}_address_{number}") for number in apart]
    return "\n\n".join([address_of(found), *own, instruction_of(found), whole])


def _at(found: Feed, number: int, term: tuple[int, int] | None) -> str:
    """The address of a step in C++."""
    flipped, added = ([by] if by else [] for by in term or (0, 0))
    first = "first" if term else f"{found.operand.lower()}_address_{number}(lane)"
    return address_text(first, flipped, added, from_zero(found))


def _own_address(found: Feed, step: Step, name: str) -> str:
    return _address(found, step.addresses, name, f" in {feeds(found, step)}")


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


def _register(found: Feed) -> tuple[str, str]:
    """A register's type in CUDA, and its letter in asm."""
    form = found.form
    return _TYPES[min(form.bits, form.unit) if isinstance(form, Vector) else 32]


def address_of(found: Feed) -> str:
    """The address that a lane gives to the first step, from that of the tile, as a CUDA function."""
    name = f"{found.operand.lower()}_address"
    return _address(found, from_the_tile(found).addresses, name)


def instruction_of(found: Feed) -> str:
    """The instruction as a CUDA function of its registers and an address."""
    form, stores = found.form, found.operand == "D"
    kind, letter = _register(found)
    count = form.registers
    registers = ", ".join(f"%{i}" for i in range(count))
    opcode = str(form).replace(".b8", ".u8") if isinstance(form, Vector) else str(form)
    return (_STORE if stores else _LOAD).format(
        name=found.operand.lower(),
        type=kind,
        count=count,
        opcode=opcode,
        registers=f"{{{registers}}}" if count > 1 or not isinstance(form, Vector) else registers,
        operands=", ".join(f'"{"" if stores else "="}{letter}"(r[{i}])' for i in range(count)),
    )
