"""What can go wrong, as one tree with stable codes.

    BrimfulError
    ├── CancelledError            the caller stopped the run, or its time was up; what was finished is remembered
    ├── InputError                the caller's value can't be used (also a ValueError)
    │   ├── BudgetError           a budget that is negative, absurd, or eaten by its reserves
    │   ├── ChoiceError           a name that is not among the choices
    │   │   └── UnknownModelError a model with no known vocabulary
    │   ├── DocumentError         bytes that are not UTF-8, a missing or doubled document
    │   ├── FormatError           a rendered text that can't be parsed
    │   ├── InputTooLongError     more text than the settings allow to be condensed
    │   ├── ScoreError            NaN or infinite scores
    │   ├── SecretError           a text that holds a credential
    │   ├── SettingError          a threshold or size out of its range
    │   └── SpanError             a byte range outside its document
    ├── EndpointError             a server or model that was named does not answer as it should
    ├── MissingPartError          a vocabulary or package that is not installed
    │   └── KernelsError          the compiled kernels are missing, or were built from other source
    ├── ProviderError             a model's provider failed in a way without another name
    │   ├── AuthError             no key, a wrong one, or one without the right
    │   ├── ContextLimitError     the model does not accept so much at once
    │   ├── QuotaError            money or an allowance is used up
    │   ├── RateLimitError        too much at the moment; later it may pass
    │   ├── RefusedError          the model or its filter declined to answer
    │   ├── RequestSizeError      the request can never pass at this size, though it is no context limit
    │   └── UnavailableError      the provider or the model can't be reached
    └── StoreError                the store failed
        ├── CorruptError          stored bytes are not what was written
        ├── StoreAccessError      a server refuses the role, its password or what it asks for
        ├── StoreBusyError        another process is writing
        ├── StoreFullError        no room left on the disk
        ├── StoreRulesError       made by other rules than this program's
        ├── StoreUnreachableError a server that can't be reached, or went away
        └── StoreVersionError     made by a newer version, or not a store at all

Every message names the value and the remedy. `code` never changes once released.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import NamedTuple
from urllib.parse import urlsplit


class BrimfulError(Exception):
    """The common root: `except BrimfulError` catches everything this package raises on purpose."""

    code = "error"


class CancelledError(BrimfulError):
    """The caller's wish, or the end of the time that was given."""

    code = "cancelled"


class InputError(BrimfulError, ValueError):
    """A value that the caller can correct."""

    code = "input"


class BudgetError(InputError):
    """A budget that can't hold anything."""

    code = "input.budget"


class ChoiceError(InputError):
    """A name that is not among the choices; the message lists close ones."""

    code = "input.choice"


class UnknownModelError(ChoiceError):
    """A model whose vocabulary is not known."""

    code = "input.model"


class DocumentError(InputError):
    """A document that can't be used as it is."""

    code = "input.document"


class FormatError(InputError):
    """A text that was not rendered by this package, or was changed since."""

    code = "input.format"


class InputTooLongError(InputError):
    """A text beyond the input limit; refused before any call."""

    code = "input.too_long"


class ScoreError(InputError):
    """A score that has no place in an order."""

    code = "input.score"


class SecretError(InputError):
    """A text that holds a credential, or is called as only secrets are; not stored unless that is allowed."""

    code = "input.secret"


class SettingError(InputError):
    """A setting out of its range."""

    code = "input.setting"


class SpanError(InputError):
    """A byte range that its document does not have."""

    code = "input.span"


class EndpointError(BrimfulError):
    """A server or model did not answer, or not in the expected form."""

    code = "endpoint"


class MissingPartError(BrimfulError):
    """Something that must be installed first; never replaced by a silent guess."""

    code = "missing"


def install(extra: str = "", *, package: str = "") -> str:
    """The command that installs this program with an extra, or another package into its environment.

    The program comes from where it was installed from: a folder, a file, a repository, or else an index. Only pipx and
    uv change the environments that they made; an environment without pip is uv's; otherwise it is this interpreter's
    own pip.

    >>> install("office").endswith("[office]'")
    True
    """
    from importlib.machinery import PathFinder  # setuptools looks at all frames where anybody else asks for pip

    program, editable = _installed_from(extra)
    home = sys.prefix.replace("\\", "/")
    if "/pipx/venvs/" in home:
        return f"pipx inject brimful '{package}'" if package else f"pipx install --force '{program}'"
    if "/uv/tools/" in home:
        with_package = f" --with '{package}'" if package else ""
        return f"uv tool install --force '{program}'{with_package}"
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable or "python"
    pip = f"uv pip install --python {python}" if PathFinder.find_spec("pip") is None else f"{python} -m pip install"
    return f"{pip} '{package}'" if package else f"{pip}{' -e' if editable else ''} '{program}'"


def _installed_from(extra: str) -> tuple[str, bool]:
    """What to install this program from (PEP 610), with an extra; and whether its sources are used in place."""
    from urllib.request import url2pathname  # slow to import

    extras = f"[{extra}]" if extra else ""
    try:
        written = metadata.distribution("brimful").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        written = None
    if written is None:
        return f"brimful{extras}", False
    origin = json.loads(written)
    if "vcs_info" in origin:
        version = f"{origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
        return f"brimful{extras} @ {version}", False
    if origin["url"].startswith("file:"):
        return f"{url2pathname(urlsplit(origin['url']).path)}{extras}", origin.get("dir_info", {}).get(
            "editable", False
        )
    return f"brimful{extras} @ {origin['url']}", False


class KernelsError(MissingPartError):
    """The compiled part of this package is missing or not this package's; nothing runs slowly in its place."""

    code = "missing.kernels"


class ProviderError(BrimfulError):
    """A model's provider failed; `status` is None without an HTTP answer."""

    code = "provider"

    def __init__(
        self, message: str, *, status: int | None = None, body: object = None, wait_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.wait_seconds = wait_seconds


class AuthError(ProviderError):
    """The key is missing, wrong, or not allowed to do this."""

    code = "provider.auth"


class ContextLimitError(ProviderError):
    """More than the model's context limit."""

    code = "provider.overflow"


class QuotaError(ProviderError):
    """An account without money or allowance left."""

    code = "provider.quota"


class RateLimitError(ProviderError):
    """Too many requests or tokens for now, or an overloaded provider."""

    code = "provider.wait"


class RefusedError(ProviderError):
    """No failure of the machine: the answer was withheld."""

    code = "provider.refused"


class RequestSizeError(ProviderError):
    """Too large for the provider's pipes or rates, whatever the model accepts."""

    code = "provider.shrink"


class UnavailableError(ProviderError):
    """No connection, an error of the server, or a model that is not there."""

    code = "provider.unavailable"


class StoreError(BrimfulError):
    """The store failed; earlier commits are intact."""

    code = "store"


class CorruptError(StoreError):
    """Stored bytes fail their checksum; nothing wrong was served."""

    code = "store.corrupt"


class StoreAccessError(StoreError):
    """The server of a store refuses a role, its password, or what it wants to do."""

    code = "store.access"


class StoreUnreachableError(StoreError):
    """The server of a store can't be reached, or the connection was cut."""

    code = "store.unreachable"


class StoreBusyError(StoreError):
    """Another process holds the writer's place."""

    code = "store.busy"


class StoreFullError(StoreError):
    """The disk or its quota is full; the last commit stands."""

    code = "store.full"


class StoreVersionError(StoreError):
    """The file is not a store, or one that this version can't read."""

    code = "store.version"


class StoreRulesError(StoreError):
    """The store was made by other rules of cutting and ranking than this program's."""

    code = "store.rules"


_MOST_LISTED = 20  # choices, where a close one is named


def choose(value: str, choices: Iterable[str], *, what: str) -> str:
    """Return `value` if it is one of `choices`, else raise a ChoiceError with close names.

    >>> choose("greedy", ("greedy", "interleaved"), what="packing")
    'greedy'
    >>> choose("gredy", ("greedy", "interleaved"), what="packing")
    Traceback (most recent call last):
    brimful.errors.ChoiceError: unknown packing 'gredy'; did you mean 'greedy'? choices: greedy, interleaved
    """
    names = tuple(choices)
    if value in names:
        return value
    close = suggest(value, names)
    listed = "" if close and len(names) > _MOST_LISTED else f"choices: {', '.join(names)}"
    raise ChoiceError(f"unknown {what} {value!r}; {close}{listed}".rstrip())


def did_you_mean(close: Sequence[str]) -> str:
    """The question that offers these names, or nothing where there are none.

    >>> did_you_mean(["tea", "teas", "team"])
    "did you mean 'tea', 'teas' or 'team'? "
    """
    *first, last = map(repr, close or [""])
    return f"did you mean {', '.join(first)}{' or ' if first else ''}{last}? " if close else ""


def suggest(value: str, names: Iterable[str]) -> str:
    """The "did you mean" part of a message, or nothing when no name is close."""
    from difflib import get_close_matches

    close = get_close_matches(str(value).lower(), list(names), n=3, cutoff=0.6)
    return did_you_mean(close)


# `outcome_of` looks up `input.budget`, then `input`. Codes that begin with `request` are of HTTP alone.

USAGE = 2
PROVIDER = 4
STORAGE = 5


class _Outcome(NamedTuple):
    """An error as exit code, as HTTP status, and as a title for people."""

    exit: int
    status: int
    title: str


OUTCOMES: dict[str, _Outcome] = {
    "error": _Outcome(USAGE, 500, "Something went wrong"),
    "cancelled": _Outcome(USAGE, 504, "Stopped before it was finished"),
    "input": _Outcome(USAGE, 422, "A value can't be used"),
    "input.budget": _Outcome(USAGE, 422, "The budget can't be used"),
    "input.choice": _Outcome(USAGE, 422, "Not among the choices"),
    "input.document": _Outcome(USAGE, 422, "The document can't be used"),
    "input.format": _Outcome(USAGE, 422, "Not what this program writes"),
    "input.model": _Outcome(USAGE, 422, "No vocabulary is known for the model"),
    "input.score": _Outcome(USAGE, 422, "A score has no place in an order"),
    "input.secret": _Outcome(USAGE, 422, "The text holds a credential"),
    "input.setting": _Outcome(USAGE, 422, "A setting is out of its range"),
    "input.span": _Outcome(USAGE, 422, "The document has no such byte range"),
    "input.too_long": _Outcome(USAGE, 413, "The text is longer than allowed"),
    "endpoint": _Outcome(PROVIDER, 502, "A server did not answer as it should"),
    "missing": _Outcome(PROVIDER, 501, "Something must be installed first"),
    "provider": _Outcome(PROVIDER, 502, "The model's provider failed"),
    "provider.wait": _Outcome(PROVIDER, 503, "The model's provider asks for patience"),
    "store": _Outcome(STORAGE, 503, "The store can't do that now"),
    "store.access": _Outcome(STORAGE, 503, "The store's server refuses that"),
    "store.busy": _Outcome(STORAGE, 503, "Another process is writing"),
    "store.corrupt": _Outcome(STORAGE, 500, "Stored bytes are not what was written"),
    "store.full": _Outcome(STORAGE, 507, "No room is left on the disk"),
    "store.unreachable": _Outcome(STORAGE, 503, "The store's server can't be reached"),
    "store.rules": _Outcome(STORAGE, 500, "The store was made by other rules"),
    "store.version": _Outcome(STORAGE, 500, "The store can't be read by this version"),
    "request.json": _Outcome(USAGE, 400, "The body is not JSON that can be read safely"),
    "request.token": _Outcome(USAGE, 401, "A bearer token is needed"),
    "request.origin": _Outcome(USAGE, 403, "Requests from other sites are refused"),
    "request.not_found": _Outcome(USAGE, 404, "There is no such thing"),
    "request.method": _Outcome(USAGE, 405, "Not a method of this address"),
    "request.too_large": _Outcome(USAGE, 413, "The body is too large"),
    "request.media_type": _Outcome(USAGE, 415, "Only JSON is accepted"),
    "request.host": _Outcome(USAGE, 421, "The server is not called that"),
    "request.invalid": _Outcome(USAGE, 422, "A field or parameter can't be used"),
    "request.busy": _Outcome(USAGE, 503, "Too much at the moment"),
    "request.deadline": _Outcome(USAGE, 504, "It took too long"),
}


def outcome_of(code: str) -> _Outcome:
    """The outcome of an error code, or of the family that it belongs to.

    >>> outcome_of("provider.quota").status, outcome_of("input.budget").exit
    (502, 2)
    """
    return OUTCOMES.get(code) or OUTCOMES.get(code.partition(".")[0]) or OUTCOMES["error"]
