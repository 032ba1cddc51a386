/* Which positions lie in which stretches and rows, and what are units worth for them? Over all segments in one call.
 *
 * Positions are a column for each segment, ascending. A few of one among many of the other are found by steps that double. */

#include "shared.h"

#include <math.h>

/* The first place from `from` on whose value is not below `value`. For numbers of eight bytes, and for places of four. */
#define NOT_BELOW(name, number)                                                                                        \
    static inline int64_t name(const number *column, int64_t size, int64_t from, int64_t value)                        \
    {                                                                                                                  \
        if (from >= size || column[from] >= value)                                                                     \
            return from;                                                                                               \
        int64_t low = from, step = 1;                                                                                  \
        while (step < size - low && column[low + step] < value) {                                                      \
            low += step;                                                                                               \
            step *= 2;                                                                                                 \
        }                                                                                                              \
        int64_t high = step < size - low ? low + step : size;                                                          \
        while (high - low > 1) {                                                                                       \
            int64_t middle = low + (high - low) / 2;                                                                   \
            if (column[middle] < value)                                                                                \
                low = middle;                                                                                          \
            else                                                                                                       \
                high = middle;                                                                                         \
        }                                                                                                              \
        return high;                                                                                                   \
    }

NOT_BELOW(not_below, int64_t)
NOT_BELOW(place_not_below, int32_t)

/* Add `weight` to the count of each stretch [starts[i], ends[i]) for every position in it. Those of segment s are bounds[s]
 * to bounds[s + 1] - 1; they ascend, and may overlap where their ends ascend too. */
void count_inside(const column *positions, int64_t segments, const int64_t *starts, const int64_t *ends,
                  const int64_t *bounds, int64_t weight, int64_t *counts)
{
    for (int64_t segment = 0; segment < segments; segment++) {
        const int32_t *values = positions[segment].values;
        int64_t size = positions[segment].size, stretch = bounds[segment], last = bounds[segment + 1];
        for (int64_t at = 0; at < size && stretch < last; stretch++) {
            stretch = not_below(ends, last, stretch, (int64_t)values[at] + 1);
            if (stretch >= last)
                break;
            at = place_not_below(values, size, at, starts[stretch]);
            int64_t next = place_not_below(values, size, at, ends[stretch]);
            counts[stretch] += weight * (next - at);
            if (stretch + 1 == last || starts[stretch + 1] >= ends[stretch])
                at = next;
        }
    }
}

/* Add `weight` for every position to the count of the row that its extent belongs to: extents of a segment begin at its
 * bases, and each reaches to the next. Rows are below the length of `counts`. */
void add_to_rows(const column *positions, int64_t segments, const column *bases, const column *rows, int64_t weight,
                 int64_t *counts)
{
    for (int64_t segment = 0; segment < segments; segment++) {
        const int32_t *values = positions[segment].values, *begins = bases[segment].values;
        int64_t size = positions[segment].size, extents = bases[segment].size, extent = 0;
        for (int64_t at = 0; at < size;) {
            extent = place_not_below(begins, extents, extent, (int64_t)values[at] + 1) - 1;
            int64_t next = extent + 1 < extents ? place_not_below(values, size, at, begins[extent + 1]) : size;
            if (extent >= 0)
                counts[rows[segment].values[extent]] += weight * (next - at);
            else
                extent = 0;
            at = next;
        }
    }
}

/* The sums of values over the surroundings of each unit from `first` to `last`, which are a run. */
static inline void sum_run(const int64_t *values, int64_t first, int64_t last, int64_t reach, int64_t *sums)
{
    int64_t sum = 0, behind = first;
    for (int64_t at = first; at <= last; at++) {
        int64_t high = at + reach < last ? at + reach : last;
        for (; behind <= high; behind++)
            sum += values[behind];
        if (at - reach > first)
            sum -= values[at - reach - 1];
        sums[at] = sum;
    }
}

/* What the surroundings of each unit are worth by BM25, more where they have more of the words, in `scores`, and how much
 * of the question they cover, in `covers`: both are zeros before. `sums`, `damped` and `covered` have room for a number a
 * unit. Each product and sum is rounded by itself, in this order (`building` asks for that). */
void weigh_scale(const weighing *asked, int64_t *sums, double *damped, double *covered, double *covers, double *scores)
{
    double k1 = asked->k1, k1_more = k1 + 1, b = asked->b, rest = 1 - b, whole = 0.0;
    int64_t units = asked->units, reach = asked->reach;
    const int64_t *counts = asked->counts, *told = asked->told, *lasts = asked->lasts;
    for (int64_t start = 0; start < units; start = lasts[start] + 1)
        sum_run(asked->sizes, start, lasts[start], reach, sums);
    for (int64_t at = 0; at < units; at++) {
        damped[at] = k1 * (rest + b * ((double)sums[at] / asked->unit_bytes));
        covered[at] = 0.0;
    }
    for (int64_t word = 0; word < asked->words; word++, counts += units, told += units) {
        whole += asked->worths[word];
        for (int64_t start = 0; start < units; start = lasts[start] + 1) {
            int64_t any = 0;
            for (int64_t at = start; at <= lasts[start]; at++)
                any |= counts[at] | told[at];
            if (!any)
                continue; /* of a long question most runs have a few words */
            sum_run(counts, start, lasts[start], reach, sums);
            for (int64_t at = start; at <= lasts[start]; at++) {
                if (!(sums[at] + told[at]))
                    continue;
                double times = (double)(sums[at] + told[at]) / 1000.0;
                scores[at] += asked->worths[word] * (times * k1_more / (times + damped[at]));
                covered[at] += asked->worths[word];
                covers[at] += asked->covering[word];
            }
        }
    }
    for (int64_t at = 0; whole != 0.0 && at < units; at++)
        if (covered[at] != 0.0) /* what has no word is worth nothing already */
            scores[at] *= sqrt(covered[at] / whole);
}
