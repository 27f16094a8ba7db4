"""All views in a real JupyterLab: traits there and back, no wait for a busy kernel, the theme, the keys."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import nbformat
import pytest
from browser.settling import settled, until
from views.samples import SAMPLES

from tools.refresh import normalise

pytestmark = pytest.mark.worker

CELLS = [
    """import torch
from seqlearn.views import AttentionSteps
steps = AttentionSteps(torch.eye(12), torch.eye(12), torch.eye(12), torch.arange(12))
steps""",
    """from seqlearn.views import KernelView
x = torch.linspace(0, 5, 50)
kernel = KernelView(x, x.sin(), x, ("gaussian", "triangular"), 0.5, widths=[i / 10 for i in range(1, 41)])
kernel""",
    "steps.step = 2; kernel.width = 0.1; kernel.kernel = 'triangular'",
    "print(steps.step, steps.locked, round(kernel.width, 2), kernel.kernel, kernel.locked)",
    "import os, time; end = time.time() + 600\nwhile time.time() < end and not os.path.exists('enough'): pass",
    """from seqlearn.nn.positions import sinusoids
from seqlearn.views import PositionView
place = PositionView(sinusoids(128, 64), offset=5)
place""",
    "print(place.position, place.offset, place.pair); place.position = 100",
    """from seqlearn.search import beam_search, gnmt
from seqlearn.nn.seq2seq import BahdanauConfig, bahdanau
from seqlearn.views import BeamView
_ = torch.manual_seed(0)
model = bahdanau(9, 30, BahdanauConfig(embed_size=8, num_hiddens=8))
def search(width, alpha):
    given = {'bos': 1, 'eos': 2, 'width': width, 'length_penalty': gnmt(alpha), 'min_length': 6}
    given['trace'] = []
    beam_search(model, torch.tensor([[4, 5, 2]]), torch.tensor([3]), **given)
    return given['trace'][0]
beam = BeamView(search, step=1)
beam""",
    """print(beam.width, beam.alpha, beam.step, beam.tree.steps[0][0].tokens == tuple(beam.locked))
if beam.alpha == 1.5 and beam.step == 2: beam.width = 3""",
    """from seqlearn.analysis.attention_map import AttentionMap
from seqlearn.views import AttentionView
words = [f'word{i}' for i in range(64)]
maps = [AttentionMap(torch.randn(8, 8, 64, 64).mul(4).softmax(-1), words, words, kind) for kind in ('cross', 'encoder')]
looks = AttentionView(*maps)
looks""",
    """print(looks.kind, looks.layer, looks.head, looks.show, looks.threshold, looks.locked)
if looks.locked: looks.kind = 'cross'""",
    """from seqlearn.translator.translator import Translator
from seqlearn.views import TranslatorView
typed = TranslatorView(Translator.pretrained('transformer', 'cpu'), 'The cat sleeps.')
typed""",
    "print(typed.sentence, '|', typed.translation, '|', typed.beam, typed.chosen, typed.step, typed.locked)",
    """import torch
from seqlearn.views import SoftmaxView
softmax = SoftmaxView(torch.tensor([2.0, 1.0, 3.0]), ['the', 'apple', '<pad>'], torch.tensor([True, True, False]))
softmax""",
    "print(softmax.scores, softmax.mask, softmax.masking)",
    """from seqlearn.views import measured
measured({'<b>loss</b>': 0.6931})""",
    """one, answered = kernel.readings[0], kernel.answer.get('of') == [kernel.kernel, kernel.width, kernel.readings]
print(one[0], 0 < one[1] < 0.2, answered)
if one[1] and answered: kernel.readings = [[0.0, 1.0], *kernel.readings[1:]]""",
    """from seqlearn.views import SamplingView
sampling = SamplingView(torch.tensor([2.0, 1.0, 0.0]), ['the', 'apple', '<pad>'])
sampling""",
    """print(sampling.temperature, sampling.top_k, sampling.top_p)
if sampling.top_p: sampling.top_k = 2""",
    """from seqlearn.translator.translator import Translator
from seqlearn.views import AttentionView
seen = AttentionView.of(Translator.pretrained('transformer', 'cpu'), 'The cat sleeps.', kind='cross')
seen""",
    "print(seen.sentence, '|', seen.result['text'], '|', seen.against, seen.other['text'], [*map(len, seen.edits)])",
    """from seqlearn.translator.translator import Translator
from seqlearn.views import PatchView
eats = 'The girl washes the {} and eats it.'
patched = PatchView(Translator.pretrained('transformer', 'cpu'), eats.format('apple'), eats.format('lemon'))
patched""",
    """print(patched.patches, patched.decision, patched.translation)
if len(patched.patches) == 1: patched.patches = [*patched.patches, ['encoder 1.3', 6]]""",
    """from seqlearn.views import GruView
from seqlearn.translator.translator import Translator
gru = GruView.of(Translator.pretrained('bahdanau', 'cpu'), 'The cat sleeps and eats.', unit=76)
gru""",
    """print(gru.unit, gru.word, gru.z, gru.r, round(gru.step().state, 2) == round(gru.step().old, 2))
if gru.z: gru.word, gru.z = 1, None""",
    """import torch
from ipywidgets import GridBox, link
from seqlearn.views import KernelView
x = torch.linspace(0, 5, 30)
one, two = (KernelView(x, x.sin(), x[::2], (name,), width=0.8) for name in ("gaussian", "boxcar"))
_ = link((one, "width"), (two, "width"))
GridBox([one, two], layout={"grid_template_columns": "50% 50%"})""",
]
OPTIONS = """--no-browser --allow-root --ip=127.0.0.1 --ServerApp.port_retries=0 --IdentityProvider.token=
--ServerApp.password= --LabApp.expose_app_in_browser=True --LabApp.news_url=None --ServerApp.terminals_enabled=False
--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate""".split()
EXTENSIONS = Path(__file__).parents[2] / "assets" / "lab" / "extensions"
FOLDERS = ["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTERLAB_SETTINGS_DIR"]

READY = """() => { const panel = window.jupyterapp?.shell.currentWidget; const session = panel?.sessionContext;
    return session?.isReady && session.session?.kernel?.status === 'idle'
        && session.session.kernel.connectionStatus === 'connected' }"""
RUN = """index => { const content = window.jupyterapp.shell.currentWidget.content; content.activeCellIndex = index;
    content.activeCell.model.outputs?.clear(); content.activeCell.model.sharedModel.execution_count = null;
    void window.jupyterapp.commands.execute('notebook:run-cell') }"""
DONE = """index => { const model = window.jupyterapp.shell.currentWidget.content.widgets[index].model;
    const outputs = model.outputs.toJSON(); const error = outputs.find(output => output.output_type === 'error');
    if (error) throw new Error(error.evalue);
    return model.executionCount === null ? false : outputs }"""
# Makes an event ten times; each has to change the view within two frames. `act` makes it, and gives what asks for that.
ANSWERS = """act => new Promise(async (resolve, reject) => {
    const [run, frame] = [new Function('i', act), () => new Promise(requestAnimationFrame)];
    for (let i = 0; i < 10; i++) {
        await frame();
        const changed = run(i);
        await frame();
        await frame();
        if (!changed()) reject(new Error('nothing changed in run ' + i));
    }
    resolve() })"""
HOVER = """const grid = document.querySelector('[role=application]'); const box = grid.getBoundingClientRect();
    const says = document.querySelector('.says'); const before = says.textContent; const width = box.width / 12;
    grid.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + (i % 12 + 0.5) * width,
        clientY: box.top + 36 + 24 * (i % 2) }));
    return () => says.textContent !== before"""
STEP = """const where = document.querySelector('[role=status]'); const before = where.textContent;
    document.querySelector(`[aria-label="${i % 2 ? 'previous' : 'next'} step"]`).click();
    return () => where.textContent !== before"""
WIDTH = """const slider = document.querySelector('input[type=range]');
    const curve = document.querySelector('path.prediction');
    const before = curve.getAttribute('d');
    slider.value = 12 + i;
    slider.dispatchEvent(new Event('input'));
    return () => curve.getAttribute('d') !== before"""
PLACE = """const view = document.querySelector('[aria-label="a table of positions"]');
    const says = view.querySelector('.says'); const before = says.textContent;"""
CELL = f"""{PLACE}const grid = view.querySelector('[role=application]'); const box = grid.getBoundingClientRect();
    grid.dispatchEvent(new PointerEvent('pointermove', {{ clientX: box.left + 12 + 10 * i, clientY: box.top + 99 }}));
    return () => says.textContent !== before"""
TURN = f"""{PLACE}const slider = view.querySelector(`[aria-label="${{i % 2 ? 'offset k' : 'position i'}}"]`);
    slider.value = Number(slider.value) + 1; slider.dispatchEvent(new Event('input'));
    return () => says.textContent !== before"""

BEAM = """const view = document.querySelector('[aria-label="beam search, step by step"]');"""
GROW = f"""{BEAM}const says = view.querySelector('.narration'); const before = says.textContent;
    view.querySelector(`[aria-label="${{i % 2 ? 'previous' : 'next'}} step"]`).click();
    return () => says.textContent !== before"""
LOOKS = """const view = document.querySelector('[aria-label="attention: who looks at whom"]');
    const says = view.querySelector('.says'); const before = says.textContent;"""
LOOK = f"""{LOOKS}const box = view.querySelector('.looks svg').getBoundingClientRect();
    view.querySelector('.looks .body').dispatchEvent(new PointerEvent('pointermove', {{ bubbles: true,
        clientX: box.left - 9, clientY: box.top + 6 * i + 3 }}));
    return () => says.textContent !== before"""
HEAD = f"""{LOOKS}const grid = view.querySelector('.heads .body');
    grid.dispatchEvent(new KeyboardEvent('keydown', {{ key: i % 14 < 7 ? 'ArrowLeft' : 'ArrowRight', bubbles: true }}));
    return () => says.textContent !== before"""
# Moves the slider, and waits for the tree that Python has searched.
SEARCH = f"""async () => {{ {BEAM}
    const slider = view.querySelector('[aria-label="length penalty α"]');
    for (let at = 1; at < 6; at++) {{
        const before = view.querySelector('.tree');
        slider.value = at;
        slider.dispatchEvent(new Event('input'));
        while (view.querySelector('.tree') === before) await new Promise(requestAnimationFrame);
    }} }}"""


@pytest.fixture(scope="module")
def server(context, tmp_path_factory):
    """The address of a JupyterLab, and its folder. It needs no settings of ours."""
    root = tmp_path_factory.mktemp("lab")
    settings = os.environ | {name: str(root / name.lower()) for name in FOLDERS}
    settings |= {"JUPYTERLAB_WORKSPACES_DIR": str(root / "workspaces"), "JUPYTER_PREFER_ENV_PATH": "1"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", *OPTIONS, f"--port={port}", f"--ServerApp.root_dir={root}"]
    command.append(f"--LabApp.extra_labextensions_path={EXTENSIONS}")
    with open(root / "lab.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(command, env=settings, cwd=root, stdout=log, stderr=log)
    try:
        for _ in range(3000):
            assert server.poll() is None, (root / "lab.log").read_text("utf-8")
            try:
                urlopen(f"http://127.0.0.1:{port}/api", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", root
    finally:
        server.terminate()  # it ends its kernels
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture
def lab(server, page, request):
    """The address of the notebook of this test, and its folder."""
    address, root = server
    folder = root / request.node.name
    folder.mkdir()
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}  # otherwise JupyterLab asks
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "views.ipynb")
    yield f"{address}/lab/tree/{folder.name}/views.ipynb?reset", folder
    page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")


class Notebook:
    """The open notebook: runs single cells."""

    def __init__(self, page, address):
        self.page = page
        page.goto(address)
        page.wait_for_function(READY, timeout=300_000)

    def start(self, index):
        self.page.evaluate(RUN, index)

    def run(self, index):
        """The outputs of a cell."""
        self.start(index)
        return self.page.wait_for_function(DONE, arg=index, timeout=300_000).json_value()


def python_knows(notebook, text, cell=3):
    """Wait until the kernel has heard of it."""
    assert until(notebook.page, lambda: notebook.run(cell)[0]["text"].strip() == text)


def attention_there_and_back(page, notebook):
    """The view of cell 9: what is chosen reaches Python, and the other way round."""
    looks = page.get_by_role("region", name="attention: who looks at whom")
    looks.get_by_label("encoder attention").click()
    looks.get_by_label("lines from weight").press("ArrowRight")
    grid = looks.get_by_role("slider", name="encoder: layer and head")
    for key in ("End", "PageDown"):
        grid.press(key)
    looks.get_by_role("application", name="token that looks").press("Enter")
    python_knows(notebook, "encoder 1 7 head 0.06 ['query', 0]", cell=10)
    page.wait_for_function("document.querySelector('[aria-label^=\"cross attention\"]').ariaPressed === 'true'")
    looks.get_by_label("show", exact=True).select_option("mean of all heads")
    looks.get_by_role("application").first.press("Escape")
    python_knows(notebook, "cross 1 7 all 0.06 None", cell=10)
    looks.get_by_label("show", exact=True).select_option("one head")


def test_all_views(lab, page):
    address, folder = lab
    notebook = Notebook(page, address)
    names = {0: "AttentionSteps(12 queries, 12 keys, size 12, value size 12)", 1: "KernelView(50 keys,"}
    names |= {5: "PositionView(128 positions, size 64, sinusoidal)", 7: "BeamView(width 2, alpha 0, "}
    names |= {9: "AttentionView(cross, 8 layers, 8 heads, 64 queries, 64 keys, also encoder)"}
    names |= {13: "SoftmaxView(3 keys, 1 masked, score −∞, then softmax)", 17: "SamplingView(3 tokens, temperature 1)"}
    for index, name in names.items():
        (output,) = notebook.run(index)
        assert set(output["data"]) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
        assert output["data"]["text/plain"].startswith(name)
    where, slider = page.get_by_role("status").filter(has_text="step"), page.get_by_label("width", exact=True)
    where.wait_for()
    slider.wait_for()

    # From Python to the page, and back
    notebook.run(2)
    page.wait_for_function("document.querySelector('[role=status]').textContent === 'step 3 of 5: mask'")
    page.wait_for_function("document.querySelector('input[type=range]').getAttribute('aria-valuetext') === '0.1'")
    assert page.get_by_label("kernel", exact=True).input_value() == "triangular"
    page.get_by_label("next step").first.click()
    grid = page.get_by_role("application").first
    grid.click(position={"x": 20, "y": 36})
    slider.press("End")
    python_knows(notebook, "3 [1, 0] 4.0 triangular []")
    place = page.get_by_role("region", name="a table of positions")
    place.get_by_label("offset k").press("ArrowLeft")
    place.get_by_role("application").click(position={"x": 52, "y": 21})  # cells of 5 x 2 pixels
    python_knows(notebook, "10 4 5", cell=6)
    page.wait_for_function("document.querySelector('[aria-label=\"position i\"]').value === '100'")
    readings, curve = (
        page.get_by_role("slider", name="readings:"),
        "document.querySelector('.prediction').getAttribute('d')",
    )
    before = page.evaluate(curve)
    readings.press("ArrowUp")
    python_knows(notebook, "0.0 True True", cell=16)
    page.wait_for_function("document.querySelector('.handles').getAttribute('aria-valuetext').endsWith('y = 1')")
    page.wait_for_function(f"before => {curve} !== before", arg=before)  # as Python answered
    page.get_by_label("put the readings back").click()
    page.wait_for_function(f"before => {curve} === before", arg=before)
    beam = page.get_by_role("region", name="beam search, step by step")
    beam.locator(".node").nth(1).click()
    beam.get_by_label("next step").click()
    page.evaluate(SEARCH)
    python_knows(notebook, "2 1.5 2 True", cell=8)
    page.wait_for_function(
        f"() => {{ {BEAM}return view.querySelector('input').getAttribute('aria-valuetext') === '3' }}"
    )
    assert beam.locator(".waiting").count() == 0
    attention_there_and_back(page, notebook)
    softmax = page.get_by_role("region", name="softmax with a mask")
    softmax.get_by_label("score of apple").press("ArrowRight")
    softmax.get_by_label("<pad> may be attended").check()
    python_knows(notebook, "[2.0, 1.1, 3.0] [True, True, True] score −∞, then softmax", cell=14)

    sampling = page.get_by_role("region", name="temperature, top-k and top-p")
    sampling.get_by_label("temperature", exact=True).press("ArrowRight")
    sampling.get_by_label("top-p", exact=True).press("ArrowLeft")
    python_knows(notebook, "1.1 None 0.95", cell=18)
    sampling.get_by_text("2 of 3 tokens are left").wait_for()
    sampling.get_by_role("button", name="reset: temperature 1, nothing removed").click()
    python_knows(notebook, "1.0 None None", cell=18)

    # The arrow keys are ours, not those of the notebook
    grid.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter", "b", "Escape"):
        grid.press(key)
    assert page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length") == len(CELLS)
    assert page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex") == 0
    python_knows(notebook, "3 [] 4.0 triangular []")

    # While the kernel is busy
    notebook.start(4)
    busy = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'"
    page.wait_for_function(busy)
    for act in (HOVER, STEP, WIDTH, CELL, TURN, GROW, LOOK, HEAD):
        page.evaluate(ANSWERS, act)
    # Not the status of the kernel: what widgets send goes to a subshell, which says "idle" when it has answered.
    running = "window.jupyterapp.shell.currentWidget.content.widgets[4].model.executionCount === null"
    assert page.evaluate(running), "the cell ran all the time"
    (folder / "enough").touch()
    page.wait_for_function(DONE, arg=4)
    python_knows(notebook, f"3 [] {float(slider.get_attribute('aria-valuetext'))} triangular []")

    # The theme
    ground = "getComputedStyle(document.querySelector('.seqlearn')).backgroundColor"
    light = page.evaluate(ground)
    page.evaluate("void window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    page.wait_for_function(f"{ground} !== '{light}'")
    red, green, blue = (int(part) for part in page.evaluate(ground)[4:-1].split(","))
    assert max(red, green, blue) < 60


def test_a_table_is_read_as_html(lab, page):
    """A front end that knows HTML shows the table, not its plain text, and a text of the learner as it was typed."""
    address, _ = lab
    notebook = Notebook(page, address)
    (output,) = notebook.run(15)
    assert {"text/plain", "text/html", "image/png"} == set(output["data"])
    table = page.get_by_role("table")
    assert table.inner_text().split() == "measured <b>loss</b> 0.693".split()
    assert page.locator(".jp-OutputArea img").count() == 0


TYPED = """const view = document.querySelector('[aria-label="translate a sentence"]');
    const box = view.querySelector('input[type=text]'); const form = view.querySelector('form');"""
# Types each sentence, presses Enter, and waits for its translation.
TRANSLATE = f"""async sentences => {{ {TYPED}
    for (const sentence of sentences) {{
        const before = view.querySelector('.written').textContent;
        box.value = sentence;
        form.requestSubmit();
        while (view.querySelector('.written').textContent === before) await new Promise(requestAnimationFrame);
    }} }}"""


def notebook_is(page):
    """The active cell, the kinds of all cells, and how often they were run."""
    return page.evaluate("""() => { const { activeCellIndex, widgets } = window.jupyterapp.shell.currentWidget.content;
        const cells = widgets.map(({ model }) => [model.type, model.executionCount]);
        return JSON.stringify([activeCellIndex, cells]) }""")


def test_a_vector_comes_from_another_sentence(lab, page):
    address, _ = lab
    notebook = Notebook(page, address)
    (output,) = notebook.run(21)
    assert output["data"]["text/plain"].startswith("PatchView('The girl washes the apple and eats it.' -> 'la fille")
    view = page.get_by_role("region", name="patch vectors of another sentence")
    encoder = view.get_by_role("application").first
    encoder.focus()
    for key in ["ArrowDown"] * 11 + ["End", "ArrowLeft", "ArrowLeft", "Enter"]:
        page.keyboard.press(key)
    flipped = "la fille lave la pomme et le mange."
    python_knows(notebook, f"[['encoder 1.3', 7]] None {flipped}", cell=22)
    page.wait_for_function("document.querySelectorAll('.frame.strong').length === 2")
    page.wait_for_function("document.querySelector('.patched .whose').textContent === 'A with 2 vectors of B'")
    view.get_by_role("button", name="decision: pomme").click()
    python_knows(notebook, f"[['encoder 1.3', 7], ['encoder 1.3', 6]] 4 {flipped}", cell=22)


def test_the_gate_of_a_gru_is_moved(lab, page):
    address, _ = lab
    notebook = Notebook(page, address)
    cell = next(i for i, code in enumerate(CELLS) if "GruView" in code)
    (output,) = notebook.run(cell)
    assert output["data"]["text/plain"] == "GruView(7 tokens, unit 76 of 128)"
    view = page.get_by_role("region", name="a unit of a GRU")
    view.get_by_role("option", name="and: ").click()
    view.get_by_label("update gate z").press("End")
    python_knows(notebook, "76 3 1.0 None True", cell=cell + 1)
    view.get_by_text("The step at the word “cat”").wait_for()


def test_two_views_side_by_side_are_linked(lab, page):
    """As lesson 03 says: a slider moves both."""
    address, _ = lab
    Notebook(page, address).run(next(i for i, code in enumerate(CELLS) if "GridBox" in code))
    page.wait_for_function("document.querySelectorAll('.widget-gridbox .seqlearn').length === 2")
    one, two = page.locator(".widget-gridbox .seqlearn").all()
    assert abs(one.bounding_box()["y"] - two.bounding_box()["y"]) < 2, "side by side"
    assert page.evaluate("(box => box.scrollWidth <= box.clientWidth)(document.querySelector('.widget-gridbox'))")
    slider = one.locator("[type=range]").first
    slider.press("Home")
    sliders = "[...document.querySelectorAll('.widget-gridbox .seqlearn')].map(v => v.querySelector('[type=range]'))"
    values = f"() => {sliders}.map(({{ value }}) => value)"
    page.wait_for_function(f"(([a, b]) => a === b)(({values})())")
    assert page.evaluate(values)[0] == slider.input_value()


def test_a_sentence_is_typed(lab, page):
    address, folder = lab
    notebook = Notebook(page, address)
    (output,) = notebook.run(11)
    assert output["data"]["text/plain"] == "TranslatorView('The cat sleeps.' -> 'le chat dort.')"
    view = page.get_by_role("region", name="translate a sentence")
    box, written = view.get_by_label("sentence to translate"), view.locator(".written")

    # Letters and keys that are commands of a notebook elsewhere
    box.click()
    before = notebook_is(page)
    page.keyboard.press("Control+a")
    for key in [
        *"bddaxmyz00",
        "Escape",
        "Shift+M",
        "PageDown",
        "PageUp",
        "ArrowUp",
        "Tab",
    ]:  # PageDown is the next step
        page.keyboard.press(key)
    assert box.input_value() == "bddaxmyz00M" and page.locator(".jp-Dialog").count() == 0
    box.click()
    for key in ("Control+z", "Shift+Enter", "Escape", "Control+a"):
        page.keyboard.press(key)
    assert notebook_is(page) == before, "no cell was made, deleted, moved or run"
    page.keyboard.type("The black cat sleeps.")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => {{ {TYPED}return view.querySelector('.written').textContent.includes('noir') }}")
    python_knows(notebook, "The black cat sleeps. | le chat noir dort. | 1 0 0 None", cell=12)
    view.locator(".more > summary").click()
    view.get_by_label("search").select_option("beam 4")
    view.locator(".ranking .option").nth(1).click()
    written.locator(".piece").nth(2).click()
    second = view.locator(".ranking .option bdi").nth(1).inner_text()
    python_knows(notebook, f"The black cat sleeps. | {second} | 4 1 2 ['query', 2]", cell=12)
    box.fill("")
    box.press("Enter")
    view.locator(".note.wrong").wait_for()
    assert "There is nothing to translate" in view.locator(".note").inner_text()
    box.fill("The cat sleeps.")
    view.get_by_label("search").select_option("greedy")
    page.wait_for_function(
        f"() => {{ {TYPED}return view.querySelector('.written').textContent.startsWith('le chat') }}"
    )

    # Where the translation is off the screen, what a press has changed stands beside the press
    page.set_viewport_size({"width": 1300, "height": 500})
    head, echo = view.locator(".board .head").last, view.locator(".echo")
    head.evaluate("node => node.scrollIntoView({ block: 'end' })")
    head.click()
    echo.wait_for()
    assert echo.inner_text().startswith("the same words (p 1.00 → ") and written.bounding_box()["y"] < 0
    place = echo.bounding_box()
    assert 0 < place["y"] < place["y"] + place["height"] < 500
    head.click()  # once more: the head is back
    settled(page)
    assert echo.inner_text().startswith("the same words")
    written.evaluate("node => node.scrollIntoView({ block: 'center' })")
    echo.wait_for(state="hidden")
    page.set_viewport_size({"width": 1300, "height": 1400})

    sentences = [
        f"The {noun} sees the {colour} apple." for noun in ("girl", "dog", "boy") for colour in ("red", "green", "old")
    ]
    page.evaluate(TRANSLATE, sentences)

    # While a cell runs, and hears nothing of it: messages of widgets have a subshell of their own
    notebook.start(4)
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'")
    box.fill("The dog sleeps.")
    box.press("Enter")
    page.wait_for_function(f"() => {{ {TYPED}return view.querySelector('.written').textContent.includes('chien') }}")
    running = "window.jupyterapp.shell.currentWidget.content.widgets[4].model.executionCount === null"
    assert page.evaluate(running), "the cell ran all the time"
    (folder / "enough").touch()
    page.wait_for_function(DONE, arg=4)

    # Without a kernel
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    box.fill("A bird sings.")
    box.press("Enter")
    assert "“A bird sings.” (greedy) is not translated yet: Python is" in view.locator(".note").inner_text()
    assert written.inner_text().startswith("le chien") and view.locator(".former").count() == 2
    page.wrong[:] = [wrong for wrong in page.wrong if "Could not send widget sync message" not in wrong]  # as it is


def test_another_sentence_is_read_and_compared(lab, page):
    address, _ = lab
    notebook = Notebook(page, address)
    notebook.run(19)
    view = page.get_by_role("region", name="attention: who looks at whom")
    view.get_by_role("button", name="cat: another word").click()
    page.keyboard.type("dog")
    page.keyboard.press("Enter")
    view.get_by_role("button", name="dog: another word").wait_for()
    view.locator(".fold > summary").click()
    view.get_by_role("button", name="before and after").click()
    view.locator(".reading").nth(1).wait_for()
    assert view.locator(".reading p").all_inner_texts() == [
        "before: the cat sleeps . → le chat dort.",
        "now: the dog sleeps . → le chien dort.",
    ]
    view.locator(".reading").nth(1).locator("[role=application]").nth(1).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("-")
    view.locator(".whatif").get_by_text("a weight of").wait_for()
    assert view.locator(".reading").nth(1).locator(":focus").count() == 1, "of two maps of the same name, this one"
    python_knows(notebook, "The dog sleeps. | le chien dort. | ['The cat sleeps.', []] le chat dort. [7]", cell=20)


def test_a_stored_notebook_shows_pictures(lab, page):
    """As it comes from a clone: nothing was run here, nobody trusts it, and its kernel knows no view."""
    address, folder = lab
    lessons = (nbformat.read(path, 4) for path in sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb")))
    outputs = [output for lesson in lessons for cell in lesson.cells for output in cell.get("outputs", [])]
    shown = [one for one in outputs if one.get("data", {}).get("text/plain", "").partition("(")[0] in SAMPLES]
    stored = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("view", outputs=[output]) for output in shown])
    nbformat.write(normalise(stored), folder / "views.ipynb")
    Notebook(page, address)
    assert len(shown) >= len(SAMPLES)
    for index in range(len(shown)):
        picture = page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-OutputArea-output img")
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("async image => { await image.decode(); return image.naturalWidth }") > 200
    assert page.locator(".seqlearn").count() == 0 and "not found" not in page.locator(".jp-Notebook").inner_text()


def test_the_list_of_files_says_how_much_of_a_lesson_was_run(server, page):
    address, root = server
    (root / "my-lessons").mkdir()
    for name, runs in {"00-start": [1, None], "01-new": [None], "02-done": [3, 4], "notes": [1]}.items():
        cells = [nbformat.v4.new_code_cell("1 + 1", execution_count=run) for run in runs]
        cells += [nbformat.v4.new_code_cell(""), nbformat.v4.new_markdown_cell("a text")]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), root / "my-lessons" / f"{name}.ipynb")
    notebook = Notebook(page, f"{address}/lab/tree/my-lessons/00-start.ipynb?reset")
    marks = """() => [...document.querySelectorAll('.jp-DirListing-itemName')].map((name) => name.textContent + ' '
        + getComputedStyle(name, '::after').content).join('; ')"""
    before = '00-start.ipynb "50 %"; 01-new.ipynb ""; 02-done.ipynb "✓"; notes.ipynb none'
    page.wait_for_function(f"(wanted) => ({marks})() === wanted", arg=before)
    notebook.run(1)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function(f"(wanted) => ({marks})() === wanted", arg=before.replace("50 %", "✓"))
