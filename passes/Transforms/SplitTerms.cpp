//===- SplitTerms.cpp - biases of an attention as a sum of terms ----------===//
//
// See Passes.td for an example. All biases of an attention are split into summands
// (passes/Analysis/Summands.h). The summands are sorted by class, and each class becomes one
// `pe.term`, except that every segments summand is a separate term.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEScalarBuilder.h"
#include "passes/Analysis/Formula.h"
#include "passes/Analysis/Slice.h"
#include "passes/Analysis/SourceNames.h"
#include "llvm/ADT/SetVector.h"
#include <map>

#define DEBUG_TYPE "pe-split-terms"

namespace mlir::pe {
#define GEN_PASS_DEF_PESPLITTERMSPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// The summands that become one term.
struct Group {
  TermClass cls;
  SmallVector<SourcedSummand> summands;
};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Writes one part of a term. The arguments of its block replace the positions of the biases.
class PartWriter {
public:
  PartWriter(TermOp term, TermPart part)
      : term(term), part(part), block(term.getPart(part)), scalar(OpBuilder::atBlockEnd(&block)),
        f(scalar, term.getLoc(), point) {
    mapPositions();
  }

  void writeSum(ArrayRef<SourcedSummand> summands, bool isWhole);
  /// Writes (sum of the summands' coefficients) * d.
  void writeAffine(ArrayRef<SourcedSummand> summands);
  void writeScale(const SourcedSummand &sourced);
  void writeFactor(const SourcedSummand &sourced);
  void writeRowFactor(const SourcedSummand &sourced);
  void writePiece(const SourcedSummand &sourced);

private:
  void mapPositions();
  void enter(BiasFnOp source);
  Value scaleOf(const Summand &summand, double factor);
  Value product(ArrayRef<Value> values);
  Value valueOf(const SourcedSummand &sourced);
  Ratio ratioOf(const SourcedSummand &sourced);
  Value cloned(Value value) { return cloneSlice(value, *mapping, scalar); }
  Value multiplied(Value scale, Value value) { return scale ? f.mul(scale, value) : value; }
  Value number(Value value) { return value ? value : f.number(1); }
  void finish(Value value);

  TermOp term;
  TermPart part;
  Block &block;
  OpBuilder scalar; ///< inside the part
  PairPoint point;
  ScalarBuilder f;
  Value difference; ///< d as an index, if the part has it
  llvm::DenseMap<Operation *, IRMapping> mappings;
  IRMapping *mapping = nullptr;
};

/// Sets the positions (i, j) at which the part is evaluated, from its block's arguments.
void PartWriter::mapPositions() {
  point.batch = block.getArgument(0);
  point.head = block.getArgument(1);
  switch (part) {
  case TermPart::Pair:
    point.query = block.getArgument(2);
    point.key = block.getArgument(3);
    return;
  case TermPart::Distance:
  case TermPart::Factor:
    difference = block.getArgument(2);
    point = distancePoint(scalar, term.getLoc(), point.batch, point.head, difference);
    return;
  default:
    break;
  }
  const bool isRow = part == TermPart::Row || part == TermPart::RowFactor;
  Value zero = arith::ConstantIndexOp::create(scalar, term.getLoc(), 0);
  point.query = isRow ? block.getArgument(2) : zero;
  point.key = part == TermPart::Column ? block.getArgument(2) : zero;
}

/// Copies subsequent values from `source`.
void PartWriter::enter(BiasFnOp source) {
  auto [entry, isNew] = mappings.try_emplace(source);
  mapping = &entry->second;
  if (!isNew)
    return;
  Block &from = source.getBody().front();
  mapping->map(from.getArguments().take_front(4),
               ValueRange{point.batch, point.head, point.query, point.key});
  const unsigned first = firstCaptureOf(part);
  for (auto [argument, capture] :
       llvm::zip_equal(from.getArguments().drop_front(4), source.getCaptures())) {
    auto place = llvm::find(term.getCaptures(), capture) - term.getCaptures().begin();
    mapping->map(argument, block.getArgument(first + place));
  }
  if (difference) // i - j, the canonical form, is available
    for (auto sub : from.getOps<arith::SubIOp>())
      if (sub.getLhs() == from.getArgument(2) && sub.getRhs() == from.getArgument(3))
        mapping->map(sub.getResult(), difference);
}

/// Returns the product of the copies, or null if there are none.
Value PartWriter::product(ArrayRef<Value> values) {
  Value result;
  for (Value value : values)
    result = result ? f.mul(result, cloned(value)) : cloned(value);
  return result;
}

/// Returns sign * factor * factors / divisors, or null for 1.
Value PartWriter::scaleOf(const Summand &summand, double factor) {
  Value scale = product(summand.factors);
  if (summand.negative)
    factor = -factor;
  if (factor != 1)
    scale = scale ? f.mul(scale, f.number(factor)) : f.number(factor);
  for (Value divisor : summand.divisors)
    scale = f.div(number(scale), cloned(divisor));
  return scale;
}

Value PartWriter::valueOf(const SourcedSummand &sourced) {
  const Summand &summand = sourced.summand;
  enter(sourced.source);
  if (!summand.form) {
    Value scale = scaleOf(summand, 1);
    return multiplied(scale, cloned(summand.root));
  }
  const AffineForm &form = *summand.form;
  if (form.isConstant())
    return number(scaleOf(summand, form.constant));
  Value scale = scaleOf(summand, form.query != 0 ? form.query : form.key);
  if (form.isDifference())
    return multiplied(scale, f.toFloat(difference));
  return multiplied(scale, f.toFloat(form.query != 0 ? point.query : point.key));
}

/// Yields `value` and erases unused ops.
void PartWriter::finish(Value value) {
  YieldOp::create(scalar, term.getLoc(), value);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void PartWriter::writeSum(ArrayRef<SourcedSummand> summands, bool isWhole) {
  Value sum;
  if (isWhole) { // the bias as the user wrote it
    enter(summands.front().source);
    Block &from = BiasFnOp(summands.front().source).getBody().front();
    return finish(cloned(cast<YieldOp>(from.getTerminator()).getValues()[0]));
  }
  for (const SourcedSummand &sourced : summands) {
    Value value = valueOf(sourced);
    sum = sum ? f.add(sum, value) : value;
  }
  finish(sum);
}

void PartWriter::writeAffine(ArrayRef<SourcedSummand> summands) {
  Value sum;
  for (const SourcedSummand &sourced : summands) {
    enter(sourced.source);
    Value coefficient = number(scaleOf(sourced.summand, sourced.summand.form->query));
    sum = sum ? f.add(sum, coefficient) : coefficient;
  }
  finish(f.mul(sum, f.toFloat(difference)));
}

Ratio PartWriter::ratioOf(const SourcedSummand &sourced) {
  enter(sourced.source);
  auto op = sourced.summand.root.getDefiningOp<PiecewiseOpInterface>();
  RegionDependence dependence(BiasFnOp(sourced.source).getBody());
  return *splitRatio(op.getCoordinate(), dependence);
}

void PartWriter::writeScale(const SourcedSummand &sourced) {
  enter(sourced.source);
  finish(number(scaleOf(sourced.summand, 1)));
}

/// Writes the factor u(h, i - j) of the coordinate u * r.
void PartWriter::writeFactor(const SourcedSummand &sourced) {
  Ratio ratio = ratioOf(sourced);
  Value u = product(ratio.factorNumerators);
  if (ratio.negative)
    u = u ? f.mul(f.number(-1), u) : f.number(-1);
  if (Value divisor = product(ratio.factorDivisors))
    u = f.div(number(u), divisor);
  finish(number(u));
}

void PartWriter::writeRowFactor(const SourcedSummand &sourced) {
  Ratio ratio = ratioOf(sourced);
  Value above = product(ratio.rowNumerators), below = product(ratio.rowDivisors);
  finish(below ? f.div(number(above), below) : number(above));
}

void PartWriter::writePiece(const SourcedSummand &sourced) {
  enter(sourced.source);
  auto op = sourced.summand.root.getDefiningOp<PiecewiseOpInterface>();
  mapping->map(op.getCoordinate(), block.getArgument(2));
  finish(cloned(sourced.summand.root));
}

/// Writes the term of one group.
class TermWriter {
public:
  TermWriter(func::FuncOp function, const llvm::DenseMap<Operation *, size_t> &summandCounts)
      : function(function), summandCounts(summandCounts) {}

  TermOp write(OpBuilder &builder, const Group &group);

private:
  TermOp create(OpBuilder &builder, const Group &group);
  bool isWhole(ArrayRef<SourcedSummand> summands);
  void writePart(TermOp term, TermPart part, ArrayRef<SourcedSummand> summands);
  std::string formulaOf(const Group &group);

  func::FuncOp function;
  const llvm::DenseMap<Operation *, size_t> &summandCounts;
};

/// Returns true if the summands are all the summands of one bias.
bool TermWriter::isWhole(ArrayRef<SourcedSummand> summands) {
  BiasFnOp source = summands.front().source;
  return summands.size() == summandCounts.lookup(source) &&
         llvm::all_of(summands, [&](auto &sourced) { return sourced.source == source; });
}

std::string TermWriter::formulaOf(const Group &group) {
  auto namesOf = [&](BiasFnOp source) {
    SmallVector<std::string> names;
    for (Value capture : source.getCaptures())
      names.push_back(nameOfCapture(function, capture));
    return names;
  };
  BiasFnOp source = group.summands.front().source;
  if (group.cls == TermClass::Affine || !isWhole(group.summands))
    return formulaOfSum(group.summands, namesOf);
  Value root = cast<YieldOp>(source.getBody().front().getTerminator()).getValues()[0];
  return pe::formulaOf(root, source.getBody().front(), namesOf(source));
}

TermOp TermWriter::create(OpBuilder &builder, const Group &group) {
  llvm::SetVector<Value> captures;
  SmallVector<Location> places;
  for (const SourcedSummand &sourced : group.summands) {
    places.push_back(sourced.summand.place.getLoc());
    captures.insert_range(BiasFnOp(sourced.source).getCaptures());
  }
  Location loc = builder.getFusedLoc(places);
  const std::string &reason =
      group.cls == TermClass::RowColumn
          ? "is a function of the query position plus one of the key position"
          : group.summands.front().summand.reason;
  ArrayRef<TermPart> parts = partsOf(group.cls);
  auto structure = TermAttr::get(builder.getContext(), group.cls, reason);
  auto term = TermOp::create(builder, loc, BiasType::get(builder.getContext()), structure,
                             captures.getArrayRef(), formulaOf(group), parts.size());
  for (auto [part, region] : llvm::zip_equal(parts, term.getParts())) {
    Block &block = region.emplaceBlock();
    SmallVector<Type> types(2, builder.getIndexType());
    llvm::append_range(types, pointTypesOf(part, builder.getContext()));
    llvm::append_range(types, term.getCaptures().getTypes());
    block.addArguments(types, SmallVector<Location>(types.size(), loc));
  }
  return term;
}

void TermWriter::writePart(TermOp term, TermPart part, ArrayRef<SourcedSummand> summands) {
  PartWriter writer(term, part);
  switch (part) {
  case TermPart::Factor:
    return writer.writeFactor(summands.front());
  case TermPart::RowFactor:
    return writer.writeRowFactor(summands.front());
  case TermPart::Scale:
    return writer.writeScale(summands.front());
  case TermPart::Piece:
    return writer.writePiece(summands.front());
  default:
    if (term.getTermClass() == TermClass::Affine)
      return writer.writeAffine(summands);
    return writer.writeSum(summands, isWhole(summands));
  }
}

TermOp TermWriter::write(OpBuilder &builder, const Group &group) {
  TermOp term = create(builder, group);
  for (TermPart part : partsOf(group.cls)) {
    SmallVector<SourcedSummand> summands;
    for (const SourcedSummand &sourced : group.summands)
      if (group.cls != TermClass::RowColumn ||
          (sourced.summand.cls == TermClass::Row) == (part == TermPart::Row))
        summands.push_back(sourced);
    writePart(term, part, summands);
  }
  term.dropUnusedCaptures();
  return term;
}

//===----------------------------------------------------------------------===//
// Grouping
//===----------------------------------------------------------------------===//

/// The summands of all biases of one attention, by class. Each segments summand is its own group.
class Grouping {
public:
  explicit Grouping(AttentionOp attention)
      : attention(attention), range(attention.getMaskRange().value_or(DifferenceRange())) {}

  SmallVector<Group> collect();
  const llvm::DenseMap<Operation *, size_t> &getSummandCounts() const { return summandCounts; }

private:
  void move(TermClass from, TermClass to, llvm::function_ref<bool(const Summand &)> condition);
  void merge();

  AttentionOp attention;
  DifferenceRange range;
  std::map<TermClass, SmallVector<SourcedSummand>> byClass;
  llvm::DenseMap<Operation *, size_t> summandCounts;
};

/// Moves the summands of a class that satisfy `condition` to another class.
void Grouping::move(TermClass from, TermClass to,
                    llvm::function_ref<bool(const Summand &)> condition) {
  SmallVector<SourcedSummand> rest;
  for (SourcedSummand &sourced : byClass[from])
    (condition(sourced.summand) ? byClass[to] : rest).push_back(sourced);
  byClass[from] = rest;
}

/// Merges summands into groups in which they have no additional cost.
void Grouping::merge() {
  if (!byClass[TermClass::Distance].empty()) { // a table holds these at no cost
    move(TermClass::Affine, TermClass::Distance,
         [](const Summand &summand) { return !summand.dependsOnBatch; });
    // A row term without effect is dropped later (pe-simplify-under-normalizer).
    if (!ignoresRowTerms(attention))
      move(TermClass::Row, TermClass::Distance,
           [](const Summand &summand) { return summand.isScalar && !summand.dependsOnBatch; });
  }
  // Row and column parts may be large and nearly cancel, so they stay together.
  const bool hasRows = llvm::any_of(byClass[TermClass::Row], [](const SourcedSummand &sourced) {
    return !sourced.summand.isScalar;
  });
  if (hasRows && !byClass[TermClass::Column].empty())
    for (TermClass from : {TermClass::Row, TermClass::Column})
      move(from, TermClass::RowColumn, [](const Summand &) { return true; });
}

SmallVector<Group> Grouping::collect() {
  for (Value value : attention.getBiases()) {
    auto source = value.getDefiningOp<BiasFnOp>();
    Value sum = cast<YieldOp>(source.getBody().front().getTerminator()).getValues()[0];
    RegionDependence dependence(source.getBody(), range);
    for (Summand &summand : splitSum(sum, dependence)) {
      ++summandCounts[source];
      byClass[summand.cls].push_back({source, std::move(summand)});
    }
  }
  // A bias that is listed twice does not count as a whole bias at either occurrence.
  llvm::SmallPtrSet<Value, 4> seen;
  for (Value value : attention.getBiases())
    if (!seen.insert(value).second)
      ++summandCounts[value.getDefiningOp()];
  merge();
  SmallVector<Group> groups;
  for (auto &[cls, summands] : byClass) {
    if (summands.empty())
      continue;
    if (cls != TermClass::Segments) {
      groups.push_back({cls, summands});
      continue;
    }
    for (SourcedSummand &sourced : summands)
      groups.push_back({cls, {sourced}});
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Checks that hidden widths are static, because compiled code stores the hidden values of a chain
/// in scratch memory of static size.
LogicalResult checkHiddenWidths(BiasFnOp bias) {
  for (auto op : bias.getBody().getOps<PiecewiseOpInterface>()) {
    const SmallVector<ChainLink> chain = op.getChain();
    for (const ChainLink &link : ArrayRef(chain).drop_back())
      for (Value tensor : {link.weight, link.bias})
        if (auto type = cast<RankedTensorType>(tensor.getType()); !type.hasStaticShape())
          return op->emitOpError("expected hidden layers of static sizes, found ")
                 << type << "; only the rows of the last layer, one per head, may be unknown";
  }
  return success();
}

LogicalResult checkBiases(AttentionOp attention) {
  for (Value value : attention.getBiases()) {
    auto bias = value.getDefiningOp<BiasFnOp>();
    if (!bias)
      return attention.emitOpError("expected every bias to be a pe.bias_fn, found ")
             << (value.getDefiningOp() ? value.getDefiningOp()->getName().getStringRef()
                                       : StringRef("a block argument"))
             << "; run pe-expand-biases first";
    if (failed(checkHiddenWidths(bias)))
      return failure();
  }
  return success();
}

struct SplitTermsPass : impl::PESplitTermsPassBase<SplitTermsPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](AttentionOp attention) {
      // Biases that are already terms are unchanged.
      if (llvm::all_of(attention.getBiases(),
                       [](Value bias) { return isa_and_nonnull<TermOp>(bias.getDefiningOp()); }))
        return WalkResult::advance();
      if (failed(checkBiases(attention)))
        return WalkResult::interrupt();
      split(attention);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

  void split(AttentionOp attention) {
    Grouping grouping(attention);
    SmallVector<Value> terms;
    llvm::SetVector<Value> before(attention.getBiases().begin(), attention.getBiases().end());
    OpBuilder builder(attention);
    SmallVector<Group> groups = grouping.collect();
    TermWriter writer(getOperation(), grouping.getSummandCounts());
    for (const Group &group : groups)
      terms.push_back(writer.write(builder, group));
    if (groups.empty()) // AttentionOp::readsPositions checks that there was a bias
      attention.setDroppedAttr(builder.getStrArrayAttr({"biases that are 0 everywhere"}));
    attention.getBiasesMutable().assign(terms);
    for (Value bias : before)
      if (Operation *op = bias.getDefiningOp(); op && op->use_empty())
        op->erase();
  }
};

} // namespace
} // namespace mlir::pe
