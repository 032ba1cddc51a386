/* Which texts say much the same? Runs of words as hashes, and how many of them two texts share. */

#include "shared.h"

enum { SEPARATES = 0, INSIDE = 1, BEGINS = 2, MOST_RUN = 8, SIGN_WORDS = 16, SIGN_STEP = 4 };

#define MULTIPLIER 0x9E3779B97F4A7C15ull

static inline uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 29) * MULTIPLIER;
    return value ^ value >> 32;
}

/* Sort ascending in place, without more memory: a heap. */
static void sort(uint64_t *values, int64_t count)
{
    for (int64_t built = count / 2, end = count; end > 1;) {
        uint64_t value;
        if (built > 0)
            value = values[--built];
        else {
            value = values[--end];
            values[end] = values[0];
        }
        int64_t at = built;
        for (int64_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
            child += child + 1 < end && values[child] < values[child + 1];
            if (values[child] <= value)
                break;
            values[at] = values[child];
            at = child;
        }
        values[at] = value;
    }
}

/* The hashes of all runs of `run` words (at most eight) of a text, ascending, each once; a text of fewer words is one
 * run. `marks` says what each byte is: between words, inside of one, or the first of another. `out` has room for `size`;
 * `signs` gets a bit for each hash. Returns how many. */
int64_t hash_runs(const uint8_t *text, int64_t size, const uint8_t *marks, int64_t run, uint64_t *out,
                  uint64_t *signs)
{
    uint64_t last[MOST_RUN];
    int64_t words = 0, count = 0, distinct = 0;
    for (int64_t at = 0; at < size;) {
        if (marks[text[at]] == SEPARATES) {
            at++;
            continue;
        }
        uint64_t word = MULTIPLIER;
        do
            word = (word ^ text[at++]) * 0x100000001B3ull;
        while (at < size && marks[text[at]] == INSIDE);
        last[words++ % run] = mixed(word);
        int64_t held = words < run ? words : run;
        uint64_t hash = 0;
        for (int64_t step = words - held; step < words; step++)
            hash = mixed(hash + last[step % run] + 1);
        if (words <= run)
            count = 0; /* what was there is a beginning of this run */
        out[count++] = hash;
    }
    sort(out, count);
    memset(signs, 0, SIGN_WORDS * sizeof *signs);
    for (int64_t at = 0; at < count; at++)
        if (!at || out[at] != out[distinct - 1]) {
            out[distinct++] = out[at];
            signs[out[at] % SIGN_WORDS] |= 1ull << (out[at] / SIGN_WORDS % 64);
        }
    return distinct;
}

/* The bits of a word, counted in each of its bytes. */
static inline uint64_t bits_by_byte(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555ull;
    word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
    return (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Full;
}

/* Whether more than `most` of the hashes of one set can't be in another, by their signs. */
static inline int is_apart(const uint64_t *one, const uint64_t *other, int64_t most)
{
    int64_t apart = 0;
    for (int from = 0; from < SIGN_WORDS; from += SIGN_STEP) { /* most pairs are told by the first half */
        uint64_t bits = 0;
        for (int at = from; at < from + SIGN_STEP; at++)
            bits += bits_by_byte(one[at] & ~other[at]);
        bits = (bits & 0x00FF00FF00FF00FFull) + (bits >> 8 & 0x00FF00FF00FF00FFull);
        apart += (int64_t)(bits * 0x0001000100010001ull >> 48);
        if (apart > most)
            return 1;
    }
    return 0;
}

typedef struct {
    const uint64_t *sets; /* set i is sets[offsets[i]] to sets[offsets[i + 1] - 1], ascending */
    const int64_t *offsets;
    const uint64_t *signs;
} Sets;

/* How much of the shorter of two sets the other has, where that is more than `least`; else `least`. */
static double shared_above(const Sets *all, int64_t one, int64_t other, double least)
{
    const uint64_t *sets = all->sets;
    const int64_t *offsets = all->offsets;
    int64_t own = offsets[one + 1] - offsets[one], size = offsets[other + 1] - offsets[other];
    int64_t flip = (other ^ one) & -(int64_t)(size < own); /* no branch: which is shorter is anybody's guess */
    int64_t small = one ^ flip, large = other ^ flip;
    size = size < own ? size : own;
    int64_t most = size - (int64_t)(least * (double)size), missing = 0, same = 0;
    if (is_apart(all->signs + small * SIGN_WORDS, all->signs + large * SIGN_WORDS, most))
        return least;
    int64_t at = offsets[large], end = offsets[large + 1];
    for (int64_t each = offsets[small]; each < offsets[small + 1] && missing <= most; each++) {
        while (at < end && sets[at] < sets[each])
            at++;
        if (at < end && sets[at] == sets[each])
            same++;
        else
            missing++;
    }
    double shared = missing <= most && same ? (double)same / (double)size : least;
    return shared > least ? shared : least;
}

/* Mark set `number` and those before it that share more than `share` of the shorter one with it. */
void mark_alike(const uint64_t *sets, const int64_t *offsets, const uint64_t *signs, int64_t number, double share,
                uint8_t *marks)
{
    const Sets all = {sets, offsets, signs};
    for (int64_t other = 0; other < number; other++)
        if (!(marks[other] && marks[number]) && shared_above(&all, number, other, share) > share)
            marks[other] = marks[number] = 1;
}

/* Which of `count` other sets shares the most with set `number`, the first of equals, and how much; -1 where none shares
 * more than `share`. Those of its own document, if that is 0 or more, are passed over. */
int64_t most_alike(const uint64_t *sets, const int64_t *offsets, const uint64_t *signs, int64_t number,
                   int64_t document, const int64_t *others, const int64_t *documents, int64_t count, double share,
                   double *overlap)
{
    const Sets all = {sets, offsets, signs};
    int64_t best = -1;
    *overlap = share;
    for (int64_t place = 0; place < count && *overlap < 1; place++) {
        if (document >= 0 && documents[place] == document)
            continue;
        double shared = shared_above(&all, number, others[place], *overlap);
        if (shared > *overlap) {
            *overlap = shared;
            best = place;
        }
    }
    return best;
}
