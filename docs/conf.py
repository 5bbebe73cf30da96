"""The documentation site: pages of the repository, the C API by Doxygen, the Python API by autodoc.

    python -m sphinx -W --keep-going -c docs . build/site

Requires docs/requirements.txt, Doxygen, and an installed mluop_omp with PyTorch. The source folder
is the repository, so that links between pages are the same here and on GitHub.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs")]

import google_sections  # noqa: E402
import languages  # noqa: E402

logger = logging.getLogger(__name__)
# Notes for developers: a page that links reach, in no table of contents.
NOTES = "perf/NOTES"

project = "mluop-omp"
author = "the authors of mluop-omp"
version = release = re.search(
    r"project\(mluop_omp VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()
).group(1)

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/**", NOTES + ".md"]
exclude_patterns = ["build", "docs/plots", "**/__pycache__", ".*"]
# Code blocks that name no language are commands or output.
highlight_language = "none"

# The syntax of GitHub for formulas: $...$ and blocks of the language math.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

html_theme = "furo"
html_title = f"mluop-omp {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
toc_object_entries_show_parents = "hide"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
# The page of the address of the site itself.
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]

default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}

breathe_default_project = "mluop_omp"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False


def run_doxygen(app, config):
    """Runs Doxygen on the public headers."""
    output = Path(app.doctreedir) / "doxygen"
    output.mkdir(parents=True, exist_ok=True)
    settings = {
        "PROJECT_NAME": project,
        "INPUT": "include/mlu_op.h include/mlu_op_omp.h",
        "INPUT_FILTER": f"{sys.executable} {ROOT}/docs/doxygen_filter.py",
        "FILTER_SOURCE_FILES": "YES",
        "OUTPUT_DIRECTORY": output,
        "GENERATE_HTML": "NO",
        "GENERATE_LATEX": "NO",
        "GENERATE_XML": "YES",
        "XML_PROGRAMLISTING": "NO",
        "OPTIMIZE_OUTPUT_FOR_C": "YES",
        "EXTRACT_ALL": "YES",
        "SORT_MEMBER_DOCS": "NO",
        "MACRO_EXPANSION": "YES",
        "EXPAND_ONLY_PREDEF": "YES",
        "PREDEFINED": "MLUOP_WIN_API=",
        "ALIASES": r'"literal=\verbatim embed:rst" "endliteral=\endverbatim"',
        "QUIET": "YES",
        "WARN_IF_UNDOCUMENTED": "NO",
        "WARN_AS_ERROR": "YES",
        "STRIP_FROM_PATH": ROOT,
    }
    text = "".join(f"{name} = {value}\n" for name, value in settings.items())
    subprocess.run(["doxygen", "-"], input=text, text=True, check=True, cwd=ROOT)
    config.breathe_projects = {"mluop_omp": str(output / "xml")}


def write_mathml(display):
    """Returns a visitor that writes formulas as MathML, which browsers render without scripts."""

    def visit(translator, node):
        formula = convert(node.astext(), display=display)
        if "\\" in formula:
            logger.warning("unknown command in the formula %r", node.astext(), location=node)
        translator.body.append(formula)
        raise nodes.SkipNode

    return visit


def mark_orphans(app, page, source):
    """Marks the notes as a page that is in no table of contents on purpose."""
    if page == NOTES:
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def setup(app):
    app.connect("source-read", mark_orphans)
    app.connect("config-inited", run_doxygen)
    app.connect("autodoc-process-docstring", google_sections.process)
    languages.setup(app)
    app.add_html_math_renderer(
        "mathml", (write_mathml("inline"), None), (write_mathml("block"), None)
    )


# Imports of the package are silent, and read no settings of the machine.
os.environ.setdefault("MLUOP_LOG_LEVEL", "off")
