/*===- decode.c - Decode with a cache of keys and values --------------------===*\
|*
|* Runs an attention of examples/encodings as a model does: a call over the first tokens, then one
|* call per token over a cache of keys and values. The inputs are random. The results are compared
|* with one call over all tokens. TOKENS is the number of tokens before decoding.
|*
|*   decode FILE [TOKENS [KEY_HEADS]]
|*   decode examples/encodings/fire.mlir 1000
|*
\*===------------------------------------------------------------------------===*/

#define _POSIX_C_SOURCE 199309L
#include "pe/pe-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBatch = 2, kHeads = 8, kDepth = 64, kSteps = 256, kMost = 24, kMostTables = 8 };
/* The largest difference to one call over all tokens, relative to the largest output of a decoded
   token. The two use different kernels, which sum in different orders. Most encodings stay below
   1e-6; biases of hundreds lose two digits. */
static const double kBound = 1e-4;

static int failed(const char *what) {
  fprintf(stderr, "decode: %s: %s\n", what, pe_last_error());
  return 1;
}
static int refused(const char *expected, const char *found) {
  fprintf(stderr, "decode: expected %s, found %s\n", expected, found);
  return 1;
}

/*===-- The JSON of pe_describe -------------------------------------------===*/

static const char *skipSpace(const char *at) { return at + strspn(at, " \t\r\n"); }

/* Returns the end of the value that begins at `at`. */
static const char *endOf(const char *at) {
  int depth = 0;
  do {
    if (*at == '"')
      for (++at; *at != '"'; ++at)
        at += *at == '\\';
    depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
    ++at;
  } while (*at && (depth > 0 || !strchr(",]}", *at)));
  return at;
}

/* Returns the first element of a list or the first key of an object, or NULL if it is empty. */
static const char *firstOf(const char *list) {
  const char *at = skipSpace(list + 1);
  return *at == ']' || *at == '}' ? NULL : at;
}
/* Returns the element after the one at `at`, or NULL at the end. */
static const char *nextOf(const char *at) {
  at = skipSpace(endOf(at));
  return *at == ',' ? skipSpace(at + 1) : NULL;
}
/* Returns the value of a key of an object, or NULL. */
static const char *member(const char *object, const char *key) {
  const size_t length = strlen(key);
  for (const char *at = firstOf(object); at; at = nextOf(at))
    if (!strncmp(at + 1, key, length) && at[length + 1] == '"')
      return skipSpace(strchr(at + length + 2, ':') + 1);
  return NULL;
}
static int isText(const char *value, const char *text) {
  return value && *value == '"' && !strncmp(value + 1, text, strlen(text)) &&
         value[1 + strlen(text)] == '"';
}

/*===-- Tensors -----------------------------------------------------------===*/

/* A tensor of the call over all tokens. The axes of queries and keys are divided into calls. */
typedef struct tensor {
  char name[64];
  pe_view all;
  int queryAxis, keyAxis; /* -1 if it has none */
} tensor;

static int64_t sizeOf(pe_dtype type) { return type == PE_I64 ? 8 : 4; }

/* Returns a view of `rows` queries from `first`, and of the first `keys` keys. */
static pe_view partOf(const tensor *whole, int64_t first, int64_t rows, int64_t keys) {
  pe_view part = whole->all;
  part.name = whole->name;
  if (whole->queryAxis >= 0) {
    part.data = (char *)part.data + first * part.strides[whole->queryAxis] * sizeOf(part.dtype);
    part.shape[whole->queryAxis] = rows;
  }
  if (whole->keyAxis >= 0)
    part.shape[whole->keyAxis] = keys;
  return part;
}

/* Returns a tensor [batch, heads, rows, depth] of zeros. */
static tensor makeTensor(const char *name, int64_t heads, int64_t rows, int isKeys) {
  tensor made = {.queryAxis = isKeys ? -1 : 2, .keyAxis = isKeys ? 2 : -1};
  snprintf(made.name, sizeof(made.name), "%s", name);
  const int64_t row = kDepth, head = rows * row, batch = heads * head;
  const pe_view view = {
      made.name, NULL, PE_F32, 4, {kBatch, heads, rows, kDepth}, {batch, head, row, 1}};
  made.all = view;
  made.all.data = calloc((size_t)(kBatch * batch), sizeof(float));
  return made;
}

static float uniform(void) { return (float)rand() / (float)RAND_MAX; }

static int64_t countOf(const pe_view *view) {
  int64_t elements = 1;
  for (int axis = 0; axis < view->rank; ++axis)
    elements *= view->shape[axis];
  return elements;
}

/* Fills an argument: with its `pe.init` if that is a number, else with random numbers. Integers are
   documents of 64 tokens along an axis of tokens, and lengths that include all tokens elsewhere. */
static void fill(tensor *argument, const char *description, int64_t length) {
  const char *init = member(description, "init"), *min = member(description, "min");
  const int isNumber = init && *init == '"' && strchr("+-.0123456789", init[1]);
  const double least = min && *min != 'n' ? strtod(min, NULL) : 0;
  const int isToken = argument->queryAxis >= 0 || argument->keyAxis >= 0;
  void *data = argument->all.data;
  for (int64_t i = 0; i < countOf(&argument->all); ++i)
    if (argument->all.dtype == PE_F32)
      ((float *)data)[i] = (float)(isNumber ? strtod(init + 1, NULL) : least + 0.5 * uniform());
    else if (argument->all.dtype == PE_I32)
      ((int32_t *)data)[i] = (int32_t)(isToken ? i % length / 64 : length);
    else
      ((int64_t *)data)[i] = 1;
}

/*===-- The calls ---------------------------------------------------------===*/

typedef struct decoder {
  pe_function *function;
  tensor arguments[kMost]; /* of all tokens; the first three are q, k and v */
  int count;
  tensor o, cachedKeys, cachedValues, whole; /* `whole`: the output of one call over all tokens */
  /* Tables over distances for all tokens, computed once, and the number of keys that they hold. */
  pe_view tables[kMostTables], capacity;
  char tableNames[kMostTables][64];
  int tableCount;
  pe_context context;
  pe_view views[kMost + kMostTables + 2]; /* of the current call */
} decoder;

/* Sets the views of a call of `rows` queries from `first` over all keys up to the last query, and
   returns their number. Calls of one query use the tables. The output is the last view. */
static int setViews(decoder *d, int64_t first, int64_t rows, int isWhole) {
  for (int n = 0; n < d->count; ++n) {
    const tensor *from = &d->arguments[n];
    if (!isWhole && (n == 1 || n == 2))
      from = n == 1 ? &d->cachedKeys : &d->cachedValues;
    d->views[n] = partOf(from, first, rows, first + rows);
  }
  int count = d->count;
  if (rows == 1 && d->tableCount) {
    d->views[count++] = d->capacity;
    for (int n = 0; n < d->tableCount; ++n)
      d->views[count++] = d->tables[n];
  }
  d->views[count++] = partOf(isWhole ? &d->whole : &d->o, first, rows, 0);
  return count;
}

/* Increases the size of the workspace to that of a call. */
static int reserve(decoder *d, int64_t first, int64_t rows, int isWhole) {
  const int count = setViews(d, first, rows, isWhole);
  int64_t bytes;
  if (pe_workspace(d->function, PE_FORWARD, d->views, count, &bytes))
    return failed("workspace");
  if (bytes > d->context.workspace_bytes)
    d->context.workspace_bytes = bytes;
  return 0;
}

/* Computes the tables that all steps read. They are valid for every number of keys up to `length`
   and for calls with one query. */
static int prepareTables(decoder *d, int64_t length) {
  const char *json;
  if (pe_describe(d->function, &json))
    return failed("describe");
  const pe_view capacity = {"capacity", NULL, PE_U8, 1, {length}, {1}};
  d->capacity = capacity;
  int count = setViews(d, 0, 1, 0);
  d->views[count - 1] = capacity;
  for (const char *at = firstOf(member(json, "prepared")); at; at = nextOf(at)) {
    if (*member(at, "holds_for_all_keys") != 't')
      continue;
    if (d->tableCount == kMostTables)
      return refused("fewer tables", "more");
    const char *name = member(at, "name");
    char *copy = d->tableNames[d->tableCount];
    snprintf(copy, sizeof(d->tableNames[0]), "%.*s", (int)(endOf(name) - name) - 2, name + 1);
    pe_view *table = &d->tables[d->tableCount];
    table->name = copy;
    if (pe_shape(d->function, d->views, count, table))
      return failed("shape");
    table->data = aligned_alloc(64, (size_t)(table->shape[0] + 63) / 64 * 64);
    ++d->tableCount;
  }
  if (!d->tableCount)
    return 0;
  count = setViews(d, 0, 1, 0) - 1; /* without the output */
  pe_context context = {.size = sizeof(pe_context)};
  if (pe_workspace(d->function, PE_PREPARE, d->views, count, &context.workspace_bytes))
    return failed("workspace");
  context.workspace = malloc((size_t)context.workspace_bytes);
  const int status = pe_run(d->function, PE_PREPARE, d->views, count, NULL, 0, &context);
  free(context.workspace);
  return status ? failed("prepare") : 0;
}

static int run(decoder *d, int64_t first, int64_t rows, int isWhole) {
  const int count = setViews(d, first, rows, isWhole);
  return pe_run(d->function, PE_FORWARD, d->views, count, NULL, 0, &d->context) ? failed("run") : 0;
}

/* Copies rows of new keys or values into the cache. */
static void append(tensor *cache, const tensor *from, int64_t first, int64_t rows) {
  const int64_t capacity = cache->all.shape[2], length = from->all.shape[2];
  for (int64_t n = 0; n < from->all.shape[0] * from->all.shape[1]; ++n)
    memcpy((float *)cache->all.data + (n * capacity + first) * kDepth,
           (const float *)from->all.data + (n * length + first) * kDepth,
           (size_t)(rows * kDepth) * sizeof(float));
}

/* Appends the keys and values of `rows` tokens and computes their outputs. */
static int decode(decoder *d, int64_t first, int64_t rows) {
  append(&d->cachedKeys, &d->arguments[1], first, rows);
  append(&d->cachedValues, &d->arguments[2], first, rows);
  return run(d, first, rows, 0);
}

/* Adds an argument that the description lists, for all tokens. */
static int addArgument(decoder *d, const char *description, int64_t length) {
  const char *name = member(description, "name");
  if (isText(name, "q") || isText(name, "k") || isText(name, "v") ||
      *member(description, "optional") == 't')
    return 0;
  if (d->count == kMost)
    return refused("fewer arguments", "more");
  tensor *added = &d->arguments[d->count];
  const tensor empty = {.queryAxis = -1, .keyAxis = -1};
  *added = empty;
  snprintf(added->name, sizeof(added->name), "%.*s", (int)(endOf(name) - name) - 2, name + 1);
  added->all.name = added->name;
  pe_view views[3];
  for (int n = 0; n < 3; ++n)
    views[n] = partOf(&d->arguments[n], 0, length, length);
  if (pe_shape(d->function, views, 3, &added->all))
    return failed("shape");
  int axis = 0;
  for (const char *at = firstOf(member(description, "axes")); at; at = nextOf(at), ++axis) {
    if (isText(at, "query"))
      added->queryAxis = axis;
    if (isText(at, "key"))
      added->keyAxis = axis;
  }
  added->all.data = calloc((size_t)countOf(&added->all), (size_t)sizeOf(added->all.dtype));
  fill(added, description, length);
  ++d->count;
  return 0;
}

/* Checks that later tokens do not change the output of a token, and sets up all arguments. */
static int setUp(decoder *d, int64_t keyHeads, int64_t length, int64_t capacity) {
  const char *json;
  if (pe_describe(d->function, &json))
    return failed("describe");
  const char *arguments = member(json, "arguments"),
             *attention = firstOf(member(json, "attentions"));
  if (!attention || !isText(member(firstOf(arguments), "name"), "q"))
    return refused("an attention of q, k and v", "another function");
  const char *low = member(member(attention, "range"), "low");
  if (*low == 'n' || *low == '-')
    return refused("a causal attention", "one in which tokens attend to later ones");
  d->arguments[0] = makeTensor("q", kHeads, length, 0);
  d->arguments[1] = makeTensor("k", keyHeads, length, 1);
  d->arguments[2] = makeTensor("v", keyHeads, length, 1);
  for (int n = 0; n < 3; ++n)
    for (int64_t i = 0; i < countOf(&d->arguments[n].all); ++i)
      ((float *)d->arguments[n].all.data)[i] = 2 * uniform() - 1;
  d->o = makeTensor("o", kHeads, length, 0);
  d->whole = makeTensor("o", kHeads, length, 0);
  d->cachedKeys = makeTensor("k", keyHeads, capacity, 1);
  d->cachedValues = makeTensor("v", keyHeads, capacity, 1);
  d->count = 3;
  int status = 0;
  for (const char *at = firstOf(arguments); at && !status; at = nextOf(at))
    status = addArgument(d, at, length);
  return status;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Decodes `length` tokens, of which the first `prefill` are one call. */
static int decodeAll(decoder *d, int64_t prefill, int64_t length) {
  if (prepareTables(d, length))
    return 1;
  /* One workspace is sufficient for every call, so that no step allocates. */
  int status = reserve(d, 0, length, 1) || reserve(d, 0, prefill, 0);
  for (int64_t token = prefill; token < length && !status; ++token)
    status = reserve(d, token, 1, 0);
  d->context.size = sizeof(pe_context);
  d->context.workspace = malloc((size_t)d->context.workspace_bytes);
  if (status || decode(d, 0, prefill))
    return 1;
  const double start = seconds();
  for (int64_t token = prefill; token < length; ++token)
    if (decode(d, token, 1))
      return 1;
  printf("%d tokens after %lld: %.1f us per token\n", kSteps, (long long)prefill,
         (seconds() - start) / kSteps * 1e6);
  return 0;
}

static double magnitude(double x) { return x < 0 ? -x : x; }

/* Compares the outputs of decoded tokens with those of one call over all tokens. Returns 1 if a
   difference is above the bound. */
static int compare(decoder *d, int64_t prefill, int64_t length) {
  if (run(d, 0, length, 1))
    return 1;
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < countOf(&d->o.all); ++i) {
    if (i / kDepth % length < prefill)
      continue;
    const double found = ((const float *)d->o.all.data)[i];
    const double expected = ((const float *)d->whole.all.data)[i];
    if (magnitude(expected) > largest)
      largest = magnitude(expected);
    if (!(magnitude(found - expected) <= difference)) /* a NaN is a difference */
      difference = magnitude(found - expected);
  }
  const int isClose = difference <= kBound * largest;
  printf("largest difference to one call: %.2g of %.2g, %s %.0e\n", difference, largest,
         isClose ? "within" : "above", kBound);
  return !isClose;
}

int main(int argc, char **argv) {
  const int64_t prefill = argc > 2 ? strtoll(argv[2], NULL, 10) : 1000;
  const int64_t keyHeads = argc > 3 ? strtoll(argv[3], NULL, 10) : 2;
  if (argc < 2 || argc > 4 || prefill < 1 || keyHeads < 1) {
    fprintf(stderr, "decode: expected FILE [TOKENS [KEY_HEADS]], with positive numbers\n");
    return 1;
  }
  static decoder d;
  const pe_options options = {.size = sizeof(pe_options), .head_dim = kDepth, .value_dim = kDepth};
  if (pe_open(argv[1], &options, &d.function))
    return failed("open");
  /* The cache has room for more tokens, so the views of its keys have a stride between heads. */
  const int64_t length = prefill + kSteps, capacity = length + 100;
  const int status = setUp(&d, keyHeads, length, capacity) || decodeAll(&d, prefill, length) ||
                     compare(&d, prefill, length);
  for (int n = 0; n < d.count; ++n)
    free(d.arguments[n].all.data);
  for (int n = 0; n < d.tableCount; ++n)
    free(d.tables[n].data);
  free(d.o.all.data);
  free(d.whole.all.data);
  free(d.cachedKeys.all.data);
  free(d.cachedValues.all.data);
  free(d.context.workspace);
  pe_close(d.function);
  return status;
}
