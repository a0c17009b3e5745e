"""Commands as whole processes."""

from __future__ import annotations

from clock import processes
from page import Row, Section


def section(title: str, commands: dict[str, list[str]]) -> Section:
    """Return a section of commands by name, each given as its words."""
    whole = {name: ["-m", "tilewise", *words] for name, words in commands.items()}
    seconds = processes({"pass": ["-c", "pass"], **whole})
    rows = [Row(name, seconds[name] - seconds["pass"]) for name in commands if name in seconds]
    return Section(title, "Whole processes, above `python -c pass`.", rows)
