"""From the text of `nvdisasm` or `cuobjdump -sass` to programs.

    //--------------------- .text.kernel   ---------
            .target sm_90
    .text.kernel:
        //## File "a.cu", line 7 inlined at "b.cu", line 3
            /*0010*/    @!P0 LDG.E R4, desc[UR4][R2.64] ;

`nvdisasm -g` adds the lines of the source. The text of `cuobjdump` has neither lines nor labels: it names
targets by their addresses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tilewise.compiled.lanes import Lanes, Value, applied
from tilewise.compiled.lines import Line
from tilewise.compiled.program import (
    WARP,
    Close,
    Copy,
    Forget,
    Guard,
    Instruction,
    Jump,
    JumpTo,
    KernelParameter,
    KernelProgram,
    Leave,
    Open,
    Step,
    Touch,
    UnreadStep,
    work_of,
)
from tilewise.compiled.sass.engines import engine_call
from tilewise.compiled.sass.floats import EXACT
from tilewise.compiled.sass.integers import COMPUTED, Words
from tilewise.compiled.sass.memory import touches
from tilewise.compiled.sass.operands import is_truth, named, split, truth, wide, word
from tilewise.compiled.sass.warps import WARPS, sure

SECTION = re.compile(r"^//-+ (\S+)")
FUNCTION = re.compile(r"^\s*Function : (\S+)")
CODE = re.compile(
    r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?)(U?P[T\d])\s+)?([A-Z][\w.]*)\s*(.*?)\s*;(?:\s*/\*.*)?$"
)
LABEL = re.compile(r"^\s*([.$\w]+):\s*$")
FILE = re.compile(r'File "([^"]*)", line (\d+)')
DATA = re.compile(r"^\s*(?:/\*[0-9a-f]+\*/)?\s*\.(byte|short|word|dword|zero)\s+(.*)$")
LABEL_OPERAND = re.compile(r"`?\(([^)]+)\)")
TARGET = re.compile(r"^\s*\.target\s+(sm_\w+)|^\s*code for (sm_\w+)|\.headerflags.*EF_CUDA_SM(\d+)")
BYTES = 16
"""Bytes of one instruction, since sm_70."""

HEADERS = re.compile(r"/include/|cuda_(?:fp|bf)16|sm_\d+_\w+\.hpp|device_functions|mma\.hpp|crt/")

NOTHING = (
    "NOP BAR WARPSYNC YIELD NANOSLEEP DEPBAR LDGDEPBAR MEMBAR ERRBAR CCTL CCTLL FENCE WARPGROUP PREEXIT "
    "USETMAXREG CGAERRBAR UCGABAR_ARV UCGABAR_WAIT ARRIVES ACQBULK BPT PMTRIG UTMACCTL UTMACMDFLUSH "
    "ENDCOLLECTIVE WARPGROUPSET STAS UTMASTG UTMAREDG UTMAPF UBLKPF UBLKRED UBLKCP UTMALDG UTCBAR "
    "UTCATOMSWS VOTE_VTG STTM UVIRTCOUNT UTCHMMA UTCIMMA UTCQMMA UTCOMMA"
).split()
"""Instructions that write no register that is read here."""

FLOATS = {
    1: (
        "FADD FMUL FFMA FMNMX FMNMX3 FSWZADD MUFU F2F F2FP F2I F2IP FRND HADD2 HMUL2 HFMA2 HMNMX2 HSET2 FSET "
        "I2FP I2F I2I I2IP IDP IDP4A MOVM FCHK FSETP HSETP2 DSETP TEX TLD TLD4 QSPC VABSDIFF VABSDIFF4 "
        "FADD32I FMUL32I FFMA32I HADD2_32 B2R GETLMEMBASE TXQ SUQ XMAD FHADD FHFMA"
    ).split(),
    2: "DADD DMUL DFMA DMNMX FADD2 FMUL2 FFMA2 SUST SULD TMML LDTM".split(),
    4: "HMMA IMMA BMMA QMMA OMMA".split(),
    8: ["DMMA"],
    128: "HGMMA QGMMA IGMMA BGMMA".split(),
}
"""{registers: the instructions that write so many}: floats, products, textures, which nobody knows then."""

WRITES = {name: count for count, names in FLOATS.items() for name in names}


# -- the parts of a text ---------------------------------------------------------------------------------


SET_BY_THE_HOST = ("0", "3")
"""Banks of constants that hold parameters, and variables that the host may write."""

NEVER_IF_NEGATED = ("PT", "UPT")
"""Predicates that always hold."""


@dataclass(slots=True)
class CodeSection:
    """The code of one kernel, row by row, as it stands in the text."""

    name: str
    rows: list[tuple[int, re.Match[str], Line | None]] = field(default_factory=list)
    """(row of the text, the instruction, its line)."""
    labels: dict[str, int] = field(default_factory=dict)
    said: bool = False
    """True behind a comment that names the line of the next instructions: those below it name callers."""


@dataclass(slots=True)
class Disassembly:
    """A text cut into kernels, banks of constants, and what is noted about kernels."""

    target: str = ""
    kernels: dict[str, CodeSection] = field(default_factory=dict)
    banks: dict[str, bytearray] = field(default_factory=dict)
    notes: dict[str, list[tuple[str, list[int]]]] = field(default_factory=dict)
    """{kernel: [(attribute, its numbers)]}."""

    @classmethod
    def of(cls, text: str) -> Disassembly:
        """Return the parts of a text."""
        parts = cls()
        section: CodeSection | None = None
        bank: bytearray | None = None
        notes: list[tuple[str, list[int]]] | None = None
        line: Line | None = None
        for row, content in enumerate(text.splitlines(), 1):
            head = SECTION.match(content) or FUNCTION.match(content)
            if head:
                name = head[1]
                section = bank = notes = line = None
                if content.lstrip().startswith("Function"):
                    section = parts.kernels.setdefault(name, CodeSection(name))
                elif name.startswith(".text."):
                    section = parts.kernels.setdefault(name[6:], CodeSection(name[6:]))
                elif name.startswith(".nv.constant"):
                    bank = parts.banks.setdefault(name[4:], bytearray())
                elif name.startswith(".nv.info."):
                    notes = parts.notes.setdefault(name[9:], [])
                continue
            if not parts.target:
                named_target = TARGET.search(content)
                if named_target:
                    parts.target = named_target[1] or named_target[2] or f"sm_{named_target[3]}"
            if section is not None:
                line = _code_line(section, row, content, line)
            elif bank is not None:
                _append_data(bank, content)
            elif notes is not None:
                _note(notes, content)
        return parts


def _code_line(section: CodeSection, row: int, content: str, line: Line | None) -> Line | None:
    """Add a row of code to its section; return the line of the source that holds from here on."""
    code = CODE.match(content)
    if code:
        section.rows.append((row, code, line))
        section.said = False
    elif "//##" in content and not section.said:
        chain = [Line(file, int(number)) for file, number in FILE.findall(content)]
        inner = [one for one in chain if not HEADERS.search(one.file)]
        section.said = bool(inner)
        return next(iter((*inner, *chain)), line)
    else:
        label = LABEL.match(content)
        if label:
            section.labels[label[1]] = len(section.rows)
    return line


def _append_data(bank: bytearray, content: str) -> None:
    data = DATA.match(content)
    if data is None:
        return
    kind, numbers = data[1], data[2]
    if kind == "zero":
        bank.extend(bytes(int(numbers.strip())))
        return
    size = {"byte": 1, "short": 2, "word": 4, "dword": 8}[kind]
    for number in numbers.split(","):
        try:
            value = int(number.strip(), 0)
        except ValueError:
            value = 0
        bank.extend((value & (1 << 8 * size) - 1).to_bytes(size, "little"))


def _note(notes: list[tuple[str, list[int]]], content: str) -> None:
    if "EIATTR_" in content:
        notes.append((content.split("EIATTR_")[1].strip(), []))
        return
    data = DATA.match(content)
    if data is not None and notes:
        size = {"byte": 1, "short": 2, "word": 4, "dword": 8, "zero": 0}[data[1]]
        for number in data[2].split(","):
            try:
                value = int(number.strip(), 0)
            except ValueError:
                value = 0
            notes[-1][1].extend((value & (1 << 8 * size) - 1).to_bytes(size, "little"))


# -- a kernel --------------------------------------------------------------------------------------------


def programs_of(text: str, kernel: str | None = None) -> Iterator[KernelProgram]:
    """Return the programs of a text, or that of one kernel."""
    parts = Disassembly.of(text)
    for name, section in parts.kernels.items():
        if kernel is None or name == kernel:
            yield _program(parts, section)


def _program(parts: Disassembly, section: CodeSection) -> KernelProgram:
    unread: Counter[str] = Counter()
    reader = _Reader(section, parts)
    instructions = []
    for reader.at, (row, code, line) in enumerate(section.rows):
        _, negated, register, name, rest = code.groups()
        never = register in NEVER_IF_NEGATED and bool(negated)
        guard = None if register is None or register in NEVER_IF_NEGATED else Guard(register, bool(negated))
        operands = split(rest)
        try:
            steps = reader.steps(name, operands)
        except (IndexError, ValueError, AssertionError, KeyError, StopIteration):
            steps = None
        if steps is None:
            unread[name] += 1
            steps = (UnreadStep(_written(name, operands, WRITES.get(name.split(".")[0], 4))),)
        if never:  # the assembler fills up with such instructions, which the profiler counts
            no_lane = truth("!PT")
            steps = tuple(replace(step, when=no_lane, writes=()) for step in steps if isinstance(step, Touch))
        text = f"{name} {rest}".strip()
        instructions.append(
            Instruction(name, text, steps, guard, line, row, work_of(name.split(".")[0].lstrip("U")))
        )
    notes = parts.notes.get(section.name, [])
    threads, most = _threads(notes)
    return KernelProgram(
        section.name,
        parts.target,
        instructions,
        _parameters(notes),
        threads,
        most,
        dict(unread),
        reader.constants(),
    )


def _written(name: str, operands: list[str], count: int) -> tuple[str, ...]:
    """Return the registers and predicates that an instruction may write, if it writes so many registers."""
    written: list[str] = []
    for operand in operands:
        if is_truth(operand):
            if operand.lstrip("!") not in ("PT", "UPT") and not operand.startswith("!"):
                written.append(operand)
            continue
        written.extend(named(operand, count))
        break
    return tuple(written)


@dataclass(slots=True)
class _Reader:
    """Reads the instructions of one kernel."""

    section: CodeSection
    parts: Disassembly
    at: int = 0
    """The number of the instruction that is read."""

    def steps(self, name: str, operands: list[str]) -> tuple[Step, ...] | None:
        """Return the steps of an instruction, or None if it is not read here."""
        words = Words.of(name, operands)
        base = words.base
        written = _written(name, operands, _many(words)) if base in WRITES else ()
        found = engine_call(words, written)
        call = () if found is None else (found,)
        control = self._control(words)
        if control is not None:
            return control
        if base in NOTHING:
            return call
        accesses = touches(words)
        if accesses is not None:
            return accesses
        floats = EXACT[base](words) if base in EXACT else None
        if floats is not None:
            return (floats,)
        if base in ("IADD", "IADD3") and "64" in words.parts:
            return (COMPUTED["IADD.64"](words),)
        if base in COMPUTED:
            return (COMPUTED[base](words),)
        if base in WARPS:
            return (WARPS[base](words),)
        if base == "SYNCS":
            return (*call, sure(words))
        if base in WRITES:
            return call or (UnreadStep(written),)
        return None

    def _control(self, words: Words) -> tuple[Step, ...] | None:
        operands = words.operands
        match words.base:
            case "BRA" | "JMP" | "CALL":
                if "DIV" in words.parts or "CONV" in words.parts:
                    return ()
                target = self._target(operands[-1])
                truths = [one for one in operands[:-1] if is_truth(one)]
                if target is None:
                    return (UnreadStep(()),) if words.base == "CALL" else None
                return (Jump(target, truth(truths[-1]) if truths else None),)
            case "RET":
                base = self._target(operands[-1]) or 0
                return (JumpTo(_returned(wide(operands[0].split()[0]), base)),)
            case "BRX" | "JMX" | "BRXU" | "JMXU":
                return (JumpTo(_switched(word(operands[0].split()[0]), _offset(operands), self.at + 1)),)
            case "EXIT" | "KILL":
                return (Leave(),)
            case "BSSY":
                return (Open(operands[0]),)
            case "BSYNC":
                return (Close(operands[0]),)
            case "WARPSYNC" if "ALL" in words.parts:
                return (Close(WARP),)
            case "BREAK":
                return (Forget(operands[-1]),)
            case "BMOV":
                return (Copy(operands[1], operands[0]),)
        return None

    def _target(self, operand: str) -> int | None:
        label = LABEL_OPERAND.search(operand)
        if label:
            return self.section.labels.get(label[1])
        if re.fullmatch(r"0x[0-9a-f]+", operand):
            return int(operand, 0) // BYTES
        return None

    def constants(self) -> Mapping[int, bytes]:
        """Return the banks of constants that the text holds, by number."""
        found: dict[int, bytes] = {}
        for name, content in self.parts.banks.items():
            match = re.fullmatch(r"constant(\d+)(?:\.(.*))?", name)
            if match and match[2] in (None, self.section.name) and match[1] not in SET_BY_THE_HOST:
                found[int(match[1])] = bytes(content)
        return found


def _many(words: Words) -> int:
    """Return the registers that an instruction of floats writes.

    >>> _many(Words.of("HGMMA.64x128x16.F32.BF16", [])), _many(Words.of("HMMA.16816.F16", []))
    (64, 2)
    """
    count = WRITES[words.base]
    shape = next(
        (re.fullmatch(r"64x(\d+)x\d+", part) for part in words.parts if part.startswith("64x")), None
    )
    if shape is not None:
        return int(shape[1]) // (4 if words.parts[1] == "F16" else 2)
    if words.base == "HMMA":
        return 2 if words.parts[1:2] == ("F16",) else 4
    if any(part in ("F64", "64", "U64", "S64") for part in words.parts):
        return max(2, count)
    return count


def _returned(address: Callable[[Lanes], Value], base: int) -> Callable[[Lanes], Value]:
    """Return the reader of the instruction to which a call returns."""

    def read(lanes: Lanes) -> Value:
        return applied(lambda bits: bits.astype(np.int64) // BYTES + base, address(lanes))

    return read


def _switched(register: Callable[[Lanes], Value], offset: int, after: int) -> Callable[[Lanes], Value]:
    """Return the reader of the instruction at which a branch of a switch begins."""

    def read(lanes: Lanes) -> Value:
        moved = applied(lambda bits: bits.view(np.int32).astype(np.int64) + offset, register(lanes))
        return applied(lambda bits: bits // BYTES + after, moved)

    return read


def _offset(operands: tuple[str, ...]) -> int:
    match = re.search(r"(-?0x[0-9a-f]+)", " ".join(operands))
    return int(match[1], 0) if match else 0


# -- notes about a kernel --------------------------------------------------------------------------------


def _parameters(notes: list[tuple[str, list[int]]]) -> tuple[KernelParameter, ...]:
    """Return the parameters, with their places in the bank of constants 0."""
    base, parameters = 0, []
    for attribute, numbers in notes:
        if attribute == "PARAM_CBANK":
            base = int.from_bytes(bytes(numbers[-4:-2]), "little")
    for attribute, numbers in notes:
        if attribute == "KPARAM_INFO" and len(numbers) >= 12:
            place = bytes(numbers[-8:])
            offset = int.from_bytes(place[2:4], "little")
            size = int.from_bytes(place[4:8], "little") >> 18
            parameters.append(KernelParameter(base + offset, size))
    return tuple(sorted(parameters, key=lambda one: one.offset))


def _threads(notes: list[tuple[str, list[int]]]) -> tuple[tuple[int, int, int] | None, int | None]:
    """Return the block that a kernel requires, and the most threads that it takes."""
    required, most = None, None
    for attribute, numbers in notes:
        words = [
            int.from_bytes(bytes(numbers[at : at + 4]), "little")
            for at in range(len(numbers) - 12, len(numbers), 4)
        ]
        if attribute == "REQNTID" and len(numbers) >= 12:
            required = (words[0], words[1], words[2])
        if attribute == "MAX_THREADS" and len(numbers) >= 12:
            most = words[0] * words[1] * words[2]
    return required, most
