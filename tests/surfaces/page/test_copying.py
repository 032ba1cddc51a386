"""What leaves the page."""

import json
import os
import subprocess
import sys
from pathlib import Path

import brimful
from tests.browser import Tab
from tests.surfaces.page.conftest import QUESTION

ODD = 'tea\'s "scones" \\ $(served) `at` four?'


def copied(tab, kind):
    """Press a copy button and read the clipboard."""
    button = tab.page.locator(f"[data-copy={kind}]")
    button.click()
    tab.page.wait_for_function(
        "kind => document.querySelector(`[data-copy=${kind}]`).textContent === 'Copied'", arg=kind
    )
    return tab.clipboard()


def test_messages_are_the_engine_s_payload(tab, engine):
    """What is copied for a chat is the payload of the format `messages`, whatever format is shown."""
    tab.open(QUESTION, budget=300)
    assert json.loads(copied(tab, "messages")) == engine.context(QUESTION, budget=300, format="messages").payload


def test_copied_commands_give_the_same_text(tab, engine):
    """The curl line and the Python program, run as they are, give the bytes that the page shows; quotes included."""
    tab.open(ODD, budget=300, packing="interleaved", reserved_system=40)
    expected = engine.context(ODD, budget=brimful.Budget(300, 40, 0, 0), packing="interleaved").text
    assert expected
    assert copied(tab, "text") == expected
    asked = engine.context(ODD, budget=brimful.Budget(300, 40, 0, 0), packing="interleaved", with_question=True)
    assert copied(tab, "prompt") == asked.prompt
    answered = subprocess.run(["sh", "-c", copied(tab, "curl")], capture_output=True, text=True, check=True)
    assert json.loads(answered.stdout)["text"] == expected
    environment = {**os.environ, "PYTHONPATH": str(Path(brimful.__file__).parent.parent), "PYTHONUTF8": "1"}
    program = [sys.executable, "-c", copied(tab, "python")]
    printed = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    assert printed.stdout == expected + "\n"


def test_a_link_reproduces_the_result(browser, tab):
    """Opened elsewhere it shows the same settings and the same text, and names the state that it was made on."""
    page = tab.open(ODD, budget=350, packing="score_weighted", fill="relevant")
    link, shown = copied(tab, "link"), tab.texts(".window pre")
    other = Tab(browser, tab.address)
    other.page.goto(link)
    other.settled()
    assert other.texts(".window pre") == shown
    assert other.page.input_value("#question") == page.input_value("#question") == ODD
    assert other.page.input_value("#packing") == "score_weighted"
    assert "root=" in link
    other.close()
