"""Goldens: texts that are kept beside the tests and compared whole."""

import pytest


@pytest.fixture
def golden(request):
    """`golden(path, text)`: the text is what the file at `path` holds; a missing file fails."""

    def check(path, text):
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = f"python -m pytest {request.node.nodeid.partition('::')[0]} --update-goldens"
        assert path.exists(), f"{path.name} is missing; read what it will hold after: {command}"
        assert text == path.read_text(encoding="utf-8"), f"if the new text is right: {command}"

    return check
