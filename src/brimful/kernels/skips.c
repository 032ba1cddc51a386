/* One column of many that are packed one after the other: what stands before it is skipped, not unpacked. */

#include "kernels.h"

enum { AT_ONCE = 64 };

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

/* Unpack `count` numbers of the bytes `first` to `last` behind the first `skipped` ones, each with those of its column
 * before it added. Returns how many there are, which is less where the bytes end before. */
EXPORT int64_t unpack_column(const uint8_t *bytes, int64_t first, int64_t last, int64_t skipped, int64_t count,
                             int64_t *values)
{
    const uint8_t *packed = bytes + first;
    int64_t size = last - first;
    uint64_t total = 0, value = 0;
    unsigned shift = 0;
    int64_t made = 0;
    for (int64_t at = begin_of(packed, size, skipped); at < size && made < count; at++) {
        if (shift < 64)
            value |= (uint64_t)(packed[at] & 0x7F) << shift;
        if (packed[at] > 0x7F) {
            shift += 7;
            continue;
        }
        total += value;
        values[made++] = (int64_t)total;
        value = 0;
        shift = 0;
    }
    return made;
}
