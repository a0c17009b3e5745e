"""The entries of packed weights."""

from __future__ import annotations

from functools import partial

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.catalog.entry import Built, Entry, Parameter, Value, choice, number
from tilewise.hardware.sources import Source
from tilewise.hardware.weights.packed import (
    ALL,
    BLOCKS,
    GROUPED,
    SINGLE,
    WORD_BITS,
    ZEROS,
    Block,
    awq,
    gptq,
    gptq_zeros,
    groups_of,
    marlin,
    marlin_scales,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# -- sources ---------------------------------------------------------------------------------------


def _github(document: str, section: str, path: str) -> Source:
    return Source(document, section, f"https://github.com/{path}")


_AWQ = "casper-hansen/AutoAWQ/blob/88e4c76b20755db275574e6a03c83c84ba3bece5/awq/modules/linear/gemm.py"
_GPTQ = (
    "AutoGPTQ/AutoGPTQ/blob/9f7d37072917ab3a7545835f23e808294a542153/auto_gptq/nn_modules/qlinear/"
    "qlinear_cuda_old.py"
)
_MARLIN = "IST-DASLab/marlin/blob/2f6d7c10e124b3c5fa29ff8d77d568bd7af3274c/marlin/__init__.py"
_VLLM = "vllm-project/vllm/blob/v0.33.0/vllm/model_executor/layers/quantization/utils/marlin_utils"
_GGML = "ggml-org/llama.cpp/blob/01243c587feceaa5d6a6c2305535ef2f549c48b8/ggml/src"

AWQ_WEIGHT = _github("AutoAWQ", "modules/linear/gemm.py, from_linear, weights", f"{_AWQ}#L213-L228")
AWQ_ZERO = _github("AutoAWQ", "modules/linear/gemm.py, from_linear, zeros", f"{_AWQ}#L235-L249")
GPTQ_WEIGHT = _github("AutoGPTQ", "qlinear_cuda_old.py, pack, weights", f"{_GPTQ}#L110-L164")
GPTQ_ZERO = _github("AutoGPTQ", "qlinear_cuda_old.py, pack, zeros", f"{_GPTQ}#L166-L200")
MARLIN_WEIGHT = _github("Marlin", "__init__.py, _get_perms and Layer.pack", f"{_MARLIN}#L40-L140")
MARLIN_SCALE = _github("Marlin", "__init__.py, scale_perm and scale_perm_single", f"{_MARLIN}#L60-L66")
VLLM_WEIGHT = _github("vLLM", "marlin_utils_test.py, get_weight_perm", f"{_VLLM}_test.py#L32-L126")
VLLM_SCALE = _github("vLLM", "marlin_utils.py, marlin_permute_scales", f"{_VLLM}.py#L514-L535")
VLLM_ZERO = _github("vLLM", "marlin_utils.py, marlin_zero_points", f"{_VLLM}.py#L566-L589")


# -- parameters ------------------------------------------------------------------------------------


def _inputs(rule: str) -> Parameter:
    return number("k", "inputs: the rows of the weights as they are packed", rule)


def _outputs(rule: str) -> Parameter:
    return number("n", "outputs: the columns", rule)


ANY = _inputs("1 or more")
EIGHTS = _outputs("a multiple of 8")
SIXTY_FOURS = _outputs("a multiple of 64")
GROUP = number("group_size", "inputs that share a scale", f"a divisor of k, or {ALL} for all of them", 128)
BITS = choice("bits", "bits of a weight", (4, 8), 4)
A_BITS = choice("a_bits", "bits of an element of A, the activations", (16, 8), 16)


# -- what is built ---------------------------------------------------------------------------------


def _packed(
    layout: Layout, dtype: DType, name: str, shape: list[int], holds: str, notes: tuple[str, ...], **rest: Any
) -> Built:
    """Return a layout with the tensor of words that holds it."""
    tensor = {"name": name, "dtype": "int32", "shape": shape}
    return Built(layout, {"tensor": tensor} | ({"holds": holds} if holds else {}), dtype, notes=notes, **rest)


def _awq_weight(k: int, n: int) -> Built:
    notes = ("weight = scales[k / group, n] (q - zero); scales are f16 [groups, N], row after row", _GEMM)
    return _packed(awq(k, n), _U4, "qweight", [k, n // 8], _AWQ_WORD, notes)


def _awq_zero(k: int, n: int, group_size: int) -> Built:
    groups = groups_of(k, group_size)
    return _packed(awq(groups, n), _U4, "qzeros", [groups, n // 8], _AWQ_WORD, (_GEMM,))


def _gptq_weight(k: int, n: int, bits: int) -> Built:
    each, dtype = WORD_BITS // bits, _UNSIGNED[bits]
    holds = f"{each} rows of a column, in order"
    return _packed(gptq(k, n, bits), dtype, "qweight", [k // each, n], holds, (_ACT_ORDER, _OTHER_WIDTHS))


def _gptq_zero(k: int, n: int, bits: int, group_size: int) -> Built:
    groups, each, dtype = groups_of(k, group_size), WORD_BITS // bits, _UNSIGNED[bits]
    holds = f"{each} columns of a row, in order"
    notes = ("a checkpoint of gptq_v1, which is the usual one, stores zero - 1", _ACT_ORDER)
    return _packed(gptq_zeros(groups, n, bits), dtype, "qzeros", [groups, n // each], holds, notes)


def _marlin_weight(k: int, n: int, bits: int, a_bits: int) -> Built:
    shape = [k // 16, n * 16 * bits // WORD_BITS]
    holds = "lane l of a warp has weights 32 l to 32 l + 31 of every 1,024"
    source = MARLIN_WEIGHT if (bits, a_bits) == (4, 16) else VLLM_WEIGHT
    notes = (_KERNELS, *((_CHANGED[bits],) if a_bits == 8 else ()), _SORTED)
    layout = marlin(k, n, bits, a_bits)
    return _packed(layout, _UNSIGNED[bits], "B", shape, holds, notes, source=source)


def _marlin_scale(k: int, n: int, group_size: int, a_bits: int) -> Built:
    groups = groups_of(k, group_size)
    grouped = groups > 1 and a_bits == 16
    order = "scale_perm" if grouped else "scale_perm_single"
    facts = {"order": order, "tensor": {"name": "s", "dtype": "float16", "shape": [groups, n]}}
    layout = marlin_scales(groups, n, GROUPED if grouped else SINGLE)
    notes = ("scale_perm has several groups of inputs and A of 16 bits; else it is scale_perm_single",)
    return Built(
        layout, facts, DType.of("f16"), notes=notes, source=MARLIN_SCALE if a_bits == 16 else VLLM_SCALE
    )


def _marlin_zero(k: int, n: int, group_size: int, a_bits: int) -> Built:
    groups = groups_of(k, group_size)
    layout = marlin_scales(groups, n, ZEROS if a_bits == 16 else GROUPED)
    return _packed(layout, _U4, "zp", [groups, n // 8], "", ("the kernels have zeros of 4 bits alone",))


def _gguf(block: Block, rows: int, k: int) -> Built:
    layout = block.layout(rows, k)
    blocks = k // block.weights
    facts = {
        "block": {"weights": block.weights, "bytes": block.bytes, "first_at_byte": block.first},
        "header": block.header,
        "blocks": [rows, blocks],
        "bytes": rows * blocks * block.bytes,
    }
    return Built(layout, facts, DType.of(block.dtype), notes=_OF_BLOCKS[block.name])


_U4 = DType.of("u4")
_UNSIGNED = {4: _U4, 8: DType.of("u8")}
_AWQ_WORD = "8 columns of a row: 0 2 4 6 1 3 5 7"
_GEMM = "as AutoAWQ's version gemm packs it, which is the usual one; gemv and gemv_fast are other orders"
_ACT_ORDER = "with act-order g_idx names the group of each row: data, and no layout"
_OTHER_WIDTHS = "of 3 bits some weights lie in two words, and no layout says where; 2 bits have no type here"
_KERNELS = "Marlin's own kernel takes k by 128 and n by 256, vLLM's k by 128 and n by 64"
_SORTED = "with act-order the rows are sorted by their group before: k is the index after that"
_CHANGED = {
    4: "for A of 8 bits vLLM changes the bits of some weights as well, not where they lie",
    8: "for A of 8 bits vLLM subtracts 128 of each weight, too",
}
_SPLIT = (
    "a scale or a minimum of sub-blocks 4 to 7 is two fields, 4 bits in bytes 12..15 and 2 in the high bits "
    "of bytes 4..11: a sum of two layouts"
)
_OF_BLOCKS = {
    "q4_0": ("weight = d (q - 8)",),
    "q8_0": ("weight = d q",),
    "q4_k": ("weight = d scale q - dmin minimum, of each 32", _SPLIT),
    "mxfp4": ("weight = 2^(e - 127) q",),
}

ABSENT = {
    "gptq.g_idx": f"{_ACT_ORDER}; without it row k is of group k / group_size",
    **dict.fromkeys(
        ("awq.scale", "gptq.scale"), "scales are f16 [groups, N], row after row: S[(groups, N) : (N, 1)]"
    ),
    "gguf.q4_k.scale": _SPLIT,
    **dict.fromkeys(
        ("gguf.q5_0", "gguf.q5_1", "gguf.q5_k", "gguf.q6_k", "gguf.q3_k"),
        "a weight of this type is two fields of its block, low bits and high bits: a sum of two layouts",
    ),
}
"""Names that are left out, and why."""


# -- the entries -----------------------------------------------------------------------------------

_PACKED = "layout memory packed quantized quantised weights int4 order of nibbles repack interleave"
_SIZES: dict[str, Value] = {"k": 256, "n": 64}


def _block_entry(block: Block) -> Entry:
    name = block.name.replace("k", "K")
    section = f"ggml-common.h, block_{name}; ggml-quants.c, dequantize_row_{name}"
    return Entry(
        f"gguf.{block.name}",
        f"the weights of a tensor of GGUF's type {block.name.upper()}, [rows, K]: among their blocks' scales",
        (
            number("rows", "rows of the tensor, ggml's ne1", "1 or more"),
            number("k", "weights of a row, ggml's ne0", f"a multiple of {block.weights}"),
        ),
        _github("llama.cpp", section, f"{_GGML}/ggml-common.h#:~:text=block_{name}"),
        partial(_gguf, block),
        {"rows": 2, "k": 256},
        f"{_PACKED} ggml llama.cpp block",
    )


ENTRIES = (
    Entry(
        "awq.weight",
        "AWQ's packed weights, qweight, [K, N]: 8 columns of a row in a word",
        (ANY, EIGHTS),
        AWQ_WEIGHT,
        _awq_weight,
        _SIZES,
        f"{_PACKED} AutoAWQ gemm",
    ),
    Entry(
        "awq.zero",
        "AWQ's packed zeros, qzeros, [groups, N]: 8 columns of a row in a word",
        (ANY, EIGHTS, GROUP),
        AWQ_ZERO,
        _awq_zero,
        _SIZES,
        f"{_PACKED} AutoAWQ gemm zero points",
    ),
    Entry(
        "gptq.weight",
        "GPTQ's packed weights, qweight, [K, N]: 8 rows of a column in a word, 4 of 8 bits",
        (_inputs("a multiple of 8, of 8 bits of 4"), _outputs("1 or more"), BITS),
        GPTQ_WEIGHT,
        _gptq_weight,
        _SIZES,
        f"{_PACKED} AutoGPTQ GPTQModel exllama",
    ),
    Entry(
        "gptq.zero",
        "GPTQ's packed zeros, qzeros, [groups, N]: 8 columns of a row in a word, 4 of 8 bits",
        (ANY, _outputs("a multiple of 8, of 8 bits of 4"), BITS, GROUP),
        GPTQ_ZERO,
        _gptq_zero,
        _SIZES,
        f"{_PACKED} AutoGPTQ GPTQModel zero points",
    ),
    Entry(
        "marlin.weight",
        "Marlin's packed weights, [K, N]: what a lane holds of B in mma.sync lies together",
        (_inputs("a multiple of 16, with A of 8 bits of 32"), SIXTY_FOURS, BITS, A_BITS),
        MARLIN_WEIGHT,
        _marlin_weight,
        _SIZES,
        f"{_PACKED} vLLM gptq_marlin awq_marlin tile",
    ),
    Entry(
        "marlin.scale",
        "Marlin's scales, [groups, N], in the order of several groups or that of one",
        (ANY, SIXTY_FOURS, GROUP, A_BITS),
        MARLIN_SCALE,
        _marlin_scale,
        _SIZES,
        f"{_PACKED} vLLM scale_perm scale_perm_single",
        lambda: (_SIZES | {"group_size": size, "a_bits": bits} for size in (128, ALL) for bits in (16, 8)),
    ),
    Entry(
        "marlin.zero",
        "Marlin's packed zeros, [groups, N], as vLLM makes them of AWQ's",
        (ANY, SIXTY_FOURS, GROUP, A_BITS),
        VLLM_ZERO,
        _marlin_zero,
        _SIZES,
        f"{_PACKED} vLLM awq_marlin zero points",
    ),
    *(_block_entry(block) for block in BLOCKS.values()),
)
