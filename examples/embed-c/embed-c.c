/*===- embed-c.c - Use pe in a C program ------------------------------------===*\
|*
|* Runs a package (or a source) of an attention without parameters, forward and backward, on memory
|* of the program: q, k and v are views of one packed array [length, 3, heads, depth], which is not
|* rearranged for pe.
|*
|*   pe compile examples/encodings/alibi.mlir --grad --emit=package -o alibi.pepkg
|*   embed-c alibi.pepkg
|*
\*===------------------------------------------------------------------------===*/

#include "pe/pe-c.h"

#include <stdio.h>
#include <stdlib.h>

enum { kHeads = 2, kLength = 100, kDepth = 64, kCount = kHeads * kLength * kDepth };

static int failed(const char *what) {
  pe_error_info error;
  pe_last_error_info(&error);
  fprintf(stderr, "embed-c: %s: %s\n", what, pe_last_error());
  return (int)error.kind;
}

/* Returns a view of [1, heads, length, depth] with row stride `row` and head stride `head`. */
static pe_view view(const char *name, float *data, int64_t head, int64_t row) {
  pe_view result = {
      name, data, PE_F32, 4, {1, kHeads, kLength, kDepth}, {head * kHeads, head, row, 1}};
  return result;
}
static pe_view packed(const char *name, float *data) {
  return view(name, data, kLength * kDepth, kDepth);
}

/* Adds the tensor that the forward call saves for the backward call, in memory of the caller: the
   log-sum-exp of each row of softmax. For arbitrary functions pe_describe lists these tensors. */
static int addSaved(const pe_function *attention, pe_view *views, int *count) {
  pe_view saved = {"attention_lse"};
  if (pe_shape(attention, views, 3, &saved))
    return failed("shape");
  saved.data = malloc((size_t)(saved.shape[0] * saved.strides[0]) * sizeof(float));
  views[(*count)++] = saved;
  return 0;
}

/* Runs the forward or backward half of a call, with a temporary workspace. */
static int run(const pe_function *attention, int half, const pe_view *views, int count) {
  pe_context context = {.size = sizeof(pe_context)};
  if (pe_workspace(attention, half, views, count, &context.workspace_bytes))
    return failed("workspace");
  context.workspace = malloc((size_t)context.workspace_bytes);
  const int outcome = pe_run(attention, half, views, count, NULL, 0, &context);
  free(context.workspace);
  return outcome ? failed("run") : 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "embed-c: expected one FILE\n");
    return 1;
  }
  pe_function *attention;
  const pe_options options = {.size = sizeof(pe_options), .grad = 1};
  if (pe_open(argv[1], &options, &attention))
    return failed("open");

  static float qkv[3 * kCount], o[kCount], d_v[kCount];
  for (int row = 0; row < kLength; ++row)
    for (int i = 0; i < kHeads * kDepth; ++i) {
      float *at = qkv + row * 3 * kHeads * kDepth + i;
      at[0] = (float)(i % 7 - 3) * 0.25f;
      at[kHeads * kDepth] = (float)((i + row) % 5 - 2) * 0.5f;
      at[2 * kHeads * kDepth] = 1.0f;
    }
  const int64_t row = 3 * kHeads * kDepth;
  pe_view views[8] = {view("q", qkv, kDepth, row), view("k", qkv + kHeads * kDepth, kDepth, row),
                      view("v", qkv + 2 * kHeads * kDepth, kDepth, row)};
  int count = 3;
  if (addSaved(attention, views, &count))
    return 1;
  views[count++] = packed("o", o);
  if (run(attention, PE_FORWARD, views, count))
    return 1;
  /* The cotangent is the output itself. Only d_v is requested; other gradients are not computed. */
  views[count++] = packed("d_o", o);
  views[count++] = packed("d_v", d_v);
  if (run(attention, PE_BACKWARD, views, count))
    return 1;

  /* Values of one give outputs of one, and d_v is the sum of the weights of each key. */
  double sum = 0;
  for (int i = 0; i < kCount; ++i)
    sum += d_v[i];
  printf("pe %s: o[0] = %.3f, sum of d_v = %.1f of %d\n", pe_version(), o[0], sum, kCount);
  free(views[3].data);
  pe_close(attention);
  return 0;
}
