/* Which of very many codes of 32 bytes are alike to a question?
 *
 * Codes lie in groups of 32, byte by byte: first the first bytes of all codes of a group, then their second bytes. So one
 * step looks up the same half byte of 32 codes, in a table of 16 numbers that a register holds where the processor has
 * such (AVX2); elsewhere the same loop runs code by code. A score is twice the sum of what the table has for each half
 * byte, and `base`. No entry is larger than 124, so two of them fit into a byte, and all 64 into 16 bits. */

#include "kernels.h"

#if HAS_WIDE
#include <cpuid.h>
#include <immintrin.h>
#endif

enum { CODE_BYTES = 32, GROUP = 32, HALF = 16 };
enum { AHEAD = 4 * GROUP, LINE = 64 }; /* codes, and bytes of a line of the caches */

/* Whether this processor, and what runs on it, can look 32 half bytes up at once. */
EXPORT int64_t can_be_wide(void)
{
#if HAS_WIDE
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
#else
    return 0;
#endif
}

/* Eight bytes as a number, the first one lowest on every machine; and back. */
static inline uint64_t in_order(uint64_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

/* Bytes of `step` bits and more of two numbers change places: the upper ones of `one` with the lower ones of `other`. */
static inline void exchange(uint64_t *one, uint64_t *other, int step, uint64_t mask)
{
    uint64_t both = (*one >> step ^ *other) & mask;
    *other ^= both;
    *one ^= both << step;
}

/* Turn eight times eight bytes around: the bytes of eight codes, 32 apart, into eight planes, 32 apart. */
static void turn(const uint8_t *codes, uint8_t *planes)
{
    uint64_t rows[8];
    for (int at = 0; at < 8; at++) {
        memcpy(&rows[at], codes + at * CODE_BYTES, 8);
        rows[at] = in_order(rows[at]);
    }
    for (int at = 0; at < 4; at++)
        exchange(&rows[at], &rows[at + 4], 32, 0x00000000FFFFFFFFull);
    for (int at = 0; at < 8; at += at % 4 == 1 ? 3 : 1)
        exchange(&rows[at], &rows[at + 2], 16, 0x0000FFFF0000FFFFull);
    for (int at = 0; at < 8; at += 2)
        exchange(&rows[at], &rows[at + 1], 8, 0x00FF00FF00FF00FFull);
    for (int at = 0; at < 8; at++) {
        rows[at] = in_order(rows[at]);
        memcpy(planes + at * GROUP, &rows[at], 8);
    }
}

/* Lay `count` codes out in groups; `planes` has room for whole groups, and codes of zeros fill the last one. */
EXPORT void lay_out_codes(const uint8_t *codes, int64_t count, uint8_t *planes)
{
    for (int64_t first = 0; first < count; first += GROUP) {
        uint8_t last[GROUP * CODE_BYTES], *group = planes + first * CODE_BYTES;
        const uint8_t *from = codes + first * CODE_BYTES;
        if (count - first < GROUP) {
            memset(last, 0, sizeof last);
            memcpy(last, from, (size_t)((count - first) * CODE_BYTES));
            from = last;
        }
        for (int at = 0; at < GROUP; at += 8)
            for (int place = 0; place < CODE_BYTES; place += 8)
                turn(from + at * CODE_BYTES + place, group + place * GROUP + at);
    }
}

/* The sums of one group, code by code; `tables` has 16 numbers for the upper and 16 for the lower half of each byte. */
static void sum_group(const uint8_t *group, const uint8_t *tables, uint16_t *sums)
{
    memset(sums, 0, GROUP * sizeof *sums);
    for (int place = 0; place < CODE_BYTES; place++)
        for (int at = 0; at < GROUP; at++) {
            uint8_t code = group[place * GROUP + at];
            sums[at] += tables[place * 2 * HALF + (code >> 4)] + tables[place * 2 * HALF + HALF + (code & 15)];
        }
}

#if HAS_WIDE
/* The same for all codes of a group at once; returns whether any sum is above `below`. */
WIDE static int sum_group_wide(const uint8_t *group, const uint8_t *tables, int below,
                                                           uint16_t *sums)
{
    const __m256i halves = _mm256_set1_epi8(15), bytes = _mm256_set1_epi16(255);
    __m256i even = _mm256_setzero_si256(), odd = _mm256_setzero_si256();
    for (int place = 0; place < CODE_BYTES; place++) {
        const __m128i *table = (const __m128i *)(tables + place * 2 * HALF);
        __m256i codes = _mm256_loadu_si256((const __m256i *)(group + place * GROUP));
        __m256i upper = _mm256_and_si256(_mm256_srli_epi16(codes, 4), halves), lower = _mm256_and_si256(codes, halves);
        __m256i found = _mm256_add_epi8(
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(table)), upper),
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(table + 1)), lower));
        even = _mm256_add_epi16(even, _mm256_and_si256(found, bytes));
        odd = _mm256_add_epi16(odd, _mm256_srli_epi16(found, 8));
    }
    const __m256i least = _mm256_set1_epi16((short)below);
    if (!_mm256_movemask_epi8(_mm256_or_si256(_mm256_cmpgt_epi16(even, least), _mm256_cmpgt_epi16(odd, least))))
        return 0;
    uint16_t parts[GROUP];
    _mm256_storeu_si256((__m256i *)parts, even);
    _mm256_storeu_si256((__m256i *)(parts + GROUP / 2), odd);
    for (int at = 0; at < GROUP; at++)
        sums[at] = parts[at / 2 + at % 2 * (GROUP / 2)];
    return 1;
}
#endif

/* The sums of a group, if any of them is above `below`, which is at least -1. */
static inline int summed(const uint8_t *group, const uint8_t *tables, int64_t wide, int below, uint16_t *sums)
{
#if HAS_WIDE
    if (wide)
        return sum_group_wide(group, tables, below, sums);
#else
    (void)wide;
#endif
    (void)below;
    sum_group(group, tables, sums);
    return 1;
}

static int is_nothing(const uint8_t *group, int at)
{
    uint8_t bits = 0;
    for (int place = 0; place < CODE_BYTES; place++)
        bits |= group[place * GROUP + at];
    return !bits;
}

/* The codes that score at least `least`, ascending, those of zeros alone left out; `found` and `scores` have room for
 * `count`. `wide` is 1 only where can_be_wide says so. Returns how many. */
EXPORT int64_t near_codes(const uint8_t *planes, int64_t count, const uint8_t *tables, int64_t base, int64_t least,
                          int64_t wide, int64_t *found, int16_t *scores)
{
    int64_t made = 0, needed = least > base ? (least - base + 1) / 2 : 0;
    uint16_t sums[GROUP];
    if (needed > INT16_MAX)
        return 0;
    for (int64_t first = 0; first < count; first += GROUP) {
        const uint8_t *group = planes + first * CODE_BYTES;
        /* None of this is needed again: it takes the place of nothing else in the caches. */
        for (int line = 0; line < GROUP * CODE_BYTES && first + AHEAD < count; line += LINE)
            __builtin_prefetch(group + AHEAD * CODE_BYTES + line, 0, 0);
        if (!summed(group, tables, wide, (int)needed - 1, sums))
            continue;
        for (int at = 0; at < GROUP && first + at < count; at++)
            if (sums[at] >= needed && !is_nothing(group, at)) {
                found[made] = first + at;
                scores[made++] = (int16_t)(2 * sums[at] + base);
            }
    }
    return made;
}

/* The scores of some ascending codes of so many; `nothing` for those of zeros alone. Returns -1 where one is not there. */
EXPORT int64_t score_planes(const uint8_t *planes, const int64_t *numbers, int64_t count, const uint8_t *tables,
                            int64_t base, int64_t nothing, int64_t wide, int64_t codes, int64_t *scores)
{
    uint16_t sums[GROUP];
    uint8_t bits[GROUP]; /* of each code of a group, those of all its bytes */
    for (int64_t at = 0, last = -1; at < count; at++) {
        if (numbers[at] < 0 || numbers[at] >= codes)
            return -1;
        if (numbers[at] / GROUP != last) {
            const uint8_t *group = planes + numbers[at] / GROUP * GROUP * CODE_BYTES;
            summed(group, tables, wide, -1, sums);
            memset(bits, 0, sizeof bits);
            for (int place = 0; place < CODE_BYTES; place++)
                for (int code = 0; code < GROUP; code++)
                    bits[code] |= group[place * GROUP + code];
        }
        last = numbers[at] / GROUP;
        int place = (int)(numbers[at] % GROUP);
        scores[at] = bits[place] ? 2 * sums[place] + base : nothing;
    }
    return 0;
}
