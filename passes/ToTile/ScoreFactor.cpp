//===- ScoreFactor.cpp - a score factor folded into the queries -----------===//
//
// A score function that multiplies s by a value a of the query (`per_query`) becomes a prologue of
// the queries: q'_i = a_i q_i. With dq' the gradient of the new rows,
//
//   dq_i = a_i dq'_i        da_i = <q_i, dq'_i>
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Prologue.h"
#include "passes/ToTile/QueryNumbers.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class ScoreFactor : public Prologue {
public:
  ScoreFactor(PlanContext &context, pe::ScoreFnOp op, const std::string &name)
      : Prologue(context, name),
        factor(context, op.getBody().front(), op.getCaptures(), /*isScore=*/true, name) {}

  bool changes(Side side) const override { return side.isQueries; }
  LogicalResult prepare() override { return factor.prepare(); }
  void emit(Side, Value from, Value to) override {
    factor.multiply(name + "_queries", Phase::Prepare, "d", from, to);
  }
  void emitBack(Side, Value rows, Value from, Value to) override {
    factor.multiply(name + "_back_queries", Phase::Finish, "d", from, to);
    factor.finish("d", rows, from);
  }
  void finish() override {}

private:
  QueryNumbers factor;
};

} // namespace

std::unique_ptr<Prologue> mlir::tile::createScoreFactor(PlanContext &context, pe::ScoreFnOp op,
                                                        std::string name) {
  return std::make_unique<ScoreFactor>(context, op, name);
}
