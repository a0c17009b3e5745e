"""`move` of tensors of torch and of JAX on the CPU, and torch.compile over it."""

from __future__ import annotations

import math

import pytest

from tilewise import LayoutError, S, plan
from tilewise.moves import move

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SOURCE, TARGET, LARGER = S[8, 4], S[(8, 4) : (1, 8)], S[(8, 6) : (6, 1)]
ACROSS = S[4, 8]
READY = plan(SOURCE, TARGET, "f32").bind()


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax", reason="JAX is not installed")


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int64", "complex128", "bool", "float8_e4m3fn"])
def test_tensors_of_every_width(torch, kind):
    x = torch.arange(32).to(getattr(torch, kind))
    wanted = x.view(8, 4).T.contiguous().flatten()
    assert move(x, SOURCE, TARGET).view(torch.uint8).equal(wanted.view(torch.uint8))


def test_views_and_out(torch):
    x = torch.arange(48.0).view(8, 6)[:, 1:5].T
    out = torch.zeros(32)
    assert move(x, None, S[4, 8], out) is out
    assert out.equal(x.flatten())


@pytest.mark.parametrize(
    ("kind", "fill"), [("bfloat16", -1.5), ("int8", -7), ("bool", True), ("float8_e4m3fn", 0.5)]
)
def test_fills(torch, kind, fill):
    made = move(torch.zeros(2, dtype=getattr(torch, kind)), S[2], S[2] + 1, fill=fill)
    assert made[0].item() == fill


@pytest.mark.parametrize(
    ("make", "words", "code"),
    [
        (lambda torch: torch.zeros(2, requires_grad=True), {}, "TW704"),
        (lambda torch: torch.zeros(2, dtype=torch.complex64).conj(), {}, "TW704"),
        (lambda torch: torch.zeros(2, device="meta"), {}, "TW704"),
        (lambda torch: torch.zeros(2, dtype=torch.uint8), {"fill": 300}, "TW705"),
        (lambda torch: torch.zeros(2, dtype=torch.int32), {"fill": 1.5}, "TW705"),
        (lambda torch: torch.zeros(2), {"fill": 10**400}, "TW705"),
        (lambda torch: torch.zeros(2, dtype=torch.float8_e4m3fn), {"fill": 1e6}, "TW705"),
        (lambda torch: torch.zeros(2, dtype=torch.float8_e4m3fn), {"fill": -math.inf}, "TW705"),
        (lambda torch: torch.zeros(2, dtype=torch.float8_e8m0fnu), {"fill": -1}, "TW705"),
        (lambda torch: torch.eye(2).to_sparse(), {}, "TW704"),
        (lambda torch: torch.zeros(2), {"out": bytearray(12)}, "TW704"),
        (lambda torch: torch.zeros(2), {"out": "strided"}, "TW704"),
    ],
)
def test_what_is_refused_of_tensors(torch, make, words, code):
    if words.get("out") == "strided":
        words = {"out": torch.zeros(6)[::2]}
    with pytest.raises(LayoutError) as caught:
        move(make(torch), S[2], S[2] + 1, **words)
    assert caught.value.code == code


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
def test_arrays_of_jax_come_back_as_new_ones(jax, kind):
    x = jax.numpy.arange(32).astype(kind)
    made = move(x, SOURCE, TARGET)
    assert (type(made), made.dtype) == (type(x), x.dtype)
    assert (made == x.reshape(8, 4).T.reshape(-1)).all()
    with pytest.raises(LayoutError, match="cannot be written"):
        move(x, SOURCE, TARGET, x)


def into(x):
    out = x.new_zeros(32)
    move(x, SOURCE, TARGET, out)
    return out + 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: move(x + 1, SOURCE, TARGET) * 2,
        lambda x: move((x + 1).view(8, 4).t(), None, ACROSS) * 2,
        lambda x: move(x.view(8, 4), None, LARGER, shape=(8, 4), fill=1.5) * 2,
        lambda x: READY(x + 1) * 2,
        into,
    ],
)
def test_compiled_functions_have_it_as_one_operator(torch, function):
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    x = torch.arange(32.0)
    assert compiled(x).equal(function(x))


def test_other_layouts_in_the_same_place_are_seen(torch):
    torch._dynamo.reset()
    compiled = torch.compile(move, fullgraph=True, backend="aot_eager")
    x = torch.arange(32.0)
    for rows in (8, 4, 2):
        words = S[rows, 32 // rows], S[(rows, 32 // rows) : (1, rows)]
        assert compiled(x, *words).equal(move(x, *words))


def test_the_operator_is_one_that_torch_approves(torch):
    import tilewise.moves.arrays.traced

    words = tilewise.moves.arrays.traced._spelled(SOURCE, TARGET + 1, torch.float32, None, None, 0)
    torch.library.opcheck(torch.ops.tilewise.move.default, (torch.arange(32.0), *words))
