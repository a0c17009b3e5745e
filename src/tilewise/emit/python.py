"""Python and Triton: a function of plain operators."""

from __future__ import annotations

from tilewise.emit.functions import Function
from tilewise.emit.integers import width_of
from tilewise.emit.names import Names
from tilewise.emit.text import body_of, with_shared_quotients

_SMALL_BITS = 32


def python_source(function: Function) -> str:
    """Python: for integers of any size, and elementwise for NumPy arrays of wide enough ones."""
    first, *rest = function.comment
    comment = [f'    """{first}', "", *(f"    {line}" for line in rest), '    """']
    return "\n".join([_signature(function), *comment, *_statements(function)])


def triton_source(function: Function) -> str:
    """Triton: a helper for a kernel, for tensors and scalars alike; nothing that is divided is negative."""
    bits = width_of(with_shared_quotients(function.expressions), signed=True)
    wide = []
    if bits > _SMALL_BITS:
        unused = function.unused
        names = [argument.name for argument in function.arguments if argument.name not in unused]
        wide = [f"    {name} = tl.cast({name}, tl.int64)" for name in names]
    head = ["import triton", *(["import triton.language as tl"] if wide else []), "", ""]
    comment = [f"    # {line}" for line in function.comment]
    return "\n".join([*head, "@triton.jit", _signature(function), *comment, *wide, *_statements(function)])


def _signature(function: Function) -> str:
    return f"def {function.name}({', '.join(argument.name for argument in function.arguments)}):"


def _statements(function: Function) -> list[str]:
    names = Names([function.name, *(argument.name for argument in function.arguments)])
    body = body_of(function.expressions, names)
    lines = [f"    {name} = {text}" for name, text in body.steps]
    return [*lines, f"    return {', '.join(body.results)}"]
