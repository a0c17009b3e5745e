"""`move` of tensors of torch and of JAX on the CPU, and torch.compile over it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tilewise import LayoutError, S, plan
from tilewise.moves import move
from tilewise.moves.arrays.run import bound_of
from tilewise.moves.arrays.storage import storage_of
from tilewise.moves.named import core_matrices

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SOURCE, TARGET, LARGER = S[8, 4], S[(8, 4) : (1, 8)], S[(8, 6) : (6, 1)]
ACROSS = S[4, 8]
READY = plan(SOURCE, TARGET, "f32").bind()


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def ml_dtypes():
    return pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")


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


@pytest.mark.parametrize(
    "make",
    [
        lambda torch: torch.zeros(2, dtype=torch.complex64).conj(),
        lambda torch: torch.zeros(2, dtype=torch.complex64).conj().imag,
        lambda torch: torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.quint8),
        lambda torch: torch.zeros(2, requires_grad=True),
    ],
    ids=["conjugates", "negatives", "quantized", "gradients"],
)
def test_they_are_refused_again_and_after_others_of_their_type(torch, make):
    x, turn = make(torch), plan(S[2], S[(2,) : (2,)], "u8").bind()
    for kind in (torch.complex64, torch.float32):
        turn(torch.zeros(2, dtype=kind), torch.ones(2, dtype=kind))
    for _ in range(2):
        with pytest.raises(LayoutError, match="TW704"):
            turn(x)
        with pytest.raises(LayoutError, match="TW704"):
            turn(torch.zeros(2), x)


def test_a_tensor_is_quantized_whatever_its_type_says(torch):
    """A view of a quantized tensor may have a plain type, and one of a plain tensor a quantized type."""
    plain = torch.zeros(2, dtype=torch.uint8)
    quantized = torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.quint8)
    for seen, refused in ((plain, quantized.view(torch.uint8)), (plain.view(torch.quint8), quantized)):
        assert storage_of(seen).size == 2
        with pytest.raises(LayoutError, match="the tensor is quantized"):
            storage_of(refused)


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


@pytest.mark.parametrize("checked", [True, False])
def test_a_bound_plan_that_is_checked_is_so_where_it_is_compiled(torch, monkeypatch, checked):
    import tilewise.moves.arrays.traced

    ready, asked = plan(SOURCE, TARGET, "f32", checked=checked).bind(), []
    monkeypatch.setattr(
        tilewise.moves.arrays.traced,
        "bound_of",
        lambda *words: asked.append(bound_of(*words)) or asked[-1],
    )
    torch._dynamo.reset()
    x, out = torch.arange(32.0), torch.zeros(32)
    assert torch.compile(lambda x: ready(x) * 2, fullgraph=True, backend="aot_eager")(x).equal(ready(x) * 2)
    assert torch.compile(lambda x: ready(x, out) * 2, fullgraph=True, backend="aot_eager")(x).equal(out * 2)
    assert [bound.plan.checked for bound in asked] == [checked, checked]


def test_the_operator_is_one_that_torch_approves(torch):
    import tilewise.moves.arrays.traced

    words = tilewise.moves.arrays.traced._spelled(SOURCE, TARGET + 1, torch.float32, None, None, 0)
    torch.library.opcheck(torch.ops.tilewise.move.default, (torch.arange(32.0), *words))


# -- types ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name"), [("bool", "b8"), ("complex64", "b64"), ("complex32", "b32"), ("bfloat16", "bf16")]
)
def test_a_plan_by_the_type_of_a_tensor_is_the_plan_of_its_move(torch, kind, name):
    kind = getattr(torch, kind)
    x = torch.arange(32).to(kind)
    found = plan(SOURCE, TARGET + 1, x.dtype, fill=1)
    assert found.dtype.name == name
    wanted = move(x, SOURCE, TARGET + 1, fill=1).view(torch.uint8)
    assert found.bind()(x).view(torch.uint8).equal(wanted)
    words = x.view(torch.uint8)
    assert move(words, SOURCE, TARGET + 1, dtype=kind, fill=1).equal(wanted)


@pytest.mark.parametrize(
    "kind", ["bfloat16", "float8_e4m3", "float8_e4m3fn", "float4_e2m1fn", "int4", "int2"]
)
def test_elements_of_ml_dtypes_are_moved_as_they_lie(ml_dtypes, kind):
    """Those of less than a byte have a byte each, and a plan by their type says so."""
    x = np.arange(32).astype(getattr(ml_dtypes, kind))
    wanted = np.ascontiguousarray(x.reshape(8, 4).T)
    assert move(x, SOURCE, TARGET).tobytes() == wanted.tobytes()
    for same in (x.dtype, x.dtype.type):
        found = plan(SOURCE, TARGET, same)
        assert found.dtype.bits == 8 * x.itemsize
        assert found.bind()(x).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", ["float4_e2m1fn", "int4", "uint4"])
def test_elements_with_a_byte_each_are_not_read_as_packed_ones(ml_dtypes, kind):
    x = np.zeros(64 * 64, getattr(ml_dtypes, kind))
    tiles = core_matrices(64, 64, "e2m1")
    for words in ((tiles,), (S[64], S[64])):
        with pytest.raises(LayoutError, match=f"TW106: .*4 bits.*{kind} have a byte each"):
            move(x, *words, dtype=None if words == (tiles,) else "e2m1")
    packed = x.view(np.uint8)[0::2] | x.view(np.uint8)[1::2] << 4
    assert move(packed, tiles).size == tiles.target.size // 2


@pytest.mark.parametrize(
    ("kind", "fill"),
    [("float4_e2m1fn", 7), ("float4_e2m1fn", -1e6), ("float6_e2m3fn", 9), ("float6_e3m2fn", 30)],
)
def test_a_fill_beyond_the_largest_number_is_none(ml_dtypes, kind, fill):
    x = np.zeros(2, getattr(ml_dtypes, kind))
    with pytest.raises(LayoutError, match="TW705"):
        move(x, S[2], S[2] + 1, fill=fill)
    assert move(x, S[2], S[2] + 1, fill=5.4)[0] == x.dtype.type(5.4)


def test_fills_that_torch_prints_alike_are_kept_apart(torch):
    x, source, target = torch.zeros(1), S[1], S[1] + 1
    fills = [torch.tensor(fill) for fill in (0.12345678, 0.12346123)]
    assert repr(fills[0]) == repr(fills[1])
    assert [move(x, source, target, fill=fill)[0] for fill in fills] == fills


# -- tensors that are none --------------------------------------------------------------------------


def wrapped(torch):
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, held):
            return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)

        @classmethod
        def __torch_dispatch__(cls, function, kinds, given=(), words=None):
            raise NotImplementedError

    return Wrapper(torch.arange(4.0))


def faked(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.zeros(4)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (wrapped, "Wrapper has no memory of its own"),
        (faked, "FakeTensor has no memory of its own"),
        (lambda torch: torch.masked.masked_tensor(torch.zeros(4), torch.ones(4) > 0), "no memory of its own"),
        (lambda torch: torch.quantize_per_tensor(torch.zeros(4), 0.1, 0, torch.quint8), "quantized"),
        (lambda torch: torch.nested.nested_tensor([torch.zeros(2)] * 2), "nested"),
        (lambda torch: torch.nested.nested_tensor([torch.zeros(2)] * 2, layout=torch.jagged), "nested"),
    ],
)
def test_tensors_without_a_storage_of_their_own_are_refused(torch, make, said):
    x = make(torch)
    plain = torch.zeros(4, dtype=x.dtype if x.dtype.is_floating_point else torch.float32)
    for source in (S[4], None):
        with pytest.raises(LayoutError, match=f"TW704: .*{said}"):
            move(x, source, S[4])
    with pytest.raises(LayoutError, match=f"TW704: .*{said}"):
        move(plain, S[4], S[4], x)


def test_tensors_that_torch_traces_as_functions_are_refused(torch):
    with pytest.raises(LayoutError, match="no memory of its own"):
        torch.func.functionalize(lambda x: move(x, SOURCE, TARGET))(torch.arange(32))


@pytest.mark.parametrize("bound", [False, True])
def test_autograd_sees_that_out_was_written(torch, bound):
    weight, out = torch.ones(32, requires_grad=True), torch.ones(32)
    loss = (weight * out).sum()
    READY(torch.arange(32.0), out) if bound else move(torch.arange(32.0), SOURCE, TARGET, out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_tensors_of_inference_are_written(torch):
    with torch.inference_mode():
        x, out = torch.arange(32.0), torch.zeros(32)
        assert move(x, SOURCE, TARGET, out).equal(move(x, SOURCE, TARGET))
    assert move(x, SOURCE, TARGET, out).equal(move(x, SOURCE, TARGET))


def test_on_the_cpu_a_tensor_has_no_stream(torch):
    with pytest.raises(LayoutError, match=r"TW704: .*stream.*torch's on the CPU"):
        move(torch.arange(32.0), SOURCE, TARGET, stream=0)


@pytest.mark.parametrize("kind", ["float32", "complex64", "bool"])
def test_compiled_functions_take_the_types_of_tensors(torch, kind):
    kind = getattr(torch, kind)
    x, later = torch.arange(32).to(kind), TARGET + 1
    compiled = torch.compile(
        lambda x: move(x, SOURCE, later, dtype=x.dtype, fill=1), backend="eager", fullgraph=True
    )
    assert compiled(x).equal(move(x, SOURCE, later, fill=1))


def test_a_layout_that_compiled_code_makes_is_refused(torch):
    compiled = torch.compile(lambda x: move(x, SOURCE, TARGET + 1), backend="eager", fullgraph=True)
    with pytest.raises(Exception, match="make it outside the function that torch compiles"):
        compiled(torch.arange(32))


def test_exported_programs_have_it(torch):
    class Turn(torch.nn.Module):
        def forward(self, x):
            return move(x, SOURCE, TARGET)

    x = torch.arange(32.0)
    assert torch.export.export(Turn(), (x,)).module()(x).equal(move(x, SOURCE, TARGET))
