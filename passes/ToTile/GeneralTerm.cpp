//===- GeneralTerm.cpp - the bias's own code per score ---===//
//
// A term of no cheaper class is evaluated for every pair inside the
// kernel, and differentiated there in reverse mode; every (batch,
// head) has its own sums, added in float64 by a finish stage.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

bool mlir::tile::mayBeSteep(Block &region) {
  return llvm::any_of(region, [](Operation &op) {
    return isa<arith::DivFOp, math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp, math::PowFOp,
               math::SqrtOp, math::RsqrtOp, math::TanOp, math::AtanhOp>(op);
  });
}

void CaptureSums::create() {
  for (Value capture : captures) {
    Parameter &parameter = context.parameters[capture];
    SmallVector<StringRef> extents = {"b", "hq"};
    llvm::append_range(extents, parameter.extents());
    Value sums = context.temporary(name + "_" + parameter.name, extents, {}, /*zero=*/true);
    sums.getDefiningOp()->moveAfter(parameter.gradientSums.getDefiningOp());
    partial[parameter.buffer] = sums;
  }
}

void CaptureSums::use(TileParameters &parameters, Value batch, Value head) const {
  parameters.partial = partial;
  parameters.batch = batch;
  parameters.head = head;
}

void CaptureSums::finish() {
  TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  for (Value capture : captures) {
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

namespace {

class GeneralTerm : public TermLowering {
public:
  GeneralTerm(PlanContext &context, pe::TermOp term, std::string name)
      : TermLowering(context, term, std::move(name)),
        part(term.getTermClass() == pe::TermClass::General ? pe::TermPart::Pair
                                                           : pe::TermPart::Distance),
        sums(context, term.getCaptures(), this->name) {}

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

  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override {
    if (!vjp->isActive())
      return {};
    sums.create();
    TileParameters params = parameters(part);
    SmallVector<Value> inputs = t.pairPoint();
    inputs.push_back(cotangent);
    t.eachPair(inputs, [&](Scalar &s, ValueRange at) {
      sums.use(params, at[0], at[1]);
      IRMapping mapping;
      mapPair(s, mapping, at.take_front(4));
      Value bias = vjp->emitPrimal(s, mapping, params);
      if (mayBeSteep(term.getPart(part))) // perhaps where the bias is minus infinity
        params.isMasked = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, bias,
                                                  s.number(-INFINITY, bias.getType()));
      vjp->emitAdjoint(s, mapping, at.back(), params);
    });
    return {};
  }

  void finish() override {
    if (vjp->isActive())
      sums.finish();
  }

private:
  /// `at` is batch, head, query position and key position.
  void mapPair(Scalar &s, IRMapping &mapping, ValueRange at) {
    if (part == pe::TermPart::Pair)
      return mapPart(mapping, part, at[0], at[1], at.drop_front(2));
    mapPart(mapping, part, at[0], at[1], s.sub(at[2], at[3]));
  }

  pe::TermPart part;
  std::optional<pe::ScalarVjp> vjp;
  CaptureSums sums;
};

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createGeneralTerm(PlanContext &context, pe::TermOp term,
                                                            std::string name) {
  return std::make_unique<GeneralTerm>(context, term, std::move(name));
}
