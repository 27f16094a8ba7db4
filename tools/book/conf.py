"""The settings of Sphinx; build.py copies this file beside the pages that it prepares."""

project = "seqlearn"
author = "The seqlearn authors"
copyright = "the seqlearn authors. Code: Apache-2.0. Texts and figures: CC BY 4.0"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
extensions += [f"tools.book.{name}" for name in ("chinese", "docstrings", "mentions", "terms")]
default_role = "code"

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the outputs are those that the notebooks store

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 80
napoleon_custom_sections = [("Traits", "params_style")]
python_display_short_literal_types = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "seqlearn"
pygments_dark_style = "a11y-dark"
html_static_path = ["static"]
html_extra_path = ["extra"]
html_favicon = "static/favicon.svg"
html_css_files = ["book.css"]
html_js_files = [("book.js", {"defer": "defer"})]
html_copy_source = False
html_use_index = html_domain_indices = False
mathjax_path = "mathjax/tex-mml-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}  # else each formula is a stop of the Tab key
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b57a4", "color-brand-content": "#0b57a4"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ff", "color-brand-content": "#7cc0ff"},
}
