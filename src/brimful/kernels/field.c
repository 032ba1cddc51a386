/* What are units worth for the words that stand in and around them? In the order and with the rounding of the formulas
 * in brimful.search.field: one product or sum after the other, no two of them as one (`building` asks for that).
 *
 * Rows of `counts` and `told` are words, columns units: how often each word stands in a unit, and what is said of it
 * above the unit, in thousandths. The surroundings of unit i reach `reach` units to both sides, and no further than its
 * run, which ends with unit lasts[i]; the next one begins behind it. `has` is what mark_runs says. */

#include "kernels.h"

#include <math.h>

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

/* The same of all units. */
static void sum_around(const int64_t *values, int64_t units, const int64_t *lasts, int64_t reach, int64_t *sums)
{
    for (int64_t start = 0; start < units; start = lasts[start] + 1)
        sum_run(values, start, lasts[start], reach, sums);
}

/* Which runs have anything of each word: has[word * units + start] is 1 for those that begin with unit `start`, else 0.
 * Of a long question most runs have a few words. */
EXPORT void mark_runs(const int64_t *counts, const int64_t *told, int64_t words, int64_t units, const int64_t *lasts,
                      uint8_t *has)
{
    for (int64_t word = 0; word < words; word++, counts += units, told += units, has += units)
        for (int64_t start = 0; start < units; start = lasts[start] + 1) {
            int64_t any = 0;
            for (int64_t at = start; at <= lasts[start]; at++)
                any |= counts[at] | told[at];
            has[start] = any != 0;
        }
}

/* The mean of the values of each unit and its surroundings, rounded down. */
EXPORT void mean_around(const int64_t *values, int64_t units, const int64_t *firsts, const int64_t *lasts, int64_t reach,
                        int64_t *means)
{
    sum_around(values, units, lasts, reach, means);
    for (int64_t at = 0; at < units; at++) {
        int64_t low = at - reach > firsts[at] ? at - reach : firsts[at], high = at + reach < lasts[at] ? at + reach : lasts[at];
        int64_t count = high - low + 1, mean = means[at] / count;
        means[at] = mean - (means[at] % count < 0);
    }
}

static void to_one(double *scores, int64_t units)
{
    double most = 0.0;
    for (int64_t at = 0; at < units; at++)
        most = scores[at] > most ? scores[at] : most;
    for (int64_t at = 0; most > 0.0 && at < units; at++)
        scores[at] /= most;
}

/* What the surroundings of each unit are worth by BM25, more where they have more of the words; the best is worth one.
 * `unit_bytes` is what surroundings have on average. `measures` are k1, k1 + 1, b and 1 - b;
 * `around`, `damped` and `covered` have room for a number a unit. */
EXPORT void weigh_units(const int64_t *counts, const int64_t *told, int64_t words, int64_t units, const uint8_t *has,
                        const int64_t *lasts, const int64_t *sizes, int64_t reach, double unit_bytes,
                        const double *worths, const double *measures, int64_t *around, double *damped, double *covered,
                        double *scores)
{
    double k1 = measures[0], k1_more = measures[1], b = measures[2], rest = measures[3], whole = 0.0;
    sum_around(sizes, units, lasts, reach, around);
    for (int64_t at = 0; at < units; at++) {
        damped[at] = k1 * (rest + b * ((double)around[at] / unit_bytes));
        covered[at] = scores[at] = 0.0;
    }
    for (int64_t word = 0; word < words; word++, counts += units, told += units, has += units) {
        double worth = worths[word];
        whole += worth;
        for (int64_t start = 0; start < units; start = lasts[start] + 1) {
            if (!has[start])
                continue; /* nothing comes to any of its units */
            sum_run(counts, start, lasts[start], reach, around);
            for (int64_t at = start; at <= lasts[start]; at++) {
                int64_t count = around[at] + told[at];
                if (!count)
                    continue;
                double times = (double)count / 1000.0;
                scores[at] += worth * (times * k1_more / (times + damped[at]));
                covered[at] += worth * (double)(count > 0);
            }
        }
    }
    for (int64_t at = 0; whole != 0.0 && at < units; at++)
        if (covered[at] != 0.0) /* what has no word is worth nothing already */
            scores[at] *= sqrt(covered[at] / whole);
    to_one(scores, units);
}

/* Add what a word is worth by BM25 to the score of each row that is known to have it, and forget its counts: in
 * thousandths, of rows of such `sizes` against the others. `measures` are those of weigh_units. */
EXPORT void weigh_rows(const int64_t *known, int64_t count, int64_t *counts, const double *sizes, double worth,
                       const double *measures, double *scores)
{
    double k1 = measures[0], k1_more = measures[1], b = measures[2], rest = measures[3];
    for (int64_t at = 0; at < count; at++) {
        int64_t row = known[at];
        double times = (double)counts[row] / 1000.0;
        scores[row] += worth * (times * k1_more / (times + k1 * (rest + b * sizes[row])));
        counts[row] = 0;
    }
}

/* How much the surroundings with most words have of them, each counted by its worth. */
EXPORT double most_covered(const int64_t *counts, const int64_t *told, int64_t words, int64_t units,
                           const uint8_t *has, const int64_t *lasts, int64_t reach, const double *worths,
                           int64_t *around, double *covered)
{
    double most = 0.0;
    for (int64_t at = 0; at < units; at++)
        covered[at] = 0.0;
    for (int64_t word = 0; word < words; word++, counts += units, told += units, has += units)
        for (int64_t start = 0; worths[word] != 0.0 && start < units; start = lasts[start] + 1) {
            if (!has[start])
                continue;
            sum_run(counts, start, lasts[start], reach, around);
            for (int64_t at = start; at <= lasts[start]; at++)
                covered[at] += around[at] + told[at] > 0 ? worths[word] : 0.0;
        }
    for (int64_t at = 0; at < units; at++)
        most = covered[at] > most ? covered[at] : most;
    return most;
}

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

/* Some units by their scores, the highest first; equal ones stay as they stand. `units` are `count` places of `scores`,
 * and get the order; `room` is for as many. No two scores are 2^62 apart. */
EXPORT void order_units(const int64_t *scores, int64_t count, int64_t *units, int64_t *room)
{
    int64_t most = INT64_MIN, least = INT64_MAX;
    for (int64_t at = 0; at < count; at++) {
        int64_t score = scores[units[at]];
        most = score > most ? score : most;
        least = score < least ? score : least;
    }
    int64_t *from = units, *to = room;
    for (int shift = 0; count > 1 && shift < 63 && (most - least) >> shift; shift += DIGIT) {
        int64_t begins[DIGITS] = {0}, before = 0;
        for (int64_t at = 0; at < count; at++)
            begins[(most - scores[from[at]]) >> shift & (DIGITS - 1)]++;
        for (int digit = 0; digit < DIGITS; digit++) {
            int64_t own = begins[digit];
            begins[digit] = before;
            before += own;
        }
        for (int64_t at = 0; at < count; at++)
            to[begins[(most - scores[from[at]]) >> shift & (DIGITS - 1)]++] = from[at];
        int64_t *other = from;
        from = to;
        to = other;
    }
    if (from != units)
        memcpy(units, from, (size_t)count * sizeof *units);
}
