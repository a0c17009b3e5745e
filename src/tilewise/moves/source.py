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
from tilewise.core.polynomials import Symbol, lifted, rooted
from tilewise.core.shapes import spell
from tilewise.hardware.limits import BLOCKS
from tilewise.moves.kernels.tile_kernel import STATIC
from tilewise.moves.memory import Plan
from tilewise.moves.shapes import TEXT, ShapesPlan, refuse_words
from tilewise.moves.tiles.tile import VECTOR
from tilewise.moves.ways import Bulk, Gather

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


def name_of(plan: Plan, name: str = "") -> str:
    """Return the kernel's name: the given one, or one with the type.

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> name_of(plan(S[4, 4], S[(4, 4) : (1, 4)], "bf16"))
    'move_bf16'
    """
    check_free(name, plan.code("_"))
    return checked(name or f"move_{plan.dtype}", "a kernel")


def kernel_source(plan: Plan, name: str = "") -> str:
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


def host_source(plan: Plan, name: str = "") -> str:
    """Return the kernel, and a function of the host that launches it, for nvcc: one .cu file.

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> "cudaMemcpyAsync" in host_source(plan(S[64], S[64] + 16, "f32"))
    True
    """
    name = name_of(plan, name)
    kernel = kernel_source(plan, name) if plan.kernel else "\n".join(_facts(plan, name)) + "\n"
    fill = _fill_kernel(plan, name) if plan.fills and not _even(plan) else ""
    launch = "\n".join(_launch(plan, name))
    headers = ["cstdint", *(["cstdio"] if _tested(plan) else []), "cuda_runtime.h"]
    slots = {"file": kernel, "name": name, "fill_kernel": fill, "launch": launch}
    slots["includes"] = "\n".join(f"#include <{header}>" for header in headers)
    slots["sizes"] = ""
    return filled(_HOST, slots) + "\n"


# -- for all shapes --------------------------------------------------------------------------------


def shapes_source(plan: ShapesPlan, name: str = "", host: bool = False) -> str:
    """Return the kernel for all shapes of a class under a name, for nvcc with a function that launches it.

        requires  a plan with a kernel, or the host's part of one without

    >>> from tilewise import S
    >>> from tilewise import name as size
    >>> from tilewise.moves import plan
    >>> m = size("M", multiple=8, least=8)
    >>> text = shapes_source(plan(S[m, 64], S[(m, 64) : (1, m)], "bf16"), host=True)
    >>> "launch_move_bf16(const void *source, void *target, long long M, cudaStream_t stream)" in text
    True
    """
    name = checked(name or f"move_{plan.dtype}", "a kernel")
    check_free(name, plan.code("_"))
    kernel = "\n".join(_of_shapes(plan, name)) + "\n"
    if plan.text:
        slots = {"facts": kernel.strip(), "name": name, "kernel": plan.code(name).strip()}
        kernel = filled(_KERNEL, slots) + "\n"
    elif not host:
        raise Refused(
            "TW602",
            f"no kernel is needed: {plan.steps[-1]}",
            hint="cudaMemcpyAsync makes it: --host writes the call",
        )
    if not host:
        return kernel
    if plan.fills and len(set(plan.typical.fill)) > 1:
        hint = "leave out --host and fill the target before, or give the names values: --let M=4096"
        raise NotDecided("the host's part for all values fills with equal bytes alone", hint=hint)
    refuse_words(plan.names, _HOST)
    sizes = "".join(f"long long {own}, " for own in plan.names)
    launch = "\n".join(_launch_of_shapes(plan, name))
    headers = "#include <cstdint>\n#include <cuda_runtime.h>"
    slots = {"file": kernel, "name": name, "fill_kernel": "", "launch": launch, "includes": headers}
    return filled(_HOST, {**slots, "sizes": sizes}) + "\n"


def _of_shapes(plan: ShapesPlan, name: str) -> Iterator[str]:
    """Yield comments on what moves, and on the launch."""
    source, target = plan.layouts
    yield f"// {name}: from {source}"
    yield f"// {'':{len(name)}}  to   {target}"
    yield f"// {'':{len(name)}}  of   {plan.dtype}, for all {', '.join(plan.names)} with {plan.where}"
    yield "//"
    for number, step in enumerate(plan.steps, 1):
        yield from textwrap.wrap(
            f"{number}. {step}", _COLUMNS, initial_indent="// ", subsequent_indent="//    "
        )
    yield "//"
    if plan.text:
        _, threads, shared = plan.typical.launch
        dynamic = f", {shared} bytes of dynamic shared memory, which is to be allowed before"
        dynamic = dynamic if shared > STATIC else ""
        yield f"// Launched with {TEXT.sum(plan.blocks)} blocks of {threads} threads{dynamic}."
        counted_ = ", ".join(f"{TEXT.sum(number)} <= {most}" for number, most in plan.limits)
        yield from textwrap.wrap(
            f"It counts in 32 bits: {counted_}.", _COLUMNS, initial_indent="// ", subsequent_indent="// "
        )
    yield f"// Both pointers are multiples of {VECTOR} bytes, and their memory does not overlap."


def _launch_of_shapes(plan: ShapesPlan, name: str) -> Iterator[str]:
    """Yield the statements of the host for the sizes that it is given."""
    yield f"if (((std::uintptr_t)source | (std::uintptr_t)target) % {VECTOR})"
    yield "    return cudaErrorMisalignedAddress;"
    needed = [TEXT.condition(condition, truth) for condition, truth in plan.conditions]
    needed += _products(plan)
    needed += [f"{TEXT.sum(extent)} <= {most}" for extent, most in plan.limits]
    needed += [f"{TEXT.sum(plan.blocks)} <= {BLOCKS}"] if plan.text else []
    yield f"if (!({' && '.join(needed)}))"
    yield "    return cudaErrorInvalidValue;"
    declared = "cudaError_t "
    if plan.fills:
        value = plan.typical.fill[0]
        call = f"cudaMemsetAsync(target, {value:#04x}, {TEXT.sum(plan.written)}, stream)"
        yield from _tested_call(declared, call)
        declared = ""
    if not plan.text:
        read, write, count = (TEXT.sum(number) for number in plan.copied)
        to, of = f"(char *)target + {write}", f"(const char *)source + {read}"
        yield f"return cudaMemcpyAsync({to}, {of}, {count}, cudaMemcpyDeviceToDevice, stream);"
        return
    _, threads, shared = plan.typical.launch
    kernel, dynamic = f"{name}_parts::{name}", shared if shared > STATIC else 0
    if dynamic:
        attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
        yield from _tested_call(declared, f"cudaFuncSetAttribute({kernel}, {attribute}, {dynamic})")
    arguments = ["(const unsigned char *)source", "(unsigned char *)target", *plan.names]
    blocks = f"(unsigned)({TEXT.sum(plan.blocks)})"
    yield f"{kernel}<<<{blocks}, {threads}, {dynamic}, stream>>>({', '.join(arguments)});"
    yield "return cudaGetLastError();"


def _tested_call(declared: str, call: str) -> Iterator[str]:
    yield f"{declared}status = {call};"
    yield "if (status != cudaSuccess)"
    yield "    return status;"


def _products(plan: ShapesPlan) -> list[str]:
    """Return tests that products of names do not wrap in 64 bits."""
    numbers = [plan.written, plan.blocks, *plan.copied, *(number for number, _ in plan.limits)]
    found = []
    for product, times in (part for own in numbers for part in lifted(rooted(own)[0]).terms.items()):
        names = [own.name for own in product if isinstance(own, Symbol)]
        if len(names) > 1:
            found.append(f"{' * '.join(f'(double){own}' for own in names)} * {abs(times)} < {FAR}")
    return list(dict.fromkeys(found))


# -- what stands above the kernel ------------------------------------------------------------------


def _facts(plan: Plan, name: str) -> Iterator[str]:
    yield f"// {name}: from {plan.source}"
    yield f"// {'':{len(name)}}  to   {plan.target}"
    box = "" if plan.pair.box is None else f", the box {spell(plan.pair.box)}"
    yield f"// {'':{len(name)}}  of   {plan.dtype}{box}"
    yield "//"
    for number, step in enumerate(plan.steps, 1):
        yield from textwrap.wrap(
            f"{number}. {step}", _COLUMNS, initial_indent="// ", subsequent_indent="//    "
        )
    needed = list(_needed(plan, name))
    if needed:
        yield "//"
        yield from (f"// {line}" for line in needed)


def _needed(plan: Plan, name: str) -> Iterator[str]:
    """Yield comments on the launch, and on the kernel's requirements."""
    blocks, threads, shared = plan.launch
    if plan.kernel:
        dynamic = f", {shared} bytes of dynamic shared memory, which is to be allowed before" * (
            shared > STATIC
        )
        yield f"Launched with {counted(blocks, 'block')} of {threads} threads{dynamic}."
    if plan.fills:
        filled_ = "last byte is" if plan.fill_from else f"{plan.sizes[1]} bytes are"
        value = f"{plan.fill[0]:#04x}" if _even(plan) else plan.fill.hex(" ")
        yield f"Before it, the target's {filled_} filled with {value}."
    least = alignment(plan)
    if plan.kernel or least > 1:
        where = f"are multiples of {least} bytes" if least > 1 else "may be any addresses"
        yield f"Both pointers {where}, and their memory does not overlap."
    if _tested(plan):
        yield f"Every access is tested; the first beyond a storage is kept in {name}_fault, and not made."


def _tested(plan: Plan) -> bool:
    return plan.checked and bool(plan.kernel)


def _even(plan: Plan) -> bool:
    """Return True if all bytes of the fill are equal."""
    return len(set(plan.fill)) == 1


def alignment(plan: Plan) -> int:
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


def _launch(plan: Plan, name: str) -> Iterator[str]:
    """Yield the statements of the host: a test of its status follows each call."""
    least = alignment(plan)
    if least > 1:
        yield f"if (((std::uintptr_t)source | (std::uintptr_t)target) % {least})"
        yield "    return cudaErrorMisalignedAddress;"
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


def _calls(plan: Plan, name: str) -> Iterator[tuple[list[str], str]]:
    """Yield (lines of a launch, perhaps none; the expression of its status) of all calls."""
    if plan.fills and _even(plan):
        to, count = _beyond("char", "target", plan.fill_from), plan.sizes[1] - plan.fill_from
        yield [], f"cudaMemsetAsync({to}, {plan.fill[0]:#04x}, {count}, stream)"
    elif plan.fills:
        word, count = _fill_words(plan)
        blocks = -(-count // _FILL_THREADS)
        launched = f"fill_{name}<<<{blocks}, {_FILL_THREADS}, 0, stream>>>(({_WORDS[word]} *)target);"
        yield [launched], "cudaGetLastError()"
    if isinstance(plan.way, Bulk):
        way = plan.way
        to, of = _beyond("char", "target", way.write), _beyond("const char", "source", way.read)
        yield [], f"cudaMemcpyAsync({to}, {of}, {way.bytes}, cudaMemcpyDeviceToDevice, stream)"
        return
    blocks, threads, shared = plan.launch
    kernel, dynamic = f"{name}_parts::{name}", shared if shared > STATIC else 0
    if dynamic:
        attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
        yield [], f"cudaFuncSetAttribute({kernel}, {attribute}, {dynamic})"
    arguments = "(const unsigned char *)source, (unsigned char *)target"
    yield [f"{kernel}<<<{blocks}, {threads}, {dynamic}, stream>>>({arguments});"], "cudaGetLastError()"


def _beyond(kind: str, name: str, bytes_: int) -> str:
    """Return an address that many bytes further."""
    return f"({kind} *){name} + {bytes_}" if bytes_ else name


def _fill_words(plan: Plan) -> tuple[int, int]:
    """Return the bytes of a word of the fill, and the number of words in the target."""
    word = min(len(plan.fill), 8)
    return word, plan.sizes[1] // word


def _fill_kernel(plan: Plan, name: str) -> str:
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
