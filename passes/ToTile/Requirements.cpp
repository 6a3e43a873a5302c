//===- Requirements.cpp - requirements on a call of an entry function -----===//
#include "passes/ToTile/ToTile.h"

#include "dialect/PE/PE.h"
#include "dialect/PE/PEArgumentAttributes.h"
#include "passes/Analysis/Dependence.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::pe {

static std::string nameOf(Value value) {
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.name");
  return name ? name.str() : "argument " + std::to_string(argument.getArgNumber());
}

/// Returns `text` with the end of the sequence, n, expressed by sizes and parameters.
static std::string withoutEnd(StringRef text) {
  std::string result;
  while (!text.empty()) {
    StringRef word = text.take_while([](char ch) { return llvm::isAlnum(ch) || ch == '_'; });
    StringRef piece = word.empty() ? text.take_front() : word;
    result += word == "n" ? StringRef("(q_start + r)") : piece;
    text = text.drop_front(piece.size());
  }
  return result;
}

namespace {
class Collector {
public:
  void add(std::string size, std::string least, std::string what) {
    auto isSame = [&](const Requirement &other) {
      return other.size == size && other.least == least;
    };
    if (llvm::none_of(all, isSame))
      all.push_back({std::move(size), std::move(least), std::move(what)});
  }
  void addReads(EmbeddingFnOp op, Value capture, BlockArgument tensor);
  void addLeast(EmbeddingFnOp op, Value capture);
  void addNotEmpty(EmbeddingFnOp op, Value capture, BlockArgument tensor);
  void addWidth(EmbeddingFnOp op, EmbedOp embed);
  void addOwnKeys();
  void addDistances(ContentFnOp op, DifferenceRange range);
  SmallVector<Requirement> all;
};
} // namespace

bool isReadByPosition(StringRef extent) {
  return extent != "r" && extent != "model" && extent != "1";
}

/// Requires that a tensor that is read at p, inside a sum or not, has an entry for every position.
void Collector::addReads(EmbeddingFnOp op, Value capture, BlockArgument tensor) {
  const SmallVector<std::string> extents = namedExtents(capture);
  op.getBody().walk([&](ReadOp read) {
    if (outsideOfSums(read.getSource()) != tensor)
      return;
    for (auto [index, extent] : llvm::zip_equal(read.getIndices(), extents)) {
      if (outsideOfSums(index) != op.getBody().getArgument(0) || !isReadByPosition(extent))
        continue;
      add(extent, "q_start + r", "rows of tensor '" + nameOf(capture) + "', one per position");
      add("q_start", "0", "q_start, because '" + nameOf(capture) + "' begins at position 0");
    }
  });
}

/// Reads at other indices are clamped to the nearest entry, so there must be one unless nothing is
/// read. A sum may have no terms.
void Collector::addNotEmpty(EmbeddingFnOp op, Value capture, BlockArgument tensor) {
  const SmallVector<std::string> extents = namedExtents(capture);
  for (Operation *user : tensor.getUsers())
    for (const std::string &extent : extents) {
      auto isSame = [&](const Requirement &other) { return other.size == extent; };
      int64_t size;
      if (isa<ReadOp>(user) && isReadByPosition(extent) &&
          StringRef(extent).getAsInteger(10, size) && llvm::none_of(all, isSame))
        add(extent, "min(r, 1)", "entries of tensor '" + nameOf(capture) + "' along " + extent);
    }
}

/// Adds the requirements that the attribute `least` states for the axes of a capture.
void Collector::addLeast(EmbeddingFnOp op, Value capture) {
  ArrayAttr axes = axesOf(capture);
  if (!axes || !op.getLeast())
    return;
  const SmallVector<std::string> extents = namedExtents(capture);
  for (auto [axis, extent] : llvm::zip_equal(axes.getAsValueRange<StringAttr>(), extents))
    if (auto least = op.getLeast()->getAs<StringAttr>(axis))
      add(extent, withoutEnd(least.getValue()),
          (axis + " of tensor '" + nameOf(capture) + "' for a sequence of this length").str());
}

void Collector::addWidth(EmbeddingFnOp op, EmbedOp embed) {
  const int64_t multiple = op.getWidthMultiple().value_or(1);
  if (multiple == 1)
    return;
  const std::string number = std::to_string(multiple);
  add("model", "ceildiv(model, " + number + ") * " + number,
      "dims of tensor '" + nameOf(embed.getInput()) + "', which must be a multiple of " + number);
}

/// Requires that every query has a key at its own position, whose value receives the remainder.
void Collector::addOwnKeys() {
  add("q_start", "k_start",
      "q_start, because the remainder goes to the value at a query's own position "
      "(stick_breaking-C6)");
  add("k_start + c", "q_start + r",
      "the end of the keys, because the remainder goes to the value at a query's own position "
      "(stick_breaking-C6)");
}

/// Requires that a tensor that a content term reads at a distance has an entry for every distance
/// that the call reaches and the mask allows.
void Collector::addDistances(ContentFnOp op, DifferenceRange range) {
  const RegionDependence dependence(op.getBody());
  Block &body = op.getBody().front();
  const unsigned leading = body.getNumArguments() - op.getCaptures().size();
  for (auto read : body.getOps<ReadOp>()) {
    auto tensor = dyn_cast<BlockArgument>(read.getSource());
    Value capture = tensor ? op.getCaptures()[tensor.getArgNumber() - leading] : Value();
    if (!isa_and_present<BlockArgument>(capture))
      continue;
    auto shape = cast<RankedTensorType>(capture.getType()).getShape();
    for (auto [index, size] : llvm::zip_equal(read.getIndices(), shape)) {
      const std::optional<AffineForm> &form = dependence.of(index).affine();
      if (ShapedType::isDynamic(size) || !form || !form->isDifference() ||
          std::abs(form->query) != 1)
        continue;
      const auto first = static_cast<int64_t>(form->constant); // the entry of distance 0
      const int64_t after = size - 1 - first;
      const bool rises = form->query > 0;
      const int64_t later = rises ? after : first, earlier = rises ? first : after;
      const std::string entries = "entries of tensor '" + nameOf(capture) + "' for distances ";
      if (range.max > later)
        add(std::to_string(later + 1), "q_start + r - k_start", entries + "i - j >= 0");
      if (range.min < -earlier)
        add(std::to_string(earlier + 1), "k_start + c - q_start", entries + "j - i >= 0");
    }
  }
}

bool readsPositions(func::FuncOp function) {
  return llvm::any_of(function.getOps<AttentionOp>(),
                      [](AttentionOp op) { return op.readsPositions(); });
}

/// Returns the boundaries of documents that any op of the function reads.
static SmallVector<Value> boundariesOf(func::FuncOp function) {
  SmallVector<Value> all;
  for (Operation &op : function.getBody().front()) {
    Value boundaries;
    if (auto bounds = dyn_cast<DocumentBoundsOp>(op))
      boundaries = bounds.getBoundaries();
    else if (auto mask = dyn_cast<MaskOpInterface>(op))
      boundaries = mask.getDocumentBoundaries();
    if (boundaries && !llvm::is_contained(all, boundaries))
      all.push_back(boundaries);
  }
  return all;
}

SmallVector<ValueRequirement> valueRequirementsOf(func::FuncOp function) {
  SmallVector<ValueRequirement> all;
  for (Value boundaries : boundariesOf(function))
    all.push_back({nameOf(boundaries), /*isAscending=*/true, "0", "max(q_start + r, k_start + c)"});
  auto addPositions = [&](Value positions) {
    if (positions &&
        llvm::none_of(all, [&](auto &known) { return known.tensor == nameOf(positions); }))
      all.push_back(
          {nameOf(positions), /*isAscending=*/false, "0", std::to_string((int64_t(1) << 30) - 1)});
  };
  for (auto attention : function.getOps<AttentionOp>()) {
    addPositions(attention.getQueryPositions());
    addPositions(attention.getKeyPositions());
  }
  for (auto rotation : function.getOps<RotationOpInterface>()) {
    const AxisPositions positions = rotation.getAxisPositions();
    addPositions(positions.queries);
    addPositions(positions.keys);
  }
  for (auto attention : function.getOps<AttentionOp>())
    if (Value table = attention.getPages();
        table && llvm::none_of(all, [&](auto &known) { return known.tensor == nameOf(table); }))
      all.push_back({nameOf(table), /*isAscending=*/false, "0", "pages - 1"});
  return all;
}

/// Boundaries describe the documents of one sequence, and given positions do not number the rows.
static void addOfPositions(func::FuncOp function, Collector &collector) {
  for (Value boundaries : boundariesOf(function)) {
    const std::string name = "tensor '" + nameOf(boundaries) + "'";
    collector.add("1", "b",
                  "batch of packed documents, because " + name +
                      " holds the boundaries of one sequence");
    collector.add(namedExtents(boundaries).front(), "2", "boundaries in " + name);
  }
  for (auto attention : function.getOps<AttentionOp>())
    if (attention.getQueryPositions())
      collector.add("q_start", "0", "q_start, which numbers the rows even if positions are given");
}

SmallVector<Requirement> requirementsOf(func::FuncOp function) {
  Collector collector;
  addOfPositions(function, collector);
  for (auto rotation : function.getOps<RotationOpInterface>())
    llvm::append_range(collector.all, rotation.getRequirements());
  for (auto attention : function.getOps<AttentionOp>())
    if (attention.getRemainder() == Remainder::Value)
      collector.addOwnKeys();
  for (auto attention : function.getOps<AttentionOp>()) {
    SmallVector<Value> contents(attention.getContents());
    if (Value ofValues = attention.getValueContent())
      contents.push_back(ofValues);
    for (Value content : contents)
      if (auto op = content.getDefiningOp<ContentFnOp>())
        collector.addDistances(op, op.limit(attention.getPairRange().ofPositions()));
  }
  for (auto embed : function.getOps<EmbedOp>()) {
    auto op = embed.getEmbedding().getDefiningOp<EmbeddingFnOp>();
    if (!op)
      continue;
    collector.addWidth(op, embed);
    Block &body = op.getBody().front();
    for (auto [capture, tensor] :
         llvm::zip_equal(op.getCaptures(), body.getArguments().drop_front(4))) {
      if (!isa<BlockArgument>(capture))
        continue;
      collector.addReads(op, capture, tensor);
      collector.addLeast(op, capture);
      collector.addNotEmpty(op, capture, tensor);
    }
  }
  return std::move(collector.all);
}

} // namespace mlir::pe
