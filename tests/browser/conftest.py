"""A real Chromium, with a guard: whatever asks for more than this machine, or writes an error to the console, fails."""

import os
import shutil
from urllib.parse import urlsplit

import pytest

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
LOCAL = {"file", "data", "blob", "about"}


def pytest_collection_modifyitems(items):
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)


def is_here(url):
    """Whether an address is on this machine."""
    parts = urlsplit(url)
    return parts.scheme in LOCAL or parts.hostname in ("127.0.0.1", "localhost")


@pytest.fixture(autouse=True)
def fast(as_a_user):
    """These tests are about pages: shapes are checked by all others, and would take a third of the time."""


def measured_again(bounding_box):
    """A part that a view draws anew, while it is measured, stands nowhere: it is measured again."""

    def again(self, **options):
        return next((box for _ in range(20) if (box := bounding_box(self, **options))), None)

    return again


@pytest.fixture(scope="module", autouse=True)
def boxes():
    """On a busy machine an answer of the model often comes between a look at a part and its measure."""
    from playwright.sync_api import Locator

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Locator, "bounding_box", measured_again(Locator.bounding_box))
        yield


@pytest.fixture(scope="module")  # no longer: playwright's event loop would be in the way of the lessons' kernels
def context(tmp_path_factory):
    """A browser with a fresh profile."""
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if executable is None:
        absent = "No browser was found: install chromium to run the browser tests"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        profile = tmp_path_factory.mktemp("profile")
        settings = {"executable_path": executable, "headless": True, "args": ARGUMENTS}
        settings["viewport"] = {"width": 1300, "height": 1400}
        browser = playwright.chromium.launch_persistent_context(profile, **settings)
        browser.set_default_timeout(60_000)  # for what hangs, not for slow machines
        yield browser
        browser.close()


@pytest.fixture
def page(context):
    """An empty page, guarded."""
    page = context.new_page()
    wrong = []
    page.route(lambda url: not is_here(url), lambda route: (wrong.append(route.request.url), route.abort()))
    page.on("request", lambda request: is_here(request.url) or wrong.append(f"request: {request.url}"))
    page.on("websocket", lambda socket: is_here(socket.url) or wrong.append(f"socket: {socket.url}"))
    page.on("console", lambda message: message.type == "error" and wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.wrong = wrong
    yield page
    page.close()
    assert wrong == []


@pytest.fixture
def show(page, tmp_path):
    """Opens the page of its own of a view."""

    def open_page(view):
        view.to_html(tmp_path / "view.html")
        page.goto((tmp_path / "view.html").as_uri())
        return page

    return open_page
