"""How is a server asked for vectors or scores?

Plain `http.client`: one request, no second try, no redirects, no proxy. A key is read from the environment at each
call, sent over https or to this machine only, and stands in no error and no repr.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from brimful.errors import EndpointError, SettingError

_OK = 200
_ANSWER_BYTES = 256 << 20
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Endpoint:
    """One path of a server, to which JSON is posted."""

    def __init__(self, base_url: str, path: str, *, key_variable: str, timeout_seconds: float) -> None:
        from urllib.parse import urlsplit  # this and `http` are loaded where a server is really asked

        try:
            parts = urlsplit(base_url)
            port = parts.port
        except ValueError:
            raise SettingError("the base URL of an endpoint looks like https://host/v1") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise SettingError("the base URL of an endpoint looks like https://host/v1")
        if parts.username is not None or parts.password is not None:
            raise SettingError(f"a base URL holds no password; put the key into the environment as {key_variable}")
        self.base = base_url.rstrip("/")
        self._host, self._port, self._secure = parts.hostname, port, parts.scheme == "https"
        self._path = parts.path.rstrip("/") + path
        self._key_variable, self._timeout = key_variable, timeout_seconds

    def post(self, payload: object) -> Any:
        """The JSON that the server answers; whatever else it does is an EndpointError."""
        status, answer = self._post(json.dumps(payload).encode())
        if status != _OK:
            raise EndpointError(f"{self.base} answered {status}{_reason(answer)}; look at its model name and key")
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise EndpointError(f"{self.base} answered with something else than JSON") from error

    def _post(self, body: bytes) -> tuple[int, bytes]:
        import http.client

        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key := os.environ.get(self._key_variable):
            if not self._secure and self._host not in _LOOPBACK:
                raise SettingError(f"{self.base} is not encrypted: use https, or unset {self._key_variable}")
            headers["Authorization"] = f"Bearer {key}"
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout)
        try:
            connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            answer = response.read(_ANSWER_BYTES + 1)
        # ValueError: a key that is no header value; its message would show it, so no cause is kept.
        except ValueError:
            raise SettingError(f"the key in {self._key_variable} can't be sent; look for blanks and newlines") from None
        except (OSError, http.client.HTTPException) as error:
            raise EndpointError(
                f"{self.base} did not answer within {self._timeout} s: {type(error).__name__}"
            ) from error
        finally:
            connection.close()
        if len(answer) > _ANSWER_BYTES:
            raise EndpointError(f"{self.base} answered more than {_ANSWER_BYTES} bytes; ask with smaller batches")
        return response.status, answer


def _reason(answer: bytes) -> str:
    """The server's own word for an error: a plain name only, since a longer message may repeat the key."""
    try:
        word = json.loads(answer)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f" ({word})" if isinstance(word, str) and re.fullmatch(r"[a-z_]{1,40}", word) else ""
