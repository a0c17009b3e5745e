"""Whole modules of eight kernels for eleven targets, as Triton 3.9 printed them, without Triton."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.compiled.ttgir.recorded import recorded
from tests.interpreter import said

from tilewise import parse
from tilewise.cli.main import main
from tilewise.compiled.ttgir.conversions import KINDS
from tilewise.compiled.ttgir.module import module_of

RECORD = Path(__file__).with_name("dumps.zip")
DUMPS = recorded("dumps")
MODULES = {name: module_of(dump["ttgir"]) for name, dump in DUMPS.items()}
SOURCE = {"matmul fp8": "matmul"}
SCRATCH = ("ld.shared", "st.shared", "ldmatrix", "stmatrix")
"""Words of PTX that conversions, sums and scans use too, beside accesses of buffers."""


def test_the_record_has_every_kernel_for_every_target():
    kernels, targets = (set(part) for part in zip(*(name.split(", ") for name in DUMPS), strict=True))
    assert (len(kernels), len(targets), len(DUMPS)) == (8, 11, 88)


def test_no_folder_of_a_machine_is_in_the_record():
    files = set(re.findall(r'\("([^"]*)":\d', "".join(dump["ttgir"] for dump in DUMPS.values())))
    assert files == {"kernels.py", "triton/language/standard.py"}


@pytest.mark.parametrize("name", DUMPS)
def test_everything_is_read(name):
    module, (kernel, target) = MODULES[name], name.split(", ")
    assert module.name == SOURCE.get(kernel, kernel)
    assert module.target == (target if target.startswith("cuda") else f"hip:{target}")
    assert (module.warps, module.lanes) == (4, 64 if target.startswith("gfx9") else 32)
    assert not module.text.unread
    assert not module.text.open
    assert not module.unknown
    assert module.layouts()
    assert all(use.layout is not None and not use.reason for use in module.layouts())


@pytest.mark.parametrize("name", DUMPS)
def test_every_operation_and_type_of_the_text_is_there(name):
    text, module = DUMPS[name]["ttgir"], MODULES[name]
    plain = [re.sub(r"^\s*(%[^=]+ = )?", "", line).lstrip('"') for line in text.splitlines()]
    written = Counter(line.split('"')[0].split()[0] for line in plain if re.match(r"[a-z]\w*\.\w", line))
    assert Counter(op.name for op in module.ops) == written
    uses = {use.type.text for use in module.layouts()}
    assert uses >= set(re.findall(r"tensor<\w+, #\w+>", text))


@pytest.mark.parametrize("name", DUMPS)
def test_every_conversion_has_a_class_and_a_line(name):
    conversions = MODULES[name].conversions()
    assert len(conversions) == DUMPS[name]["ttgir"].count(" ttg.convert_layout ")
    for one in conversions:
        assert one.kind in KINDS
        assert one.line is not None
        assert one.line.file == "kernels.py"
        assert one.bytes == parse(str(one.source.layout)).size * one.source.bits // 8


@pytest.mark.parametrize("name", DUMPS)
def test_each_value_comes_from_one_operation(name):
    ops = MODULES[name].ops
    made = Counter(value for op in ops for value in (*op.results, *op.arguments))
    assert max(made.values()) == 1
    used = {
        value for op in ops for value in op.operands if op.inside and not op.inside.name.startswith("tt.r")
    }
    assert {value for value in used - made.keys() if not value.startswith("%arg")} == set()


def test_commands_of_conversions_run(capsys):
    commands = {one.command for module in MODULES.values() for one in module.conversions()}
    kinds = Counter(command.split()[1] for command in commands)
    assert kinds["shuffle"] >= 3
    assert kinds["plan"] >= 5
    assert kinds["relation"] >= 3
    for command in sorted(commands):
        verb, one, other, *rest = re.fullmatch(r"tilewise (\w+) '(.*?)' '(.*?)'(.*)", command).groups()
        assert main([verb, one, other, *"".join(rest).split()]) == 0, command
    assert capsys.readouterr().out


def test_the_answer_is_json():
    for module in MODULES.values():
        assert json.loads(json.dumps(module.as_dict()))["warps"] == 4


# -- accesses, held against the PTX that Triton made ----------------------------------------------------


def predicted(name: str) -> Counter[str]:
    """Instructions of a thread by their bytes, as record.py counts those of a text."""
    module, found = MODULES[name], Counter[str]()
    for access in module.accesses():
        one = -(-access.requests // module.warps)
        if access.instruction.endswith("matrix"):
            found[access.instruction] += one
        else:
            space = "" if access.instruction == "cp.async" else f".{access.space}"
            found[f"{access.instruction}{space} {access.width}"] += one
    return found


def told(name: str) -> Counter[str]:
    found = Counter[str]()
    for instruction, count in DUMPS[name]["ptx"].items():
        found[instruction.split()[0] if "matrix" in instruction else instruction] += count
    return found


NVIDIA = [name for name, dump in DUMPS.items() if dump["ptx"]]


@pytest.mark.parametrize("name", NVIDIA)
def test_accesses_of_global_memory_are_as_wide_as_those_of_the_ptx(name):
    ours, theirs = predicted(name), told(name)
    outside = {key for key in ours | theirs if not key.startswith(SCRATCH)}
    assert {key: ours[key] for key in outside} == {key: theirs[key] for key in outside}
    assert outside


def test_all_addresses_of_dumps_are_known_and_amds_have_widths():
    for name, module in MODULES.items():
        for access in module.accesses():
            assert access.width, name
            assert bool(access.counts) == (name in NVIDIA) == (not access.reason)


@pytest.mark.parametrize("name", [name for name in NVIDIA if "cuda:75" not in name])
def test_accesses_of_buffers_are_in_the_ptx(name):
    """On 7.5 products without tensor cores read the same elements again, which the PTX does not."""
    assert predicted(name) <= told(name)


def test_loads_for_tensor_cores_are_by_ldmatrix():
    assert predicted("matmul, cuda:80")["ldmatrix"] == told("matmul, cuda:80")["ldmatrix"] == 18


# -- how long it takes ----------------------------------------------------------------------------------


def test_a_module_is_read_within_a_third_of_a_second():
    """Above the start of Python, and of the modules that an answer needs: they may have to be compiled."""
    code = f"""
import json, time, zipfile
import tilewise.compiled.ttgir.accesses, tilewise.check.match
from tilewise.compiled.ttgir.module import module_of
dumps = json.loads(zipfile.ZipFile({str(RECORD)!r}).read("dumps.json"))
texts = sorted((dump["ttgir"] for dump in dumps.values()), key=len)
times = [time.process_time()]
for text in (texts[-1], dumps["attention, cuda:100"]["ttgir"]):
    json.dumps(module_of(text).as_dict())
    times.append(time.process_time())
print(*map(float.__sub__, times[1:], times))
"""
    assert max(map(float, said(code).split())) < 0.3
