"""A program of C++ that makes layouts by CuTe's calls, and prints each, its type, and its places."""

from __future__ import annotations

from random import Random

_HEAD = """#include <cute/tensor.hpp>
#include <cxxabi.h>
#include <cstdio>
#include <typeinfo>
using namespace cute;

template <class Layout>
void said(char const* call, Layout const& layout) {
  int status;
  char const* type = abi::__cxa_demangle(typeid(Layout).name(), 0, 0, &status);
  printf("{\\"call\\": \\"%s\\", \\"print\\": \\"", call);
  print(layout);
  printf("\\", \\"type\\": \\"%s\\", \\"places\\": [", type);
  for (int i = 0; i < int(size(layout)); ++i) printf("%s%d", i ? ", " : "", int(layout(i)));
  printf("]}\\n");
}
"""


def program(count: int) -> str:
    """The program; it prints a line of JSON for each call."""
    rng = Random(9)
    calls = [call for _ in range(count) for call in _calls(rng)]
    lines = "".join(f'  said("{call}", {call});\n' for call in dict.fromkeys(calls))
    return f"{_HEAD}int main() {{\n{lines}}}\n"


def _calls(rng: Random) -> list[str]:
    modes = [
        [rng.choice((1, 2, 3, 4, 8)) for _ in range(rng.choice((1, 1, 2)))]
        for _ in range(rng.choice((1, 2, 3)))
    ]
    shape = _tuple("make_shape", rng, modes)
    static = _tuple("Shape", rng, modes)
    strides = [[rng.choice((0, 1, 2, 8, 16, 64)) for _ in mode] for mode in modes]
    order = rng.sample(range(len(modes)), len(modes))
    steps = ", ".join(f"_{at}{{}}" for at in order)
    laid = f"make_layout({shape}, {_tuple('make_stride', rng, strides)})"
    swizzle = f"Swizzle<{rng.choice((1, 2))},{rng.choice((0, 2, 3))},{rng.choice((2, 3))}>{{}}"
    return [
        f"make_layout({shape})",
        f"make_layout({shape}, Layout{rng.choice(('Left', 'Right'))}{{}})",
        laid,
        f"make_ordered_layout({static}, make_step({steps}))",
        f"composition({swizzle}, {laid})",
        f"make_composed_layout({swizzle}, Int<{rng.choice((0, 8))}>{{}}, {laid})",
    ]


def _tuple(word: str, rng: Random, modes: list[list[int]]) -> str:
    """`make_shape(...)` of numbers and constants, or `Shape<...>{}` of constants."""
    if word == "Shape":
        inner = [_constants(mode) for mode in modes]
        return f"Shape<{', '.join(inner)}>{{}}"
    parts = []
    for mode in modes:
        numbers = ", ".join(_number(rng, number) for number in mode)
        parts.append(numbers if len(mode) == 1 else f"{word}({numbers})")
    return f"{word}({', '.join(parts)})"


def _constants(mode: list[int]) -> str:
    inner = ", ".join(f"Int<{number}>" for number in mode)
    return inner if len(mode) == 1 else f"Shape<{inner}>"


def _number(rng: Random, number: int) -> str:
    return rng.choice((str(number), f"_{number}{{}}", f"Int<{number}>{{}}"))
