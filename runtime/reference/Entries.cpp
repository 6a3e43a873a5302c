//===- Entries.cpp - Calls with lengths per batch entry -------------------===//

#include "runtime/reference/Entries.h"
#include "runtime/reference/CallSizes.h"

#include <algorithm>
#include <cmath>

namespace pe::reference {

static constexpr const char *kLengths = "kv_len";

static const Argument *findArgument(const Program &program, std::string_view name) {
  const auto found = std::ranges::find(program.arguments, name, &Argument::name);
  return found == program.arguments.end() ? nullptr : &*found;
}

bool hasLengths(const Program &program, const TensorMap &inputs) {
  return inputs.contains(kLengths) && !findArgument(program, kLengths);
}

/// Returns the size of an axis by its name in plans, or "" if it has none.
static std::string sizeOfAxis(const ValueInfo &value, size_t axis) {
  if (axis < value.dims.size() && value.dims[axis] >= 0)
    return std::to_string(value.dims[axis]);
  return axis < value.sizes.size() ? value.sizes[axis] : "";
}

//===- Dependence on the index in the batch -------------------------------===//

/// Returns the index of the batch among the arguments of the region of an operation, or -1.
static int placeOfBatch(const std::string &name) {
  static const std::map<std::string_view, int> places = {{"pe.bias_fn", 0},   {"pe.mask_fn", 0},
                                                         {"pe.factor_fn", 0}, {"pe.sink_fn", 0},
                                                         {"pe.score_fn", 1},  {"pe.content_fn", 0}};
  const auto found = places.find(name);
  return found == places.end() ? -1 : found->second;
}

namespace {

/// Finds uses of the batch index in one region other than as the index of a batch axis.
class BatchUses {
public:
  BatchUses(const Program &program, const std::vector<ValueInfo> &arguments,
            const Operation &operation, ValueId batch)
      : program(program), arguments(arguments), outer(operation), batch(batch) {}

  Status check(const Region &region) const {
    for (const Operation &operation : region.operations) {
      if (Status s = checkAxisSize(operation); !s)
        return s;
      for (size_t i = 0; i < operation.operands.size(); ++i)
        if (operation.operands[i] == batch && !isRead(operation, i))
          return operation.fail("uses the index of the batch entry, which a call with '", kLengths,
                                "' does not have; expected it as the index of a batch axis only");
    }
    return Status::success();
  }

private:
  /// Returns the size of an axis of a tensor in the region.
  std::string sizeOf(ValueId tensor, size_t axis) const {
    const std::vector<ValueId> &inside = outer.regions[0].arguments;
    const auto place = std::ranges::find(inside, tensor) - inside.begin();
    const size_t positions = inside.size() - std::min(inside.size(), captures());
    if (place < static_cast<int64_t>(inside.size()) && place >= static_cast<int64_t>(positions))
      tensor = outer.operands[static_cast<size_t>(place) - positions];
    for (const Argument &argument : program.arguments)
      for (const ValueInfo &value : arguments)
        if (argument.id == tensor && value.name == argument.name)
          return sizeOfAxis(value, axis);
    return "";
  }
  size_t captures() const {
    if (!outer.find("operandSegmentSizes"))
      return outer.operands.size();
    auto groups = outer.operandGroups(1);
    return groups ? (*groups)[0].size() : outer.operands.size();
  }
  /// All indices may read an axis of one element.
  bool isRead(const Operation &operation, size_t operand) const {
    if (operation.name != "pe.read" || operand == 0)
      return false;
    const std::string size = sizeOf(operation.operands[0], operand - 1);
    return size == "b" || size == "1";
  }

  /// The number of entries is not known either.
  Status checkAxisSize(const Operation &operation) const {
    if (operation.name != "pe.axis_size")
      return Status::success();
    auto axis = operation.integer("axis", 0);
    if (!axis)
      return axis.takeError();
    if (sizeOf(operation.operands.at(0), static_cast<size_t>(*axis)) != "b")
      return Status::success();
    return operation.fail("reads the number of batch entries, which a call with '", kLengths,
                          "' does not have");
  }

  const Program &program;
  const std::vector<ValueInfo> &arguments;
  const Operation &outer;
  ValueId batch;
};

} // namespace

/// Reports dropout with one seed for all entries, which draws by the index of the entry.
static Status checkSeed(const Program &program, const Operation &operation) {
  for (ValueId operand : operation.operands)
    if (program.typeOf(operand) == "tensor<i64>")
      return operation.fail(
          "drops by one seed and the index of the batch entry, which a call with '", kLengths,
          "' does not have; expected a seed per batch entry");
  return Status::success();
}

Status checkEntries(const Program &program, const std::vector<ValueInfo> &arguments) {
  if (std::ranges::none_of(program.operations, [](const Operation &operation) {
        return operation.name == "pe.attention" || operation.name == "pe.merge";
      }))
    return makeError("tensor '", kLengths,
                     "': expected a function of attention, whose keys it counts; '", program.name,
                     "' has none");
  for (const Operation &operation : program.operations) {
    if (operation.name == "pe.merge")
      return operation.fail("joins the results of several calls, which have no '", kLengths,
                            "'; omit it");
    if (Status s = checkSeed(program, operation); !s)
      return s;
    const int place = placeOfBatch(operation.name);
    if (place < 0)
      continue;
    for (const Region &region : operation.regions)
      if (Status s = BatchUses(program, arguments, operation,
                               region.arguments.at(static_cast<size_t>(place)))
                         .check(region);
          !s)
        return s;
  }
  return Status::success();
}

//===- Slices -------------------------------------------------------------===//

namespace {

/// The part of a tensor that belongs to a batch entry: a slice of each axis.
struct Part {
  bool hasBatch = false;
  Shape first, last;

  Part(const std::vector<std::string> &sizes, const Shape &shape, int64_t entry, int64_t length)
      : first(shape.size()), last(shape) {
    for (size_t axis = 0; axis < shape.size() && axis < sizes.size(); ++axis) {
      if (sizes[axis] == "b")
        hasBatch = true, first[axis] = entry, last[axis] = entry + 1;
      if (sizes[axis] == "c")
        last[axis] = length;
    }
  }
  Tensor of(const Tensor &tensor) const {
    Tensor part = tensor;
    for (size_t axis = 0; axis < first.size(); ++axis)
      part = part.slice(static_cast<int64_t>(axis), first[axis], last[axis]);
    return part;
  }
  Shape shape() const {
    Shape sizes;
    for (size_t axis = 0; axis < first.size(); ++axis)
      sizes.push_back(last[axis] - first[axis]);
    return sizes;
  }
};

/// Puts the results of entries together.
class Joined {
public:
  /// Adds tensor `name` of one entry. `sizes` are its axes, and `full` its shape in the entire
  /// call. Entries of the same element are combined by `combine`.
  template <typename Combine>
  void add(TensorMap &joined, const std::string &name, const Tensor &tensor, const Part &part,
           const Shape &full, Combine combine) {
    const bool isOneElement = tensor.shape() != part.shape();
    Tensor &whole = joined[name];
    if (!whole.isDefined())
      whole = Tensor::zeros(DType::F64, isOneElement ? Shape{1} : full);
    const Tensor from = isOneElement ? Tensor::of<double>({normOf(tensor)}, {1}) : tensor;
    Tensor to = isOneElement ? whole : part.of(whole);
    Tensor sum = to.clone();
    for (int64_t e = 0; e < sum.numel(); ++e)
      sum.values<double>()[e] = combine(sum.values<double>()[e], from.values<double>()[e]);
    to.copyFrom(sum);
  }

private:
  static double normOf(const Tensor &tensor) {
    double sum = 0;
    for (double x : tensor.values<double>())
      sum += x * x;
    return std::sqrt(sum);
  }
};

} // namespace

/// Returns the sizes of the axes of an argument, a result or the cotangent of a result.
static std::vector<std::string> sizesOf(const std::vector<ValueInfo> &arguments,
                                        const std::string &name, int64_t rank) {
  std::vector<std::string> sizes(static_cast<size_t>(rank));
  for (const ValueInfo &value : arguments)
    if (value.name == name) {
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        sizes[axis] = sizeOfAxis(value, axis);
      return sizes;
    }
  if (rank > 0)
    sizes[0] = "b"; // results
  return sizes;
}

static Expected<std::vector<int64_t>> lengthsOf(const TensorMap &inputs) {
  const Tensor lengths = inputs.at(kLengths).contiguous();
  if (lengths.dtype() != DType::I32 || lengths.rank() != 1)
    return makeError("tensor '", kLengths, "': expected i32 of shape [b], found ",
                     nameOf(lengths.dtype()), " of shape ", toString(lengths.shape()));
  const auto values = lengths.values<int32_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

static Expected<TensorMap> inputsOf(const std::vector<ValueInfo> &arguments,
                                    const TensorMap &inputs, int64_t entry, int64_t length,
                                    bool isPaged) {
  TensorMap parts;
  for (const auto &[name, tensor] : inputs) {
    if (name == kLengths)
      continue;
    const Part part(sizesOf(arguments, name, tensor.rank()), tensor.shape(), entry, length);
    for (size_t axis = 0; axis < part.last.size(); ++axis)
      if (part.first[axis] < 0 || part.first[axis] > part.last[axis] ||
          part.last[axis] > tensor.dim(static_cast<int64_t>(axis)))
        return makeError("tensor '", kLengths, "': expected lengths within tensor '", name,
                         "' of shape ", toString(tensor.shape()), ", found ", length, " at index ",
                         entry);
    parts[name] = part.of(tensor).contiguous();
  }
  if (isPaged) // the length is in no tensor
    parts[kLengths] = Tensor::of<int32_t>({static_cast<int32_t>(length)}, {1});
  return parts;
}

Expected<std::vector<TensorMap>> splitEntries(const Program &program,
                                              const std::vector<ValueInfo> &arguments,
                                              const TensorMap &inputs) {
  if (Status s = checkEntries(program, arguments); !s)
    return s.takeError();
  auto lengths = lengthsOf(inputs);
  if (!lengths)
    return lengths.takeError();
  std::vector<TensorMap> entries;
  for (size_t entry = 0; entry < lengths->size(); ++entry) {
    auto parts = inputsOf(arguments, inputs, static_cast<int64_t>(entry), (*lengths)[entry],
                          hasPages(program));
    if (!parts)
      return parts.takeError();
    entries.push_back(*std::move(parts));
  }
  return entries;
}

//===- Evaluation ---------------------------------------------------------===//

/// Adds the results of one entry.
static void join(Results &all, const Results &own, const std::vector<ValueInfo> &arguments,
                 const TensorMap &inputs, int64_t entry, int64_t entries, int64_t length) {
  const auto add = [](double a, double b) { return a + b; };
  const auto addSquares = [](double a, double b) { return std::sqrt(a * a + b * b); };
  Joined joined;
  // The part and the full shape of a result, or of the gradient of an argument.
  const auto place = [&](const std::string &name, const Tensor &tensor, TensorMap &to,
                         auto combine) {
    const auto output = own.outputs.find(name);
    const bool isOutput = output != own.outputs.end();
    const std::string argument = isOutput ? name : name.substr(2);
    Shape full = isOutput ? output->second.shape() : inputs.at(argument).shape();
    if (isOutput)
      full[0] = entries;
    const auto sizes = sizesOf(arguments, argument, static_cast<int64_t>(full.size()));
    joined.add(to, name, tensor, Part(sizes, full, entry, length), full, combine);
  };
  for (auto [from, to] : {std::pair(&own.outputs, &all.outputs),
                          {&own.gradients, &all.gradients},
                          {&own.magnitudes, &all.magnitudes}})
    for (const auto &[name, tensor] : *from)
      place(name, tensor, *to, add);
  for (auto [from, to] : {std::pair(&own.noise, &all.noise),
                          {&own.rounding, &all.rounding},
                          {&own.logitErrors, &all.logitErrors},
                          {&own.terms, &all.terms}})
    for (const auto &[name, tensor] : *from)
      place(name, tensor, *to, addSquares);
  all.maxLogit = std::max(all.maxLogit, own.maxLogit);
  all.logarithms.insert(own.logarithms.begin(), own.logarithms.end());
  all.outsideReads.insert(all.outsideReads.end(), own.outsideReads.begin(), own.outsideReads.end());
  if (all.badScore.empty())
    all.badScore = own.badScore;
}

Expected<Results> evaluateEntries(const Program &program, const std::vector<ValueInfo> &arguments,
                                  const TensorMap &inputs, const Positions &positions, bool grad,
                                  const EvaluateOptions &options) {
  if (!hasLengths(program, inputs))
    return evaluate(program, inputs, positions, grad, options);
  auto entries = splitEntries(program, arguments, inputs);
  if (!entries)
    return entries.takeError();
  if (entries->empty()) { // the results have no elements
    TensorMap others = inputs;
    others.erase(kLengths);
    return evaluate(program, others, positions, grad, options);
  }
  const auto lengths = lengthsOf(inputs);
  Results all;
  for (size_t entry = 0; entry < entries->size(); ++entry) {
    auto own = evaluate(program, (*entries)[entry], positions, grad, options);
    if (!own)
      return own.takeError().within("batch entry " + std::to_string(entry));
    join(all, *own, arguments, inputs, static_cast<int64_t>(entry),
         static_cast<int64_t>(entries->size()), (*lengths)[entry]);
  }
  return all;
}

} // namespace pe::reference
