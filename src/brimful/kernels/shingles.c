/* Which texts say much the same? Runs of words as hashes, and how many of them two texts share. */

#include "kernels.h"

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
EXPORT int64_t hash_runs(const uint8_t *text, int64_t size, const uint8_t *marks, int64_t run, uint64_t *out,
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

/* Those of `count` other sets that share all but misses[s] hashes with set `number`, s being the shorter of the two, in
 * their order; and how many they share. Set i is sets[offsets[i]] to sets[offsets[i + 1] - 1], ascending; without
 * `others` they are the first so many. `found` and `shared` have room for `count`. Returns how many, and looks no
 * further where they are more than `most`. */
EXPORT int64_t alike_sets(const uint64_t *sets, const int64_t *offsets, const uint64_t *signs, const int64_t *misses,
                          int64_t number, const int64_t *others, int64_t count, int64_t most, int64_t *found,
                          int64_t *shared)
{
    int64_t made = 0, own = offsets[number + 1] - offsets[number];
    for (int64_t place = 0; place < count && made <= most; place++) {
        int64_t other = others ? others[place] : place, size = offsets[other + 1] - offsets[other];
        int64_t flip = (other ^ number) & -(int64_t)(size < own); /* no branch: which is shorter is anybody's guess */
        int64_t small = number ^ flip, large = other ^ flip;
        if (is_apart(signs + small * SIGN_WORDS, signs + large * SIGN_WORDS, misses[small]))
            continue;
        int64_t missing = 0, same = 0, at = offsets[large], end = offsets[large + 1];
        for (int64_t each = offsets[small]; each < offsets[small + 1] && missing <= misses[small]; each++) {
            while (at < end && sets[at] < sets[each])
                at++;
            if (at < end && sets[at] == sets[each])
                same++;
            else
                missing++;
        }
        if (missing <= misses[small] && same) {
            found[made] = other;
            shared[made++] = same;
        }
    }
    return made;
}
