/* Which of very many words are spelled nearly like one? */

#include "shared.h"

enum { LONGEST = 24 };

static inline int least_of(int one, int other)
{
    return one < other ? one : other;
}

/* The letters of a word in UTF-8 that ends before `end`, LONGEST of them at most. Returns how many. */
static int letters_of(const uint8_t *from, const uint8_t *end, uint32_t *letters)
{
    int made = 0;
    while (from < end && made < LONGEST) {
        uint32_t lead = *from++;
        int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        uint32_t letter = more ? lead & (0x3Fu >> more) : lead;
        for (; more && from < end; more--)
            letter = letter << 6 | (*from++ & 0x3Fu);
        letters[made++] = letter;
    }
    return made;
}

/* The least number of edits (a letter put in, left out or replaced, two neighbours that change places) that make one word
 * of the other, which has at most LONGEST letters; where it is more than `most`, some number above that. Only what lies
 * within `most` of the diagonal is looked at. */
static int edits_between(const uint32_t *one, int ones, const uint32_t *other, int others, int most)
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
            return FAR;
        before = least;
    }
    return rows[ones % 3][others];
}

/* The words from number `first` to before `last` that are alike to one: into `found` go the number of each and the edits
 * between the two; it has room for all.
 *
 * Word w has the UTF-8 letters[offsets[w]] to letters[offsets[w + 1] - 1] and a signature: a bit for each of its trigrams.
 * The one has `trigrams` of them; masks[t] has the bits on which more than t of these fall. The share of trigrams must be
 * able to reach `part` of `whole`: shared ones are never counted too low. `edits` at most are between the two. Returns how
 * many are found. */
int64_t spelled_alike(const uint64_t *signatures, const uint8_t *letters, const int32_t *offsets, int64_t first,
                      int64_t last, const uint64_t *masks, int64_t times, int64_t trigrams, int64_t part, int64_t whole,
                      const uint32_t *word, int64_t length, int64_t edits, int64_t *found)
{
    int64_t made = 0;
    for (int64_t at = first; at < last; at++) {
        uint32_t other[LONGEST];
        int64_t shared = 0, either = trigrams + ones_in(signatures[at]);
        for (int64_t time = 0; time < times; time++)
            shared += ones_in(signatures[at] & masks[time]);
        if (shared * (whole + part) < either * part)
            continue;
        int others = letters_of(letters + offsets[at], letters + offsets[at + 1], other);
        int between = edits_between(word, (int)length, other, others, (int)edits);
        if (between > edits)
            continue;
        found[2 * made] = at;
        found[2 * made++ + 1] = between;
    }
    return made;
}

/* Words of a text in ASCII one after the other, in `letters`, which has room for all; word i is the lengths[i] bytes from
 * starts[i] on. Of each the signature: a bit for every three letters that follow each other, two blanks before the word
 * and one behind it among them, by the upper six bits of a sum with three factors. */
void sign_words(const uint8_t *text, const int32_t *starts, const int32_t *lengths, int64_t count,
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
