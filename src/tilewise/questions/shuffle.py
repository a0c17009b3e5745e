"""The steps that turn FROM into TO inside a warp: shuffles, movmatrix, votes, and what lanes do alone.

  tilewise shuffle 'wgmma.D(f32, n=128)' 'wgmma.A(bf16)'
  tilewise shuffle 'S[(32, 2) : (1@laneid, 1@reg)]' 'S[(16, 2, 2) : (2@laneid, 1@reg, 1@laneid)]' --dtype f32
  tilewise shuffle 'S[(32, 8) : (1@laneid, 1@reg)]' 'S[(8, 32) : (1@reg, 1@laneid)]' --dtype b8 --reshape 8,32
  tilewise shuffle 'S[32 : 1@laneid]' 'S[32 : 1@reg] + R[32 : 1@laneid]' --dtype b1
  tilewise shuffle 'mma.D(m16n8k16, f16)' 'mma.B(m16n8k16, f16)' --dtype f16 --permute 1,0
  tilewise shuffle 'mma.D(m16n8k8, f32)' 'mma.A(m16n8k8, tf32)' --dtype tf32 --code

FROM and TO are layouts of the same elements over laneid and reg, in either dialect or by name. `reg` counts
elements of --dtype, packed in registers of 32 bits. Axes of warps may be named: no element changes its warp.
Elements may have copies: of those in FROM the nearest are taken, those in TO are all written. Their modes
are each other's, cut or joined; else --permute takes FROM's in another order, which is a transpose, and
--reshape reads its elements in another shape. Where one is a whole number of tiles of the other, as A is of
D, the smaller one is repeated, its tiles in registers one after another. Of two calls of the catalogue the
types are known: --dtype is TO's if it is left out, and the answer names the conversion that comes first.

a0, a1, ... are FROM's registers, d0, d1, ... TO's. The plan has the fewest exchanges that were found, and
says how few there could be at all; with --cheapest it has the fewest cycles where many warps run.
--code prints a device function of CUDA C++ instead.
"""

from __future__ import annotations

from tilewise.core.errors import LayoutError, Refused
from tilewise.questions.asking import asks
from tilewise.questions.report import Report, fields_of, refused
from tilewise.questions.texts import Texts, misused, two_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Unpack

    from tilewise.check.registers.steps import WarpStep
    from tilewise.check.shuffle import WarpPlan
    from tilewise.codegen.shuffle import Line
    from tilewise.core.shapes import Shape
    from tilewise.questions.asking import LayoutText, TensorOptions, Type


@asks(
    source="FROM: where the elements are, or - for standard input",
    target="TO: where they shall be, or - for standard input",
    code="the function in CUDA C++",
    name="F: its name (shuffle)",
    cheapest="the fewest cycles, not the fewest exchanges",
    without="STEP: no movmatrix, or no ballot; repeatable",
    permute="P: the modes of FROM in TO's order, such as 1,0",
    reshape="S: read FROM in this shape first, such as 8,16",
)
def shuffle(
    source: LayoutText,
    target: LayoutText,
    dtype: Type | None = None,
    *,
    code: bool = False,
    name: str | None = None,
    cheapest: bool = False,
    without: Sequence[str] = (),
    permute: str | Sequence[int] | None = None,
    reshape: Shape | str | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the steps that turn one layout into another; no where an element would have to leave its warp.

    >>> report = shuffle("wgmma.D(f32, n=128)", "wgmma.A(bf16)")
    >>> report.exchanges, report.convert["instruction"]
    (0, 'cvt.rn.bf16x2.f32')
    """
    from tilewise.check.shuffle import shuffle as plan_of

    texts = Texts(dtype, **reading)
    if isinstance(source, str) and isinstance(target, str):
        source, target = two_texts(source, target, texts.let)
    texts.settle_type(source, target)
    computed, wanted = (_type_called(text, texts.let) for text in (source, target))
    if texts.dtype is None and computed:
        texts.dtype = wanted
    if texts.dtype is None:
        raise misused("the type of an element is not given", "such as --dtype f16")
    if name is not None and not code:
        raise misused("--name names a function, and none is printed", "add --code")
    try:
        plan = plan_of(
            texts.layout(source),
            texts.layout(target),
            texts.dtype,
            without=without,
            cheapest=cheapest,
            reshape=None if reshape is None else texts.extents(reshape, "--reshape"),
            permute=texts.order(permute),
            computed=computed if wanted else None,
        )
    except Refused as no:
        return texts.reported(refused(no, {"exchanges": None}, instead=code))
    if not code:
        return texts.report(plan_fields(plan), plan_text(plan))
    from tilewise.codegen.shuffle import cuda_source

    name = name or "shuffle"
    function = cuda_source(plan, name)
    return texts.report(plan_fields(plan) | {"name": name, "source": function}, function)


def _type_called(text: LayoutText, let: Mapping[str, int]) -> str | None:
    """Return the type of the elements of a call of the catalogue, or None where a text is no such call."""
    from tilewise.pictures.address import dtype_of_call

    try:
        return dtype_of_call(text, let) if isinstance(text, str) else None
    except LayoutError:
        return None


def plan_text(plan: WarpPlan) -> str:
    """Return a plan for people."""
    from tilewise.codegen.shuffle import lines_of, register_name

    lines = lines_of(plan)
    width = max((len(line.name) for line in lines), default=2)
    told = [f"{line.name:{width}} = {line.told}" for line in lines]
    results = enumerate(plan.program.results)
    renamed = ", ".join(f"d{at} = {register_name(plan, own)}" for at, own in results if own is not None)
    before = [str(note) for note in (plan.repeated, plan.convert) if note]
    return "\n  ".join([_sentence(plan), *before, *told, renamed, *_notes(plan)])


def _sentence(plan: WarpPlan) -> str:
    if plan.free:
        return "no shuffles: registers are renamed"
    if not plan.exchanges:
        return f"no shuffles, no element leaves its lane: {plan}"
    count = plan.bound.count
    if plan.least:
        return f"{plan}; {count} exchange{'s are' if count > 1 else ' is'} the fewest: {plan.bound.reason}"
    return f"{plan}; no plan has fewer than {count} exchanges: {plan.bound.reason}"


def _notes(plan: WarpPlan) -> list[str]:
    from tilewise.check.registers.steps import cycles

    notes = []
    if plan.cheaper is not None:
        counts = ", ".join(f"{count} {name}" for name, count in plan.cheaper.counts().items())
        notes.append(f"--cheapest takes {counts}")
    if plan.likely_slower and (plan.cheaper is None or plan.shared.cycles < cycles(plan.cheaper)):
        stores, loads = plan.shared.stores, plan.shared.loads
        notes.append(f"likely faster through shared memory: {stores} stores and {loads} loads of a lane")
    if plan.reorder is not None:
        mode, order = plan.reorder.mode, plan.reorder.layout
        notes.append(f"permute mode {mode} by {order}, and where it is K the rows of V alike, and you need")
        notes.append(f"no shuffles: FROM is then {plan.reorder.source}")
    return notes


def plan_fields(plan: WarpPlan) -> dict[str, Any]:
    """Return the fields of a plan."""
    from tilewise.codegen.shuffle import lines_of, register_name

    reorder = plan.reorder
    before, after = plan.registers
    steps = zip(plan.program.steps, lines_of(plan), strict=True)
    fields: dict[str, Any] = {
        "dtype": plan.dtype,
        **fields_of(plan, "free", "exchanges", "least", "cost", "places", "cycles"),
        "bound": {"exchanges": plan.bound.count, "reason": plan.bound.reason, "lane": plan.bound.lane},
        "unit_bits": plan.unit,
        "registers": {"from": before, "to": after},
        "steps": [_step(plan, step, line) for step, line in steps],
        "result": [None if own is None else register_name(plan, own) for own in plan.program.results],
        "shared": {
            **fields_of(plan.shared, "stores", "loads", "cycles"),
            "likely_faster": plan.likely_slower,
        },
        "cheaper": None if plan.cheaper is None else plan.cheaper.counts(),
        "reorder": reorder and {"mode": reorder.mode, "order": reorder.layout, "from": reorder.source},
    }
    if plan.tiles is not None:
        fields["repeated"] = {"from": plan.tiles[0], "to": plan.tiles[1]}
    if plan.convert is not None:
        types = {"from": plan.convert.before, "to": plan.convert.after}
        fields["convert"] = types | {"instruction": plan.convert.instruction}
    return fields


def _step(plan: WarpPlan, step: WarpStep, line: Line) -> dict[str, Any]:
    from tilewise.check.registers.rounds import LaneMap, lane_layout
    from tilewise.codegen.shuffle import lane_text, register_name

    fields: dict[str, Any] = {
        "name": line.name,
        "operation": step.operation,
        "of": [register_name(plan, own) for own in step.of],
        "by": step.by,
        "text": line.told,
    }
    if step.operation != "shfl":
        return fields
    lanes = LaneMap.of(step.by)
    return fields | {
        **fields_of(lanes, "mode", "amount"),
        "lane": lane_text(lanes),
        "lanes": lane_layout(step.by),
    }
