"""A real Chromium, with a guard: whatever asks for more than this machine, or writes an error to the console, fails."""

import os
from urllib.parse import urlsplit

import pytest
from browser.settling import LOCATOR, answered, on_its_page
from playwright.sync_api import Locator

from tools.browser import NoBrowserError, program

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


@pytest.fixture(scope="module", autouse=True)
def acts():
    """A test does nothing, and reads nothing, while the model in the page computes; a busy machine changes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        for name in LOCATOR:
            patch.setattr(Locator, name, on_its_page(getattr(Locator, name)))
        yield


@pytest.fixture(scope="module")  # no longer: playwright's event loop would be in the way of the lessons' kernels
def context(tmp_path_factory):
    """A browser with a fresh profile."""
    try:
        executable = program()
    except NoBrowserError as absent:
        pytest.fail(str(absent)) if os.environ.get("CI") else pytest.skip(str(absent))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        profile = tmp_path_factory.mktemp("profile")
        settings = {"executable_path": executable, "headless": True, "args": ARGUMENTS}
        settings |= {"viewport": {"width": 1300, "height": 1400}, "reduced_motion": "reduce"}
        browser = playwright.chromium.launch_persistent_context(profile, **settings)
        browser.set_default_timeout(60_000)  # for what hangs, not for slow machines
        yield browser
        browser.close()


@pytest.fixture
def page(context, request):
    """An empty page, guarded. In it the model answers on the page's own thread; in a worker, if a test is so marked."""
    page = context.new_page()
    if not request.node.get_closest_marker("worker"):
        page.add_init_script("delete window.Worker")
    if request.node.get_closest_marker("motion"):
        page.emulate_media(reduced_motion="no-preference")
    for device, names in {page.keyboard: ["press", "type"], page.mouse: ["click", "dblclick", "up", "move"]}.items():
        for name in names:
            setattr(device, name, answered(page, getattr(device, name)))
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
