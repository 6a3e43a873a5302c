//===- Pieces.cpp - A program as text to be joined with others ------------===//
#include "runtime/jit/Pieces.h"

#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/PE/PEAttention.h"

#include "mlir/IR/AsmState.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using mlir::pe::AttentionOp;

namespace pe::jit {
namespace {

bool isInName(char c) { return llvm::isAlnum(c) || llvm::StringRef("_$.-").contains(c); }

/// Returns a name of MLIR as a name of letters, digits and underscores.
std::string keyOf(StringRef name) {
  std::string key = llvm::isDigit(name.front()) ? "v" : "";
  for (char c : name)
    key += llvm::isAlnum(c) || c == '_' ? std::string(1, c) : "_" + llvm::utohexstr(c);
  return key;
}

/// Writes every %NAME outside of strings as %{KEY}.
std::string withPlaceholders(StringRef text) {
  std::string result;
  bool isInString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (isInString && text[i] == '\\' && i + 1 < text.size())
      result += text[++i];
    else if (text[i] == '"')
      isInString = !isInString;
    else if (text[i] == '%' && !isInString) {
      const StringRef name = text.drop_front(i + 1).take_while(isInName);
      result += "{" + keyOf(name) + "}";
      i += name.size();
    }
  }
  return result;
}

template <typename T> std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// A clause or an attribute of an attention, with the values that it reads.
struct Clause {
  std::string text;
  SmallVector<Value> values;
};

/// Splits the function of one attention.
class Splitter {
public:
  Splitter(func::FuncOp function, AttentionOp attention)
      : function(function), attention(attention),
        state(function, OpPrintingFlags().useLocalScope()) {}

  llvm::json::Value split() {
    llvm::json::Value mask = nullptr;
    if (Value value = attention.getMask())
      mask = piece({clause("mask", value)});
    return llvm::json::Object{{"encoding", piece(encoding())}, {"mask", std::move(mask)}};
  }

private:
  std::string operand(Value value) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    value.printAsOperand(stream, state);
    return withPlaceholders(text);
  }

  /// Returns NAME(VALUES), with the types of tensors.
  Clause clause(StringRef name, ValueRange values, StringRef first = "") {
    SmallVector<std::string> operands, types;
    for (Value value : values) {
      operands.push_back(operand(value));
      if (isa<TensorType>(value.getType()))
        types.push_back(textOf(value.getType()));
    }
    std::string text = (name + "(" + first + llvm::join(operands, ", ")).str();
    text += types.empty() ? ")" : " : " + llvm::join(types, ", ") + ")";
    return {std::move(text), SmallVector<Value>(values)};
  }

  SmallVector<Clause> encoding() {
    SmallVector<Clause> clauses;
    const auto each = [&](StringRef name, ValueRange values) {
      for (Value value : values)
        clauses.push_back(clause(name, value));
    };
    const auto one = [&](StringRef name, Value value) {
      if (value)
        clauses.push_back(clause(name, value));
    };
    each("bias", attention.getBiases());
    each("prologue", attention.getPrologues());
    one("rotate", attention.getRotation());
    one("rotate_values", attention.getValueRotation());
    each("content", attention.getContents());
    each("query", attention.getContentQueries());
    one("value_content", attention.getValueContent());
    one("score", attention.getScore());
    one("sink", attention.getSink());
    each("factor", attention.getFactors());
    if (attention.getSeed()) {
      std::string share;
      llvm::raw_string_ostream stream(share);
      attention.getDropoutAttr().print(stream, /*elideType=*/true);
      clauses.push_back(clause("dropout", attention.getSeed(), share + ", "));
    }
    if (attention.getQueryPositions())
      clauses.push_back(clause(
          "positions", ValueRange{attention.getQueryPositions(), attention.getKeyPositions()}));
    one("pages", attention.getPages());
    addAttributes(clauses);
    return clauses;
  }

  void addAttributes(SmallVector<Clause> &clauses) {
    const auto add = [&](bool isGiven, StringRef name, Attribute value) {
      if (isGiven)
        clauses.push_back({(name + " = " + textOf(value)).str(), {}});
    };
    add(attention.getNormalizer() != mlir::pe::Normalizer::Softmax, "normalizer",
        attention.getNormalizerAttr());
    add(attention.getScaleAttr() != nullptr, "scale", attention.getScaleAttr());
    if (attention.getScaleByDepth())
      clauses.push_back({"scale_by_depth", {}});
    if (attention.getAttendCurrent())
      clauses.push_back({"attend_current", {}});
    if (attention.getRotatedKeys())
      clauses.push_back({"rotated_keys", {}});
    add(attention.getRemainder() != mlir::pe::Remainder::Drop, "remainder",
        attention.getRemainderAttr());
    add(attention.getDirection() != mlir::pe::Direction::Before, "direction",
        attention.getDirectionAttr());
  }

  /// Returns the clauses with the operations and arguments that they need. Regions capture values
  /// only through operands.
  llvm::json::Object piece(const SmallVector<Clause> &clauses) {
    llvm::SetVector<Value> needed;
    llvm::json::Array texts, arguments;
    for (const Clause &clause : clauses) {
      needed.insert_range(clause.values);
      texts.push_back(clause.text);
    }
    SmallVector<std::string> lines;
    for (Operation &op : llvm::reverse(function.front())) {
      if (llvm::none_of(op.getResults(), [&](Value v) { return needed.contains(v); }))
        continue;
      needed.insert_range(op.getOperands());
      std::string text;
      llvm::raw_string_ostream stream(text);
      op.print(stream, state);
      lines.insert(lines.begin(), withPlaceholders(text));
    }
    for (BlockArgument argument : function.getArguments())
      if (needed.contains(argument))
        arguments.push_back(describe(argument));
    return llvm::json::Object{{"definitions", llvm::join(lines, "\n")},
                              {"clauses", std::move(texts)},
                              {"arguments", std::move(arguments)}};
  }

  llvm::json::Object describe(BlockArgument argument) {
    SmallVector<std::string> attributes;
    for (NamedAttribute attribute : function.getArgAttrDict(argument.getArgNumber()))
      if (attribute.getName() != "pe.name")
        attributes.push_back(
            (attribute.getName().strref() + " = " + textOf(attribute.getValue())).str());
    return llvm::json::Object{
        {"name", mlir::pe::nameOfArgument(argument)},
        {"type", textOf(argument.getType())},
        {"attributes", llvm::join(attributes, ", ")},
        {"key", StringRef(operand(argument)).drop_front(2).drop_back().str()}};
  }

  func::FuncOp function;
  AttentionOp attention;
  AsmState state;
};

} // namespace

std::string piecesOf(func::FuncOp function) {
  SmallVector<AttentionOp> attentions(function.getOps<AttentionOp>());
  if (attentions.size() != 1)
    return "null";
  return textOf(Splitter(function, attentions.front()).split());
}

} // namespace pe::jit
