"""A real browser before a real server: what the tests of the page stand on."""

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import sync_playwright

import brimful

ROOT = Path(__file__).parent.parent
SERVE = (
    "import json, sys; from pathlib import Path; from brimful.surfaces.http import serve; "
    "serve(Path(sys.argv[1]), port=0, ready=lambda address: print(address, flush=True), **json.loads(sys.argv[2]))"
)
_spec = importlib.util.spec_from_file_location("make_browser", ROOT / "scripts" / "make_browser.py")
make_browser = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_browser)


@contextmanager
def chromium():
    """The machine's own browser, headless; none is a failure that names the remedy, unless skipping was asked for."""
    if make_browser.is_skipped():
        pytest.skip("no browser is wanted: BROWSER=skip")
    found = make_browser.where()
    assert found, make_browser.REMEDY.format(names=", ".join(make_browser.NAMES))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(make_browser.ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def served(store, **options):
    """A server in a process of its own, over this store; gives its address."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(store), json.dumps(options)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(brimful.__file__).parent.parent)},
    )
    try:
        address = server.stdout.readline().strip()
        assert address.startswith("http://"), "the server did not start"
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)
        server.stdout.close()


class Tab:
    """One page of the browser, with what it complained about."""

    def __init__(self, browser, address, **options):
        options = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **options}
        self.context = browser.new_context(**options)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.address, self.complaints = address, []
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}") or dialog.dismiss())

    def open(self, question="", **state):
        """Open the page with this state in its address, and wait for the answer if there is a question."""
        found = urlencode({"q": question, **state} if question else state)
        self.page.goto(f"{self.address}/#{found}" if found else f"{self.address}/")
        self.page.wait_for_selector("html[data-ready=yes]")
        if question:
            self.settled()
        return self.page

    @property
    def shown(self):
        """How many answers the page has shown."""
        return int(self.page.evaluate("document.documentElement.dataset.shown || 0"))

    def settled(self, after=0):
        """Wait until there is a newer answer than that one, and nothing is under way."""
        self.page.wait_for_function(
            "after => document.documentElement.dataset.shown > after && document.querySelector('#progress[hidden]')",
            arg=after,
        )

    @contextmanager
    def answering(self):
        """Do something, and wait for the answer to it."""
        before = self.shown
        yield
        self.settled(before)

    def texts(self, selector):
        """The texts of all that a selector finds."""
        return self.page.locator(selector).all_text_contents()

    def clipboard(self):
        """What was copied."""
        return self.page.evaluate("navigator.clipboard.readText()")

    def close(self):
        """End it; whatever the console complained about is a failure."""
        self.context.close()
        assert not self.complaints, self.complaints
