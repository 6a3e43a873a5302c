//===- Formula.cpp - formulas of scalar code ------------------------------===//

#include "passes/Analysis/Formula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace mlir::pe {
namespace {

/// The precedence of the outermost operator of a formula.
enum Binding { kComparison, kSum, kProduct, kSign, kAtom };

struct Text {
  std::string text;
  Binding binding = kAtom;
};

/// The values that the user has named, in the order of their definitions.
struct Definitions {
  /// Returns "let x = (i - j) / w[h] in let y = ... in formula".
  std::string around(std::string formula) const {
    std::string text;
    for (const auto &[name, definition] : all)
      text += "let " + name + " = " + definition + " in ";
    return text + formula;
  }

  std::vector<std::pair<std::string, std::string>> all;
  DenseMap<Value, std::string> names;
};

class Writer {
public:
  Writer(Block &region, ArrayRef<StringRef> leading, ArrayRef<std::string> names,
         Definitions &definitions)
      : region(region), definitions(definitions) {
    for (auto [number, argument] : llvm::enumerate(region.getArguments()))
      if (number < leading.size())
        arguments[argument] = leading[number].str();
      else if (number - leading.size() < names.size())
        arguments[argument] = names[number - leading.size()];
  }

  Text write(Value value);
  /// Writes a value, in parentheses if its precedence is below `least`.
  std::string inside(Value value, Binding least) {
    Text text = write(value);
    return text.binding < least ? "(" + text.text + ")" : text.text;
  }

private:
  std::optional<std::string> nameOf(Operation *op);
  Text writeOperation(Operation *op);
  Text writeSum(SumOp sum);
  Text infix(StringRef symbol, Operation *op, Binding binding);
  Text call(StringRef name, ValueRange operands);

  Block &region;
  Definitions &definitions;
  DenseMap<Value, std::string> arguments;
  unsigned sums = 0; ///< the number of sums around the current text
  /// The length of the formula, which is limited because values are expanded at their uses, so that
  /// it can be exponentially long.
  size_t written = 0;
};

/// Returns the names of the leading arguments of a region of scalar code, without the captures.
ArrayRef<StringRef> leadingNames(Block &region) {
  static constexpr StringRef all[] = {"s", "b", "h", "i", "j"};
  static constexpr StringRef token[] = {"p", "d", "dim", "n"};
  static constexpr StringRef content[] = {"b", "h", "i", "j", "d", "dim"};
  if (isa_and_nonnull<EmbeddingFnOp>(region.getParentOp()))
    return token;
  if (isa_and_nonnull<ContentFnOp>(region.getParentOp()))
    return content;
  // Only a score function has an explicit first argument.
  const bool hasScore = isa<FloatType>(region.getArgument(0).getType());
  ArrayRef<StringRef> leading = ArrayRef(all).drop_front(hasScore ? 0 : 1);
  return isa_and_nonnull<SinkFnOp>(region.getParentOp()) ? leading.drop_back() : leading; // no j
}

Text Writer::infix(StringRef symbol, Operation *op, Binding binding) {
  std::string left = inside(op->getOperand(0), binding);
  // a - (b - c), a / (b / c): the right side needs parentheses even at equal precedence.
  const bool isReversible = symbol == "+" || symbol == "*";
  std::string right =
      inside(op->getOperand(1), isReversible ? binding : static_cast<Binding>(binding + 1));
  return {(left + " " + symbol + " " + right).str(), binding};
}

Text Writer::call(StringRef name, ValueRange operands) {
  std::string text = (name + "(").str();
  for (auto [number, operand] : llvm::enumerate(operands))
    text += (number ? ", " : "") + write(operand).text;
  return {text + ")", kAtom};
}

/// Writes sum(k < bound, summand). The index of a nested sum is k1, and so on.
Text Writer::writeSum(SumOp sum) {
  std::string index = sums == 0 ? "k" : "k" + std::to_string(sums);
  ++sums;
  arguments[sum.getBody().getArgument(0)] = index;
  std::string bound;
  if (std::optional<int64_t> count = sum.getCount())
    bound = std::to_string(*count);
  else
    bound = "size(" + write(sum.getCounted()).text + ", " +
            std::to_string(sum.getExtent()->back()) + ")";
  for (auto [argument, input] :
       llvm::zip_equal(sum.getBody().getArguments().drop_front(), sum.getInputs()))
    arguments[argument] = inside(input, kAtom);
  std::string summand = write(sum.getSummand()).text;
  --sums;
  return {"sum(" + index + " < " + bound + ", " + summand + ")", kAtom};
}

/// Returns the symbol of an integer or float comparison, or an empty string.
StringRef symbolOf(Operation *op) {
  StringRef name;
  if (auto whole = dyn_cast<arith::CmpIOp>(op))
    name = stringifyEnum(whole.getPredicate());
  else
    name = stringifyEnum(cast<arith::CmpFOp>(op).getPredicate());
  return llvm::StringSwitch<StringRef>(name.drop_front(name.size() > 2))
      .Case("lt", "<")
      .Case("le", "<=")
      .Case("gt", ">")
      .Case("ge", ">=")
      .Case("eq", "==")
      .Case("ne", "!=")
      .Default("");
}

/// Returns the name in formulas of the function that a scalar op evaluates: `mlp` for pe.mlp_eval.
StringRef functionOf(Operation *op) {
  StringRef name = op->getName().stripDialect();
  name.consume_back("_eval");
  return name;
}

std::string numberOf(double number) {
  return llvm::formatv("{0}", llvm::format("%.6g", number)).str();
}
std::string numberOf(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return numberOf(number.getValueAsDouble());
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return std::to_string(number.getInt());
  return "?";
}

/// Returns x if `op` is max(x, 0 - x), the code of abs for integers, or null.
Value absoluteOf(Operation *op) {
  auto maximum = dyn_cast<arith::MaxSIOp>(op);
  auto negated = maximum ? maximum.getRhs().getDefiningOp<arith::SubIOp>() : nullptr;
  if (negated && matchPattern(negated.getLhs(), m_Zero()) && negated.getRhs() == maximum.getLhs())
    return maximum.getLhs();
  return {};
}

/// Returns the operand of a negation, which integers compute as 0 - x, or null.
Value negatedOf(Operation *op) {
  if (auto negated = dyn_cast<arith::NegFOp>(op))
    return negated.getOperand();
  auto difference = dyn_cast<arith::SubIOp>(op);
  return difference && matchPattern(difference.getLhs(), m_Zero()) ? difference.getRhs() : Value();
}

/// Returns true if `op` is a - a // b * b, the code of a % b for integers and floats.
bool isRemainder(Operation *op) {
  if (!isa<arith::SubIOp, arith::SubFOp>(op))
    return false;
  Value a = op->getOperand(0);
  Operation *product = op->getOperand(1).getDefiningOp();
  if (!isa_and_nonnull<arith::MulIOp, arith::MulFOp>(product))
    return false;
  Operation *quotient = product->getOperand(0).getDefiningOp();
  if (auto floor = dyn_cast_or_null<math::FloorOp>(quotient))
    quotient = floor.getOperand().getDefiningOp();
  return isa_and_nonnull<arith::FloorDivSIOp, arith::DivFOp>(quotient) &&
         quotient->getOperand(0) == a && quotient->getOperand(1) == product->getOperand(1) &&
         isa<arith::DivFOp>(quotient) ==
             isa_and_nonnull<math::FloorOp>(product->getOperand(0).getDefiningOp());
}

/// Returns the name that a let has given to the result. Returns std::nullopt if the value cannot be
/// defined once at the front: inside a sum, or if the name is also bound to another value.
std::optional<std::string> Writer::nameOf(Operation *op) {
  auto named = dyn_cast<NameLoc>(op->getLoc());
  if (!named || op->getBlock() != &region || op->getNumResults() != 1)
    return std::nullopt;
  Value value = op->getResult(0);
  if (auto known = definitions.names.find(value); known != definitions.names.end())
    return known->second;
  std::string name = named.getName().str();
  for (const auto &[other, definition] : definitions.all)
    if (other == name)
      return std::nullopt;
  for (const auto &[argument, other] : arguments)
    if (other == name)
      return std::nullopt;
  std::string definition = writeOperation(op).text;
  definitions.names[value] = name;
  definitions.all.emplace_back(name, definition);
  return name;
}

Text Writer::writeOperation(Operation *op) {
  if (Value whole = absoluteOf(op))
    return call("abs", whole);
  if (isRemainder(op)) {
    std::string left = inside(op->getOperand(0), kProduct);
    return {left + " % " + inside(op->getOperand(1).getDefiningOp()->getOperand(1), kSign),
            kProduct};
  }
  if (Value negated = negatedOf(op))
    return {"-" + inside(negated, kSign), kSign};
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant))) {
    std::string number = numberOf(constant);
    return {number, number.front() == '-' ? kSign : kAtom};
  }
  if (auto read = dyn_cast<ReadOp>(op)) {
    std::string text = write(read.getSource()).text;
    for (auto [number, index] : llvm::enumerate(read.getIndices()))
      text += (number ? ", " : "[") + write(index).text;
    return {text + (read.getIndices().empty() ? "" : "]"), kAtom};
  }
  if (isa<arith::CmpIOp, arith::CmpFOp>(op))
    if (StringRef symbol = symbolOf(op); !symbol.empty())
      return infix(symbol, op, kComparison);
  const bool isBoolean = op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  if (isa<arith::AndIOp, arith::OrIOp>(op) && isBoolean)
    return call(isa<arith::AndIOp>(op) ? "and" : "or", op->getOperands());
  if (isa<arith::XOrIOp>(op) && isBoolean && matchPattern(op->getOperand(1), m_Constant()))
    return call("not", op->getOperand(0)); // the other operand is true: false is folded
  return llvm::TypeSwitch<Operation *, Text>(op)
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::ExtFOp, arith::TruncFOp>(
          [&](Operation *) { return write(op->getOperand(0)); })
      .Case<arith::AddFOp, arith::AddIOp>([&](Operation *) { return infix("+", op, kSum); })
      .Case<arith::SubFOp, arith::SubIOp>([&](Operation *) { return infix("-", op, kSum); })
      .Case<arith::MulFOp, arith::MulIOp>([&](Operation *) { return infix("*", op, kProduct); })
      .Case<arith::DivFOp>([&](Operation *) { return infix("/", op, kProduct); })
      .Case<arith::FloorDivSIOp>([&](Operation *) { return infix("//", op, kProduct); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [&](Operation *) { return call("max", op->getOperands()); })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [&](Operation *) { return call("min", op->getOperands()); })
      .Case<math::AbsFOp, math::AbsIOp>([&](Operation *) { return call("abs", op->getOperands()); })
      .Case<math::PowFOp, math::IPowIOp, math::FPowIOp>(
          [&](Operation *) { return call("pow", op->getOperands()); })
      .Case<arith::FPToSIOp>([&](Operation *) { return call("int", op->getOperands()); })
      .Case<SumOp>([&](SumOp sum) { return writeSum(sum); })
      .Case<PiecewiseOpInterface>(
          [&](PiecewiseOpInterface chain) { return call(functionOf(op), chain.getCoordinate()); })
      .Case<CosineSumEvalOp>(
          [&](CosineSumEvalOp cosines) { return call(functionOf(op), cosines.getX()); })
      .Default([&](Operation *) { return call(op->getName().stripDialect(), op->getOperands()); });
}

Text Writer::write(Value value) {
  if (auto argument = arguments.find(value); argument != arguments.end())
    return {argument->second, kAtom};
  Operation *op = value.getDefiningOp();
  if (!op || written > 2 * kMaxFormula)
    return {"...", kAtom};
  written += op->getNumOperands() + 1;
  if (std::optional<std::string> name = nameOf(op))
    return {*name, kAtom};
  return writeOperation(op);
}

} // namespace

static std::string shortened(std::string text) {
  return text.size() > kMaxFormula ? text.substr(0, kMaxFormula) + " ..." : text;
}

std::string formulaOf(Value root, Block &region, ArrayRef<StringRef> leading,
                      ArrayRef<std::string> names) {
  Definitions definitions;
  std::string text = Writer(region, leading, names, definitions).write(root).text;
  return shortened(definitions.around(std::move(text)));
}

std::string formulaOf(Value root, Block &region, ArrayRef<std::string> names) {
  return formulaOf(root, region, leadingNames(region), names);
}

/// Returns a summand as text, such as "2 * a[h] * (i - j) / c[h]", and whether it is subtracted.
/// Constant factors are multiplied into one number.
static std::pair<bool, std::string> signedText(const Summand &summand, Writer &writer) {
  double number = summand.negative ? -1 : 1;
  std::string core, front, back;
  if (summand.form) {
    const AffineForm &form = *summand.form;
    number *= form.isConstant() ? form.constant : form.query != 0 ? form.query : form.key;
    core = form.isConstant() ? "" : form.isDifference() ? "(i - j)" : form.query != 0 ? "i" : "j";
  } else {
    const bool isAlone = summand.factors.empty() && summand.divisors.empty();
    core = writer.inside(summand.root, isAlone ? kProduct : kSign);
  }
  for (Value factor : summand.factors) {
    FloatAttr constant;
    if (matchPattern(factor, m_Constant(&constant)))
      number *= constant.getValueAsDouble();
    else
      front += writer.inside(factor, kProduct) + " * ";
  }
  for (Value divisor : summand.divisors)
    back += " / " + writer.inside(divisor, kSign);
  if (std::abs(number) != 1 || (front.empty() && core.empty()))
    front = numberOf(std::abs(number)) + " * " + front;
  if (core.empty())
    front.resize(front.size() - 3); // " * "
  return {number < 0, front + core + back};
}

std::string formulaOfSum(ArrayRef<SourcedSummand> summands,
                         llvm::function_ref<SmallVector<std::string>(BiasFnOp)> namesOf) {
  std::string text;
  Definitions definitions;
  for (const auto &[source, summand] : summands) {
    Block &region = BiasFnOp(source).getBody().front();
    const SmallVector<std::string> names = namesOf(source);
    Writer writer(region, leadingNames(region), names, definitions);
    auto [isNegative, magnitude] = signedText(summand, writer);
    if (text.empty())
      text = (isNegative ? "-" : "") + magnitude;
    else
      text += (isNegative ? " - " : " + ") + magnitude;
  }
  return shortened(definitions.around(std::move(text)));
}

} // namespace mlir::pe
