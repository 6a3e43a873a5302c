/* Loops of bench-decode in C: reads of memory, and calls of the C API with one query.

   bench-decode compiles this file into a library, and loads it after libpe.so, which defines pe_*.
 */

#include "pe/pe-c.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*===-- Reads -------------------------------------------------------------===*/

enum { kWords = 64, kDepth = 64, kMostViews = 16 };

typedef struct range {
  const uint64_t *words;
  int64_t count;
  int repeats;
  uint64_t result;
} range;

/* Reads a range `repeats` times. The loop over kWords becomes loads of entire vectors. */
static void *readRange(void *given) {
  range *part = given;
  uint64_t sums[kWords] = {0};
  for (int n = 0; n < part->repeats; ++n) {
    for (int64_t i = 0; i + kWords <= part->count; i += kWords)
      for (int j = 0; j < kWords; ++j)
        sums[j] ^= part->words[i + j];
    __asm__ volatile("" ::: "memory"); /* reads again in the next iteration */
  }
  for (int j = 0; j < kWords; ++j)
    part->result ^= sums[j];
  return NULL;
}

/* Reads `bytes` bytes `repeats` times on one or two threads, of which each reads its half. */
uint64_t decode_read(const void *data, int64_t bytes, int threads, int repeats) {
  const uint64_t *words = data;
  const int64_t count = bytes / 8, half = threads == 2 ? count / 2 : count;
  range first = {words, half, repeats, 0}, second = {words + half, count - half, repeats, 0};
  pthread_t thread;
  const int started = threads == 2 && !pthread_create(&thread, NULL, readRange, &second);
  readRange(&first);
  if (started)
    pthread_join(thread, NULL);
  return first.result ^ second.result;
}

/*===-- Calls -------------------------------------------------------------===*/

/* A pool of the calling thread only. */
static int32_t runAll(int64_t begin, int64_t end, int64_t grain, pe_range_body body,
                      void *context) {
  (void)grain;
  body(begin, end, context);
  return 0;
}
static int32_t countOne(uint32_t *count) {
  *count = 1;
  return 0;
}
static const pe_pool kPool = {runAll, countOne};

typedef struct decode_call {
  pe_function *function;
  pe_view views[kMostViews];
  int count;
  pe_context context;
} decode_call;

static float *randomFloats(int64_t count) {
  float *data = aligned_alloc(64, (size_t)(count * 4 + 63) / 64 * 64);
  uint32_t state = 1;
  for (int64_t i = 0; data && i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = (float)(state >> 8) / (1 << 23) - 1.0f;
  }
  return data;
}

static void addView(decode_call *call, const char *name, int64_t heads, int64_t rows) {
  const int64_t size = rows * kDepth;
  pe_view view = {name, randomFloats(heads * size), PE_F32,
                  4,    {1, heads, rows, kDepth},   {heads * size, size, kDepth, 1}};
  call->views[call->count++] = view;
}

/* Adds the parameters `names`, with values from 0.1 to 0.5, and the capacity of their tables. */
static int addParameters(decode_call *call, const char *const *names, int count, int64_t keys) {
  for (int n = 0; n < count; ++n) {
    pe_view view = {names[n]};
    if (call->count == kMostViews || pe_shape(call->function, call->views, 3, &view))
      return 1;
    int64_t elements = 1;
    for (int axis = 0; axis < view.rank; ++axis)
      elements *= view.shape[axis];
    float *data = randomFloats(elements);
    for (int64_t i = 0; i < elements; ++i)
      data[i] = 0.3f + 0.2f * data[i];
    view.data = data;
    call->views[call->count++] = view;
  }
  if (count) {
    const pe_view capacity = {"capacity", NULL, PE_U8, 1, {2 * keys}, {1}};
    call->views[call->count++] = capacity;
  }
  return 0;
}

/* Computes the prepared tensors `names`, which later calls read. */
static int prepare(decode_call *call, const char *const *names, int count) {
  for (int n = 0; n < count; ++n) {
    pe_view view = {names[n]};
    /* The output, o, is in the list, but only arguments determine shapes. */
    pe_view arguments[kMostViews];
    int known = 0;
    for (int i = 0; i < call->count; ++i)
      if (i != 3)
        arguments[known++] = call->views[i];
    if (pe_shape(call->function, arguments, known - n, &view))
      return 1;
    view.data = aligned_alloc(64, (size_t)(view.shape[0] + 63) / 64 * 64);
    call->views[call->count++] = view;
  }
  pe_context context = {.size = sizeof(pe_context), .pool = &kPool};
  const int half = PE_PREPARE | PE_FORWARD;
  if (pe_workspace(call->function, half, call->views, call->count, &context.workspace_bytes))
    return 1;
  context.workspace = malloc((size_t)context.workspace_bytes);
  const int status = pe_run(call->function, half, call->views, call->count, NULL, 0, &context);
  free(context.workspace);
  return status;
}

/* Opens a file with the parameters `parameters` and sets up a call with one query, or returns NULL
   after printing the error. The call reads the prepared tensors `names` instead of computing them;
   tables have room for twice as many keys. Its keys are the last prepared tensor of `other`, and
   its values those of `other`, if that is not NULL. */
decode_call *decode_open(const char *file, int64_t hq, int64_t hkv, int64_t keys,
                         const char *const *parameters, int parameterCount,
                         const char *const *names, int count, const decode_call *other) {
  decode_call *call = calloc(1, sizeof(decode_call));
  const pe_options options = {.size = sizeof(pe_options), .head_dim = kDepth, .value_dim = kDepth};
  call->context.size = sizeof(pe_context);
  call->context.pool = &kPool;
  int status = pe_open(file, &options, &call->function);
  addView(call, "q", hq, 1);
  addView(call, "k", hkv, keys);
  addView(call, "v", hkv, keys);
  addView(call, "o", hq, 1);
  if (other) {
    call->views[1].data = other->views[other->count - 1].data;
    call->views[2].data = other->views[2].data;
  }
  if (!status)
    status = addParameters(call, parameters, parameterCount, keys);
  if (!status && count)
    status = prepare(call, names, count);
  if (status || pe_workspace(call->function, PE_FORWARD, call->views, call->count,
                             &call->context.workspace_bytes)) {
    fprintf(stderr, "decode_calls: %s\n", pe_last_error());
    return NULL;
  }
  call->context.workspace = malloc((size_t)call->context.workspace_bytes);
  return call;
}

int decode_run(const decode_call *call, int repeats) {
  int status = 0;
  for (int n = 0; n < repeats && !status; ++n)
    status = pe_run(call->function, PE_FORWARD, call->views, call->count, NULL, 0, &call->context);
  if (status)
    fprintf(stderr, "decode_calls: %s\n", pe_last_error());
  return status;
}
