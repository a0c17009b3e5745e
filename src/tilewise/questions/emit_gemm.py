"""The kernel of a whole product on Hopper, as source: D [M, N] = A [M, K] B [N, K]^T at the library's speed.

  tilewise emit gemm --dtype bf16 --out bf16
  tilewise emit gemm --dtype bf16 --problem 2048x2048x2048 --host
  tilewise emit gemm --dtype e4m3 --out bf16 --scales row --bias
  tilewise emit gemm --dtype f16 --major-a mn --tile 128x192 --cluster 1x1 --alpha --c
  tilewise emit gemm --dtype bf16 --problem 512x28672x4096 --tune

M, N and K are any that TMA takes: lines of A, B and D are multiples of 16 bytes, and TMA cuts off what is
beyond the edges. One warpgroup loads, and the others multiply. Blocks of a cluster share what they load.
Each block takes tiles in turn, and a tile leaves while the next is under way. Above the kernel stand the
layout of each operand and the schedule. The kernel is CUDA C++ with plain PTX and includes nothing. With
--host a function that launches it follows, which needs CUDA's headers.

--problem takes tile and cluster from times measured on an H200. With --tune they are measured on this
machine's GPU, which takes torch, and tilewise.gemm(a, b) takes the fastest from then on. It runs the same
kernels on tensors of torch.
"""

from __future__ import annotations

import sys

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.questions.asking import asks
from tilewise.questions.report import Report, fields_of, refused
from tilewise.questions.texts import Texts, misused, refuse_given, sizes_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tilewise.codegen.gemm import GemmProblem, HopperPlan, TileChoice
    from tilewise.codegen.wgmma import Operand
    from tilewise.questions.asking import Type

USAGE = "tilewise emit gemm --dtype T [options]"


@asks(
    {
        "types": {
            "dtype": "T: the type of A and B, such as bf16",
            "dtype_a": "T: the type of A, where B has another",
            "dtype_b": "T: the type of B",
            "out": "T: the type of D: f32, f16, bf16, e4m3 or e5m2, or s32 (that of the sums)",
        },
        "what becomes of A B^T": {
            "alpha": "it is multiplied by a number",
            "scales": "S: it is multiplied by numbers of A and of B: tensor or row",
            "c": "beta C is added",
            "bias": "a number is added to each column",
            "promote": "sums of each 128 of K are added up in f32: of e4m3 and e5m2",
        },
        "operands": {
            "major_a": "M: how A lies in global memory: k, contiguous along K, or mn (k)",
            "major_b": "M: how B lies in global memory (k)",
            "batched": "A, B and D are many matrices each",
            "grouped": "B is many matrices, one for each group of rows of A and D",
            "splits": "K is split between blocks, and a second kernel adds their sums up in order",
        },
        "the schedule": {
            "problem": "MxNxK: take tile and cluster that are the fastest for it",
            "tune": "measure them on this machine's GPU, and remember the fastest for such problems",
            "tile": "MxN: the tile of D that a block computes (128x256, or 128x128 to promote)",
            "cluster": "RxC: blocks that share what they load, down M and along N (2x1)",
            "stages": "S: tiles of A and B in flight (all that there is room for)",
            "workers": "W: warpgroups that multiply, 64 or 128 rows each (2)",
            "group": "G: tiles of clusters down M before the next along N (8)",
        },
        "the text": {"host": "the host's part as well", "name": "F: the name of the kernel"},
    },
)
def emit_gemm(
    dtype: Type | None = None,
    *,
    dtype_a: Type | None = None,
    dtype_b: Type | None = None,
    out: Type | None = None,
    alpha: bool = False,
    scales: str | None = None,
    c: bool = False,
    bias: bool = False,
    promote: bool = False,
    major_a: str | None = None,
    major_b: str | None = None,
    batched: bool = False,
    grouped: bool = False,
    splits: bool = False,
    problem: str | Sequence[int] | None = None,
    tune: bool = False,
    tile: str | Sequence[int] | None = None,
    cluster: str | Sequence[int] | None = None,
    stages: int | None = None,
    workers: int | None = None,
    group: int | None = None,
    host: bool = False,
    name: str = "",
) -> Report:
    """Return the source of a product's kernel, with its facts; no where the hardware does not have it.

    >>> report = emit_gemm("bf16", out="bf16")
    >>> report.name, report.threads, report.schedule["stages"]
    ('gemm_bf16_128x256x64', 384, 4)
    """
    from tilewise.codegen.gemm import Finish, GemmProblem, kernel_source, planned
    from tilewise.codegen.gemm.host import host_source

    first, second = dtype_a or dtype, dtype_b or dtype
    if first is None or second is None:
        raise misused(
            "the types of A and B are not given", "such as --dtype bf16, or --dtype-a and --dtype-b"
        )
    texts = Texts()
    majors = major_a, major_b
    asked: dict[str, Any] = {"shape": (128, 128) if promote else (128, 256), "cluster": (2, 1), "group": 8}
    measured: list[str] = []
    if tune and problem is None:
        raise misused("there is no problem to measure", "such as --problem 4096x4096x4096")
    if problem is not None:
        refuse_given({"tile": tile, "cluster": cluster, "group": group}, "is chosen where --problem is given")
        m, n, k = sizes_in("--problem", problem, "MxNxK", "--problem 4096x4096x4096")
        whole = GemmProblem(
            *(m, n, k, (DType.of(first), DType.of(second)), (major_a or "k", major_b or "k"), 1 + batched),
            grouped=grouped,
            splits=n % 2 == 0,
            promotes=promote,
        )
        try:
            best = _tuned(whole, measured) if tune else whole.chosen
        except Refused as no:
            return texts.reported(refused(no, {"code": None}, instead=True))
        asked = {"shape": best.tile, "cluster": best.cluster, "group": best.group}
        splits = splits or best.parts > 1
    for option, given, form, such in (
        ("shape", tile, "MxN", "--tile 128x256"),
        ("cluster", cluster, "RxC", "--cluster 2x1"),
    ):
        if given is not None:
            asked[option] = sizes_in(such.partition(" ")[0], given, form, such)
    asked |= {"group": group} if group is not None else {}
    try:
        plan = planned(
            dtype_a=first,
            dtype_b=second,
            out=out,
            majors=majors,
            stages=stages,
            workers=workers,
            finish=Finish(alpha, scales or "none", c, bias),
            batched=batched,
            grouped=grouped,
            splits=splits,
            promotes=promote,
            name=name,
            **asked,
        )
    except Refused as no:
        return texts.reported(refused(no, {"code": None}, instead=True))
    code = (host_source if host else kernel_source)(plan)
    fields = {"engine": "gemm", "style": "kernel", **_fields(plan)} | ({"measured": measured} if tune else {})
    return texts.report(fields | {"code": code}, "\n".join([*(f"// {line}" for line in measured), code]))


def _tuned(problem: GemmProblem, measured: list[str]) -> TileChoice:
    """Return the fastest choice on this machine's GPU, and add a line for each to `measured`."""
    from tilewise.products.tuned import tuned

    def told(line: str) -> None:
        measured.append(line)
        if sys.stderr.isatty():
            print(line, file=sys.stderr, flush=True)

    try:
        return tuned(problem, told=told)
    except Refused as no:
        if no.code != "TW608":
            raise
        raise LayoutError(no.code, f"nothing is measured: {no.reason}", hint=no.hint) from None


def _fields(plan: HopperPlan) -> dict[str, Any]:
    """Return the facts of a kernel: its schedule, and the layout of each operand."""
    return {
        "name": plan.called,
        "formula": plan.finish.formula,
        "tile": (plan.m, plan.n, plan.k),
        **fields_of(plan, "instruction", "threads", "shared_bytes"),
        "schedule": {
            "cluster": plan.cluster,
            "group": plan.group,
            **fields_of(plan, "stages", "stage_bytes", "workers"),
            "barriers": {"full": 1, "empty": plan.readers},
        },
        "A": _operand(plan, plan.a),
        "B": _operand(plan, plan.b),
        "product": {"dtype": plan.accumulator, "layout": plan.fragment},
        "D": {"dtype": plan.out, "layout": plan.d.tile, **_box(plan, plan.d)},
    }


def _operand(plan: HopperPlan, own: Operand) -> dict[str, Any]:
    more = {"offset": plan.offsets[own.name], "shared_by": plan.shared_by(own)}
    return described(own) | more | _box(plan, own)


def described(own: Operand) -> dict[str, Any]:
    """Return the facts of an operand that the core reads through descriptors."""
    descriptor = own.descriptor
    return {
        "dtype": own.input.name,
        "major": own.major,
        "layout": own.tile,
        "descriptor": {"value": f"{descriptor.value:#018x}", **fields_of(descriptor, "lbo", "sbo")},
        "steps": {"k": own.along_k, "mn": own.along_rows, "unit": 16},
    }


def _box(plan: HopperPlan, own: Any) -> dict[str, Any]:
    box, mode = plan.box_and_mode(own)
    return {"box": box, "mode": mode.name}
