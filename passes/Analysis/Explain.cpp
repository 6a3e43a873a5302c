//===- Explain.cpp - The structure of biases in words ---------------------===//

#include "passes/Analysis/Explain.h"

#include "passes/Analysis/Structure.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::pe {
namespace {

struct Cost {
  StringRef forward, backward;
};

Cost costOf(TermClass cls) {
  switch (cls) {
  case TermClass::Zero:
    return {"nothing", "nothing"};
  case TermClass::Row:
    return {"one addition per score of a number per query", "one sum per query"};
  case TermClass::Column:
    return {"one addition per score of a number per key", "one sum per key"};
  case TermClass::Affine:
    return {"one addition per score of a multiple of i - j", "one sum per distance"};
  case TermClass::Distance:
    return {"one addition per score from a table over i - j, built once per call",
            "one sum per distance, then the table's reverse mode"};
  case TermClass::Segments:
    return {"one multiply-add per score and per kink inside a block of scores, found once per call",
            "two sums per segment and the coordinate's factors, then reverse mode inside segments"};
  case TermClass::General:
    return {"its code for every score", "its reverse mode for every score"};
  }
  llvm_unreachable("all classes are listed");
}

/// The names of the function arguments that a bias reads.
SmallVector<std::string> parametersOf(func::FuncOp function, BiasFnOp bias) {
  SmallVector<std::string> names;
  for (Value capture : bias.getCaptures()) {
    auto argument = dyn_cast<BlockArgument>(capture);
    if (!argument || argument.getOwner()->getParentOp() != function)
      continue;
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.name");
    names.push_back(name ? name.str() : "argument " + std::to_string(argument.getArgNumber()));
  }
  return names;
}

llvm::json::Value boundOf(int64_t bound, int64_t unbounded) {
  return bound == unbounded ? llvm::json::Value(nullptr) : llvm::json::Value(bound);
}

/// All places a term was merged from.
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

llvm::json::Object explainTerm(func::FuncOp function, const Term &term) {
  Cost cost = costOf(term.cls);
  llvm::json::Array parameters;
  for (const std::string &name : parametersOf(function, term.bias))
    parameters.push_back(name);
  return llvm::json::Object{{"class", stringifyTermClass(term.cls)},
                            {"reason", term.reason},
                            {"parameters", std::move(parameters)},
                            {"location", describePlaces(BiasFnOp(term.bias).getLoc())},
                            {"forward", cost.forward},
                            {"backward", cost.backward}};
}

FailureOr<llvm::json::Object> explainAttention(func::FuncOp function, AttentionOp attention) {
  FailureOr<BiasStructure> structure = analyzeStructure(attention);
  if (failed(structure))
    return failure();
  DifferenceRange range = attention.getMaskRange().value_or(DifferenceRange());
  llvm::json::Array terms, dropped;
  for (const Term &term : structure->terms)
    terms.push_back(explainTerm(function, term));
  if (auto notes = attention->getAttrOfType<ArrayAttr>("pe.dropped"))
    for (auto note : notes.getAsRange<StringAttr>())
      dropped.push_back(note.getValue());
  return llvm::json::Object{{"location", describeLocation(attention.getLoc())},
                            {"normalizer", stringifyNormalizer(attention.getNormalizer())},
                            {"min_difference", boundOf(range.min, DifferenceRange::kUnboundedMin)},
                            {"max_difference", boundOf(range.max, DifferenceRange::kUnboundedMax)},
                            {"terms", std::move(terms)},
                            {"dropped", std::move(dropped)}};
}

/// "all keys" or "keys with 0 <= i - j <= 127".
std::string describeKeys(const llvm::json::Object &attention) {
  std::optional<int64_t> min = attention.getInteger("min_difference");
  std::optional<int64_t> max = attention.getInteger("max_difference");
  if (!min && !max)
    return "all keys";
  return "keys with " + (min ? std::to_string(*min) + " <= " : "") + "i - j" +
         (max ? " <= " + std::to_string(*max) : "");
}

void printTerm(llvm::raw_ostream &os, const llvm::json::Object &term) {
  os << "  bias";
  for (const llvm::json::Value &name : *term.getArray("parameters"))
    os << " " << *name.getAsString();
  os << " at " << *term.getString("location") << "\n    class: " << *term.getString("class")
     << ", because it " << *term.getString("reason")
     << "\n    forward: " << *term.getString("forward")
     << "; backward: " << *term.getString("backward") << "\n";
}

void printAttention(llvm::raw_ostream &os, const llvm::json::Object &attention) {
  os << "attention at " << *attention.getString("location") << ": "
     << *attention.getString("normalizer") << ", " << describeKeys(attention) << "\n";
  const llvm::json::Array &terms = *attention.getArray("terms");
  if (terms.empty())
    os << "  no bias\n";
  for (const llvm::json::Value &term : terms)
    printTerm(os, *term.getAsObject());
  for (const llvm::json::Value &note : *attention.getArray("dropped"))
    os << "  dropped: " << *note.getAsString() << "\n";
}

} // namespace

FailureOr<llvm::json::Value> explainStructureAsJson(func::FuncOp function) {
  llvm::json::Array attentions;
  WalkResult walk = function.walk([&](AttentionOp attention) {
    FailureOr<llvm::json::Object> explained = explainAttention(function, attention);
    if (failed(explained))
      return WalkResult::interrupt();
    attentions.push_back(std::move(*explained));
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return llvm::json::Value(llvm::json::Object{{"attentions", std::move(attentions)}});
}

FailureOr<std::string> explainStructure(func::FuncOp function) {
  FailureOr<llvm::json::Value> data = explainStructureAsJson(function);
  if (failed(data))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const llvm::json::Value &attention : *data->getAsObject()->getArray("attentions"))
    printAttention(stream, *attention.getAsObject());
  return text;
}

std::string describeLocation(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location inner) {
    found = dyn_cast<FileLineColLoc>(inner);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found)
    return "an unknown place";
  return (found.getFilename().getValue() + ":" + Twine(found.getLine()) + ":" +
          Twine(found.getColumn()))
      .str();
}

} // namespace mlir::pe
