/* Whole numbers in few bytes: seven bits a byte, low bits first, the high bit set on all but the last byte. */

#include "shared.h"

/* How many bytes the numbers take as varints; `values` are not negative. */
int64_t packed_size(const int64_t *values, int64_t count)
{
    int64_t size = count;
    for (int64_t at = 0; at < count; at++)
        for (uint64_t rest = (uint64_t)values[at] >> 7; rest; rest >>= 7)
            size++;
    return size;
}

/* Write `value` at `out`; returns behind it. */
static inline uint8_t *put(uint8_t *out, uint64_t value)
{
    for (; value > 0x7F; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

/* Pack numbers into `out`, which has room for packed_size of them. */
void pack_numbers(const int64_t *values, int64_t count, uint8_t *out)
{
    for (int64_t at = 0; at < count; at++)
        out = put(out, (uint64_t)values[at]);
}

/* The same for a number of which most take up to four bytes; there is room for eight. */
static inline uint8_t *put_short(uint8_t *out, uint32_t value)
{
    if (value >> 28)
        return put(out, value);
    unsigned more = (value > 0x7F) + (value > 0x3FFF) + (value > 0x1FFFFF);
    uint32_t spread = (value & 0x7F) | (value << 1 & 0x7F00) | (value << 2 & 0x7F0000) | (value << 3 & 0x7F000000);
    spread |= 0x808080u & (((uint32_t)1 << 8 * more) - 1);
    out[0] = (uint8_t)spread;
    out[1] = (uint8_t)(spread >> 8);
    out[2] = (uint8_t)(spread >> 16);
    out[3] = (uint8_t)(spread >> 24);
    return out + more + 1;
}

/* Column i is columns[offsets[i]] to columns[offsets[i + 1] - 1], ascending from 0 on. Packed is its first number and
 * then the differences between neighbours. `ends` (one for each column) gets the bytes up to the end of each; `out` has
 * room for as many bytes a number as the largest of all takes, and eight. Returns the bytes of all, or -1 where a column
 * does not ascend. For numbers of eight bytes and of four. */
#define PACK_COLUMNS(name, number, put)                                                                                \
    int64_t name(const number *columns, const int64_t *offsets, int64_t count, int64_t *ends, uint8_t *out)     \
    {                                                                                                                  \
        uint8_t *start = out;                                                                                          \
        for (int64_t column = 0; column < count; column++) {                                                           \
            number before = 0;                                                                                         \
            for (int64_t at = offsets[column]; at < offsets[column + 1]; at++) {                                       \
                if (columns[at] < before)                                                                              \
                    return -1;                                                                                         \
                out = put(out, columns[at] - before);                                                                  \
                before = columns[at];                                                                                  \
            }                                                                                                          \
            ends[column] = out - start;                                                                                \
        }                                                                                                              \
        return out - start;                                                                                            \
    }

PACK_COLUMNS(pack_columns, int64_t, put)
PACK_COLUMNS(pack_places, int32_t, put_short)

/* How many numbers are packed here. */
int64_t packed_count(const uint8_t *packed, int64_t size)
{
    int64_t count = 0;
    for (int64_t at = 0; at < size; at++)
        count += packed[at] < 0x80;
    return count;
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
