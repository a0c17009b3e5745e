"""The kernel of attention on Hopper, as source: O = softmax(scale Q K^T) V of each head.

  tilewise emit attention --dtype bf16
  tilewise emit attention --dtype bf16 --head 64 --causal --host

Q, K, V and O are [batches, heads, rows, 64 or 128]. The kernel takes any strides that TMA takes; the
function that launches it, with --host, contiguous tensors. One warpgroup loads. The others have 64 rows of
Q each: they multiply them with a block of keys, keep the scores in registers, and use them there as A of
the product with the values. K and V may have fewer heads. The kernel is CUDA C++ with plain PTX and
includes nothing; --host needs CUDA's headers.

tilewise.attention(q, k, v) runs the same kernels on tensors of torch.
"""

from __future__ import annotations

from tilewise.core.errors import Refused
from tilewise.questions.asking import asks
from tilewise.questions.emit_gemm import described
from tilewise.questions.report import Report, fields_of, refused
from tilewise.questions.texts import Texts, misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.codegen.attention import AttentionPlan
    from tilewise.codegen.wgmma import Operand
    from tilewise.questions.asking import Type

USAGE = "tilewise emit attention --dtype T [options]"


@asks(
    {
        "the problem": {
            "dtype": "T: the type of Q, K, V and O: bf16 or f16",
            "head": "D: the columns of a head: 64 or 128 (128)",
            "causal": "row i sees the keys up to i alone",
        },
        "the schedule": {
            "keys": "N: the keys of a block (128)",
            "workers": "W: warpgroups that multiply: 2, or 3 (2, and 3 for heads of 64)",
            "stages": "S: blocks of keys and values in flight (2)",
        },
        "the text": {"host": "the host's part as well", "name": "F: the name of the kernel"},
    },
)
def emit_attention(
    dtype: Type | None = None,
    *,
    head: int = 128,
    causal: bool = False,
    keys: int | None = None,
    workers: int | None = None,
    stages: int = 2,
    host: bool = False,
    name: str = "",
) -> Report:
    """Return the source of an attention kernel, with its facts; no where the hardware does not have it.

    >>> report = emit_attention("bf16", causal=True)
    >>> report.name, report.threads, report.schedule["keys"]
    ('causal_attention_bf16_128', 384, 128)
    """
    from tilewise.codegen.attention import kernel_source, planned
    from tilewise.codegen.attention.host import host_source

    if dtype is None:
        raise misused("the type of Q, K and V is not given", "such as --dtype bf16")
    texts = Texts()
    try:
        plan = planned(head, dtype, causal=causal, keys=keys, workers=workers, stages=stages, name=name)
    except Refused as no:
        return texts.reported(refused(no, {"code": None}, instead=True))
    code = (host_source if host else kernel_source)(plan)
    return texts.report({"engine": "attention", "style": "kernel", **_fields(plan), "code": code}, code)


def _fields(plan: AttentionPlan) -> dict[str, Any]:
    """Return the facts of a kernel: its schedule, and the layout of each operand."""
    return {
        "name": plan.called,
        "head": plan.head,
        "causal": plan.causal,
        "instructions": (plan.scores.instruction, plan.values.instruction),
        **fields_of(plan, "threads", "shared_bytes"),
        "schedule": fields_of(plan, "rows", "keys", "workers", "stages"),
        "Q": _operand(plan, plan.q),
        "K": _operand(plan, plan.k),
        "V": _operand(plan, plan.v),
        "S": {"dtype": plan.scores.accumulator, "layout": plan.scores.fragment},
        "P": {"dtype": plan.dtype, "layout": plan.values.a.tile},
        "O": {"dtype": plan.dtype, "layout": plan.q.tile},
    }


def _operand(plan: AttentionPlan, own: Operand) -> dict[str, Any]:
    box, mode = plan.box_and_mode(own)
    return described(own) | {"box": box, "mode": mode.name}
