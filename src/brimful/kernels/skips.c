/* Names in pages, and the column of each: columns are packed one after the other, and what stands before the one that is
 * asked for is skipped, not unpacked. Pages of several segments are asked in one call. */

#include "kernels.h"

enum { AT_ONCE = 64 };

/* A page: its names, as lines that ascend bytewise, with a newline before the first and behind each; how many numbers
 * the columns of its first names have together, up to each of them; and the columns, packed. */
typedef struct {
    uint64_t names, size;  /* where, and how many bytes */
    uint64_t ended, terms; /* where, and how many numbers */
    uint64_t packed, bytes;
} page;

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
            int64_t number = 0;
            for (int64_t at = 0; at < begin; at++)
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

/* Where lines begin so: from the newline before the first of them to the one behind the last; both are the newline
 * before which such lines would end where there are none. */
static void lines_beginning(const uint8_t *text, int64_t size, const uint8_t *prefix, int64_t length, int64_t *bounds)
{
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        int64_t low = is_behind ? bounds[0] : 0, high = size - 1;
        while (low < high) {
            int64_t begin = low + (high - low) / 2;
            while (text[begin] != '\n')
                begin--;
            const uint8_t *line = text + begin + 1;
            int64_t own = (const uint8_t *)memchr(line, '\n', (size_t)(high - begin)) - line;
            int order = memcmp(line, prefix, (size_t)(own < length ? own : length));
            if (order < 0 || (!order && (own < length || is_behind)))
                low = begin + 1 + own;
            else
                high = begin;
        }
        bounds[is_behind] = low;
    }
}

/* Of each page where the names stand that begin with a prefix, as two newlines of its text: bounds[2 * page] before the
 * first of them and bounds[2 * page + 1] behind the last. They are the same where there are none; a page of no bytes has
 * 0 and 0. */
EXPORT void find_beginnings(const page *pages, int64_t count, const uint8_t *prefix, int64_t length, int64_t *bounds)
{
    for (int64_t at = 0; at < count; at++) {
        bounds[2 * at] = bounds[2 * at + 1] = 0;
        if (pages[at].size)
            lines_beginning((const uint8_t *)(uintptr_t)pages[at].names, (int64_t)pages[at].size, prefix, length,
                            bounds + 2 * at);
    }
}

/* Which column of each page is that of `name`: how many numbers stand before it, and how many it has, 0 where there is
 * none. A page of no bytes has no names; any other begins and ends with a newline. Returns how many numbers there are,
 * or -1 where a page says more than it has. */
EXPORT int64_t find_in_pages(const page *pages, int64_t count, const uint8_t *name, int64_t length, int64_t *before,
                             int64_t *counts)
{
    int64_t total = 0;
    for (int64_t at = 0; at < count; at++) {
        const int64_t *ended = (const int64_t *)(uintptr_t)pages[at].ended;
        const uint8_t *names = (const uint8_t *)(uintptr_t)pages[at].names;
        int64_t line = line_of(names, (int64_t)pages[at].size, name, length);
        before[at] = counts[at] = 0;
        if (line < 0)
            continue;
        if (line >= (int64_t)pages[at].terms)
            return -1;
        before[at] = line ? ended[line - 1] : 0;
        counts[at] = ended[line] - before[at];
        if (before[at] < 0 || counts[at] < 0 || counts[at] > (int64_t)pages[at].bytes - before[at])
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
        unsigned ends = 0; /* 64 bytes end 64 numbers at most */
        for (int step = 0; step < AT_ONCE; step++)
            ends += packed[at + step] < 0x80;
        number -= ends;
        at += AT_ONCE;
    }
    for (; at < size && number > 0; at++)
        number -= packed[at] < 0x80;
    return at;
}

/* Unpack one column of each page, behind so many numbers: each number with those of its column before it added. `values`
 * gets them all, one column after the other. Returns how many there are, which is less where bytes end before. */
EXPORT int64_t unpack_in_pages(const page *pages, int64_t count, const int64_t *before, const int64_t *counts,
                               int64_t *values)
{
    int64_t *out = values;
    for (int64_t at = 0; at < count; at++) {
        if (!counts[at])
            continue;
        const uint8_t *packed = (const uint8_t *)(uintptr_t)pages[at].packed;
        int64_t size = (int64_t)pages[at].bytes, made = 0;
        uint64_t total = 0, value = 0;
        unsigned shift = 0;
        for (int64_t byte = begin_of(packed, size, before[at]); byte < size && made < counts[at]; byte++) {
            if (shift < 64)
                value |= (uint64_t)(packed[byte] & 0x7F) << shift;
            if (packed[byte] > 0x7F) {
                shift += 7;
                continue;
            }
            total += value;
            out[made++] = (int64_t)total;
            value = 0;
            shift = 0;
        }
        out += made;
    }
    return out - values;
}
