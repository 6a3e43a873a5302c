// The type of PyTorch that FlashAttention-2 names, so that its kernels compile without PyTorch.
#include <cstdint>
namespace at {
struct PhiloxCudaState {
  uint64_t seed, offset;
};
} // namespace at
