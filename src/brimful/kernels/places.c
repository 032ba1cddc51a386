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

/* Add `weight` to the count of each stretch for every position in it; only their starts need to ascend. */
EXPORT void count_inside(const int64_t *const *positions, const int64_t *sizes, int64_t segments, const int64_t *starts,
                         const int64_t *ends, const int64_t *bounds, int64_t weight, int64_t *counts)
{
    for (int64_t segment = 0; segment < segments; segment++) {
        int64_t first = 0, size = sizes[segment];
        for (int64_t stretch = bounds[segment]; stretch < bounds[segment + 1] && first < size; stretch++) {
            first = not_below(positions[segment], size, first, starts[stretch]);
            counts[stretch] += weight * (not_below(positions[segment], size, first, ends[stretch]) - first);
        }
    }
}

/* The headings above the units of a segment. Heading h is [starts[h], ends[h]), its ends ascend, and it stands under
 * parents[h], which is `heads` for none. A unit [begins[i], behind[i]), and these ascend, stands under the last heading
 * that ends before it if that belongs to its extent: bases ascend, and are where extents begin. A heading that begins
 * in the unit is its own, and it stands under that one's parent. `chains` gets `deepest` numbers a unit, the nearest
 * first: of each heading its place among those that are used, from `first` on; it holds -1 before, which stays where
 * there is none. `bits` has a bit for each heading, all 0 before. Returns how many are used, ascending in `used`, which
 * has room for as many as `chains`. */
EXPORT int64_t find_above(const int64_t *starts, const int64_t *ends, const int64_t *parents, int64_t heads,
                          const int64_t *bases, int64_t extents, const int64_t *begins, const int64_t *behind,
                          int64_t units, int64_t deepest, int64_t first, uint64_t *bits, int32_t *chains, int64_t *used)
{
    int64_t after = 0, extent = 0, count = 0;
    for (int64_t unit = 0; unit < units; unit++) {
        after = not_below(ends, heads, after, begins[unit] + 1);
        extent = not_below(bases, extents, extent, begins[unit] + 1);
        int64_t next = after < heads ? after : heads - 1, above = after - 1;
        if (starts[next] >= begins[unit] && starts[next] < behind[unit])
            above = parents[next];
        else if (above >= 0 && starts[above] < bases[extent ? extent - 1 : extents - 1])
            above = -1;
        for (int64_t step = 0; step < deepest && above >= 0 && above < heads; step++, above = parents[above]) {
            chains[unit * deepest + step] = (int32_t)above;
            bits[above >> 6] |= (uint64_t)1 << (above & 63);
        }
    }
    for (int64_t word = 0; word <= heads >> 6; word++)
        for (uint64_t left = bits[word]; left; left &= left - 1)
            used[count++] = word << 6 | __builtin_ctzll(left);
    for (int64_t at = 0; at < units * deepest; at++)
        if (chains[at] >= 0)
            chains[at] = (int32_t)(first + not_below(used, count, 0, chains[at]));
    return count;
}

/* How many of the headings above each unit are marked by a number above 0; every chain ends with the first -1. */
EXPORT void count_above(const int32_t *chains, int64_t units, int64_t deepest, const int64_t *marks, int64_t *counts)
{
    for (int64_t unit = 0; unit < units; unit++) {
        int64_t count = 0;
        for (int64_t step = 0; step < deepest && chains[unit * deepest + step] >= 0; step++)
            count += marks[chains[unit * deepest + step]] > 0;
        counts[unit] = count;
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
