//===- ExplainFunctions.cpp - descriptions of functions of users ----------===//

#include "passes/Analysis/ExplainFunctions.h"

#include "passes/Analysis/Formula.h"
#include "passes/Analysis/Price.h"
#include "passes/Analysis/SourceNames.h"
#include "llvm/Support/Format.h"

namespace mlir::pe {
namespace {

/// The unit of the price of code that reads one of these values.
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

/// Describes scalar code with its price at the first of `levels` that has one.
llvm::json::Object explainRegion(func::FuncOp function, Operation *op, ArrayRef<PriceLevel> levels,
                                 int64_t depths) {
  const SmallVector<std::string> captures = namesOfCaptures(function, op->getOperands());
  Block &body = op->getRegion(0).front();
  Value root = cast<YieldOp>(body.getTerminator()).getValues()[0];
  Price price = priceOf(root, body, levels.front().inner, captures);
  StringRef per = levels.front().per;
  for (const PriceLevel &level : levels.drop_front())
    if (price.isZero()) {
      price = priceOf(root, body, level.inner, captures);
      per = level.per;
    }
  llvm::json::Object result = describeCode(function, op);
  result["operations"] = asJson(price, per);
  result["price"] = describe(price, per, depths);
  return result;
}

/// Returns the factor on weights, which may consist of a single draw.
void printPrice(llvm::raw_ostream &os, const llvm::json::Object &code) {
  os << "    price: " << *code.getString("price") << "\n";
}

/// Prints where code is written and the data that it reads.
void printCode(llvm::raw_ostream &os, const llvm::json::Object &code) {
  os << "\n    at " << *code.getString("location");
  printData(os, code);
}

/// Prints how often code for pairs is evaluated (levelsOf).
void printEvaluation(llvm::raw_ostream &os, const llvm::json::Object &code) {
  os << "\n    forward: evaluates its code for every "
     << *code.getObject("operations")->getString("per")
     << "; backward: evaluates its code and its derivative\n";
}

} // namespace

llvm::json::Object describeCode(func::FuncOp function, Operation *op) {
  const SmallVector<std::string> captures = namesOfCaptures(function, op->getOperands());
  Block &body = op->getRegion(0).front();
  Value root = cast<YieldOp>(body.getTerminator()).getValues()[0];
  return llvm::json::Object{{"formula", formulaOf(root, body, captures)},
                            {"parameters", llvm::json::Array(captures)},
                            {"data", describeAxes(function, op->getOperands())},
                            {"location", describePlaces(op->getLoc())}};
}

llvm::json::Value explainScore(func::FuncOp function, AttentionOp attention, int64_t depths) {
  auto score = attention.getScore() ? attention.getScore().getDefiningOp<ScoreFnOp>() : ScoreFnOp();
  if (!score)
    return nullptr;
  Block &body = score.getBody().front();
  const bool inQueries = score.getPerQuery();
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

void printScore(llvm::raw_ostream &os, const llvm::json::Object &score) {
  os << "  score " << *score.getString("formula");
  printCode(os, score);
  if (*score.getBoolean("in_queries"))
    os << "\n    forward: a factor on the queries, one product per element; backward: one product "
          "per element and one sum per query; in types narrower than f32 its code is evaluated for "
          "every score\n";
  else
    printEvaluation(os, score);
  printPrice(os, score);
}

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

void printSink(llvm::raw_ostream &os, const llvm::json::Object &sink) {
  if (std::optional<StringRef> parameter = sink.getString("parameter")) {
    os << "  sink " << *parameter << "[h]";
  } else {
    os << "  sink " << *sink.getString("formula");
    printCode(os, sink);
  }
  os << "\n    forward: starts a row's maximum and sum; backward: one sum per query\n";
  if (sink.getString("price"))
    printPrice(os, sink);
}

llvm::json::Value explainFactor(func::FuncOp function, FactorFnOp factor, int64_t depths) {
  auto isDraw = [](FactorFnOp op) {
    auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
    return yield.getValues()[0].getDefiningOp<DropoutFactorOp>() != nullptr;
  };
  if (!factor || isDraw(factor))
    return nullptr;
  Block &body = factor.getBody().front();
  return explainRegion(function, factor,
                       levelsOf({body.getArgument(3)}, "weight", body.getArgument(2)), depths);
}

llvm::json::Value explainOutputFactor(func::FuncOp function, FactorFnOp factor) {
  if (!factor)
    return nullptr;
  const PriceLevel ofQuery = {
      llvm::to_vector_of<Value>(factor.getBody().getArguments().take_front(4)), "query"};
  return explainRegion(function, factor, ofQuery, 0);
}

void printOutputFactor(llvm::raw_ostream &os, const llvm::json::Object &factor) {
  os << "  factor " << *factor.getString("formula");
  printCode(os, factor);
  os << "\n    forward: a factor on the output, one product per element; backward: one product "
        "per element and one sum per query; in types narrower than f32 its code is evaluated for "
        "every weight\n";
  printPrice(os, factor);
}

void printFactor(llvm::raw_ostream &os, const llvm::json::Object &factor) {
  os << "  factor " << *factor.getString("formula");
  printCode(os, factor);
  printEvaluation(os, factor);
  printPrice(os, factor);
}

/// The last draw is that of the dropout clause.
llvm::json::Value explainDropout(func::FuncOp function, FactorFnOp factor) {
  SmallVector<DropoutFactorOp> draws = factor ? factor.getDraws() : SmallVector<DropoutFactorOp>();
  if (draws.empty())
    return nullptr;
  return llvm::json::Object{{"probability", draws.back().getProbability().convertToDouble()},
                            {"seed", nameOfCapture(function, factor.getSeed(draws.back()))}};
}

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

} // namespace mlir::pe
