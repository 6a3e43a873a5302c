//===- CApi.cpp - The C API -----------------------------------------------===//

#include "pe/pe-c.h"

#include "runtime/api/CArguments.h"
#include "runtime/api/CErrors.h"
#include "runtime/api/Check.h"
#include "runtime/api/Describe.h"
#include "runtime/api/Handles.h"
#include "runtime/api/Lengths.h"
#include "runtime/api/ProgramState.h"
#include "runtime/device/cpu/HostPool.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <optional>

using pe::Expected;
using pe::makeError;
using pe::Status;
using pe::TensorMap;
using pe::api::checkLengths;
using pe::api::checkList;
using pe::api::HandleKind;
using pe::api::Handles;
using pe::api::listOf;
using pe::api::missing;
using pe::api::readScalars;
using pe::api::readVersioned;
using pe::api::reported;
using pe::api::tensorsOf;

struct pe_function {
  std::shared_ptr<const pe::api::ProgramState> program;
  std::shared_ptr<const pe::api::CompiledFunction> compiled;
  std::once_flag once;
  std::string description;
};

struct pe_call {
  std::shared_ptr<const pe::device::Call> call;
  std::mutex mutex; // protects the gradients
  TensorMap gradients;
};

namespace {

static_assert(static_cast<int>(pe::DType::I32) == PE_I32 &&
              static_cast<int>(pe::DType::U8) == PE_U8 &&
              static_cast<int>(pe::DType::TF32) == PE_TF32);
static_assert(pe::device::kPrepare == PE_PREPARE && pe::device::kForward == PE_FORWARD &&
              pe::device::kBackward == PE_BACKWARD);

using FunctionHandle = std::shared_ptr<pe_function>;

Status find(const pe_function *function, FunctionHandle &found) {
  return Handles::instance().find(HandleKind::Function, const_cast<pe_function *>(function),
                                  "function", found);
}
Status find(const pe_call *call, std::shared_ptr<pe_call> &found) {
  return Handles::instance().find(HandleKind::Call, const_cast<pe_call *>(call), "call", found);
}

/// Returns the given options. Defaults come from the package if there is one.
Expected<pe::CompileOptions> optionsOf(const pe_options &given,
                                       const pe::api::ProgramState &program) {
  pe::CompileOptions options;
  if (given.target)
    options.target = given.target;
  if (given.chip)
    options.chip = given.chip;
  options.device = given.device;
  const bool isReference = options.target == nameOf(pe::plan::Target::Reference);
  if (program.packaged && !isReference) {
    auto plan = program.packaged->find(options);
    if (!plan)
      return plan.takeError();
    options.headDim = (*plan)->headDim;
    options.valueDim = (*plan)->valueDim;
    options.dtype = (*plan)->dtype;
  }
  if (given.head_dim)
    options.headDim = given.head_dim;
  if (given.value_dim)
    options.valueDim = given.value_dim;
  const int dtype = static_cast<int>(given.dtype);
  if (dtype != PE_F32 && dtype != (isReference ? PE_F64 : PE_BF16) &&
      (isReference || (dtype != PE_F16 && dtype != PE_TF32)))
    return makeError("options: expected a dtype of ",
                     isReference ? "PE_F32 or PE_F64" : "PE_F32, PE_BF16, PE_F16 or PE_TF32",
                     ", found ", dtype);
  if (dtype != PE_F32)
    options.dtype = static_cast<pe::DType>(dtype);
  options.grad = given.grad != 0;
  if (given.pairs_memory)
    options.pairsMemory = given.pairs_memory == -1 ? 0 : given.pairs_memory;
  return options;
}

/// Compiles the program that `load` returns for the name of the entry.
template <typename Load> Status open(const pe_options *given, pe_function **function, Load &&load) {
  pe_options options;
  if (Status s = readVersioned(given, "options", options); !s)
    return s;
  auto program = load(options.entry ? options.entry : "");
  if (!program)
    return program.takeError();
  auto chosen = optionsOf(options, **program);
  if (!chosen)
    return chosen.takeError();
  auto compiled = pe::api::compileProgram(**program, *chosen);
  if (!compiled)
    return compiled.takeError();
  auto made = std::make_shared<pe_function>();
  made->program = *std::move(program);
  made->compiled = *std::move(compiled);
  *function = Handles::instance().add(HandleKind::Function, std::move(made));
  return Status::success();
}

/// Converts scalars of a call to positions. Any other scalar is an error.
Expected<pe::Positions> positionsOf(const pe::plan::Scalars &scalars) {
  pe::Positions positions;
  for (const auto &[name, value] : scalars) {
    if (name == "q_start")
      positions.queryStart = value;
    else if (name == "k_start")
      positions.keyStart = value;
    else if (name == "head_start")
      positions.headStart = value;
    else if (name == "heads_total")
      positions.headsTotal = value;
    else
      return makeError("scalar '", name, "': expected q_start, k_start, head_start or heads_total");
  }
  return positions;
}

/// Implements pe_check and returns its JSON.
Expected<std::string> check(const pe_function &function, const pe_view *inputs, int32_t count,
                            const pe_view *found, int32_t found_count,
                            const pe::plan::Scalars &scalars) {
  auto given = tensorsOf(inputs, count);
  if (!given)
    return given.takeError();
  auto results = tensorsOf(found, found_count);
  if (!results)
    return results.takeError();
  auto positions = positionsOf(scalars);
  if (!positions)
    return positions.takeError();
  const pe::jit::Description &description = *function.program->description;
  bool grad = false;
  for (const pe::ValueInfo &result : description.entry.results)
    grad |= given->count("d_" + result.name) > 0;
  auto judged =
      pe::api::judge(description, *function.compiled, *given, *results, *positions, grad, 0);
  if (!judged)
    return judged.takeError();
  return judged->json();
}

/// Returns the application's thread pool, or the pool of the process if there is none.
class Threads {
public:
  Status open(const pe_pool *given) {
    if (!given)
      return Status::success();
    if (!given->parallel_for || !given->threads)
      return missing(given->parallel_for ? "pool.threads" : "pool.parallel_for");
    host.emplace(*given);
    return Status::success();
  }
  pe::ParallelFor &get() {
    return host ? static_cast<pe::ParallelFor &>(*host) : pe::cpu::ThreadPool::ofProcess();
  }
  Status status() const { return host ? host->status() : Status::success(); }

private:
  std::optional<pe::cpu::HostPool> host;
};

} // namespace

extern "C" {

const char *pe_version(void) {
  static const std::string version = pe::version();
  return version.c_str();
}

int pe_open(const char *file, const pe_options *options, pe_function **function) {
  return reported([&]() -> Status {
    if (!file || !function)
      return missing(file ? "function" : "file");
    return open(options, function,
                [&](const char *entry) { return pe::api::loadProgram(file, entry); });
  });
}

int pe_open_text(const char *text, const char *name, const pe_options *options,
                 pe_function **function) {
  return reported([&]() -> Status {
    if (!text || !function)
      return missing(text ? "function" : "text");
    return open(options, function, [&](const char *entry) {
      return pe::api::parseProgram(text, name ? name : "text", entry);
    });
  });
}

void pe_close(pe_function *function) {
  if (function)
    reported(
        [&] { return Handles::instance().remove(HandleKind::Function, function, "function"); });
}

int pe_describe(const pe_function *function, const char **json) {
  return reported([&]() -> Status {
    FunctionHandle open;
    if (Status s = find(function, open); !s)
      return s;
    if (!json)
      return missing("json");
    std::call_once(open->once, [&] {
      open->description = pe::api::describe(*open->program->description, *open->compiled);
    });
    *json = open->description.c_str();
    return Status::success();
  });
}

int pe_workspace(const pe_function *function, int32_t half, const pe_view *views, int32_t count,
                 int64_t *bytes) {
  return reported([&]() -> Status {
    FunctionHandle open;
    if (Status s = find(function, open); !s)
      return s;
    if (!bytes)
      return missing("bytes");
    if (Status s = checkList(views, count, "tensors"); !s)
      return s;
    if (Status s = checkLengths(*open->program, *open->compiled->runner, listOf(views, count)); !s)
      return s;
    auto measured = open->compiled->runner->workspace(half, listOf(views, count));
    if (!measured)
      return measured.takeError();
    *bytes = *measured;
    return Status::success();
  });
}

int pe_shape(const pe_function *function, const pe_view *arguments, int32_t count,
             pe_view *tensor) {
  return reported([&]() -> Status {
    FunctionHandle open;
    if (Status s = find(function, open); !s)
      return s;
    if (!tensor || !tensor->name)
      return missing(tensor ? "tensor.name" : "tensor");
    if (Status s = checkList(arguments, count, "tensors"); !s)
      return s;
    return open->compiled->runner->shapeOf(listOf(arguments, count), *tensor);
  });
}

int pe_run(const pe_function *function, int32_t half, const pe_view *views, int32_t count,
           const pe_scalar *scalars, int32_t scalar_count, const pe_context *context) {
  return reported([&]() -> Status {
    FunctionHandle open;
    if (Status s = find(function, open); !s)
      return s;
    if (Status s = checkList(views, count, "tensors"); !s)
      return s;
    if (Status s = checkLengths(*open->program, *open->compiled->runner, listOf(views, count)); !s)
      return s;
    pe::plan::Scalars words;
    if (Status s = readScalars(scalars, scalar_count, words); !s)
      return s;
    pe_context given;
    if (Status s = readVersioned(context, "context", given); !s)
      return s;
    Threads threads;
    if (Status s = threads.open(given.pool); !s)
      return s;
    pe::device::CallContext own;
    own.workspace = given.workspace;
    own.workspaceBytes = given.workspace_bytes;
    own.stream = given.stream;
    own.device = given.device;
    own.pool = &threads.get();
    if (Status s = open->compiled->runner->run(half, listOf(views, count), words, own); !s)
      return s;
    return threads.status();
  });
}

int pe_forward(const pe_function *function, const pe_view *arguments, int32_t count,
               const pe_scalar *scalars, int32_t scalar_count, pe_call **call) {
  return reported([&]() -> Status {
    FunctionHandle open;
    if (Status s = find(function, open); !s)
      return s;
    if (!call)
      return missing("call");
    auto tensors = tensorsOf(arguments, count);
    if (!tensors)
      return tensors.takeError();
    if (Status s = checkLengths(*open->program, *open->compiled->runner, *tensors); !s)
      return s;
    pe::plan::Scalars words;
    if (Status s = readScalars(scalars, scalar_count, words); !s)
      return s;
    auto made = open->compiled->runner->forward(*tensors, words, pe::cpu::ThreadPool::ofProcess());
    if (!made)
      return made.takeError();
    auto kept = std::make_shared<pe_call>();
    kept->call = *std::move(made);
    *call = Handles::instance().add(HandleKind::Call, std::move(kept));
    return Status::success();
  });
}

int pe_backward(const pe_function *function, pe_call *call, const pe_view *cotangents,
                int32_t count) {
  return reported([&]() -> Status {
    FunctionHandle open;
    if (Status s = find(function, open); !s)
      return s;
    std::shared_ptr<pe_call> made;
    if (Status s = find(call, made); !s)
      return s;
    auto tensors = tensorsOf(cotangents, count);
    if (!tensors)
      return tensors.takeError();
    auto gradients =
        open->compiled->runner->backward(*made->call, *tensors, pe::cpu::ThreadPool::ofProcess());
    if (!gradients)
      return gradients.takeError();
    std::lock_guard lock(made->mutex);
    made->gradients = *std::move(gradients);
    return Status::success();
  });
}

int pe_result(const pe_call *call, const char *name, pe_view *tensor) {
  return reported([&]() -> Status {
    std::shared_ptr<pe_call> made;
    if (Status s = find(call, made); !s)
      return s;
    if (!name || !tensor)
      return missing(name ? "tensor" : "name");
    std::lock_guard lock(made->mutex);
    std::string known;
    const TensorMap &results = made->call->results();
    for (const TensorMap *tensors : {&results, const_cast<const TensorMap *>(&made->gradients)})
      for (const auto &[found, value] : *tensors) {
        if (found == name) {
          *tensor = pe::viewOf(found.c_str(), value);
          return Status::success();
        }
        known += (known.empty() ? "" : ", ") + found;
      }
    return makeError("expected a result or gradient of ", known, ", found '", name, "'");
  });
}

int pe_check(const pe_function *function, const pe_view *inputs, int32_t count,
             const pe_view *found, int32_t found_count, const pe_scalar *scalars,
             int32_t scalar_count, const char **json) {
  return reported([&]() -> Status {
    FunctionHandle open;
    if (Status s = find(function, open); !s)
      return s;
    if (!json)
      return missing("json");
    pe::plan::Scalars words;
    if (Status s = readScalars(scalars, scalar_count, words); !s)
      return s;
    auto text = check(*open, inputs, count, found, found_count, words);
    if (!text)
      return text.takeError();
    thread_local std::string kept;
    kept = *std::move(text);
    *json = kept.c_str();
    return Status::success();
  });
}

void pe_call_free(pe_call *call) {
  if (call)
    reported([&] { return Handles::instance().remove(HandleKind::Call, call, "call"); });
}

} // extern "C"
