"""The documentation site; ``make docs`` builds it, without a network."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from haarbor.version import __version__  # noqa: E402

project = "Haarbor"
author = "The Haarbor developers"
copyright = "The Haarbor developers, BSD-3-Clause"
version = release = __version__
language = "en"

extensions = [
    "mathml",
    "reference",
    "repository_links",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "results", "_extensions"]
nitpicky = False

# Text: headings are places that links can name, and notebooks are written as text.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

# What a page shows was computed while it was built; what was built before and has not changed is kept.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed")
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
# Kernels would say in every page that bars of progress need a package that this site does not.
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"

# Blocks that name no language are commands and formulas, not Python.
highlight_language = "none"

# The reference comes from the docstrings.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "Haarbor"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 4,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
# Pages without others below them have nothing to list beside them.
html_sidebars = {
    name: []
    for name in (
        "index", "start", "questions", "install", "gallery", "method", "paper_to_code", "glossary",
        "troubleshooting",
    )
}  # fmt: skip
# For make links. GitHub makes its anchors with a script, so they cannot be looked for.
linkcheck_timeout = 20
linkcheck_anchors_ignore_for_url = [r"https://github\.com/.*"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
