"""Settings of every test: properties are the same on every run, and slow machines are no failure."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests import their neighbours as `tests.…`

settings.register_profile("tilewise", deadline=None, derandomize=True, database=None, max_examples=110)
settings.register_profile("long", deadline=None, max_examples=3_000)
settings.load_profile("tilewise")

from tests.wellformed import hold_parts  # noqa: E402 - the path above comes first

hold_parts()
