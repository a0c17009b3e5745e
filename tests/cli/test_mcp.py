"""The questions served to assistants, driven by the official client."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tilewise.cli.mcp import MOST, WITHHELD, answer, bounded, mcp, names, schema_of
from tilewise.questions import FORMS, SUMMARIES
from tilewise.questions.asking import inputs

anyio = pytest.importorskip("anyio", reason="mcp is not installed")
pytest.importorskip("mcp", reason="mcp is not installed")

TILE = "S[(64, 64) : (64, 1)]"


def asked(*calls: tuple[str, dict], at=None):
    """The tools, and the results of calls, through a client: of a server in this process, or of `at`."""
    from mcp import Client

    from tilewise.cli.mcp import server

    async def run():
        async with Client(at or server()) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(run)


def test_each_question_is_a_tool_with_the_inputs_of_its_signature():
    tools, _ = asked()
    assert {tool.name for tool in tools} == {*SUMMARIES, *FORMS["emit"].values()} - {*WITHHELD}
    by_name = {tool.name: tool for tool in tools}
    properties = by_name["banks"].input_schema["properties"]
    assert {"layout", "dtype", "access"} <= properties.keys()
    assert by_name["at"].input_schema["required"] == ["layout", "index"]
    assert properties["access"]["type"] == ["string", "array"]
    assert 'banks("S[(64, 64) : (64, 1)]", "bf16", access="ldmatrix.x4")' in by_name["banks"].description
    assert "svg" not in by_name["show"].input_schema["properties"], "it would write a file"


@pytest.mark.parametrize("name", names())
def test_schemas_are_those_of_json_and_every_argument_has_its_help(name):
    from jsonschema import Draft202012Validator

    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    told = {each.name for each in inputs(name) if each.help}
    assert all("description" in part for key, part in schema["properties"].items() if key in told)


def test_an_answer_has_the_text_for_people_and_the_fields_of_json():
    _, (found,) = asked(("banks", {"layout": TILE, "dtype": "bf16", "access": "ldmatrix.x4"}))
    assert not found.is_error
    assert "512     64" in found.content[0].text
    assert found.structured_content["wavefronts"] == 512


def test_a_no_is_an_answer_and_bad_input_an_error_with_its_hint():
    _, (no, wrong, unknown, misnamed) = asked(
        ("same", {"a": "S[(8, 8) : (8, 1)]", "b": "S[(8, 8) : (1, 8)]"}),
        ("at", {"layout": "S[(8, 4) : (4, 1)", "index": "3"}),
        ("dance", {}),
        ("at", {"layout": TILE, "index": "3", "colour": "red"}),
    )
    assert not no.is_error
    assert no.structured_content["witness"] == [0, 1]
    assert wrong.is_error
    assert wrong.structured_content["error"]["hint"] == "close it with ']'"
    assert unknown.is_error
    assert "no tool 'dance'" in unknown.content[0].text
    assert "at() has no argument 'colour'" in misnamed.content[0].text


def test_answers_are_bounded():
    text, fields = bounded("x" * (MOST + 10), {"places": list(range(MOST))})
    assert text.endswith("... 10 more characters: a window, a limit or a smaller layout has less")
    assert fields is None
    assert bounded("yes", {"same": True}) == ("yes", {"same": True})
    _, (found,) = asked(("table", {"layout": "S[(256, 256) : (256, 1)]"}))
    assert len(found.content[0].text) < MOST + 100
    assert found.structured_content is None


def test_arguments_may_be_lists_and_numbers():
    _, (flat, several, value) = asked(
        ("at", {"layout": TILE, "index": 65}),
        ("at", {"layout": TILE, "index": [1, 1]}),
        ("at", {"layout": "S[(M, 64) : (64, 1)]", "index": "1,1", "let": {"M": 64}}),
    )
    assert flat.structured_content["places"] == several.structured_content["places"] == [{"m": 65}]
    assert value.structured_content["places"] == [{"m": 65}]


def test_a_layout_on_standard_input_is_refused_for_that_is_the_protocols(tmp_path):
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = StdioServerParameters(command=sys.executable, args=["-m", "tilewise", "mcp"])
    _, (found, piped, again) = asked(
        ("at", {"layout": TILE, "index": "1,1"}),
        ("info", {"layout": "-"}),
        ("show", {"layout": "S[(2, 2) : (2, 1)]"}),
        at=stdio_client(command),
    )
    assert found.structured_content["places"] == [{"m": 65}]
    assert piped.is_error
    assert "standard input" in piped.content[0].text
    assert "0  0  1\n1  2  3" in again.content[0].text


def test_the_command_lists_its_tools():
    assert "banks" in str(mcp(list=True))
    run = subprocess.run([sys.executable, "-m", "tilewise", "mcp", "--json"], capture_output=True, text=True)
    assert len(json.loads(run.stdout)["tools"]) == len(names())


def test_without_the_package_it_says_what_to_install():
    code = (
        "import sys; sys.modules['mcp'] = None\nfrom tilewise.cli.main import main\nsys.exit(main(['mcp']))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, input="")
    assert run.returncode == 2
    assert "pip install 'tilewise[mcp]'" in run.stderr


def test_an_answer_of_a_question_that_takes_too_much_is_an_error():
    assert answer("table", {"layout": "S[(65536, 65536) : (65536, 1)]"})[2]
