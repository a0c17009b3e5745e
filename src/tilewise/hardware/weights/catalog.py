"""The entries of packed weights."""

from __future__ import annotations

from functools import partial

from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.hardware.catalog.entry import Built, Parameter, Value, choice, entry, number
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


_VLLM = (
    "https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/model_executor/layers/quantization/utils/"
    "marlin_utils"
)
VLLM_WEIGHT = Source("vLLM", "marlin_utils_test.py, get_weight_perm", f"{_VLLM}_test.py#L32-L126")
VLLM_SCALE = Source("vLLM", "marlin_utils.py, marlin_permute_scales", f"{_VLLM}.py#L514-L535")


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


# -- builders --------------------------------------------------------------------------------------


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
    source = None if (bits, a_bits) == (4, 16) else VLLM_WEIGHT
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
    return Built(layout, facts, DType.of("f16"), notes=notes, source=None if a_bits == 16 else VLLM_SCALE)


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


# -- the entries -----------------------------------------------------------------------------------

_SIZES: dict[str, Value] = {"k": 256, "n": 64}


ENTRIES = (
    entry("awq.weight", (ANY, EIGHTS), _awq_weight),
    entry("awq.zero", (ANY, EIGHTS, GROUP), _awq_zero),
    entry(
        "gptq.weight", (_inputs("a multiple of 8, of 8 bits of 4"), _outputs("1 or more"), BITS), _gptq_weight
    ),
    entry("gptq.zero", (ANY, _outputs("a multiple of 8, of 8 bits of 4"), BITS, GROUP), _gptq_zero),
    entry(
        "marlin.weight",
        (_inputs("a multiple of 16, with A of 8 bits of 32"), SIXTY_FOURS, BITS, A_BITS),
        _marlin_weight,
    ),
    entry(
        "marlin.scale",
        (ANY, SIXTY_FOURS, GROUP, A_BITS),
        _marlin_scale,
        lambda: (_SIZES | {"group_size": size, "a_bits": bits} for size in (128, ALL) for bits in (16, 8)),
    ),
    entry("marlin.zero", (ANY, SIXTY_FOURS, GROUP, A_BITS), _marlin_zero),
    *(
        entry(
            f"gguf.{block.name}",
            (
                number("rows", "rows of the tensor, ggml's ne1", "1 or more"),
                number("k", "weights of a row, ggml's ne0", f"a multiple of {block.weights}"),
            ),
            partial(_gguf, block),
        )
        for block in BLOCKS.values()
    ),
)
