"""Figures and interactive views of what a layer computes.

A view is shown as the last line of a cell, and `view.to_html("page.html")` writes a page that works without Python. The
figures are ordinary matplotlib figures. `seqlearn.views.gallery` puts all views on one page.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
