//===- ExplainTerm.cpp - descriptions of terms of the score ---------------===//

#include "passes/Analysis/ExplainTerm.h"

#include "passes/Analysis/Formula.h"
#include "passes/Analysis/Price.h"
#include "passes/Analysis/SourceNames.h"
#include "llvm/Support/Format.h"

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
llvm::json::Array parametersOf(func::FuncOp function, TermOp term) {
  llvm::json::Array names;
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
    return priceOf(term.getPartValue(TermPart::Pair), pair, pair.getArgument(3),
                   namesOfCaptures(function, term.getCaptures()));
  }
  }
  llvm_unreachable("all classes are listed");
}

/// Returns advice on how to make a general term cheaper; empty for the other classes.
StringRef adviceFor(TermOp term) {
  if (term.getTermClass() != TermClass::General)
    return "";
  return "for a lower price, write it as a sum of functions of only i - j (tables), of only i or "
         "only j (one value per row or column), or as a network of u(i - j) * r(i) (segments)";
}

/// Returns the cost of a content term, by its class.
Cost costOf(ContentAttr structure, bool ofValues) {
  switch (structure.getCls()) {
  case ContentClass::Near:
    if (ofValues)
      return {"a sum of weights per query and vector, and one product with each vector per query",
              "the products of an output's cotangent with these vectors, once per query, one "
              "addition per weight, and one sum per query and vector"};
    return {
        "the products of a query with these vectors, once per query, and one addition per score",
        "one sum per query and vector"};
  case ContentClass::Angles:
    return {
        "one more contraction over the depth of the queries, which are rotated, with features of "
        "the keys",
        "one more contraction over the keys"};
  case ContentClass::Panel:
    if (ofValues)
      return {"not built yet", "not built yet"};
    return {"one more contraction over the depth of the queries, with the vectors of the distances "
            "that a block covers",
            "two more contractions, for the queries and for the vectors"};
  }
  llvm_unreachable("all classes are listed");
}

} // namespace

llvm::json::Object explainTerm(func::FuncOp function, TermOp term, AttentionOp attention,
                               int64_t depths) {
  Cost cost = costOf(term, attention.isShiftInvariant());
  const Price price = priceOfTerm(function, term, attention.isShiftInvariant());
  return llvm::json::Object{{"class", stringifyTermClass(term.getTermClass())},
                            {"reason", term.getReason()},
                            {"tolerance", toleranceOf(term)},
                            {"formula", term.getFormula()},
                            {"parameters", parametersOf(function, term)},
                            {"data", describeAxes(function, term.getCaptures())},
                            {"location", describePlaces(term.getLoc())},
                            {"price", describe(price, "score", depths)},
                            {"operations", asJson(price, "score")},
                            {"advice", adviceFor(term)},
                            {"forward", cost.forward},
                            {"backward", cost.backward}};
}

void printTerm(llvm::raw_ostream &os, const llvm::json::Object &term) {
  os << "  bias " << *term.getString("formula");
  printSource(os, term);
  printData(os, term);
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

llvm::json::Object explainContent(func::FuncOp function, ContentFnOp op, Value queries,
                                  bool ofValues) {
  const ContentAttr structure = *op.getStructure();
  const Cost cost = costOf(structure, ofValues);
  auto formulaOfRegion = [&](Block &body, ValueRange captures) {
    return formulaOf(cast<YieldOp>(body.getTerminator()).getValues()[0], body,
                     namesOfCaptures(function, captures));
  };
  SmallVector<Value> tensors(op.getCaptures());
  for (Value tensor : {Value(op.getShift()), Value(op.getProjection())})
    if (tensor)
      tensors.push_back(tensor);
  llvm::json::Value factor = nullptr, of = nullptr, extent = nullptr;
  if (op.getFactor()) {
    auto function = cast<FactorFnOp>(op.getFactor().getDefiningOp());
    factor = formulaOfRegion(function.getBody().front(), function.getCaptures());
    llvm::append_range(tensors, function.getCaptures());
  }
  if (queries)
    of = namesOfCaptures(function, queries)[0];
  if (op.getExtent())
    extent = static_cast<int64_t>(*op.getExtent());
  return llvm::json::Object{{"class", stringifyContentClass(structure.getCls())},
                            {"reason", structure.getReason()},
                            {"formula", formulaOfRegion(op.getBody().front(), op.getCaptures())},
                            {"queries", std::move(of)},
                            {"factor", std::move(factor)},
                            {"extent", std::move(extent)},
                            {"parameters", llvm::json::Array(namesOfCaptures(function, tensors))},
                            {"location", describePlaces(op.getLoc())},
                            {"forward", cost.forward},
                            {"backward", cost.backward}};
}

void printContent(llvm::raw_ostream &os, const llvm::json::Object &content, StringRef what) {
  os << "  " << what << " " << *content.getString("formula");
  printSource(os, content);
  if (std::optional<StringRef> queries = content.getString("queries"))
    os << "\n    queries: those of '" << *queries << "', not scaled";
  if (std::optional<StringRef> factor = content.getString("factor"))
    os << "\n    times " << *factor;
  if (std::optional<int64_t> extent = content.getInteger("extent"))
    os << "\n    extent: 0 from a distance of " << *extent << " on; blocks beyond it are skipped";
  os << "\n    class: " << *content.getString("class") << ", because it "
     << *content.getString("reason") << "\n    forward: " << *content.getString("forward")
     << "; backward: " << *content.getString("backward") << "\n";
}

} // namespace mlir::pe
