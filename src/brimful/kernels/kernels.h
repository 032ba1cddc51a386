/* What every kernel shares: arrays in, arrays out. The caller owns all memory and has checked every size; nothing here
 * allocates, keeps anything between two calls or touches Python. */

#ifndef BRIMFUL_KERNELS_H
#define BRIMFUL_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

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

/* The last word of a string, of 1 to 8 bytes: zeros stand behind its end. */
static inline uint64_t masked(uint64_t word, int64_t bytes)
{
    return bytes >= 8 ? word : word & (((uint64_t)1 << 8 * bytes) - 1);
}

/* Of the next 64 bytes, or of as many as are left, the lowest bit that a table has for each. */
static inline uint64_t lowest_bits(const uint8_t *text, int64_t left, const uint8_t *table)
{
    uint64_t found = 0;
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
