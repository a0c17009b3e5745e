"""The operations and instructions of a function, beside two plain ways to write it.

    python -m tests.codegen.instructions

digits  every digit by / and %, times its step, summed, then the swizzle: as a layout is evaluated
bits    for every bit of the index that is set, its column of the GF(2) matrix, XORed
ours    what `tilewise code` writes
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from tilewise import Layout, parse
from tilewise.codegen import source_of
from tilewise.codegen.functions import Index
from tilewise.core.bits import affine_map
from tilewise.core.layout import Iter

TYPICAL = {
    "swizzled tile, by (i, j)": ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", False),
    "swizzled tile, flat": ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", True),
    "swizzled tile of 8 rows": ("Swizzle<3,3,3> o S[(8, 64) : (64, 1)]", False),
    "K-major tile of two atoms, swizzled": (
        "Swizzle<3,3,3> o S[((16, 8), (2, 64)) : ((512, 64), (8192, 1))]",
        False,
    ),
    "wgmma D fragment, by (i, j)": (
        "S[((4, 2, 8), (8, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]",
        False,
    ),
    "wgmma D fragment, flat": (
        "S[((4, 2, 8), (8, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]",
        True,
    ),
    "Morton order, 16 x 16": ("S[((2, 2, 2, 2), (2, 2, 2, 2)) : ((128, 32, 8, 2), (64, 16, 4, 1))]", False),
    "core matrices, 64 x 32": ("S[((8, 8), (4, 8)) : ((256, 8), (64, 1))]", False),
    "padded rows, flat": ("S[(48, 48) : (49, 1)]", True),
    "padded rows of 64, flat": ("S[(64, 64) : (72, 1)]", True),
    "heads, flat": ("S[(12, 197, 64) : (64, 768, 1)]", True),
    "scale factors, flat": ("S[(4, 32, 4) : (4, 16, 1)]", True),
}
"""name: (layout, flat)."""


def digit_by_digit(layout: Layout, name: str, flat: bool) -> str:
    """C as it follows from the definition."""
    modes = [layout.shard] if flat else list(Index().modes(layout))
    arguments = [f"x{i}" for i in range(len(modes))]
    lines: list[str] = []
    terms: dict[str, list[str]] = {axis.name: [] for axis in layout.axes}
    for argument, mode in zip(arguments, modes, strict=True):
        for digit, it in _digits(argument, mode):
            lines.append(f"const uint32_t d{len(lines)} = {digit};")
            for axis, steps in it.stride.nonzero.terms:
                terms[axis.name].append(f"d{len(lines) - 1} * {steps}")
    results = []
    for axis in layout.axes:
        lines.append(f"uint32_t {axis} = {' + '.join(terms[axis.name]) or '0'} + {layout.offset[axis]};")
        for swizzle in reversed(layout.swizzles if axis == layout.swizzled_axis else ()):
            lines.append(f"{axis} ^= ({axis} & {swizzle.source}) >> {swizzle.shift};")
        results.append(axis.name)
    return _function(name, arguments, lines, results)


def _digits(argument: str, mode: tuple[Iter, ...]) -> Iterator[tuple[str, Iter]]:
    weight = 1
    for i, it in reversed(list(enumerate(mode))):
        quotient = f"{argument} / {weight}" if weight > 1 else argument
        yield (f"{quotient} % {it.extent}" if i else quotient), it
        weight *= it.extent


def bit_by_bit(layout: Layout, name: str, flat: bool) -> str | None:
    """C that applies the matrix over GF(2); None where the layout is not one."""
    found = affine_map(layout)
    if found is None:
        return None
    extents = [layout.size] if flat else [_size(mode) for mode in Index().modes(layout)]
    widths = [extent.bit_length() - 1 for extent in extents]
    arguments = [f"x{i}" for i in range(len(extents))]
    inputs = [
        f"{a} >> {bit} & 1"
        for a, w in zip(reversed(arguments), reversed(widths), strict=True)
        for bit in range(w)
    ]
    lines = []
    for position, axis in enumerate(layout.axes):
        taken = [
            f"(-({bit}) & {column[position]})"
            for bit, column in zip(inputs, found.columns, strict=True)
            if column[position]
        ]
        lines.append(f"const uint32_t {axis} = {' ^ '.join([*taken, str(found.origin[position])])};")
    return _function(name, arguments, lines, [axis.name for axis in layout.axes])


def _size(mode: tuple[Iter, ...]) -> int:
    size = 1
    for it in mode:
        size *= it.extent
    return size


def _function(name: str, arguments: list[str], lines: list[str], results: list[str]) -> str:
    given = ", ".join(f"uint32_t {argument}" for argument in arguments)
    head, kind, value = "", "uint32_t", results[0]
    if len(results) > 1:
        kind, value = f"{name}_t", f"({name}_t){{{', '.join(results)}}}"
        head = f"typedef struct {{ uint32_t {', '.join(results)}; }} {name}_t;\n"
    return f"{head}{kind} {name}({given}) {{ {' '.join(lines)} return {value}; }}"


def ours(layout: Layout, name: str, flat: bool) -> str:
    """Return the emitted code, visible to the linker."""
    code = source_of(layout, "c", flat=flat, name=name).code
    return code.replace("#include <stdint.h>", "").replace("static inline ", "")


def instructions(functions: list[str], compiler: str = "gcc") -> list[int]:
    """Instructions of every function f0, f1, ... with -O2, the return not counted."""
    source = "\n".join(["#include <stdint.h>", *functions])
    command = [compiler, "-O2", "-S", "-fno-asynchronous-unwind-tables", "-fcf-protection=none"]
    done = subprocess.run(
        [*command, "-x", "c", "-o", "-", "-"], input=source, capture_output=True, text=True, check=True
    )
    counts: dict[str, int] = {}
    current = ""
    for line in done.stdout.splitlines():
        label = re.match(r"^(f\d+):$", line)
        if label:
            current = label[1]
        elif current and re.match(r"^\t(?!ret\b)[a-z]", line):
            counts[current] = counts.get(current, 0) + 1
    return [counts.get(f"f{i}", 0) for i in range(len(functions))]


def rows() -> Iterator[tuple[str, int, int | None, int]]:
    """(name, instructions digit by digit, bit by bit, ours) of the typical layouts."""
    layouts = [(name, parse(text), flat) for name, (text, flat) in TYPICAL.items()]
    digits = instructions(
        [digit_by_digit(layout, f"f{i}", flat) for i, (_, layout, flat) in enumerate(layouts)]
    )
    bits = [bit_by_bit(layout, f"f{i}", flat) for i, (_, layout, flat) in enumerate(layouts)]
    by_bits = instructions([text or f"int f{i}(void) {{ return 0; }}" for i, text in enumerate(bits)])
    emitted = instructions([ours(layout, f"f{i}", flat) for i, (_, layout, flat) in enumerate(layouts)])
    for i, (name, _, _) in enumerate(layouts):
        yield name, digits[i], by_bits[i] if bits[i] else None, emitted[i]


if __name__ == "__main__":
    print("| layout | digit by digit | bit by bit | ours |\n|---|---:|---:|---:|")
    for name, by_digit, by_bit, emitted in rows():
        print(f"| {name} | {by_digit} | {'' if by_bit is None else by_bit} | {emitted} |")
