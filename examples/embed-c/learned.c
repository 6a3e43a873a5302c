/*===- learned.c - An attention with parameters and their gradients ----------===*\
|*
|* Runs a source or a package of an attention with parameters from the command line: NAME=NUMBER
|* sets every element of the parameter NAME to the number, like a `pe.init` with a number.
|*
|*   cc -std=c11 learned.c -I runtime/include -L build/lib -Wl,-rpath,build/lib -lpe -o learned
|*   ./learned examples/encodings/alibi_learned.mlir slopes=0.25
|*
\*===------------------------------------------------------------------------===*/

#include "pe/pe-c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kHeads = 2, kLength = 100, kDepth = 64, kCount = kHeads * kLength * kDepth, kMost = 16 };

static int failed(const char *what) {
  fprintf(stderr, "learned: %s: %s\n", what, pe_last_error());
  return 1;
}

static pe_view rows(const char *name, float *data) {
  pe_view view = {
      name, data, PE_F32, 4, {1, kHeads, kLength, kDepth}, {kCount, kLength * kDepth, kDepth, 1}};
  return view;
}

static int64_t count(const pe_view *view) {
  int64_t elements = 1;
  for (int axis = 0; axis < view->rank; ++axis)
    elements *= view->shape[axis];
  return elements;
}

/* Adds the parameter of "NAME=NUMBER", in the shape that the call requires. */
static int addParameter(const pe_function *function, char *text, pe_view *views, int *used) {
  char *equals = strchr(text, '=');
  if (!equals || *used == kMost) {
    fprintf(stderr, "learned: expected NAME=NUMBER, found '%s'\n", text);
    return 1;
  }
  *equals = '\0';
  pe_view parameter = {text};
  if (pe_shape(function, views, 3, &parameter))
    return failed("shape");
  float *data = malloc((size_t)count(&parameter) * sizeof(float));
  for (int64_t i = 0; data && i < count(&parameter); ++i)
    data[i] = strtof(equals + 1, NULL);
  parameter.data = data;
  views[(*used)++] = parameter;
  return data ? 0 : failed("memory");
}

/* Prints the gradient of a parameter, which is summed over the batch and all pairs. */
static int printGradient(const pe_call *call, const char *name) {
  char wanted[128];
  pe_view gradient;
  snprintf(wanted, sizeof(wanted), "d_%s", name);
  if (pe_result(call, wanted, &gradient))
    return failed("result");
  printf("%s:", wanted);
  for (int64_t i = 0; i < count(&gradient) && i < 8; ++i)
    printf(" %.4f", ((const float *)gradient.data)[i]);
  printf("\n");
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "learned: expected FILE NAME=NUMBER...\n");
    return 1;
  }
  pe_function *function;
  const pe_options options = {
      .size = sizeof(pe_options), .head_dim = kDepth, .value_dim = kDepth, .grad = 1};
  if (pe_open(argv[1], &options, &function))
    return failed("open");

  static float q[kCount], k[kCount], v[kCount];
  for (int i = 0; i < kCount; ++i) {
    q[i] = (float)(i % 7 - 3) * 0.25f;
    k[i] = (float)(i % 5 - 2) * 0.5f;
    v[i] = (float)(i / kDepth % kLength) / kLength; /* relative position of the row */
  }
  pe_view views[kMost] = {rows("q", q), rows("k", k), rows("v", v)};
  int used = 3;
  for (int n = 2; n < argc; ++n)
    if (addParameter(function, argv[n], views, &used))
      return 1;

  pe_call *call;
  if (pe_forward(function, views, used, NULL, 0, &call))
    return failed("forward");
  pe_view o;
  if (pe_result(call, "o", &o))
    return failed("result");
  printf("o of the last row: %.4f\n", ((const float *)o.data)[(kLength - 1) * kDepth]);
  /* The loss is the sum of o, so the cotangent of o is 1 everywhere. */
  static float ones[kCount];
  for (int i = 0; i < kCount; ++i)
    ones[i] = 1.0f;
  const pe_view cotangent = rows("d_o", ones);
  if (pe_backward(function, call, &cotangent, 1))
    return failed("backward");
  int status = 0;
  for (int n = 3; n < used; ++n) {
    status |= printGradient(call, views[n].name);
    free(views[n].data);
  }
  pe_call_free(call);
  pe_close(function);
  return status;
}
