//===- AttentionAlgorithm.h - the stages of an attention ------------------===//
#ifndef PE_PASSES_TOTILE_ATTENTIONALGORITHM_H
#define PE_PASSES_TOTILE_ATTENTIONALGORITHM_H

#include "passes/ToTile/AttentionParts.h"

namespace mlir::tile {

/// The last phase of an attention: writes its forward, backward and finish stages.
class AttentionAlgorithm {
public:
  explicit AttentionAlgorithm(std::unique_ptr<AttentionParts> parts) : parts(std::move(parts)) {}

  void emitForward(PlanContext &context);
  /// Called after `emitForward`.
  void emitBackward(TileBuilder &plan);

private:
  std::unique_ptr<AttentionParts> parts;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_ATTENTIONALGORITHM_H
