"""The kinds of tcgen05.mma: types, K, and the legal M and N.

    kind        types, A and B             D           K     K sparse    scales
    f16         f16 bf16                   f16, f32    16    32
    tf32        tf32                       f32          8    16
    f8f6f4      e4m3 e5m2 e2m3 e3m2 e2m1   f16, f32    32    64
    i8          s8 u8                      s32         32    64
    mxf8f6f4    those of f8f6f4            f32         32    64          1X
    mxf4        e2m1                       f32         64    128         2X
    mxf4nvf4    e2m1                       f32         64    128         2X, 4X

    kinds                M, cta_group 1    N                       M, cta_group 2    N
    f16, tf32, f8f6f4    64, 128           8, 16, ..., 256         128, 256          16, 32, ..., 256
    i8                   64, 128           8, 16, 24, 32, 48 ...   128, 256          32, 64, ..., 256
    with scales          128               8, 16, ..., 256         128, 256          16, 32, ..., 256
    .ws, no scales       32, 64, 128       64, 128, 256

A product of `.ws` with sparse A ends at N = 128; a pair's with scales and sparse A has M = 256 alone. An
N-major B of 8 bits has N in steps of 16, of a pair in steps of 32. On sm_103a mxf4 and mxf4nvf4 have K = 96
as well, dense, of one CTA with M = 128 and of a pair with M = 256.

PTX ISA, Matrix Shape (tcgen05.mma); Major-ness and layouts of operands (tcgen05.mma).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.hardware.architectures import Needs
from tilewise.hardware.instructions import listed, nearest, values, where
from tilewise.hardware.mma import kinds as of_mma
from tilewise.hardware.mma.kinds import BYTE, F8F6F4, Scaling

SM_100 = Needs(family=(100, 110))
INTEGERS = Needs(alone=("sm_100a", "sm_110a"))
"""kind::i8 is on no sm_103."""
SPARSE_4 = Needs(alone=("sm_100a", "sm_103a", "sm_110a"))
"""mxf4 and mxf4nvf4 with sparse A: the assembler takes them for no family."""
DEEP = Needs(alone=("sm_103a",))
"""K = 96."""

DEEP_K = 96

BLOCKS = {"1X": "block32", "2X": "block32", "4X": "block16", "3X": "block32", "6X": "block16"}
"""{number of scales in a row: its word, which the assembler takes for every target}."""

DEEP_SCALES = {"2X": "3X", "4X": "6X"}
"""{number of scales for K = 64: the number for K = 96}."""


def scale_named(given: str) -> str:
    """Return the one spelling of a number of scales: 4X, of 4x and of PTX's `.scale_vec::4X`; or block16.

    >>> [scale_named(word) for word in ("4x", ".scale_vec::2X", "3X", "BLOCK16")]
    ['4X', '2X', '3X', 'block16']
    """
    word = given.lower().removeprefix(".").removeprefix("scale_vec::")
    for known in (*BLOCKS, *BLOCKS.values()):
        if word == known.lower():
            return known
    hint = f"known: {listed((*BLOCKS, *BLOCKS.values()), ' ')}"
    raise LayoutError("TW601", f"{given!r} says no number of scales", hint=hint)


_BY_8, _BY_16, _BY_32 = (tuple(range(step, 257, step)) for step in (8, 16, 32))
_INTEGER_N = (8, 16, 24, *range(32, 257, 16))
_WS = (64, 128, 256)


@dataclass(frozen=True, slots=True)
class Kind(of_mma.Kind):
    """A row of the table of kinds.

    >>> f16 = Kind.of("f16")
    >>> f16.depth(), f16.depth(sparse=True), f16.results
    (16, 32, ('f16', 'f32'))
    """

    n: tuple[tuple[int, ...], tuple[int, ...]] = (_BY_8, _BY_16)
    """The legal N of one CTA and of a pair."""
    mixed: bool = True
    """True if A and B may have different types."""
    owned: Needs = SM_100

    engine = "tcgen05.mma"

    @classmethod
    def every(cls) -> Mapping[str, Kind]:
        """Return {name: kind}."""
        return KINDS

    @property
    def scaled(self) -> bool:
        """Return True if it multiplies blocks of A and B by scales."""
        return bool(self.scalings)

    def depth(self, sparse: bool = False) -> int:
        """Return K of a product, in elements of A with its zeros."""
        return 2 * self.k if sparse else self.k

    def stored_bits(self, dtype: DType | str) -> int:
        """Return the bits that each element takes in shared memory and in tensor memory.

        Types of 6 and 4 bits of f8f6f4 and mxf8f6f4 take a byte: in shared memory 16 of them lie together at
        the start of 16 bytes, in tensor memory each lies in its own byte.

        >>> KINDS["f8f6f4"].stored_bits("e2m1"), KINDS["mxf4"].stored_bits("e2m1")
        (8, 4)
        """
        element = self.check(dtype)
        return element.bits if self.packed else max(BYTE, element.bits)

    def majors(self, dtype: DType | str) -> tuple[str, ...]:
        """Return the directions that may be contiguous in shared memory.

        >>> KINDS["f8f6f4"].majors("e4m3"), KINDS["f8f6f4"].majors("e2m1")
        (('k', 'mn'), ('k',))
        """
        return ("k", "mn") if self.check(dtype).bits >= BYTE else ("k",)

    def check_product(self, a: DType | str, b: DType | str, d: DType | str) -> tuple[DType, DType, DType]:
        """Return the three types, or refuse them.

        >>> KINDS["f16"].check_product("bf16", "bf16", "f16")
        Traceback (most recent call last):
        tilewise.Refused: TW602: kind::f16 does not multiply bf16 by bf16 into f16
          hint: f16 goes with f16 into f16 and f32; bf16 goes with bf16 into f32
        """
        first, second, result = self.check(a), self.check(b), DType.of(d)
        into = self.into(first)
        if (self.mixed or first == second) and result.name in into:
            return first, second, result
        each = (f"{one} goes with {one} into {' and '.join(self.into(one))}" for one in self.types)
        raise Refused(
            "TW602",
            f"kind::{self.name} does not multiply {first} by {second} into {result}",
            witness={"kind": self.name, "a": first.name, "b": second.name, "d": result.name},
            hint=f"it accumulates in {' and '.join(into)}" if self.mixed else "; ".join(each),
        )

    def into(self, dtype: DType | str) -> tuple[str, ...]:
        """Return the types of D for one of A."""
        return ("f32",) if DType.of(dtype).name == "bf16" else self.results

    def needs(self, sparse: bool = False) -> Needs:
        """Return the architectures that have the kind."""
        return SPARSE_4 if self.packed and sparse else self.owned


@dataclass(frozen=True)
class Product:
    """The products of a kind that differ only in M and N.

    >>> pair = Product(Kind.of("i8"), cta_group=2)
    >>> pair.k, [*pair.shapes], pair.words
    (32, [128, 256], 'tcgen05.mma.cta_group::2.kind::i8')
    """

    kind: Kind
    cta_group: int = 1
    """CTAs that multiply together."""
    sparse: bool = False
    """True if A is sparse."""
    ws: bool = False
    k: int = 0
    """K, in elements of A with its zeros; 0 for the kind's."""

    def __post_init__(self) -> None:
        check_group(self.cta_group)
        if not self.k:
            object.__setattr__(self, "k", self.kind.depth(self.sparse))
            return
        legal = self.depths
        if self.k not in legal:
            others = [one.name for one in KINDS.values() if self.k in Product(one, sparse=self.sparse).depths]
            other = f"{'dense' if self.sparse else 'sparse'} A {self.kind.depth(not self.sparse)}"
            having = f"; kind::{' and kind::'.join(others)} ha{'ve' if len(others) > 1 else 's'} K = {self.k}"
            raise Refused(
                "TW602",
                f"kind::{self.kind.name} has no K = {self.k}{' with sparse A' * self.sparse}",
                witness={"kind": self.kind.name, "k": self.k},
                hint=f"K is {' or '.join(map(str, legal))}, with {other}{having * bool(others)}",
            )

    @property
    def depths(self) -> tuple[int, ...]:
        """Return every legal K.

        >>> Product(Kind.of("mxf4")).depths, Product(Kind.of("mxf4"), sparse=True).depths
        ((64, 96), (128,))
        """
        deep = (DEEP_K,) if self.kind.packed and not self.sparse else ()
        return (self.kind.depth(self.sparse), *deep)

    def stored(self, operand: str) -> int:
        """Return the elements along K of A, or of B, that are stored and read."""
        return self.k // 2 if self.sparse and operand == "A" else self.k

    @property
    def needs(self) -> Needs:
        """Return the architectures that have it.

        >>> Product(Kind.of("mxf4")).needs, Product(Kind.of("mxf4"), k=96).needs
        (sm_100f and sm_110f, and the later ones of their families, sm_103a)
        """
        return DEEP if self.k == DEEP_K else self.kind.needs(self.sparse)

    @cached_property
    def words(self) -> str:
        """Return its instruction by PTX's name, up to the number of scales.

        >>> Product(Kind.of("i8"), ws=True, sparse=True).words
        'tcgen05.mma.ws.sp.cta_group::1.kind::i8'
        """
        first = f"tcgen05.mma{'.ws' * self.ws}{'.sp' * self.sparse}.cta_group::{self.cta_group}"
        return f"{first}.kind::{self.kind.name}{'.block_scale' * self.kind.scaled}"

    def scales(self, scale: str | None = None, dtype: str | None = None) -> tuple[Scaling, str]:
        """Return the scaling that words such as 2X, 3X or block32 name, and the number of scales in a row.

        If several fit, the finest is returned.

        >>> kind = Kind.of("mxf4nvf4")
        >>> print(*Product(kind).scales("block32"), "|", *Product(kind, k=96).scales("6x"))
        scale_vec::2X of ue8m0 2X | scale_vec::4X of ue4m3 6X
        """
        kind, asked = self.kind, None if scale is None else scale_named(scale)
        coarse = "1X" if kind.k < 64 else "2X"
        word = {"block32": coarse, "block16": "4X", "3X": "2X", "6X": "4X"}.get(asked or "", asked)
        dtype = None if dtype is None else DType.of(dtype).name
        fitting = where(kind.scalings, word=word, dtype=dtype)
        found = fitting[-1] if fitting else kind.scaling(word, dtype)
        held = DEEP_SCALES[found.word] if self.k == DEEP_K else found.word
        if asked in BLOCKS and asked != held:
            raise Refused(
                "TW602",
                f"K = {self.k} of kind::{kind.name} has no {asked} scales",
                witness={"k": self.k, "scale": asked},
                hint=f"it has {held}",
            )
        return found, held

    # -- M and N ---------------------------------------------------------------------------------------

    @cached_property
    def shapes(self) -> Mapping[int, tuple[int, ...]]:
        """Return {M: the legal N}; {} where there is no such product.

        >>> {m: (n[0], n[-1]) for m, n in Product(Kind.of("i8"), ws=True, sparse=True).shapes.items()}
        {32: (64, 128), 64: (64, 128), 128: (64, 128)}
        >>> [*Product(Kind.of("mxf4"), cta_group=2, sparse=True).shapes]
        [256]
        """
        scaled, legal = self.kind.scaled, self.kind.n[self.cta_group - 1]
        if self.ws:
            fitting = self.cta_group == 1 and not scaled
            return dict.fromkeys((32, 64, 128), _WS[:-1] if self.sparse else _WS) if fitting else {}
        if self.cta_group == 2:
            whole = scaled and (self.sparse or self.k == DEEP_K)
            return dict.fromkeys((256,) if whole else (128, 256), legal)
        return dict.fromkeys((128,) if scaled else (64, 128), legal)

    def filled(self, m: int | None = None, n: int | None = None) -> tuple[int, int]:
        """Return (M, N), with a legal size for a missing one, if there is one."""
        shapes = self.shapes
        m = next(iter(shapes), 128) if m is None else m
        return m, shapes.get(m, (128,))[-1] if n is None else n

    def rows(self, operand: str, m: int | None = None, n: int | None = None) -> tuple[int, ...]:
        """Return the rows that one CTA may read of an operand, the fewest first; M or N leave one.

        Each CTA of a pair has half of A's rows and half of B's.

        >>> f16 = Kind.of("f16")
        >>> Product(f16).rows("A"), Product(f16, cta_group=2).rows("B", n=96)
        ((64, 128), (48,))
        """
        some_m, some_n = self.check(*self.filled(m, n))
        asked, one = (m, some_m) if operand == "A" else (n, some_n)
        every = self.shapes if operand == "A" else self.shapes[some_m]
        return tuple(size // self.cta_group for size in ([*every] if asked is None else [one]))

    def check(self, m: int, n: int, b: DType | str | None = None, b_major: str = "k") -> tuple[int, int]:
        """Return (M, N), or refuse them with the nearest legal ones; B may allow less.

        >>> Product(Kind.of("f16"), cta_group=2).check(128, 24)
        Traceback (most recent call last):
        tilewise.Refused: TW602: kind::f16 has no M = 128, N = 24 of cta_group 2
          hint: the nearest N are 16 and 32
        """
        m, n, name, legal = as_int(m, "M"), as_int(n, "N"), self.kind.name, self.shapes
        deep = f", K = {self.k}" * (self.k == DEEP_K)
        such = f"cta_group {self.cta_group}{', .ws' * self.ws}{', sparse A' * self.sparse}{deep}"
        step = 16 * self.cta_group
        if m not in legal:
            asked = f"M = {m} of {such}" if legal else f"product of {such}"
            reason, hint = f"kind::{name} has no {asked}", self._having(m)
        elif n not in legal[m]:
            reason, hint = f"kind::{name} has no M = {m}, N = {n} of {such}", nearest(legal[m], n)
        elif b is not None and b_major == "mn" and self.kind.check(b).bits == BYTE and n % step:
            reason = f"N = {n} of an N-major B of {b} is no multiple of {step}"
            hint = nearest(range(step, 257, step), n)
        else:
            return m, n
        told = {each: getattr(self, each) for each in ("cta_group", "sparse", "ws")}
        raise Refused("TW602", reason, witness={"kind": name, "m": m, "n": n, **told}, hint=hint)

    def _having(self, m: int) -> str:
        """Return the hint for an illegal M: the variant that has it, or other M."""
        if not self.shapes:
            return ".ws is of one CTA, and of kinds without scales"
        for group, such in ((2, False), (1, True), (1, False)):
            if m in replace(self, cta_group=group, ws=such).shapes:
                return f"M = {m} is of cta_group {group}{' with .ws' * such}"
        return f"M is {' or '.join(map(str, self.shapes))}"


def kind_of(a: DType | str, b: DType | str | None = None) -> Kind:
    """Return the first kind that multiplies two types, without scales where possible.

    >>> [kind_of(dtype).name for dtype in ("bf16", "tf32", "e4m3", "e2m1", "u8")]
    ['f16', 'tf32', 'f8f6f4', 'f8f6f4', 'i8']
    """
    first = DType.of(a).name
    second = first if b is None else DType.of(b).name
    for kind in where(KINDS.values(), types=first):
        if second in kind.types and (kind.mixed or first == second):
            return kind
    known = " ".join(values(KINDS.values(), "types"))
    raise Refused(
        "TW602",
        f"tcgen05 does not multiply {first}" + ("" if first == second else f" by {second}"),
        witness={"a": first, "b": second},
        hint=f"it multiplies {known}" + ("; 32-bit floats are multiplied as tf32" if first == "f32" else ""),
    )


@cache
def product_of(kind: str, cta_group: int = 1, sparse: bool = False, ws: bool = False, k: int = 0) -> Product:
    """Return the products of the kind of that name, which are made once."""
    return Product(KINDS[kind], cta_group, sparse, ws, k)


def check_group(cta_group: int) -> int:
    """Return the number of CTAs that work together, or refuse any number but 1 and 2."""
    if cta_group not in (1, 2):
        raise LayoutError("TW601", f"there is no cta_group {cta_group}", hint="a product is of 1 or 2 CTAs")
    return cta_group


KINDS = {
    kind.name: kind
    for kind in (
        Kind("f16", ("f16", "bf16"), ("f16", "f32"), 16, mixed=False),
        Kind("tf32", ("tf32",), ("f32",), 8),
        Kind("f8f6f4", F8F6F4, ("f16", "f32"), 32),
        Kind("i8", ("s8", "u8"), ("s32",), 32, n=(_INTEGER_N, _BY_32), owned=INTEGERS),
        Kind("mxf8f6f4", F8F6F4, ("f32",), 32, (Scaling(1, "ue8m0"),)),
        Kind("mxf4", ("e2m1",), ("f32",), 64, (Scaling(2, "ue8m0"),)),
        Kind(
            "mxf4nvf4",
            ("e2m1",),
            ("f32",),
            64,
            (Scaling(2, "ue8m0"), Scaling(4, "ue8m0"), Scaling(4, "ue4m3")),
        ),
    )
}
"""{name: kind}."""
