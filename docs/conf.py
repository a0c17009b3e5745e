"""Sphinx, for `make docs`: offline, without fonts or scripts from elsewhere, warnings as errors."""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.docs.examples, which runs examples
sys.path.insert(0, str(Path(__file__).parent / "extensions"))

import tilewise

gc.disable()  # documents stay until the end: looking for what is garbage takes a sixth of the time

project = "tilewise"
author = "the tilewise authors"
copyright = "the tilewise authors"
version = release = tilewise.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "docstrings",
    "aliases",
    "commands",
    "errors",
    "consoles",
    "pictures",
    "phases",
    "pipeline",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
default_role = "code"  # docstrings write code in single backticks
nitpick_ignore_regex = [
    # the standard library and NumPy are documented elsewhere, and the build is offline
    (r"py:.*", r"(typing|types|collections|pathlib|random|numpy|np)\..*"),
    (r"py:.*", r"Any|SupportsIndex|NDArray|dict\[str|Mapping(\[str)?|Sequence|Iterable|Iterator|Random"),
    (r"py:.*", r"Options|OfMemory|Axes"),  # keywords of `parse` and of `plan`, types for checkers
    (r"py:.*", r"st\..*|hypothesis\..*"),
    # what opens a device, or is handed on, is on no page
    (
        r"py:.*",
        r"tilewise\.(gpu\.launch|check\.feeding\w*|codegen\.(w?g?mma|parts|gemm|attention)\.\w+)\..*|Had|Owned|Question|Row|Int64s|Bools",
    ),
    (r"py:.*", r"tilewise\.check\.access\.(access\.Stored|patterns\.Pattern)"),
    (
        r"py:.*",
        r"tilewise\.(gpu\.(Way|Tunable|verify\.(kernels\.Probe|part\.AskedCase))|check\.access\.costs\.Ranks)",
    ),  # any type
    # ways of a plan
    (
        r"py:.*",
        r"MeshMove|Bulk|Facts|Quantity|tilewise\.core\.polynomials\.(Polynomial|Condition)|tilewise\.moves\.(ways\.\w+|tiles\.\w+\.(Tile|Turned)|pairs\.\w+\.\w+|mesh\.(exchange|held|sums)\.\w+)",
    ),
    # parts of an exchange
    (
        r"py:.*",
        r"tilewise\.check\.registers\.(question|inside|shared|accesses)\.\w+",
    ),  # parts of an exchange
    (r"py:.*", r"tilewise\.hardware\.(operands\.stepping\.D|tcgen05\.descriptor\.Descriptor)"),  # any word
    (
        r"py:.*",
        r"Shape|Point|Chain|Digits|Value|Pair|Interval|Spec|Ways|T|D|tuple\[(str|int)",
    ),  # names for tuples
]

copybutton_prompt_text = r"\$ |>>> |\.\.\. "  # a copy is what one types, without its output
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_copy_empty_lines = False

smartquotes = False  # what is typed is what is shown

html_theme = "furo"
html_title = "tilewise"
html_static_path = ["static"]
html_css_files = ["tilewise.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "native"
highlight_language = "text"
