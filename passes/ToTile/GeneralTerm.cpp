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

/// Returns true if the extents of the gradient are those of the sums and no other op adds to it.
bool CaptureSums::ownsGradient(Value capture, const PartialSums &sums) const {
  const Parameter &parameter = context.parameters[capture];
  const SmallVector<StringRef> extents = parameter.extents();
  if (sums.shared.count() != 2 || extents[0] != "b" || extents[1] != "hq" || parameter.absent ||
      !capture.hasOneUse() || !capture.getUsers().begin()->hasOneUse())
    return false;
  return llvm::none_of(context.parameters,
                       [&](auto &other) { return other.second.absent == capture; });
}

/// Returns true if no two pairs of a head add to the same element. If that depends on the lengths
/// of axes, the plan requires them for GPUs; for others, it returns false.
bool CaptureSums::isOfPairs(Value capture) {
  const auto lengths = reads->lengthsOfPairs(capture, op, range);
  if (!lengths || (!lengths->empty() && !context.ownElements))
    return false;
  const Parameter &parameter = context.parameters[capture];
  TileBuilder &t = context.plan;
  auto require = [&](StringRef size, StringRef least, const Twine &what) {
    t.create<RequireOp>(t.getStringAttr(size), t.getStringAttr(least), t.getStringAttr(what));
  };
  const std::string why =
      " tensor '" + parameter.name + "', as its gradient per pair on GPUs requires";
  for (const pe::AxisLength &length : *lengths) {
    require(parameter.extents()[length.axis], length.least,
            "elements along axis " + Twine(length.axis) + " of" + why);
    if (length.index != pe::AxisLength::Distance) {
      const bool isQuery = length.index == pe::AxisLength::Query;
      require(isQuery ? "q_start" : "k_start", "0",
              "position of the first " + Twine(isQuery ? "query" : "key") + ", an index into" +
                  why);
    }
  }
  return true;
}

void CaptureSums::create() {
  for (Value capture : context.sourcesOf(captures)) {
    Parameter &parameter = context.parameters[capture];
    if (!parameter.gradientSums)
      continue;
    PartialSums &sums = partial[parameter.buffer];
    if (reads) {
      sums.shared = reads->axesOfPair(capture);
      sums.ofPairs = op && isOfPairs(capture);
    }
    if (ownsGradient(capture, sums)) {
      parameter.gradientSums.getDefiningOp()->erase();
      parameter.gradientSums = {};
      sums.buffer = parameter.gradient;
      sums.buffer.getDefiningOp<BufferOp>().setZero(true);
      continue;
    }
    SmallVector<StringRef> extents = {"b", "hq"};
    sums.appendRest(extents, parameter.extents());
    sums.buffer = context.temporary(name + "_" + parameter.name, extents, {}, /*zero=*/true);
    sums.buffer.getDefiningOp()->moveAfter(parameter.gradientSums.getDefiningOp());
  }
}

void CaptureSums::use(TileParameters &parameters, ValueRange point, Value row, Value column) const {
  parameters.partial = partial;
  parameters.batch = point[0];
  parameters.head = point[1];
  parameters.known = {point[2], row, point[3], column};
}

void CaptureSums::finish() {
  auto isLeft = [&](Value capture) { return bool(context.parameters[capture].gradientSums); };
  if (llvm::none_of(context.sourcesOf(captures), isLeft))
    return;
  TileBuilder t = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  for (Value capture : context.sourcesOf(captures)) {
    if (!isLeft(capture))
      continue;
    Parameter &parameter = context.parameters[capture];
    const PartialSums &sums = partial.find(parameter.buffer)->second;
    // The batch and head at a shared axis are those of the element; it sums over the others.
    const SmallVector<StringRef> extents = parameter.extents();
    const std::array<StringRef, 2> pair = {"b", "hq"};
    std::array<int64_t, 2> axes = {-1, -1};
    for (unsigned axis : sums.shared.set_bits())
      axes[extents[axis] == "hq"] = axis;
    SmallVector<StringRef> summed;
    for (unsigned i : {0, 1})
      if (axes[i] < 0)
        summed.push_back(pair[i]);
    t.foreach (extents, [&](Scalar &s, ValueRange at) {
      Value sum = sumOver(s, summed, [&](Scalar &x, ValueRange in) {
        SmallVector<Value> indices;
        for (int64_t axis : axes) {
          indices.push_back(axis < 0 ? in.front() : at[axis]);
          in = in.drop_front(axis < 0);
        }
        sums.appendRest(indices, at);
        return readElement(x, sums.buffer, indices);
      });
      accumulateElement(s, sum, parameter.gradientSums, at);
    });
  }
}

namespace {

class GeneralTerm : public TermLowering {
public:
  GeneralTerm(PlanContext &context, pe::TermOp term, std::string name, pe::DifferenceRange range)
      : TermLowering(context, term, std::move(name)),
        part(term.getTermClass() == pe::TermClass::General ? pe::TermPart::Pair
                                                           : pe::TermPart::Distance) {
    if (part == pe::TermPart::Pair)
      reads.emplace(context, term.getPart(part), 0, term.getCaptures(), this->name);
    sums.emplace(context, reads ? ValueRange(reads->others()) : term.getCaptures(), this->name,
                 reads ? &*reads : nullptr, term, range);
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
      sums->use(params, at, at[4], at[5]);
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
                                                            std::string name,
                                                            pe::DifferenceRange range) {
  return std::make_unique<GeneralTerm>(context, term, std::move(name), range);
}
