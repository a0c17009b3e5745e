"""C and CUDA: a function of plain integers, to be pasted into a kernel or a header.

Arithmetic is unsigned and may wrap; a result that can be negative is converted at the end. An argument
that can be negative is signed, and then no sum overflows. Nothing that is divided or shifted down is
negative.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.emit.expressions import Expr, Variable, parts_of
from tilewise.emit.functions import Function, Range
from tilewise.emit.integers import width_of
from tilewise.emit.names import Names
from tilewise.emit.text import Spelling, body_of, with_shared_quotients

_LARGEST_INT = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Dialect:
    """How C and CUDA differ."""

    signed: dict[int, str]
    unsigned: dict[int, str]
    head: tuple[str, ...]
    qualifiers: str
    struct: str
    value: str
    is_for_a_cpu: bool = False


C = Dialect(
    signed={32: "int32_t", 64: "int64_t"},
    unsigned={32: "uint32_t", 64: "uint64_t"},
    head=("#include <stdint.h>", ""),
    qualifiers="static inline",
    struct="typedef struct {{ {fields} }} {name};",
    value="({name}){{{values}}}",
    is_for_a_cpu=True,
)
CUDA = Dialect(
    signed={32: "int", 64: "long long"},
    unsigned={32: "unsigned", 64: "unsigned long long"},
    head=(),
    qualifiers="__host__ __device__ __forceinline__ constexpr",
    struct="struct {name} {{ {fields} }};",
    value="{name}{{{values}}}",
)


def c_source(function: Function) -> str:
    """C11: a `static inline` function."""
    return _source(function, C)


def cuda_source(function: Function) -> str:
    """CUDA C++: a function for host and device, and a constant where its arguments are."""
    return _source(function, CUDA)


def _source(function: Function, dialect: Dialect) -> str:
    bits = width_of(
        with_shared_quotients(function.expressions), signed=any(map(_can_be_negative, function.arguments))
    )
    signed, unsigned = dialect.signed[bits], dialect.unsigned[bits]
    types = [signed if expression.low < 0 else unsigned for expression in function.expressions]
    returned, value = types[0], "{values}"
    lines = [*dialect.head, *(f"// {line}" for line in function.comment)]
    if len(function.results) > 1:
        returned, value = f"{function.name}_t", dialect.value
        lines.append(dialect.struct.format(fields=_fields(function, types), name=returned))
    given = [f"{signed if _can_be_negative(own) else unsigned} {own.name}" for own in function.arguments]
    lines += [f"{dialect.qualifiers} {returned} {function.name}({', '.join(given) or 'void'})", "{"]
    lines += [f"    (void){name};" for name in function.unused]
    names = Names([function.name, *(argument.name for argument in function.arguments)])
    spelling = Spelling("/", _LARGEST_INT, "u" if bits == 32 else "ull", dialect.is_for_a_cpu)
    body = body_of(function.expressions, names, spelling)
    lines += [f"    const {unsigned} {name} = {text};" for name, text in body.steps]
    casts = [
        _cast(function, expression, own) for expression, own in zip(function.expressions, types, strict=True)
    ]
    results = [cast.format(text) for cast, text in zip(casts, body.results, strict=True)]
    lines += [f"    return {value.format(name=returned, values=', '.join(results))};", "}"]
    return "\n".join(lines)


def _cast(function: Function, expression: Expr, kind: str) -> str:
    """How a result becomes its type: braces convert nothing in C++."""
    is_converted = len(function.results) == 1 and expression.low >= 0
    signed = {argument.name for argument in function.arguments if _can_be_negative(argument)}
    has_sign = any(isinstance(part, Variable) and part.name in signed for part in parts_of([expression]))
    return f"({kind})({{}})" if not is_converted and (has_sign or expression.low < 0) else "{}"


def _can_be_negative(argument: Range) -> bool:
    return argument.low is None or argument.low < 0


def _fields(function: Function, types: list[str]) -> str:
    """The fields of the struct, neighbours of one type together."""
    names = Names()
    fields = ""
    for result, own, before in zip(function.results, types, ["", *types], strict=False):
        fields += f", {names.free(result.name)}" if own == before else f"; {own} {names.free(result.name)}"
    return f"{fields[2:]};"
