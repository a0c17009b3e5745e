"""The host's part of a kernel, in C++: its shared memory, its launch."""

from __future__ import annotations

from tilewise.emit.mma.kernel import kernel_source, name_of
from tilewise.emit.mma.plan import Plan
from tilewise.emit.mma.store import element
from tilewise.emit.parts.host import Launch, host_program


def host_source(plan: Plan) -> str:
    """Kernel and host together, one .cu file.

    >>> from tilewise.emit.mma.plan import planned
    >>> "<<<dim3(N / 64, M / 64), 128, 24576, stream>>>" in host_source(planned((64, 64, 32), "bf16"))
    True
    """
    launch = Launch(
        name_of(plan),
        plan.name,
        (plan.m, plan.n, plan.k),
        plan.threads,
        plan.shared_bytes,
        element(plan),
        f"-arch={plan.arch}" + ("" if plan.asked else ", or a later one"),
    )
    return host_program(kernel_source(plan), launch)
