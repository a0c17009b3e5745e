"""The kernel for any two layouts: each thread moves the elements of one vector of the target, or one element.

It takes all that tiles do not: sides without a contiguous run, swizzles that part vectors, digits that do not
divide each other. Its addresses are the layouts' own functions. If elements of 4 bits are side by side in
the target, a thread moves a word of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tilewise.codegen.c import cuda_source
from tilewise.codegen.forward import place_function
from tilewise.codegen.functions import Index
from tilewise.codegen.parts.template import filled
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.moves.kernels import texts
from tilewise.moves.kernels.spelling import NAME, TYPES, swizzled
from tilewise.moves.pairs.pair import Pair
from tilewise.moves.ways import IN_WORD, Gather

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

_WORD = """\
u64 rest = item;
const long long word = (long long)(rest % ${words}ull); rest /= ${words}ull;
$digits
const long long into = $into;
const long long k = 8 * word - (long long)(2 * (u64)target + into & $last);
u32 out = 0, own = 0;
#pragma unroll
for (int v = 0; v < $in_word; ++v) {
    const long long q0 = k + v;
    if (!($tests)) continue;
    const long long a = source_at($from);
    out |= ((u32)source[a >> 1] >> (a & 1) * 4 & 15u) << 4 * v;
    own |= 15u << 4 * v;
}
u32* const words = (u32*)(target + (into + k >> 1));
if (own == 0xffffffffu) *words = out;
else if (own) {
    atomicAnd(words, out | ~own);
    atomicOr(words, out);
}
"""
"""The elements of 4 bits of one word; other threads write the rest of the word."""

_HALF = """\
const long long a = $from, b = $into;
const u32 value = source[a / 2] >> (a % 2) * 4 & 15;
u8* const byte = target + b / 2;
u32* const word = (u32*)(byte - ((u64)byte & 3));
const int place = (int)((u64)byte & 3) * 8 + (int)(b % 2) * 4;
atomicAnd(word, ~(15u << place));
atomicOr(word, value << place);
"""
"""An element of 4 bits; other threads write its neighbours in the word."""

_VECTOR = """\
$whole out;
#pragma unroll
for (int v = 0; v < $vector; ++v)
    (($kind*)&out)[v] = ((const $kind*)source)[source_at(from + v * ${step}ll)];
*($whole*)(($kind*)target + target_at(into)) = out;
"""


def gather_kernel(gather: Gather, name: str = NAME) -> str:
    """Return the source of the kernel, $blocks blocks of $threads threads.

        requires  the target is filled before, where its limits fill or elements are less than a byte

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> from tilewise.moves.ways import gather_of
    >>> pair = pair_of(S[(6, 4) : (9, 2)], S[(4, 6) : (1, 5)], DType.of("f32"))
    >>> pair.digits is None, "target)[into] = " in gather_kernel(gather_of(pair))
    (True, True)
    """
    pair = gather.pair
    apart = pair.digits is None
    body = _by_index(pair) if apart else _word(gather) if gather.in_words else _by_digits(gather)
    slots = {
        "prelude": texts.PRELUDE,
        "functions": "\n".join(_index_functions(pair) if apart else _swizzles(pair)),
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
            yield f"    {swizzled(own, 1)}"
        yield f"    return x + {side.outer};"
        yield "}"


def _by_digits(gather: Gather) -> Iterator[str]:
    pair, vector, digits = gather.pair, gather.vector, gather.digits
    if digits:
        yield "u64 rest = item;"
    for place, digit in enumerate(digits):
        yield _digit(place, digit.extent, 1 if place else vector)
    yield f"const long long from = {_sum([digit.read for digit in digits], pair.source.start)};"
    yield f"const long long into = {_sum([digit.write for digit in digits], pair.target.start)};"
    for place, limit in enumerate(pair.limits):
        count = _sum([digit.counts[place] for digit in digits])
        yield f"const bool within{place} = {count} < {limit.bound};"
    if pair.limits:
        yield f"if (!({' && '.join(f'within{place}' for place in range(len(pair.limits)))})) return;"
    if vector == 1:
        yield _moved(pair, "source_at(from)", "target_at(into)")
        return
    kind, whole = TYPES[pair.bits // 8], TYPES[pair.bits // 8 * vector]
    yield filled(_VECTOR, {"whole": whole, "kind": kind, "vector": vector, "step": digits[0].read})


def _digit(place: int, extent: int, vector: int = 1) -> str:
    """Return the declaration of a digit: the next one of the index, in vectors of `vector` values."""
    step = f" * {vector}" if vector > 1 else ""
    count = f"{extent // vector}ull"
    return f"const long long q{place} = (long long)(rest % {count}){step}; rest /= {count};"


def _word(gather: Gather) -> Iterator[str]:
    pair, digits = gather.pair, gather.digits
    tests = ["q0 >= 0", f"q0 < {digits[0].extent}"]
    for place, limit in enumerate(pair.limits):
        tests.append(f"{_sum([digit.counts[place] for digit in digits])} < {limit.bound}")
    slots = {
        "words": gather.run_words,
        "digits": "\n".join(_digit(place, digits[place].extent) for place in range(1, len(digits))),
        "into": _sum([0, *(digit.write for digit in digits[1:])], pair.target.start),
        "last": IN_WORD - 1,
        "in_word": IN_WORD,
        "tests": " && ".join(tests),
        "from": _sum([digit.read for digit in digits], pair.source.start),
    }
    yield filled(_WORD, slots)


def _sum(steps: Sequence[int], start: int = 0) -> str:
    terms = [f"q{place} * {step}" if step != 1 else f"q{place}" for place, step in enumerate(steps) if step]
    return " + ".join([*terms, *([str(start)] if start or not terms else [])])


def _moved(pair: Pair, source: str, target: str) -> str:
    """Return the move of one element."""
    if pair.bits < 8:
        return filled(_HALF, {"from": source, "into": target})
    kind = TYPES[pair.bits // 8]
    return f"(({kind}*)target)[{target}] = ((const {kind}*)source)[{source}];"


# -- by the index ----------------------------------------------------------------------------------


def _index_functions(pair: Pair) -> Iterator[str]:
    """Yield the place functions of both layouts; of the source's copies any will do."""
    source, target = pair.layouts
    source = source.with_parts(source.shape, source.strides, (), source.offset)
    for name, layout in (("source_at", source), ("target_at", target)):
        yield cuda_source(place_function(layout, name, Index(flat=True)))


def _by_index(pair: Pair) -> Iterator[str]:
    source, target = pair.layouts
    copies = prod(it.extent for it in target.replica)
    yield f"const u64 x = item / {copies}ull;"
    ours = theirs = "x"
    if pair.box is not None:
        ours, theirs = (_flat(layout, pair.box) for layout in (source, target))
        yield f"if (x >= {prod(pair.box)}ull) return;"
    copy = f", item % {copies}ull" if copies > 1 else ""
    yield f"const long long from = source_at({ours});"
    yield f"const long long into = target_at({theirs}{copy});"
    yield _moved(pair, "from", "into")


def _flat(layout: Layout, box: tuple[int, ...]) -> str:
    """Return the flat index in a layout's shape of an index of the box."""
    terms, inner, weight = [], 1, 1
    for extent, whole in reversed(list(zip(box, extents_of(layout.shape), strict=True))):
        terms.append(f"x / {inner}ull % {extent}ull * {weight}ull")
        inner *= extent
        weight *= whole
    return " + ".join(reversed(terms))
