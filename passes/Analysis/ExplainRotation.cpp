//===- ExplainRotation.cpp - descriptions of prologues and rotations ------===//

#include "passes/Analysis/ExplainRotation.h"

#include "mlir/IR/Builders.h"
#include "passes/Analysis/Formula.h"
#include "passes/Analysis/Price.h"
#include "passes/Analysis/SourceNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

#include <cmath>

namespace mlir::pe {
namespace {

/// Shortens numbers anywhere in the text: 4.000000e+00 to 4.
std::string withShortNumbers(StringRef text) {
  llvm::Regex number("-?[0-9]+\\.[0-9]+(e[-+][0-9]+)?");
  std::string result;
  SmallVector<StringRef> match;
  while (number.match(text, &match)) {
    double value = 0;
    match[0].getAsDouble(value);
    result += text.take_front(match[0].data() - text.data());
    result += llvm::formatv("{0}", llvm::format("%.10g", value)).str();
    text = text.drop_front(match[0].data() - text.data() + match[0].size());
  }
  return result + text.str();
}

/// Returns the attributes as they are written: "base = 10000, scaling = <yarn, factor = 4>".
std::string attributesOf(Operation *op) {
  SmallVector<std::string> parts;
  for (NamedAttribute attribute : op->getAttrDictionary()) {
    if (auto flag = dyn_cast<BoolAttr>(attribute.getValue()); flag && !flag.getValue())
      continue;
    if (attribute.getName() == "operandSegmentSizes")
      continue;
    std::string text;
    llvm::raw_string_ostream stream(text);
    attribute.getValue().print(stream, /*elideType=*/true);
    parts.push_back(attribute.getName().str() + " = " + withShortNumbers(text));
  }
  return llvm::join(parts, ", ");
}

/// Scalar code that is emitted only for inspection. Its arguments are `leading`, then the operands
/// of the op.
struct Scratch {
  Scratch(Operation *op, ArrayRef<Type> leading) {
    block.addArguments(leading, SmallVector<Location>(leading.size(), op->getLoc()));
    for (Value operand : op->getOperands())
      block.addArgument(operand.getType(), op->getLoc());
  }
  ValueRange operands(size_t leading) { return block.getArguments().drop_front(leading); }

  Block block;
};

/// Evaluates `root` for `pair` = `number`; returns nothing if it is not a constant.
std::optional<double> evaluate(Value root, Value pair, int64_t number) {
  Builder builder(root.getContext());
  DenseMap<Value, Attribute> known = {{pair, builder.getIndexAttr(number)}};
  for (Operation &op : *root.getParentBlock()) {
    SmallVector<OpFoldResult> results;
    // An op may first be folded in place.
    for (int attempt = 0; attempt < 3 && results.empty(); ++attempt) {
      SmallVector<Attribute> operands = llvm::map_to_vector(
          op.getOperands(), [&](Value operand) { return known.lookup(operand); });
      if (failed(op.fold(operands, results)))
        break;
    }
    for (auto [value, result] : llvm::zip(op.getResults(), results))
      if (auto attribute = dyn_cast<Attribute>(result))
        known[value] = attribute;
      else if (Attribute found = known.lookup(cast<Value>(result)))
        known[value] = found;
  }
  auto found = dyn_cast_or_null<FloatAttr>(known.lookup(root));
  return found ? std::optional(found.getValueAsDouble()) : std::nullopt;
}

/// Adds the formula of the frequencies and, if they are constants, the first and the last value.
void addFrequencies(llvm::json::Object &result, RotationOpInterface op, int64_t headDim,
                    ArrayRef<std::string> names) {
  OpBuilder builder(op->getContext());
  Type index = builder.getIndexType();
  Scratch scratch(op, {index, index, index});
  builder.setInsertionPointToEnd(&scratch.block);
  Value pair = scratch.block.getArgument(1);
  const RotationPoint point{scratch.block.getArgument(0), pair, scratch.block.getArgument(2),
                            headDim};
  Value root = op.buildFrequency(builder, op->getLoc(), point, scratch.operands(3));
  const StringRef leading[] = {"h", "p", "length"};
  result["formula"] = formulaOf(root, scratch.block, leading, names);
  const int64_t pairs = op.getRotatedDims(headDim) / 2;
  std::optional<double> first = evaluate(root, pair, 0), last = evaluate(root, pair, pairs - 1);
  if (first && last && std::isfinite(*first) && std::isfinite(*last)) {
    result["first"] = *first;
    result["last"] = *last;
  }
}

/// Returns the clause that says which rows are rotated, and when.
StringRef describeRows(AttentionOp attention, RotatedRows rotated) {
  if (rotated == RotatedRows::ValuesAndOutputs)
    return "values are rotated before the kernel, and outputs are rotated back after it";
  return attention.getRotatedKeys()
             ? "queries are rotated before the kernel, and keys are given rotated"
             : "queries and keys are rotated once per call, outside the kernel";
}

/// Returns how often a rotation is paid for.
StringRef describeUnit(AttentionOp attention, RotatedRows rotated) {
  if (rotated == RotatedRows::ValuesAndOutputs)
    return "query and per value of a head";
  return attention.getRotatedKeys() ? "query" : "query and per key of a head";
}

std::string number(double value) { return llvm::formatv("{0}", llvm::format("%.6g", value)).str(); }

void printHead(llvm::raw_ostream &os, StringRef what, const llvm::json::Object &op) {
  os << "  " << what << " " << *op.getString("op");
  if (StringRef attributes = *op.getString("attributes"); !attributes.empty())
    os << " {" << attributes << "}";
  printSource(os, op);
}

void printTail(llvm::raw_ostream &os, const llvm::json::Object &op) {
  os << "\n    forward: " << *op.getString("forward")
     << "; backward: " << *op.getString("backward");
  if (std::optional<StringRef> price = op.getString("price"))
    os << "\n    price: " << *price;
  os << "\n";
}

llvm::json::Object describeOp(func::FuncOp function, Operation *op, ArrayRef<std::string> names) {
  return llvm::json::Object{{"op", op->getName().getStringRef()},
                            {"attributes", attributesOf(op)},
                            {"location", describeLocation(op->getLoc())},
                            {"parameters", llvm::json::Array(names)}};
}

} // namespace

llvm::json::Value explainRotation(func::FuncOp function, AttentionOp attention, RotatedRows rotated,
                                  int64_t headDim, int64_t depths) {
  const bool areValues = rotated == RotatedRows::ValuesAndOutputs;
  Value value = areValues ? attention.getValueRotation() : attention.getRotation();
  auto op = value ? value.getDefiningOp<RotationOpInterface>() : RotationOpInterface();
  if (!op)
    return nullptr;
  const SmallVector<std::string> names = namesOfCaptures(function, op->getOperands());
  const bool hasTables = static_cast<bool>(op.getTables());
  SmallVector<std::string> learned, positions;
  for (auto [name, type] : llvm::zip_equal(names, op->getOperandTypes()))
    (isa<FloatType>(getElementTypeOrSelf(type)) ? learned : positions).push_back(name);
  llvm::json::Object result = describeOp(function, op, learned);
  result["interleaved"] = op.isInterleavedPairs();
  result["per_head"] = op.isPerHead();
  result["tables"] = hasTables;
  result["data"] = llvm::json::Array(positions);
  result["of"] = areValues ? "values" : "queries and keys";
  result["forward"] =
      (hasTables ? "rows of the tables are copied"
                 : "an angle, a cosine and a sine per position and pair in float64") +
      std::string(op.isPerHead() ? " for every head" : "") + ", once per call; " +
      describeRows(attention, rotated).str();
  result["rotated_keys"] = attention.getRotatedKeys();
  result["backward"] = std::string("their gradients are rotated back once per call") +
                       (learned.empty() ? ""
                                        : ", and the gradients of the parameters are sums over "
                                          "positions");
  if (!headDim)
    return result;
  const int64_t dims = op.getRotatedDims(headDim);
  result["pairs"] = dims / 2;
  result["dims"] = dims;
  result["head_dim"] = headDim;
  result["trailing"] = op.getFirstDim(headDim) > 0;
  result["magnitude"] = op.getMagnitude(headDim);
  if (!hasTables)
    addFrequencies(result, op, headDim, names);
  // A pair is rotated by four multiplications and two additions.
  const Price price(Operations{3 * dims, 0});
  result["operations"] = asJson(price, "row");
  result["price"] = describe(price, describeUnit(attention, rotated), depths);
  return result;
}

void printRotation(llvm::raw_ostream &os, const llvm::json::Object &rotation) {
  printHead(os, *rotation.getString("of") == "values" ? "rotation of values" : "rotation",
            rotation);
  const bool isInterleaved = *rotation.getBoolean("interleaved");
  if (std::optional<int64_t> pairs = rotation.getInteger("pairs")) {
    os << "\n    pairs: " << *pairs << ", "
       << (isInterleaved ? "interleaved (x_2p, x_{2p+1})"
                         : "halves (x_p, x_{p+" + std::to_string(*pairs) + "})")
       << ", of ";
    const int64_t dims = *rotation.getInteger("dims"), head = *rotation.getInteger("head_dim");
    os << (dims == head                       ? "all "
           : *rotation.getBoolean("trailing") ? "the last "
                                              : "the first ")
       << dims << " dims";
    if (dims != head)
      os << " of " << head;
  } else {
    os << "\n    pairs: " << (isInterleaved ? "interleaved (x_2p, x_{2p+1})" : "halves");
  }
  if (*rotation.getBoolean("tables"))
    os << "\n    angles: tables with a row for every position and a column for every pair";
  if (!rotation.getArray("data")->empty())
    os << "\n    angles: each pair is rotated by the position along its axis";
  printData(os, rotation);
  constexpr size_t kReadable = 100; // for longer formulas, prints the first and last value instead
  if (std::optional<StringRef> formula = rotation.getString("formula");
      formula && formula->size() <= kReadable)
    os << "\n    frequency of pair p: " << *formula;
  std::optional<double> first = rotation.getNumber("first"), last = rotation.getNumber("last");
  if (first && last)
    os << "\n    frequencies: " << number(*first) << " at p = 0 to " << number(*last)
       << " at p = " << *rotation.getInteger("pairs") - 1 << ", in radians per position";
  if (double magnitude = rotation.getNumber("magnitude").value_or(1.0); magnitude != 1.0)
    os << "\n    cosines and sines are multiplied by " << number(magnitude);
  printTail(os, rotation);
}

llvm::json::Array explainPrologues(func::FuncOp function, AttentionOp attention) {
  llvm::json::Array all;
  for (Value value : attention.getPrologues()) {
    auto op = value.getDefiningOp<PrologueOpInterface>();
    if (!op)
      continue;
    const SmallVector<std::string> names = namesOfCaptures(function, op->getOperands());
    llvm::json::Object result = describeOp(function, op, names);
    result["of"] = !op.changesKeys()      ? "queries"
                   : !op.changesQueries() ? "keys"
                                          : "queries and keys";
    OpBuilder builder(op->getContext());
    Type index = builder.getIndexType();
    Scratch scratch(op, {builder.getF32Type(), index, index, index, index});
    builder.setInsertionPointToEnd(&scratch.block);
    auto at = [&](unsigned n) { return scratch.block.getArgument(n); };
    const RowPoint point{at(1), at(2), at(3), at(4)};
    Value root = op.buildElement(builder, op->getLoc(), point, at(0), scratch.operands(5));
    const StringRef leading[] = {"x", "b", "h", "position", "d"};
    const Price price =
        priceOf(root, scratch.block, scratch.block.getArguments().take_front(5), names);
    result["formula"] = formulaOf(root, scratch.block, leading, names);
    result["operations"] = asJson(price, "element");
    result["price"] = describe(price, "element");
    result["forward"] =
        "evaluates its code for every element, once per call, outside of the kernel";
    result["backward"] = "runs its reverse mode for every element, once per call";
    all.push_back(std::move(result));
  }
  return all;
}

void printPrologues(llvm::raw_ostream &os, const llvm::json::Array &prologues) {
  for (const llvm::json::Value &each : prologues) {
    const llvm::json::Object &prologue = *each.getAsObject();
    printHead(os, ("prologue of " + *prologue.getString("of")).str(), prologue);
    os << "\n    every element x becomes " << *prologue.getString("formula");
    printTail(os, prologue);
  }
}

} // namespace mlir::pe
