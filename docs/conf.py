"""Configuration of the site, which `make docs` builds into docs/_build with warnings as errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "_sphinx"), str(DOCS.parent / "tools")]

# What is only imported to be described, and the gallery's small data, should not wait for threads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import members  # noqa: E402

from podium import __version__  # noqa: E402

project = "Podium"
author = "The Podium authors"
copyright = "The Podium authors"  # the name that Sphinx reads
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "mathml",
    "reference",
    "repository_links",
    "validation",  # numpydoc's checks: which hold for what, and why
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_sphinx", "_templates", "gallery", "inventories"]
templates_path = ["_templates"]
nitpicky = True
highlight_language = "none"  # plain blocks are output, formulas and file formats; others name their language
html_show_sourcelink = False
html_copy_source = False

# ---- Markdown

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
myst_dmath_allow_space = False
html_math_renderer = "mathml"

# ---- docstrings

autosummary_generate = True
autosummary_context = {"shown_members": members.members()}
autodoc_typehints = "none"  # types are in the sections of parameters, as words
numpydoc_show_class_members = False  # the template of a class lists them

# ---- other projects' names: written by _sphinx/write_inventories.py, so that building needs no network

intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "inventories/python.inv"),
    "numpy": ("https://numpy.org/doc/stable", "inventories/numpy.inv"),
    "scipy": ("https://docs.scipy.org/doc/scipy", "inventories/scipy.inv"),
    "sklearn": ("https://scikit-learn.org/stable", "inventories/sklearn.inv"),
    "matplotlib": ("https://matplotlib.org/stable", "inventories/matplotlib.inv"),
}

# ---- gallery

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "gallery_style.apply"),
    "remove_config_comments": True,
}

# ---- appearance

html_theme = "pydata_sphinx_theme"
html_title = f"Podium {version}"
html_logo = html_favicon = "_static/podium.svg"
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is, until the button says otherwise
html_static_path = ["_static"]
html_css_files = ["podium.css"]
html_theme_options = {
    "logo": {"text": f"Podium {version}"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
