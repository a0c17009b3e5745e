"""The reader of a text, by its looks."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.compiled.files import PTX, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.compiled.program import KernelProgram


def programs_of(text: str, kernel: str | None = None) -> Iterator[KernelProgram]:
    """Return the programs of machine code or of PTX, or that of one kernel."""
    if kind_of(text) == PTX:
        from tilewise.compiled.ptx.reader import programs_of as in_ptx

        return in_ptx(text, kernel)
    from tilewise.compiled.sass.reader import programs_of as in_machine_code

    return in_machine_code(text, kernel)
