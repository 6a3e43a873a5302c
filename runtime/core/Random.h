//===- Random.h - Reproducible random numbers -------------------*- C++ -*-===//
//
// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a
// counter-based generator, so number i of a stream needs no state. The key is the seed; the upper
// half of the counter is a hash of the stream's name, so each named tensor draws from its own
// stream and adding one tensor changes no other.
//
//   Random random(seed, "layer0.w1");
//   random.fillNormal(tensor, 0.0, 0.02);
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_RANDOM_H
#define PE_RUNTIME_CORE_RANDOM_H

#include "pe/Tensor.h"

#include <array>
#include <string_view>

namespace pe {

/// The Philox 4x32-10 block function.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A stream of numbers named by (seed, name).
class Random {
public:
  Random(uint64_t seed, std::string_view streamName);

  /// The next 32 random bits.
  uint32_t next();
  uint64_t next64();
  /// In [0, 1), a multiple of 2^-53.
  double uniform();
  double uniform(double low, double high);
  /// Standard normal by Box-Muller.
  double normal();
  /// In [0, bound), without bias; bound > 0.
  uint64_t below(uint64_t bound);

  /// Fill a floating tensor (any strides) in row-major order.
  void fillUniform(Tensor &tensor, double low, double high);
  void fillNormal(Tensor &tensor, double mean, double deviation);

private:
  std::array<uint32_t, 4> block{};
  std::array<uint32_t, 2> key;
  uint64_t stream;
  uint64_t position = 0;
  unsigned used = 4;
  bool hasSpare = false;
  double spare = 0;
};

} // namespace pe

#endif // PE_RUNTIME_CORE_RANDOM_H
