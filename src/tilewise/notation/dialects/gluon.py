"""Gluon's layout objects as Python prints them, read and written.

    BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[8, 4], warps_per_cta=[4, 1], order=[1, 0],
    cga_layout=[])

Each object stands for an encoding of Triton's (triton/experimental/gluon/language/_layouts.py and the
modules of amd and nvidia beside it), so this module spells the trees that `triton` reads in another way,
and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects.given import Given, Reading
from tilewise.notation.dialects.triton import reading_of
from tilewise.notation.dialects.triton.encodings import Attributes, Encoding, Setting, Typed
from tilewise.notation.dialects.triton.tile import BLOCK, LANE, OFFSET, REGISTER, WARP, Tile
from tilewise.notation.dialects.values import Item, Value, values

EXAMPLES = (
    Given(
        "BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[8, 4], warps_per_cta=[4, 1], order=[1, 0], "
        "cga_layout=[])",
        shape=(64, 32),
    ),
    Given(
        "SliceLayout(dim=1, parent=NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], "
        "instr_shape=[16, 64, 16], cga_layout=[]))",
        shape=(128,),
    ),
    Given(
        "DistributedLinearLayout(reg_bases=[[0, 1]], lane_bases=[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], "
        "warp_bases=[[8, 0], [0, 0]], block_bases=[], shape=[16, 8])"
    ),
    Given(
        "SwizzledSharedLayout(vec=8, per_phase=1, max_phase=8, order=[1, 0], cga_layout=[])", shape=(64, 64)
    ),
    Given(
        "NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2, transposed=False, "
        "fp4_padded=False, cga_layout=[])",
        shape=(128, 64),
    ),
)


CLASSES = {
    "BlockedLayout": ("blocked", "size_per_thread threads_per_warp warps_per_cta order cga_layout"),
    "SliceLayout": ("slice", "dim parent"),
    "DistributedLinearLayout": ("linear", "reg_bases lane_bases warp_bases block_bases shape"),
    "DotOperandLayout": ("dot_op", "operand_index parent k_width"),
    "NVMMADistributedLayout": ("nvidia_mma", "version warps_per_cta instr_shape cga_layout"),
    "AMDMFMALayout": (
        "amd_mfma",
        "version instr_shape transposed warps_per_cta element_bitwidth tiles_per_warp cga_layout",
    ),
    "AMDWMMALayout": ("amd_wmma", "version transposed warp_bases reg_bases instr_shape cga_layout rank"),
    "SwizzledSharedLayout": ("swizzled_shared", "vec per_phase max_phase order cga_layout"),
    "NVMMASharedLayout": (
        "nvmma_shared",
        "swizzle_byte_width element_bitwidth rank transposed fp4_padded cga_layout",
    ),
    "PaddedSharedLayout": ("padded_shared", "interval_padding_pairs offset_bases cga_layout shape"),
    "SharedLinearLayout": ("shared_linear", "offset_bases block_bases alignment"),
    "PartitionedSharedLayout": (
        "partitioned_shared",
        "num_partitions num_groups partition_dim partition_layout",
    ),
    "TensorMemoryLayout": (
        "tensor_memory_encoding",
        "block col_stride cga_layout two_ctas fp4_padded unpacked",
    ),
    "TensorMemoryScalesLayout": ("tensor_memory_scales_encoding", "cga_layout block_rep_order"),
}
"""Gluon's classes: the encoding of each, and its fields in order."""
_OLD_FIELDS = " ctas_per_cga cta_split_num cta_order"
"""The fields of 3.4 and 3.5 for the blocks of a cluster."""
_KEYS = {
    "cga_layout": "CGALayout",
    "warps_per_cta": "warpsPerCTA",
    "operand_index": "opIdx",
    "element_bitwidth": "elementBitWidth",
    "swizzle_byte_width": "swizzlingByteWidth",
    "interval_padding_pairs": "paddings",
    "two_ctas": "twoCTAs",
    "ctas_per_cga": "CTAsPerCGA",
    "cta_split_num": "CTASplitNum",
    "cta_order": "CTAOrder",
    "reg_bases": REGISTER,
    "lane_bases": LANE,
    "warp_bases": WARP,
    "block_bases": BLOCK,
    "offset_bases": OFFSET,
    "amd_mfma transposed": "isTransposed",
    "amd_wmma transposed": "isTranspose",
    "padded_shared cga_layout": BLOCK,
}
"""The keys of encodings that are not the field's name in camel case; some differ for one kind alone."""
_PAIRS = {
    "nvidia_mma": ("version", "versionMajor", "versionMinor"),
    "tensor_memory_encoding": ("block", "blockM", "blockN"),
}
"""Fields that hold two keys."""


def _keys_of(kind: str, fields: str) -> dict[str, str]:
    """Return the encoding's keys by field.

    >>> _keys_of("amd_mfma", "instr_shape transposed warps_per_cta")
    {'instr_shape': 'instrShape', 'transposed': 'isTransposed', 'warps_per_cta': 'warpsPerCTA'}
    """
    found = {}
    for field in fields.split():
        first, *others = field.split("_")
        camel = first + "".join(map(str.title, others))
        found[field] = _KEYS.get(f"{kind} {field}") or _KEYS.get(field, camel)
    return found


def read(given: Given) -> Reading:
    """Return the layout of an object; a linear or a padded one knows its tensor's shape."""
    encoding = _Objects().attribute(values(given.cursor()))
    shape = encoding.powers("shape") if "shape" in encoding.items else None
    return reading_of(Typed(encoding, given.shape or shape), given)


class _Objects(Attributes):
    """A maker of encodings from objects, where Triton's IR has attributes."""

    def attribute(self, written: Sequence[Value]) -> Encoding:
        """Return the encoding of `Name(field=value, ...)`."""
        word, name = written[0], written[0].name
        if name not in CLASSES:
            message = f"{word} is no layout of Gluon's that is read here"
            raise word.error("TW002", message, f"known: {' '.join(CLASSES)}")
        if len(written) != 2 or written[1].text != "(":
            raise written[-1].error("TW004", f"expected '(' alone after {word}", f"{name}(...)")
        kind, fields = CLASSES[name]
        encoding = self.encoding(kind, name, written, written[1].items)
        items = {key: value for key, value in encoding.items.items() if value != "None"}
        if kind in _PAIRS:
            whole, *parts = _PAIRS[kind]
            items |= zip(parts, encoding.numbers(whole, 2), strict=True)
        if kind == "amd_wmma" and WARP in items:
            items["ctaLayout"] = replace(encoding, kind="", items=dict(items))
        words = {key: field for field, key in _keys_of(kind, fields + _OLD_FIELDS).items()}
        return replace(encoding, items=items, words=words)

    def key(self, kind: str, name: str, item: Item, taken: int) -> str:
        """Return the key of a field; fields without a name are in order."""
        fields = CLASSES[name][1]
        field = item.name or " ".join(fields.split()[taken : taken + 1])
        keys = _keys_of(kind, fields + _OLD_FIELDS)
        if field not in keys or item.sign == ":":
            raise item.error("TW002", f"{name} has no field for {item.key or item}", f"known: {fields}")
        return keys[field]


def write(layout: Layout, given: Given) -> str:
    """Return the call that makes the object of a layout: the shortest that reads back as the layout."""
    from tilewise.notation.dialects.triton.writing import encoding_of

    encoding = encoding_of(layout, given, beside=("amd_rotating_shared",))
    return _spelled(encoding, extents_of(layout.shape))


def _spelled(encoding: Encoding, shape: tuple[int, ...]) -> str:
    """Return the call of an encoding that was written for a shape."""
    items: dict[str, Setting] = {"CGALayout": (), "twoCTAs": False, "fp4Padded": False, BLOCK: ()}
    items |= {"rank": len(shape), **encoding.items, "shape": shape}
    if "order" in items:
        offsets = Tile(len(shape), encoding.order()).fit(shape, OFFSET)
        items.setdefault(OFFSET, tuple(offsets.bases.get(OFFSET, ())))
    if "blockM" in items:
        items["block"] = items["blockM"], items["blockN"]
    name = next(name for name, (kind, _) in CLASSES.items() if kind == encoding.kind)
    keys = _keys_of(*CLASSES[name])
    fields = [f"{field}={_python(items[key])}" for field, key in keys.items() if key in items]
    return f"{name}({', '.join(fields)})"


def _python(value: Setting) -> str:
    """Return a value as Python prints it.

    >>> _python(((1, 0), True))
    '[[1, 0], True]'
    """
    return "[" + ", ".join(map(_python, value)) + "]" if isinstance(value, tuple) else str(value)
