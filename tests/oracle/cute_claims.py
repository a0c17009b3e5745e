"""The claims of CuTe's traits about the catalogue's instances.

CuTe counts the columns of an operand one after another, index = row + rows column, and the values of a
thread as the document counts its elements; D is as C is. Where two layouts of CuTe's agree, the
instruction is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from tests.oracle.claims import Claim, Place, claim
from tests.oracle.cute_traits import Atom

from tilewise.hardware.catalog import find
from tilewise.hardware.catalog.instances import instances_of

FAULTS = {
    (
        "mma.B",
        "m16n8k32 s4",
    ): "a stride of 32 instead of 64, so that lanes overlap; the next version has 64",
    ("mma.B", "m16n8k32 u4"): "it has the layout of s4",
    (
        "mma.A",
        "m16n8k128 b1",
    ): "the stride is nested once more than the shape, and nothing can be done with it",
}
"""{entry and instance: what is wrong with CuTe's layout}, in the version that pyproject.toml names."""


def of_mma(atoms: list[Atom]) -> Iterator[Claim]:
    """Every fragment of every atom of mma.sync, its metadata and its scales."""
    for atom in atoms:
        yield from _sparse(atom) if ".sp" in atom.instruction else _dense(atom)
        if "SFA" in atom.tables:
            yield from _scales(atom)


def _dense(atom: Atom) -> Iterator[Claim]:
    d, a, b, _ = atom.types[:4]
    for operand, entry, dtype in (("A", "A", a), ("B", "B", b), ("C", "C", d), ("C", "D", d)):
        values = {"shape": atom.shape_word, "dtype": dtype} | _volta(atom, operand)
        yield claim(f"{atom.name} {operand}", f"mma.{entry}", _places(atom, operand), **values)


def _volta(atom: Atom, operand: str) -> dict[str, object]:
    """Return the major of A or B, for the one instruction that has a choice."""
    if atom.shape_word != "m8n8k4" or "f16" not in atom.types or operand == "C":
        return {}
    a, b = re.findall(r"\.(row|col)", atom.instruction)
    return {"major": a if operand == "A" else b}


def _sparse(atom: Atom) -> Iterator[Claim]:
    d, a, b, _ = atom.types[:4]
    shape = atom.shape_word
    yield claim(f"{atom.name} A", "mma.sp.A", _stored(atom), shape=shape, dtype=a)
    yield claim(f"{atom.name} B", "mma.sp.B", _places(atom, "B"), shape=shape, dtype=b)
    yield claim(f"{atom.name} C", "mma.sp.D", _places(atom, "C"), shape=shape, dtype=d)
    yield claim(f"{atom.name} E", "mma.E", _metadata(atom, a), shape=shape, dtype=a, selector=0)


def _stored(atom: Atom) -> Iterator[Place]:
    """CuTe has two columns of A for every stored element, and two values of a thread."""
    for lane, value, row, column in atom.coordinates("A"):
        assert value % 2 == column % 2
        if value % 2 == 0:
            yield (row, column // 2), {"laneid": lane, "reg": value // 2}


def _metadata(atom: Atom, dtype: str) -> Iterator[Place]:
    """It has the 32 bits of a lane for so many columns of A: two bits for two columns, or for four."""
    columns = len(atom.tables["E"][0]) // 16
    for lane, value, row, column in atom.coordinates("E"):
        if value % columns == 0:
            assert column % columns == 0
            yield (row, column // columns), {"laneid": lane, "reg": value // columns}


def _scales(atom: Atom) -> Iterator[Claim]:
    """It gives a scale to each lane of four that could supply it; the instruction names the first of them."""
    kind = re.search(r"kind::(\w+)", atom.instruction)
    vector = re.search(r"scale_vec::(\d)X", atom.instruction)
    assert kind is not None
    assert vector is not None
    values = {
        "kind": kind[1],
        "scale": f"{vector[1]}X",
        "dtype": atom.types[4],
        "sparse": ".sp" in atom.instruction,
    }
    block = atom.shape[2] // int(vector[1])
    for operand, supplying in (("SFA", 2), ("SFB", 1)):
        places = (
            ((row, column // block), {"laneid": lane, "reg": value // block})
            for lane, value, row, column in atom.coordinates(operand)
            if lane % 4 < supplying
        )
        yield claim(f"{atom.name} {operand}", f"mma.{operand}", places, **values)


def _places(atom: Atom, operand: str) -> Iterator[Place]:
    for lane, value, row, column in atom.coordinates(operand):
        yield (row, column), {"laneid": lane, "reg": value}


def of_matrices(atoms: list[Atom]) -> Iterator[Claim]:
    """Every form of ldmatrix, stmatrix and movmatrix: which lane supplies which row, and who gets what.

    CuTe has a table for shared memory and one for registers, both to the bytes of what is moved. In the first
    a lane has the 16 bytes that its address names, and lanes that repeat a lower one name nothing.
    """
    for atom in atoms:
        words = set(atom.instruction.split("."))
        instruction = atom.instruction.partition(".")[0]
        if instruction == "movmatrix":
            continue
        rows, held = ("source", "destination") if instruction == "ldmatrix" else ("destination", "source")
        suppliers: dict[int, tuple[int, int]] = {}
        for lane, value, byte in atom.values(rows):
            suppliers.setdefault(byte, (lane, value))
        count = next(word for word in words if word[0] == "x")
        shape = next(word for word in words if word[0] == "m" and word[1:2].isdecimal())
        kind = atom.instruction.partition(".shared.")[2]
        form = ".".join([count] if shape == "m8n8" else [shape, count, kind])
        yield claim(
            atom.name,
            instruction,
            _moved(atom, held, suppliers, 16 if kind == "b16" else 8),
            form=form,
            trans="trans" in words,
        )


def _moved(atom: Atom, held: str, suppliers: dict[int, tuple[int, int]], bits: int) -> Iterator[Place]:
    """Element c of row r of matrix j, where lane rows j + r supplies the address of that row."""
    each = bits // 8
    rows = 16 if "m16n16" in atom.instruction else 8
    for lane, value, byte in atom.values(held):
        supplier, offset = suppliers[byte]
        register = atom.bytes[value] if atom.bytes else value
        if value % each == 0:
            assert offset % each == 0
            yield (*divmod(supplier, rows), offset // each), {"laneid": lane, "reg": register // each}


def of_tables(atoms: list[Atom]) -> Iterator[Claim]:
    """The tables of instructions of which CuTe has every one."""
    theirs = {words_of(atom.instruction) for atom in atoms}
    for name in ("mma.shapes", "mma.sp.shapes", "mma.kinds", "ldmatrix.forms", "stmatrix.forms"):
        entry = find(name)
        for instance, values in instances_of(entry).items():
            ours = [one for said in entry.build(**values).facts["instructions"] for one in _spelled_out(said)]
            if all(words_of(one) in theirs for one in ours):
                yield Claim(name, instance, "the instructions of its operations")


_ORDERED = re.compile(r"[a-z]+\d+|e\dm\d|ue\dm\d|row|col")
"""Words of an instruction whose order means something: types, and the majors of A and B."""


def words_of(instruction: str) -> tuple[str, ...]:
    """An instruction by its words, for some of them may stand here or there."""
    words = instruction.replace(".satfinite", "").split(".")
    ordered = [word for word in words if _ORDERED.fullmatch(word)]
    return (*sorted(set(words) - set(ordered)), *ordered)


def _spelled_out(instruction: str) -> Iterator[str]:
    """Each of those that one line with `{e4m3,e5m2}` in it says."""
    parts = re.split(r"\{([^}]*)\}", instruction)
    for chosen in product(*(part.split(",") for part in parts[1::2])):
        rest = iter(chosen)
        yield "".join(next(rest) if number % 2 else part for number, part in enumerate(parts))
