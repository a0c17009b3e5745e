"""What is wrong in the words of an mma that does not exist: the first mistake, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewise.hardware.catalog.entry import did_you_mean
from tilewise.hardware.mma.instructions import DENSE, MAJORS, Instruction
from tilewise.hardware.mma.kinds import KindInstruction
from tilewise.hardware.mma.sparse_instructions import SparseInstruction

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mma = Instruction | KindInstruction | SparseInstruction

MODIFIERS = {"satfinite": "integers of 8 and 4 bits", **dict.fromkeys(("rn", "rz", "rm", "rp"), "f64")}
"""{modifier that moves nothing: what takes it}, as the assembler has it."""

_SHAPE = re.compile(r"m\d+n\d+k\d+")
_FIRST = ("mma", "sp", "sp::ordered_metadata", "sync", "aligned")
_OPERANDS = 4


def takes(this: Mma, modifier: str) -> bool:
    """Whether an instruction has a modifier: integers saturate, doubles round, and bits do neither."""
    return this.d == "s32" and this.a != "b1" if modifier == "satfinite" else this.d == "f64"


def mistake(spelled: str, every: Iterable[Mma]) -> str:
    """The first thing that is wrong in the words of an instruction; nothing where it has no name.

    >>> from tilewise.hardware.mma.words import every
    >>> mistake("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", every().values())
    'm16n8k16 of f16 takes row.col alone, and m8n8k4 of f16 any'
    """
    words = _Words(spelled.split("."), some := [*every])
    return next(_mistakes(words, [this for this in some if words.sort(this)]), "")


@dataclass(frozen=True)
class _Words:
    """The words of an instruction, told apart by what they are."""

    every: Sequence[str]
    known: Sequence[Mma]

    @property
    def shapes(self) -> list[str]:
        return [word for word in self.every if _SHAPE.fullmatch(word)]

    @property
    def majors(self) -> tuple[str, ...]:
        return tuple(word for word in self.every if word in MAJORS)

    @property
    def dtypes(self) -> list[str]:
        """The types of D, A, B and C; one of scales is none of them."""
        return [word for word in self.every if word in self.legal_types]

    @property
    def modifiers(self) -> list[str]:
        return [word for word in self.every if word in MODIFIERS]

    @property
    def kinds(self) -> list[str]:
        return [word for word in self.every if word.startswith("kind::")]

    @property
    def legal_types(self) -> set[str]:
        return {name for this in self.known for name in (this.a, this.b, this.d)}

    @property
    def legal(self) -> list[str]:
        """All words that some instruction has, and modifiers."""
        words = {word for this in self.known for word in str(this).split(".")}
        return sorted(words | {*MODIFIERS, *_FIRST})

    def sort(self, this: Mma) -> bool:
        """Whether an instruction is of the sort that is meant: sparse or not, of that kind or of none."""
        its = str(this).split(".")
        sparse = "sp" in self.every or "sp::ordered_metadata" in self.every
        return (its[1] != "sync") == sparse and [word for word in its if "kind::" in word] == self.kinds


def _mistakes(words: _Words, some: list[Mma]) -> Iterator[str]:
    """All of them, in the order in which they are worth telling."""
    yield from _in_words(words, some)
    shape, (d, a, b, c) = words.shapes[0], words.dtypes
    of_a = [this for this in some if (str(this.shape), this.a) == (shape, a)]
    if not of_a:
        shapes = _listed(this.shape for this in some if this.a == a)
        yield (
            f"{shape} does not multiply {a}" + (f", which has {shapes}" if shapes else "") + _of_others(words)
        )
    of_both = [this for this in of_a if this.b == b]
    if not of_both:
        yield f"{shape} multiplies {a} with {_listed(this.b for this in of_a)}, not with {b}"
    if (d, c) not in (results := [(this.d, _c(this)) for this in of_both]):
        pairs = _listed(" and ".join(pair) for pair in results)
        yield f"D and C of {shape} of {a} are {pairs}, not {d} and {c}"
    if words.majors not in (majors := [_majors(this) for this in of_both]):
        yield f"{shape} of {a} takes {_listed(map('.'.join, majors))} alone, and m8n8k4 of f16 any"
    for modifier in words.modifiers:
        if not takes(of_both[0], modifier):
            yield f"{a} does not take .{modifier}, which is for {MODIFIERS[modifier]}"
    if len(words.modifiers) > 1:
        yield f"it takes one modifier, not .{' and .'.join(words.modifiers)}"
    if a == "b1":
        yield "what becomes of bits stands at the end: .xor.popc or .and.popc"
    if words.kinds and "sp" in words.every:
        yield "with a kind it begins with mma.sp::ordered_metadata"
    if words.kinds:
        yield "its kind has other scales, or says in the words after it how many a row has"


def _in_words(words: _Words, some: list[Mma]) -> Iterator[str]:
    """What is wrong whatever the types: words that there are not, or too few of them."""
    for word in words.every:
        if word not in words.legal and not _SHAPE.fullmatch(word):
            yield f"no mma has the word {word!r}: {did_you_mean(word, words.legal)}".strip().rstrip(":")
    if ("sync", "aligned") not in pairwise(words.every):
        yield "it begins with mma.sync.aligned, or mma.sp::ordered_metadata.sync.aligned"
    if not some:
        yield f"none has .{'.'.join(words.kinds)}"
    if len(words.shapes) != 1:
        yield f"it has {len(words.shapes) or 'no'} shape{'s' * bool(words.shapes)}: one such as m16n8k16"
    if words.shapes[0] not in (shapes := [str(this.shape) for this in some]):
        yield f"there is no shape {words.shapes[0]}, but {_listed(shapes)}"
    if len(words.majors) != len(DENSE):
        yield "after the shape stands how A and B lie, .row.col"
    if len(words.dtypes) != _OPERANDS:
        yield f"it has {len(words.dtypes)} types, and D, A, B and C have one each, in this order"


def _of_others(words: _Words) -> str:
    """Where the type of A is multiplied in that shape: in a kind that is not named, or with sparse A."""
    shape, a = words.shapes[0], words.dtypes[1]
    firsts = (str(this).split(".") for this in words.known if (str(this.shape), this.a) == (shape, a))
    others = {next((word for word in its if "kind::" in word), its[1]): None for its in firsts}
    said = ("mma.sp does" if word.startswith("sp") else f".{word} does" for word in others if word != "sync")
    return "".join(f"; {one}" for one in dict.fromkeys(said))


def _c(this: Mma) -> str:
    return this.c if isinstance(this, Instruction) else this.d


def _majors(this: Mma) -> tuple[str, str]:
    return this.majors if isinstance(this, Instruction) else DENSE


def _listed(some: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, some)))
