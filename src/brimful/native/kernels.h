/* Everything that Python calls, and the structs that it hands over: C includes this file, and cffi reads it as it is, so
 * that names, types and order are declared once. Only plain declarations stand here. What a function does stands where it is
 * defined. The caller owns all memory and has checked every size. */

/* Names as lines that ascend bytewise, with a newline before the first and behind each; how many numbers the column of
 * each has, packed; and the columns, packed. `size`, `counted` and `bytes` are lengths in bytes. */
typedef struct {
    const uint8_t *names;
    int64_t size;
    const uint8_t *counts;
    int64_t counted;
    const uint8_t *packed;
    int64_t bytes;
} page;

/* A place in a table of strings: the string itself or a hash of it, its length (0 where the place is free), its number. */
typedef struct {
    uint64_t key;
    int32_t length, number;
} string_slot;

/* A BERT model: its sizes, the largest number that heads compare, whether the first token's vector is taken, which
 * instructions multiply; and its tensors, in the order of bert.c. */
typedef struct {
    int64_t layers, width, heads, inner, reach, is_first, path;
    double epsilon;
    const void *const *parts;
} bert_model;

/* columns.c */
void unpack_numbers(const uint8_t *packed, int64_t size, int64_t sums, int64_t *values);
int64_t pack_columns(const int64_t *columns, const int64_t *offsets, int64_t count, int64_t *ends, uint8_t *out);

/* skips.c */
int64_t find_in_pages(const page *pages, int64_t count, const uint8_t *name, int64_t length, int64_t *before,
                      int64_t *counts);
int64_t unpack_in_pages(const page *pages, int64_t count, const int64_t *before, const int64_t *counts,
                        int32_t *values);

/* terms.c */
int64_t find_clumps(const uint8_t *text, int64_t size, const uint8_t *flags, uint64_t multiplier, string_slot *table,
                    int64_t bits, int32_t *starts, int32_t *numbers, int32_t *firsts, int32_t *lengths, int64_t *state);
int64_t number_strings(const uint8_t *text, const int32_t *starts, const int32_t *lengths, int64_t count,
                       uint64_t multiplier, string_slot *table, int64_t bits, int32_t *numbers, int32_t *firsts,
                       int32_t *lengths_of);
void place_terms(const int32_t *starts, const int32_t *numbers, int64_t count, const int32_t *rows,
                 const int32_t *terms, const int32_t *inside, int32_t *cursors, int32_t *places);
int64_t merge_names(const uint8_t *const *texts, const int64_t *sizes, int64_t count, int64_t *starts, int64_t *ends,
                    uint64_t *keys, int64_t *firsts, int64_t *rows, uint8_t *out, int64_t *size);
void find_names(const uint8_t *lines, const int32_t *bounds, int64_t count, const uint8_t *wanted,
                const int32_t *wanted_bounds, int64_t many, int64_t *rows, uint8_t *known);

/* words.c */
int64_t find_terms(const uint8_t *text, const uint8_t *classes, int64_t size, int64_t most, int32_t *starts,
                   int32_t *lengths);

/* search.c */
void find_anchors(const uint8_t *text, int64_t size, const uint8_t *anchors, const int32_t *bounds,
                  const int32_t *firsts, uint8_t *found);
int64_t long_runs(const uint8_t *text, int64_t size, const uint8_t *table, int64_t least, uint8_t *out);

/* shingles.c */
int64_t hash_runs(const uint8_t *text, int64_t size, const uint8_t *marks, int64_t run, uint64_t *out, uint64_t *signs);
void mark_alike(const uint64_t *sets, const int64_t *offsets, const uint64_t *signs, int64_t number, double share,
                uint8_t *marks);
int64_t most_alike(const uint64_t *sets, const int64_t *offsets, const uint64_t *signs, int64_t number,
                   int64_t document, const int64_t *others, const int64_t *documents, int64_t count, double share,
                   double *overlap);

/* sources.c */
int64_t mask_source(const uint8_t *text, int64_t size, const uint16_t *readers, const uint8_t *kinds_of,
                    int64_t *starts, int64_t *ends, uint8_t *kinds, uint8_t *code);
int64_t pair_brackets(const uint8_t *code, int64_t size, const int8_t *turns, int64_t most, int64_t *places,
                      int32_t *depths, int64_t *closes);

/* lines.c */
int64_t find_lines(const uint8_t *text, int64_t size, const uint8_t *signs, int64_t reach, int64_t most, int64_t *state,
                   int64_t *starts, int64_t *firsts, int64_t *ends, uint8_t *marks);
int64_t find_sentences(const uint8_t *text, int64_t size, const uint8_t *signs, const uint32_t *short_forms,
                       int64_t forms, const uint32_t *wide, int64_t wides, int64_t *places);
int64_t gather_cuts(const int64_t *cuts, int64_t count, const int64_t *walls, int64_t walled, int64_t aim,
                    int64_t *kept);
int64_t divide_cuts(const int64_t *units, int64_t count, const int64_t *sections, int64_t all, int64_t limit,
                    int64_t *out);

/* records.c */
int64_t cut_stretches(const uint8_t *text, const int64_t *starts, const int64_t *ends, int64_t count, int64_t aim,
                      int64_t limit, int64_t by_line, int64_t most, int64_t *cuts);

/* marks.c */
int64_t read_marks(const uint8_t *text, int64_t size, int64_t form, int64_t front, const uint8_t *words,
                   int64_t all_words, const int64_t *passed, int64_t many, int64_t most, int64_t *titles,
                   int64_t *passages, int64_t *pairs, int64_t *places, int64_t *counts);

/* definitions.c */
int64_t nest_definitions(const uint8_t *content, const uint8_t *code, int64_t size, const int64_t *given, int64_t count,
                         const int64_t *front_starts, const int64_t *front_ends, int64_t fronts,
                         const int64_t *doc_starts, const int64_t *doc_ends, int64_t docs, int64_t kind,
                         const int64_t *places, const int64_t *closes, const int64_t *opens, int64_t brackets,
                         int64_t *rows);
int64_t define_python(const uint8_t *code, int64_t size, const int64_t *places, const int32_t *depths,
                      const int64_t *closes, int64_t brackets, int64_t *room, int64_t *opened, int64_t *rows);

/* bert.c */
int64_t best_path(void);
int64_t pack_weights(const float *weights, int64_t outputs, int64_t inputs, int64_t path, void *packed, float *scales,
                     int32_t *starts);
int64_t room_for_tokens(const bert_model *model, int64_t count);
int64_t read_tokens(const bert_model *model, const float *words, const int32_t *tokens, int64_t count, void *room,
                    float *vector);

/* source.c */
const char *brimful_source(void);
