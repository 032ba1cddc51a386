/* What are units worth for the words that stand in and around them? In the order and with the rounding of the formulas
 * in brimful.search.field: one product or sum after the other, no two of them as one (`building` asks for that).
 *
 * Rows of `counts` and `told` are words, columns units: how often each word stands in a unit, and what is said of it
 * above the unit, in thousandths. The surroundings of unit i reach `reach` units to both sides, and no further than
 * firsts[i] and lasts[i], of which neighbours in one run have the same. */

#include "kernels.h"

#include <math.h>

/* The sums of values over the surroundings of each unit; firsts and lasts are those of runs that follow each other. */
static void sum_around(const int64_t *values, int64_t units, const int64_t *firsts, const int64_t *lasts, int64_t reach,
                       int64_t *sums)
{
    for (int64_t start = 0; start < units;) {
        int64_t last = lasts[start], first = firsts[start], sum = 0, behind = first;
        for (int64_t at = start; at <= last; at++) {
            int64_t high = at + reach < last ? at + reach : last;
            for (; behind <= high; behind++)
                sum += values[behind];
            if (at - reach > first)
                sum -= values[at - reach - 1];
            sums[at] = sum;
        }
        start = last + 1;
    }
}

/* The mean of the values of each unit and its surroundings, rounded down. */
EXPORT void mean_around(const int64_t *values, int64_t units, const int64_t *firsts, const int64_t *lasts, int64_t reach,
                        int64_t *means)
{
    sum_around(values, units, firsts, lasts, reach, means);
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
EXPORT void weigh_units(const int64_t *counts, const int64_t *told, int64_t words, int64_t units, const int64_t *firsts,
                        const int64_t *lasts, const int64_t *sizes, int64_t reach, double unit_bytes,
                        const double *worths, const double *measures, int64_t *around, double *damped, double *covered,
                        double *scores)
{
    double k1 = measures[0], k1_more = measures[1], b = measures[2], rest = measures[3], whole = 0.0;
    sum_around(sizes, units, firsts, lasts, reach, around);
    for (int64_t at = 0; at < units; at++) {
        damped[at] = k1 * (rest + b * ((double)around[at] / unit_bytes));
        covered[at] = scores[at] = 0.0;
    }
    for (int64_t word = 0; word < words; word++) {
        const int64_t *own = counts + word * units, *above = told + word * units;
        double worth = worths[word];
        whole += worth;
        sum_around(own, units, firsts, lasts, reach, around);
        for (int64_t at = 0; at < units; at++) {
            int64_t count = around[at] + above[at];
            if (!count)
                continue; /* nothing comes to it */
            double times = (double)count / 1000.0;
            scores[at] += worth * (times * k1_more / (times + damped[at]));
            covered[at] += worth * (double)(count > 0);
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
                           const int64_t *firsts, const int64_t *lasts, int64_t reach, const double *worths,
                           int64_t *around, double *covered)
{
    double most = 0.0;
    for (int64_t at = 0; at < units; at++)
        covered[at] = 0.0;
    for (int64_t word = 0; word < words; word++) {
        sum_around(counts + word * units, units, firsts, lasts, reach, around);
        for (int64_t at = 0; at < units; at++)
            covered[at] += around[at] + told[word * units + at] > 0 ? worths[word] : 0.0;
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
