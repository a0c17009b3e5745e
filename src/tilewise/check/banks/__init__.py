"""Bank conflicts: how many wavefronts an access takes, how few it could, and which lanes collide."""

from __future__ import annotations

from tilewise.check.banks.phases import Phase, Request, counted

__all__ = ["Phase", "Request", "counted"]
