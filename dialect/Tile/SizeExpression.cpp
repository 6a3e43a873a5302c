//===- SizeExpression.cpp - parser of extents and counts ------------------===//
#include "dialect/Tile/SizeExpression.h"

#include "dialect/Tile/Tile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::tile;

namespace {
constexpr StringRef kNames[] = {"b", "hq", "hkv",     "r",       "c",          "d",          "e",
                                "t", "kb", "q_start", "k_start", "head_start", "heads_total"};
constexpr size_t kNumExtentNames = 9;

/// Deeper nesting than any real expression has; a hostile one may not exhaust the stack.
constexpr int kMaxDepth = 64;
} // namespace

ArrayRef<StringRef> mlir::tile::getExtentNames() {
  return ArrayRef(kNames).take_front(kNumExtentNames);
}
ArrayRef<StringRef> mlir::tile::getSizeNames() { return kNames; }

namespace mlir::tile {

/// Recursive descent over the grammar of the header; every method appends steps.
class SizeExpressionParser {
public:
  SizeExpressionParser(StringRef text, std::string &problem) : rest(text), problem(problem) {}

  FailureOr<SizeExpression> run() {
    if (failed(parseSum()))
      return failure();
    if (!next().empty())
      return fail("an operator or the end");
    return std::move(result);
  }

private:
  using Kind = SizeExpression::Kind;

  StringRef next() { return rest = rest.ltrim(' '); }

  LogicalResult fail(const Twine &expected) {
    problem = ("expected " + expected + ", found " +
               (next().empty() ? Twine("the end") : "\"" + rest + "\""))
                  .str();
    return failure();
  }

  bool take(char symbol) {
    if (!next().starts_with(StringRef(&symbol, 1)))
      return false;
    rest = rest.drop_front();
    return true;
  }

  LogicalResult expect(char symbol) {
    return take(symbol) ? success() : fail("'" + Twine(symbol) + "'");
  }

  void push(Kind kind) { result.steps.push_back({kind}); }

  LogicalResult parseSum() {
    if (++depth > kMaxDepth)
      return fail("at most " + Twine(kMaxDepth) + " nested parentheses");
    if (failed(parseProduct()))
      return failure();
    while (true) {
      bool add = take('+');
      if (!add && !take('-'))
        break;
      if (failed(parseProduct()))
        return failure();
      push(add ? Kind::Add : Kind::Subtract);
    }
    --depth;
    return success();
  }

  LogicalResult parseProduct() {
    if (failed(parseFactor()))
      return failure();
    while (take('*')) {
      if (failed(parseFactor()))
        return failure();
      push(Kind::Multiply);
    }
    return success();
  }

  LogicalResult parseFactor() {
    if (take('('))
      return failure(failed(parseSum()) || failed(expect(')')));
    if (!next().empty() && llvm::isDigit(rest.front())) {
      int64_t number;
      if (rest.consumeInteger(10, number))
        return fail("an integer of 64 bits");
      result.steps.push_back({Kind::Constant, number});
      return success();
    }
    StringRef word = next().take_while([](char ch) { return llvm::isAlnum(ch) || ch == '_'; });
    if (word.empty())
      return fail("an integer, a name or '('");
    auto function = llvm::StringSwitch<std::optional<Kind>>(word)
                        .Case("ceildiv", Kind::CeilDiv)
                        .Case("max", Kind::Max)
                        .Case("min", Kind::Min)
                        .Default(std::nullopt);
    rest = rest.drop_front(word.size());
    if (!function) {
      result.steps.push_back({Kind::Name, 0, word.str()});
      return success();
    }
    if (failed(expect('(')) || failed(parseSum()) || failed(expect(',')) || failed(parseSum()) ||
        failed(expect(')')))
      return failure();
    push(*function);
    return success();
  }

  StringRef rest;
  std::string &problem;
  SizeExpression result;
  int depth = 0;
};

} // namespace mlir::tile

FailureOr<SizeExpression> SizeExpression::parse(StringRef text, std::string &problem) {
  return SizeExpressionParser(text, problem).run();
}

StringRef SizeExpression::findOtherThan(ArrayRef<StringRef> names) const {
  for (const Step &step : steps)
    if (step.kind == Kind::Name && !llvm::is_contained(names, step.name))
      return step.name;
  return {};
}

std::string mlir::tile::forPlan(StringRef text, int64_t keyBlock) {
  std::string result;
  while (!text.empty()) {
    StringRef word = text.take_while([](char ch) { return llvm::isAlnum(ch) || ch == '_'; });
    StringRef piece = word.empty() ? text.take_front() : word;
    if (word == "t")
      result += "(r+c+" + std::to_string(kDistancePadding) + ")";
    else if (word == "kb")
      result += "ceildiv(c," + std::to_string(keyBlock) + ")";
    else
      result += piece;
    text = text.drop_front(piece.size());
  }
  return result;
}
