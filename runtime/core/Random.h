//===- Random.h - Reproducible random numbers -------------------*- C++ -*-===//
//
// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a
// counter-based generator, so that element i of a stream needs no state. The key is the seed; the
// upper half of the counter is a hash of the stream's name. Each named tensor therefore has its own
// stream, and adding a tensor does not change the others.
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

/// Returns one block of Philox 4x32-10.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The stream of random values identified by (seed, name).
class Random {
public:
  Random(uint64_t seed, std::string_view streamName);

  /// Returns the next 32 random bits.
  uint32_t next();
  /// Returns the next 64 random bits.
  uint64_t next64();
  /// Returns a value in [0, 1), a multiple of 2^-53.
  double uniform();
  /// Returns a value in [low, high).
  double uniform(double low, double high);
  /// Returns a standard normal value (Box-Muller).
  double normal();
  /// Returns an unbiased integer in [0, bound); bound > 0.
  uint64_t below(uint64_t bound);

  /// Fills a floating tensor of any strides in row-major order, from a uniform distribution.
  void fillUniform(Tensor &tensor, double low, double high);
  /// Same, from a normal distribution.
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
