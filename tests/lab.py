"""Drive the course as a reader does: a real JupyterLab, or the built pages, in a headless Chromium.

    page = lab.open("01_ppca.ipynb")      # `lab` is a fixture of tests/conftest.py
    page.run_all()                        # raises when a cell shows an error
    before = page.picture()
    page.slider("noise").press("ArrowRight")
    page.wait_for_new_picture(before)

The browser lives in a thread of its own, because Playwright keeps an event loop running for as long as it is
open and tests that use asyncio must not meet it. Every request to another host is blocked and written down.

Run as a script (``make test`` does) this file looks for a browser, and fetches Playwright's own when there
is none.
"""

import contextlib
import functools
import hashlib
import http.server
import io
import itertools
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
MAC_APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
ADVICE = (
    "No browser was found. Install Chromium (Debian, Ubuntu: apt-get install chromium), or run "
    "`.venv/bin/python -m playwright install chromium`, or name one in GPLVM_EDU_BROWSER."
)


# ---------------------------------------------------------------------- which browser
def find_browser():
    """Path of a Chromium-like browser, or None; a wrong name in GPLVM_EDU_BROWSER is an error."""
    named = os.environ.get("GPLVM_EDU_BROWSER")
    if named:
        path = shutil.which(named)
        if path is None:
            raise RuntimeError(f"GPLVM_EDU_BROWSER names {named!r}, which is not a program on this machine.")
        return path
    for command in COMMANDS:
        if path := shutil.which(command):
            return path
    places = (*MAC_APPLICATIONS, _playwrights_own())
    return next((path for path in places if path and os.path.exists(path)), None)


def _playwrights_own():
    """Where Playwright would keep its own Chromium, or None; asked in a process of its own."""
    ask = "from playwright.sync_api import sync_playwright as s; p = s().start(); "
    ask += "print(p.chromium.executable_path); p.stop()"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60)
    return answer.stdout.strip() or None


def ensure_browser(seconds=240):
    """Find a browser, or try once to fetch Playwright's own; say what came of it and carry on in any case."""
    if path := find_browser():
        return f"browser tests use {path}"
    print("No browser found; trying to fetch Playwright's own Chromium ...", flush=True)
    try:
        fetch = [sys.executable, "-m", "playwright", "install", "chromium"]
        subprocess.run(fetch, check=True, timeout=seconds, capture_output=True)
    except (subprocess.SubprocessError, OSError) as error:
        return f"That failed ({type(error).__name__}), so browser tests will be skipped. {ADVICE}"
    path = find_browser()
    return f"browser tests use {path}" if path else ADVICE


# ---------------------------------------------------------------------- the browser
def in_browser_thread(method):
    """Run a method of an object that has a ``browser`` in that browser's own thread."""

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        return self.browser.do(method, self, *args, **kwargs)

    return wrapper


class Browser:
    """One headless Chromium in one thread; ``do(function, ...)`` runs a function there."""

    def __init__(self, path):
        self.path = path
        self.outside = []  # (address asked for, page that asked)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="browser")
        self.do(self._start)

    def do(self, function, *args, **kwargs):
        if threading.current_thread().name.startswith("browser"):
            return function(*args, **kwargs)
        return self._worker.submit(function, *args, **kwargs).result()

    def _start(self):
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        self.chromium = self._playwright.chromium.launch(executable_path=self.path, args=flags)

    def new_page(self, width=1300, height=2400):
        """A Playwright page that can reach this machine only (call it in the browser's thread)."""
        context = self.chromium.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        context.route(lambda address: not _is_local(address), functools.partial(self._refuse, page))
        return page

    def _refuse(self, page, route):
        self.outside.append((route.request.url, page.url))
        route.abort()

    def close(self):
        def stop():
            self.chromium.close()
            self._playwright.stop()

        self.do(stop)
        self._worker.shutdown()


def _is_local(address):
    return address.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:"))


# ---------------------------------------------------------------------- JupyterLab
CELLS = """const panel = window.jupyterapp.shell.currentWidget;
  const cells = panel.content.widgets.map(widget => widget.model).filter(model => model.type == 'code');"""
NONE_RUN = "() => {" + CELLS + "return cells.length > 0 && cells.every(cell => cell.executionCount === null); }"
ALL_RUN = (
    "() => {"
    + CELLS
    + """
  const idle = panel.sessionContext.session?.kernel?.status == 'idle';
  return idle && cells.every(cell => cell.executionCount !== null); }"""
)
ERRORS = (
    "() => {"
    + CELLS
    + """
  const unexpected = cells.filter(cell => !(cell.getMetadata('tags') || []).includes('raises-exception'));
  return unexpected.flatMap(cell => cell.outputs.toJSON()).filter(output => output.output_type == 'error')
    .map(output => output.ename + ': ' + output.evalue + '\\n' + output.traceback.join('\\n')); }"""
)
KERNEL_IDLE = "() => /Idle/.test(document.querySelector('#jp-main-statusbar')?.innerText || '')"
IN_FRONT = """async (path) => {
  const shell = window.jupyterapp?.shell, here = () => shell?.currentWidget;
  if (!shell || !here()) return false;
  if (here().context?.path !== path) {
    await window.jupyterapp.commands.execute('docmanager:open', {path});
    return false; }
  await here().sessionContext.ready;
  return here().context?.path === path && !!here().sessionContext.session?.kernel; }"""
BAR = ".gplvm-explorer .progress-bar"
SCENE = """(nth) => {
  const explorers = document.querySelectorAll('.gplvm-explorer .gplvm-scene');
  const scene = (explorers.length ? explorers : document.querySelectorAll('.gplvm-scene'))[nth]?.scene;
  if (!scene || !scene.views.size) return null;
  const list = v => ArrayBuffer.isView(v) ? [...v] : v;
  const plain = mark => Object.fromEntries(Object.entries(mark).map(([k, v]) => [k, list(v)]));
  const panels = [...scene.views.values()].map(view => ({...view.panel, marks: view.panel.marks.map(plain)}));
  return JSON.stringify({says: scene.says.textContent, panels}, (_, v) => Number.isNaN(v) ? 'gap' : v); }"""
PIXEL = """([panel, x, y, nth]) => {
  const explorers = document.querySelectorAll('.gplvm-explorer .gplvm-scene');
  const found = explorers.length ? explorers : document.querySelectorAll('.gplvm-scene');
  const view = found[nth ?? 0].scene.views.get(panel);
  view.canvas.scrollIntoView({block: 'nearest'});
  const box = view.canvas.getBoundingClientRect();
  return [box.left + view.X(x), box.top + view.Y(y)]; }"""
PICTURE = r"""async (selector) => {
  const img = [...document.querySelectorAll(selector)].find(e => e.naturalWidth > 0);
  if (!img) return null;
  const canvas = document.createElement('canvas');
  canvas.width = img.naturalWidth; canvas.height = img.naturalHeight;
  canvas.getContext('2d').drawImage(img, 0, 0);
  return canvas.toDataURL('image/png'); }"""
RUN_THEN_STOP = """async ([run, stop, bar]) => {
  const buttons = [...document.querySelectorAll('.jupyter-widgets button')];
  const button = text => buttons.find(e => e.textContent.trim() == text);
  const share = () => parseFloat(document.querySelector(bar).style.width) || 0;
  const before = share(), end = Date.now() + 60000;
  button(run).click();
  while (button(stop).disabled || share() == 0 || share() == before) {
    if (Date.now() > end) throw new Error(`the run ended at ${share()} % before it could be stopped`);
    await new Promise(resolve => setTimeout(resolve, 2)); }
  button(stop).click();
  while (!button(stop).disabled) {
    if (Date.now() > end) throw new Error('the run was not stopped within a minute');
    await new Promise(resolve => setTimeout(resolve, 2)); } }"""
STATE = """() => {
  const controls = [...document.querySelectorAll('[class*=gplvm-control-]')].map(e =>
    e.className.match(/gplvm-control-([^ ]+)/)[1] + '=' + (e.querySelector('.mod-active, .widget-readout')?.innerText ??
    e.querySelector('select')?.selectedOptions[0]?.text ?? e.querySelector('input')?.value));
  const errors = [...document.querySelectorAll('.gplvm-problem')].map(e => e.innerText.slice(0, 200));
  const kernel = document.querySelector('#jp-main-statusbar')?.innerText;
  return JSON.stringify({controls, errors, kernel, focus: document.activeElement?.className}); }"""
IN_KERNEL = """async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const future = kernel.requestExecute({code, store_history: false});
  let text = '';
  future.onIOPub = message => {
    if (message.content.name == 'stdout') text += message.content.text;
    if (message.header.msg_type == 'error') text += message.content.ename + ': ' + message.content.evalue; };
  await future.done;
  return text; }"""
RERUN = (
    "async (start) => {"
    + CELLS
    + """
  const all = panel.content.widgets.map(widget => widget.model);
  panel.content.activeCellIndex = all.indexOf(cells.find(cell => cell.sharedModel.source.startsWith(start)));
  await window.jupyterapp.commands.execute('notebook:run-cell'); }"""
)
OWN_FOLDERS = (
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
    "IPYTHONDIR",
)


class Lab:
    """A JupyterLab server on a folder, with settings, kernels and runtime files of its own."""

    def __init__(self, root, home, browser, python=sys.executable):
        self.browser, self.root = browser, Path(root)
        self.token, self.port, self.pages = secrets.token_hex(16), _free_port(), itertools.count()
        self.log = Path(home) / "jupyterlab.log"
        self._settings(Path(home))
        bin_folder = Path(python).parent
        own = {name: str(home) for name in OWN_FOLDERS}
        command = [
            str(python),
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            "--LabApp.expose_app_in_browser=True",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.root}",
            f"--IdentityProvider.token={self.token}",
        ]
        with open(self.log, "wb") as log:
            self._server = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.root,
                env={**os.environ, **own, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"},
            )
        self._wait_until_up()

    def _settings(self, home):
        """No news pop-up in front of the page, and every cell on the page even when it is out of sight."""
        quiet = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
        settings = {"apputils-extension/notification": quiet, "notebook-extension/tracker": {"windowingMode": "none"}}
        for name, values in settings.items():
            path = home / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values))

    def _wait_until_up(self, seconds=180):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._server.poll() is not None:
                break
            try:
                return self.ask("GET", "api/status")
            except OSError:
                time.sleep(0.2)
        self.close()
        raise RuntimeError("JupyterLab did not start. Its log:\n" + self.log.read_text()[-3000:])

    def ask(self, method, path):
        """One call of the server's REST interface."""
        address = f"http://127.0.0.1:{self.port}/{path}"
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(address, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def address(self, notebook, workspace):
        """A page in a workspace of its own: in one for all, JupyterLab opens the notebooks of the other pages too."""
        return f"http://127.0.0.1:{self.port}/lab/workspaces/{workspace}/tree/{notebook}?token={self.token}"

    def open(self, notebook, folder="book", **size):
        """Open a notebook of the folder in a new page and wait until its kernel is there."""
        return NotebookPage(self, f"{folder}/{notebook}" if folder else notebook, **size)

    def close(self):
        self._server.terminate()
        try:
            self._server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._server.kill()


class NotebookPage:
    """One notebook in JupyterLab. All waiting is for something seen on the page, with a limit in seconds."""

    def __init__(self, lab, path, width=1300, height=2400):
        self.lab, self.browser, self.path = lab, lab.browser, path
        self.address = lab.address(path, f"page{next(lab.pages)}")
        self._open(width, height)

    @in_browser_thread
    def _open(self, width, height):
        self.page = self.browser.new_page(width, height)
        self.complaints = []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.set_default_timeout(120_000)
        self.page.goto(self.address + "&reset", wait_until="domcontentloaded")
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        choose = self.page.locator('.jp-Dialog button:has-text("Select")')
        end = time.monotonic() + 120
        while not self.page.evaluate(KERNEL_IDLE):
            if choose.count():
                choose.first.click()
            if time.monotonic() > end:
                raise TimeoutError(f"no kernel for {self.path} within 120 s")
            self.page.wait_for_timeout(100)
        self.page.wait_for_function(IN_FRONT, arg=self.path)

    @in_browser_thread
    def run_all(self, seconds=300):
        """Clear all outputs, run all cells, wait for the last, and fail if any cell raised."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        self.page.wait_for_function(NONE_RUN)
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.locator(".lm-Menu-itemLabel").get_by_text("Run All Cells", exact=True).click()
        end = time.monotonic() + seconds
        while not self.page.evaluate(ALL_RUN):
            self._no_errors()
            if time.monotonic() > end:
                raise TimeoutError(f"{self.path}: not all cells had run after {seconds} s")
            self.page.wait_for_timeout(200)
        self._no_errors()

    @in_browser_thread
    def rerun(self, start):
        """Run once more the first code cell whose source starts with these words."""
        self.page.evaluate(RERUN, start)
        self._no_errors()

    def _no_errors(self):
        errors = self.page.evaluate(ERRORS)
        assert not errors, f"{self.path} shows an error:\n" + re.sub(r"\x1b\[[0-9;]*m", "", errors[0])[:3000]

    @in_browser_thread
    def errors(self):
        """What cells raised that were not meant to (an empty list when all is well)."""
        return self.page.evaluate(ERRORS)

    def control(self, name):
        """The widget with the class ``gplvm-control-NAME``, or else the one whose description is NAME."""
        return Control(self, name)

    slider = control

    @in_browser_thread
    def click(self, button, nth=0):
        """Click the widget button with exactly this text."""
        exactly = re.compile(rf"^\s*{re.escape(button)}\s*$")
        self.page.locator(".jupyter-widgets button").filter(has_text=exactly).nth(nth).click()

    @in_browser_thread
    def run_then_stop(self, run="Run", stop="Stop", selector=BAR):
        """Click Run, Stop as soon as the progress bar moves (all inside the page), and wait for the last picture."""
        self.page.evaluate(RUN_THEN_STOP, [run, stop, selector])

    @in_browser_thread
    def end_run(self, stop="Stop"):
        """Click Stop if a run is still going: it would go on behind whatever comes next."""
        buttons = "[...document.querySelectorAll('.jupyter-widgets button')]"
        self.page.evaluate(f"stop => {buttons}.find(e => e.textContent.trim() == stop && !e.disabled)?.click()", stop)

    @in_browser_thread
    def follow_link(self, text):
        """Click the first link of the text whose words contain these."""
        self.page.locator(".jp-RenderedMarkdown a", has_text=text).first.click()

    @in_browser_thread
    def click_css(self, selector):
        """Click the first element that the selector finds."""
        self.page.locator(selector).first.click()

    @in_browser_thread
    def is_disabled(self, button):
        """Whether the widget button with this text can't be pressed now."""
        return self.page.locator(".jupyter-widgets button", has_text=button).first.is_disabled()

    @in_browser_thread
    def click_picture(self, panel, x, y, nth=0):
        """Click into a panel of the picture (of its view number `nth`) at data coordinates."""
        self.page.mouse.click(*self.page.evaluate(PIXEL, [panel, x, y, nth]))

    @in_browser_thread
    def drag_picture(self, panel, *places):
        """Drag through a panel of the picture from one place to the next, in data coordinates."""
        for k, (x, y) in enumerate(places):
            self.page.mouse.move(*self.page.evaluate(PIXEL, [panel, x, y]), steps=4 if k else 1)
            if k == 0:
                self.page.mouse.down()
        self.page.mouse.up()

    @in_browser_thread
    def press_in_picture(self, panel, key, times=1):
        """Press a key in a panel of the picture."""
        for _ in range(times):
            self.page.locator(f'.gplvm-panel[data-key="{panel}"] canvas.gplvm-canvas').first.press(key)

    @in_browser_thread
    def scene(self, nth=0):
        """What the page draws now: {"says": ..., "panels": [...]} with lists of numbers; None when there is nothing."""
        shown = self.page.evaluate(SCENE, nth)
        return shown and json.loads(shown)

    @in_browser_thread
    def shown(self):
        """The number of the scene that the page has shown last."""
        return self.page.evaluate("() => document.querySelector('.gplvm-explorer .gplvm-scene').shown")

    @in_browser_thread
    def box(self, selector):
        """Where the first element that the selector finds stands: x, y, width, height."""
        return self.page.locator(selector).first.bounding_box()

    @in_browser_thread
    def boxes(self, selector):
        """Where all elements that the selector finds stand."""
        return [found.bounding_box() for found in self.page.locator(selector).all()]

    @in_browser_thread
    def picture(self, selector=None):
        """Hash of what the picture shows now (of the pixels where a selector names an image), or None."""
        shown = self.page.evaluate(PICTURE, selector) if selector else self.page.evaluate(SCENE, 0)
        return shown and hashlib.sha256(shown.encode()).hexdigest()[:16]

    def wait_for_new_picture(self, before, seconds=40, selector=None):
        """Wait until the picture differs from ``before``, then until it rests; return its hash."""
        changed = lambda: self.picture(selector) not in (before, None)  # noqa: E731
        self.wait_until(changed, seconds, "the picture to change")
        return self.picture_at_rest(seconds, selector)

    def wait_for_picture(self, wanted, seconds=40, selector=None):
        """Wait until the picture is ``wanted`` again."""
        self.wait_until(lambda: self.picture(selector) == wanted, seconds, "the picture to come back")

    def picture_at_rest(self, seconds=60, selector=None, quiet=0.5):
        """Hash of the picture once it has not changed for ``quiet`` seconds (the kernel may still be at work)."""
        end, last, since = time.monotonic() + seconds, None, time.monotonic()
        while time.monotonic() < end:
            now = self.picture(selector)
            if now is None or now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > quiet:
                return now
            time.sleep(0.05)
        raise TimeoutError(f"the picture did not come to rest within {seconds} s")

    def wait_until(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"waited {seconds} s for {what}; {self.state()}")
            time.sleep(0.05)

    @in_browser_thread
    def state(self):
        """What a person would look at when nothing happens: controls, error box, kernel, the console's errors."""
        shown = self.page.evaluate(STATE)
        return f"the page shows {shown}; its console says {self.complaints[-3:]}"

    @in_browser_thread
    def ask_kernel(self, code):
        """What the kernel prints when it runs this code."""
        return self.page.evaluate(IN_KERNEL, code).strip()

    @in_browser_thread
    def command(self, name):
        """Run one of JupyterLab's own commands, such as "kernelmenu:interrupt"."""
        self.page.evaluate("name => window.jupyterapp.commands.execute(name)", name)

    @in_browser_thread
    def command_with(self, name, arguments):
        """Run one of JupyterLab's own commands with arguments."""
        self.page.evaluate("([name, given]) => window.jupyterapp.commands.execute(name, given)", [name, arguments])

    @in_browser_thread
    def go(self, address):
        """Leave for another address."""
        self.page.goto(address)

    @in_browser_thread
    def open_again(self):
        """Come back to the notebook, whose kernel is alive."""
        self.page.goto(self.address, wait_until="domcontentloaded")
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        self.page.wait_for_function(IN_FRONT, arg=self.path)
        self.page.wait_for_function(KERNEL_IDLE)

    @in_browser_thread
    def reload(self):
        """Save, load the page again, its kernel alive, and wait for the explorer."""
        self.command("docmanager:save")
        self.page.wait_for_timeout(1000)
        self.open_again()
        self.page.wait_for_selector(".gplvm-scene canvas", timeout=60_000)

    def run_shown_code(self, seconds=30):
        """Click "Show the code", and run what appears: the names that it defines."""
        self.click("Show the code")
        self.wait_until(lambda: self.text(".gplvm-code"), seconds, "the code to appear")
        names = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(self.text(".gplvm-code"), names)
        return {**names, "printed": printed.getvalue()}

    def run_code_of_the_picture(self, seconds=30):
        """What the shown code prints, once the picture is that of the code: the last one of a run may be on its way."""
        printed = self.run_shown_code(seconds)["printed"]
        try:
            self.wait_until(
                lambda: self.scene()["says"] in printed, seconds, f"a picture that says part of {printed!r}"
            )
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the picture says {self.scene()['says']!r}") from None
        return printed

    @in_browser_thread
    def error_box(self):
        """What the explorer's error display says: '' when it is empty or hidden."""
        boxes = self.page.locator(".gplvm-problem").all()
        return " ".join(box.inner_text() for box in boxes if box.is_visible()).strip()

    @in_browser_thread
    def text(self, selector=".jp-Notebook"):
        """The text a reader sees in the first element that the selector finds ('' when none can be seen)."""
        found = self.page.locator(selector).first
        return found.inner_text() if found.is_visible() else ""

    @in_browser_thread
    def count(self, selector):
        return self.page.locator(selector).count()

    @in_browser_thread
    def show(self, selector):
        """Scroll until the element is in view (JupyterLab builds cells far below only then)."""
        self.page.locator(selector).first.scroll_into_view_if_needed()

    @in_browser_thread
    def screenshot(self, path, selector=None):
        """Save what the page shows, or one element of it."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        (self.page.locator(selector).first if selector else self.page).screenshot(path=str(path))

    @in_browser_thread
    def screenshot_around(self, selector, path, width=1360):
        """Save a window just tall enough for the element, as a reader's screen would show it."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        before, element = self.page.viewport_size, self.page.locator(selector).first
        self.page.set_viewport_size({"width": width, "height": int(element.bounding_box()["height"]) + 190})
        element.evaluate("e => e.scrollIntoView({block: 'center'})")
        self.page.mouse.move(2, 2)
        self.page.wait_for_timeout(500)
        self.page.screenshot(path=str(path))
        self.page.set_viewport_size(before)

    @in_browser_thread
    def progress(self, selector=BAR):
        """Share of the work that the progress bar shows, between 0 and 1."""
        return self.page.locator(selector).first.evaluate("e => parseFloat(e.style.width) / 100")

    def close(self):
        """Close the page and end its kernel."""
        self.browser.do(self.page.context.close)
        for session in self.lab.ask("GET", "api/sessions"):
            if session["path"] == self.path:
                self.lab.ask("DELETE", f"api/sessions/{session['id']}")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class Control:
    """One control of an explorer: a slider, a drop-down list, a check box."""

    def __init__(self, notebook_page, name):
        self.browser, self.page, self.name = notebook_page.browser, notebook_page.page, name

    def _find(self):
        by_class = self.page.locator(f".gplvm-control-{self.name}")
        if by_class.count():
            return by_class.first
        label = self.page.locator(".widget-label", has_text=self.name)
        return self.page.locator(".jupyter-widgets.widget-inline-hbox", has=label).first

    @in_browser_thread
    def press(self, key, times=1):
        """Put the focus on the slider's handle (or the input) and press a key, as a reader would."""
        inside = self._find().locator(".noUi-handle, select, input")
        inside.first.focus()
        for _ in range(times):
            self.page.keyboard.press(key)
            self.page.wait_for_timeout(40)

    @in_browser_thread
    def choose(self, option):
        """Choose an entry of a drop-down list or of toggle buttons by its text, and see that the control shows it.

        A click can fall into a moment at which the page is laid out anew; like a reader, we then click again.
        """
        found = self._find()
        if found.locator("select").count():
            found.locator("select").select_option(label=option)
            return
        for _ in range(3):
            found.get_by_text(option, exact=True).first.click()
            if found.locator(".mod-active", has_text=option).count():
                return
            self.page.wait_for_timeout(500)
            if found.locator(".mod-active", has_text=option).count():
                return
        raise TimeoutError(f"three clicks on {option!r} of the control {self.name!r} chose {self.value()!r}")

    @in_browser_thread
    def type(self, text):
        """Write into the control's input and press Enter."""
        field = self._find().locator("input").first
        field.fill(str(text))
        field.press("Enter")

    @in_browser_thread
    def tick(self):
        """Click the check box or the button."""
        self._find().locator("input[type=checkbox], button").first.click()

    @in_browser_thread
    def value(self):
        """What the control shows: readout, chosen entry, number typed, or whether it is ticked."""
        found = self._find()
        if found.locator("select").count():
            return found.locator("select").evaluate("e => e.options[e.selectedIndex].text")
        if found.locator("input[type=checkbox]").count():
            return found.locator("input[type=checkbox]").first.is_checked()
        if found.locator("button.mod-active").count():
            return found.locator("button.mod-active").first.inner_text()
        if found.locator(".widget-readout").count():
            return found.locator(".widget-readout").first.inner_text()
        return found.locator("input").first.input_value()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# ---------------------------------------------------------------------- built pages
class Site:
    """Serves a folder of built pages to the loopback address, silently."""

    def __init__(self, folder):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *args):
                pass

        handler = functools.partial(Quiet, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


if __name__ == "__main__":
    print(ensure_browser())
