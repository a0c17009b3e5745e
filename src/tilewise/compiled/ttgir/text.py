"""The lines of an MLIR module: operations with their operands and types, nesting, aliases, source lines.

MLIR prints an operation on a line of its own (mlir.llvm.org/docs/LangRef). One with regions goes on after
them: `%0 = "tt.reduce"(%1) <{axis = 1 : i32}> ({`, lines of the region, `}) : (...) -> ... loc(#loc5)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewise.compiled.lines import Line
from tilewise.core.errors import LayoutError
from tilewise.notation.dialects.triton.encodings import closing

MAX_MODULE = 1 << 23
"""The most characters of a module."""
MAX_CHAIN = 64
"""The most aliases of a place that are followed."""

_NAME = r"%[\w$.-]+"
_OPERATION = re.compile(
    rf'({_NAME}(?::\d+)?(?:, {_NAME}(?::\d+)?)* = )?"?([a-z_]\w*(?:\.[\w$]+)+)"?(?![\w.])'
)
_RESULT = re.compile(rf"({_NAME})(?::(\d{{1,4}}))?")
_VALUE = re.compile(rf"({_NAME}(?:#\d+)?)(: | = )?")
_TYPE = re.compile(r"\btensor<|![\w.]*\w<|(?<=-> )<(?=\d)")
_RENAMED = {"triton_gpu": "ttg", "triton_nvidia_gpu": "ttng", "amdgpu": "amdg"}
_STRING = re.compile(r'"[^"]*"')
_PLACE = re.compile(r"(#loc\w*) = loc\((.*)\)\s*$")
_STEP = re.compile(r'"([^"]*)":(\d{1,9}):\d|(#loc\w*)')
_LIBRARY = re.compile(r"(?:^|[\\/])triton[\\/](?:language|experimental|tools)[\\/]")


@dataclass(slots=True)
class Op:
    """An operation, with what stands on its line and after its regions.

    Regions use names again that others have used; here every value has a name of its own.
    """

    name: str
    text: str
    """The line without its results and without its place in the source; then what follows its regions."""
    row: int
    """The number of its line in the text, from 1 on."""
    results: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """Values that its region begins with: parameters, or a loop's counter and what it carries."""
    loops: int = 0
    """The loops around it."""
    inside: Op | None = field(default=None, repr=False)
    """The operation with the region in which it stands."""
    place: str = ""
    """The text in `loc(...)`."""

    @property
    def kind(self) -> str:
        """Return the name as Triton has it since 3.2: `ttg.local_load` of `triton_gpu.local_load`."""
        dialect, _, rest = self.name.partition(".")
        return f"{_RENAMED.get(dialect, dialect)}.{rest}"

    @property
    def types(self) -> list[str]:
        """Return the types on the line that have angles, in order.

        >>> Op("ttg.local_load", "%2 : !ttg.memdesc<8xi8, #s, #m> -> tensor<8xi8, #b>", 1).types
        ['!ttg.memdesc<8xi8, #s, #m>', 'tensor<8xi8, #b>']
        """
        found, end = [], 0
        while start := _TYPE.search(self.text, end):
            end = closing(self.text, start.end())
            written = self.text[start.start() : end]
            found.append(f"!ttg.memdesc{written}" if written[0] == "<" else written)
        return found


@dataclass(frozen=True, slots=True)
class ModuleText:
    """The operations of a module in order, and the places that aliases name."""

    header: str
    """The line of the module, with its attributes."""
    ops: tuple[Op, ...]
    unread: Mapping[int, str]
    """{number: a line that is no operation, and none that goes with one}."""
    open: tuple[str, ...]
    """The operations whose regions have no end: the text is cut off."""
    places: Mapping[str, str]

    def line(self, op: Op) -> Line | None:
        """Return the innermost line of a user's source that an operation comes from.

        Lines of Triton's own library count where there are no others: of `tl.sum` it is the line that calls.
        """
        waiting, inside = [op.place], None
        for _ in range(MAX_CHAIN):
            if not waiting:
                break
            for step in _STEP.finditer(waiting.pop()):
                if step[3]:
                    waiting += [step.string[step.end() :], self.places.get(step[3], "")]
                    break
                line = Line(re.split(r"[\\/]", step[1])[-1], int(step[2]))
                if not _LIBRARY.search(step[1]):
                    return line
                inside = inside or line
        return inside


def text_of(source: str) -> ModuleText:
    """Return the operations of a module's text.

        refused  TW005 a text that is too long; TW001 one without any operation, at its first line

    >>> text = text_of('%0 = tt.get_program_id x : i32 loc("folder/a.py":3:4)')
    >>> text.ops[0].name, text.line(text.ops[0])
    ('tt.get_program_id', Line(file='a.py', number=3))
    """
    if len(source) > MAX_MODULE:
        raise LayoutError("TW005", f"a module of {len(source)} characters; at most {MAX_MODULE} are read")
    header, ops, unread, places = "", list[Op](), dict[int, str](), dict[str, str]()
    nest = _Nest()
    for row, raw in enumerate(source.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] == "#" or line.startswith("//"):
            if known := _PLACE.match(line):
                places[known[1]] = known[2]
            continue
        line, place = _without_place(line)
        opened, closed, after = _braces(line)
        ended = nest.end(closed)
        if ended is not None:
            ended.text, ended.place = f"{ended.text} {after}", place or ended.place
        if closed:
            nest.begin(ended, opened)
            continue
        found = _OPERATION.match(line)
        op = None  # of a line such as `default {` or `^bb1(%0: i32):`
        text = line[found.end() :] if found else line
        values = [] if line.startswith("module") else _VALUE.findall(text)
        uses = tuple([nest.known.get(name, name) for name, defined in values if not defined])
        if found:
            op = Op(found[2], text, row, (), uses, (), nest.loops, nest.op, place)
            ops.append(op)
        elif line.startswith("module"):
            header = line
        elif not (opened or line[0] == "^"):
            unread[row] = line
        nest.begin(op, opened)
        arguments = tuple([nest.define(name) for name, defined in values if defined])
        if op is not None:
            op.arguments = arguments
            op.results = tuple([nest.define(name, opened) for name in _results((found and found[1]) or "")])
    if not ops:
        end = source.find("\n", len(source) - len(source.lstrip()))
        raise LayoutError(
            "TW001",
            "no operation of MLIR is here",
            hint='TTGIR is what compiled.asm["ttgir"] holds: module attributes {...} { tt.func ...',
            span=(0, len(source) if end < 0 else end),
            source=source,
        )
    return ModuleText(header, tuple(ops), unread, nest.open, places)


class _Nest:
    """The regions around a line, and the values that it can name."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        """{a name in the text: the name of the value alone}."""
        self.loops = 0
        self._count: dict[str, int] = {}
        self._around: list[tuple[Op | None, Op | None]] = []
        """The operation of each region, and the nearest that is known."""
        self._hidden: list[list[tuple[str, str]]] = [[]]
        """Names that each region has taken, with the values that had them before."""

    @property
    def op(self) -> Op | None:
        """Return the innermost operation that is known, of the regions around."""
        return self._around[-1][1] if self._around else None

    @property
    def open(self) -> tuple[str, ...]:
        """Return the names of the operations whose regions have not ended."""
        return tuple([op.name for op, _ in self._around if op is not None])

    def begin(self, op: Op | None, regions: int) -> None:
        """Enter regions of an operation."""
        nearest = op or self.op
        for _ in range(regions):
            self._around.append((op, nearest))
            self._hidden.append([])
            self.loops += _repeats(op)

    def end(self, regions: int) -> Op | None:
        """Leave regions, and return the operation of the last one."""
        op = None
        for _ in range(min(regions, len(self._around))):
            op, _ = self._around.pop()
            self.loops -= _repeats(op)
            for name, before in reversed(self._hidden.pop()):
                self.known[name] = before
        return op

    def define(self, name: str, out: int = 0) -> str:
        """Give a value a name of its own, in the region that lies so many further out."""
        count = self._count[name] = self._count.get(name, 0) + 1
        self._hidden[-1 - out].append((name, self.known.get(name, name)))
        self.known[name] = alone = name if count == 1 else f"{name}'{count}"
        return alone


def _without_place(line: str) -> tuple[str, str]:
    """Return a line without the place at its end, and that place."""
    start = line.rfind(" loc(")
    if start < 0 or line[-1] != ")":
        return line, ""
    return line[:start], line[start + 5 : -1]


def _braces(line: str) -> tuple[int, int, str]:
    """Return the regions that a line begins and ends, and what follows the last end.

    >>> _braces("} else {"), _braces("%0 = tt.load %1 {a = 1}"), _braces("scf.for %i = %a to %b step %c {")
    ((1, 1, 'else {'), (0, 0, ''), (1, 0, ''))
    """
    if "{" not in line and "}" not in line:
        return 0, 0, ""
    opened = closed = end = 0
    plain = _STRING.sub(lambda found: "_" * len(found[0]), line) if '"' in line else line
    for found in re.finditer(r"[{}]", plain):
        if found[0] == "{":
            opened += 1
        elif opened:
            opened -= 1
        else:
            closed, end = closed + 1, found.end()
    return opened, closed, line[end:].lstrip(") ") if closed else ""


def _repeats(op: Op | None) -> bool:
    return op is not None and op.name in ("scf.for", "scf.while")


def _results(written: str) -> Iterator[str]:
    """Yield the names of results: of `%0:2` both `%0#0` and `%0#1`.

    >>> list(_results("%0:2, %a = "))
    ['%0#0', '%0#1', '%a']
    """
    for name, many in _RESULT.findall(written):
        yield from [f"{name}#{own}" for own in range(int(many))] if many else [name]
