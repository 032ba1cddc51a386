"""How long does it take to count tokens: of a whole text, of a slice of it, of a sum?"""

import random
from collections.abc import Sequence

from brimful import tokens_for
from core.clock import Contender, race
from core.offline import o200k
from core.report import Table, percent, times
from core.texts import SEED, Text, pieces_of

SLICES = (400, 4_000, 40_000)
CHECKS = 1_000
SHARE = 8
"""Every eighth text is enough to count."""


def measure(texts: Sequence[Text]) -> tuple[list[Table], list[str]]:
    """Whole texts, slices and sums, with tiktoken beside them."""
    counter, encode = tokens_for("o200k_base"), o200k().encode_ordinary
    some = texts[::SHARE]
    strings = [text.string for text in some]
    size = sum(len(text.content) for text in some)
    whole = race(
        {
            "count": Contender(lambda _: sum(map(counter.count, strings))),
            "prepare": Contender(lambda _: [counter.prepare(string) for string in strings]),
            "tiktoken": Contender(lambda _: sum(len(encode(string)) for string in strings)),
        }
    )
    table = Table("5. Counting o200k tokens", ("", "Brimful", "+-", "tiktoken", "+-", "tiktoken vs Brimful"))
    peer = whole["tiktoken"]
    for name, what in (("count", "whole texts, count"), ("prepare", "whole texts, prepare")):
        ours = whole[name]
        cells = (
            f"{size / ours.median / 1e6:.1f} MB/s",
            percent(ours.spread),
            f"{size / peer.median / 1e6:.1f} MB/s",
            percent(peer.spread),
        )
        table.add(
            what,
            *cells,
            times(peer.median / ours.median),
            brimful=ours.as_json(),
            tiktoken=peer.as_json(),
            bytes=size,
        )
    wrong = _slices(table, some, whole["prepare"].result)
    wrong += _sums(table, texts)
    table.notes.append(
        "A slice of a prepared text counts only its ends; tiktoken is given the slice as a string, cut outside "
        "the clock. A sum adds a measured text to one measured before; tiktoken counts the joined text."
    )
    table.notes.append(
        f"Counts that differ from tiktoken's, of {CHECKS * (len(SLICES) + 2):,} slices and sums: {wrong}."
    )
    differ = whole["count"].result != peer.result
    summary = [f"Counts against tiktoken: {'DIFFERENT' if differ or wrong else 'the same'}"]
    return [table], summary


def _slices(table: Table, texts: Sequence[Text], prepared: Sequence[object]) -> int:
    encode, rng, wrong = o200k().encode_ordinary, random.Random(SEED), 0
    for length in SLICES:
        long = [(text, ready) for text, ready in zip(texts, prepared, strict=True) if len(text.content) > 2 * length]
        cuts = []
        while len(cuts) < CHECKS:
            text, ready = long[rng.randrange(len(long))]
            start = rng.randrange(len(text.content) - length)
            try:
                cuts.append((ready, start, text.content[start : start + length].decode()))
            except UnicodeDecodeError:
                continue
        timings = race(
            {
                "ours": Contender(
                    lambda _, cuts=cuts, length=length: [ready.count(start, start + length) for ready, start, _ in cuts]
                ),
                "tiktoken": Contender(lambda _, cuts=cuts: [len(encode(string)) for _, _, string in cuts]),
            }
        )
        wrong += _row(table, f"slices of {length:,} bytes", timings)
    return wrong


def _sums(table: Table, texts: Sequence[Text]) -> int:
    counter, encode = tokens_for("o200k_base"), o200k().encode_ordinary
    strings = [piece.string for piece in pieces_of(texts, 2 * CHECKS)]
    left, right = strings[:CHECKS], strings[CHECKS:]
    measured = race(
        {
            "ours": Contender(lambda _: [counter.measure(string) for string in left]),
            "tiktoken": Contender(lambda _: [len(encode(string)) for string in left]),
        }
    )
    one, other = measured["ours"].result, [counter.measure(string) for string in right]
    measured["ours"].result = [cost.tokens for cost in one]
    wrong = _row(table, "measure 400 bytes", measured)
    pairs = list(zip(one, other, strict=True))
    joined = [a + b for a, b in zip(left, right, strict=True)]
    summed = race(
        {
            "ours": Contender(lambda _: [(a + b).tokens for a, b in pairs]),
            "tiktoken": Contender(lambda _: [len(encode(string)) for string in joined]),
        }
    )
    return wrong + _row(table, "add 400 to 400 bytes", summed)


def _row(table: Table, name: str, timings: dict) -> int:
    ours, peer = timings["ours"], timings["tiktoken"]
    cells = (
        f"{ours.median / CHECKS * 1e6:.1f} us",
        percent(ours.spread),
        f"{peer.median / CHECKS * 1e6:.1f} us",
        percent(peer.spread),
    )
    table.add(name, *cells, times(peer.median / ours.median), brimful=ours.as_json(), tiktoken=peer.as_json())
    return sum(a != b for a, b in zip(ours.result, peer.result, strict=True))
