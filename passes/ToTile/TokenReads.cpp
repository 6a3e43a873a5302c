//===- TokenReads.cpp - per-token tensors read by per-pair code -----------===//
#include "passes/ToTile/TokenReads.h"

#include "passes/Analysis/Slice.h"
#include "passes/ToTile/Terms.h"

using namespace mlir;
using namespace mlir::tile;

TokenReads::TokenReads(PlanContext &context, Block &region, unsigned first, ValueRange captures,
                       std::string name)
    : context(context), region(region), first(first), captures(captures), name(std::move(name)) {
  llvm::DenseSet<Value> own; // reads with sums
  for (auto op : region.getOps<pe::ReadOp>())
    if (std::optional<Read> read = classify(op)) {
      reads.push_back(*read);
      results.push_back(op.getResult());
      own.insert(op.getResult());
    }
  const unsigned firstCapture = region.getNumArguments() - captures.size();
  for (auto [number, capture] : llvm::enumerate(captures)) {
    auto isOwn = [&](Operation *user) { return own.contains(user->getResult(0)); };
    const bool isFloat = isa<FloatType>(cast<ShapedType>(capture.getType()).getElementType());
    if (isFloat && !llvm::all_of(region.getArgument(firstCapture + number).getUsers(), isOwn))
      otherCaptures.push_back(capture);
  }
}

/// Returns true if the tensor has an element per query or key.
bool TokenReads::isOfTokens(Value capture) const {
  return llvm::any_of(context.sourcesOf(capture), [&](Value source) {
    SmallVector<StringRef> extents = context.parameters[source].extents();
    return llvm::is_contained(extents, "r") || llvm::is_contained(extents, "c");
  });
}

/// Classifies a read of token data at indices that do not combine the query with the key.
std::optional<TokenReads::Read> TokenReads::classify(pe::ReadOp op) const {
  auto source = dyn_cast<BlockArgument>(op.getSource());
  if (!source || !isa<FloatType>(op.getResult().getType()))
    return std::nullopt;
  const unsigned firstCapture = region.getNumArguments() - captures.size();
  if (!isOfTokens(captures[source.getArgNumber() - firstCapture]))
    return std::nullopt;
  llvm::DenseSet<Value> leaves;
  for (Operation *inner : pe::collectSlice(op.getResult()))
    leaves.insert_range(inner->getOperands());
  auto uses = [&](unsigned number) { return leaves.contains(region.getArgument(number)); };
  const bool usesQuery = uses(first + 2), usesKey = uses(first + 3);
  if ((usesQuery && usesKey) || (first > 0 && uses(0)))
    return std::nullopt;
  return Read{op, /*isRow=*/!usesKey, uses(first), uses(first + 1), {}};
}

/// Returns the uses of the captured tensor, also in the place of an omitted one.
SmallVector<Operation *> TokenReads::usersOf(Value capture) const {
  const unsigned firstCapture = region.getNumArguments() - captures.size();
  SmallVector<Operation *> users;
  for (auto [number, other] : llvm::enumerate(captures))
    if (other == capture || context.parameters[other].absent == capture)
      llvm::append_range(users, region.getArgument(firstCapture + number).getUsers());
  return users;
}

llvm::SmallBitVector TokenReads::axesOfPair(Value capture) const {
  const SmallVector<StringRef> extents = context.parameters[capture].extents();
  llvm::SmallBitVector axes(extents.size());
  for (StringRef extent : {"b", "hq"})
    if (const auto *axis = llvm::find(extents, extent); axis != extents.end())
      axes.set(axis - extents.begin());
  for (Operation *user : usersOf(capture)) {
    auto read = dyn_cast<pe::ReadOp>(user);
    if (!read && !isa<pe::AxisSizeOp>(user))
      axes.reset();
    for (unsigned axis : axes.set_bits())
      if (read && read.getIndices()[axis] != region.getArgument(first + (extents[axis] == "hq")))
        axes.reset(axis);
  }
  return axes;
}

std::optional<SmallVector<pe::AxisLength>>
TokenReads::lengthsOfPairs(Value capture, Operation *op, pe::DifferenceRange range) const {
  const SmallVector<StringRef> extents = context.parameters[capture].extents();
  SmallVector<Operation *> users = usersOf(capture);
  llvm::erase_if(users, llvm::IsaPred<pe::AxisSizeOp>);
  auto read = users.size() == 1 ? dyn_cast<pe::ReadOp>(users.front()) : pe::ReadOp();
  if (!read)
    return std::nullopt;
  return pe::lengthsOfOwnElements(read, op, range, [&](unsigned axis, bool isQuery) {
    return extents[axis] == (isQuery ? "r" : "c");
  });
}

void TokenReads::create() {
  for (auto [number, read] : llvm::enumerate(reads)) {
    read.sums = context.temporary(name + "_read" + std::to_string(number),
                                  {"b", "hq", read.isRow ? "r" : "c"}, {}, /*zero=*/true);
    Value before = context.parameters.front().second.buffer;
    read.sums.getDefiningOp()->moveAfter(before.getDefiningOp());
  }
}

void TokenReads::accumulate(Scalar &s, Value batch, Value head, Value row, Value column,
                            ValueRange adjoints) const {
  for (auto [read, adjoint] : llvm::zip_equal(reads, adjoints))
    accumulateElement(s, adjoint, read.sums, {batch, head, read.isRow ? row : column});
}

/// Sums over the axes that the element does not depend on and adds the sums to the element.
void TokenReads::finish(TileBuilder &t, const Read &read) {
  SmallVector<StringRef> outer, inner;
  Value element = pe::ReadOp(read.op).getResult();
  (read.perBatch ? outer : inner).push_back("b");
  (read.perHead ? outer : inner).push_back("hq");
  outer.push_back(read.isRow ? "r" : "c");
  t.foreach (outer, [&](Scalar &s, ValueRange at) {
    Value sum = sumOver(s, inner, [&](Scalar &x, ValueRange in) {
      Value batch = read.perBatch ? at.front() : in.front();
      Value head = read.perHead ? at[read.perBatch] : in.back();
      return readElement(x, read.sums, {batch, head, at.back()});
    });
    ifNonZero(s, sum, [&](Scalar &x) {
      Value zero = x.index(0);
      Value position = x.add(at.back(), x.size(read.isRow ? "q_start" : "k_start"));
      IRMapping mapping;
      mapping.map(region.getArguments().slice(first, 4),
                  ValueRange{read.perBatch ? at.front() : zero,
                             read.perHead ? at[read.perBatch] : zero, read.isRow ? position : zero,
                             read.isRow ? zero : position});
      TileParameters params(context, region, captures);
      params.compute = x.getF64Type();
      FailureOr<pe::ScalarVjp> vjp = pe::ScalarVjp::create(element);
      vjp->emitPrimal(x, mapping, params, x.getF64Type());
      vjp->emitAdjoint(x, mapping, sum, params);
    });
  });
}

void TokenReads::finish() {
  if (reads.empty())
    return;
  TileBuilder t = beginStage(context.plan, name + "_finish_reads", Phase::Finish, {});
  for (const Read &read : reads)
    finish(t, read);
}
