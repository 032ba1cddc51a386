/* Does a text hold any of some strings, and which of its runs are long? */

#include "shared.h"

/* Which anchors stand somewhere in a text: found[i] becomes 1. Anchor i is anchors[bounds[i]] to anchors[bounds[i + 1] -
 * 1], none is empty; they are sorted, and those that begin with byte b are firsts[b] to firsts[b + 1] - 1. */
void find_anchors(const uint8_t *text, int64_t size, const uint8_t *anchors, const int32_t *bounds,
                  const int32_t *firsts, uint8_t *found)
{
    uint8_t begins[256];
    uint64_t seconds[256] = {0}; /* by its first byte, which second ones an anchor may have: a bit for four of them */
    for (int code = 0; code < 256; code++) {
        begins[code] = firsts[code] < firsts[code + 1];
        for (int32_t anchor = firsts[code]; anchor < firsts[code + 1]; anchor++)
            seconds[code] |= bounds[anchor + 1] - bounds[anchor] > 1 ? (uint64_t)1 << (anchors[bounds[anchor] + 1] & 63)
                                                                     : ~(uint64_t)0;
    }
    const uint8_t *marks = begins;
    for (int64_t block = 0; block < size; block += 64)
        for (uint64_t bits = lowest_bits(text + block, size - block, marks); bits; bits &= bits - 1) {
            int64_t at = block + __builtin_ctzll(bits);
            if (at + 1 < size && !(seconds[text[at]] >> (text[at + 1] & 63) & 1))
                continue;
            for (int32_t anchor = firsts[text[at]]; anchor < firsts[text[at] + 1]; anchor++) {
                int64_t length = bounds[anchor + 1] - bounds[anchor];
                const uint8_t *wanted = anchors + bounds[anchor];
                if (!found[anchor] && length <= size - at && text[at + length - 1] == wanted[length - 1] &&
                    !memcmp(text + at, wanted, (size_t)length))
                    found[anchor] = 1;
            }
        }
}

/* Write a run down, a newline before it unless it is the first; returns how many bytes there are now. */
static inline int64_t add_run(const uint8_t *from, int64_t size, uint8_t *out, int64_t length)
{
    if (length)
        out[length++] = '\n';
    memcpy(out + length, from, (size_t)size);
    return length + size;
}

/* Runs of at least `least` bytes that the table marks with its lowest bit, a newline between each two; `out` has room for
 * the whole text and one byte. Returns how many bytes it got. */
int64_t long_runs(const uint8_t *text, int64_t size, const uint8_t *table, int64_t least, uint8_t *out)
{
    const uint8_t *marks = table;
    int64_t length = 0, begun = 0; /* bytes that the run has which goes on in the next block */
    for (int64_t block = 0; block < size; block += 64) {
        uint64_t bits = lowest_bits(text + block, size - block, marks);
        if (bits == ~(uint64_t)0) {
            begun += 64;
            continue;
        }
        int64_t first = __builtin_ctzll(~bits), last = __builtin_clzll(~bits);
        if (begun + first >= least)
            length = add_run(text + block - begun, begun + first, out, length);
        begun = last;
        bits &= last ? ~(uint64_t)0 >> last : ~(uint64_t)0;
        bits &= ~(uint64_t)0 << first;
        int64_t width = 1;
        uint64_t starts = least > 64 ? 0 : bits; /* from which on so many bits are set */
        for (; 2 * width <= least && starts; width *= 2)
            starts &= starts >> width;
        if (starts && least > width)
            starts &= starts >> (least - width);
        while (starts) {
            int64_t start = __builtin_ctzll(starts), end = start + __builtin_ctzll(~(bits >> start));
            length = add_run(text + block + start, end - start, out, length);
            starts &= ~(uint64_t)0 << end;
        }
    }
    return begun >= least ? add_run(text + size - begun, begun, out, length) : length;
}
