"""A thousand programs on a GPU, and what each leaves held to the model.

    PYTHONPATH=src:. python -m tests.simulate.on_device --out DIR
    PYTHONPATH=src:. python -m tests.simulate.on_device --out DIR --dry

It needs NumPy, NVRTC and a GPU of the Hopper generation; pytest does not run it. --dry has the model answer
in the device's place, and compiles the kernels all the same. Each sort of program runs in a process of its
own: a program that ends with an error costs itself, and the next ones go on in a fresh process. DIR gets

    programs.zip    the record, for tests/simulate/truth: digests of all answers, words of those that round
    report.txt      verdicts by sort and by instruction, and the first differences
    different.npz   whole answers that are not the model's, by the program's number

The exit code is 1 where an answer differs, 2 where one is missing.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import os
import pickle
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from tests.gpu.counters_on_device import compiled
from tests.simulate import kernels, models
from tests.simulate.programs import (
    BASE,
    CHAIN_BYTES,
    COUNTS,
    IMAGE,
    MATRIX_BYTES,
    POISON,
    ChainProgram,
    CopyProgram,
    MatrixProgram,
    MmaProgram,
    Program,
    WgmmaProgram,
    programs,
    sort_of,
)

from tilewise.gpu.verify.tma import Aligned, CopyRequest, encode, encoder
from tilewise.gpu.verify.truth import Truth, save
from tilewise.hardware.limits import LANES

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).parents[2]
SECONDS = 90
"""The longest time of one sort of programs in its process."""

RESTARTS = 4
SHOWN = 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, run, compare, record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True, help="where the record and the report go")
    parser.add_argument("--dry", action="store_true", help="the model answers; no GPU")
    parser.add_argument("--most", type=int, default=1 << 30, help="so many programs of a sort at most")
    parser.add_argument("--child", nargs=3, metavar=("SORT", "FROM", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.child:
        sort, first, folder = args.child
        answer_all(sort, int(first), Path(folder), args.most)
        return 0
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        return Run(args, Path(scratch)).whole()


class Run:
    """One run over all programs."""

    def __init__(self, args: argparse.Namespace, scratch: Path) -> None:
        self.args, self.scratch, self.begin = args, scratch, time.monotonic()
        self.programs = programs(args.most)
        self.lines: list[str] = []

    def told(self, words: str) -> None:
        self.lines.append(f"{time.monotonic() - self.begin:6.1f} s  {words}")
        print(self.lines[-1], flush=True)

    def whole(self) -> int:
        """The exit code."""
        device = described(dry=self.args.dry)
        self.told(", ".join(f"{name} {value}" for name, value in device.items()))
        self.compile()
        answers = self.answers()
        verdicts = self.verdicts(answers)
        save(self.args.out / "programs.zip", records(self.programs, answers, device))
        missing = len(self.programs) - len(answers)
        different = self.report(answers, verdicts)
        self.told(f"done: {len(answers)} answers, {different} differ, {missing} missing")
        (self.args.out / "report.txt").write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return 2 if missing else int(bool(different))

    # -- the device ---------------------------------------------------------------------------------

    def compile(self) -> None:
        """Machine code of every kernel, in a file that the processes load."""
        every = kernels.sources(self.programs)
        with ProcessPoolExecutor(_workers(), mp_context=get_context("spawn")) as pool:
            codes = list(pool.map(compiled, [text for text, _ in every]))
        code_of = {name: code for (_, names), code in zip(every, codes, strict=True) for name in names}
        (self.scratch / "code.pickle").write_bytes(pickle.dumps(code_of))
        self.told(f"{len(code_of)} kernels compiled")

    def answers(self) -> dict[int, Array]:
        """Return what the device left after each program, by number."""
        if self.args.dry:
            with ProcessPoolExecutor(_workers(), mp_context=get_context("spawn")) as pool:
                found = list(pool.map(models.expected, self.programs, chunksize=10))
            return {program.number: one for program, one in zip(self.programs, found, strict=True)}
        found: dict[int, Array] = {}
        for sort in COUNTS:
            own = [program for program in self.programs if sort_of(program) == sort]
            found |= self.answers_of(sort, own)
            done = sum(program.number in found for program in own)
            self.told(f"{sort}: {done} of {len(own)} answered")
        return found

    def answers_of(self, sort: str, own: Sequence[Program]) -> dict[int, Array]:
        """Those of one sort; a program that ends its process is left out."""
        found: dict[int, Array] = {}
        first, command = 0, [sys.executable, "-m", "tests.simulate.on_device", "--out", str(self.args.out)]
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        for _ in range(RESTARTS):
            child = [*command, "--most", str(self.args.most), "--child", sort, str(first), str(self.scratch)]
            try:
                run = subprocess.run(
                    child, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
                )
                said = (run.stdout + run.stderr)[-700:]
            except subprocess.TimeoutExpired:
                said = f"it took more than {SECONDS} s"
            kept = list(kept_answers(self.scratch / f"{sort}.{first}", own))
            found |= dict(kept)
            first += len(kept)
            if first >= len(own):
                return found
            self.told(f"{sort}: {str(own[first])[:300]} ENDED THE PROCESS: {said}")
            first += 1
        return found

    # -- the model ----------------------------------------------------------------------------------

    def verdicts(self, answers: dict[int, Array]) -> list[models.Verdict]:
        """Every answer against the model."""
        asked = [(program, answers[program.number]) for program in self.programs if program.number in answers]
        with ProcessPoolExecutor(_workers(), mp_context=get_context("spawn")) as pool:
            found = list(pool.map(verdict, asked, chunksize=10))
        self.told(f"{len(found)} answers compared")
        return found

    def report(self, answers: dict[int, Array], verdicts: Sequence[models.Verdict]) -> int:
        """Tallies and the first differences; how many differ."""
        of = {program.number: program for program in self.programs}
        words = (models.SAME, models.WITHIN, models.DIFFERENT)
        tally = Counter((sort_of(of[one.number]), one.word) for one in verdicts)
        for sort in COUNTS:
            self.told(f"{sort:9}" + ", ".join(f"{tally[sort, word]:4} {word}" for word in words))
        odd = [one for one in verdicts if one.word != models.SAME]
        for (kind, word), count in Counter((_kind(of[one.number]), one.word) for one in odd).most_common(30):
            self.told(f"    {count:3} {word}: {kind}")
        different = [one for one in odd if one.word == models.DIFFERENT]
        for one in [*different[:SHOWN], *[one for one in odd if one.word == models.WITHIN][:4]]:
            self.told(f"{one.word}, program {one.number}, {str(of[one.number])[:220]}: {one.message[:300]}")
        if odd:
            kept = {str(one.number): answers[one.number] for one in odd}
            np.savez_compressed(self.args.out / "different.npz", **kept)
        return len(different)


def verdict(asked: tuple[Program, Array]) -> models.Verdict:
    """A comparison that ends well in any case."""
    try:
        return models.judged(*asked)
    except Exception:  # the model refused it, or has a fault: that is a difference too
        said = traceback.format_exc()[-300:]
        return models.Verdict(asked[0].number, models.DIFFERENT, message=f"the model: {said}")


def _kind(program: Program) -> str:
    if isinstance(program, WgmmaProgram | MmaProgram):
        return f"{sort_of(program)} {program.this} {program.data}"
    return sort_of(program)


def _workers() -> int:
    return max(1, min(8, os.cpu_count() or 1))


def described(*, dry: bool) -> dict[str, str]:
    """Name, capability and driver of the device, and the day."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    if dry:
        return {"name": "the model", "capability": "9.0", "driver": "none", "date": day}
    from tests.codegen.driver import Driver

    driver, version = Driver(), ctypes.c_int()
    driver("cuDriverGetVersion", ctypes.byref(version))
    cuda = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    capability = "{}.{}".format(*divmod(driver.capability, 10))
    return {"name": driver.name, "capability": capability, "driver": cuda, "date": day}


# -- the record --------------------------------------------------------------------------------------


def records(every: Sequence[Program], answers: dict[int, Array], device: dict[str, str]) -> list[Truth]:
    """For each sort: digests of what programs were given and left, and words of the answers that round."""
    found = []
    for sort in COUNTS:
        own = [program for program in every if sort_of(program) == sort and program.number in answers]
        cases, given, left, words = [], [], [], []
        for program in own:
            answer = answers[program.number]
            picked = models.sampled(program, answer.size)
            cases.append({"number": program.number, "length": len(picked)})
            given.append(models.digest(*program.inputs().values()))
            left.append(models.digest(answer))
            words.append(answer.reshape(-1)[picked].astype(np.int64))
        arrays = {"given": np.array(given, np.int64), "left": np.array(left, np.int64)}
        arrays["words"] = np.concatenate([*words, np.zeros(0, np.int64)])
        found.append(Truth(f"programs.{sort}", cases, arrays, device))
    return found


# -- in a process of its own -------------------------------------------------------------------------


def answer_all(sort: str, first: int, folder: Path, most: int) -> None:
    """Run the programs of a sort from one on; answers go to a file, each as soon as it is there."""
    code_of = pickle.loads((folder / "code.pickle").read_bytes())
    own = [program for program in programs(most) if sort_of(program) == sort][first:]
    device = Device(code_of)
    with (folder / f"{sort}.{first}").open("wb") as file:
        for program in own:
            answer = device.answer(program)
            file.write(np.int32([program.number, answer.nbytes]).tobytes() + answer.tobytes())
            file.flush()


def kept_answers(path: Path, own: Sequence[Program]) -> Iterator[tuple[int, Array]]:
    """The answers of a file, up to the last whole one."""
    data, at = path.read_bytes() if path.exists() else b"", 0
    of = {program.number: program for program in own}
    while at + 8 <= len(data):
        number, size = np.frombuffer(data, "<i4", 2, at).tolist()
        if at + 8 + size > len(data):
            return
        kind = "u1" if isinstance(of[number], CopyProgram | ChainProgram) else "<u4"
        yield number, np.frombuffer(data[at + 8 : at + 8 + size], kind).reshape(of[number].shape)
        at += 8 + size


class Device:
    """A GPU that runs programs."""

    def __init__(self, code_of: dict[str, bytes]) -> None:
        from tests.codegen.driver import Driver

        self.driver, self.code_of, self.rooms = Driver(), code_of, []

    def answer(self, program: Program) -> Array:
        """Return what a program leaves there."""
        if isinstance(program, WgmmaProgram):
            return self.wgmma(program)
        if isinstance(program, MmaProgram):
            return self.mma(program)
        if isinstance(program, MatrixProgram):
            return self.matrix(program)
        if isinstance(program, ChainProgram):
            return self.chain(program)
        return self.load(program) if program.verb == "load" else self.store(program)

    def wgmma(self, program: WgmmaProgram) -> Array:
        given = program.inputs()
        with self.memory(given["image"], given["a"], given["c"], self.poisoned(4 * given["c"].size)) as held:
            image, a, c, out = held
            at_a = 0 if program.a is None else program.a.value
            values = [image, ctypes.c_int(IMAGE // 16), a, c, ctypes.c_uint64(at_a)]
            values += [ctypes.c_uint64(program.b.value), ctypes.c_int(program.scale), out]
            self.launch(program, 128, IMAGE, values)
            return self.read(out, "<u4", program.shape)

    def mma(self, program: MmaProgram) -> Array:
        given = program.inputs()
        nothing = np.zeros(LANES, np.uint32)
        jobs = np.zeros(4, np.int32)
        size = 4 * int(np.prod(program.shape))
        with self.memory(*given.values(), nothing, jobs, self.poisoned(size)) as held:
            self.launch(program, LANES, 0, [*held[:5], ctypes.c_int(1), held[5]])
            return self.read(held[5], "<u4", program.shape)

    def matrix(self, program: MatrixProgram) -> Array:
        given = program.inputs()
        size = 4 * int(np.prod(program.shape))
        with self.memory(given["addresses"], given["content"], self.poisoned(size)) as held:
            values = [*held[:2], ctypes.c_int(MATRIX_BYTES // 4), held[2]]
            self.launch(program, LANES, MATRIX_BYTES, values)
            return self.read(held[2], "<u4", program.shape)

    def load(self, program: CopyProgram) -> Array:
        content = program.inputs()["content"]
        with self.memory(content, self.poisoned(program.window), bytes(16)) as (source, out, told):
            values = [self.tensor_map(program, source), self.request(program), out, told]
            self.launch(program, 256, program.window + BASE, values)
            return self.read(out, "u1", program.shape)

    def store(self, program: CopyProgram) -> Array:
        content = program.inputs()["content"]
        with self.memory(content, self.poisoned(program.global_bytes)) as (source, target):
            values = [self.tensor_map(program, target), self.request(program), source]
            self.launch(program, 256, program.window + BASE, values)
            return self.read(target, "u1", program.shape)

    def chain(self, program: ChainProgram) -> Array:
        given, first, last = program.inputs(), program.arriving, program.leaving
        poisoned = self.poisoned(last.global_bytes), self.poisoned(CHAIN_BYTES)
        with self.memory(*given.values(), *poisoned) as (source, rows, c, target, out):
            values = [self.tensor_map(first, source), self.request(first, CHAIN_BYTES)]
            values += [self.tensor_map(last, target), self.request(last, CHAIN_BYTES)]
            self.launch(
                program, 128, CHAIN_BYTES + BASE, [*values, rows, c, ctypes.c_int(program.trans), out]
            )
            parts = (self.read(out, "u1", (CHAIN_BYTES,)), self.read(target, "u1", last.shape))
            return np.concatenate(parts)

    def tensor_map(self, program: CopyProgram, buffer: ctypes.c_uint64) -> Any:
        """The map's 128 bytes, at a multiple of 64, as an argument."""
        room = Aligned(128)
        self.rooms.append(room)  # the argument points into it
        address = buffer.value + program.origin
        status = encode(encoder(), room, address, program.box.tensor_map.numbers.values())
        assert status == 0, f"cuTensorMapEncodeTiled: CUresult {status}"
        return (ctypes.c_char * 128).from_address(room.address)

    def request(self, program: CopyProgram, window: int = 0) -> CopyRequest:
        box = program.box
        corner = (ctypes.c_int * 5)(*box.corner[::-1])
        return CopyRequest(len(box.box), corner, box.start, window or program.window, box.bytes, POISON)

    def memory(self, *contents: Any) -> Any:
        return self.driver.memory(*(bytes(c) if isinstance(c, bytes) else c.tobytes() for c in contents))

    def poisoned(self, size: int) -> bytes:
        return bytes([POISON]) * size

    def launch(self, program: Program, threads: int, shared: int, values: Sequence[Any]) -> None:
        name = kernels.kernel_of(program)
        with self.driver.kernel(self.code_of[name], name, shared) as kernel:
            self.driver.launch(kernel, (1, 1), threads, shared, values)
            self.driver("cuCtxSynchronize")

    def read(self, at: ctypes.c_uint64, kind: str, shape: tuple[int, ...]) -> Array:
        count = int(np.prod(shape)) * np.dtype(kind).itemsize
        return np.frombuffer(self.driver.read(at, count), kind).reshape(shape)


if __name__ == "__main__":
    sys.exit(main())
