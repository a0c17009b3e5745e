"""Random types with layouts as Triton 3.9 writes them, kind by kind.

A function draws the text of one type from a `Random`. Most of the texts are legal; Triton's own parser
decides. The rules are those of the attributes' verifiers in lib/Dialect/TritonGPU/IR/Dialect.cpp and
lib/Dialect/TritonNvidiaGPU/IR/Dialect.cpp, in github.com/triton-lang/triton.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

ELEMENTS = {
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64,
    "f8E4M3FN": 8, "f8E5M2": 8,
}  # fmt: skip
BYTES = [name for name, bits in ELEMENTS.items() if bits >= 8]
LARGEST = 12
"""Binary digits of the largest tensor's index."""


def written(kind: str, **fields: object) -> str:
    """Write an encoding: `#ttg.kind<{key = value, ...}>`, without the keys whose value is None."""
    told = ", ".join(f"{key} = {_value(value)}" for key, value in fields.items() if value is not None)
    return f"#ttg.{kind}<{{{told}}}>"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(of)}" for key, of in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def tensor(random: Random, shape: Sequence[int], encoding: str) -> str:
    """Write a type of values in registers: numbers, or pointers to them."""
    element = random.choice(list(ELEMENTS))
    if random.random() < 0.1:
        element = f"!tt.ptr<{element}>"
    return f"tensor<{_extents(shape)}x{element}, {encoding}>"


def memory(random: Random, shape: Sequence[int], encoding: str, element: str = "") -> str:
    """Write a type of a buffer in shared memory: sometimes several buffers, sometimes a part of one."""
    element = element or random.choice(BYTES)
    start, allocated = list(shape), ""
    if random.random() < 0.15:
        start[0] = max(1, shape[0] // random.choice((1, 2, 4)))
        allocated = ", " + _extents(shape)
    elif random.random() < 0.1:
        start = [random.choice((1, 2, 3)), *shape]
    mutable = ", mutable" if allocated or random.random() < 0.8 else ""
    return f"!ttg.memdesc<{_extents(start)}x{element}, {encoding}, #ttg.shared_memory{mutable}{allocated}>"


def _extents(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def power(random: Random, low: int, high: int) -> int:
    return 1 << random.randint(low, high)


def powers(random: Random, rank: int, bits: int) -> list[int]:
    """Deal so many binary digits to the dimensions."""
    found = [1] * rank
    for _ in range(bits):
        found[random.randrange(rank)] *= 2
    return found


def rank_of(random: Random, low: int = 1, high: int = 4) -> int:
    return min(high, max(low, random.choice((1, 2, 2, 2, 3, 3, 4))))


def shape_of(random: Random, rank: int, low: int = 0) -> list[int]:
    return powers(random, rank, random.randint(low, LARGEST))


def order_of(random: Random, rank: int) -> list[int]:
    return random.sample(range(rank), rank)


def ctas(random: Random, rank: int, often: float = 0.3) -> list[list[int]] | None:
    """Draw how the CTAs of a cluster share a tensor: bases of blocks, of which some are zero."""
    if random.random() >= often:
        return None
    reached = [1] * rank
    bases = []
    for _ in range(random.randint(1, 3)):
        basis = [0] * rank
        if random.random() < 0.8:
            dim = random.randrange(rank)
            basis[dim] = reached[dim]
            reached[dim] *= 2
        bases.append(basis)
    if random.random() < 0.2:
        random.shuffle(bases)
    return bases


def _for_all(bases: Sequence[Sequence[int]] | None, shape: Sequence[int]) -> list[int]:
    """Return the shape that the CTAs have together, where each of them has this one."""
    split = [sum(basis[dim] > 0 for basis in bases or []) for dim in range(len(shape))]
    return [extent << bits for extent, bits in zip(shape, split, strict=True)]


def waves(random: Random) -> int:
    """Draw the binary digits of a lane: a warp of 32, or a wave of 64."""
    return random.choice((5, 5, 5, 6))


def _blocked(random: Random, rank: int) -> str:
    return written(
        "blocked",
        sizePerThread=powers(random, rank, random.randint(0, 5)),
        threadsPerWarp=powers(random, rank, waves(random)),
        warpsPerCTA=powers(random, rank, random.randint(0, 3)),
        order=order_of(random, rank),
        CGALayout=ctas(random, rank),
    )


def blocked(random: Random) -> str:
    rank = rank_of(random)
    return tensor(random, shape_of(random, rank), _blocked(random, rank))


def _linear(random: Random, shape: Sequence[int]) -> str:
    """Deal the binary digits of an index, and some zeros, to registers, lanes, warps and blocks."""
    rank = len(shape)
    digits = [[bit if at == dim else 0 for at in range(rank)] for dim, bit in _bits(shape)]
    if random.random() < 0.7:
        random.shuffle(digits)
    parts = {"lane": waves(random), "warp": random.randint(0, 3), "block": random.choice((0, 0, 0, 1))}
    zeros = max(random.choice((0, 0, 1, 2)), sum(parts.values()) - len(digits))
    for _ in range(zeros):
        digits.insert(random.randint(0, len(digits)), [0] * rank)
    lane, warp, block = list(parts.values())
    first = random.randint(0, len(digits) - lane - warp - block)
    taken = digits[first : first + lane + warp + block]
    return written(
        "linear",
        register=digits[:first] + digits[first + len(taken) :],
        lane=taken[:lane],
        warp=taken[lane : lane + warp],
        block=taken[lane + warp :],
    )


def _bits(shape: Sequence[int]) -> list[tuple[int, int]]:
    return [
        (dim, 1 << at) for dim in reversed(range(len(shape))) for at in range(shape[dim].bit_length() - 1)
    ]


def linear(random: Random) -> str:
    shape = shape_of(random, rank_of(random), low=4)
    encoding = _linear(random, shape)
    if random.random() < 0.4:  # the tensor is larger or smaller than the tile
        shape = [max(1, extent * random.choice((1, 2, 4, 8)) // 4) for extent in shape]
    return tensor(random, shape, encoding)


def _mma2(random: Random, rank: int) -> str:
    instruction = random.choice(([16, 8], [16, 8], [16, 8], [8, 8]))
    return written(
        "nvidia_mma",
        versionMajor=2,
        versionMinor=random.choice((0, 0, 1)),
        warpsPerCTA=powers(random, rank, random.randint(0, 3)),
        CGALayout=ctas(random, rank),
        instrShape=[1] * (rank - 2) + instruction,
    )


def mma2(random: Random) -> str:
    rank = rank_of(random, 2, 3)
    return tensor(random, shape_of(random, rank), _mma2(random, rank))


def _mma3(random: Random) -> str:
    return written(
        "nvidia_mma",
        versionMajor=3,
        versionMinor=0,
        warpsPerCTA=[4 * power(random, 0, 1), power(random, 0, 1)],
        CGALayout=ctas(random, 2),
        instrShape=[16, power(random, 3, 8), random.choice((8, 16, 32))],
    )


def mma3(random: Random) -> str:
    return tensor(random, shape_of(random, 2, low=4), _mma3(random))


def _mfma(random: Random, rank: int) -> str:
    """Draw a tile of mfma. Triton has 64 x 4 transposed alone, and 4 x 64 not transposed alone."""
    wide, transposed = random.random() < 0.1, random.random() < 0.5
    shape = random.choice(
        ([32, 32, 8], [32, 32, 16], [16, 16, 16], [16, 16, 32], [64, 4, 4] if transposed else [4, 64, 4])
    )
    return written(
        "amd_mfma",
        version=random.randint(1, 4),
        warpsPerCTA=powers(random, rank, random.randint(0, 3)),
        instrShape=[16, 16, 4] if wide else shape,
        isTransposed=transposed,
        CGALayout=ctas(random, rank, 0.15),
        tilesPerWarp=powers(random, rank, random.randint(1, 2))
        if rank == 2 and random.random() < 0.3
        else None,
        elementBitWidth=64 if wide else None,
    )


def mfma(random: Random) -> str:
    rank = rank_of(random, 2, 3)
    return tensor(random, shape_of(random, rank, low=3), _mfma(random, rank))


WMMA = {
    1: ([16, 16, 16],),
    2: ([16, 16, 16], [16, 16, 32]),
    3: ([16, 16, 4], [16, 16, 32], [16, 16, 64], [16, 16, 128], [32, 16, 64], [32, 16, 128]),
}


def _wmma(random: Random, rank: int, version: int) -> str:
    """Draw tiles of wmma, dealt to registers and warps as the digits of an index of tiles are."""
    tiles = powers(random, rank, random.randint(0, 4))
    digits = [[bit if at == dim else 0 for at in range(rank)] for dim, bit in _bits(tiles)]
    if random.random() < 0.5:
        random.shuffle(digits)
    if random.random() < 0.15:
        digits.append([0] * rank)
    cut = random.choice((0, 0, 0, random.randint(0, len(digits))))
    dealt = {"register": digits[:cut]} if cut else {}
    return written(
        "amd_wmma",
        version=version,
        isTranspose=random.random() < 0.5,
        ctaLayout={**dealt, "warp": digits[cut:]},
        CGALayout=ctas(random, rank, 0.15),
        instrShape=random.choice(WMMA[version]) if version > 1 else None,
        rank=rank if rank > 2 else None,
    )


def wmma(random: Random) -> str:
    rank = rank_of(random, 2, 3)
    return tensor(random, shape_of(random, rank, low=3), _wmma(random, rank, random.randint(1, 3)))


def _dot(
    random: Random, rank: int, parent: str, widths: Sequence[int] = (), operand: int | None = None
) -> str:
    operand = random.randint(0, 1) if operand is None else operand
    encoding = written(
        "dot_op", opIdx=operand, parent=parent, kWidth=random.choice(widths) if widths else None
    )
    return tensor(random, shape_of(random, rank, low=3), encoding)


def dot_blocked(random: Random) -> str:
    rank = rank_of(random, 2, 3)
    return _dot(random, rank, _blocked(random, rank))


def dot_mma2(random: Random) -> str:
    rank = rank_of(random, 2, 3)
    return _dot(random, rank, _mma2(random, rank), (1, 2, 4, 8))


def dot_mma3(random: Random) -> str:
    return _dot(random, 2, _mma3(random), (1, 2, 4), operand=0)


def dot_mfma(random: Random) -> str:
    rank = rank_of(random, 2, 3)
    return _dot(random, rank, _mfma(random, rank), (1, 2, 4, 8, 16))


def dot_wmma(random: Random) -> str:
    rank, version = rank_of(random, 2, 3), random.randint(1, 3)
    widths = {1: (8, 16), 2: (4, 8, 16), 3: (2, 4, 8, 16)}[version]
    return _dot(random, rank, _wmma(random, rank, version), widths)


PARENTS: tuple[Callable[[Random, int], str], ...] = (
    _blocked,
    _blocked,
    _mma2,
    _mfma,
    lambda random, rank: _wmma(random, rank, random.randint(1, 3)),
    lambda random, rank: _mma3(random) if rank == 2 else _mma2(random, rank),
    lambda random, rank: _linear(random, shape_of(random, rank, low=4)),
    lambda random, rank: _slice(random, rank) if rank < 4 else _blocked(random, rank),
)


def _slice(random: Random, rank: int) -> str:
    parents = PARENTS if rank in (1, 2) else (*PARENTS[:2], *PARENTS[-2:])
    parent = random.choice(parents)(random, rank + 1)
    return written("slice", dim=random.randint(0, rank), parent=parent)


def sliced(random: Random) -> str:
    rank = rank_of(random, 1, 3)
    return tensor(random, shape_of(random, rank), _slice(random, rank))


def swizzled_shared(random: Random) -> str:
    rank = rank_of(random)
    shape = shape_of(random, rank, low=2)
    plain = rank == 1 or random.random() < 0.2
    encoding = written(
        "swizzled_shared",
        vec=1 if plain else power(random, 0, 4),
        perPhase=1 if plain else power(random, 0, 3),
        maxPhase=1 if plain else power(random, 0, 4),
        order=order_of(random, rank),
        CGALayout=ctas(random, rank),
    )
    return memory(random, shape, encoding)


def nvmma_shared(random: Random) -> str:
    """Draw a buffer whose rows are as long as the swizzle takes, and at least eight in each CTA."""
    rank, element = random.choice((2, 2, 2, 3, 4, 5)), random.choice(BYTES)
    bits, bases = ELEMENTS[element], ctas(random, rank)
    packed = bits == 8 and random.random() < 0.15
    swizzle = 128 if packed else random.choice((0, 32, 64, 128, 128))
    transposed = random.random() < 0.4
    shape = powers(random, rank, random.randint(0, 6))
    inner, rows = (0, 1) if transposed else (rank - 1, rank - 2)
    shape[inner] *= max(swizzle, 16) * 8 // bits
    shape[rows] *= 8
    shape = _for_all(bases, shape)
    encoding = written(
        "nvmma_shared",
        swizzlingByteWidth=swizzle,
        transposed=transposed,
        elementBitWidth=bits,
        fp4Padded=True if packed else None,
        CGALayout=bases,
        rank=rank if rank != 2 and bases is None else None,
    )
    return memory(random, shape, encoding, element)


def padded_shared(random: Random) -> str:
    rank = rank_of(random)
    shape = shape_of(random, rank, low=3)
    bits = len(_bits(shape))
    intervals = random.sample([1 << at for at in range(1, bits)], random.choice((1, 1, 2)))
    pads = ", ".join(f"{interval}:+{power(random, 0, 5)}" for interval in sorted(intervals))
    if random.random() < 0.5:
        dealt: dict[str, object] = {"order": order_of(random, rank), "shape": shape}
    else:
        digits = [[bit if at == dim else 0 for at in range(rank)] for dim, bit in _bits(shape)]
        block = [digits.pop()] if random.random() < 0.3 else []
        random.shuffle(digits)
        dealt = {"offset": digits, "block": block}
    return memory(random, shape, f"#ttg.padded_shared<[{pads}] {_value(dealt)}>")


def shared_linear(random: Random) -> str:
    """Draw a permutation of the digits, then XOR some into others, as swizzles do or in any way."""
    rank = rank_of(random)
    shape = shape_of(random, rank, low=3)
    digits = [[bit if at == dim else 0 for at in range(rank)] for dim, bit in _bits(shape)]
    if random.random() < 0.5:
        random.shuffle(digits)
    cut = random.choice((0, 0, 0, 1))
    block, offset = digits[:cut], digits[cut:]
    count = random.choice((0, 1, 2, 3))
    low, high = random.randint(0, len(offset)), random.randint(0, len(offset))
    for at in range(count):
        if low + at < high + at < len(offset) and low + count <= high:
            offset[high + at] = [a ^ b for a, b in zip(offset[high + at], offset[low + at], strict=True)]
    if len(offset) > 1 and random.random() < 0.2:
        for _ in range(random.randint(1, 12)):
            one, other = random.sample(range(len(offset)), 2)
            offset[one] = [a ^ b for a, b in zip(offset[one], offset[other], strict=True)]
    encoding = f"#ttg.shared_linear<{_value({'offset': offset, 'block': block})}, alignment = 16>"
    return memory(random, shape, encoding)


TENSOR_MEMORY = "#ttng.tensor_memory, mutable"


def tensor_memory(random: Random) -> str:
    rows, columns = random.choice((64, 128)), power(random, 3, 8)
    stride = random.choice((1, 1, 1, 2, 4))
    shape = [rows * random.choice((1, 1, 1, 2)), columns * random.choice((1, 1, 2, 4))]
    modes = []
    if random.random() < 0.2:
        split = random.randint(0, 1)
        modes.append(f"CGALayout = [[{1 - split}, {split}]]")
        shape[split] *= 2
        if split == 0 and random.random() < 0.5:
            modes.append("twoCTAs = true")
    element = {1: random.choice(("f32", "f16", "bf16", "f8E5M2", "i32")), 2: "f16", 4: "i8"}[stride]
    told = ", ".join([f"blockM = {rows}", f"blockN = {columns}", f"colStride = {stride}", *modes])
    if random.random() < 0.1:
        shape.insert(0, random.choice((1, 2)))
    return f"!ttg.memdesc<{_extents(shape)}x{element}, #ttng.tensor_memory_encoding<{told}>, {TENSOR_MEMORY}>"


def tensor_memory_scales(random: Random) -> str:
    blocks = ctas(random, 2)
    shape = _for_all(blocks, [power(random, 4, 8), power(random, 0, 5)])
    told = f"CGALayout = {blocks}" if blocks else ""
    return f"!ttg.memdesc<{_extents(shape)}xi8, #ttng.tensor_memory_scales_encoding<{told}>, {TENSOR_MEMORY}>"


KINDS: dict[str, Callable[[Random], str]] = {
    "blocked": blocked,
    "linear": linear,
    "slice": sliced,
    "nvidia_mma 2": mma2,
    "nvidia_mma 3": mma3,
    "amd_mfma": mfma,
    "amd_wmma": wmma,
    "dot_op of blocked": dot_blocked,
    "dot_op of nvidia_mma 2": dot_mma2,
    "dot_op of nvidia_mma 3": dot_mma3,
    "dot_op of amd_mfma": dot_mfma,
    "dot_op of amd_wmma": dot_wmma,
    "swizzled_shared": swizzled_shared,
    "nvmma_shared": nvmma_shared,
    "padded_shared": padded_shared,
    "shared_linear": shared_linear,
    "tensor_memory": tensor_memory,
    "tensor_memory_scales": tensor_memory_scales,
}
"""{kind: draws the text of a type}."""


def drawn(kind: str, count: int, seed: str = "") -> list[str]:
    """Draw so many different types of a kind.

    >>> len(set(drawn("blocked", 100)))
    100
    """
    random = Random(kind + seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[KINDS[kind](random)] = None
    return list(found)
