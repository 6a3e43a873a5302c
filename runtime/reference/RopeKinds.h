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

/// A bound on the rotations within the original length. `name` is null if the kind has no bounds.
struct RopeBound {
  const char *name = nullptr;
  double standard = 0;
};

/// Every kind has a `factor`.
struct RopeKind {
  const char *name;
  bool hasLength; // original_length
  RopeBound fast, slow;
};

/// The kinds in the order of their numbers in the dialect.
inline constexpr std::array kRopeKinds = {
    RopeKind{"linear", false, {}, {}},
    RopeKind{"ntk", false, {}, {}},
    RopeKind{"dynamic_ntk", true, {}, {}},
    RopeKind{"yarn", true, {"beta_fast", 32}, {"beta_slow", 1}},
    RopeKind{"llama3", true, {"high", 4}, {"low", 1}},
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ROPEKINDS_H
