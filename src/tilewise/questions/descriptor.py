"""Matrix descriptors: 64 bits made, taken apart, explained, and what they read.

  tilewise descriptor encode --mode 128B --sbo 1024 --start 0x400
  tilewise descriptor 0x4000004000010000
  tilewise descriptor decode 0x4000004000010000 --operand B --dtype bf16 --n 64
  tilewise descriptor reads 0x4000004000010000 --operand B --dtype f16 --n 64
  tilewise descriptor steps --mode 128B --operand A --dtype bf16 --tile 128x64 --stages 4
  tilewise suggest --operand A --tile 128x64 --dtype bf16 --json | tilewise descriptor reads -
  tilewise suggest --operand B --tile 128x64 --dtype bf16 --major mn --json | tilewise descriptor steps -
  tilewise descriptor decode 0x4000404000010000
  tilewise descriptor steps --engine tcgen05 --mode 128B --operand B --dtype e4m3 --tile 256x128 --cta-group 2

encode makes a descriptor out of --mode, --start, --lbo, --sbo and --base-offset, all in bytes, decimal
or 0x hexadecimal. decode shows every bit and says every field in words: for both majors, or for that of
--major, and for one operand where --dtype is given. reads gives the byte of shared memory of every
element (row, k) of one instruction: A is [64, K], B is [n, K]. steps gives the descriptors of a whole
tile of rows x K elements, as `tilewise catalog wgmma.smem` makes it, and what to add from one to the next;
of an answer of suggest, in the order of its atoms.

A word tells its engine by bits 48-46: 0b000 is Hopper's, 0b001 Blackwell's. decode and reads go by that, and
say so, where no --engine is named; a word that contradicts --engine is read as asked, with a note.

A word alone is decoded. With a layout behind it the answer says whether the descriptor reads that tile as it
lies, and the right one where it does not; it is that of `tilewise agree`:
  tilewise descriptor 0x4000004000010000 'S[(128, 64) : (64, 1)]' --operand A --dtype bf16
  tilewise agree 'S[(128, 64) : (64, 1)]' 'descriptor(0x4000004000010000, A)' --dtype bf16

Of tcgen05 A is [m, K] and B [n, K], of a pair of CTAs half of each: what one CTA has in its shared memory.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import counted
from tilewise.hardware.engines import ENGINES, VERSION, VERSIONS, Engine, engine_of_word
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.fields import WORD_BITS, picture
from tilewise.hardware.modes import mode_of
from tilewise.questions.asking import as_a_shell_calls, asks, option_of
from tilewise.questions.engines import asked_for, bits_in, is_value, no_engine, operation_in, step_fields
from tilewise.questions.report import Report, fields_of, refused, table_lines
from tilewise.questions.texts import Texts, misused, refuse_given, refuse_missing, sizes_in, with_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    from tilewise.hardware.modes import Mode
    from tilewise.questions.asking import LayoutText, Number, Type, Word

USAGE = """\
tilewise descriptor [decode] VALUE [--operand A|B --dtype T] [--major k|mn] [--n N]
       tilewise descriptor VALUE LAYOUT --operand A|B --dtype T [--major k|mn] [--n N]
       tilewise descriptor encode --mode MODE [--start A] [--lbo BYTES] [--sbo BYTES] [--base-offset B]
       tilewise descriptor reads VALUE --operand A|B --dtype T [--major k|mn] [--n N]
       tilewise descriptor steps --mode MODE --operand A|B --dtype T --tile RxK [options]"""

OPERATIONS = ("encode", "decode", "reads", "steps")

OF_FIELDS = {
    "mode": "MODE: the swizzle mode: none, 32B, 64B, 128B, of tcgen05 128B_ATOM_32B",
    "start": "A: the start address in shared memory (0)",
    "lbo": "BYTES: leading dimension byte offset (16 where none reads it)",
    "sbo": "BYTES: stride dimension byte offset (0)",
    "base_offset": "B: 0 to 7: 128 bytes that the pattern is past (0)",
    "atomicity": "bytes that the mode keeps together: 128B with 32 is 128B_ATOM_32B",
    "lbo_mode": "tcgen05: LBO is an offset, or an address (relative)",
}
OF_OPERAND = {
    "operand": "A [64, K] or B [n, K] (B)",
    "dtype": "T: the type of an element, such as bf16",
    "major": "the direction that is contiguous (k)",
    "n": "N: N of the instruction, for B",
}
OF_TCGEN05 = {
    "m": "M: M of the instruction, for A",
    "kind": "KIND: the kind (the first that has the type)",
    "cta_group": "G: the CTAs that multiply together: 1 or 2 (1)",
    "sparse": "A is sparse",
    "ws": "tcgen05.mma.ws",
    "k": "K: K of the instruction: 64 or 96 of mxf4 (64)",
}
OF_TILE = {
    "tile": "RxK: rows and K in elements, such as 128x64",
    "order": "the direction in which atoms follow (mn)",
    "base": "A: the address where the tile begins (0)",
    "pattern": "where the swizzle counts from: the tile, or address 0 as TMA does (tile)",
    "stages": "N: so many tiles, one after another",
    "stage_stride": "BYTES: from one to the next",
}
"""{option: its help}."""

_OPTIONS = ("n", *OF_TCGEN05)
"""The options of instructions of some engine besides type, operand and major."""

_MADE_OF = ("lbo_mode", "atomicity")
"""The fields that only some engine's descriptors have."""

_TAKES = {
    "encode": (*OF_FIELDS, *OF_OPERAND, *OF_TCGEN05),
    "decode": ("value", *OF_OPERAND, *OF_TCGEN05),
    "reads": ("value", *OF_OPERAND, *OF_TCGEN05),
    "steps": ("mode", *_MADE_OF, *OF_OPERAND, *OF_TCGEN05, *OF_TILE),
}
"""The options of each operation; --engine goes with all."""

_WHY_N = (
    "; no field of a descriptor has the rows of B, the instruction's shape m64nNk16 has them; "
    "A has 64 and needs none (--operand A)"
)
"""Why B is not read without N: PTX ISA, Matrix Shape (wgmma)."""

_SUCH = {"mode": "128B", "dtype": "bf16", "operand": "B", "tile": "128x64", "n": "64", "m": "128"}
"""Values that stand in the hint where one is missing."""

_UNEVEN = "steps of 48 bytes through rows of 128; LBO, where the rest of K is read from, moves too"


@asks(
    {
        "the fields, in bytes": OF_FIELDS,
        "the operand": OF_OPERAND,
        "the operand, of tcgen05": OF_TCGEN05,
        "the tile": OF_TILE,
    },
    operation="OP: encode, decode, reads or steps (decode)",
    value="VALUE: the 64 bits, such as 0x4000004000010000, or - for an answer that has them; or LAYOUT",
    engine="ENGINE: wgmma or tcgen05 (by the version in VALUE, else wgmma)",
)
def descriptor(
    operation: Word | int,
    value: LayoutText | int | None = None,
    dtype: Type | None = None,
    *,
    engine: str | None = None,
    operand: Literal["A", "B"] | None = None,
    major: Literal["k", "mn"] | None = None,
    n: Number | None = None,
    m: Number | None = None,
    kind: str | None = None,
    cta_group: Number | None = None,
    sparse: bool = False,
    ws: bool = False,
    k: Number | None = None,
    mode: str | None = None,
    start: Number | None = None,
    lbo: Number | None = None,
    sbo: Number | None = None,
    base_offset: Number | None = None,
    atomicity: Literal["16", "32"] | int | None = None,
    lbo_mode: Literal["relative", "absolute"] | None = None,
    tile: str | Sequence[int] | None = None,
    order: Literal["mn", "k"] | None = None,
    base: Number | None = None,
    pattern: Literal["tile", "address"] | None = None,
    stages: Number | None = None,
    stage_stride: Number | None = None,
) -> Report:
    """Return what a descriptor says or reads, or those of a tile; no where an engine has none such.

    The report has the `value`; of encode and decode the `fields` and the `words` that explain them, of reads
    the `layout` and the `addresses`, of steps the `tile`, the `steps` and the `stages`. A value alone is
    decoded, and one with a layout behind it gives the report of `agree`.

    >>> report = descriptor("encode", mode="128B", sbo=1024)
    >>> report.value, descriptor(report.value).encoded["sbo"]
    ('0x4000004000010000', 64)
    """
    given = dict(locals())
    options = {name: given[name] for name in ("engine", *OF_FIELDS, *OF_OPERAND, *OF_TCGEN05, *OF_TILE)}
    if is_value(operation) and value is not None:
        return _agreed(operation, value, options)
    operation, value = operation_in(operation, value, OPERATIONS)
    asked = _asked(operation, value, options)
    run = {"encode": _encode, "decode": _decode, "reads": _reads, "steps": _steps}[operation]
    try:
        return run(asked)
    except Refused as no:
        no.hint = asked.with_engine(no.hint)
        return refused(no, {"op": operation})


def _agreed(word: int | str, layout: LayoutText | int, options: Mapping[str, Any]) -> Report:
    """Return whether a descriptor reads a tile as it lies."""
    from tilewise.questions.agree import agree

    if isinstance(layout, int):
        raise misused(f"{layout} is no layout")
    given = with_values(options)
    dtype, base = given.pop("dtype", None), given.pop("base", None)
    refuse_given({name: given.get(name) for name in (*OF_FIELDS, *OF_TILE)}, "is no question of a tile")
    words = [str(word).strip(), *(name if v is True else f"{name}={v}" for name, v in given.items())]
    return as_a_shell_calls(agree)(layout, f"descriptor({', '.join(words)})", dtype, base=base)


# -- the question ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DescriptorQuestion:
    """A question about a descriptor of an engine: its options that have a value, numbers as numbers."""

    operation: str
    engine: Engine
    options: Mapping[str, Any]
    bits: int | None
    """Those of the descriptor, where it is decoded or read."""
    remarks: tuple[str, ...] = ()
    """Return the notes on the word as it is written."""

    def get(self, name: str, usual: Any = None) -> Any:
        """Return the value of an option, or the usual one."""
        return self.options.get(name, usual)

    @property
    def by_version(self) -> str:
        """Return whose descriptor a word is taken for where no engine is named, and by which bits."""
        return "" if self.bits is None or "engine" in self.options else _by_version(self.engine, self.bits)

    @property
    def read_as(self) -> str:
        """Return the end of a hint that says the same, where no engine is named."""
        by = self.by_version
        if not by:
            return ""
        return f"; it was {by}" if by.startswith("read") else f"; it was read as {by}"

    def with_engine(self, hint: str) -> str:
        """Return a hint that says which engine it is, where that is another than Hopper's."""
        return hint if self.engine.name == "wgmma" else hint + self.read_as

    @property
    def instruction(self) -> dict[str, Any]:
        """Return the instruction's options, of those that the engine knows."""
        names = [name for name in _OPTIONS if name in self.engine.options]
        return {name: self.options[name] for name in names if name in self.options}

    @property
    def sizes(self) -> list[str]:
        """Return the size of the instruction that says how many rows the operand has, if any."""
        name = "m" if self.get("operand") == "A" else "n"
        return [name] if name in self.engine.sizes else []

    @property
    def mode(self) -> Mode:
        """Return the swizzle mode."""
        return mode_of(self.options["mode"], self.get("atomicity"), self.engine.modes)

    @property
    def operand(self) -> Any:
        """Return what the descriptor is for; None where no type is named."""
        if "dtype" not in self.options:
            given = {name: self.get(name) for name in ("operand", *_OPTIONS)}
            refuse_given(given, "needs --dtype", "such as --dtype bf16")
            return None
        options, letter = self.instruction, self.get("operand", "B")
        why = _WHY_N if self.engine.name == "wgmma" else ""
        refuse_missing(letter, {name: options.get(name) for name in self.sizes}, _SUCH, why)
        dtype, major = self.options["dtype"], self.get("major", "k")
        return self.engine.operand(dtype=dtype, major=major, operand=letter, **options)

    def need(self, *names: str) -> None:
        """Refuse options that are not given."""
        of_n = "n" in names and "n" not in self.options and self.engine.name == "wgmma"
        why = self.with_engine(_WHY_N if of_n else "")
        refuse_missing(self.operation, {name: self.get(name) for name in names}, _SUCH, why)


def _asked(operation: str, value: LayoutText | int | None, options: Mapping[str, Any]) -> DescriptorQuestion:
    """Return a question that makes sense: of one operation, and of an engine that has what it says."""
    takes, reads_answer = _TAKES[operation], operation == "steps" and value == "-"
    for name, given in with_values({**options, "value": None if reads_answer else value}).items():
        if name not in (*takes, "engine"):
            others = ", ".join(other for other in OPERATIONS if name in _TAKES[other])
            what = given if name == "value" else option_of(name)
            raise misused(f"{operation} does not take {what}", f"it goes with {others}")
    if "value" in takes and value is None:
        raise misused(f"{operation} takes a value", "such as 0x4000004000010000")
    told: dict[str, str] = {}
    if value == "-":
        value, told = _told(operation, options)
    given = asked_for(options, told)
    bits, remarks = _bits(str(value).strip()) if "value" in takes else (None, ())
    name = given.get("engine", "").lower()
    if name and name not in ENGINES:
        raise no_engine(name, ENGINES)
    of = engine_of(name or ("wgmma" if bits is None else engine_of_word(bits)))
    asked = DescriptorQuestion(operation, of, given, bits, remarks)
    for name in (*_OPTIONS, *_MADE_OF):
        if name in given and name not in (*of.options, *of.made_of):
            having = [
                each for each in ENGINES if name in (*engine_of(each).options, *engine_of(each).made_of)
            ]
            hint = f"--engine {' or '.join(having)} does{asked.read_as}"
            raise misused(f"{of.name} does not take {option_of(name)}", hint)
    return asked


def _told(operation: str, options: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the text on standard input, or the value in it, and what an answer in JSON tells its engine."""
    names = ("engine", "mode", *_MADE_OF) if operation == "steps" else ("value", "engine")
    text, told = Texts(options["dtype"]).told_by("-", *names, *OF_OPERAND, *OF_TCGEN05)
    if operation == "steps":
        told |= _tile_in(str(text))
    name = options["engine"] or told.get("engine")
    taken = engine_of(name).options if name in ENGINES else ()
    told = {option: value for option, value in told.items() if option not in _OPTIONS or option in taken}
    return told.get("value", str(text)), told


def _tile_in(text: str) -> dict[str, str]:
    """Return the tile that an answer in JSON is about, the order of its atoms and its stages."""
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "schema" not in answer:
        hint = "that of tilewise suggest ... --json"
        raise LayoutError("TW108", "steps - takes an answer in JSON", hint=hint)
    shape, order, stages = (answer.get(name) for name in ("shape", "order", "stages"))
    told = {
        "tile": "x".join(map(str, shape)) if isinstance(shape, list) else None,
        "order": order.get("first") if isinstance(order, dict) else None,
        "stages": stages.get("count") if isinstance(stages, dict) else None,
    }
    return {name: str(value) for name, value in told.items() if value}


def _bits(spelled: str) -> tuple[int, tuple[str, ...]]:
    """Return the bits of a word, and a remark on 16 decimal digits: there are as many in hexadecimal."""
    if spelled.startswith("{"):
        hint = "those of match, suggest and encode do"
        raise LayoutError("TW108", "the answer holds no descriptor", hint=hint)
    bits = bits_in(spelled, "descriptor", "64 bits as a number, such as 0x4000004000010000")
    if len(spelled) != WORD_BITS // 4 or not spelled.isdecimal():
        return bits, ()
    return bits, (f"{spelled} was read as a decimal number; in hexadecimal it is 0x{spelled}",)


def _by_version(of: Engine, value: int) -> str:
    """Return whose descriptor a word is taken for, and by which bits."""
    held = VERSION.of(value)
    bits = f"bits {VERSION.where} are {held:#05b}"
    if held not in VERSIONS:
        return f"read as {of.name}'s: {bits}, of no engine"
    others = (f"{other}'s {version:#05b}" for version, other in VERSIONS.items() if version != held)
    return f"{of.name}'s: {bits}, {', '.join(others)}"


# -- one descriptor --------------------------------------------------------------------------------


def _encode(asked: DescriptorQuestion) -> Report:
    asked.need("mode")
    of, major = asked.engine, asked.get("major", "k")
    lbo, sbo = asked.get("lbo"), asked.get("sbo")
    if lbo is None and asked.get("lbo_mode") != "absolute":
        lbo = of.default_lbo(asked.mode, major)
    more = {"major": major, "lbo_mode": asked.get("lbo_mode")}
    made = of.descriptor(
        start=asked.get("start", 0),
        lbo=lbo or 0,
        sbo=sbo or 0,
        mode=asked.mode,
        base_offset=asked.get("base_offset", 0),
        **{name: value for name, value in more.items() if name in of.made_of and value is not None},
    )
    silent = of.ignored(made, major, asked.operand)
    notes = [
        f"{option_of(name)} was not given and is read here: 0"
        for name, given in (("lbo", lbo), ("sbo", sbo))
        if given is None and name not in silent
    ]
    return _shown(asked, made, made.value, [major], notes)


def _decode(asked: DescriptorQuestion) -> Report:
    of, bits, operand = asked.engine, asked.bits or 0, asked.operand
    made = of.descriptors.decode(bits)
    major = asked.get("major") if operand is None else operand.major
    majors = [major] if major else [*of.majors_of(made)]
    notes = [*asked.remarks]
    others = [other.upper() for other in of.majors if other not in majors]
    if others and not major:
        spoken = " and ".join(f"{each.upper()}-major" for each in majors)
        notes.append(f"said of {spoken} operands: no {' or '.join(others)}-major one has such a descriptor")
    whose = f", {_by_version(of, bits)}" if of.name == engine_of_word(bits) else ""
    report = _shown(asked, made, bits, majors, notes, whose)
    return replace(
        report, screen=f"{report.shown()}\n\nthe byte of every element: {_command_of_reads(asked)}"
    )


def _command_of_reads(asked: DescriptorQuestion) -> str:
    """Return the command that lists what the descriptor reads, with the options that are given here."""
    letter, of = "B" if "dtype" in asked.options else "A", asked.engine
    options = {"operand": letter, "dtype": "bf16", **asked.options}
    words = ["tilewise descriptor reads", _hex(asked.bits or 0)]
    for name in (*OF_OPERAND, *OF_TCGEN05):
        if name in options:
            words += [option_of(name), *([] if options[name] is True else [str(options[name])])]
    if of.name != "wgmma":
        size = "m" if options["operand"] == "A" else "n"
        words += [f"--engine {of.name}", *([] if size in options else [f"--{size} 128"])]
    return " ".join(words)


def _shown(
    asked: DescriptorQuestion,
    made: Any,
    value: int,
    majors: Sequence[str],
    notes: Sequence[str],
    whose: str = "",
) -> Report:
    """Return a descriptor with all that there is to say of it."""
    of, operand = asked.engine, asked.operand
    by_major = [of.words(made, major, operand) for major in majors]
    first = by_major[0]
    remarks = [*notes, *_common([of.remarks(made, major, operand, value) for major in majors])]
    sentences = {
        field.name: _sentences([words[i].says for words in by_major], majors) for i, field in enumerate(first)
    }
    fields = {
        "engine": of.name,
        "value": _hex(value),
        "fields": made.named,
        "encoded": {field.name: field.encoded for field in first},
        "bits": {field.name: field.where for field in first},
        "words": {name: "; ".join(lines) for name, lines in sentences.items()},
        "ignored": _common([of.ignored(made, major, operand) for major in majors]),
        "reserved": of.descriptors.reserved_bits(value),
        "remarks": remarks,
    }
    rows: list[tuple[object, ...]] = [("field", "bits", "bytes", "encoded", "")]
    for field in first:
        head, *more = sentences[field.name]
        bytes = "" if field.bytes is None else field.bytes
        rows.append((field.name, field.where, bytes, field.encoded, head))
        rows += [("", "", "", "", line) for line in more]
    parts = [
        [_hex(value) + whose],
        picture(of.fields, value),
        table_lines(rows, "<<>><"),
        [f"note: {remark}" for remark in remarks],
    ]
    return Report(fields, "\n\n".join("\n".join(lines) for lines in parts if lines))


def _sentences(sentences: list[str], majors: Sequence[str]) -> list[str]:
    """Return one sentence, or one for each major where they differ."""
    if len(set(sentences)) == 1:
        return sentences[:1]
    return [f"{major.upper()}-major: {said}" for major, said in zip(majors, sentences, strict=True)]


def _common(lists: Sequence[Sequence[str]]) -> list[str]:
    """Return what all lists have."""
    return [each for each in lists[0] if all(each in other for other in lists[1:])]


# -- what it reads ---------------------------------------------------------------------------------


def _reads(asked: DescriptorQuestion) -> Report:
    of, bits = asked.engine, asked.bits or 0
    asked.need("dtype", *asked.sizes)
    made, operand = of.descriptors.decode(bits), asked.operand
    pieces, addresses = operand.pieces(made), operand.addresses(made)
    unit = pieces[0].layout.unit
    silent = of.ignored(made, operand.major, operand)
    taken = [f"read as {asked.by_version}"] if asked.by_version and of.name != "wgmma" else []
    remarks = [*asked.remarks, *taken, *of.remarks(made, operand.major, operand, bits)]
    first, last = operand.extremes(made)
    shape = [len(addresses), len(addresses[0])]
    fields = {
        "engine": of.name,
        "value": _hex(bits),
        "shape": shape,
        "unit": unit,
        "layout": pieces[0].layout if len(pieces) == 1 else None,
        "pieces": [fields_of(piece, "box", "layout") for piece in pieces],
        "first": first,
        "last": last,
        "faults": last >= of.shared_end,
        "ignored": silent,
        "remarks": remarks,
        "addresses": addresses,
    }
    name = f"{operand.operand} [{shape[0]}, {shape[1]}] of {operand.dtype}, {operand.major.upper()}-major"
    counts = "" if unit == "byte" else f", in {unit}s"
    lines = [f"{name}: bytes {first} to {last}"]
    for piece in pieces:
        box = f"{_box(piece.box, shape)}  " if len(pieces) > 1 else ""
        lines.append(f"{box}{piece.layout}{counts}")
    lines += ["", *_corner(addresses), ""]
    lines += [f"not read: {', '.join(silent)}"] if silent else []
    lines += [f"note: {remark}" for remark in remarks]
    return Report(fields, "\n".join(lines).rstrip())


def _box(box: Sequence[tuple[int, int]], shape: Sequence[int]) -> str:
    """Return the rows of a box, and the k where it has not all of them."""
    (first, past), (low, high) = box
    rows = f"rows {first} to {past - 1}"
    return rows if high - low == shape[1] else f"{rows}, k {low} to {high - 1}"


_LANDMARKS = (0, 1, 2, 4, 7, 8, 9, 15, 16, 31, 32, 63, 64)
"""Rows and columns where the next core matrix, chunk or atom begins, and their neighbours."""


def _corner(addresses: list[list[int]]) -> list[str]:
    rows, columns = (
        sorted({*(mark for mark in _LANDMARKS if mark < len(lines)), len(lines) - 1})
        for lines in (addresses, addresses[0])
    )
    head = ("row", *(f"k={k}" for k in columns))
    return table_lines([head, *((row, *(addresses[row][k] for k in columns)) for row in rows)], "", ">")


# -- a whole tile ----------------------------------------------------------------------------------


def _steps(asked: DescriptorQuestion) -> Report:
    from tilewise.check.operand import pair_notes
    from tilewise.hardware.operands.stepping import Stages

    asked.need("mode", "dtype", "operand", "tile")
    of, options = asked.engine, asked.options
    rows, k = sizes_in("--tile", options["tile"], "rows x K", "128x64, in elements")
    lbo_mode = {"lbo_mode": options["lbo_mode"]} if "lbo_mode" in options else {}
    intake = of.intake(options["dtype"], options["operand"], **asked.instruction, **lbo_mode)
    major = asked.get("major", "k")
    if major not in intake.majors:
        reason, hint = intake.no_major
        raise Refused("TW602", reason, witness={"dtype": intake.name, "major": major}, hint=hint)
    fed = of.feed(
        intake,
        asked.mode,
        major,
        rows,
        k,
        asked.get("order", "mn"),
        one=intake.rows[0] if len(intake.rows) == 1 else None,
        base=asked.get("base", 0),
        pattern=asked.get("pattern", "tile"),
    )
    if "stages" not in options and "stage_stride" in options:
        raise misused("--stage-stride goes with --stages", "such as --stages 4")
    if asked.get("stage_stride") == 0:
        raise misused("--stage-stride 0 puts all stages in one place", "leave it out")
    ring = Stages(fed, asked.get("stages", 1), asked.get("stage_stride", 0))
    _check_room(ring, fed.base + ring.bytes, of.shared_end)
    m, n, depth = intake.shape(fed.n)
    fields = {
        "engine": of.name,
        "instruction": f"m{m or 'M'}n{n or 'N'}k{depth}",
        "tile": fed.tile,
        "unit": "byte",
        "order": {"first": fed.order, "other": _other_order(of, intake, fed)},
        "bytes": fed.bytes,
        "value": _hex(fed.descriptor.value),
        "fields": fed.descriptor.named,
        "advance": {
            "layout": fed.advance if fed.along_k else None,
            "mn": _digits(fed.along_mn),
            "k": _digits(fed.along_k),
        },
        "steps": [step_fields(step) for step in fed.steps],
        "stages": {
            **fields_of(ring, "count", "stride", "alignment", "one_step", "bytes"),
            "encoded": ring.stride // 16,
            "values": [_hex(stage.descriptor.value) for stage in ring],
        },
        "placements": [fields_of(row, "multiple", "base_offset", "says") for row in of.placements(fed.mode)],
        "notes": pair_notes(intake, rows, fed.n),
    }
    return Report(fields, "\n".join(_lines_of_steps(fields, fed, ring)))


def _digits(along: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"count": count, "bytes": step, "encoded": step // 16} for count, step in along]


def _check_room(ring: Any, end: int, room: int) -> None:
    if end <= room:
        return
    what = "the tile ends" if ring.count == 1 else f"{ring.count} stages end"
    raise Refused(
        "TW605",
        f"{what} at byte {end}, and the shared memory of an SM at {room}",
        witness={"end": end, "shared": room},
        hint=f"one tile takes {ring.first.bytes} bytes: cut it along K, or take fewer stages",
    )


def _lines_of_steps(fields: Mapping[str, Any], fed: Any, ring: Any) -> Iterator[str]:
    yield (
        f"{fed.operand} [{fed.rows}, {fed.k}] of {fed.dtype}, {fed.major.upper()}-major, {fed.mode}: "
        f"{counted(len(fed.steps), 'descriptor')}, {fields['instruction']}"
    )
    yield f"tile: {fed.tile.coalesce(by_mode=True)}, in bytes"
    yield _order_words(**fields["order"])
    yield _all_have(fed.descriptor)
    for name, digits in (("M" if fed.operand == "A" else "N", fed.along_mn), ("K", fed.along_k)):
        yield f"along {name}: {', then '.join(map(_advance, reversed(digits))) or _UNEVEN}"
    yield from (f"note: {note}" for note in fields["notes"])
    yield ""
    columns = ("mn", "k", "bytes", "encoded", "value")
    rows = [tuple(step[name] for name in columns) for step in fields["steps"]]
    yield from table_lines([("mn", "k", "add bytes", "add encoded", "descriptor"), *rows], ">>>><")
    if ring.count > 1:
        yield ""
        yield from _stages_text(fields["stages"], ring)


def _other_order(of: Engine, intake: Any, fed: Any) -> str | None:
    """Return the order in which the same atoms make another tile; None where they stand in one line."""
    tiles = {
        order: of.tile(fed.mode, fed.major, intake.dtype, fed.rows, fed.k, order).coalesce(by_mode=True)
        for order in of.orders
    }
    return next((order for order, tile in tiles.items() if tile != tiles[fed.order]), None)


def _order_words(first: str, other: str | None) -> str:
    from tilewise.check.suggest import direction

    if other is None:
        return "order: atoms in one line, the same tile for any --order"
    return f"order: atoms {direction(first)} first; --order {other}: {direction(other)} first"


def _all_have(descriptor: Any) -> str:
    """Return the fields in which the descriptors of a tile do not differ."""
    held = descriptor.encoded
    lbo = f"LBO {descriptor.lbo} bytes ({held['lbo']})"
    if held.get("lbo_mode"):
        lbo = "LBO an address"
    return f"all: {lbo}, SBO {descriptor.sbo} bytes ({held['sbo']}), base offset {descriptor.base_offset}"


def _advance(digit: tuple[int, int]) -> str:
    count, step = digit
    return f"{count} steps of {step} bytes (add {step // 16})" if count > 1 else "one step"


def _stages_text(stages: dict[str, Any], ring: Any) -> Iterable[str]:
    same = "and nothing else changes" if ring.one_step else "and the base offset changes too"
    if not ring.first.start_alone:
        same = "to the start and to LBO"
    yield f"{ring.count} stages of {ring.first.bytes} bytes:"
    yield f"  {ring.stride} apart: add {stages['encoded']}, {same}"
    yield f"  any multiple of {ring.alignment} keeps the base offset of all"
    yield from (f"stage {i}  {value}" for i, value in enumerate(stages["values"]))


def _hex(value: int) -> str:
    return f"{value:#018x}"
