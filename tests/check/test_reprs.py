"""The text in a REPL: short, and where it can be, one that makes the value again."""

import pytest

from tilewise import LayoutError, S
from tilewise.check.match import match
from tilewise.check.suggest import suggest
from tilewise.check.tma import plan_copy
from tilewise.hardware.catalog import find
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ELEMENT_TYPES, ElementType
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import INPUTS, Input

TILE = tile("128B", "k", "bf16", 128, 128)
NAMES = {kind.__name__: kind for kind in (Mode, Input, ElementType, Descriptor, TensorMap)}


@pytest.mark.parametrize(
    "value",
    [
        *MODES.values(),
        *INPUTS.values(),
        *ELEMENT_TYPES.values(),
        Descriptor(1024, 16, 512, "64B", 3),
        TensorMap.of("bf16", (4096, 4096), (128, 64), mode="128B"),
    ],
    ids=str,
)
def test_it_makes_the_value_again(value):
    assert eval(repr(value), NAMES) == value
    assert len(repr(value)) < 250


def test_a_descriptor_prints_as_its_bits():
    assert str(Descriptor(lbo=16, sbo=1024, mode="128B")) == "0x4000004000010000"
    assert str(Descriptor(lbo=128, sbo=256)) == "0x0000001000080000"


@pytest.mark.parametrize(
    ("value", "has"),
    [
        (match(TILE, operand="A", dtype="bf16"), "sbo=1024"),
        (suggest(operand="A", rows=128, k=128, dtype="bf16"), "mode=Mode.of('128B')"),
        (plan_copy((4096, 4096), TILE, dtype="bf16"), "box=(2, 128, 64)"),
    ],
    ids=["match", "suggest", "plan"],
)
def test_an_answer_is_a_few_lines(value, has):
    assert has in repr(value)
    assert len(repr(value)) < 500


def test_an_entry_says_how_it_is_called():
    assert repr(find("wgmma.D")).startswith("<wgmma.D(dtype, n): the accumulator D")


@pytest.mark.parametrize(
    "asked",
    [
        lambda text: match(text, operand="A", dtype="bf16"),
        lambda text: plan_copy((4096, 4096), text, dtype="bf16"),
    ],
    ids=["match", "plan"],
)
def test_text_is_no_layout_yet(asked):
    with pytest.raises(LayoutError) as error:
        asked(str(S[(128, 64) : (64, 1)]))
    assert (error.value.code, "parse(text)" in error.value.hint) == ("TW107", True)
