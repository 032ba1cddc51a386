/* Which of very many words are spelled nearly like one? */

#include "kernels.h"

enum { LONGEST = 24 };

static inline int least_of(int one, int other)
{
    return one < other ? one : other;
}

/* Whether `most` edits or fewer (a letter put in, left out or replaced, two neighbours that change places) make one word
 * of the other; neither has more than LONGEST bytes, which are its letters. Only what lies within `most` of the diagonal
 * is looked at. */
static int is_within(const uint8_t *one, int ones, const uint8_t *other, int others, int most)
{
    enum { FAR = 100 };
    int rows[3][LONGEST + 2], before = FAR; /* the least number of the row before */
    for (int at = 0; at <= others; at++)
        rows[0][at] = at <= most ? at : FAR;
    for (int row = 1; row <= ones; row++) {
        int *own = rows[row % 3], *last = rows[(row + 2) % 3], *second = rows[(row + 1) % 3];
        int low = row > most ? row - most : 0, high = row + most < others ? row + most : others, least = FAR;
        if (low > 0)
            own[low - 1] = FAR;
        for (int at = low; at <= high; at++) {
            int edits = at < row + most ? last[at] + 1 : FAR;
            if (at) {
                edits = least_of(edits, own[at - 1] + 1);
                edits = least_of(edits, last[at - 1] + (one[row - 1] != other[at - 1]));
                if (row > 1 && at > 1 && one[row - 1] == other[at - 2] && one[row - 2] == other[at - 1])
                    edits = least_of(edits, second[at - 2] + 1);
            }
            own[at] = edits;
            least = least_of(least, edits);
        }
        if (low > high || (least > most && before >= most))
            return 0;
        before = least;
    }
    return rows[ones % 3][others] <= most;
}

#if HAS_WIDE
#define COUNTED __attribute__((target("avx2,popcnt")))
#endif

/* How many bits are set: an instruction where processors are known to have it. */
INLINED int64_t bits_in(uint64_t bits, int is_wide)
{
    return is_wide ? __builtin_popcountll(bits) : ones_in(bits);
}

/* The words of `low` to `high` letters that may be alike to one; `found` gets their numbers and has room for all. Those
 * of n letters are the ones from firsts[n] to firsts[n + 1] - 1.
 *
 * Word w has the letters letters[offsets[w]] to letters[offsets[w + 1] - 1] and a signature: a bit for each of its
 * trigrams. The one has `trigrams` of them; masks[t] has the bits on which more than t of these fall. The share of
 * trigrams must be able to reach `part` of `whole`: shared ones are never counted too low. And of words that have a byte
 * for each letter, `edits` at most are between the two; longer ones have letters beyond ASCII, and stay. So do all where
 * the one itself has such: `word` is none then. `wide` is 1 only where can_be_wide says so. Returns how many are found. */
INLINED int64_t find_alike(const uint64_t *signatures, const uint8_t *letters, const int32_t *offsets, int64_t first,
                           int64_t last, int64_t size, const uint64_t *masks, int64_t times, int64_t trigrams,
                           int64_t part, int64_t whole, const uint8_t *word, int64_t length, int64_t edits,
                           int64_t *found, int is_wide)
{
    int64_t made = 0;
    for (int64_t at = first; at < last; at++) {
        int64_t shared = 0, either = trigrams + bits_in(signatures[at], is_wide);
        for (int64_t time = 0; time < times; time++)
            shared += bits_in(signatures[at] & masks[time], is_wide);
        if (shared * (whole + part) < either * part)
            continue;
        if (word && offsets[at + 1] - offsets[at] == size &&
            !is_within(word, (int)length, letters + offsets[at], (int)size, (int)edits))
            continue;
        found[made++] = at;
    }
    return made;
}

#if HAS_WIDE
COUNTED static int64_t find_alike_wide(const uint64_t *signatures, const uint8_t *letters, const int32_t *offsets,
                                       int64_t first, int64_t last, int64_t size, const uint64_t *masks, int64_t times,
                                       int64_t trigrams, int64_t part, int64_t whole, const uint8_t *word,
                                       int64_t length, int64_t edits, int64_t *found)
{
    return find_alike(signatures, letters, offsets, first, last, size, masks, times, trigrams, part, whole, word, length,
                      edits, found, 1);
}
#endif

EXPORT int64_t spelled_alike(const uint64_t *signatures, const uint8_t *letters, const int32_t *offsets,
                             const int64_t *firsts, int64_t low, int64_t high, const uint64_t *masks, int64_t times,
                             int64_t trigrams, int64_t part, int64_t whole, const uint8_t *word, int64_t length,
                             int64_t edits, int64_t *found, int64_t wide)
{
    int64_t made = 0;
    for (int64_t size = low; size <= high; size++) {
        int64_t first = firsts[size], last = firsts[size + 1];
#if HAS_WIDE
        if (wide) {
            made += find_alike_wide(signatures, letters, offsets, first, last, size, masks, times, trigrams, part, whole,
                                    word, length, edits, found + made);
            continue;
        }
#else
        (void)wide;
#endif
        made += find_alike(signatures, letters, offsets, first, last, size, masks, times, trigrams, part, whole, word,
                           length, edits, found + made, 0);
    }
    return made;
}

/* Words of a text in ASCII one after the other, in `letters`, which has room for all; word i is the lengths[i] bytes from
 * starts[i] on. Of each the signature: a bit for every three letters that follow each other, two blanks before the word
 * and one behind it among them, by the upper six bits of a sum with three factors. */
EXPORT void sign_words(const uint8_t *text, const int32_t *starts, const int32_t *lengths, int64_t count,
                       const uint32_t *factors, uint8_t *letters, uint64_t *signatures)
{
    for (int64_t word = 0; word < count; word++) {
        const uint8_t *from = text + starts[word];
        uint32_t before = ' ', last = ' ';
        uint64_t bits = 0;
        for (int32_t at = 0; at <= lengths[word]; at++) {
            uint32_t letter = at < lengths[word] ? from[at] : ' ';
            bits |= (uint64_t)1 << ((before * factors[0] + last * factors[1] + letter * factors[2]) >> 26);
            before = last;
            last = letter;
        }
        memcpy(letters, from, (size_t)lengths[word]);
        letters += lengths[word];
        signatures[word] = bits;
    }
}

/* Whether one of `count` sorted words of `size` bytes each, one after the other, is this one. */
EXPORT int64_t has_word(const uint8_t *letters, int64_t count, int64_t size, const uint8_t *word)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = memcmp(letters + middle * size, word, (size_t)size);
        if (!order)
            return 1;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}
