"""The text of PTX cut into kernels and functions, their variables and statements."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewise.compiled.lines import Line
from tilewise.compiled.ptx.operands import TYPE, PtxVariable, Scope, immediate, width_of
from tilewise.compiled.sass.reader import HEADERS
from tilewise.core.errors import LayoutError

COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
HEAD = re.compile(r"\.(entry|func)\b([^{};]*)([{;]|\Z)")
NAMED = re.compile(r"\s*(?:\(([^)]*)\))?\s*([\w$%.]+)\s*(?:\(([^)]*)\))?(.*)", re.DOTALL)
BRACE = re.compile(r"[{}]")
FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"\n]*)"', re.MULTILINE)
TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)
SECTION = re.compile(r"\.section\s+\S+\s*\{[^{}]*\}?")
LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
VARIABLE = re.compile(
    r"\s*(?:\.(?:extern|visible|weak|common)\s+)?\.(shared|global|const|local|param)(?:::\w+)?\s+([^=]*)(?:=(.*))?",
    re.DOTALL,
)
DECLARED = re.compile(r"([\w$%.]+)\s*((?:\[\s*\w*\s*\]\s*)*)$")
STATEMENT = re.compile(
    r"\s*(?:(\.loc\b[^\n]*)|([{}])|([A-Za-z_$%][\w$%]*)\s*:(?!:)|(?:@(!?)\s*([%\w$]+)\s+)?([^;]*)(;|\Z))"
)
OPCODE = re.compile(r"([a-z][\w.:]*)\s*(.*)", re.DOTALL)
REGISTERS = re.compile(r"([\w$%]+)(<\d+>)?")
EXTENTS = re.compile(r"\.(reqntid|maxntid|reqnctapercluster)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")

Location = tuple[int, int, int]


@dataclass(slots=True)
class Statement:
    """One instruction as it stands in the text."""

    row: int
    line: Line | None
    negated: bool
    guard: str | None
    name: str
    operands: str
    scope: Scope


@dataclass(slots=True)
class PtxBody:
    """A kernel or a function."""

    name: str
    kernel: bool
    parameters: list[PtxVariable]
    results: list[PtxVariable]
    extents: dict[str, tuple[int, int, int]]
    begin: int
    """The begin of the text behind its brace; -1 for one that is only declared."""
    end: int
    scope: Scope
    statements: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class PtxText:
    """A text without its comments, and what it declares outside of kernels."""

    text: str
    rows: list[int]
    """The begin of each line."""
    files: dict[int, str]
    target: str
    module: Scope = field(default_factory=Scope)
    bodies: dict[str, PtxBody] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> PtxText:
        """Return the parts of a text; their statements are read when they are wanted."""
        plain = COMMENT.sub(_blank, text)
        target = TARGET.search(plain)
        rows = [0, *(match.end() for match in re.finditer("\n", plain))]
        files = {int(number): name for number, name in FILE.findall(plain)}
        parts = cls(SECTION.sub(_blank, plain), rows, files, target[1] if target else "")
        parts._cut()
        return parts

    def row(self, position: int) -> int:
        """Return the line of the text, from 1, that has a position."""
        return bisect(self.rows, position)

    def _cut(self) -> None:
        """Find the bodies, and the variables between them."""
        at = 0
        while match := HEAD.search(self.text, at):
            self._declare(self.text[at : match.start()])
            body = self._body(match)
            if body.begin >= 0 or body.name not in self.bodies:
                self.bodies[body.name] = body
            at = body.end + 1
        self._declare(self.text[at:])

    def _declare(self, text: str) -> None:
        for statement in text.split(";"):
            begin = re.search(
                r"(?:\.(?:extern|visible|weak|common)\s+)?\.(?:shared|global|const)\b", statement
            )
            if begin:
                for variable in declared(statement[begin.start() :]):
                    self.module.variables[variable.name] = variable

    def _body(self, match: re.Match[str]) -> PtxBody:
        words = NAMED.fullmatch(match[2])
        if words is None or not match[3]:
            raise self.error(match.start(), f"the head of a .{match[1]} does not end")
        results, name, parameters, directives = words.groups()
        kernel = match[1] == "entry"
        space = "param" if kernel else "call"
        own = _parameters(parameters or "", space)
        given = _parameters(results or "", space)
        scope = Scope(self.module, "" if kernel else f"@{name}")
        for variable in (*own, *given):
            scope.variables[variable.name] = variable
        extents = {
            found[1]: (int(found[2]), int(found[3] or 1), int(found[4] or 1))
            for found in EXTENTS.finditer(directives)
        }
        begin, end = (match.end(), self._end(match)) if match[3] == "{" else (-1, match.end() - 1)
        return PtxBody(name, kernel, own, given, extents, begin, end, scope)

    def _end(self, match: re.Match[str]) -> int:
        depth = 1
        for brace in BRACE.finditer(self.text, match.end()):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                return brace.start()
        raise self.error(match.start(), f"the text ends inside this .{match[1]}")

    def error(self, position: int, message: str) -> LayoutError:
        """Return an error that names a line of the text."""
        return LayoutError("TW804", f"PTX, line {self.row(position)}: {message}")

    # -- the statements of a body ------------------------------------------------------------------------

    def read(self, body: PtxBody) -> None:
        """Read the statements of a body, once."""
        if body.statements or body.begin < 0:
            return
        scope, scopes = body.scope, 0
        line: Line | None = None
        callers: dict[Location, Location] = {}
        at = body.begin
        while at < body.end:
            match = STATEMENT.match(self.text, at, body.end)
            if match is None:
                break
            location, brace, label, negated, guard, words, _ = match.groups()
            if location is not None:
                line = self._line(location, callers) or line
            elif brace == "{":
                scopes += 1
                scope = Scope(scope, f"'{scopes}{body.scope.mark}")
            elif brace == "}":
                scope = scope.parent if scope is not body.scope and scope.parent is not None else scope
            elif label is not None:
                scope.labels[label] = len(body.statements)
            elif words[:1] == ".":
                _directive(words, scope, body)
            elif words.strip():
                opcode = OPCODE.fullmatch(words.rstrip())
                name, operands = opcode.groups() if opcode else (words.split()[0], "")
                row = self.row(match.start(6))
                statement = Statement(row, line, negated == "!", guard, name, operands, scope)
                body.statements.append(statement)
            at = match.end()

    def _line(self, location: str, callers: dict[Location, Location]) -> Line | None:
        """Return the innermost line of the source outside of headers, or None for line 0."""
        match = LOCATION.match(location)
        if match is None:
            return None
        numbers = [int(number) for number in match.groups() if number]
        here: Location | None = (numbers[0], numbers[1], numbers[2])
        if len(numbers) == 6:
            callers[numbers[0], numbers[1], numbers[2]] = (numbers[3], numbers[4], numbers[5])
        else:
            callers.pop((numbers[0], numbers[1], numbers[2]), None)
        chain: list[Line] = []
        while here is not None and len(chain) < 64:
            chain.append(Line(self.files.get(here[0], ""), here[1]))
            here = callers.get(here)
        if chain[0].number == 0:
            return None
        return next((one for one in chain if not HEADERS.search(one.file)), chain[0])


def _blank(match: re.Match[str]) -> str:
    """Return a comment as its ends of lines, and a string as it is."""
    text = match[0]
    return text if text[0] == '"' else "\n" * text.count("\n") or " "


# -- declarations ----------------------------------------------------------------------------------------


def _directive(words: str, scope: Scope, body: PtxBody) -> None:
    """Note what a directive of a body declares."""
    if words.startswith(".reg"):
        if scope is not body.scope:
            for match in REGISTERS.finditer(words, 4):
                if match[1][0] not in "0123456789" and not _is_type(words, match):
                    (scope.ranges if match[2] else scope.registers).add(match[1])
    elif words.startswith(".branchtargets"):
        here = [name for name, place in scope.labels.items() if place == len(body.statements)]
        scope.tables |= dict.fromkeys(here, words[14:].replace(",", " ").split())
    else:
        for variable in declared(words):
            if variable.space == "param":
                variable.space, variable.name = "call", variable.name + scope.mark
                scope.variables[variable.name.removesuffix(scope.mark)] = variable
            else:
                scope.variables[variable.name] = variable


def _is_type(words: str, match: re.Match[str]) -> bool:
    return words[match.start() - 1] == "."


def _parameters(text: str, space: str) -> list[PtxVariable]:
    found = []
    for part in text.split(","):
        variables = declared(part)
        for variable in variables:
            variable.space = space
        found.extend(variables)
    return found


def declared(text: str) -> list[PtxVariable]:
    """Return the variables of a declaration.

    >>> [(one.name, one.size, one.align) for one in declared(".shared .align 16 .b8 tile[4096]")]
    [('tile', 4096, 16)]
    """
    match = VARIABLE.match(text)
    if match is None:
        return []
    space, words, content = match.groups()
    words, _, names = _parted(words)
    size = 1
    for part in words.split("."):
        part = part.strip()
        if part in ("v2", "v4"):
            size *= int(part[1:])
        elif TYPE.fullmatch(part) and part != "pred":
            size *= width_of(part) // 8
    pointer, own = re.search(r"\.ptr\b", words), re.search(r"\.align\s+(\d+)", words.split(".ptr")[0])
    align = int(own[1]) if own else size
    variables = []
    for name in names.split(","):
        one = DECLARED.search(name.strip())
        if one is None:
            continue
        count = 1
        for extent in re.findall(r"\[\s*(\w*)\s*\]", one[2]):
            count *= immediate(extent) or 0
        variable = PtxVariable(one[1], space, size * count, max(1, align), pointer=pointer is not None)
        variable.content = _content(content, size, variable.size) if content else None
        variables.append(variable)
    return variables


def _parted(words: str) -> tuple[str, str, str]:
    """Return the directives of a declaration, and its names."""
    match = re.match(r"((?:\s*(?:\.align\s+\w+|\.attribute\([^)]*\)|\.\w+))*)(\s*)(.*)", words, re.DOTALL)
    assert match is not None
    return match[1], match[2], match[3]


def _content(text: str, each: int, size: int) -> bytes | None:
    """Return the bytes of an initialiser; None where it has something else than numbers."""
    numbers = [immediate(word) for word in text.replace("{", " ").replace("}", " ").replace(",", " ").split()]
    found = bytearray()
    for number in numbers:
        if number is None:
            return None
        found += (number & (1 << 8 * each) - 1).to_bytes(each, "little")
    return bytes(found[:size].ljust(size, b"\0")) if size else None


def named_in(text: str) -> set[str]:
    """Return the names in a text."""
    return set(re.findall(r"[A-Za-z_$%][\w$]*", text))


def called_in(body: PtxBody) -> Iterator[tuple[Statement, str]]:
    """Return the calls of a body, with the names of what they call."""
    for statement in body.statements:
        if statement.name.partition(".")[0] == "call":
            match = re.match(r"(?:\([^)]*\)\s*,\s*)?([\w$%.]+)", statement.operands)
            if match:
                yield statement, match[1]
