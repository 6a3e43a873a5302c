//===- Parts.cpp - A bias as a sum of parts, a coordinate as a ratio ------===//

#include "passes/Analysis/Parts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace mlir::pe {
namespace {

/// A sum written with shared subexpressions can have exponentially many summands.
constexpr size_t kMaxParts = 64;

/// Takes a sum apart, outermost operation first.
class SumSplitter {
public:
  explicit SumSplitter(const RegionDependence &dependence) : dependence(dependence) {}

  SmallVector<Part> run(Value sum);

private:
  bool isFree(Value value) const { return dependence.of(value).isScalar(); }
  bool splitProduct(Value a, Value b, const Part &around);
  bool splitQuotient(Value a, Value b, const Part &around);
  bool expand(Value value, const Part &around);
  void push(Value value, Part around, bool flip = false);
  void addLeaf(Value value, Part part);
  void classify(Part &part);
  void resolveAffine(Part part);

  const RegionDependence &dependence;
  SmallVector<std::pair<Value, Part>> worklist;
  SmallVector<Part> affine, parts;
};

void SumSplitter::push(Value value, Part around, bool flip) {
  around.negative ^= flip;
  worklist.push_back({value, std::move(around)});
}

/// a * b around which `around` stands, when one side is free of i and j.
bool SumSplitter::splitProduct(Value a, Value b, const Part &around) {
  if (!isFree(a))
    std::swap(a, b);
  if (!isFree(a))
    return false;
  Part inner = around;
  inner.factors.push_back(a);
  push(b, inner);
  return true;
}

bool SumSplitter::splitQuotient(Value a, Value b, const Part &around) {
  if (!isFree(b))
    return false;
  Part inner = around;
  inner.divisors.push_back(b);
  push(a, inner);
  return true;
}

/// Replaces `value` by its summands or by what it scales; false if it is a leaf.
bool SumSplitter::expand(Value value, const Part &around) {
  Operation *op = value.getDefiningOp();
  if (!op || parts.size() + affine.size() + worklist.size() >= kMaxParts)
    return false;
  // Last in, first out: the left summand comes first.
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    push(op->getOperand(1), around, isa<arith::SubFOp>(op));
    push(op->getOperand(0), around);
    return true;
  }
  if (isa<arith::NegFOp>(op)) {
    push(op->getOperand(0), around, true);
    return true;
  }
  Part inner = around;
  if (!inner.place)
    inner.place = value;
  if (isa<arith::MulFOp>(op))
    return splitProduct(op->getOperand(0), op->getOperand(1), inner);
  if (isa<arith::DivFOp>(op))
    return splitQuotient(op->getOperand(0), op->getOperand(1), inner);
  if (isa<math::FmaOp>(op) && (isFree(op->getOperand(0)) || isFree(op->getOperand(1)))) {
    push(op->getOperand(2), around);
    return splitProduct(op->getOperand(0), op->getOperand(1), inner);
  }
  return false;
}

/// The class of sign * factors * core.
void SumSplitter::classify(Part &part) {
  Dependence all = part.form ? Dependence(*part.form) : dependence.of(part.root);
  bool headOnly = true;
  for (Value value : llvm::concat<Value>(part.factors, part.divisors)) {
    all.join(dependence.of(value));
    headOnly &= dependence.of(value).isWithin(Dependence::Head);
  }
  part.isScalar = all.isScalar();
  part.dependsOnBatch = all.has(Dependence::Batch);
  constexpr unsigned both = Dependence::Batch | Dependence::Head;
  if (all.isWithin(both | Dependence::Query))
    part.cls = TermClass::Row;
  else if (all.isWithin(both | Dependence::Key))
    part.cls = TermClass::Column;
  else if (part.form)
    part.cls = TermClass::Affine;
  else if (all.isWithin(Dependence::Head | Dependence::Difference))
    part.cls = TermClass::Distance;
  else if (auto op = part.root.getDefiningOp<PiecewiseOpInterface>();
           op && headOnly && isPiecewiseLinear(op) && splitRatio(op.getCoordinate(), dependence))
    part.cls = TermClass::Segments;
}

void SumSplitter::addLeaf(Value value, Part part) {
  auto isZero = [](Value v) { return matchPattern(v, m_AnyZeroFloat()); };
  if (isZero(value) || llvm::any_of(part.factors, isZero))
    return;
  part.root = value;
  if (!part.place)
    part.place = value;
  part.form = dependence.of(value).affine();
  if (!part.form || part.form->isConstant()) {
    part.form.reset();
    classify(part);
    parts.push_back(part);
    return;
  }
  if (part.negative)
    part.form = AffineForm{-part.form->query, -part.form->key, -part.form->constant};
  part.negative = false;
  for (Part &other : affine)
    if (other.factors == part.factors && other.divisors == part.divisors) {
      other.form =
          AffineForm{other.form->query + part.form->query, other.form->key + part.form->key,
                     other.form->constant + part.form->constant};
      return;
    }
  affine.push_back(part);
}

/// An affine form is a multiple of i - j, or a row plus a column; its constant is a row.
void SumSplitter::resolveAffine(Part part) {
  auto add = [&](AffineForm form) {
    part.form = form;
    classify(part);
    parts.push_back(part);
  };
  AffineForm form = *part.form;
  if (form.isDifference())
    add({form.query, form.key, 0});
  else if (form.query != 0)
    add({form.query, 0, 0});
  if (!form.isDifference() && form.key != 0)
    add({0, form.key, 0});
  if (form.constant != 0)
    add({0, 0, form.constant});
}

SmallVector<Part> SumSplitter::run(Value sum) {
  push(sum, Part());
  while (!worklist.empty()) {
    auto [value, around] = worklist.pop_back_val();
    // Affine values and values free of i and j are leaves: nothing below them is cheaper.
    const Dependence &d = dependence.of(value);
    bool isLeaf = d.isScalar() || d.affine();
    if (isLeaf || !expand(value, around))
      addLeaf(value, around);
  }
  for (Part &part : affine)
    resolveAffine(part);
  return std::move(parts);
}

} // namespace

SmallVector<Part> splitSum(Value sum, const RegionDependence &dependence) {
  return SumSplitter(dependence).run(sum);
}

std::optional<Ratio> splitRatio(Value coordinate, const RegionDependence &dependence) {
  Ratio ratio;
  SmallVector<std::pair<Value, bool>> worklist = {{coordinate, false}};
  while (!worklist.empty()) {
    auto [value, divides] = worklist.pop_back_val();
    const Dependence &d = dependence.of(value);
    if (d.isWithin(Dependence::Head | Dependence::Difference)) {
      (divides ? ratio.factorDivisors : ratio.factorNumerators).push_back(value);
      continue;
    }
    if (d.isWithin(Dependence::Head | Dependence::Query)) {
      (divides ? ratio.rowDivisors : ratio.rowNumerators).push_back(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp, arith::NegFOp>(op))
      return std::nullopt;
    ratio.negative ^= isa<arith::NegFOp>(op);
    if (op->getNumOperands() == 2)
      worklist.push_back({op->getOperand(1), divides ^ isa<arith::DivFOp>(op)});
    worklist.push_back({op->getOperand(0), divides});
  }
  return ratio;
}

} // namespace mlir::pe
