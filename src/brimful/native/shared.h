/* What every kernel shares: arrays in, arrays out. The caller owns all memory and has checked every size; nothing here
 * allocates, keeps anything between two calls or touches Python. */

#ifndef BRIMFUL_SHARED_H
#define BRIMFUL_SHARED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Of the next 64 bytes, or of as many as are left, whether a table marks each by its lowest bit: a bit each, the first one
 * lowest. */
static inline uint64_t lowest_bits(const uint8_t *text, int64_t left, const uint8_t *table)
{
    uint64_t bits = 0;
    for (int64_t byte = 0; byte < (left < 64 ? left : 64); byte++)
        bits |= (uint64_t)(table[text[byte]] & 1) << byte;
    return bits;
}

#endif
