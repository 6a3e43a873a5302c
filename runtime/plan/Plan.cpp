//===- Plan.cpp - Names and validation of plans ---------------------------===//

#include "runtime/plan/Plan.h"

#include <algorithm>
#include <set>

namespace pe::plan {

std::string_view nameOf(Role role) {
  static constexpr std::string_view names[] = {"argument",  "result",    "residual",
                                               "temporary", "cotangent", "gradient"};
  return names[static_cast<size_t>(role)];
}

std::string_view nameOf(Phase phase) {
  static constexpr std::string_view names[] = {"prepare", "forward", "backward", "finish"};
  return names[static_cast<size_t>(phase)];
}

bool Plan::hasBackward() const {
  for (const Stage &stage : stages)
    if (stage.phase == Phase::Backward || stage.phase == Phase::Finish)
      return true;
  return false;
}

int Plan::findBuffer(std::string_view name) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].name == name)
      return static_cast<int>(i);
  return -1;
}

/// Checks that `text` is an expression over the names of the frame's words.
static Status checkExpression(const std::string &text, const FrameLayout &frame) {
  Expected<SizeExpression> parsed = SizeExpression::parse(text);
  return parsed ? parsed->resolve(frame.getNames()) : Status(parsed.takeError());
}

static Status validateBuffer(const Buffer &buffer, const FrameLayout &frame) {
  if (buffer.name.empty())
    return makeError("expected every buffer to have a name, found an unnamed ",
                     nameOf(buffer.role));
  if (buffer.shape.size() > kMaxRank)
    return makeError("buffer '", buffer.name, "': expected at most ", kMaxRank,
                     " dimensions, found ", buffer.shape.size());
  for (const std::string &dim : buffer.shape)
    if (Status s = checkExpression(dim, frame); !s)
      return s.takeError().within("buffer '" + buffer.name + "'");
  if (!isPlanned(buffer.dtype))
    return makeError("buffer '", buffer.name,
                     "': expected element type f32, f64, bf16, f16, i32 or i64, found ",
                     nameOf(buffer.dtype));
  return Status::success();
}

/// Cotangents and gradients exist only in a backward call.
static bool isOfBackward(Role role) { return role == Role::Cotangent || role == Role::Gradient; }
static bool isOfBackward(Phase phase) { return phase == Phase::Backward || phase == Phase::Finish; }

static Status validateStride(const Plan &plan, const FrameWord &word) {
  if (word.kind != FrameWord::Kind::Stride)
    return Status::success();
  const int buffer = plan.findBuffer(word.name);
  const int axes = buffer < 0 ? 0 : static_cast<int>(plan.buffers[buffer].shape.size()) - 1;
  if (word.axis >= 0 && word.axis < axes)
    return Status::success();
  return makeError("frame: expected the stride of a buffer axis other than the last, found axis ",
                   word.axis, " of '", word.name, "'");
}

static Status validateLaunch(const Plan &plan, const Stage &stage) {
  const bool isKernel = isGpu(plan.target);
  if (plan.target != Target::None && stage.launch.has_value() != isKernel)
    return makeError("stage '", stage.symbol, "': expected ", isKernel ? "" : "no ",
                     "kernel threads on target ", nameOf(plan.target), ", found ",
                     isKernel ? "none" : "some");
  if (!stage.launch)
    return stage.words.empty() ? Status::success()
                               : Status(makeError("stage '", stage.symbol,
                                                  "': expected frame words only for a kernel, "
                                                  "found some"));
  for (int word : stage.words)
    if (word < 0 || static_cast<size_t>(word) >= plan.frame.size())
      return makeError("stage '", stage.symbol, "': expected indices of frame words below ",
                       plan.frame.size(), ", found ", word);
  size_t bytes = stage.buffers.size() * 8;
  for (int word : stage.words)
    bytes += plan.frame[word].kind == FrameWord::Kind::Stride ? 8 : 4;
  if (bytes > kMaxKernelParameters)
    return makeError("stage '", stage.symbol, "': expected at most ", kMaxKernelParameters,
                     " bytes of parameters for a kernel, found ", bytes);
  const auto [threads, sharedBytes] = *stage.launch;
  if (threads < 32 || threads > 1024 || threads % 32)
    return makeError("stage '", stage.symbol,
                     "': expected 32 to 1024 threads, a multiple of 32, found ", threads);
  if (sharedBytes < 0)
    return makeError("stage '", stage.symbol,
                     "': expected a nonnegative number of shared memory bytes, found ",
                     sharedBytes);
  return Status::success();
}

/// Checks that the buffers a stage writes are among its buffers, and not inputs of the call.
static Status validateWrites(const Plan &plan, const Stage &stage) {
  for (int index : stage.writes) {
    if (std::find(stage.buffers.begin(), stage.buffers.end(), index) == stage.buffers.end())
      return makeError("stage '", stage.symbol, "': expected to write only its own buffers, found ",
                       index);
    const Buffer &buffer = plan.buffers[index];
    if (buffer.role == Role::Argument || buffer.role == Role::Cotangent)
      return makeError("stage '", stage.symbol, "': expected not to write any ",
                       nameOf(buffer.role), ", found '", buffer.name, "'");
  }
  return Status::success();
}

static Status validateStage(const Plan &plan, const Stage &stage, const FrameLayout &frame) {
  if (stage.symbol.empty())
    return makeError("expected every stage to have a symbol, found none");
  for (const std::string &expression : {stage.items, stage.when.empty() ? "1" : stage.when})
    if (Status s = checkExpression(expression, frame); !s)
      return s.takeError().within("stage '" + stage.symbol + "'");
  for (int index : stage.buffers) {
    if (index < 0 || static_cast<size_t>(index) >= plan.buffers.size())
      return makeError("stage '", stage.symbol, "': expected buffer indices below ",
                       plan.buffers.size(), ", found ", index);
    const Buffer &buffer = plan.buffers[index];
    if (isOfBackward(buffer.role) && !isOfBackward(stage.phase))
      return makeError("stage '", stage.symbol, "': expected a stage of phase ",
                       nameOf(stage.phase), " to use no ", nameOf(buffer.role), ", found '",
                       buffer.name, "'");
  }
  if (Status s = validateWrites(plan, stage); !s)
    return s;
  return validateLaunch(plan, stage);
}

static Status validateHeader(const Plan &plan) {
  if (plan.version != kPlanVersion)
    return makeError("expected plan version ", kPlanVersion, ", found ", plan.version,
                     "; compile the source again with this version of pe");
  if (plan.target == Target::Reference)
    return makeError("expected target cpu, cuda or gpu-emulator, found '", nameOf(plan.target),
                     "'");
  constexpr int64_t kMaxDepth = 1 << 16;
  for (const auto &[name, depth] :
       {std::pair{"head dim", plan.headDim}, std::pair{"value dim", plan.valueDim}})
    if (depth < 0 || depth > kMaxDepth)
      return makeError("expected a ", name, " of 0 to ", kMaxDepth, ", found ", depth);
  if (!isFloating(storageOf(plan.dtype)))
    return makeError("expected a floating-point activation type, found ", nameOf(plan.dtype));
  return Status::success();
}

static Status validateValues(const Plan &plan, const ValueRequirement &requirement,
                             const FrameLayout &frame) {
  const int index = plan.findBuffer(requirement.tensor);
  if (index < 0 || plan.buffers[index].role != Role::Argument ||
      plan.buffers[index].dtype != DType::I32)
    return makeError("requires_values: expected an argument of i32, found '", requirement.tensor,
                     "'");
  for (const std::string &text : {requirement.first, requirement.last})
    if (Status s = checkExpression(text, frame); !s)
      return s.takeError().within("values of '" + requirement.tensor + "'");
  return Status::success();
}

Status validate(const Plan &plan) {
  if (Status s = validateHeader(plan); !s)
    return s;
  Expected<FrameLayout> frame = FrameLayout::create(plan.frame);
  if (!frame)
    return frame.takeError();
  std::set<std::string> names;
  for (const Buffer &buffer : plan.buffers) {
    if (Status s = validateBuffer(buffer, *frame); !s)
      return s;
    if (!names.insert(buffer.name).second)
      return makeError("expected unique buffer names, found '", buffer.name, "' twice");
  }
  for (const Requirement &requirement : plan.requirements)
    for (const std::string &text : {requirement.size, requirement.least})
      if (Status s = checkExpression(text, *frame); !s)
        return s.takeError().within("requirement of " + requirement.what);
  for (const ValueRequirement &requirement : plan.valueRequirements)
    if (Status s = validateValues(plan, requirement, *frame); !s)
      return s;
  for (const FrameWord &word : plan.frame)
    if (Status s = validateStride(plan, word); !s)
      return s;
  for (const Stage &stage : plan.stages)
    if (Status s = validateStage(plan, stage, *frame); !s)
      return s;
  return Status::success();
}

} // namespace pe::plan
