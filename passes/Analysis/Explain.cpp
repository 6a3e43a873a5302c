//===- Explain.cpp - descriptions of the structure of biases --------------===//

#include "passes/Analysis/Explain.h"

#include "passes/Analysis/ExplainFunctions.h"
#include "passes/Analysis/ExplainMask.h"
#include "passes/Analysis/ExplainRotation.h"
#include "passes/Analysis/ExplainTerm.h"
#include "passes/Analysis/SourceNames.h"
#include "passes/Analysis/Structure.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::pe {
namespace {

/// Returns D + Dv of an attention, or 0.
int64_t depthsOf(AttentionOp attention) {
  RankedTensorType q = attention.getQuery().getType(), v = attention.getValue().getType();
  return q.isDynamicDim(3) || v.isDynamicDim(3) ? 0 : q.getDimSize(3) + v.getDimSize(3);
}

llvm::json::Value boundOf(int64_t bound, int64_t unbounded) {
  return bound == unbounded ? llvm::json::Value(nullptr) : llvm::json::Value(bound);
}

/// Describes the terms of queries and the distance.
llvm::json::Array explainContents(func::FuncOp function, AttentionOp attention) {
  llvm::json::Array all;
  for (auto [number, value] : llvm::enumerate(attention.getContents()))
    if (auto op = value.getDefiningOp<ContentFnOp>())
      all.push_back(explainContent(function, op, attention.getQueriesOfContent(number),
                                   /*ofValues=*/false));
  return all;
}

/// Describes the stick-breaking modes beyond the keys before a query, or returns null.
llvm::json::Value explainSides(AttentionOp attention) {
  llvm::json::Object sides;
  if (attention.getAttendCurrent())
    sides["attend_current"] = true;
  if (attention.getRemainder() == Remainder::Value)
    sides["remainder"] = stringifyRemainder(attention.getRemainder());
  if (attention.getDirection() == Direction::Both)
    sides["direction"] = stringifyDirection(attention.getDirection());
  if (sides.empty())
    return nullptr;
  return sides;
}

/// Returns the description of positions that are data, or null if they follow
/// from rows and columns.
llvm::json::Value explainPositions(AttentionOp attention) {
  auto note = attention->getAttrOfType<StringAttr>(kPositionsAttr);
  return note ? llvm::json::Value(note.getValue()) : llvm::json::Value(nullptr);
}

FailureOr<llvm::json::Object> explainAttention(func::FuncOp function, AttentionOp attention,
                                               HeadDims dims) {
  int64_t depths = dims.head && dims.value ? dims.head + dims.value : 0;
  if (int64_t known = depthsOf(attention))
    depths = known;
  RankedTensorType queries = attention.getQuery().getType();
  const int64_t headDim = queries.isDynamicDim(3) ? dims.head : queries.getDimSize(3);
  FailureOr<SmallVector<TermOp>> found = termsOf(attention);
  if (failed(found))
    return failure();
  FailureOr<llvm::json::Array> masks = explainMasks(function, attention);
  FailureOr<AttentionFactors> factors = factorsOf(attention);
  if (failed(checkContents(attention)) || failed(masks) || failed(factors))
    return failure();
  DifferenceRange range = attention.getMaskRange().value_or(DifferenceRange());
  llvm::json::Array terms, dropped;
  for (TermOp term : *found)
    terms.push_back(explainTerm(function, term, attention, depths));
  if (ArrayAttr notes = attention.getDroppedAttr())
    for (auto note : notes.getAsRange<StringAttr>())
      dropped.push_back(note.getValue());
  llvm::json::Object result{
      {"location", describeLocation(attention.getLoc())},
      {"normalizer", stringifyNormalizer(attention.getNormalizer())},
      {"min_difference", boundOf(range.min, DifferenceRange::kUnboundedMin)},
      {"max_difference", boundOf(range.max, DifferenceRange::kUnboundedMax)},
      {"masks", std::move(*masks)},
      {"prologues", explainPrologues(function, attention)},
      {"rotation",
       explainRotation(function, attention, RotatedRows::QueriesAndKeys, headDim, depths)},
      {"score", explainScore(function, attention, depths)},
      {"sink", explainSink(function, attention)},
      {"sides", explainSides(attention)},
      {"dropout", explainDropout(function, factors->perPair)},
      {"positions", explainPositions(attention)},
      {"terms", std::move(terms)},
      {"dropped", std::move(dropped)}};
  if (attention.getValueRotation()) {
    RankedTensorType values = attention.getValue().getType();
    result["value_rotation"] =
        explainRotation(function, attention, RotatedRows::ValuesAndOutputs,
                        values.isDynamicDim(3) ? dims.value : values.getDimSize(3), depths);
  }
  if (Value table = attention.getPages())
    result["pages"] = namesOfCaptures(function, table)[0];
  if (llvm::json::Array contents = explainContents(function, attention); !contents.empty())
    result["contents"] = std::move(contents);
  if (llvm::json::Value factor = explainOutputFactor(function, factors->perOutput);
      factor.getAsObject())
    result["output_factor"] = std::move(factor);
  if (llvm::json::Value factor = explainFactor(function, factors->perPair, depths);
      factor.getAsObject())
    result["factor"] = std::move(factor);
  if (Value value = attention.getValueContent())
    if (auto op = value.getDefiningOp<ContentFnOp>())
      result["value_content"] = explainContent(function, op, Value(), /*ofValues=*/true);
  return result;
}

/// Describes the merge of results of attentions over parts of the keys.
llvm::json::Object explainMerge(func::FuncOp function, MergeOp merge) {
  return llvm::json::Object{
      {"class", "merge"},
      {"normalizer", stringifyNormalizer(merge.getNormalizer())},
      {"merged", llvm::json::Array(namesOfCaptures(function, merge->getOperands()))},
      {"location", describeLocation(merge.getLoc())},
      {"forward", "two weights per row, in float64, and one multiplication per element"},
      {"backward", "two sums per row, and two multiplications per element"}};
}

/// Describes an embedding of tokens.
llvm::json::Object explainEmbed(func::FuncOp function, EmbedOp embed) {
  auto op = embed.getEmbedding().getDefiningOp<EmbeddingFnOp>();
  llvm::json::Object result = describeCode(function, op);
  result["class"] = "embedding";
  result["dropout"] = explainDropout(function, embed);
  result["forward"] = "one addition per element of the tokens; values that depend only on the "
                      "position or only on the dimension are computed once per call, in float64";
  result["backward"] = op.getCaptures().empty()
                           ? "a copy"
                           : "a copy, and the sum over the batch through the reverse mode of its "
                             "code";
  return result;
}

/// Returns "all keys" or, for example, "keys with 0 <= i - j <= 127".
std::string describeKeys(const llvm::json::Object &attention) {
  std::optional<int64_t> min = attention.getInteger("min_difference");
  std::optional<int64_t> max = attention.getInteger("max_difference");
  if (!min && !max)
    return "all keys";
  return "keys with " + (min ? std::to_string(*min) + " <= " : "") + "i - j" +
         (max ? " <= " + std::to_string(*max) : "");
}

void printSides(llvm::raw_ostream &os, const llvm::json::Object &sides) {
  if (sides.getBoolean("attend_current"))
    os << "  the query's own key is included\n";
  if (sides.getString("remainder"))
    os << "  the remaining mass goes to the query's own value\n    forward: one addition per "
          "element of the output; backward: one sum per query, and one addition per element of the "
          "values\n";
  if (sides.getString("direction"))
    os << "  attends to keys on both sides\n    forward and backward: one pass over the keys "
          "before a query, one over the keys after it, and their mean\n";
}

void printMerge(llvm::raw_ostream &os, const llvm::json::Object &merge) {
  llvm::ListSeparator comma;
  os << "merge of ";
  for (const llvm::json::Value &name : *merge.getArray("merged"))
    os << comma << *name.getAsString();
  os << "\n    at " << *merge.getString("location") << ", results of "
     << *merge.getString("normalizer")
     << "\n    class: merge\n    forward: " << *merge.getString("forward")
     << "; backward: " << *merge.getString("backward") << "\n";
}

void printAttention(llvm::raw_ostream &os, const llvm::json::Object &attention) {
  os << "attention at " << *attention.getString("location") << ": "
     << *attention.getString("normalizer") << ", " << describeKeys(attention) << "\n";
  printMasks(os, *attention.getArray("masks"));
  printPrologues(os, *attention.getArray("prologues"));
  for (StringRef name : {"rotation", "value_rotation"})
    if (const llvm::json::Object *rotation = attention.getObject(name))
      printRotation(os, *rotation);
  const llvm::json::Array &terms = *attention.getArray("terms");
  if (const llvm::json::Object *score = attention.getObject("score"))
    printScore(os, *score);
  if (const llvm::json::Array *contents = attention.getArray("contents"))
    for (const llvm::json::Value &content : *contents)
      printContent(os, *content.getAsObject(), "content");
  if (const llvm::json::Object *content = attention.getObject("value_content"))
    printContent(os, *content, "value content");
  if (const llvm::json::Object *sink = attention.getObject("sink"))
    printSink(os, *sink);
  if (const llvm::json::Object *factor = attention.getObject("factor"))
    printFactor(os, *factor);
  if (const llvm::json::Object *factor = attention.getObject("output_factor"))
    printOutputFactor(os, *factor);
  if (std::optional<StringRef> positions = attention.getString("positions"))
    os << "  positions: " << *positions << "; data of tokens is read at the row and the column\n";
  if (std::optional<StringRef> table = attention.getString("pages"))
    os << "  keys and values in the pages of '" << *table
       << "': in f32 a block of keys inside one page is read in place, and other blocks are copied "
          "once per head\n";
  printDropout(os, attention.getObject("dropout"), "weights", "score");
  if (const llvm::json::Object *sides = attention.getObject("sides"))
    printSides(os, *sides);
  if (terms.empty())
    os << "  no bias\n";
  for (const llvm::json::Value &term : terms)
    printTerm(os, *term.getAsObject());
  for (const llvm::json::Value &note : *attention.getArray("dropped"))
    os << "  dropped: " << *note.getAsString() << "\n";
}

void printEmbed(llvm::raw_ostream &os, const llvm::json::Object &embed) {
  os << "embedding " << *embed.getString("formula");
  printSource(os, embed);
  printData(os, embed);
  os << "\n    class: embedding\n    forward: " << *embed.getString("forward")
     << "; backward: " << *embed.getString("backward") << "\n";
  printDropout(os, embed.getObject("dropout"), "sums", "number");
}

} // namespace

FailureOr<llvm::json::Value> explainStructureAsJson(func::FuncOp function, HeadDims dims) {
  llvm::json::Array attentions;
  WalkResult walk = function.walk([&](AttentionOp attention) {
    FailureOr<llvm::json::Object> explained = explainAttention(function, attention, dims);
    if (failed(explained))
      return WalkResult::interrupt();
    attentions.push_back(std::move(*explained));
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  llvm::json::Object result{{"attentions", std::move(attentions)}};
  llvm::json::Array embeddings;
  for (auto embed : function.getOps<EmbedOp>())
    embeddings.push_back(explainEmbed(function, embed));
  if (!embeddings.empty())
    result["embeddings"] = std::move(embeddings);
  llvm::json::Array merges;
  for (auto merge : function.getOps<MergeOp>())
    merges.push_back(explainMerge(function, merge));
  if (!merges.empty())
    result["merges"] = std::move(merges);
  return llvm::json::Value(std::move(result));
}

FailureOr<std::string> explainStructure(func::FuncOp function, HeadDims dims) {
  FailureOr<llvm::json::Value> data = explainStructureAsJson(function, dims);
  if (failed(data))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const llvm::json::Value &attention : *data->getAsObject()->getArray("attentions"))
    printAttention(stream, *attention.getAsObject());
  if (const llvm::json::Array *embeddings = data->getAsObject()->getArray("embeddings"))
    for (const llvm::json::Value &embed : *embeddings)
      printEmbed(stream, *embed.getAsObject());
  if (const llvm::json::Array *merges = data->getAsObject()->getArray("merges"))
    for (const llvm::json::Value &merge : *merges)
      printMerge(stream, *merge.getAsObject());
  return text;
}

} // namespace mlir::pe
