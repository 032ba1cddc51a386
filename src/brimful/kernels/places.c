/* Which positions lie in which stretches, over all segments in one call?
 *
 * Positions are columns, one for each segment: positions[s] has sizes[s] of them, ascending. Stretches
 * [starts[i], ends[i]) ascend and do not overlap; those of segment s are bounds[s] to bounds[s + 1] - 1. A few of one
 * among many of the other are found by steps that double. */

#include "kernels.h"

/* The first place from `from` on whose value is not below `value`. */
static inline int64_t not_below(const int64_t *column, int64_t size, int64_t from, int64_t value)
{
    if (from >= size || column[from] >= value)
        return from;
    int64_t low = from, step = 1;
    while (step < size - low && column[low + step] < value) {
        low += step;
        step *= 2;
    }
    int64_t high = step < size - low ? low + step : size;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (column[middle] < value)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* How many positions lie in each stretch; only their starts need to ascend. */
EXPORT void count_inside(const int64_t *const *positions, const int64_t *sizes, int64_t segments, const int64_t *starts,
                         const int64_t *ends, const int64_t *bounds, int64_t *counts)
{
    for (int64_t segment = 0; segment < segments; segment++) {
        int64_t first = 0;
        for (int64_t stretch = bounds[segment]; stretch < bounds[segment + 1]; stretch++) {
            first = not_below(positions[segment], sizes[segment], first, starts[stretch]);
            counts[stretch] = not_below(positions[segment], sizes[segment], first, ends[stretch]) - first;
        }
    }
}

/* The positions that lie in a stretch, segment after segment, with the number of their stretch; `out` and `stretches`
 * have room for all. `behind` gets how many there are up to the end of each segment. */
EXPORT void find_inside(const int64_t *const *positions, const int64_t *sizes, int64_t segments, const int64_t *starts,
                        const int64_t *ends, const int64_t *bounds, int64_t *out, int64_t *stretches, int64_t *behind)
{
    int64_t count = 0;
    for (int64_t segment = 0; segment < segments; segment++) {
        const int64_t *column = positions[segment];
        int64_t size = sizes[segment], stretch = bounds[segment], last = bounds[segment + 1];
        for (int64_t at = 0; at < size && stretch < last; stretch++) {
            stretch = not_below(ends, last, stretch, column[at] + 1);
            if (stretch >= last)
                break;
            at = not_below(column, size, at, starts[stretch]);
            for (; at < size && column[at] < ends[stretch]; at++) {
                out[count] = column[at];
                stretches[count++] = stretch;
            }
        }
        behind[segment] = count;
    }
}

/* Add `weight` for every position to the count of the row that its extent belongs to: extent i of a segment begins at
 * bases[s][i] and reaches to the next, and no position stands before the first. Rows are below the length of `counts`. */
EXPORT void add_to_rows(const int64_t *const *positions, const int64_t *sizes, int64_t segments,
                        const int64_t *const *bases, const int64_t *const *rows, const int64_t *extents, int64_t weight,
                        int64_t *counts)
{
    for (int64_t segment = 0; segment < segments; segment++) {
        const int64_t *column = positions[segment];
        int64_t extent = 0;
        for (int64_t at = 0; at < sizes[segment];) {
            extent = not_below(bases[segment], extents[segment], extent, column[at] + 1) - 1;
            int64_t next = sizes[segment];
            if (extent + 1 < extents[segment])
                next = not_below(column, sizes[segment], at, bases[segment][extent + 1]);
            if (extent >= 0)
                counts[rows[segment][extent]] += weight * (next - at);
            else
                extent = 0;
            at = next;
        }
    }
}

/* The blocks that have any position, ascending: block i of a segment begins at starts[s][i] and reaches to the next; its
 * number is firsts[s] + i. `found` has room for as many as there are positions. Returns how many. */
EXPORT int64_t find_blocks(const int64_t *const *positions, const int64_t *sizes, int64_t segments,
                           const int64_t *const *starts, const int64_t *blocks, const int64_t *firsts, int64_t *found)
{
    int64_t count = 0;
    for (int64_t segment = 0; segment < segments; segment++) {
        const int64_t *column = positions[segment];
        int64_t block = 0;
        for (int64_t at = 0; at < sizes[segment];) {
            block = not_below(starts[segment], blocks[segment], block, column[at] + 1) - 1;
            at = block + 1 < blocks[segment] ? not_below(column, sizes[segment], at, starts[segment][block + 1])
                                             : sizes[segment];
            if (block >= 0)
                found[count++] = firsts[segment] + block;
            else
                block = 0;
        }
    }
    return count;
}
