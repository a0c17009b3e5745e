"""Questions take values as Python has them, and refuse what they would have to ignore or guess."""

from __future__ import annotations

import numpy as np
import pytest

import tilewise
from tilewise import DType, LayoutError, S, laneid, m, reg

TILE = S[64, 64]
FRAGMENT = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]
BF16 = DType.of("bf16")

NO_LAYOUTS = [None, 5, (64, 64), ["S[8]"], S, DType]


@pytest.mark.parametrize("unit", ["byte", "bit"])
def test_a_unit_that_a_layout_does_not_count_is_refused_and_not_ignored(unit):
    with pytest.raises(LayoutError, match=f"counts elements.*{unit}") as caught:
        tilewise.at(S[(8, 64) : (128, 2)], (1, 0), BF16, bytes=True, unit=unit)
    assert caught.value.code == "TW106"
    assert f'layout.counted("{unit}")' in caught.value.hint


def test_a_unit_that_a_layout_counts_may_be_said_again():
    in_bytes = S[(8, 64) : (128, 2)].counted("byte")
    said = tilewise.at(in_bytes, (1, 0), BF16, bytes=True, unit="byte")
    assert said.bytes == tilewise.at("S[(8, 64) : (128, 2)]", (1, 0), BF16, bytes=True, unit="byte").bytes


@pytest.mark.parametrize("layout", [TILE, str(TILE)])
@pytest.mark.parametrize("name", ["shape", "tensor"])
def test_another_shape_than_the_layouts_is_refused_of_a_layout_as_of_its_text(layout, name):
    with pytest.raises(LayoutError, match="is not the shape of this tensor") as caught:
        tilewise.info(layout, **{name: (32, 32)})
    assert caught.value.code == "TW202"
    assert tilewise.info(layout, **{name: (64, 64)}).size == 4096


@pytest.mark.parametrize(
    "window",
    [
        "0:2,3:5",
        ((0, 2), (3, 5)),
        [[0, 2], [3, 5]],
        (range(2), range(3, 5)),
        (slice(0, 2), slice(3, 5)),
        (slice(2), slice(3, 5)),
    ],
)
def test_a_window_is_pairs_ranges_or_slices(window):
    assert tilewise.table(TILE, window=window).data() == tilewise.table(TILE, window="0:2,3:5").data()
    assert tilewise.show(TILE, window=window, json=True).cells[1][1]["text"] == "68"


def test_a_window_may_leave_a_mode_whole_or_pick_one_index():
    asked = tilewise.table(S[4, 8], window=(None, 3))
    assert asked.data() == tilewise.table(S[4, 8], window=":,3").data()


@pytest.mark.parametrize(
    "window", [5, slice(2), (0, 2, 3), ((0, 2, 3), (0, 1)), (1.5, 2), (range(0, 4, 2), 3)]
)
def test_what_is_no_window_is_refused(window):
    with pytest.raises(LayoutError):
        tilewise.table(TILE, window=window)


@pytest.mark.parametrize("layout", NO_LAYOUTS)
def test_what_is_no_layout_is_refused_as_such(layout):
    for ask in (
        lambda: tilewise.at(layout, 5),
        lambda: tilewise.info(layout),
        lambda: tilewise.same(TILE, layout),
        lambda: tilewise.agree(TILE, layout, BF16),
        lambda: tilewise.tmem(layout, "f32"),
        lambda: tilewise.emit("wgmma", BF16, tile=(64, 64, 64), layout_a=layout if layout else 5),
    ):
        with pytest.raises(LayoutError, match="a layout belongs here, not the") as caught:
            ask()
        assert caught.value.code == "TW107"


def test_a_place_may_be_what_at_found():
    (place,) = tilewise.at(FRAGMENT, (5, 3, 1)).places
    assert tilewise.who(FRAGMENT, place).indices == [(5, 3, 1)]
    assert tilewise.who(TILE, 27 @ m).data() == tilewise.who(TILE, 27).data()
    assert tilewise.who(TILE, np.int64(27)).data() == tilewise.who(TILE, 27).data()


@pytest.mark.parametrize("place", [3.5, (3,), [("m", 3)], object()])
def test_what_is_no_place_is_refused(place):
    with pytest.raises(LayoutError, match="a place belongs here") as caught:
        tilewise.who(TILE, place)
    assert caught.value.code == "TW107"


@pytest.mark.parametrize("access", [5, [5], [None], 1.5])
def test_what_is_no_access_is_refused(access):
    with pytest.raises(LayoutError, match="an access belongs here") as caught:
        tilewise.banks(TILE, BF16, access=access)
    assert caught.value.code == "TW107"


def test_none_is_no_access():
    with pytest.raises(LayoutError, match="access"):
        tilewise.banks(TILE, BF16, access=None)


@pytest.mark.parametrize("tile", [128, np.int64(128)])
def test_one_number_is_no_tile(tile):
    with pytest.raises(LayoutError, match="128 is not rows x K"):
        tilewise.suggest("wgmma", BF16, operand="A", tile=tile)
