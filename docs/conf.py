"""How the documentation is built: ``make docs``, or sphinx-build -W -b html docs build/docs.

Nothing is fetched, neither while it is built nor when it is read: fonts are the reader's own, formulas
are MathML, and tables of measurements are made from the files in ``benchmarks/results`` and
``experiments/results`` at that moment.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS / "_ext"), str(DOCS.parent), str(DOCS.parent / "src")]

import laconism  # noqa: E402  (found through the path above)

project = "laconism"
author = "The laconism developers"
copyright = "the laconism developers, BSD 3-Clause"
release = version = laconism.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "measured",
    "public",
    "shell",
]
exclude_patterns = ["_ext", "_templates"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections say the types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates list them
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "within_subsection_order": "measured.lesson",
    "copyfile_regex": r"",
    "doc_module": ("laconism",),
    "backreferences_dir": "api/generated/backreferences",
    "reference_url": {"laconism": None},
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # that page would ask other hosts for its scripts
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 10,  # an example that takes longer has to be made shorter
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "first_notebook_cell": None,
}

html_theme = "pydata_sphinx_theme"
html_title = "laconism"
html_static_path = ["_static"]
html_css_files = ["laconism.css"]
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_favicon = "_static/laconism.svg"
html_show_sourcelink = False
html_copy_source = False
toc_object_entries_show_parents = "hide"
html_theme_options = {
    "logo": {
        "image_light": "_static/laconism.svg",
        "image_dark": "_static/laconism.svg",
        "text": "laconism",
    },
    "header_links_before_dropdown": 4,
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without subpages need no column for them.
html_sidebars = {
    page: []
    for page in ("index", "start", "which", "papers", "tables", "performance", "glossary", "changes")
}
