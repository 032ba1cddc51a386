"""Nothing here may reach the network: importing this first switches telemetry and downloads off."""

import base64
import gzip
import os
import socket
from functools import cache
from importlib.resources import files

os.environ.update(
    ANONYMIZED_TELEMETRY="False",
    DO_NOT_TRACK="1",
    HAYSTACK_TELEMETRY_ENABLED="False",
    HF_HUB_OFFLINE="1",
    LANGCHAIN_TRACING_V2="false",
    LANGSMITH_TRACING="false",
    TQDM_DISABLE="1",
)

import tiktoken

O200K_PATTERN = "|".join(  # noqa: FLY002  (one line would be longer than a page)
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


def refuse(*_: object, **__: object) -> None:
    raise OSError("the benchmark does not use the network")


socket.socket.connect = refuse


@cache
def o200k() -> tiktoken.Encoding:
    """tiktoken's own o200k_base, from the vocabulary that the bpe-openai package carries."""
    packed = files("bpe_openai").joinpath("data/o200k_base.tiktoken.gz").read_bytes()
    lines = (line.split() for line in gzip.decompress(packed).splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding("o200k_base", pat_str=O200K_PATTERN, mergeable_ranks=ranks, special_tokens={})


def count(text: str) -> int:
    """The tokens of a final string, by an implementation that is not Brimful's."""
    return len(o200k().encode_ordinary(text))
