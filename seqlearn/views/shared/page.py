"""HTML pages that work alone: no kernel, no network, no other file.

What a user typed gets into a page as JSON (`safe_json`), and from there into text nodes only (`make` and `token` in
`elements.js`). The policy of the page forbids every script but its own.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable

from ...runtime.ownership import MARK
from .types import Data

HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
"""
PAGE = """{head}<meta name="generator" content="{mark}">
<title>{title}</title>
<style>
{css}
</style>
<noscript><p>This page draws with JavaScript, which is switched off here. The page needs no network.</p></noscript>
{body}
</html>
"""
STATE = '<script type="application/json" id="state{number}">{state}</script>\n'
SCRIPT_PART = '<script type="module">\n{js}\n</script>'
MODEL = '<script type="application/json" id="model">{model}</script>\n'


SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)


def page_of(title: str, css: str, body: str) -> str:
    """A page with this title (any text), these styles and this body (HTML).

    A browser uses the scripts and the styles of the page and no others: the page's policy names the hash of each. Only
    where a script makes a worker (`live/engine.js`), the policy allows workers, whose code such a script has to write.
    An image can only be one that is written in its address: `picture.js` draws the view as such an image, to save it.
    """
    scripts = SCRIPT.findall(body)
    workers = any("new Worker(" in script for script in scripts)
    head = head_of(_hashes(scripts), _hashes([f"\n{css}\n"]), workers)
    return PAGE.format(head=head, title=html.escape(title), css=css, body=body, mark=MARK)


def head_of(scripts: str, styles: str, workers: bool) -> str:
    """The beginning of a document that may load nothing but what its Content Security Policy names.

    Args:
        scripts, styles: which of them run, as a policy names them.
        workers: whether a script may start workers from its own text.
    """
    rules = [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        f"script-src {scripts}",
        *(["worker-src blob:"] if workers else []),
        f"style-src {styles}",
        "img-src data:",
    ]
    return HEAD.format(policy="; ".join(rules))


def _hashes(texts: Iterable[str]) -> str:
    """The hashes of these texts, as a Content Security Policy names them."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(dict.fromkeys(f"'sha256-{digest}'" for digest in digests)) or "'none'"


def state_part(number: str, state: Data) -> str:
    """The data of one view, which a script draws into the element `view{number}` of a page."""
    return STATE.format(number=number, state=safe_json(state))


def script_part(script: str) -> str:
    """The script of a page."""
    return SCRIPT_PART.format(js=script)


def model_part(model: Data | None) -> str:
    """The data of the model that answers in the page; nothing if there is none. A page has one model at most."""
    return "" if model is None else MODEL.format(model=safe_json(model))


def safe_json(state: Data) -> str:
    """JSON that may stand inside <script>: no text in it can end the element or begin another."""
    text = json.dumps(state, default=lambda data: {"base64": base64.b64encode(data).decode()}, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
