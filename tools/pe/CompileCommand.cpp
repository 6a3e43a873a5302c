//===- CompileCommand.cpp - pe compile, pe explain ---===//
#include "runtime/core/File.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"

#include <algorithm>

#include <unistd.h>

namespace pe::cli {

namespace {

struct CompileCommandOptions : FileOptions {
  std::string emit, out;
  bool materialize = false;
};

struct ExplainOptions : FileOptions {
  bool json = false;
};

std::vector<std::string> splitList(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// Returns the targets of a package, with one entry per chip for cuda. Options of the CPU and of
/// GPUs apply to those targets of the list that they are for.
Expected<std::vector<CompileOptions>> targetsOf(const CompileCommandOptions &options) {
  std::vector<CompileOptions> targets;
  const std::vector<std::string> names = splitList(options.target);
  const auto has = [&](plan::Target target) {
    return std::ranges::find(names, nameOf(target)) != names.end();
  };
  const bool hasCpu = has(plan::Target::Cpu), hasCuda = has(plan::Target::Cuda);
  for (const std::string &target : names)
    for (const std::string &chip :
         splitList(target == nameOf(plan::Target::Cuda) ? options.chip : "")) {
      FileOptions one = options;
      one.target = target;
      if (hasCpu && !one.isFor(plan::Target::Cpu))
        one.features.clear(), one.lowering = "cpu";
      if (hasCuda && one.isFor(plan::Target::Cpu))
        one.lineTables = false;
      one.chip = chip;
      if (Status checked = checkTarget(one); !checked)
        return checked.takeError();
      targets.push_back(compileOptionsOf(one));
    }
  return targets;
}

Expected<std::string> emit(const CompileCommandOptions &options) {
  if (options.lineTables && options.emit != "ptx" && options.emit != "package")
    return makeError("--line-tables: expected --emit=ptx or package with it, found --emit=",
                     options.emit);
  if (!options.schedule.empty() && (options.emit == "pe" || options.emit == "tile"))
    return makeError(
        "--schedule: expected --emit=step, llvm, object, ptx or package with it, found "
        "--emit=",
        options.emit);
  if (!options.schedule.empty() && splitList(options.target).size() > 1)
    return makeError("--schedule: expected one target with it, because CPUs and GPUs have other "
                     "fields, found --target=",
                     options.target);
  if (options.emit != "package")
    if (Status target = checkTarget(options); !target)
      return target.takeError();
  if (options.emit == "package") {
    auto program = loadFile(options.file, options.entry);
    if (!program)
      return program.takeError();
    auto targets = targetsOf(options);
    if (!targets)
      return targets.takeError();
    return api::packageProgram(**program, *targets, options.materialize);
  }
  if (options.materialize)
    return makeError("--materialize: expected --emit=package with it, found --emit=", options.emit);
  if (Status exists = checkFile(options.file); !exists)
    return exists.takeError();
  auto program = Program::load(options.file, options.entry);
  if (!program)
    return program.takeError();
  static const std::map<std::string, Stage> stages = {
      {"pe", Stage::PE},         {"tile", Stage::Tile}, {"llvm", Stage::LLVM},
      {"object", Stage::Object}, {"ptx", Stage::Ptx},   {"step", Stage::Step}};
  return program->emit(compileOptionsOf(options), stages.at(options.emit));
}

Status compile(const CompileCommandOptions &options) {
  if (Status output = checkOutput("-o", options.out); !output)
    return output;
  const bool isBinary = options.emit == "package" || options.emit == "object";
  if (isBinary && options.out.empty() && ::isatty(STDOUT_FILENO))
    return makeError("--emit=", options.emit,
                     " writes binary data, found a terminal as the "
                     "output; add -o FILE");
  auto bytes = emit(options);
  if (!bytes)
    return bytes.takeError();
  if (!options.out.empty())
    return writeFileAtomically(options.out, *bytes);
  std::fwrite(bytes->data(), 1, bytes->size(), stdout);
  return Status::success();
}

/// Explains the compilation for a GPU without loading a driver, so it works on machines without
/// one.
Status explainForGpu(const ExplainOptions &options) {
  auto program = loadFile(options.file, options.entry);
  if (!program)
    return program.takeError();
  if ((*program)->packaged)
    return makeError("expected a source to explain for cuda, found a package");
  CompileOptions chosen = compileOptionsOf(options);
  if (chosen.chip.empty())
    chosen.chip = "sm_80"; // the structure is the same for every chip
  auto bundle = api::Compiler::instance().compileToBundle(api::requestOf(**program, chosen));
  if (!bundle)
    return bundle.takeError();
  std::printf("%s\n", bundle->at(options.json ? "explain.json" : "explain.txt").c_str());
  return Status::success();
}

Status explain(const ExplainOptions &options) {
  if (Status target = checkTarget(options); !target)
    return target;
  if (options.isFor(plan::Target::Cuda))
    return explainForGpu(options);
  if (Status exists = checkFile(options.file); !exists)
    return exists.takeError();
  auto program = Program::load(options.file, options.entry);
  if (!program)
    return program.takeError();
  CompileOptions chosen = compileOptionsOf(options);
  // An attention with pages has no gradients.
  chosen.grad = std::ranges::all_of(program->signature().attentions,
                                    [](const AttentionInfo &info) { return info.pages.empty(); });
  auto function = program->compile(chosen);
  if (!function)
    return function.takeError();
  std::printf("%s\n", (options.json ? function->explainJson() : function->explain()).c_str());
  return Status::success();
}

} // namespace

Action addCompile(CLI::App &app) {
  auto options = std::make_shared<CompileCommandOptions>();
  addFileOptions(app, *options);
  addEarlyExit(app, *options);
  app.add_option("--head-dim", options->headDim, "Head dimension of queries and keys")
      ->capture_default_str();
  app.add_option("--value-dim", options->valueDim, "Head dimension of values")
      ->capture_default_str();
  addSwitch(app, "--grad", options->grad,
            "Also compile the gradients of all floating-point arguments");
  app.add_option(
         "--emit", options->emit,
         "Stage to write: pe, tile, step (schedules and the programs of GPU kernels), llvm, "
         "object, ptx (cuda) or package")
      ->required()
      ->check(oneOf({"pe", "tile", "step", "llvm", "object", "ptx", "package"}));
  addSwitch(app, "--line-tables", options->lineTables,
            "Name the tile op of every instruction in PTX, by .loc directives; the tile program "
            "follows in comments");
  app.add_option("-o", options->out, "Output file; default: standard output");
  addSwitch(app, "--materialize", options->materialize,
            "Add the function that pe run --materialize calls to a package (10 to 25 kB)");
  app.footer(
      "Examples: pe compile examples/encodings/alibi.mlir --emit=tile\n"
      "  pe compile examples/encodings/fire.mlir --target=cpu,cuda --chip=sm_80,sm_90 --dtype=f32 "
      "--grad --emit=package -o fire.pepkg");
  return [options] {
    Status status = compile(*options);
    return status ? 0 : reportError("compile", status.error());
  };
}

Action addExplain(CLI::App &app) {
  auto options = std::make_shared<ExplainOptions>();
  options->grad = true;
  addFileOptions(app, *options);
  app.add_option("--head-dim", options->headDim, "Head dimension of queries and keys")
      ->capture_default_str();
  app.add_option("--value-dim", options->valueDim, "Head dimension of values")
      ->capture_default_str();
  addSwitch(app, "--json", options->json, "Print JSON");
  app.footer("Example: pe explain examples/encodings/fire.mlir");
  return [options] {
    Status status = explain(*options);
    return status ? 0 : reportError("explain", status.error());
  };
}

} // namespace pe::cli
