"""Apple's Foundation Models, on a Mac that has them."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import platform
from typing import Any

from brimful.densify.model import Completion, Stop, failure
from brimful.densify.providers.remote import UNKNOWN_COUNTER
from brimful.errors import BrimfulError, MissingPartError
from brimful.text.tokens import TokenCounter

_LIMIT_TOKENS = 4_096


class AppleModel:
    """The system's own model, through `apple_fm_sdk`; small, so a text is cut before the first call (DENS)."""

    name = "apple:"
    endpoint = "apple:"
    small = True
    counter: TokenCounter = UNKNOWN_COUNTER

    def __init__(self, *, limit: int | None = None) -> None:
        self._told = limit

    def __repr__(self) -> str:
        return "AppleModel()"

    def limit(self) -> int | None:
        """What the user said, or the limit that Apple documents."""
        return self._told or _LIMIT_TOKENS

    def count(self, text: str) -> int:
        """The tokens of a text, estimated."""
        return self.counter.count(text)

    def complete(self, prompt: str, *, max_output_tokens: int, stop: Stop) -> Completion:
        """One session, one answer; the system bounds the output by itself."""
        del max_output_tokens
        stop.check()
        sdk = _sdk()
        try:
            answer = asyncio.run(sdk.LanguageModelSession().respond(prompt))
        except BrimfulError:
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's errors share no root that is there on other systems
            raise failure(self.name, None, error, said=f"{type(error).__name__}: {error}"[:300]) from None
        stop.check()
        return Completion(str(getattr(answer, "content", answer)))


def _sdk() -> Any:
    system = platform.system()
    if system != "Darwin":
        raise MissingPartError(
            f"apple: runs on macOS 26 and later, this is {system}; take extractive:, or a local server "
            "(http://localhost:8080/v1#name)"
        )
    if importlib.util.find_spec("apple_fm_sdk") is None:
        raise MissingPartError("apple: needs Apple's Python package; pip install apple-fm-sdk")
    return importlib.import_module("apple_fm_sdk")
