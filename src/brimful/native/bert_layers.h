/* The layers of BERT for one kind of processor. bert.c includes this once for each, with other instructions behind the
 * same steps: TARGET names them, NAME keeps the functions apart, PAIR says how many neighbours one instruction multiplies
 * and adds up in 16 bits, and BYTES is 1 where the layers multiply bytes.
 *
 * Products are of whole numbers, so their order does not show. Floats are taken 16 at a time whatever the processor has:
 * a sum has 16 lanes, which are added as one tree at its end. */

#if BYTES
typedef uint8_t NAME(code);
enum { NAME(NEIGHBOURS) = 4 };
#else
typedef int16_t NAME(code);
enum { NAME(NEIGHBOURS) = PAIR };
#endif

#define ALWAYS TARGET __attribute__((always_inline)) static inline

/* ---- products of whole numbers: some rows times a panel of 32 columns
 *
 * Every row has two sums of its own names, since a compiler keeps an array of them in memory. */

#if PAIR == 2
#if BYTES
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define VECTOR __m512i
#define LOAD(at) _mm512_loadu_si512(at)
#define STORE(at, numbers) _mm512_storeu_si512(at, numbers)
#define ALL(number) _mm512_set1_epi32(number)
#define ADD_SHORTS(sum, one, other) _mm512_dpwssd_epi32(sum, one, other)
#else
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#define VECTOR __m256i
#define LOAD(at) _mm256_loadu_si256((const __m256i *)(at))
#define STORE(at, numbers) _mm256_storeu_si256((__m256i *)(at), numbers)
#define ALL(number) _mm256_set1_epi32(number)
#define ADD_SHORTS(sum, one, other) _mm256_add_epi32(sum, _mm256_madd_epi16(one, other))
#endif
enum { NAME(HALF) = sizeof(VECTOR) / sizeof(int32_t) };

#define BEGIN(row) VECTOR low##row = low, high##row = high;
#define ADD(row) \
    if (rows > row) { \
        int32_t some; \
        memcpy(&some, from + row * stride, sizeof some); \
        low##row = ADD_PRODUCTS(low##row, ALL(some), low); \
        high##row = ADD_PRODUCTS(high##row, ALL(some), high); \
    }
#define END(row) \
    if (rows > row) { \
        STORE(tile + row * width, low##row); \
        STORE(tile + row * width + NAME(HALF), high##row); \
    }

#if BYTES
/* Bytes that stand 128 too high, times weights; `starts` takes off what that adds. */
ALWAYS void NAME(bytes_tile)(const int rows, const uint8_t *from, int64_t stride, const int8_t *panel, int64_t steps,
                             const int32_t *starts, int32_t *tile, int64_t width)
{
#define ADD_PRODUCTS _mm512_dpbusd_epi32
    VECTOR low = LOAD(starts), high = LOAD(starts + NAME(HALF));
    EACH_ROW(BEGIN)
    for (int64_t step = 0; step < steps; step++, from += 4, panel += 4 * COLUMNS) {
        low = LOAD(panel);
        high = LOAD(panel + 4 * NAME(HALF));
        EACH_ROW(ADD)
    }
    EACH_ROW(END)
#undef ADD_PRODUCTS
}
#endif

/* Numbers of 16 bits: of all columns, or of as many as two vectors hold. */
ALWAYS void NAME(shorts_part)(const int rows, const int16_t *from, int64_t stride, const int16_t *panel, int64_t steps,
                              int32_t *tile, int64_t width)
{
#define ADD_PRODUCTS ADD_SHORTS
    VECTOR low = ALL(0), high = low;
    EACH_ROW(BEGIN)
    for (int64_t step = 0; step < steps; step++, from += 2, panel += 2 * COLUMNS) {
        low = LOAD(panel);
        high = LOAD(panel + 2 * NAME(HALF));
        EACH_ROW(ADD)
    }
    EACH_ROW(END)
#undef ADD_PRODUCTS
}
#endif

#define EACH_COUNT(CALL) \
    case 1: CALL(1); break; \
    case 2: CALL(2); break; \
    case 3: CALL(3); break; \
    case 4: CALL(4); break; \
    case 5: CALL(5); break; \
    case 6: CALL(6); break; \
    case 7: CALL(7); break; \
    case 8: CALL(8); break; \
    case 9: CALL(9); break; \
    case 10: CALL(10); break; \
    case 11: CALL(11); break; \
    default: CALL(12); break;

/* Up to GROUP rows of 16-bit numbers times a panel; each step takes PAIR of them. */
TARGET static void NAME(multiply_shorts)(int64_t rows, const int16_t *codes, int64_t stride, const int16_t *panel,
                                         int64_t steps, int32_t *tile, int64_t width)
{
#if BYTES
#define SHORTS(count) NAME(shorts_part)(count, codes, stride, panel, steps, tile, width)
    switch (rows) { EACH_COUNT(SHORTS) }
#undef SHORTS
#elif PAIR == 2
    for (int64_t first = 0; first < rows; first += 4, codes += 4 * stride, tile += 4 * width)
        for (int half = 0; half < COLUMNS; half += 2 * NAME(HALF)) {
            const int16_t *columns = panel + 2 * half;
            switch (rows - first) {
            case 1: NAME(shorts_part)(1, codes, stride, columns, steps, tile + half, width); break;
            case 2: NAME(shorts_part)(2, codes, stride, columns, steps, tile + half, width); break;
            case 3: NAME(shorts_part)(3, codes, stride, columns, steps, tile + half, width); break;
            default: NAME(shorts_part)(4, codes, stride, columns, steps, tile + half, width); break;
            }
        }
#else
    for (int64_t row = 0; row < rows; row++) {
        int32_t sums[COLUMNS] = {0};
        for (int64_t step = 0; step < steps; step++)
            for (int column = 0; column < COLUMNS; column++)
                sums[column] += codes[row * stride + step] * panel[step * COLUMNS + column];
        memcpy(tile + row * width, sums, sizeof sums);
    }
#endif
}

/* Up to GROUP rows of a layer's input times one panel of its weights. */
TARGET static void NAME(weighed)(int64_t rows, const NAME(code) *codes, int64_t stride, const linear *by, int64_t panel,
                                 int32_t *tile)
{
    int64_t steps = (by->inputs + NAME(NEIGHBOURS) - 1) / NAME(NEIGHBOURS);
#if BYTES
    const int8_t *weights = (const int8_t *)by->packed + panel * steps * 4 * COLUMNS;
    const int32_t *starts = by->starts + panel * COLUMNS;
#define BYTES_OF(count) NAME(bytes_tile)(count, codes, stride, weights, steps, starts, tile, COLUMNS)
    switch (rows) { EACH_COUNT(BYTES_OF) }
#undef BYTES_OF
#else
    NAME(multiply_shorts)(rows, codes, stride, (const int16_t *)by->packed + panel * steps * PAIR * COLUMNS, steps, tile,
                          COLUMNS);
#endif
}
#undef EACH_COUNT
#undef EACH_ROW
#undef VECTOR
#undef LOAD
#undef STORE
#undef ALL
#undef ADD_SHORTS
#undef BEGIN
#undef ADD
#undef END

/* ---- floats */

ALWAYS reals NAME(chosen)(wholes where, reals yes, reals no)
{
    return (reals)((where & (wholes)yes) | (~where & (wholes)no));
}

ALWAYS reals NAME(size)(reals numbers)
{
    return (reals)((wholes)numbers & 0x7fffffff);
}

/* The lanes of a sum, added as a tree: the upper half to the lower one, and so on. */
ALWAYS float NAME(total)(reals sums)
{
    const halves of = {sums};
    const quarters by = {of.half[0] + of.half[1]};
    const four_reals last = by.quarter[0] + by.quarter[1];
    return (last[0] + last[2]) + (last[1] + last[3]);
}

ALWAYS float NAME(most)(reals numbers)
{
    const halves of = {numbers};
    const eight_wholes first = of.half[0] > of.half[1];
    const quarters by = {(eight_reals)((first & (eight_wholes)of.half[0]) | (~first & (eight_wholes)of.half[1]))};
    const four_wholes second = by.quarter[0] > by.quarter[1];
    const four_reals last = (four_reals)((second & (four_wholes)by.quarter[0]) | (~second & (four_wholes)by.quarter[1]));
    const float one = last[0] > last[2] ? last[0] : last[2], other = last[1] > last[3] ? last[1] : last[3];
    return one > other ? one : other;
}

/* 2 to the power of numbers from -100 to 0 (lower ones count as -100), to 3e-6 of the value. */
ALWAYS reals NAME(power)(reals numbers)
{
    const reals least = (reals){0} - 100.0f;
    numbers = NAME(chosen)(numbers < least, least, numbers);
    reals raised = numbers + MAGIC, rest = numbers - (raised - MAGIC);
    reals series = ((0.0095828520f * rest + 0.055906426f) * rest + 0.24024099f) * rest + 0.69312418f;
    return (reals)((wholes)(series * rest + 1.0f) + (((wholes)raised - MAGIC_BITS) << 23));
}

/* x times the share of a normal distribution below x: x where that is positive, less |x| times the share beyond |x|,
 * which is a series times 2 to the power of -0.72 x²; to 1e-6. */
ALWAYS reals NAME(gelu)(reals numbers)
{
    reals far = NAME(size)(numbers);
    reals high = ((2.1248397e-5f * far - 3.9259679e-4f) * far + 3.1963110e-3f) * far - 0.015436310f;
    reals series = (((high * far + 0.050793972f) * far - 0.12521176f) * far + 0.24702598f) * far - 0.39838135f;
    reals beyond = NAME(power)(far * far * -0.72134752f) * ((series * far + 0.49996364f) * far);
    return (reals)((wholes)numbers & (numbers > 0.0f)) - beyond;
}

/* The largest size among a row's numbers, of which there are whole lanes. */
ALWAYS float NAME(largest)(const float *row, int64_t padded)
{
    reals most = NAME(size)(*(const loose_reals *)row);
    for (int64_t at = LANES; at < padded; at += LANES) {
        reals next = NAME(size)(*(const loose_reals *)(row + at));
        most = NAME(chosen)(next > most, next, most);
    }
    return NAME(most)(most);
}

/* So many steps of a size as reach from 0 to the largest number. */
ALWAYS float NAME(steps_to)(float reach, float largest)
{
    return reach / (largest > 1e-30f ? largest : 1e-30f);
}

ALWAYS wholes NAME(rounded)(const float *numbers, float steps)
{
    return (wholes)(*(const loose_reals *)numbers * steps + MAGIC) - MAGIC_BITS;
}

/* Rows as a layer's product takes them, and how large a step of each is. */
TARGET static void NAME(round_rows)(const float *rows, int64_t count, int64_t padded, NAME(code) *codes, float *steps)
{
    for (int64_t row = 0; row < count; row++) {
        const float *from = rows + row * padded;
        NAME(code) *to = codes + row * padded;
        float inverse = NAME(steps_to)(127.0f, NAME(largest)(from, padded));
        for (int64_t at = 0; at < padded; at += LANES)
#if BYTES
            *(loose_bytes *)(to + at) = __builtin_convertvector(NAME(rounded)(from + at, inverse) + 128, bytes);
#else
            *(loose_shorts *)(to + at) = __builtin_convertvector(NAME(rounded)(from + at, inverse), shorts);
#endif
        steps[row] = 1.0f / inverse;
    }
}

/* Rows times the weights of some panels, as floats; through GELU where that is asked for. */
TARGET static void NAME(multiply)(const NAME(code) *codes, int64_t stride, const float *steps, int64_t count,
                                  const linear *by, int64_t first, int64_t panels, int is_gelu, float *found, int64_t width)
{
    int32_t tile[GROUP * COLUMNS];
    for (int64_t panel = first; panel < first + panels; panel++)
        for (int64_t row = 0; row < count; row += GROUP) {
            int64_t rows = count - row < GROUP ? count - row : GROUP;
            NAME(weighed)(rows, codes + row * stride, stride, by, panel, tile);
            for (int64_t at = 0; at < rows; at++)
                for (int half = 0; half < COLUMNS; half += LANES) {
                    reals sums = __builtin_convertvector(*(const loose_wholes *)(tile + at * COLUMNS + half), reals);
                    reals scale = *(const loose_reals *)(by->scales + panel * COLUMNS + half);
                    reals bias = *(const loose_reals *)(by->bias + panel * COLUMNS + half);
                    reals value = sums * steps[row + at] * scale + bias;
                    *(loose_reals *)(found + (row + at) * width + (panel - first) * COLUMNS + half) =
                        is_gelu ? NAME(gelu)(value) : value;
                }
        }
}

/* A row with another one added to it, brought to a mean of 0 and a spread of 1, then scaled and moved; 0 where
 * that is not possible, since a number is not finite. */
ALWAYS int NAME(normalise)(float *row, const float *more, const norm *by, int64_t width, int64_t padded, float epsilon)
{
    reals sums = {0}, squares = {0};
    for (int64_t at = 0; at < padded; at += LANES) {
        *(loose_reals *)(row + at) += *(const loose_reals *)(more + at);
        sums += *(const loose_reals *)(row + at);
    }
    float mean = NAME(total)(sums) / (float)width;
    for (int64_t at = 0; at < padded; at += LANES)
        *(loose_reals *)(row + at) -= mean;
    for (int64_t at = width; at < padded; at++)
        row[at] = 0;
    for (int64_t at = 0; at < padded; at += LANES)
        squares += *(const loose_reals *)(row + at) * *(const loose_reals *)(row + at);
    float inverse = 1.0f / __builtin_sqrtf(NAME(total)(squares) / (float)width + epsilon);
    for (int64_t at = 0; at < padded; at += LANES)
        *(loose_reals *)(row + at) = *(const loose_reals *)(row + at) * inverse * *(const loose_reals *)(by->scale + at) +
                                     *(const loose_reals *)(by->bias + at);
    return inverse > 0 && inverse < 1e30f;
}

/* ---- one text */

TARGET static int NAME(embed)(const model *of, const int32_t *tokens, const rooms *in)
{
    int is_fit = 1;
    for (int64_t at = 0; at < in->count; at++) {
        const float *word = of->words + tokens[at] * of->width, *place = of->places + at * of->width;
        float *row = in->state + at * of->padded;
        memcpy(row, word, (size_t)of->width * sizeof *row);
        for (int64_t column = 0; column < of->width; column++)
            row[column] += place[column];
        for (int64_t column = of->width; column < of->padded; column++)
            row[column] = 0;
        is_fit &= NAME(normalise)(row, of->kind, &of->first_norm, of->width, of->padded, of->epsilon);
    }
    return is_fit;
}

/* What one head asks, offers and says of each token, in 16 bits: questions as rows, the others in panels. */
TARGET static void NAME(lay_out_head)(const model *of, const layer *by, int64_t head, rooms *in)
{
    const int64_t size = of->head_padded, panels = size / COLUMNS, count = in->count;
    float *parts[3] = {in->asked, in->offered, in->said}, steps[3];
    const linear *linears[3] = {&by->query, &by->key, &by->value};
    for (int part = 0; part < 3; part++) {
        NAME(multiply)(in->codes, of->padded, in->steps, count, linears[part], head * panels, panels, 0, parts[part], size);
        steps[part] = NAME(steps_to)(part < 2 ? of->reach : 32767.0f, NAME(largest)(parts[part], count * size));
    }
    in->score_step = of->share / steps[0] / steps[1];
    in->said_step = 1.0f / steps[2] / 32767.0f;
    for (int64_t at = 0; at < count * size; at += LANES)
        *(loose_shorts *)(in->questions + at) = __builtin_convertvector(NAME(rounded)(in->asked + at, steps[0]), shorts);
    for (int64_t token = 0; token < count; token++) {
        int16_t codes[LANES], *panel = in->keys + token / COLUMNS * size * COLUMNS + token % COLUMNS * PAIR;
        for (int64_t first = 0; first < size; first += LANES) {
            *(loose_shorts *)codes =
                __builtin_convertvector(NAME(rounded)(in->offered + token * size + first, steps[1]), shorts);
            for (int at = 0; at < LANES; at += PAIR)
                memcpy(panel + (first + at) * COLUMNS, codes + at, PAIR * sizeof *codes);
        }
    }
    for (int64_t token = 0; token < count; token += PAIR)
        for (int64_t at = 0; at < size; at += LANES) {
            const float *said = in->said + token * size + at;
            int16_t *to = in->values + (at / COLUMNS * in->padded + token) * COLUMNS + at % COLUMNS * PAIR;
            wholes codes = NAME(rounded)(said, steps[2]);
#if PAIR == 2
            wholes next = token + 1 < count ? NAME(rounded)(said + size, steps[2]) : (wholes){0};
            *(loose_wholes *)to = (codes & 0xffff) | next << 16;
#else
            *(loose_shorts *)to = __builtin_convertvector(codes, shorts);
#endif
        }
}

/* How much a token looks at each other one, in 32767ths; nothing at those behind the last, which fill the last lanes. */
ALWAYS void NAME(shares)(const rooms *in, int32_t *scores, int16_t *shares)
{
    float *row = (float *)scores;
    const int64_t last = (in->count - 1) / LANES * LANES;
    const wholes is_there = *(const loose_wholes *)in->is_there;
    wholes most = (*(const loose_wholes *)(scores + last) & is_there) | (~is_there & -MOST_SCORE);
    *(loose_wholes *)(scores + last) = most;
    for (int64_t at = 0; at < last; at += LANES) {
        wholes next = *(const loose_wholes *)(scores + at), where = next > most;
        most = (where & next) | (~where & most);
    }
    int32_t highest = -MOST_SCORE;
    for (int lane = 0; lane < LANES; lane++)
        highest = most[lane] > highest ? most[lane] : highest;
    const float step = in->score_step;
    reals sums = {0}, found = {0};
    for (int64_t at = 0; at <= last; at += LANES) {
        found = NAME(power)(__builtin_convertvector(*(const loose_wholes *)(scores + at) - highest, reals) * step);
        *(loose_reals *)(row + at) = found;
        sums += at < last ? found : (reals)((wholes)found & is_there);
    }
    *(loose_reals *)(row + last) = (reals)((wholes)found & is_there);
    float inverse = 32767.0f / NAME(total)(sums);
    for (int64_t at = 0; at <= last; at += LANES)
        *(loose_shorts *)(shares + at) = __builtin_convertvector(NAME(rounded)(row + at, inverse), shorts);
}

/* What each token gets from all others through one head. */
TARGET static void NAME(look)(const model *of, int64_t head, const rooms *in)
{
    const int64_t size = of->head_padded;
    int32_t tile[GROUP * COLUMNS];
    for (int64_t first = 0; first < in->count; first += GROUP) {
        int64_t rows = in->count - first < GROUP ? in->count - first : GROUP;
        for (int64_t token = 0; token < in->padded; token += COLUMNS)
            NAME(multiply_shorts)(rows, in->questions + first * size, size, in->keys + token * size, size / PAIR,
                                  in->scores + token, in->padded);
        for (int64_t row = 0; row < rows; row++)
            NAME(shares)(in, in->scores + row * in->padded, in->shares + row * in->padded);
        for (int64_t column = 0; column < of->head; column += COLUMNS) {
            const int16_t *panel = in->values + column * in->padded;
            NAME(multiply_shorts)(rows, in->shares, in->padded, panel, (in->count + PAIR - 1) / PAIR, tile, COLUMNS);
            int64_t columns = of->head - column < COLUMNS ? of->head - column : COLUMNS;
            for (int64_t row = 0; row < rows; row++)
                for (int64_t at = 0; at < columns; at++)
                    in->seen[(first + row) * of->padded + head * of->head + column + at] =
                        (float)tile[row * COLUMNS + at] * in->said_step;
        }
    }
}

TARGET static int NAME(read_text)(const model *of, const int32_t *tokens, rooms *in, float *vector)
{
    const int64_t width = of->padded, panels = width / COLUMNS;
    NAME(code) *codes = in->codes, *wide_codes = in->wide_codes;
    memset(in->seen, 0, (size_t)(in->count * width) * sizeof *in->seen);
    int is_fit = NAME(embed)(of, tokens, in);
    for (int64_t number = 0; is_fit && number < of->layers; number++) {
        layer by = layer_of(of, number);
        NAME(round_rows)(in->state, in->count, width, codes, in->steps);
        for (int64_t head = 0; head < of->heads; head++) {
            NAME(lay_out_head)(of, &by, head, in);
            NAME(look)(of, head, in);
        }
        NAME(round_rows)(in->seen, in->count, width, codes, in->steps);
        NAME(multiply)(codes, width, in->steps, in->count, &by.output, 0, panels, 0, in->seen, width);
        for (int64_t row = 0; row < in->count * width; row += width)
            is_fit &= NAME(normalise)(in->seen + row, in->state + row, &by.seen_norm, of->width, width, of->epsilon);
        NAME(round_rows)(in->seen, in->count, width, codes, in->steps);
        for (int64_t first = 0; first < in->count; first += BLOCK) {
            int64_t rows = in->count - first < BLOCK ? in->count - first : BLOCK;
            NAME(multiply)(codes + first * width, width, in->steps + first, rows, &by.inner, 0, of->inner_padded / COLUMNS,
                           1, in->wide, of->inner_padded);
            NAME(round_rows)(in->wide, rows, of->inner_padded, wide_codes, in->wide_steps);
            NAME(multiply)(wide_codes, of->inner_padded, in->wide_steps, rows, &by.outer, 0, panels, 0,
                           in->state + first * width, width);
        }
        for (int64_t row = 0; row < in->count * width; row += width)
            is_fit &= NAME(normalise)(in->state + row, in->seen + row, &by.last_norm, of->width, width, of->epsilon);
    }
    for (int64_t column = 0; column < of->width; column++)
        vector[column] = in->state[column];
    for (int64_t row = 1; row < in->count && !of->is_first; row++)
        for (int64_t column = 0; column < of->width; column++)
            vector[column] += in->state[row * width + column];
    return is_fit;
}

#undef ALWAYS
