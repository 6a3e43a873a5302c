//===- FakeStages.c - The stage of FakeJit's plan -------------------------===//

#include <stdint.h>

/// buffers: x [b, r], y [b, r]; item: row.
void fakeDouble(void *const *buffers, const int64_t *sizes, int64_t item) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = item * sizes[3]; i < (item + 1) * sizes[3]; ++i)
    y[i] = 2 * x[i];
}
