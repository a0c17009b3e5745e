"""The ground that `plan` and `emit move` share: two layouts, or a named move, and the plan between them."""

from __future__ import annotations

import re
from math import inf

from tilewise.core.errors import LayoutError, Refused
from tilewise.moves.named import NAMES, Named
from tilewise.questions.hints import witness_text
from tilewise.questions.orders import how_paired
from tilewise.questions.report import Report, refused
from tilewise.questions.texts import Texts, misused, two_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tilewise.core.dtypes import DType
    from tilewise.core.layout import Layout
    from tilewise.moves import Exchange, MeshPlan, Plan
    from tilewise.moves.shapes import ShapesPlan
    from tilewise.questions.asking import LayoutText, ShapeText

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)
_COMMAS = re.compile(r",(?![^(]*\))")
"""Commas that are not inside parentheses."""
_WORD = re.compile(r"[A-Za-z_]\w*|\d+B(_\w+)?")
"""A word, or a swizzle mode."""

EXAMPLES = {
    "transpose": "transpose(8192, 4096)",
    "permute": "permute((2, 3, 5), (2, 0, 1))",
    "nchw_to_nhwc": "nchw_to_nhwc(8, 64, 56, 56)",
    "nhwc_to_nchw": "nhwc_to_nchw(8, 56, 56, 64)",
    "pack_scales_128x4": "pack_scales_128x4(300, 5)",
    "unpack_scales_128x4": "unpack_scales_128x4(300, 5)",
    "tile_for_wgmma": "tile_for_wgmma(128, 64, bf16)",
    "core_matrices": "core_matrices(64, 64, bf16)",
}
"""The call of each named move."""


OF_MOVES = {
    "source": "SRC: where the elements are: a layout, - for standard input, or a named move, and then no DST",
    "target": "DST: where they shall be, a layout",
    "dtype": "T: the type of an element, such as bf16; moves of scales and of tiles know their own",
    "shape": "S: the box that moves, mode by mode, where one of them is larger, such as 300,5",
    "fill": "V: what fills places of the target that no element takes: a number, or bits such as 0x7f (0)",
    "aligned": "N: bytes to which both storages are aligned, a power of two (256)",
    "device": "D: whose times are expected: h200 or h100 (h200)",
    "arch": "A: between registers, the architecture that has the instructions, such as sm_80 (sm_90)",
}
"""The helps of what every question about a move takes."""


def planned(
    texts: Texts, source: LayoutText, target: LayoutText | None, shape: ShapeText | None, **asked: Any
) -> Plan | ShapesPlan | Exchange | MeshPlan:
    """Return the plan of a move; `asked` are other options of `tilewise.plan`, None where it has its own."""
    from tilewise.moves import plan

    named = _named(texts, source, target, shape)
    dtype = named.element(texts.dtype)
    if isinstance(asked["fill"], str):
        asked["fill"] = _element(asked["fill"], dtype)
    asked["shape"] = named.shape
    for name, sums in zip(("reduce", "parts"), texts.sums, strict=False):
        if asked.get(name) is None and sums:
            asked[name] = sums
    given = {name: value for name, value in asked.items() if value is not None}
    for name in ("mesh", "link"):
        if isinstance(given.get(name), str):
            given[name] = _by_axis(given[name], name)
    for name in ("reduce", "parts"):
        if isinstance(given.get(name), str):
            given[name] = _axes(given[name], name)
    found: Plan | ShapesPlan | Exchange | MeshPlan = plan(named.source, named.target, dtype, **given)
    return found


def _by_axis(text: str, name: str) -> dict[str, float]:
    """Return the numbers of axes, such as gpuid_x=4,gpuid_y=2."""
    found: dict[str, float] = {}
    for word in text.split(","):
        axis, _, number = (part.strip() for part in word.partition("="))
        try:
            found[axis] = int(number) if name == "mesh" else float(number)
        except ValueError:
            example = "gpuid_x=4,gpuid_y=2" if name == "mesh" else "gpuid_x=360,gpuid_y=45"
            raise misused(
                f"--{name} {text} does not name axes with their numbers", f"such as --{name} {example}"
            ) from None
    return found


def _axes(text: str, name: str) -> list[str] | dict[str, str]:
    """Return axes, such as gpuid_x,gpuid_y, or each with its operation, such as gpuid_x=max.

    >>> _axes("gpuid_x, gpuid_y", "reduce"), _axes("gpuid_x=max", "reduce")
    (['gpuid_x', 'gpuid_y'], {'gpuid_x': 'max'})
    """
    words = [word.partition("=") for word in text.split(",")]
    found = {axis.strip(): op.strip() if equals else "sum" for axis, equals, op in words}
    if not all(found) or not all(found.values()) or len(found) < len(words):
        raise misused(f"--{name} '{text}' does not name axes", f"such as --{name} gpuid_x,gpuid_y")
    return found if any(equals for _, equals, _ in words) else list(found)


def no_move(no: Refused, kind: str | None = None, *, instead: bool = False) -> Report:
    """Return a no, with the reason and a witness; `kind` where there is a plan."""
    witness = "" if no.witness is None else witness_text(no.witness)
    return refused(no, {"class": kind}, witness=witness, instead=instead)


def may_be_a_side(word: str) -> bool:
    """Return whether a word may be a layout or a named move, and is no engine, tile or type.

    >>> may_be_a_side("(8,4):(4,1)"), may_be_a_side("transpose"), may_be_a_side("64x64x64")
    (True, True, False)
    """
    return word == "-" or word in NAMES or any(sign in word for sign in "[(:{<")


# -- the two layouts -------------------------------------------------------------------------------


def _named(texts: Texts, source: LayoutText, target: LayoutText | None, shape: ShapeText | None) -> Named:
    """Return the two layouts and the box, which a named move says in one word."""
    name = _name(source) if isinstance(source, str) else ""
    if isinstance(source, str) and name in NAMES:
        for word, value in (("DST", target), ("--shape", shape)):
            if value is not None:
                raise misused(f"{name} is a whole move: it takes no {word}", _example(name))
        return _called(name, source, texts.let)
    if target is None:
        if not isinstance(source, str) or source.strip() != "-":
            _layout(texts, source, alone=True)
        raise misused(f"{source} is one layout, and a move has two", _known())
    if isinstance(target, str) and (name := _name(target)) in NAMES:
        raise misused(f"{name} is a whole move: it takes no SRC", _example(name))
    if isinstance(source, str) and isinstance(target, str):
        source, target = two_texts(source, target, texts.let)
    texts.settle_type(source, target)
    if texts.dtype is None:
        raise misused("the type of an element is not given", "such as --dtype bf16")
    a, b = _layout(texts, source), _layout(texts, target)
    box = texts.box if shape is None else texts.extents(shape, "--shape")
    texts.note(*(how_paired(a, b) if box is None else []))
    return Named(a, b, box)


def _name(text: str) -> str:
    """Return the name that a text calls, or may be; of a layout no move's."""
    return text.partition("(")[0].strip()


def _layout(texts: Texts, given: LayoutText, alone: bool = False) -> Layout:
    """Return a layout; a word that is no layout, alone or near to a move's name, stands for a move."""
    try:
        return texts.layout(given)
    except LayoutError as error:
        name = _name(str(given))
        if _near(name) or (alone and error.code in ("TW001", "TW601") and name.isidentifier()):
            raise _no_move(name) from None
        raise


def _no_move(name: str) -> LayoutError:
    near = _near(name)
    meant = f"did you mean {' or '.join(near)}? {_example(near[0])}" if near else _known()
    return misused(f"no move has the name {name}", meant)


def _near(name: str) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, NAMES, n=2, cutoff=0.7)


def _known() -> str:
    return "SRC DST, or a named move: " + " ".join(NAMES)


def _example(name: str) -> str:
    return f"such as '{EXAMPLES[name]}'"


def _called(name: str, call: str, let: Mapping[str, int]) -> Named:
    """Return the named move of a call."""
    import inspect

    found = _CALL.fullmatch(call)
    if found is None and "(" in call:
        raise LayoutError("TW004", f"the call of {name} does not end with ')'", hint=_example(name))
    if found is None:
        raise misused(f"{name} is given no extents", _example(name))
    given, named = _arguments(name, found[2], let)
    signature = inspect.signature(NAMES[name])
    own = signature.parameters
    for word in named:
        if word not in own:
            has = f"{_example(name)}; its arguments are {', '.join(own)}"
            raise misused(f"{name} has no argument {word}", has)
    try:
        bound = signature.bind(*given, **named)
    except TypeError as error:
        raise misused(f"{name}: {error}", _example(name)) from None
    for word, value in bound.arguments.items():
        if isinstance(value, str) and "str" not in own[word].annotation:
            raise LayoutError("TW007", f"'{value}' has no value", hint=f"give it one: --let {value}=64")
    return NAMES[name](*given, **named)


def _arguments(name: str, text: str, let: Mapping[str, int]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call, by their place and by their name."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    arguments = [part.strip() for part in _COMMAS.split(text)]
    if not arguments[-1]:
        arguments.pop()
    for argument in arguments:
        if not argument:
            raise LayoutError("TW004", f"{name}: nothing stands before a comma", hint=_example(name))
        word, equals, value = (part.strip() for part in argument.partition("="))
        if word in named:
            raise misused(f"{name}: {word} is given twice", _example(name))
        if equals:
            named[word] = _value(value, let)
        else:
            given.append(_value(argument, let))
    return given, named


def _value(text: str, let: Mapping[str, int]) -> Any:
    """Return a number, a list of numbers, or a word."""
    from tilewise.notation import parse_index

    if _WORD.fullmatch(text) and text not in let:
        return text
    return parse_index(text, let)


# -- the fill --------------------------------------------------------------------------------------


def _element(text: str, dtype: DType) -> bytes:
    """Return the bytes of an element of that value, or with those bits; see `tilewise.moves.pairs.fills`.

    >>> from tilewise.core.dtypes import DType
    >>> _element("1", DType.of("bf16")).hex(), _element("0x7f", DType.of("u8")).hex()
    ('803f', '7f')
    """
    from tilewise.moves.pairs.fills import element_of, packed

    number = _number(text)
    if isinstance(number, int) and text.strip().lower().startswith("0x"):
        return packed(number, dtype)
    return element_of(number, dtype)


def _number(text: str) -> int | float:
    for read in (lambda: int(text, 0), lambda: float(text)):
        try:
            number = read()
        except ValueError:
            continue
        if abs(number) == inf and any(sign.isdigit() for sign in text):
            break
        return number
    raise misused(f"--fill {text} is no number", "such as --fill 0 or --fill 0x7f")
