//===- DistanceTerm.cpp - functions of i - j as tables ---===//
//
// Any function of the distance, whatever its parameters, is one table per head: the
// kernel reads a contiguous window of it per key. Backward, sums along diagonals are
// chained to the parameters by reverse mode of the one-dimensional function, exactly.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class DistanceTerm : public TermLowering {
public:
  DistanceTerm(PlanContext &context, pe::TermOp term, std::string name, int64_t minDistance)
      : TermLowering(context, term, std::move(name)) {
    // Entry t holds distance t - (c - 1) + q_start - k_start; those that the mask never reaches are
    // skipped.
    first = "0";
    if (minDistance != pe::DifferenceRange::kUnboundedMin)
      first = "max(0, c - 1 - q_start + k_start" +
              (minDistance < 0 ? " - " + std::to_string(-minDistance)
                               : " + " + std::to_string(minDistance)) +
              ")";
    count = "max(0, r + c - 1 - " + first + ")";
  }

  LogicalResult prepare() override {
    FailureOr<pe::ScalarVjp> derived =
        pe::ScalarVjp::create(term.getPartValue(pe::TermPart::Distance));
    if (failed(derived))
      return failure();
    vjp.emplace(*derived);
    table = context.kept(name + "_table", {"hq", "t"});
    TileBuilder t = beginStage(context.plan, name + "_prepare", Phase::Prepare, {"hq"});
    t.foreach ({count}, [&](Scalar &s, ValueRange at) {
      Value entry = s.add(at[1], s.size(first));
      TileParameters params = parameters(pe::TermPart::Distance);
      IRMapping mapping;
      mapDistance(s, mapping, at[0], entry);
      Value value = vjp->emitPrimal(s, mapping, params);
      writeElement(s, s.mul(value, s.number(kLog2E)), table, {at[0], entry});
    });
    return success();
  }

  Value emit(TileBuilder &t) override { return t.create<WindowOp>(t.type({"r", "c"}), table); }

  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override {
    if (!vjp->isActive())
      return {};
    sums = context.temporary(name + "_diagonals", {"b", "hq", "t"}, {}, /*zero=*/true);
    sums.getDefiningOp()->moveBefore(table.getDefiningOp());
    t.create<WindowGradOp>(cotangent, sums);
    return {};
  }

  void finish() override {
    if (!vjp->isActive())
      return;
    TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
    t.foreach ({"hq", count}, [&](Scalar &s, ValueRange at) {
      Value entry = s.add(at[1], s.size(first));
      Value sum = sumOver(s, {"b"}, [&](Scalar &x, ValueRange batch) {
        return readElement(x, sums, {batch[0], at[0], entry});
      });
      ifNonZero(s, sum, [&](Scalar &x) {
        TileParameters params = parameters(pe::TermPart::Distance);
        IRMapping mapping;
        mapDistance(x, mapping, at[0], entry);
        params.compute = x.getF64Type();
        vjp->emitPrimal(x, mapping, params, x.getF64Type());
        vjp->emitAdjoint(x, mapping, sum, params);
      });
    });
  }

private:
  void mapDistance(Scalar &s, IRMapping &mapping, Value head, Value entry) {
    Value distance = s.sub(entry, s.size("c - 1 - q_start + k_start"));
    mapPart(mapping, pe::TermPart::Distance, s.index(0), head, distance);
  }

  std::optional<pe::ScalarVjp> vjp;
  std::string first, count;
  Value table, sums;
};

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createDistanceTerm(PlanContext &context, pe::TermOp term,
                                                             std::string name,
                                                             int64_t minDistance) {
  return std::make_unique<DistanceTerm>(context, term, std::move(name), minDistance);
}
