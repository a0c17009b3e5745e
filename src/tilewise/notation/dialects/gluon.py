"""Gluon's layout objects as Python prints them, read and written.

    BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[8, 4], warps_per_cta=[4, 1], order=[1, 0],
    cga_layout=[])

Each object stands for an encoding of Triton's (triton/experimental/gluon/language/_layouts.py and the
modules of amd and nvidia beside it), so this module spells the trees that `triton` reads in another way,
and no more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects.given import Given, Reading, integer
from tilewise.notation.dialects.triton import reading_of
from tilewise.notation.dialects.triton.attributes import MAX_DEPTH, Encoding
from tilewise.notation.dialects.triton.texts import Typed
from tilewise.notation.dialects.triton.tile import BLOCK, LANE, OFFSET, REGISTER, WARP, unit
from tilewise.notation.tokens import NAME, NUMBER, Cursor, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.notation.dialects.triton.attributes import Span, Value

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


@dataclass(frozen=True, slots=True)
class _Class:
    """A class of Gluon's: the encoding that it is, and its fields in order, each with the encoding's key."""

    kind: str
    fields: tuple[tuple[str, str], ...]

    def key(self, field: str) -> str | None:
        """Return the encoding's key for a field."""
        return dict(self.fields).get(field) or dict(_OLD_FIELDS).get(field)


_CLUSTER = ("cga_layout", "CGALayout")
_OLD_FIELDS = (("ctas_per_cga", "CTAsPerCGA"), ("cta_split_num", "CTASplitNum"), ("cta_order", "CTAOrder"))
"""How 3.4 and 3.5 said what a cluster holds."""
CLASSES = {
    "BlockedLayout": _Class(
        "blocked",
        (
            ("size_per_thread", "sizePerThread"),
            ("threads_per_warp", "threadsPerWarp"),
            ("warps_per_cta", "warpsPerCTA"),
            ("order", "order"),
            _CLUSTER,
        ),
    ),
    "SliceLayout": _Class("slice", (("dim", "dim"), ("parent", "parent"))),
    "DistributedLinearLayout": _Class(
        "linear",
        (
            ("reg_bases", REGISTER),
            ("lane_bases", LANE),
            ("warp_bases", WARP),
            ("block_bases", BLOCK),
            ("shape", "shape"),
        ),
    ),
    "DotOperandLayout": _Class(
        "dot_op", (("operand_index", "opIdx"), ("parent", "parent"), ("k_width", "kWidth"))
    ),
    "NVMMADistributedLayout": _Class(
        "nvidia_mma",
        (("version", "version"), ("warps_per_cta", "warpsPerCTA"), ("instr_shape", "instrShape"), _CLUSTER),
    ),
    "AMDMFMALayout": _Class(
        "amd_mfma",
        (
            ("version", "version"),
            ("instr_shape", "instrShape"),
            ("transposed", "isTransposed"),
            ("warps_per_cta", "warpsPerCTA"),
            ("element_bitwidth", "elementBitWidth"),
            ("tiles_per_warp", "tilesPerWarp"),
            _CLUSTER,
        ),
    ),
    "AMDWMMALayout": _Class(
        "amd_wmma",
        (
            ("version", "version"),
            ("transposed", "isTranspose"),
            ("warp_bases", WARP),
            ("reg_bases", REGISTER),
            ("instr_shape", "instrShape"),
            _CLUSTER,
            ("rank", "rank"),
        ),
    ),
    "SwizzledSharedLayout": _Class(
        "swizzled_shared",
        (("vec", "vec"), ("per_phase", "perPhase"), ("max_phase", "maxPhase"), ("order", "order"), _CLUSTER),
    ),
    "NVMMASharedLayout": _Class(
        "nvmma_shared",
        (
            ("swizzle_byte_width", "swizzlingByteWidth"),
            ("element_bitwidth", "elementBitWidth"),
            ("rank", "rank"),
            ("transposed", "transposed"),
            ("fp4_padded", "fp4Padded"),
            _CLUSTER,
        ),
    ),
    "PaddedSharedLayout": _Class(
        "padded_shared",
        (
            ("interval_padding_pairs", "paddings"),
            ("offset_bases", OFFSET),
            ("cga_layout", BLOCK),
            ("shape", "shape"),
        ),
    ),
    "SharedLinearLayout": _Class(
        "shared_linear", (("offset_bases", OFFSET), ("block_bases", BLOCK), ("alignment", "alignment"))
    ),
    "PartitionedSharedLayout": _Class(
        "partitioned_shared",
        (
            ("num_partitions", "numPartitions"),
            ("num_groups", "numGroups"),
            ("partition_dim", "partitionDim"),
            ("partition_layout", "partitionLayout"),
        ),
    ),
    "TensorMemoryLayout": _Class(
        "tensor_memory_encoding",
        (
            ("block", "block"),
            ("col_stride", "colStride"),
            _CLUSTER,
            ("two_ctas", "twoCTAs"),
            ("fp4_padded", "fp4Padded"),
            ("unpacked", "unpacked"),
        ),
    ),
    "TensorMemoryScalesLayout": _Class(
        "tensor_memory_scales_encoding", (_CLUSTER, ("block_rep_order", "blockRepOrder"))
    ),
}
NAMES = {
    cls.kind: name
    for name, cls in CLASSES.items()
    if name not in ("AMDMFMALayout", "AMDWMMALayout", "SliceLayout")
}
_KNOWS_ITS_SHAPE = ("linear", "padded_shared")


def read(given: Given) -> Reading:
    """Return the layout of an object; a linear or a padded one knows its tensor's shape."""
    cursor = given.cursor()
    encoding = _call(cursor, 0)
    cursor.expect_end("the layout")
    shape = _own_shape(encoding)
    return reading_of(Typed(_plain(encoding), given.shape or shape), given)


def _own_shape(encoding: Encoding) -> tuple[int, ...] | None:
    if encoding.kind not in _KNOWS_ITS_SHAPE or "shape" not in encoding.items:
        return None
    return encoding.powers("shape")


def _plain(encoding: Encoding) -> Encoding:
    """Return the encoding without the shape that only a Python object has."""
    if encoding.kind not in _KNOWS_ITS_SHAPE:
        return encoding
    return replace(encoding, items={key: value for key, value in encoding.items.items() if key != "shape"})


def _call(cursor: Cursor, depth: int) -> Encoding:
    """Take `Name(field=value, ...)`."""
    if depth > MAX_DEPTH:
        raise cursor.error("TW005", f"more than {MAX_DEPTH} layouts and lists in each other")
    word = cursor.next
    name = word.text.rpartition(".")[2]
    if word.kind != NAME or name not in CLASSES:
        raise cursor.error(
            "TW002", f"{word} is no layout of Gluon's that is read here", hint="known: " + " ".join(CLASSES)
        )
    cursor.take()
    opened = cursor.expect("(", hint=f"{name}(...)")
    cls = CLASSES[name]
    items: dict[str, Value] = {}
    spans: dict[str, Span] = {}
    positions = iter(cls.fields)
    while cursor.next.text != ")":
        if items or cursor.behind is not opened:
            cursor.expect(",", opened)
        start = cursor.next
        if start.kind == NAME and cursor.ahead(1).text == "=":
            cursor.take()
            cursor.take()
            key = cls.key(start.text)
            if key is None:
                known = " ".join(field for field, _ in cls.fields)
                raise cursor.error("TW002", f"{name} has no field {start}", start.span, f"known: {known}")
        else:
            field = next(positions, None)
            if field is None:
                raise cursor.error("TW004", f"{name} has {len(cls.fields)} fields, and here is one more")
            key = field[1]
        if key in items:
            raise cursor.error("TW004", f"{name} has {start} twice", start.span)
        value = _value(cursor, depth)
        if value is not None:
            items[key] = value
            spans[key] = cursor.since(start)
    cursor.expect(")", opened)
    return _as_printed(cls, name, items, spans, word, cursor)


def _as_printed(
    cls: _Class, name: str, items: dict[str, Value], spans: dict[str, Span], word: Token, cursor: Cursor
) -> Encoding:
    """Return the encoding of an object, whose fields are not all the keys that Triton prints."""
    words = {key: field for field, key in (*_OLD_FIELDS, *cls.fields)}
    encoding = Encoding(cls.kind, items, spans, cursor.since(word), cursor.source, name, words)
    if cls.kind == "nvidia_mma" and "version" in items:
        major, minor = encoding.numbers("version", 2)
        items |= {"versionMajor": major, "versionMinor": minor}
        spans["versionMajor"] = spans.get("version", encoding.span)
        del items["version"]
    if cls.kind == "amd_wmma" and WARP in items:
        bases = {place: items.pop(place) for place in (REGISTER, WARP) if place in items}
        items["ctaLayout"] = replace(encoding, kind="", items=bases)
    if cls.kind == "tensor_memory_encoding" and "block" in items:
        items["blockM"], items["blockN"] = encoding.numbers("block", 2)
        del items["block"]
    if not items.get("CGALayout", True):
        del items["CGALayout"]
    return encoding


def _value(cursor: Cursor, depth: int) -> Value | None:
    """Take a number, a list or a tuple, True, False, None, or a layout."""
    token = cursor.next
    if depth > MAX_DEPTH:
        raise cursor.error("TW005", f"more than {MAX_DEPTH} layouts and lists in each other")
    if token.text in ("[", "("):
        closing = {"[": "]", "(": ")"}[token.text]
        cursor.take()
        found: list[Value] = []
        while cursor.next.text != closing:
            if found:
                cursor.expect(",", token)
                if cursor.next.text == closing:
                    break
            value = _value(cursor, depth + 1)
            if value is None:
                raise cursor.error("TW107", "None is no entry of a list", cursor.behind.span)
            found.append(value)
        cursor.expect(closing, token)
        return tuple(found)
    if token.kind == NUMBER or token.text == "-":
        return integer(cursor)
    if token.text in ("True", "False", "None"):
        cursor.take()
        return None if token.text == "None" else token.text == "True"
    if token.kind == NAME and cursor.ahead(1).text == "(":
        if token.text.rpartition(".")[2] == "constexpr":  # a constant of the kernel, as Triton prints it
            cursor.take()
            opened = cursor.take()
            inner = _value(cursor, depth + 1)
            cursor.expect(")", opened)
            return inner
        return _call(cursor, depth + 1)
    if token.kind == "string":
        cursor.take()
        return token.text.strip("\"'")
    raise cursor.error(
        "TW004", f"expected a value, found {token}", hint="such as 4, [1, 0], True, or a layout"
    )


def write(layout: Layout, given: Given) -> str:
    """Return the call that makes the object of a layout: the shortest that says exactly this."""
    from tilewise.notation.dialects.triton.writing import encoding_of

    encoding = encoding_of(layout, given, beside=("amd_rotating_shared",))
    return _spelled(encoding, tuple(extents_of(layout.shape)))


def _spelled(encoding: Encoding, shape: tuple[int, ...]) -> str:
    """Return the call of an encoding that was written for a shape."""
    items = dict(encoding.items)
    items.setdefault("CGALayout", ())
    if encoding.kind in _KNOWS_ITS_SHAPE:
        items["shape"] = shape
    if encoding.kind == "padded_shared":
        items["block"] = items.get(BLOCK, ())
        if "order" in items:
            order = encoding.order()
            items[OFFSET] = tuple(
                unit(len(shape), d, 1 << bit) for d in order for bit in range(shape[d].bit_length() - 1)
            )
    if encoding.kind == "tensor_memory_encoding":
        items["block"] = (encoding.number("blockM"), encoding.number("blockN"))
        items.setdefault("twoCTAs", False)
        items.setdefault("fp4Padded", False)
    if encoding.kind == "nvmma_shared":
        items.setdefault("rank", len(shape))
        items.setdefault("fp4Padded", False)
    name = NAMES[encoding.kind]
    fields = [f"{field}={_python(items[key])}" for field, key in CLASSES[name].fields if key in items]
    return f"{name}({', '.join(fields)})"


def _python(value: Value) -> str:
    """Return a value as Python prints it.

    >>> _python(((1, 0), True))
    '[[1, 0], True]'
    """
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_python, value)) + "]"
    if isinstance(value, Encoding):
        raise LayoutError("TW008", f"{value.name} has no object in Gluon")
    return str(value)
