//===- PEAttention.cpp - Constraints of attention -------------------------===//

#include "dialect/PE/PEAttention.h"

#include "dialect/PE/PEContents.h"
#include "dialect/PE/PEDropout.h"
#include "dialect/PE/PEScores.h"
#include "dialect/PE/PESignature.h"
#include "dialect/PE/PEWeights.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pe;

/// An example of types, for messages.
static constexpr StringLiteral kMergeTypes = "(!o, !lse, !o, !lse) -> !o, !lse";

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

/// Parses %first, %first_lse, %second, %second_lse sink(%s : type)?.
static ParseResult parseMergeOperands(OpAsmParser &parser, UnresolvedOperand &first,
                                      UnresolvedOperand &firstLse, UnresolvedOperand &second,
                                      UnresolvedOperand &secondLse,
                                      std::optional<UnresolvedOperand> &sink, Type &sinkType) {
  constexpr StringRef form = "pe.merge %o1, %lse1, %o2, %lse2";
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLParen()))
    return parser.emitError(loc) << "expected four values without parentheses, as in " << form;
  SmallVector<UnresolvedOperand> operands;
  if (parser.parseOperandList(operands))
    return failure();
  if (operands.size() != 4)
    return parser.emitError(loc) << "expected four values, the output and the log-sum-exp of one "
                                    "call and of another, found "
                                 << operands.size() << "; write " << form
                                 << (operands.size() > 4
                                         ? ", and merge further calls with its results"
                                         : "");
  first = operands[0], firstLse = operands[1], second = operands[2], secondLse = operands[3];
  SMLoc clause = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    return success();
  if (!beginsClause(clause, word))
    return reportMissingTypes(parser, kMergeTypes);
  if (word != "sink")
    return parser.emitError(clause)
           << "expected sink(...), attributes or ':' with the types, found '" << word
           << "'; other clauses belong to the calls of pe.attention that are merged";
  if (parser.parseLParen() || parser.parseOperand(sink.emplace()))
    return failure();
  SMLoc end = parser.getCurrentLocation();
  if (failed(parser.parseOptionalColon()))
    return parser.emitError(end)
           << "expected ':' and the type of the sinks, as in sink(%s : tensor<?xf32>)";
  return failure(parser.parseType(sinkType) || parser.parseRParen());
}

static void printMergeOperands(OpAsmPrinter &printer, Operation *, Value first, Value firstLse,
                               Value second, Value secondLse, Value sink, Type sinkType) {
  printer << first << ", " << firstLse << ", " << second << ", " << secondLse;
  if (sink)
    printer << " sink(" << sink << " : " << sinkType << ")";
}

static ParseResult parseMergeTypes(OpAsmParser &parser, Type &first, Type &firstLse, Type &second,
                                   Type &secondLse, Type &output, Type &lse) {
  constexpr auto row = SignaturePart::Kind::LogSumExp;
  static constexpr SignaturePart operands[] = {{"the first output"},
                                               {"the first log-sum-exp", row},
                                               {"the second output"},
                                               {"the second log-sum-exp", row}};
  static constexpr SignaturePart results[] = {{"the output"}, {"the log-sum-exp", row}};
  static constexpr StringRef clauses[] = {"sink"};
  return parseSignature(parser, {"pe.merge", kMergeTypes, operands, results, clauses},
                        {&first, &firstLse, &second, &secondLse, &output, &lse});
}

static void printMergeTypes(OpAsmPrinter &printer, Operation *, Type first, Type firstLse,
                            Type second, Type secondLse, Type output, Type lse) {
  printSignature(printer, {first, firstLse, second, secondLse}, {output, lse});
}

#define GET_OP_CLASSES
#include "dialect/PE/PEAttention.cpp.inc"

double AttentionOp::getScaleFor(int64_t headDim) {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  const auto depth = static_cast<double>(headDim);
  return 1.0 / (getScaleByDepth() ? depth : std::sqrt(depth));
}

std::optional<DifferenceRange> AttentionOp::getMaskRange() {
  return getMask() ? getDifferenceRange(getMask()) : DifferenceRange();
}

DifferenceRange AttentionOp::getPairRange() {
  std::optional<DifferenceRange> known = getMaskRange();
  DifferenceRange range = known ? *known : DifferenceRange{.exact = false};
  if (traitsOf(getNormalizer()).isOrdered && getDirection() == Direction::Before)
    range.min = std::max<int64_t>(range.min, getAttendCurrent() ? 0 : 1);
  return range;
}

bool AttentionOp::readsPositions() {
  if (traitsOf(getNormalizer()).isOrdered || getMask() || !getBiases().empty() ||
      !getPrologues().empty() || getRotation() || getValueRotation() || !getContents().empty() ||
      getValueContent() || getDropped()) // a bias, before it was simplified
    return true;
  auto readsPosition = [](Value function, unsigned query, unsigned count) {
    Operation *op = function.getDefiningOp();
    if (!isa_and_nonnull<ScoreFnOp, FactorFnOp, SinkFnOp>(op))
      return true;
    ValueRange arguments = op->getRegion(0).getArguments();
    return llvm::any_of(arguments.slice(query, count), [](Value v) { return !v.use_empty(); });
  };
  // s, b, h, i, j; b, h, i; b, h, i, j
  return (getScore() && readsPosition(getScore(), 3, 2)) ||
         (getSink() && !getLogits() && readsPosition(getSink(), 2, 1)) ||
         llvm::any_of(getFactors(), [&](Value factor) { return readsPosition(factor, 2, 2); });
}

TypedValue<RankedTensorType> AttentionOp::getLogits() {
  return dyn_cast_if_present<TypedValue<RankedTensorType>>(getSink());
}

Value AttentionOp::getQueriesOfContent(unsigned number) {
  return getContentQueries().empty() ? Value() : getContentQueries()[number];
}

bool AttentionOp::isShiftInvariant() {
  return traitsOf(getNormalizer()).isShiftInvariant && !getSink();
}

namespace {
/// A size that two operands must share.
struct SharedSize {
  StringRef what, label;
  StringRef firstName, secondName;
  RankedTensorType first, second;
  unsigned firstDim, secondDim;
};
} // namespace

static LogicalResult verifySharedSize(AttentionOp op, const SharedSize &size) {
  int64_t expected = size.first.getDimSize(size.firstDim);
  int64_t found = size.second.getDimSize(size.secondDim);
  if (ShapedType::isDynamic(expected) || ShapedType::isDynamic(found) || expected == found)
    return success();
  return op.emitOpError("expected ")
         << size.what << " of " << size.secondName << " to match the " << expected << " of "
         << size.firstName << ", found " << found << " (" << size.label << ")";
}

static LogicalResult verifySizes(AttentionOp op) {
  RankedTensorType q = op.getQuery().getType(), k = op.getKey().getType();
  RankedTensorType v = op.getValue().getType(), o = op.getOutput().getType();
  SmallVector<SharedSize> sizes = {
      {"the batch", "attention-C1", "the query", "the result", q, o, 0, 0},
      {"the heads", "attention-C2", "the query", "the result", q, o, 1, 1},
      {"the head dim", "attention-C4", "the query", "the key", q, k, 3, 3},
      {"the head dim", "attention-C4", "the value", "the result", v, o, 3, 3},
      {"the length", "attention-C5", "the query", "the result", q, o, 2, 2}};
  if (op.getPages()) {
    auto table = cast<RankedTensorType>(op.getPages().getType());
    sizes.append({{"the batch", "pages-C1", "the query", "the table of pages", q, table, 0, 0},
                  {"the number of pages", "pages-C1", "the key", "the value", k, v, 0, 0},
                  {"the size of a page", "pages-C1", "the key", "the value", k, v, 1, 1},
                  {"the heads", "attention-C2", "the key", "the value", k, v, 2, 2}});
  } else {
    sizes.append({{"the batch", "attention-C1", "the query", "the key", q, k, 0, 0},
                  {"the batch", "attention-C1", "the query", "the value", q, v, 0, 0},
                  {"the heads", "attention-C2", "the key", "the value", k, v, 1, 1},
                  {"the length", "attention-C5", "the key", "the value", k, v, 2, 2}});
  }
  if (op.getLse()) {
    auto lse = cast<RankedTensorType>(op.getLse().getType());
    const StringRef names[] = {"the batch", "the heads", "the length"};
    for (unsigned dim = 0; dim < 3; ++dim)
      sizes.push_back(
          {names[dim], "attention-C6", "the query", "the log-sum-exp", q, lse, dim, dim});
  }
  for (const SharedSize &size : sizes)
    if (failed(verifySharedSize(op, size)))
      return failure();
  return success();
}

static LogicalResult verifyStatistic(AttentionOp op) {
  if (!op.getLse() || !traitsOf(op.getNormalizer()).statistic.empty())
    return success();
  return op.emitOpError("expected one result under ") // normalizer-C1
         << stringifyNormalizer(op.getNormalizer()) << ", found two; only " << namesWithStatistic()
         << " has a second one, which merges calls over parts of the keys (normalizer-C1)";
}

static LogicalResult verifySink(AttentionOp op) {
  if (!op.getSink())
    return success();
  if (StringRef reason = traitsOf(op.getNormalizer()).noSink; !reason.empty()) // sink-C1
    return op.emitOpError("expected no sink(...) under ")
           << stringifyNormalizer(op.getNormalizer()) << ", " << reason << " (sink-C1)";
  if (!op.getLogits())
    return success();
  return verifySharedSize(op, {"the heads", "sink-C2", "the query", "the sinks",
                               op.getQuery().getType(), op.getLogits().getType(), 1, 0});
}

/// Verifies the attributes of stick-breaking and the order of keys that it requires. The order is
/// not checked if the mask is a block argument.
static LogicalResult verifyStickBreaking(AttentionOp op) {
  const bool isBoth = op.getDirection() == Direction::Both;
  const char *ownKey = op.getAttendCurrent()                   ? "attend_current"
                       : op.getRemainder() == Remainder::Value ? "remainder = #pe.remainder<value>"
                                                               : nullptr;
  if (op.getNormalizer() != Normalizer::StickBreaking) {
    if (isBoth || ownKey) // stick_breaking-C1
      return op.emitOpError("expected ")
             << (ownKey ? ownKey : "direction = #pe.direction<both>")
             << " only under stick_breaking, found it under "
             << stringifyNormalizer(op.getNormalizer()) << " (stick_breaking-C1)";
    return success();
  }
  if (isBoth && op.getLse()) // stick_breaking-C2
    return op.emitOpError("expected one result under direction = #pe.direction<both>, which has a "
                          "remaining mass on each side, found two (stick_breaking-C2)");
  std::optional<DifferenceRange> range = op.getMaskRange();
  if (!range)
    return success();
  if (!isBoth && !range->isCausal()) // attention-C9
    return op.emitOpError("expected a mask that implies j <= i for stick_breaking, found ")
           << (op.getMask() ? "one that allows later keys" : "none")
           << "; without an order of the keys its product is undefined, use mask(%m) with "
              "pe.causal, or direction = #pe.direction<both> (attention-C9)";
  if (isBoth && (range->min >= 0 || range->max <= 0)) // stick_breaking-C3
    return op.emitOpError("expected a mask that allows keys on both sides of a query for direction "
                          "= #pe.direction<both>, found one without ")
           << (range->min >= 0 ? "later" : "earlier") << " keys (stick_breaking-C3)";
  if (ownKey && !range->contains(0)) // stick_breaking-C4
    return op.emitOpError("expected a mask that allows a query's own key, j = i, for ")
           << ownKey << ", found a mask that never does; use pe.causal (stick_breaking-C4)";
  if (isBoth && !op.getContents().empty()) // stick_breaking-C5
    return op.emitOpError(
        "expected no content(...) under direction = #pe.direction<both>, found one; "
        "add a term that depends only on i - j as a bias (stick_breaking-C5)");
  return success();
}

static LogicalResult verifyValueContent(AttentionOp op) {
  if (!op.getValueContent())
    return success();
  if (!traitsOf(op.getNormalizer()).takesVectors) // value_content-C1
    return op.emitOpError("expected no value_content(...) under ")
           << stringifyNormalizer(op.getNormalizer())
           << ", found one; it is added only to the output of softmax (value_content-C1)";
  auto content = op.getValueContent().getDefiningOp<ContentFnOp>();
  if (content && (content.getShift() || content.getProjection())) // value_content-C2
    return op.emitOpError("expected a value_content(...) without ")
           << (content.getShift() ? "shift(...)" : "project(...)")
           << ", which applies to queries, found one with it (value_content-C2)";
  if (content && (content.getExtent() || content.getFactor())) // value_content-C3
    return op.emitOpError("expected a value_content(...) without ")
           << (content.getExtent() ? "extent(...)" : "times(...)")
           << ", which belongs to scores, found one with it (value_content-C3)";
  return success();
}

/// Verifies the tensors of query(...).
static LogicalResult verifyContentQueries(AttentionOp op) {
  OperandRange queries = op.getContentQueries();
  if (queries.empty())
    return success();
  if (queries.size() != op.getContents().size()) // query-C1
    return op.emitOpError("expected one tensor in query(...) per content term, found ")
           << queries.size() << " for " << op.getContents().size() << " (query-C1)";
  for (auto [content, value] : llvm::zip_equal(op.getContents(), queries)) {
    RankedTensorType q = op.getQuery().getType(), r = cast<RankedTensorType>(value.getType());
    const StringRef names[] = {"the batch", "the heads", "the length"};
    for (unsigned dim = 0; dim < 3; ++dim)
      if (failed(verifySharedSize(op, {names[dim], "query-C2", "the query",
                                       "the tensor in query(...)", q, r, dim, dim})))
        return failure();
    const int64_t depth = r.getDimSize(3);
    if (depth % 8 != 0 || depth < 8 || depth > kMostContentDepth) // query-C3
      return op.emitOpError("expected a known depth from 8 to ")
             << kMostContentDepth << ", a multiple of 8, of the tensor in query(...), found " << r
             << "; pad r and the vectors with zeros (query-C3)";
    auto function = content.getDefiningOp<ContentFnOp>();
    if (function && (function.getShift() || function.getProjection())) // query-C4
      return op.emitOpError("expected a content term without ")
             << (function.getShift() ? "shift(...)" : "project(...)")
             << " together with query(...), found one with it; apply it to the given tensor "
                "(query-C4)";
  }
  return success();
}

static LogicalResult verifyPositions(AttentionOp op) {
  Value queries = op.getQueryPositions(), keys = op.getKeyPositions();
  if (static_cast<bool>(queries) != static_cast<bool>(keys)) // positions-C1
    return op.emitOpError("expected positions of both queries and keys, found only those of the ")
           << (queries ? "queries" : "keys") << " (positions-C1)";
  if (!queries)
    return success();
  if (traitsOf(op.getNormalizer()).isOrdered) // positions-C2
    return op.emitOpError("expected no positions(...) under ")
           << stringifyNormalizer(op.getNormalizer())
           << ", which uses the keys in the order of their rows (positions-C2)";
  if (StringRef clause = op.findClauseOfRows(); !clause.empty()) // positions-C3
    return op.emitOpError("expected no ")
           << clause
           << "(...) together with positions(...), found one; rotate(...) and bias(...) read the "
              "positions (positions-C3)";
  for (auto [what, value, activations] :
       {std::tuple<StringRef, Value, RankedTensorType>("query", queries, op.getQuery().getType()),
        {"key", keys, op.getKey().getType()}})
    for (auto [name, dim, from] :
         {std::tuple<StringRef, int, int>("batch", 0, 0), {"length", 1, 2}})
      if (!(value == keys && op.getPages()) && // a call knows the number of keys
          failed(verifySharedSize(op, {("the " + name).str(), "positions-C4", ("the " + what).str(),
                                       ("the positions of the " + what).str(), activations,
                                       cast<RankedTensorType>(value.getType()),
                                       static_cast<unsigned>(from), static_cast<unsigned>(dim)})))
        return failure();
  return success();
}

static LogicalResult verifyRotatedKeys(AttentionOp op) {
  if (!op.getRotatedKeys())
    return success();
  if (!op.getRotation()) // rotated_keys-C1
    return op.emitOpError("expected rotate(...) together with rotated_keys, found none; without a "
                          "rotation, omit rotated_keys (rotated_keys-C1)");
  if (!op.getPrologues().empty()) // rotated_keys-C2
    return op.emitOpError("expected no prologue(...) together with rotated_keys, which takes the "
                          "keys as they are, found one (rotated_keys-C2)");
  return success();
}

static LogicalResult verifyValueRotation(AttentionOp op) {
  if (!op.getValueRotation())
    return success();
  if (op.getValueContent()) // rotate_values-C1
    return op.emitOpError("expected no value_content(...) together with rotate_values(...), found "
                          "one; the output's rotation would also turn its vectors of the distance "
                          "(rotate_values-C1)");
  if (op.getPages()) // rotate_values-C2
    return op.emitOpError("expected no pages(...) together with rotate_values(...), found pages; "
                          "their values are read as they are (rotate_values-C2)");
  auto rotation = op.getValueRotation().getDefiningOp<RotationOpInterface>();
  if (rotation && llvm::any_of(rotation->getOperandTypes(), [](Type type) {
        return isa<FloatType>(getElementTypeOrSelf(type));
      })) // rotate_values-C3
    return op.emitOpError("expected a rotation of values without a learned base, captures or "
                          "tables, found one with them (rotate_values-C3)");
  return success();
}

static LogicalResult verifyPages(AttentionOp op) {
  if (!op.getPages())
    return success();
  const int64_t page = op.getKey().getType().getDimSize(1);
  if (page == 0) // pages-C2
    return op.emitOpError("expected pages of at least one key, found 0 (pages-C2)");
  if (op.getRotation() && !op.getRotatedKeys()) // pages-C3
    return op.emitOpError("expected rotated_keys together with rotate(...) and pages(...), found "
                          "keys to rotate; keep rotated keys in the pages, so that a call reads "
                          "them once (pages-C3)");
  if (!op.getPrologues().empty()) // pages-C4
    return op.emitOpError(
        "expected no prologue(...) together with pages(...), which reads the keys "
        "as they are, found one (pages-C4)");
  if (op.getRemainder() == Remainder::Value) // pages-C5
    return op.emitOpError(
        "expected remainder = #pe.remainder<drop> together with pages(...), found "
        "value; the query's own value is read as a row of a tensor (pages-C5)");
  return success();
}

LogicalResult AttentionOp::verify() {
  RankedTensorType q = getQuery().getType(), k = getKey().getType();
  if (failed(verifySizes(*this)))
    return failure();
  const unsigned axis = getKeyHeadAxis();
  int64_t heads = q.getDimSize(1), keyHeads = k.getDimSize(axis);
  if (!q.isDynamicDim(1) && !k.isDynamicDim(axis) &&
      (keyHeads == 0 ? heads != 0 : heads % keyHeads != 0)) // attention-C3
    return emitOpError("expected the query heads to be a multiple of the ")
           << keyHeads << " key heads, found " << heads << " (attention-C3)";
  for (auto [name, type] : {std::pair<StringRef, RankedTensorType>("key", k),
                            {"value", getValue().getType()},
                            {"result", getOutput().getType()}})
    if (type.getElementType() != q.getElementType()) // attention-C7
      return emitOpError("expected the ")
             << name << " to hold " << q.getElementType() << " like the query, found "
             << type.getElementType() << " (attention-C7)";
  std::optional<APFloat> scale = getScale();
  if (scale && !isFiniteInF32(scale->convertToDouble())) // attention-C8
    return emitOpError("expected a scale that is finite in f32, found ")
           << scale->convertToDouble() << " (attention-C8)";
  if (failed(verifyStickBreaking(*this)) || failed(verifyStatistic(*this)) ||
      failed(verifySink(*this)) ||
      failed(verifyDropout(*this, getDropout(), getSeed(), {getQuery().getType(), "the query"})) ||
      failed(verifyContentQueries(*this)) || failed(verifyValueContent(*this)) ||
      failed(verifyPositions(*this)) || failed(verifyRotatedKeys(*this)) ||
      failed(verifyValueRotation(*this)) || failed(verifyPages(*this)))
    return failure();
  for (auto [value, dims] : {std::pair<Value, int64_t>(getRotation(), q.getDimSize(3)),
                             {getValueRotation(), getValue().getType().getDimSize(3)}})
    if (auto rotation = value && !ShapedType::isDynamic(dims)
                            ? value.getDefiningOp<RotationOpInterface>()
                            : RotationOpInterface())
      if (failed(rotation.verifyHeadDim(dims, [this] { return emitOpError(); })))
        return failure();
  return success();
}
