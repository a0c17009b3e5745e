"""`tilewise.gemm` on torch's tensors as far as it goes without a GPU: plans, tensor maps, errors, tracing."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest

import tilewise
from tilewise import LayoutError

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


def test_lines_of_tensors_are_those_of_the_tensor_maps(torch: Any) -> None:
    """Each element that TMA finds by extents and strides is the tensor's."""
    from tilewise.products.run import matrices_of, plan_of

    for batches, (of_a, of_b), longer in itertools.product(
        (0, 3), itertools.product("kn", repeat=2), (0, 24)
    ):

        def matrix(rows: int, way: str, batches: int = batches, longer: int = longer) -> Any:
            shape = (rows, 40) if way == "k" else (40, rows)
            whole = torch.empty(*([batches] if batches else []), shape[0], shape[1] + longer).bfloat16()
            own = whole[..., : shape[1]]
            return own if way == "k" else own.mT

        a, b = matrix(48, of_a), matrix(72, of_b)
        out = torch.empty(*a.shape[:-1], 72, dtype=torch.bfloat16)
        plan, _ = plan_of(a, b, out)
        assert plan.batched == bool(batches)
        assert [own.major for own in plan.operands] == ["k" if way == "k" else "mn" for way in (of_a, of_b)]
        for x, found in zip((a, b, out), matrices_of(plan, a, b, out).values(), strict=True):
            fast, slow = (-1, -2) if x.stride(-1) == 1 else (-2, -1)
            assert found.extents == (x.shape[fast], x.shape[slow], *x.shape[:-2])
            assert found.strides == tuple(2 * x.stride(way) for way in (slow, *range(x.dim() - 2)))
            assert len(found.box) == len(found.extents)


def test_a_matrix_of_one_column_lies_as_tma_takes_it(torch: Any) -> None:
    from tilewise.products.run import matrices_of, plan_of

    a, b = torch.empty(1, 72).bfloat16().mT, torch.empty(1, 128).bfloat16().mT
    out = torch.empty(72, 128).bfloat16()
    plan, _ = plan_of(a, b, out)
    assert [own.major for own in plan.operands] == ["mn", "mn"]
    assert [found.strides for found in matrices_of(plan, a, b, out).values()] == [(144,), (256,), (256,)]


def test_groups_have_a_matrix_each(torch: Any) -> None:
    from tilewise.products.run import matrices_of, plan_of

    a, b, out = (torch.zeros(shape).bfloat16() for shape in ((4096, 64), (3, 2048, 64), (4096, 2048)))
    ends, scales = torch.tensor([100, 100, 4096], dtype=torch.int32), (torch.ones(1), torch.ones(3))
    plan, _ = plan_of(a, b, out, None, b[:, :, 0].contiguous(), False, *scales, ends)
    assert (plan.grouped, plan.batched, plan.cluster, plan.finish.scales) == (True, False, (1, 2), "tensor")
    assert [len(found.extents) for found in matrices_of(plan, a, b, out).values()] == [2, 3, 2]


def errors(torch: Any) -> dict[str, Any]:
    a = torch.zeros(64, 64, dtype=torch.bfloat16)
    return {
        "A is a ndarray": lambda: tilewise.gemm(np.zeros((2, 2)), a),
        "A is [64, 64] and B [64]": lambda: tilewise.gemm(a, a[0]),
        "A is a int": lambda: tilewise.gemm(1, 2),
        "scale_a is a float": lambda: tilewise.gemm(a, a, scale_a=1.0, scale_b=1.0),
        "out is a int": lambda: tilewise.gemm(a, a, 3),
        "the tensors are not all on one GPU": lambda: tilewise.gemm(a, a),
    }


def test_what_is_no_product_has_an_error_that_says_why(torch: Any) -> None:
    for words, call in errors(torch).items():
        with pytest.raises(LayoutError) as error:
            call()
        assert error.value.code == "TW704"
        assert words in str(error.value)


def test_what_does_not_fit_together(torch: Any) -> None:
    from tilewise.products.run import matrices_of, plan_of

    a, bias = torch.zeros(64, 64).bfloat16(), torch.zeros(64)
    one = torch.ones(1)
    for words, given in {
        "A is [64, 64] and B [64, 32]": (a, a[:, :32], a),
        "the result is [64, 64], and out is [32, 64]": (a, a, a[:32]),
        "a product of 0 x 64 x 64": (a[:0], a, a[:0]),
        "bias is [64] of torch.float32": (a, a, a, None, bias),
        "C is [32, 64] of torch.bfloat16": (a, a, a, a[:32]),
        "neither direction of A is contiguous": (torch.zeros(64, 64, 2).bfloat16()[..., 0], a, a),
        "the rows of out are not contiguous": (a, a, a.mT),
        "scale_a and scale_b have 1 and 0 numbers": (a, a, a, None, None, False, one),
        "scale_a and scale_b have 64 and 1 numbers": (a, a, a, None, None, False, torch.ones(64), one),
        "N is 5, and columns are read in pairs": (a, a[:5], torch.zeros(64, 8)[:, :5], None, torch.zeros(5)),
    }.items():
        with pytest.raises(LayoutError) as error:
            plan_of(*given)
        assert error.value.code == "TW704"
        assert words in str(error.value), words
    many, ends = torch.zeros(2, 64, 64).bfloat16(), torch.tensor([20, 64], dtype=torch.int32)
    for words, given in {
        "A is [64, 64] and B [64, 64]": (a, a, a, None, None, False, None, None, ends),
        "ends is [1] of torch.int32": (a, many, a, None, None, False, None, None, ends[:1]),
        "ends is [2] of torch.int64": (a, many, a, None, None, False, None, None, ends.long()),
        "bias is [64] of torch.bfloat16": (a, many, a, None, a[0], False, None, None, ends),
        "N is 60, and rows of groups are written": (
            a,
            many[:, :60],
            a[:, :60],
            None,
            None,
            False,
            None,
            None,
            ends,
        ),
        "scale_a and scale_b have 1 and 1 numbers": (a, many, a, None, None, False, one, one, ends),
    }.items():
        with pytest.raises(LayoutError) as error:
            plan_of(*given)
        assert words in str(error.value), words
    odd = torch.zeros(64, 65).bfloat16()[:, :64]
    with pytest.raises(LayoutError, match=r"A has \[130\] bytes from line to line"):
        matrices_of(plan_of(odd, a, a)[0], odd, a, a)
    narrow = torch.zeros(64, 64, dtype=torch.float8_e4m3fn)
    with pytest.raises(tilewise.Refused, match="K-major alone"):
        plan_of(narrow.mT, narrow, a)


def test_torch_traces_it_as_one_operator(torch: Any) -> None:
    a, b = torch.empty(2, 64, 32, device="meta").bfloat16(), torch.empty(2, 48, 32, device="meta").bfloat16()
    found = []

    def kept(graph: Any, inputs: Any) -> Any:
        found.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    def product(a: Any, b: Any) -> Any:
        return tilewise.gemm(a, b, alpha=2.0, out_dtype=torch.float32)

    made = torch.compile(product, backend=kept, fullgraph=True)(a, b)
    assert (made.shape, made.dtype) == ((2, 64, 48), torch.float32)
    assert [name for name in found if "gemm" in name] == ["tilewise.gemm"]


def test_torch_traces_attention_as_one_operator(torch: Any) -> None:
    q, k = (torch.empty(2, heads, 40, 64, device="meta").bfloat16() for heads in (4, 2))
    found = []

    def kept(graph: Any, inputs: Any) -> Any:
        found.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    def attention(q: Any, k: Any) -> Any:
        return tilewise.attention(q, k, k, causal=True)

    made = torch.compile(attention, backend=kept, fullgraph=True)(q, k)
    assert (made.shape, made.dtype) == (q.shape, torch.bfloat16)
    assert [name for name in found if "attention" in name] == ["tilewise.attention"]


def test_lines_of_heads_are_those_of_the_tensor_maps(torch: Any) -> None:
    """Each element that TMA finds by extents and strides is the tensor's."""
    from tests.products.attention_on_device import drawn

    from tilewise.products.attend import check_shapes, matrices_of, plan_of

    for seed in range(40):
        problem = drawn(seed, "cpu", 60)
        tensors = problem.q, problem.k, problem.v, torch.empty_like(problem.q)
        check_shapes(*tensors)
        plan = plan_of(problem.q, problem.causal)
        found = matrices_of(plan, *tensors)
        assert {name: own.box for name, own in found.items()} == {
            name: (64, rows, 1, 1)
            for name, rows in (("Q", 64), ("K", plan.keys), ("V", plan.keys), ("O", 64))
        }
        for x, own in zip(tensors, found.values(), strict=True):
            assert own.extents == tuple(x.shape[::-1])
            for way, stride in zip((2, 1, 0), own.strides, strict=True):
                assert x.shape[way] == 1 or stride == 2 * x.stride(way)


def test_what_is_no_attention_has_an_error_that_says_why(torch: Any) -> None:
    from tilewise.products.attend import matrices_of, plan_of

    q = torch.zeros(2, 4, 16, 64).bfloat16()
    many = torch.zeros(1, 1 << 16, 1, 64).bfloat16()
    for words, given in {
        "Q, K, V and O are ndarray": (np.zeros((2, 2)), q, q),
        "Q is [2, 4, 16, 64], K [2, 4, 16] and V": (q, q[..., 0], q[..., 0]),
        "Q is [2, 4, 16, 64], K [2, 3, 16, 64] and V": (q, q[:, :3], q[:, :3]),
        "K [2, 4, 16, 64] and V [2, 4, 8, 64]": (q, q, q[:, :, :8]),
        "K and V are [2, 4, 0, 64]": (q, q[:, :, :0], q[:, :, :0]),
        "K and V are [2, 0, 16, 64]": (q[:, :1], q[:, :0], q[:, :0]),
        "and out is [2, 4, 8, 64]": (q, q, q, q[:, :, :8]),
        "torch.float16 on cpu": (q, q.half(), q.half()),
        "up to 65535 heads": (many, many, many),
        "the tensors are not on a GPU": (q, q, q),
    }.items():
        with pytest.raises(LayoutError) as error:
            tilewise.attention(*given)
        assert error.value.code == "TW704"
        assert words in str(error.value)
    for scale in (0, -1.0, 1e-50, 1e39, float("inf"), float("nan")):
        with pytest.raises(LayoutError, match="a scale of"):
            tilewise.attention(q, q, q, scale=scale)
    with pytest.raises(LayoutError, match="an input needs a gradient"):
        tilewise.attention(q.requires_grad_(), q, q)
    q = q.detach()
    for wrong in (q.transpose(2, 3)[..., :16, :], torch.zeros(2, 4, 16, 65).bfloat16()[..., :64]):
        with pytest.raises(LayoutError, match="K has the strides"):
            matrices_of(plan_of(q, False), q, wrong, q, q)
    with pytest.raises(tilewise.Refused, match="heads of 32 columns"):
        tilewise.attention(q[..., :32], q[..., :32], q[..., :32])
    assert tilewise.attention(q[:, :, :0], q, q).shape == (2, 4, 0, 64)
    assert tilewise.attention(*[q[:0]] * 3).shape == (0, 4, 16, 64)
    one = q[:, :1].expand(2, 4, 16, 64)
    with pytest.raises(LayoutError, match="K has the strides") as error:
        matrices_of(plan_of(q, False), q, one, q, q)
    assert "k[:, :1]" in str(error.value)
    with pytest.raises(LayoutError, match="rows of the result overlap"):
        matrices_of(plan_of(q, False), q, q, q, q.as_strided((2, 4, 16, 64), (4096, 1024, 8, 1)))


class Driver:
    """The driver's calls, noted in place of made."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.context = 7

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu") or name.startswith("cuuint"):
            return self.__dict__.setdefault(name, type(name, (), {"__getattr__": lambda self, name: name})())
        answers = {"cuCtxGetCurrent": self.context, "cuDevicePrimaryCtxRetain": 7}

        def call(*words: Any) -> tuple[Any, ...]:
            self.calls.append(name)
            return 0, answers.get(name, 0)

        return call


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Any:
    real = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    from tilewise.products import device

    made = Driver()
    for name in ("CUtensorMap", "CUlaunchConfig", "CUlaunchAttribute", "cuuint64_t", "cuuint32_t"):
        setattr(made, name, getattr(real, name))
    for name in dir(real):
        if name.startswith("CU") and not hasattr(Driver, name):
            setattr(made, name, getattr(real, name))
    made.cuTensorMapEncodeTiled = lambda *words: (made.calls.append("encode"), (0, real.CUtensorMap()))[1]
    monkeypatch.setattr(device.devices, "package", lambda name: made)
    monkeypatch.setattr(device, "_function", lambda *words: 5)
    monkeypatch.setattr(device, "context", lambda index: 7)
    monkeypatch.setattr(device, "multiprocessors", lambda index: 132)
    return made


def test_a_launch_describes_what_is_new_in_the_context_of_its_device(torch: Any, driver: Any) -> None:
    from tilewise.products.device import bound_product
    from tilewise.products.run import matrices_of, plan_of

    a, b, out = (torch.zeros(128, 256).bfloat16() for _ in range(3))
    out = torch.zeros(128, 128).bfloat16()
    plan, _ = plan_of(a, b, out)
    launch = bound_product(plan, 0, matrices_of(plan, a, b, out), [], [128, 128, 256])
    driver.calls.clear()
    launch([1 << 20, 2 << 20, 3 << 20], [], 9)
    launch([1 << 20, 2 << 20, 3 << 20], [], 9)
    launch([1 << 20, 2 << 20, 4 << 20], [], 9)
    launch([1 << 20, 2 << 20, 3 << 20], [], 9)
    assert driver.calls.count("encode") == 4
    assert driver.calls.count("cuLaunchKernelEx") == 4
    assert "cuCtxPushCurrent" not in driver.calls
    driver.context = 8
    launch([1 << 20, 2 << 20, 4 << 20], [], 9)
    at = driver.calls.index("cuCtxPushCurrent")
    assert driver.calls[at : at + 3] == ["cuCtxPushCurrent", "cuLaunchKernelEx", "cuCtxPopCurrent"]
    for words, addresses in {
        "A has no storage": [0, 2 << 20, 3 << 20],
        "the result and B lie in one span": [1 << 20, 2 << 20, (2 << 20) + 256],
        "D begins at byte 8 of 16": [1 << 20, 2 << 20, (5 << 20) + 8],
    }.items():
        with pytest.raises(LayoutError, match=words):
            launch(addresses, [], 9)


def test_an_input_that_needs_a_gradient_is_refused(torch: Any) -> None:
    a = torch.zeros(64, 64).bfloat16().requires_grad_()
    with pytest.raises(LayoutError, match="none is passed on"):
        tilewise.gemm(a, a)
    with torch.no_grad(), pytest.raises(LayoutError, match="not all on one GPU"):
        tilewise.gemm(a, a)


def test_random_products_have_plans_and_their_definition_holds_of_torch(torch: Any, monkeypatch: Any) -> None:
    """The problems that a GPU is given, by torch on the CPU: plans, tensor maps, and the bound."""
    from tests.products import on_device

    from tilewise.products.run import matrices_of

    def product(a: Any, b: Any, out: Any, **asked: Any) -> Any:
        made = on_device.Problem("", a, b, asked | {"out_dtype": out.dtype})
        for rows, part in on_device.parts(made):
            want, _ = on_device.exact(part)
            most = on_device.MOST.get(out.dtype, float("inf"))
            out[rows] = want.clamp(-most, most).to(out.dtype)
        return out

    monkeypatch.setattr(tilewise, "gemm", product)
    tried = 0
    for seed in range(120):
        problem = on_device.drawn(seed, "cpu")
        if problem.a.numel() * problem.b.shape[-2] > 1e8:
            continue
        tried += 1
        plan = problem.plan
        if not plan.splits:
            assert len(matrices_of(plan, problem.a, problem.b, problem.out)) == 3
        assert on_device.fault(problem) == "", problem.text
    assert tried > 50


def test_a_launch_of_attention_has_a_block_for_each_tile(
    torch: Any, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewise.products import attend

    monkeypatch.setattr(attend, "loaded", lambda *words: 5)
    problem = torch.zeros(2, 6, 300, 128).bfloat16(), *[torch.zeros(2, 3, 70, 128).bfloat16()] * 2
    q = problem[0]
    monkeypatch.setattr(type(q), "is_cuda", True)
    bound = attend._bound(attend.plan_of(q, True), *problem, torch.empty_like(q))
    assert (bound._config.gridDimX, bound._config.gridDimY, bound._config.gridDimZ) == (3, 6, 2)
    assert bound._config.sharedMemBytes == 163912
    assert bound._config.numAttrs == 0
    bound([1 << 20, 2 << 20, 3 << 20, 4 << 20], [0.5], 9)
    assert driver.calls.count("encode") == 4
    pointers = [int(pointer) for pointer in bound._arguments._pointers]
    assert pointers[:4] == bound._arguments.maps
    assert ctypes.c_float.from_address(pointers[4]).value == 0.5
    assert [ctypes.c_int.from_address(pointer).value for pointer in pointers[5:]] == [300, 70, 2]
    with pytest.raises(LayoutError, match="the result and Q lie in one span"):
        bound([1 << 20, 2 << 20, 3 << 20, 1 << 20], [0.5], 9)
