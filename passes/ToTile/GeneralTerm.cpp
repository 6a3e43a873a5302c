//===- GeneralTerm.cpp - the bias's own code per score ---===//
//
// What fits no cheaper class is evaluated for every pair inside the kernel, and
// differentiated there in reverse mode; every (batch, head) has its own sums, added up
// in float64 by a finish stage.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class GeneralTerm : public TermLowering {
public:
  GeneralTerm(PlanContext &context, pe::TermOp term, std::string name)
      : TermLowering(context, term, std::move(name)),
        part(term.getTermClass() == pe::TermClass::General ? pe::TermPart::Pair
                                                           : pe::TermPart::Distance) {}

  LogicalResult prepare() override {
    FailureOr<pe::ScalarVjp> derived = pe::ScalarVjp::create(term.getPartValue(part));
    if (failed(derived))
      return failure();
    vjp.emplace(*derived);
    return success();
  }

  Value emit(TileBuilder &t) override {
    return t.map(t.pairPoint(), {"r", "c"}, [&](Scalar &s, ValueRange at) {
      TileParameters params = parameters(part);
      IRMapping mapping;
      mapPair(s, mapping, at);
      return s.mul(vjp->emitPrimal(s, mapping, params), s.number(kLog2E));
    });
  }

  void emitGradient(TileBuilder &t, Value cotangent) override {
    if (!vjp->isActive())
      return;
    TileParameters params = parameters(part);
    for (Value capture : term.getCaptures()) {
      Parameter &parameter = context.parameters[capture];
      SmallVector<StringRef> extents = {"b", "hq"};
      llvm::append_range(extents, parameter.extents());
      Value sums = context.temporary(name + "_" + parameter.name, extents, {}, /*zero=*/true);
      sums.getDefiningOp()->moveAfter(parameter.gradientSums.getDefiningOp());
      partial[parameter.buffer] = sums;
    }
    params.partial = partial;
    SmallVector<Value> inputs = t.pairPoint();
    inputs.push_back(cotangent);
    t.eachPair(inputs, [&](Scalar &s, ValueRange at) {
      params.batch = at[0];
      params.head = at[1];
      IRMapping mapping;
      mapPair(s, mapping, at.take_front(4));
      Value bias = vjp->emitPrimal(s, mapping, params);
      if (mayHaveSteepMask())
        params.isMasked = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, bias,
                                                  s.number(-INFINITY, bias.getType()));
      vjp->emitAdjoint(s, mapping, at.back(), params);
    });
  }

  void finish() override {
    if (!vjp->isActive())
      return;
    TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
    for (Value capture : term.getCaptures()) {
      Parameter &parameter = context.parameters[capture];
      Value sums = partial.lookup(parameter.buffer);
      t.foreach (parameter.extents(), [&](Scalar &s, ValueRange at) {
        Value sum = sumOver(s, {"b", "hq"}, [&](Scalar &x, ValueRange pair) {
          SmallVector<Value> indices(pair);
          indices.append(at.begin(), at.end());
          return readElement(x, sums, indices);
        });
        accumulateElement(s, sum, parameter.gradientSums, at);
      });
    }
  }

private:
  /// `at` is batch, head, query position and key position.
  void mapPair(Scalar &s, IRMapping &mapping, ValueRange at) {
    if (part == pe::TermPart::Pair)
      return mapPart(mapping, part, at[0], at[1], at.drop_front(2));
    mapPart(mapping, part, at[0], at[1], s.sub(at[2], at[3]));
  }

  /// Whether the bias may be minus infinity where a derivative is infinite or NaN, such as log(0):
  /// then the pair's cotangent, which is 0, does not make the parameters' gradients 0.
  bool mayHaveSteepMask() {
    return llvm::any_of(term.getPart(part), [](Operation &op) {
      return isa<arith::DivFOp, math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp,
                 math::PowFOp, math::SqrtOp, math::RsqrtOp, math::TanOp, math::AtanhOp>(op);
    });
  }

  pe::TermPart part;
  std::optional<pe::ScalarVjp> vjp;
  llvm::MapVector<Value, Value> partial;
};

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createGeneralTerm(PlanContext &context, pe::TermOp term,
                                                            std::string name) {
  return std::make_unique<GeneralTerm>(context, term, std::move(name));
}
