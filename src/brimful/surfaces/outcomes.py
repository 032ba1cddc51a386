"""Which exit code, HTTP status and title does an outcome have? One table for all surfaces, by error code.

`input.budget` is looked up by itself, then as `input`. Codes that begin with `request` are of HTTP alone.
"""

from __future__ import annotations

from typing import NamedTuple

USAGE = 2
PROVIDER = 4
STORAGE = 5


class Outcome(NamedTuple):
    """What an error is to a program that started us, to one that asked over HTTP, and to a person."""

    exit: int
    status: int
    title: str


OUTCOMES: dict[str, Outcome] = {
    "error": Outcome(USAGE, 500, "Something went wrong"),
    "cancelled": Outcome(USAGE, 504, "Stopped before it was finished"),
    "input": Outcome(USAGE, 422, "A value can't be used"),
    "input.budget": Outcome(USAGE, 422, "The budget can't hold anything"),
    "input.choice": Outcome(USAGE, 422, "Not among the choices"),
    "input.document": Outcome(USAGE, 422, "The document can't be used"),
    "input.format": Outcome(USAGE, 422, "Not what this program writes"),
    "input.model": Outcome(USAGE, 422, "No vocabulary is known for the model"),
    "input.score": Outcome(USAGE, 422, "A score has no place in an order"),
    "input.secret": Outcome(USAGE, 422, "The text holds a credential"),
    "input.setting": Outcome(USAGE, 422, "A setting is out of its range"),
    "input.span": Outcome(USAGE, 422, "The document has no such byte range"),
    "input.too_long": Outcome(USAGE, 413, "The text is longer than allowed"),
    "endpoint": Outcome(PROVIDER, 502, "A server did not answer as it should"),
    "missing": Outcome(PROVIDER, 501, "Something must be installed first"),
    "provider": Outcome(PROVIDER, 502, "The model's provider failed"),
    "provider.wait": Outcome(PROVIDER, 503, "The model's provider asks for patience"),
    "store": Outcome(STORAGE, 503, "The store can't do that now"),
    "store.access": Outcome(STORAGE, 503, "The store's server refuses that"),
    "store.busy": Outcome(STORAGE, 503, "Another process is writing"),
    "store.corrupt": Outcome(STORAGE, 500, "Stored bytes are not what was written"),
    "store.full": Outcome(STORAGE, 507, "No room is left on the disk"),
    "store.helper": Outcome(STORAGE, 503, "A process that took part of the work has ended"),
    "store.shard_down": Outcome(STORAGE, 503, "A shard can't be reached"),
    "store.unreachable": Outcome(STORAGE, 503, "The store's server can't be reached"),
    "store.version": Outcome(STORAGE, 500, "The store can't be read by this version"),
    "request.json": Outcome(USAGE, 400, "The body is not JSON that can be read safely"),
    "request.token": Outcome(USAGE, 401, "A bearer token is needed"),
    "request.origin": Outcome(USAGE, 403, "Requests from other sites are refused"),
    "request.not_found": Outcome(USAGE, 404, "There is no such thing"),
    "request.method": Outcome(USAGE, 405, "Not a method of this address"),
    "request.too_large": Outcome(USAGE, 413, "The body is too large"),
    "request.media_type": Outcome(USAGE, 415, "Only JSON is accepted"),
    "request.host": Outcome(USAGE, 421, "The server is not called that"),
    "request.invalid": Outcome(USAGE, 422, "A field or parameter can't be used"),
    "request.busy": Outcome(USAGE, 503, "Too much at the moment"),
    "request.deadline": Outcome(USAGE, 504, "It took too long"),
}


def outcome_of(code: str) -> Outcome:
    """The outcome of an error code, or of the family that it belongs to.

    >>> outcome_of("provider.quota").status, outcome_of("input.budget").exit
    (502, 2)
    """
    return OUTCOMES.get(code) or OUTCOMES.get(code.partition(".")[0]) or OUTCOMES["error"]
