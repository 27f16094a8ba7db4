"""The page with all views: each of them draws, answers, and keeps to itself."""

import pytest
from browser.test_family import AXE, FIND_BARRIERS, FITS
from views.samples import PLAIN, SAMPLES

from seqlearn.views.gallery import all_views, gallery


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("gallery") / "gallery.html"
    gallery(all_views(), path)
    return path


@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 320)])
def test_all_views_stand_on_one_page(page, written, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(written.as_uri())
    assert sorted(page.locator("h2").all_inner_texts()) == sorted(SAMPLES)
    assert page.locator("main .seqlearn .says").count() == len(SAMPLES)
    page.evaluate(AXE)
    _, found = page.evaluate(FIND_BARRIERS)
    assert found == []
    assert page.evaluate(FITS)
    page.set_viewport_size({"width": 1300, "height": 1400})


def test_a_view_changes_itself_alone(page, written):
    page.goto(written.as_uri())
    parts = page.locator("section")
    before = parts.all_inner_texts()
    beam = page.get_by_role("region", name="beam search, step by step")
    beam.get_by_label("previous step").click()
    changed = [old != new for old, new in zip(before, parts.all_inner_texts(), strict=True)]
    assert changed == [view == "BeamView" for view in page.locator("h2").all_inner_texts()]


def test_texts_of_a_gallery_are_texts(page, tmp_path):
    hostile = "</script><script>alert(1)</script><h2>"
    views = [(hostile, SAMPLES["AttentionView"]([hostile, *PLAIN])), ("plain", SAMPLES["PositionView"](PLAIN))]
    gallery(views, tmp_path / "page.html", hostile, hostile)
    page.goto((tmp_path / "page.html").as_uri())
    assert page.title() == page.locator("h1").inner_text() == page.locator("header p").inner_text() == hostile
    assert page.locator("h2").all_inner_texts() == ["AttentionView", "PositionView"]
    assert page.locator(".says").count() == 2
