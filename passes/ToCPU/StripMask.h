//===- StripMask.h - the mask of a strip's pairs as vectors ---------------===//
#ifndef PE_PASSES_TOCPU_STRIPMASK_H
#define PE_PASSES_TOCPU_STRIPMASK_H

#include "passes/ToCPU/StripValues.h"

namespace mlir::tile::cpu {

/// Loads the column bounds, as i32, of the existing rows of vector `vector`.
Value loadColumns(StageContext &context, const StripPlace &place, Value buffer, int64_t vector,
                  Value exists);

/// The mask of the pairs of one strip, as vectors. It is off if the strip is not masked.
class StripMask {
public:
  void begin(StageContext &context, const StripPlace &place);
  bool isOn() const { return !ends.empty(); }
  /// Returns the mask of the lanes of vector `vector` whose rows keep column `column`. If lanes are
  /// keys, returns that of the lanes, from column `column` on, which the row keeps.
  Value at(const Index &column, int64_t vector) const;
  /// Returns true (an i1) if row `row` of the call keeps column `column`.
  Value at(const Index &row, const Index &column) const;

private:
  void beginRow();

  StageContext *context = nullptr;
  StripPlace place;
  SmallVector<Value> begins, ends; // per vector, i32
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STRIPMASK_H
