/* Which positions lie in which stretches and rows, over all segments in one call?
 *
 * Positions are a column for each segment. Stretches
 * [starts[i], ends[i]) ascend and do not overlap; those of segment s are bounds[s] to bounds[s + 1] - 1. A few of one
 * among many of the other are found by steps that double. */

#include "places.h"

/* Add `weight` to the count of each stretch for every position in it; these may overlap, where their ends ascend too. */
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

/* Add `weight`, which is above 0, to the count of a row; one that had none goes to the end of those that are `known`.
 * Returns how many these are. */
static inline int64_t add_to_row(int64_t row, int64_t weight, int64_t *counts, int64_t *known, int64_t count)
{
    if (!counts[row])
        known[count++] = row;
    counts[row] += weight;
    return count;
}

/* Add `weight` for every position to the count of the row that its extent belongs to: extents of a segment begin at its
 * bases, each reaches to the next, and no position stands before the first. Rows are below the length of `counts`; `known`
 * has room for as many, of which `count` are there already. Returns how many rows are known. */
int64_t add_to_rows(const column *positions, int64_t segments, const column *bases, const column *rows, int64_t weight,
                    int64_t *counts, int64_t *known, int64_t count)
{
    for (int64_t segment = 0; segment < segments; segment++) {
        const int32_t *values = positions[segment].values, *begins = bases[segment].values;
        int64_t size = positions[segment].size, extents = bases[segment].size, extent = 0;
        for (int64_t at = 0; at < size;) {
            extent = place_not_below(begins, extents, extent, (int64_t)values[at] + 1) - 1;
            int64_t next = extent + 1 < extents ? place_not_below(values, size, at, begins[extent + 1]) : size;
            if (extent >= 0)
                count = add_to_row(rows[segment].values[extent], weight * (next - at), counts, known, count);
            else
                extent = 0;
            at = next;
        }
    }
    return count;
}

/* The same for some rows themselves, `times` so often each; once where that is none. */
int64_t add_rows(const int64_t *rows, const int64_t *times, int64_t size, int64_t weight, int64_t *counts,
                 int64_t *known, int64_t count)
{
    for (int64_t at = 0; at < size; at++)
        count = add_to_row(rows[at], times ? weight * times[at] : weight, counts, known, count);
    return count;
}
