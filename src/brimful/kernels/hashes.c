/* BLAKE3 of many short texts, and of the nodes above them in a tree.
 *
 * A text of up to 1,024 bytes is a single chunk: its blocks of 64 bytes are mixed in one after the other. Four texts are
 * hashed side by side. */

#include "kernels.h"

enum { CHUNK_START = 1, CHUNK_END = 2, ROOT = 8, BLOCK = 64, HASH = 32, AT_ONCE = 4, NODE = 1 + 2 * HASH };

static const uint32_t FIRST[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                  0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
static const uint8_t ORDERS[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},  {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},  {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},  {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

/* A number of each of four texts. */
typedef uint32_t four __attribute__((vector_size(4 * AT_ONCE)));

#define TURNED(x, bits) ((x) >> (bits) | (x) << (32 - (bits)))
#define MIX(a, b, c, d, one, other)        \
    do {                                   \
        a += b + (one);                    \
        d = TURNED(d ^ a, 16);             \
        c += d;                            \
        b = TURNED(b ^ c, 12);             \
        a += b + (other);                  \
        d = TURNED(d ^ a, 8);              \
        c += d;                            \
        b = TURNED(b ^ c, 7);              \
    } while (0)

static inline uint32_t number_at(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The hashes of four texts, none of which is longer than a chunk; 32 bytes each. */
static void hash_four(const uint8_t *const *texts, const int64_t *sizes, uint8_t *out)
{
    four hash[8];
    int64_t blocks[AT_ONCE], most = 0;
    for (int word = 0; word < 8; word++)
        hash[word] = (four){0} + FIRST[word];
    for (int text = 0; text < AT_ONCE; text++) {
        blocks[text] = sizes[text] > BLOCK ? (sizes[text] + BLOCK - 1) / BLOCK : 1;
        most = blocks[text] > most ? blocks[text] : most;
    }
    for (int64_t block = 0; block < most; block++) {
        uint32_t numbers[16][AT_ONCE], lengths[AT_ONCE], flags[AT_ONCE], goes_on[AT_ONCE];
        four words[16], state[16], kept;
        for (int text = 0; text < AT_ONCE; text++) {
            uint8_t last[BLOCK];
            const uint8_t *from = last;
            int64_t left = block < blocks[text] ? sizes[text] - BLOCK * block : 0;
            if (left >= BLOCK) {
                from = texts[text] + BLOCK * block;
            } else {
                memset(last, 0, sizeof last);
                if (left > 0)
                    memcpy(last, texts[text] + BLOCK * block, (size_t)left);
            }
            for (int word = 0; word < 16; word++)
                numbers[word][text] = number_at(from + 4 * word);
            lengths[text] = (uint32_t)(left < BLOCK ? left : BLOCK);
            flags[text] = (block ? 0 : CHUNK_START) | (block + 1 == blocks[text] ? CHUNK_END | ROOT : 0);
            goes_on[text] = block < blocks[text] ? ~(uint32_t)0 : 0;
        }
        memcpy(words, numbers, sizeof words);
        memcpy(&kept, goes_on, sizeof kept);
        for (int word = 0; word < 8; word++) {
            state[word] = hash[word];
            state[8 + word] = (four){0} + (word < 4 ? FIRST[word] : 0);
        }
        memcpy(state + 14, lengths, sizeof lengths);
        memcpy(state + 15, flags, sizeof flags);
        for (int round = 0; round < 7; round++) {
            const uint8_t *order = ORDERS[round];
#define WORD(at) words[order[at]]
            MIX(state[0], state[4], state[8], state[12], WORD(0), WORD(1));
            MIX(state[1], state[5], state[9], state[13], WORD(2), WORD(3));
            MIX(state[2], state[6], state[10], state[14], WORD(4), WORD(5));
            MIX(state[3], state[7], state[11], state[15], WORD(6), WORD(7));
            MIX(state[0], state[5], state[10], state[15], WORD(8), WORD(9));
            MIX(state[1], state[6], state[11], state[12], WORD(10), WORD(11));
            MIX(state[2], state[7], state[8], state[13], WORD(12), WORD(13));
            MIX(state[3], state[4], state[9], state[14], WORD(14), WORD(15));
#undef WORD
        }
        for (int word = 0; word < 8; word++)
            hash[word] = (kept & (state[word] ^ state[8 + word])) | (~kept & hash[word]);
    }
    for (int text = 0; text < AT_ONCE; text++)
        for (int word = 0; word < 8; word++)
            for (int byte = 0; byte < 4; byte++)
                out[HASH * text + 4 * word + byte] = (uint8_t)(hash[word][text] >> 8 * byte);
}

/* The hash of each of some texts that lie one after the other, text i from bounds[i] to before bounds[i + 1]; none has
 * more than 1,024 bytes. */
EXPORT void hash_texts(const uint8_t *text, const int64_t *bounds, int64_t count, uint8_t *out)
{
    for (int64_t first = 0; first < count; first += AT_ONCE) {
        const uint8_t *texts[AT_ONCE];
        int64_t sizes[AT_ONCE], some = count - first < AT_ONCE ? count - first : AT_ONCE;
        uint8_t made[AT_ONCE * HASH];
        for (int64_t at = 0; at < AT_ONCE; at++) { /* where there are fewer, the last one again */
            int64_t row = first + (at < some ? at : some - 1);
            texts[at] = text + bounds[row];
            sizes[at] = bounds[row + 1] - bounds[row];
        }
        hash_four(texts, sizes, made);
        memcpy(out + HASH * first, made, (size_t)(HASH * some));
    }
}

/* The level of a tree above some hashes: of each two neighbours that of `sign` with both behind it; a last odd one moves
 * up as it is. Returns how many there are. `above` may be the hashes themselves. */
static int64_t join_level(const uint8_t *hashes, int64_t count, uint8_t sign, uint8_t *above)
{
    int64_t pairs = count / 2;
    for (int64_t first = 0; first < pairs; first += AT_ONCE) {
        uint8_t nodes[AT_ONCE][NODE] = {{0}}, made[AT_ONCE * HASH];
        const uint8_t *texts[AT_ONCE];
        int64_t sizes[AT_ONCE], some = pairs - first < AT_ONCE ? pairs - first : AT_ONCE;
        for (int64_t at = 0; at < AT_ONCE; at++) {
            texts[at] = nodes[at];
            sizes[at] = NODE;
            nodes[at][0] = sign;
            if (at < some)
                memcpy(nodes[at] + 1, hashes + 2 * HASH * (first + at), 2 * HASH);
        }
        hash_four(texts, sizes, made);
        memcpy(above + HASH * first, made, (size_t)(HASH * some));
    }
    if (count % 2)
        memmove(above + HASH * pairs, hashes + HASH * (count - 1), HASH);
    return pairs + count % 2;
}

/* The levels of a tree above its leaves, one after the other, down to the single hash of the last. */
EXPORT void hash_levels(const uint8_t *leaves, int64_t count, uint8_t sign, uint8_t *levels)
{
    while (count > 1) {
        count = join_level(leaves, count, sign, levels);
        leaves = levels;
        levels += HASH * count;
    }
}

/* The root of each of some trees, whose leaves lie one after the other: tree i has those from bounds[i] to before
 * bounds[i + 1], one at least. `room` is for all leaves. */
EXPORT void hash_roots(const uint8_t *leaves, const int64_t *bounds, int64_t trees, uint8_t sign, uint8_t *room,
                       uint8_t *roots)
{
    for (int64_t tree = 0; tree < trees; tree++) {
        const uint8_t *level = leaves + HASH * bounds[tree];
        for (int64_t count = bounds[tree + 1] - bounds[tree]; count > 1; level = room)
            count = join_level(level, count, sign, room);
        memcpy(roots + HASH * tree, level, HASH);
    }
}
