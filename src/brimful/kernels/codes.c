/* How alike are codes of 32 bytes to a question?
 *
 * What each byte of a code adds to the score depends on its place and value alone: 32 tables of 256 numbers, made once
 * for a question, stay in the nearest cache, and a code costs 32 look-ups. */

#include "kernels.h"

#define CODE_BYTES 32

/* The score of each code: `tables[place * 256 + byte]` added up over its bytes; `nothing` for one of zeros alone.
 * `codes` has 32 * count bytes, `scores` room for count; no sum of table entries leaves 16 bits. */
EXPORT void score_codes(const uint8_t *codes, int64_t count, const int16_t *tables, int16_t nothing, int16_t *scores)
{
    for (int64_t number = 0; number < count; number++) {
        const uint8_t *code = codes + number * CODE_BYTES;
        uint64_t words[CODE_BYTES / 8];
        memcpy(words, code, CODE_BYTES);
        if (!(words[0] | words[1] | words[2] | words[3])) {
            scores[number] = nothing;
            continue;
        }
        int32_t sums[4] = {0};
        for (int word = 0; word < CODE_BYTES / 8; word++) {
            const int16_t *table = tables + word * 8 * 256;
            for (int place = 0; place < 8; place++)
                sums[place % 4] += table[place * 256 + code[word * 8 + place]];
        }
        scores[number] = (int16_t)(sums[0] + sums[1] + sums[2] + sums[3]);
    }
}
