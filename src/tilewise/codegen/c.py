"""C and CUDA: a function of plain integers, to paste into a kernel or a header.

Arithmetic is unsigned and may wrap; a result that can be negative is converted at the end. An argument
that can be negative is signed, and then no sum overflows. No division and no shift down acts on a
negative value.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.codegen.expressions import Variable, parts_of
from tilewise.codegen.functions import Function
from tilewise.codegen.names import FreeNames
from tilewise.codegen.text import LARGEST_INT, Spelling, body_of, width_of


@dataclass(frozen=True, slots=True)
class Flavour:
    """The differences between C and CUDA."""

    types: dict[int, tuple[str, str]]
    """{bits: (signed, unsigned)}."""
    head: tuple[str, ...]
    qualifiers: str
    struct: str
    value: str
    is_for_a_cpu: bool


C = Flavour(
    {32: ("int32_t", "uint32_t"), 64: ("int64_t", "uint64_t")},
    ("#include <stdint.h>", ""),
    "static inline",
    "typedef struct {{ {fields}; }} {name};",
    "({name}){{{values}}}",
    True,
)
CUDA = Flavour(
    {32: ("int", "unsigned"), 64: ("long long", "unsigned long long")},
    (),
    "__host__ __device__ __forceinline__ constexpr",
    "struct {name} {{ {fields}; }};",
    "{name}{{{values}}}",
    False,
)


def c_source(function: Function) -> str:
    """Return C11: a `static inline` function."""
    return _source(function, C)


def cuda_source(function: Function) -> str:
    """Return CUDA C++: a function for host and device, constant if its arguments are."""
    return _source(function, CUDA)


def _source(function: Function, flavour: Flavour) -> str:
    negative = {own.name for own in function.arguments if own.low is None or own.low < 0}
    bits = width_of(function.expressions, signed=bool(negative))
    signed, unsigned = flavour.types[bits]
    types = [signed if expression.low < 0 else unsigned for expression in function.expressions]
    returned, value = types[0], "{values}"
    lines = [*flavour.head, *(f"// {line}" for line in function.comment)]
    if len(types) > 1:
        returned, value = f"{function.name}_t", flavour.value
        lines.append(flavour.struct.format(fields=_fields(function, types), name=returned))
    given = [f"{signed if own.name in negative else unsigned} {own.name}" for own in function.arguments]
    lines += [f"{flavour.qualifiers} {returned} {function.name}({', '.join(given) or 'void'})", "{"]
    lines += [f"    (void){name};" for name in function.unused]
    suffix = "u" if bits == 32 else "ull"
    body = body_of(function, Spelling("/", LARGEST_INT, suffix, flavour.is_for_a_cpu))
    lines += [f"    const {unsigned} {name} = {text};" for name, text in body.steps]
    results = []
    for expression, kind, text in zip(function.expressions, types, body.results, strict=True):
        used = {part.name for part in parts_of([expression]) if isinstance(part, Variable)}
        # braces convert nothing in C++, and a return converts a value without a sign
        is_cast = expression.low < 0 or (len(types) > 1 and used & negative)
        results.append(f"({kind})({text})" if is_cast else text)
    lines += [f"    return {value.format(name=returned, values=', '.join(results))};", "}"]
    return "\n".join(lines)


def _fields(function: Function, types: list[str]) -> str:
    """Return the fields of the struct, neighbours of one type together."""
    names, fields = FreeNames(), ""
    for result, kind, before in zip(function.results, types, ["", *types], strict=False):
        fields += f", {names.free(result.name)}" if kind == before else f"; {kind} {names.free(result.name)}"
    return fields[2:]
