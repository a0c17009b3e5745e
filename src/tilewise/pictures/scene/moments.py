"""A step by its number: which moment of each scene it is, in words, or why there is none."""

from __future__ import annotations

import re

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.pictures.scene.model import Document, Scene, Step

_COUNTED = re.compile(r"(wgmma|tcgen05\.mma|box) \d+ of \d+\b")
"""Titles such as `box 1 of 2`."""


def moment_of(scene: Scene, step: int | None) -> Step | None:
    """The step of a scene, from 0 on: its last one, where another scene has more; None where none is asked.

    >>> from tilewise import R, S
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 4)] + R[2 : 8])
    >>> moment_of(scene, 0).title, moment_of(scene, 5).title, moment_of(scene, None)
    ('the shard', 'the replicas', None)
    """
    return None if step is None or not scene.steps else scene.steps[min(step, len(scene.steps) - 1)]


def moment_words(scene: Scene, step: int | None) -> str:
    """A step of a scene in a sentence, with its number, where the title does not count by itself.

        postcondition  it is empty where `moment_of` is None

    >>> from tilewise import R, S, Swizzle
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 4)] + R[2 : 8])
    >>> moment_words(scene, 1)
    'Step 2 of 2, the replicas: all 2 copies of every element'
    >>> scene = scene_of(Swizzle(3, 3, 3) @ S[(16, 64)], dtype="bf16", access="descriptor.B")
    >>> moment_words(scene, 1)
    'wgmma 2 of 4: rows 0..15, k 16..31: start + 32 bytes'
    """
    moment = moment_of(scene, step)
    if moment is None or step is None:
        return ""
    number = min(step, len(scene.steps) - 1)
    head = "" if _COUNTED.match(moment.title) else f"Step {number + 1} of {len(scene.steps)}, "
    return f"{head}{moment.title}" + (f": {moment.note}" if moment.note else "")


def refuse_step(document: Document, step: int | None) -> None:
    """Refuse a step that no scene has.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import document_of
    >>> refuse_step(document_of(S[(64, 64)], dtype="bf16", access="descriptor.A"), 0)
    Traceback (most recent call last):
    tilewise.LayoutError: TW201: there is no step 0
      hint: descriptor.A: rows are 128 B apart, as in 128B mode, but the addresses are not swizzled
    """
    steps = max(len(scene.steps) for scene in document.scenes)
    if step is None or 0 <= as_int(step, "a step") < steps:
        return
    why = [
        note.text for scene in document.scenes for note in scene.notes if scene.access and note.kind == "no"
    ]
    if steps:
        hint = f"they are 0 to {steps - 1}" if steps > 1 else "there is one, step 0"
    else:
        hint = why[0] if why else "an access has steps, and so has a layout with copies"
    raise LayoutError("TW201", f"there is no step {step}", hint=hint)
