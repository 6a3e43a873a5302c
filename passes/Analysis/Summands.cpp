//===- Summands.cpp - biases as sums, coordinates as ratios ---------------===//

#include "passes/Analysis/Summands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "passes/Analysis/Slice.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/raw_ostream.h"

#define DEBUG_TYPE "pe-summands"

namespace mlir::pe {
namespace {

/// Limits the number of summands, which can be exponential in a sum with shared subexpressions.
constexpr size_t kMaxSummands = 64;

/// Splits a sum into summands, outermost operation first.
class SumSplitter {
public:
  explicit SumSplitter(const RegionDependence &dependence) : dependence(dependence) {}

  SmallVector<Summand> run(Value sum);

private:
  bool isFree(Value value) const { return dependence.of(value).isScalar(); }
  bool splitProduct(Value a, Value b, const Summand &around);
  bool splitQuotient(Value a, Value b, const Summand &around);
  bool expand(Value value, const Summand &around);
  void push(Value value, Summand around, bool flip = false);
  void addLeaf(Value value, Summand summand);
  void classify(Summand &summand);
  bool matchSegments(Summand &summand, bool headOnly);
  std::string describeMeeting(Value root) const;
  void resolveAffine(Summand summand);

  const RegionDependence &dependence;
  SmallVector<std::pair<Value, Summand>> worklist;
  SmallVector<Summand> affine, done;
};

void SumSplitter::push(Value value, Summand around, bool flip) {
  around.negative ^= flip;
  worklist.push_back({value, std::move(around)});
}

/// Splits a * b inside the factors `around`, if one side is independent of i and j.
bool SumSplitter::splitProduct(Value a, Value b, const Summand &around) {
  if (!isFree(a))
    std::swap(a, b);
  if (!isFree(a))
    return false;
  Summand inner = around;
  inner.factors.push_back(a);
  push(b, inner);
  return true;
}

bool SumSplitter::splitQuotient(Value a, Value b, const Summand &around) {
  if (!isFree(b))
    return false;
  Summand inner = around;
  inner.divisors.push_back(b);
  push(a, inner);
  return true;
}

/// Replaces `value` by its summands or by its unscaled factor. Returns false if it is a leaf.
bool SumSplitter::expand(Value value, const Summand &around) {
  Operation *op = value.getDefiningOp();
  if (!op || done.size() + affine.size() + worklist.size() >= kMaxSummands)
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
  Summand inner = around;
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

/// Determines the class of sign * factors * core.
void SumSplitter::classify(Summand &summand) {
  Dependence all = summand.form ? Dependence(*summand.form) : dependence.of(summand.root);
  bool headOnly = true;
  for (Value value : llvm::concat<Value>(summand.factors, summand.divisors)) {
    all.join(dependence.of(value));
    headOnly &= dependence.of(value).isWithin(Dependence::Head);
  }
  summand.isScalar = all.isScalar();
  summand.dependsOnBatch = all.has(Dependence::Batch);
  auto is = [&](TermClass cls, StringRef reason) {
    summand.cls = cls;
    summand.reason = reason.str();
    LDBG() << summand.root.getLoc() << ": class " << stringifyTermClass(cls) << ", " << reason;
  };
  constexpr unsigned both = Dependence::Batch | Dependence::Head;
  if (summand.isScalar)
    return is(TermClass::Row, "is one value per head");
  if (all.isWithin(both | Dependence::Query))
    return is(TermClass::Row, "depends only on the query position");
  if (all.isWithin(both | Dependence::Key))
    return is(TermClass::Column, "depends only on the key position");
  if (summand.form)
    return is(TermClass::Affine, "is proportional to i - j");
  if (all.isWithin(Dependence::Head | Dependence::Difference))
    return is(TermClass::Distance, "depends on i and j only through i - j");
  if (!matchSegments(summand, headOnly))
    is(TermClass::General, describeMeeting(summand.place));
}

/// Matches a function of a coordinate u(h, i - j) * r(h, i) or u / r: the class is segments if its
/// pieces can be found. Otherwise sets the reason to a description of the function.
bool SumSplitter::matchSegments(Summand &summand, bool headOnly) {
  auto op = summand.root.getDefiningOp<PiecewiseOpInterface>();
  if (!op || !headOnly)
    return false;
  std::optional<Ratio> ratio = splitRatio(op.getCoordinate(), dependence);
  if (!ratio)
    return false;
  const std::optional<int64_t> degree = op.getDegree();
  if (!degree) {
    summand.cls = TermClass::General;
    summand.reason = "has kinks of u(i - j) and r(i) at zeros of a smooth function";
    return true;
  }
  summand.cls = TermClass::Segments;
  summand.reason = *degree == 0   ? "is piecewise constant in "
                   : *degree == 1 ? "is piecewise linear in "
                                  : "is approximated by cubic pieces in ";
  summand.reason += ratio->rowNumerators.empty() ? "u(i - j) / r(i)" : "u(i - j) * r(i)";
  return true;
}

/// Describes the operation that combines i and j other than as i - j, which is the reason for the
/// class general.
std::string SumSplitter::describeMeeting(Value root) const {
  auto mixes = [&](Value value) {
    const Dependence &d = dependence.of(value);
    return d.has(Dependence::Query) + d.has(Dependence::Key) + d.has(Dependence::Difference) > 1;
  };
  for (Operation *op : collectSlice(root)) {
    if (!llvm::any_of(op->getResults(), mixes))
      continue;
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "combines ";
    llvm::interleave(
        op->getOperands(), stream,
        [&](Value v) { stream << "(" << dependence.of(v).describe() << ")"; }, " and ");
    stream << " in " << op->getName();
    return text;
  }
  return "depends on " + dependence.of(root).describe() + " together";
}

void SumSplitter::addLeaf(Value value, Summand summand) {
  auto isZero = [](Value v) { return matchPattern(v, m_AnyZeroFloat()); };
  if (isZero(value) || llvm::any_of(summand.factors, isZero))
    return;
  summand.root = value;
  if (!summand.place)
    summand.place = value;
  summand.form = dependence.of(value).affine();
  if (!summand.form || summand.form->isConstant()) {
    summand.form.reset();
    classify(summand);
    done.push_back(summand);
    return;
  }
  if (summand.negative)
    summand.form = AffineForm{-summand.form->query, -summand.form->key, -summand.form->constant};
  summand.negative = false;
  for (Summand &other : affine)
    if (other.factors == summand.factors && other.divisors == summand.divisors) {
      other.form =
          AffineForm{other.form->query + summand.form->query, other.form->key + summand.form->key,
                     other.form->constant + summand.form->constant};
      return;
    }
  affine.push_back(summand);
}

/// Splits an affine form into a multiple of i - j, or a row plus a column; the constant is a row.
void SumSplitter::resolveAffine(Summand summand) {
  auto add = [&](AffineForm form) {
    summand.form = form;
    classify(summand);
    done.push_back(summand);
  };
  AffineForm form = *summand.form;
  if (form.isDifference())
    add({form.query, form.key, 0});
  else if (form.query != 0)
    add({form.query, 0, 0});
  if (!form.isDifference() && form.key != 0)
    add({0, form.key, 0});
  if (form.constant != 0)
    add({0, 0, form.constant});
}

SmallVector<Summand> SumSplitter::run(Value sum) {
  push(sum, Summand());
  while (!worklist.empty()) {
    auto [value, around] = worklist.pop_back_val();
    // Affine values and values independent of i and j are leaves: splitting them saves nothing.
    const Dependence &d = dependence.of(value);
    bool isLeaf = d.isScalar() || d.affine();
    if (isLeaf || !expand(value, around))
      addLeaf(value, around);
  }
  for (Summand &summand : affine)
    resolveAffine(summand);
  return std::move(done);
}

} // namespace

SmallVector<Summand> splitSum(Value sum, const RegionDependence &dependence) {
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
