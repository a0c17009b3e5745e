"""Whether wgmma reads a tile of shared memory: the descriptors, or why none does and what is nearest.

  tilewise match 'Swizzle<3,3,3> o S[(128, 64) : (64, 1)]' --operand B --dtype bf16
  tilewise match 'Sw<3,4,3> o smem_ptr[16b](0) o (128,64):(64,1)' --operand A --dtype f16 --base 0x400
  tilewise match 'S[(128, 64) : (68, 1)]' --operand B --dtype bf16
  tilewise suggest --operand A --tile 128x64 --dtype bf16 --json | tilewise match -

LAYOUT is [M, K] of A or [N, K] of B, in either dialect, recognised by what it maps and not by how it is
written. It counts from the address --base, and so does its swizzle, unless --pattern address says that it
counts from address 0, as TMA's does. --n asks for one N; without it the largest is taken that reads the
tile. --major refuses the other one.

Exit code 0 where the tile is read, 1 where it is not.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from tilewise.cli.addresses import address_from
from tilewise.cli.answer import NO, YES, Answer, witness_data
from tilewise.cli.arguments import filled_in, layout_from, one_layout
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tilewise.check.match import Match, Mismatch
    from tilewise.core.layout import Layout

SHOWN = 8
"""So many steps stand on a line."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT --operand A|B --dtype T [--engine E] [--major M] [--n N] [--base A] [--pattern P]."""
    one_layout(parser)
    parser.add_argument("--engine", choices=("wgmma",), default="wgmma", help="the engine that reads (wgmma)")
    parser.add_argument("--operand", choices=("A", "B"), help="A, [M, K], or B, [N, K]")
    parser.add_argument("--major", choices=("k", "mn"), help="refuse the other one")
    parser.add_argument("--n", metavar="N", help="N of the instruction (the largest that reads the tile)")
    parser.add_argument("--base", metavar="A", help="the address of the tile in shared memory (0)")
    parser.add_argument(
        "--pattern",
        choices=("tile", "address"),
        default="tile",
        help="where the swizzle counts from: the tile, or address 0 as TMA does (tile)",
    )


def answer(args: argparse.Namespace) -> Answer:
    """The descriptors, or the reasons."""
    from tilewise.check.match import match

    args.layout = filled_in(args.layout, args, "operand", "dtype")
    for name, such in (("operand", "B"), ("dtype", "bf16")):
        if getattr(args, name) is None:
            raise LayoutError("TW401", f"match needs --{name}", hint=f"such as --{name} {such}")
    found = match(
        _layout(args),
        engine=args.engine,
        operand=args.operand,
        dtype=args.dtype,
        major=args.major,
        n=None if args.n is None else _number(args.n),
        base=address_from(args.base or "0", "--base"),
        pattern=args.pattern,
    )
    asked = {"engine": args.engine, "operand": args.operand, "dtype": DType.of(args.dtype).name}
    other = _other_width(args)
    if found.legal:
        return _legal(found, asked).noted(other)  # type: ignore[arg-type]
    return _refused(found, asked, other)  # type: ignore[arg-type]


def _other_width(args: argparse.Namespace) -> str:
    """What a typed pointer and --dtype do not agree in; nothing where they do."""
    from tilewise.notation.cute import pointer_bits

    bits, element = pointer_bits(args.layout), DType.of(args.dtype)
    if bits in (None, element.bits) or args.layout.startswith("{"):
        return ""
    return f"the pointer is to elements of {bits} bits, and {element} has {element.bits}"


def _layout(args: argparse.Namespace) -> Layout:
    """The layout in the unit that is asked for: units are match's own question."""
    if args.unit == "element":
        return layout_from(args.layout, args)
    return layout_from(args.layout, argparse.Namespace(**vars(args) | {"dtype": None}))


def _number(spelled: str) -> int:
    try:
        return int(spelled, 0)
    except ValueError:
        raise LayoutError("TW401", f"--n {spelled} is no number", hint="such as --n 64") from None


# -- yes -------------------------------------------------------------------------------------------


def _legal(found: Match, asked: dict[str, Any]) -> Answer:
    from tilewise.hardware.catalog.confirmed import confirmed_by

    m, n, k = found.instruction
    data = {
        "legal": True,
        **asked,
        "mode": found.mode.name,
        "major": found.major,
        "trans": found.trans,
        "lbo": found.lbo,
        "sbo": found.sbo,
        "base": found.base,
        "pattern": found.pattern,
        "start": found.descriptor.start,
        "base_offset": found.descriptor.base_offset,
        "value": f"{found.value:#018x}",
        "ignored": list(found.ignored),
        "instruction": {"m": m, "n": n, "k": k},
        "k_steps": found.k_steps,
        "mn_steps": found.mn_steps,
        "alignment": found.alignment,
        "steps": [
            {
                "mn": step.mn,
                "k": step.k,
                "bytes": step.bytes,
                "encoded": step.encoded,
                "value": f"{step.descriptor.value:#018x}",
                "base_offset": step.base_offset,
            }
            for step in found.steps
        ],
        "confirmed": list(confirmed_by("wgmma.smem")),
    }
    return Answer(data, "\n".join(_lines(found)), YES)


def _lines(found: Match) -> Iterator[str]:
    from tilewise.check.strides import major_name, mode_name

    m, n, k = found.instruction
    rows = "M" if found.operand == "A" else "N"
    size = "N" if n is None else n
    yield (
        f"wgmma reads it as {found.operand} of {found.dtype}: {major_name(found.major)}, "
        f"{mode_name(found.mode)}, imm-trans-{found.operand.lower()} {found.trans}"
    )
    first = found.descriptor
    start = f"start {first.start:#x}, " if first.start else ""
    offset = f", base offset {first.base_offset}" if first.base_offset else ""
    yield f"  descriptor   {found.value:#018x}: {start}{_field(found, 'lbo')}, {_field(found, 'sbo')}{offset}"
    steps = f"{found.k_steps} along K" + (f" x {found.mn_steps} along {rows}" if found.mn_steps > 1 else "")
    yield f"  instruction  m{m}n{size}k{k}, {steps}"
    along_k = [step.bytes for step in found.steps if step.mn == 0]
    along_mn = [step.bytes for step in found.steps if step.k == 0]
    yield f"  along K      start + {_listed(along_k)}"
    if found.mn_steps > 1:
        yield f"  along {rows}      start + {_listed(along_mn)}"
    yield f"  address      {_alignment(found)}"


def _field(found: Match, name: str) -> str:
    value = getattr(found, name)
    if value is not None:
        return f"{name.upper()} {value} B"
    return f"{name.upper()} not read ({getattr(found.descriptor, name) // 16} is written)"


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:SHOWN]))
    return shown + (f", ... {numbers[-1]}" if len(numbers) > SHOWN else "") + " B"


def _alignment(found: Match) -> str:
    text = f"a multiple of {found.alignment} B"
    if not found.mode.bits:
        return f"{text} (128 B where TMA writes the tile)"
    if found.pattern == "address":
        return f"{text}: the swizzle counts from address 0, and the base offset is 0"
    offset = found.descriptor.base_offset
    if offset:
        return f"{text}, or base offset {offset} as here: the pattern starts with the tile"
    return f"{text}: the pattern starts with the tile, and the base offset is 0"


# -- no --------------------------------------------------------------------------------------------


def _counted_from(found: Mismatch) -> str:
    """Where the addresses of the nearest tiles count from, if that is not the tile's own."""
    return " from address 0" if found.question and found.question.folded else ""


def _refused(found: Mismatch, asked: dict[str, Any], other: str = "") -> Answer:
    """No, with the reasons; what else may be wrong with the words goes with the first one's hint."""
    first, *more = found.reasons
    if other:
        first = replace(first, hint="; ".join(filter(None, (first.hint, other))))
    reasons = (first, *more)
    data = {
        "legal": False,
        **asked,
        "code": "TW605",
        "reason": first.message,
        "witness": witness_data(first.witness),
        "reasons": [
            {
                "rule": reason.rule,
                "message": reason.message,
                "witness": witness_data(reason.witness),
                "hint": reason.hint,
            }
            for reason in reasons
        ],
        "nearest": [
            {
                "layout": str(near.layout),
                "cost": near.cost,
                "message": near.message,
                "mode": near.mode.name,
                "major": near.major,
                "moved": near.moved,
            }
            for near in found.nearest
        ],
    }
    lines = [f"no: wgmma does not read it as {asked['operand']} of {asked['dtype']}"]
    for reason in reasons:
        lines += [f"  {reason.rule}: {reason.message}"] + ([f"    {reason.hint}"] if reason.hint else [])
    if found.nearest:
        lines.append(f"nearest, in elements{_counted_from(found)}:")
    for near in found.nearest:
        lines += [f"  {near.layout}", f"    {near.cost}: {near.message}"]
    return Answer(data, "\n".join(lines), NO)
