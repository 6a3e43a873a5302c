//===- Terms.h - bias terms at the tile level ---===//
//
// The class of a term (passes/Analysis/Structure.h) decides its stages: tables built in prepare
// stages, a value inside the stream, adjoint sums inside the backward stream, and finish stages
// that chain those sums to the parameters by reverse mode.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_TERMS_H
#define PE_PASSES_TOTILE_TERMS_H

#include "passes/Analysis/Structure.h"
#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"

#include <memory>

namespace mlir::tile {

/// One term. `emit` returns log2 units; `emitGradient` takes the cotangent in natural units. A
/// shared term (SharedTerms) is emitted once per attention, and prepared and finished once.
class TermLowering {
public:
  TermLowering(PlanContext &context, pe::TermOp term, std::string name);
  virtual ~TermLowering() = default;
  /// Adds the buffers and prepare stages.
  virtual LogicalResult prepare() = 0;
  virtual Value emit(TileBuilder &t) = 0;
  virtual bool isSharable() const { return false; }
  /// Returns true if the term changes only row statistics; `emit` is then over r and called outside
  /// the stream.
  virtual bool isRowShift() const { return false; }
  /// Return the folds that `emitGradient` yields to the stream, and store their sums after it.
  virtual SmallVector<SpaceSet> gradientFolds() const { return {}; }
  virtual SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) = 0;
  virtual void storeFolds(TileBuilder &, ValueRange) {}
  /// Adds the finish stages.
  virtual void finish() = 0;
  /// Returns the location of the bias or content in the user's file.
  virtual Location getLoc() const { return pe::TermOp(term).getLoc(); }

protected:
  TileParameters parameters(pe::TermPart part) {
    return TileParameters(context, term.getPart(part), term.getCaptures());
  }
  /// Maps the inputs of the part: batch, head and `point`.
  void mapPart(IRMapping &mapping, pe::TermPart part, Value batch, Value head, ValueRange point);

  PlanContext &context;
  pe::TermOp term;
  std::string name;
};

std::unique_ptr<TermLowering> createDistanceTerm(PlanContext &, pe::TermOp, std::string name,
                                                 int64_t minDistance);
std::unique_ptr<TermLowering> createSegmentsTerm(PlanContext &, pe::TermOp, std::string name);
/// Creates the lowering of a term that depends only on the query, only on the key, or is a sum of
/// both, which is added to every score.
std::unique_ptr<TermLowering> createVectorTerm(PlanContext &, pe::TermOp, std::string name,
                                               const Attention &attention);
/// Creates the lowering of a term that depends only on the query and changes no weight.
std::unique_ptr<TermLowering> createRowShift(PlanContext &, pe::TermOp, std::string name,
                                             const Attention &attention);
std::unique_ptr<TermLowering> createGeneralTerm(PlanContext &, pe::TermOp, std::string name,
                                                pe::DifferenceRange range);

/// The terms of all attentions of a function that depend only on positions and parameters.
/// Attentions with equal terms share one set of tables, and the sums of its gradient are chained to
/// the parameters once.
class SharedTerms {
public:
  /// Returns the lowering of an equal term under a mask with the same smallest i - j, or null.
  std::shared_ptr<TermLowering> find(pe::TermOp term, int64_t smallest) const;
  void add(pe::TermOp term, int64_t smallest, std::shared_ptr<TermLowering> lowering) {
    known.push_back({term, smallest, std::move(lowering)});
  }

private:
  struct Known {
    pe::TermOp term;
    int64_t smallest;
    std::shared_ptr<TermLowering> lowering;
  };
  SmallVector<Known> known;
};

/// All terms of one attention.
class AttentionTerms : public ScoreTerms {
public:
  /// `range` contains every i - j that the mask allows. `attention` outlives the terms. Earlier
  /// attentions prepare and finish the terms that this one shares with them, so they must be
  /// finished after it.
  AttentionTerms(PlanContext &context, ArrayRef<pe::TermOp> terms, const Attention &attention,
                 pe::DifferenceRange range, SharedTerms &shared);
  /// Appends a term.
  void add(std::unique_ptr<TermLowering> term) {
    terms.push_back(std::move(term));
    owned.push_back(terms.back().get());
  }
  LogicalResult prepare();
  void finish();
  bool isEmpty() const override {
    return llvm::all_of(terms, [](const auto &term) { return term->isRowShift(); });
  }
  Value emit(TileBuilder &t) override { return sum(t, /*rowShifts=*/false, {"r", "c"}); }
  Value emitRowShift(TileBuilder &t) override { return sum(t, /*rowShifts=*/true, {"r"}); }
  SmallVector<SpaceSet> gradientFolds() const override;
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override;
  void storeFolds(TileBuilder &t, ValueRange folds) override;

private:
  std::unique_ptr<TermLowering> create(PlanContext &context, pe::TermOp term,
                                       const Attention &attention, pe::DifferenceRange range);
  Value sum(TileBuilder &t, bool rowShifts, const SpaceSet &spaces);

  SmallVector<std::shared_ptr<TermLowering>> terms;
  SmallVector<TermLowering *> owned;
};

class TokenReads;

/// Sums of the gradients of captured tensors inside a stream, one per (batch, head). If only these
/// sums add to a gradient and none of its elements belongs to several of them, they are the
/// gradient itself.
class CaptureSums {
public:
  /// `reads`, if given, are those of the region of `op`, which adds to the sums at pairs with i - j
  /// in `range`.
  CaptureSums(PlanContext &context, ValueRange captures, std::string name,
              const TokenReads *reads = nullptr, Operation *op = nullptr,
              pe::DifferenceRange range = {})
      : context(context), captures(captures), name(std::move(name)), reads(reads), op(op),
        range(range) {}
  /// Adds the buffers. Called before the stages that add to them.
  void create();
  /// Directs the gradients of `parameters` to these sums. `point` begins with b, h, i, j; `row` and
  /// `column` are the indices of i and j in the call, or null.
  void use(TileParameters &parameters, ValueRange point, Value row = {}, Value column = {}) const;
  /// Adds the stage that adds these sums to the sums of the parameters.
  void finish();

private:
  bool ownsGradient(Value capture, const PartialSums &sums) const;
  bool isOfPairs(Value capture);

  PlanContext &context;
  SmallVector<Value> captures;
  std::string name;
  const TokenReads *reads;
  Operation *op;
  pe::DifferenceRange range;
  llvm::MapVector<Value, PartialSums> partial;
};

/// Returns true if the derivative of the scalar code may be infinite or NaN, like the derivative of
/// log at 0. Its product with a cotangent of 0 is then not 0.
bool mayBeSteep(Block &region);

/// Returns the float64 sum of `element` over `extents` (size expressions, outermost first).
Value sumOver(Scalar &s, ArrayRef<StringRef> extents,
              llvm::function_ref<Value(Scalar &, ValueRange)> element);
/// Returns the float64 sum over `sums`, each [b, ...], and over the batch of the entry at `at`.
Value batchSum(Scalar &s, ArrayRef<Value> sums, ValueRange at);
/// Returns the name of a buffer of attention `number` that shares a term; `name` for the first.
std::string numbered(const std::string &name, size_t number);
/// Runs `body` if `value` (float64) is not zero: a masked or unused entry has no effect.
void ifNonZero(Scalar &s, Value value, llvm::function_ref<void(Scalar &)> body);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_TERMS_H
