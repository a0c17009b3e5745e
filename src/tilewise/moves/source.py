"""The kernel of a plan as a file: above it its steps and its launch, below it a host's part.

A file has everything in a namespace of the kernel's name, so that several can stand in one program.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tilewise.codegen.names import checked
from tilewise.codegen.parts.template import check_free, filled
from tilewise.core.errors import NotDecided, Refused
from tilewise.core.integers import counted
from tilewise.core.polynomials import Symbol, is_named, is_same, lifted, rooted
from tilewise.core.shapes import spell
from tilewise.hardware.limits import BLOCKS
from tilewise.moves.kernels.spelling import NUMBERS
from tilewise.moves.kernels.tile_kernel import STATIC
from tilewise.moves.memory import Plan
from tilewise.moves.tiles.tile import VECTOR
from tilewise.moves.ways import Bulk, Gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.polynomials import Quantity
    from tilewise.moves.shapes import ShapesPlan

_COLUMNS = 100
FAR = 4e18
"""Numbers below this are counted in 64 bits."""

_KERNEL = """\
$facts

namespace ${name}_parts {

$kernel

}  // namespace ${name}_parts
"""

_HOST = """\
$includes

$file

$fill_kernel
// The host's part, for nvcc: the move on a stream. Both are on the device and do not overlap.
inline cudaError_t launch_$name(const void *source, void *target, ${sizes}cudaStream_t stream)
{
    $launch
}
"""

_FILL = """\
// The fill, in all of the target.
__global__ void fill_$name($type *target)
{
    const unsigned long long i = blockIdx.x * ${threads}ull + threadIdx.x;
    if (i < ${count}ull)
        target[i] = $value;
}
"""

_FAULT = """\
${name}_parts::Fault fault;
status = cudaStreamSynchronize(stream);
if (status != cudaSuccess)
    return status;
status = cudaMemcpyFromSymbol(&fault, ${name}_parts::${name}_fault, sizeof(fault));
if (status != cudaSuccess || !fault.found)
    return status;
const ${name}_parts::Fault none = {};
status = cudaMemcpyToSymbol(${name}_parts::${name}_fault, &none, sizeof(none));
if (status != cudaSuccess)
    return status;
const bool within = fault.at >= 0 && fault.at + fault.bytes <= fault.size;
std::fprintf(stderr, "$name: %u bytes at byte %lld of the %s, which %s %lld: thread %u of block %u\\n",
             fault.bytes, fault.at, fault.in_target ? "target" : "source",
             within ? "is no multiple of" : "has", within ? fault.bytes : fault.size,
             fault.thread, fault.block);
return cudaErrorIllegalAddress;
"""

_FILL_THREADS = 256
_WORDS = {2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}


def name_of(plan: Plan | ShapesPlan, name: str = "") -> str:
    """Return the kernel's name: the given one, or one with the type.

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> name_of(plan(S[4, 4], S[(4, 4) : (1, 4)], "bf16"))
    'move_bf16'
    """
    check_free(name, plan.code("_"))
    return checked(name or f"move_{plan.dtype}", "a kernel")


def kernel_source(plan: Plan | ShapesPlan, name: str = "") -> str:
    """Return the kernel under a name, with comments on its steps and its launch; it includes nothing.

        requires  a plan with a kernel: no view, and no copy of memory

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> print(kernel_source(plan(S[512, 512], S[(512, 512) : (1, 512)], "f32")).splitlines()[0])
    // move_f32: from S[(512, 512) : (512, 1)]
    """
    name = name_of(plan, name)
    if not plan.kernel:
        raise Refused(
            "TW602",
            f"no kernel is needed: {plan.steps[-1]}",
            hint="cudaMemcpyAsync makes it: host_source writes the call",
        )
    slots = {"facts": "\n".join(_facts(plan, name)), "name": name, "kernel": plan.code(name).strip()}
    return filled(_KERNEL, slots) + "\n"


def host_source(plan: Plan | ShapesPlan, name: str = "") -> str:
    """Return the kernel, and a function of the host that launches it, for nvcc: one .cu file.

    Where sizes are names, they are arguments of the function, which tests them.

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> "cudaMemcpyAsync" in host_source(plan(S[64], S[64] + 16, "f32"))
    True
    """
    name = name_of(plan, name)
    _refuse_for_all(plan)
    kernel = kernel_source(plan, name) if plan.kernel else "\n".join(_facts(plan, name)) + "\n"
    fill = _fill_kernel(plan, name) if plan.fills and not _even(plan) else ""
    launch = "\n".join(_launch(plan, name))
    headers = ["cstdint", *(["cstdio"] if _tested(plan) else []), "cuda_runtime.h"]
    slots = {"file": kernel, "name": name, "fill_kernel": fill, "launch": launch}
    slots["includes"] = "\n".join(f"#include <{header}>" for header in headers)
    slots["sizes"] = "".join(f"long long {own}, " for own in plan.names)
    return filled(_HOST, slots) + "\n"


def _refuse_for_all(plan: Plan | ShapesPlan) -> None:
    """Refuse a host's part that fills sizes with names with unlike bytes, or whose words these names are."""
    if not isinstance(plan, Plan) and plan.fills and not _even(plan):
        hint = "leave out --host and fill the target before, or give the names values: --let M=4096"
        raise NotDecided("the host's part for all values fills with equal bytes alone", hint=hint)
    for own in plan.names:
        check_free(own, f"{_HOST} status", "an argument of the host's function")


# -- what stands above the kernel ------------------------------------------------------------------


def _facts(plan: Plan | ShapesPlan, name: str) -> Iterator[str]:
    if not isinstance(plan, Plan):
        which = f", for all {', '.join(plan.names)} with {plan.where}"
    else:
        which = "" if plan.pair.box is None else f", the box {spell(plan.pair.box)}"
    yield f"// {name}: from {plan.source}"
    yield f"// {'':{len(name)}}  to   {plan.target}"
    yield f"// {'':{len(name)}}  of   {plan.dtype}{which}"
    yield "//"
    for number, step in enumerate(plan.steps, 1):
        yield from textwrap.wrap(
            f"{number}. {step}", _COLUMNS, initial_indent="// ", subsequent_indent="//    "
        )
    needed = list(_needed(plan, name))
    if needed:
        yield "//"
        yield from (f"// {line}" for line in needed)


def _needed(plan: Plan | ShapesPlan, name: str) -> Iterator[str]:
    """Yield comments on the launch, and on the kernel's requirements."""
    blocks, threads, shared = plan.launch
    number = counted(blocks, "block") if isinstance(blocks, int) else f"{NUMBERS.sum(blocks)} blocks"
    if plan.kernel:
        dynamic = f", {shared} bytes of dynamic shared memory, which is to be allowed before" * (
            shared > STATIC
        )
        yield f"Launched with {number} of {threads} threads{dynamic}."
    if not isinstance(plan, Plan) and plan.limits:
        yield from textwrap.wrap(f"It counts in 32 bits: {', '.join(_limits(plan))}.", _COLUMNS)
    if plan.fills:
        filled_ = "last byte is" if plan.fill_from else f"{NUMBERS.sum(plan.sizes[1])} bytes are"
        value = f"{plan.fill[0]:#04x}" if _even(plan) else plan.fill.hex(" ")
        yield f"Before it, the target's {filled_} filled with {value}."
    least = alignment(plan)
    if plan.kernel or least > 1:
        where = f"are multiples of {least} bytes" if least > 1 else "may be any addresses"
        yield f"Both pointers {where}, and their memory does not overlap."
    if _tested(plan):
        yield f"Every access is tested; the first beyond a storage is kept in {name}_fault, and not made."


def _tested(plan: Plan | ShapesPlan) -> bool:
    return plan.checked and bool(plan.kernel)


def _even(plan: Plan | ShapesPlan) -> bool:
    """Return True if all bytes of the fill are equal."""
    return len(set(plan.fill)) == 1


def alignment(plan: Plan | ShapesPlan) -> int:
    """Return the required alignment of both pointers: no access is wider than a vector or a word of the fill.

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> alignment(plan(S[64, 64], S[(64, 64) : (1, 64)], "bf16")), alignment(plan(S[64], S[64 : 2], "f32"))
    (16, 4)
    """
    word = _fill_words(plan)[0] if plan.fills and not _even(plan) else 1
    widest = plan.way.vectors[1] if isinstance(plan.way, Gather) else VECTOR
    return max(word, min(plan.aligned, widest)) if plan.kernel else word


# -- the host's part -------------------------------------------------------------------------------


def _launch(plan: Plan | ShapesPlan, name: str) -> Iterator[str]:
    """Yield the statements of the host: a test of its status follows each call."""
    least = alignment(plan)
    if least > 1:
        yield f"if (((std::uintptr_t)source | (std::uintptr_t)target) % {least})"
        yield "    return cudaErrorMisalignedAddress;"
    if not isinstance(plan, Plan):
        facts = [NUMBERS.condition(condition, truth) for condition, truth in plan.conditions]
        blocks = [f"{NUMBERS.sum(plan.blocks)} <= {BLOCKS}"] if plan.text else []
        yield f"if (!({' && '.join([*facts, *_products(plan), *_limits(plan), *blocks])}))"
        yield "    return cudaErrorInvalidValue;"
    declared, calls = "cudaError_t ", list(_calls(plan, name))
    for number, (launched, answer) in enumerate(calls, 1):
        yield from launched
        if number == len(calls) and not _tested(plan):
            yield f"return {answer};"
            return
        yield f"{declared}status = {answer};"
        yield "if (status != cudaSuccess)"
        yield "    return status;"
        declared = ""
    yield filled(_FAULT, {"name": name})


def _calls(plan: Plan | ShapesPlan, name: str) -> Iterator[tuple[list[str], str]]:
    """Yield (lines of a launch, perhaps none; the expression of its status) of all calls."""
    if plan.fills and _even(plan):
        to, count = _beyond("char", "target", plan.fill_from), plan.sizes[1] - plan.fill_from
        yield [], f"cudaMemsetAsync({to}, {plan.fill[0]:#04x}, {NUMBERS.sum(count)}, stream)"
    elif plan.fills:
        word, words = _fill_words(plan)
        groups = -(-words // _FILL_THREADS)
        launched = f"fill_{name}<<<{groups}, {_FILL_THREADS}, 0, stream>>>(({_WORDS[word]} *)target);"
        yield [launched], "cudaGetLastError()"
    if isinstance(plan.way, Bulk):
        way = plan.way
        to, of = _beyond("char", "target", way.write), _beyond("const char", "source", way.read)
        together = NUMBERS.sum(way.bytes)
        yield [], f"cudaMemcpyAsync({to}, {of}, {together}, cudaMemcpyDeviceToDevice, stream)"
        return
    blocks, threads, shared = plan.launch
    kernel, dynamic = f"{name}_parts::{name}", shared if shared > STATIC else 0
    if dynamic:
        attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
        yield [], f"cudaFuncSetAttribute({kernel}, {attribute}, {dynamic})"
    number = f"(unsigned)({NUMBERS.sum(blocks)})" if is_named(blocks) else blocks
    arguments = ", ".join(["(const unsigned char *)source, (unsigned char *)target", *plan.names])
    yield [f"{kernel}<<<{number}, {threads}, {dynamic}, stream>>>({arguments});"], "cudaGetLastError()"


def _limits(plan: ShapesPlan) -> list[str]:
    """Return tests that numbers are as small as the kernel counts."""
    return [f"{NUMBERS.sum(number)} <= {most}" for number, most in plan.limits]


def _products(plan: ShapesPlan) -> list[str]:
    """Return tests that products of names do not wrap in 64 bits."""
    numbers = [*plan.sizes, plan.blocks, *(number for number, _ in plan.limits)]
    found = []
    for product, times in (part for own in numbers for part in lifted(rooted(own)[0]).terms.items()):
        names = [own.name for own in product if isinstance(own, Symbol)]
        if len(names) > 1:
            found.append(f"{' * '.join(f'(double){own}' for own in names)} * {abs(times)} < {FAR}")
    return list(dict.fromkeys(found))


def _beyond(kind: str, name: str, bytes_: Quantity) -> str:
    """Return an address that many bytes further."""
    return name if is_same(bytes_, 0) else f"({kind} *){name} + {NUMBERS.sum(bytes_)}"


def _fill_words(plan: Plan | ShapesPlan) -> tuple[int, Quantity]:
    """Return the bytes of a word of the fill, and the number of words in the target."""
    word = min(len(plan.fill), 8)
    return word, plan.sizes[1] // word


def _fill_kernel(plan: Plan | ShapesPlan, name: str) -> str:
    word, count = _fill_words(plan)
    values = [plan.fill[at : at + word][::-1].hex() for at in range(0, len(plan.fill), word)]
    one, *others = [f"0x{value}{'ull' if word == 8 else 'u'}" for value in values]
    slots = {
        "name": name,
        "type": _WORDS[word],
        "threads": _FILL_THREADS,
        "count": count,
        "value": f"i % 2 ? {others[0]} : {one}" if others else one,
    }
    return filled(_FILL, slots) + "\n\n"
