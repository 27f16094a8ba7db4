"""The guard itself: a page that goes online, or fails, is found."""

import pytest


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
    for _ in range(600 if found else 1):  # a minute at most, on a busy machine
        page.wait_for_timeout(100)
        if page.wrong:
            break
    assert any(found in line for line in page.wrong) if found else page.wrong == []
    page.wrong.clear()
