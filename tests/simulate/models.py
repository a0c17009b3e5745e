"""The model's answer to a program, and the verdict on a device's answer."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.simulate.programs import (
    BASE,
    CHAIN_BYTES,
    MATRIX_BYTES,
    POISON,
    SEED,
    ChainProgram,
    CopyProgram,
    MatrixProgram,
    MmaProgram,
    Program,
    WgmmaProgram,
)

from tilewise.hardware.matrices.forms import short
from tilewise.hardware.wgmma.fragments import d_fragment
from tilewise.simulate import matrices, mma, tma, wgmma
from tilewise.simulate.faults import HOST
from tilewise.simulate.memory import Memory
from tilewise.simulate.numbers import is_float
from tilewise.simulate.registers import Registers

Array = np.ndarray[Any, Any]

ARCH = "sm_90"
SAME, WITHIN, DIFFERENT = "same", "within", "different"
"""Bit for bit; of floats, within the bound of the exact sum; neither."""


def memory_of(content: Array, *, name: str = "shared", start: int = 0) -> Memory:
    """Memory that holds these bytes."""
    data = np.ascontiguousarray(content).view(np.uint8)
    made = Memory(data.size, name=name, start=start)
    made.write(HOST, start + np.arange(data.size), data[:, None])
    return made


def expected(program: Program) -> Array:
    """Return what the model leaves, in the form of the device's answer."""
    if isinstance(program, WgmmaProgram):
        return _Wgmma(program).words()
    if isinstance(program, MmaProgram):
        return _Mma(program).words()
    if isinstance(program, ChainProgram):
        return _chain(program)
    return _matrix(program) if isinstance(program, MatrixProgram) else _copy(program)


def _chain(program: ChainProgram) -> Array:
    given, shared = program.inputs(), Memory(CHAIN_BYTES)
    first, last = program.arriving, program.leaving
    tensor, target = memory_of(given["content"], name="global"), Memory(last.global_bytes, name="global")
    where = {"address": first.origin, "corner": first.box.corner}
    tma.load(first.box.tensor_map, tensor, shared, to=first.box.start, **where)
    of_a, of_b, of_d = (rows.tolist() for rows in given["rows"])
    a = matrices.ldmatrix(shared, "x4", of_a, trans=program.trans)
    b = matrices.ldmatrix(shared, "x2", of_b, trans=program.trans)
    d = mma.mma(program.words, a, b, Registers.of(given["c"]), adds_as=ARCH)
    matrices.stmatrix(shared, "x2", of_d, d)
    where = {"address": last.origin, "corner": last.box.corner}
    tma.store(last.box.tensor_map, shared, target, start=last.box.start, **where)
    return np.concatenate([np.where(one.written, one.data, np.uint8(POISON)) for one in (shared, target)])


def _matrix(program: MatrixProgram) -> Array:
    given = program.inputs()
    addresses, words = given["addresses"].tolist(), short(program.form)
    if program.loads:
        return matrices.ldmatrix(memory_of(given["content"]), words, addresses).words[0]
    target = Memory(MATRIX_BYTES)
    held = Registers.of(given["content"].reshape(-1, program.form.registers))
    matrices.stmatrix(target, words, addresses, held)
    return np.where(target.written, target.data, np.uint8(0xFF)).view("<u4")


def _copy(program: CopyProgram) -> Array:
    box, content = program.box, program.inputs()["content"]
    where = {"address": program.origin, "corner": box.corner}
    if program.verb == "load":
        target = Memory(program.window)
        tma.load(box.tensor_map, memory_of(content, name="global"), target, to=box.start, **where)
    else:
        target = Memory(program.global_bytes, name="global")
        tma.store(box.tensor_map, memory_of(content), target, start=box.start, **where)
    return np.where(target.written, target.data, np.uint8(POISON))


class _Wgmma:
    """A wgmma in the model."""

    def __init__(self, program: WgmmaProgram) -> None:
        given = program.inputs()
        self.this = program.this
        self.memory = memory_of(given["image"], start=BASE)
        self.a = Registers.of(given["a"].reshape(4, 32, 4)) if program.a is None else program.a
        self.b, self.d = program.b, None
        if program.scale:
            self.d = Registers.of(given["c"].reshape(4, 32, -1))
        self.adder = self.this.adder if is_float(self.this.d) else None
        self.fragment = d_fragment(self.this.d, self.this.n)

    def words(self) -> Array:
        made = wgmma.multiply(self.this, self.a, self.b, self.memory, self.d, adder=self.adder)
        return made.words.reshape(128, -1)

    def exactly(self) -> Array:
        made = wgmma.multiply(self.this, self.a, self.b, self.memory, self.d)
        return made.numbers(self.fragment, self.this.d)

    def numbers(self, words: Array) -> Array:
        return Registers.of(words.reshape(4, 32, -1)).numbers(self.fragment, self.this.d)

    def bound(self) -> Array:
        return wgmma.bound(self.this, self.a, self.b, self.memory, self.d)


class _Mma:
    """An mma.sync in the model."""

    def __init__(self, program: MmaProgram) -> None:
        self.this = program.this
        self.held = [Registers.of(words) for words in program.inputs().values()]

    def words(self) -> Array:
        adds_as = ARCH if is_float(self.this.d) else None
        return mma.mma(self.this, *self.held, adds_as=adds_as).words[0]

    def exactly(self) -> Array:
        return mma.numbers_of(self.this, "D", mma.mma(self.this, *self.held))[0]

    def numbers(self, words: Array) -> Array:
        return mma.numbers_of(self.this, "D", Registers.of(words))[0]

    def bound(self) -> Array:
        return mma.bound(self.this, *self.held, ARCH)[0]


# -- the verdict -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """An answer compared with the model's."""

    number: int
    word: str
    differing: int = 0
    """Words or bytes that are not those of the model."""
    message: str = ""


def judged(program: Program, answer: Array) -> Verdict:
    """Return whether a device left what the model leaves, or, of floats, what the bound allows."""
    want = expected(program)
    got = np.ascontiguousarray(answer).reshape(want.shape)
    differing = int((got != want).sum())
    if not differing:
        return Verdict(program.number, SAME)
    at = tuple(int(i) for i in np.argwhere(got != want)[0])
    first = (
        f"{differing} of {want.size} differ; at {list(at)} {int(got[at]):#x}, in the model {int(want[at]):#x}"
    )
    if program.exact or not is_float(program.this.d):
        return Verdict(program.number, DIFFERENT, differing, first)
    return _bounded(program, got, differing, first)


def _bounded(program: WgmmaProgram | MmaProgram, got: Array, differing: int, first: str) -> Verdict:
    model = _Wgmma(program) if isinstance(program, WgmmaProgram) else _Mma(program)
    numbers, exact, bound = model.numbers(got), model.exactly(), model.bound()
    with np.errstate(invalid="ignore"):
        near = (numbers == exact) | (np.abs(numbers - exact) <= bound)
    near |= np.isnan(numbers) & np.isnan(exact)
    near |= np.isinf(bound) & ~np.isnan(numbers)
    if near.all():
        return Verdict(program.number, WITHIN, differing, first)
    at = tuple(np.argwhere(~near)[0])
    far = f"{int((~near).sum())} beyond the bound, such as {numbers[at]} for {exact[at]} +- {bound[at]}"
    return Verdict(program.number, DIFFERENT, differing, f"{far}; {first}")


# -- what is kept of an answer -----------------------------------------------------------------------

SAMPLE = 48
"""Words that are kept of an answer whose floats are rounded."""


def digest(*arrays: Array) -> int:
    """63 bits that change with any byte."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).tobytes())
    return int.from_bytes(whole.digest()[:8], "little") >> 1


def sampled(program: Program, size: int) -> Array:
    """Return the positions of the words of an answer that are kept, in order."""
    if program.exact:
        return np.zeros(0, np.int64)
    dice = random.Random(f"{SEED} sample {program.number}")
    return np.array(sorted(dice.sample(range(size), min(SAMPLE, size))), np.int64)


def rechecked(program: Program, given: int, left: int, words: Array) -> Verdict:
    """Hold what is kept of an answer to the model: its digest, or its words within the bound."""
    if digest(*program.inputs().values()) != given:
        return Verdict(program.number, DIFFERENT, message="the program is another than the one that was run")
    want = expected(program)
    if digest(want) == left:
        return Verdict(program.number, SAME)
    if program.exact:
        return Verdict(program.number, DIFFERENT, message="the answer is not the model's")
    got = want.reshape(-1).copy()
    got[sampled(program, want.size)] = words
    return judged(program, got)
