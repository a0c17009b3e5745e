"""What `plan` and `emit move` share: two layouts, or a named move, and the plan between them."""

from __future__ import annotations

import argparse
import re
from math import inf

from tilewise.cli.answer import Answer, how_paired, misused, refused
from tilewise.cli.arguments import (
    add_options,
    box_from,
    layout_from,
    layout_options,
    let_from,
    shape_from,
    two_texts,
    type_from,
)
from tilewise.questions.hints import witness_text
from tilewise.core.errors import LayoutError, Refused
from tilewise.moves.named import NAMES, Named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.dtypes import DType
    from tilewise.core.layout import Layout
    from tilewise.moves import Exchange, Plan
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
"""How each named move is called."""


def pair_arguments(parser: argparse.ArgumentParser) -> None:
    """SRC DST, what moves, and how the layouts are read."""
    source = "where the elements are: a layout, - for standard input, or a named move, and then no DST"
    fill = "what fills places of the target that no element takes: a number, or its bits such as 0x7f (0)"
    aligned = "bytes to which both storages are aligned, a power of two (256)"
    arch = "between registers, the architecture that has the instructions, such as sm_80 (sm_90)"
    add_options(
        parser,
        {
            "source": ("SRC", source),
            "[target]": ("DST", "where they shall be, a layout"),
            "--dtype": (
                "T",
                "the type of an element, such as bf16; moves of scales and of tiles know their own",
            ),
            "--shape": ("S", "the box that moves, mode by mode, where one of them is larger, such as 300,5"),
            "--fill": ("V", fill),
            "--aligned": {"metavar": "N", "type": int, "help": aligned},
            "--device": ("D", "whose times are expected: h200 or h100 (h200)"),
            "--arch": ("A", arch),
        },
    )
    layout_options(parser, has_dtype=True, shape=None)


def planned(args: argparse.Namespace) -> Plan | Exchange | Answer:
    """The plan that is asked for, or the no with its reason."""
    try:
        return _plan(args)
    except Refused as no:
        return no_move(no)


def no_move(no: Refused, kind: str | None = None) -> Answer:
    """No, with the reason and a witness; `kind` where there is a plan."""
    witness = "" if no.witness is None else witness_text(no.witness)
    return refused(no, {"class": kind}, witness=witness)


def _plan(args: argparse.Namespace) -> Plan | Exchange:
    from tilewise.moves import plan

    asked = _asked(args)
    dtype = asked.element(args.dtype)
    given: dict[str, Any] = {"shape": asked.shape}
    given |= {name: getattr(args, name) for name in ("device", "aligned", "arch")}
    given["fill"] = None if args.fill is None else _element(args.fill, dtype)
    said = {name: value for name, value in given.items() if value is not None}
    found: Plan | Exchange = plan(asked.source, asked.target, dtype, **said)
    return found


# -- the two layouts -------------------------------------------------------------------------------


def _asked(args: argparse.Namespace) -> Named:
    """The two layouts and the box, whoever says them."""
    named = _named(args)
    if named is not None:
        return named
    texts = two_texts(args.source, args.target)
    type_from(texts, args)
    if args.dtype is None:
        raise misused("the type of an element is not given", "such as --dtype bf16")
    source, target = (_layout(text, args) for text in texts)
    shape = shape_from(args) or box_from(args)
    if shape is None and (note := how_paired(source, target)):
        args.notes.append(note)
    return Named(source, target, shape)


def _named(args: argparse.Namespace) -> Named | None:
    """The named move that SRC calls; None where it is a layout."""
    found, name = _CALL.fullmatch(args.source), _name(args.source)
    known = name in NAMES
    if known and not found and "(" in args.source:
        raise LayoutError("TW004", f"the call of {name} does not end with ')'", hint=_example(name))
    if not known:
        _check_two_layouts(args)
        return None
    for option, value in (("DST", args.target), ("--shape", args.shape)):
        if value is not None:
            raise misused(f"{name} is a whole move: it takes no {option}", _example(name))
    if found is None:
        raise misused(f"{name} is given no extents", _example(name))
    return _made(name, found[2], let_from(args))


def _name(text: str) -> str:
    """The name that a text calls, or may be; of a layout no move's."""
    return text.partition("(")[0].strip()


def _check_two_layouts(args: argparse.Namespace) -> None:
    """Refuse a SRC that is one layout and no more, or no move's name, and a DST that is a whole move."""
    if args.target is not None:
        if (name := _name(args.target)) in NAMES:
            raise misused(f"{name} is a whole move: it takes no SRC", _example(name))
        return
    if args.source.strip() != "-":
        _layout(args.source, args)
    raise misused(f"{args.source} is one layout, and a move has two", _known())


def _layout(text: str, args: argparse.Namespace) -> Layout:
    """The layout of a text; a word that is none, alone or near to a move's name, is meant to be one."""
    try:
        return layout_from(text, args)
    except LayoutError as error:
        name, alone = _name(text), args.target is None and error.code in ("TW001", "TW601")
        if _near(name) or (alone and name.isidentifier()):
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


def _made(name: str, text: str, let: dict[str, int]) -> Named:
    """The named move of the arguments of a call."""
    import inspect

    given, named = _arguments(name, text, let)
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
    for word, found in bound.arguments.items():
        if isinstance(found, str) and "str" not in own[word].annotation:
            raise LayoutError("TW007", f"'{found}' has no value", hint=f"give it one: --let {found}=64")
    return NAMES[name](*given, **named)


def _arguments(name: str, text: str, let: dict[str, int]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, by their place and by their name."""
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


def _value(text: str, let: dict[str, int]) -> Any:
    """A number, a list of numbers, or a word."""
    from tilewise.notation import parse_index

    if _WORD.fullmatch(text) and text not in let:
        return text
    return parse_index(text, let)


# -- the fill --------------------------------------------------------------------------------------


def _element(text: str, dtype: DType) -> bytes:
    """The bytes of an element of that value, or with those bits; see `tilewise.moves.pairs.fills`.

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
