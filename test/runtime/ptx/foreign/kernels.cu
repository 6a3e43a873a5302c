// Kernels in CUDA C++, written here, whose PTX judges the PTX machine (scripts/judge-emulator): shuffles,
// votes, matches, reductions of a warp, cooperative groups, shared atomics, device calls and tables
// of branches.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void shuffled_sum(const float *x, float *y, int n) {
  float value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += x[i];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xFFFFFFFF, value, offset);
  __shared__ float parts[32];
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int warp = 0; warp < blockDim.x / 32; ++warp)
      total += parts[warp];
    atomicAdd(y, total);
  }
}

extern "C" __global__ void votes(const int *x, unsigned *ballots, unsigned *matches, int *flags) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = x[i];
  ballots[i] = __ballot_sync(0xFFFFFFFF, value % 3 == 0);
  matches[i] = __match_any_sync(0xFFFFFFFF, value % 5);
  if (value % 2) { // the lanes of one side only
    const unsigned active = __activemask();
    flags[i] = __any_sync(active, value > 90) + 2 * __all_sync(active, value < 100) +
               4 * __popc(active);
  } else {
    flags[i] = __reduce_add_sync(__activemask(), value);
  }
}

extern "C" __global__ void tiles(const int *x, int *sums, int *scans) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const int i = block.group_index().x * block.size() + block.thread_rank();
  sums[i] = cg::reduce(tile, x[i], cg::plus<int>());
  scans[i] = cg::inclusive_scan(tile, x[i], cg::plus<int>());
  const auto odd = cg::coalesced_threads();
  block.sync();
  if (x[i] & 1) {
    const auto group = cg::coalesced_threads();
    scans[i] += 1000 * (group.thread_rank() + 1);
  }
  (void)odd;
}

extern "C" __global__ void histogram_shared(const int *x, int *counts, int n) {
  __shared__ int own[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[x[i] & 63], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    atomicAdd(&counts[i], own[i]);
}

__device__ __noinline__ double series(double x, int terms) {
  double total = 1, term = 1;
  for (int n = 1; n < terms; ++n)
    total += term *= x / n;
  return total;
}

extern "C" __global__ void cases(const double *x, const int *which, double *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  switch (which[i] & 7) {
  case 0: y[i] = series(x[i], 20); break;
  case 1: y[i] = sqrt(fabs(x[i])); break;
  case 2: y[i] = floor(x[i]); break;
  case 3: y[i] = double(float(x[i])); break;
  case 4: y[i] = 1 / (1 + x[i] * x[i]); break;
  case 5: y[i] = fma(x[i], x[i], -1.0); break;
  case 6: y[i] = double(int(x[i] * 100) / 7); break;
  default: y[i] = x[i] > 0 ? log1p(x[i]) : exp(x[i]);
  }
}

// The last block to finish adds the sums of all blocks, as in NVIDIA's threadFenceReduction sample.
extern "C" __global__ void last_block(const float *x, float *parts, unsigned *finished, float *y, int n) {
  __shared__ bool isLast;
  float value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += x[i] * x[i];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xFFFFFFFF, value, offset);
  if (threadIdx.x == 0) { // blocks of one warp
    parts[blockIdx.x] = value;
    __threadfence();
    isLast = atomicAdd(finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (isLast && threadIdx.x == 0) {
    __threadfence();
    float total = 0;
    for (int block = 0; block < gridDim.x; ++block)
      total += reinterpret_cast<volatile float *>(parts)[block];
    *y = total;
  }
}
