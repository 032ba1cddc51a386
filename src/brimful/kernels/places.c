/* Which positions lie in which stretches, over all segments in one call?
 *
 * Positions are columns, one for each segment: positions[s] has sizes[s] of them, ascending. Stretches
 * [starts[i], ends[i]) ascend and do not overlap; those of segment s are bounds[s] to bounds[s + 1] - 1. A few of one
 * among many of the other are found by steps that double. */

#include "places.h"

/* Add `weight` to the count of each stretch for every position in it; these may overlap, where their ends ascend too. */
EXPORT void count_inside(const int64_t *const *positions, const int64_t *sizes, int64_t segments, const int64_t *starts,
                         const int64_t *ends, const int64_t *bounds, int64_t weight, int64_t *counts)
{
    for (int64_t segment = 0; segment < segments; segment++) {
        const int64_t *column = positions[segment];
        int64_t size = sizes[segment], stretch = bounds[segment], last = bounds[segment + 1];
        for (int64_t at = 0; at < size && stretch < last; stretch++) {
            stretch = not_below(ends, last, stretch, column[at] + 1);
            if (stretch >= last)
                break;
            at = not_below(column, size, at, starts[stretch]);
            int64_t next = not_below(column, size, at, ends[stretch]);
            counts[stretch] += weight * (next - at);
            if (stretch + 1 == last || starts[stretch + 1] >= ends[stretch])
                at = next;
        }
    }
}

/* The headings above units: those of segment s are bounds[s] to bounds[s + 1] - 1. A unit [begins[i], behind[i]), and
 * these ascend in a segment, stands under the last heading that ends before it if that belongs to its extent. A heading
 * that begins in the unit is its own, and it stands under that one's parent. `chains` gets `deepest` numbers a unit, the
 * nearest first, and -1 where there is none: of each heading its place among those that are used. `starts` and `ends` get
 * where these lie, ascending, `used` (one more than segments) how many of them there are before each segment; they have
 * room for as many as `chains` has, or as there are headings of segments that have units. `bits` has a bit for each
 * heading of the segment with most, and a word more, all 0; `ranks` a number for each word. */
EXPORT void find_above(const tree *trees, int64_t segments, const int64_t *begins, const int64_t *behind,
                       const int64_t *bounds, int64_t deepest, uint64_t *bits, int64_t *ranks, int32_t *chains,
                       int64_t *starts, int64_t *ends, int64_t *used)
{
    int64_t count = 0;
    for (int64_t segment = 0; segment < segments; segment++) {
        const tree *own = trees + segment;
        int64_t heads = own->heads, after = 0, extent = 0, before = -1;
        used[segment] = count;
        for (int64_t at = bounds[segment] * deepest; at < bounds[segment + 1] * deepest; at++)
            chains[at] = -1;
        if (!heads || bounds[segment] == bounds[segment + 1])
            continue;
        for (int64_t unit = bounds[segment]; unit < bounds[segment + 1]; unit++) {
            after = not_below(own->ends, heads, after, begins[unit] + 1);
            extent = not_below(own->bases, own->extents, extent, begins[unit] + 1);
            int64_t next = after < heads ? after : heads - 1, above = after - 1;
            if (own->starts[next] >= begins[unit] && own->starts[next] < behind[unit])
                above = own->parents[next];
            else if (above >= 0 && own->starts[above] < own->bases[extent ? extent - 1 : own->extents - 1])
                above = -1;
            if (above < 0 || above >= heads) {
                before = -1;
                continue;
            }
            if (above == before) { /* as it is for most */
                memcpy(chains + unit * deepest, chains + (unit - 1) * deepest, (size_t)deepest * sizeof *chains);
                continue;
            }
            before = above;
            for (int64_t step = 0; step < deepest && above >= 0 && above < heads; step++, above = own->parents[above]) {
                chains[unit * deepest + step] = (int32_t)above;
                bits[above >> 6] |= (uint64_t)1 << (above & 63);
            }
        }
        for (int64_t word = 0; word <= heads >> 6; word++) {
            ranks[word] = count;
            for (uint64_t left = bits[word]; left; left &= left - 1) {
                int64_t head = word << 6 | __builtin_ctzll(left);
                starts[count] = own->starts[head];
                ends[count++] = own->ends[head];
            }
        }
        for (int64_t unit = bounds[segment]; unit < bounds[segment + 1]; unit++) {
            int32_t *chain = chains + unit * deepest;
            for (int64_t step = 0; step < deepest && chain[step] >= 0; step++) {
                uint64_t lower = bits[chain[step] >> 6] & (((uint64_t)1 << (chain[step] & 63)) - 1);
                chain[step] = (int32_t)(ranks[chain[step] >> 6] + ones_in(lower));
            }
        }
        memset(bits, 0, (size_t)((heads >> 6) + 1) * sizeof *bits);
    }
    used[segments] = count;
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

/* Add `weight`, which is above 0, to the count of a row; one that had none goes to the end of those that are `known`.
 * Returns how many these are. */
static inline int64_t add_to_row(int64_t row, int64_t weight, int64_t *counts, int64_t *known, int64_t count)
{
    if (!counts[row])
        known[count++] = row;
    counts[row] += weight;
    return count;
}

/* Add `weight` for every position to the count of the row that its extent belongs to: extent i of a segment begins at
 * bases[s][i] and reaches to the next, and no position stands before the first. Rows are below the length of `counts`;
 * `known` has room for as many, of which `count` are there already. Returns how many rows are known. */
EXPORT int64_t add_to_rows(const int64_t *const *positions, const int64_t *sizes, int64_t segments,
                           const int64_t *const *bases, const int64_t *const *rows, const int64_t *extents,
                           int64_t weight, int64_t *counts, int64_t *known, int64_t count)
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
                count = add_to_row(rows[segment][extent], weight * (next - at), counts, known, count);
            else
                extent = 0;
            at = next;
        }
    }
    return count;
}

/* The same for some rows themselves, `times` so often each; once where that is none. */
EXPORT int64_t add_rows(const int64_t *rows, const int64_t *times, int64_t size, int64_t weight, int64_t *counts,
                        int64_t *known, int64_t count)
{
    for (int64_t at = 0; at < size; at++)
        count = add_to_row(rows[at], times ? weight * times[at] : weight, counts, known, count);
    return count;
}
