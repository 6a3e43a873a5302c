//===- VectorTerm.cpp - functions of the query or the key alone ---===//
//
// One number per (batch, head, row) or (batch, head, column), built once per call; the
// adjoint is a row sum or a column sum.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class VectorTerm : public TermLowering {
public:
  VectorTerm(PlanContext &context, const pe::Term &term, std::string name)
      : TermLowering(context, term, std::move(name)), rows(term.cls == pe::TermClass::Row),
        axis(rows ? "r" : "c") {}

  LogicalResult prepare() override {
    FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(term.root);
    if (failed(derived))
      return failure();
    vjp.emplace(*derived);
    vector = context.kept(name + "_vector", {"b", "hq", axis});
    TileBuilder t = beginStage(context.plan, name + "_prepare", Phase::Prepare, {"b", "hq"});
    t.foreach ({axis}, [&](Scalar &s, ValueRange at) {
      TileParameters params = parameters();
      IRMapping mapping;
      mapPosition(s, mapping, at);
      Value value = vjp->emitPrimal(s, mapping, params);
      writeElement(s, s.mul(value, s.number(kLog2E)), vector, at);
    });
    return success();
  }

  Value emit(TileBuilder &t) override {
    Value value = t.load(vector, rows ? Spaces::R : Spaces::C);
    return t.map({value}, Spaces::RC, [](Scalar &, ValueRange in) { return in[0]; });
  }

  void emitGradient(TileBuilder &t, Value cotangent) override {
    if (!vjp->isActive())
      return;
    sums = context.temporary(name + "_sums", {"b", "hq", axis}, {}, /*zero=*/true);
    sums.getDefiningOp()->moveBefore(vector.getDefiningOp());
    t.eachPair({cotangent}, [&](Scalar &s, ValueRange in) {
      Value place = s.sub(rows ? in[3] : in[4], s.size(rows ? "q_start" : "k_start"));
      accumulateElement(s, in[0], sums, {in[1], in[2], place});
    });
  }

  void finish() override {
    if (!vjp->isActive())
      return;
    TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
    t.foreach ({"b", "hq", axis}, [&](Scalar &s, ValueRange at) {
      Value sum = s.create<arith::ExtFOp>(s.getF64Type(), readElement(s, sums, at));
      ifNonZero(s, sum, [&](Scalar &x) {
        TileParameters params = parameters();
        IRMapping mapping;
        mapPosition(x, mapping, at);
        params.compute = x.getF64Type();
        vjp->emitPrimal(x, mapping, params, x.getF64Type());
        vjp->emitAdjoint(x, mapping, sum, params);
      });
    });
  }

private:
  /// `at` is batch, head and the row or column within this call.
  void mapPosition(Scalar &s, IRMapping &mapping, ValueRange at) {
    Value position = s.add(at[2], s.size(rows ? "q_start" : "k_start"));
    Value zero = s.index(0);
    pe::mapPoint(mapping, region(), {at[0], at[1], rows ? position : zero, rows ? zero : position});
  }

  bool rows;
  StringRef axis;
  std::optional<pe::ScalarVjp> vjp;
  Value vector, sums;
};

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createVectorTerm(PlanContext &context,
                                                           const pe::Term &term, std::string name) {
  return std::make_unique<VectorTerm>(context, term, std::move(name));
}
