"""Engines of descriptors: a table of fields plus functions, and room for another one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

from tilewise import LayoutError
from tilewise.cli.main import main
from tilewise.hardware.engines import ENGINES, engine
from tilewise.hardware.fields import Field, packed, picture, unpacked


@pytest.mark.parametrize("name", list(ENGINES))
def test_every_engine_has_a_table_of_fields_that_do_not_overlap(name):
    found = engine(name)
    assert found.name == name
    assert found.source.url.startswith("https://")
    bits = [bit for field in found.fields for bit in range(field.low, field.high + 1)]
    assert len(set(bits)) == len(bits)
    assert set(bits) <= set(range(64))


def test_an_unknown_engine():
    with pytest.raises(LayoutError, match="no engine with descriptors") as refused:
        engine("wmma")
    assert refused.value.code == "TW601"


def test_another_engine_needs_a_table_and_no_other_command(monkeypatch, capsys):
    wgmma = engine("wgmma")

    @dataclass(frozen=True)
    class Other(wgmma.descriptors):
        version: int = 0
        FIELDS = (*wgmma.fields, Field("version", 46, 2, 1, "a fixed constant"))

    class Another(type(wgmma)):
        name = "another"
        descriptors = Other

        def says(self, *asked):
            return super().says(*asked) | {"version": "a fixed constant"}

    another = ModuleType("another_engine")
    another.ENGINE = Another()
    monkeypatch.setitem(sys.modules, "another_engine", another)
    monkeypatch.setitem(ENGINES, "another", "another_engine")
    assert main(["descriptor", "decode", "0x4000404000010000", "--engine", "another"]) == 0
    out = capsys.readouterr().out
    assert "63-62  61-52       51-49        48  47-46    45-32" in out
    assert "01       00000001000000" in out


def test_fields_there_and_back():
    fields = (Field("low", 3, 5, 1, ""), Field("high", 60, 4, 16, ""))
    held = {"low": 21, "high": 9}
    assert packed(fields, held) == 21 << 3 | 9 << 60
    assert unpacked(fields, packed(fields, held)) == held
    assert unpacked(fields, (1 << 64) - 1) == {"low": 31, "high": 15}
    assert picture(fields, 1)[-3:] == [
        "31-8                      7-3    2-0",
        "........................  00000  ..!",
        "                          low",
    ]
