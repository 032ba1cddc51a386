"""Write docs/errors.md: a section for every error code, with a message that was really raised; a test compares it.

The meaning comes from errors.py, exit code and HTTP status from errors.py, the remedy from here.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from brimful import errors
from brimful.errors import OUTCOMES, outcome_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"
LEAD = """# Errors

What does an error mean, and what is its remedy? Every error is a `BrimfulError` with a `code` that never changes.
Its message names the value and the remedy.

| where | shape |
|---|---|
| command line | a line on standard error, and the exit code |
| with `--json` | `{"error": {"code", "message", "exit"}}` on standard error |
| HTTP | a problem document with the status |

`input.usage`, exit code 2, is of the command line alone: an unknown command or option, a missing argument.
`make error-docs` writes this page and raises its example messages.
"""

REMEDIES = {
    "error": "The root of all others; it is not raised itself. Catch it to catch everything.",
    "cancelled": "Nothing is broken. Run the same again: what a model answered is remembered, not paid twice.",
    "endpoint": "Look at the address and at whether the server is up, then try again.",
    "input": "Correct the value that the message names.",
    "input.budget": "Give a larger budget, or reserve less of it.",
    "input.choice": "Take one of the choices that the message lists; a close one is named first.",
    "input.document": "Look at the path, or at the document's own bytes; nothing was stored of it.",
    "input.format": "Give the text or the receipt as it was written; one that was edited is refused on purpose.",
    "input.model": "Name a model or a vocabulary that is known, or bring a count of your own.",
    "input.score": "Give finite scores; drop hits without one.",
    "input.secret": "Take the credential out and change it; where the text must be stored, allow `secret`.",
    "input.setting": "Give a value within the range that the message names.",
    "input.span": "Give a byte range within the document; offsets count bytes of UTF-8, not characters.",
    "input.too_long": "Raise `input_limit_tokens`, or condense the text in pieces. Nothing was paid.",
    "missing": "Install what the message names. Nothing is replaced by a guess.",
    "missing.kernels": "Install the package again; in a checkout install a C compiler, or `ziglang`.",
    "provider": "Read the provider's own words in the message; the request can be tried again.",
    "provider.auth": "Set the key in the variable of that provider, and look at the key's rights.",
    "provider.overflow": "Tell the model's limit (`--limit`), or take a model with a larger one.",
    "provider.quota": "Look at the account's balance or plan. What was answered before is remembered.",
    "provider.refused": "Ask another model, or leave out the text that it refuses.",
    "provider.shrink": "Send less at once: a smaller limit makes smaller parts.",
    "provider.unavailable": "Look at the address and the model's name; try again when the server is up.",
    "provider.wait": "Wait, then run the same again: only what is missing is asked for.",
    "store": "Look at the path and its permissions; what was committed before is intact.",
    "store.access": "Look at the role, its password and its rights; `brimful stores roles` prints what it needs.",
    "store.busy": "Wait until the other process has finished, then try again.",
    "store.corrupt": "Restore the file, or remove it and index the sources again. Nothing wrong was served.",
    "store.full": "Make room on the disk, then run the same again; the last commit stands.",
    "store.unreachable": "Start the server or correct the address, then run the same again; the last commit stands.",
    "store.rules": "Have the store's own text indexed again: `brimful stores rebuild`; it needs no sources.",
    "store.version": "Name another path, or open the store with the version that made it.",
}


def _document() -> None:
    import brimful

    with brimful.open("store.db") as engine:
        engine.add_text("tea.md", "Tea is at four.")
        engine.document("tee.md")


def _secret() -> None:
    import brimful

    with brimful.open("store.db") as engine:
        engine.add_text("notes.md", "key = AKIA" + "Q" * 16)


def _too_long() -> None:
    from brimful.densify.densify import densify
    from brimful.densify.plan import DensifySettings

    densify("Tea is at four. " * 50, settings=DensifySettings(input_limit_tokens=100))


def _corrupt() -> None:
    import brimful

    with brimful.open("damaged.db") as engine:
        engine.add_text("tea.md", "Tea is at four. " * 2_000)
    raw = bytearray(Path("damaged.db").read_bytes())
    raw[100:4_000] = b"\xff" * 3_900
    Path("damaged.db").write_bytes(raw)
    with brimful.open("damaged.db") as engine:
        engine.context("tea")


def _busy() -> None:
    import apsw

    from brimful.store.sqlite import _translated

    with _translated(Path("store.db")):
        raise apsw.BusyError("database is locked")


def _unreachable() -> None:
    import brimful

    brimful.open("postgresql://127.0.0.1:9/team")


def _access() -> None:
    import psycopg

    from brimful.store.address import Address
    from brimful.store.postgres.session import translated

    with translated(Address.of("postgresql://ada@db.example/team")):
        raise psycopg.errors.InvalidPassword('password authentication failed for user "ada"')


def _no_store() -> None:
    import brimful

    brimful.open(Path("nowhere", "deep", "store.db"))


def _version() -> None:
    import apsw

    import brimful

    connection = apsw.Connection("other.db")
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    brimful.open("other.db")


def _rules() -> None:
    from unittest.mock import patch

    import brimful

    for made_by in ("terms 1, units 1, Unicode 15.0.0", "terms 1, units 2, Unicode 15.0.0"):
        with patch("brimful.rules.RULES", made_by):
            brimful.open("store.db").close()


def _full() -> None:
    import apsw

    from brimful.store.sqlite import _translated

    with _translated(Path("store.db")):
        raise apsw.FullError("database or disk is full")


def _endpoint() -> None:
    from brimful.neural.embedders import EndpointEmbedder

    EndpointEmbedder("http://127.0.0.1:9", "tiny", dimensions=8).embed(["tea"])


def _answered(status: int, said: str) -> Callable[[], None]:
    def fail() -> None:
        from brimful.densify.failures import failure

        raise failure("openai:gpt-4o-mini", status, {"error": {"message": said}})

    return fail


def _refused() -> None:
    from brimful.densify.models import model_for
    from brimful.testing import Fault, ScriptedProvider
    from brimful.transport import Stop

    refusal = {"choices": [{"message": {"content": "", "refusal": "No."}, "finish_reason": "content_filter"}]}
    with ScriptedProvider(every=Fault.status(200, refusal)) as provider:
        os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"] = provider.url, "key"
        model_for("openai:gpt-4o-mini").complete("Tea?", max_output_tokens=9, stop=Stop())


def _kernels() -> None:
    from brimful import native

    native.opened(Path("kernels.so"))


def _raised(line: str) -> Callable[[], None]:
    return lambda: exec(line, {})


EXAMPLES: dict[str, Callable[[], None]] = {
    "cancelled": _raised("from brimful.transport import Stop; stop = Stop(); stop.set(); stop.check()"),
    "endpoint": _endpoint,
    "input": _raised("from brimful.surfaces.cli.places import store_to_ask; store_to_ask('notes.db')"),
    "input.budget": _raised("from brimful import Budget; Budget(600)"),
    "input.choice": _raised("from brimful.settings import AskSettings; AskSettings(format='markdwn')"),
    "input.document": _document,
    "input.format": _raised("from brimful.receipts.receipt import Receipt; Receipt.from_json('{}')"),
    "input.model": _raised("from brimful import tokens_for; tokens_for('gpt-4p')"),
    "input.score": _raised("from brimful import Hit; Hit('tea.md', 0, 3, score=float('nan'))"),
    "input.secret": _secret,
    "input.setting": _raised("from brimful import WindowSettings; WindowSettings(max_window_bytes=-1)"),
    "input.span": _raised("from brimful import Document; Document('tea.md', 'Tea is at four.').text(5, 99)"),
    "input.too_long": _too_long,
    "missing": _raised("from brimful.neural.libraries import _opened; _opened('sentence_transformers', '', '')"),
    "missing.kernels": _kernels,
    "provider": _answered(418, "I am a teapot"),
    "provider.auth": _answered(401, "Incorrect API key provided"),
    "provider.overflow": _answered(400, "This model's maximum context length is 8192 tokens"),
    "provider.quota": _answered(429, "You exceeded your current quota, please check your plan and billing details"),
    "provider.refused": _refused,
    "provider.shrink": _answered(413, "Request too large"),
    "provider.unavailable": _answered(404, "The model does not exist"),
    "provider.wait": _answered(429, "Rate limit reached"),
    "store": _no_store,
    "store.access": _access,
    "store.busy": _busy,
    "store.corrupt": _corrupt,
    "store.full": _full,
    "store.unreachable": _unreachable,
    "store.rules": _rules,
    "store.version": _version,
}


def classes() -> dict[str, type[errors.BrimfulError]]:
    """Every error of the package by its code."""
    found, waiting = {}, [errors.BrimfulError]
    while waiting:
        kind = waiting.pop()
        found[kind.code] = kind
        waiting += [each for each in kind.__subclasses__() if each.__module__ == "brimful.errors"]
    return dict(sorted(found.items()))


def example(code: str) -> str | None:
    """A message of that code as it is raised, without this machine's paths; None for the root, which is not raised."""
    if code == "error":
        return None
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            EXAMPLES[code]()
        except errors.BrimfulError as error:
            if error.code != code:
                raise AssertionError(f"the example of {code} raised {error.code}: {error}") from error
            return str(error).replace(sys.executable, "python").replace(f"{Path.cwd()}/", "")
        finally:
            os.chdir(before)
    raise AssertionError(f"the example of {code} raised nothing")


def page() -> str:
    """The whole page as it should be."""
    rows = ["| code | exit | HTTP | meaning |", "|---|---:|---:|---|"]
    sections = []
    for code, kind in classes().items():
        outcome = outcome_of(code)
        meaning = (kind.__doc__ or "").strip()
        anchor = code.replace(".", "")
        rows.append(f"| [`{code}`](#{anchor}) | {outcome.exit} | {outcome.status} | {outcome.title} |")
        shown = example(code)
        text = f"## {code}\n\n`{kind.__name__}`: {meaning}\n\n"
        text += f"{REMEDIES[code]}\n" + (f"\n```text\n{shown}\n```\n" if shown else "")
        sections.append(text)
    requests = [f"| `{code}` | {each.status} | {each.title} |" for code, each in OUTCOMES.items() if "request" in code]
    over_http = "\n".join(["## Over HTTP alone", "", "| code | HTTP | meaning |", "|---|---:|---|", *requests]) + "\n"
    return "\n".join([LEAD, "\n".join(rows) + "\n", *sections, over_http])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"written: {PAGE.name}\n")
