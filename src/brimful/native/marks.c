/* Where do the headings, lists, tables, quotations and blocks of code of prose begin and end? In Markdown, in plain text
 * and in the sources of manual pages. Line by line: what a line begins with says
 * what it is, and what is fenced is passed as a whole. A line is known by the place of its first byte. */

#include "shared.h"

enum { MARKDOWN = 0, PLAIN = 1, ROFF = 2, RST = 3, ASCIIDOC = 4, ORG = 5, WIKI = 6 }; /* forms */
static const char *const BULLETS[] = {"-*+", "-*+", "", "-*+", "-*.", "-+*", "*#:;"};
enum { CODE = 0, FRONT_MATTER = 1, LIST = 2, QUOTATION = 3, TABLE = 4 };
enum { LONGEST_TITLE = 300, LEAD_BYTES = 400, NEAR = 2000, SIDE_BYTES = 200, TABLE_LINES = 40, MOST_FENCE = 60 };
enum { MOST_LEVELS = 6, NONE = -1 };

typedef struct {
    int64_t start, end, level, words, words_end;
} title;

typedef struct {
    int64_t start, end, kind, lead, lead_end, first_part, parts;
} passage;

typedef struct {
    int64_t passage, place;
} part;

typedef struct {
    const uint8_t *text;
    int64_t size, form;
    const uint8_t *words; /* that chapters begin with, each with a newline behind it */
    int64_t all_words;
    title *titles;
    passage *passages;
    part *parts;
    int64_t most, titled, passed, parted, last_list;
    const int64_t *skips, *skips_end; /* stretches that are passed over */
} reading;

static inline int is_digit(uint8_t code)
{
    return code >= '0' && code <= '9';
}

static inline int is_word(uint8_t code)
{
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || is_digit(code) || code == '_';
}

static inline int is_space(uint8_t code)
{
    return code == ' ' || (code >= 9 && code <= 13);
}

static inline int is_letter(uint8_t code)
{
    return code >= 0x80 || (code != '_' && is_word(code));
}

static inline int is_among(uint8_t code, const char *signs)
{
    return code && strchr(signs, code);
}

static inline int is_blank(uint8_t code)
{
    return code == ' ' || code == '\t';
}

/* The byte at a place; a zero behind the end. */
static inline uint8_t byte_at(const reading *of, int64_t at)
{
    return at < of->size ? of->text[at] : 0;
}

static inline int is_blank_at(const reading *of, int64_t at)
{
    return at < of->size && is_blank(of->text[at]);
}

static inline int64_t line_end(const reading *of, int64_t at)
{
    const uint8_t *newline = at < of->size ? memchr(of->text + at, '\n', (size_t)(of->size - at)) : NULL;
    return newline ? newline - of->text : of->size;
}

/* Where the first line begins from a place on; behind the end where none does. */
static inline int64_t line_from(const reading *of, int64_t at)
{
    return line_end(of, at - 1) + 1;
}

static inline int64_t past_blanks(const reading *of, int64_t at)
{
    while (is_blank_at(of, at))
        at++;
    return at;
}

static inline int64_t past_run(const reading *of, int64_t at, uint8_t code)
{
    while (at < of->size && of->text[at] == code)
        at++;
    return at;
}

/* Behind up to three spaces. */
static inline int64_t past_spaces(const reading *of, int64_t at)
{
    for (int step = 0; step < 3 && at < of->size && of->text[at] == ' '; step++)
        at++;
    return at;
}

/* Where a line ends of which only blanks are left; NONE where more is. */
static inline int64_t rest_of_blanks(const reading *of, int64_t at)
{
    at = past_blanks(of, at);
    at += at < of->size && of->text[at] == '\r';
    return at >= of->size || of->text[at] == '\n' ? at : NONE;
}

static inline int64_t stripped(const reading *of, int64_t start, int64_t end)
{
    while (end > start && is_space(of->text[end - 1]))
        end--;
    return end;
}

static inline int64_t filled(const reading *of, int64_t start, int64_t end)
{
    while (start < end && is_space(of->text[start]))
        start++;
    return start;
}

/* The last newline in a range, or NONE. */
static inline int64_t last_newline(const reading *of, int64_t start, int64_t end)
{
    while (end > start)
        if (of->text[--end] == '\n')
            return end;
    return NONE;
}

static int has_letter(const reading *of, int64_t start, int64_t end)
{
    for (; start < end; start++)
        if (is_letter(of->text[start]))
            return 1;
    return 0;
}

static int is_run_of(const reading *of, int64_t start, int64_t end, uint8_t code)
{
    while (start < end && of->text[start] == code)
        start++;
    return start == end;
}

static int begins_with(const reading *of, int64_t at, int64_t end, const char *sign)
{
    int64_t size = (int64_t)strlen(sign);
    return end - at >= size && !memcmp(of->text + at, sign, (size_t)size);
}

/* Titles. */

static int add_title(reading *of, int64_t start, int64_t end, int64_t level, int64_t words, int64_t words_end)
{
    if (of->titled == of->most)
        return 0;
    int64_t at = of->titled++;
    for (; at && (of->titles[at - 1].start > start || (of->titles[at - 1].start == start && of->titles[at - 1].end > end)); at--)
        of->titles[at] = of->titles[at - 1];
    of->titles[at] = (title){start, end, level, words, words_end};
    return 1;
}

static int add_short_title(reading *of, int64_t start, int64_t end, int64_t level, int64_t words, int64_t words_end)
{
    int64_t size = words_end - words;
    return size <= 0 || size > LONGEST_TITLE || add_title(of, start, end, level, words, words_end);
}

/* Where the line above one begins, and its words; where it is too long for a title, it is that line itself, without
 * words. */
static int64_t line_above(const reading *of, int64_t line, int64_t *words, int64_t *words_end)
{
    *words = *words_end = 0;
    if (!line)
        return 0;
    int64_t begin = line - 1 - LONGEST_TITLE - 8;
    begin = begin > 0 ? begin : 0;
    int64_t above = last_newline(of, begin, line - 1) + 1;
    if (!above && begin)
        return line;
    *words_end = stripped(of, above, line - 1);
    *words = filled(of, above, *words_end);
    return above;
}

/* Behind the sign of an item: `-`, a bullet, `12.`, `3)`, and `a.` where letters number too; NONE for none. */
static int64_t past_sign(const reading *of, int64_t at, int with_bullets, int with_letters)
{
    uint8_t code = byte_at(of, at);
    if (code == '-' || code == '*' || code == '+')
        return at < of->size ? at + 1 : NONE;
    if (code == 0xE2)
        return with_bullets && begins_with(of, at, of->size, "\xE2\x80\xA2") ? at + 3 : NONE;
    int64_t first = at;
    while (at - first < 9 && is_digit(byte_at(of, at)))
        at++;
    if (at == first && with_letters && code < 0x80 && code != '_' && is_word(code))
        at++;
    return at > first && (byte_at(of, at) == '.' || byte_at(of, at) == ')') ? at + 1 : NONE;
}

/* Whether a title may be one: it has letters, is no list item, and stands below a blank line, a rule, a heading or the
 * text's start. */
static int is_title(const reading *of, int64_t above, int64_t words, int64_t words_end)
{
    if (words == words_end || !has_letter(of, words, words_end) || is_among(of->text[words], "#|>"))
        return 0;
    int64_t behind = past_sign(of, words, 0, 0);
    if ((behind > 0 && behind < words_end && is_blank(of->text[behind])) || begins_with(of, words, words_end, ".. "))
        return 0;
    if (!above)
        return 1;
    int64_t before, before_end, low = above - 2 - SIDE_BYTES;
    line_above(of, above, &before, &before_end);
    int64_t line = last_newline(of, low > 0 ? low : 0, above - 1) + 1;
    if (filled(of, line, above - 1) >= above - 1)
        return 1;
    return before < before_end && (is_run_of(of, before, before_end, of->text[before]) || of->text[before] == '#');
}

/* How many bytes a title of a manual page has, without its fonts, quotes and the white space around it. */
static int64_t title_size(const uint8_t *at, const uint8_t *end)
{
    int64_t size = 0, kept = 0;
    for (; at < end; at++) {
        if (*at == '"')
            continue;
        if (*at == '\\' && at + 1 < end && (at[1] == '&' || (at[1] == 'f' && at + 2 < end))) {
            at += at[1] == '&' ? 1 : 2;
            continue;
        }
        size += size || !is_space(*at); /* from the first that is filled */
        kept = is_space(*at) ? kept : size;
    }
    return kept;
}

/* The level of the heading of a manual page whose macro begins at `at`: SH, Sh, SS or Ss; 0 where none does. Where its
 * title begins and ends, on the macro's line or on the one below. */
static int64_t macro_at(const reading *of, int64_t at, int64_t *words, int64_t *words_end)
{
    uint8_t kind = byte_at(of, at + 1) | 32;
    if (at + 1 >= of->size || of->text[at] != 'S' || (kind != 'h' && kind != 's') || is_word(byte_at(of, at + 2)))
        return 0;
    at = past_blanks(of, at + 2);
    if (at < of->size && of->text[at] == '\n') /* the title stands below */
        at++;
    *words = at;
    *words_end = line_end(of, at);
    return kind == 'h' ? 1 : 2;
}

/* Whether one of some words begins at a place, all of it before `end`; each has a newline behind it. Behind
 * the word, or 0. */
static int64_t past_word(const uint8_t *text, int64_t at, int64_t end, const uint8_t *words, int64_t all)
{
    for (int64_t begin = 0; begin < all;) {
        const uint8_t *word = words + begin, *behind = memchr(word, '\n', (size_t)(all - begin));
        int64_t size = behind ? behind - word : all - begin, step = 0;
        while (step < size && at + step < end && text[at + step] == word[step])
            step++;
        if (step == size)
            return at + size;
        begin += size + 1;
    }
    return 0;
}

/* `1.2`, `1.2.3`, at least two numbers of up to three digits: behind them and the dot that may follow, or 0. */
static int64_t past_numbers(const reading *of, int64_t at, int64_t end, int64_t *count)
{
    for (*count = 0;; at++) {
        int64_t first = at;
        while (at < end && at - first < 3 && is_digit(of->text[at]))
            at++;
        if (at == first)
            return *count > 1 ? at : 0; /* behind a dot */
        ++*count;
        if (at == end || of->text[at] != '.')
            return *count > 1 ? at : 0;
    }
}

/* Whether a chapter's word is followed by a number, as one of up to three digits, in Roman ones or a capital, and by no
 * more than the rest of a title. */
static int has_chapter(const reading *of, int64_t line, int64_t end)
{
    int64_t at = past_word(of->text, line, end, of->words, of->all_words), first;
    if (!at || !is_blank_at(of, at))
        return 0;
    at = first = past_blanks(of, at);
    int digits = 1, romans = 1;
    for (; at < end && is_word(of->text[at]); at++) {
        digits &= is_digit(of->text[at]);
        romans &= is_among(of->text[at], "IVXLC");
    }
    int64_t size = at - first, left = end - at;
    int is_capital = size == 1 && of->text[first] >= 'A' && of->text[first] <= 'Z';
    if (!size || !((digits && size <= 3) || (romans && size <= 7) || is_capital))
        return 0;
    return left <= 80 || (left == 81 && of->text[end - 1] == '\r');
}

static int has_numbers(const reading *of, int64_t line, int64_t end)
{
    int64_t count, at = past_numbers(of, line, end, &count);
    if (!at || at >= end || !is_blank(of->text[at]))
        return 0;
    int64_t left = end - at, blanks = 0;
    while (at + blanks < end && is_blank(of->text[at + blanks]))
        blanks++;
    return (left >= 2 && left - blanks <= 80) || (of->text[end - 1] == '\r' && left >= 3 && left - 1 - blanks <= 80);
}

static int has_no_small_letter(const reading *of, int64_t line, int64_t end)
{
    int64_t size = end - line;
    if (size == 71 && of->text[end - 1] == '\r')
        size--;
    if (size < 3 || size > 70)
        return 0;
    for (; line < end; line++)
        if (of->text[line] >= 'a' && of->text[line] <= 'z')
            return 0;
    return 1;
}

/* Whether an empty line stands above. */
static inline int is_below_empty(const reading *of, int64_t line)
{
    return line && (line == 1 || of->text[line - 2] == '\n');
}

/* Whether a line stands by itself and looks like a heading: an empty line above, a blank or indented one below. */
static int stands_alone(const reading *of, int64_t line, int64_t end)
{
    if (!is_below_empty(of, line) || end >= of->size)
        return 0;
    uint8_t next = byte_at(of, end + 1);
    if (!is_blank(next) && next != '\n' && next != '\r')
        return 0;
    int64_t at = past_blanks(of, end + 1);
    int is_indented = at > end + 1 && at < of->size && !is_space(of->text[at]);
    at += byte_at(of, at) == '\r';
    if (!is_indented && (at >= of->size || of->text[at] != '\n'))
        return 0;
    return has_no_small_letter(of, line, end) || has_numbers(of, line, end) || has_chapter(of, line, end);
}

/* The level of the heading that a line by itself is, 0 where it is none, and where its words end. */
static int64_t level_alone(const reading *of, int64_t line, int64_t line_end, int64_t *words, int64_t *words_end)
{
    int64_t end = *words_end = stripped(of, line, line_end), at = *words = filled(of, line, end), count;
    if (at == end || is_blank(of->text[line]) || is_among(of->text[end - 1], ".,;:!?") || !has_letter(of, at, end))
        return 0;
    int64_t behind = past_numbers(of, at, end, &count), first = behind;
    while (behind && behind < end && is_blank(of->text[behind]))
        behind++;
    if (behind > first && behind < end && (of->text[behind] >= 0x80 || (of->text[behind] >= 'A' && of->text[behind] <= 'Z')))
        return count < MOST_LEVELS ? count : MOST_LEVELS;
    behind = past_word(of->text, at, end, of->words, of->all_words);
    if (behind && (behind == end || !is_word(of->text[behind])))
        return 1;
    int64_t capitals = 0;
    for (; at < end; at++) {
        uint8_t code = of->text[at];
        if ((code >= 'a' && code <= 'z') || is_among(code, "=|<>{}[]*_#$\\"))
            return 0;
        capitals += code >= 'A' && code <= 'Z';
    }
    return capitals >= 3;
}

/* Passages. Where to go on is where the next line may begin at the earliest. */

static passage *add_passage(reading *of, int64_t start, int64_t end, int64_t kind)
{
    if (of->passed == of->most)
        return NULL;
    passage *made = of->passages + of->passed;
    *made = (passage){start, end, kind, NONE, NONE, of->passed, 0};
    of->passed++;
    return made;
}

static int add_part(reading *of, int64_t number, int64_t place)
{
    if (of->parted == of->most)
        return 0;
    of->parts[of->parted++] = (part){number, place};
    return 1;
}

/* Note a stretch, without the white space at its end: where to go on, NONE where there is no room. */
static int64_t add_stretch(reading *of, int64_t start, int64_t end, int64_t kind)
{
    end = stripped(of, start, end);
    return end > start && !add_passage(of, start, end, kind) ? NONE : end + 1;
}

/* Is there nothing but blanks between the last list and this place? */
static int goes_on(const reading *of, int64_t start)
{
    if (of->last_list < 0)
        return 0;
    int64_t end = of->passages[of->last_list].end;
    return end <= start && start <= end + NEAR && filled(of, end, start) >= start;
}

/* Whether what makes a line a heading or a rule stands here. */
static int begins_heading(const reading *of, int64_t line)
{
    int64_t at = past_spaces(of, line), run = past_run(of, at, '#');
    if (run > at)
        return run - at <= 6 && is_blank_at(of, run);
    return past_run(of, at, '=') - at >= 3 || past_run(of, at, '-') - at >= 3 ||
           (begins_with(of, at, of->size, "..") && is_blank_at(of, at + 2));
}

static int begins_fence(const reading *of, int64_t at)
{
    return begins_with(of, at, of->size, "```") || begins_with(of, at, of->size, "~~~");
}

/* Behind the sign of an item that a line begins with, by the signs of its form; NONE for none. */
static int64_t past_bullets(const reading *of, int64_t line)
{
    int64_t first = past_blanks(of, line), at = first, most = of->form == ORG ? 1 : MOST_LEVELS;
    if (of->form == RST && begins_with(of, at, of->size, "#."))
        return at + 2;
    if (of->form <= RST)
        return past_sign(of, at, 1, of->form != RST);
    if ((of->form == WIKI && first > line) || (of->form == ORG && first == line && byte_at(of, at) == '*'))
        return NONE;
    while (at - first < most && is_among(byte_at(of, at), BULLETS[of->form]))
        at++;
    return at > first ? at : of->form == WIKI ? NONE : past_sign(of, at, 0, 0);
}

/* Where the words of an item begin that a line is; NONE where it is none. */
static int64_t item_words(const reading *of, int64_t line)
{
    int64_t behind = past_bullets(of, line);
    if (behind < 0 || (of->form != WIKI && !is_blank_at(of, behind)))
        return NONE;
    behind = past_blanks(of, behind);
    return behind < of->size && !is_space(of->text[behind]) ? behind : NONE;
}

/* Whether a line begins an item, in Markdown and plain text not by a letter. */
static int begins_item(const reading *of, int64_t line, int with_bullets)
{
    if (of->form >= RST)
        return item_words(of, line) >= 0;
    int64_t behind = past_sign(of, past_blanks(of, line), with_bullets, 0);
    return behind > 0 && is_blank_at(of, behind);
}

/* Where the stretch that is passed over ends in which a line begins; 0 where there is none. */
static int64_t past_skip(reading *of, int64_t line)
{
    const int64_t *skip = of->skips;
    while (skip < of->skips_end && skip[1] <= line)
        skip += 2;
    return skip < of->skips_end && skip[0] <= line ? skip[1] : 0;
}

/* Where ends what belongs to an item: its line, those below that begin nothing else, and indented ones below blanks. */
static int64_t item_end(reading *of, int64_t at)
{
    int64_t end = line_end(of, at), skipped;
    while (end < of->size) {
        int64_t line = end + 1;
        if ((skipped = past_skip(of, line))) {
            if (!is_blank_at(of, line))
                break;
            end = line_end(of, skipped);
            continue;
        }
        if (rest_of_blanks(of, line) < 0) {
            if (begins_heading(of, line) || begins_fence(of, past_blanks(of, line)) || begins_item(of, line, 1))
                break;
            end = line_end(of, line);
            continue;
        }
        int64_t newline = end, next;
        while ((next = rest_of_blanks(of, newline + 1)) >= 0 && next < of->size)
            newline = next;
        if (newline == end)
            break;
        int64_t first = past_blanks(of, newline + 1);
        skipped = past_skip(of, newline + 1);
        if (first - newline < 3 || (!skipped && (begins_fence(of, first) || begins_item(of, newline + 1, 0))))
            break;
        end = line_end(of, skipped ? skipped : first);
    }
    return end;
}

/* The paragraph right above a list, or one blank line above it if it ends with a colon. */
static void find_lead(const reading *of, passage *list)
{
    int64_t start = list->start, begin = start - LEAD_BYTES - 8, newlines = 0;
    begin = begin > 0 ? begin : 0;
    int64_t end = stripped(of, begin, start);
    for (int64_t at = end; at < start; at++)
        newlines += of->text[at] == '\n';
    if (end == begin || newlines > 2)
        return;
    int has_colon = of->text[end - 1] == ':' || (end - begin >= 3 && !memcmp(of->text + end - 3, "\xEF\xBC\x9A", 3));
    if (newlines == 2 && !has_colon)
        return;
    int64_t first = NONE;
    for (int64_t at = end - 1; at > begin && first < 0; at--)
        if (of->text[at] == '\n' && (of->text[at - 1] == '\n' || (at - 1 > begin && of->text[at - 1] == '\r' && of->text[at - 2] == '\n')))
            first = at - (of->text[at - 1] == '\n' ? 1 : 2);
    int64_t last = last_newline(of, begin, end) + 1; /* where the last line begins */
    last = last > begin ? last : begin;
    int64_t words = first >= 0 ? filled(of, first + 1, end) : begin ? last : filled(of, begin, end);
    if (!has_letter(of, words, end) || is_among(of->text[words], "#|>"))
        return;
    last = last > words ? last : words;
    int64_t signs = last;
    while (signs < end && is_among(of->text[signs], "-=~*+"))
        signs++;
    if ((signs == end && end - last >= 3) || begins_fence(of, last))
        return;
    list->lead = words;
    list->lead_end = end;
}

static int64_t read_item(reading *of, int64_t line, int64_t words)
{
    int64_t last = line, end = item_end(of, words), parts = of->parted, place = of->passed;
    int is_next = goes_on(of, line);
    place = is_next ? of->last_list : place;
    if (!add_part(of, place, line))
        return NONE;
    /* Where blanks end an item, their number decides whether the list goes on. */
    while (end < of->size && !is_space(of->text[end - 1]) && (words = item_words(of, end + 1)) >= 0) {
        last = end + 1;
        end = item_end(of, words);
        if (!add_part(of, place, last))
            return NONE;
    }
    int64_t stop = stripped(of, last, end);
    if (is_next) {
        int64_t *known = &of->passages[of->last_list].end;
        *known = stop > *known ? stop : *known;
    } else if (stop > line) {
        passage *list = add_passage(of, line, stop, LIST);
        if (!list)
            return NONE;
        of->last_list = list - of->passages;
        find_lead(of, list);
    } else
        of->parted = parts;
    return end + 1;
}

/* Whether a row of a table begins here: with a bar, or in reStructuredText with the line around one. */
static int begins_row(const reading *of, int64_t at)
{
    uint8_t next = byte_at(of, at + 1);
    if (of->form == RST)
        return (byte_at(of, at) == '|' || byte_at(of, at) == '+') && is_among(next, "-=| ");
    return byte_at(of, at) == '|';
}

/* Behind the lines from `line` on that begin with a sign. */
static int64_t lines_with(const reading *of, int64_t line, uint8_t sign)
{
    int64_t end = line - 1;
    while (end < of->size) {
        int64_t at = sign == '>' ? past_spaces(of, end + 1) : past_blanks(of, end + 1);
        if (sign == '>' ? byte_at(of, at) != sign : !begins_row(of, at))
            break;
        end = line_end(of, at);
    }
    return end;
}

/* Whether a row of a table is a line of dashes below its header. */
static int is_table_rule(const reading *of, int64_t line)
{
    int64_t at = past_blanks(of, line), dashes = 0;
    uint8_t sign = byte_at(of, at);
    if (sign != '|' && sign != '+')
        return 0;
    for (at++; is_among(byte_at(of, at), " \t:|+=-"); at++)
        dashes |= of->text[at] == '-' || of->text[at] == '=';
    at += byte_at(of, at) == '\r';
    return dashes && (at >= of->size || of->text[at] == '\n');
}

/* Lines that begin with a bar; a line of dashes below the first makes that one the header. */
static int64_t read_rows(reading *of, int64_t line)
{
    int64_t end = lines_with(of, line, '|'), lines = 0, rule = NONE, stop = NONE, first = line, number = of->passed;
    if (line_end(of, line) == end)
        return end + 1;
    for (int64_t at = line; at < end && lines < TABLE_LINES; at = line_end(of, at) + 1, lines++) {
        if (stop >= 0 || !is_table_rule(of, at))
            continue;
        if (rule < 0) {
            if (lines > 1)
                break;
            rule = lines;
            first = lines ? line : line_end(of, line) + 1; /* where the header stands */
            stop = lines ? at : NONE;
        } else if (lines > 1)
            stop = at;
    }
    int64_t lead_end = stop >= 0 ? stripped(of, first, stop - 1) : NONE;
    for (int64_t at = line; at < end; at = line_end(of, at) + 1)
        if (!is_table_rule(of, at) && at >= lead_end && !add_part(of, number, at))
            return NONE;
    int64_t after = add_stretch(of, line, end, TABLE);
    if (after >= 0 && of->passed > number && stop >= 0) {
        of->passages[number].lead = first;
        of->passages[number].lead_end = lead_end;
    }
    return after;
}

/* Where the dashes of a table without bars at its edges end: `--|--`; NONE where the line is none. */
static int64_t past_dashed(const reading *of, int64_t line)
{
    int64_t at = past_blanks(of, line);
    at += byte_at(of, at) == ':';
    int64_t run = past_run(of, at, '-');
    if (run - at < 2)
        return NONE;
    at = past_blanks(of, run + (byte_at(of, run) == ':'));
    if (byte_at(of, at) != '|')
        return NONE;
    while (is_among(byte_at(of, at), " \t:|-"))
        at++;
    int64_t end = at + (byte_at(of, at) == '\r');
    return end >= of->size || of->text[end] == '\n' ? at : NONE;
}

/* A table whose header stands above the dashes. */
static int64_t read_dashed(reading *of, int64_t line, int64_t end)
{
    int64_t words, words_end, above = line_above(of, line, &words, &words_end), number = of->passed;
    if (words == words_end || !memchr(of->text + words, '|', (size_t)(words_end - words)))
        return end + 1;
    int64_t stop = end;
    while (stop < of->size && of->text[stop] == '\n') {
        int64_t next = line_end(of, stop + 1);
        if (next == stop + 1 || stop + 1 >= of->size || !memchr(of->text + stop + 1, '|', (size_t)(next - stop - 1)))
            break;
        if (!add_part(of, number, stop + 1))
            return NONE;
        stop = next;
    }
    int64_t after = add_stretch(of, above, stop, TABLE);
    if (after >= 0 && of->passed > number) {
        of->passages[number].lead = above;
        of->passages[number].lead_end = above + (words_end - words);
    }
    return after;
}

/* A fenced block, up to the line that closes it. */
static int64_t read_fence(reading *of, int64_t line, int64_t fence, int64_t behind)
{
    uint8_t sign = of->text[fence];
    int64_t least = behind - fence < MOST_FENCE ? behind - fence : MOST_FENCE, end = of->size;
    for (int64_t at = line_end(of, behind); at < of->size; at = line_end(of, at + 1)) {
        int64_t first = at + 1;
        while (is_blank_at(of, first) || byte_at(of, first) == '>')
            first++;
        int64_t run = past_run(of, first, sign), stop = run - first >= least ? rest_of_blanks(of, run) : NONE;
        if (stop >= 0) {
            end = stop;
            break;
        }
    }
    if (fence > line && goes_on(of, line)) { /* it is indented: part of an item */
        int64_t *known = &of->passages[of->last_list].end;
        *known = end > *known ? end : *known;
    }
    return add_stretch(of, line, end, CODE);
}

static int64_t read_atx(reading *of, int64_t start, int64_t behind)
{
    int64_t end = line_end(of, behind), stop = stripped(of, start, end), last = stop;
    while (last > behind && of->text[last - 1] == '#')
        last--;
    if (last == stop || last == behind || !is_blank(of->text[last - 1]))
        last = stop; /* it is closed by no signs */
    int64_t words_end = stripped(of, behind, last), words = filled(of, behind, words_end);
    return add_short_title(of, start, stop, behind - start, words, words_end) ? end + 1 : NONE;
}

/* A line of one sign under a title. */
static int64_t read_setext(reading *of, int64_t line, int64_t rule, int64_t behind)
{
    int64_t words, words_end, end = rest_of_blanks(of, behind) + 1;
    if (rule > line) /* a line that is indented stands under nothing */
        return end;
    int64_t above = line_above(of, line, &words, &words_end);
    if (above >= line || !is_title(of, above, words, words_end))
        return end;
    int64_t level = of->text[rule] == '=' ? 1 : 2;
    return add_short_title(of, words, behind, level, words, words_end) ? end : NONE;
}

/* `== Title ==`: behind it, or NONE. */
static int64_t past_wiki(const reading *of, int64_t line)
{
    int64_t at = line;
    while (at - line < MOST_LEVELS && byte_at(of, at) == '=')
        at++;
    if (at - line < 2)
        return NONE;
    int64_t words = past_blanks(of, at), last = words;
    while (last < of->size && last - words <= SIDE_BYTES && of->text[last] != '=' && of->text[last] != '\n')
        last++;
    if (last == words || last - words > SIDE_BYTES)
        return NONE;
    for (at = last; at - last < MOST_LEVELS && byte_at(of, at) == '=';)
        at++;
    return at - last < 2 ? NONE : rest_of_blanks(of, at);
}

static int64_t read_wiki(reading *of, int64_t line, int64_t end)
{
    int64_t stop = stripped(of, line, end), first = past_run(of, line, '='), words = line, words_end = stop;
    while (words_end > words && (of->text[words_end - 1] == '=' || is_blank(of->text[words_end - 1])))
        words_end--;
    while (words < words_end && (of->text[words] == '=' || is_blank(of->text[words])))
        words++;
    return add_short_title(of, line, stop, first - line, words, words_end) ? end + 1 : NONE;
}

static int64_t read_alone(reading *of, int64_t line, int64_t end)
{
    int64_t words, words_end, level = level_alone(of, line, end, &words, &words_end);
    if (!level)
        return line + 1;
    return add_short_title(of, line, line + words_end - words, level, words, words_end) ? end + 1 : NONE;
}

static int64_t read_indented(reading *of, int64_t line)
{
    int64_t end = line - 1;
    while (end < of->size && (begins_with(of, end + 1, of->size, "    ") || byte_at(of, end + 1) == '\t'))
        end = line_end(of, end + 1);
    if (goes_on(of, line) || filled(of, line, end) >= end)
        return end + 1;
    return add_stretch(of, line, end, CODE);
}

/* A line that begins with blanks or a sign; where to go on. */
static int64_t read_line(reading *of, int64_t line, int form)
{
    int64_t at, behind, end;
    if (form == MARKDOWN) {
        for (at = line; is_blank_at(of, at) || byte_at(of, at) == '>';)
            at++;
        if (begins_fence(of, at))
            return read_fence(of, line, at, past_run(of, at, of->text[at]));
        at = past_spaces(of, line);
        behind = past_run(of, at, '#');
        if (behind > at && behind - at <= MOST_LEVELS && (behind >= of->size || is_blank(of->text[behind]) || of->text[behind] == '\r' || of->text[behind] == '\n'))
            return read_atx(of, at, behind);
    } else if ((end = past_wiki(of, line)) >= 0)
        return read_wiki(of, line, end);
    at = past_spaces(of, line);
    if (byte_at(of, at) == '=' || byte_at(of, at) == '-') {
        behind = past_run(of, at, of->text[at]);
        if (behind - at >= 2 && rest_of_blanks(of, behind) >= 0)
            return read_setext(of, line, at, behind);
    }
    if (form == PLAIN && stands_alone(of, line, end = line_end(of, line)))
        return read_alone(of, line, end);
    if ((behind = item_words(of, line)) >= 0)
        return read_item(of, line, behind);
    at = past_blanks(of, line);
    if (form == PLAIN && byte_at(of, past_spaces(of, line)) == '>') {
        end = lines_with(of, line, '>');
        return add_stretch(of, line, end, QUOTATION);
    }
    if (byte_at(of, at) == '|')
        return read_rows(of, line);
    if ((behind = past_dashed(of, line)) >= 0)
        return read_dashed(of, line, behind);
    if (form == PLAIN)
        return line + 1;
    at = past_spaces(of, line);
    if (byte_at(of, at) == '>') {
        end = lines_with(of, line, '>');
        return add_stretch(of, line, end, QUOTATION);
    }
    if (begins_with(of, at, of->size, "<!--")) {
        for (at += 4; at < of->size && !begins_with(of, at, of->size, "-->");)
            at++;
        return (at < of->size ? at + 3 : of->size) + 1;
    }
    if (is_below_empty(of, line) && (begins_with(of, line, of->size, "    ") || byte_at(of, line) == '\t'))
        return read_indented(of, line);
    return line + 1;
}

/* Behind the macro that ends what stands as it is written: a line of a dot, blanks and two letters. */
static int64_t past_verbatim(const reading *of, int64_t at, const char *closing)
{
    for (at = line_end(of, at); at < of->size; at = line_end(of, at + 1)) {
        if (byte_at(of, at + 1) != '.')
            continue;
        int64_t word = past_blanks(of, at + 2);
        if (begins_with(of, word, of->size, closing) && !is_word(byte_at(of, word + 2)))
            return word + 2;
    }
    return of->size;
}

/* A line of a manual page; where to go on. */
static int64_t read_macro(reading *of, int64_t line)
{
    if (of->text[line] != '.')
        return line + 1;
    int64_t at = past_blanks(of, line + 1), words, words_end, level = macro_at(of, at, &words, &words_end);
    if (level) {
        int64_t size = title_size(of->text + words, of->text + words_end), end = stripped(of, words, words_end);
        if (size && size <= LONGEST_TITLE && !add_title(of, line, end, level, words, words_end))
            return NONE;
        return words + 1;
    }
    static const char *const open[] = {"nf", "EX", "TS", "Bd"}, *const close[] = {"fi", "EE", "TE", "Ed"};
    for (int kind = 0; kind < 4; kind++) {
        if (!begins_with(of, at, of->size, open[kind]))
            continue;
        int64_t behind = at + 2;
        if (kind == 3) {
            int64_t blanks = past_blanks(of, behind);
            if (blanks == behind || !begins_with(of, blanks, of->size, "-literal"))
                return line + 1;
            behind = blanks + 8;
        }
        if (is_word(byte_at(of, behind)))
            return line + 1;
        return add_stretch(of, line, past_verbatim(of, behind, close[kind]), kind == 2 ? TABLE : CODE);
    }
    return line + 1;
}

/* A line of a form of which only lists and tables are read here; where to go on. */
static int64_t read_other(reading *of, int64_t line)
{
    int64_t behind = item_words(of, line);
    if (behind >= 0)
        return read_item(of, line, behind);
    return (of->form == RST || of->form == ORG) && begins_row(of, past_blanks(of, line)) ? read_rows(of, line) : line + 1;
}

/* Passages in order, each with its parts, as `parts` has them one after the other then. */
static void order_passages(reading *of, int64_t *places)
{
    for (int64_t at = 0; at < of->parted; at++)
        of->passages[of->parts[at].passage].parts++;
    int64_t first = 0;
    for (int64_t at = 0; at < of->passed; at++) {
        of->passages[at].first_part = first;
        first += of->passages[at].parts;
        of->passages[at].parts = 0;
    }
    for (int64_t at = 0; at < of->parted; at++) {
        passage *each = of->passages + of->parts[at].passage;
        places[each->first_part + each->parts++] = of->parts[at].place;
    }
    for (int64_t at = 1; at < of->passed; at++) {
        passage each = of->passages[at];
        int64_t to = at;
        for (; to; to--) {
            const passage *before = of->passages + to - 1;
            if (before->start != each.start ? before->start < each.start
                : before->end != each.end   ? before->end > each.end
                                            : before->kind <= each.kind)
                break;
            of->passages[to] = *before;
        }
        of->passages[to] = each;
    }
}

/* The titles and passages of a text of a form, whose front matter ends at a place, or at 0 where it has none. `words` are
 * those that chapters begin with. Of the forms from RST on only lists and tables are read, in no line that begins in one of
 * `many` stretches, which `passed` has by start and end, in order. Rows of titles and passages are as the structures above
 * say, in order, each passage with its parts in `places`; there is room for `most` of each, at least one, and in `pairs`
 * for as many. `counts` gets how many titles, passages and parts there are. Returns 0, or -1 where there was no room. */
int64_t read_marks(const uint8_t *text, int64_t size, int64_t form, int64_t front, const uint8_t *words,
                   int64_t all_words, const int64_t *passed, int64_t many, int64_t most, int64_t *titles,
                   int64_t *passages, int64_t *pairs, int64_t *places, int64_t *counts)
{
    reading of = {text, size, form, words, all_words, (title *)titles, (passage *)passages, (part *)pairs, most, 0, 0, 0, NONE, passed, passed + 2 * many};
    uint8_t asks[256] = {0}; /* by byte: may a line that begins with it be a mark? */
    for (const char *sign = " \t#=-*+|>`~:<\xE2"; *sign && form < ROFF; sign++)
        asks[(uint8_t)*sign] = 1;
    if (front)
        add_passage(&of, 0, front, FRONT_MATTER);
    for (int64_t line = front ? line_from(&of, front + 1) : 0; line < size; line = line_from(&of, line)) {
        uint8_t first = text[line], second = byte_at(&of, line + 1);
        while (of.skips < of.skips_end && of.skips[1] <= line)
            of.skips += 2;
        if (of.skips < of.skips_end && of.skips[0] <= line)
            line = of.skips[1];
        else if (form > ROFF)
            line = read_other(&of, line);
        else if (form == ROFF)
            line = read_macro(&of, line);
        else if (asks[first] || is_digit(first) || second == '.' || second == ')' || (form == PLAIN && is_below_empty(&of, line)))
            line = read_line(&of, line, (int)form);
        else
            line++;
        if (line < 0)
            return -1;
    }
    order_passages(&of, places);
    counts[0] = of.titled;
    counts[1] = of.passed;
    counts[2] = of.parted;
    return 0;
}
