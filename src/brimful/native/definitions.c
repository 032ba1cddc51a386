/* What does a source define? The functions, classes and constants of Python; definitions in each other, with the
 * comments in front of them; and the blocks of lines that they are. */

#include "shared.h"

enum { MACRO = 1, OWNER = 4, OWNED = 8, BLOCK = 16, RANK = 32 }; /* what a definition is, as bits */
enum { ATTRIBUTES = 1, ELIXIR = 2 };                    /* what may stand above one, by language */
enum { ABOVE = 2000, SIDE_BYTES = 400, REACH = 4000, TAB_WIDTH = 8 };

typedef struct {
    const uint8_t *content, *code;
    int64_t size;
    const int64_t *places, *closes, *opens; /* of brackets: where each stands, is closed and was opened, or -1 */
    int64_t brackets;
} source;

static inline int is_space(uint8_t code)
{
    return code == ' ' || (code >= '\t' && code <= '\r');
}

static inline int is_word(uint8_t code)
{
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9') || code == '_';
}

static inline int is_blank(uint8_t code)
{
    return code == ' ' || code == '\t';
}

static inline int is_among(uint8_t code, const char *signs)
{
    return code && strchr(signs, code);
}

/* The first place from `at` on that is filled, or `end`. */
static inline int64_t filled(const uint8_t *text, int64_t at, int64_t end)
{
    while (at < end && is_space(text[at]))
        at++;
    return at;
}

static inline int64_t stripped(const uint8_t *text, int64_t start, int64_t end)
{
    while (end > start && is_space(text[end - 1]))
        end--;
    return end;
}

static inline int64_t past_blanks(const uint8_t *text, int64_t at, int64_t end)
{
    while (at < end && is_blank(text[at]))
        at++;
    return at;
}

static inline int64_t find_byte(const uint8_t *text, int64_t from, int64_t end, uint8_t byte)
{
    const uint8_t *found = from < end ? memchr(text + from, byte, (size_t)(end - from)) : NULL;
    return found ? found - text : end;
}

/* Behind the last newline in a range, or -1. */
static inline int64_t behind_newline(const uint8_t *text, int64_t low, int64_t at)
{
    for (; at > low; at--)
        if (text[at - 1] == '\n')
            return at;
    return -1;
}

/* How many of some numbers, which ascend, are less than a value. */
static int64_t count_below(const int64_t *ascending, int64_t count, int64_t value)
{
    int64_t low = 0;
    while (low < count) {
        int64_t middle = low + (count - low) / 2;
        if (ascending[middle] < value)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Behind the bracket that closes the one which opens here; behind everything if none does. */
static int64_t after_bracket(const source *of, int64_t opener)
{
    int64_t at = count_below(of->places, of->brackets, opener);
    return at < of->brackets && of->places[at] == opener && of->closes[at] >= 0 ? of->closes[at] + 1 : of->size;
}

/* Where the comment lines directly above a definition begin. */
static int64_t front_of(const source *of, const int64_t *starts, const int64_t *ends, int64_t count, int64_t start,
                        int64_t low)
{
    for (int64_t at = count_below(ends, count, start + 1) - 1; at >= 0; at--) {
        if (starts[at] < low || start - ends[at] >= ABOVE)
            break;
        int64_t newlines = 0, between = ends[at], line = starts[at];
        for (; between < start && is_space(of->content[between]); between++)
            newlines += of->content[between] == '\n';
        while (line && of->content[line - 1] != '\n' && is_space(of->code[line - 1]))
            line--;
        if (between < start || newlines > 1 || (line && of->content[line - 1] != '\n'))
            break;
        start = starts[at];
    }
    return start;
}

/* Behind the beginning of an attribute or decorator, `@a` or `#[`, with blanks in front; -1 for none. */
static int64_t past_attribute(const source *of, int64_t at)
{
    at = past_blanks(of->code, at, of->size);
    if (at + 1 >= of->size)
        return -1;
    uint8_t first = of->code[at], next = of->code[at + 1];
    int is_letter = is_word(next) && next != '_' && (next < '0' || next > '9');
    return (first == '@' && is_letter) || (first == '#' && next == '[') ? at + 2 : -1;
}

/* Is everything up to `end` attributes with their arguments? In Elixir they have no brackets. */
static int has_attributes_only(const source *of, int64_t at, int64_t end, int64_t kind)
{
    static const char *const words[] = {"doc", "spec", "impl", "deprecated", "since", "dialyzer"};
    if (kind == ELIXIR) {
        for (int word = 0; word < 6; word++) {
            int64_t size = (int64_t)strlen(words[word]), behind = at + 1 + size;
            if (of->code[at] == '@' && behind <= of->size && !memcmp(of->code + at + 1, words[word], (size_t)size) &&
                (behind == of->size || !is_word(of->code[behind])))
                return 1;
        }
        return 0;
    }
    while (at < of->size && (of->code[at] == '@' || of->code[at] == '#')) {
        int is_decorator = of->code[at] == '@';
        int64_t first = ++at;
        while (is_decorator && at < of->size && (is_word(of->code[at]) || of->code[at] == '.' || of->code[at] == ':'))
            at++;
        if (is_decorator ? at == first : at >= of->size || of->code[at] != '[')
            return 0;
        if (at < of->size && (of->code[at] == '(' || of->code[at] == '['))
            at = after_bracket(of, at);
        if (at >= end)
            return 1;
        at = filled(of->code, at, at + ABOVE < of->size ? at + ABOVE : of->size);
    }
    return 0;
}

/* Where the line begins that holds what stands before a place, but not before `low`. */
static int64_t line_of(const source *of, int64_t low, int64_t at)
{
    int64_t line = behind_newline(of->code, low, at);
    return line > low ? line : low;
}

/* Where the lines of attributes and decorators above a definition begin; its own start where there are none. */
static int64_t attributed(const source *of, int64_t start, int64_t low, int64_t kind)
{
    for (;;) {
        int64_t line = start;
        while (line > low && is_space(of->code[line - 1]) && of->code[line - 1] != '\n')
            line--;
        if (line <= low || of->code[line - 1] != '\n')
            return start;
        int64_t above = stripped(of->code, line - 1 - ABOVE > low ? line - 1 - ABOVE : low, line - 1);
        if (above <= low)
            return start;
        int64_t first = line_of(of, low, above), behind = past_attribute(of, first);
        if (behind < 0 && (of->code[above - 1] == ')' || of->code[above - 1] == ']')) {
            int64_t at = count_below(of->places, of->brackets, above - 1);
            int64_t opener = at < of->brackets && of->places[at] == above - 1 ? of->opens[at] : -1;
            behind = opener > low ? past_attribute(of, line_of(of, low, opener)) : -1;
        }
        if (behind < 0 || !has_attributes_only(of, behind - 2, above, kind))
            return start;
        start = behind - 2;
    }
}

/* A definition that is known: where it begins with what stands in front, and ends, where its signature does, the one that
 * it stands in or -1, its doc comment or -1 twice, its number among those given, and what it is. */
typedef struct {
    int64_t start, end, signature, signature_end, parent, doc, doc_end, number, what;
} definition;

/* Put every definition into the one that holds it, and what stands in front of it before it. They are given in order, each
 * with where it starts and ends, where its signature ends, and what it is. What a macro would write is left out. `fronts`
 * are comments, `docs` strings that may say what a definition is for; `kind` says which attributes may stand above one, 0
 * for none. Returns how many are kept. */
int64_t nest_definitions(const uint8_t *content, const uint8_t *code, int64_t size, const int64_t *given, int64_t count,
                         const int64_t *front_starts, const int64_t *front_ends, int64_t fronts,
                         const int64_t *doc_starts, const int64_t *doc_ends, int64_t docs, int64_t kind,
                         const int64_t *places, const int64_t *closes, const int64_t *opens, int64_t brackets,
                         int64_t *rows)
{
    source of = {content, code, size, places, closes, opens, brackets};
    definition *made = (definition *)rows;
    int64_t kept = 0, around = -1; /* the last one that is open */
    for (int64_t number = 0; number < count; number++) {
        const int64_t *each = given + 4 * number;
        int64_t start = each[0];
        while (around >= 0 && (made[around].end <= start || made[around].signature == start))
            around = made[around].parent; /* two names of one thing stand side by side */
        const definition *owner = around >= 0 ? made + around : NULL;
        int64_t end = owner && owner->end < each[1] ? owner->end : each[1];
        if (end <= start || (owner && owner->what & MACRO))
            continue;
        int64_t low = owner ? owner->signature_end : 0;
        if (kind)
            start = attributed(&of, start, low, kind);
        int64_t front = front_of(&of, front_starts, front_ends, fronts, start, low);
        int64_t signature_end = each[2] > start ? each[2] : start, doc = -1, doc_end = -1;
        signature_end = signature_end < end ? signature_end : end;
        if (front < start) {
            doc = front;
            doc_end = start;
        } else {
            int64_t at = count_below(doc_starts, docs, signature_end);
            if (at < docs && doc_ends[at] <= end && filled(code, signature_end, doc_starts[at]) >= doc_starts[at] &&
                find_byte(content, signature_end, doc_starts[at], '\n') < doc_starts[at]) {
                doc = doc_starts[at];
                doc_end = doc_ends[at];
            }
        }
        int64_t what = each[3];
        if (owner && owner->what & OWNER)
            what |= OWNED;
        made[kept] = (definition){front, end, start, signature_end, around, doc, doc_end, number, what};
        around = kept++;
    }
    return kept;
}

/* Python. */

typedef struct {
    int64_t start, first, column;
} line;

/* Where the words of a line and of the lines in brackets below it end. */
static int64_t words_end(const source *of, const line *lines, int64_t count, int64_t at)
{
    int64_t start = at < count ? lines[at].start : of->size, stop = at + 1 < count ? lines[at + 1].start : of->size;
    return stripped(of->code, start, stop);
}

/* Behind the colon that ends the head of a function or class whose name ends here. */
static int64_t past_colon(const source *of, int64_t at)
{
    int64_t stop = at + REACH < of->size ? at + REACH : of->size, plain = past_blanks(of->code, at, stop);
    if (plain < stop && of->code[plain] == '(') {
        int64_t close = plain + 1;
        while (close < stop && of->code[close] != '(' && of->code[close] != ')')
            close++;
        if (close < stop && close > plain + 1 && of->code[close] == ')')
            plain = close + 1;
    }
    while (plain < stop && !is_among(of->code[plain], ":()[]{}\n"))
        plain++;
    if (plain < stop && of->code[plain] == ':')
        return plain + 1;
    int64_t from = at;
    while (at < stop) {
        uint8_t sign = of->code[at];
        if (sign == ':')
            return at + 1;
        if (sign == '\n')
            return at;
        if (sign == '(' || sign == '[' || sign == '{') {
            at = from = after_bracket(of, at);
            stop = at + REACH < of->size ? at + REACH : of->size;
        } else
            at++;
    }
    return find_byte(of->code, from, of->size, '\n');
}

static int begins_with(const source *of, int64_t at, const char *word)
{
    int64_t size = (int64_t)strlen(word);
    return of->size - at >= size && !memcmp(of->code + at, word, (size_t)size);
}

static inline int is_in_word(uint8_t code)
{
    return is_word(code) || code >= 0x80;
}

enum { PYTHON_FUNCTION = 0, PYTHON_CLASS = 1, PYTHON_CONSTANT = 2 };

/* What a line defines, or -1: where its name begins and ends. */
static int defined(const source *of, const line *at, int64_t *name, int64_t *name_end)
{
    int64_t word = at->first, behind = word;
    if (begins_with(of, word, "async") && past_blanks(of->code, word + 5, of->size) > word + 5)
        behind = past_blanks(of->code, word + 5, of->size);
    int is_class = behind == word && begins_with(of, word, "class");
    if (is_class || begins_with(of, behind, "def")) {
        behind += is_class ? 5 : 3;
        *name = *name_end = past_blanks(of->code, behind, of->size);
        while (*name_end < of->size && is_in_word(of->code[*name_end]))
            ++*name_end;
        int is_number = *name < of->size && of->code[*name] >= '0' && of->code[*name] <= '9';
        if (*name > behind && *name_end > *name && !is_number)
            return is_class ? PYTHON_CLASS : PYTHON_FUNCTION;
    }
    int64_t end = *name = at->start;
    if (end >= of->size || of->code[end] < 'A' || of->code[end] > 'Z')
        return -1;
    while (end < of->size && is_word(of->code[end]) && (of->code[end] < 'a' || of->code[end] > 'z'))
        end++;
    *name_end = end;
    if (end - *name < 2)
        return -1;
    end = past_blanks(of->code, end, of->size);
    if (end < of->size && of->code[end] == ':')
        while (end < of->size && of->code[end] != '=' && of->code[end] != '\n')
            end++;
    int is_given = end < of->size && of->code[end] == '=' && !(end + 1 < of->size && of->code[end + 1] == '=');
    return is_given ? PYTHON_CONSTANT : -1;
}

/* The lines of a source that have words and stand in no bracket. */
static int64_t find_outer_lines(const source *of, const int32_t *depths, line *lines)
{
    int64_t count = 0, bracket = 0;
    for (int64_t start = 0, end; start < of->size; start = end + 1) {
        int64_t first = past_blanks(of->code, start, of->size);
        end = find_byte(of->code, first, of->size, '\n');
        if (first == of->size || is_space(of->code[first]))
            continue;
        while (bracket < of->brackets && of->places[bracket] < start)
            bracket++;
        if (depths[bracket] > 0)
            continue;
        int64_t column = first - start;
        for (int64_t at = start; at < first; at++)
            column += of->code[at] == '\t' ? TAB_WIDTH - 1 : 0;
        lines[count++] = (line){start, first, column};
    }
    return count;
}

/* What a source of Python defines: of each where it starts with its decorators, where its name begins and ends, what it is,
 * where its head and where it ends: six columns a row. Code, brackets and how many are open before each, and behind the
 * last, are given. `lines` has room for three numbers a line, `opened` for one a definition, `rows` for a definition a
 * line. Returns how many there are. */
int64_t define_python(const uint8_t *code, int64_t size, const int64_t *places, const int32_t *depths,
                      const int64_t *closes, int64_t brackets, int64_t *room, int64_t *opened, int64_t *rows)
{
    source of = {code, code, size, places, closes, NULL, brackets};
    line *lines = (line *)room;
    int64_t count = find_outer_lines(&of, depths, lines), found = 0, open = 0;
    for (int64_t at = 0; at < count; at++) {
        while (open && lines[rows[6 * opened[open - 1] + 5]].column >= lines[at].column) {
            int64_t *row = rows + 6 * opened[--open];
            row[5] = words_end(&of, lines, count, at - 1);
        }
        int64_t name, name_end, *row = rows + 6 * found, first = at;
        int kind = defined(&of, lines + at, &name, &name_end);
        if (kind < 0)
            continue;
        row[1] = name;
        row[2] = name_end;
        row[3] = kind;
        if (kind == PYTHON_CONSTANT) {
            row[0] = name;
            row[4] = find_byte(code, name_end, size, '\n');
            row[5] = words_end(&of, lines, count, at);
        } else {
            while (first && code[lines[first - 1].first] == '@')
                first--;
            row[0] = lines[first].first;
            row[4] = past_colon(&of, name_end);
            row[5] = at; /* its line, until it is known where it ends */
            opened[open++] = found;
        }
        found++;
    }
    while (open)
        rows[6 * opened[--open] + 5] = words_end(&of, lines, count, count - 1);
    for (int64_t at = 0; at < found; at++)
        if (rows[6 * at + 4] > rows[6 * at + 5])
            rows[6 * at + 4] = rows[6 * at + 5];
    return found;
}
