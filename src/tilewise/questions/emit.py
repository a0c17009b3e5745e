"""A product of tiles as source, every address out of a layout: by wgmma, or a kernel around mma.sync.

  tilewise emit gemm --dtype bf16 --out bf16
  tilewise emit gemm --help
  tilewise emit attention --dtype bf16 --head 64 --causal
  tilewise emit attention --help
  tilewise emit move 'S[8192, 4096]' 'S[(8192, 4096) : (1, 8192)]' --dtype bf16 --host
  tilewise emit move --help
  tilewise emit wgmma --tile 64x128x64 --dtype bf16
  tilewise emit wgmma --tile 64x96x128 --dtype-a e4m3 --dtype-b e5m2 --mode-b 64B --a reg
  tilewise emit wgmma --tile 128x128x64 --dtype f16 --major-a mn --style cute
  tilewise emit mma --tile 128x128x32 --dtype bf16 --stages 3
  tilewise emit mma --tile 64x64x32 --dtype f16 --layout-a 'S[(64, 32) : (40, 1)]' --warps 2x2
  tilewise emit mma --tile 64x64x32 --dtype f16 --out f16 --store stmatrix --arch sm_90

gemm is the kernel of a whole product on Hopper, attention that of softmax(Q K^T) V, and move the one that
moves a tensor. They have options of their own.

wgmma: the numbers for a kernel that you have, in C++: descriptors, what each step adds to them, and the
function around the instruction; or the same in CuTe's words. M of the tile is a multiple of 64, N one that
wgmma has for the type. A mode that is not asked for is the widest that fits; --layout-a and --layout-b take
any layout that wgmma reads instead.

mma: D [M, N] = A [M, K] B [N, K]^T, row-major D. A block of threads has the tile of D, and goes along K
tile by tile; M, N and K of the problem are multiples of the tile's. Warps share the tile as a grid, each
with whole instructions of --shape. The tiles of A and B lie in any layout of shared memory from which a
warp can fill its registers; those that are not asked for have no bank conflicts. `tilewise match --engine
mma` says how a warp reads them. The kernel is CUDA C++ with plain PTX and includes nothing; with --host a
function that launches it follows.
"""

from __future__ import annotations

from dataclasses import asdict

from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.questions.asking import asks
from tilewise.questions.report import Report, fields_of, refused
from tilewise.questions.texts import Texts, misused, refuse_given, sizes_in, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Literal

    from tilewise.codegen import mma
    from tilewise.codegen.wgmma import Operand, Plan
    from tilewise.questions.asking import LayoutText, Type

USAGE = """\
tilewise emit gemm --dtype T [options]
       tilewise emit attention --dtype T [options]
       tilewise emit wgmma --tile MxNxK --dtype T [options]
       tilewise emit mma --tile MxNxK --dtype T [options]
       tilewise emit [move] SRC DST --dtype T [options]"""
HOPPERS = 90
HOPPER = "sm_90a has wgmma besides, which is faster there: tilewise emit gemm"


def _of_sides(option: str, help: str) -> dict[str, str]:
    """Return an option of A and one of B, with their names in the help."""
    return {f"{option}_{side.lower()}": help.format(side) for side in "AB"}


@asks(
    {
        "types": {
            "dtype": "T: the type of A and B, such as bf16",
            "dtype_a": "T: the type of A, where B has another",
            "dtype_b": "T: the type of B",
            "acc": "T: the type of D: f32 (where the types have it), f16, s32",
        },
        "where the operands lie": {
            **_of_sides("major", "M: how {} lies in global memory: k, contiguous along K, or mn (k)"),
            **_of_sides(
                "layout", "LAYOUT: any layout of {}'s tile that the engine reads, instead of what is usual"
            ),
        },
        "wgmma": {
            **_of_sides("mode", "MODE: the swizzle of {}'s tile: none, 32B, 64B, 128B"),
            **_of_sides("order", "ORDER: which way its atoms follow one another first: mn or k (mn)"),
            "a": "PLACE: A is read from smem or reg (smem)",
        },
        "mma": {
            "shape": "S: the instruction, such as m16n8k16 (the largest)",
            "load": "WAY: tiles are loaded by cp.async or copy (cp.async)",
            "stages": "S: tiles in flight along K, not by copy (3, or all that there is room for)",
            "warps": "RxC: warps down M and along N (four or more, that hold D)",
            "out": "T: the type of D in memory, where it is rounded: f16, bf16",
            "store": "WAY: D leaves direct, shared or by stmatrix (direct)",
            "layout_d": "LAYOUT: of D's tile in shared memory, on its way out",
            "form": "F: A and B by nothing but matrices, vectors, x4, ... (any)",
            "op": "OP: of single bits: and.popc or xor.popc (and.popc)",
            "arch": "A: the architecture, such as sm_80 (the first that can)",
        },
        "the text": {
            "style": "constants or cute: of wgmma (constants)",
            "host": "the host's part as well: of mma",
            "name": "F: the name of the kernel: of mma",
        },
    },
    engine="ENGINE: gemm, wgmma, mma, or move",
    tile="MxNxK: the tile of a block of threads",
)
def emit(
    engine: Literal["gemm", "wgmma", "mma", "move"],
    dtype: Type | None = None,
    *,
    tile: str | Sequence[int],
    dtype_a: Type | None = None,
    dtype_b: Type | None = None,
    acc: Type | None = None,
    major_a: str | None = None,
    major_b: str | None = None,
    layout_a: LayoutText | None = None,
    layout_b: LayoutText | None = None,
    load: str | None = None,
    stages: int | None = None,
    mode_a: str | None = None,
    mode_b: str | None = None,
    order_a: str | None = None,
    order_b: str | None = None,
    a: str | None = None,
    shape: str | None = None,
    warps: str | Sequence[int] | None = None,
    out: Type | None = None,
    store: str | None = None,
    layout_d: LayoutText | None = None,
    form: str | None = None,
    op: str | None = None,
    arch: str | None = None,
    style: Literal["constants", "cute"] | None = None,
    host: bool = False,
    name: str = "",
) -> Report:
    """Return the source of a kernel around an engine, with its facts; no where the engine does not allow it.

    >>> report = emit("mma", "bf16", tile="128x128x32")
    >>> report.name, str(report.instruction), report.threads
    ('gemm_bf16_128x128x32', 'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32', 128)
    """
    if engine in ("move", "gemm"):
        inputs = {"move": ("SRC DST --dtype T", "source, target, dtype"), "gemm": ("--dtype T", "dtype")}[
            engine
        ]
        raise misused(
            f"a kernel of {engine} has inputs of its own",
            f"tilewise emit {engine} {inputs[0]}, which is emit_{engine}({inputs[1]}) in Python",
        )
    of_wgmma = {"mode_a": mode_a, "mode_b": mode_b, "order_a": order_a, "order_b": order_b, "a": a}
    of_mma = {
        "shape": shape,
        "out": out,
        "form": form,
        "op": op,
        "arch": arch,
        "load": load,
        "stages": stages,
    }
    also_of_mma = {"warps": warps, "store": store, "layout_d": layout_d}
    if engine == "wgmma":
        texts_of_mma = {"host": host or None, "name": name or None}
        refuse_given(texts_of_mma, "is of a kernel", "tilewise emit gemm has it: a kernel around wgmma")
        refuse_given(of_mma | also_of_mma, "is for mma", "tilewise emit mma has it")
    else:
        refuse_given(of_wgmma | {"style": style}, "is for wgmma", "tilewise emit wgmma has it")
    types = dtype_a or dtype, dtype_b or dtype
    if not all(types):
        raise misused(
            "the types of A and B are not given", "such as --dtype bf16, or --dtype-a and --dtype-b"
        )
    texts = Texts()
    sizes = sizes_in("--tile", tile, "MxNxK", "--tile 128x128x64")
    asked: dict[str, Any] = {
        "dtype_a": types[0],
        "dtype_b": types[1],
        "accumulator": acc,
        "majors": (major_a, major_b),
        "layouts": (_layout(texts, layout_a, types[0]), _layout(texts, layout_b, types[1])),
    }
    if engine == "wgmma":
        asked |= {"modes": (mode_a, mode_b), "orders": (order_a, order_b), "a_from": a or "smem"}
    else:
        asked |= {**of_mma, "name": name, "store": store or "direct"}
        asked["warps"] = None if warps is None else sizes_in("--warps", warps, "RxC", "--warps 2x2")
        asked["layout_d"] = _layout(texts, layout_d, out)
    try:
        fields, code = (
            _of_mma(texts, sizes, asked, host)
            if engine == "mma"
            else _of_wgmma(sizes, asked, style or "constants")
        )
    except Refused as no:
        return texts.reported(refused(no, {"code": None}, instead=True))
    return texts.report({"engine": engine, **fields, "code": code}, code)


def _layout(texts: Texts, given: LayoutText | None, dtype: Type | None) -> Layout | None:
    """Return a layout of elements of a type; the texts note what it leaves open."""
    if given is None or isinstance(given, Layout):
        return given
    from tilewise.hardware.calls import doubts, parse

    text = text_from(given, texts.let)
    layout = parse(text)
    texts.note(*doubts(text, layout, "element", dtype))
    return layout


# -- wgmma -----------------------------------------------------------------------------------------


def _of_wgmma(
    sizes: tuple[int, int, int], asked: Mapping[str, Any], style: str
) -> tuple[dict[str, Any], str]:
    """Return the facts of a tile, and its source."""
    from tilewise.codegen.wgmma import planned
    from tilewise.codegen.wgmma.styles import constants_source, cute_source

    plan = planned(sizes, **asked)
    fields = {
        "style": style,
        "tile": (plan.m, plan.n, plan.k),
        **fields_of(plan, "instruction", "threads", "shared_bytes"),
        "A": _operand(plan, plan.a),
        "B": _operand(plan, plan.b),
        "D": {"dtype": plan.accumulator, "layout": plan.fragment},
    }
    return fields, {"constants": constants_source, "cute": cute_source}[style](plan)


def _operand(plan: Plan, own: Operand) -> dict[str, Any]:
    place = "reg" if own.in_registers else "smem"
    fields: dict[str, Any] = {"dtype": own.input.name, "major": own.major, "place": place, "layout": own.tile}
    if own.in_registers:
        return fields
    descriptor = own.descriptor
    return fields | {
        "mode": own.mode.name,
        "order": own.order,
        "offset": plan.offsets[own.name],
        "descriptor": {"value": f"{descriptor.value:#018x}", **fields_of(descriptor, "lbo", "sbo")},
        "steps": {"k": own.along_k, "mn": own.along_rows, "unit": 16},
    }


# -- mma -------------------------------------------------------------------------------------------


def _of_mma(
    texts: Texts, sizes: tuple[int, int, int], asked: Mapping[str, Any], host: bool
) -> tuple[dict[str, Any], str]:
    """Return the facts of a kernel, and its source; the texts note what a reader should know of it."""
    from tilewise.check.feeding.banks import wavefronts_of
    from tilewise.codegen.mma import kernel_source, planned
    from tilewise.codegen.mma.kernel import host_source

    plan = planned(sizes, **asked)
    beside = [HOPPER] if plan.asked and plan.arch.number == HOPPERS else []
    texts.note(*plan.notes, *beside, *_conflicts(plan))
    d: dict[str, Any] = {"dtype": plan.out, "fragment": plan.fragment, "store": "direct"}
    if plan.result is not None:
        moves = plan.moves(plan.result)
        d |= {"store": moves.form, "layout": plan.result.tile}
        d |= {"banks": asdict(wavefronts_of(moves.fill)), "addresses": moves.place}
    fields = {
        "style": "kernel",
        "name": plan.called,
        "instruction": plan.instruction,
        "arch": plan.arch,
        "tile": (plan.m, plan.n, plan.k),
        **fields_of(plan, "warps", "threads", "shared_bytes", "stages", "load"),
        "A": _mma_operand(plan, plan.a),
        "B": _mma_operand(plan, plan.b),
        "D": d,
    }
    return fields, (host_source if host else kernel_source)(plan)


def _mma_operand(plan: mma.Plan, own: mma.Operand) -> dict[str, Any]:
    """Return an operand; its addresses are bytes of its tile, and `arguments` names their modes."""
    from tilewise.check.feeding.banks import wavefronts_of

    moves = plan.moves(own)
    return {
        **fields_of(own, "dtype", "major"),
        "layout": own.tile,
        "offset": plan.offsets[own.name],
        "fragment": own.fragment,
        "copied_bytes": own.width,
        "form": moves.form,
        "banks": asdict(wavefronts_of(moves.fill)),
        "addresses": moves.place,
        "arguments": [*moves.extents],
    }


def _conflicts(plan: mma.Plan) -> Iterator[str]:
    """Yield the operands whose loads have bank conflicts, and D, where it is stored through shared memory."""
    from tilewise.check.feeding.banks import wavefronts_of

    for own in plan.tiles:
        found = wavefronts_of(own.fill)
        if found.ways > 1:
            verb = "stores" if own.name == "D" else "loads"
            yield f"a warp {verb} {own.name} in {found}; tilewise swizzle looks for a layout with fewer"
