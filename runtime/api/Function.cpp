//===- Function.cpp - pe::Function and pe::Call ---------------------------===//

#include "pe/pe.h"
#include "runtime/api/Describe.h"
#include "runtime/api/Guard.h"
#include "runtime/api/Inputs.h"
#include "runtime/api/Lengths.h"
#include "runtime/api/ProgramState.h"
#include "runtime/device/cpu/ThreadPool.h"

namespace pe {

std::unique_ptr<ParallelFor> makeThreadPool(int threads) {
  return std::make_unique<cpu::ThreadPool>(cpu::ThreadPool::Options{.threads = threads});
}

/// Returns the caller's pool, or the pool of the process if there is none.
template <typename Options> static ParallelFor &poolOf(const Options &options) {
  return options.parallel ? *options.parallel : cpu::ThreadPool::ofProcess();
}

const TensorMap &Call::results() const {
  static const TensorMap none;
  return state ? state->results() : none;
}

/// Returns an error for a default-constructed Function.
static Status checkCompiled(const std::shared_ptr<const api::CompiledFunction> &state) {
  if (state)
    return Status::success();
  return makeError("expected a compiled function, found an empty one; call Program::compile");
}

const EntryInfo &Function::signature() const { return program->description->entry; }
const std::string &Function::explain() const { return state->explainText; }
const std::string &Function::explainJson() const { return state->explainJson; }

Expected<TensorMap> Function::randomInputs(uint64_t seed, const InputSizes &sizes) const {
  return api::guarded([&]() -> Expected<TensorMap> {
    if (Status s = checkCompiled(state); !s)
      return s.takeError();
    const plan::Plan &plan = state->runner->getPlan();
    const plan::CallSizes call = {sizes.batch, sizes.heads, sizes.keyHeads.value_or(sizes.heads),
                                  sizes.queries, sizes.keys.value_or(sizes.queries)};
    Expected<TensorMap> drawn =
        api::randomArguments(signature(), seed, call.values(plan.headDim, plan.valueDim));
    return drawn ? api::asPlanned(*drawn, plan) : drawn;
  });
}

std::string Function::describe() const { return api::describe(*program->description, *state); }

Expected<int64_t> Function::workspace(int halves, std::span<const View> views) const {
  return api::guarded([&]() -> Expected<int64_t> {
    if (Status s = checkCompiled(state); !s)
      return s.takeError();
    if (Status s = api::checkLengths(*program, *state->runner, views); !s)
      return s.takeError();
    return state->runner->workspace(halves, views);
  });
}

Status Function::shapeOf(std::span<const View> arguments, View &tensor) const {
  return api::guarded([&]() -> Status {
    if (Status s = checkCompiled(state); !s)
      return s;
    if (!tensor.name)
      return makeError("tensor: expected a name, found none");
    return state->runner->shapeOf(arguments, tensor);
  });
}

Status Function::run(int halves, std::span<const View> views, const RunContext &context) const {
  return api::guarded([&]() -> Status {
    if (Status s = checkCompiled(state); !s)
      return s;
    if (Status s = api::checkLengths(*program, *state->runner, views); !s)
      return s;
    device::CallContext given;
    given.workspace = context.workspace;
    given.workspaceBytes = context.workspaceBytes;
    given.stream = context.stream;
    given.device = context.device;
    given.pool = &poolOf(context);
    return state->runner->run(halves, views, context.positions, given);
  });
}

Expected<Prepared> Function::prepare(const TensorMap &arguments, const CallOptions &options) const {
  return api::guarded([&]() -> Expected<Prepared> {
    if (Status s = checkCompiled(state); !s)
      return s.takeError();
    if (Status s = api::checkLengths(*program, *state->runner, arguments); !s)
      return s.takeError();
    auto outcome = state->runner->prepare(arguments, options.positions, poolOf(options));
    if (!outcome)
      return outcome.takeError();
    Prepared prepared;
    prepared.state = *std::move(outcome);
    return prepared;
  });
}

Expected<Call> Function::forward(const TensorMap &arguments, const CallOptions &options) const {
  return api::guarded([&]() -> Expected<Call> {
    if (Status s = checkCompiled(state); !s)
      return s.takeError();
    if (Status s = api::checkLengths(*program, *state->runner, arguments); !s)
      return s.takeError();
    if (options.prepared && !options.prepared->state)
      return makeError("expected prepared tables, found none; call Function::prepare");
    auto outcome =
        state->runner->forward(arguments, options.positions, poolOf(options),
                               options.prepared ? options.prepared->state.get() : nullptr);
    if (!outcome)
      return outcome.takeError();
    Call call;
    call.state = *std::move(outcome);
    return call;
  });
}

Expected<TensorMap> Function::backward(const Call &call, const TensorMap &cotangents,
                                       const CallOptions &options) const {
  return api::guarded([&]() -> Expected<TensorMap> {
    if (Status s = checkCompiled(state); !s)
      return s.takeError();
    if (!call.state)
      return makeError("expected a forward call, found an empty one; call Function::forward");
    return state->runner->backward(*call.state, cotangents, poolOf(options));
  });
}

} // namespace pe
