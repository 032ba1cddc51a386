"""How does a provider behave, well and badly? A server on loopback that does as it is told."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, Self

from brimful.densify.model import Model
from brimful.densify.models import model_for
from brimful.limits import LEAST_CONTEXT_TOKENS
from brimful.text.tokens import TokenCounter
from brimful.text.vocabularies import tokens_for
from brimful.transport import Timeouts

_FaultKind = Literal[
    "status", "hang", "hang_in_stream", "reset", "truncated", "html", "empty", "schema", "refusal", "in_stream",
    "cut_stream", "silent_truncation", "count", "drip", "no_output",
]  # fmt: skip
_TEXT = re.compile(r"<text>\n(.*)\n</text>", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?]*[.!?]?")
_OVERFLOW = "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens."


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail; `Fault.status(503)`, or `Fault("hang")`."""

    kind: _FaultKind
    code: int = 500
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def status(cls, code: int, body: object = None, *, headers: Mapping[str, str] | None = None) -> Self:
        """A status with a body (an empty one if none is given)."""
        return cls("status", code, body, headers or {})


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the server saw it. `text` is what stood between the prompt's marks."""

    number: int
    prompt: str
    tokens: int
    status: int
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)

    @property
    def text(self) -> str:
        """The text without the prompt around it."""
        found = _TEXT.search(self.prompt)
        return found[1] if found else self.prompt

    @property
    def is_merge(self) -> bool:
        """Whether it joins partials rather than condensing a part."""
        return self.prompt.startswith("The notes")


def first_sentence(prompt: str) -> str:
    """The default answer: the text's first sentence, at most 24 words of it.

    >>> first_sentence("<text>\\nTea at four. Cake at five.\\n</text>")
    'Tea at four.'
    """
    found = _TEXT.search(prompt)
    text = " ".join((found[1] if found else prompt).split())
    sentence = _SENTENCE.match(text)
    words = (sentence[0] if sentence else text).split()[:24]
    return " ".join(words).rstrip(".") + "."


class ScriptedProvider:
    """A model server on loopback that answers, refuses and fails as told.

    `limit` counts the prompt and the output asked for, as servers do; `names_limit` says whether the error names it,
    `tells_limit` whether the list of models does, `drips_limit` whether that list never ends. `faults` maps the number
    of a call (from 1) to how it fails; `every` is a fault for all calls.
    """

    def __init__(
        self,
        *,
        limit: int | None = None,
        faults: Mapping[int, Fault] | None = None,
        every: Fault | None = None,
        reply: Callable[[str], str] = first_sentence,
        vocabulary: str = "o200k_base",
        names_limit: bool = True,
        tells_limit: bool = False,
        drips_limit: bool = False,
    ) -> None:
        self.limit = limit
        self.names_limit, self.tells_limit, self.drips_limit = names_limit, tells_limit, drips_limit
        self.reply = reply
        self.counter: TokenCounter = tokens_for(vocabulary)
        self.calls: list[Call] = []
        self.most_at_once = 0
        self.released = threading.Event()
        self._faults, self._every = dict(faults or {}), every
        self._lock, self._open, self._number = threading.Lock(), 0, 0
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The base address, `/v1` included."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def model(self, *, limit: int | None = None, timeouts: Timeouts | None = None) -> Model:
        """The model that this server serves, counted with its own vocabulary."""
        return model_for(f"{self.url}#scripted", limit=limit, counter=self.counter, timeouts=timeouts)

    @property
    def answered(self) -> list[Call]:
        """The calls that got a proper answer."""
        return [call for call in self.calls if call.status == 200]

    @property
    def overflows(self) -> int:
        """How many calls were over the limit."""
        return sum(call.status == 400 for call in self.calls)

    @property
    def tokens_sent(self) -> int:
        """The tokens of all prompts, failed ones included."""
        return sum(call.tokens for call in self.calls)

    @contextmanager
    def counted(self) -> Iterator[int]:
        """Within the block a call is under way; gives its number."""
        with self._lock:
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
            self._number += 1
            number = self._number
        try:
            yield number
        finally:
            with self._lock:
                self._open -= 1

    def note(self, number: int, prompt: str, status: int, headers: Mapping[str, str]) -> None:
        """Keep a call for `calls`."""
        call = Call(number, prompt, self.counter.count(prompt), status, headers)
        with self._lock:
            self.calls.append(call)

    def fault(self, number: int) -> Fault | None:
        """How this call fails, if it does."""
        return self._faults.get(number, self._every)

    def overflow(self, prompt: str, output: int) -> object | None:
        """The error for a prompt over the limit."""
        tokens = self.counter.count(prompt)
        if self.limit is None or tokens + output <= self.limit:
            return None
        named = _OVERFLOW.format(limit=self.limit, tokens=tokens)
        message = named if self.names_limit else "Your input exceeds the context window of this model."
        return {"error": {"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, provider: ScriptedProvider) -> None:
        self.provider = provider
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in the middle is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
        """Nothing is logged."""

    def do_GET(self) -> None:
        """The list of models."""
        provider = self.server.provider
        if provider.drips_limit:
            self.drip("HTTP/1.1 200 OK\r\n\r\n", " ")
            return
        told = {"max_model_len": provider.limit} if provider.tells_limit else {}
        self.write_json(200, {"data": [{"id": "scripted", **told}]})

    def do_POST(self) -> None:
        """An answer, an overflow, or the fault that is scripted for this call."""
        provider = self.server.provider
        with provider.counted() as number:
            prompt, output = _asked(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if (fault := provider.fault(number)) is not None:
                provider.note(number, prompt, fault.code if fault.kind == "status" else 0, headers)
                _FAULTS[fault.kind](self, fault, prompt)
                return
            over = provider.overflow(prompt, output)
            text = provider.reply(prompt) if over is None else ""
            provider.note(number, prompt, 200 if over is None else 400, headers)
        # Who gets the answer may ask again at once, so from here on the call is no longer under way.
        if over is None:
            self.write_stream(_events(self.path, text, provider.counter.count(prompt)))
        else:
            self.write_json(400, over)

    def write_json(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        """A body of JSON, or a text as it is."""
        text = body if isinstance(body, str) else json.dumps(body) if body is not None else ""
        self.write_raw(status, text, "application/json", headers)

    def write_raw(self, status: int, body: str, kind: str, headers: Mapping[str, str] | None = None) -> None:
        """Any body."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def write_stream(self, events: list[object]) -> None:
        """Server-sent events."""
        lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
        self.write_raw(200, "".join(f"data: {line}\n\n" for line in lines), "text/event-stream")

    def hang(self, begun: str) -> None:
        """Send what has begun, then nothing until the provider is closed."""
        if begun:
            self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{begun}".encode())
            self.wfile.flush()
        self.server.provider.released.wait(60)
        self.close_connection = True

    def drip(self, begun: str, again: str) -> None:
        """Send what has begun, then the same bytes again and again, until nobody reads or the provider is closed."""
        self.close_connection = True
        self.wfile.write(begun.encode())
        while not self.server.provider.released.wait(0.02):
            self.wfile.write(again.encode())

    def reset(self) -> None:
        """Break the connection as a crash would."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def answer_with_count(self, prompt: str, tokens: object) -> None:
        """A proper answer that reports another number of tokens than it got."""
        self.write_stream(_events(self.path, self.server.provider.reply(prompt), tokens))


_BEGUN = {"choices": [{"delta": {"content": "Tea at"}}]}
_DRIPPING = {
    "body": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
    "headers": "HTTP/1.1 200 OK\r\n",
    "100": "",
}
_FAULTS: dict[_FaultKind, Callable[[_Handler, Fault, str], None]] = {
    "status": lambda to, fault, _: to.write_json(fault.code, fault.body, fault.headers),
    "hang": lambda to, *_: to.hang(""),
    "hang_in_stream": lambda to, *_: to.hang(f"data: {json.dumps(_BEGUN)}\n\n"),
    "reset": lambda to, *_: to.reset(),
    "truncated": lambda to, *_: to.write_raw(200, '{"choices": [{"message": {"cont', "application/json"),
    "html": lambda to, *_: to.write_raw(200, "<html><body>Welcome to the hotel</body></html>", "text/html"),
    "empty": lambda to, *_: to.write_raw(200, "", "application/json"),
    "schema": lambda to, *_: to.write_json(200, {"result": {"output": ["not", "a", "chat"]}}),
    "refusal": lambda to, *_: to.write_json(200, {"choices": [{"message": {"refusal": "No."}}]}),
    "in_stream": lambda to, fault, _: to.write_stream([_BEGUN, {"error": fault.body}]),
    "cut_stream": lambda to, *_: to.write_stream([_BEGUN, _BEGUN]),
    "silent_truncation": lambda to, _, prompt: to.answer_with_count(prompt, LEAST_CONTEXT_TOKENS),
    "count": lambda to, fault, prompt: to.answer_with_count(prompt, fault.body),
    "drip": lambda to, fault, _: to.drip(_DRIPPING[fault.headers.get("inside", "body")], str(fault.body)),
    "no_output": lambda to, *_: to.write_json(
        200, {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}
    ),
}


def _asked(body: dict[str, object]) -> tuple[str, int]:
    """The prompt and the most output, in any of the three dialects."""
    if "contents" in body:
        prompt = body["contents"][0]["parts"][0]["text"]  # type: ignore[index]
        return str(prompt), int(body["generationConfig"]["maxOutputTokens"])  # type: ignore[index]
    prompt = body["messages"][0]["content"]  # type: ignore[index]
    return str(prompt), int(str(body.get("max_tokens") or body.get("max_completion_tokens") or 0))


def _events(path: str, text: str, tokens: object) -> list[object]:
    """A proper answer as a stream, in the dialect of the address."""
    written = len(text.split())
    if "streamGenerateContent" in path:
        usage = {"promptTokenCount": tokens, "candidatesTokenCount": written}
        whole = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
        return [{"candidates": [whole], "usageMetadata": usage}]
    if path.endswith("/messages"):
        return [
            {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": tokens}}},
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": written}},
            {"type": "message_stop"},
        ]
    half = len(text) // 2
    return [
        {"choices": [{"delta": {"content": text[:half]}}]},
        {"choices": [{"delta": {"content": text[half:]}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": written}},
        "[DONE]",
    ]


@contextmanager
def unanswered_address() -> Iterator[str]:
    """An address on loopback that takes no connection and refuses none: its queue is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.settimeout(0)
            each.connect_ex(listener.getsockname())
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            for each in waiting:
                each.close()
