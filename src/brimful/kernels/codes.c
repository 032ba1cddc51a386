/* What does a unit mean, in 32 bytes, and how alike is that to a question?
 *
 * The vectors of a unit's terms, of 256 small numbers each, are added up; what is kept is where the sum is positive.
 * What each byte of a code adds to the score depends on its place and value alone: 32 tables of 256 numbers, made once
 * for a question, stay in the nearest cache, and a code costs 32 look-ups. */

#include "kernels.h"

#define CODE_BYTES 32
#define DIMENSIONS 256
#define PART 128 /* dimensions that are summed in one go: those of all terms of a segment take half the room */

enum { AHEAD = 16 }; /* so many rows are asked for before they are needed */

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

INLINED void add_rows(const int16_t *table, const int32_t *rows, const int32_t *ends, int64_t count, int64_t narrow,
                      int8_t *out, int64_t apart)
{
    int64_t row = 0;
    for (int64_t number = 0; number < count; number++, out += apart) {
        int32_t sums[PART] = {0};
        while (row < ends[number]) {
            int16_t some[PART] = {0};
            for (int64_t left = narrow; left && row < ends[number]; left--, row++) {
                const int16_t *added = table + (int64_t)rows[row] * DIMENSIONS;
                if (row + AHEAD < ends[count - 1])
                    for (int line = 0; line < PART; line += 32)
                        __builtin_prefetch(table + (int64_t)rows[row + AHEAD] * DIMENSIONS + line);
                for (int at = 0; at < PART; at++)
                    some[at] = (int16_t)(some[at] + added[at]);
            }
            for (int at = 0; at < PART; at++)
                sums[at] += some[at];
        }
        for (int at = 0; at < PART; at++) {
            int32_t rounded = (sums[at] + 16) >> 5;
            rounded = rounded > 127 ? 127 : rounded;
            out[at] = (int8_t)(rounded < -127 ? -127 : rounded);
        }
    }
}

#if HAS_WIDE
WIDE static void add_rows_wide(const int16_t *table, const int32_t *rows, const int32_t *ends, int64_t count,
                               int64_t narrow, int8_t *out, int64_t apart)
{
    add_rows(table, rows, ends, count, narrow, out, apart);
}
#endif

/* The sums of rows of a table of 256 numbers each, of 128 of its columns from `first` on: those of sum i are
 * rows[ends[i - 1]] to rows[ends[i] - 1]. Each sum is given in 32nds, rounded half up, as a byte from -127 to 127; those
 * of one sum stand `apart` bytes behind those of the one before. The sum of `narrow` rows, whichever, fits into 16 bits.
 * `wide` is 1 only where can_be_wide says so. */
EXPORT void sum_rows(const int16_t *table, const int32_t *rows, const int32_t *ends, int64_t count, int64_t narrow,
                     int64_t first, int64_t wide, int8_t *out, int64_t apart)
{
#if HAS_WIDE
    if (wide) {
        add_rows_wide(table + first, rows, ends, count, narrow, out, apart);
        return;
    }
#endif
    (void)wide;
    add_rows(table + first, rows, ends, count, narrow, out, apart);
}

enum { BLOCK_BITS = 6, MOST_NARROW = 255 }; /* rows that are added up in 16 bits */

/* Which terms stand in which unit, each once: term t has the positions[offsets[t]] to positions[offsets[t + 1] - 1],
 * ascending; unit u begins at units[u]. `blocks` is room for a number for every 64 bytes up to the last position, and
 * one; `owners` for one a position; `bounds` for one a unit, and one, cleared. `members` gets the terms of unit u from
 * bounds[u] on, ascending. Positions before the first unit are in none. */
EXPORT void terms_of_units(const int32_t *positions, const int64_t *offsets, int64_t terms, const int64_t *units,
                           int64_t count, int64_t last, int32_t *blocks, int32_t *owners, int64_t *bounds,
                           int32_t *members)
{
    for (int64_t block = 0, unit = -1; block <= last >> BLOCK_BITS; block++) {
        while (unit + 1 < count && units[unit + 1] <= block << BLOCK_BITS)
            unit++;
        blocks[block] = (int32_t)unit;
    }
    for (int64_t term = 0; term < terms; term++)
        for (int64_t at = offsets[term], before = -1; at < offsets[term + 1]; at++) {
            int64_t unit = blocks[positions[at] >> BLOCK_BITS];
            while (unit + 1 < count && units[unit + 1] <= positions[at])
                unit++;
            owners[at] = unit == before ? -1 : (int32_t)unit;
            if (unit != before)
                bounds[unit + 1]++;
            before = unit;
        }
    for (int64_t unit = 0; unit < count; unit++)
        bounds[unit + 1] += bounds[unit];
    /* While they are filled, the bounds move: each ends where the next one began. */
    for (int64_t term = 0; term < terms; term++)
        for (int64_t at = offsets[term]; at < offsets[term + 1]; at++)
            if (owners[at] >= 0)
                members[bounds[owners[at]]++] = (int32_t)term;
}

/* A bit for each of 128 numbers that is 1, none for one that is 0: the first in the highest bit of the first byte. */
static inline void pack_bits(const uint8_t *ones, uint8_t *code)
{
    for (int byte = 0; byte < PART / 8; byte++)
        code[byte] = (uint8_t)(word_at(ones + 8 * byte) * 0x8040201008040201u >> 56);
}

INLINED void add_units(const int8_t *rows, const int32_t *members, const int64_t *bounds, int64_t first, int64_t last,
                       int32_t *vectors, uint8_t *codes)
{
    int64_t row = first ? bounds[first - 1] : 0;
    for (int64_t unit = first; unit < last; unit++) {
        int is_short = !vectors && bounds[unit] - row <= MOST_NARROW; /* as nearly all are: 16 bits hold the sums */
        int32_t sums[PART] = {0};
        int16_t narrow[PART];
        uint8_t ones[PART];
        do {
            memset(narrow, 0, sizeof narrow);
            for (int some = 0; some < MOST_NARROW && row < bounds[unit]; some++, row++) {
                const int8_t *added = rows + (int64_t)members[row] * PART;
                if (row + AHEAD < bounds[last - 1])
                    for (int line = 0; line < PART; line += 64)
                        __builtin_prefetch(rows + (int64_t)members[row + AHEAD] * PART + line);
                for (int at = 0; at < PART; at++)
                    narrow[at] = (int16_t)(narrow[at] + added[at]);
            }
            if (!is_short)
                for (int at = 0; at < PART; at++)
                    sums[at] += narrow[at];
        } while (row < bounds[unit]);
        if (vectors) {
            memcpy(vectors + unit * DIMENSIONS, sums, sizeof sums);
            continue;
        }
        if (is_short)
            for (int at = 0; at < PART; at++)
                ones[at] = narrow[at] > 0;
        else
            for (int at = 0; at < PART; at++)
                ones[at] = sums[at] > 0;
        pack_bits(ones, codes + unit * CODE_BYTES);
    }
}

#if HAS_WIDE
WIDE static void add_units_wide(const int8_t *rows, const int32_t *members, const int64_t *bounds, int64_t first,
                                int64_t last, int32_t *vectors, uint8_t *codes)
{
    add_units(rows, members, bounds, first, last, vectors, codes);
}
#endif

/* The sum of the rows of each unit, members[bounds[u - 1]] to members[bounds[u] - 1], of 128 bytes each: those of the
 * dimensions from `column` on. Into `vectors` (256 numbers a unit), or where that is none into `codes` (32 bytes a unit),
 * a bit where the sum is positive, dimension 0 in the highest bit of the first byte. Only the units from `first` on are
 * looked at, to before `last`. `wide` is 1 only where can_be_wide says so. */
EXPORT void sum_units(const int8_t *rows, const int32_t *members, const int64_t *bounds, int64_t column, int64_t first,
                      int64_t last, int64_t wide, int32_t *vectors, uint8_t *codes)
{
    vectors = vectors ? vectors + column : NULL;
    codes = codes ? codes + column / 8 : NULL;
#if HAS_WIDE
    if (wide) {
        add_units_wide(rows, members, bounds, first, last, vectors, codes);
        return;
    }
#endif
    (void)wide;
    add_units(rows, members, bounds, first, last, vectors, codes);
}
