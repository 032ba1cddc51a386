/* Which stretches of a text are equal, in which order do they stand, and where does each term of them stand?
 *
 * Strings are stretches of one text with at least eight readable bytes behind its end. Each different one gets a
 * number, in the order of their first occurrences; a table of 2^bits places, zero where free, finds it again. A string
 * of up to eight bytes is its own key there, a longer one has a hash, and is compared byte for byte: a bad multiplier
 * costs time and nothing else. */

#include "shared.h"

static inline uint64_t hash_of(const uint8_t *at, int64_t length, uint64_t multiplier)
{
    uint64_t hash = (uint64_t)length;
    for (; length > 0; at += 8, length -= 8) {
        hash = (hash ^ masked(word_at(at), length)) * multiplier;
        hash ^= hash >> 32;
    }
    return hash * multiplier;
}

static inline int same(const uint8_t *one, const uint8_t *other, int64_t length)
{
    for (; length > 0; one += 8, other += 8, length -= 8)
        if (masked(word_at(one) ^ word_at(other), length))
            return 0;
    return 1;
}

typedef struct {
    const uint8_t *text;
    uint64_t multiplier;
    string_slot *table;
    unsigned bits;
    int32_t *firsts, *lengths; /* of each different string */
    int64_t count;
} strings;

/* A string that is about to be looked up. */
typedef struct {
    uint64_t key, slot;
    int32_t start, length;
} asked;

enum { AT_ONCE = 32 }; /* are looked up together: the table is larger than the nearest caches, so it is asked for ahead */

/* Get ready to look a string up. */
static inline asked ask(const strings *known, int64_t start, int64_t length)
{
    asked one = {0, 0, (int32_t)start, (int32_t)length};
    if (length <= 8) {
        one.key = masked(word_at(known->text + start), length);
        one.slot = one.key * known->multiplier;
        one.slot = (one.slot ^ one.slot >> 32) * known->multiplier;
    } else {
        one.slot = one.key = hash_of(known->text + start, length, known->multiplier);
    }
    one.slot >>= 64 - known->bits;
    __builtin_prefetch(known->table + one.slot);
    return one;
}

/* The number of a string; a new one where it was not there before. */
static inline int32_t number_of(strings *known, asked one)
{
    uint64_t last = ((uint64_t)1 << known->bits) - 1;
    for (uint64_t slot = one.slot;; slot = (slot + 1) & last) {
        string_slot *here = known->table + slot;
        if (!here->length) {
            *here = (string_slot){one.key, one.length, (int32_t)known->count};
            known->firsts[known->count] = one.start;
            known->lengths[known->count++] = one.length;
            return here->number;
        }
        if (here->key == one.key && here->length == one.length &&
            (one.length <= 8 ||
             same(known->text + known->firsts[here->number], known->text + one.start, one.length)))
            return here->number;
    }
}

/* What a byte is, as the caller's table says; see brimful.text.clumps. */
enum { CLUMP = 1, NUMBER = 2, WORD = 4, ASCII = 64, BEHIND = 128, SHIFT = 2, MOST_SIGNS = 3 };

/* A text that is gone through block by block: which of the 64 bytes of a block may be part of a clump, a bit each. */
typedef struct {
    const uint8_t *text, *flags;
    int64_t size, block;
    uint64_t bits;
    const uint8_t *marks;
} blocks;

static void open_block(blocks *here, int64_t block)
{
    here->block = block;
    here->bits = lowest_bits(here->text + 64 * block, here->size - 64 * block, here->marks);
}

/* The first place from `at` on that is part of a clump, or with `flip` of all ones is not; the end where there is
 * none. */
static inline int64_t next_edge(blocks *here, int64_t at, uint64_t flip)
{
    if (at >= here->size)
        return here->size;
    if (at >> 6 != here->block)
        open_block(here, at >> 6);
    uint64_t bits = (here->bits ^ flip) & ~(uint64_t)0 << (at & 63);
    while (!bits) {
        if (64 * (here->block + 1) >= here->size)
            return here->size;
        open_block(here, here->block + 1);
        bits = here->bits ^ flip;
    }
    at = 64 * here->block + __builtin_ctzll(bits);
    return at < here->size ? at : here->size;
}

/* Where the clump ends that starts at `at`. */
static inline int64_t clump_end(blocks *here, int64_t at)
{
    const uint8_t *text = here->text, *flags = here->flags;
    for (;;) {
        at = next_edge(here, at, ~(uint64_t)0);
        if (at >= here->size)
            return at;
        uint8_t sign = flags[text[at]], before = flags[text[at - 1]];
        uint8_t after = at + 1 < here->size ? flags[text[at + 1]] : 0;
        if (sign >> SHIFT & before & after & (NUMBER | WORD)) {
            at++;
        } else if (sign >= BEHIND && before & WORD && !(at > 1 && flags[text[at - 2]] & ASCII)) {
            for (int signs = 0; signs < MOST_SIGNS && at < here->size && flags[text[at]] == sign; signs++)
                at++;
            if (at >= here->size || !(flags[text[at]] & CLUMP))
                return at;
        } else {
            return at;
        }
    }
}

/* Find the clumps of a text: `starts` and `numbers` of all, `firsts` and `lengths` of the different ones; each has room
 * for (size + 1) / 2. `state` holds how far it came: the place, clumps, different clumps; zeros at first. Returns 0 when
 * the table, of 2^bits places, is three quarters full: call again with a larger one, cleared. Returns 1 at the end. */
int64_t find_clumps(const uint8_t *text, int64_t size, const uint8_t *flags, uint64_t multiplier, string_slot *table,
                    int64_t bits, int32_t *starts, int32_t *numbers, int32_t *firsts, int32_t *lengths,
                    int64_t *state)
{
    strings known = {text, multiplier, table, (unsigned)bits, firsts, lengths, 0};
    blocks here = {text, flags, size, -1, 0, flags};
    int64_t at = state[0], count = state[1], most = (int64_t)3 << (bits - 2);
    for (int64_t number = 0; number < state[2]; number++)
        number_of(&known, ask(&known, firsts[number], lengths[number]));
    while (at < size && known.count < most) {
        asked all[AT_ONCE];
        int64_t room = most - known.count, some = 0;
        for (; some < AT_ONCE && some < room && (at = next_edge(&here, at, 0)) < size; some++) {
            int64_t end = clump_end(&here, at);
            all[some] = ask(&known, at, end - at);
            at = end;
        }
        for (int64_t one = 0; one < some; one++) {
            starts[count] = all[one].start;
            numbers[count++] = number_of(&known, all[one]);
        }
    }
    state[0] = at;
    state[1] = count;
    state[2] = known.count;
    return at >= size;
}

/* The number of each string; `firsts` and `lengths_of` have room for as many different ones as strings. Returns how many
 * different ones there are, or -1 where they fill more than three quarters of the cleared table: it has to be larger. */
int64_t number_strings(const uint8_t *text, const int32_t *starts, const int32_t *lengths, int64_t count,
                       uint64_t multiplier, string_slot *table, int64_t bits, int32_t *numbers, int32_t *firsts,
                       int32_t *lengths_of)
{
    strings known = {text, multiplier, table, (unsigned)bits, firsts, lengths_of, 0};
    for (int64_t first = 0; first < count; first += AT_ONCE) {
        asked all[AT_ONCE];
        int64_t some = count - first < AT_ONCE ? count - first : AT_ONCE;
        for (int64_t one = 0; one < some; one++)
            all[one] = ask(&known, starts[first + one], lengths[first + one]);
        for (int64_t one = 0; one < some; one++) {
            if (known.count >= (int64_t)3 << (bits - 2))
                return -1;
            numbers[first + one] = number_of(&known, all[one]);
        }
    }
    return known.count;
}

/* Put every place of term t at places[cursors[t]] and on, ascending; `cursors` move. Clump i has the terms
 * terms[rows[i]] to terms[rows[i + 1] - 1], each beginning inside[row] bytes behind it. */
void place_terms(const int32_t *starts, const int32_t *numbers, int64_t count, const int32_t *rows,
                 const int32_t *terms, const int32_t *inside, int32_t *cursors, int32_t *places)
{
    for (int64_t at = 0; at < count; at++) {
        if (at + AT_ONCE < count)
            __builtin_prefetch(rows + numbers[at + AT_ONCE]);
        for (int32_t row = rows[numbers[at]]; row < rows[numbers[at] + 1]; row++)
            places[cursors[terms[row]]++] = starts[at] + inside[row];
    }
}

/* Where the name ends that begins at `at`: at its newline. */
static inline int64_t name_end(const uint8_t *text, int64_t size, int64_t at)
{
    const uint8_t *newline = at < size ? memchr(text + at, '\n', (size_t)(size - at)) : NULL;
    return newline ? newline - text : size;
}

/* The first eight bytes of the name at `start` as a number that orders as they do; zeros stand for those that it lacks.
 * Behind the last name the largest number. */
static inline uint64_t key_at(const uint8_t *text, int64_t size, int64_t start, int64_t end)
{
    uint64_t key = 0;
    if (start >= size)
        return UINT64_MAX;
    if (start + 8 <= size)
        key = end > start ? masked(word_at(text + start), end - start) : 0;
    else
        for (int64_t at = start; at < end; at++)
            key |= (uint64_t)text[at] << 8 * (at - start);
    return __builtin_bswap64(key);
}

/* Names of several texts as one list: each text has its names in bytewise order, a newline behind each, none twice.
 * `starts`, `ends` and `keys` are room for one number a text, `firsts` where the rows of each text's names begin in
 * `rows`, which gets the place of each in the list. `out` has room for all texts, and gets the list, a newline behind
 * each name; `size` its bytes. Returns how many names there are, or -1 where a text's names do not ascend. */
int64_t merge_names(const uint8_t *const *texts, const int64_t *sizes, int64_t count, int64_t *starts, int64_t *ends,
                    uint64_t *keys, int64_t *firsts, int64_t *rows, uint8_t *out, int64_t *size)
{
    int64_t made = 0, written = 0, before = 0; /* bytes of the last name */
    for (int64_t text = 0; text < count; text++) {
        starts[text] = 0;
        ends[text] = name_end(texts[text], sizes[text], 0);
        keys[text] = key_at(texts[text], sizes[text], 0, ends[text]);
    }
    for (;;) {
        const uint8_t *least = NULL;
        int64_t length = 0;
        uint64_t key = UINT64_MAX;
        for (int64_t text = 0; text < count; text++)
            key = keys[text] < key ? keys[text] : key;
        for (int64_t text = 0; text < count; text++) {
            if (keys[text] != key || starts[text] >= sizes[text])
                continue;
            const uint8_t *name = texts[text] + starts[text];
            int64_t own = ends[text] - starts[text], shorter = own < length ? own : length;
            int order = least ? 0 : -1;
            if (shorter > 8)
                order = memcmp(name + 8, least + 8, (size_t)(shorter - 8));
            if (order < 0 || (!order && own < length)) {
                least = name;
                length = own;
            }
        }
        if (!least)
            break;
        int64_t shorter = before < length ? before : length;
        int order = made ? memcmp(out + written - before - 1, least, (size_t)shorter) : -1;
        if (order > 0 || (!order && before >= length))
            return -1;
        memcpy(out + written, least, (size_t)length);
        for (int64_t text = 0; text < count; text++)
            if (keys[text] == key && starts[text] < sizes[text] && ends[text] - starts[text] == length &&
                (length <= 8 || !memcmp(texts[text] + starts[text] + 8, out + written + 8, (size_t)(length - 8)))) {
                rows[firsts[text]++] = made;
                starts[text] = ends[text] + 1;
                ends[text] = name_end(texts[text], sizes[text], starts[text]);
                keys[text] = key_at(texts[text], sizes[text], starts[text], ends[text]);
            }
        written += length;
        before = length;
        out[written++] = '\n';
        made++;
    }
    *size = written;
    return made;
}

/* Of names in bytewise order, a newline behind each, name i from bounds[i] on: how many stand before each of some
 * wanted ones, which lie likewise, in any order; and whether each is among them. */
void find_names(const uint8_t *lines, const int32_t *bounds, int64_t count, const uint8_t *wanted,
                const int32_t *wanted_bounds, int64_t many, int64_t *rows, uint8_t *known)
{
    for (int64_t one = 0; one < many; one++) {
        const uint8_t *name = wanted + wanted_bounds[one];
        int64_t length = wanted_bounds[one + 1] - wanted_bounds[one] - 1, low = 0, high = count;
        while (low < high) {
            int64_t middle = (low + high) / 2, own = bounds[middle + 1] - bounds[middle] - 1;
            int order = memcmp(lines + bounds[middle], name, (size_t)(own < length ? own : length));
            if (order < 0 || (!order && own < length))
                low = middle + 1;
            else
                high = middle;
        }
        rows[one] = low;
        known[one] = low < count && bounds[low + 1] - bounds[low] - 1 == length &&
                     !memcmp(lines + bounds[low], name, (size_t)length);
    }
}
