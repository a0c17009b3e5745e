"""The canonical layouts of wgmma; Blackwell's table has the same eight rows: see `operands.canonical`."""

from __future__ import annotations

from tilewise.hardware.operands.canonical import FORMS, LBO_IS, SBO_IS, Form, canonical, form_of, offsets

__all__ = ["FORMS", "LBO_IS", "SBO_IS", "Form", "canonical", "form_of", "offsets"]
