"""Answers of Triton's own compiler about types with layouts, by a process of its own.

    python tests/oracle/triton_types.py <types.json >answers.json

The input is a list of types, such as `tensor<128xf32, #ttg.blocked<{...}>>`, with no aliases. Each is parsed
as the argument of a function, and turned into a linear layout. An answer is

    {"text", "shape", "bases"}           the layout: {register, lane, ...: the index at 1, 2, 4, ...}
    {"text", "shape", "bases", "pads"}   its linear part, and the paddings: [[interval, padding], ...]
    {"text", "untold"}                   why there is no answer: the parser's words, or "crashed"

The shape of a memory descriptor is that of its allocation: Triton lays out the whole of it. Triton asserts,
and so aborts; a child answers, and where it dies the next child goes on with the next type. No GPU is needed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile

from triton._C import libtriton
from triton._C.libtriton import gluon_ir, ir

MODULE = 'module attributes {"ttg.num-warps" = 4 : i32} { tt.func public @asked(%type: TYPE) { tt.return } }'
DIMENSIONS = re.compile(r"(?:\d+x)+")
BASES = {
    "register": "reg_bases",
    "lane": "lane_bases",
    "warp": "warp_bases",
    "block": "block_bases",
    "offset": "offset_bases",
    "row": "rows",
    "col": "cols",
}
"""{in dimension: where Gluon's objects have its bases}."""


def main() -> None:
    asked = json.load(sys.stdin)
    answers = []
    while len(answers) < len(asked):
        answers += _in_a_child(asked[len(answers) :])
        if len(answers) < len(asked):
            answers.append({"text": asked[len(answers)], "untold": "crashed"})
    json.dump(answers, sys.stdout)


def _in_a_child(asked):
    """The answers to the first of these types, as far as a child lives."""
    with tempfile.TemporaryFile("w+") as lines:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            for answer in _answers(asked):
                print(json.dumps(answer), file=lines, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        lines.seek(0)
        return [json.loads(line) for line in lines]


def _answers(asked):
    context = ir.context()
    ir.load_dialects(context)
    libtriton.nvidia.load_dialects(context)
    libtriton.amd.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        for text in asked:
            file.seek(0)
            file.truncate()
            print(MODULE.replace("TYPE", text), file=file, flush=True)
            try:
                yield {"text": text, **_answer(builder, ir.parse_mlir_module(file.name, context), text)}
            except Exception as error:
                yield {"text": text, "untold": str(error).splitlines()[0] if str(error) else repr(error)}


def _answer(builder, module, text):
    value = module.get_function("asked").args(0)
    shape = _allocated(text)
    if text.startswith("tensor"):
        layout, rank = builder.get_gluon_layout_from_tensor(value), len(shape)
    else:
        layout = builder.get_gluon_layout_from_memdesc(value)
        rank = _rank(layout)
    made = layout._to_ir(builder)
    module.set_attr("made", made)
    if not re.search(r", (\S.*)[,>].*\n(?s:.*){made = \1, ", module.str_nodebug()):
        raise ValueError("Gluon takes it for another")
    if hasattr(layout, "partition_layout"):
        raise ValueError("Gluon leaves the partitions out")
    if hasattr(layout, "interval_padding_pairs"):
        bases = {"offset": layout.offset_bases, "block": _blocks(layout, layout.shape)}
        return {"shape": layout.shape, "bases": bases, "pads": layout.interval_padding_pairs}
    linear = builder.to_linear_layout(made, shape[-rank:])
    bases = {name: getattr(linear, place) for name, place in BASES.items() if hasattr(linear, place)}
    if "row" in bases:
        bases["block"] = _blocks(layout, shape[-rank:])
    return {"shape": shape[-rank:], "bases": bases}


def _blocks(layout, shape):
    """The bases of blocks where Gluon has those of the encoding: a block has a part of the tensor."""
    split = [1] * len(shape)
    bases = layout.cga_layout  # before 3.8 tensor memory has none
    for basis in bases:
        split = [max(parts, 2 * step) for parts, step in zip(split, basis, strict=True)]
    parts = [extent // blocks for extent, blocks in zip(shape, split, strict=True)]
    return [[step * part for step, part in zip(basis, parts, strict=True)] for basis in bases]


def _rank(layout):
    """The dimensions that a layout in memory has; a descriptor may have more before these, for buffers."""
    for known in ("order", "shape"):
        if hasattr(layout, known):
            return len(getattr(layout, known))
    return getattr(layout, "rank", 2)


def _allocated(text):
    """The extents at the end of a memory descriptor, otherwise those of the type."""
    last = re.search(r", ((?:\d+x)*\d+)>$", text)
    return [int(extent) for extent in (last[1] if last else DIMENSIONS.search(text)[0][:-1]).split("x")]


if __name__ == "__main__":
    main()
