"""A server of embeddings and scores on the loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Patient(ThreadingHTTPServer):
    """Says nothing when a client has left before its answer."""

    def handle_error(self, *_: object) -> None:
        """Nobody waits for this answer."""


class Server:
    """A real server on the loopback, with everything that it was asked."""

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], tuple[int, Any]] = self.embeddings
        self.asked: list[tuple[str, str | None, dict[str, Any]]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append((self.path, self.headers["Authorization"], body))
                status, answer = server.answer(body)
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/v1/elsewhere")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                pass

        self.http = Patient(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    @staticmethod
    def embeddings(body: dict[str, Any]) -> tuple[int, Any]:
        """Each text's length and 1, in reverse order, as the protocol allows."""
        rows = [{"index": at, "embedding": [len(text), 1.0]} for at, text in enumerate(body["input"])]
        return 200, {"data": rows[::-1]}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that runs for one test."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()
