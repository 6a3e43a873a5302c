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
using ::pe::reference::RopeBound;
using ::pe::reference::RopeKind;

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
  if (row.fast.name)
    llvm::append_range(keys, ArrayRef<StringRef>{row.fast.name, row.slow.name});
  return keys;
}

/// Parses `, KEY = NUMBER` after the kind. Returns the numbers by key, or nullopt after an error.
std::optional<llvm::StringMap<double>> parseNumbers(AsmParser &parser, RopeScalingKind kind) {
  llvm::StringMap<double> numbers;
  SmallVector<StringRef> keys = keysOf(kind);
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return std::nullopt;
    if (!llvm::is_contained(keys, key) || numbers.contains(key)) { // rope_scaling-C1
      parser.emitError(loc) << "expected " << llvm::join(keys, ", ") << " of "
                            << stringifyRopeScalingKind(kind) << ", each at most once, found "
                            << key << " (rope_scaling-C1)";
      return std::nullopt;
    }
    if (parser.parseEqual())
      return std::nullopt;
    Attribute number; // 4 as well as 4.0
    loc = parser.getCurrentLocation();
    if (parser.parseAttribute(number))
      return std::nullopt;
    if (auto real = dyn_cast<FloatAttr>(number))
      numbers[key] = real.getValueAsDouble();
    else if (auto integer = dyn_cast<IntegerAttr>(number))
      numbers[key] = static_cast<double>(integer.getInt());
    else { // rope_scaling-C1
      parser.emitError(loc) << "expected a number for " << key << ", found " << number
                            << " (rope_scaling-C1)";
      return std::nullopt;
    }
  }
  return numbers;
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
  std::optional<llvm::StringMap<double>> numbers = parseNumbers(parser, *kind);
  if (!numbers || parser.parseGreater())
    return {};
  Builder &b = parser.getBuilder();
  auto real = [&](const RopeBound &bound) {
    if (!bound.name)
      return FloatAttr();
    auto found = numbers->find(bound.name);
    return b.getF64FloatAttr(found == numbers->end() ? bound.standard : found->second);
  };
  IntegerAttr length;
  if (auto found = numbers->find("original_length"); found != numbers->end())
    length = b.getI64IntegerAttr(static_cast<int64_t>(
        found->second == std::floor(found->second) && std::abs(found->second) < 1e15
            ? found->second
            : 0.0)); // not a length; the verifier rejects 0
  const RopeKind &row = rowOf(*kind);
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), *kind,
                    real({"factor"}), length, real(row.fast), real(row.slow));
}

void RopeScalingAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyRopeScalingKind(getKind()) << ", factor = ";
  printer.printAttributeWithoutType(getFactor());
  if (getOriginalLength())
    printer << ", original_length = " << getOriginalLength().getInt();
  const RopeKind &row = rowOf(getKind());
  for (auto [bound, number] : {std::pair(row.fast, getFast()), {row.slow, getSlow()}})
    if (number && number.getValueAsDouble() != bound.standard) {
      printer << ", " << bound.name << " = ";
      printer.printAttributeWithoutType(number);
    }
  printer << ">";
}

LogicalResult RopeScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      RopeScalingKind kind, FloatAttr factor, IntegerAttr length,
                                      FloatAttr fast, FloatAttr slow) {
  auto isPositive = [](FloatAttr number) {
    return isFiniteInF32(number.getValueAsDouble()) && number.getValueAsDouble() > 0;
  };
  if (!isPositive(factor)) // rope_scaling-C2
    return emitError() << "expected a factor above 0, found " << factor.getValueAsDouble()
                       << " (rope_scaling-C2)";
  if (rowOf(kind).hasLength != static_cast<bool>(length) ||
      (length && (length.getInt() < 1 || length.getInt() > (1 << 30)))) { // rope_scaling-C3
    InFlightDiagnostic diagnostic = emitError() << "expected original_length of "
                                                << stringifyRopeScalingKind(kind)
                                                << " to be an integer from 1 to 2^30, found ";
    if (length)
      diagnostic << length.getInt();
    else
      diagnostic << "none";
    return diagnostic << " (rope_scaling-C3)";
  }
  if (fast && !(isPositive(slow) && isPositive(fast) &&
                fast.getValueAsDouble() > slow.getValueAsDouble())) // rope_scaling-C4
    return emitError() << "expected " << rowOf(kind).slow.name << " above 0 and "
                       << rowOf(kind).fast.name << " above it, found " << slow.getValueAsDouble()
                       << " and " << fast.getValueAsDouble() << " (rope_scaling-C4)";
  return success();
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
  Value divided = f.div(plain, f.number(factor));
  if (getKind() == RopeScalingKind::Linear)
    return divided;
  const double fast = getFast().getValueAsDouble(), slow = getSlow().getValueAsDouble();
  if (getKind() == RopeScalingKind::Yarn)
    return f.mix(divided, plain, buildYarnShare(f, base, pair, n, original, fast, slow));
  // llama3: the weight depends on the number of rotations within the original length.
  Value turns = f.mul(plain, f.number(original / (2 * std::numbers::pi)));
  Value share = f.div(f.sub(turns, f.number(slow)), f.number(fast - slow));
  return f.mix(divided, plain, f.clampToUnit(share));
}

double RopeScalingAttr::getMagnitude() {
  const double factor = getFactor().getValueAsDouble();
  return getKind() == RopeScalingKind::Yarn && factor > 1 ? 0.1 * std::log(factor) + 1 : 1.0;
}
