"""The guard itself: a page that goes online, or fails, is found."""

import pytest
from browser.settling import settled, until
from views.samples import PLAIN, SAMPLES


@pytest.mark.parametrize(
    "added",
    [
        "<script>document.title = 'run'</script>",
        '<script type="module">document.title = "run"</script>',
        "<details open ontoggle=\"document.title = 'run'\"></details>",
        "<base href='https://example.org/'>",
        "<form action='https://example.org/'></form>",
    ],
)
def test_a_page_of_ours_runs_no_other_script(page, tmp_path, added):
    """Its policy names the hashes of its own scripts, and allows neither another base nor forms."""
    view = SAMPLES["SoftmaxView"](PLAIN)
    text = view.to_html().replace("</main>", f"</main>{added}")
    (tmp_path / "page.html").write_text(text, "utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".seqlearn .says").first.wait_for()  # our own script has run
    if "form" in added:
        page.evaluate("document.querySelector('form').submit()")  # a click would wait for the page that never comes
    assert until(page, lambda: page.wrong)
    assert page.title() != "run" and page.evaluate("document.baseURI").startswith("file:")
    assert page.url.startswith("file:")
    assert all("Content Security Policy" in line for line in page.wrong), page.wrong
    page.wrong.clear()


@pytest.mark.parametrize(
    ("page_text", "found"),
    [
        ("<script>console.error('oh')</script>", "console: oh"),
        ("<script>undefined_name()</script>", "error: "),
        ("<img src='https://example.org/x.png'>", "example.org"),
        ("<script>fetch('http://example.org/')</script>", "example.org"),
        ("<script>new WebSocket('ws://example.org/')</script>", "example.org"),
        ("<script>setTimeout(() => alert(1))</script>", "dialog: 1"),
        ("<p>nothing</p><script>fetch('data:,x')</script>", None),
    ],
)
def test_what_is_wrong_is_found(page, tmp_path, page_text, found):
    (tmp_path / "page.html").write_text(f"<meta charset='utf-8'>{page_text}", "utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    settled(page)
    assert until(page, lambda: any(found in line for line in page.wrong)) if found else page.wrong == []
    page.wrong.clear()
