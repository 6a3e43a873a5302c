//===- ScoreFactor.cpp - a score factor folded into the queries -----------===//
//
// A score function that multiplies s by a value a of the query (passes/Analysis/ScoreFactor.h)
// becomes a prologue of the queries: q'_i = a_i q_i. With dq' the gradient of the new rows,
//
//   dq_i = a_i dq'_i        da_i = <q_i, dq'_i>
//
// so the factor and its reverse mode cost O(N), and the rows O(N D). Rows at negative positions
// attend to nothing; their factor is 0, regardless of the formula.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Prologue.h"
#include "passes/ToTile/Terms.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class ScoreFactor : public Prologue {
public:
  ScoreFactor(PlanContext &context, pe::ScoreFnOp op, std::string name)
      : Prologue(context, std::move(name)), op(op), region(op.getBody().front()) {}

  bool changes(Side side) const override { return side.isQueries; }

  LogicalResult prepare() override {
    FailureOr<pe::ScalarVjp> derived =
        pe::ScalarVjp::create(cast<pe::YieldOp>(region.getTerminator()).getValues()[0]);
    if (failed(derived))
      return failure();
    vjp.emplace(*derived);
    numbers = context.kept(name, {"b", "hq", "r"});
    TileBuilder t = beginStage(context.plan, name + "_numbers", Phase::Prepare, {"b", "hq"});
    t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
      TileParameters params = parameters();
      IRMapping mapping = mapRow(s, at);
      Value number = vjp->emitPrimal(s, mapping, params);
      writeElement(s, ifAttending(s, at, number), numbers, at);
    });
    return success();
  }

  void emit(Side, Value from, Value to) override {
    multiply(name + "_queries", Phase::Prepare, from, to);
  }

  void emitBack(Side, Value rows, Value from, Value to) override {
    multiply(name + "_back_queries", Phase::Finish, from, to);
    if (op.getCaptures().empty())
      return;
    Value cotangents = context.temporary("d_" + name, {"b", "hq", "r"});
    TileBuilder t = beginStage(context.plan, name + "_products", Phase::Finish, {"b", "hq"});
    t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
      Value sum = sumOver(s, {"d"}, [&](Scalar &inner, ValueRange d) {
        SmallVector<Value> place = {at[0], at[1], at[2], d[0]};
        return inner.mul(inner.widen(readElement(inner, rows, place)),
                         inner.widen(readElement(inner, from, place)));
      });
      writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), sum), cotangents, at);
    });
    TileBuilder sums = beginStage(context.plan, name + "_sums", Phase::Finish, {});
    sums.foreach ({"b", "hq", "r"}, [&](Scalar &s, ValueRange at) {
      TileParameters params = parameters();
      IRMapping mapping = mapRow(s, at);
      vjp->emitPrimal(s, mapping, params);
      vjp->emitAdjoint(s, mapping, ifAttending(s, at, readElement(s, cotangents, at)), params);
    });
  }
  void finish() override {}

private:
  TileParameters parameters() { return TileParameters(context, region, op.getCaptures()); }

  /// Maps the function at s = 1; `at` is batch, head and row. The function does not read the key.
  IRMapping mapRow(Scalar &s, ValueRange at) {
    Value position = s.add(at[2], s.size("q_start"));
    IRMapping mapping;
    const Value leading[] = {s.number(1.0), at[0], at[1], position, position};
    for (auto [number, value] : llvm::enumerate(leading))
      mapping.map(region.getArgument(number), value);
    return mapping;
  }
  Value ifAttending(Scalar &s, ValueRange at, Value value) {
    Value position = s.add(at[2], s.size("q_start"));
    Value attends = s.create<arith::CmpIOp>(arith::CmpIPredicate::sge, position, s.index(0));
    return s.select(attends, value, s.number(0.0));
  }
  void multiply(const Twine &stage, Phase phase, Value from, Value to) {
    TileBuilder t = beginStage(context.plan, stage.str(), phase, {"b", "hq"});
    t.foreach ({"r", "d"}, [&](Scalar &s, ValueRange at) {
      Value number = readElement(s, numbers, at.take_front(3));
      Value element = s.mul(number, s.widen(readElement(s, from, at)));
      writeElement(s, s.round(element, elementOf(to)), to, at);
    });
  }

  pe::ScoreFnOp op;
  Block &region;
  std::optional<pe::ScalarVjp> vjp;
  Value numbers; // the factor a per row
};

} // namespace

std::unique_ptr<Prologue> mlir::tile::createScoreFactor(PlanContext &context, pe::ScoreFnOp op,
                                                        std::string name) {
  return std::make_unique<ScoreFactor>(context, op, std::move(name));
}
