"""Matrix descriptors: 64 bits made, taken apart, explained, and what they read.

  tilewise descriptor encode --mode 128B --sbo 1024 --start 0x400
  tilewise descriptor decode 0x4000004000010000
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

Whether a descriptor reads a tile as it lies, and the right one where it does not, is asked with
  tilewise agree 'S[(128, 64) : (64, 1)]' 'descriptor(0x4000004000010000, A)' --dtype bf16

Of tcgen05 A is [m, K] and B [n, K], of a pair of CTAs half of each: what one CTA has in its shared memory.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace

from tilewise.cli.answer import NO, Answer, witness_data
from tilewise.cli.arguments import filled_in
from tilewise.cli.commands.match import one_engine_of
from tilewise.cli.hints import in_a_shell
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import counted
from tilewise.hardware.engines import ENGINES, VERSION, VERSIONS, Engine, engine, engine_of_word
from tilewise.hardware.fields import WORD_BITS, picture
from tilewise.hardware.modes import mode_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from tilewise.hardware.modes import Mode

OPERATIONS = ("encode", "decode", "reads", "steps")

_C_SUFFIX = re.compile(r"(?<=[0-9a-f])u?l{0,2}$", re.IGNORECASE)
"""What C and C++ write after an unsigned constant of 64 bits."""

_OPTIONS = ("n", "m", "kind", "cta_group", "sparse", "ws", "k")
"""What the instructions of some engine are asked for besides type, operand and major."""

_FLAGS = ("sparse", "ws")
_NUMBERS = ("n", "m", "cta_group", "k")

_MADE_OF = ("lbo_mode", "atomicity")
"""What the descriptors of some engine are made of besides what those of all are."""

_OF_TILE = ("tile", "order", "base", "pattern", "stages", "stage_stride")
_OF_OPERAND = ("operand", "dtype", "major", *_OPTIONS)
_TAKES = {
    "encode": ("mode", "start", "lbo", "sbo", "base_offset", *_MADE_OF, *_OF_OPERAND),
    "decode": ("value", *_OF_OPERAND),
    "reads": ("value", *_OF_OPERAND),
    "steps": (
        *("mode", *_MADE_OF, *_OF_OPERAND),
        *_OF_TILE,
    ),
}
"""What each operation takes; --engine goes with all."""


_WHY_N = (
    "no field of a descriptor has the rows of B, the instruction's shape m64nNk16 has them; "
    "A has 64 and needs none (--operand A)"
)
"""Why B is not read without N: PTX ISA, Matrix Shape (wgmma)."""


_SUCH = {"mode": "128B", "dtype": "bf16", "operand": "B", "tile": "128x64", "n": "64", "m": "128"}
"""Values that are spoken of where one is missing."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """OP [VALUE] and the options of each."""
    parser.usage = (
        "tilewise descriptor encode --mode MODE [--start A] [--lbo BYTES] [--sbo BYTES] [--base-offset B]\n"
        "       tilewise descriptor decode VALUE [--operand A|B --dtype T] [--major k|mn] [--n N]\n"
        "       tilewise descriptor reads VALUE --operand A|B --dtype T [--major k|mn] [--n N]\n"
        "       tilewise descriptor steps --mode MODE --operand A|B --dtype T --tile RxK [options]"
    )
    parser.add_argument(
        "op", metavar="OP", choices=OPERATIONS, type=_operation, help="encode, decode, reads or steps"
    )
    parser.add_argument(
        "value",
        metavar="VALUE",
        nargs="?",
        help="the 64 bits, such as 0x4000004000010000, or - for an answer in JSON that has them",
    )
    names = tuple(ENGINES)
    parser.add_argument(
        "--engine",
        choices=names,
        type=one_engine_of(names),
        help="whose descriptor (by the version in VALUE, else wgmma)",
    )
    made = parser.add_argument_group("the fields, in bytes")
    made.add_argument(
        "--mode", metavar="MODE", help="the swizzle mode: none, 32B, 64B, 128B, of tcgen05 128B_ATOM_32B"
    )
    made.add_argument("--start", metavar="A", help="the start address in shared memory (0)")
    made.add_argument("--lbo", metavar="BYTES", help="leading dimension byte offset (16 where none reads it)")
    made.add_argument("--sbo", metavar="BYTES", help="stride dimension byte offset (0)")
    made.add_argument("--base-offset", metavar="B", help="0 to 7: 128 bytes that the pattern is past (0)")
    made.add_argument(
        "--atomicity",
        choices=("16", "32"),
        help="bytes that the mode keeps together: 128B with 32 is 128B_ATOM_32B",
    )
    made.add_argument(
        "--lbo-mode",
        choices=("relative", "absolute"),
        help="tcgen05: LBO is an offset, or an address (relative)",
    )
    read = parser.add_argument_group("the operand")
    read.add_argument("--operand", choices=("A", "B"), help="A [64, K] or B [n, K] (B)")
    read.add_argument("--dtype", metavar="T", help="the type of an element, such as bf16")
    read.add_argument("--major", choices=("k", "mn"), help="the direction that is contiguous (k)")
    read.add_argument("--n", metavar="N", help="N of the instruction, for B")
    of_tcgen05 = parser.add_argument_group("the operand, of tcgen05")
    of_tcgen05.add_argument("--m", metavar="M", help="M of the instruction, for A")
    of_tcgen05.add_argument("--kind", metavar="KIND", help="the kind (the first that has the type)")
    of_tcgen05.add_argument("--cta-group", metavar="G", help="the CTAs that multiply together: 1 or 2 (1)")
    of_tcgen05.add_argument("--sparse", action="store_true", default=None, help="A is sparse")
    of_tcgen05.add_argument("--ws", action="store_true", default=None, help="tcgen05.mma.ws")
    of_tcgen05.add_argument("--k", metavar="K", help="K of the instruction: 64 or 96 of mxf4 (64)")
    tile = parser.add_argument_group("the tile")
    tile.add_argument("--tile", metavar="RxK", help="rows and K in elements, such as 128x64")
    tile.add_argument("--order", choices=("mn", "k"), help="the direction in which atoms follow (mn)")
    tile.add_argument("--base", metavar="A", help="the address where the tile begins (0)")
    tile.add_argument(
        "--pattern",
        choices=("tile", "address"),
        help="where the swizzle counts from: the tile, or address 0 as TMA does (tile)",
    )
    tile.add_argument("--stages", metavar="N", help="so many tiles, one after another")
    tile.add_argument("--stage-stride", metavar="BYTES", help="from one to the next")


def _operation(word: str) -> str:
    """The word; where it is the value itself, what is missing is said."""
    if word[:1].isdecimal():
        raise argparse.ArgumentTypeError(f"did you mean decode {word}, or reads {word}?")
    return word


def answer(args: argparse.Namespace) -> Answer:
    """The value, its words, what it reads, or the steps; no where the engine has no such thing."""
    _check_words(args)
    run = {"encode": _encode, "decode": _decode, "reads": _reads, "steps": _steps}[args.op]
    of = engine(args.engine or _engine_of(args))
    _check_options(args, of)
    try:
        return run(args, of)
    except Refused as no:
        hint = in_a_shell(_with_engine(no.hint, args, of))
        data = {"op": args.op, "code": no.code, "reason": no.reason, "witness": witness_data(no.witness)}
        return Answer(data | {"hint": hint}, f"no: {no.reason}" + (f"\n  hint: {hint}" if hint else ""), NO)


def _engine_of(args: argparse.Namespace) -> str:
    """The engine where none is named: of a word by its version."""
    return engine_of_word(_value(args)) if "value" in _TAKES[args.op] else "wgmma"


def _with_engine(hint: str, args: argparse.Namespace, of: Engine) -> str:
    """A hint, and where the engine is that of the word's version, which one it is."""
    return hint if of.name == "wgmma" else hint + _read_as(args, of)


def _read_as(args: argparse.Namespace, of: Engine) -> str:
    """Which engine's descriptor a word is read as, where that is by its version."""
    if args.engine or "value" not in _TAKES[args.op]:
        return ""
    by = _by_version(of, _value(args))
    return f"; it was {by}" if by.startswith("read") else f"; it was read as {by}"


def _check_words(args: argparse.Namespace) -> None:
    takes = _TAKES[args.op]
    for name in dict.fromkeys(name for names in _TAKES.values() for name in names):
        if name not in takes and getattr(args, name) is not None and not _of_suggest(args, name):
            spelled = args.value if name == "value" else _flag(name)
            others = ", ".join(op for op in OPERATIONS if name in _TAKES[op])
            raise LayoutError("TW401", f"{args.op} does not take {spelled}", hint=f"it goes with {others}")
    if "value" in takes and args.value is None:
        raise LayoutError("TW401", f"{args.op} takes a value", hint="such as 0x4000004000010000")
    if args.value == "-":
        _take_answer(args)


def _of_suggest(args: argparse.Namespace, name: str) -> bool:
    """Whether this is the answer of which the steps are asked."""
    return args.op == "steps" and name == "value" and args.value == "-"


def _check_options(args: argparse.Namespace, of: Engine) -> None:
    """Refuse what is asked of another engine's instructions and descriptors."""
    for name in (*_OPTIONS, *_MADE_OF):
        if getattr(args, name) is not None and name not in (*of.options, *of.made_of):
            having = [one for one in ENGINES if name in (*engine(one).options, *engine(one).made_of)]
            hint = f"--engine {' or '.join(having)} does"
            raise LayoutError(
                "TW401", f"{of.name} does not take {_flag(name)}", hint=f"{hint}{_read_as(args, of)}"
            )


def _take_answer(args: argparse.Namespace) -> None:
    """The value from standard input, and from an answer in JSON what it is for, as far as its engine asks."""
    args.value = None
    said = {name: getattr(args, name) for name in _OPTIONS}
    if args.op == "steps":
        _take_tile(args, filled_in("-", args, "engine", "mode", *_MADE_OF, *_OF_OPERAND))
    else:
        text = filled_in("-", args, "value", "engine", *_OF_OPERAND)
        args.value = args.value or text
    taken = engine(args.engine).options if args.engine in ENGINES else ()
    for name, value in said.items():
        if value is None and name not in taken:
            setattr(args, name, None)
        elif name in _FLAGS and getattr(args, name):
            setattr(args, name, True)


def _take_tile(args: argparse.Namespace, text: str) -> None:
    """The tile that an answer in JSON is about, the order of its atoms and its stages."""
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "schema" not in answer:
        raise LayoutError(
            "TW108", "steps - takes an answer in JSON", hint="that of tilewise suggest ... --json"
        )
    shape, order, stages = (answer.get(name) for name in ("shape", "order", "stages"))
    told = {
        "tile": "x".join(map(str, shape)) if isinstance(shape, list) else None,
        "order": order.get("first") if isinstance(order, dict) else None,
        "stages": stages.get("count") if isinstance(stages, dict) else None,
    }
    for name, value in told.items():
        if value and getattr(args, name) is None:
            setattr(args, name, str(value))


def _needed(args: argparse.Namespace, of: Engine, *names: str) -> None:
    missing = [name for name in names if getattr(args, name) is None]
    if missing:
        raise LayoutError(
            "TW401",
            f"{args.op} needs {' and '.join(_flag(name) for name in missing)}",
            hint=_with_engine(
                "such as "
                + " ".join(f"{_flag(name)} {_SUCH[name]}" for name in missing)
                + (f"; {_WHY_N}" if "n" in missing and of.name == "wgmma" else ""),
                args,
                of,
            ),
        )


# -- one descriptor --------------------------------------------------------------------------------


def _encode(args: argparse.Namespace, of: Engine) -> Answer:
    _needed(args, of, "mode")
    major, mode = args.major or "k", _mode(args, of)
    lbo, sbo = (_number(args, name) for name in ("lbo", "sbo"))
    if lbo is None and args.lbo_mode != "absolute":
        lbo = of.default_lbo(mode, major)
    more = {"major": major, "lbo_mode": args.lbo_mode}
    descriptor = of.descriptor(
        start=_number(args, "start") or 0,
        lbo=lbo or 0,
        sbo=sbo or 0,
        mode=mode,
        base_offset=_number(args, "base_offset") or 0,
        **{name: value for name, value in more.items() if name in of.made_of and value is not None},
    )
    operand = _operand(args, of)
    silent = of.ignored(descriptor, major, operand)
    notes = [
        f"{_flag(name)} was not given and is read here: 0"
        for name, given in (("lbo", lbo), ("sbo", sbo))
        if given is None and name not in silent
    ]
    return _shown(of, descriptor, descriptor.value, [major], operand, notes)


def _mode(args: argparse.Namespace, of: Engine) -> Mode:
    return mode_of(args.mode, None if args.atomicity is None else int(args.atomicity), of.modes)


def _decode(args: argparse.Namespace, of: Engine) -> Answer:
    value = _value(args)
    descriptor = of.descriptors.decode(value)
    operand = _operand(args, of)
    asked = operand.major if operand is not None else args.major
    majors = [asked] if asked else [*(of.majors_of(descriptor))]
    notes = [*_without_0x(args), *([] if asked else _of_no_other(of, majors))]
    whose = f", {_by_version(of, value)}" if of.name == engine_of_word(value) else ""
    found = _shown(of, descriptor, value, majors, operand, notes, whose)
    return replace(found, text=f"{found.text}\n\nthe byte of every element: {_asks_reads(value, args, of)}")


def _by_version(of: Engine, value: int) -> str:
    """Whose descriptor it is taken for, and by which bits."""
    held = VERSION.of(value)
    bits = f"bits {VERSION.where} are {held:#05b}"
    if held not in VERSIONS:
        return f"read as {of.name}'s: {bits}, of no engine"
    return f"{of.name}'s: {bits}, " + ", ".join(
        f"{other}'s {own:#05b}" for own, other in VERSIONS.items() if own != held
    )


def _of_no_other(of: Engine, majors: Sequence[str]) -> list[str]:
    """Which operands are spoken of, where those of another major are not read."""
    others = [major.upper() for major in of.majors if major not in majors]
    if not others:
        return []
    said = " and ".join(f"{major.upper()}-major" for major in majors)
    return [f"said of {said} operands: no {' or '.join(others)}-major one has such a descriptor"]


def _asks_reads(value: int, args: argparse.Namespace, of: Engine) -> str:
    """The command that lists what the descriptor reads, with the words that are given here."""
    given = {name: getattr(args, name) for name in _OF_OPERAND if getattr(args, name) is not None}
    asked = {"operand": "B" if args.dtype else "A", "dtype": "bf16"} | given
    words = [
        _flag(name) + (f" {asked[name]}" * (name not in _FLAGS)) for name in _OF_OPERAND if name in asked
    ]
    if of.name != "wgmma":
        size = "m" if asked["operand"] == "A" else "n"
        words += [f"--engine {of.name}", *([] if size in asked else [f"--{size} 128"])]
    return " ".join(["tilewise descriptor reads", _hex(value), *words])


def _shown(
    of: Engine,
    descriptor: Any,
    value: int,
    majors: Sequence[str],
    operand: Any,
    notes: Sequence[str] = (),
    whose: str = "",
) -> Answer:
    """A descriptor with all that is said of it."""
    by_major = {major: of.words(descriptor, major, operand) for major in majors}
    first = next(iter(by_major.values()))
    remarks = [*notes, *_common([of.remarks(descriptor, major, operand, value) for major in majors])]
    silent = _common([of.ignored(descriptor, major, operand) for major in majors])
    says = {
        said.name: _says([words[i].says for words in by_major.values()], majors)
        for i, said in enumerate(first)
    }
    data = {
        "engine": of.name,
        "value": _hex(value),
        "fields": descriptor.named,
        "encoded": {said.name: said.encoded for said in first},
        "bits": {said.name: said.where for said in first},
        "words": {name: "; ".join(lines) for name, lines in says.items()},
        "ignored": silent,
        "reserved": of.descriptors.reserved_bits(value),
        "remarks": remarks,
    }
    rows = [("field", "bits", "bytes", "encoded", "")]
    for said in first:
        in_bytes = "" if said.bytes is None else str(said.bytes)
        lines = says[said.name]
        rows.append((said.name, said.where, in_bytes, str(said.encoded), lines[0]))
        rows += [("", "", "", "", line) for line in lines[1:]]
    parts = [
        [_hex(value) + whose],
        picture(of.fields, value),
        _table(rows, "<<>><"),
        [f"note: {said}" for said in remarks],
    ]
    return Answer(data, "\n\n".join("\n".join(lines) for lines in parts if lines))


def _says(sentences: list[str], majors: Sequence[str]) -> list[str]:
    """One sentence, or one for each major where they differ."""
    if len(set(sentences)) == 1:
        return sentences[:1]
    return [f"{major.upper()}-major: {said}" for major, said in zip(majors, sentences, strict=True)]


def _common(lists: Sequence[Sequence[str]]) -> list[str]:
    """What all lists have."""
    return [one for one in lists[0] if all(one in other for other in lists[1:])]


# -- what it reads ---------------------------------------------------------------------------------


def _reads(args: argparse.Namespace, of: Engine) -> Answer:
    _needed(args, of, "dtype", *_sizes(args, of))
    value = _value(args)
    descriptor, operand = of.descriptors.decode(value), _operand(args, of)
    pieces = operand.pieces(descriptor)
    addresses = operand.addresses(descriptor)
    silent = of.ignored(descriptor, operand.major, operand)
    taken = [] if args.engine or of.name == "wgmma" else [f"read as {_by_version(of, value)}"]
    remarks = [*_without_0x(args), *taken, *of.remarks(descriptor, operand.major, operand, value)]
    first, last = operand.extremes(descriptor)
    shape = [len(addresses), len(addresses[0])]
    boxes = [{"box": witness_data(piece.box), "layout": str(piece.layout)} for piece in pieces]
    data = {
        "engine": of.name,
        "value": _hex(value),
        "shape": shape,
        "unit": pieces[0].layout.unit,
        "layout": boxes[0]["layout"] if len(boxes) == 1 else None,
        "pieces": boxes,
        "first": first,
        "last": last,
        "faults": last >= of.shared_end,
        "ignored": [*silent],
        "remarks": remarks,
        "addresses": addresses,
    }
    name = f"{operand.operand} [{shape[0]}, {shape[1]}] of {operand.dtype}, {operand.major.upper()}-major"
    lines = [f"{name}: bytes {first} to {last}"]
    lines += [str(pieces[0].layout)] if len(boxes) == 1 else []
    if len(boxes) > 1:
        lines += [f"{_box(piece.box, shape)}  {piece.layout}" for piece in pieces]
    if pieces[0].layout.unit != "byte":
        lines[-len(boxes) :] = [f"{line}, in {pieces[0].layout.unit}s" for line in lines[-len(boxes) :]]
    lines += ["", *_corner(addresses), ""]
    lines += [f"not read: {', '.join(silent)}"] if silent else []
    lines += [f"note: {said}" for said in remarks]
    return Answer(data, "\n".join(lines).rstrip())


def _box(box: Sequence[tuple[int, int]], shape: Sequence[int]) -> str:
    """The rows of a box, and the k where it has not all of them."""
    (first, past), (low, high) = box
    rows = f"rows {first} to {past - 1}"
    return rows if high - low == shape[1] else f"{rows}, k {low} to {high - 1}"


_LANDMARKS = (0, 1, 2, 4, 7, 8, 9, 15, 16, 31, 32, 63, 64)
"""Rows and columns where the next core matrix, chunk or atom begins, and their neighbours."""


def _corner(addresses: list[list[int]]) -> list[str]:
    rows, columns = (_landmarks(len(lines)) for lines in (addresses, addresses[0]))
    head = ("row", *(f"k={k}" for k in columns))
    return _table(
        [head, *((str(r), *(str(addresses[r][k]) for k in columns)) for r in rows)], ">" * len(head)
    )


def _landmarks(extent: int) -> list[int]:
    return sorted({*(one for one in _LANDMARKS if one < extent), extent - 1})


# -- a whole tile ----------------------------------------------------------------------------------


def _steps(args: argparse.Namespace, of: Engine) -> Answer:
    from tilewise.check.operand import pair_notes
    from tilewise.hardware.operands.stepping import Stages

    _needed(args, of, "mode", "dtype", "operand", "tile")
    rows, k = _tile(args.tile)
    lbo_mode = {} if args.lbo_mode is None else {"lbo_mode": args.lbo_mode}
    intake = of.intake(args.dtype, args.operand, **_options(args, of), **lbo_mode)
    major = args.major or "k"
    if major not in intake.majors:
        reason, hint = intake.no_major
        raise Refused("TW602", reason, witness={"dtype": intake.name, "major": major}, hint=hint)
    fed = of.feed(
        intake,
        _mode(args, of),
        major,
        rows,
        k,
        args.order or "mn",
        one=intake.rows[0] if len(intake.rows) == 1 else None,
        base=_number(args, "base") or 0,
        pattern=args.pattern or "tile",
    )
    stages, stride = _number(args, "stages"), _number(args, "stage_stride")
    if stages is None and stride is not None:
        raise LayoutError("TW401", "--stage-stride goes with --stages", hint="such as --stages 4")
    if stride == 0:
        raise LayoutError("TW401", "--stage-stride 0 puts all stages in one place", hint="leave it out")
    ring = Stages(fed, 1 if stages is None else stages, stride or 0)
    _check_room(ring, fed.base + ring.bytes, of.shared_end)
    data = {
        "engine": of.name,
        "instruction": _instruction(intake.shape(fed.n)),
        "tile": str(fed.tile),
        "unit": "byte",
        "order": {"first": fed.order, "other": _other_order(of, intake, fed)},
        "bytes": fed.bytes,
        "value": _hex(fed.descriptor.value),
        "fields": fed.descriptor.named,
        "advance": _advance_data(fed),
        "steps": [_step_data(step) for step in fed.steps],
        "stages": _stages_data(ring),
        "placements": [
            {"multiple": row.multiple, "base_offset": row.base_offset, "says": row.says}
            for row in of.placements(fed.mode)
        ],
        "notes": [*pair_notes(intake, rows, fed.n)],
    }
    return Answer(data, _steps_text(data, fed, ring))


def _instruction(shape: tuple[int | None, int | None, int]) -> str:
    """Its shape, with a letter for what the operand does not say."""
    m, n, k = shape
    return f"m{m or 'M'}n{n or 'N'}k{k}"


def _advance_data(fed: Any) -> dict[str, Any]:
    def digits(along: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
        return [{"count": count, "bytes": step, "encoded": step // 16} for count, step in along]

    layout = str(fed.advance) if fed.along_k else None
    return {"layout": layout, "mn": digits(fed.along_mn), "k": digits(fed.along_k)}


def _step_data(step: Any) -> dict[str, Any]:
    return {
        "mn": step.mn,
        "k": step.k,
        "bytes": step.bytes,
        "encoded": step.encoded,
        "value": _hex(step.descriptor.value),
        "base_offset": step.base_offset,
    }


def _stages_data(ring: Any) -> dict[str, Any]:
    return {
        "count": ring.count,
        "stride": ring.stride,
        "encoded": ring.stride // 16,
        "alignment": ring.alignment,
        "one_step": ring.one_step,
        "bytes": ring.bytes,
        "values": [_hex(stage.descriptor.value) for stage in ring],
    }


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


def _steps_text(data: dict[str, Any], fed: Any, ring: Any) -> str:
    rows = [("mn", "k", "add bytes", "add encoded", "descriptor")]
    rows += [
        (str(step["mn"]), str(step["k"]), str(step["bytes"]), str(step["encoded"]), step["value"])
        for step in data["steps"]
    ]
    along = [
        f"along {name}: " + (", then ".join(map(_advance, reversed(digits))) or _UNEVEN)
        for name, digits in ((("M" if fed.operand == "A" else "N"), fed.along_mn), ("K", fed.along_k))
    ]
    lines = [
        f"{fed.operand} [{fed.rows}, {fed.k}] of {fed.dtype}, {fed.major.upper()}-major, {fed.mode}: "
        f"{counted(len(fed.steps), 'descriptor')}, {data['instruction']}",
        f"tile: {fed.tile.coalesce(by_mode=True)}, in bytes",
        _order_words(**data["order"]),
        _all_have(fed.descriptor),
        *along,
        *(f"note: {said}" for said in data["notes"]),
        "",
        *_table(rows, ">>>><"),
    ]
    if ring.count > 1:
        lines += ["", *_stages_text(data["stages"], ring)]
    return "\n".join(lines)


def _other_order(of: Engine, intake: Any, fed: Any) -> str | None:
    """The order in which the same atoms make another tile; None where they stand in one line."""
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
    """The fields in which the descriptors of a tile do not differ."""
    held = descriptor.encoded
    lbo = f"LBO {descriptor.lbo} bytes ({held['lbo']})"
    if held.get("lbo_mode"):
        lbo = "LBO an address"
    return f"all: {lbo}, SBO {descriptor.sbo} bytes ({held['sbo']}), base offset {descriptor.base_offset}"


_UNEVEN = "steps of 48 bytes through rows of 128; LBO, where the rest of K is read from, moves too"


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


# -- words -----------------------------------------------------------------------------------------


def _operand(args: argparse.Namespace, of: Engine) -> Any:
    """What the descriptor is for; None where no type is named."""
    if args.dtype is None:
        for name in ("operand", *_OPTIONS):
            if getattr(args, name) is not None:
                raise LayoutError("TW401", f"{_flag(name)} needs --dtype", hint="such as --dtype bf16")
        return None
    operand, options = args.operand or "B", _options(args, of)
    for name in _sizes(args, of):
        if name not in options:
            raise LayoutError(
                "TW401",
                f"{operand} needs {_flag(name)}, the {name.upper()} of the instruction",
                hint=f"such as {_flag(name)} {_SUCH[name]}" + (f"; {_WHY_N}" if of.name == "wgmma" else ""),
            )
    return of.operand(dtype=args.dtype, major=args.major or "k", operand=operand, **options)


def _options(args: argparse.Namespace, of: Engine) -> dict[str, Any]:
    """What the instruction is asked for, of what the engine knows."""
    names = [name for name in _OPTIONS if name in of.options]
    given = {name: _number(args, name) if name in _NUMBERS else getattr(args, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def _sizes(args: argparse.Namespace, of: Engine) -> tuple[str, ...]:
    """The size of the instruction that says how many rows the operand has, where the engine has several."""
    name = "m" if args.operand == "A" else "n"
    return (name,) if name in of.sizes else ()


def _value(args: argparse.Namespace) -> int:
    if args.value.startswith("{"):
        raise LayoutError(
            "TW108", "the answer holds no descriptor", hint="those of match, suggest and encode do"
        )
    spelled = _C_SUFFIX.sub("", args.value.strip())
    return _integer(spelled, "no descriptor", "64 bits as a number, such as 0x4000004000010000")


def _without_0x(args: argparse.Namespace) -> list[str]:
    """A remark on 16 decimal digits: a descriptor has as many in hexadecimal."""
    spelled = (args.value or "").strip()
    if len(spelled) != WORD_BITS // 4 or not spelled.isdecimal():
        return []
    return [f"{spelled} was read as a decimal number; in hexadecimal it is 0x{spelled}"]


def _number(args: argparse.Namespace, name: str) -> int | None:
    spelled = getattr(args, name)
    return (
        None if spelled is None else _integer(spelled, f"no number for {_flag(name)}", "such as 64 or 0x40")
    )


def _integer(spelled: str, wanted: str, hint: str) -> int:
    try:
        return int(spelled, 0)
    except ValueError:
        raise LayoutError("TW401", f"{spelled or 'nothing'} is {wanted}", hint=hint) from None


def _tile(spelled: str) -> tuple[int, int]:
    found = re.fullmatch(r"\s*(\d{1,9})\s*[x,]\s*(\d{1,9})\s*", spelled)
    if not found:
        raise LayoutError(
            "TW401", f"--tile {spelled} is no tile", hint="rows x K in elements, such as 128x64"
        )
    return int(found[1]), int(found[2])


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _hex(value: int) -> str:
    return f"0x{value:016x}"


def _table(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Rows in columns, each aligned as `align` says."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
