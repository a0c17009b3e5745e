"""The kernel for any two layouts: each thread moves the elements of one vector of the target, or one element.

It takes what no tile takes: sides without a contiguous run, swizzles that part vectors, digits that do not
divide each other. Its addresses are the layouts' own functions. Of elements of 4 bits a thread has a word of
the target, where they are side by side there.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.emit.c import cuda_source
from tilewise.emit.forward import place_function
from tilewise.emit.functions import Index
from tilewise.emit.parts.template import filled
from tilewise.moves.kernels.spelling import NAME, PRELUDE, TYPES, swizzled
from tilewise.moves.pairs.pair import Digit, Pair
from tilewise.moves.ways.gather import IN_WORD, Gather

_TEMPLATE = """\
$prelude

$functions

extern "C" __global__ void __launch_bounds__($threads)
$name(const u8* __restrict__ source, u8* __restrict__ target)
{
    const u64 item = (u64)blockIdx.x * $threads + threadIdx.x;
    if (item >= ${items}ull) return;
    $body
}
"""


def gather_kernel(gather: Gather, name: str = NAME) -> str:
    """The source of the kernel, $blocks blocks of $threads threads.

        requires  the target is filled before, where its limits fill or elements are less than a byte

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> from tilewise.moves.ways.gather import gather_of
    >>> pair = pair_of(S[(6, 4) : (9, 2)], S[(4, 6) : (1, 5)], DType.of("f32"))
    >>> pair.digits is None, "target)[into] = " in gather_kernel(gather_of(pair))
    (True, True)
    """
    apart = gather.pair.digits is None
    body = _by_index(gather) if apart else _by_digits(gather)
    slots = {
        "prelude": PRELUDE,
        "functions": "\n".join(_index_functions(gather.pair) if apart else _swizzles(gather.pair)),
        "threads": gather.threads,
        "name": name,
        "items": gather.items,
        "body": "\n".join(body),
    }
    return filled(_TEMPLATE, slots) + "\n"


# -- by digits -------------------------------------------------------------------------------------


def _swizzles(pair: Pair) -> Iterator[str]:
    for name, side in (("source_at", pair.source), ("target_at", pair.target)):
        yield f"__device__ __forceinline__ long long {name}(long long x)"
        yield "{"
        for own in reversed(side.swizzles):
            yield f"    {swizzled(own.bits, own.base, own.shift, 1)}"
        yield f"    return x + {side.outer};"
        yield "}"


def _by_digits(gather: Gather) -> Iterator[str]:
    pair, vector = gather.pair, gather.vector
    digits = gather.digits
    if gather.in_words:
        yield from _word(gather, digits)
        return
    if digits:
        yield "u64 rest = item;"
    for place, digit in enumerate(digits):
        extent = digit.extent // vector if place == 0 else digit.extent
        step = f" * {vector}" if place == 0 and vector > 1 else ""
        yield f"const long long q{place} = (long long)(rest % {extent}ull){step}; rest /= {extent}ull;"
    yield f"const long long from = {_sum([digit.read for digit in digits], pair.source.start)};"
    yield f"const long long into = {_sum([digit.write for digit in digits], pair.target.start)};"
    for place, limit in enumerate(pair.limits):
        count = _sum([digit.counts[place] for digit in digits], 0)
        yield f"const bool within{place} = {count} < {limit.bound};"
    tests = [f"within{place}" for place in range(len(pair.limits))]
    yield from _guarded(tests, _moved(gather, digits))


def _word(gather: Gather, digits: list[Digit]) -> Iterator[str]:
    """Elements of 4 bits of one word; what else is in it is other threads'."""
    pair, (run, *others) = gather.pair, digits
    yield "u64 rest = item;"
    yield f"const long long word = (long long)(rest % {gather.run_words}ull); rest /= {gather.run_words}ull;"
    for place, digit in enumerate(others, 1):
        yield f"const long long q{place} = (long long)(rest % {digit.extent}ull); rest /= {digit.extent}ull;"
    yield f"const long long into = {_sum([0, *(digit.write for digit in others)], pair.target.start)};"
    yield f"const long long k = 8 * word - (long long)(2 * (u64)target + into & {IN_WORD - 1});"
    yield "u32 out = 0, own = 0;"
    yield "#pragma unroll"
    yield f"for (int v = 0; v < {IN_WORD}; ++v) {{"
    yield "    const long long q0 = k + v;"
    tests = ["q0 >= 0", f"q0 < {run.extent}"]
    for place, limit in enumerate(pair.limits):
        tests.append(f"{_sum([digit.counts[place] for digit in digits], 0)} < {limit.bound}")
    yield f"    if (!({' && '.join(tests)})) continue;"
    yield f"    const long long a = source_at({_sum([digit.read for digit in digits], pair.source.start)});"
    yield "    out |= ((u32)source[a >> 1] >> (a & 1) * 4 & 15u) << 4 * v;"
    yield "    own |= 15u << 4 * v;"
    yield "}"
    yield "u32* const words = (u32*)(target + (into + k >> 1));"
    yield "if (own == 0xffffffffu) *words = out;"
    yield "else if (own) {"
    yield "    atomicAnd(words, out | ~own);"
    yield "    atomicOr(words, out);"
    yield "}"


def _guarded(tests: list[str], lines: Iterator[str]) -> Iterator[str]:
    if tests:
        yield f"if (!({' && '.join(tests)})) return;"
    yield from lines


def _sum(steps: list[int], start: int) -> str:
    terms = [f"q{place} * {step}" if step != 1 else f"q{place}" for place, step in enumerate(steps) if step]
    return " + ".join([*terms, *([str(start)] if start or not terms else [])])


def _moved(gather: Gather, digits: list[Digit]) -> Iterator[str]:
    pair, vector = gather.pair, gather.vector
    if pair.bits < 8:
        yield from _narrow(pair.bits, "source_at(from)", "target_at(into)")
        return
    unit = pair.bits // 8
    kind, whole = TYPES[unit], TYPES[unit * vector]
    if vector == 1:
        yield f"(({kind}*)target)[target_at(into)] = ((const {kind}*)source)[source_at(from)];"
        return
    yield f"{whole} out;"
    yield "#pragma unroll"
    yield f"for (int v = 0; v < {vector}; ++v)"
    yield f"    (({kind}*)&out)[v] = ((const {kind}*)source)[source_at(from + v * {digits[0].read}ll)];"
    yield f"*({whole}*)(({kind}*)target + target_at(into)) = out;"


def _narrow(bits: int, source: str, target: str) -> Iterator[str]:
    """An element of less than a byte; its neighbours in the word are other threads'."""
    mask = (1 << bits) - 1
    yield f"const long long a = {source}, b = {target};"
    yield f"const u32 value = source[a / {8 // bits}] >> (a % {8 // bits}) * {bits} & {mask};"
    yield f"u8* const byte = target + b / {8 // bits};"
    yield "u32* const word = (u32*)(byte - ((u64)byte & 3));"
    yield f"const int place = (int)((u64)byte & 3) * 8 + (int)(b % {8 // bits}) * {bits};"
    yield f"atomicAnd(word, ~({mask}u << place));"
    yield "atomicOr(word, value << place);"


# -- by the index ----------------------------------------------------------------------------------


def _index_functions(pair: Pair) -> Iterator[str]:
    for name, layout in zip(("source_at", "target_at"), pair.layouts, strict=True):
        yield cuda_source(place_function(_counted_once(name, layout), name, Index(flat=True)))


def _counted_once(name: str, layout: Layout) -> Layout:
    """The source without its copies: any of them will do."""
    if name == "target_at":
        return layout
    return layout.with_parts(layout.shape, layout.strides, (), layout.offset)


def _by_index(gather: Gather) -> Iterator[str]:
    pair = gather.pair
    source, target = pair.layouts
    copies = prod(it.extent for it in target.replica)
    yield f"const u64 x = item / {copies}ull;"
    if pair.box is None:
        ours = theirs = "x"
    else:
        ours, theirs = (_flat(layout, pair.box) for layout in (source, target))
        yield f"if (x >= {prod(pair.box)}ull) return;"
    copy = f", item % {copies}ull" if copies > 1 else ""
    yield f"const long long from = source_at({ours});"
    yield f"const long long into = target_at({theirs}{copy});"
    if pair.bits < 8:
        yield from _narrow(pair.bits, "from", "into")
        return
    kind = TYPES[pair.bits // 8]
    yield f"(({kind}*)target)[into] = ((const {kind}*)source)[from];"


def _flat(layout: Layout, box: tuple[int, ...]) -> str:
    """The flat index in a layout's shape of an index of the box."""
    terms, inner, weight = [], 1, 1
    for extent, whole in reversed(list(zip(box, extents_of(layout.shape), strict=True))):
        terms.append(f"x / {inner}ull % {extent}ull * {weight}ull")
        inner *= extent
        weight *= whole
    return " + ".join(reversed(terms))
