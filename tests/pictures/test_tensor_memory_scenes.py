"""The panel of tensor memory shows D and A of tcgen05.mma lane by lane, column by column, CTA beside CTA."""

import pytest

from tilewise import parse
from tilewise.pictures.scene.build import scene_of
from tilewise.pictures.scene.cells import Elements, located

# {call: (type that TCol counts, elements of which a column has room)}
CALLS = {
    "tcgen05.D(f32, m=256, n=64, cta_group=2)": ("f32", 1),
    "tcgen05.D(f32, m=128, n=64, cta_group=2)": ("f32", 1),
    "tcgen05.D(f16, m=128, n=256, cta_group=2)": ("f16", 2),
    "tcgen05.D(f32, m=128, n=32, cta_group=2, sparse, slab=1)": ("f32", 1),
    "tcgen05.D(f16, m=64, n=64)": ("f16", 2),
    "tcgen05.D(s32, m=32, n=64, ws)": ("s32", 1),
    "tcgen05.A(bf16, m=64, k=32, ws)": ("bf16", 2),
    "tcgen05.A(e2m1, m=128, kind=mxf4, cta_group=2)": ("e2m1", 8),
    "tcgen05.A(e2m1, m=128)": ("b8", 4),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_copy_is_in_its_lane_and_its_column(call):
    counted, each = CALLS[call]
    layout = parse(call)
    scene = scene_of(layout, dtype=counted)
    _, panel = scene.panels
    pair = "cbx" in {axis.name for axis in layout.axes}
    assert panel.kind == "tensor memory"
    assert panel.title == "tensor memory, columns of 32 bits"
    assert panel.cells[0] == 128
    assert panel.slots == each
    assert panel.blocks in ([(1, 2), (2, 1)] if pair else [(1, 1)])
    at = located(Elements(scene), panel)
    found = zip(at.block_row + at.block_column, at.row, at.column, at.slot, strict=True)
    shown = [tuple(map(int, one)) for one in found]
    copies = scene.copies
    for flat in range(0, layout.size, 37):
        wanted = set()
        for place in layout.places(layout.coordinates(flat)):
            steps = place.as_dict()
            bit = steps["TCol"] * (32 // each)
            wanted.add((steps.get("cbx", 0), steps["TLane"], bit // 32, bit % 32 // (32 // each)))
        assert set(shown[flat * copies : (flat + 1) * copies]) == wanted


def test_heads_name_the_ctas():
    _, panel = scene_of(parse("tcgen05.D(f32, m=128, n=64, cta_group=2)"), dtype="f32").panels
    assert panel.block_name == "cbx"
    assert panel.blocks == (1, 2)
