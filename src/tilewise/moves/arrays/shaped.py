"""Moves of all shapes of a class: each shape has its own sizes, and all have one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewise.moves.arrays.run import Bound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.moves.arrays.device import Loaded
    from tilewise.moves.shapes import ShapesPlan

REMEMBERED = 1024
"""Shapes that are ready at once."""


class BoundShapes:
    """A plan for all shapes that is ready to run; called with a source, and a value for each name."""

    def __init__(self, plan: ShapesPlan) -> None:
        self.plan = plan
        self._shapes: dict[tuple[int, ...], Bound] = {}

    def __call__(self, x: Any, let: Mapping[str, int], out: Any = None, *, stream: Any = None) -> Any:
        """Return the result in new storage, or in `out`, as a plan of the shape does."""
        return self.of(let)(x, out, stream=stream)

    def of(self, let: Mapping[str, int]) -> Bound:
        """Return the move of one shape; the last ones are kept."""
        key = tuple(let.get(own, -1) for own in self.plan.names) if len(let) == len(self.plan.names) else ()
        found = self._shapes.get(key)
        if found is None:
            found = _OfShape(self.plan, let)
            if len(self._shapes) >= REMEMBERED:
                self._shapes.clear()
            self._shapes[key] = found
        return found

    def __repr__(self) -> str:
        return f"<BoundShapes of {self.plan!r}>"


class _OfShape(Bound):
    """A move of one shape, by the kernel of all."""

    def __init__(self, shapes: ShapesPlan, values: Mapping[str, int]) -> None:
        plan = shapes.of(values)
        super().__init__(plan)
        self._shared = shapes if shapes.text and shapes.takes(values) else None
        self._values = values

    def _prepared(self, device: int, aligned: int) -> Loaded:
        """Return the kernel of all shapes, with the sizes of this one; for less alignment one of its own."""
        from tilewise.moves.arrays.device import Loaded

        shapes = self._shared
        if shapes is None or aligned < shapes.aligned:
            return super()._prepared(device, aligned)
        plan = replace(self.plan, chosen=shapes.typical.way)
        sizes = [self._values[own] for own in shapes.names]
        made = Loaded(plan, device, shapes.kernel, shapes.blocks_of(self._values), sizes)
        self._ready[device, aligned] = made
        return made
