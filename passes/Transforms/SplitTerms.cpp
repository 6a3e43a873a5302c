//===- SplitTerms.cpp - One bias region per term --------------------------===//
//
// See Passes.td for an example. All biases of an attention are taken apart
// (passes/Analysis/Parts.h), the parts sorted by class, and each class written as one region;
// segments keep one region each.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEScalarBuilder.h"
#include "passes/Analysis/Parts.h"
#include "passes/Analysis/Slice.h"
#include "llvm/ADT/SetVector.h"
#include <map>

#define DEBUG_TYPE "pe-split-terms"

namespace mlir::pe {
#define GEN_PASS_DEF_PESPLITTERMSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// A part and the region it comes from.
struct SourcedPart {
  BiasFnOp source;
  Part part;
};

/// The parts that become one region.
struct TermGroup {
  TermClass cls;
  SmallVector<SourcedPart> parts;
};

/// Writes the region of one term.
class TermWriter {
public:
  TermWriter(OpBuilder &builder, const TermGroup &group);

  BiasFnOp write();

private:
  Value scaleOf(const Part &part, double factor);
  Value product(ArrayRef<Value> values);
  Value valueOf(const SourcedPart &sourced);
  Value coefficientOf(const Part &part) { return scaleOf(part, part.form->query); }
  void mapCoordinate(const SourcedPart &sourced);
  Value cloned(Value value) { return cloneSlice(value, *mapping, scalar); }
  Value multiplied(Value scale, Value value);
  void enter(BiasFnOp source);
  void dropUnusedCaptures();

  const TermGroup &group;
  BiasFnOp term;
  OpBuilder scalar; ///< inside the region
  PairPoint point;
  std::optional<ScalarBuilder> f;
  llvm::DenseMap<Operation *, IRMapping> mappings;
  IRMapping *mapping = nullptr;
};

TermWriter::TermWriter(OpBuilder &builder, const TermGroup &group)
    : group(group), scalar(builder.getContext()) {
  SmallVector<Value> captures;
  SmallVector<Location> places;
  for (const SourcedPart &sourced : group.parts) {
    places.push_back(sourced.part.place.getLoc());
    for (Value capture : BiasFnOp(sourced.source).getCaptures())
      if (!llvm::is_contained(captures, capture))
        captures.push_back(capture);
  }
  Location loc = builder.getFusedLoc(places);
  term = BiasFnOp::create(builder, loc, BiasType::get(builder.getContext()), captures);
  Block &block = term.getBody().emplaceBlock();
  block.addArguments(SmallVector<Type>(4, builder.getIndexType()), SmallVector<Location>(4, loc));
  for (Value capture : captures)
    block.addArgument(capture.getType(), capture.getLoc());
  scalar.setInsertionPointToEnd(&block);
  point = {block.getArgument(0), block.getArgument(1), block.getArgument(2), block.getArgument(3)};
  f.emplace(scalar, loc, point);
}

/// From here on values of `source` are copied.
void TermWriter::enter(BiasFnOp source) {
  mapping = &mappings[source];
  Block &from = source.getBody().front(), &to = term.getBody().front();
  for (unsigned n = 0; n < 4; ++n)
    mapping->map(from.getArgument(n), to.getArgument(n));
  for (auto [argument, capture] :
       llvm::zip_equal(from.getArguments().drop_front(4), source.getCaptures())) {
    auto place = llvm::find(term.getCaptures(), capture) - term.getCaptures().begin();
    mapping->map(argument, to.getArgument(4 + place));
  }
}

/// The product of the copies, or null for none.
Value TermWriter::product(ArrayRef<Value> values) {
  Value result;
  for (Value value : values)
    result = result ? f->mul(result, cloned(value)) : cloned(value);
  return result;
}

/// sign * factor * factors / divisors, or null for 1.
Value TermWriter::scaleOf(const Part &part, double factor) {
  Value scale = product(part.factors);
  if (part.negative)
    factor = -factor;
  if (factor != 1)
    scale = scale ? f->mul(scale, f->constant(factor)) : f->constant(factor);
  for (Value divisor : part.divisors)
    scale = f->div(scale ? scale : f->constant(1), cloned(divisor));
  return scale;
}

Value TermWriter::multiplied(Value scale, Value value) {
  return scale ? f->mul(scale, value) : value;
}

/// Writes the coordinate of a segments part as u / r or u * r, before its operation is copied.
void TermWriter::mapCoordinate(const SourcedPart &sourced) {
  auto op = sourced.part.root.getDefiningOp<PiecewiseOpInterface>();
  RegionDependence dependence(BiasFnOp(sourced.source).getBody());
  Ratio ratio = *splitRatio(op.getCoordinate(), dependence);
  Value u = product(ratio.factorNumerators);
  if (ratio.negative)
    u = u ? f->mul(f->constant(-1), u) : f->constant(-1);
  if (Value divisor = product(ratio.factorDivisors))
    u = f->div(u ? u : f->constant(1), divisor);
  Value above = product(ratio.rowNumerators), below = product(ratio.rowDivisors);
  if (above)
    mapping->map(op.getCoordinate(), f->mul(u, below ? f->div(above, below) : above));
  else
    mapping->map(op.getCoordinate(), f->div(u, below));
}

/// The value of a part that is not affine in the normal form's sense.
Value TermWriter::valueOf(const SourcedPart &sourced) {
  const Part &part = sourced.part;
  enter(sourced.source);
  if (part.form) {
    if (part.cls == TermClass::Affine) {
      Value coefficient = coefficientOf(part);
      Value relative = f->relative();
      return multiplied(coefficient, relative);
    }
    if (part.form->isConstant()) {
      Value scale = scaleOf(part, part.form->constant);
      return scale ? scale : f->constant(1);
    }
    bool isQuery = part.form->query != 0;
    Value scale = scaleOf(part, isQuery ? part.form->query : part.form->key);
    return multiplied(scale, f->toFloat(isQuery ? point.query : point.key));
  }
  if (part.cls == TermClass::Segments)
    mapCoordinate(sourced);
  Value scale = scaleOf(part, 1);
  return multiplied(scale, cloned(part.root));
}

BiasFnOp TermWriter::write() {
  Value sum;
  if (group.cls == TermClass::Affine) {
    // The coefficients are summed, so that one product with i - j is left.
    for (const SourcedPart &sourced : group.parts) {
      enter(sourced.source);
      Value coefficient = coefficientOf(sourced.part);
      if (!coefficient)
        coefficient = f->constant(1);
      sum = sum ? f->add(sum, coefficient) : coefficient;
    }
    sum = f->mul(sum, f->relative());
  } else {
    for (const SourcedPart &sourced : group.parts) {
      Value value = valueOf(sourced);
      sum = sum ? f->add(sum, value) : value;
    }
  }
  YieldOp::create(scalar, term.getLoc(), sum);
  dropUnusedCaptures();
  return term;
}

void TermWriter::dropUnusedCaptures() {
  Block &block = term.getBody().front();
  for (unsigned n = term.getCaptures().size(); n-- > 0;)
    if (block.getArgument(4 + n).use_empty()) {
      block.eraseArgument(4 + n);
      term->eraseOperand(n);
    }
}

//===----------------------------------------------------------------------===//
// Grouping
//===----------------------------------------------------------------------===//

/// The parts of all biases of one attention, by class; each segments part is its own group.
class TermGroups {
public:
  explicit TermGroups(AttentionOp attention)
      : attention(attention), range(attention.getMaskRange().value_or(DifferenceRange())) {}

  SmallVector<TermGroup> collect();
  /// The bias that is all of the group already, or null.
  BiasFnOp findWhole(const TermGroup &group);

private:
  void absorb(TermClass from, llvm::function_ref<bool(const Part &)> condition);

  AttentionOp attention;
  DifferenceRange range;
  std::map<TermClass, SmallVector<SourcedPart>> byClass;
  llvm::DenseMap<Operation *, size_t> partCounts;
};

/// Moves parts of a class for which `condition` holds into the distance term: a table holds them
/// at no cost.
void TermGroups::absorb(TermClass from, llvm::function_ref<bool(const Part &)> condition) {
  SmallVector<SourcedPart> rest;
  for (SourcedPart &sourced : byClass[from])
    (condition(sourced.part) ? byClass[TermClass::Distance] : rest).push_back(sourced);
  byClass[from] = rest;
}

SmallVector<TermGroup> TermGroups::collect() {
  for (Value value : attention.getBiases()) {
    auto source = value.getDefiningOp<BiasFnOp>();
    Value sum = cast<YieldOp>(source.getBody().front().getTerminator()).getValues()[0];
    RegionDependence dependence(source.getBody(), range);
    for (Part &part : splitSum(sum, dependence)) {
      ++partCounts[source];
      byClass[part.cls].push_back({source, std::move(part)});
    }
  }
  if (!byClass[TermClass::Distance].empty()) {
    absorb(TermClass::Affine, [](const Part &part) { return !part.dependsOnBatch; });
    // A row term that changes nothing is dropped later (pe-simplify-under-normalizer).
    if (!ignoresRowTerms(attention))
      absorb(TermClass::Row,
             [](const Part &part) { return part.isScalar && !part.dependsOnBatch; });
  }
  SmallVector<TermGroup> groups;
  for (auto &[cls, parts] : byClass) {
    if (parts.empty())
      continue;
    if (cls != TermClass::Segments) {
      groups.push_back({cls, parts});
      continue;
    }
    for (SourcedPart &sourced : parts)
      groups.push_back({cls, {sourced}});
  }
  return groups;
}

BiasFnOp TermGroups::findWhole(const TermGroup &group) {
  BiasFnOp source = group.parts.front().source;
  if (llvm::count(attention.getBiases(), source.getResult()) != 1)
    return {};
  bool isAll = group.parts.size() == partCounts.lookup(source) &&
               llvm::all_of(group.parts, [&](auto &sourced) { return sourced.source == source; });
  return isAll && analyzeTerm(source, range).cls == group.cls ? source : BiasFnOp();
}

struct SplitTermsPass : impl::PESplitTermsPassBase<SplitTermsPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](AttentionOp attention) {
      if (failed(analyzeStructure(attention)))
        return WalkResult::interrupt();
      split(attention);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

  void split(AttentionOp attention) {
    TermGroups grouping(attention);
    SmallVector<Value> terms;
    llvm::SetVector<Value> before(attention.getBiases().begin(), attention.getBiases().end());
    OpBuilder builder(attention);
    for (const TermGroup &group : grouping.collect()) {
      BiasFnOp whole = grouping.findWhole(group);
      terms.push_back(whole ? whole : TermWriter(builder, group).write());
    }
    attention.getBiasesMutable().assign(terms);
    for (Value bias : before)
      if (Operation *op = bias.getDefiningOp(); op && op->use_empty())
        op->erase();
  }
};

} // namespace
} // namespace mlir::pe
