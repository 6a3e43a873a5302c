//===- RopeLiterals.h - Published rotary frequencies as numbers -----------===//
//
// Computed from the formulas of the sources (docs/encodings/rotations.md) with 50 digits, by a
// program that shares no code with pe: linear (Chen et al. 2023, Eq. 4), ntk and dynamic_ntk (Peng
// et al. 2023, Eq. 16 and section 3.3), yarn (ibid., section 3.2), llama3 (Grattafiori et al. 2024,
// published model code), longrope and proportional (transformers' modeling_rope_utils).
//
//===----------------------------------------------------------------------===//
#ifndef PE_TEST_DIALECT_PE_ROPELITERALS_H
#define PE_TEST_DIALECT_PE_ROPELITERALS_H

#include <array>
#include <cstdint>

namespace pe::test {

struct RopeLiteral {
  /// The parameters of #pe.rope_scaling<...>.
  const char *scaling;
  double base;
  int64_t dims, length;
  std::array<int64_t, 8> pairs;
  std::array<double, 8> frequencies;
};

inline constexpr std::array<int64_t, 8> kFirstPairs = {0, 1, 2, 3, 4, 5, 6, 7};

inline constexpr const char *kLongRope =
    "longrope, factor = 32.0, original_length = 4096, short_factor = [1.0, 1.05, 1.1, 1.25, 1.5, "
    "2.0, 2.5, 4.0], long_factor = [1.0, 1.5, 2.75, 4.0, 8.0, 16.0, 32.0, 64.0]";

inline constexpr RopeLiteral kRopeLiterals[] = {
    {"linear, factor = 4.0",
     10000.0,
     16,
     100,
     kFirstPairs,
     {2.500000000e-01, 7.905694150e-02, 2.500000000e-02, 7.905694150e-03, 2.500000000e-03,
      7.905694150e-04, 2.500000000e-04, 7.905694150e-05}},
    {"ntk, factor = 4.0",
     10000.0,
     16,
     100,
     kFirstPairs,
     {1.000000000e+00, 2.594128170e-01, 6.729500963e-02, 1.745718802e-02, 4.528618321e-03,
      1.174781636e-03, 3.047534136e-04, 7.905694150e-05}},
    {"dynamic_ntk, factor = 4.0, original_length = 2048",
     10000.0,
     16,
     1000,
     kFirstPairs,
     {1.000000000e+00, 3.162277660e-01, 1.000000000e-01, 3.162277660e-02, 1.000000000e-02,
      3.162277660e-03, 1.000000000e-03, 3.162277660e-04}},
    {"dynamic_ntk, factor = 4.0, original_length = 2048",
     10000.0,
     16,
     8192,
     kFirstPairs,
     {1.000000000e+00, 2.192124598e-01, 4.805410254e-02, 1.053405802e-02, 2.309196771e-03,
      5.062047044e-04, 1.109663784e-04, 2.432521277e-05}},
    {"yarn, factor = 4.0, original_length = 2048",
     10000.0,
     16,
     100,
     kFirstPairs,
     {1.000000000e+00, 3.162277660e-01, 1.000000000e-01, 2.569350599e-02, 6.250000000e-03,
      1.383496476e-03, 2.500000000e-04, 7.905694150e-05}},
    {"yarn, factor = 4.0, original_length = 2048",
     10000.0,
     128,
     100,
     {0, 9, 20, 30, 40, 46, 50, 63},
     {1.000000000e+00, 2.738419634e-01, 4.948603662e-02, 7.734424307e-03, 8.854377448e-04,
      3.333803580e-04, 1.874735523e-04, 2.886954962e-05}},
    {"llama3, factor = 8.0, original_length = 8192",
     10000.0,
     16,
     100,
     kFirstPairs,
     {1.000000000e+00, 3.162277660e-01, 1.000000000e-01, 3.162277660e-02, 1.000000000e-02,
      3.162277660e-03, 2.136075440e-04, 3.952847075e-05}},
    {"llama3, factor = 8.0, original_length = 8192",
     500000.0,
     128,
     100,
     {0, 9, 20, 28, 30, 34, 40, 63},
     {1.000000000e+00, 1.579728099e-01, 1.656044008e-02, 3.211445995e-03, 1.371893568e-03,
      1.785078128e-04, 3.428102196e-05, 3.068925989e-07}},
    {kLongRope,
     10000.0,
     16,
     4096,
     kFirstPairs,
     {1.000000000e+00, 3.011693010e-01, 9.090909091e-02, 2.529822128e-02, 6.666666667e-03,
      1.581138830e-03, 4.000000000e-04, 7.905694150e-05}},
    {kLongRope,
     10000.0,
     16,
     4097,
     kFirstPairs,
     {1.000000000e+00, 2.108185107e-01, 3.636363636e-02, 7.905694150e-03, 1.250000000e-03,
      1.976423538e-04, 3.125000000e-05, 4.941058844e-06}},
    {"proportional, factor = 2.0, partial_rotary_factor = 0.45",
     10000.0,
     16,
     100,
     kFirstPairs,
     {5.000000000e-01, 1.581138830e-01, 5.000000000e-02, 0, 0, 0, 0, 0}},
};

/// The factor of longrope for factor 32 and original length 4096: sqrt(1 + 5/12).
inline constexpr double kLongRopeMagnitude = 1.190238071;

/// YaRN's factor on cosines and sines for factor 4: 0.1 ln 4 + 1.
inline constexpr double kYarnMagnitude = 1.138629436;

} // namespace pe::test

#endif // PE_TEST_DIALECT_PE_ROPELITERALS_H
