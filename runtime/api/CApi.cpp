//===- CApi.cpp - pe-c.h ---------------------------------------------------===//

#include "pe/pe-c.h"

#include "runtime/api/Guard.h"
#include "runtime/api/Handles.h"
#include "runtime/api/ProgramState.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cuda/CudaRunner.h"

using pe::Expected;
using pe::makeError;
using pe::Status;
using pe::Tensor;
using pe::TensorMap;
using pe::api::HandleKind;
using pe::api::Handles;
using pe::cpu::ThreadPool;

struct pe_function {
  std::shared_ptr<const pe::api::ProgramState> program;
  std::shared_ptr<const pe::api::CompiledFunction> compiled;
};

struct pe_call {
  std::shared_ptr<const pe::device::Call> call;
  TensorMap gradients;
};

struct pe_session {
  std::shared_ptr<const pe::api::CompiledFunction> compiled; // keeps plan and kernels
  std::unique_ptr<pe::cuda::Session> session;
};

namespace {

static_assert(static_cast<int>(pe::DType::I32) == PE_I32 &&
              static_cast<int>(pe::DType::TF32) == PE_TF32);

thread_local std::string lastError;

int report(const Status &status) {
  if (status)
    return 0;
  lastError = status.error().render("pe");
  return 1;
}

/// Runs `body`; nothing is thrown into C.
template <typename Body> int guarded(Body &&body) {
  return report(pe::api::guarded([&]() -> Status { return body(); }));
}

pe::Error missing(const char *argument) {
  return makeError("argument '", argument, "': expected an address, found none");
}

/// Whether the object is one of that kind and still open.
Status check(const pe_function *function) {
  return Handles::instance().check(HandleKind::Function, function, "function");
}
Status check(const pe_call *call) {
  return Handles::instance().check(HandleKind::Call, call, "call");
}
Status check(const pe_session *session) {
  return Handles::instance().check(HandleKind::Session, session, "session");
}

/// Ends the life of an object; null is nothing to do, and what is not open is left alone.
template <typename Object> void release(HandleKind kind, Object *object, const char *argument) {
  if (object && !report(Handles::instance().remove(kind, object, argument)))
    delete object;
}

pe::Positions positionsOf(const pe_positions *given) {
  pe::Positions positions;
  if (!given)
    return positions;
  if (given->query_start != PE_DEFAULT)
    positions.queryStart = given->query_start;
  if (given->key_start != PE_DEFAULT)
    positions.keyStart = given->key_start;
  if (given->head_start != PE_DEFAULT)
    positions.headStart = given->head_start;
  if (given->heads_total != PE_DEFAULT)
    positions.headsTotal = given->heads_total;
  return positions;
}

Expected<TensorMap> tensorsOf(const pe_tensor *list, int32_t count) {
  TensorMap tensors;
  if (count < 0 || (count && !list))
    return makeError("expected a list of tensors, found ", list ? "" : "no list and ",
                     "a count of ", count);
  for (int32_t i = 0; i < count; ++i) {
    const pe_tensor &given = list[i];
    if (!given.name)
      return makeError("tensor ", i, ": expected a name, found none");
    if (given.rank < 0 || given.rank > PE_MAX_RANK)
      return makeError("tensor '", given.name, "': expected a rank of 0 to ", int(PE_MAX_RANK),
                       ", found ", given.rank);
    pe::Shape shape(given.shape, given.shape + given.rank);
    Expected<int64_t> elements = pe::elementCount(shape);
    if (!elements)
      return elements.takeError().within(std::string("tensor '") + given.name + "'");
    if (!given.data && *elements)
      return makeError("tensor '", given.name, "': expected an address, found none");
    if (given.dtype < PE_F32 || given.dtype > PE_I32)
      return makeError("tensor '", given.name, "': expected a pe_dtype, found ",
                       static_cast<int>(given.dtype));
    static char nothing[64];
    Tensor tensor = Tensor::borrow(*elements ? given.data : nothing,
                                   static_cast<pe::DType>(given.dtype), std::move(shape));
    if (!tensors.emplace(given.name, std::move(tensor)).second)
      return makeError("tensor '", given.name, "': expected once, found twice");
  }
  return tensors;
}

/// The choices of `options`, and for the rest those of the package.
Expected<pe::CompileOptions> optionsOf(const pe_options *given,
                                       const pe::api::ProgramState &program) {
  pe::CompileOptions options;
  if (given && given->target)
    options.target = given->target;
  if (given && given->chip)
    options.chip = given->chip;
  if (program.packaged) {
    auto plan = program.packaged->find(options.target, options.chip);
    if (!plan)
      return plan.takeError();
    options.headDim = (*plan)->headDim;
    options.valueDim = (*plan)->valueDim;
    options.dtype = (*plan)->dtype;
  }
  if (!given)
    return options;
  if (given->head_dim)
    options.headDim = given->head_dim;
  if (given->value_dim)
    options.valueDim = given->value_dim;
  switch (static_cast<int>(given->dtype)) {
  case PE_F32:
    break;
  case PE_BF16:
  case PE_F16:
  case PE_TF32:
    options.dtype = static_cast<pe::DType>(given->dtype);
    break;
  default:
    return makeError("options: expected a dtype of PE_F32, PE_BF16, PE_F16 or PE_TF32, found ",
                     static_cast<int>(given->dtype));
  }
  options.grad = given->grad != 0;
  return options;
}

} // namespace

extern "C" {

const char *pe_version(void) {
  static const std::string version = pe::version();
  return version.c_str();
}

const char *pe_last_error(void) { return lastError.c_str(); }

int pe_open(const char *file, const pe_options *options, pe_function **function) {
  return guarded([&]() -> Status {
    if (!file || !function)
      return missing(file ? "function" : "file");
    auto program = pe::api::loadProgram(file, options && options->entry ? options->entry : "");
    if (!program)
      return program.takeError();
    auto chosen = optionsOf(options, **program);
    if (!chosen)
      return chosen.takeError();
    auto compiled = pe::api::compileProgram(**program, *chosen);
    if (!compiled)
      return compiled.takeError();
    *function = Handles::instance().add(HandleKind::Function,
                                        new pe_function{*std::move(program), *std::move(compiled)});
    return Status::success();
  });
}

void pe_close(pe_function *function) { release(HandleKind::Function, function, "function"); }

int pe_forward(const pe_function *function, const pe_tensor *arguments, int32_t count,
               const pe_positions *positions, pe_call **call) {
  return guarded([&]() -> Status {
    if (Status s = check(function); !s)
      return s;
    if (!call)
      return missing("call");
    auto tensors = tensorsOf(arguments, count);
    if (!tensors)
      return tensors.takeError();
    // The backward call may need them when the caller's memory is another's.
    for (auto &[name, tensor] : *tensors)
      tensor = tensor.clone();
    auto made = function->compiled->runner->forward(*tensors, positionsOf(positions),
                                                    ThreadPool::ofProcess());
    if (!made)
      return made.takeError();
    *call = Handles::instance().add(HandleKind::Call, new pe_call{*std::move(made), {}});
    return Status::success();
  });
}

int pe_backward(const pe_function *function, pe_call *call, const pe_tensor *cotangents,
                int32_t count) {
  return guarded([&]() -> Status {
    if (Status s = check(function); !s)
      return s;
    if (Status s = check(call); !s)
      return s;
    auto tensors = tensorsOf(cotangents, count);
    if (!tensors)
      return tensors.takeError();
    auto gradients =
        function->compiled->runner->backward(*call->call, *tensors, ThreadPool::ofProcess());
    if (!gradients)
      return gradients.takeError();
    call->gradients = *std::move(gradients);
    return Status::success();
  });
}

int pe_result(const pe_call *call, const char *name, pe_tensor *tensor) {
  return guarded([&]() -> Status {
    if (Status s = check(call); !s)
      return s;
    if (!name || !tensor)
      return missing(name ? "tensor" : "name");
    for (const TensorMap *tensors : {&call->call->results(), &call->gradients})
      if (auto found = tensors->find(name); found != tensors->end()) {
        const Tensor &value = found->second;
        *tensor = {found->first.c_str(),
                   const_cast<void *>(value.rawData()),
                   static_cast<pe_dtype>(value.dtype()),
                   static_cast<int32_t>(value.rank()),
                   {}};
        for (int64_t i = 0; i < value.rank(); ++i)
          tensor->shape[i] = value.dim(i);
        return Status::success();
      }
    std::string known;
    for (const TensorMap *tensors : {&call->call->results(), &call->gradients})
      for (const auto &[found, value] : *tensors)
        known += (known.empty() ? "" : ", ") + found;
    return makeError("expected a result or gradient of ", known, ", found '", name, "'");
  });
}

void pe_call_free(pe_call *call) { release(HandleKind::Call, call, "call"); }

int pe_session_create(const pe_function *function, int64_t batch, int64_t query_heads,
                      int64_t key_heads, int64_t queries, int64_t keys, int32_t grad,
                      pe_session **session) {
  return guarded([&]() -> Status {
    if (Status s = check(function); !s)
      return s;
    if (!session)
      return missing("session");
    const auto *runner =
        dynamic_cast<const pe::cuda::CudaRunner *>(function->compiled->runner.get());
    if (!runner)
      return makeError("expected a function of target cuda for a session, found one of ",
                       function->compiled->runner->getPlan().target);
    pe::plan::CallSizes sizes = {batch, query_heads, key_heads, queries, keys};
    if (Status s = pe::plan::place(sizes, {}); !s)
      return s;
    auto made = runner->createSession(sizes, grad != 0);
    if (!made)
      return made.takeError();
    *session = Handles::instance().add(HandleKind::Session,
                                       new pe_session{function->compiled, *std::move(made)});
    return Status::success();
  });
}

int pe_session_bind(pe_session *session, const char *name, void *device_pointer) {
  return guarded([&]() -> Status {
    if (Status s = check(session); !s)
      return s;
    if (!name)
      return missing("name");
    return session->session->bind(name, reinterpret_cast<pe::cuda::DevicePointer>(device_pointer));
  });
}

int pe_session_find(const pe_session *session, const char *name, void **device_pointer) {
  return guarded([&]() -> Status {
    if (Status s = check(session); !s)
      return s;
    if (!name || !device_pointer)
      return missing(name ? "device_pointer" : "name");
    auto found = session->session->find(name);
    if (!found)
      return found.takeError();
    *device_pointer = reinterpret_cast<void *>(*found);
    return Status::success();
  });
}

int pe_session_forward(pe_session *session, const pe_positions *positions, void *stream) {
  return guarded([&]() -> Status {
    if (Status s = check(session); !s)
      return s;
    if (Status s = session->session->setScalars(positionsOf(positions)); !s)
      return s;
    return session->session->launch(pe::device::Half::Forward,
                                    static_cast<pe::cuda::Stream>(stream));
  });
}

int pe_session_backward(pe_session *session, void *stream) {
  return guarded([&]() -> Status {
    if (Status s = check(session); !s)
      return s;
    return session->session->launch(pe::device::Half::Backward,
                                    static_cast<pe::cuda::Stream>(stream));
  });
}

void pe_session_free(pe_session *session) { release(HandleKind::Session, session, "session"); }

} // extern "C"
