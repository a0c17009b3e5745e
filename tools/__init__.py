"""Programs that maintainers run: outside of the package, and of its wheel."""
