/* Where do lines and sentences begin, and which neighbours are gathered? A text has sixteen newlines behind its end,
 * so that every look ahead stays inside. What a byte is, the caller's table says; see brimful.outline.prose. */

#include "shared.h"

enum { BLANK = 1, NEWLINE = 2, STOP = 4, CLOSER = 8, GOES_ON = 32, LETTER = 64, DIGIT = 128 };
enum { MOST_BLANKS = 8, FIRST_WIDE = 0xD8 };

enum { SPEAKS = 1, ITEM = 2 }; /* what a line may be: a turn of a chat, an item of a list or a row of a table */

static inline int is_digit(uint8_t code)
{
    return code >= '0' && code <= '9';
}

/* Whether a list item or a row of a table begins here: `- `, `* `, `+ `, a bullet, `12. `, `3) `, `|`. */
static int is_item(const uint8_t *line)
{
    if (*line == '-' || *line == '*' || *line == '+')
        return line[1] == ' ' || line[1] == '\t';
    if (*line == '|' || !memcmp(line, "\xE2\x80\xA2 ", 4))
        return 1;
    if (!is_digit(*line))
        return 0;
    line++;
    for (int step = 0; step < 3; step++)
        line += is_digit(*line);
    return (*line == '.' || *line == ')') && line[1] == ' ';
}

/* The lines of a text, from `state` on: where to begin; it is moved. The text's end begins no line. Of each where it
 * starts, its first byte that is not blank, and behind its last such byte; a blank line's words begin and end at its
 * newline. `marks` says whether it is an ITEM, and SPEAKS: a colon before a blank stands in its first `reach` bytes.
 * The columns have room for `most`. Returns how many lines were found. */
int64_t find_lines(const uint8_t *text, int64_t size, const uint8_t *signs, int64_t reach, int64_t most, int64_t *state,
                   int64_t *starts, int64_t *firsts, int64_t *ends, uint8_t *marks)
{
    int64_t count = 0, start = *state;
    for (; start < size && count < most; count++) {
        const uint8_t *newline = memchr(text + start, '\n', (size_t)(size - start));
        int64_t stop = newline ? newline - text : size, first = start, end = stop;
        while (signs[text[first]] & BLANK)
            first++;
        if (first > stop)
            first = stop;
        while (end > first && signs[text[end - 1]] & BLANK)
            end--;
        int64_t last = end < start + reach ? end : start + reach;
        uint8_t found = is_item(text + first) ? ITEM : 0;
        const uint8_t *colon = text + start - 1;
        while (colon + 1 < text + last && (colon = memchr(colon + 1, ':', (size_t)(text + last - colon - 1))))
            if (signs[colon[1]] & (BLANK | NEWLINE)) {
                found |= SPEAKS;
                break;
            }
        starts[count] = start;
        firsts[count] = first;
        ends[count] = end;
        marks[count] = found;
        start = stop + 1;
    }
    *state = start;
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

/* Whether only blanks stand before this place on its line. */
static int begins_line(const uint8_t *text, const uint8_t *signs, int64_t at)
{
    for (int step = 0; step < MOST_BLANKS && at && signs[text[at - 1]] & BLANK; step++)
        at--;
    return !at || signs[text[at - 1]] & NEWLINE;
}

/* Whether a full stop belongs to a single letter, a number of up to two digits or an abbreviation, whose letters are
 * the bytes of a key, the last one highest; to the two dots that begin a directive, `.. note::`, or to the three of a
 * line that goes on with a shown session, `...     pour(cup)`. */
static int is_abbreviated(const uint8_t *text, const uint8_t *signs, int64_t stop, const uint32_t *keys, int64_t count)
{
    uint8_t before[6] = {0}; /* what each of the bytes before it is */
    uint32_t key = 0;
    for (int step = 1; step <= 5 && step <= stop; step++)
        before[step] = signs[text[stop - step]];
    if (stop && text[stop - 1] == '.' && (stop == 1 || before[2] & (BLANK | NEWLINE)))
        return 1;
    if (stop >= 2 && text[stop - 1] == '.' && text[stop - 2] == '.' && begins_line(text, signs, stop - 2))
        return 1;
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

/* Whether a bracket or quotation mark of Chinese and Japanese closes here. */
static inline int is_wide_closer(const uint8_t *at)
{
    return (at[0] == 0xE3 && at[1] == 0x80 && (at[2] == 0x8D || at[2] == 0x8F)) ||
           (at[0] == 0xEF && at[1] == 0xBC && at[2] == 0x89);
}

/* Where a sentence starts after the sign that stands here; -1 for none. */
static inline int64_t sentence_behind(const uint8_t *text, const uint8_t *signs, int64_t at, const uint32_t *short_forms,
                                      int64_t forms, const uint32_t *wide, int64_t wides)
{
    if (text[at] >= FIRST_WIDE) {
        uint32_t pair = (uint32_t)text[at] << 8 | text[at + 1];
        int width = is_among(pair, wide, wides) ? 2 : is_among(pair << 8 | text[at + 2], wide, wides) ? 3 : 0;
        if (!width)
            return -1;
        int64_t place = at + width;
        while (is_wide_closer(text + place))
            place += 3;
        place = past_blanks(text, signs, place);
        place += text[place] == '\n';
        return text[place] != '\n' ? place : -1;
    }
    uint8_t next = signs[text[at + 1]];
    int64_t place = at + 1;
    if (next & CLOSER && signs[text[at + 2]] & (BLANK | NEWLINE))
        place++;
    else if (!(next & (BLANK | NEWLINE)))
        return -1;
    place = past_blanks(text, signs, place);
    place += text[place] == '\n';
    uint8_t following = signs[text[past_blanks(text, signs, place)]];
    if (following & (GOES_ON | NEWLINE) || (text[at] == '.' && is_abbreviated(text, signs, at, short_forms, forms)))
        return -1;
    return place;
}

/* Where sentences start after others, ascending; room for half as many as bytes, and one. `wide` are signs of two or
 * three bytes that need no blank behind them, `short_forms` the abbreviations. */
int64_t find_sentences(const uint8_t *text, int64_t size, const uint8_t *signs, const uint32_t *short_forms,
                       int64_t forms, const uint32_t *wide, int64_t wides, int64_t *places)
{
    int64_t count = 0;
    uint8_t asks[256]; /* by byte: may a sentence end with it? */
    for (int code = 0; code < 256; code++)
        asks[code] = code >= FIRST_WIDE || signs[code] & STOP;
    const uint8_t *marks = asks;
    for (int64_t block = 0; block < size; block += 64)
        for (uint64_t bits = lowest_bits(text + block, size - block, marks); bits; bits &= bits - 1) {
            int64_t place = sentence_behind(text, signs, block + __builtin_ctzll(bits), short_forms, forms, wide, wides);
            if (place >= 0)
                places[count++] = place;
        }
    return count;
}

/* Join neighbouring stretches while they stay within `aim`; no stretch goes on over one of the walls, which ascend.
 * Returns how many of the `count` cuts, at least one, remain in `kept`. */
int64_t gather_cuts(const int64_t *cuts, int64_t count, const int64_t *walls, int64_t walled, int64_t aim,
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

/* Sections with the units of those that are longer than `limit`, as one ascending column, each number once; both
 * ascend. What stands before the first section counts to it. `out` has room for all. Returns how many there are, or -1
 * where no section is that long. */
int64_t divide_cuts(const int64_t *units, int64_t count, const int64_t *sections, int64_t all, int64_t limit,
                    int64_t *out)
{
    int64_t made = 0, section = 0, taken = 0, longest = 0;
    for (int64_t at = 0; at + 1 < all; at++)
        longest = sections[at + 1] - sections[at] > longest ? sections[at + 1] - sections[at] : longest;
    if (longest <= limit)
        return -1;
    for (int64_t at = 0; at < count; at++) {
        while (section + 1 < all && sections[section + 1] <= units[at])
            section++;
        if (section + 1 == all || sections[section + 1] - sections[section] <= limit)
            continue;
        for (; taken < all && sections[taken] <= units[at]; taken++)
            if (!made || out[made - 1] != sections[taken])
                out[made++] = sections[taken];
        if (!made || out[made - 1] != units[at])
            out[made++] = units[at];
    }
    for (; taken < all; taken++)
        if (!made || out[made - 1] != sections[taken])
            out[made++] = sections[taken];
    return made;
}
