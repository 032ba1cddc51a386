"""A scripted model provider: a server on loopback that answers, refuses and fails as its script says."""

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
from typing import Any, Literal, Self

from brimful.densify.calls import Model
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
_STREAM_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


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
    """One request as the server saw it."""

    number: int
    prompt: str
    tokens: int
    status: int
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)

    @property
    def text(self) -> str:
        """The text between the prompt's marks."""
        match = _TEXT.search(self.prompt)
        return match[1] if match else self.prompt

    @property
    def is_merge(self) -> bool:
        """Whether it joins partials rather than condensing a part."""
        return self.prompt.startswith("The notes")


def first_sentence(prompt: str) -> str:
    """The default answer: the text's first sentence, at most 24 words of it.

    >>> first_sentence("<text>\\nTea at four. Cake at five.\\n</text>")
    'Tea at four.'
    """
    match = _TEXT.search(prompt)
    text = " ".join((match[1] if match else prompt).split())
    sentence = _SENTENCE.match(text)
    words = (sentence[0] if sentence else text).split()[:24]
    return " ".join(words).rstrip(".") + "."


class ScriptedProvider:
    """A model server on loopback.

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
        self.limit, self.reply = limit, reply
        self.names_limit, self.tells_limit, self.drips_limit = names_limit, tells_limit, drips_limit
        self.counter: TokenCounter = tokens_for(vocabulary)
        self.calls: list[Call] = []
        self.most_at_once = 0
        self.released = threading.Event()
        self._faults, self._every = dict(faults or {}), every
        self._lock, self._active, self._number = threading.Lock(), 0, 0
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
        """Count a call as under way within the block; gives its number."""
        with self._lock:
            self._active += 1
            self.most_at_once = max(self.most_at_once, self._active)
            self._number += 1
            number = self._number
        try:
            yield number
        finally:
            with self._lock:
                self._active -= 1

    def note(self, number: int, prompt: str, status: int, headers: Mapping[str, str]) -> None:
        """Keep a call for `calls`."""
        call = Call(number, prompt, self.counter.count(prompt), status, headers)
        with self._lock:
            self.calls.append(call)

    def fault(self, number: int) -> Fault | None:
        """How a call fails, if it does."""
        return self._faults.get(number, self._every)

    def overflow(self, prompt: str, output_tokens: int) -> object | None:
        """The error for a prompt over the limit."""
        tokens = self.counter.count(prompt)
        if self.limit is None or tokens + output_tokens <= self.limit:
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
        else:
            limit = {"max_model_len": provider.limit} if provider.tells_limit else {}
            self.write(200, {"data": [{"id": "scripted", **limit}]})

    def do_POST(self) -> None:
        """An answer, an overflow, or the fault that is scripted for this call."""
        provider = self.server.provider
        with provider.counted() as number:
            prompt, output_tokens = _request(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if (fault := provider.fault(number)) is not None:
                provider.note(number, prompt, fault.code if fault.kind == "status" else 0, headers)
                _FAULTS[fault.kind](self, fault, prompt)
                return
            overflow = provider.overflow(prompt, output_tokens)
            text = provider.reply(prompt) if overflow is None else ""
            provider.note(number, prompt, 200 if overflow is None else 400, headers)
        # Who gets the answer may ask again at once, so from here on the call is no longer under way.
        if overflow is None:
            self.answer(text, provider.counter.count(prompt))
        else:
            self.write(400, overflow)

    def answer(self, text: str, tokens: object) -> None:
        """A proper answer that reports a number of tokens."""
        self.stream(_events(self.path, text, tokens))

    def stream(self, events: list[object]) -> None:
        """Server-sent events."""
        lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
        self.write(200, "".join(f"data: {line}\n\n" for line in lines), {"Content-Type": "text/event-stream"})

    def write(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        """A body of JSON, or a text as it is."""
        raw = (body if isinstance(body, str) else "" if body is None else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(raw), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(raw)

    def hang(self, begin: str = "") -> None:
        """Send a beginning, then nothing until the provider is closed."""
        self.close_connection = True
        self.wfile.write(begin.encode())
        self.server.provider.released.wait(60)

    def drip(self, begin: str, more: str) -> None:
        """Send a beginning, then some bytes again and again, until nobody reads or the provider is closed."""
        self.close_connection = True
        self.wfile.write(begin.encode())
        while not self.server.provider.released.wait(0.02):
            self.wfile.write(more.encode())

    def reset(self) -> None:
        """Break the connection as a crash would."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


_BEGIN = {"choices": [{"delta": {"content": "Tea at"}}]}
_DRIP_BEGINS = {"body": _STREAM_HEAD, "headers": "HTTP/1.1 200 OK\r\n", "100": ""}
_FAULTS: dict[_FaultKind, Callable[[_Handler, Fault, str], None]] = {
    "status": lambda to, fault, _: to.write(fault.code, fault.body, fault.headers),
    "hang": lambda to, *_: to.hang(),
    "hang_in_stream": lambda to, *_: to.hang(f"{_STREAM_HEAD}data: {json.dumps(_BEGIN)}\n\n"),
    "reset": lambda to, *_: to.reset(),
    "truncated": lambda to, *_: to.write(200, '{"choices": [{"message": {"cont'),
    "html": lambda to, *_: to.write(200, "<html><body>Welcome</body></html>", {"Content-Type": "text/html"}),
    "empty": lambda to, *_: to.write(200, ""),
    "schema": lambda to, *_: to.write(200, {"result": {"output": ["not", "a", "chat"]}}),
    "refusal": lambda to, *_: to.write(200, {"choices": [{"message": {"refusal": "No."}}]}),
    "in_stream": lambda to, fault, _: to.stream([_BEGIN, {"error": fault.body}]),
    "cut_stream": lambda to, *_: to.stream([_BEGIN, _BEGIN]),
    "silent_truncation": lambda to, _, prompt: to.answer(to.server.provider.reply(prompt), LEAST_CONTEXT_TOKENS),
    "count": lambda to, fault, prompt: to.answer(to.server.provider.reply(prompt), fault.body),
    "drip": lambda to, fault, _: to.drip(_DRIP_BEGINS[fault.headers.get("inside", "body")], str(fault.body)),
    "no_output": lambda to, *_: to.write(200, {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}),
}


def _request(body: dict[str, Any]) -> tuple[str, int]:
    """The prompt and the most tokens of output, in any of the three dialects."""
    if "contents" in body:
        return body["contents"][0]["parts"][0]["text"], body["generationConfig"]["maxOutputTokens"]
    return body["messages"][0]["content"], body.get("max_tokens") or body.get("max_completion_tokens") or 0


def _events(path: str, text: str, tokens: object) -> list[object]:
    """A proper answer as a stream, in the dialect of the address."""
    written = len(text.split())
    if "streamGenerateContent" in path:
        usage = {"promptTokenCount": tokens, "candidatesTokenCount": written}
        candidate = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
        return [{"candidates": [candidate], "usageMetadata": usage}]
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
        clients = [socket.socket() for _ in range(4)]
        for client in clients:
            client.settimeout(0)
            client.connect_ex(listener.getsockname())
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            for client in clients:
                client.close()
