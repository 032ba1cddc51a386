"""How much may a request ask for, and who may ask?"""

from __future__ import annotations

from dataclasses import dataclass, fields

from brimful import limits
from brimful.errors import SettingError
from brimful.surfaces.access import address_of, check_token, is_loopback


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Who may ask a server, and for how much (brimful.limits says why); loopback alone needs no token.

    >>> ServeSettings(host="0.0.0.0")
    Traceback (most recent call last):
    brimful.errors.SettingError: '0.0.0.0' can be reached from other machines, which needs a token ...
    """

    host: str = "127.0.0.1"
    token: str | None = None
    hosts: tuple[str, ...] = ()  # other names that the server is called by
    densify_models: tuple[str, ...] = ("extractive:",)  # a name can hold an address, and costs: none but these
    body_bytes: int = limits.BODY_BYTES
    budget_tokens: int = limits.BUDGET_TOKENS
    question_characters: int = limits.QUESTION_CHARACTERS
    results: int = limits.RESULTS
    page_items: int = limits.PAGE_ITEMS
    passage_bytes: int = limits.PASSAGE_BYTES
    nesting: int = limits.NESTING
    seconds: float = limits.REQUEST_SECONDS
    densify_seconds: float = limits.DENSIFY_SECONDS
    ready_seconds: float = limits.READY_SECONDS
    workers: int = limits.WORKERS
    waiting: int = limits.WAITING
    runs: int = limits.RUNS
    waiting_runs: int = limits.WAITING_RUNS
    receipts: int = limits.RECEIPTS

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, int | float) and not (isinstance(value, int | float) and value > 0):
                raise SettingError(f"{field.name} is {value!r}; it must be more than 0")
        check_token(self.token, host=self.host)


def is_served(name: str, settings: ServeSettings) -> bool:
    """Whether a Host header names this server: what any other site's name was bent to here is refused.

    A number can't be bent by a DNS server, so beyond loopback every address of this machine is fine.
    """
    plain = name.lower().rstrip(".")
    if plain in ("localhost", settings.host.lower()) or plain in (each.lower() for each in settings.hosts):
        return True
    address = address_of(plain)
    return address is not None and (address.is_loopback or not is_loopback(settings.host))
