"""How is code that talks to models tested without one?

`FakeModel` answers in the same process; `FakeEmbedder` and `FakeReranker` read texts there. `ScriptedProvider` is a
server that really listens on loopback, speaks the dialects of OpenAI, Anthropic and Gemini, enforces a context limit,
and fails as scripted:

    with ScriptedProvider(limit=1_024, faults={2: Fault.status(429, headers={"Retry-After": "1"})}) as provider:
        digest = densify(text, provider.model())
        assert provider.overflows == 1
"""

from brimful.testing.model import FakeEmbedder, FakeModel, FakeReranker
from brimful.testing.provider import Call, Fault, ScriptedProvider, first_sentence, unanswered_address

__all__ = [
    "Call",
    "FakeEmbedder",
    "FakeModel",
    "FakeReranker",
    "Fault",
    "ScriptedProvider",
    "first_sentence",
    "unanswered_address",
]
