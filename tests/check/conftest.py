"""Goldens and the command line, as the other tests have them."""

from tests.cli.conftest import tilewise
from tests.notation.conftest import golden

__all__ = ["golden", "tilewise"]
