/* Where do lines and sentences begin, and which neighbours are gathered? A text has sixteen newlines behind its end,
 * so that every look ahead stays inside. What a byte is, the caller's table says; see brimful.text.lines. */

#include "kernels.h"

enum { BLANK = 1, NEWLINE = 2, STOP = 4, CLOSER = 8, COLON = 16, GOES_ON = 32, LETTER = 64, DIGIT = 128 };
enum { MOST_BLANKS = 8, FIRST_WIDE = 0xD8 };

/* The lines of a text; its end begins none. Of each where it starts, its first byte that is not blank, and behind its
 * last such byte; a blank line's words begin and end at its newline. `speaks` says whether a colon before a blank
 * stands in its first `reach` bytes. The columns have room for one line more than there are newlines. */
EXPORT int64_t find_lines(const uint8_t *text, int64_t size, const uint8_t *signs, int64_t reach, int64_t *starts,
                          int64_t *firsts, int64_t *ends, uint8_t *speaks)
{
    int64_t count = 0;
    for (int64_t start = 0; start < size; count++) {
        const uint8_t *newline = memchr(text + start, '\n', (size_t)(size - start));
        int64_t stop = newline ? newline - text : size, first = start, end = stop;
        while (signs[text[first]] & BLANK)
            first++;
        if (first > stop)
            first = stop;
        while (end > first && signs[text[end - 1]] & BLANK)
            end--;
        int64_t last = end < start + reach ? end : start + reach;
        uint8_t found = 0;
        for (int64_t at = start; at < last && !found; at++)
            found = signs[text[at]] & COLON && signs[text[at + 1]] & (BLANK | NEWLINE);
        starts[count] = start;
        firsts[count] = first;
        ends[count] = end;
        speaks[count] = found;
        start = stop + 1;
    }
    return count;
}

static inline int64_t past_blanks(const uint8_t *text, const uint8_t *signs, int64_t at)
{
    for (int step = 0; step < MOST_BLANKS && signs[text[at]] & BLANK; step++)
        at++;
    return at;
}

static int is_among(uint32_t key, const uint32_t *keys, int64_t count)
{
    for (int64_t at = 0; at < count; at++)
        if (keys[at] == key)
            return 1;
    return 0;
}

/* Whether a full stop belongs to a single letter, a number of up to two digits or an abbreviation, whose letters are
 * the bytes of a key, the last one highest. */
static int is_abbreviated(const uint8_t *text, const uint8_t *signs, int64_t stop, const uint32_t *keys, int64_t count)
{
    uint8_t before[6] = {0}; /* what each of the bytes before it is */
    uint32_t key = 0;
    for (int step = 1; step <= 5 && step <= stop; step++)
        before[step] = signs[text[stop - step]];
    if (before[1] & LETTER && !(before[2] & (LETTER | DIGIT)))
        return 1;
    if (before[1] & DIGIT && !(before[2] & DIGIT && before[3] & DIGIT) && !(before[2] & LETTER))
        return 1;
    for (int step = 1; step <= 4 && step <= stop; step++) {
        key = key << 8 | (text[stop - step] | 32);
        if (step > 1 && before[step] & LETTER && !(before[step + 1] & LETTER) && is_among(key, keys, count))
            return 1;
    }
    return 0;
}

/* Where sentences start after others, ascending; room for half as many as bytes, and one. `wide` are signs of two or
 * three bytes that need no blank behind them, `short_forms` the abbreviations. */
EXPORT int64_t find_sentences(const uint8_t *text, int64_t size, const uint8_t *signs, const uint32_t *short_forms,
                              int64_t forms, const uint32_t *wide, int64_t wides, int64_t *places)
{
    int64_t count = 0;
    for (int64_t at = 0; at < size; at++) {
        if (text[at] >= FIRST_WIDE) {
            uint32_t pair = (uint32_t)text[at] << 8 | text[at + 1];
            int width = is_among(pair, wide, wides) ? 2 : is_among(pair << 8 | text[at + 2], wide, wides) ? 3 : 0;
            if (width) {
                int64_t place = past_blanks(text, signs, at + width);
                place += text[place] == '\n';
                if (text[place] != '\n')
                    places[count++] = place;
            }
        } else if (signs[text[at]] & STOP) {
            uint8_t next = signs[text[at + 1]];
            int64_t place = at + 1;
            if (next & CLOSER && signs[text[at + 2]] & (BLANK | NEWLINE))
                place++;
            else if (!(next & (BLANK | NEWLINE)))
                continue;
            place = past_blanks(text, signs, place);
            place += text[place] == '\n';
            uint8_t following = signs[text[past_blanks(text, signs, place)]];
            if (!(following & (GOES_ON | NEWLINE)) &&
                !(text[at] == '.' && is_abbreviated(text, signs, at, short_forms, forms)))
                places[count++] = place;
        }
    }
    return count;
}

/* Join neighbouring stretches while they stay within `aim`; no stretch goes on over one of the walls, which ascend.
 * Returns how many of the `count` cuts, at least one, remain in `kept`. */
EXPORT int64_t gather_cuts(const int64_t *cuts, int64_t count, const int64_t *walls, int64_t walled, int64_t aim,
                           int64_t *kept)
{
    int64_t remain = 0, wall = 0;
    for (int64_t at = 0; at < count;) {
        kept[remain++] = cuts[at];
        int64_t reach = cuts[at] + aim, next = at + 1;
        while (wall < walled && walls[wall] <= cuts[at])
            wall++;
        if (wall < walled && walls[wall] < reach)
            reach = walls[wall];
        while (next + 1 < count && cuts[next + 1] <= reach)
            next++;
        at = next;
    }
    return remain;
}

enum { LINE_BYTES = 300 }; /* of a line that are looked at to tell code */

static inline int is_word(uint8_t code)
{
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9') || code == '_';
}

static inline int is_space(uint8_t code)
{
    return code == ' ' || (code >= 9 && code <= 13);
}

static int ends_with_word(const uint8_t *line, int64_t end, const char *word)
{
    int64_t size = (int64_t)strlen(word);
    return end >= size && !memcmp(line + end - size, word, (size_t)size) && (end == size || !is_word(line[end - size - 1]));
}

/* Whether a bracket closes before `end`, with white space between at most. */
static int closes_before(const uint8_t *line, int64_t end)
{
    while (end && is_space(line[end - 1]))
        end--;
    return end && line[end - 1] == ')';
}

/* Whether a line ends as statements do: `;` `{` `}`, `):`, `) -> type:`, or a word that opens a block. */
static int ends_as_code(const uint8_t *line, int64_t end)
{
    if (!end)
        return 0;
    uint8_t last = line[end - 1];
    if (last == ';' || last == '{' || last == '}')
        return 1;
    if (last != ':')
        return ends_with_word(line, end, "then") || ends_with_word(line, end, "do") || ends_with_word(line, end, "begin");
    if (closes_before(line, end - 1))
        return 1;
    for (int64_t at = end - 4; at > 0 && line[at + 2] != ':'; at--)
        if (line[at] == '-' && line[at + 1] == '>' && closes_before(line, at))
            return 1;
    return 0;
}

enum { MOST_WORD = 31 }; /* bytes of a word that code begins with */

/* Whether a line begins with one of the words, of which each has a newline behind it; `sizes` says for every first byte
 * of a word, a bit each, how long such words are. */
static int begins_as_code(const uint8_t *line, int64_t size, const uint8_t *words, int64_t all, const uint32_t *sizes)
{
    int64_t start = 0;
    while (start < size && is_space(line[start]))
        start++;
    if (start == size || !sizes[line[start]])
        return 0;
    int64_t end = start + (line[start] == '#');
    while (end < size && is_word(line[end]))
        end++;
    if (end - start > MOST_WORD || !(sizes[line[start]] >> (end - start) & 1))
        return 0;
    for (int64_t at = 0; at < all;) {
        const uint8_t *behind = memchr(words + at, '\n', (size_t)(all - at));
        int64_t length = behind ? behind - (words + at) : all - at;
        if (length == end - start && !memcmp(words + at, line + start, (size_t)length))
            return 1;
        at += length + 1;
    }
    return 0;
}

/* How many lines look like code: by how they end, or by their first word, one of `words`, of 1 to 31 bytes each with a
 * newline behind it. */
EXPORT int64_t count_code(const uint8_t *text, int64_t size, const uint8_t *words, int64_t all)
{
    int64_t count = 0;
    uint32_t sizes[256] = {0};
    for (int64_t at = 0, begin = 0; at < all; at++)
        if (words[at] == '\n') {
            sizes[words[begin]] |= (uint32_t)1 << (at - begin);
            begin = at + 1;
        }
    for (int64_t start = 0; start < size;) {
        const uint8_t *newline = memchr(text + start, '\n', (size_t)(size - start));
        int64_t stop = newline ? newline - text : size;
        int64_t looked = stop - start < LINE_BYTES ? stop - start : LINE_BYTES, end = looked;
        const uint8_t *line = text + start;
        while (end && (line[end - 1] == ' ' || line[end - 1] == '\t' || line[end - 1] == '\r'))
            end--;
        count += ends_as_code(line, end) || begins_as_code(line, looked, words, all, sizes);
        start = stop + 1;
    }
    return count;
}
