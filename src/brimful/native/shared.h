/* What every kernel shares: arrays in, arrays out. The caller owns all memory and has checked every size; nothing here
 * allocates, keeps anything between two calls or touches Python. */

#ifndef BRIMFUL_SHARED_H
#define BRIMFUL_SHARED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A library shows what this file declares, and nothing else. */
#pragma GCC visibility push(default)
#include "kernels.h"
#pragma GCC visibility pop

/* The eight bytes that begin here as a number, the first one lowest, whatever the machine. */
static inline uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* How many bits are set: by hand, since what every processor has is a call and eight look-ups. */
static inline int64_t ones_in(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    return (int64_t)(((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}

/* The last word of a string, of 1 to 8 bytes: zeros stand behind its end. */
static inline uint64_t masked(uint64_t word, int64_t bytes)
{
    return bytes >= 8 ? word : word & (((uint64_t)1 << 8 * bytes) - 1);
}

/* Which bytes a table marks with its lowest bit; and as ranges, from `lows` on so many more, where these are few. */
enum { MOST_RANGES = 8 };
typedef struct {
    const uint8_t *table;
    int ranges; /* more than MOST_RANGES where only the table tells */
    uint8_t lows[MOST_RANGES], more[MOST_RANGES];
} marking;

static inline marking marking_of(const uint8_t *table)
{
    marking marks = {table, 0, {0}, {0}};
    for (int code = 0; code < 256 && marks.ranges <= MOST_RANGES; code++) {
        if (!(table[code] & 1))
            continue;
        int first = code;
        while (code + 1 < 256 && table[code + 1] & 1)
            code++;
        if (marks.ranges < MOST_RANGES) {
            marks.lows[marks.ranges] = (uint8_t)first;
            marks.more[marks.ranges] = (uint8_t)(code - first);
        }
        marks.ranges++;
    }
    return marks;
}

/* Of the next 64 bytes, or of as many as are left, whether each is marked: a bit each, the first one lowest. */
static inline uint64_t lowest_bits(const uint8_t *text, int64_t left, const marking *marks)
{
    const uint8_t *table = marks->table;
    uint64_t found = 0;
#ifdef __SSE2__
    if (left >= 64 && marks->ranges <= MOST_RANGES) {
        for (int part = 0; part < 64; part += 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(text + part)), in = _mm_setzero_si128();
            for (int range = 0; range < marks->ranges; range++) {
                __m128i above = _mm_sub_epi8(bytes, _mm_set1_epi8((char)marks->lows[range]));
                __m128i most = _mm_set1_epi8((char)marks->more[range]);
                in = _mm_or_si128(in, _mm_cmpeq_epi8(_mm_min_epu8(above, most), above));
            }
            found |= (uint64_t)(uint16_t)_mm_movemask_epi8(in) << part;
        }
        return found;
    }
#endif
    if (left >= 64)
        for (int word = 0; word < 64; word += 8) {
            uint64_t bits = 0;
            for (int byte = 0; byte < 8; byte++)
                bits |= (uint64_t)(table[text[word + byte]] & 1) << byte;
            found |= bits << word;
        }
    else
        for (int64_t byte = 0; byte < left; byte++)
            found |= (uint64_t)(table[text[byte]] & 1) << byte;
    return found;
}

#endif
