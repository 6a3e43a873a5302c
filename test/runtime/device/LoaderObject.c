//===- LoaderObject.c - Code for the tests of the object loader -----------===//
//
// Uses constants, a jump table, initialized and uninitialized variables, and calls into the C
// library. Each needs a different kind of relocation.
//
//===----------------------------------------------------------------------===//

#include <math.h>
#include <string.h>

static float scratch[64];
const float loaderConstants[8] = {1, 2, 3, 4, 5, 6, 7, 8};
float loaderVariables[4] = {10, 20, 30, 40};

__attribute__((noinline)) static float local(float x) { return x * 2.5f; }

float loaderCompute(float *x, long n, int what) {
  memcpy(scratch, x, n * sizeof(float));
  switch (what) {
  case 0:
    return local(scratch[1]);
  case 1:
    return loaderConstants[n & 7];
  case 2:
    return scratch[n - 1];
  case 3:
    return expf(x[0]);
  case 4:
    return x[2] * 3.25f;
  case 5:
    return loaderVariables[n & 3];
  case 6:
    return 7.5f * x[1];
  default:
    memset(x, 0, n * sizeof(float));
    return -1;
  }
}

void loaderBump(void) { loaderVariables[0] += 1; }
