"""What is fed with bytes of strangers, and what may come of it? One function for each way in; an exception is a find.

Each takes bytes and returns, whatever they are: errors of the program's own kind are answers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from unittest.mock import patch

from starlette.testclient import TestClient

import brimful
from brimful.densify import models
from brimful.documents.loaders import load
from brimful.documents.skips import Refusal
from brimful.errors import BrimfulError
from brimful.receipts.receipt import Receipt
from brimful.search.query import parse_query
from brimful.settings import FORMATS
from brimful.surfaces.http import create_app
from brimful.surfaces.mcp import refusal_of
from brimful.transport import Answer, Stop

KINDS = ("md", "txt", "html", "json", "csv", "eml", "mbox", "ipynb", "xml", "py", "log", "jsonl", "rst", "docx", "pdf")
ROUTES = ("context", "explain", "search", "verify", "documents", "densify", "captures", "captures/retry")
_TEA = "# Tea\n\nTea is at four. Cake is at five, in the garden.\n\n- scones\n- jam\n"


def loaders(raw: bytes) -> None:
    """A file's bytes, under a name that the first of them chooses; documents, a skip or a refusal."""
    with suppress(Refusal):
        load(f"a.{KINDS[raw[0] % len(KINDS)]}" if raw else "a.md", raw[1:])


def query(raw: bytes) -> None:
    """Any text is a question."""
    parse_query(raw.decode("utf-8", "replace"))


def receipts(raw: bytes) -> None:
    """A receipt, or an error that says why it is none."""
    with suppress(BrimfulError):
        Receipt.from_json(raw)


def formats(raw: bytes) -> None:
    """A rendered context is read back, or refused."""
    text = raw[1:].decode("utf-8", "replace")
    with suppress(BrimfulError):
        brimful.parse(text, format=FORMATS[raw[0] % len(FORMATS)] if raw else "plain")


def http_bodies(raw: bytes) -> None:
    """A body to any route is answered, and never with 500."""
    route = ROUTES[raw[0] % len(ROUTES)] if raw else ROUTES[0]
    answer = _client().post(f"/v1/{route}", content=raw[1:], headers={"content-type": "application/json"})
    assert answer.status_code < 500, (route, answer.text)


def mcp_messages(raw: bytes) -> None:
    """A message is one that the SDK reads, or is answered with an error."""
    refusal_of(raw)


def provider_answers(raw: bytes) -> None:
    """Any status, header and body of a provider is an answer, or an error of the provider's."""
    head, _, body = raw.partition(b"\n")
    status = (200, 200, 200, 400, 401, 413, 429, 500, 503)[head[0] % 9 if head else 0]
    words = head[1:].decode("latin-1").split("|")
    headers = dict(zip(("retry-after", "content-type", "retry-after-ms"), words, strict=False))
    for name in ("http://127.0.0.1:9/v1#x", "anthropic:claude-x", "gemini:gemini-x"):
        model = models.model_for(name, limit=8_000)
        with (
            patch.object(models, "exchange", return_value=Answer(status, headers, body)),
            patch.object(models, "_key_from", return_value="sk-0123456789"),
            suppress(BrimfulError),
        ):
            answer = model.complete("tea", max_output_tokens=9, stop=Stop())
            assert isinstance(answer.text, str)


@cache
def _client() -> TestClient:
    engine = brimful.open(Path(tempfile.mkdtemp()) / "store.db")
    engine.add_text("tea.md", _TEA)
    return TestClient(create_app(engine), base_url="http://localhost")


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each for each in (loaders, query, receipts, formats, http_bodies, mcp_messages, provider_answers)
}


@cache
def seeds() -> dict[str, list[bytes]]:
    """Good input of each kind, to be bent."""
    with brimful.open(Path(tempfile.mkdtemp()) / "store.db") as engine:
        engine.add_text("tea.md", _TEA)
        made = engine.context("tea at four", budget=60)
        receipt = made.receipt.to_json().encode() if made.receipt else b""
        texts = [engine.context("tea at four", budget=60, format=each).text for each in FORMATS]
    said = b'{"choices": [{"message": {"content": "Tea."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7}}'
    events = b'data: {"choices": [{"delta": {"content": "Tea."}}]}\n\ndata: [DONE]\n\n'
    asked = b'{"question": "tea at four", "budget": 60, "format": "plain"}'
    chat = b'[{"title": "Tea", "create_time": 1.5, "mapping": {"a": {"message": {"author": {"role": "user"}}}}}]'
    return {
        "loaders": [
            *(bytes([at]) + _TEA.encode() for at in range(len(KINDS))),
            b"\x02<html><body><h1 class='a'>Tea</h1><table><tr><td>x</td></tr></table></body></html>",
            b"\x03" + chat,
            b"\x05From: a@b\r\nSubject: =?utf-8?q?T?=\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nT",
            b'\x07{"cells": [{"cell_type": "markdown", "source": ["Tea"]}], "metadata": {}, "nbformat": 4}',
            b"\x0e%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n",
        ],
        "query": [b'who wrote "context window" in path:docs -draft after:2024?', b"tea* kind:code -lang:py a.b_c"],
        "receipts": [receipt],
        "formats": [bytes([at]) + text.encode() for at, text in enumerate(texts)],
        "http_bodies": [
            b"\x00" + asked,
            b"\x01" + asked,
            b'\x02{"question": "tea", "limit": 3}',
            b'\x03{"receipt": ' + receipt + b"}",
            b'\x04{"documents": [{"path": "a.md", "text": "Tea.", "time": 5}]}',
            b'\x05{"text": "Tea at four.", "target_tokens": 9}',
            b'\x06{"text": "Tea at four.", "name": "tea"}',
            b'\x07{"name": "tea"}',
        ],
        "mcp_messages": [
            b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "search", "arguments": {}}}',
            b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        ],
        "provider_answers": [
            b"\x00\n" + said,
            b"\x00|text/event-stream\n" + events,
            b'\x067|application/json\n{"error": {"message": "Rate limit. Please try again in 7s.", "code": "slow"}}',
            b'\x03\n{"error": {"message": "prompt is too long: 200049 tokens > 200000 maximum"}}',
            b'\x00\n{"type": "message", "content": [{"type": "text", "text": "Tea."}], "usage": {"input_tokens": 7}}',
            b'\x00\n{"candidates": [{"content": {"parts": [{"text": "Tea."}]}, "finishReason": "STOP"}]}',
        ],
    }
