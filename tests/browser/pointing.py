"""What the tests of several views share: small views, the cells of a map, and the colours of a page."""

import re

import torch

from seqlearn.nn.positions import sinusoids
from seqlearn.views import AttentionSteps, PositionView

MASK = torch.tensor([[True, True, False], [False, False, False]])


def steps(query_tokens=("the", "cat"), key_tokens=("le", "chat", "noir"), mask=MASK):
    queries, keys = torch.tensor([[1.0, 2.0], [0.5, -1.0]]), torch.tensor([[0.5, 1.0], [2.0, 0.0], [-1.0, 1.0]])
    return AttentionSteps(queries, keys, torch.tensor([[1.0, 0], [0, 1], [3, 1]]), mask, query_tokens, key_tokens)


def positions(**chosen):
    return PositionView(sinusoids(9, 6), **chosen)  # cells of 38 x 24 pixels


def result(page):
    """The map whose cells can be pointed at."""
    return page.get_by_role("application")


def cell_of(body):
    """The size of a cell of a map, in pixels."""
    box, label = body.bounding_box(), body.get_attribute("aria-label")
    rows, columns = map(int, re.search(r"(\d+) rows, (\d+) columns", label).groups())
    return box["width"] / columns, box["height"] / rows


def middle(body, row, column):
    """The middle of a cell of a map, as a position in it."""
    width, height = cell_of(body)
    return {"x": (column + 0.5) * width, "y": (row + 0.5) * height}


def hover(page, row, column):
    result(page).hover(position=middle(result(page), row, column))


def click(page, row, column):
    result(page).click(position=middle(result(page), row, column))


def said(page):
    return page.locator(".says").inner_text()


def relative(colour):
    """Relative luminance of rgb(...) (WCAG 2.2)."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def luminance(page, selector, name):
    """That of a colour of the first such element."""
    return relative(page.locator(selector).first.evaluate(f"node => getComputedStyle(node)['{name}']"))


def contrast(page, selector, name):
    """Of a text or a line with the ground of the view (WCAG 2.2, contrast ratio)."""
    dark, light = sorted((luminance(page, selector, name), luminance(page, ".seqlearn", "backgroundColor")))
    return (light + 0.05) / (dark + 0.05)


def pixel(page, index, x, y):
    """Red, green, blue and alpha of a pixel of the index-th map."""
    script = """(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]"""
    return page.locator(".body > canvas").nth(index).evaluate(script, [x, y])


def labels(place):
    """Text and title of each."""
    return place.evaluate_all("nodes => nodes.map(node => [node.textContent, node.title])")
