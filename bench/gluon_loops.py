"""The loops of `registers.py` in Gluon: a tensor from one layout to another and back, again and again."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def turned(value, pack: gl.constexpr):
    """Return one XOR a register."""
    return gl.inline_asm_elementwise(
        "xor.b32 $0, $1, 0x5a5a5a5a;", "=r,r", [value], dtype=value.dtype, is_pure=False, pack=pack
    )


@gluon.jit
def tile(
    x,
    out,
    times,
    first: gl.constexpr,
    second: gl.constexpr,
    m: gl.constexpr,
    n: gl.constexpr,
    pack: gl.constexpr,
):
    """Return a matrix."""
    rows = gl.arange(0, m, gl.SliceLayout(1, first))
    columns = gl.arange(0, n, gl.SliceLayout(0, first))
    places = gl.program_id(0) * m * n + rows[:, None] * n + columns[None, :]
    a = gl.load(x + places)
    for _ in range(times):
        b = turned(gl.convert_layout(a, second), pack)
        a = turned(gl.convert_layout(b, first), pack)
    gl.store(out + places, a)


@gluon.jit
def line(x, out, times, first: gl.constexpr, second: gl.constexpr, m: gl.constexpr, pack: gl.constexpr):
    """Return a vector."""
    places = gl.program_id(0) * m + gl.arange(0, m, first)
    a = gl.load(x + places)
    for _ in range(times):
        b = turned(gl.convert_layout(a, second), pack)
        a = turned(gl.convert_layout(b, first), pack)
    gl.store(out + places, a)
