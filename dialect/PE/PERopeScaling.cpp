//===- PERopeScaling.cpp - Rotation frequencies for longer sequences ------===//
//
// The formulas and their sources are in docs/encodings/rotations.md. They are emitted as f64 code,
// because bases may be learned and the length of a call is known only at run time.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEDialect.h"

#include "dialect/FloatBuilder.h"
#include "dialect/PE/PERotations.h"

#include "mlir/IR/DialectImplementation.h"
#include "runtime/plan/NameList.h"
#include "runtime/reference/RopeKinds.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::pe;
using ::pe::reference::kRopeKinds;
using ::pe::reference::RopeKind;
using ::pe::reference::RopeNumber;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

namespace {

static_assert(getMaxEnumValForRopeScalingKind() + 1 == kRopeKinds.size());

const RopeKind &rowOf(RopeScalingKind kind) { return kRopeKinds[static_cast<size_t>(kind)]; }

/// Returns the keys of a kind.
SmallVector<StringRef> keysOf(RopeScalingKind kind) {
  SmallVector<StringRef> keys = {"factor"};
  const RopeKind &row = rowOf(kind);
  if (row.hasLength)
    keys.push_back("original_length");
  if (row.hasFactors)
    llvm::append_range(keys, ArrayRef<StringRef>{"short_factor", "long_factor"});
  for (const RopeNumber &number : {row.first, row.second})
    if (number.name)
      keys.push_back(number.name);
  return keys;
}

/// The value of a key: one number, or a list of them.
using Numbers = SmallVector<double, 1>;

/// Returns the number of an attribute such as 4 or 4.0, or nullopt.
std::optional<double> numberOf(Attribute attribute) {
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return static_cast<double>(integer.getInt());
  return std::nullopt;
}

/// Returns a number or the numbers of a list; empty for any other attribute.
Numbers numbersOf(Attribute attribute, bool isList) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (isList != static_cast<bool>(list))
    return {};
  Numbers numbers;
  for (Attribute element : isList ? list.getValue() : ArrayRef(attribute)) {
    std::optional<double> number = numberOf(element);
    if (!number)
      return {};
    numbers.push_back(*number);
  }
  return numbers;
}

/// Parses `, KEY = VALUE` after the kind. Returns the values by key, or nullopt after an error.
std::optional<llvm::StringMap<Numbers>> parseNumbers(AsmParser &parser, RopeScalingKind kind) {
  llvm::StringMap<Numbers> all;
  SmallVector<StringRef> keys = keysOf(kind);
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return std::nullopt;
    if (!llvm::is_contained(keys, key) || all.contains(key)) { // rope_scaling-C1
      parser.emitError(loc) << "expected " << llvm::join(keys, ", ") << " of "
                            << stringifyRopeScalingKind(kind) << ", each at most once, found "
                            << key << " (rope_scaling-C1)";
      return std::nullopt;
    }
    if (parser.parseEqual())
      return std::nullopt;
    Attribute value;
    loc = parser.getCurrentLocation();
    if (parser.parseAttribute(value))
      return std::nullopt;
    const bool isList = key == "short_factor" || key == "long_factor";
    all[key] = numbersOf(value, isList);
    if (all[key].empty()) { // rope_scaling-C1
      parser.emitError(loc) << "expected a " << (isList ? "list of numbers" : "number") << " for "
                            << key << ", found " << value << " (rope_scaling-C1)";
      return std::nullopt;
    }
  }
  return all;
}

} // namespace

Attribute RopeScalingAttr::parse(AsmParser &parser, Type) {
  StringRef word;
  SMLoc loc;
  if (parser.parseLess() || failed(parser.getCurrentLocation(&loc)) || parser.parseKeyword(&word))
    return {};
  std::optional<RopeScalingKind> kind = symbolizeRopeScalingKind(word);
  if (!kind) { // rope_scaling-C1
    const auto names =
        llvm::map_to_vector(kRopeKinds, [](const RopeKind &row) { return row.name; });
    parser.emitError(loc) << "expected " << ::pe::plan::listNames(names, "or") << ", found " << word
                          << " (rope_scaling-C1)";
    return {};
  }
  std::optional<llvm::StringMap<Numbers>> numbers = parseNumbers(parser, *kind);
  if (!numbers || parser.parseGreater())
    return {};
  Builder &b = parser.getBuilder();
  auto real = [&](const RopeNumber &number) {
    auto found = number.name ? numbers->find(number.name) : numbers->end();
    if (found != numbers->end())
      return b.getF64FloatAttr(found->second.front());
    return number.standard != 0 ? b.getF64FloatAttr(number.standard) : FloatAttr();
  };
  auto list = [&](StringRef key) {
    auto found = numbers->find(key);
    return found == numbers->end() ? DenseF64ArrayAttr() : b.getDenseF64ArrayAttr(found->second);
  };
  IntegerAttr length;
  if (auto found = numbers->find("original_length"); found != numbers->end()) {
    const double number = found->second.front();
    length = b.getI64IntegerAttr(
        static_cast<int64_t>(number == std::floor(number) && std::abs(number) < 1e15
                                 ? number
                                 : 0.0)); // not a length; the verifier rejects 0
  }
  FloatAttr factor = real({"factor"});
  if (!factor)
    factor = b.getF64FloatAttr(0.0); // the verifier rejects 0
  const RopeKind &row = rowOf(*kind);
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), *kind, factor,
                    length, real(row.first), real(row.second), list("short_factor"),
                    list("long_factor"));
}

void RopeScalingAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyRopeScalingKind(getKind()) << ", factor = ";
  printer.printAttributeWithoutType(getFactor());
  if (getOriginalLength())
    printer << ", original_length = " << getOriginalLength().getInt();
  for (auto [key, list] :
       {std::pair<StringRef, DenseF64ArrayAttr>("short_factor", getShortFactor()),
        {"long_factor", getLongFactor()}}) {
    if (!list)
      continue;
    printer << ", " << key << " = [";
    llvm::interleaveComma(list.asArrayRef(), printer, [&](double number) {
      printer.printAttributeWithoutType(FloatAttr::get(getFactor().getType(), number));
    });
    printer << "]";
  }
  const RopeKind &row = rowOf(getKind());
  for (auto [described, number] : {std::pair(row.first, getFirst()), {row.second, getSecond()}})
    if (number && number.getValueAsDouble() != described.standard) {
      printer << ", " << described.name << " = ";
      printer.printAttributeWithoutType(number);
    }
  printer << ">";
}

static bool isPositive(double number) { return isFiniteInF32(number) && number > 0; }

/// Checks the factors per pair of `kind`.
static LogicalResult verifyFactors(function_ref<InFlightDiagnostic()> emitError,
                                   RopeScalingKind kind, DenseF64ArrayAttr shortFactor,
                                   DenseF64ArrayAttr longFactor) {
  if (!rowOf(kind).hasFactors)
    return success();
  auto sizeOf = [](DenseF64ArrayAttr list) { return list ? list.size() : 0; };
  if (sizeOf(shortFactor) != sizeOf(longFactor) || !sizeOf(shortFactor)) // rope_scaling-C5
    return emitError() << "expected as many numbers in short_factor as in long_factor, one per "
                          "pair, found "
                       << sizeOf(shortFactor) << " and " << sizeOf(longFactor)
                       << " (rope_scaling-C5)";
  for (DenseF64ArrayAttr list : {shortFactor, longFactor})
    for (double number : list.asArrayRef())
      if (!isPositive(number)) // rope_scaling-C6
        return emitError() << "expected factors of pairs above 0, found " << number
                           << " (rope_scaling-C6)";
  return success();
}

/// Checks the numbers of `kind`, apart from its factor and its length.
static LogicalResult verifyNumbers(function_ref<InFlightDiagnostic()> emitError,
                                   RopeScalingKind kind, FloatAttr first, FloatAttr second) {
  const RopeKind &row = rowOf(kind);
  auto valueOf = [](FloatAttr number) { return number.getValueAsDouble(); };
  if (second && !(isPositive(valueOf(second)) && isPositive(valueOf(first)) &&
                  valueOf(first) > valueOf(second))) // rope_scaling-C4
    return emitError() << "expected " << row.second.name << " above 0 and " << row.first.name
                       << " above it, found " << valueOf(second) << " and " << valueOf(first)
                       << " (rope_scaling-C4)";
  if (kind == RopeScalingKind::LongRope && first && !isPositive(valueOf(first))) // rope_scaling-C7
    return emitError() << "expected an attention_factor above 0, found " << valueOf(first)
                       << " (rope_scaling-C7)";
  if (kind == RopeScalingKind::Proportional &&
      !(isPositive(valueOf(first)) && valueOf(first) <= 1)) // rope_scaling-C8
    return emitError() << "expected a partial_rotary_factor above 0 and at most 1, found "
                       << valueOf(first) << " (rope_scaling-C8)";
  return success();
}

LogicalResult RopeScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      RopeScalingKind kind, FloatAttr factor, IntegerAttr length,
                                      FloatAttr first, FloatAttr second,
                                      DenseF64ArrayAttr shortFactor, DenseF64ArrayAttr longFactor) {
  if (!isPositive(factor.getValueAsDouble())) // rope_scaling-C2
    return emitError() << "expected a factor above 0, found " << factor.getValueAsDouble()
                       << " (rope_scaling-C2)";
  // The default attention factor divides by the logarithm of the length.
  const int64_t least = kind == RopeScalingKind::LongRope ? 2 : 1;
  if (rowOf(kind).hasLength != static_cast<bool>(length) ||
      (length && (length.getInt() < least || length.getInt() > (1 << 30)))) { // rope_scaling-C3
    InFlightDiagnostic diagnostic =
        emitError() << "expected original_length of " << stringifyRopeScalingKind(kind)
                    << " to be an integer from " << least << " to 2^30, found ";
    if (length)
      diagnostic << length.getInt();
    else
      diagnostic << "none";
    return diagnostic << " (rope_scaling-C3)";
  }
  if (failed(verifyNumbers(emitError, kind, first, second)))
    return failure();
  return verifyFactors(emitError, kind, shortFactor, longFactor);
}

//===----------------------------------------------------------------------===//
// Frequencies
//===----------------------------------------------------------------------===//

namespace {

/// Emits f64 code with short names, so that it resembles the formulas.
class Code : public FloatBuilder {
public:
  using FloatBuilder::FloatBuilder;

  Value number(double value) { return FloatBuilder::number(value, getF64Type()); }
  Value toFloat(Value index) {
    return create<arith::SIToFPOp>(getF64Type(), create<arith::IndexCastOp>(getI64Type(), index));
  }
  Value pow(Value a, Value b) { return create<math::PowFOp>(a, b); }
  Value floor(Value a) { return create<math::FloorOp>(a); }
  Value ceil(Value a) { return create<math::CeilOp>(a); }
  Value clampToUnit(Value a) { return minimum(maximum(a, number(0)), number(1)); }
  /// Interpolates linearly from a (weight 0) to b (weight 1).
  Value mix(Value a, Value b, Value weight) {
    return add(mul(a, sub(number(1), weight)), mul(b, weight));
  }
};

} // namespace

Value mlir::pe::buildRotaryFrequency(OpBuilder &builder, Location loc, Value base, Value pair,
                                     int64_t n) {
  Code f(loc, builder);
  return f.pow(base, f.mul(f.number(-2.0 / static_cast<double>(n)), pair));
}

/// Emits the weight of the unscaled frequency that YaRN uses for pair `p`: 1 up to the pair that
/// rotates `fast` times within the original length, 0 from the pair that rotates `slow` times, and
/// linear between them.
static Value buildYarnShare(Code &f, Value base, Value p, int64_t n, double length, double fast,
                            double slow) {
  const double dims = static_cast<double>(n);
  auto pairOfTurns = [&](double turns) {
    const double wave = std::log(length / (2 * std::numbers::pi * turns));
    return f.div(f.number(dims * wave / 2), f.log(base));
  };
  Value first = f.maximum(f.floor(pairOfTurns(fast)), f.number(0));
  Value last = f.minimum(f.ceil(pairOfTurns(slow)), f.number(dims - 1));
  // If both are the same pair, the ramp is a step.
  Value width = f.maximum(f.sub(last, first), f.number(0.001));
  Value ramp = f.clampToUnit(f.div(f.sub(p, first), width));
  return f.sub(f.number(1), ramp);
}

/// Emits the number of pair `p` in a list with one number per pair.
static Value buildChoice(Code &f, Value p, ArrayRef<double> list) {
  Value chosen = f.number(list.front());
  for (size_t n = 1; n < list.size(); ++n)
    if (list[n] != list[n - 1])
      chosen = f.select(f.less(p, f.number(static_cast<double>(n))), chosen, f.number(list[n]));
  return chosen;
}

Value RopeScalingAttr::buildFrequency(OpBuilder &builder, Location loc, Value base, Value pair,
                                      Value length, int64_t n) {
  Code f(loc, builder);
  const double factor = getFactor().getValueAsDouble(), dims = static_cast<double>(n);
  const double original = getOriginalLength() ? getOriginalLength().getInt() : 0;
  auto stretched = [&](Value stretch) {
    Value other = f.mul(base, f.pow(stretch, f.number(dims / (dims - 2))));
    return buildRotaryFrequency(builder, loc, other, pair, n);
  };
  if (getKind() == RopeScalingKind::Ntk)
    return stretched(f.number(factor));
  if (getKind() == RopeScalingKind::DynamicNtk) {
    Value times = f.div(f.maximum(f.toFloat(length), f.number(original)), f.number(original));
    return stretched(f.sub(f.mul(f.number(factor), times), f.number(factor - 1)));
  }
  Value plain = buildRotaryFrequency(builder, loc, base, pair, n);
  if (getKind() == RopeScalingKind::LongRope) {
    Value isLong = f.greater(f.toFloat(length), f.number(original));
    return f.div(plain, f.select(isLong, buildChoice(f, pair, getLongFactor()),
                                 buildChoice(f, pair, getShortFactor())));
  }
  Value divided = f.div(plain, f.number(factor));
  if (getKind() == RopeScalingKind::Linear)
    return divided;
  if (getKind() == RopeScalingKind::Proportional) {
    const double rotated = std::floor(getFirst().getValueAsDouble() * dims / 2);
    return f.select(f.less(pair, f.number(rotated)), divided, f.number(0));
  }
  const double fast = getFirst().getValueAsDouble(), slow = getSecond().getValueAsDouble();
  if (getKind() == RopeScalingKind::Yarn)
    return f.mix(divided, plain, buildYarnShare(f, base, pair, n, original, fast, slow));
  // llama3: the weight depends on the number of rotations within the original length.
  Value turns = f.mul(plain, f.number(original / (2 * std::numbers::pi)));
  Value share = f.div(f.sub(turns, f.number(slow)), f.number(fast - slow));
  return f.mix(divided, plain, f.clampToUnit(share));
}

double RopeScalingAttr::getMagnitude() {
  const double factor = getFactor().getValueAsDouble();
  if (getKind() == RopeScalingKind::LongRope && getFirst())
    return getFirst().getValueAsDouble();
  if (factor <= 1)
    return 1.0;
  if (getKind() == RopeScalingKind::LongRope)
    return std::sqrt(1 + std::log(factor) / std::log(getOriginalLength().getInt()));
  return getKind() == RopeScalingKind::Yarn ? 0.1 * std::log(factor) + 1 : 1.0;
}
