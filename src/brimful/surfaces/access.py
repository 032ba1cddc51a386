"""Who may ask a server over HTTP, MCP included, and for how much: tokens, loopback, the origin of a page."""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass, fields

from brimful import limits
from brimful.errors import SettingError

TOKEN_VARIABLE = "BRIMFUL_TOKEN"  # noqa: S105  (the name of a variable, not a token)
_MAKE_ONE = "python -c 'import secrets; print(secrets.token_urlsafe())'"


def check_token(token: str | None, *, host: str) -> None:
    """Refuse an address that strangers reach without a token, and a token that can be guessed or not be sent.

    >>> check_token(None, host="127.0.0.1")
    >>> check_token("tea", host="0.0.0.0")
    Traceback (most recent call last):
    brimful.errors.SettingError: token (BRIMFUL_TOKEN) has 3 characters; it needs 16 or more of ASCII without blanks...
    """
    if token is not None and (len(token) < limits.TOKEN_CHARACTERS or not all("!" <= each <= "~" for each in token)):
        raise SettingError(
            f"token ({TOKEN_VARIABLE}) has {len(token)} characters; it needs {limits.TOKEN_CHARACTERS} or more of "
            f"ASCII without blanks; make one: {_MAKE_ONE}"
        )
    if token is None and not is_loopback(host):
        raise SettingError(
            f"{host!r} can be reached from other machines, which needs a token ({TOKEN_VARIABLE}); give one, or stay "
            "on 127.0.0.1"
        )


def is_authorised(header: str, token: str) -> bool:
    """Whether an Authorization header holds the token, in constant time.

    >>> is_authorised("bearer tea-at-four-oclock", "tea-at-four-oclock"), is_authorised("Bearer tea", "tea-at-four")
    (True, False)
    """
    scheme, _, sent = header.partition(" ")
    is_same = hmac.compare_digest(sent.strip().encode("utf-8", "surrogateescape"), token.encode())
    return is_same and scheme.lower() == "bearer"


def is_own_origin(origin: str, host: str) -> bool:
    """Whether an Origin header is the origin of the Host header; nothing is parsed, so nothing can fail.

    >>> is_own_origin("http://localhost:8080", "localhost:8080"), is_own_origin("http://[::1", "localhost:8080")
    (True, False)
    """
    scheme, _, place = origin.lower().partition("://")
    return scheme in ("http", "https") and bool(place) and place == host.lower()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it.

    >>> is_loopback("localhost"), is_loopback("[::1]"), is_loopback("127.8.8.8"), is_loopback("example.org")
    (True, True, True, False)
    """
    address = address_of(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address of a host, None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


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
    if plain in ("localhost", settings.host.lower()) or plain in (host.lower() for host in settings.hosts):
        return True
    address = address_of(plain)
    return address is not None and (address.is_loopback or not is_loopback(settings.host))
