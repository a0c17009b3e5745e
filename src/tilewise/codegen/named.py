"""The index function of a layout with names in it: names are arguments, and facts about them are asserted.

Digits are quotients and rests of the arguments, as the shape has them; no step needs the bits of a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewise.codegen.c import CUDA, C, Flavour
from tilewise.codegen.functions import Index, Range, listed
from tilewise.codegen.names import FreeNames, checked, chosen
from tilewise.codegen.numbers import NumberText
from tilewise.codegen.text import LARGEST_INT
from tilewise.core.algebra.inverses import left_inverse
from tilewise.core.canonical import merged_replica
from tilewise.core.errors import NotDecided
from tilewise.core.polynomials import (
    Quotient,
    facts_now,
    given,
    is_named,
    is_positive,
    is_same,
    named,
    rooted,
)
from tilewise.core.vectors import ZERO, Iter, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout
    from tilewise.core.polynomials import Facts, Quantity
    from tilewise.core.swizzles import Swizzle


@dataclass(frozen=True)
class NamedFunction:
    """A function of an index, or of a place, and of names: its results are text in one language."""

    name: str
    arguments: tuple[Range, ...]
    names: tuple[str, ...]
    results: tuple[Range, ...]
    steps: tuple[tuple[str, str], ...]
    """(name, text) of what is computed first, and changed by a swizzle."""
    texts: tuple[str, ...]
    asserts: tuple[str, ...]
    comment: tuple[str, ...]
    is_wide: bool
    """True unless 32 bits are known to hold all values."""

    @property
    def given(self) -> list[str]:
        """Return the names of all arguments."""
        return [*(own.name for own in self.arguments), *self.names]


def named_function(
    layout: Layout, lang: str, name: str, index: Index, arguments: Sequence[str], inverse: bool, text: str
) -> NamedFunction:
    """Return the function from an index to its place, or from a place to its index.

    not decided  TW303 a rounded quotient that may be below 0, of which C rounds the other way; an inverse
                 whose digits the facts do not tell
    """
    facts = facts_now(layout.named_numbers)
    shown = left_inverse(index.counted(layout)) if inverse else layout
    with given(facts):  # without an effort: what facts leave open is not decided, and makes no case
        return _function(layout, shown, lang, name, index, arguments, inverse, text, facts)


def _function(
    layout: Layout,
    shown: Layout,
    lang: str,
    name: str,
    index: Index,
    arguments: Sequence[str],
    inverse: bool,
    text: str,
    facts: Facts,
) -> NamedFunction:
    """Return the function whose result is a place of the layout `shown`: the layout, or its inverse."""
    given_names = [checked(own, "an argument") for own in facts.meanings]
    free = FreeNames([name, *given_names])
    words = NumberText("//" if lang in ("python", "triton") else "/", rounds_up=lang != "python")
    axes = [axis.name for axis in layout.axes]
    copies: Sequence[Iter]
    if inverse:
        copies, start = (), ZERO
        modes = Index().modes(shown)
        defaults = axes
    else:
        copies, start = _copies(layout)
        modes = [*index.modes(layout), *([copies] if copies else [])]
        defaults = [*index.names(layout), *(["copy"] if copies else [])]
    spelled = [free.free(own) for own in chosen(defaults, arguments)]
    steps: list[tuple[str, str]] = []
    texts = []
    for axis in shown.axes:
        terms = [
            (digit, it.stride[axis])
            for own, mode in zip(spelled, map(_merged, modes), strict=True)
            for digit, it in zip(_digits(own, [it.extent for it in mode], words), mode, strict=True)
            if is_named(it.extent) or it.extent > 1
        ]
        total = words.total(terms, shown.offset[axis] + start[axis])
        chain = shown.swizzles if axis == shown.swizzled_axis else ()
        for swizzle in reversed(chain):
            steps.append((free.free(axis.name if not inverse else "x"), total))
            total = _swizzled(steps[-1][0], swizzle)
        texts.append(words.plus(total, shown.outer[axis]))
    results = [Range(own, *_ends(layout, own)) for own in axes]
    ranges = [
        Range(own, 0, prod(it.extent for it in mode) - 1) for own, mode in zip(spelled, modes, strict=True)
    ]
    if inverse:
        ranges = [Range(own, it.low, it.high) for own, it in zip(spelled, results, strict=True)]
        texts, results = _index_of(texts[0], layout, index, words, steps, free)
    is_wide = not _is_within(shown, modes, facts)
    where = listed([own.name for own in results])
    call = f"{name}({', '.join([*spelled, *given_names])})"
    if lang == "cute":
        call = f"{name}({', '.join(given_names)})({', '.join(spelled)})"
    counts = f"counted in {layout.unit}s" if layout.unit != "element" else ""
    what = f"the flat index ({index.order})" if index.flat else f"the index {where}"
    sentences = [f"{call}: where the element lives, as {where}{', ' * bool(counts)}{counts}."]
    if inverse:
        units = f"; places are {counts}" if counts else ""
        sentences = [f"{call}: {what} of the element that lives there{units}."]
    elif index.flat:
        sentences.append(f"{spelled[0]} is the flat index ({index.order}).")
    said = ", ".join(map(str, ranges)) + "; " + ", ".join(map(str, results))
    asserts = tuple(words.condition(own, truth) for own, truth in facts.said)
    return NamedFunction(
        name,
        tuple(ranges),
        tuple(given_names),
        tuple(results),
        tuple(steps),
        tuple(texts),
        asserts,
        (text, *sentences, said),
        is_wide,
    )


def written(function: NamedFunction, lang: str) -> str:
    """Return a function in a language."""
    if lang in ("c", "cuda"):
        return _c(function, C if lang == "c" else CUDA)
    return _python(function, is_triton=lang == "triton")


# -- languages -------------------------------------------------------------------------------------


def _python(function: NamedFunction, is_triton: bool) -> str:
    head = [f"def {function.name}({', '.join(function.given)}):"]
    comment = [f"    # {line}" for line in function.comment]
    if is_triton:
        head = ["import triton", "import triton.language as tl", "", "", "@triton.jit", *head]
        wide = function.given if function.is_wide else []
        checks = [f"    {own} = tl.cast({own}, tl.int64)" for own in wide]
        checks += [f'    tl.device_assert({own}, "{own}")' for own in function.asserts]
    else:
        checks = [f'    assert {own}, "{own}"' for own in function.asserts]
    steps = [f"    {name} = {text}" for name, text in function.steps]
    return "\n".join([*head, *comment, *checks, *steps, f"    return {', '.join(function.texts)}"])


def _c(function: NamedFunction, flavour: Flavour) -> str:
    kind, _ = flavour.types[64 if function.is_wide else 32]
    lines = ["#include <assert.h>", *flavour.head] if flavour is C else []
    if flavour is CUDA and function.asserts:
        lines = ["#ifndef __CUDACC_RTC__", "#include <cassert>", "#endif", ""]
    lines += [f"// {line}" for line in function.comment]
    returned, value = kind, "{values}"
    if len(function.texts) > 1:
        names, returned = FreeNames(), f"{function.name}_t"
        fields = ", ".join(names.free(own.name) for own in function.results)
        lines.append(flavour.struct.format(fields=f"{kind} {fields}", name=returned))
        value = flavour.value
    given = ", ".join(f"{kind} {own}" for own in function.given)
    lines += [f"{flavour.qualifiers} {returned} {function.name}({given or 'void'})", "{"]
    lines += [f"    assert({own});" for own in function.asserts]
    used = " ".join([*function.texts, *(text for _, text in function.steps), *function.asserts])
    lines += [f"    (void){own};" for own in function.given if own not in _identifiers(used)]
    lines += [f"    const {kind} {name} = {text};" for name, text in function.steps]
    values = ", ".join(function.texts)
    return "\n".join([*lines, f"    return {value.format(name=returned, values=values)};", "}"])


def _identifiers(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


# -- digits ----------------------------------------------------------------------------------------


def _swizzled(name: str, swizzle: Swizzle) -> str:
    arrow = ">>" if swizzle.shift > 0 else "<<"
    return f"{name} ^ (({name} & {swizzle.source:#x}) {arrow} {abs(swizzle.shift)})"


def _digits(value: str, extents: Sequence[Quantity], words: NumberText) -> list[str]:
    """Return the digits of a number as text, slowest first."""
    found = []
    weight: Quantity = 1
    for place, extent in reversed([*enumerate(extents)]):
        digit = value
        if is_named(weight) or weight != 1:
            digit = f"{digit} {words.division} {words.divisor(weight)}"
        if place:
            digit = f"({digit})" if " " in digit else digit
            digit = f"{digit} % {words.divisor(extent)}"
        found.append(digit)
        weight = weight * extent
    return found[::-1]


def _merged(iters: Sequence[Iter]) -> list[Iter]:
    """Return digits of which none goes on where the one before it ends, whatever the names are."""
    found: list[Iter] = []
    for it in iters:
        before = found[-1] if found else None
        steps = it.stride * it.extent
        if before and all(
            is_same(before.stride[axis], steps[axis]) for axis in (*before.stride.axes, *steps.axes)
        ):
            found[-1] = Iter(before.extent * it.extent, it.stride)
        else:
            found.append(it)
    return found


def _index_of(
    text: str, layout: Layout, index: Index, words: NumberText, steps: list[tuple[str, str]], free: FreeNames
) -> tuple[list[str], list[Range]]:
    """Return the index, of which a text has the flat one, in the form that is wanted, with its ranges."""
    if index.flat or not layout.shape:
        return [text], [Range("x", 0, layout.size - 1)]
    sizes = [prod(it.extent for it in mode) for mode in index.modes(layout)]
    ranges = [Range(own, 0, size - 1) for own, size in zip(index.names(layout), sizes, strict=True)]
    if len(sizes) == 1:
        return [text], ranges
    flat = free.free("x")
    steps.append((flat, text))
    return _digits(flat, sizes, words), ranges


# -- facts -----------------------------------------------------------------------------------------


def _copies(layout: Layout) -> tuple[Sequence[Iter], Vector]:
    try:
        return merged_replica(layout.replica)
    except NotDecided:
        return layout.replica, ZERO


def _ends(layout: Layout, axis: str) -> tuple[Quantity | None, Quantity | None]:
    try:
        return layout.extremes(axis)
    except NotDecided:
        return None, None


def _is_within(layout: Layout, modes: Sequence[Sequence[Iter]], facts: Facts) -> bool:
    """Return True if 32 bits are known to hold all values on the way."""
    room = LARGEST_INT + 1
    numbers = [*map(named, facts.meanings), *layout.named_numbers]
    numbers += [part for condition, _ in facts.said for part in (condition.over, condition.by)]
    if not all(map(_fits, numbers)):
        return False
    for axis in layout.axes:
        reach: Quantity = 0
        for it in (it for mode in modes for it in mode):
            stride = it.stride[axis]
            if not is_positive(stride + 1):
                stride = -stride
                if not is_positive(stride + 1):
                    return False
            reach = reach + it.extent * stride
        for more in (layout.offset[axis], layout.outer[axis]):
            if not is_positive(more + 1):
                return False
            reach = reach + more
        if not is_positive(room - 2 * reach):
            return False
    return all(is_positive(room - prod(it.extent for it in mode)) for mode in modes)


def _fits(value: Quantity) -> bool:
    """Return True if 32 bits are known to hold a number, and all on the way to it."""
    over, by = rooted(value)
    if isinstance(over, int):
        return abs(over) <= LARGEST_INT
    most: Quantity = by
    for part, times in over.parts:
        most = most + part * abs(times)
        if not is_positive(part + 1):
            return False
    inside = [part for atom in over.atoms if isinstance(atom, Quotient) for part in (atom.over, atom.by)]
    return is_positive(LARGEST_INT + 1 - most) and all(map(_fits, inside))
