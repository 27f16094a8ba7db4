"""HTML pages that work alone: no kernel, no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

from .types import Data

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src {scripts};{workers} style-src 'unsafe-inline'; base-uri 'none'; \
form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{css}
</style>
{body}
</html>
"""
PART = """<script type="application/json" id="state{number}">{state}</script>
<script type="module">
{js}
openPage(build, "{number}");
</script>"""


SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)


def page_of(title: str, css: str, body: str) -> str:
    """A page with this title (any text), these styles and this body (HTML).

    A browser runs the scripts of `body` and no other: the page's policy names the hash of each. Only where a script
    makes a worker (`live/engine.js`), the policy allows workers, whose code such a script has to write.
    """
    scripts = SCRIPT.findall(body)
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = dict.fromkeys(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    workers = " worker-src blob:;" if any("new Worker(" in script for script in scripts) else ""
    names = " ".join(allowed) or "'none'"
    return PAGE.format(title=html.escape(title), css=css, body=body, scripts=names, workers=workers)


def part_of(number: str, state: Data, javascript: str) -> str:
    """The scripts that draw one view into the element `view{number}` of a page."""
    return PART.format(number=number, state=safe_json(state), js=javascript)


def safe_json(state: Data) -> str:
    """JSON that may stand inside <script>: no text in it can end the element or begin another."""
    text = json.dumps(state, default=lambda data: {"base64": base64.b64encode(data).decode()}, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
