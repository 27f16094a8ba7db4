"""When may a test read a page? When the questions of its views are answered, and the answers drawn.

While a question is open, the view is `aria-busy`; while its heads are not painted, the switches of the heads are.
"""

from contextlib import suppress

from playwright.sync_api import Error

from tools.browser import SETTLED

WAITS = "() => Boolean(window.live && !window.isSilent && document.querySelector('.seqlearn[aria-busy=true]'))"
LOCATOR = "click dblclick tap hover fill press press_sequentially check uncheck select_option drag_to".split()


def settled(page):
    """Wait until all questions in a page, or in a frame, are answered, and the answers are drawn and measured."""
    assert page.evaluate(SETTLED), "a question of a view has no answer"


def until(page, is_true):
    """Wait until something is true that no script in the page can see, and return whether it ever was."""
    return any(is_true() or page.wait_for_timeout(20) for _ in range(3000))


def silence(page):
    """From now on the model in the page answers nothing."""
    page.evaluate("() => { live.ask = () => new Promise(() => {}); window.isSilent = true }")


def answered(page, act):
    """An act of a test that ends when the model in the page has answered what the act asks.

    So the test reads nothing while the model computes, however busy the machine is. An act after which nobody answers,
    as in a page without a model, ends at once.
    """

    def acted(*args, **options):
        done = act(*args, **options)
        for frame in filter(waits, page.frames):
            frame.wait_for_function(f"() => !({WAITS})()")
        return done

    return acted


def waits(frame):
    """Whether a view waits for the model in its page; not if the act has led to another page."""
    with suppress(Error):
        return frame.evaluate(WAITS)
    return False


def on_its_page(act):
    """The same for a method of a locator."""
    return lambda self, *args, **options: answered(self.page, act)(self, *args, **options)
