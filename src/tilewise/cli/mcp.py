"""Serve the questions to coding assistants, over the Model Context Protocol on standard input and output.

tilewise mcp
tilewise mcp --list

The first serves; an assistant starts it, by a configuration such as {"command": "tilewise", "args": ["mcp"]}.
The second prints the tools. Each question is a tool. Its arguments are those of the function in Python, and
its answer has the text for people and the fields of --json.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tilewise import __version__
from tilewise.core.errors import LayoutError
from tilewise.questions import FORMS, OF_THE_SHELL, SUMMARIES
from tilewise.questions.asking import (
    HIDDEN,
    LAYOUT,
    METAVAR,
    ShellInput,
    asks,
    inputs,
    question,
    reads_texts,
)
from tilewise.questions.hints import in_python
from tilewise.questions.report import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp.server import Server
    from mcp_types import CallToolResult

MOST = 24_000
"""Characters of a text, and of the fields as JSON, that one answer has at most."""

WITHHELD = ("explore", "verify", *OF_THE_SHELL)
"""Commands that serve, that need a GPU for minutes, or that are about a shell."""

INSTRUCTIONS = """\
tilewise tells where every element of a tensor lives: in memory, registers, tensor memory, on a mesh of GPUs,
and what the hardware can do with it there. Its answers are exact. A layout is a text such as
'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]', 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]', CuTe's '(8,4):(4,1)',
Triton's '#ttg.blocked<{...}>' with `tensor`, or an entry of the catalogue such as 'wgmma.D(f32, n=128)'.
A question whose answer is no has `reason`, and often `witness` and `hint`. An error names what to change."""

READING: Mapping[str, tuple[dict[str, Any], str]] = {
    "let": ({"type": "object", "additionalProperties": {"type": "integer"}}, "values for names in a text"),
    "where": ({"type": "string"}, "names without a value, and facts about them: 'M % 64 == 0, lda >= N'"),
    "unit": ({"enum": ["element", "byte", "bit"]}, "the unit that strides count"),
    "dialect": ({"type": "string"}, "the notation of the text, such as cute or triton"),
    "tensor": ({"type": "string"}, "the shape of the tensor of an encoding or a sharding, such as 128,64"),
}
"""{argument that says how to read a layout: (its schema, its help)}."""

TEXTS: dict[str, Any] = {"type": ["string", "array"], "items": {"type": "string"}}

SCHEMAS: Mapping[str, dict[str, Any]] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "Number": {"type": ["integer", "string"]},
    "Place": {"type": ["string", "integer", "object"]},
    "IndexText": {"type": ["string", "integer", "array"]},
    "ShapeText": {"type": ["string", "integer", "array"]},
    "Many": TEXTS,
    "Words": TEXTS,
    "Files": TEXTS,
}
"""{annotation of an input: its schema}; all others are texts."""


TAKES_JSON = True


@asks(list="print the tools, and do not serve")
def mcp(*, list: bool = False, json: bool = False) -> Report:
    """Return the tools; in a shell, then serve them until the assistant closes standard input.

    >>> mcp(list=True).tools[0]["name"]
    'at'
    """
    tools = [{"name": name, "summary": SUMMARIES.get(name, summary_of(name))} for name in names()]
    width = max(len(tool["name"]) for tool in tools)
    text = "\n".join(f"{tool['name']:<{width}}  {tool['summary']}" for tool in tools)
    return Report({"tools": tools}, text) if list or json else Report({}, lambda: None, then=serve)


def names() -> list[str]:
    """Return the questions that assistants may put."""
    forms = (form for others in FORMS.values() for form in others.values())
    return [name for name in [*SUMMARIES, *forms] if name not in WITHHELD]


def summary_of(name: str) -> str:
    """Return the first sentence of a question."""
    return (question(name).__doc__ or "").partition("\n")[0].rstrip(".")


def description_of(name: str) -> str:
    """Return a question's line of the help and its docstring, whose example shows the arguments."""
    told = (question(name).__doc__ or "").partition("\n    :param")[0]
    return "\n\n".join(filter(None, [SUMMARIES.get(name, ""), told.strip()]))


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a question's arguments, out of its signature.

    >>> schema_of("at")["required"], schema_of("at")["properties"]["bytes"]["type"]
    (['layout', 'index'], 'boolean')
    """
    given = [each for each in inputs(name) if each.help != HIDDEN and each.kind != "Path"]
    flags = [each.name for each in given if each.kind == "bool"]
    properties = {each.name: _schema(each, flags) for each in given if each.name != "json"}
    if reads_texts(name):
        properties = {
            key: {**schema, "description": help} for key, (schema, help) in READING.items()
        } | properties
    required = [each.name for each in given if each.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _schema(each: ShellInput, flags: list[str]) -> dict[str, Any]:
    """Return the schema of one argument, with its help in Python's spelling."""
    if each.choices:
        schema: dict[str, Any] = {"enum": [*each.choices]}
    elif each.kind.startswith("Sequence["):
        schema = TEXTS
    else:
        schema = SCHEMAS.get(each.kind, {"type": "string"})
    help = "a layout" if each.help == LAYOUT else each.help
    metavar = METAVAR.match(help)
    told = in_python(help[metavar.end() :] if metavar else help, flags)
    return {**schema, "description": told} if told else schema


def answer(name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any], bool]:
    """Return the text of an answer, its fields, and true if the question was not understood.

    >>> answer("same", {"a": "S[(4, 2) : (2, 1)]", "b": "S[8]"})
    ('the same map', {'schema': 1, 'same': True}, False)
    """
    from tilewise.cli.main import error_data

    if name not in names():
        return f"there is no tool {name!r}; tools: {', '.join(names())}", {}, True
    try:
        report = question(name)(**arguments)
        return str(report), report.data(), False
    except LayoutError as error:
        return str(error), error_data(error), True
    except (TypeError, OSError) as error:
        return str(error), {"error": {"message": str(error)}}, True
    except (MemoryError, RecursionError):
        return "the answer needs more memory than there is: a smaller layout, or a window of it", {}, True


def bounded(text: str, fields: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """Return a text of at most `MOST` characters, and the fields if they are no larger as JSON."""
    import json

    if len(text) > MOST:
        rest = len(text) - MOST
        text = f"{text[:MOST]}\n... {rest} more characters: a window, a limit or a smaller layout has less"
    return text, fields if len(json.dumps(fields, ensure_ascii=False)) <= MOST else None


def server() -> Server[Any]:
    """Return the server of the questions, which a transport runs."""
    from anyio import CapacityLimiter, to_thread
    from mcp.server import Server, ServerRequestContext
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
        TextContent,
        Tool,
        ToolAnnotations,
    )

    hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    tools = [
        Tool(name=name, description=description_of(name), input_schema=schema_of(name), annotations=hints)
        for name in names()
    ]
    in_turn = CapacityLimiter(1)  # pictures are drawn to standard output, which is the process's

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(_: ServerRequestContext[Any], call: CallToolRequestParams) -> CallToolResult:
        arguments = call.arguments or {}
        text, fields, misunderstood = await to_thread.run_sync(answer, call.name, arguments, limiter=in_turn)
        shown, kept = bounded(text, fields)
        return CallToolResult(
            content=[TextContent(type="text", text=shown)], structured_content=kept, is_error=misunderstood
        )

    return Server(
        "tilewise",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve() -> None:
    """Serve the questions on standard input and output until the input ends."""
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ModuleNotFoundError as error:
        hint = "pip install 'tilewise[mcp]'"
        raise LayoutError(
            "TW403", "the server for assistants needs mcp, which is not installed", hint=hint
        ) from error

    if not hasattr(sys.stdin, "buffer"):
        raise LayoutError("TW402", "standard input is no stream of bytes, on which an assistant could write")
    if sys.stdin.isatty():
        print("an assistant starts this command and writes to it; Ctrl-C ends it", file=sys.stderr)

    async def run() -> None:
        own = server()
        async with stdio_server() as (incoming, outgoing):
            sys.stdin = None  # a layout that is "-" is refused: the assistant writes there
            await own.run(incoming, outgoing, own.create_initialization_options())

    anyio.run(run)
