"""Token counts of another program, for tests that look at what is sent."""

import warnings
from functools import cache


@cache
def _encoding():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # inside bpe-openai
        import bpe_openai

        return bpe_openai.get_encoding("o200k_base")


def tokens(text):
    """How many tokens of o200k_base a text has."""
    return len(_encoding().encode_ordinary(text))
