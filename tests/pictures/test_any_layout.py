"""Any access of any layout: the scene has steps, or says why not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise import Layout, LayoutError
from tilewise.core.dtypes import DTYPES
from tilewise.pictures.scene.build import scene_of
from tilewise.testing.strategies import layouts

ACCESSES = {
    "wgmma and TMA": ("descriptor.A", "descriptor.B", "boxes"),
    "tcgen05": ("descriptor.A:tcgen05", "descriptor.B:tcgen05:k96", "descriptor.B:tcgen05:n16:ws"),
}


@pytest.mark.parametrize("accesses", ACCESSES.values(), ids=ACCESSES)
@given(
    layout=layouts(max_size=64).filter(lambda layout: layout.copies <= 16),
    which=st.sampled_from(range(3)),
    dtype=st.sampled_from([*DTYPES]),
    base=st.sampled_from([0, 1, 16, 128, 1024, 1 << 40]),
)
def test_any_layout_has_an_answer(
    accesses: tuple[str, ...], layout: Layout, which: int, dtype: str, base: int
):
    """Steps of the tile's elements, or a reason: nothing else is raised than what is raised without them."""
    access = accesses[which]
    try:
        scene_of(layout, dtype=dtype, base=base)
    except LayoutError:
        return
    scene = scene_of(layout, dtype=dtype, base=base, access=access)
    (verdict,) = [note for note in scene.notes if note.text.startswith(f"{access}: ")]
    assert verdict.kind == ("yes" if scene.steps else "no")
    assert {element for step in scene.steps for element in step.elements} <= set(range(layout.size))
