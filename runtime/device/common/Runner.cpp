//===- Runner.cpp - Calls on host tensors ---------------------------------===//

#include "runtime/device/common/Runner.h"

#include <algorithm>
#include <chrono>

namespace pe::device {

using plan::Buffer;
using plan::Role;

Expected<Tensor> Runner::Queue::allocate(DType dtype, Shape shape) {
  return Tensor::allocate(dtype, std::move(shape));
}

Status Runner::Queue::mark() {
  marks.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
  return Status::success();
}

Expected<double> Runner::Queue::seconds(size_t begin, size_t end) {
  return marks[end] - marks[begin];
}

static std::vector<View> viewsOf(const TensorMap &tensors) {
  std::vector<View> views;
  for (const auto &[name, tensor] : tensors)
    views.push_back(viewOf(name.c_str(), tensor));
  return views;
}

/// Checks the names of the tensors, and that they are defined and of rank 8 at most. BoundCall
/// checks everything else.
static Status checkTensors(const BoundPlan &plan, const TensorMap &tensors, Role role,
                           const char *what) {
  for (const auto &[name, tensor] : tensors) {
    const int index = plan.getPlan().findBuffer(name);
    const bool isOfCall =
        role == Role::Argument && (isLengths(plan, name) || (name == kCapacity && index < 0));
    if (!isOfCall && (index < 0 || plan.getPlan().buffers[index].role != role))
      return makeError("tensor '", name, "': '", plan.getPlan().entry, "' has no such ", what,
                       "; expected only ", plan.names([&](int known) {
                         return known < static_cast<int>(plan.buffers().size()) &&
                                plan.getPlan().buffers[known].role == role;
                       }));
    if (!tensor.isDefined())
      return makeError("tensor '", name, "': expected elements, found an undefined tensor");
    if (tensor.rank() > PE_MAX_RANK)
      return makeError("tensor '", name, "': expected a rank of 0 to ", int(PE_MAX_RANK),
                       ", found ", tensor.rank());
  }
  return Status::success();
}

/// Copies the tensors, except lengths, to device memory and adds them to `there`.
static Status uploadAll(const BoundPlan &plan, const TensorMap &tensors, TensorMap &there,
                        Runner::Queue &queue) {
  for (const auto &[name, tensor] : tensors) {
    if (isLengths(plan, name)) {
      there[name] = tensor;
      continue;
    }
    Expected<Tensor> uploaded = queue.upload(tensor);
    if (!uploaded)
      return uploaded.takeError().within("tensor '" + name + "'");
    there[name] = *std::move(uploaded);
  }
  return Status::success();
}

/// One half of a call on tensors in device memory, and its workspace.
struct Runner::Request {
  Request(const BoundPlan &plan, Halves halves, const TensorMap &tensors)
      : views(viewsOf(tensors)) {
    if (hasLengths(plan, views))
      entries.emplace(plan, halves, views);
    else
      call.emplace(plan, halves, views);
  }

  Status prepare(const plan::Scalars &scalars, Queue &queue, ParallelFor &pool);
  Status run(const Runner &runner) const {
    return entries ? runner.run(*entries, context) : runner.run(*call, context);
  }

  std::vector<View> views;
  /// The call; one of them is set.
  std::optional<BoundCall> call;
  std::optional<BoundEntries> entries;
  Tensor workspace;
  CallContext context;
};

Status Runner::Request::prepare(const plan::Scalars &scalars, Queue &queue, ParallelFor &pool) {
  if (Status s = entries ? entries->bind(scalars) : call->bind(scalars); !s)
    return s;
  const int64_t bytes = entries ? entries->workspaceBytes() : call->workspaceBytes();
  Expected<Tensor> memory = queue.allocate(DType::U8, {bytes});
  if (!memory)
    return memory.takeError().within("workspace");
  workspace = *std::move(memory);
  context.workspace = workspace.rawData();
  context.workspaceBytes = bytes;
  context.stream = queue.stream();
  context.pool = &pool;
  return entries ? entries->place(context.workspace, bytes)
                 : call->checkMemory(context.workspace, bytes);
}

/// Runs the request, downloads the tensors of `role` and waits, because the request owns memory
/// that the work uses.
Status Runner::finish(Request &request, TensorMap &found, Role role, Queue &queue) const {
  Status status = request.run(*this);
  if (status)
    status = download(found, role, queue);
  Status waited = queue.synchronize();
  return status ? std::move(waited) : std::move(status);
}

Status Runner::findSizes(const TensorMap &arguments, const plan::Scalars &scalars,
                         plan::CallSizes &sizes, SizeTable &values) const {
  if (Status s = checkTensors(bound(), arguments, Role::Argument, "argument"); !s)
    return s;
  const std::vector<View> views = viewsOf(arguments);
  const auto keep = [&](const BoundCall &call) {
    sizes = call.getSizes();
    values = call.sizeValues();
    return Status::success();
  };
  if (hasLengths(bound(), views)) {
    BoundEntries entries(bound(), kPrepare, views);
    Status s = entries.bind(scalars);
    return s ? keep(entries.getWhole()) : std::move(s);
  }
  BoundCall call(bound(), kPrepare, views);
  Status s = call.bind(scalars);
  return s ? keep(call) : std::move(s);
}

Expected<plan::CallSizes> Runner::bind(const TensorMap &arguments,
                                       const plan::Scalars &scalars) const {
  plan::CallSizes sizes;
  SizeTable values;
  if (Status s = findSizes(arguments, scalars, sizes, values); !s)
    return s.takeError();
  return sizes;
}

/// Returns true if the gradient belongs to an optional argument that the call omits.
bool Runner::isLeftOut(const plan::Buffer &gradient, const SizeTable &sizes) const {
  const int argument = getPlan().findBuffer(gradient.name.substr(2));
  const int word = argument < 0 ? -1 : bound().buffers()[argument].givenWord;
  return word >= 0 && sizes[word] == 0;
}

/// Computes the shape of a buffer or prepared tensor in the call with these tensors.
Status Runner::shapeIn(const TensorMap &call, size_t index, const SizeTable &sizes,
                       Extents &shape) const {
  if (call.contains(kLengths) && isLengths(bound(), kLengths))
    return shapeWithLengths(bound(), index, sizes, shape);
  return bound().shapeOfTensor(index, sizes, shape);
}

/// Allocates the tensors that the half writes for the caller.
Status Runner::allocateFor(const SizeTable &sizes, Halves half, TensorMap &tensors,
                           Queue &queue) const {
  const BoundPlan &plan = bound();
  const auto allocate = [&](const std::string &name, DType dtype, Shape shape) -> Status {
    Expected<Tensor> tensor = queue.allocate(dtype, std::move(shape));
    if (!tensor)
      return tensor.takeError().within("tensor '" + name + "'");
    tensors[name] = *std::move(tensor);
    return Status::success();
  };
  const bool keeps = half == kForward && getPlan().hasBackward();
  for (size_t i = 0; i < getPlan().buffers.size(); ++i) {
    const Buffer &buffer = getPlan().buffers[i];
    const bool isWanted = half == kForward
                              ? buffer.role == Role::Result || (keeps && plan.isSaved(i))
                              : buffer.role == Role::Gradient;
    Extents shape;
    if (!isWanted || (half == kBackward && isLeftOut(buffer, sizes)))
      continue;
    if (Status s = shapeIn(tensors, i, sizes, shape); !s)
      return s;
    if (Status s = allocate(buffer.name, buffer.dtype, Shape(shape.dims, shape.dims + shape.rank));
        !s)
      return s;
  }
  for (size_t g = 0; g < plan.groups().size() && keeps; ++g)
    if ((plan.groups()[g].readBy & kBackward) && !tensors.contains(plan.groups()[g].name))
      if (Status s = allocateGroup(g, sizes, tensors, queue); !s)
        return s;
  return Status::success();
}

Status Runner::allocateGroup(size_t group, const SizeTable &sizes, TensorMap &tensors,
                             Queue &queue) const {
  Extents shape;
  const std::string &name = bound().groups()[group].name;
  if (Status s = shapeIn(tensors, bound().buffers().size() + group, sizes, shape); !s)
    return s;
  Expected<Tensor> tensor = queue.allocate(DType::U8, Shape(shape.dims, shape.dims + shape.rank));
  if (!tensor)
    return tensor.takeError().within("tensor '" + name + "'");
  tensors[name] = *std::move(tensor);
  return Status::success();
}

/// Replaces `tensors` by host copies of those with the given role.
Status Runner::download(TensorMap &tensors, Role role, Queue &queue) const {
  TensorMap found;
  for (const Buffer &buffer : getPlan().buffers) {
    if (buffer.role != role || !tensors.contains(buffer.name))
      continue;
    Expected<Tensor> tensor = queue.download(tensors.at(buffer.name));
    if (!tensor)
      return tensor.takeError().within("tensor '" + buffer.name + "'");
    found[buffer.name] = *std::move(tensor);
  }
  tensors = std::move(found);
  return Status::success();
}

Expected<std::shared_ptr<Call>> Runner::start(const TensorMap &arguments,
                                              const plan::Scalars &scalars,
                                              const Prepared *prepared, Queue &queue) const {
  auto call = std::make_shared<Call>();
  if (Status s = findSizes(arguments, scalars, call->callSizes, call->values); !s)
    return s.takeError();
  call->function = bound().getIdentity();
  call->scalars = scalars;
  if (prepared)
    if (Status s = checkPrepared(*prepared, arguments, call->values); !s)
      return s.takeError();
  if (Status s = uploadAll(bound(), arguments, call->tensors, queue); !s)
    return s.takeError();
  if (prepared)
    call->tensors.insert(prepared->tensors.begin(), prepared->tensors.end());
  if (Status s = allocateFor(call->values, kForward, call->tensors, queue); !s)
    return s.takeError();
  return call;
}

bool Runner::isOfParameters(const PreparedGroup &group) const {
  return std::none_of(group.of.begin(), group.of.end(), [&](int argument) {
    return !bound().buffers()[argument].strideWords.empty();
  });
}

Expected<std::shared_ptr<const Prepared>>
Runner::prepare(const TensorMap &arguments, const plan::Scalars &scalars, ParallelFor &pool) const {
  auto queue = openQueue();
  if (!queue)
    return queue.takeError();
  auto prepared = std::make_shared<Prepared>();
  plan::CallSizes sizes;
  if (Status s = findSizes(arguments, scalars, sizes, prepared->values); !s)
    return s.takeError();
  prepared->function = bound().getIdentity();
  TensorMap tensors;
  if (Status s = uploadAll(bound(), arguments, tensors, **queue); !s)
    return s.takeError();
  for (size_t g = 0; g < bound().groups().size(); ++g) {
    const PreparedGroup &group = bound().groups()[g];
    if (!isOfParameters(group))
      continue;
    if (Status s = allocateGroup(g, prepared->values, tensors, **queue); !s)
      return s.takeError();
    prepared->tensors[group.name] = tensors[group.name];
    for (int argument : group.of)
      if (auto given = arguments.find(getPlan().buffers[argument].name); given != arguments.end())
        prepared->arguments.insert(*given);
  }
  if (auto lengths = arguments.find(kLengths);
      lengths != arguments.end() && isLengths(bound(), kLengths))
    prepared->arguments.insert(*lengths);
  if (prepared->tensors.empty()) // there is nothing to share between calls
    return std::shared_ptr<const Prepared>(std::move(prepared));
  Request request(bound(), kPrepare, tensors);
  if (Status s = request.prepare(scalars, **queue, pool); !s)
    return s.takeError();
  Status status = request.run(*this);
  Status waited = (*queue)->synchronize();
  if (!status || !waited)
    return status ? waited.takeError() : status.takeError();
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

/// Checks that the prepared tensors come from this function and from the sizes, positions and
/// tensors of the call.
Status Runner::checkPrepared(const Prepared &prepared, const TensorMap &arguments,
                             const SizeTable &sizes) const {
  if (prepared.function != bound().getIdentity())
    return makeError("expected tables that this function, '", getPlan().entry,
                     "', prepared, found tables of another function");
  const std::vector<plan::FrameWord> &words = bound().getLayout().getWords();
  for (size_t n = 0; n < words.size(); ++n)
    if (words[n].kind != plan::FrameWord::Kind::Stride && prepared.values[n] != sizes[n])
      return makeError("expected the sizes and positions that the tables were prepared for, ",
                       words[n].name, " = ", prepared.values[n], ", found ", sizes[n],
                       "; prepare new tables");
  for (const auto &[name, tensor] : prepared.arguments) {
    auto given = arguments.find(name);
    if (given == arguments.end() || given->second.rawData() != tensor.rawData() ||
        given->second.strides() != tensor.strides())
      return makeError("tensor '", name,
                       "': expected the tensor that the tables were prepared from, found ",
                       given == arguments.end() ? "none" : "another", "; prepare new tables");
  }
  return Status::success();
}

/// Computes the prepared tensors that the backward half reads and `prepared` does not contain.
Status Runner::prepareOthers(const Call &call, const Prepared &prepared, Queue &queue,
                             ParallelFor &pool) const {
  TensorMap tensors;
  bool isAny = false;
  for (const auto &[name, tensor] : call.tensors) {
    const int index = bound().find(name);
    const bool isGroup = index >= static_cast<int>(bound().buffers().size());
    if (isGroup     ? !prepared.tensors.contains(name)
        : index < 0 ? isLengths(bound(), name) || name == kCapacity
                    : getPlan().buffers[index].role == Role::Argument)
      tensors[name] = tensor;
    isAny |= isGroup && !prepared.tensors.contains(name);
  }
  if (!isAny)
    return Status::success();
  Request request(bound(), kPrepare, tensors);
  if (Status s = request.prepare(call.scalars, queue, pool); !s)
    return s;
  Status status = request.run(*this);
  Status waited = queue.synchronize(); // before the workspace is freed
  return status ? std::move(waited) : std::move(status);
}

Expected<std::shared_ptr<const Call>> Runner::forward(const TensorMap &arguments,
                                                      const plan::Scalars &scalars,
                                                      ParallelFor &pool,
                                                      const Prepared *prepared) const {
  auto queue = openQueue();
  if (!queue)
    return queue.takeError();
  auto call = start(arguments, scalars, prepared, **queue);
  if (!call)
    return call.takeError();
  const bool reads = prepared && !prepared->tensors.empty();
  if (reads)
    if (Status s = prepareOthers(**call, *prepared, **queue, pool); !s)
      return s.takeError();
  Request request(bound(), reads ? kForward : kPrepare | kForward, (*call)->tensors);
  if (Status s = request.prepare(scalars, **queue, pool); !s)
    return s.takeError();
  TensorMap results = (*call)->tensors;
  if (Status s = finish(request, results, Role::Result, **queue); !s)
    return s.takeError();
  (*call)->outputs = std::move(results);
  return std::shared_ptr<const Call>(*std::move(call));
}

/// Collects the tensors of a backward call: those of the forward call, the cotangents and newly
/// allocated gradients.
Expected<TensorMap> Runner::startBackward(const Call &call, const TensorMap &cotangents,
                                          Queue &queue, ParallelFor &pool) const {
  if (call.function != bound().getIdentity())
    return makeError("expected a forward call of this function, '", getPlan().entry,
                     "', found a call of another function");
  if (!getPlan().hasBackward())
    return makeError("'", getPlan().entry,
                     "' was compiled without gradients; compile it with them");
  if (Status s = checkTensors(bound(), cotangents, Role::Cotangent, "cotangent"); !s)
    return s.takeError();
  TensorMap tensors = call.tensors;
  if (Status s = uploadAll(bound(), cotangents, tensors, queue); !s)
    return s.takeError();
  if (Status s = allocateFor(call.values, kBackward, tensors, queue); !s)
    return s.takeError();
  return tensors;
}

Expected<TensorMap> Runner::backward(const Call &call, const TensorMap &cotangents,
                                     ParallelFor &pool) const {
  auto queue = openQueue();
  if (!queue)
    return queue.takeError();
  auto tensors = startBackward(call, cotangents, **queue, pool);
  if (!tensors)
    return tensors.takeError();
  Request request(bound(), kBackward, *tensors);
  if (Status s = request.prepare(call.scalars, **queue, pool); !s)
    return s.takeError();
  TensorMap gradients = *tensors;
  if (Status s = finish(request, gradients, Role::Gradient, **queue); !s)
    return s.takeError();
  return gradients;
}

Expected<CallTimes> Runner::time(const TensorMap &arguments, const plan::Scalars &scalars,
                                 const TensorMap &cotangents, ParallelFor &pool) const {
  auto queue = openQueue();
  if (!queue)
    return queue.takeError();
  auto call = start(arguments, scalars, /*prepared=*/nullptr, **queue);
  if (!call)
    return call.takeError();
  const bool hasBackward = !cotangents.empty();
  auto tensors = hasBackward ? startBackward(**call, cotangents, **queue, pool)
                             : Expected<TensorMap>(TensorMap());
  if (!tensors)
    return tensors.takeError();
  Request forward(bound(), kPrepare | kForward, (*call)->tensors);
  Request backward(bound(), kBackward, *tensors);
  Status status = forward.prepare(scalars, **queue, pool);
  if (status && hasBackward)
    status = backward.prepare(scalars, **queue, pool);
  if (status)
    status = (*queue)->mark();
  if (status)
    status = forward.run(*this);
  if (status)
    status = (*queue)->mark();
  if (status && hasBackward)
    status = backward.run(*this);
  if (status)
    status = (*queue)->mark();
  Status waited = (*queue)->synchronize();
  if (!status || !waited)
    return status ? waited.takeError() : status.takeError();
  Expected<double> first = (*queue)->seconds(0, 1), second = (*queue)->seconds(1, 2);
  if (!first || !second)
    return first ? second.takeError() : first.takeError();
  return CallTimes{*first, hasBackward ? *second : 0};
}

} // namespace pe::device
