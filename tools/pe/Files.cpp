//===- Files.cpp - how a file is named and compiled ---===//
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"

namespace pe::cli {

void addFileOptions(CLI::App &app, FileOptions &options) {
  app.add_option("FILE", options.file, "A .mlir source or a compiled package")->required();
  app.add_option("--entry", options.entry, "Public function to use; default: the only one");
  app.add_option("--target", options.target,
                 "cpu, cuda, gpu-emulator or reference; a list for packages")
      ->capture_default_str();
  app.add_option("--chip", options.chip,
                 "For cuda: sm_80, sm_86, sm_89, sm_90a ...; with a PTX version sm_80+ptx83; "
                 "default when running: this machine's; a list for packages");
  app.add_option(
      "--dtype", options.dtype,
      "Type of activations: f32; on GPUs also bf16, f16, and tf32 (f32 whose contractions "
      "round their operands to 10 bits of fraction)");
  app.add_option("--features", options.features,
                 "x86-64-v3 or x86-64-v4: compile for that baseline instead of this machine");
  app.add_option("--lowering", options.lowering,
                 "cpu: tuned kernels; loops: the naive definition of every tile op")
      ->capture_default_str();
}

void addEarlyExit(CLI::App &app, FileOptions &options) {
  app.add_option_function<std::string>(
         "--early-exit",
         [&options](const std::string &value) { options.earlyExit = value == "on"; },
         "on: stick-breaking may stop at keys that cannot change the result (default); off")
      ->check(CLI::IsMember({"on", "off"}));
}

Status checkTarget(const FileOptions &options) {
  if (options.target != "cpu" && options.target != "cuda" && options.target != "gpu-emulator" &&
      options.target != "reference")
    return makeError("expected --target cpu, cuda, gpu-emulator or reference, found '",
                     options.target, "'");
  const bool isGpu = options.target == "cuda" || options.target == "gpu-emulator";
  const bool takesNarrow = isGpu || options.target == "reference";
  const bool isNarrow =
      options.dtype == "bf16" || options.dtype == "f16" || options.dtype == "tf32";
  const bool isKnown = options.dtype.empty() || options.dtype == "f32" || (takesNarrow && isNarrow);
  if (!isKnown)
    return makeError("expected --dtype=f32", takesNarrow ? ", bf16, f16 or tf32" : "",
                     " on target ", options.target, ", found '", options.dtype, "'");
  return Status::success();
}

CompileOptions compileOptionsOf(const FileOptions &options) {
  CompileOptions result;
  result.target = options.target;
  result.chip = options.chip;
  result.features = options.features;
  if (!options.dtype.empty())
    result.dtype = *parseDType(options.dtype);
  result.headDim = options.headDim;
  result.valueDim = options.valueDim;
  result.grad = options.grad;
  result.earlyExit = options.earlyExit;
  result.lowering = options.lowering;
  return result;
}

} // namespace pe::cli
