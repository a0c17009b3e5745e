"""A kernel for the tensor cores as source: loads, descriptors, the chain of wgmma, the store.

  tilewise emit wgmma --tile 128x128x64 --dtype bf16
  tilewise emit wgmma --tile 128x256x64 --dtype bf16 --stages 4 --host
  tilewise emit wgmma --tile 64x64x64 --dtype f16 --major-a mn --major-b mn --load copy
  tilewise emit wgmma --tile 64x96x128 --dtype-a e4m3 --dtype-b e5m2 --mode-b 64B --a reg
  tilewise emit wgmma --tile 64x128x64 --dtype bf16 --style constants

D [M, N] = A [M, K] B [N, K]^T, row-major D. A block of threads has the tile of D, and goes along K tile by
tile; M, N and K of the problem are multiples of the tile's. M of the tile is a multiple of 64, N one that
wgmma has for the type, K a multiple of the instruction's. A mode that is not asked for is the widest that
fits; --layout-a and --layout-b take any layout that wgmma reads instead. The kernel is CUDA C++ with plain
PTX and includes nothing; with --host a function that makes the tensor maps and launches it follows, for nvcc.
"""

from __future__ import annotations

import argparse
import re

from tilewise.cli.answer import NO, Answer, witness_data
from tilewise.cli.arguments import text_from
from tilewise.cli.hints import in_a_shell
from tilewise.core.errors import LayoutError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout
    from tilewise.emit.wgmma import Operand, Plan

ENGINES = ("wgmma",)
STYLES = ("kernel", "constants", "cute")
_TILE = re.compile(r"(\d{1,6})[x,](\d{1,6})[x,](\d{1,6})")


def arguments(parser: argparse.ArgumentParser) -> None:
    """ENGINE --tile MxNxK --dtype T [--acc T] [--major-a ...] [--load ...] [--style ...] [--name F]."""
    parser.add_argument("engine", choices=ENGINES, metavar="ENGINE", help="wgmma")
    parser.add_argument("--tile", required=True, metavar="MxNxK", help="the tile of a block of threads")
    types = parser.add_argument_group("types")
    types.add_argument("--dtype", metavar="T", help="the type of A and B, such as bf16")
    types.add_argument("--dtype-a", metavar="T", help="the type of A, where B has another")
    types.add_argument("--dtype-b", metavar="T", help="the type of B")
    types.add_argument("--acc", metavar="T", help="the type of D: f32 (where the types have it), f16, s32")
    place = parser.add_argument_group("where the operands lie")
    for side in "ab":
        line = f"how {side.upper()} lies in global memory: k, contiguous along K, or mn (k)"
        place.add_argument(f"--major-{side}", metavar="M", help=line)
        mode = "the swizzle of its tile: none, 32B, 64B, 128B"
        place.add_argument(f"--mode-{side}", metavar="MODE", help=mode)
        order = "which way its atoms follow one another first: mn or k (mn)"
        place.add_argument(f"--order-{side}", metavar="ORDER", help=order)
        layout = f"instead of mode and order: any layout of {side.upper()}'s tile that wgmma reads"
        place.add_argument(f"--layout-{side}", metavar="LAYOUT", help=layout)
    place.add_argument(
        "--a", dest="a_from", default="smem", metavar="PLACE", help="A is read from smem or reg (smem)"
    )
    place.add_argument("--load", default="tma", metavar="WAY", help="tiles are loaded by tma or copy (tma)")
    place.add_argument(
        "--stages", type=_number, default=1, metavar="S", help="tiles in flight along K, by tma (1)"
    )
    text = parser.add_argument_group("the text")
    text.add_argument(
        "--style", choices=STYLES, default="kernel", help="a kernel, bare constants, or CuTe (kernel)"
    )
    text.add_argument("--host", action="store_true", help="the host's part as well")
    text.add_argument("--name", metavar="F", default="", help="the name of the kernel")


def answer(args: argparse.Namespace) -> Answer:
    """The source and its facts; no where wgmma, the tile or the style does not allow it."""
    from tilewise.emit.wgmma import planned

    if args.host and args.style != "kernel":
        raise LayoutError("TW401", f"--host launches a kernel, and --style is {args.style}")
    a, b = _dtypes(args)
    try:
        plan = planned(
            _tile(args.tile),
            a,
            b,
            accumulator=args.acc,
            majors=(args.major_a, args.major_b),
            modes=(args.mode_a, args.mode_b),
            orders=(args.order_a, args.order_b),
            layouts=(_layout(args.layout_a), _layout(args.layout_b)),
            load=args.load,
            a_from=args.a_from,
            stages=args.stages,
            name=args.name,
        )
        code = _source(plan, args)
    except Refused as no:
        hint = in_a_shell(no.hint)
        data = {"code": None, "reason": no.reason, "witness": witness_data(no.witness), "hint": hint}
        return Answer(data, f"no: {no.reason}" + (f"\n  hint: {hint}" if hint else ""), NO)
    return Answer(_data(plan, args, code), code)


def _source(plan: Plan, args: argparse.Namespace) -> str:
    if args.style == "cute":
        from tilewise.emit.wgmma.cute import cute_source

        return cute_source(plan)
    if args.style == "constants":
        from tilewise.emit.wgmma.constants import constants_source

        return constants_source(plan)
    if args.host:
        from tilewise.emit.wgmma.host import host_source

        return host_source(plan)
    from tilewise.emit.wgmma import kernel_source

    return kernel_source(plan)


def _dtypes(args: argparse.Namespace) -> tuple[str, str]:
    a, b = args.dtype_a or args.dtype, args.dtype_b or args.dtype
    if not (a and b):
        raise LayoutError(
            "TW401",
            "the types of A and B are not given",
            hint="such as --dtype bf16, or --dtype-a and --dtype-b",
        )
    return a, b


def _tile(text: str) -> tuple[int, int, int]:
    found = _TILE.fullmatch(text.strip())
    if found is None:
        raise LayoutError("TW401", f"--tile {text} is not MxNxK", hint="such as --tile 128x128x64")
    m, n, k = map(int, found.groups())
    return m, n, k


def _layout(text: str | None) -> Layout | None:
    from tilewise.hardware.calls import parse

    return None if text is None else parse(text_from(text))


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise LayoutError("TW401", f"--stages {text} is no number", hint="such as --stages 4") from None


# -- the facts as JSON ------------------------------------------------------------------------------


def _data(plan: Plan, args: argparse.Namespace, code: str) -> dict[str, Any]:
    from tilewise.emit.wgmma.kernel import name_of

    return {
        "engine": args.engine,
        "style": args.style,
        "name": name_of(plan),
        "instruction": plan.instruction,
        "tile": [plan.m, plan.n, plan.k],
        "threads": plan.threads,
        "shared_bytes": plan.shared_bytes,
        "stages": plan.stages,
        "A": _operand(plan, plan.a),
        "B": _operand(plan, plan.b),
        "D": {"dtype": str(plan.accumulator), "layout": str(plan.fragment)},
        "code": code,
    }


def _operand(plan: Plan, own: Operand) -> dict[str, Any]:
    data: dict[str, Any] = {"dtype": own.input.name, "major": own.major, "load": own.load}
    if own.in_registers:
        return data | {"layout": str(own.fragment)}
    descriptor = own.descriptor
    data |= {
        "mode": own.mode.name,
        "order": own.order,
        "layout": str(own.tile),
        "offset": plan.offsets[own.name],
        "descriptor": {"value": f"{descriptor.value:#018x}", "lbo": descriptor.lbo, "sbo": descriptor.sbo},
        "steps": {"k": list(own.along_k), "mn": list(own.along_rows), "unit": 16},
    }
    if own.load == "tma":
        from tilewise.emit.wgmma.boxes import Symbolic

        made = Symbolic(own)
        words = made.map.arguments
        data["tensor_map"] = {
            "tensorDataType": words["tensorDataType"],
            "globalDim": list(made.sizes),
            "globalStrides": list(made.strides),
            "boxDim": list(made.box),
            "swizzle": words["swizzle"],
        }
    return data
