//===- PENormalizer.h - Properties of normalizers ---------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PENORMALIZER_H
#define PE_DIALECT_PE_PENORMALIZER_H

#include "dialect/PE/PEDialect.h"

namespace mlir::pe {

/// The properties of a normalizer on which verification and analysis depend.
struct NormalizerTraits {
  /// Weights depend on the order of the keys. Rows are then used in that order, under a mask that
  /// defines it.
  bool isOrdered;
  /// Adding a constant to all scores of a row changes no weight, unless a sink joins the row.
  bool isShiftInvariant;
  /// The weights of vectors that join the values (value_content) are known.
  bool takesVectors;
  /// The second result of the attention, which pe.merge reads; empty if there is none.
  StringLiteral statistic;
  /// The reason why no sink joins a row, as a relative clause; empty if one may.
  StringLiteral noSink;
};

/// Returns the properties of a normalizer.
const NormalizerTraits &traitsOf(Normalizer normalizer);

/// Returns the names of the normalizers with a second result: "softmax or stick_breaking".
std::string namesWithStatistic();

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PENORMALIZER_H
