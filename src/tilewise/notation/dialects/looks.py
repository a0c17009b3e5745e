"""The beginnings of texts of each dialect, as patterns. No pattern claims a text of another dialect.

Patterns are matched at the first character that is no space. They are strings, for a start of the program
compiles none of them.
"""

from __future__ import annotations

from itertools import pairwise

_TRITON = r"(?:ttg|ttng|triton_gpu|triton_nvidia_gpu|gluon)"
TRITON = (
    rf"#{_TRITON}\."
    rf"|#[\w$]+\s*=\s*(?:#{_TRITON}\.|loc\()"
    r"|!(?:ttg|tt|triton_gpu)\.memdesc<"
    r"|tensor<[^<>#]*(?:<[^<>#]*>)?\s*,\s*#[\w$]"
)
GLUON = (
    r"(?:\w+\.)*(?:Blocked|Slice|DistributedLinear|DotOperand|NVMMADistributed|AMDMFMA|AMDWMMA|SwizzledShared"
    r"|NVMMAShared|PaddedShared|SharedLinear|PartitionedShared|TensorMemory|TensorMemoryScales)Layout\("
)

_ARRAY = r"[a-z]\w*\[[\d,\s<=?]*\]"
_ORDER = r"\{[\d,\s]*(?::(?:[^={}\n]|\{[^={}\n]*\})*)?\}"
XLA = (
    rf"(?:{_ARRAY}\s*)?{_ORDER}\s*$"  # an array, or its layout
    rf"|\((?:\s|/\*[^*]*\*/|\()*{_ARRAY}"  # a tuple of them
    rf"|(?:ROOT\s+)?%?[\w.-]+\s*=\s*(?!.*\bsharding\s*=)(?:{_ARRAY}|\((?:\s|\()*{_ARRAY})"  # an instruction
)
MOSAIC = (
    r"(?:[\[(]\s*)?(?:#mosaic_gpu\.|(?:\w+\.)*(?:(?:Tiled|WGStridedFrag|WGSplatFrag)Layout|"
    r"(?:Tile|Tiling|Swizzle)Transform)\s*\()"
    r"|(?:\w+\.)*(?:WGMMA|TCGEN05|TMEM_NATIVE|TMA_INDICES)(?:_[A-Z0-9]+)*_LAYOUT\w*\s*$"
)

_GAPLESS = "".join(f"(?:(?!\\w*{after})|(?=\\w*{before}))" for before, after in pairwise("bcdefghijkl"))
"""A letter is there where the next one is."""
TAG = (
    r"(?=\w{2,64}\s*$)(?!\d+\s*$)(?i:(?!\w*?(?<!\d)([a-z])\w*(?<!\d)\1)(?:"
    rf"(?=\w*a)(?=\w*b){_GAPLESS}(?:\d*[a-l])+"  # a, b, c, ... without a gap
    r"|(?=\w*c)(?:(?=\w*n)|(?=\w*h)(?=\w*w))(?:\d*[ncdhw])+"  # images
    r"|(?=\w*o)(?=\w*i)(?:\d*[goidhw])+"  # weights
    r"|(?=\w*t)(?=\w*n)(?=\w*c)(?:\d*[tnc])+"  # sequences
    r"|ld(?:\d*[igo]|\d*[nc])+"  # RNNs
    r")\s*$)"
)

FUNCTION = r"lambda\b"
TILELANG = r"(?:Layout|Fragment)\(\s*[(\[][^()\[\]]*[)\]]\s*->"

HLO = (
    r"\{\s*\{?\s*(?:devices\s*=|mesh\s*\[|(?:replicated|maximal|manual|unknown|unreduced)\b)"
    r"|(?:module\b[^\n]*\n)?(?:[^\n]*[\s,{])?(?:mhlo\.)?sharding\s*=\s*\"?\{"
)
SHARDY = r"(?:module\b[^\n]*\n\s*)?sdy\.mesh\b|(?:[^\n]*\s)?(?:#sdy\.sharding|sdy\.sharding_constraint)\b"
JAX = (
    r"(?:NamedSharding|PartitionSpec|GSPMDSharding|SingleDeviceSharding|ShapeDtypeStruct)\s*\("
    r"|P\(\s*(?:['\"()]|None|UNCONSTRAINED|\w+\s*=)|[a-z]\w*\[[\d,\s]*\d@"
)
DTENSOR = (
    r"DTensor\s*\(\s*local_tensor\b|Spec\s*\("
    r"|[(\[]\s*(?:(?:_?Shard|_StridedShard|Replicate|_?Partial|_MaskPartial)\s*\(|_?S\(\d|[RP]\s*[,)\]])"
    r"|(?:R|_?S\(\d+(?:,\s*\d+)?\)(?:\[\d+\])?|P\(\w+\))+\s+on\b"
)
CUTE_BLOCK = r"(?:Tiled ?MMA|MMA[ _]Atom|Tiled ?Copy|Copy[ _]Atom)[ \t]*\n"

SWIZZLES = ("Sw", "Swizzle", "S")
POINTERS = ("smem_ptr", "gmem_ptr", "rmem_ptr", "tmem_ptr", "ptr", "tmem_")
ATTACHED = tuple(f"_{pointer}" for pointer in POINTERS)  # `Sw<3,4,3>_smem_ptr[16b](...)`

CUTE_OPERATIONS = (
    *("tile_to_shape", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide", "logical_product"),
    *("blocked_product", "raked_product", "complement", "coalesce", "right_inverse", "left_inverse"),
)
"""Calls that compute a layout from others. They are refused by their names."""

_TYPES = ("Layout", "ComposedLayout", "Tensor")
_CALLS = (
    *("make_layout", "make_ordered_layout", "make_composed_layout", "make_identity_layout"),
    *("make_identity_tensor", "composition"),
)
CUTE_NAMED = (
    r"(?:(?:const|typename|struct|class)\s+|(?:cute|pycute)(?:::|\.)|::|decltype\()*"
    rf"(?:(?:{'|'.join(_TYPES)})\s*<(?!0x)|(?:{'|'.join((*_CALLS, *CUTE_OPERATIONS))})\s*\("
    r"|(?:Composed)?Layout\((?:\s*\(*\s*\d|Swizzle|make_swizzle))"
)
"""The beginning of a type or a call that makes a layout."""

CUTE_PRINTED = (
    r"(?:tensor<\s*(?:ptr<|\(|[\d?]+\s+o\b)|tensor\(\s*(?:raw_ptr\(|\([\d,?()\s-]*\)\s*o\b)|Tensor<0x|raw_ptr\("
    r"|(?:[sgrt]mem_)?ptr\[|ptr<\w|tmem_\[|ArithTuple\(|counting_(?:ptr|iter(?:ator)?)\(|SW_\d"
    r"|(?:Sw|S|Swizzle)<\s*\d+\s*,\s*\d+\s*,\s*-?\d+\s*>\s*(?:[o∘]\s|_?\w*ptr|_tmem)(?!.*\b[SRO]\[))"
)
"""The beginning of a printed layout that has more before it than a shape."""

CUTE_SHAPE = r"(?:\(+\s*-?[\w?]|-?_?[\d?])[^:=\n\[]*:\s*[(\w?-]"
"""The beginning of a shape and strides."""

CUTE_LABEL = r"(?:_*[A-Za-z][\w .-]{0,80}[:=]|[^\n]{0,1000}\[(?:with )?\w{1,80} =)[ \t]*"
"""A name before a layout: `sA :`, `using Atom =`, or the `[with T =` of a compiler."""

CUTE = rf"(?:{CUTE_LABEL})?(?:{CUTE_NAMED}|{CUTE_PRINTED})|{CUTE_LABEL}{CUTE_SHAPE}"
"""The beginning of a text in which a layout of CuTe has more before it than a shape."""
