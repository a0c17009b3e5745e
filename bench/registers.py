"""Moves between registers beside Triton's: 200 pairs of fragments, there and back, on an H200.

Each pair is one kernel on either side, with one loop:

    y = from A to B of x;  y ^= 0x5a..;  x = from B to A of y;  x ^= 0x5a..

Each move needs all of the one before. The XOR is one instruction a register on both sides, in assembly that
no compiler looks into, so that neither folds two moves into none. Both have one buffer of shared memory, and
wait before it is used again. Triton's are `convert_layout` of Gluon, its layouts turned into ours bit by bit;
ours are what `emit move` prints. The time of a round is a difference of two numbers of rounds, by events, so
that launches, loads, stores fall out: `alone` with one block on each multiprocessor, `full` with as many as
give it 32 warps, the same on both sides. Cycles are of the clock that a loop of dependent additions shows.
NumPy checks ours on the device, place by place, A to B and B to A, on fresh random bits.

    python bench/registers.py compile FOLDER         both for sm_90a, and what their code has; needs no GPU
    python bench/registers.py plans FOLDER           what planning takes; again, beside the first time's
    python bench/registers.py run FOLDER --shard 0/1     on the GPU, with CuPy; Triton is not needed there
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np

COUNT, SEED = 200, 9
ARCH = "sm_90a"
BITS = {"i8": 8, "i16": 16, "i32": 32}
SAME = 1.05
"""A ratio to Triton's above which a pair is slower."""
WORDS = ("SHFL", "STS", "STSM", "LDS", "LDSM", "BAR", "WARPSYNC", "PRMT", "SEL", "MOVM")


# -- the pairs ---------------------------------------------------------------------------------------


def layouts(shape: tuple[int, int], bits: int, warps: int) -> dict[str, object]:
    """Fragments of a tensor, by name."""
    from triton.experimental.gluon import language as gl

    rows, columns = shape
    found: dict[str, object] = {}
    high, wide = (max(1, warps // 2), min(warps, 2)), (1, warps)
    for row, column in ((1, 16 // (bits // 8)), (1, 8), (1, 4), (1, 1), (2, 2), (4, 4), (8, 1), (4, 1)):
        for order in ((1, 0), (0, 1)):
            across = min(32, max(1, (columns if order[0] else rows) // (column if order[0] else row)))
            threads = [32 // across, across] if order[0] else [across, 32 // across]
            for grid in {(warps, 1), high, wide}:
                name = f"blocked {row}x{column} of {threads[0]}x{threads[1]} of {grid[0]}x{grid[1]}"
                found[name] = gl.BlockedLayout([row, column], threads, list(grid), list(order))
    for grid in {(warps, 1), high}:
        mma = gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=list(grid), instr_shape=[16, 8])
        found[f"mma.D {grid[0]}x{grid[1]}"] = mma
        for operand in (0, 1):
            found[f"mma.{'AB'[operand]} {grid[0]}x{grid[1]}"] = gl.DotOperandLayout(operand, mma, 32 // bits)
            if bits == 16:
                found[f"mma.{'AB'[operand]} k 4 {grid[0]}x{grid[1]}"] = gl.DotOperandLayout(operand, mma, 4)
    if warps % 4 == 0:
        n = min(columns, 128)
        product = gl.NVMMADistributedLayout(
            version=[3, 0], warps_per_cta=[warps, 1], instr_shape=[16, n, 256 // max(bits, 16)]
        )
        found["wgmma.D"] = product
        if bits < 32:
            found["wgmma.A"] = gl.DotOperandLayout(0, product, 32 // bits)
            found["wgmma.A of bytes"] = gl.DotOperandLayout(0, product, 4 if bits == 16 else 2)
    return found


def rows_of(shape: tuple[int, int], bits: int, warps: int) -> dict[str, object]:
    """Slices of those: rows or columns, with copies."""
    from triton.experimental.gluon import language as gl

    found = {}
    for name, parent in layouts(shape, bits, warps).items():
        if "mma.A" not in name and "mma.B" not in name:
            found[f"row of {name}"] = gl.SliceLayout(0, parent)
            found[f"column of {name}"] = gl.SliceLayout(1, parent)
    return found


def questions() -> list[dict]:
    """Return the pairs: shape, type, warps and two fragments each, drawn with a fixed seed."""
    draw, found, seen = random.Random(SEED), [], set()
    shapes = {1: [(16, 16), (32, 32), (16, 64), (64, 16)], 4: [(64, 64), (128, 32), (64, 128), (128, 64)]}
    shapes[8] = [(128, 64), (128, 128), (64, 64), (256, 32)]
    while len(found) < COUNT:
        warps, kind = draw.choice([1, 4, 4, 8]), draw.choice(["i8", "i16", "i16", "i32"])
        shape = draw.choice(shapes[warps])
        sliced = draw.random() < 0.08
        known = (rows_of if sliced else layouts)(shape, BITS[kind], warps)
        tensor = (shape[0],) if sliced else shape
        special = [name for name in known if "mma" in name]
        one = draw.choice(special if special and draw.random() < 0.6 else sorted(known))
        other = draw.choice(sorted(known))
        if one == other or (tensor, kind, warps, one, other) in seen:
            continue
        seen |= {(tensor, kind, warps, one, other), (tensor, kind, warps, other, one)}
        texts = [spelled(known[name], tensor) for name in (one, other)]
        if None in texts or texts[0] == texts[1] or max(map(registers, texts)) * BITS[kind] > 32 * 128:
            continue
        found.append(
            {"shape": tensor, "type": kind, "warps": warps, "names": [one, other], "layouts": texts}
            | {"sliced": sliced, "parent": shape}
        )
    return found


@cache
def _builder():
    from triton._C import libtriton
    from triton._C.libtriton import gluon_ir, ir

    context = ir.context()
    ir.load_dialects(context)
    libtriton.nvidia.load_dialects(context)
    return gluon_ir.GluonOpBuilder(context), context


def spelled(layout, shape: tuple[int, ...]) -> str | None:
    """Return a layout of Triton as one of ours: bit by bit of the index; None where a bit is of several
    places.
    """
    builder = _builder()[0]
    linear = builder.to_linear_layout(layout._to_ir(builder), list(shape))
    axes = (("reg", linear.reg_bases), ("laneid", linear.lane_bases), ("warpid", linear.warp_bases))
    strides, copies = {}, []
    for axis, bases in axes:
        for bit, base in enumerate(bases):
            moved = [(dim, step) for dim, step in enumerate(base) if step]
            if not moved:
                copies.append(f"2 : {1 << bit}@{axis}")
            elif len(moved) > 1 or moved[0][1] & moved[0][1] - 1 or moved[0] in strides:
                return None
            else:
                strides[moved[0]] = f"{1 << bit}@{axis}"
    digits = [
        (dim, 1 << bit) for dim, size in enumerate(shape) for bit in reversed(range(size.bit_length() - 1))
    ]
    if any(digit not in strides for digit in digits):
        return None
    extents = ", ".join("2" for _ in digits)
    text = f"S[({extents},) : ({', '.join(strides[digit] for digit in digits)},)]"
    for copy in copies:
        text = f"{text} + R[{copy}]" if "R[" not in text else text[:-1] + f", {copy}]"
    return _tidy(text, copies)


def _tidy(text: str, copies: list[str]) -> str:
    if len(copies) < 2:
        return text
    extents, strides = zip(*(copy.split(" : ") for copy in copies), strict=True)
    return f"{text.partition(' + R')[0]} + R[({', '.join(extents)}) : ({', '.join(strides)})]"


def registers(text: str) -> int:
    """Elements of a thread."""
    bits = [int(number) for number in re.findall(r"(\d+)@reg", text)]
    return 2 * max(bits) if bits else 1


# -- Triton's ----------------------------------------------------------------------------------------


def triton_cubin(asked: dict) -> tuple[bytes, int]:
    """Return the loop, compiled by Triton: the cubin, and bytes of shared memory."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    import gluon_loops

    known = (rows_of if asked["sliced"] else layouts)(
        tuple(asked["parent"]), BITS[asked["type"]], asked["warps"]
    )
    a, b = (known[name] for name in asked["names"])
    shape = asked["shape"]
    kernel = gluon_loops.line if asked["sliced"] else gluon_loops.tile
    constants = {"first": a, "second": b, "m": shape[0], "pack": 32 // BITS[asked["type"]]}
    constants |= {} if asked["sliced"] else {"n": shape[1]}
    signature = {"x": f"*{asked['type']}", "out": f"*{asked['type']}", "times": "i32"}
    signature |= dict.fromkeys(constants, "constexpr")
    where = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    source = GluonASTSource(kernel, signature, where)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": asked["warps"]})
    return made.asm["cubin"], made.metadata.shared, made.metadata.name


# -- ours --------------------------------------------------------------------------------------------


def plans(asked: dict):
    """There and back."""
    from tilewise import parse
    from tilewise.moves.exchange import exchange

    a, b = map(parse, asked["layouts"])
    kind = f"b{BITS[asked['type']]}"
    return exchange(a, b, kind), exchange(b, a, kind)


def planned(asked: dict) -> float:
    """Milliseconds of the process for both plans, the better of two."""
    taken = []
    for _ in range(2):
        start = process_time()
        plans(asked)
        taken.append((process_time() - start) * 1e3)
    return min(taken)


def plan_all(folder: Path, count: int) -> None:
    """Measure all plans, there and back: their times, and how they differ from those that the folder has."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for asked in questions()[:count]:
        rows.append([planned(asked), [plan.data() for plan in plans(asked)]])
    each = np.array([time for time, _ in rows]) / 2
    print(
        f"{2 * len(rows)} plans: milliseconds in the median {np.median(each):.1f}, "
        f"of 90 % {np.percentile(each, 90):.1f}, of the slowest pair {each.max():.1f}"
    )
    kept = folder / "plans.json"
    if not kept.exists():
        kept.write_text(json.dumps(rows))
        return
    both = [
        (before["cycles"], after["cycles"])
        for (_, old), (_, new) in zip(json.loads(kept.read_text()), rows, strict=False)
        for before, after in zip(old, new, strict=True)
    ]
    fewer, more = sum(new < old for old, new in both), sum(new > old for old, new in both)
    print(f"beside {kept}: of {len(both)} plans {fewer} take fewer cycles, {more} more")


def program(asked: dict) -> tuple[str, int]:
    """Our loop, and a kernel for each move alone; and bytes of shared memory."""
    from tilewise.moves.exchange.source import function

    there, back = plans(asked)
    threads = 32 * asked["warps"]
    before, after = there.registers
    room, wait, apart = _shared(there, back)

    def call(plan, name: str, first: str, second: str, begin: int = 0) -> str:
        pointer = f", room + {begin}" if plan.shared_bytes else ""
        return f"{name}({first}, {second}{pointer});"

    def alone(plan, name: str) -> str:
        own, made = plan.registers
        return f"""
extern "C" __global__ void {name}_alone(const unsigned *x, unsigned *out)
{{
    extern __shared__ __align__(128) unsigned char room[];
    unsigned from[{own}], to[{made}];
    for (int i = 0; i < {own}; i++) from[i] = x[i * {threads} + threadIdx.x];
    {call(plan, name, "from", "to")}
    for (int i = 0; i < {made}; i++) out[i * {threads} + threadIdx.x] = to[i];
}}"""

    turn = (
        "#pragma unroll\n        for (int i = 0; i < {0}; i++) "
        'asm volatile("xor.b32 %0, %0, 0x5a5a5a5a;" : "+r"({1}[i]));'
    )
    loop = f"""
extern "C" __global__ void __launch_bounds__({threads}) loop(const unsigned *x, unsigned *out, int times)
{{
    extern __shared__ __align__(128) unsigned char room[];
    unsigned a[{before}], b[{after}];
    x += blockIdx.x * {before * threads}; out += blockIdx.x * {before * threads};
    #pragma unroll
    for (int i = 0; i < {before}; i++) a[i] = x[i * {threads} + threadIdx.x];
    #pragma unroll 1
    for (int i = 0; i < times; i++) {{
        {call(there, "there", "a", "b")}
        {turn.format(after, "b")}
        {wait}
        {call(back, "back", "b", "a", apart)}
        {turn.format(before, "a")}
        {wait}
    }}
    #pragma unroll
    for (int i = 0; i < {before}; i++) out[i * {threads} + threadIdx.x] = a[i];
}}"""
    return "\n".join(
        [function(there, "there"), function(back, "back"), alone(there, "there"), alone(back, "back"), loop]
    ), room


def _shared(there, back) -> tuple[int, str, int]:
    """Bytes, the wait before they are used again, and where those of the way back begin."""
    both = [plan for plan in (there, back) if plan.shared_bytes]
    if not both:
        return 0, "", 0
    if any(plan.barriers for plan in both):
        return max(plan.shared_bytes for plan in both), "__syncthreads();", 0
    if len(both) == 2 and (there.shared_bytes, there.slots, there.slots) != (
        back.shared_bytes,
        back.slots,
        there.threads // 32,
    ):
        return there.shared_bytes + back.shared_bytes, "__syncwarp();", there.shared_bytes
    return both[0].shared_bytes, "__syncwarp();", 0


def our_cubin(asked: dict) -> tuple[bytes, int]:
    """Ours, compiled by NVRTC."""
    from tests.codegen import nvrtc

    text, room = program(asked)
    return nvrtc.compile_to_cubin(nvrtc.load(), text, f"-arch={ARCH}")[0], room


# -- what the code has -------------------------------------------------------------------------------


def counts(path: Path, kernel: str) -> dict[str, int]:
    """Instructions of a kernel by their first word: those of a loop, and what is around it."""
    text = subprocess.run(["cuobjdump", "-sass", path], capture_output=True, text=True, check=True).stdout
    body = next(part for part in text.split("Function : ")[1:] if part.split()[0] == kernel)
    words = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)", body)
    return {word: words.count(word) for word in WORDS} | {"all": len(words)}


def compiled(job: tuple[int, dict, str]) -> dict:
    """Compile one pair, both sides, into the folder; what it has already is kept."""
    number, asked, folder = job
    kept = Path(folder) / f"{number}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    theirs, ours = Path(folder) / f"{number}.triton.cubin", Path(folder) / f"{number}.ours.cubin"
    cubin, room = our_cubin(asked)
    ours.write_bytes(cubin)
    cubin, their_room, name = triton_cubin(asked)
    theirs.write_bytes(cubin)
    there, back = plans(asked)
    made = asked | {
        "number": number,
        "kinds": [there.kind, back.kind],
        "bytes": [their_room, room],
        "modelled": [there.cycles, back.cycles],
        "planned": planned(asked),
        "kernel": name,
        "triton": counts(theirs, name),
        "ours": counts(ours, "loop"),
    }
    kept.write_text(json.dumps(made))
    return made


def compile_all(folder: Path, workers: int, count: int, only: list[int]) -> None:
    """Return all pairs, or some, and the table of what their code has."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = list(enumerate(questions()[:count]))
    jobs = [(number, own, str(folder)) for number, own in asked if not only or number in only]
    with ProcessPoolExecutor(workers) as pool:
        rows = list(pool.map(compiled, jobs))
    (folder / "pairs.json").write_text(json.dumps(rows))
    print_counts(rows)


def print_counts(rows: list[dict]) -> None:
    """Return both sides' instructions of the loop, Triton's first."""
    for row in rows:
        print(
            f"{row['number']:3} {title(row)}: {' '.join(row['kinds'])}; bytes {row['bytes']}; "
            + ", ".join(
                f"{word} {row['triton'][word]} {row['ours'][word]}"
                for word in (*WORDS, "all")
                if row["triton"][word] or row["ours"][word]
            )
        )
    for what in (*WORDS, "all"):
        more = sum(row["ours"][what] > row["triton"][what] for row in rows)
        sums = [sum(row[side][what] for row in rows) for side in ("triton", "ours")]
        print(f"{what:9} triton {sums[0]:7} ours {sums[1]:7}, more in {more} pairs")
    both = np.array([row["planned"] for row in rows])
    spread = ", ".join(f"{name} {np.percentile(both, at):.0f}" for name, at in (("median", 50), ("90 %", 90)))
    print(f"both plans of a pair, ms: {spread}, worst {both.max():.0f}")
    print("bytes    ", *(sum(row["bytes"][i] for row in rows) for i in (0, 1)))


def title(row: dict) -> str:
    """Return what a pair is."""
    shape, (one, other) = "x".join(map(str, row["shape"])), row["names"]
    return f"{row['type']} {shape} {row['warps']}w {one} <> {other}"


# -- on the GPU --------------------------------------------------------------------------------------


class Gpu:
    """One device, by CuPy: launches, times, cycles."""

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        self.multiprocessors = properties["multiProcessorCount"]
        self.room = properties["sharedMemPerMultiprocessor"]
        self.hertz = self._hertz()

    def _hertz(self) -> float:
        text = """extern "C" __global__ void spin(long long *out, int times)
        { long long s = clock64(); unsigned a = times; for (int i = 0; i < times; i++)
          asm volatile("add.u32 %0, %0, 1;" : "+r"(a)); out[0] = clock64() - s; out[1] = a; }"""
        kernel = self.cupy.RawKernel(text, "spin")
        out = self.cupy.zeros(2, self.cupy.int64)
        for _ in range(3):
            seconds = self.timed(lambda: kernel((1,), (32,), (out, np.int32(20_000_000))))
        return float(out[0]) / seconds

    def timed(self, work) -> float:
        """Seconds between two events around what is launched."""
        first, last = (self.cupy.cuda.Event() for _ in range(2))
        first.record()
        work()
        last.record()
        last.synchronize()
        return self.cupy.cuda.get_elapsed_time(first, last) / 1e3

    def kernel(self, path: Path, name: str, room: int):
        """Return a kernel of a cubin."""
        found = self.cupy.RawModule(path=str(path)).get_function(name)
        if room:
            found.max_dynamic_shared_size_bytes = room
        return found


def cycles_of(gpu: Gpu, launch, blocks: int) -> float:
    """Cycles of a round, of all blocks that a multiprocessor has: the least of several differences."""
    few, many = 200, 1200
    launch(blocks, few)
    best = []
    for _ in range(7):
        short = gpu.timed(lambda: launch(blocks, few))
        best.append((gpu.timed(lambda: launch(blocks, many)) - short) / (many - few))
    return float(np.median(best)) * gpu.hertz


def measured(gpu: Gpu, folder: Path, row: dict) -> dict:
    """Run both sides in turn, alone and full; return whether ours are right."""
    cupy, threads = gpu.cupy, 32 * row["warps"]
    each = max(1, 32 // row["warps"])
    largest = max(row["bytes"]) + 1024
    each = max(1, min(each, gpu.room // largest))
    words = threads * 128 * gpu.multiprocessors * each
    x = cupy.random.randint(0, 1 << 31, words, dtype=cupy.int32).astype(cupy.uint32)
    out = cupy.zeros_like(x)
    theirs = gpu.kernel(folder / f"{row['number']}.triton.cubin", row["kernel"], row["bytes"][0])
    ours = gpu.kernel(folder / f"{row['number']}.ours.cubin", "loop", row["bytes"][1])
    nothing = np.uint64(0)

    def triton(blocks: int, times: int) -> None:
        theirs((blocks,), (threads,), (x, out, np.int32(times), nothing, nothing), shared_mem=row["bytes"][0])

    def own(blocks: int, times: int) -> None:
        ours((blocks,), (threads,), (x, out, np.int32(times)), shared_mem=row["bytes"][1])

    found = {"right": right(gpu, folder, row)}
    for name, blocks in (("alone", gpu.multiprocessors), ("full", gpu.multiprocessors * each)):
        pairs = [(cycles_of(gpu, triton, blocks), cycles_of(gpu, own, blocks)) for _ in range(2)]
        found[name] = [min(side) for side in zip(*pairs, strict=True)]
    return found


def right(gpu: Gpu, folder: Path, row: dict) -> bool:
    """Return whether both moves bring fresh random bits to all their places."""
    from tilewise import parse

    a, b = map(parse, row["layouts"])
    bits, threads = BITS[row["type"]], 32 * row["warps"]
    values = np.random.default_rng().integers(0, 1 << bits, a.size, dtype=np.uint64)
    for name, first, second in (("there", a, b), ("back", b, a)):
        kernel = gpu.kernel(folder / f"{row['number']}.ours.cubin", f"{name}_alone", row["bytes"][1])
        given = gpu.cupy.asarray(packed(first, values, bits, threads))
        expected = packed(second, values, bits, threads)
        wanted = packed(second, np.full(a.size, (1 << bits) - 1, np.uint64), bits, threads)
        out = gpu.cupy.zeros(expected.shape, gpu.cupy.uint32)
        kernel((1,), (threads,), (given, out), shared_mem=row["bytes"][1])
        if not np.array_equal(out.get() & wanted, expected):
            return False
    return True


def packed(layout, values: np.ndarray, bits: int, threads: int) -> np.ndarray:
    """Return the registers of all threads, [register, thread], as a layout says."""
    from tilewise.tables import table

    columns = {name: own.reshape(layout.size, -1) for name, own in table(layout).columns.items()}
    nothing = np.zeros((layout.size, layout.copies), np.int64)
    thread = columns.get("laneid", nothing) + 32 * columns.get("warpid", nothing)
    position = columns.get("reg", nothing)
    count = -(-(int(position.max()) + 1) * bits // 32)
    found = np.zeros((count, threads), np.uint32)
    shifted = values[:, None] << (position * bits % 32).astype(np.uint64)
    np.bitwise_or.at(found, (position * bits // 32, thread), shifted.astype(np.uint32))
    return found


def run_all(folder: Path, shard: int, shards: int) -> None:
    """Return the table, and its summary."""
    rows = json.loads((folder / "pairs.json").read_text())[shard::shards]
    gpu = Gpu()
    print(f"{gpu.multiprocessors} multiprocessors, {gpu.hertz / 1e9:.3f} GHz")
    print("cycles of a round: Triton's, ours, ratio")
    ratios = {"alone": [], "full": []}
    wrong = []
    for row in rows:
        found = measured(gpu, folder, row)
        told = []
        for name, own in ratios.items():
            ratio = found[name][1] / max(found[name][0], 1e-9)
            own.append((ratio, row["number"]))
            slow = " SLOWER" if ratio > SAME else ""
            told.append(f"{name} {found[name][0]:.0f} {found[name][1]:.0f} {ratio:.2f}{slow}")
        wrong += [] if found["right"] else [row["number"]]
        kinds = "/".join(dict.fromkeys(row["kinds"]))
        print(
            f"{row['number']:3} {title(row)}: {kinds}, {', '.join(told)}, modelled {sum(row['modelled']):.0f}"
            f"{'' if found['right'] else ' WRONG'}",
            flush=True,
        )
    for name, own in ratios.items():
        values = np.array([ratio for ratio, _ in own])
        slower = [number for ratio, number in own if ratio > SAME]
        print(
            f"{name}: geometric mean {np.exp(np.log(values).mean()):.3f}, worst {max(own)[0]:.3f} "
            f"(pair {max(own)[1]}), {len(slower)} of {len(own)} over {SAME}: {slower}"
        )
    print(f"wrong: {wrong or 'none'}")


def main() -> None:
    """compile, plans or run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("compile", "plans", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shard", default="0/1", help="which of how many parts (0/1)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--only", type=int, nargs="+", default=[], help="pairs to compile, by their numbers")
    args = parser.parse_args()
    if args.what == "compile":
        compile_all(args.folder, args.workers, args.count, args.only)
        return
    if args.what == "plans":
        plan_all(args.folder, args.count)
        return
    shard, _, shards = args.shard.partition("/")
    run_all(args.folder, int(shard), int(shards))


if __name__ == "__main__":
    main()
