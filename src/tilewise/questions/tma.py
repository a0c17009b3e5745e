"""The copy that TMA makes: arguments, boxes, bytes; or the rule that it breaks.

  tilewise tma --dtype bf16 --shape 4096,4096 --tile 128,64 --mode 128B
  tilewise tma --dtype bf16 --shape 4096,4096 --tile 128,128 --mode 128B --at 256,128 --code
  tilewise tma --dtype f16 --shape 4096,1000 --strides 1,4096 --tile 128,64 --mode 128B --order k
  tilewise tma 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' --dtype bf16 --shape 8,512,4096
  tilewise tma --dtype bf16 --shape 100,64 --tile 32,64 --mode 128B --at 96,0 --reads
  tilewise tma check --dtype bf16 --dims 100,64 --strides 200 --box 100,300 --mode 128B

A plan is asked in logical order, the slowest dimension first, strides in elements; the tile is a layout, or
--tile and --mode. `check` takes the arguments of cuTensorMapEncodeTiled as they are passed, the innermost
dimension first, strides in bytes, and names every rule that they break. `arguments` and `coordinates` are
always in the driver's order.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict, replace

from tilewise.cli.answer import NO, Answer, fields, misused, refuse_given, refused, table_lines
from tilewise.cli.arguments import add_options, layout_from, layout_options, let_from
from tilewise.core.errors import LayoutError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from tilewise.check.tma import Plan
    from tilewise.cli.arguments import Told
    from tilewise.core.layout import Layout
    from tilewise.hardware.tma.rules import Violation
    from tilewise.hardware.tma.tensor_map import TensorMap

LISTED = 16
"""Boxes and rows that the text shows; JSON has all."""

MAX_ADDRESSES = 1 << 20

OF_PLAN: dict[str, Told] = {
    "shape": ("S", "the tensor, such as 4096,4096"),
    "tile": ("S", "the tile, such as 128,64"),
    "order": {"metavar": "mn|k", "choices": ("mn", "k"), "help": "a tile of wgmma's atoms, down which first"},
    "layout": ("LAYOUT", "the tile as a layout, instead of --tile and --mode"),
    "rank": ("N", "dimensions that the map may have (5)"),
}
OF_CHECK: dict[str, Told] = {
    "dims": ("D", "globalDim"),
    "box": ("B", "boxDim"),
    "element-strides": ("E", "elementStrides (1)"),
    "shared": ("A", "where the box lands in shared memory (0)"),
    "map-address": ("A", "where the map lies (0)"),
}
OF_BOTH: dict[str, Told] = {
    "strides": ("N,...", "of the tensor: in elements; of check: globalStrides, in bytes"),
    "at": ("COORDS", "the tile's first element; of check: the instruction's coordinates"),
    "mode": ("MODE", "the swizzle: none, 32B, 64B, 128B (none)"),
    "interleave": ("INTERLEAVE", "none, 16B or 32B (none)"),
    "l2": ("L2", "L2 promotion: none, 64B, 128B, 256B (128B)"),
    "fill": ("FILL", "what lands out of bounds: zero or nan (zero)"),
    "address": ("A", "where the tensor starts (0)"),
    "name": ("NAME", "the name of the map in the code (map)"),
    "store": "the copy goes out, to the tensor",
    "reads": "where each element lands",
    "code": "the calls in C++",
}
"""{option: what stands for its value in the help, the help}."""

QUESTIONS = {"plan": OF_PLAN, "check": OF_CHECK}
"""Options that belong to one question alone; both take the others."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """[plan | check] [LAYOUT] --dtype T ..."""
    add_options(
        parser,
        {
            "[question]": ("plan|check", "what is asked (plan)"),
            "[tile_layout]": ("LAYOUT", "the tile of a plan, as with --layout"),
        },
    )
    for title, options in (
        ("a plan: logical order, elements", OF_PLAN),
        ("check: the driver's order, bytes", OF_CHECK),
        ("both", OF_BOTH),
    ):
        add_options(parser, {f"--{name}": told for name, told in options.items()}, title)
    parser.set_defaults(interleave="none", l2="128B", fill="zero", name="map")
    layout_options(parser, shape=None)


def answer(args: argparse.Namespace) -> Answer:
    """The arguments, the boxes and their bytes; no with every rule that is broken."""
    _place(args)
    if args.dtype is None:
        raise misused("--dtype is needed", "the type of an element, such as --dtype bf16")
    for question, options in QUESTIONS.items():
        if question != args.question:
            refuse_given(args, options, f"belongs to `tilewise tma {question}`")
    try:
        return _checked(args) if args.question == "check" else _planned(args)
    except Refused as no:
        return _refused(no)


def _place(args: argparse.Namespace) -> None:
    """Tell the question from the layout: each may stand alone."""
    if args.question is not None and args.question not in QUESTIONS:
        if args.tile_layout is not None:
            raise misused(f"{args.question} is no question of tma", "plan or check, before the layout")
        args.question, args.tile_layout = None, args.question
    args.question = args.question or "plan"
    if args.tile_layout is not None:
        if args.layout is not None:
            raise misused("the tile is given twice", "as LAYOUT, or with --layout")
        args.layout = args.tile_layout


# -- a plan ----------------------------------------------------------------------------------------


def _planned(args: argparse.Namespace) -> Answer:
    from tilewise.check.tma import default_tile, plan_copy
    from tilewise.hardware.tma.rules import MAX_RANK, remarks

    if args.interleave != "none":
        raise misused("a plan has interleave none", "tilewise tma check takes interleaves")
    shape, strides, at, extents = (_numbers(args, name) for name in ("shape", "strides", "at", "tile"))
    if shape is None:
        raise misused("--shape is needed", "the tensor, such as --shape 4096,4096")
    address = _number(args, "address")
    more: dict[str, Any] = {"strides": strides, "at": at, "address": address, "stores": args.store}
    more |= {"max_rank": _number(args, "rank", MAX_RANK), **fields(args, "l2", "fill")}
    if args.layout is not None:
        if (args.tile, args.mode, args.order) != (None, None, None):
            raise misused("a layout says the tile, its swizzle and its order by itself")
        tile = layout_from(args.layout, args)
    elif extents is None:
        raise misused("LAYOUT or --tile is needed", "such as --tile 128,64 --mode 128B")
    else:
        mode = args.mode or "none"
        tile = default_tile(shape, extents, args.dtype, mode, strides=strides, order=args.order)
    plan = plan_copy(shape, tile, dtype=args.dtype, **more)
    notes = [*plan.notes, *_other_order(plan, shape, tile, args.dtype, more), *_for_wgmma(plan, tile, args)]
    noted = remarks(plan.tensor_map, address, shared=plan.boxes[0].start, stores=args.store)
    data: dict[str, Any] = {
        "legal": True,
        "arguments": plan.tensor_map.arguments,
        "boxes": [*map(asdict, plan.boxes)],
        "bytes": plan.bytes,
        "rules": [],
        "remarks": _rules(noted),
        "tile": str(tile),
        "mode": plan.mode.name,
        "alignment": plan.alignment,
        "shared": plan.shared_bytes,
        "notes": notes,
    }
    lines = [*_argument_lines(plan.tensor_map), "", *_plan_lines(plan, tile)]
    lines += [f"note: {note}" for note in (*notes, *noted)]
    code = ""
    if args.code:
        from tilewise.emit.tma import copy_calls

        code = f"\n\n{copy_calls(plan, args.name, stores=args.store)}"
    return _told(data, lines, plan.tensor_map, plan.elementwise, args, code, plan)


def _told(
    data: dict[str, Any],
    lines: list[str],
    tensor_map: TensorMap,
    landing: Layout,
    args: argparse.Namespace,
    code: str = "",
    plan: Plan | None = None,
) -> Answer:
    """Return a yes, with the places of all elements and the code where these are wanted."""
    if args.reads:
        data["reads"], more = _reads(landing, plan, args.fill)
        lines += ["", *more]
    if args.code:
        from tilewise.emit.tma import encode_call

        data["code"] = encode_call(tensor_map, args.name) + code
        lines = [data["code"]]
    return Answer(data, "\n".join(lines))


def _other_order(
    plan: Plan, shape: Sequence[int], tile: Layout, dtype: str, more: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a note that a tile of atoms in another order takes fewer boxes."""
    from tilewise.check.tma import orders
    from tilewise.core.shapes import extents_of

    if plan.count > 1:
        found = orders(shape, extents_of(tile.shape), dtype, plan.mode, **more)
        order, better = min(found.items(), key=lambda item: item[1].count, default=("", plan))
        if better.count < plan.count:
            box = " x ".join(map(str, better.tensor_map.box))
            boxes = "1 box" if better.count == 1 else f"{better.count} boxes"
            yield f"with --order {order} it is {boxes} of {box}"


def _for_wgmma(plan: Plan, tile: Layout, args: argparse.Namespace) -> Iterator[str]:
    """Yield the mode that wgmma reads, where none was named and the tile would fit one."""
    if (args.layout, args.mode, args.order) != (None, None, None) or len(tile.shape) != 2:
        return
    from tilewise.check.suggest import suggest
    from tilewise.core.shapes import extents_of

    rows, k = extents_of(tile.shape)
    major = "k" if plan.fold.dimensions[0].dim == len(plan.tensor.shape) - 1 else "mn"
    try:
        mode = suggest(operand="B", rows=rows, k=k, dtype=args.dtype, major=major).mode
    except LayoutError:
        return
    if mode.bits:
        yield f"for wgmma: --mode {mode}, or tilewise suggest"


def _plan_lines(plan: Plan, tile: Layout) -> Iterator[str]:
    boxes = "1 box" if plan.count == 1 else f"{plan.count} boxes of {plan.tensor_map.bytes}"
    yield f"tile  {tile}"
    yield f"      at a multiple of {plan.alignment} bytes of shared memory"
    yield f"{boxes}, {plan.bytes} bytes" + _room(plan.tensor_map, plan.bytes, plan.shared_bytes)
    elements = plan.tensor_map.bytes * 8 // plan.tensor_map.dtype.bits * plan.elements
    for box in plan.boxes[:LISTED]:
        inside = "" if box.inside is None else f", {box.inside} of them in the tensor"
        coordinates = ", ".join(map(str, box.coordinates))
        yield f"  {{{coordinates}}} -> byte {box.start}, {elements} elements{inside}"
    if plan.count > LISTED:
        yield f"  ... {plan.count - LISTED} more; --json has all"


def _room(tensor_map: TensorMap, bytes: int, shared: int) -> str:
    """Return what the bytes take of shared memory, where that is more, and why."""
    if shared == bytes:
        return ""
    from tilewise.hardware.tma.landing import row_pitch

    row = tensor_map.inner_bytes
    pitch = row_pitch(tensor_map.mode, row)
    why = f": rows of {row} bytes lie {pitch} apart under {tensor_map.mode.name}" if pitch != row else ""
    return f", in {shared} of shared memory{why}"


def _argument_lines(tensor_map: TensorMap) -> list[str]:
    arguments = tensor_map.arguments.items()
    return table_lines(
        (name, ", ".join(map(str, value)) if isinstance(value, list) else value) for name, value in arguments
    )


# -- check -----------------------------------------------------------------------------------------


def _checked(args: argparse.Namespace) -> Answer:
    from tilewise.hardware.modes import Mode
    from tilewise.hardware.tma.rules import remarks, violations
    from tilewise.hardware.tma.tensor_map import TensorMap
    from tilewise.hardware.tma.types import ElementType

    if args.dims is None or args.box is None:
        raise misused("--dims and --box are needed", "such as --dims 4096,4096 --box 64,128")
    dims, strides, box, steps = (
        tuple((_numbers(args, name) or [])[::-1]) for name in ("dims", "strides", "box", "element_strides")
    )
    more = fields(args, "interleave", "l2", "fill")
    mode = Mode.of(args.mode or "none")
    tensor_map = TensorMap(ElementType.of(args.dtype), dims, strides, box, steps, mode=mode, **more)
    address, shared = _number(args, "address"), _number(args, "shared")
    where = {"shared": shared, "map_address": _number(args, "map_address"), "stores": args.store}
    broken = violations(tensor_map, address, **where, coordinates=_numbers(args, "at") or ())
    noted = remarks(tensor_map, address, **where)
    data: dict[str, Any] = {
        "legal": not broken,
        "arguments": tensor_map.arguments,
        "bytes": None if broken else tensor_map.bytes,
        "rules": _rules(broken),
        "remarks": _rules(noted),
    }
    notes = [f"note: {remark}" for remark in noted]
    if broken:
        data["reason"] = "; ".join(map(str, broken))
        lines = [f"no: {len(broken)} {'rule is' if len(broken) == 1 else 'rules are'} broken"]
        for rule in data["rules"]:
            lines += ["{rule}: {message}\n  {asks} ({source})\n  hint: {hint}".format(**rule)]
        return Answer(data, "\n".join([*lines, *notes]), NO)
    room = _room(tensor_map, tensor_map.bytes, tensor_map.shared_bytes)
    lines = [*_argument_lines(tensor_map), f"legal, {tensor_map.bytes} bytes a copy{room}", *notes]
    try:
        landing = tensor_map.landing(shared)
    except Refused as no:
        if args.reads:
            return refused(no, data | {"reads": None})
    return _told(data, lines, tensor_map, landing, args)


def _rules(violations: Iterable[Violation]) -> list[dict[str, str]]:
    return [_rule(**fields(violation, "rule", "message", "hint")) for violation in violations]


def _rule(rule: str, message: str, hint: str) -> dict[str, str]:
    """Return a broken rule with what it asks, and the document that says so."""
    from tilewise.check.tma import LAYOUT_RULES
    from tilewise.hardware.tma.rules import RULES

    asks, source = LAYOUT_RULES.get(rule, ""), ""
    if rule in RULES:
        asks, source = RULES[rule].sentence, str(RULES[rule].source)
    return {"rule": rule, "message": message, "hint": hint, "asks": asks, "source": source}


def _refused(no: Refused) -> Answer:
    """Return that there is no plan: the rules as `check` has them."""
    witness = no.witness if isinstance(no.witness, dict) else {}
    own = [{"rule": witness["rule"], "message": no.reason, "hint": no.hint}] if "rule" in witness else []
    rules = [_rule(**rule) for rule in witness.get("rules", own)]
    data = {"legal": False, "arguments": None, "boxes": [], "bytes": None, "rules": rules}
    found = refused(no, data, f"{rules[0]['rule']}: " if rules else "")
    del found.data["code"]  # which is what --code asks for
    lines = ["{rule}: {message}\n  hint: {hint}".format(**rule) for rule in rules[1:]]
    return replace(found, text="\n".join([str(found.text), *lines]))


# -- where elements land ---------------------------------------------------------------------------


def _reads(layout: Layout, plan: Plan | None, fill: str) -> tuple[dict[str, Any], list[str]]:
    """Return the byte of every element, and which of them get the fill; and the first rows in words."""
    import numpy as np

    from tilewise.tables import table

    if layout.size > MAX_ADDRESSES:
        raise LayoutError(
            "TW301",
            f"the list has {layout.size} addresses, and at most {MAX_ADDRESSES} are listed",
            hint="the layout says them all; ask without --reads",
        )
    addresses = table(layout).array
    data = {"shape": list(addresses.shape), "unit": "byte", "layout": str(layout)}
    data |= {"addresses": addresses.tolist()}
    words, dim = addresses.astype(object), addresses.ndim - 1
    step = 16 // max(1, abs(layout.strides[-1]["m"]))
    if plan is not None:
        dim, step = plan.fold.dimensions[0].dim, 16 * plan.elements // plan.tensor.element
        if plan.tensor.at is not None:
            inside = [*_inside(plan, plan.tensor.at, addresses.shape)]
            data |= {"inside": [list(ends) for ends in inside], "fill": fill}
            filled = np.ones(addresses.shape, bool)
            filled[tuple(slice(*ends) for ends in inside)] = False
            words[filled] = fill
    step, width = max(1, step), max(4, len(str(addresses.max())))
    each = "every element" if step == 1 else f"one element in {step}"
    lines = [str(layout), f"byte of {each} along dimension {dim}:"]
    rows = np.moveaxis(words, dim, -1)[..., ::step]
    indices = [*np.ndindex(rows.shape[:-1])]
    for index in indices[:LISTED]:
        name = ", ".join([*map(str, index[:dim]), ":", *map(str, index[dim:])])
        lines.append(f"  [{name}]  {' '.join(f'{word:>{width}}' for word in rows[index])}")
    if len(indices) > LISTED:
        lines.append(f"  ... {len(indices) - LISTED} more rows; --json has all")
    return data, lines


def _inside(plan: Plan, at: Sequence[int], shape: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of the tile's indices that lie in the tensor, a dimension."""
    units = (*(1 for _ in shape[1:]), plan.elements)
    for unit, tile, start, extent in zip(units, shape, at, plan.tensor.shape, strict=True):
        first = min(tile, max(0, -start * unit))
        yield first, max(first, min(tile, (extent - start) * unit))


# -- numbers ---------------------------------------------------------------------------------------


def _numbers(args: argparse.Namespace, option: str) -> list[int] | None:
    """Return the numbers of an option, with the values of --let for names; None where it is not given."""
    text = getattr(args, option)
    if text is None:
        return None
    inside = re.fullmatch(r"\s*\((.*)\)\s*", text)
    spelled = (inside[1] if inside else text).strip().removesuffix(",")
    between = r"(?<=\d)(?<!\b0)x(?=\d)" if "," not in spelled else ","
    names, numbers = let_from(args), []
    for part in map(str.strip, re.split(between, spelled)):
        try:
            numbers.append(names[part] if part in names else int(part, 0))
        except ValueError:
            shown = repr(part) if part else "nothing"
            message = f"--{option.replace('_', '-')}: {shown} is no whole number"
            hint = "whole numbers with commas between, such as 128,64"
            raise misused(message, hint) from None
    return numbers


def _number(args: argparse.Namespace, option: str, usual: int = 0) -> int:
    """Return the one number of an option."""
    first, *others = _numbers(args, option) or [usual]
    if others:
        raise misused(f"--{option.replace('_', '-')}: {getattr(args, option)!r} is no whole number")
    return first
