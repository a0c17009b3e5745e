"""The copy that TMA makes: arguments, boxes, bytes; or the rule that it breaks.

  tilewise tma --dtype bf16 --shape 4096,4096 --tile 128,64 --swizzle 128B
  tilewise tma --dtype bf16 --shape 4096,4096 --tile 128,128 --mode 128B --at 256,128 --code
  tilewise tma --dtype f16 --shape 4096,1000 --strides 1,4096 --tile 128,64 --mode 128B --order k
  tilewise tma 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' --dtype bf16 --shape 8,512,4096
  tilewise tma --dtype bf16 --shape 100,64 --tile 32,64 --mode 128B --at 96,0 --reads
  tilewise tma check --dtype bf16 --dims 100,64 --strides 200 --box 100,300 --mode 128B

A plan takes logical order, the slowest dimension first, strides in elements; the tile is a layout, or
--tile and --mode. `check` takes the arguments of cuTensorMapEncodeTiled as they are passed, the innermost
dimension first, strides in bytes, and names every rule that they break. `arguments` and `coordinates` are
always in the driver's order.
"""

from __future__ import annotations

import re
from dataclasses import asdict, replace

from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError, Refused
from tilewise.questions.asking import asks, option_of
from tilewise.questions.report import Report, fields_of, refused, table_lines
from tilewise.questions.texts import Texts, misused, number_of_names, refuse_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal, Unpack

    from tilewise.check.tma import Plan
    from tilewise.core.layout import Layout
    from tilewise.hardware.tma.rules import Violation
    from tilewise.hardware.tma.tensor_map import TensorMap
    from tilewise.questions.asking import LayoutText, Number, TextOptions, Type

    Sizes = str | Sequence[int]

LISTED = 16
"""Boxes and rows that the text shows; JSON has all."""

MAX_ADDRESSES = 1 << 20

OPERATIONS = ("plan", "check")


OF_PLAN = {
    "shape": "S: the tensor, such as 4096,4096",
    "tile": "S: the tile, such as 128,64",
    "order": "a tile of wgmma's atoms, down which first",
    "rank": "N: dimensions that the map may have (5)",
}
OF_CHECK = {
    "dims": "D: globalDim",
    "box": "B: boxDim",
    "element_strides": "E: elementStrides (1)",
    "shared": "A: where the box lands in shared memory (0)",
    "map_address": "A: where the map lies (0)",
}
OF_BOTH = {
    "strides": "N,...: of the tensor: in elements; of check: globalStrides, in bytes",
    "at": "COORDS: the tile's first element; of check: the instruction's coordinates",
    "mode": "--swizzle MODE: the swizzle: none, 32B, 64B, 128B (none)",
    "interleave": "INTERLEAVE: none, 16B or 32B (none)",
    "l2": "L2: L2 promotion: none, 64B, 128B, 256B (128B)",
    "fill": "FILL: what lands out of bounds: zero or nan (zero)",
    "address": "A: where the tensor starts (0)",
    "name": "NAME: the name of the map in the code (map)",
    "store": "the copy goes out, to the tensor",
    "reads": "where each element lands",
    "code": "the calls in C++",
}
"""{option: its help}."""

NUMBERS = ("dims", "box", "element_strides", "shape", "tile", "strides", "at")
SINGLE = ("rank", "shared", "map_address", "address")


@asks(
    {
        "a plan: logical order, elements": OF_PLAN,
        "check: the driver's order, bytes": OF_CHECK,
        "both": OF_BOTH,
    },
    operation="OP: plan or check (plan); or LAYOUT",
    layout="--layout LAYOUT: the tile of a plan as a layout, instead of --tile and --mode",
)
def tma(
    operation: LayoutText | None = None,
    layout: LayoutText | DType | None = None,
    dtype: Type | None = None,
    *,
    shape: Sizes | None = None,
    tile: Sizes | None = None,
    order: Literal["mn", "k"] | None = None,
    rank: Number | None = None,
    dims: Sizes | None = None,
    box: Sizes | None = None,
    element_strides: Sizes | None = None,
    shared: Number | None = None,
    map_address: Number | None = None,
    strides: Sizes | None = None,
    at: Sizes | None = None,
    mode: str | None = None,
    interleave: str = "none",
    l2: str = "128B",
    fill: str = "zero",
    address: Number | None = None,
    name: str = "map",
    store: bool = False,
    reads: bool = False,
    code: bool = False,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return the arguments, the boxes and the bytes of a copy by TMA, or no with every rule that it breaks.

    The report has the driver's `arguments`, the `bytes` of a copy and the `rules` that are broken; a plan has
    its `boxes` as well, and the `tile` in shared memory.

    >>> report = tma(shape=(4096, 4096), tile=(128, 64), mode="128B", dtype="bf16")
    >>> report.arguments["boxDim"], report.bytes
    ([64, 128], 16384)
    """
    if isinstance(layout, DType) or (isinstance(layout, str) and known_type(layout)):
        if dtype is not None:
            raise misused(f"the type of an element is {layout}, and {dtype}")
        layout, dtype = None, layout  # tma(tile, dtype), as most questions are called
    given: dict[str, Any] = dict(locals())
    if operation is not None and operation not in OPERATIONS:
        if layout is not None:
            message = f"{operation} is no question of tma, and a tile is not given twice"
            raise misused(message, "plan or check, and one layout behind it")
        operation, layout = "plan", operation
    if dtype is None:
        raise misused("--dtype is needed", "the type of an element, such as --dtype bf16")
    of_tensor = box is not None and (shape, tile, dims) == (None, None, None)
    other, options = ("plan", (*OF_PLAN, "layout")) if operation == "check" else ("check", (*OF_CHECK,))
    options = () if of_tensor and layout is not None else options
    refuse_given({name: given[name] for name in options}, f"belongs to `tilewise tma {other}`")
    texts = Texts(dtype, own_shape=True, **reading)
    if of_tensor and layout is not None:
        given |= _of_tensor(texts.layout(layout), box)
        layout = None
    given |= {name: _numbers(texts.let, name, given[name]) for name in NUMBERS}
    given |= {name: _number(texts.let, name, given[name]) for name in SINGLE}
    try:
        if operation == "check":
            return texts.reported(_checked(dtype, given))
        return texts.reported(_planned(texts, dtype, layout, given))
    except Refused as no:
        return texts.reported(_refused(no))


def _of_tensor(tensor: Layout, box: Sizes | None) -> dict[str, Any]:
    """Return the options of a plan that a layout of the whole tensor and a box of it say."""
    if tensor.swizzles or tensor.copies > 1 or len(tensor.digits) != len(tensor.shape):
        raise misused(
            "LAYOUT with --box is a tensor of plain strides", "the tile is --tile 128,64, or a layout"
        )
    strides = [stride["m"] for stride in tensor.strides]
    return {"shape": list(tensor.shape), "strides": strides, "tile": box, "box": None, "layout": None}


# -- a plan ----------------------------------------------------------------------------------------


def _planned(texts: Texts, dtype: Type, layout: LayoutText | None, given: Mapping[str, Any]) -> Report:
    from tilewise.check.tma import default_tile, plan_copy
    from tilewise.hardware.tma.rules import MAX_RANK, remarks

    if given["interleave"] != "none":
        raise misused("a plan has interleave none", "tilewise tma check takes interleaves")
    shape, strides, extents = (given[name] for name in ("shape", "strides", "tile"))
    if shape is None:
        raise misused("--shape is needed", "the tensor, such as --shape 4096,4096")
    mode, order, address = given["mode"], given["order"], given["address"] or 0
    more = {"strides": strides, "at": given["at"], "address": address, "stores": given["store"]}
    more |= {"max_rank": MAX_RANK if given["rank"] is None else given["rank"]}
    more |= {"l2": given["l2"], "fill": given["fill"]}
    if layout is not None:
        if (extents, mode, order) != (None, None, None):
            raise misused("a layout says the tile, its swizzle and its order by itself")
        tile = texts.layout(layout)
    elif extents is None:
        raise misused("LAYOUT or --tile is needed", "such as --tile 128,64 --mode 128B")
    else:
        tile = default_tile(shape, extents, dtype, mode or "none", strides=strides, order=order)
    plan = plan_copy(shape, tile, dtype=dtype, **more)
    notes = [*plan.notes, *_other_order(plan, shape, tile, dtype, more)]
    if (layout, mode, order) == (None, None, None):
        notes += _for_wgmma(plan, tile, dtype)
    noted = remarks(plan.tensor_map, address, shared=plan.boxes[0].start, stores=given["store"])
    fields = {
        "legal": True,
        "arguments": plan.tensor_map.arguments,
        "boxes": [*map(asdict, plan.boxes)],
        "bytes": plan.bytes,
        "rules": [],
        "remarks": _rules(noted),
        "tile": tile,
        "mode": plan.mode.name,
        "alignment": plan.alignment,
        "shared": plan.shared_bytes,
        "notes": notes,
    }
    lines = [*_argument_lines(plan.tensor_map), "", *_plan_lines(plan, tile)]
    lines += [f"note: {note}" for note in (*notes, *noted)]
    return _legal(fields, lines, plan.tensor_map, plan.elementwise, given, plan)


def _legal(
    fields: dict[str, Any],
    lines: list[str],
    tensor_map: TensorMap,
    landing: Layout | None,
    given: Mapping[str, Any],
    plan: Plan | None = None,
) -> Report:
    """Return a yes, with the places of all elements and the code where these are wanted."""
    if given["reads"]:
        assert landing is not None
        fields["reads"], more = _reads(landing, plan, given["fill"])
        lines += ["", *more]
    if given["code"]:
        from tilewise.codegen.tma import copy_calls, encode_call

        calls = [encode_call(tensor_map, given["name"])]
        if plan is not None:
            calls.append(copy_calls(plan, given["name"], stores=given["store"]))
        fields["code"] = "\n\n".join(calls)
        lines = [fields["code"]]
    return Report(fields, "\n".join(lines))


def _other_order(
    plan: Plan, shape: Sequence[int], tile: Layout, dtype: Type, more: Mapping[str, Any]
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


def _for_wgmma(plan: Plan, tile: Layout, dtype: Type) -> Iterator[str]:
    """Yield the mode that wgmma reads, where the tile would fit one."""
    if len(tile.shape) != 2:
        return
    from tilewise.check.suggest import suggest
    from tilewise.core.shapes import extents_of

    rows, k = extents_of(tile.shape)
    major = "k" if plan.fold.dimensions[0].dim == len(plan.tensor.shape) - 1 else "mn"
    try:
        mode = suggest(operand="B", rows=rows, k=k, dtype=dtype, major=major).mode
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


def _checked(dtype: Type, given: Mapping[str, Any]) -> Report:
    from tilewise.hardware.modes import Mode
    from tilewise.hardware.tma.rules import remarks, violations
    from tilewise.hardware.tma.tensor_map import TensorMap
    from tilewise.hardware.tma.types import ElementType

    if given["dims"] is None or given["box"] is None:
        raise misused("--dims and --box are needed", "such as --dims 4096,4096 --box 64,128")
    dims, strides, box, steps = (
        tuple((given[name] or [])[::-1]) for name in ("dims", "strides", "box", "element_strides")
    )
    more = {name: given[name] for name in ("interleave", "l2", "fill")}
    mode = Mode.of(given["mode"] or "none")
    tensor_map = TensorMap(ElementType.of(dtype), dims, strides, box, steps, mode=mode, **more)
    address, shared = given["address"] or 0, given["shared"] or 0
    where = {"shared": shared, "map_address": given["map_address"] or 0, "stores": given["store"]}
    broken = violations(tensor_map, address, **where, coordinates=given["at"] or ())
    noted = remarks(tensor_map, address, **where)
    fields: dict[str, Any] = {
        "legal": not broken,
        "arguments": tensor_map.arguments,
        "bytes": None if broken else tensor_map.bytes,
        "rules": _rules(broken),
        "remarks": _rules(noted),
    }
    notes = [f"note: {remark}" for remark in noted]
    if broken:
        fields["reason"] = "; ".join(map(str, broken))
        lines = [f"no: {len(broken)} {'rule is' if len(broken) == 1 else 'rules are'} broken"]
        for rule in fields["rules"]:
            lines += ["{rule}: {message}\n  {asks} ({source})\n  hint: {hint}".format(**rule)]
        return Report(fields, "\n".join([*lines, *notes]), False)
    room = _room(tensor_map, tensor_map.bytes, tensor_map.shared_bytes)
    lines = [*_argument_lines(tensor_map), f"legal, {tensor_map.bytes} bytes a copy{room}", *notes]
    landing = None
    if given["reads"]:
        try:
            landing = tensor_map.landing(shared)
        except Refused as no:
            return refused(no, fields | {"reads": None})
    return _legal(fields, lines, tensor_map, landing, given)


def _rules(violations: Iterable[Violation]) -> list[dict[str, str]]:
    return [_rule(**fields_of(violation, "rule", "message", "hint")) for violation in violations]


def _rule(rule: str, message: str, hint: str) -> dict[str, str]:
    """Return a broken rule with what it asks, and the document that says so."""
    from tilewise.check.tma import LAYOUT_RULES
    from tilewise.hardware.tma.rules import RULES

    asks, source = LAYOUT_RULES.get(rule, ""), ""
    if rule in RULES:
        asks, source = RULES[rule].sentence, str(RULES[rule].source)
    return {"rule": rule, "message": message, "hint": hint, "asks": asks, "source": source}


def _refused(no: Refused) -> Report:
    """Return that there is no plan: the rules as `check` has them."""
    witness = no.witness if isinstance(no.witness, dict) else {}
    single = [{"rule": witness["rule"], "message": no.reason, "hint": no.hint}] if "rule" in witness else []
    rules = [_rule(**rule) for rule in witness.get("rules", single)]
    fields = {"legal": False, "arguments": None, "boxes": [], "bytes": None, "rules": rules}
    report = refused(no, fields, f"{rules[0]['rule']}: " if rules else "")
    fields = {
        name: value for name, value in report.contents.items() if name != "code"
    }  # which --code asks for
    lines = ["{rule}: {message}\n  hint: {hint}".format(**rule) for rule in rules[1:]]
    return replace(report, contents=fields, screen="\n".join([report.shown(), *lines]))


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
    data = {"shape": list(addresses.shape), "unit": "byte", "layout": layout}
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


def _numbers(let: Mapping[str, int], option: str, given: Sizes | Number | None) -> list[int] | None:
    """Return the numbers of an option, with values for names in it; None where it is not given."""
    if given is None:
        return None
    if not isinstance(given, str):
        return [given] if isinstance(given, int) else list(given)
    inside = re.fullmatch(r"\s*\((.*)\)\s*", given)
    spelled = (inside[1] if inside else given).strip().removesuffix(",")
    between = r"(?<=\d)(?<!\b0)x(?=\d)" if "," not in spelled else ","
    numbers = []
    for part in map(str.strip, re.split(between, spelled)):
        try:
            numbers.append(let[part] if part in let else int(part, 0))
        except ValueError:
            if (number := number_of_names(part)) is not None:
                numbers.append(number)
                continue
            shown = repr(part) if part else "nothing"
            hint = "whole numbers with commas between, such as 128,64"
            raise misused(f"{option_of(option)}: {shown} is no whole number", hint) from None
    return numbers


def _number(let: Mapping[str, int], option: str, given: Number | None) -> int | None:
    """Return the one number of an option; None where it is not given."""
    numbers = _numbers(let, option, given)
    if numbers is None or len(numbers) == 1:
        return None if numbers is None else numbers[0]
    raise misused(f"{option_of(option)}: {given!r} is no whole number")
