//===- Explain.cpp - descriptions of the structure of biases --------------===//

#include "passes/Analysis/Explain.h"

#include "passes/Analysis/ContentClass.h"
#include "passes/Analysis/ExplainMask.h"
#include "passes/Analysis/ExplainRotation.h"
#include "passes/Analysis/Formula.h"
#include "passes/Analysis/Price.h"
#include "passes/Analysis/ScoreFactor.h"
#include "passes/Analysis/Structure.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::pe {
namespace {

struct Cost {
  StringRef forward, backward;
};

/// Returns the piecewise function of a term of class segments, or null.
PiecewiseOpInterface piecewiseOf(TermOp term) {
  return term.getTermClass() == TermClass::Segments
             ? term.getPartValue(TermPart::Piece).getDefiningOp<PiecewiseOpInterface>()
             : PiecewiseOpInterface();
}

/// Returns the error bound of a term in logits, or null if it is exact.
llvm::json::Value toleranceOf(TermOp term) {
  PiecewiseOpInterface piecewise = piecewiseOf(term);
  return piecewise && piecewise.getDegree().value_or(0) > 1
             ? llvm::json::Value(piecewise.getLogitTolerance())
             : llvm::json::Value(nullptr);
}

Cost costOf(TermOp term, bool isShiftInvariant) {
  switch (term.getTermClass()) {
  case TermClass::Row:
    if (isShiftInvariant)
      return {"nothing per score: softmax is unchanged by a constant added to a row",
              "nothing per score"};
    return {"one addition per score: a value per query", "one sum per query"};
  case TermClass::Column:
    return {"one addition per score: a value per key", "one sum per key"};
  case TermClass::RowColumn:
    return {"one addition per score: a value per query plus a value per key",
            isShiftInvariant ? "one sum per key" : "one sum per query and one per key"};
  case TermClass::Affine:
    return {"one addition per score: a multiple of i - j", "one sum per distance"};
  case TermClass::Distance:
    return {"one addition per score from a table over i - j, built once per call",
            "one sum per distance, then the table's reverse mode"};
  case TermClass::Segments:
    if (piecewiseOf(term).getDegree().value_or(0) > 1)
      return {"a cubic per score and per kink inside a block of scores, found once per call; its "
              "code is evaluated for every score if that needs too many pieces",
              "four sums per piece and the coordinate's factors, then reverse mode inside pieces"};
    return {"one multiply-add per score and per kink inside a block of scores, found once per call",
            "two sums per segment and the coordinate's factors, then reverse mode inside segments"};
  case TermClass::General:
    return {"evaluates its code for every score", "runs its reverse mode for every score"};
  }
  llvm_unreachable("all classes are listed");
}

/// Returns the names of the function arguments that a term reads.
SmallVector<std::string> parametersOf(func::FuncOp function, TermOp term) {
  SmallVector<std::string> names;
  for (Value capture : term.getCaptures())
    if (isa<BlockArgument>(capture))
      names.push_back(nameOfCapture(function, capture));
  return names;
}

/// Returns the cost of a term per pair: for class general, that of its code.
Price priceOfTerm(func::FuncOp function, TermOp term, bool isShiftInvariant) {
  const auto fixed = [](int64_t all) { return Price(Operations{all, 0}); };
  switch (term.getTermClass()) {
  case TermClass::Row:
    return fixed(isShiftInvariant ? 0 : 1);
  case TermClass::RowColumn:
    return fixed(2);
  case TermClass::Column:
  case TermClass::Affine:
  case TermClass::Distance:
    return fixed(1);
  case TermClass::Segments:
    return fixed(2 * std::max<int64_t>(piecewiseOf(term).getDegree().value_or(1), 1));
  case TermClass::General: {
    Block &pair = term.getPart(TermPart::Pair);
    SmallVector<std::string> names = llvm::map_to_vector(
        term.getCaptures(), [&](Value capture) { return nameOfCapture(function, capture); });
    return priceOf(term.getPartValue(TermPart::Pair), pair, pair.getArgument(3), names);
  }
  }
  llvm_unreachable("all classes are listed");
}

/// Returns D + Dv of an attention, or 0.
int64_t depthsOf(AttentionOp attention) {
  RankedTensorType q = attention.getQuery().getType(), v = attention.getValue().getType();
  return q.isDynamicDim(3) || v.isDynamicDim(3) ? 0 : q.getDimSize(3) + v.getDimSize(3);
}

/// Returns advice on how to make a general term cheaper; empty for the other classes.
StringRef adviceFor(TermOp term) {
  if (term.getTermClass() != TermClass::General)
    return "";
  return "for a lower price, write it as a sum of functions of only i - j (tables), of only i or "
         "only j (one value per row or column), or as a network of u(i - j) * r(i) (segments)";
}

llvm::json::Value boundOf(int64_t bound, int64_t unbounded) {
  return bound == unbounded ? llvm::json::Value(nullptr) : llvm::json::Value(bound);
}

/// Returns all locations that a term was merged from.
std::string describePlaces(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return describeLocation(loc);
  SmallVector<std::string> places;
  for (Location inner : fused.getLocations())
    if (std::string place = describeLocation(inner); !llvm::is_contained(places, place))
      places.push_back(place);
  return llvm::join(places, " and ");
}

/// Describes the axes of the arguments among `captures`, such as "f[batch, key]", if specified.
llvm::json::Array describeAxes(func::FuncOp function, ValueRange captures) {
  llvm::json::Array all;
  for (Value capture : captures) {
    auto argument = dyn_cast<BlockArgument>(capture);
    auto axes = argument ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "pe.axes")
                         : ArrayAttr();
    if (axes)
      all.push_back(nameOfCapture(function, capture) + "[" +
                    llvm::join(axes.getAsValueRange<StringAttr>(), ", ") + "]");
  }
  return all;
}

llvm::json::Object explainTerm(func::FuncOp function, TermOp term, AttentionOp attention,
                               int64_t depths) {
  Cost cost = costOf(term, attention.isShiftInvariant());
  const Price price = priceOfTerm(function, term, attention.isShiftInvariant());
  llvm::json::Array parameters;
  for (const std::string &name : parametersOf(function, term))
    parameters.push_back(name);
  return llvm::json::Object{{"class", stringifyTermClass(term.getTermClass())},
                            {"reason", term.getReason()},
                            {"tolerance", toleranceOf(term)},
                            {"formula", term.getFormula()},
                            {"parameters", std::move(parameters)},
                            {"data", describeAxes(function, term.getCaptures())},
                            {"location", describePlaces(term.getLoc())},
                            {"price", describe(price, "score", depths)},
                            {"operations", asJson(price, "score")},
                            {"advice", adviceFor(term)},
                            {"forward", cost.forward},
                            {"backward", cost.backward}};
}

/// A price is per `per` for the code that reads one of these values.
struct PriceLevel {
  SmallVector<Value> inner;
  StringRef per;
};

/// The levels of code that is evaluated for pairs: code that reads nothing of a pair is evaluated
/// once per row, code that reads nothing of a row once per head. `query` is the row's position, the
/// argument after the head.
SmallVector<PriceLevel> levelsOf(SmallVector<Value> ofPair, StringRef per, BlockArgument query) {
  Block &body = *query.getOwner();
  const unsigned n = query.getArgNumber();
  return {{std::move(ofPair), per},
          {{query}, "query"},
          {{body.getArgument(n - 2), body.getArgument(n - 1)}, "head"}};
}

/// The formula of scalar code, its parameters, where it is written, and its price at the first of
/// `levels` that has one.
llvm::json::Object explainRegion(func::FuncOp function, Operation *op, ArrayRef<PriceLevel> levels,
                                 int64_t depths) {
  SmallVector<std::string> captures;
  llvm::json::Array parameters;
  for (Value capture : op->getOperands()) {
    captures.push_back(nameOfCapture(function, capture));
    parameters.push_back(captures.back());
  }
  Block &body = op->getRegion(0).front();
  Value root = cast<YieldOp>(body.getTerminator()).getValues()[0];
  Price price = priceOf(root, body, levels.front().inner, captures);
  StringRef per = levels.front().per;
  for (const PriceLevel &level : levels.drop_front())
    if (price.isZero()) {
      price = priceOf(root, body, level.inner, captures);
      per = level.per;
    }
  return llvm::json::Object{{"formula", formulaOf(root, body, captures)},
                            {"parameters", std::move(parameters)},
                            {"data", describeAxes(function, op->getOperands())},
                            {"location", describePlaces(op->getLoc())},
                            {"operations", asJson(price, per)},
                            {"price", describe(price, per, depths)}};
}

/// Describes the function of the score, or returns null.
llvm::json::Value explainScore(func::FuncOp function, AttentionOp attention, int64_t depths) {
  auto score = attention.getScore() ? attention.getScore().getDefiningOp<ScoreFnOp>() : ScoreFnOp();
  if (!score)
    return nullptr;
  Block &body = score.getBody().front();
  const bool inQueries = isQueryFactor(score);
  const PriceLevel ofQuery = {llvm::to_vector_of<Value>(body.getArguments().take_front(5)),
                              "query"};
  llvm::json::Object result =
      inQueries ? explainRegion(function, score, ofQuery, 0)
                : explainRegion(function, score,
                                levelsOf({body.getArgument(0), body.getArgument(4)}, "score",
                                         body.getArgument(3)),
                                depths);
  result["in_queries"] = inQueries;
  return result;
}

/// Returns the cost of a content term, by its class.
Cost costOf(const ContentStructure &structure, bool ofValues) {
  switch (structure.cls) {
  case ContentClass::Near:
    if (ofValues)
      return {"a sum of weights per query and vector, and one product with each vector per query",
              "the products of an output's cotangent with these vectors, once per query, one "
              "addition per weight, and one sum per query and vector"};
    return {
        "the products of a query with these vectors, once per query, and one addition per score",
        "one sum per query and vector"};
  case ContentClass::Angles:
    return {"one more contraction over the head dim, of rotated queries with features of the keys",
            "one more contraction over the keys"};
  case ContentClass::Panel:
    if (ofValues)
      return {"not built yet", "not built yet"};
    return {"one more contraction over the head dim, of queries with the vectors of the distances "
            "that a block covers",
            "two more contractions, for the queries and for the vectors"};
  }
  llvm_unreachable("all classes are listed");
}

llvm::json::Object explainContent(func::FuncOp function, ContentFnOp op, DifferenceRange range,
                                  bool ofValues) {
  SmallVector<std::string> captures;
  for (Value capture : op.getCaptures())
    captures.push_back(nameOfCapture(function, capture));
  llvm::json::Array parameters;
  for (Value operand : op->getOperands())
    parameters.push_back(nameOfCapture(function, operand));
  const ContentStructure structure = classifyContent(op, range);
  const Cost cost = costOf(structure, ofValues);
  Block &body = op.getBody().front();
  Value root = cast<YieldOp>(body.getTerminator()).getValues()[0];
  return llvm::json::Object{{"class", stringify(structure.cls)},
                            {"reason", structure.reason},
                            {"formula", formulaOf(root, body, captures)},
                            {"parameters", std::move(parameters)},
                            {"location", describePlaces(op.getLoc())},
                            {"forward", cost.forward},
                            {"backward", cost.backward}};
}

/// Describes the terms of queries and the distance.
llvm::json::Array explainContents(func::FuncOp function, AttentionOp attention,
                                  DifferenceRange range) {
  llvm::json::Array all;
  for (Value value : attention.getContents())
    if (auto op = value.getDefiningOp<ContentFnOp>())
      all.push_back(explainContent(function, op, range, /*ofValues=*/false));
  return all;
}

/// Describes the logits that join the denominator: a parameter with one per head, or a formula;
/// null if there are none.
llvm::json::Value explainSink(func::FuncOp function, AttentionOp attention) {
  auto sink = attention.getSink() ? attention.getSink().getDefiningOp<SinkFnOp>() : SinkFnOp();
  if (!sink)
    return nullptr;
  if (Value logits = sink.getLogits())
    return llvm::json::Object{{"parameter", nameOfCapture(function, logits)}};
  const PriceLevel ofQuery = {llvm::to_vector_of<Value>(sink.getBody().front().getArguments()),
                              "query"};
  return explainRegion(function, sink, ofQuery, 0);
}

/// Returns the factor on weights, which may consist of a single draw.
FactorFnOp factorOf(AttentionOp attention) {
  return attention.getFactors().empty() ? FactorFnOp()
                                        : attention.getFactors()[0].getDefiningOp<FactorFnOp>();
}

/// Describes the deterministic factor on the weights; null if there is none (dropout excluded).
llvm::json::Value explainFactor(func::FuncOp function, AttentionOp attention, int64_t depths) {
  FactorFnOp factor = factorOf(attention);
  if (!factor ||
      factor.getBody().front().front().getNextNode() == factor.getBody().front().getTerminator())
    return nullptr;
  Block &body = factor.getBody().front();
  return explainRegion(function, factor,
                       levelsOf({body.getArgument(3)}, "weight", body.getArgument(2)), depths);
}

/// Describes the dropout of weights, or returns null. The last draw is that of the dropout clause.
llvm::json::Value explainDropout(func::FuncOp function, AttentionOp attention) {
  FactorFnOp factor = factorOf(attention);
  SmallVector<DropoutFactorOp> draws = factor ? factor.getDraws() : SmallVector<DropoutFactorOp>();
  if (draws.empty())
    return nullptr;
  return llvm::json::Object{{"probability", draws.back().getProbability().convertToDouble()},
                            {"seed", nameOfCapture(function, factor.getSeed(draws.back()))}};
}

/// Describes the dropout of tokens, or returns null.
llvm::json::Value explainDropout(func::FuncOp function, EmbedOp op) {
  if (!op.getSeed())
    return nullptr;
  return llvm::json::Object{{"probability", op.getDropout()->convertToDouble()},
                            {"seed", nameOfCapture(function, op.getSeed())}};
}

void printDropout(llvm::raw_ostream &os, const llvm::json::Object *dropout, StringRef of,
                  StringRef each) {
  if (dropout)
    os << "  dropout of " << llvm::format("%g", *dropout->getNumber("probability")) << " of the "
       << of << ", seed " << *dropout->getString("seed")
       << "\n    forward and backward: a quarter of a Philox 4x32-10 block for every " << each
       << "\n";
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

/// Returns the description of positions that are data; null for those of rows and columns.
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
  DifferenceRange range = attention.getMaskRange().value_or(DifferenceRange());
  llvm::json::Array terms, dropped;
  for (TermOp term : *found)
    terms.push_back(explainTerm(function, term, attention, depths));
  if (auto notes = attention->getAttrOfType<ArrayAttr>("pe.dropped"))
    for (auto note : notes.getAsRange<StringAttr>())
      dropped.push_back(note.getValue());
  llvm::json::Object result{{"location", describeLocation(attention.getLoc())},
                            {"normalizer", stringifyNormalizer(attention.getNormalizer())},
                            {"min_difference", boundOf(range.min, DifferenceRange::kUnboundedMin)},
                            {"max_difference", boundOf(range.max, DifferenceRange::kUnboundedMax)},
                            {"masks", explainMasks(function, attention)},
                            {"prologues", explainPrologues(function, attention)},
                            {"rotation", explainRotation(function, attention, headDim, depths)},
                            {"score", explainScore(function, attention, depths)},
                            {"sink", explainSink(function, attention)},
                            {"sides", explainSides(attention)},
                            {"dropout", explainDropout(function, attention)},
                            {"positions", explainPositions(attention)},
                            {"terms", std::move(terms)},
                            {"dropped", std::move(dropped)}};
  if (llvm::json::Array contents = explainContents(function, attention, range); !contents.empty())
    result["contents"] = std::move(contents);
  if (llvm::json::Value factor = explainFactor(function, attention, depths); factor.getAsObject())
    result["factor"] = std::move(factor);
  if (Value value = attention.getValueContent())
    if (auto op = value.getDefiningOp<ContentFnOp>())
      result["value_content"] = explainContent(function, op, range, /*ofValues=*/true);
  return result;
}

/// Describes the merge of results of attentions over parts of the keys.
llvm::json::Object explainMerge(func::FuncOp function, MergeOp merge) {
  llvm::json::Array merged;
  for (Value value : merge->getOperands())
    merged.push_back(nameOfCapture(function, value));
  return llvm::json::Object{
      {"class", "merge"},
      {"normalizer", stringifyNormalizer(merge.getNormalizer())},
      {"merged", std::move(merged)},
      {"location", describeLocation(merge.getLoc())},
      {"forward", "two weights per row, in float64, and one multiplication per element"},
      {"backward", "two sums per row, and two multiplications per element"}};
}

/// Describes an embedding of tokens.
llvm::json::Object explainEmbed(func::FuncOp function, EmbedOp embed) {
  auto op = embed.getEmbedding().getDefiningOp<EmbeddingFnOp>();
  SmallVector<std::string> captures;
  llvm::json::Array parameters;
  for (Value capture : op.getCaptures()) {
    captures.push_back(nameOfCapture(function, capture));
    parameters.push_back(captures.back());
  }
  Block &body = op.getBody().front();
  Value root = cast<YieldOp>(body.getTerminator()).getValues()[0];
  return llvm::json::Object{
      {"class", "embedding"},
      {"formula", formulaOf(root, body, captures)},
      {"parameters", std::move(parameters)},
      {"data", describeAxes(function, op.getCaptures())},
      {"dropout", explainDropout(function, embed)},
      {"location", describePlaces(op.getLoc())},
      {"forward", "one addition per element of the tokens; values that depend only on the position "
                  "or only on the dimension are computed once per call, in float64"},
      {"backward", captures.empty() ? "a copy"
                                    : "a copy, and the sum over the batch through the "
                                      "reverse mode of its code"}};
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

void printData(llvm::raw_ostream &os, const llvm::json::Array &data) {
  llvm::ListSeparator comma;
  os << (data.empty() ? "" : "\n    data: ");
  for (const llvm::json::Value &name : data)
    os << comma << *name.getAsString();
}

void printTerm(llvm::raw_ostream &os, const llvm::json::Object &term) {
  os << "  bias " << *term.getString("formula") << "\n    at " << *term.getString("location");
  llvm::ListSeparator comma;
  const llvm::json::Array &parameters = *term.getArray("parameters");
  os << (parameters.empty() ? "" : ", parameters ");
  for (const llvm::json::Value &name : parameters)
    os << comma << *name.getAsString();
  printData(os, *term.getArray("data"));
  os << "\n    class: " << *term.getString("class") << ", because it " << *term.getString("reason")
     << "\n";
  if (std::optional<double> tolerance = term.getNumber("tolerance"))
    os << "    approximated: within " << llvm::format("%g", *tolerance) << " of its value\n";
  os << "    forward: " << *term.getString("forward")
     << "; backward: " << *term.getString("backward") << "\n    price: " << *term.getString("price")
     << "\n";
  if (StringRef advice = *term.getString("advice"); !advice.empty())
    os << "    advice: " << advice << "\n";
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

void printContent(llvm::raw_ostream &os, const llvm::json::Object &content, StringRef what) {
  os << "  " << what << " " << *content.getString("formula") << "\n    at "
     << *content.getString("location");
  llvm::ListSeparator comma;
  const llvm::json::Array &parameters = *content.getArray("parameters");
  os << (parameters.empty() ? "" : ", parameters ");
  for (const llvm::json::Value &name : parameters)
    os << comma << *name.getAsString();
  os << "\n    class: " << *content.getString("class") << ", because it "
     << *content.getString("reason") << "\n    forward: " << *content.getString("forward")
     << "; backward: " << *content.getString("backward") << "\n";
}

void printPrice(llvm::raw_ostream &os, const llvm::json::Object &code) {
  os << "    price: " << *code.getString("price") << "\n";
}

void printSink(llvm::raw_ostream &os, const llvm::json::Object &sink) {
  if (std::optional<StringRef> parameter = sink.getString("parameter")) {
    os << "  sink " << *parameter << "[h]";
  } else {
    os << "  sink " << *sink.getString("formula") << "\n    at " << *sink.getString("location");
    printData(os, *sink.getArray("data"));
  }
  os << "\n    forward: starts a row's maximum and sum; backward: one sum per query\n";
  if (sink.getString("price"))
    printPrice(os, sink);
}

/// Prints how often code for pairs is evaluated (levelsOf).
void printEvaluation(llvm::raw_ostream &os, const llvm::json::Object &code) {
  os << "\n    forward: evaluates its code for every "
     << *code.getObject("operations")->getString("per")
     << "; backward: evaluates its code and its derivative\n";
}

void printScore(llvm::raw_ostream &os, const llvm::json::Object &score) {
  os << "  score " << *score.getString("formula") << "\n    at " << *score.getString("location");
  printData(os, *score.getArray("data"));
  if (*score.getBoolean("in_queries"))
    os << "\n    forward: a factor on the queries, one product per element; backward: one product "
          "per element and one sum per query; in types narrower than f32 its code is evaluated for "
          "every score\n";
  else
    printEvaluation(os, score);
  printPrice(os, score);
}

void printFactor(llvm::raw_ostream &os, const llvm::json::Object &factor) {
  os << "  factor " << *factor.getString("formula") << "\n    at " << *factor.getString("location");
  printData(os, *factor.getArray("data"));
  printEvaluation(os, factor);
  printPrice(os, factor);
}

void printAttention(llvm::raw_ostream &os, const llvm::json::Object &attention) {
  os << "attention at " << *attention.getString("location") << ": "
     << *attention.getString("normalizer") << ", " << describeKeys(attention) << "\n";
  printMasks(os, *attention.getArray("masks"));
  printPrologues(os, *attention.getArray("prologues"));
  if (const llvm::json::Object *rotation = attention.getObject("rotation"))
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
  if (std::optional<StringRef> positions = attention.getString("positions"))
    os << "  positions: " << *positions << "; data of tokens is read at the row and the column\n";
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
  os << "embedding " << *embed.getString("formula") << "\n    at " << *embed.getString("location");
  llvm::ListSeparator comma;
  const llvm::json::Array &parameters = *embed.getArray("parameters");
  os << (parameters.empty() ? "" : ", parameters ");
  for (const llvm::json::Value &name : parameters)
    os << comma << *name.getAsString();
  printData(os, *embed.getArray("data"));
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

std::string nameOfCapture(func::FuncOp function, Value capture) {
  auto argument = dyn_cast<BlockArgument>(capture);
  if (!argument || argument.getOwner()->getParentOp() != function)
    return "constant";
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.name");
  return name ? name.str() : "argument " + std::to_string(argument.getArgNumber());
}

std::string describeLocation(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location inner) {
    found = dyn_cast<FileLineColLoc>(inner);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found)
    return "an unknown location";
  return (found.getFilename().getValue() + ":" + Twine(found.getLine()) + ":" +
          Twine(found.getColumn()))
      .str();
}

} // namespace mlir::pe
