/* Whole numbers in few bytes: seven bits a byte, low bits first, the high bit set on all but the last byte. */

#include "shared.h"

/* Write `value` at `out`; returns behind it. */
static inline uint8_t *put(uint8_t *out, uint64_t value)
{
    for (; value > 0x7F; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

/* Column i is columns[offsets[i]] to columns[offsets[i + 1] - 1], ascending from 0 on. Packed is its first number and
 * then the differences between neighbours. `ends` (one for each column) gets the bytes up to the end of each; `out` has
 * room for as many bytes a number as the largest of all takes. Returns the bytes of all, or -1 where a column does not
 * ascend. */
int64_t pack_columns(const int64_t *columns, const int64_t *offsets, int64_t count, int64_t *ends, uint8_t *out)
{
    uint8_t *start = out;
    for (int64_t column = 0; column < count; column++) {
        int64_t before = 0;
        for (int64_t at = offsets[column]; at < offsets[column + 1]; at++) {
            if (columns[at] < before)
                return -1;
            out = put(out, (uint64_t)(columns[at] - before));
            before = columns[at];
        }
        ends[column] = out - start;
    }
    return out - start;
}

/* Unpack packed_count numbers into `values`; with `sums` each has all before it added. Bits beyond 64 are dropped. */
void unpack_numbers(const uint8_t *packed, int64_t size, int64_t sums, int64_t *values)
{
    uint64_t total = 0, value = 0;
    unsigned shift = 0;
    for (int64_t at = 0; at < size; at++) {
        if (shift < 64)
            value |= (uint64_t)(packed[at] & 0x7F) << shift;
        if (packed[at] > 0x7F) {
            shift += 7;
            continue;
        }
        total = sums ? total + value : value;
        *values++ = (int64_t)total;
        value = 0;
        shift = 0;
    }
}
