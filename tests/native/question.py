"""What a question finds, in NumPy: the oracle of question.c."""

import numpy as np

MILLION = 1_000_000


def around(values, firsts, lasts, reach):
    """The sum of each value and its neighbours, within their run."""
    at = np.arange(len(values))
    summed = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    return summed[np.minimum(at + reach, lasts) + 1] - summed[np.maximum(at - reach, firsts)]


def saturated(counts, sizes, k1, b):
    """BM25's measure of so many thousandths in texts of such sizes."""
    times = counts / 1_000
    return times * (k1 + 1) / (times + k1 * (1 - b + b * sizes))


def to_one(scores):
    """The best is worth one."""
    most = float(scores.max(initial=0.0))
    return scores / most if most > 0 else scores


def scale(counts, told, runs, sizes, worths, *, reach, unit_bytes, k1, b):
    """BM25 over the surroundings, times the root of the share of words that they have; the best is worth one."""
    size = around(sizes, *runs, reach) / unit_bytes
    scores, covered, whole = np.zeros(len(size)), np.zeros(len(size)), 0.0
    for worth, count, heading in zip(worths, counts, told, strict=True):
        have = around(count, *runs, reach) + heading
        scores += worth * saturated(have, size, k1, b)
        covered += worth * (have > 0)
        whole += worth
    return to_one(scores * np.sqrt(covered / whole) if whole else scores)


def best(ranks, rows, offsets, most):
    """Which are the best so many, by path and place where ranks are equal."""
    return np.lexsort((offsets, rows, -ranks))[:most]


def blocks(
    ordered,
    words,
    named,
    block_starts,
    block_rows,
    block_offsets,
    *,
    documents,
    document,
    most,
    share,
    allowed,
    records,
):
    """The blocks that have most of the words, ascending; of records one of `share` at most while others have any."""
    worth = np.zeros(len(block_rows))
    firsts = np.cumsum([0, *map(len, block_starts)])[:-1]
    for word, gain in ordered:
        if word in named:
            worth[named[word]] += gain
            continue
        for segment, (first, begin) in enumerate(zip(firsts, block_starts, strict=True)):
            column = np.concatenate([columns[segment] for _, columns in words[word]])
            at = np.unique(begin.searchsorted(column, side="right") - 1)
            worth[first + at[at >= 0]] += gain
    chosen = np.flatnonzero(worth != 0)
    chosen = chosen if allowed is None else chosen[allowed[block_rows[chosen]]]
    if len(chosen) <= most:
        return chosen
    rows = block_rows[chosen]
    ranks = np.rint((worth[chosen] / worth.max() + document * documents[rows]) * MILLION).astype(np.int64)
    taken, is_record = best(ranks, rows, block_offsets[chosen], most), records[rows]
    others = np.flatnonzero(~is_record)
    room = max(most // share, most - len(others)) if share else most
    if np.count_nonzero(is_record[taken]) > room:
        parts = ((np.flatnonzero(is_record), room), (others, most - room))
        taken = np.concatenate(
            [each[best(ranks[each], rows[each], block_offsets[chosen][each], count)] for each, count in parts]
        )
    return np.sort(chosen[taken])


def chains(starts, ends, parents, bases, begins, behind, deepest):
    """The headings above units, the nearest first; their number for none."""
    parents = np.append(parents, len(starts))
    base = bases[bases.searchsorted(begins, side="right") - 1]
    lowest = ends.searchsorted(begins, side="right") - 1
    chain = np.where((lowest >= 0) & (starts[lowest] >= base), lowest, len(starts))
    after = np.minimum(lowest + 1, len(starts) - 1)
    is_own = (starts[after] >= begins) & (starts[after] < behind)
    found = [np.where(is_own, parents[after], chain)]
    for _ in range(deepest - 1):
        found.append(parents[found[-1]])
    return np.array(found).T.reshape(-1, deepest)
