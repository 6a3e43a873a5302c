//===- AttentionAlgorithm.cpp - the stages of an attention ----------------===//
#include "passes/ToTile/AttentionAlgorithm.h"

#include "passes/ToTile/Normalizer.h"

using namespace mlir;
using namespace mlir::tile;

void AttentionAlgorithm::emitForward(PlanContext &context) {
  tile::emitForward(context, parts->pass->attention);
  if (parts->later)
    tile::emitForward(context, parts->later->attention);
  if (parts->sides)
    parts->sides->emitForward();
  if (parts->valueRotation)
    parts->valueRotation->emitForward();
  if (parts->outputFactor)
    parts->outputFactor->emitForward();
}

void AttentionAlgorithm::emitBackward(TileBuilder &plan) {
  if (parts->outputFactor)
    parts->outputFactor->emitBackward();
  if (parts->valueRotation)
    parts->valueRotation->emitBackward();
  if (parts->sides)
    parts->sides->emitBackward();
  tile::emitBackward(plan, parts->pass->attention);
  if (parts->later)
    tile::emitBackward(plan, parts->later->attention);
  if (parts->sides)
    parts->sides->finish();
  if (parts->valueRotation)
    parts->valueRotation->finish();
  parts->prologues.finish();
  // The second pass may share terms with the first, which finishes them.
  for (AttentionPass *pass : {parts->later.get(), parts->pass.get()}) {
    if (!pass)
      continue;
    pass->terms->finish();
    if (pass == parts->pass.get())
      parts->contents.finish();
    if (pass->score)
      pass->score->finish();
    if (pass->factor)
      pass->factor->finish();
  }
  if (parts->outputFactor)
    parts->outputFactor->finish();
  if (parts->sink)
    parts->sink->finish();
}
