"""Products of matrices and bulk copies of PTX as calls of engines.

wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {..}, %rd1, %rd2, %p1, 1, 1, 0, 1;
tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 4096, [%r2];
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 32768;
"""

from __future__ import annotations

import re

import numpy as np

from tilewise.compiled.generic import low
from tilewise.compiled.lanes import LaneReader
from tilewise.compiled.program import CopyWords, EngineCall, ProductWords
from tilewise.compiled.ptx.operands import Words, address, immediate, number
from tilewise.core.dtypes import DTYPES
from tilewise.hardware.limits import LANES

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_TENSOR = re.compile(r"\[[^,]*,\s*\{([^}]*)\}\s*\]")
TRANSPOSED = ("f16", "bf16")
"""Types whose wgmma says by its last operands how A and B lie."""


def engine_call(words: Words, writes: tuple[str, ...]) -> EngineCall | None:
    """Return the call of an engine that an instruction is, or None for another instruction."""
    match words.base, words.parts:
        case "wgmma", ("mma_async", *_):
            return _wgmma(words, writes)
        case "tcgen05", ("mma", *_):
            return _tcgen05(words)
        case ("mma", _) | ("wmma", ("mma", *_)):
            shape, types = _shape(words), _types(words)
            sparse = words.parts[0].startswith("sp")
            return EngineCall(ProductWords("mma", shape, types, sparse=sparse), {}, LANES, writes)
        case "cp", (("async", "bulk", *rest) | ("reduce", "async", "bulk", *rest)):
            return None if rest[0] in ("commit_group", "wait_group") else _copy(words)
        case "mbarrier", parts if "expect_tx" in parts:
            return EngineCall(
                None, {"barrier": _shared(words.operands[-2], words), "bytes": _number(-1, words)}
            )
    return None


# -- products --------------------------------------------------------------------------------------------


def _wgmma(words: Words, writes: tuple[str, ...]) -> EngineCall:
    a, b = words.operands[1:3]
    given = {"B": number(b, np.uint64, words)}
    if not a.startswith("{"):
        given = {"A": number(a, np.uint64, words)} | given
    types = _types(words)
    last = words.operands[-len(given) :] if types[0] in TRANSPOSED else ("0",) * len(given)
    majors = {letter: "mn" if immediate(one) else "k" for letter, one in zip(given, last, strict=True)}
    sparse = "sp" in words.parts
    a_from = "shared" if "A" in given else "registers"
    said = ProductWords("wgmma", _shape(words), types, {"A": "k"} | majors, a_from, sparse=sparse)
    return EngineCall(said, given, 4 * LANES, writes)


def _shape(words: Words) -> tuple[int, int, int]:
    m, n, k = next(found for part in words.parts if (found := _SHAPE.fullmatch(part))).groups()
    return int(m), int(n), int(k)


def _types(words: Words) -> tuple[str, str, str]:
    """Return the types of A, B and D; a wmma of f16 names those of D and C alone."""
    d, *rest = [part for part in words.parts if part in DTYPES]
    return (rest[0], rest[1], d) if len(rest) > 1 else ("f16", "f16", d)


def _tcgen05(words: Words) -> EngineCall:
    a, b = words.operands[1:3]
    sparse = "sp" in words.parts
    given = {"B": number(b, np.uint64, words), "idesc": _number(4 if sparse else 3, words)}
    if not a.startswith("["):
        given["A"] = number(a, np.uint64, words)
    said = ProductWords(
        "tcgen05",
        a_from="shared" if "A" in given else "tensor memory",
        kinds=tuple(part.removeprefix("kind::") for part in words.parts if part.startswith("kind::")),
        cta_group=2 if "cta_group::2" in words.parts else 1,
        ws="ws" in words.parts,
        sparse=sparse,
    )
    return EngineCall(said, given)


# -- copies ----------------------------------------------------------------------------------------------


def _copy(words: Words) -> EngineCall:
    spaces = [part.split("::")[0] for part in words.parts if part.startswith(("shared", "global"))]
    target, source = ("L2", *spaces) if "prefetch" in words.parts else spaces
    places = [one for one in words.operands if one.startswith("[")]
    given: dict[str, LaneReader] = {}
    if "shared" in (target, source):
        given["shared"] = _shared(places[0 if target == "shared" else 1], words)
    if target == "shared":
        given["barrier"] = _shared(places[2], words)
    tensor = next((found for one in places if (found := _TENSOR.fullmatch(one))), None)
    if tensor is None:
        size = next(place for place, one in enumerate(words.operands) if not one.startswith("["))
        return EngineCall(CopyWords(source, target), given | {"bytes": _number(size, words)})
    for place, name in enumerate(tensor[1].split(",")):
        given[f"x{place}"] = number(name.strip(), np.uint32, words)
    dimensions = next(int(part[0]) for part in words.parts if re.fullmatch(r"[1-5]d", part))
    return EngineCall(CopyWords(source, target, dimensions), given)


def _shared(place: str, words: Words) -> LaneReader:
    return low(address(place, words))


def _number(place: int, words: Words) -> LaneReader:
    return number(words.operands[place], np.uint32, words)
