//===- RopeKinds.h - The kinds of RoPE scaling ------------------*- C++ -*-===//
//
// The table of their names, parameters and defaults. The dialect parses and prints by it, and the
// reference reads programs by it; they share no formula. pe_attention has a copy of the table
// (test/python/test_tables.py).
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_ROPEKINDS_H
#define PE_RUNTIME_REFERENCE_ROPEKINDS_H

#include <array>

namespace pe::reference {

/// A number of a kind, apart from the factor and the original length. `name` is null if the kind
/// has none.
struct RopeNumber {
  const char *name = nullptr;
  double standard = 0; ///< the default; 0 if the number follows from others
};

/// Every kind has a `factor`.
struct RopeKind {
  const char *name;
  bool hasLength; // original_length
  RopeNumber first, second;
  /// True if the kind has two lists with a factor per pair, short_factor and long_factor.
  bool hasFactors = false;
};

/// The kinds in the order of their numbers in the dialect.
inline constexpr std::array kRopeKinds = {
    RopeKind{"linear", false, {}, {}},
    RopeKind{"ntk", false, {}, {}},
    RopeKind{"dynamic_ntk", true, {}, {}},
    RopeKind{"yarn", true, {"beta_fast", 32}, {"beta_slow", 1}},
    RopeKind{"llama3", true, {"high", 4}, {"low", 1}},
    RopeKind{"longrope", true, {"attention_factor", 0}, {}, true},
    RopeKind{"proportional", false, {"partial_rotary_factor", 1}, {}},
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ROPEKINDS_H
