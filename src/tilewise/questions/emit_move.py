"""A kernel that moves a tensor from layout SRC to layout DST, as source.

  tilewise emit move 'S[8192, 4096]' 'S[(8192, 4096) : (1, 8192)]' --dtype bf16
  tilewise emit move 'S[300, 5]' 'S[(384, 8) : (8, 1)]' --dtype u8 --shape 300,5 --fill 0x7f --host
  tilewise emit 'transpose(1021, 1031)' --dtype u8 --name turn
  tilewise emit 'transpose(M, N)' --dtype bf16 --where 'M % 8 == 0, N % 8 == 0' --host
  tilewise emit move 'wgmma.D(f32, n=32)' 'S[(64, 32) : (1@reg, 1@tx)]' --dtype f16 --arch sm_80

The word move may be left out. The kernel is the one that tilewise plan SRC DST plans, whose help says how
both are written. It is CUDA C++ and includes nothing; above it stands what it does, and with how many blocks
and threads it is launched. With --host a function follows that fills the target where it has to be, and
launches the kernel, for nvcc. With --checked every access is tested, and the first that is not of its storage
is kept for the host.

Sizes may be names, of which --where has facts: they are the kernel's last arguments, and it moves all shapes.

Between registers it is a device function, which all threads of a warp, a warpgroup or a block call together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from tilewise.core.errors import Refused
from tilewise.questions.asking import asks
from tilewise.questions.moving import OF_MOVES, no_move, planned
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts, misused, refuse_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from tilewise.core.shapes import Shape
    from tilewise.moves import Exchange, MeshPlan, Plan
    from tilewise.moves.shapes import ShapesPlan
    from tilewise.questions.asking import LayoutText, TextOptions, Type

USAGE = "tilewise emit move SRC DST --dtype T [options]"


@asks(
    {
        "the text": {
            "host": "the host's part as well",
            "checked": "a kernel that tests every access",
            "name": "F: its name (such as move_u8; between registers exchange)",
        }
    },
    **OF_MOVES,
)
def emit_move(
    source: LayoutText,
    target: LayoutText | None = None,
    dtype: Type | None = None,
    *,
    shape: Shape | str | None = None,
    fill: float | str | None = None,
    aligned: int | None = None,
    device: str | None = None,
    arch: str | None = None,
    host: bool = False,
    checked: bool = False,
    name: str = "",
    **reading: Unpack[TextOptions],
) -> Report:
    """Return the source of the kernel that a move takes, with the move's plan; no where it takes no kernel.

    >>> emit_move("S[64, 96]", "S[(64, 96) : (1, 64)]", "bf16").name
    'move_bf16'
    """
    texts = Texts(dtype, **reading, own_shape=True)
    kind = None
    try:
        plan = planned(texts, source, target, shape, fill=fill, aligned=aligned, device=device, arch=arch)
        kind = plan.kind
        style, called, code = _source(plan, host, checked, name)
    except Refused as no:
        return texts.reported(no_move(no, kind, instead=True))
    fields = {"engine": "move", "style": style, "name": called, **plan.data(), "code": code}
    return texts.report(fields, code)


def _source(
    plan: Plan | ShapesPlan | Exchange | MeshPlan, host: bool, checked: bool, name: str
) -> tuple[str, str, str]:
    """Return the kind of a function, its name, and its source."""
    from tilewise.moves import Plan
    from tilewise.moves.mesh.plan import MeshPlan
    from tilewise.moves.source import host_source, kernel_source, name_of

    if isinstance(plan, MeshPlan):
        raise misused(
            "a move across devices is no one kernel",
            "tilewise plan says its steps, and tilewise.move(x, source, target, mesh=...) runs it",
        )
    if not hasattr(plan, "names"):
        why = "is of kernels: between registers it is a device function, which no host launches"
        refuse_given({"host": host, "checked": checked}, why, "leave out --{}")
        name = name or "exchange"
        return "device function", name, plan.code(name)
    of_memory = cast("Plan | ShapesPlan", plan)
    if checked and of_memory.names:
        raise misused("a kernel for all values tests no accesses", "leave out --checked, or --let M=4096")
    if checked and isinstance(of_memory, Plan):
        of_memory = replace(of_memory, checked=True)
    code = (host_source if host else kernel_source)(of_memory, name)
    return "kernel", name_of(of_memory, name), code.rstrip("\n")
