/*===- embed-c.c - pe inside a C program ------------------------------------===*\
|*
|* Runs a package (or a source) of an attention without parameters, forward and backward:
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
  fprintf(stderr, "embed-c: %s: %s\n", what, pe_last_error());
  return 1;
}

static pe_tensor tensor(const char *name, float *data) {
  pe_tensor result = {name, data, PE_F32, 4, {1, kHeads, kLength, kDepth}};
  return result;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "embed-c: expected one FILE\n");
    return 1;
  }
  pe_function *attention;
  const pe_options options = {.grad = 1};
  if (pe_open(argv[1], &options, &attention))
    return failed("open");
  static float q[kCount], k[kCount], v[kCount];
  for (int i = 0; i < kCount; ++i) {
    q[i] = (float)(i % 7 - 3) * 0.25f;
    k[i] = (float)(i % 5 - 2) * 0.5f;
    v[i] = 1.0f;
  }
  const pe_tensor arguments[] = {tensor("q", q), tensor("k", k), tensor("v", v)};
  pe_call *call;
  if (pe_forward(attention, arguments, 3, NULL, &call))
    return failed("forward");
  pe_tensor o, d_v;
  if (pe_result(call, "o", &o))
    return failed("result");
  pe_tensor cotangent = o;
  cotangent.name = "d_o";
  if (pe_backward(attention, call, &cotangent, 1) || pe_result(call, "d_v", &d_v))
    return failed("backward");
  /* Values of one give outputs of one, and d_v sums up the weights of each key. */
  double sum = 0;
  for (int i = 0; i < kCount; ++i)
    sum += ((const float *)d_v.data)[i];
  printf("pe %s: o[0] = %.3f, sum of d_v = %.1f of %d\n", pe_version(), ((const float *)o.data)[0],
         sum, kCount);
  pe_call_free(call);
  pe_close(attention);
  return 0;
}
