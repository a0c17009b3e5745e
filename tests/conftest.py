"""Settings of every test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests import their neighbours as `tests.…`

from tests.runs import FULL, QUICK
from tests.wellformed import hold_parts

hold_parts()


@pytest.fixture(scope="session")
def times(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """`times(500)`: how many examples a test draws, 500 or, in a quick run, fewer."""
    quick = request.config.getoption("--quick")
    return lambda count: -(-count * QUICK // FULL) if quick else count
