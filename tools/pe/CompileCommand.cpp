//===- CompileCommand.cpp - pe compile, pe explain ---===//
#include "runtime/core/File.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"

namespace pe::cli {

namespace {

struct CompileCommandOptions : FileOptions {
  std::string emit, out;
};

struct ExplainOptions : FileOptions {
  bool json = false;
};

Expected<std::string> emit(const CompileCommandOptions &options) {
  if (Status target = checkTarget(options, /*isRun=*/options.emit == "package"); !target)
    return target.takeError();
  auto program = Program::load(options.file, options.entry);
  if (!program)
    return program.takeError();
  if (options.emit == "package")
    return program->package(compileOptionsOf(options));
  static const std::map<std::string, Stage> stages = {{"pe", Stage::PE},
                                                      {"tile", Stage::Tile},
                                                      {"llvm", Stage::LLVM},
                                                      {"object", Stage::Object},
                                                      {"ptx", Stage::Ptx}};
  return program->emit(compileOptionsOf(options), stages.at(options.emit));
}

Status compile(const CompileCommandOptions &options) {
  auto bytes = emit(options);
  if (!bytes)
    return bytes.takeError();
  if (!options.out.empty())
    return writeFileAtomically(options.out, *bytes);
  std::fwrite(bytes->data(), 1, bytes->size(), stdout);
  return Status::success();
}

Status explain(const ExplainOptions &options) {
  if (Status target = checkTarget(options, /*isRun=*/true); !target)
    return target;
  auto program = Program::load(options.file, options.entry);
  if (!program)
    return program.takeError();
  auto function = program->compile(compileOptionsOf(options));
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
  app.add_option("--head-dim", options->headDim, "Depth of queries and keys")
      ->capture_default_str();
  app.add_option("--value-dim", options->valueDim, "Depth of values")->capture_default_str();
  app.add_flag("--grad", options->grad, "Also the gradients of every floating argument");
  app.add_option("--emit", options->emit, "pe, tile, llvm, object, ptx (cuda) or package")
      ->required()
      ->check(CLI::IsMember({"pe", "tile", "llvm", "object", "ptx", "package"}));
  app.add_option("-o", options->out, "Output file; default: standard output");
  app.footer("Example: pe compile examples/encodings/alibi.mlir --emit=tile");
  return [options] {
    Status status = compile(*options);
    return status ? 0 : reportError("compile", status.error());
  };
}

Action addExplain(CLI::App &app) {
  auto options = std::make_shared<ExplainOptions>();
  options->grad = true;
  addFileOptions(app, *options);
  app.add_option("--head-dim", options->headDim, "Depth of queries and keys")
      ->capture_default_str();
  app.add_option("--value-dim", options->valueDim, "Depth of values")->capture_default_str();
  app.add_flag("--json", options->json, "As JSON");
  app.footer("Example: pe explain examples/encodings/fire.mlir");
  return [options] {
    Status status = explain(*options);
    return status ? 0 : reportError("explain", status.error());
  };
}

} // namespace pe::cli
