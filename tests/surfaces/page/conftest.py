"""A small corpus behind a real server, and a browser before it."""

import pytest

import brimful
from brimful.densify.captures import Capture, Captures
from tests.browser import Tab, chromium, served

QUESTION = "When is tea served with scones?"
HOSTILE_NAME = '<img src=x onerror="window.broken=1">\n\u202egnp.md'
HOSTILE_TEXT = (
    "Tea for strangers. <script>window.broken = 1</script><img src=x onerror='window.broken = 1'> "
    "[tea](javascript:window.broken=1) </pre></code><style>body{display:none}</style> \"' --> ]]> tea &amp; tea.\n"
)
MEETING = "The marmalade recipe needs seven oranges and a lemon. We wrote it down in the garden. " * 3
SENTENCES = [
    "Tea is served at four in the garden, with scones and jam.",
    "Whoever comes late finds the pot cold and the scones gone.",
    "The kettle stands on the stove from three o'clock on.",
    "Nobody serves coffee before the tea is poured.",
    "A scone is cut by hand and eaten warm, never with a fork.",
    "On Sundays the band plays until the last cup is empty.",
]


def fill(store):
    """Twelve documents about tea, one about something else, one that tries to break out."""
    with brimful.open(store) as engine:
        for number in range(12):
            turned = SENTENCES[number % 6 :] + SENTENCES[: number % 6]
            text = "\n\n".join(f"{sentence} Note {number}." for sentence in turned * 3)
            engine.add_text(f"notes/house-{number:02}.md", f"# House {number}\n\n{text}\n")
        engine.add_text(
            "src/kettle.py", 'def boil(water):\n    """Heat until tea can be made."""\n    return water + 80\n'
        )
        engine.add_text(HOSTILE_NAME, HOSTILE_TEXT)


@pytest.fixture(scope="package")
def store(tmp_path_factory):
    """The path of a filled store."""
    path = tmp_path_factory.mktemp("page") / "store.db"
    fill(path)
    return path


@pytest.fixture(scope="package")
def address(store):
    """Where the page is served."""
    with served(store) as found:
        yield found


@pytest.fixture(scope="package")
def workshop(tmp_path_factory):
    """The path of a store that tests may change, and where it is served; one capture failed in it."""
    store = tmp_path_factory.mktemp("workshop") / "store.db"
    with brimful.open(store) as engine:
        engine.add_text("tea.md", "Tea is served at four.\n")
        failed = Capture(
            "broken", "extractive:", "failed", brimful.Document("broken", MEETING), "provider: <b>no</b> answer"
        )
        Captures(engine.memory)._write(failed)
    with served(store) as found:
        yield store, found


@pytest.fixture(scope="package")
def browser():
    """The machine's Chromium."""
    with chromium() as found:
        yield found


@pytest.fixture
def tab(browser, address):
    """A fresh page; its console must stay silent."""
    found = Tab(browser, address)
    yield found
    found.close()


@pytest.fixture(scope="package")
def engine(store):
    """The same store, asked in this process."""
    with brimful.open(store) as found:
        yield found
