//===- ReferenceRunner.cpp - The float64 reference as a device ------------===//

#include "runtime/api/ReferenceRunner.h"

#include "runtime/device/common/BoundEntries.h"
#include "runtime/device/common/HostMemory.h"
#include "runtime/device/common/ValueChecks.h"
#include "runtime/reference/CallSizes.h"
#include "runtime/reference/Reference.h"

#include <algorithm>
#include <cstring>

namespace pe::api {

using device::BoundCall;
using plan::Buffer;
using plan::Phase;
using plan::Role;

static Expected<Buffer> bufferOf(const ValueInfo &value, std::string name, Role role, DType dtype) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.role = role;
  buffer.dtype = isFloating(value.dtype) ? dtype : value.dtype;
  buffer.optional = value.optional;
  buffer.parameter = value.parameter;
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    if (value.dims[axis] < 0 && value.sizes[axis].empty())
      return makeError("tensor '", value.name, "': the size of dimension ", axis,
                       " is not known from the other sizes")
          .at(value.location)
          .of(ErrorKind::Compile);
    buffer.shape.push_back(value.dims[axis] < 0 ? value.sizes[axis]
                                                : std::to_string(value.dims[axis]));
  }
  return buffer;
}

/// Returns the standard words, and a size word for each other name that is a dimension of an
/// argument.
static std::vector<plan::FrameWord> frameOf(const EntryInfo &entry) {
  std::vector<plan::FrameWord> words = plan::standardFrame();
  for (const ValueInfo &value : entry.arguments)
    for (size_t axis = 0; axis < value.sizes.size(); ++axis) {
      const auto size = plan::SizeExpression::parse(value.sizes[axis]);
      const std::string *name = size && value.dims[axis] < 0 ? size->asName() : nullptr;
      const auto isSame = [&](const plan::FrameWord &word) { return word.name == *name; };
      if (name && std::find_if(words.begin(), words.end(), isSame) == words.end())
        words.push_back({plan::FrameWord::Kind::Size, *name});
    }
  return words;
}

static Expected<plan::Plan> planOf(const EntryInfo &entry, DType dtype, bool grad) {
  plan::Plan plan;
  plan.entry = entry.name;
  plan.dtype = plan.products = dtype;
  plan.frame = frameOf(entry);
  for (const ValueInfo &value : entry.arguments)
    if (value.optional)
      plan.frame.push_back({plan::FrameWord::Kind::Size, "given_" + value.name});
  plan.requirements = entry.requirements;
  plan.valueRequirements = entry.valueRequirements;
  plan.structure = "float64 reference";
  plan.stages.push_back({"reference_forward", Phase::Forward, "1", {}, {}, {}});
  if (grad)
    plan.stages.push_back({"reference_backward", Phase::Backward, "1", {}, {}, {}});
  const auto add = [&](const ValueInfo &value, const std::string &name, Role role) -> Status {
    Expected<Buffer> buffer = bufferOf(value, name, role, dtype);
    if (!buffer)
      return buffer.takeError();
    const int index = static_cast<int>(plan.buffers.size());
    for (plan::Stage &stage : plan.stages) {
      const bool isForward = stage.phase == Phase::Forward;
      const bool isWritten = role == (isForward ? Role::Result : Role::Gradient);
      if (role == Role::Argument || isWritten || (!isForward && role == Role::Cotangent))
        stage.buffers.push_back(index);
      if (isWritten)
        stage.writes.push_back(index);
    }
    plan.buffers.push_back(*std::move(buffer));
    return Status::success();
  };
  for (const auto &[values, role, derived] :
       {std::tuple{&entry.arguments, Role::Argument, Role::Gradient},
        {&entry.results, Role::Result, Role::Cotangent}})
    for (const ValueInfo &value : *values) {
      if (Status s = add(value, value.name, role); !s)
        return s.takeError();
      if (grad && isFloating(value.dtype))
        if (Status s = add(value, "d_" + value.name, derived); !s)
          return s.takeError();
    }
  return plan;
}

Expected<std::shared_ptr<const ReferenceRunner>>
ReferenceRunner::create(const jit::Description &description, DType dtype, bool grad) {
  if (dtype != DType::F32 && dtype != DType::F64)
    return makeError("expected dtype f32 or f64 for target reference, found ", nameOf(dtype));
  Expected<plan::Plan> plan = planOf(description.entry, dtype, grad);
  if (!plan)
    return plan.takeError();
  Expected<reference::Program> program = reference::parseProgram(description.program);
  if (!program)
    return program.takeError().of(ErrorKind::Compile);
  for (plan::FrameWord &word : plan->frame)
    if (word.name == "q_start" && !reference::readsPositions(*program))
      word.fallback = plan::kStartWithoutPositions;
  Expected<device::BoundPlan> bound = device::BoundPlan::create(*std::move(plan));
  if (!bound)
    return bound.takeError().of(ErrorKind::Compile);
  return std::shared_ptr<const ReferenceRunner>(
      new ReferenceRunner(*std::move(bound), *std::move(program)));
}

static Positions positionsOf(const plan::CallSizes &sizes) {
  Positions positions;
  positions.queryStart = sizes.queryStart;
  positions.keyStart = sizes.keyStart;
  positions.headStart = sizes.headStart;
  positions.headsTotal = sizes.headsTotal;
  return positions;
}

/// Returns true if the buffer is an optional argument that the call omits.
static bool isOmitted(const BoundCall &call, size_t index) {
  const Buffer &buffer = call.getPlan().getPlan().buffers[index];
  return buffer.role == Role::Argument && buffer.optional && call.slot(index).view < 0;
}

Status ReferenceRunner::run(const BoundCall &call, const device::CallContext &context) const {
  char *first = BoundCall::firstByte(context.workspace);
  if (Status s = device::checkValues(call); !s)
    return s;
  device::beginOnHost(call, first, *context.pool);
  const std::vector<Buffer> &buffers = getPlan().buffers;
  const bool grad = getPlan().stages.size() > 1 && call.runs(1);
  TensorMap inputs;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool isInput = buffers[i].role == Role::Argument || buffers[i].role == Role::Cotangent;
    device::Extents shape;
    if (!isInput || call.slot(i).place == device::Slot::Place::Nowhere || isOmitted(call, i))
      continue;
    if (Status s = plan.shapeOf(i, call.sizeValues(), shape); !s)
      return s;
    inputs[buffers[i].name] = Tensor::borrow(call.address(i, first), buffers[i].dtype,
                                             Shape(shape.dims, shape.dims + shape.rank));
  }
  int32_t keys = static_cast<int32_t>(call.getSizes().keys);
  if (reference::hasPages(program) && call.getSizes().batch == 1) // an entry may end inside a page
    inputs[device::kLengths] = Tensor::borrow(&keys, DType::I32, {1});
  reference::EvaluateOptions options;
  options.threads = static_cast<unsigned>(context.pool->threads());
  auto results = reference::evaluate(program, inputs, positionsOf(call.getSizes()), grad, options);
  if (!results)
    return results.takeError();
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!call.slot(i).isWritten)
      continue;
    const TensorMap &tensors =
        buffers[i].role == Role::Result ? results->outputs : results->gradients;
    const auto found = tensors.find(buffers[i].name);
    const std::string &name = buffers[i].name;
    const int source =
        buffers[i].role == Role::Gradient ? getPlan().findBuffer(name.substr(2)) : -1;
    // The gradient of an omitted argument belongs to the argument that is read instead.
    if (source >= 0 && isOmitted(call, static_cast<size_t>(source))) {
      std::memset(call.address(i, first), 0, static_cast<size_t>(call.slot(i).bytes));
      continue;
    }
    if (found == tensors.end())
      return makeError("tensor '", buffers[i].name,
                       "': expected a value from the reference, "
                       "found none")
          .of(ErrorKind::Internal);
    Expected<Tensor> converted = convert(found->second, buffers[i].dtype);
    if (!converted)
      return converted.takeError();
    std::memcpy(call.address(i, first), converted->rawData(), converted->byteSize());
  }
  device::endOnHost(call, first, *context.pool);
  return Status::success();
}

} // namespace pe::api
