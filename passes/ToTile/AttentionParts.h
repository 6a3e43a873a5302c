//===- AttentionParts.h - what the stages of an attention ask -------------===//
//
// The third phase of an attention creates everything that its stages ask: results, a sink, terms,
// prologues, a function of the score, factors. The types of the phases say in which order parts may
// be created; each needs the results of earlier ones:
//
//   AttentionInputs ─► AttentionPairs ─► AttentionParts ─► AttentionAlgorithm
//   GivenRows ─► Contents ─► ProductRows ─► Prologues ─► KernelRows
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_ATTENTIONPARTS_H
#define PE_PASSES_TOTILE_ATTENTIONPARTS_H

#include "passes/Analysis/Structure.h"
#include "passes/ToTile/ContentTerm.h"
#include "passes/ToTile/FactorFunction.h"
#include "passes/ToTile/FunctionInputs.h"
#include "passes/ToTile/OutputFactor.h"
#include "passes/ToTile/Pairs.h"
#include "passes/ToTile/Prologue.h"
#include "passes/ToTile/ScoreFunction.h"
#include "passes/ToTile/Sides.h"
#include "passes/ToTile/Sink.h"
#include "passes/ToTile/Terms.h"
#include "passes/ToTile/ValueRotation.h"

#include <memory>
#include <optional>

namespace mlir::tile {

/// One pass over keys: the stages of one forward and one backward stream.
struct AttentionPass {
  explicit AttentionPass(Attention attention) : attention(std::move(attention)) {}

  Attention attention;
  std::unique_ptr<AttentionTerms> terms;
  std::unique_ptr<ScoreFunction> score;   // null: the score itself
  std::unique_ptr<FactorFunction> factor; // null: 1
};

class AttentionParts {
public:
  /// Adds the buffers and the prepare stages. Terms equal to one in `shared` are shared with it.
  static FailureOr<std::unique_ptr<AttentionParts>>
  create(Inputs &inputs, AttentionInputs given, AttentionPairs pairs, SharedTerms &shared);

  std::unique_ptr<AttentionPass> pass;
  std::unique_ptr<AttentionPass> later; // over the keys after a query; null without
  std::unique_ptr<Sink> sink;
  std::optional<OutputFactor> outputFactor;
  std::optional<ValueRotation> valueRotation;
  Prologues prologues;
  Contents contents;
  std::optional<Sides> sides; // of stick-breaking, where one stream does not give the output

private:
  AttentionParts(Inputs &inputs, AttentionInputs given, AttentionPairs pairs)
      : context(inputs.plan()), given(std::move(given)), pairs(std::move(pairs)) {}
  LogicalResult createAll(Inputs &inputs, SharedTerms &shared);
  LogicalResult createSink();
  LogicalResult createTerms(AttentionPass &pass, const pe::DifferenceRange &range,
                            SharedTerms &shared);
  void createRest();
  void createSides();
  LogicalResult prepare(AttentionPass &pass);
  LogicalResult createFactor(AttentionPass &pass);
  LogicalResult createOutputFactor(Attention &attention);
  LogicalResult createValueRotation(Attention &attention, Type inner);
  bool isFactorOfQueries();

  PlanContext &context;
  AttentionInputs given;
  AttentionPairs pairs;
  pe::AttentionFactors factors;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_ATTENTIONPARTS_H
