"""The floors of the house: what each room may import, and that `import tilewise` stays light."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.interpreter import said

import tilewise

ROOT = Path(tilewise.__file__).parent

BELOW_SIMULATE = "core notation tables hardware bridge check"
BELOW_GPU = "core notation tables hardware bridge check codegen"
BELOW_SHOW = "core notation tables hardware bridge check codegen simulate"

MAY_IMPORT = {
    "core": "",
    "notation": "core",
    "tables": "core numpy",
    "hardware": "core notation",
    "bridge": "core notation numpy torch triton tvm jax",
    "check": "core notation tables hardware numpy",
    "codegen": "core notation hardware check",
    "simulate": f"{BELOW_SIMULATE} numpy",
    "compiled": "core notation tables hardware check numpy",
    "gpu": f"{BELOW_GPU} cuda numpy",
    "moves": f"{BELOW_SHOW} gpu numpy",
    "products": "core codegen hardware gpu moves",
    "pictures": f"{BELOW_SHOW} compiled numpy rich PIL",
    "questions": f"{BELOW_SHOW} compiled gpu moves products pictures numpy rich __init__",
    "cli": "core notation questions mcp mcp_types anyio __init__",
    "notebook": "core pictures anywidget traitlets",
    "testing": "core check compiled questions hypothesis",
    "algebra": "core",
    "__init__": "core notation algebra hardware moves pictures products questions",
    "__main__": "cli",
}
"""Room: the rooms and the packages that it may import, besides itself and the standard library."""


def imported(source: str, module: str, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """(line, full name) of everything that a module imports, anywhere in it."""
    yield from names_in(ast.walk(ast.parse(source)), module, is_package)


def names_in(nodes: Iterable[ast.AST], module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, full name) of everything that some nodes of a module import."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*start, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """Return the imports of a module that its room may not have."""
    room = room_of(module)
    allowed = {room, *MAY_IMPORT[room].split()}
    return [
        f"{module}:{line} imports {name}"
        for line, name in imported(source, module, is_package)
        if (target := target_of(name)) not in allowed and target not in sys.stdlib_module_names
    ]


def room_of(module: str) -> str:
    _, _, rest = module.partition(".")
    return rest.split(".")[0] or "__init__"


def target_of(name: str) -> str:
    """The room or the package that a name is imported from; the facade counts as `__init__`."""
    if name.split(".")[0] != "tilewise":
        return name.split(".")[0]
    room = room_of(name)
    return room if room in MAY_IMPORT else "__init__"


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=[name for name, _ in modules()])
def test_each_module_stays_on_its_floor(module, path):
    assert not violations(path.read_text(encoding="utf-8"), module, path.stem == "__init__")


def test_the_floors_on_the_page_are_the_rooms():
    page = (ROOT.parents[1] / "docs/house.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\| \d \| `(\w+)` \|", page, re.MULTILINE)
    assert {*rooms} == MAY_IMPORT.keys() - {"algebra", "__init__", "__main__"}


def named_on(page: str) -> Iterator[tuple[str, str]]:
    """(room, module or folder of it) of the tables that stand under a room's name."""
    for room, text in re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL):
        for row in re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE):
            yield from ((room, name) for name in re.findall(r"`([\w/]+)`", row))


def test_the_modules_on_the_page_exist():
    named = list(named_on((ROOT.parents[1] / "docs/house.md").read_text(encoding="utf-8")))
    missing = [f"{room}/{name}" for room, name in named if not exists(ROOT / room / name)]
    assert missing == []
    assert {room for room, _ in named} >= {"core", "hardware", "check", "codegen", "moves", "compiled"}


def exists(path: Path) -> bool:
    """Tell if there is a module or a folder of this name."""
    return path.is_dir() or path.with_suffix(".py").exists()


def test_a_module_that_is_gone_is_noticed():
    page = "### core\n\n| module | holds |\n|---|---|\n| `layout`, `algebra/gone` | x |\n\n## other\n"
    assert list(named_on(page)) == [("core", "layout"), ("core", "algebra/gone")]
    assert [exists(ROOT / "core" / name) for name in ("layout", "algebra", "algebra/gone")] == [
        True,
        True,
        False,
    ]


def test_every_room_is_in_the_table():
    assert {room_of(module) for module, _ in modules()} <= MAY_IMPORT.keys()
    assert len(list(modules())) > 20


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("tilewise.core.layout", "import tilewise.notation.parser", "tilewise.notation.parser"),
        ("tilewise.core.layout", "def f():\n    from tilewise.tables import table", "tilewise.tables.table"),
        ("tilewise.core.layout", "def f():\n    import numpy as np", "numpy"),
        ("tilewise.core.layout", "from tilewise import parse", "tilewise.parse"),
        ("tilewise.core.layout", "from ..notation import parse", "tilewise.notation.parse"),
        ("tilewise.core.layout", "from .. import check", "tilewise.check"),
        ("tilewise.notation.read", "class A:\n    from tilewise.cli import main", "tilewise.cli.main"),
        ("tilewise.tables.build", "from tilewise.notation import parse", "tilewise.notation.parse"),
        (
            "tilewise.check.match",
            "if True:\n    from tilewise.pictures import scene",
            "tilewise.pictures.scene",
        ),
        ("tilewise.pictures.scene", "from tilewise.gpu import device", "tilewise.gpu.device"),
        ("tilewise.codegen.index", "import torch", "torch"),
    ],
)
def test_a_violation_is_noticed(module, source, found):
    (noticed,) = violations(source, module)
    assert noticed.startswith(module)
    assert noticed.endswith(f" imports {found}")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tilewise.core.layout", "import math\nfrom tilewise.core.axes import m\nfrom .shapes import Shape"),
        ("tilewise.tables.build", "import numpy as np\nfrom tilewise.core.layout import Layout"),
        ("tilewise.questions.show", "def f():\n    from tilewise.pictures import scene"),
        ("tilewise.testing.strategies", "from hypothesis import strategies"),
    ],
)
def test_what_is_allowed_is_no_violation(module, source):
    assert violations(source, module) == []


# -- no cycles inside a room ----------------------------------------------------------------------

IN_CYCLES = {
    "hardware": {"hardware.calls", "hardware.tiled"},
    "moves": {
        "moves",
        "moves.arrays.device",
        "moves.arrays.exchanged",
        "moves.arrays.run",
        "moves.arrays.storage",
        "moves.arrays.traced",
        "moves.arrays.tuned",
        "moves.exchange.plan",
        "moves.exchange.source",
        "moves.lines",
        "moves.named",
        "moves.pairs.fills",
        "moves.memory",
        "moves.tiles.conflicts",
        "moves.tiles.paddings",
    },
}
"""Room: modules that import one another in a circle for now. It only shrinks."""


def run_imports(source: str, module: str, is_package: bool = False) -> Iterator[str]:
    """The names that a module imports when it runs, in functions too: those for type checkers aside."""
    nodes = list(run_nodes(ast.parse(source)))
    yield from (name for _, name in names_in(nodes, module, is_package))
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "LaterModule":
            name = ast.literal_eval(node.args[0])
            if not name.startswith("algebra."):  # the list of operations alone knows what lies above it
                yield f"tilewise.core.{name}"


def run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes inside a node, without what is for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        for_types = isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING"
        for inner in child.orelse if for_types else [child]:
            yield inner
            yield from run_nodes(inner)


def imports_by_module() -> dict[str, set[str]]:
    """{module: the modules of its own room that it imports}."""
    known = dict(modules())
    found = {}
    for module, path in known.items():
        names = set(run_imports(path.read_text(encoding="utf-8"), module, path.stem == "__init__"))
        targets = {name if name in known else name.rpartition(".")[0] for name in names}
        found[module] = {t for t in targets - {module} if t in known and room_of(t) == room_of(module)}
    return found


def in_cycles(imports: dict[str, set[str]]) -> set[str]:
    """The modules that reach themselves."""
    reached = {module: set(direct) for module, direct in imports.items()}
    growing = True
    while growing:
        growing = False
        for seen in reached.values():
            more = set().union(*(reached[target] for target in seen)) - seen
            seen |= more
            growing |= bool(more)
    return {module for module, seen in reached.items() if module in seen}


def test_no_room_has_new_cycles():
    found: dict[str, set[str]] = {}
    for module in in_cycles(imports_by_module()):
        found.setdefault(room_of(module), set()).add(module.removeprefix("tilewise."))
    assert found == IN_CYCLES
    assert not found.keys() & {"core", "check"}


def test_a_cycle_is_noticed():
    lazily = "def f():\n    from tilewise.core.b import g"
    assert list(run_imports(lazily, "tilewise.core.a")) == ["tilewise.core.b.g"]
    assert list(run_imports("if TYPE_CHECKING:\n    import tilewise.core.b", "tilewise.core.a")) == []
    assert in_cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {"a", "b", "c"}


# -- light to import -------------------------------------------------------------------------------

HEAVY = ("numpy", "rich", "hypothesis", "torch", "anywidget")


def heavy_after(statements: str) -> list[str]:
    """The heavy packages that a fresh Python has loaded after some statements."""
    code = f"{statements}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    return said(code).split()


@pytest.mark.parametrize(
    "statements",
    [
        "import tilewise",
        "from tilewise import *",
        "from tilewise import parse; parse('S[(8, 4) : (4, 1)]').who(5)",
        "from tilewise import S, plan; plan(S[8, 4], S[32], 'f32', fill=1.5).bind",
        "import tilewise.testing, tilewise.testing.generate",
        "from tilewise.bridge import layout_of; layout_of(memoryview(b'abc'))",
        "from tilewise import S; L = S[8, 8]; L.holes, L.copies, L.same(L), L.canonical(), L.in_bytes('f16')",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_asked_for(statements):
    assert heavy_after(statements) == []


def test_that_check_can_fail():
    assert heavy_after("import tilewise.tables") == ["numpy"]
    assert heavy_after("from tilewise.moves import Bound") == ["numpy"]
    assert heavy_after("import tilewise.testing.strategies") == ["hypothesis"]


def test_strategies_without_hypothesis_say_what_to_install():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from tilewise import LayoutError\n"
        "try:\n    import tilewise.testing.strategies\n"
        "except LayoutError as error:\n    print(error.code, error.hint)\n"
    )
    assert said(code).startswith("TW403 pip install hypothesis")
