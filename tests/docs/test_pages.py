"""Promises of the pages as a whole: every error, every public name, every command, and a clean build."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.docs.examples import compare, piped, ran

import tilewise
from tilewise.core.errors import CODES
from tilewise.hardware.catalog.registry import ENGINES
from tilewise.questions import SUMMARIES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DOCUMENTED = re.compile(r"^(?:\.\. [\w:]+:: |\s+)tilewise\.(\w+)(?:\(.*\))?$", re.MULTILINE)

# -- public names ----------------------------------------------------------------------------------


def disagreements(public: Iterable[str], page: str) -> list[str]:
    """The names that are public or documented, and not both."""
    public, documented = set(public), set(DOCUMENTED.findall(page))
    return sorted(
        [f"{name} is not documented" for name in public - documented]
        + [f"{name} is not public" for name in documented - public]
    )


def test_public_names_and_the_reference_agree() -> None:
    page = (DOCS / "reference/python.md").read_text()
    assert disagreements(tilewise.__all__, page) == []


def test_public_names_can_be_imported() -> None:
    assert [name for name in tilewise.__all__ if not hasattr(tilewise, name)] == []


def test_a_disagreement_is_found_both_ways() -> None:
    page = ".. autoclass:: tilewise.Layout\n\n.. py:data:: tilewise.m\n             tilewise.reg\n"
    assert disagreements(["Layout", "m", "reg"], page) == []
    assert disagreements(["Layout", "m", "reg", "S"], page) == ["S is not documented"]
    assert disagreements(["Layout", "m"], page) == ["reg is not public"]


INTERNAL = {"catalog", "engine", "facts", "indices", "mistakes", "sparse_catalog", "tiles"}
"""Modules of engines that nobody imports to ask something: the catalogue and the commands do."""


def modules_of_engines() -> set[str]:
    """The modules of all engines of the catalogue, as they are imported."""
    packages = {module.rpartition(".")[0] for module in ENGINES.values()}
    files = (file for name in packages for file in (ROOT / "src" / name.replace(".", "/")).glob("*.py"))
    parts = (file.relative_to(ROOT / "src").with_suffix("").parts for file in files)
    return {".".join(names) for names in parts if names[-1] not in ("__init__", *INTERNAL)}


def test_the_modules_of_every_engine_are_in_the_reference() -> None:
    page = (DOCS / "reference/hardware.md").read_text()
    named = set(re.findall(r"automodule:: (tilewise\.[\w.]+)$", page, re.MULTILINE))
    assert modules_of_engines() - named == set()
    assert "tilewise.hardware.mfma.fragments" in named


# -- errors ----------------------------------------------------------------------------------------


EXAMPLES = tomllib.loads((DOCS / "reference/errors.toml").read_text(encoding="utf-8"))


def test_every_error_has_an_example_and_a_place_on_the_page() -> None:
    assert list(EXAMPLES) == list(CODES)
    groups = re.findall(r"^```\{errors\} (\w+)$", (DOCS / "reference/errors.md").read_text(), re.MULTILINE)
    assert groups == sorted({code[:3] for code in CODES})


@pytest.mark.parametrize("code", CODES)
def test_the_example_of_an_error_shows_it_with_a_message(code: str) -> None:
    assert shown(EXAMPLES[code]) == {code}


def test_another_error_in_an_example_is_found() -> None:
    assert shown("$ tilewise at 'hello' 0\n$ tilewise at 'S[8]' 1,2\n") == {"TW001", "TW201"}
    assert shown("$ tilewise algebra pack 'S[(8, 6) : (7, 1)]' 2\n") == {"TW508"}
    assert shown(">>> from tilewise import S\n>>> S[8 : 0.5]\n") == {"TW101"}
    assert shown("$ tilewise at 'S[8]' 1\n") == set()


def shown(example: str) -> set[str]:
    """Return the codes of all errors that an example prints, and of what its commands refuse."""
    _, text = ran(example)
    codes = set(re.findall(r"^tilewise(?:\.\w+)?: (TW\d+): \S", text, re.MULTILINE))
    for command in re.findall(r"^\$ tilewise (.*)\n(?=no: )", text, re.MULTILINE):
        answer, _ = piped(f"tilewise {command} --json")
        codes.add(json.loads(answer)["code"])
    return codes


# -- links -----------------------------------------------------------------------------------------

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_files_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_commands_of_contributing_exist() -> None:
    compare(ROOT / "CONTRIBUTING.md")  # pytest collects README and docs by itself


# -- the build -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_build_has_no_warning_and_all_of_it_is_there(tmp_path: Path) -> None:
    """One build, which takes a while, serves all claims about it."""
    for package in ("sphinx", "myst_parser", "furo"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-b", "html", str(DOCS)]
    command += ["-D", "toc_object_entries=0"]  # names in every page's contents take a quarter of the time
    built = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    assert names_without_an_object(tmp_path) == []
    assert commands_without_help(tmp_path) == []
    assert loaded_from_elsewhere(tmp_path) == {}
    assert shapes_that_lead_to_an_mma(tmp_path) == []


def shapes_that_lead_to_an_mma(html: Path) -> list[str]:
    """Pages of layouts whose `Shape` is a nested tuple: no link may say that it is the class of an mma."""
    link = re.compile(r'href="[^"]*instructions\.Shape"')
    return [page for page in ("python", "testing") if link.search(written(html, page))]


def written(html: Path, page: str) -> str:
    """A page of the reference."""
    return (html / "reference" / f"{page}.html").read_text()


def names_without_an_object(html: Path) -> list[str]:
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((html / "objects.inv").read_bytes(), uri="")
    objects = {name for kind in inventory.data.values() for name in kind}
    methods = [f"tilewise.Layout.{name}" for name in vars(tilewise.Layout) if name[0] != "_"]
    names = [f"tilewise.{name}" for name in tilewise.__all__]
    return [name for name in names + methods if name not in objects]


def commands_without_help(html: Path) -> list[str]:
    page = written(html, "cli")
    return [name for name in SUMMARIES if f"usage: tilewise {name} " not in page]


def loaded_from_elsewhere(html: Path) -> dict[str, list[str]]:
    loaded = re.compile(r"""(?:src|<link[^>]*href)=["'](https?://[^"']+)""")
    found = {page.name: loaded.findall(page.read_text()) for page in html.rglob("*.html")}
    assert found
    return {name: those for name, those in found.items() if those}


# -- what leads where ------------------------------------------------------------------------------


def test_the_changelog_has_a_line_for_every_command() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert [name for name in SUMMARIES if not re.search(rf"`{name}( [\w-]+)*`", changes)] == []


def test_the_readme_leads_to_every_page() -> None:
    """But the figures and the house, and those of the reference, which it leads to as a whole."""
    pages = {page.name for page in DOCS.glob("*.md")} - {"index.md", "house.md"}
    linked = set(re.findall(r"\(docs/([\w-]+\.md)", (ROOT / "README.md").read_text()))
    assert sorted(pages - linked) == []
    assert linked <= {page.name for page in DOCS.glob("*.md")}
