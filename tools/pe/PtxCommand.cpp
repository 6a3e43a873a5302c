//===- PtxCommand.cpp - pe ptx ---===//
#include "runtime/core/OwnLibraries.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/PtxOptions.h"

#include <dlfcn.h>

namespace pe::cli {
namespace {

/// Executes the command in libpe-ptx-command.so, which stays loaded.
Status execute(const PtxOptions &options) {
  const std::string path = ownLibraryPath("libpe-ptx-command.so");
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError("cannot load the PTX machine: ", ::dlerror(),
                     "; in a build directory, `make build` builds it");
  auto *command = reinterpret_cast<decltype(&pe_ptx_command)>(::dlsym(library, "pe_ptx_command"));
  if (!command)
    return makeError(path, ": expected the function pe_ptx_command; reinstall pe");
  Status status = Status::success();
  command(options, status);
  return status;
}

/// `check` has no options.
Status rejectOptions(const CLI::App &app) {
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0 && !option->get_positional())
      return makeError(option->get_name(), ": expected it with pe ptx run; check has no options");
  return Status::success();
}

} // namespace

Action addPtx(CLI::App &app) {
  auto options = std::make_shared<PtxOptions>();
  app.add_option("ACTION", options->action,
                 "check: parse FILE and list its kernels; run: execute one on this CPU")
      ->required()
      ->check(oneOf({"check", "run"}));
  app.add_option("FILE", options->file, "PTX text")->required();
  app.add_option("--kernel", options->kernel, "Kernel to run");
  app.add_option("--grid", options->grid, "CTAs: X, X,Y or X,Y,Z")->delimiter(',');
  app.add_option("--block", options->block, "Threads of a CTA: X, X,Y or X,Y,Z")->delimiter(',');
  app.add_option("--shared", options->shared, "Bytes of dynamic shared memory");
  app.add_option("--args", options->arguments,
                 "JSON list of the arguments: {\"tensor\": NAME}, of --in or, with \"shape\" and "
                 "\"dtype\", new; {\"i32\": 7}, {\"f32\": 0.5} ...");
  app.add_option("--in", options->in, "Safetensors file of input tensors");
  app.add_option("--out", options->out, "Safetensors file to write all tensors to after the run");
  app.add_option("--order", options->order,
                 "Order of CTAs and warps: random (interleaved by --seed), forward or reverse")
      ->check(oneOf({"random", "forward", "reverse"}))
      ->default_str("random");
  app.add_option("--seed", options->seed, "Seed of the order")->default_str("1");
  app.add_option("--ctas", options->ctas, "CTAs in flight")->default_str("16");
  app.add_option("--limit", options->limit,
                 "Stop with an error after this many warp instructions; 0: no limit");
  addSwitch(app, "--count", options->counts,
            "Print executions, wavefronts of shared memory and sectors of global memory by line");
  app.footer("Example: pe ptx run kernel.ptx --kernel=add --grid=4 --block=128 --args=args.json "
             "--in=in.safetensors --out=out.safetensors");
  return [options, &app] {
    Status status = options->action == "check" ? rejectOptions(app) : Status::success();
    if (status)
      status = execute(*options);
    return status ? 0 : reportError("ptx", status.error());
  };
}

} // namespace pe::cli
