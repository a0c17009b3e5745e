"""`move` on a GPU against `move` on the CPU, of torch's tensors, CuPy's and JAX's arrays.

    python3 -m pytest -q -m device tests/gpu/test_move.py

TILEWISE_PAIRS says how many pairs are drawn: 2,000 where it is not set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.gpu.sanitized_moves import PAIRS as SANITIZED
from tests.gpu.sanitized_moves import prepare
from tests.moves.pairs import case
from tests.moves.test_move import element, storage

from tilewise import LayoutError, S, plan
from tilewise.gpu.compile import Source, cubins
from tilewise.moves import move
from tilewise.moves.kernels.checked import BeyondStorage
from tilewise.moves.kernels.spelling import NAME
from tilewise.moves.memory import ALIGNED, Plan

pytestmark = [pytest.mark.device, pytest.mark.filterwarnings("ignore")]

PAIRS = int(os.environ.get("TILEWISE_PAIRS", "2000"))
BATCH = 500
TURN = S[64, 48], S[(64, 48) : (1, 64)]
LARGER, ACROSS = S[(64, 50) : (50, 1)], S[48, 64]
READY = plan(*TURN, "f32").bind()


@pytest.fixture(scope="module")
def torch():
    found = pytest.importorskip("torch", reason="torch is not installed")
    if not found.cuda.is_available():
        pytest.skip("no GPU")
    return found


@pytest.fixture(scope="module")
def cupy():
    found = pytest.importorskip("cupy", reason="CuPy is not installed")
    if not found.cuda.is_available():
        pytest.skip("no GPU")
    return found


@pytest.fixture(scope="module")
def jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    found = pytest.importorskip("jax", reason="JAX is not installed")
    if found.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    return found


# -- generated pairs -------------------------------------------------------------------------------


def shifted(asked, seed):
    """Return how many bytes after an aligned address the storages of a case begin."""
    return 0 if seed % 4 else max(1, asked.dtype.bits // 8)


def compile_all(seeds, arch):
    """Compile what these cases take, on all cores; the moves find it in the cache."""
    texts = set()
    for seed in seeds:
        asked = case(seed, 6000)
        offset = shifted(asked, seed)
        made = plan(asked.source, asked.target, asked.dtype, shape=asked.shape, fill=element(asked))
        texts.add(made.for_alignment(offset & -offset or ALIGNED).kernel)
    cubins([Source(f"{NAME}.cu", text, arch) for text in sorted(texts - {""})])


def on_gpu(torch, array, offset):
    """Bytes on the GPU, so many after an aligned address."""
    room = torch.empty(len(array) + offset, dtype=torch.uint8, device="cuda")
    room[offset:] = torch.from_numpy(array)
    return room[offset:]


@pytest.mark.parametrize("first", range(0, PAIRS, BATCH))
def test_generated_pairs_are_the_moves_of_the_cpu(torch, first):
    from tilewise.gpu.device import find

    seeds = range(first, min(first + BATCH, PAIRS))
    compile_all(seeds, find().arch)
    wrong = []
    for seed in seeds:
        asked = case(seed, 6000)
        words = {"dtype": asked.dtype, "shape": asked.shape, "fill": element(asked)}
        source = storage(asked, seed)
        x = on_gpu(torch, source, shifted(asked, seed))
        wanted = move(source, asked.source, asked.target, **words)
        new = move(x, asked.source, asked.target, **words).cpu().numpy()
        left = np.full(len(wanted), 0x5A, np.uint8)
        out = on_gpu(torch, left, shifted(asked, seed))
        move(x, asked.source, asked.target, out, **words)
        move(source, asked.source, asked.target, left, **words)
        if new.tobytes() != wanted.tobytes():
            wrong.append(f"{seed} new: {asked}")
        if out.cpu().numpy().tobytes() != left.tobytes():
            wrong.append(f"{seed} out: {asked}")
    assert wrong == []


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """The folder of what is launched under compute-sanitizer, and the tool."""
    usual = sorted(Path("/usr/local").glob("cuda*/bin/compute-sanitizer"), reverse=True)
    tool = shutil.which("compute-sanitizer") or next(map(str, usual), None)
    if tool is None:
        pytest.skip("compute-sanitizer is not installed")
    folder = tmp_path_factory.mktemp("sanitized")
    assert len(prepare(folder)) == SANITIZED
    return tool, folder


@pytest.mark.parametrize("check", ["memcheck", "racecheck"])
def test_a_sanitizer_finds_nothing(sanitized, check):
    tool, folder = sanitized
    program = [sys.executable, "-m", "tests.gpu.sanitized_moves", "run", str(folder)]
    command = [tool, "--tool", check, "--error-exitcode", "9", *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]
    assert f"{SANITIZED} pairs" in done.stdout


@pytest.mark.parametrize("seed", range(0, 200, 10))
def test_checked_kernels_move_the_same_and_meet_no_fault(torch, seed):
    asked = case(seed, 6000)
    source, offset = storage(asked, seed), shifted(asked, seed)
    words = {"dtype": asked.dtype, "shape": asked.shape, "fill": element(asked)}
    ready = plan(asked.source, asked.target, **words, checked=True).bind()
    wanted = move(source, asked.source, asked.target, **words)
    assert ready(on_gpu(torch, source, offset)).cpu().numpy().tobytes() == wanted.tobytes()


def test_an_access_beyond_a_storage_is_raised_and_the_device_goes_on(torch):
    class Shorter(Plan):
        sizes = 64 * 48 * 4 - 16, 64 * 48 * 4

    asked = plan(*TURN, "f32", checked=True)
    shorter = Shorter(**{name: getattr(asked, name) for name in Plan.__dataclass_fields__})
    x = torch.rand(64 * 48, device="cuda")
    with pytest.raises(BeyondStorage, match="16 bytes were to be read at byte 12272 of the source"):
        shorter.bind()(x)
    assert asked.bind()(x).equal(x.view(64, 48).T.flatten())


def test_the_fastest_tile_is_remembered_and_right(torch, tmp_path, monkeypatch):
    from tilewise.moves.arrays import tuned

    monkeypatch.setenv("TILEWISE_CACHE", str(tmp_path))
    tuned.kept.known.cache_clear()
    asked, told = plan(S[2047, 1024], S[(2047, 1024) : (1, 2047)], "u8"), []
    best = tuned.tuned(asked, told=told.append)
    print(*told, sep="\n")
    tuned.kept.known.cache_clear()
    assert tuned.remembered(asked, 0).way == best.way
    x = torch.randint(0, 256, (2047 * 1024,), dtype=torch.uint8, device="cuda")
    assert asked.bind()(x).equal(x.view(2047, 1024).T.flatten())
    tuned.kept.known.cache_clear()


# -- torch -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["float32", "bfloat16", "int64", "complex128", "bool", "float8_e4m3fn", "uint8"]
)
def test_tensors_of_every_width(torch, kind):
    x = torch.randint(0, 2, (64, 48), device="cuda").to(getattr(torch, kind))
    made = move(x, *TURN)
    assert (made.dtype, made.device) == (x.dtype, x.device)
    assert made.view(torch.uint8).equal(x.T.contiguous().flatten().view(torch.uint8))


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[1:, ::2],
        lambda x: x[:, 3],
        lambda x: x[5],
        lambda x: x[3:, 1:].T,
        lambda x: x[0].expand(7, 48),
        lambda x: x.view(8, 8, 48).permute(2, 0, 1),
    ],
)
def test_views_are_read_by_their_strides(torch, view):
    x = view(torch.arange(64 * 48, device="cuda", dtype=torch.int32).view(64, 48))
    assert move(x, None, S[tuple(x.shape)]).equal(x.flatten())


def test_work_is_in_the_order_of_the_streams(torch):
    x = torch.zeros(1 << 26, dtype=torch.int32, device="cuda")
    source, target = S[1 << 13, 1 << 13], S[(1 << 13, 1 << 13) : (1, 1 << 13)]
    move(x, source, target)  # compiled before
    for given in (False, True):
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            for value in range(20):
                x.fill_(value)
            made = None if given else move(x, source, target)
        if given:
            made = move(x, source, target, stream=stream)
        stream.synchronize()
        assert made.eq(19).all()


def test_a_graph_is_captured(torch):
    x, out = torch.zeros(64 * 48, device="cuda"), torch.zeros(64 * 48, device="cuda")
    move(x, *TURN, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        move(x, *TURN, out)
    x.copy_(torch.arange(64.0 * 48, device="cuda"))
    graph.replay()
    assert out.equal(x.view(64, 48).T.flatten())


def test_another_thread_moves_too(torch):
    from concurrent.futures import ThreadPoolExecutor

    x = torch.arange(64.0 * 48, device="cuda")
    torch.cuda.synchronize()
    with ThreadPoolExecutor(4) as pool:
        for made in pool.map(lambda _: move(x, *TURN), range(200)):
            torch.cuda.synchronize()
            assert made.equal(x.view(64, 48).T.flatten())


@pytest.mark.parametrize(
    ("kind", "fill"), [("float32", -1.5), ("bfloat16", 2.0), ("int8", -7), ("int64", 1 << 40)]
)
def test_holes_and_what_is_beyond_the_box_are_filled(torch, kind, fill):
    x = torch.ones(64, 48, dtype=getattr(torch, kind), device="cuda")
    made = move(x, None, LARGER, shape=(64, 48), fill=fill).view(64, 50)
    assert made[:, :48].eq(1).all()
    assert made[:, 48:].eq(fill).all()


def test_out_keeps_its_holes(torch):
    out = torch.full((64, 50), 9.0, device="cuda")
    move(torch.ones(64, 48, device="cuda"), None, S[(64, 48) : (50, 1)], out)
    assert out[:, :48].eq(1).all()
    assert out[:, 48:].eq(9).all()


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (lambda torch, x: x, "share memory"),
        (lambda torch, x: torch.zeros(64 * 48), "on GPU 0, out is torch's on the CPU"),
        (lambda torch, x: torch.zeros(64 * 48 - 1, device="cuda"), "12284 bytes"),
        (lambda torch, x: torch.zeros(2 * 64 * 48, device="cuda")[::2], "not contiguous"),
        (lambda torch, x: torch.zeros(64 * 48, device="cuda", dtype=torch.int32), "of type torch.float32"),
    ],
)
def test_an_out_that_cannot_take_the_result_is_refused(torch, out, said):
    x = torch.zeros(64 * 48, device="cuda")
    with pytest.raises(LayoutError, match=said):
        move(x, *TURN, out(torch, x))


def test_memory_that_there_is_not_is_said_with_its_size(torch):
    with pytest.raises(LayoutError, match=f"{1 << 44} bytes, which GPU 0 does not give"):
        move(torch.zeros(1, dtype=torch.uint8, device="cuda"), S[1], S[1] + (1 << 44) - 1)


def into(x):
    out = x.new_zeros(64 * 48)
    move(x, *TURN, out)
    return out + 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: move(x + 1, *TURN) * 2,
        lambda x: move((x + 1).view(64, 48).t(), None, ACROSS) * 2,
        lambda x: move(x.view(64, 48), None, LARGER, shape=(64, 48), fill=1.5) * 2,
        lambda x: READY(x + 1) * 2,
        into,
    ],
)
def test_compiled_functions_have_it_as_one_operator(torch, function):
    torch._dynamo.reset()
    x = torch.rand(64 * 48, device="cuda")
    assert torch.compile(function, fullgraph=True)(x).equal(function(x))


def test_the_operator_is_one_that_torch_approves(torch):
    from tilewise.moves.arrays import traced

    words = traced._spelled(TURN[0], TURN[1] + 1, torch.float32, None, None, 0)
    torch.library.opcheck(torch.ops.tilewise.move.default, (torch.rand(64 * 48, device="cuda"), *words))


# -- CuPy and JAX ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "int8", "complex128", "float16"])
def test_arrays_of_cupy(cupy, kind):
    x = cupy.arange(64 * 48).astype(kind).reshape(64, 48)
    made = move(x, *TURN)
    assert (type(made), made.dtype) == (type(x), x.dtype)
    assert (made == x.T.ravel()).all()
    assert (move(x[1:, ::2].T, None, S[24, 63]) == x[1:, ::2].T.ravel()).all()
    assert (move(x, None, LARGER, shape=(64, 48), fill=3).reshape(64, 50)[:, 48:] == 3).all()


def test_streams_of_cupy(cupy):
    x, stream = cupy.arange(64 * 48), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        inside = move(x, *TURN)
    given = move(x, *TURN, stream=stream)
    stream.synchronize()
    for made in (inside, given):
        assert (made == x.reshape(64, 48).T.ravel()).all()


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
def test_arrays_of_jax_come_back_as_new_ones(jax, kind):
    x = (jax.numpy.arange(64 * 48) % 100).astype(kind)
    made = move(x, *TURN)
    assert (type(made), made.dtype, made.devices()) == (type(x), x.dtype, x.devices())
    assert (made == x.reshape(64, 48).T.reshape(-1)).all()
    assert (move(x.reshape(64, 48), None, LARGER, shape=(64, 48), fill=3).reshape(64, 50)[:, 48:] == 3).all()
    with pytest.raises(LayoutError, match="cannot be written"):
        move(x, *TURN, x)


def test_many_results_of_jax_are_freed_and_right(jax):
    for step in range(200):
        x = jax.numpy.arange(1 << 20, dtype="int32") + step
        made = move(x, S[1024, 1024], S[(1024, 1024) : (1, 1024)])
        del x
        assert int(made[1]) == 1024 + step
