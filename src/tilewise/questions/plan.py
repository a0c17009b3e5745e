"""Plan how a tensor gets from layout SRC to layout DST on a GPU: the kernel, and its share of a copy's speed.

  tilewise plan 'S[8192, 8192]' 'S[(8192, 8192) : (1, 8192)]' --dtype bf16
  tilewise plan '(64,32):(1,64)' '(64,32):(32,1)' --dtype f16
  tilewise plan 'S[(8, 128) : (128, 1)]' 'S[(8, 128) : (160, 1)] + 64' --dtype f32 --fill -1
  tilewise plan 'S[300, 5]' 'S[((3, 4, 32), (2, 4)) : ((1024, 4, 16), (512, 1))]' --dtype u8 --shape 300,5
  tilewise plan 'transpose(M, 4096)' --let M=8192 --dtype u8 --json
  tilewise plan 'S[M, N]' 'S[(M, N) : (1, M)]' --dtype bf16 --where 'M % 8 == 0, N % 8 == 0'
  tilewise plan 'S[((2, 4), 8) : ((1@gpuid_x, 8), 1)]' 'S[(8, (2, 4)) : (4, (1@gpuid_x, 1))]' --dtype f32
  tilewise plan 'S[4096] + R[8 : 1@gpuid_x]' 'S[(8, 512) : (1@gpuid_x, 1)]' --reduce gpuid_x --dtype bf16
  tilewise plan 'wgmma.D(f32, n=64)' 'S[(64, 2, 32) : (1@tid_in_wg, 64@tid_in_wg, 1@reg)]' --dtype f16

Element by element, what is at SRC's place goes to all of DST's places. Without --shape elements correspond by
the flat index. Where one layout is larger, --shape is the box that moves: what the target has beyond it is
filled, and what the source has beyond it is left out. The kernel: tilewise emit move SRC DST prints it.

Sizes may be names, of which --where has facts. One kernel then moves all their shapes.

In memory the classes are view, nothing moves; copy, all of it together; tile, blocks of threads by way of
shared memory; gather, element by element. Times are expected, not measured: of a copy's rate on that device,
what moves of the kind were seen to reach.

Between registers both layouts are over reg and the axes of threads (laneid, wid_in_wg, warpid, tx, ...). The
classes are view, registers take other names; registers, bytes are permuted inside threads; shuffles, inside
warps; shared, by way of shared memory. --arch sm_80 takes no instruction that sm_80 has not.

Across devices a layout steps on axes of a mesh, such as gpuid_x. The class is mesh: one exchange or two, such
as an all-to-all, with the least bytes and time. Shardings of DTensor and JAX are read as they are printed.
--reduce gpuid_x takes the copies of SRC along that axis as parts of a sum: the plan adds them up.

Named moves, each a pair of layouts:

  transpose(8192, 4096)               a matrix, row by row, to its columns
  permute((2, 3, 5), (2, 0, 1))       an array with its modes in another order, as numpy.transpose has it
  nchw_to_nhwc(8, 64, 56, 56)         channels last; the extents are those of the array that is read
  nhwc_to_nchw(8, 56, 56, 64)         channels first
  pack_scales_128x4(300, 5)           scale factors to blocks of 128 x 4, the last ones filled up
  unpack_scales_128x4(300, 5)         and back
  tile_for_wgmma(128, 64, bf16)       swizzled atoms as wgmma reads them: swizzle=64B, major=mn, order=k
  core_matrices(64, 64, bf16)         8 rows of 16 bytes, one after another, without a swizzle
"""

from __future__ import annotations

from tilewise.core.errors import LayoutError, Refused
from tilewise.questions.asking import asks
from tilewise.questions.moving import OF_MOVES, no_move, planned
from tilewise.questions.report import Report
from tilewise.questions.texts import Texts, misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from tilewise.core.shapes import Shape
    from tilewise.moves import Exchange, MeshPlan, Plan
    from tilewise.moves.shapes import ShapesPlan
    from tilewise.questions.asking import LayoutText, TextOptions, Type

USAGE = "tilewise plan SRC DST --dtype T [options]"


@asks(
    **OF_MOVES,
    mesh="X=N,...: across devices, the mesh in the order of ranks, if it has more devices than the layouts",
    link="X=N,...: across devices, the GB/s along an axis (360), such as gpuid_x=360,gpuid_y=45",
    reduce="X,...: across devices, the axes along which copies of SRC are parts of a sum (or X=max, X=avg)",
    parts="X,...: across devices, axes along which copies of DST shall be parts of a sum",
    tune="measure the tiles on this machine's GPU; moves of such shapes take the fastest from then on",
)
def plan(
    source: LayoutText,
    target: LayoutText | None = None,
    dtype: Type | None = None,
    *,
    shape: Shape | str | None = None,
    fill: float | str | None = None,
    aligned: int | None = None,
    device: str | None = None,
    arch: str | None = None,
    mesh: str | Mapping[str, int] | None = None,
    link: str | Mapping[str, float] | None = None,
    reduce: str | Sequence[str] | Mapping[str, str] | None = None,
    parts: str | Sequence[str] | Mapping[str, str] | None = None,
    tune: bool = False,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return the plan of a move; no where elements would meet in the target.

    >>> plan("S[64, 96]", "S[(64, 96) : (1, 64)]", "bf16").bytes
    24576
    """
    texts = Texts(dtype, **reading, own_shape=True, sums=True)
    given: dict[str, object] = {"fill": fill, "aligned": aligned, "device": device, "arch": arch}
    given |= {"mesh": mesh, "link": link, "reduce": reduce, "parts": parts}
    try:
        found = planned(texts, source, target, shape, **given)
    except Refused as no:
        return texts.reported(no_move(no))
    if not tune:
        return texts.report(found.data(), str(found))
    found, told = _tuned(found)
    return texts.report(found.data() | {"measured": told}, "\n  ".join([str(found), *told]))


def _tuned(plan: Plan | ShapesPlan | Exchange | MeshPlan) -> tuple[Plan, list[str]]:
    """Return the plan with the fastest tile, and what was measured; without a GPU nothing can be."""
    from tilewise.moves import Plan
    from tilewise.moves.arrays.tuned import tuned

    if not isinstance(plan, Plan):
        why = "a move between registers, across devices, or of sizes that are names has no tiles to measure"
        raise misused(why, "leave out --tune")
    told: list[str] = []
    try:
        return tuned(plan, told=told.append), told
    except Refused as no:
        raise LayoutError(no.code, f"nothing is measured: {no.reason}", hint=no.hint) from None
