"""Who may ask a server, over HTTP and MCP: tokens, loopback, the origin of a page."""

from __future__ import annotations

import hmac
import ipaddress

from brimful.errors import SettingError
from brimful.limits import TOKEN_CHARACTERS

TOKEN_VARIABLE = "BRIMFUL_TOKEN"  # noqa: S105  (the name of a variable, not a token)
_MAKE_ONE = "python -c 'import secrets; print(secrets.token_urlsafe())'"


def check_token(token: str | None, *, host: str) -> None:
    """Refuse an address that strangers reach without a token, and a token that can be guessed or not be sent.

    >>> check_token(None, host="127.0.0.1")
    >>> check_token("tea", host="0.0.0.0")
    Traceback (most recent call last):
    brimful.errors.SettingError: token (BRIMFUL_TOKEN) has 3 characters; it needs 16 or more of ASCII without blanks...
    """
    if token is not None and (len(token) < TOKEN_CHARACTERS or not all("!" <= each <= "~" for each in token)):
        raise SettingError(
            f"token ({TOKEN_VARIABLE}) has {len(token)} characters; it needs {TOKEN_CHARACTERS} or more of ASCII "
            f"without blanks; make one: {_MAKE_ONE}"
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
