/* What are units worth for the words that stand in and around them? In the order and with the rounding of the formulas
 * in brimful.search.field: one product or sum after the other, no two of them as one (`building` asks for that).
 *
 * Rows of `counts` and `told` are words, columns units: how often each word stands in a unit, and what is said of it
 * above the unit, in thousandths. The surroundings of unit i reach so many units to both sides, and no further than its
 * run, which ends with unit lasts[i]; the next one begins behind it. */

#include "places.h"

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
static void mark_runs(const int64_t *counts, const int64_t *told, int64_t words, int64_t units, const int64_t *lasts,
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

/* Divide by the highest, so that it is worth one; nothing changes where all is worth nothing. */
static void to_one(double *scores, int64_t count)
{
    double most = 0.0;
    for (int64_t at = 0; at < count; at++)
        most = scores[at] > most ? scores[at] : most;
    for (int64_t at = 0; most > 0.0 && at < count; at++)
        scores[at] /= most;
}

enum { SCALES = 2 };

/* What the surroundings of each unit are worth by BM25, more where they have more of the words; the best is worth one.
 * Where `most` is not NULL it gets what those cover that cover most. */
static void weigh_scale(const weighing *asked, int64_t scale, const uint8_t *has, int64_t *around, double *damped,
                        double *covered, double *covers, double *scores, double *most)
{
    double k1 = asked->k1, k1_more = k1 + 1, b = asked->b, rest = 1 - b, whole = 0.0;
    int64_t units = asked->units, reach = asked->scales[scale].reach;
    const int64_t *counts = asked->counts, *told = asked->told, *lasts = asked->lasts;
    sum_around(asked->sizes, units, lasts, reach, around);
    for (int64_t at = 0; at < units; at++) {
        damped[at] = k1 * (rest + b * ((double)around[at] / asked->scales[scale].bytes));
        covers[at] = covered[at] = scores[at] = 0.0;
    }
    for (int64_t word = 0; word < asked->words; word++, counts += units, told += units, has += units) {
        double worth = asked->scales[scale].worths[word], cover = asked->covering[word];
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
                covered[at] += worth;
                covers[at] += cover;
            }
        }
    }
    for (int64_t at = 0; whole != 0.0 && at < units; at++)
        if (covered[at] != 0.0) /* what has no word is worth nothing already */
            scores[at] *= sqrt(covered[at] / whole);
    to_one(scores, units);
    for (int64_t at = 0; most && at < units; at++)
        *most = covers[at] > *most ? covers[at] : *most;
}

/* What each unit is worth by the words in it, around it and in its document; records stand for themselves. `scales` gets
 * both of them, a row each, `lexical` what they come to, `best` the units that are worth something, in millionths,
 * and at least as much as the one of rank `first_ones`, ascending, and behind them room for as many numbers; `has` has a
 * byte for each word and unit, `room` is for four numbers a unit. `most` gets how much of the question the near
 * surroundings with most of it cover. Returns how many the best are. */
int64_t weigh_scales(const weighing *asked, int64_t first_ones, uint8_t *has, int64_t *room, double *scales,
                     double *lexical, int64_t *best, double *most)
{
    int64_t units = asked->units, made = 0, least = 1;
    double *damped = (double *)(room + units), *covered = damped + units, *covers = covered + units;
    double *own = scales, *near = own + units;
    mark_runs(asked->counts, asked->told, asked->words, units, asked->lasts, has);
    *most = 0.0;
    for (int64_t scale = 0; scale < SCALES; scale++)
        weigh_scale(asked, scale, has, room, damped, covered, covers, scales + scale * units, scale == 1 ? most : NULL);
    int64_t *ranks = room;
    for (int64_t at = 0; at < units; at++) {
        int64_t row = asked->rows[at], is_record = asked->records[row];
        double worth = asked->unit_share * own[at] + asked->document_share * (is_record ? own[at] : asked->documents[row]);
        worth = worth + asked->near_share * (is_record ? own[at] : near[at]);
        lexical[at] = worth;
        ranks[at] = (int64_t)rounded(worth * 1000000.0);
    }
    if (units > first_ones && first_ones > 0)
        least = highest(ranks, units, first_ones - 1, best);
    for (int64_t at = 0; at < units; at++)
        if (ranks[at] >= least && ranks[at] >= 1)
            best[made++] = at;
    return made;
}

/* Add all that speaks for each unit to what it is worth by its words, in `lexical`. `scores` gets
 * that in millionths, `whole` what each document is worth by itself and by its best unit. `best` has room for a
 * number a document. */
void settle_units(const settling *asked, double *lexical, double *best, int64_t *scores, int64_t *whole)
{
    int64_t units = asked->units;
    for (int64_t number = 0; number < asked->signals; number++) {
        const added_signal *own = asked->added + number;
        for (int64_t at = 0; at < units; at++)
            lexical[at] = lexical[at] + own->share * own->values[own->by_row ? asked->rows[at] : at];
    }
    memset(best, 0, (size_t)asked->documents * sizeof *best);
    for (int64_t at = 0; at < units; at++) {
        int64_t row = asked->rows[at];
        lexical[at] = lexical[at] * asked->known;
        best[row] = lexical[at] > best[row] ? lexical[at] : best[row];
    }
    for (int64_t at = 0; at < units; at++) {
        double worth = lexical[at];
        if (asked->favour)
            worth = worth * ((double)asked->favour[asked->rows[at]] / 1000.0);
        scores[at] = (int64_t)rounded(worth * 1000000.0);
    }
    to_one(best, asked->documents);
    for (int64_t row = 0; row < asked->documents; row++) {
        double worth = asked->by_document[row] + best[row];
        if (asked->favour)
            worth = worth * ((double)asked->favour[row] / 1000.0);
        if (asked->allowed && !asked->allowed[row])
            worth = 0.0;
        whole[row] = (int64_t)rounded(worth * 1000000.0);
    }
}

/* Add what a word is worth by BM25 to the score of each row that is known to have it, and forget its counts: in
 * thousandths, of rows of such `sizes` against the others. */
void weigh_rows(const int64_t *known, int64_t count, int64_t *counts, const double *sizes, double worth, double k1,
                double b, double *scores)
{
    double k1_more = k1 + 1, rest = 1 - b;
    for (int64_t at = 0; at < count; at++) {
        int64_t row = known[at];
        double times = (double)counts[row] / 1000.0;
        scores[row] += worth * (times * k1_more / (times + k1 * (rest + b * sizes[row])));
        counts[row] = 0;
    }
}

/* Some units by their scores, the highest first; equal ones stay as they stand. `units` are `count` places of `scores`,
 * and get the order; `room` is for as many. No two scores are 2^62 apart. */
void order_units(const int64_t *scores, int64_t count, int64_t *units, int64_t *room)
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

/* Whether a run of units comes behind another, by path and place. */
static inline int is_behind(const int64_t *rows, const int64_t *offsets, int64_t one, int64_t other)
{
    return rows[one] != rows[other] ? rows[one] > rows[other] : offsets[one] > offsets[other];
}

static void sink(const int64_t *rows, const int64_t *offsets, int64_t *heap, int64_t size, int64_t at)
{
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && is_behind(rows, offsets, heap[child + 1], heap[child]))
            child++;
        if (!is_behind(rows, offsets, heap[child], heap[at]))
            return;
        int64_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

/* The units that are worth anything, the best first; of equal ones by path and place.
 * `out` gets five columns of `count` numbers, of which the first so many are set: its place, its number, its row, its
 * score and what words are worth, in millionths. `room` is for a number a unit. Returns how many there are. */
int64_t order_field(int64_t count, const int64_t *numbers, const int64_t *rows, const int64_t *offsets,
                    const int64_t *lasts, const int64_t *scores, const double *lexical, int64_t *room, int64_t *out)
{
    int64_t runs = 0, made = 0, *order = out, *kept = out + count;
    for (int64_t at = 0; at < count; at++)
        kept[at] = scores[at] > 0;
    for (int64_t start = 0; start < count; start = lasts[start] + 1)
        room[runs++] = start;
    for (int64_t root = runs / 2 - 1; root >= 0; root--)
        sink(rows, offsets, room, runs, root);
    for (int64_t size = runs - 1; size > 0; size--) { /* inside of its run a unit has its place already */
        int64_t last = room[0];
        room[0] = room[size];
        room[size] = last;
        sink(rows, offsets, room, size, 0);
    }
    for (int64_t run = 0; run < runs; run++)
        for (int64_t at = room[run]; at <= lasts[room[run]]; at++)
            if (kept[at])
                order[made++] = at;
    order_units(scores, made, order, room);
    for (int64_t place = 0; place < made; place++) {
        int64_t at = order[place];
        out[count + place] = numbers[at];
        out[2 * count + place] = rows[at];
        out[3 * count + place] = scores[at];
        out[4 * count + place] = (int64_t)rounded(lexical[at] * 1000000.0);
    }
    return made;
}
