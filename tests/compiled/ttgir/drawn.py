"""Random conversions between encodings, as modules of TTGIR with one conversion each.

Most kinds deal the bits of an element's index to registers, lanes and warps, and then deal them anew so that
elements go as far as the kind says; "real" takes encodings as compilers choose them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

KINDS = ("renamed", "selected", "lanes", "warps", "real", "lanes")
ELEMENTS = ("f16", "f32", "i8", "i64", "bf16")
LANES, REGISTER, LANE, WARP = 5, "register", "lane", "warp"


def drawn(random: Random, kind: str) -> str:
    """Return a module with one conversion, drawn for a kind."""
    warps = random.choice((1, 2, 2))  # bits
    if kind == "real":
        shape = [1 << random.randint(4, 7), 1 << random.randint(4, 7)]
        source, target = (_real(random, shape, 1 << warps) for _ in range(2))
    else:
        shape, source, target = _dealt(random, kind, warps)
    return module(random.choice(ELEMENTS), shape, source, target, 1 << warps)


def module(element: str, shape: Sequence[int], source: str, target: str, warps: int) -> str:
    """Return a module that loads a tensor in one encoding, converts it, and stores it in another."""
    extents = "x".join(map(str, shape))
    return f"""\
#source = {source}
#target = {target}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:90", \
"ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @converted(%from: !tt.ptr<{element}>, %to: !tt.ptr<{element}>) {{
    %0 = tt.splat %from : !tt.ptr<{element}> -> tensor<{extents}x!tt.ptr<{element}>, #source>
    %1 = tt.splat %to : !tt.ptr<{element}> -> tensor<{extents}x!tt.ptr<{element}>, #target>
    %2 = tt.load %0 {{isVolatile = true}} : tensor<{extents}x!tt.ptr<{element}>, #source>
    %3 = ttg.convert_layout %2 : tensor<{extents}x{element}, #source> -> tensor<{extents}x{element}, #target>
    tt.store %1, %3 : tensor<{extents}x!tt.ptr<{element}>, #target>
    tt.return
  }}
}}
"""


def _dealt(random: Random, kind: str, warps: int) -> tuple[list[int], str, str]:
    """Return a shape and two #ttg.linear encodings: bits of the element are dealt to bits of places."""
    registers = random.randint(2, 5)
    copies = dict.fromkeys((REGISTER, LANE, WARP), 0)
    if kind == "selected" or random.random() < 0.3:
        copies[random.choice((LANE, LANE, WARP))] = 1 if kind == "selected" else random.randint(0, 1)
    sizes = {REGISTER: registers, LANE: LANES, WARP: warps}
    count = sum(sizes.values()) - sum(copies.values())
    rank = random.choice((1, 2, 2))
    shape = [1 << count]
    if rank == 2:
        rows = random.randint(0, count)
        shape = [1 << rows, 1 << count - rows]
    bits = random.sample(range(count), count)
    source: dict[str, list[int | None]] = {}
    for place, size in sizes.items():
        own: list[int | None] = [bits.pop() for _ in range(size - copies[place])]
        own += [None] * copies[place]
        random.shuffle(own)
        source[place] = own
    target = {place: list(own) for place, own in source.items()}
    if kind == "renamed":
        random.shuffle(target[REGISTER])
    elif kind == "selected":
        place = next(place for place in (LANE, WARP) if copies[place])
        free = target[place].index(None)
        target[place][free] = target[REGISTER].pop(random.randrange(registers))
        random.shuffle(target[REGISTER])
    elif kind == "lanes":
        swaps = random.choice((1, 1, 2, 3, 9))
        _exchanged(random, target, (REGISTER, LANE), swaps)
    else:
        _exchanged(random, target, (REGISTER, LANE, WARP), random.choice((1, 2, 9)), WARP)
    return shape, _linear(source, shape), _linear(target, shape)


def _exchanged(
    random: Random, target: dict[str, list[int | None]], places: Sequence[str], swaps: int, with_: str = LANE
) -> None:
    """Let bits of places take one another's, the first of them with one of a certain place."""
    at = [(place, bit) for place in places for bit in range(len(target[place]))]
    for turn in range(swaps):
        one = (with_, random.randrange(len(target[with_]))) if turn == 0 else random.choice(at)
        other = random.choice([own for own in at if own[0] != one[0]])
        (a, i), (b, j) = one, other
        target[a][i], target[b][j] = target[b][j], target[a][i]
        if None in (target[REGISTER]):
            target[REGISTER] = [own for own in target[REGISTER] if own is not None]
            at = [(place, bit) for place in places for bit in range(len(target[place]))]


def _linear(dealt: dict[str, list[int | None]], shape: Sequence[int]) -> str:
    def basis(bit: int | None) -> list[int]:
        step = 0 if bit is None else 1 << bit
        if len(shape) == 1:
            return [step]
        return [step // shape[1], step % shape[1]]

    listed = ", ".join(
        f"{place} = {[basis(bit) for bit in dealt[place]]}" for place in (REGISTER, LANE, WARP)
    )
    return f"#ttg.linear<{{{listed}, block = []}}>"


def _real(random: Random, shape: Sequence[int], warps: int) -> str:
    """Return an encoding as compilers choose it."""
    along = 1 << random.randint(0, warps.bit_length() - 1)
    of_warps = [along, warps // along]
    mma = f"versionMinor = 0, warpsPerCTA = {of_warps}, instrShape = [16, 8]"
    kind = random.choice(("blocked", "blocked", "mma", "a", "slice"))
    if kind == "mma":
        return f"#ttg.nvidia_mma<{{versionMajor = 2, {mma}}}>"
    if kind == "a":
        return (
            f"#ttg.dot_op<{{opIdx = 0, parent = #ttg.nvidia_mma<{{versionMajor = 2, {mma}}}>, kWidth = 2}}>"
        )
    rows = 1 << random.randint(0, LANES)
    each, order = [1 << random.randint(0, 2), 1 << random.randint(0, 3)], random.choice(([1, 0], [0, 1]))
    lanes = [rows, 32 // rows]
    if kind == "blocked":
        return _blocked(each, lanes, of_warps, order)
    return f"#ttg.slice<{{dim = 0, parent = {_blocked([1, *each], [1, *lanes], [1, *of_warps], [2, 1, 0])}}}>"


def _blocked(each: list[int], lanes: list[int], warps: list[int], order: list[int]) -> str:
    keys = f"sizePerThread = {each}, threadsPerWarp = {lanes}, warpsPerCTA = {warps}, order = {order}"
    return f"#ttg.blocked<{{{keys}}}>"
