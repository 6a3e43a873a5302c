//===- RepresentAsFire.cpp - known biases as progressive interpolation ----===//

#include "passes/Transforms/Representation.h"

#include "dialect/Math/FireRepresentation.h"
#include "dialect/PE/PE.h"
#include "passes/Transforms/Passes.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "pe-represent-as-fire"

namespace mlir::pe {
#define GEN_PASS_DEF_PEREPRESENTASFIREPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

using Source = DerivedParameter::Source;

/// Returns the value for a head: parameters are one value, or one per head.
float numberOf(const ParameterValues &values, int64_t head) {
  return values.numbers[head % values.numbers.size()];
}

class Representation {
public:
  Representation(func::FuncOp function, int64_t length, int64_t heads)
      : function(function), builder(function.getContext()), length(static_cast<double>(length)),
        heads(heads) {
    for (BlockArgument argument : function.getArguments())
      names.insert(nameOf(argument));
  }

  LogicalResult run();
  std::vector<DerivedParameter> takeParameters() { return std::move(parameters); }

private:
  LogicalResult represent(Value bias);
  LogicalResult represent(LinearOp op);
  LogicalResult represent(PowerOp op);
  LogicalResult represent(TableOp op);
  LogicalResult represent(CosineSumOp op);
  LogicalResult refuse(Operation *op, Value coordinate);
  LogicalResult replace(Operation *op, Value value);

  bool isDistance(Value coordinate, bool isEven = false);
  /// Returns true if no query of any attention attends to a later key.
  bool isCausal();
  FailureOr<std::string> parameter(Operation *op, Value value);
  Value threshold();
  Value progressive(Operation *op, Value c = {});
  Value network(Operation *op, Value t, ValueRange layers, Activation activation);
  Value addParameter(StringRef name, ArrayRef<int64_t> shape, ArrayRef<std::string> sources,
                     std::function<ParameterValues(Source)> derive);
  SmallVector<Value> addLayer(int64_t units, bool perHead, ArrayRef<std::string> sources,
                              std::function<HiddenLayer(Source)> derive);
  StringRef nameOf(BlockArgument argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.name");
    return name ? name.getValue() : StringRef();
  }

  func::FuncOp function;
  OpBuilder builder;
  double length;
  int64_t heads;
  llvm::StringSet<> names;
  llvm::SmallPtrSet<Operation *, 8> done; // the ops that replaced a bias
  Value one;
  std::vector<DerivedParameter> parameters;
};

/// Returns true if the coordinate is |i - j| for every unmasked pair, or i - j for an even
/// function.
bool Representation::isDistance(Value coordinate, bool isEven) {
  return coordinate.getDefiningOp<DistanceOp>() ||
         (coordinate.getDefiningOp<RelativeOp>() && (isEven || isCausal()));
}

bool Representation::isCausal() {
  return llvm::all_of(function.getOps<AttentionOp>(), [](AttentionOp attention) {
    std::optional<DifferenceRange> range = attention.getMaskRange();
    return attention.getMask() && range && range->isCausal();
  });
}

LogicalResult Representation::refuse(Operation *op, Value coordinate) {
  InFlightDiagnostic error = op->emitOpError(
      "expected a bias that progressive interpolation can represent: pe.table of a causal "
      "pe.bucket, pe.linear of pe.distance or pe.log_distance, pe.power or pe.cosine_sum of "
      "pe.distance (pe.relative and pe.bucket under a causal mask); found ");
  error << "'" << op->getName() << "'";
  if (coordinate)
    error << " of '" << coordinate.getDefiningOp()->getName() << "'";
  return error;
}

FailureOr<std::string> Representation::parameter(Operation *op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument)
    return nameOf(argument).str();
  return op->emitOpError("expected parameters to be arguments of the function, found the result "
                         "of another operation");
}

/// Returns the multiplier of the threshold, a constant, because L is not learned.
Value Representation::threshold() {
  if (!one) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    auto type = RankedTensorType::get({}, builder.getF32Type());
    one = arith::ConstantOp::create(builder, function.getLoc(),
                                    DenseElementsAttr::get(type, APFloat(1.0f)));
  }
  return one;
}

Value Representation::progressive(Operation *op, Value c) {
  return ProgressiveOp::create(builder, op->getLoc(), CoordinateType::get(builder.getContext()), c,
                               threshold(), APFloat(length), APFloat(0.0));
}

Value Representation::network(Operation *op, Value t, ValueRange layers, Activation activation) {
  return MlpOp::create(builder, op->getLoc(), op->getResult(0).getType(), t, layers, activation,
                       Activation::Identity, APFloat(1e-5));
}

Value Representation::addParameter(StringRef name, ArrayRef<int64_t> shape,
                                   ArrayRef<std::string> sources,
                                   std::function<ParameterValues(Source)> derive) {
  std::string own = name.str();
  for (int number = 1; !names.insert(own).second; ++number)
    own = (name + "_" + Twine(number)).str();
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  const unsigned place = function.getNumArguments();
  auto attributes = builder.getDictionaryAttr(
      {builder.getNamedAttr("pe.name", builder.getStringAttr(own)),
       builder.getNamedAttr("pe.init", builder.getStringAttr("normal(1)"))});
  if (failed(function.insertArgument(place, type, attributes, function.getLoc())))
    llvm_unreachable("the function has a body");
  parameters.push_back({own, sources, std::move(derive)});
  return function.getArgument(place);
}

/// Adds w1, b1, w2 and b2, with one row for all heads unless `perHead`.
SmallVector<Value> Representation::addLayer(int64_t units, bool perHead,
                                            ArrayRef<std::string> sources,
                                            std::function<HiddenLayer(Source)> derive) {
  const int64_t rows = perHead ? ShapedType::kDynamic : 1;
  SmallVector<Value> layers;
  auto add = [&](StringRef name, ArrayRef<int64_t> shape, std::vector<float> HiddenLayer::*which) {
    std::vector<int64_t> known(shape.begin(), shape.end());
    layers.push_back(addParameter(name, shape, sources, [=](Source source) {
      std::vector<float> numbers = derive(source).*which;
      std::vector<int64_t> sizes = known;
      int64_t rest = static_cast<int64_t>(numbers.size());
      for (int64_t size : sizes)
        rest /= ShapedType::isDynamic(size) ? 1 : size;
      for (int64_t &size : sizes)
        size = ShapedType::isDynamic(size) ? rest : size;
      return ParameterValues{sizes, std::move(numbers)};
    }));
  };
  add("w1", {units}, &HiddenLayer::w1);
  add("b1", {units}, &HiddenLayer::b1);
  add("w2", {rows, units}, &HiddenLayer::w2);
  add("b2", {rows}, &HiddenLayer::b2);
  return layers;
}

LogicalResult Representation::replace(Operation *op, Value value) {
  done.insert(value.getDefiningOp());
  Operation *coordinate = op->getOperand(0).getDefiningOp();
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  if (coordinate->use_empty())
    coordinate->erase();
  return success();
}

/// Returns one value, or one per head.
ParameterValues perHead(bool many, int64_t count, llvm::function_ref<double(int64_t)> number) {
  ParameterValues values{{many ? count : 1}, {}};
  for (int64_t head = 0; head < (many ? count : 1); ++head)
    values.numbers.push_back(static_cast<float>(number(head)));
  return values;
}

int64_t countOf(ArrayRef<std::string> sources, Source source, int64_t otherwise) {
  int64_t count = otherwise;
  for (const std::string &name : sources)
    count = std::max<int64_t>(count, source(name).numbers.size());
  return count;
}

LogicalResult Representation::represent(LinearOp op) {
  auto log = op.getX().getDefiningOp<LogDistanceOp>();
  if (!log && !isDistance(op.getX()))
    return refuse(op, op.getX());
  if (op.getRule() && heads == 0)
    return op.emitOpError("expected the number of heads, because its slopes follow a rule; write "
                          "--heads=N");
  std::vector<std::string> sources;
  bool many = op.getRule().has_value();
  auto add = [&](Value value) -> FailureOr<std::string> {
    if (!value)
      return std::string();
    FailureOr<std::string> name = parameter(op, value);
    if (succeeded(name)) {
      sources.push_back(*name);
      many |= cast<RankedTensorType>(value.getType()).getRank() > 0;
    }
    return name;
  };
  Value c = log ? log.getC() : Value();
  FailureOr<std::string> cName = add(c), slope = add(op.getSlope()),
                         intercept = add(op.getIntercept());
  if (failed(cName) || failed(slope) || failed(intercept))
    return failure();
  const double factor = op.getFactor().convertToDouble(), n = length;
  const int64_t ruled = op.getRule() ? heads : 1;
  const auto rule = op.getRule();
  auto weight = [=, slope = *slope, cName = *cName](Source source) {
    return perHead(many, countOf(sources, source, ruled), [&](int64_t h) {
      double s = !rule                             ? numberOf(source(slope), h)
                 : *rule == SlopeRule::Interleaved ? interleavedSlope(h, ruled)
                                                   : geometricSlope(h, ruled);
      return factor * (cName.empty() ? s * n : representLogSlope(s, numberOf(source(cName), h), n));
    });
  };
  auto bias = [=, intercept = *intercept](Source source) {
    return perHead(many, countOf(sources, source, ruled), [&](int64_t h) {
      return intercept.empty() ? 0.0 : numberOf(source(intercept), h);
    });
  };
  const int64_t size = many ? ShapedType::kDynamic : 1;
  Value w = addParameter("w1", {size}, sources, weight);
  Value b = addParameter("b1", {size}, sources, bias);
  return replace(op, network(op, progressive(op, c), {w, b}, Activation::Identity));
}

LogicalResult Representation::represent(PowerOp op) {
  if (!isDistance(op.getX()))
    return refuse(op, op.getX());
  FailureOr<std::string> slope = parameter(op, op.getSlope()),
                         exponent = parameter(op, op.getExponent());
  if (failed(slope) || failed(exponent))
    return failure();
  const std::vector<std::string> sources = {*slope, *exponent};
  const bool many = cast<RankedTensorType>(op.getSlope().getType()).getRank() +
                        cast<RankedTensorType>(op.getExponent().getType()).getRank() >
                    0;
  const double n = length;
  Value scaled =
      addParameter("slope", many ? ArrayRef<int64_t>(ShapedType::kDynamic) : ArrayRef<int64_t>(),
                   sources, [=](Source source) {
                     ParameterValues values =
                         perHead(many, countOf(sources, source, 1), [&](int64_t h) {
                           return representPowerSlope(numberOf(source(sources[0]), h),
                                                      numberOf(source(sources[1]), h), n);
                         });
                     if (!many)
                       values.shape.clear();
                     return values;
                   });
  return replace(op, PowerOp::create(builder, op.getLoc(), op.getType(), progressive(op),
                                     op.getExponent(), scaled, op.getFactor()));
}

LogicalResult Representation::represent(TableOp op) {
  auto bucket = op.getX().getDefiningOp<BucketOp>();
  if (!bucket || bucket.getBidirectional() || !isCausal())
    return refuse(op, op.getX());
  FailureOr<std::string> table = parameter(op, op.getTable());
  if (failed(table))
    return failure();
  SmallVector<int64_t> found = bucketStarts(bucket);
  const std::vector<int64_t> starts(found.begin(), found.end());
  const double n = length;
  auto layers =
      addLayer(2 * static_cast<int64_t>(starts.size()), /*perHead=*/true, {*table},
               [=, name = *table](Source source) {
                 const ParameterValues &values = source(name);
                 const int64_t rows = values.shape[0], columns = values.shape[1];
                 std::vector<float> clamped; // rows beyond the table repeat its last one
                 for (int64_t row = 0; row <= static_cast<int64_t>(starts.size()); ++row)
                   for (int64_t h = 0; h < columns; ++h)
                     clamped.push_back(values.numbers[std::min(row, rows - 1) * columns + h]);
                 return representSteps(starts, clamped, columns, n);
               });
  return replace(op, network(op, progressive(op), layers, Activation::Step));
}

LogicalResult Representation::represent(CosineSumOp op) {
  if (!isDistance(op.getX(), /*isEven=*/true))
    return refuse(op, op.getX());
  std::vector<std::string> sources;
  if (op.getAmplitude()) {
    FailureOr<std::string> amplitude = parameter(op, op.getAmplitude());
    if (failed(amplitude))
      return failure();
    sources.push_back(*amplitude);
  }
  const bool many =
      op.getAmplitude() && cast<RankedTensorType>(op.getAmplitude().getType()).getRank() > 0;
  const int64_t terms = op.getTerms();
  const double base = op.getBase().convertToDouble(), n = length;
  auto layers = addLayer(2 * terms, many, sources, [=](Source source) {
    const std::vector<float> amplitudes =
        sources.empty() ? std::vector{1.0f} : source(sources.front()).numbers;
    return representCosines(terms, base, amplitudes, n);
  });
  return replace(op, network(op, progressive(op), layers, Activation::Cos));
}

LogicalResult Representation::represent(Value bias) {
  Operation *op = bias.getDefiningOp();
  if (done.contains(op))
    return success();
  builder.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LinearOp, PowerOp, TableOp, CosineSumOp>([&](auto known) { return represent(known); })
      .Case<AddOp>([&](AddOp sum) {
        if (failed(represent(sum.getLhs())))
          return failure();
        return represent(sum.getRhs());
      })
      .Case<ScaleOp>([&](ScaleOp scale) { return represent(scale.getBias()); })
      .Default([&](Operation *other) { return refuse(other, Value()); });
}

LogicalResult Representation::run() {
  SmallVector<BlockArgument> old(function.getArguments());
  SmallVector<bool> wasUsed;
  for (BlockArgument argument : old)
    wasUsed.push_back(!argument.use_empty());
  for (auto attention : function.getOps<AttentionOp>()) {
    if (attention.getBiases().empty())
      return attention.emitOpError("expected a bias to represent, found none");
    for (size_t n = 0; n < attention.getBiases().size(); ++n)
      if (failed(represent(attention.getBiases()[n])))
        return failure();
  }
  for (size_t n = old.size(); n-- > 0;)
    if (wasUsed[n] && old[n].use_empty())
      if (failed(function.eraseArgument(n)))
        return failure();
  return success();
}

struct RepresentAsFirePass : impl::PERepresentAsFirePassBase<RepresentAsFirePass> {
  using Base::Base;
  void runOnOperation() override {
    if (length < 1 || length > (int64_t(1) << 30)) {
      getOperation().emitError("expected a length of 1 to 2^30, found ")
          << static_cast<int64_t>(length);
      return signalPassFailure();
    }
    if (failed(representByInterpolation(getOperation(), length, heads)))
      signalPassFailure();
  }
};

} // namespace

FailureOr<std::vector<DerivedParameter>> representByInterpolation(func::FuncOp function,
                                                                  int64_t length, int64_t heads) {
  Representation representation(function, length, heads);
  if (failed(representation.run()))
    return failure();
  return representation.takeParameters();
}

} // namespace mlir::pe
