/* Where do units lie, and which stand around others? */

#include "places.h"

/* Of each of some units, in any order: its extent, where it begins and ends on its axis, its row, where in its document
 * it begins; and of the run of neighbours among them that it is in, all of one extent, the first and the last, as places
 * in `numbers`. `out` has seven columns of `count` for these. Returns -1 where there is no such unit, else 0. */
int64_t place_units(const grid *units, const int64_t *numbers, int64_t count, int64_t *out)
{
    int64_t *extents = out, *starts = out + count, *ends = starts + count, *rows = ends + count, *offsets = rows + count,
            *firsts = offsets + count, *lasts = firsts + count;
    int64_t extent = 0, segment = 0, run = 0, low = 0, behind = -1; /* units of the last extent */
    for (int64_t at = 0; at < count; at++) {
        int64_t unit = numbers[at];
        if (unit < low || unit >= behind) {
            if (!units->extents || unit < 0 || unit >= units->behind[units->extents - 1])
                return -1;
            extent = last_not_above(units->firsts, units->extents, extent, unit);
            segment = last_not_above(units->begins, units->segments, segment, unit);
            low = units->firsts[extent];
            behind = units->behind[extent];
        }
        extents[at] = extent;
        starts[at] = at && unit == numbers[at - 1] + 1 && extent == extents[at - 1] ? ends[at - 1]
                                                                                     : start_of(units, segment, unit);
        ends[at] = unit + 1 == behind ? units->ends[extent] : start_of(units, segment, unit + 1);
        rows[at] = units->owners[extent];
        offsets[at] = starts[at] + units->shifts[extent];
        if (at && (unit != numbers[at - 1] + 1 || extent != extents[at - 1]))
            run = at;
        firsts[at] = run;
    }
    for (int64_t at = count - 1, last = count - 1; at >= 0; at--) {
        lasts[at] = last;
        if (firsts[at] == at)
            last = at - 1;
    }
    return 0;
}

/* The units from each low to its high one, and `reach` more on both sides within the extents of the two; each once,
 * ascending, where the lows and the highs ascend. `out` has room for all of `most`. Returns how many there are; -1 where
 * there is no such unit, or no room. */
int64_t units_between(const grid *units, const int64_t *lows, const int64_t *highs, int64_t count, int64_t reach,
                      int64_t *out, int64_t most)
{
    int64_t made = 0, next = 0, extent = 0;
    for (int64_t at = 0; at < count; at++) {
        int64_t low = lows[at], high = highs[at], all = units->extents ? units->behind[units->extents - 1] : 0;
        if (low < 0 || high < 0 || low >= all || high >= all)
            return -1;
        extent = last_not_above(units->firsts, units->extents, extent, low);
        low = low - reach > units->firsts[extent] ? low - reach : units->firsts[extent];
        extent = last_not_above(units->firsts, units->extents, extent, high);
        high = high + reach < units->behind[extent] - 1 ? high + reach : units->behind[extent] - 1;
        for (int64_t unit = low > next ? low : next; unit <= high; unit++) {
            if (made == most)
                return -1;
            out[made++] = unit;
        }
        next = high + 1 > next ? high + 1 : next;
    }
    return made;
}
