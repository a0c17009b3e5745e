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

from tilewise.cli.answer import NO, YES, Answer, witness_data
from tilewise.cli.arguments import layout_from, layout_options, let_from
from tilewise.cli.hints import in_a_shell
from tilewise.core.errors import LayoutError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from tilewise.check.tma import Plan
    from tilewise.core.layout import Layout
    from tilewise.hardware.tma.rules import Violation
    from tilewise.hardware.tma.tensor_map import TensorMap

LISTED = 16
"""Boxes and rows that the text shows; JSON has all."""

MAX_ADDRESSES = 1 << 20

ASKED_BY = {
    "plan": ("shape", "tile", "order", "layout", "rank"),
    "check": ("dims", "box", "element_strides", "shared", "map_address"),
}
"""Options that belong to one question alone; both take the others."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """[plan | check] [LAYOUT] --dtype T ..."""
    parser.add_argument("question", nargs="?", metavar="plan|check", help="what is asked (plan)")
    parser.add_argument(
        "tile_layout", nargs="?", metavar="LAYOUT", help="the tile of a plan, as with --layout"
    )
    plan = parser.add_argument_group("a plan: logical order, elements")
    plan.add_argument("--shape", metavar="S", help="the tensor, such as 4096,4096")
    plan.add_argument("--tile", metavar="S", help="the tile, such as 128,64")
    plan.add_argument("--order", choices=("mn", "k"), help="a tile of wgmma's atoms, down which first")
    plan.add_argument("--layout", metavar="LAYOUT", help="the tile as a layout, instead of --tile and --mode")
    plan.add_argument("--rank", metavar="N", help="dimensions that the map may have (5)")
    check = parser.add_argument_group("check: the driver's order, bytes")
    check.add_argument("--dims", metavar="D", help="globalDim")
    check.add_argument("--box", metavar="B", help="boxDim")
    check.add_argument("--element-strides", metavar="E", help="elementStrides (1)")
    check.add_argument("--shared", metavar="A", help="where the box lands in shared memory (0)")
    check.add_argument("--map-address", metavar="A", help="where the map lies (0)")
    both = parser.add_argument_group("both")
    both.add_argument(
        "--strides", metavar="N,...", help="of the tensor: in elements; of check: globalStrides, in bytes"
    )
    both.add_argument(
        "--at", metavar="COORDS", help="the tile's first element; of check: the instruction's coordinates"
    )
    both.add_argument("--mode", help="the swizzle: none, 32B, 64B, 128B (none)")
    both.add_argument("--interleave", default="none", help="none, 16B or 32B (none)")
    both.add_argument("--l2", default="128B", help="L2 promotion: none, 64B, 128B, 256B (128B)")
    both.add_argument("--fill", default="zero", help="what lands out of bounds: zero or nan (zero)")
    both.add_argument("--address", metavar="A", help="where the tensor starts (0)")
    both.add_argument("--store", action="store_true", help="the copy goes out, to the tensor")
    both.add_argument("--reads", action="store_true", help="where each element lands")
    both.add_argument("--code", action="store_true", help="the calls in C++")
    both.add_argument("--name", default="map", help="the name of the map in the code (map)")
    layout_options(parser, shape=None)


def answer(args: argparse.Namespace) -> Answer:
    """The arguments, the boxes and their bytes; no with every rule that is broken."""
    _place(args)
    if args.dtype is None:
        raise LayoutError("TW401", "--dtype is needed", hint="the type of an element, such as --dtype bf16")
    for question, options in ASKED_BY.items():
        for option in options:
            if question != args.question and getattr(args, option) is not None:
                raise LayoutError("TW401", f"{_flag(option)} belongs to `tilewise tma {question}`")
    try:
        return _checked(args) if args.question == "check" else _planned(args)
    except Refused as no:
        return _refused(no)


def _place(args: argparse.Namespace) -> None:
    """Tell the question from the layout: each may stand alone."""
    if args.question is not None and args.question not in ASKED_BY:
        if args.tile_layout is not None:
            raise LayoutError(
                "TW401", f"{args.question} is no question of tma", hint="plan or check, before the layout"
            )
        args.question, args.tile_layout = None, args.question
    args.question = args.question or "plan"
    if args.tile_layout is not None:
        if args.layout is not None:
            raise LayoutError("TW401", "the tile is given twice", hint="as LAYOUT, or with --layout")
        args.layout = args.tile_layout


# -- a plan ----------------------------------------------------------------------------------------


def _planned(args: argparse.Namespace) -> Answer:
    from tilewise.check.tma import plan_copy
    from tilewise.hardware.tma.rules import MAX_RANK, remarks

    if args.interleave != "none":
        raise LayoutError("TW401", "a plan has interleave none", hint="tilewise tma check takes interleaves")
    shape, strides, at = (_numbers(args, option) for option in ("shape", "strides", "at"))
    if shape is None:
        raise LayoutError("TW401", "--shape is needed", hint="the tensor, such as --shape 4096,4096")
    address = _one(args, "address", 0)
    more: dict[str, Any] = {"at": at, "address": address, "max_rank": _one(args, "rank", MAX_RANK)}
    more |= {"l2": args.l2, "fill": args.fill, "stores": args.store}
    tile = _tile(shape, strides, args)
    plan = plan_copy(shape, tile, dtype=args.dtype, strides=strides, **more)
    notes = [*plan.notes, *_other_order(plan, shape, strides, more, args), *_swizzled(plan, args)]
    noted = remarks(plan.tensor_map, address, shared=plan.boxes[0].start, stores=args.store)
    data: dict[str, Any] = {
        "legal": True,
        "arguments": plan.tensor_map.arguments,
        "boxes": _box_data(plan),
        "bytes": plan.bytes,
        "rules": [],
        "remarks": [_violation(remark) for remark in noted],
        "tile": str(tile),
        "mode": plan.mode.name,
        "alignment": plan.alignment,
        "shared": plan.shared_bytes,
        "notes": notes,
    }
    lines = [*_argument_lines(plan.tensor_map), "", *_plan_lines(plan, tile)]
    lines += [f"note: {note}" for note in (*notes, *noted)]
    if args.reads:
        data["reads"] = _reads(plan.elementwise, plan, args.fill)
        lines += ["", *_read_lines(plan.elementwise, plan, args.fill)]
    if args.code:
        from tilewise.emit.tma import copy_calls, encode_call

        data["code"] = (
            f"{encode_call(plan.tensor_map, args.name)}\n\n{copy_calls(plan, args.name, stores=args.store)}"
        )
        lines = [data["code"]]
    return Answer(data, "\n".join(lines), YES)


def _box_data(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "coordinates": list(box.coordinates),
            "index": list(box.index),
            "start": box.start,
            "bytes": plan.tensor_map.bytes,
            "inside": box.inside,
        }
        for box in plan.boxes
    ]


def _tile(shape: Sequence[int], strides: Sequence[int] | None, args: argparse.Namespace) -> Layout:
    if args.layout is not None:
        if args.tile is not None or args.mode is not None or args.order is not None:
            raise LayoutError("TW401", "a layout says the tile, its swizzle and its order by itself")
        return layout_from(args.layout, args)
    tile = _numbers(args, "tile")
    if tile is None:
        raise LayoutError("TW401", "LAYOUT or --tile is needed", hint="such as --tile 128,64 --mode 128B")
    from tilewise.check.tma import default_tile

    return default_tile(shape, tile, args.dtype, args.mode or "none", strides=strides, order=args.order)


def _other_order(
    plan: Plan,
    shape: Sequence[int],
    strides: Sequence[int] | None,
    more: dict[str, Any],
    args: argparse.Namespace,
) -> list[str]:
    """Whether a tile of atoms in another order takes fewer boxes."""
    from tilewise.check.tma import orders
    from tilewise.core.shapes import extents_of

    extents = _numbers(args, "tile") or list(extents_of(plan.tile.shape))[-len(shape) :]
    if plan.count == 1 or (args.layout is not None and plan.elements > 1):
        return []
    found = orders(shape, extents, args.dtype, plan.mode, strides=strides, **more)
    better = min(found.items(), key=lambda item: item[1].count, default=None)
    if better is None or better[1].count >= plan.count:
        return []
    box = " x ".join(map(str, better[1].tensor_map.box))
    word = "box" if better[1].count == 1 else "boxes"
    return [f"with --order {better[0]} it is {better[1].count} {word} of {box}"]


def _swizzled(plan: Plan, args: argparse.Namespace) -> list[str]:
    """Which mode wgmma reads, where none was named and the tile would fit one."""
    from tilewise.check.tma_tiles import mode_for_wgmma

    if args.layout is not None or args.mode is not None or args.order is not None:
        return []
    contiguous = plan.fold.dimensions[0].dim == len(plan.tensor.shape) - 1
    mode = mode_for_wgmma(_numbers(args, "tile") or [], args.dtype, "k" if contiguous else "mn")
    return [] if mode is None else [f"for wgmma: --mode {mode}, or tilewise suggest"]


def _plan_lines(plan: Plan, tile: Layout) -> list[str]:
    boxes = "1 box" if plan.count == 1 else f"{plan.count} boxes of {plan.tensor_map.bytes}"
    lines = [
        f"tile  {tile}",
        f"      at a multiple of {plan.alignment} bytes of shared memory",
        f"{boxes}, {plan.bytes} bytes" + _room(plan.tensor_map, plan.bytes, plan.shared_bytes),
    ]
    for box in plan.boxes[:LISTED]:
        inside = "" if box.inside is None else f", {box.inside} of them in the tensor"
        coordinates = ", ".join(map(str, box.coordinates))
        elements = plan.tensor_map.bytes * 8 // plan.tensor_map.dtype.bits * plan.elements
        lines.append(f"  {{{coordinates}}} -> byte {box.start}, {elements} elements{inside}")
    if plan.count > LISTED:
        lines.append(f"  ... {plan.count - LISTED} more; --json has all")
    return lines


def _room(tensor_map: TensorMap, bytes: int, shared: int) -> str:
    """What the bytes take of shared memory, where that is more, and why."""
    if shared == bytes:
        return ""
    from tilewise.hardware.tma.landing import row_pitch

    row = tensor_map.inner_bytes
    pitch = row_pitch(tensor_map.mode, row)
    why = f": rows of {row} bytes lie {pitch} apart under {tensor_map.mode.name}" if pitch != row else ""
    return f", in {shared} of shared memory{why}"


def _argument_lines(tensor_map: TensorMap) -> list[str]:
    asked = tensor_map.arguments
    width = max(map(len, asked))
    return [
        f"{name:<{width}}  {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in asked.items()
    ]


# -- check -----------------------------------------------------------------------------------------


def _checked(args: argparse.Namespace) -> Answer:
    from tilewise.hardware.tma.rules import remarks, violations

    tensor_map = _map_of(args)
    address, shared = _one(args, "address", 0), _one(args, "shared", 0)
    where = {"shared": shared, "map_address": _one(args, "map_address", 0), "stores": args.store}
    broken = violations(tensor_map, address, **where, coordinates=_numbers(args, "at") or ())
    noted = remarks(tensor_map, address, **where)
    data: dict[str, Any] = {
        "legal": not broken,
        "arguments": tensor_map.arguments,
        "bytes": None if broken else tensor_map.bytes,
        "rules": [_violation(violation) for violation in broken],
        "remarks": [_violation(remark) for remark in noted],
    }
    notes = [f"note: {remark}" for remark in noted]
    if broken:
        data["reason"] = "; ".join(map(str, broken))
        count = f"no: {len(broken)} {'rule is' if len(broken) == 1 else 'rules are'} broken"
        return Answer(data, "\n".join([count, *_rule_lines(broken), *notes]), NO)
    room = _room(tensor_map, tensor_map.bytes, tensor_map.shared_bytes)
    legal = f"legal, {tensor_map.bytes} bytes a copy{room}"
    lines = [*_argument_lines(tensor_map), legal, *notes]
    if args.reads:
        try:
            landing = tensor_map.landing(shared)
        except Refused as no:
            hint = in_a_shell(no.hint)
            refusal = {
                "code": no.code,
                "reason": no.reason,
                "witness": witness_data(no.witness),
                "hint": hint,
            }
            said = f"no: {no.reason}\n  hint: {hint}"
            return Answer(data | {"reads": None} | refusal, said, NO)
        data["reads"] = _reads(landing)
        lines += ["", *_read_lines(landing)]
    if args.code:
        from tilewise.emit.tma import encode_call

        data["code"] = encode_call(tensor_map, args.name)
        lines = [data["code"]]
    return Answer(data, "\n".join(lines), YES)


def _map_of(args: argparse.Namespace) -> TensorMap:
    """The tensor map of arguments in the driver's order."""
    from tilewise.hardware.modes import Mode
    from tilewise.hardware.tma.tensor_map import TensorMap
    from tilewise.hardware.tma.types import ElementType

    dims, box, strides, steps = (
        _numbers(args, option) for option in ("dims", "box", "strides", "element_strides")
    )
    if dims is None or box is None:
        raise LayoutError(
            "TW401", "--dims and --box are needed", hint="such as --dims 4096,4096 --box 64,128"
        )
    return TensorMap(
        ElementType.of(args.dtype),
        tuple(dims[::-1]),
        tuple((strides or [])[::-1]),
        tuple(box[::-1]),
        tuple((steps or [])[::-1]),
        interleave=args.interleave,
        mode=Mode.of(args.mode or "none"),
        l2=args.l2,
        fill=args.fill,
    )


def _violation(found: Violation) -> dict[str, str]:
    return _full({"rule": found.rule, "message": found.message, "hint": found.hint})


def _full(found: dict[str, str]) -> dict[str, str]:
    """A broken rule with what it asks, and the document that says so."""
    from tilewise.check.tma import LAYOUT_RULES
    from tilewise.hardware.tma.rules import RULES

    rule = RULES.get(found["rule"])
    asks = LAYOUT_RULES[found["rule"]] if rule is None else rule.sentence
    return {**found, "asks": asks, "source": "" if rule is None else str(rule.source)}


def _rule_lines(broken: Iterable[Violation]) -> list[str]:
    from tilewise.hardware.tma.rules import RULES

    lines = []
    for violation in broken:
        lines += [
            f"{violation.rule}: {violation.message}",
            f"  {RULES[violation.rule].sentence} ({violation.source})",
            f"  hint: {violation.hint}",
        ]
    return lines


def _refused(no: Refused) -> Answer:
    """A plan that there is not: the rules as `check` has them."""
    witness = no.witness if isinstance(no.witness, dict) else {}
    own = [{"rule": witness["rule"], "message": no.reason, "hint": no.hint}] if "rule" in witness else []
    rules = [_full(rule) for rule in witness.get("rules", own)]
    data = {
        "legal": False,
        "arguments": None,
        "boxes": [],
        "bytes": None,
        "rules": rules,
        "reason": no.reason,
        "witness": witness_data(no.witness),
        "hint": in_a_shell(no.hint),
    }
    first = f"{rules[0]['rule']}: " if rules else ""
    lines = [f"no: {first}{no.reason}", *([f"  hint: {data['hint']}"] if no.hint else [])]
    for rule in rules[1:]:
        lines += [f"{rule['rule']}: {rule['message']}", f"  hint: {rule['hint']}"]
    return Answer(data, "\n".join(lines), NO)


# -- where elements land ---------------------------------------------------------------------------


def _reads(layout: Layout, plan: Plan | None = None, fill: str = "zero") -> dict[str, Any]:
    """The byte of every element, and which of them get the fill."""
    from tilewise.core.shapes import extents_of
    from tilewise.tables import table

    if layout.size > MAX_ADDRESSES:
        raise LayoutError(
            "TW301",
            f"the list has {layout.size} addresses, and at most {MAX_ADDRESSES} are listed",
            hint="the layout says them all; ask without --reads",
        )
    data: dict[str, Any] = {
        "shape": list(extents_of(layout.shape)),
        "unit": "byte",
        "layout": str(layout),
        "addresses": table(layout).array.tolist(),
    }
    if plan is not None and plan.tensor.at is not None:
        data |= {"inside": [list(ends) for ends in _inside(plan)], "fill": fill}
    return data


def _inside(plan: Plan) -> list[tuple[int, int]]:
    """(first, end) of the tile's indices that lie in the tensor, a dimension; elements of the asked type."""
    from tilewise.core.shapes import extents_of

    at = plan.tensor.at or ()
    ends = zip(extents_of(plan.tile.shape), at, plan.tensor.shape, strict=True)
    *outer, (first, end) = [
        (first := min(tile, max(0, -start)), max(first, min(tile, extent - start)))
        for tile, start, extent in ends
    ]
    return [*outer, (first * plan.elements, end * plan.elements)]


def _read_lines(layout: Layout, plan: Plan | None = None, fill: str = "zero") -> list[str]:
    """The first rows, an address every 16 bytes."""
    from itertools import islice, product

    from tilewise.core.shapes import extents_of

    extents = extents_of(layout.shape)
    inside = _inside(plan) if plan is not None and plan.tensor.at is not None else None
    dim = _contiguous(plan) if plan is not None else len(extents) - 1
    size = layout.size // extents[dim]
    step = max(1, 16 * plan.elements // plan.tensor.element if plan is not None else 16 // _step(layout))
    width = len(str(layout.max()))
    columns = range(0, extents[dim], step)
    each = "every element" if step == 1 else f"one element in {step}"
    lines = [f"{layout}", f"byte of {each} along dimension {dim}:"]
    rows = product(*(range(1) if i == dim else range(extent) for i, extent in enumerate(extents)))
    for row in islice(rows, LISTED):
        cells = []
        for column in columns:
            index = tuple(column if i == dim else x for i, x in enumerate(row))
            out = inside is not None and not all(a <= x < b for x, (a, b) in zip(index, inside, strict=True))
            cells.append(f"{fill if out else layout.place(*index)['m']:>{max(width, 4)}}")
        name = ", ".join(":" if i == dim else str(x) for i, x in enumerate(row))
        lines.append(f"  [{name}]  {' '.join(cells)}")
    if size > LISTED:
        lines.append(f"  ... {size - LISTED} more rows; --json has all")
    return lines


def _contiguous(plan: Plan) -> int:
    return plan.fold.dimensions[0].dim


def _step(layout: Layout) -> int:
    return max(1, abs(layout.strides[-1]["m"])) if layout.strides else 1


# -- numbers ---------------------------------------------------------------------------------------


def _numbers(args: argparse.Namespace, option: str) -> list[int] | None:
    """The numbers of an option, with the values of --let for names; None where it is not given."""
    text = getattr(args, option)
    if text is None:
        return None
    inside = re.fullmatch(r"\s*\((.*)\)\s*", text)
    spelled = (inside[1] if inside else text).strip().removesuffix(",")
    names = let_from(args)
    between = r"(?<=\d)(?<!\b0)x(?=\d)" if "," not in spelled else ","
    return [_number(part.strip(), option, names) for part in re.split(between, spelled)]


def _one(args: argparse.Namespace, option: str, usual: int) -> int:
    """The number of an option."""
    text = getattr(args, option)
    return usual if text is None else _number(text.strip(), option, let_from(args))


def _number(spelled: str, option: str, names: dict[str, int]) -> int:
    if spelled in names:
        return names[spelled]
    try:
        return int(spelled, 0)
    except ValueError:
        shown = repr(spelled) if spelled else "nothing"
        hint = "whole numbers with commas between, such as 128,64"
        raise LayoutError("TW401", f"{_flag(option)}: {shown} is no whole number", hint=hint) from None


def _flag(option: str) -> str:
    return "--" + option.replace("_", "-")
