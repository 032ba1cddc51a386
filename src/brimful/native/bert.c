/* Which vector does a BERT model give a text?
 *
 * The products of the layers are of whole numbers: weights rounded to a byte by output, a token's numbers to a byte by
 * token, what heads compare to 13 bits and how much they look to 15. So they are exact in any order, and a processor's
 * widest instructions may be used. The rest is floats, in one order on every machine (bert_layers.h), with an
 * exponential and a GELU of our own: the same tokens give the same bits everywhere.
 *
 * Weights lie in panels of 32 outputs: as many neighbouring inputs of each as one instruction multiplies and adds up,
 * then the next inputs. */

#include "shared.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_WIDE 1
#include <cpuid.h>
#include <immintrin.h>
#else
#define HAS_WIDE 0
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* wide vectors are passed among functions of this file alone */
#endif

enum { PLAIN, AVX2, VNNI };
enum { LANES = 16, COLUMNS = 32, GROUP = 12, BLOCK = 48, MOST_SCORE = 1 << 30 };
enum { FRONT_PARTS = 4, LINEAR_PARTS = 4, LINEARS = 6, NORM_PARTS = 2, LAYER_PARTS = LINEARS * LINEAR_PARTS + 2 * NORM_PARTS };

/* Added to a number below 2^22, this leaves the nearest whole number in the last bits. */
#define MAGIC 12582912.0f
#define MAGIC_BITS 0x4b400000

#define MOST_WEIGHT 1e9f

typedef float reals __attribute__((vector_size(64)));
typedef int32_t wholes __attribute__((vector_size(64)));
typedef int16_t shorts __attribute__((vector_size(32)));
typedef float eight_reals __attribute__((vector_size(32)));
typedef int32_t eight_wholes __attribute__((vector_size(32)));
typedef float four_reals __attribute__((vector_size(16)));
typedef int32_t four_wholes __attribute__((vector_size(16)));
typedef float loose_reals __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t loose_wholes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int16_t loose_shorts __attribute__((vector_size(32), aligned(2), may_alias));
#if HAS_WIDE
typedef uint8_t bytes __attribute__((vector_size(16)));
typedef uint8_t loose_bytes __attribute__((vector_size(16), aligned(1), may_alias));
#endif

typedef union {
    reals whole;
    eight_reals half[2];
} halves;

typedef union {
    eight_reals whole;
    four_reals quarter[2];
} quarters;

typedef struct {
    const void *packed;
    const int32_t *starts;
    const float *scales, *bias;
    int64_t inputs;
} linear;

typedef struct {
    const float *scale, *bias;
} norm;

typedef struct {
    linear query, key, value, output, inner, outer;
    norm seen_norm, last_norm;
} layer;

typedef struct {
    int64_t layers, width, padded, heads, head, head_padded, inner, inner_padded, is_first;
    float reach, share, epsilon;
    const float *words, *places, *kind;
    norm first_norm;
    const void *const *parts; /* of the layers, one after the other */
} model;

/* Where a text is worked on; `padded` tokens are whole panels. */
typedef struct {
    int64_t count, padded;
    float *state, *seen, *steps, *asked, *offered, *said, *wide, *wide_steps;
    void *codes, *wide_codes;
    int16_t *questions, *keys, *values, *shares;
    int32_t *scores;
    int32_t is_there[LANES]; /* of the last tokens that fill lanes: all bits, or none behind the end */
    float score_step, said_step;
} rooms;

static int64_t in_columns(int64_t count)
{
    return (count + COLUMNS - 1) / COLUMNS * COLUMNS;
}

static model model_of(const bert_model *given, const float *words)
{
    const void *const *parts = given->parts;
    model of = {.layers = given->layers, .width = given->width, .heads = given->heads, .inner = given->inner};
    of.padded = in_columns(of.width);
    of.head = of.width / of.heads;
    of.head_padded = in_columns(of.head);
    of.inner_padded = in_columns(of.inner);
    of.is_first = given->is_first;
    of.reach = (float)given->reach;
    of.share = 1.44269504f / __builtin_sqrtf((float)of.head); /* powers of 2, not of e */
    of.epsilon = (float)given->epsilon;
    of.words = words;
    of.places = parts[0];
    of.kind = parts[1];
    of.first_norm = (norm){parts[2], parts[3]};
    of.parts = parts + FRONT_PARTS;
    return of;
}

static linear linear_of(const void *const *parts, int64_t inputs)
{
    return (linear){parts[0], parts[1], parts[2], parts[3], inputs};
}

static layer layer_of(const model *of, int64_t number)
{
    const void *const *parts = of->parts + number * LAYER_PARTS;
    layer by;
    linear *linears[LINEARS] = {&by.query, &by.key, &by.value, &by.output, &by.inner, &by.outer};
    for (int at = 0; at < LINEARS; at++, parts += LINEAR_PARTS)
        *linears[at] = linear_of(parts, at == LINEARS - 1 ? of->inner : of->width);
    by.seen_norm = (norm){parts[0], parts[1]};
    by.last_norm = (norm){parts[2], parts[3]};
    return by;
}

/* The next part of a room, for so many numbers. */
static void *taken(uintptr_t *at, int64_t count, size_t size)
{
    uintptr_t found = (*at + 63) & ~(uintptr_t)63;
    *at = found + (uintptr_t)count * size;
    return (void *)found;
}

static rooms lay_out(const model *of, int64_t count, uintptr_t *at)
{
    rooms in = {.count = count, .padded = in_columns(count)};
    int64_t rows = count < BLOCK ? count : BLOCK, head = of->head_padded;
    for (int64_t lane = 0; lane < LANES; lane++)
        in.is_there[lane] = (count - 1) / LANES * LANES + lane < count ? -1 : 0;
    in.state = taken(at, count * of->padded, sizeof(float));
    in.seen = taken(at, count * of->padded, sizeof(float));
    in.codes = taken(at, count * of->padded, sizeof(int16_t));
    in.steps = taken(at, count, sizeof(float));
    in.asked = taken(at, count * head, sizeof(float));
    in.offered = taken(at, count * head, sizeof(float));
    in.said = taken(at, count * head, sizeof(float));
    in.questions = taken(at, count * head, sizeof(int16_t));
    in.keys = taken(at, in.padded * head, sizeof(int16_t));
    in.values = taken(at, in.padded * head, sizeof(int16_t));
    in.scores = taken(at, GROUP * in.padded, sizeof(int32_t));
    in.shares = taken(at, GROUP * in.padded, sizeof(int16_t));
    in.wide = taken(at, rows * of->inner_padded, sizeof(float));
    in.wide_codes = taken(at, rows * of->inner_padded, sizeof(int16_t));
    in.wide_steps = taken(at, rows, sizeof(float));
    return in;
}

#define TARGET
#define NAME(name) plain_##name
#define PAIR 1
#define BYTES 0
#include "bert_layers.h"
#undef TARGET
#undef NAME
#undef PAIR

#if HAS_WIDE
#define PAIR 2
#define TARGET __attribute__((target("avx2")))
#define NAME(name) avx2_##name
#include "bert_layers.h"
#undef TARGET
#undef NAME
#undef BYTES

#define TARGET __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define NAME(name) vnni_##name
#define BYTES 1
#include "bert_layers.h"
#endif

/* The best way for this processor and what runs on it; those before it can be gone too. */
int64_t best_path(void)
{
#if HAS_WIDE
    unsigned a, b, c, d, low, high;
    const unsigned needed = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
        return PLAIN;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2))
        return PLAIN;
    return (low & 0xe6) == 0xe6 && (b & needed) == needed && c & bit_AVX512VNNI ? VNNI : AVX2;
#else
    return PLAIN;
#endif
}

static int64_t neighbours(int64_t path)
{
    return path == VNNI ? 4 : path == AVX2 ? 2 : 1;
}

/* Round weights to a byte by output and lay them in panels, `packed` being zeros before: bytes for VNNI, else of 16 bits.
 * `scales` and `starts` have a number for each output. Returns 0 where a weight is not finite, or absurdly large. */
int64_t pack_weights(const float *weights, int64_t outputs, int64_t inputs, int64_t path, void *packed, float *scales,
                     int32_t *starts)
{
    int is_fit = 1;
    int64_t together = neighbours(path), rows = (inputs + together - 1) / together * together;
    for (int64_t output = 0; output < outputs; output++) {
        const float *row = weights + output * inputs;
        int64_t place = output / COLUMNS * rows * COLUMNS + output % COLUMNS * together;
        float most = 1e-30f;
        int32_t sum = 0;
        for (int64_t at = 0; at < inputs; at++) {
            float size = __builtin_fabsf(row[at]);
            most = size > most ? size : most;
            is_fit &= size < MOST_WEIGHT;
        }
        if (!is_fit)
            return 0;
        float inverse = 127.0f / most;
        for (int64_t at = 0; at < inputs; at++) {
            float raised = row[at] * inverse + MAGIC;
            int32_t bits;
            memcpy(&bits, &raised, sizeof bits);
            int64_t to = place + at / together * together * COLUMNS + at % together;
            sum += bits - MAGIC_BITS;
            if (path == VNNI)
                ((int8_t *)packed)[to] = (int8_t)(bits - MAGIC_BITS);
            else
                ((int16_t *)packed)[to] = (int16_t)(bits - MAGIC_BITS);
        }
        scales[output] = most / 127.0f;
        starts[output] = -128 * sum;
    }
    return 1;
}

/* How much room `read_tokens` needs for so many tokens, in bytes. */
int64_t room_for_tokens(const bert_model *given, int64_t count)
{
    model of = model_of(given, NULL);
    uintptr_t at = 64;
    lay_out(&of, count, &at);
    return (int64_t)at;
}

/* The vector of a text: the sum over its tokens' vectors, or that of the first; `words` are the rows of the table of words
 * that its tokens have. Returns 0 where a number on the way is not finite. */
int64_t read_tokens(const bert_model *given, const float *words, const int32_t *tokens, int64_t count, void *room,
                    float *vector)
{
    model of = model_of(given, words);
    uintptr_t at = (uintptr_t)room;
    rooms in = lay_out(&of, count, &at);
#if HAS_WIDE
    if (given->path == VNNI)
        return vnni_read_text(&of, tokens, &in, vector);
    if (given->path == AVX2)
        return avx2_read_text(&of, tokens, &in, vector);
#endif
    return plain_read_text(&of, tokens, &in, vector);
}
