"""A first look at what the hardware does with odd descriptors: `PYTHONPATH=src python -u tests/gpu/explore.py OUT`."""
# ruff: noqa: E501, C408

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from tilewise.gpu.compile import Source, cubins
from tilewise.gpu.device import HOPPER, find
from tilewise.gpu.launch import Session
from tilewise.gpu.probes.instruction import SHARED, Instruction, source
from tilewise.gpu.probes.spelling import (
    BASE,
    END,
    THREADS,
    Job,
    a_places,
    canonical,
    core_matrices,
    indices,
    launch,
    of_a,
    of_b,
    of_d,
    select_k,
    select_registers,
)
from tilewise.hardware.modes import MODES
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS
from tilewise.hardware.wgmma.reads import pieces
from tilewise.tables.build import table

MID = 65536
AREA = END - 16384  # b1 reads past the selecting rows where N does not divide K
PAIRS = [
    *[(t, t, d) for t in ("f16", "bf16", "tf32") for d in INPUTS[t].accumulators],
    *[(a, b, d) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for d in ("f32", "f16")],
    *[(a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")],
    ("b1", "b1", "s32"),
]
FEW = (8, 64)
F16N = (8, 16, 24, 32, 40, 48, 64, 72, 96, 128, 160, 256)


class Bench:
    def __init__(self, session, kernels):
        self.session, self.kernels = session, kernels

    def d(self, this):
        """[64, N] codes: m | n << 6 | 1 << 14 by the place the catalogue has."""
        planes, k = 15, this.k
        a = np.zeros((planes, 64, k), bool)
        b = np.zeros((planes, this.n, k), bool)
        m, n = np.arange(64), np.arange(this.n)
        for p in range(planes):
            a[p, :, 0] = m >> p & 1 if p < 6 else 1
            b[p, :, 0] = n >> (p - 6) & 1 if 6 <= p < 14 else 1
        overlay = np.concatenate([core_matrices(a, this.a), core_matrices(b, this.b)], axis=-1)
        at = BASE + 4096
        jobs = [Job(canonical(at + 64 * 32), a=canonical(at))]
        out = launch(self.session, self.kernels[this], this, jobs, planes=planes, overlay=overlay, at=at)
        return of_d(out, this)[0]

    def a_registers(self, this):
        """[64, K] codes: element | thread * E | 1 << last."""
        each = this.k // 2
        code = np.arange(THREADS)[:, None] * each + np.arange(each)
        bits = (THREADS * each - 1).bit_length()
        held = np.stack([*(code >> p & 1 for p in range(bits)), np.ones_like(code)]).astype(bool)
        from tilewise.gpu.probes.spelling import packed

        registers = packed(held, this.a)[:, None]
        overlay, starts = select_k(this)
        jobs = [Job(canonical(AREA + s)) for s in starts]
        out = launch(
            self.session,
            self.kernels[this],
            this,
            jobs,
            planes=bits + 1,
            registers=registers,
            overlay=overlay,
            at=AREA,
        )
        return of_a(out, this), each, bits

    def b(self, this, values):
        picks = select_registers(this)
        many = len(picks)
        jobs = [Job(v, registers=s) for v in values for s in range(many)]
        out = launch(self.session, self.kernels[this], this, jobs, planes=this.planes, registers=picks)
        words = out.reshape(len(values), many, this.elements, THREADS)
        return of_b(words, this)

    def a(self, this, values):
        overlay, starts = select_k(this)
        jobs = [Job(canonical(AREA + s), a=v) for v in values for s in starts]
        out = launch(
            self.session, self.kernels[this], this, jobs, planes=this.planes, overlay=overlay, at=AREA
        )
        words = out.reshape(len(values), len(starts), this.elements, THREADS)
        return of_a(words, this)


def instructions():
    d = [Instruction(*p, n) for p in PAIRS for n in INPUTS[p[0]].n]
    more = [Instruction("f16", "f16", "f32", n, "k", "mn") for n in F16N]
    more += [Instruction("bf16", "bf16", "f32", n, "k", "mn") for n in (8, 24, 64)]
    more += [Instruction(t, t, "f32", n, "mn", "k") for t in ("f16", "bf16") for n in (8, 16, 24, 64)]
    return list(dict.fromkeys(d + more))


def model(this, operand, descriptor):
    dtype, major = (this.a, this.a_major) if operand == "A" else (this.b, this.b_major)
    byte = np.empty((64 if operand == "A" else this.n, this.k), np.int64)
    for piece in pieces(descriptor, dtype=dtype, major=major, operand=operand, n=this.n):
        (top, below), (left, right) = piece.box
        byte[top:below, left:right] = table(piece.layout).columns["m"].reshape(below - top, right - left)
    if this.bits == 1:
        return 8 * byte + np.arange(byte.shape[1]) % 8
    return byte * 8 // this.bits


def fits(this, operand, descriptor, margin=4096):
    try:
        want = model(this, operand, descriptor) * this.bits // 8
    except Exception:
        return True
    top = AREA if operand == "A" else END
    return want.min() >= BASE + margin and want.max() + margin < top


def systematic(mode):
    s = [("legal", dict()), ("legal", dict(lbo=2048, sbo=4096)), ("legal", dict(lbo=4096, sbo=mode.period))]
    s += [
        ("start", dict(start=MID + x))
        for x in (16, 32, 48, 64, 80, 96, 112, 128, 256, 384, 512, 640, 768, 896, 1008)
    ]
    s += [("base", dict(base_offset=b)) for b in range(1, 8)] if mode.bits else []
    s += [("base+start", dict(base_offset=b, start=MID + 128 * b)) for b in range(1, 8)] if mode.bits else []
    s += (
        [
            ("base+start2", dict(base_offset=b, start=MID + x))
            for b in (1, 3, 4, 6)
            for x in (16, 48, 128, 256, 512, 560)
        ]
        if mode.bits
        else []
    )
    s += [("lbo", dict(lbo=x)) for x in (0, 16, 32, 64, 128, 144, 256, 272, 1024, 1040, 2064, 4112)]
    s += [("sbo", dict(sbo=x)) for x in (0, 16, 32, 64, 96, 112, 128, 144, 256, 272, 512, 1024, 1040, 2048)]
    s += [("both", dict(lbo=x, sbo=y)) for x in (0, 16, 128, 144, 1040) for y in (0, 16, 128, 144, 1040)]
    s += (
        [("lbo+base", dict(lbo=x, base_offset=b)) for x in (16, 144, 1040) for b in (1, 5)]
        if mode.bits
        else []
    )
    return [
        (tag, Descriptor(**{"start": MID, "lbo": 1024, "sbo": 1024, "mode": mode, **kw})) for tag, kw in s
    ]


def anything(mode, rng, count):
    out = []
    for _ in range(count):
        top = rng.choice((16, 64, 256))
        out.append(
            (
                "random",
                Descriptor(
                    start=MID // 16 * 16 + 16 * rng.randrange(0, 1024),
                    lbo=16 * rng.randrange(top),
                    sbo=16 * rng.randrange(top),
                    mode=mode,
                    base_offset=rng.choice((0, 0, rng.randrange(8))) if mode.bits else 0,
                ),
            )
        )
    return out


def cases():
    """(this, operand, [(tag, descriptor)])"""
    rng = random.Random(4)
    for mode in MODES.values():
        for n in F16N:
            for major in ("k", "mn") if n in (8, 24, 64, 256) else ("mn",):
                yield (
                    Instruction("f16", "f16", "f32", n, "k", major),
                    "B",
                    systematic(mode) + anything(mode, rng, 40),
                )
        for n in (8, 16, 64):
            for major in ("k", "mn"):
                if n == 8 and major == "k":
                    pass
                yield (
                    Instruction("f16", "f16", "f32", n, major, "k"),
                    "A",
                    systematic(mode) + anything(mode, rng, 40),
                )
        for t in INPUTS:
            acc = INPUTS[t].accumulators[-1]
            for n in FEW:
                yield (
                    Instruction(t, t, acc, n),
                    "B",
                    rng.sample(systematic(mode), 40) + anything(mode, rng, 10),
                )
            for n in sorted({8, max(8, INPUTS[t].k)}):
                yield (
                    Instruction(t, t, acc, n),
                    "A",
                    rng.sample(systematic(mode), 40) + anything(mode, rng, 10),
                )
        for n in (8, 24, 64):
            yield (
                Instruction("bf16", "bf16", "f32", n, "k", "mn"),
                "B",
                rng.sample(systematic(mode), 40) + anything(mode, rng, 10),
            )
            yield (
                Instruction("bf16", "bf16", "f32", n, "mn", "k"),
                "A",
                rng.sample(systematic(mode), 40) + anything(mode, rng, 10),
            )


def risky():
    """(tag, this, operand, value)"""
    k = Instruction("f16", "f16", "f32", 16)
    mn = Instruction("f16", "f16", "f32", 128, "k", "mn")
    for mode in list(MODES.values())[::-1]:
        plain = {"start": MID, "lbo": 2048, "sbo": 4096, "mode": mode}
        for this in (k, mn) if mode.bits else ():
            value = Descriptor(**plain).value
            for bit in (15, 14, 30, 31, 46, 47, 48, *range(52, 62)):
                yield f"reserved bit {bit}", this, "B", value | 1 << bit
            yield "lbo of 2^18 - 16", this, "B", Descriptor(**{**plain, "lbo": (1 << 18) - 16}).value
            yield "sbo of 2^18 - 1024", this, "B", Descriptor(**{**plain, "sbo": (1 << 18) - 1024}).value
    for mode in (MODES["128B"], MODES["none"]):
        for at in (END - 2048, END - 1024, END, END + 4096, (1 << 18) - 128):
            yield (
                f"start {at}, end {END}",
                k,
                "B",
                Descriptor(start=at, lbo=128, sbo=1024 if mode.bits else 256, mode=mode).value,
            )
        yield (
            "base offset 7 at the base: below it?",
            k,
            "B",
            Descriptor(start=BASE, sbo=1024, mode=mode, base_offset=7).value,
        )


def compiled(wanted, done=lambda name: None):
    groups = {}
    for this in wanted:
        groups.setdefault((this.a, this.b, this.d), []).append(this)
    chunks = [tuple(g[i : i + 4]) for g in groups.values() for i in range(0, len(g), 4)]
    codes = cubins([Source(c[0].kernel, source(c)) for c in chunks], done=done)
    return list(zip(chunks, codes, strict=True))


def loaded(session, chunks):
    kernels = {}
    for chunk, code in chunks:
        names = [this.kernel for this in chunk]
        kernels.update(zip(chunk, session.kernels(code, names, shared=SHARED), strict=True))
    return kernels


def where(session, chunks):
    kernel = session.kernel(chunks[0][1], "shared_memory", shared=SHARED)
    out = session.empty(16)
    kernel(1, 1, out)
    return session.download(out, "<u4", (2,)).tolist()


def show(this, operand, tag, descriptor, got, note=""):
    try:
        want = model(this, operand, descriptor)
    except Exception as error:
        return f"  {tag}: no model ({error}); {descriptor}"
    size = this.bits / 8
    bad = np.argwhere(got != want)
    r, k = bad[0]
    rows = sorted({int(x) for x in bad[:, 0]})
    cols = sorted({int(x) for x in bad[:, 1]})
    return (
        f"  {tag}{note}: {operand} {this} {descriptor}\n     {len(bad)} of {got.size} differ; first (row {r}, k {k}): "
        f"want {want[r, k] * size:g}, read {got[r, k] * size:g} bytes; rows {rows[:6]}..{rows[-1]} k {cols[:6]}..{cols[-1]}\n"
        f"     read at k=0, rows 0,1,2..: {[float(x * size) for x in got[:16, 0]]}\n"
        f"     read at row 0, chunks of k: {[float(x * size) for x in got[0, :: max(1, got.shape[1] // 16)]]}"
    )


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    began, say, report = time.time(), print, {}

    def clock():
        return f"[{time.time() - began:6.1f} s]"

    gpu = find(capability=HOPPER)
    say(gpu)
    wanted = instructions()
    chunks = compiled(wanted)
    say(clock(), "compiled", len(wanted), "kernels in", len(chunks), "programs")
    session = Session(gpu)
    base, size = where(session, chunks)
    say(clock(), "shared memory begins at", base, "and has", size, "bytes; expected", BASE, SHARED)
    bench = Bench(session, loaded(session, chunks))
    say(clock(), "loaded")
    saved = {}
    wrong = right = 0
    for this in [Instruction(*p, n) for p in PAIRS for n in INPUTS[p[0]].n]:
        try:
            got = bench.d(this)
            want = np.arange(64)[:, None] | np.arange(this.n) << 6 | 1 << 14
            if np.array_equal(got, want):
                right += 1
            else:
                wrong += 1
                say(
                    "  D differs",
                    this,
                    [hex(x) for x in got[:2, :4].ravel()],
                    [hex(x) for x in want[:2, :4].ravel()],
                )
            saved[f"D {this}"] = got
        except Exception:
            say("  D failed", this, traceback.format_exc(limit=3))
            wrong += 1
            raise
    say(clock(), "D fragments:", right, "as the catalogue has them,", wrong, "not")
    wrong = right = 0
    for this in [Instruction(*p, n) for p in PAIRS for n in INPUTS[p[0]].n]:
        got, each, bits = bench.a_registers(this)
        thread, element = a_places(this.a)
        want = thread * each + element | 1 << bits
        if np.array_equal(got, want):
            right += 1
        else:
            wrong += 1
            say(
                "  A registers differ",
                this,
                [hex(x) for x in got[:2, :4].ravel()],
                [hex(x) for x in want[:2, :4].ravel()],
            )
        saved[f"A {this}"] = got
    say(clock(), "A fragments:", right, "as the catalogue has them,", wrong, "not")
    total = differ = outside = 0
    tags, shown = {}, {}
    fault = None
    for this, operand, listed in cases():
        listed = [(tag, d) for tag, d in listed if fits(this, operand, d)]
        if not listed or fault:
            continue
        values = [d.value for _, d in listed]
        try:
            words = (bench.b if operand == "B" else bench.a)(this, values)
        except Exception as error:
            fault = error
            say("  FAULT", this, operand, listed[0][1].mode, error)
            continue
        got = indices(words, this)
        if this.a == "f16":
            saved[f"{operand} {this} {listed[0][1].mode}"] = got.astype(np.int32)
            saved[f"{operand} {this} {listed[0][1].mode} descriptors"] = np.array(values, np.uint64)
        for (tag, d), one in zip(listed, got, strict=True):
            total += 1
            outside += int((one < 0).any())
            try:
                same = np.array_equal(one, model(this, operand, d))
            except Exception:
                same = False
            major = this.b_major if operand == "B" else this.a_major
            key = f"{operand} {major:2} {d.mode!s:4} {tag}"
            tally = tags.setdefault(key, [0, 0])
            tally[0] += 1
            if not same:
                differ += 1
                tally[1] += 1
                if shown.setdefault(key, 0) < 2:
                    shown[key] += 1
                    say(show(this, operand, tag, d, one))
    say(
        clock(),
        total,
        "descriptors,",
        differ,
        "differ,",
        outside,
        "with elements that were not read from the fill",
    )
    for key, (count, bad) in sorted(tags.items()):
        if bad:
            say(f"  {key:30} {bad} of {count} differ")
    report["tags"] = tags
    np.savez_compressed(out / "first.npz", **saved)
    (out / "first.json").write_text(json.dumps(report, indent=1))
    say(clock(), "saved")
    sys.stdout.flush()
    every, at, lost = list(risky()), 0, []
    while at < len(every) and time.time() - began < 150 and len(lost) < 25:
        run = subprocess.run(
            [sys.executable, "-u", __file__, "--risky", str(at), str(out)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        say(run.stdout, end="")
        done = [line for line in run.stdout.splitlines() if line.startswith("#")]
        if len(done) < len(every) - at:
            tag, this, operand, value = every[at + len(done)]
            lost.append(tag)
            say(
                f"#{at + len(done)} {tag} {operand} {this} {value:#x}: FAULT",
                (run.stderr.strip().splitlines() or ["?"])[-1],
            )
            at += len(done) + 1
        else:
            at = len(every)
    say(clock(), "risky ones: stopped at", at, "of", len(every), "faults:", len(lost))


def risk(at, out):
    every = list(risky())
    needed = list(dict.fromkeys(this for _, this, _, _ in every))
    session = Session(find(capability=HOPPER))
    wanted = set(needed)
    chunks = [c for c in compiled(instructions()) if wanted & set(c[0])]
    bench = Bench(session, loaded(session, chunks))
    for i in range(at, len(every)):
        tag, this, operand, value = every[i]
        words = (bench.b if operand == "B" else bench.a)(this, [value])
        got = indices(words, this)[0]
        d = Descriptor.decode(value)
        try:
            want = model(this, operand, d)
        except Exception:
            want = None
        size = this.bits // 8
        if want is not None and np.array_equal(got, want):
            word = "as the model has it, the bits passed over"
        elif want is not None and np.array_equal(got, want % ((1 << 18) // size)):
            word = "as the model has it modulo 2^18"
        else:
            raw = words[0]
            word = (
                f"k=0: {[int(x) * size for x in got[:16, 0]]} row 0: {[int(x) * size for x in got[0]]} "
                f"raw {hex(int(raw[0, 0]))} {hex(int(raw[-1, -1]))}; model k=0 {None if want is None else [int(x) * size for x in want[:16, 0]]}"
            )
        print(f"#{i} {tag} {operand} {this} {d.mode} {value:#x}: {word}", flush=True)
        np.save(out / f"risky-{i}.npy", words[0])


if __name__ == "__main__":
    if sys.argv[1] == "--risky":
        risk(int(sys.argv[2]), Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]))
