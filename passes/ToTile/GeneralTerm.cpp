//===- GeneralTerm.cpp - bias terms evaluated per pair --------------------===//
//
// A term without a cheaper class is evaluated for every pair inside the kernel and differentiated
// there in reverse mode. Every (batch, head) has its own sums, which a finish stage adds in
// float64. Data of tokens is summed over rows and columns instead (TokenReads.h).
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Terms.h"
#include "passes/ToTile/TokenReads.h"
#include "passes/Transforms/ScalarVjp.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

bool mlir::tile::mayBeSteep(Block &region) {
  return region
      .walk([](Operation *op) {
        return isa<arith::DivFOp, math::LogOp, math::Log2Op, math::Log10Op, math::Log1pOp,
                   math::PowFOp, math::SqrtOp, math::RsqrtOp, math::TanOp, math::AtanhOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void CaptureSums::create() {
  for (Value capture : context.sourcesOf(captures)) {
    Parameter &parameter = context.parameters[capture];
    if (!parameter.gradientSums)
      continue;
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
  if (partial.empty())
    return;
  TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  for (Value capture : context.sourcesOf(captures)) {
    Parameter &parameter = context.parameters[capture];
    if (!parameter.gradientSums)
      continue;
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
                                                           : pe::TermPart::Distance) {
    if (part == pe::TermPart::Pair)
      reads.emplace(context, term.getPart(part), 0, term.getCaptures(), this->name);
    sums.emplace(context, reads ? ValueRange(reads->others()) : term.getCaptures(), this->name);
  }

  LogicalResult prepare() override {
    FailureOr<pe::ScalarVjp> derived =
        pe::ScalarVjp::create(term.getPartValue(part), reads ? reads->values() : ArrayRef<Value>());
    FailureOr<pe::ScalarVjp> whole = pe::ScalarVjp::create(term.getPartValue(part));
    if (failed(derived) || failed(whole))
      return failure();
    vjp.emplace(*derived);
    isActive = whole->isActive();
    return success();
  }

  Value emit(TileBuilder &t) override {
    return t.map(t.pairPoint(), {"r", "c"}, [&](Scalar &s, ValueRange at) {
      TileParameters params = parameters(part);
      IRMapping mapping;
      return s.mul(emitPrimal(s, mapping, params, at), s.number(kLog2E));
    });
  }

  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override {
    if (!isActive)
      return {};
    sums->create();
    if (reads)
      reads->create();
    TileParameters params = parameters(part);
    SmallVector<Value> inputs = t.pairPoint();
    llvm::append_range(inputs, ValueRange{t.index("r"), t.index("c"), cotangent});
    t.eachPair(inputs, [&](Scalar &s, ValueRange at) {
      sums->use(params, at[0], at[1]);
      IRMapping mapping;
      Value bias = emitPrimal(s, mapping, params, at.take_front(4));
      if (mayBeSteep(term.getPart(part))) // the derivative may be infinite where the bias is -inf
        params.isMasked = s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, bias,
                                                  s.number(-INFINITY, bias.getType()));
      SmallVector<Value> adjoints = vjp->emitAdjoint(s, mapping, at.back(), params);
      for (Value &adjoint : adjoints)
        if (params.isMasked)
          adjoint = s.select(params.isMasked, s.number(0.0, adjoint.getType()), adjoint);
      if (reads)
        reads->accumulate(s, at[0], at[1], at[4], at[5], adjoints);
    });
    return {};
  }

  void finish() override {
    if (!isActive)
      return;
    sums->finish();
    if (reads)
      reads->finish();
  }

private:
  /// Emits the value at `at`: batch, head, query position and key position. Reads with separate
  /// sums come first, so that they count as inputs.
  Value emitPrimal(Scalar &s, IRMapping &mapping, TileParameters &params, ValueRange at) {
    if (part == pe::TermPart::Pair)
      mapPart(mapping, part, at[0], at[1], at.drop_front(2));
    else
      mapPart(mapping, part, at[0], at[1], s.sub(at[2], at[3]));
    if (reads)
      for (Value value : reads->values())
        pe::emitScalar(value, mapping, s, params);
    return vjp->emitPrimal(s, mapping, params);
  }

  pe::TermPart part;
  std::optional<TokenReads> reads; // set for a function of the pair
  std::optional<pe::ScalarVjp> vjp;
  std::optional<CaptureSums> sums;
  bool isActive = false;
};

} // namespace

std::unique_ptr<TermLowering> mlir::tile::createGeneralTerm(PlanContext &context, pe::TermOp term,
                                                            std::string name) {
  return std::make_unique<GeneralTerm>(context, term, std::move(name));
}
