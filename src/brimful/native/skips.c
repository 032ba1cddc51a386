/* Names in pages, and the column of each: columns are packed one after the other, and what stands before the one that is
 * asked for is skipped, not unpacked. Pages of several segments are asked in one call. */

#include "shared.h"

enum { AT_ONCE = 64 };

static const uint64_t ONES = 0x0101010101010101u, HIGHS = 0x8080808080808080u, NEWLINES = 0x0A0A0A0A0A0A0A0Au;

/* Of the next 64 bytes, how many are below 0x80, or newlines. */
static inline int64_t low_bytes(const uint8_t *text)
{
    uint64_t found = 0; /* up to 8 in each of its bytes */
    for (int step = 0; step < AT_ONCE; step += 8)
        found += (~word_at(text + step) & HIGHS) >> 7;
    return (int64_t)(found * ONES >> 56);
}

static inline int64_t newlines(const uint8_t *text)
{
    uint64_t found = 0;
    for (int step = 0; step < AT_ONCE; step += 8) {
        uint64_t other = word_at(text + step) ^ NEWLINES;
        found += (~(((other & ~HIGHS) + ~HIGHS) | other) & HIGHS) >> 7; /* bytes that are 0 */
    }
    return (int64_t)(found * ONES >> 56);
}

/* The number of the line that is `name`, from 0 on; -1 where none is. */
static int64_t line_of(const uint8_t *text, int64_t size, const uint8_t *name, int64_t length)
{
    int64_t low = 0, high = size - 1; /* newlines, between which the line is */
    while (low < high) {
        int64_t begin = low + (high - low) / 2;
        while (text[begin] != '\n')
            begin--;
        const uint8_t *line = text + begin + 1;
        int64_t own = (const uint8_t *)memchr(line, '\n', (size_t)(high - begin)) - line;
        int order = memcmp(line, name, (size_t)(own < length ? own : length));
        if (!order && own == length) {
            int64_t number = 0, at = 0;
            for (; begin - at >= AT_ONCE; at += AT_ONCE)
                number += newlines(text + at);
            for (; at < begin; at++)
                number += text[at] == '\n';
            return number;
        }
        if (order < 0 || (!order && own < length))
            low = begin + 1 + own;
        else
            high = begin;
    }
    return -1;
}

/* How many numbers the column of line `line` has, and in `before` how many stand before it; -1 where the page does not say
 * so, or says more than it has: each number takes a byte at least. */
static int64_t count_of(const page *own, int64_t line, int64_t *before)
{
    const uint8_t *packed = own->counts;
    uint64_t size = (uint64_t)own->counted, byte = 0, sum = 0;
    for (; line >= 0; line--) {
        uint64_t value = 0;
        unsigned shift = 0;
        for (; byte < size && packed[byte] > 0x7F; byte++, shift += 7)
            value |= shift < 64 ? (uint64_t)(packed[byte] & 0x7F) << shift : 0;
        if (byte == size)
            return -1;
        value |= shift < 64 ? (uint64_t)packed[byte] << shift : 0;
        byte++;
        if (value > (uint64_t)own->bytes - sum)
            return -1;
        sum += value;
        if (!line) {
            *before = (int64_t)(sum - value);
            return (int64_t)value;
        }
    }
    return -1;
}

/* Which column of each page is that of `name`: how many numbers stand before it, and how many it has, 0 where there is
 * none. A page of no bytes has no names; any other begins and ends with a newline. Returns how many numbers there are,
 * or -1 where a page says more than it has. */
int64_t find_in_pages(const page *pages, int64_t count, const uint8_t *name, int64_t length, int64_t *before,
                      int64_t *counts)
{
    int64_t total = 0;
    for (int64_t at = 0; at < count; at++) {
        const uint8_t *names = pages[at].names;
        int64_t line = line_of(names, pages[at].size, name, length);
        before[at] = counts[at] = 0;
        if (line >= 0 && (counts[at] = count_of(pages + at, line, before + at)) < 0)
            return -1;
        total += counts[at];
    }
    return total;
}

/* Where packed number `number` begins: behind as many last bytes, which are those below 0x80. */
static int64_t begin_of(const uint8_t *packed, int64_t size, int64_t number)
{
    int64_t at = 0;
    while (number >= AT_ONCE && size - at >= AT_ONCE) {
        number -= low_bytes(packed + at); /* 64 bytes end 64 numbers at most */
        at += AT_ONCE;
    }
    for (; at < size && number > 0; at++)
        number -= packed[at] < 0x80;
    return at;
}

/* Unpack one column of each page, behind so many numbers: each number with those of its column before it added. `values`
 * gets them all, one column after the other. Returns how many there are, which is less where bytes end before, or where
 * a position lies further on an axis than any segment reaches. */
int64_t unpack_in_pages(const page *pages, int64_t count, const int64_t *before, const int64_t *counts,
                        int32_t *values)
{
    int32_t *out = values;
    for (int64_t at = 0; at < count; at++) {
        if (!counts[at])
            continue;
        const uint8_t *packed = pages[at].packed;
        int64_t size = pages[at].bytes, made = 0;
        uint64_t total = 0;
        for (int64_t byte = begin_of(packed, size, before[at]); byte < size && made < counts[at];) {
            uint64_t value = packed[byte++];
            if (value > 0x7F) { /* most differences have one byte or two */
                value &= 0x7F;
                unsigned shift = 7;
                while (byte < size && packed[byte] > 0x7F) {
                    if (shift < 64)
                        value |= (uint64_t)(packed[byte] & 0x7F) << shift;
                    shift += 7;
                    byte++;
                }
                if (byte == size)
                    break; /* a number that does not end is none */
                if (shift < 64)
                    value |= (uint64_t)packed[byte] << shift;
                byte++;
            }
            if (value > INT32_MAX - total)
                break;
            total += value;
            out[made++] = (int32_t)total;
        }
        out += made;
    }
    return out - values;
}
