//===- Structure.cpp - The cheapest exact class of each bias term ---------===//

#include "passes/Analysis/Structure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/Analysis/Slice.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::pe {
namespace {

constexpr unsigned kRow = Dependence::Batch | Dependence::Head | Dependence::Query;
constexpr unsigned kColumn = Dependence::Batch | Dependence::Head | Dependence::Key;
constexpr unsigned kDistance = Dependence::Head | Dependence::Difference;
constexpr unsigned kRowFactor = Dependence::Head | Dependence::Query;

/// Recognises the classes in one region, cheapest first.
class Classifier {
public:
  Classifier(BiasFnOp bias, DifferenceRange range) : dependence(bias.getBody(), range) {
    term.bias = bias;
    term.root = cast<YieldOp>(bias.getBody().front().getTerminator()).getValues()[0];
  }

  Term run();

private:
  const Dependence &of(Value value) const { return dependence.of(value); }
  Term is(TermClass cls, StringRef reason);
  bool matchAffine();
  bool matchSegments();
  bool matchRatio(Value coordinate);
  std::string describeMeeting() const;

  RegionDependence dependence;
  Term term;
};

Term Classifier::is(TermClass cls, StringRef reason) {
  term.cls = cls;
  term.reason = reason.str();
  return term;
}

/// c * (i - j) with c free of i and j.
bool Classifier::matchAffine() {
  auto product = term.root.getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  for (auto [coefficient, position] : {std::pair(product.getLhs(), product.getRhs()),
                                       std::pair(product.getRhs(), product.getLhs())}) {
    const std::optional<AffineForm> &form = of(position).affine();
    if (!form || form->query != 1 || form->key != -1 || form->constant != 0 ||
        !of(coefficient).isScalar())
      continue;
    term.coefficient = coefficient;
    return true;
  }
  return false;
}

/// A coordinate u(h, i - j) * r(h, i) or u / r.
bool Classifier::matchRatio(Value coordinate) {
  Operation *op = coordinate.getDefiningOp();
  if (!op || !isa<arith::MulFOp, arith::DivFOp>(op))
    return false;
  Value u = op->getOperand(0), r = op->getOperand(1);
  term.divided = isa<arith::DivFOp>(op);
  if (!term.divided && !of(u).isWithin(kDistance))
    std::swap(u, r);
  if (!of(u).isWithin(kDistance) || !of(r).isWithin(kRowFactor))
    return false;
  term.factor = u;
  term.rowFactor = r;
  term.factorDependsOnHead = of(u).has(Dependence::Head);
  term.rowFactorDependsOnHead = of(r).has(Dependence::Head);
  return true;
}

bool Classifier::matchSegments() {
  Value value = term.root;
  if (auto product = value.getDefiningOp<arith::MulFOp>()) {
    bool left = of(product.getLhs()).isWithin(Dependence::Head);
    term.scale = left ? product.getLhs() : product.getRhs();
    value = left ? product.getRhs() : product.getLhs();
    if (!of(term.scale).isWithin(Dependence::Head))
      return false;
  }
  auto piecewise = value.getDefiningOp<PiecewiseOpInterface>();
  if (!piecewise || !of(piecewise.getHeadIndex()).isWithin(Dependence::Head))
    return false;
  term.piecewise = piecewise;
  return matchRatio(piecewise.getCoordinate()) && isPiecewiseLinear(piecewise);
}

/// Where i and j meet in another form than i - j, for the explanation of the class general.
std::string Classifier::describeMeeting() const {
  auto mixes = [&](Value value) {
    const Dependence &d = of(value);
    return d.has(Dependence::Query) + d.has(Dependence::Key) + d.has(Dependence::Difference) > 1;
  };
  for (Operation *op : collectSlice(term.root)) {
    if (!llvm::any_of(op->getResults(), mixes))
      continue;
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "combines ";
    llvm::interleave(
        op->getOperands(), stream, [&](Value v) { stream << "(" << of(v).describe() << ")"; },
        " and ");
    stream << " in " << op->getName();
    return text;
  }
  return "depends on " + of(term.root).describe() + " together";
}

Term Classifier::run() {
  const Dependence &d = of(term.root);
  if (matchPattern(term.root, m_AnyZeroFloat()))
    return is(TermClass::Zero, "is zero");
  if (d.isScalar())
    return is(TermClass::Row, "is one number per head");
  if (d.isWithin(kRow))
    return is(TermClass::Row, "depends on the query position alone");
  if (d.isWithin(kColumn))
    return is(TermClass::Column, "depends on the key position alone");
  if (matchAffine())
    return is(TermClass::Affine, "is proportional to i - j");
  if (d.isWithin(kDistance))
    return is(TermClass::Distance, "depends on i and j only through i - j");
  if (matchSegments())
    return is(TermClass::Segments, term.divided ? "is piecewise linear in u(i - j) / r(i)"
                                                : "is piecewise linear in u(i - j) * r(i)");
  std::string why = term.factor ? "is a smooth function of u(i - j) and r(i), not of segments"
                                : describeMeeting();
  Term general;
  general.bias = term.bias;
  general.root = term.root;
  term = general;
  return is(TermClass::General, why);
}

} // namespace

bool isPiecewiseLinear(PiecewiseOpInterface op) {
  auto mlp = dyn_cast<MlpEvalOp>(op.getOperation());
  if (!mlp || mlp.getFinalActivation() != Activation::Identity)
    return false;
  bool hasHidden = mlp.getLayers().size() > 2;
  return !hasHidden || mlp.getActivation() == Activation::Relu;
}

bool ignoresRowTerms(AttentionOp attention) {
  return attention.getNormalizer() == Normalizer::Softmax &&
         (!attention.getLse() || attention.getLse().use_empty());
}

Term analyzeTerm(BiasFnOp bias, DifferenceRange range) { return Classifier(bias, range).run(); }

/// Compiled code keeps the hidden values of an MLP in scratch of known size.
static LogicalResult checkHiddenWidths(BiasFnOp bias) {
  for (auto mlp : bias.getBody().getOps<MlpEvalOp>())
    for (size_t n = 0; n + 2 < mlp.getLayers().size(); ++n)
      if (auto type = cast<RankedTensorType>(mlp.getLayers()[n].getType()); !type.hasStaticShape())
        return mlp.emitOpError("expected hidden layers of static sizes, found ")
               << type << "; only the rows of the last layer, one per head, may be unknown";
  return success();
}

FailureOr<BiasStructure> analyzeStructure(AttentionOp attention) {
  BiasStructure structure;
  DifferenceRange range = attention.getMaskRange().value_or(DifferenceRange());
  for (Value value : attention.getBiases()) {
    auto bias = value.getDefiningOp<BiasFnOp>();
    if (!bias)
      return attention.emitOpError("expected every bias to be a pe.bias_fn, found ")
             << (value.getDefiningOp() ? value.getDefiningOp()->getName().getStringRef()
                                       : StringRef("a block argument"))
             << "; run pe-expand-biases before";
    if (failed(checkHiddenWidths(bias)))
      return failure();
    structure.terms.push_back(analyzeTerm(bias, range));
  }
  return structure;
}

} // namespace mlir::pe
