"""The dialects: texts that compilers and libraries print. One module reads and writes each of them.

    read(given)             the Reading of a text: a layout, and the other facts of the text
    write(layout, given)    the text of a layout; TW008 where the dialect has no text for it
    EXAMPLES                real texts, each a Given as a user would write it

This table tells dialects apart by their looks, and imports the module that is needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.notation.cute import CUTE, CUTE_BLOCK
from tilewise.notation.dialects.given import Given, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["DIALECTS", "Dialect", "Given", "Reading", "dialect_of", "read", "write"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect: its name, a sentence about it, and the beginnings of its texts."""

    name: str
    summary: str
    looks: str = ""
    """A pattern of the beginnings of texts. A dialect without looks is read only under its name."""
    reads: bool = True
    writes: bool = True
    counts_elements: bool = True
    """True where its strides count elements, whatever the unit of the reader."""

    def has_the_looks(self, text: str) -> bool:
        """Return True if a text begins like one in this dialect."""
        return bool(self.looks) and re.match(rf"\s*+(?:{self.looks})", text) is not None

    @property
    def module(self) -> ModuleType:
        """Return the module that reads and writes the dialect."""
        return import_module(f"{__name__}.{self.name.replace('-', '_')}")


# The beginnings of the texts of dialects, at the first character that is no space. No pattern claims a text
# of another dialect. They are strings, so that a start of the program compiles no pattern.

_PREFIX = r"(?:ttg|ttng|triton_gpu|triton_nvidia_gpu|gluon)"
_TRITON = (
    rf"#{_PREFIX}\."
    rf"|#[\w$]+\s*=\s*(?:#{_PREFIX}\.|loc\()"
    r"|!(?:ttg|tt|triton_gpu)\.memdesc<"
    r"|tensor<[^<>#]*(?:<[^<>#]*>)?\s*,\s*#[\w$]"
)
_GLUON = (
    r"(?:\w+\.)*(?:Blocked|Slice|DistributedLinear|DotOperand|NVMMADistributed|AMDMFMA|AMDWMMA|SwizzledShared"
    r"|NVMMAShared|PaddedShared|SharedLinear|PartitionedShared|TensorMemory|TensorMemoryScales)Layout\("
)

_ARRAY = r"[a-z]\w*\[[\d,\s<=?]*\]"
_ORDER = r"\{[\d,\s]*(?::(?:[^={}\n]|\{[^={}\n]*\})*)?\}"
_XLA = (
    rf"(?:{_ARRAY}\s*)?{_ORDER}\s*$"  # an array, or its layout
    rf"|\((?:\s|/\*[^*]*\*/|\()*{_ARRAY}"  # a tuple of them
    rf"|(?:ROOT\s+)?%?[\w.-]+\s*=\s*(?!.*\bsharding\s*=)(?:{_ARRAY}|\((?:\s|\()*{_ARRAY})"  # an instruction
)
_MOSAIC = (
    r"(?:[\[(]\s*)?(?:#mosaic_gpu\.|(?:\w+\.)*(?:(?:Tiled|WGStridedFrag|WGSplatFrag)Layout|"
    r"(?:Tile|Tiling|Swizzle)Transform)\s*\()"
    r"|(?:\w+\.)*(?:WGMMA|TCGEN05|TMEM_NATIVE|TMA_INDICES)(?:_[A-Z0-9]+)*_LAYOUT\w*\s*$"
)

_GAPLESS = "".join(f"(?:(?!\\w*{after})|(?=\\w*{before}))" for before, after in pairwise("bcdefghijkl"))
"""A letter is there where the next one is."""
_TAG = (
    r"(?=\w{2,64}\s*$)(?!\d+\s*$)(?i:(?!\w*?(?<!\d)([a-z])\w*(?<!\d)\1)(?:"
    rf"(?=\w*a)(?=\w*b){_GAPLESS}(?:\d*[a-l])+"  # a, b, c, ... without a gap
    r"|(?=\w*c)(?:(?=\w*n)|(?=\w*h)(?=\w*w))(?:\d*[ncdhw])+"  # images
    r"|(?=\w*o)(?=\w*i)(?:\d*[goidhw])+"  # weights
    r"|(?=\w*t)(?=\w*n)(?=\w*c)(?:\d*[tnc])+"  # sequences
    r"|ld(?:\d*[igo]|\d*[nc])+"  # RNNs
    r")\s*$)"
)

_FUNCTION = r"lambda\b"
_TILELANG = r"(?:Layout|Fragment)\(\s*[(\[][^()\[\]]*[)\]]\s*->"

_HLO = (
    r"\{\s*\{?\s*(?:devices\s*=|mesh\s*\[|(?:replicated|maximal|manual|unknown|unreduced)\b)"
    r"|(?:module\b[^\n]*\n)?(?:[^\n]*[\s,{])?(?:mhlo\.)?sharding\s*=\s*\"?\{"
)
_SHARDY = r"(?:module\b[^\n]*\n\s*)?sdy\.mesh\b|(?:[^\n]*\s)?(?:#sdy\.sharding|sdy\.sharding_constraint)\b"
_JAX = (
    r"(?:NamedSharding|PartitionSpec|GSPMDSharding|SingleDeviceSharding|ShapeDtypeStruct)\s*\("
    r"|P\(\s*(?:['\"()]|None|UNCONSTRAINED|\w+\s*=)|[a-z]\w*\[[\d,\s]*\d@"
)
_DTENSOR = (
    r"DTensor\s*\(\s*(?:local_tensor|device_mesh|placements)\b|Spec\s*\("
    r"|[(\[]\s*(?:(?:_?Shard|_StridedShard|Replicate|_?Partial|_MaskPartial)\s*\(|_?S\(\d|[RP]\s*[,)\]])"
    r"|(?:R|_?S\(\d+(?:,\s*\d+)?\)(?:\[\d+\])?|P\(\w+\)|Shard\([^()]*\)|Replicate\(\s*\))+\s+on\b"
)

_SIZES = r"\[[\w\s,*+/()-]*\]"
_TYPE = r"(?:(?:b?f|float|bfloat|u?int|[isu])\d\w*|b8|bool)"
_STRIDED = r"(?:\w+\.)*(?:empty_strided\w*|assert_size_stride|reinterpret_tensor|as_strided)\("
_SIZED = rf"[\"']?{_TYPE}{_SIZES}(?:{_SIZES})?(?:[a-z]+(?::\d+)?)?[\"']?\s*$|{_STRIDED}"

_LIST = [
    Dialect(
        "triton",
        "Triton's encodings and types: #ttg.blocked<{...}>, tensor<128x64xf16, #ttg.blocked<{...}>>",
        _TRITON,
    ),
    Dialect("gluon", "Gluon's objects: BlockedLayout(size_per_thread=[1, 4], ...)", _GLUON),
    Dialect("xla", "XLA's array layouts: bf16[256,512]{1,0:T(8,128)(2,1)}", _XLA),
    Dialect("mosaic", "Mosaic GPU's layouts: #mosaic_gpu.WGStridedFragLayout<[64, 128], 8>", _MOSAIC),
    Dialect("tag", "letter tags of TVM and oneDNN: NCHW16c, aBcd16b, OIhw4i16o4i, nhwc", _TAG),
    Dialect("hlo", "HLO's shardings: {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", _HLO),
    Dialect("shardy", 'Shardy\'s shardings: #sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x"}, {"y", ?}]>', _SHARDY),
    Dialect(
        "jax",
        "JAX's shardings: NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=PartitionSpec('x', None))",
        _JAX,
    ),
    Dialect(
        "dtensor",
        "placements of torch's DTensor: (Shard(dim=0), Replicate()) on DeviceMesh((dp=2, tp=4))",
        _DTENSOR,
    ),
    Dialect(
        "array",
        "arrays with sizes and strides: f32[s77, 64][64, 1]cuda:0, f32[b,128], empty_strided(...)",
        _SIZED,
        writes=False,
    ),
    Dialect(
        "function",
        "a function of the coordinates: lambda i, j: i * 64 + (j ^ i % 8 * 8)",
        _FUNCTION,
        writes=False,
    ),
    Dialect(
        "tilelang",
        "TileLang's layouts: Layout((64, 64) -> (4096,), transform: (_i, _j) -> (_i * 64 + _j,))",
        _TILELANG,
        writes=False,
    ),
    Dialect(
        "cute-block",
        "CuTe's tiled MMAs and tiled copies, as they print: Tiled MMA, Thr Layout VMNK: ...",
        CUTE_BLOCK,
        writes=False,
    ),
    Dialect(
        "cute-tv",
        "CuTe's layouts from (thread, value), of fragments: ((4,8),(2,2)):((32,1),(16,8))",
        reads=False,
    ),
    Dialect("cute", "CuTe's layouts: ((8,2),(4,4)):((8,64),(1,4))", CUTE, counts_elements=False),
]
DIALECTS = {dialect.name: dialect for dialect in _LIST}

_OWN = re.compile(r"S\[|R\[|O\[|Swizzle[<(]|\([\s(]*(?:-|_?\d)")
"""Beginnings of the notation, and of CuTe's shapes: no pattern is tried on these."""


def dialect_of(text: str) -> Dialect | None:
    """Return the dialect that a text looks like, or None.

    >>> found = dialect_of("f32[16,128]{1,0:T(8,128)}")
    >>> found.name
    'xla'
    >>> dialect_of("S[8 : 1]")
    """
    text = re.sub(r"^(?:\s*//[^\n]*\n)+", "", text) if "//" in text else text
    if _OWN.match(text):
        return None
    return next((dialect for dialect in _LIST if dialect.has_the_looks(text)), None)


def read(dialect: Dialect, given: Given) -> Reading:
    """Return the reading of a text in a dialect."""
    if not dialect.reads:
        raise LayoutError("TW008", f"{dialect.name} is written here, and not read")
    try:
        found: Reading = dialect.module.read(given)
    except LayoutError as error:
        if error.span is None:
            error.span, error.source = (0, len(given.text)), given.text
        raise
    return found


def write(dialect: Dialect, layout: Layout, given: Given) -> str:
    """Return a layout as a text in a dialect; `given` has the options, such as the type."""
    if not dialect.writes:
        raise LayoutError("TW008", f"{dialect.name} is read here, and not written")
    text: str = dialect.module.write(layout, given)
    return text
