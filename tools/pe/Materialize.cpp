//===- Materialize.cpp - The bias and rotation that a compiled kernel reads ---===//
#include "tools/pe/Materialize.h"

#include "runtime/api/Compiler.h"

#include <functional>

namespace pe::cli {
namespace {

/// Calls `visit` with the offset in [B, H, Sq, Sk] of every masked pair.
void forEachMasked(const reference::Materialized &expected,
                   const std::function<void(int64_t)> &visit) {
  const Shape &shape = expected.bias.shape();
  const int64_t pairs = shape[2] * shape[3];
  const double *allowed = expected.allowed.data<double>();
  for (int64_t n = 0; n < shape[0] * shape[1]; ++n)
    for (int64_t pair = 0; pair < pairs; ++pair)
      if (allowed[n / shape[1] * pairs + pair] == 0)
        visit(n * pairs + pair);
}

Status compareWithReference(MaterializedCall &call) {
  if (!call.bias.isDefined() || call.bias.dtype() != DType::F32 ||
      call.bias.shape() != call.expected.bias.shape())
    return makeError("expected a bias of shape ", toString(call.expected.bias.shape()), ", found ",
                     call.bias.isDefined() ? toString(call.bias.shape()) : "none");
  reference::Results expected;
  TensorMap found;
  Tensor &judged = expected.outputs["bias"] = call.expected.bias.clone();
  found["bias"] = call.bias = call.bias.clone();
  forEachMasked(call.expected, [&](int64_t place) {
    judged.data<double>()[place] = call.bias.data<float>()[place] = 0;
  });
  if (call.cosine.isDefined() && call.expected.cosine.isDefined()) {
    expected.outputs["cosine"] = call.expected.cosine;
    expected.outputs["sine"] = call.expected.sine;
    found["cosine"] = call.cosine;
    found["sine"] = call.sine;
  }
  auto report = reference::compare(expected, found);
  if (!report)
    return report.error();
  call.report = *std::move(report);
  // Compiled code simplifies the bias for unmasked pairs, so its values at masked pairs are
  // arbitrary.
  forEachMasked(call.expected, [&](int64_t place) {
    call.bias.data<float>()[place] = static_cast<float>(call.expected.bias.data<double>()[place]);
  });
  return Status::success();
}

Status useReference(MaterializedCall &call) {
  for (auto [from, to] :
       {std::pair(&call.expected.bias, &call.bias), std::pair(&call.expected.cosine, &call.cosine),
        std::pair(&call.expected.sine, &call.sine)}) {
    if (!from->isDefined())
      continue;
    auto single = convert(*from, DType::F32);
    if (!single)
      return single.error();
    *to = *std::move(single);
  }
  return Status::success();
}

/// Returns the function that writes the bias; null if there is no compiled code for it.
Expected<std::shared_ptr<const api::CompiledFunction>> functionOf(const api::ProgramState &program,
                                                                  const CompileOptions &options) {
  if (options.target == nameOf(plan::Target::Reference))
    return std::shared_ptr<const api::CompiledFunction>();
  if (program.packaged)
    return program.packaged->loadBias(options);
  auto request = api::requestHere(program, options);
  if (!request)
    return request.takeError();
  request->grad = false;
  request->materialize = true;
  return api::Compiler::instance().compile(*request);
}

} // namespace

Expected<MaterializedCall> materializeCall(const api::ProgramState &program,
                                           const CompileOptions &options,
                                           const TensorMap &arguments, const Positions &positions,
                                           ParallelFor &pool) {
  auto parsed = reference::parseProgram(program.description->program);
  if (!parsed)
    return parsed.takeError();
  MaterializedCall call;
  auto expected = reference::materialize(*parsed, arguments, positions);
  if (!expected)
    return expected.takeError();
  call.expected = *std::move(expected);
  auto function = functionOf(program, options);
  if (!function)
    return function.takeError();
  call.isCompiled = *function != nullptr;
  if (!call.isCompiled) {
    Status used = useReference(call);
    return used ? Expected<MaterializedCall>(std::move(call)) : used.takeError();
  }
  call.structure = (*function)->runner->getPlan().structure;
  auto run = (*function)->runner->forward(arguments, positions, pool);
  if (!run)
    return run.takeError();
  TensorMap results = (*run)->results();
  call.bias = results[jit::kBias];
  call.cosine = results[jit::kCosine];
  call.sine = results[jit::kSine];
  if (Status compared = compareWithReference(call); !compared)
    return compared.takeError();
  return call;
}

Status checkMaterialized(const MaterializedCall &call) {
  return call.report.passes() ? Status::success()
                              : makeError("the compiled bias differs from the float64 reference "
                                          "beyond the stated tolerance\n",
                                          call.report.table());
}

} // namespace pe::cli
