"""How much may a request ask for, and who may ask?"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, fields

from brimful.errors import InputError, SettingError


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The limits of a server; loopback alone needs no token.

    >>> ServeSettings(host="0.0.0.0")
    Traceback (most recent call last):
    brimful.errors.InputError: '0.0.0.0' can be reached from other machines, which needs a token; ...
    """

    host: str = "127.0.0.1"
    token: str | None = None
    hosts: tuple[str, ...] = ()  # other names that the server is called by
    densify_models: tuple[str, ...] = ("extractive:",)  # a name can hold an address, and costs: none but these
    body_bytes: int = 8 << 20
    budget_tokens: int = 1_000_000
    question_characters: int = 20_000
    results: int = 200
    page_items: int = 1_000
    passage_bytes: int = 1 << 20
    nesting: int = 64
    seconds: float = 30.0
    densify_seconds: float = 600.0
    workers: int = 4
    waiting: int = 64
    receipts: int = 512

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, int | float) and not (isinstance(value, int | float) and value > 0):
                raise SettingError(f"{field.name} is {value!r}; it must be more than 0")
        if self.token is not None and (len(self.token) < _LEAST_TOKEN or not _is_plain(self.token)):
            raise InputError(
                f"a token needs {_LEAST_TOKEN} or more characters of ASCII without blanks, this one has "
                f"{len(self.token)}; make one: python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host!r} can be reached from other machines, which needs a token; give one, or stay on 127.0.0.1"
            )


_LEAST_TOKEN = 16


def _is_plain(token: str) -> bool:
    return all("!" <= character <= "~" for character in token)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it.

    >>> is_loopback("localhost"), is_loopback("[::1]"), is_loopback("127.8.8.8"), is_loopback("example.org")
    (True, True, True, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_served(name: str, settings: ServeSettings) -> bool:
    """Whether a Host header names this server: what any other site's name was bent to here is refused.

    A number can't be bent by a DNS server, so beyond loopback every address of this machine is fine.
    """
    plain = name.lower().rstrip(".")
    if plain in ("localhost", settings.host.lower()) or plain in (each.lower() for each in settings.hosts):
        return True
    address = _address(plain)
    return address is not None and (address.is_loopback or not is_loopback(settings.host))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
