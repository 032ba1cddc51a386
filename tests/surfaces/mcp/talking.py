"""A real client of the SDK, over either transport, that a plain test can call; and the server as a process."""

import asyncio
import os
import queue
import re
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

SERVE = "import sys; from pathlib import Path; from brimful.surfaces.mcp import serve; "
WAIT_SECONDS = 120


def program(store, *, before="", **options):
    """A program that serves a store, after some statements; over HTTP it says its address on standard output."""
    if options.get("transport") != "http":
        return f"{before}\n{SERVE}serve(Path({str(store)!r}))"
    given = ", ".join(f"{name}={value!r}" for name, value in ({"port": 0} | options).items())
    return f"{SERVE}serve(Path({str(store)!r}), {given}, ready=lambda address: print(address, flush=True))"


def start(code):
    """The program in a process of its own, through pipes."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ}, **pipes)


@contextmanager
def http_server(store, **options):
    """The address of a listening server."""
    process = start(program(store, transport="http", **options))
    try:
        address = process.stdout.readline().decode().strip()
        assert address.startswith("http://"), process.stderr.read().decode()
        yield address
    finally:
        process.terminate()
        process.communicate(timeout=WAIT_SECONDS)


class Talker:
    """A client on a loop of its own: `talker.call_tool(…)` waits for the result."""

    def __init__(self, target, **options):
        self._target, self._options = target, options
        self._started = queue.Queue()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self):
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with Client(self._target, **self._options) as self.client:
                self._started.put(None)
                await self._over.wait()
        except BaseException as error:
            self._started.put(error)
            raise

    def __enter__(self):
        if self._thread.is_alive():
            return self
        self._thread.start()
        failure = self._started.get(timeout=WAIT_SECONDS)
        if failure is not None:
            raise failure
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(WAIT_SECONDS)

    def __getattr__(self, name):
        def call(*given, **named):
            return self.wait(getattr(self.client, name)(*given, **named))

        return call

    def wait(self, coroutine):
        """The result of something that runs on the client's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WAIT_SECONDS)

    def calls(self, calls):
        """Many tool calls at once."""

        async def together():
            return await asyncio.gather(*(self.client.call_tool(name, given) for name, given in calls))

        return self.wait(together())


@contextmanager
def talking(store, transport, *, before="", **options):
    """A client of a server in a process of its own."""
    if transport == "stdio":
        code = program(store, before=before)
        target = StdioServerParameters(command=sys.executable, args=["-c", code], env={**os.environ})
        with Talker(target, **options) as talker:
            yield talker
    else:
        with http_server(store) as address, Talker(address, **options) as talker:
            yield talker


@asynccontextmanager
async def authorised(address, token):
    """The SDK's transport to an address, with a token."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=WAIT_SECONDS) as sender,
        streamable_http_client(address, http_client=sender) as streams,
    ):
        yield streams


def text_of(result):
    """What a tool answers."""
    return texts_of(result)[0]


def note_of(result):
    """What is said of an answer: the second text, or the only one."""
    return texts_of(result)[-1]


def texts_of(result):
    """The texts of a result, which has nothing else."""
    texts = [each.text for each in result.content if each.type == "text"]
    assert 1 <= len(texts) == len(result.content) <= 2
    return texts


def receipt_of(result):
    """The receipt's id, as a context names it."""
    return re.search(r"receipt (\w{12})\.", note_of(result))[1]


def paths_of(result):
    """The documents that a context or a search shows."""
    shown = re.findall(r"^\[DOC: (\S+?)(?: lines? [^\]]*)?\]|^\d+\. (.+?), lines ", text_of(result), re.MULTILINE)
    return {context or hit for context, hit in shown}
