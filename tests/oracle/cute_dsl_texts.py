"""Tensors as CuTe's Python DSL prints them, and the places of their elements: JSON, by a process of its own.

A tensor is printed when the DSL traces it, and a call is what made a layout. Where the layout has the
swizzle, the DSL evaluates it. Where the pointer has the swizzle, the host loads every element through it,
from memory that counts its elements. No GPU is needed.

    CUTE_DSL_ARCH=sm_90a python tests/oracle/cute_dsl_texts.py 200
"""

import ctypes
import json
import sys
from random import Random
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_ptr

SPACES = ("smem", "gmem", "rmem", "tmem", "generic")
TYPES = (
    *("Float64", "Float32", "TFloat32", "Float16", "BFloat16", "Int8", "Uint8", "Int16", "Uint16", "Int32"),
    *(
        "Int64",
        "Float8E4M3FN",
        "Float8E5M2",
        "Float8E8M0FNU",
        "Float4E2M1FN",
        "Float6E2M3FN",
        "Int4",
        "Boolean",
    ),
)
OF_WIDTH = {8: cutlass.Int8, 16: cutlass.Int16, 32: cutlass.Int32, 64: cutlass.Int64}
CELLS = 1 << 12
"""Elements of the memory that is loaded from; a swizzle of 1024 bytes repeats many times."""


def drawn(rng: Random) -> tuple[Any, Any]:
    """A shape with holes or none, and its strides."""
    shape, strides, step = [], [], 1
    modes = [rng.choice((1, 2, 2)) for _ in range(rng.choice((1, 2, 2, 3)))]
    sizes = [[rng.choice((2, 4, 8, 3)) for _ in range(count)] for count in modes]
    order = [(mode, at) for mode, mode_sizes in enumerate(sizes) for at in range(len(mode_sizes))]
    rng.shuffle(order)
    steps = [[0] * len(mode_sizes) for mode_sizes in sizes]
    for mode, at in order:
        if step * sizes[mode][at] > CELLS // 4:
            sizes[mode][at] = 1
        steps[mode][at] = step if rng.random() < 0.95 else 0
        step *= sizes[mode][at] * rng.choice((1, 1, 1, 2))
    for mode_sizes, mode_steps in zip(sizes, steps, strict=True):
        single = len(mode_sizes) == 1
        shape.append(mode_sizes[0] if single else tuple(mode_sizes))
        strides.append(mode_steps[0] if single else tuple(mode_steps))
    return tuple(shape), tuple(strides)


@cute.jit
def loaded(
    memory: cute.Pointer,
    out: cute.Pointer,
    shape: cutlass.Constexpr,
    strides: cutlass.Constexpr,
    swizzle: cutlass.Constexpr,
) -> None:
    """Copies every element of a tensor whose pointer has a swizzle."""
    layout = cute.make_layout(shape, stride=strides)
    swizzled = cute.recast_ptr(memory, cute.make_swizzle(*swizzle))
    tensor = cute.make_tensor(swizzled, layout)
    result = cute.make_tensor(out, cute.make_layout(cute.size(layout)))
    for i in range(cute.size(layout), unroll=1):
        result[i] = tensor[i]


def through_memory(
    width: int, shape: Any, strides: Any, swizzle: tuple[int, int, int], size: int
) -> list[int]:
    """The element that is loaded at each index: its low and its high bits, for a byte holds no more."""
    dtype, cell = OF_WIDTH[width], getattr(ctypes, f"c_int{width}")
    parts = []
    for shift in (0, 7):
        memory = (ctypes.c_char * (CELLS * width // 8 + 4096))()
        start = -ctypes.addressof(memory) % 4096 + ctypes.addressof(memory)
        cells = (cell * CELLS).from_address(start)
        cells[:] = [i >> shift & 127 for i in range(CELLS)]
        result = (cell * size)()
        source = make_ptr(dtype, start, cute.AddressSpace.generic, assumed_align=1024)
        target = make_ptr(
            dtype, ctypes.addressof(result), cute.AddressSpace.generic, assumed_align=width // 8
        )
        loaded(source, target, shape, strides, swizzle)
        parts.append([*result])
    return [low + (high << 7) for low, high in zip(*parts, strict=True)]


def cases(rng: Random, count: int) -> list[dict[str, Any]]:
    """Draw and return the tensors: each has no swizzle, one in its layout, or one in its pointer."""
    found = []
    for at in range(count):
        shape, strides = drawn(rng)
        bits = rng.choice((1, 2, 3))
        swizzle = (bits, rng.choice((3, 4)), rng.choice((bits, 3)))
        where = ("", "layout", "pointer")[at % 3]
        dtype, space = TYPES[at % len(TYPES)], rng.choice(SPACES)
        if where == "pointer" and space in ("tmem", "rmem"):
            space = "smem"  # others have no such pointers
        if space == "tmem" and dtype == "Float6E2M3FN":
            space = "gmem"  # there is no such element in tensor memory
        if where == "pointer" and dtype in ("Boolean", "Float6E2M3FN", "Float4E2M1FN", "Int4"):
            dtype = "BFloat16"  # the host loads whole bytes
        found.append({"shape": shape, "strides": strides, "swizzle": swizzle, "where": where})
        found[-1] |= {"dtype": dtype, "space": space, "align": rng.choice((128, 1024))}
    return found


def printed(case: dict[str, Any]) -> tuple[str, list[int]]:
    """The text of a tensor, and its elements where the DSL can evaluate the layout."""
    layout = cute.make_layout(case["shape"], stride=case["strides"])
    size = cute.size(layout)
    swizzle = cute.make_swizzle(*case["swizzle"])
    space = getattr(cute.AddressSpace, case["space"])
    pointer = cute.make_ptr(getattr(cutlass, case["dtype"]), 0x2000, space, assumed_align=case["align"])
    if case["where"] == "pointer":
        return str(cute.make_tensor(cute.recast_ptr(pointer, swizzle), layout)), []
    if case["where"] == "layout":
        layout = cute.make_composed_layout(swizzle, 0, layout)
    places = [int(layout(i)) for i in range(size)]
    return str(cute.make_tensor(pointer, layout)), places


def texts(every: list[dict[str, Any]]) -> list[tuple[str, list[int]]]:
    """The texts of all, traced in one program."""
    found: list[tuple[str, list[int]]] = []

    def traced() -> None:
        found.extend(map(printed, every))

    @cute.jit
    def main() -> None:
        traced()

    main()
    return found


def calls(rng: Random, count: int) -> list[tuple[str, list[int]]]:
    """Calls as they are written, and what the DSL makes of them."""
    found: list[tuple[str, list[int]]] = []

    def traced() -> None:
        for _ in range(count):
            shape, strides = drawn(rng)
            order = tuple(rng.sample(range(len(shape)), len(shape)))
            swizzle = (2, 3, rng.choice((2, 3)))
            outer = cute.make_layout(shape, stride=strides)
            made = {
                f"cute.make_layout({shape})": cute.make_layout(shape),
                f"cute.make_layout({shape}, stride={strides})": outer,
                f"cute.make_ordered_layout({shape}, order={order})": cute.make_ordered_layout(
                    shape, order=order
                ),
                f"cute.make_composed_layout(cute.make_swizzle{swizzle}, 8, cute.make_layout({shape}, "
                f"stride={strides}))": cute.make_composed_layout(cute.make_swizzle(*swizzle), 8, outer),
            }
            for text, layout in made.items():
                found.append((text, [int(layout(i)) for i in range(cute.size(layout))]))

    @cute.jit
    def main() -> None:
        traced()

    main()
    return found


def answered(count: int) -> None:
    """Prints a text a line, with the place of every element."""
    every = cases(Random(7), count)
    for case, (text, places) in zip(every, texts(every), strict=True):
        if case["where"] == "pointer":
            width = getattr(cutlass, case["dtype"]).width
            size = cute_size(case["shape"])
            places = through_memory(width, case["shape"], case["strides"], case["swizzle"], size)
        print(json.dumps({"text": text, "places": places}))
    for text, places in calls(Random(8), count // 4):
        print(json.dumps({"text": text, "places": places}))


def cute_size(shape: Any) -> int:
    """The number of elements of a nested shape."""
    if isinstance(shape, int):
        return shape
    size = 1
    for mode in shape:
        size *= cute_size(mode)
    return size


if __name__ == "__main__":
    answered(int(sys.argv[1]))
