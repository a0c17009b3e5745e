"""The index function of a layout with names in it: names are arguments, and facts about them are asserted.

Digits are quotients and rests of the arguments, as the shape has them; no step needs the bits of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewise.codegen.c import CUDA, C, Flavour
from tilewise.codegen.functions import Index, Range, listed
from tilewise.codegen.names import FreeNames, checked, chosen
from tilewise.codegen.numbers import NumberText
from tilewise.codegen.text import LARGEST_INT
from tilewise.core.algebra.inverses import left_inverse
from tilewise.core.canonical import merged_replica
from tilewise.core.errors import NotDecided
from tilewise.core.polynomials import Condition, Quotient, facts_now, given, is_same, named, rooted
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
    with given(facts):  # from here on no case is asked for
        return _function(layout, shown, lang, name, index, arguments, text, facts)


def _function(
    layout: Layout,
    shown: Layout,
    lang: str,
    name: str,
    index: Index,
    arguments: Sequence[str],
    text: str,
    facts: Facts,
) -> NamedFunction:
    """Return the function whose result is a place of the layout `shown`: the layout, or its inverse."""
    inverse = shown is not layout
    given_names = [checked(own, "an argument") for own in facts.meanings]
    free = FreeNames([name, *given_names])
    words = NumberText("//" if lang in ("python", "triton") else "/", facts if lang != "python" else None)
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
            for own, mode in zip(spelled, modes, strict=True)
            for digit, it in _digits(own, _merged(mode), words)
        ]
        total = words.total(terms, shown.offset[axis] + start[axis])
        chain = shown.swizzles if axis == shown.swizzled_axis else ()
        for swizzle in reversed(chain):
            steps.append((free.free(axis.name if not inverse else "x"), total))
            total = _swizzled(steps[-1][0], swizzle)
        texts.append(words.plus(total, shown.outer[axis]))
    results = [Range(own, *_ends(layout, own)) for own in axes]
    ranges = [Range(own, 0, _size(mode) - 1) for own, mode in zip(spelled, modes, strict=True)]
    if inverse:
        ranges = [Range(own, it.low, it.high) for own, it in zip(spelled, results, strict=True)]
        texts, results = _index_of(texts[0], layout, index, words, steps, free)
    is_wide = not _is_within(shown, modes, facts)
    where = listed([own.name for own in results])
    call = f"{name}({', '.join([*spelled, *given_names])})"
    if lang == "cute":
        call = f"{name}({', '.join(given_names)})({', '.join(spelled)})"
    counts = f", counted in {layout.unit}s" if layout.unit != "element" else ""
    what = f"the flat index ({index.order})" if index.flat else f"the index {where}"
    sentences = [f"{call}: where the element lives, as {where}{counts}."]
    if inverse:
        sentences = [
            f"{call}: {what} of the element that lives there{counts.replace(', c', '; places are c')}."
        ]
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


def _digits(value: str, iters: Sequence[Iter], words: NumberText) -> list[tuple[str, Iter]]:
    """Return the digits of a number, as text, each with the digit that it is."""
    found = []
    weight: Quantity = 1
    for place in reversed(range(len(iters))):
        it = iters[place]
        text = value
        if not (isinstance(weight, int) and weight == 1):
            text = f"{text} {words.division} {words.divisor(weight)}"
        if place:
            text = f"({text})" if " " in text else text
            text = f"{text} % {words.divisor(it.extent)}"
        if not (isinstance(it.extent, int) and it.extent == 1):
            found.append((text, it))
        weight = weight * it.extent
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
    sizes = [_size(mode) for mode in index.modes(layout)]
    if len(sizes) == 1:
        return [text], [Range(index.names(layout)[0], 0, sizes[0] - 1)]
    flat = free.free("x")
    steps.append((flat, text))
    weight: Quantity = 1
    texts = []
    for place, size in reversed([*enumerate(sizes)]):
        digit = (
            flat
            if isinstance(weight, int) and weight == 1
            else f"{flat} {words.division} {words.divisor(weight)}"
        )
        if place:
            digit = f"({digit})" if " " in digit else digit
            digit = f"{digit} % {words.divisor(size)}"
        texts.append(digit)
        weight = weight * size
    ranges = [Range(own, 0, size - 1) for own, size in zip(index.names(layout), sizes, strict=True)]
    return texts[::-1], ranges


# -- facts -----------------------------------------------------------------------------------------


def _size(iters: Iterable[Iter]) -> Quantity:
    size: Quantity = 1
    for it in iters:
        size = size * it.extent
    return size


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
    room = LARGEST_INT
    numbers = [*map(named, facts.meanings), *layout.named_numbers]
    numbers += [part for condition, _ in facts.said for part in (condition.over, condition.by)]
    if not all(_fits(facts, number) for number in numbers):
        return False
    for axis in layout.axes:
        reach: Quantity = 0
        for it in (it for mode in modes for it in mode):
            stride = it.stride[axis]
            if not _is_known(facts, stride):
                stride = -stride
                if not _is_known(facts, stride):
                    return False
            reach = reach + it.extent * stride
        for more in (layout.offset[axis], layout.outer[axis]):
            if not _is_known(facts, more):
                return False
            reach = reach + more
        if not _is_known(facts, room - 2 * reach):
            return False
    return all(_is_known(facts, room - _size(mode)) for mode in modes)


def _fits(facts: Facts, value: Quantity) -> bool:
    """Return True if 32 bits are known to hold a number, and all on the way to it."""
    over, by = rooted(value)
    if isinstance(over, int):
        return abs(over) <= LARGEST_INT
    most: Quantity = by
    for part, times in over.parts:
        most = most + part * abs(times)
        if not _is_known(facts, part):
            return False
    inside = [part for atom in over.atoms if isinstance(atom, Quotient) for part in (atom.over, atom.by)]
    return _is_known(facts, LARGEST_INT - most) and all(_fits(facts, part) for part in inside)


def _is_known(facts: Facts, value: Quantity) -> bool:
    """Return True for a number that facts show to be 0 or more."""
    if isinstance(value, int):
        return value >= 0
    return bool(facts.decided(facts.in_symbols(Condition(">=", value))))
