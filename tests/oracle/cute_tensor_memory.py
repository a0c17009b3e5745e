"""Where CuTe's headers put what tcgen05.mma has in tensor memory, printed by a program compiled from them.

The traits of an operation name the types of its fragments, and such a type makes a tensor of a shape: D, A,
the metadata of sparse A, and scale factors. Of `.ws` there is no operation, and its fragments are made by
their own names. No GPU is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tests.oracle.cute_traits import printed

N = 64
FACTOR_K = (4, 8)
"""Scale factors of a row."""

RESULTS = {"f32": "float", "f16": "half_t", "s32": "int32_t"}
TYPES = {
    "f16": "half_t",
    "bf16": "bfloat16_t",
    "tf32": "tfloat32_t",
    "s8": "int8_t",
    "u8": "uint8_t",
    "e4m3": "float_e4m3_t",
    "e5m2": "float_e5m2_t",
    "e2m3": "detail::float_e2m3_unpacksmem_t",
    "e3m2": "detail::float_e3m2_unpacksmem_t",
    "e2m1": "detail::float_e2m1_unpacksmem_t",
}
"""{type: CuTe's}; those of 6 and 4 bits as its operations with elements of a byte take them."""

OPERATIONS = {"f16": "F16BF16", "tf32": "TF32", "i8": "S8", "f8f6f4": "F8F6F4"}
"""{kind without scales: its word in the name of an operation}."""

SCALED = (
    ("mxf8f6f4", "MXF8F6F4", "float_e4m3_t", "float_ue8m0_t", 32),
    ("mxf4", "MXF4", "float_e2m1_t", "float_ue8m0_t", 32),
    ("mxf4nvf4", "MXF4", "float_e2m1_t", "float_ue4m3_t", 16),
)
"""(kind, its word in the name of an operation, types of A and of its scales, elements that share one)."""

_INTO = {"i8": "int32_t"}
_SHAPES = ((64, 1), (128, 1), (128, 2), (256, 2))
_WHOLE = ((128, 1), (256, 2))
"""M and CTAs where a CTA has 128 rows."""


@dataclass(frozen=True)
class Fragment:
    """A tensor in tensor memory: for each of its indices, the leftmost digit the fastest, where it is."""

    what: str
    of: dict[str, Any]
    """The values of its instance in the catalogue."""
    type: str
    """Its type in CuTe."""
    lane: int
    """From a lane to the next, in what it counts; a column of 32 bits is one part of 65,536 of that."""
    rows: int
    """Of one CTA, copies and all."""
    columns: int
    """Of one instruction; of scale factors how many a row has of it."""
    firsts: list[int]
    """The first row of each CTA."""
    places: list[int]

    @property
    def bits(self) -> float:
        """Of what it counts: of metadata columns of A, of which four may share two bits."""
        return 32 * 65536 / self.lane

    def cells(self) -> Iterator[tuple[int, int, int, int, float]]:
        """(row, column, instruction, lane, bit of the lane) of every index."""
        for index, place in enumerate(self.places):
            rest, row = divmod(index, self.rows)
            tile, column = divmod(rest, self.columns)
            lane, inside = divmod(place, self.lane)
            yield row, column, tile, lane, inside * self.bits


@dataclass(frozen=True)
class _Asked:
    what: str
    of: dict[str, Any]
    call: str
    type: str


def fragments(folder: Path) -> list[Fragment]:
    """All of them."""
    asked = [*_accumulators(), *_multiplicands(), *_metadata(), *_factors()]
    calls = "".join(f"    {one.call}<{one.type}>();\n" for one in asked)
    found = printed(folder, "tensor_memory", f"{_HEAD}{_PRINT}int main()\n{{\n{calls}}}\n")
    return [
        Fragment(what=one.what, of=one.of, type=one.type, **said)
        for one, said in zip(asked, found, strict=True)
    ]


# -- what is asked ---------------------------------------------------------------------------------


def _operation(word: str, ctas: int, form: str, *parameters: object) -> str:
    """Such as SM100_MMA_F16BF16_2x1SM_TS, K-major."""
    pair = "_2x1SM" * (ctas == 2)
    given = ", ".join(map(str, (*parameters, "UMMA::Major::K", "UMMA::Major::K")))
    return f"SM100_MMA_{word}{pair}_{form}<{given}>"


def _accumulators() -> Iterator[_Asked]:
    """Of products whose A is in shared memory. Of M = 64 there are two, the second in the other lanes."""
    for (m, ctas), (result, into), sparse in product(_SHAPES, RESULTS.items(), (False, True)):
        word, dtype = ("S8", "int8_t") if result == "s32" else ("F16BF16", "half_t")
        form = "SS_SPARSE" if sparse else "SS"
        of = {"m": m, "dtype": result, "cta_group": ctas, "sparse": sparse}
        yield _Asked("D", of, "d", _operation(word, ctas, form, dtype, dtype, into, m, N))
    for m, (result, into) in product((32, 64, 128), RESULTS.items()):
        of = {"m": m, "dtype": result, "ws": True}
        yield _Asked("D", of, "fragment", f"UMMA::tmem_frg_ws_1sm<{into}>, {m}, {N}")


def _multiplicands() -> Iterator[_Asked]:
    dtypes = {"f16": ("f16", "bf16"), "tf32": ("tf32",), "i8": ("s8", "u8")}
    for (kind, word), (m, ctas) in product(OPERATIONS.items(), _SHAPES):
        for dtype in dtypes.get(kind, ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")):
            of = {"m": m, "dtype": dtype, "cta_group": ctas}
            named = (TYPES[dtype], TYPES[dtype], _INTO.get(kind, "float"), m, N)
            yield _Asked("A", of, "a", _operation(word, ctas, "TS", *named))


def _metadata() -> Iterator[_Asked]:
    """Of two instructions; below 128 rows of a CTA there are those of `.ws` alone."""
    dtypes = {"f16": "half_t", "tf32": "tfloat32_t", "i8": "int8_t", "f8f6f4": "float_e4m3_t"}
    for m, ctas in _WHOLE:
        for kind, word in OPERATIONS.items():
            named = (dtypes[kind], dtypes[kind], _INTO.get(kind, "float"), m, N)
            yield _e(kind, m, ctas, _operation(word, ctas, "SS_SPARSE", *named))
        for kind, word, dtype, *vector in (
            ("mxf8f6f4", "MXF8F6F4", "float_e4m3_t"),
            ("mxf4", "MXF4NVF4", "float_e2m1_t", 64),
            ("mxf4nvf4", "MXF4NVF4", "float_e2m1_t", 32),
        ):
            named = (dtype, dtype, "float", "float_ue8m0_t", m, N, *vector)
            yield _e(kind, m, ctas, _operation(word, ctas, "SS_SPARSE", *named))
    for (kind, dtype), m in product(dtypes.items(), (32, 64, 128)):
        deep = {"f16": 32, "tf32": 16}.get(kind, 64)
        of = {"kind": kind, "m": m, "ws": True}
        yield _Asked("E", of, "fragment", f"UMMA::tmem_e_frg_ws<{dtype}>, {m}, {deep}, 2")


def _e(kind: str, m: int, ctas: int, operation: str) -> _Asked:
    return _Asked("E", {"kind": kind, "m": m, "cta_group": ctas}, "e", operation)


def _factors() -> Iterator[_Asked]:
    """Of both operands. Of a pair with M = 128 it has no factors of A, and of `mxf8f6f4` no product.

    Of B's of such a pair one size is an instance.
    """
    for (m, ctas), sf_k, n, scaled in product(_WHOLE, FACTOR_K, (128, 256), SCALED):
        yield _factor("sfb", n, n, sf_k, m, ctas, scaled)
        if n == 128:
            yield _factor("sfa", m, n, sf_k, m, ctas, scaled)
    for scaled in SCALED[1:]:
        yield _factor("sfb", 256, 256, 4, 128, 2, scaled)


def _factor(
    what: str, rows: int, n: int, sf_k: int, m: int, ctas: int, scaled: tuple[str, str, str, str, int]
) -> _Asked:
    kind, word, dtype, scale, vector = scaled
    several = (vector,) if word == "MXF4" else ()
    operation = _operation(word, ctas, "SS", dtype, dtype, "float", scale, m, n, *several)
    of = {"kind": kind, "rows": rows, "sf_k": sf_k, "m": m, "cta_group": ctas}
    return _Asked(what, of, what, f"{operation}, {vector * sf_k}")


_HEAD = """\
#include <cstdio>
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/mma_traits_sm100.hpp>
#include <cutlass/detail/sm100_blockscaled_layout.hpp>
"""

_PRINT = """
using namespace cute;

template <class Tensor> void places(Tensor const &tensor, int rows, int columns, int sharing = 1)
{
    auto layout = tensor.layout();
    printf("{\\"lane\\": %d, \\"rows\\": %d, \\"columns\\": %d, \\"places\\": [",
           int(TMEM::DP<typename Tensor::value_type>{}), rows, columns / sharing);
    for (int i = 0; i < int(size(layout)); i++)
        if (i / rows % sharing == 0) printf(i ? ",%d" : "%d", int(layout(i)));  // of those that share one
    printf("], \\"firsts\\": [");
}

template <class Type, int Rows, int Columns, int Along = 1> void fragment()
{
    auto tensor = make_tensor<Type>(Shape<Shape<Int<Rows>, Int<Columns>>, _1, Int<Along>>{});
    places(tensor, Rows, Columns);
    printf("0]}\\n");
}

template <class Operation> struct Of
{
    using Traits = MMA_Traits<Operation>;
    using Shape_MNK = typename Traits::Shape_MNK;
    static constexpr int ctas = decltype(size(typename Traits::ThrID{}))::value;
    static constexpr int m = decltype(size<0>(Shape_MNK{}))::value, rows = m / ctas;
    static constexpr int n = decltype(size<1>(Shape_MNK{}))::value, k = decltype(size<2>(Shape_MNK{}))::value;

    static void firsts()
    {
        for (int cta = 0; cta < ctas; cta++)
            printf(cta ? ",%d" : "%d", int(typename Traits::ALayout{}(cta, 0)) % m);
        printf("]}\\n");
    }
};

template <class Operation> void d()
{
    using This = Of<Operation>;
    constexpr int tiles = This::m == 64 ? 2 : 1;
    using Tiles = Shape<Shape<Int<This::rows>, Int<This::n>>, Int<tiles>, _1>;
    places(make_tensor<typename This::Traits::FrgTypeC>(Tiles{}), This::rows, This::n);
    This::firsts();
}

template <class Operation> void a()
{
    using This = Of<Operation>;
    using Tiles = Shape<Shape<Int<This::rows>, Int<This::k>>, _1, _1>;
    auto tensor = make_tensor<typename This::Traits::FrgTypeA>(Tiles{});
    places(tensor, size<0, 0>(tensor.layout()), This::k);
    This::firsts();
}

template <class Operation> void e()
{
    using This = Of<Operation>;
    using Tiles = Shape<Shape<Int<This::rows>, Int<This::k>>, _1, _2>;
    places(make_tensor<typename This::Traits::FrgTypeE>(Tiles{}), This::rows, This::k);
    This::firsts();
}

template <class Operation, int Deep, bool Left> void factors()
{
    using This = Of<Operation>;
    using Tiled = decltype(make_tiled_mma(Operation{}));
    using Block = cutlass::detail::Sm1xxBlockScaledConfig<This::Traits::SFVecSize>;
    using Tile = Shape<Int<This::m>, Int<This::n>, Int<Deep>>;
    if constexpr (Left) {
        auto tensor = make_tensor<typename This::Traits::FrgTypeSFA>(
            shape(decltype(Block::deduce_smem_layoutSFA(Tiled{}, Tile{})){}));
        places(tensor, size<0, 0>(tensor.layout()), This::k, This::Traits::SFVecSize);
    } else {
        auto tensor = make_tensor<typename This::Traits::FrgTypeSFB>(
            shape(decltype(Block::deduce_smem_layoutSFB(Tiled{}, Tile{})){}));
        places(tensor, size<0, 0>(tensor.layout()), This::k, This::Traits::SFVecSize);
    }
    This::firsts();
}

template <class Operation, int Deep> void sfa() { factors<Operation, Deep, true>(); }
template <class Operation, int Deep> void sfb() { factors<Operation, Deep, false>(); }

"""
