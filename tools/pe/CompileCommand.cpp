//===- CompileCommand.cpp - pe compile, pe explain ---===//
#include "runtime/core/File.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"

namespace pe::cli {

Action addCompile(CLI::App &app) {
  struct Options : FileOptions {
    std::string emit, out;
  };
  auto options = std::make_shared<Options>();
  addFileOptions(app, *options);
  addEarlyExit(app, *options);
  app.add_option("--head-dim", options->headDim, "Depth of queries and keys")
      ->capture_default_str();
  app.add_option("--value-dim", options->valueDim, "Depth of values")->capture_default_str();
  app.add_flag("--grad", options->grad, "Also the gradients of every floating argument");
  app.add_option("--emit", options->emit, "pe, tile, llvm or object (ptx, package: not built yet)")
      ->required()
      ->check(CLI::IsMember({"pe", "tile", "llvm", "object", "ptx", "package"}));
  app.add_option("-o", options->out, "Output file; default: standard output");
  app.footer("Example: pe compile examples/encodings/alibi.mlir --emit=tile");
  return [options] {
    auto run = [&]() -> Status {
      if (options->emit == "ptx" || options->emit == "package")
        return makeError("--emit=", options->emit,
                         " is not built yet; expected pe, tile, llvm or object");
      if (Status target = checkTarget(*options); !target)
        return target;
      auto request = requestOf(*options);
      if (!request)
        return request.error();
      static const std::map<std::string, jit::EmitStage> stages = {
          {"pe", jit::EmitStage::PE},
          {"tile", jit::EmitStage::Tile},
          {"llvm", jit::EmitStage::LLVM},
          {"object", jit::EmitStage::Object}};
      auto text = api::Compiler::instance().emit(*request, stages.at(options->emit));
      if (!text)
        return text.error();
      if (!options->out.empty())
        return writeFileAtomically(options->out, *text);
      std::fwrite(text->data(), 1, text->size(), stdout);
      return Status::success();
    };
    Status status = run();
    return status ? 0 : reportError("compile", status.error());
  };
}

Action addExplain(CLI::App &app) {
  struct Options : FileOptions {
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  addFileOptions(app, *options);
  app.add_option("--head-dim", options->headDim, "Depth of queries and keys")
      ->capture_default_str();
  app.add_option("--value-dim", options->valueDim, "Depth of values")->capture_default_str();
  app.add_flag("--json", options->json, "As JSON");
  app.footer("Example: pe explain examples/encodings/fire.mlir");
  return [options] {
    auto run = [&]() -> Status {
      if (Status target = checkTarget(*options); !target)
        return target;
      options->grad = true;
      auto request = requestOf(*options);
      if (!request)
        return request.error();
      auto function = api::Compiler::instance().compile(*request);
      if (!function)
        return function.error();
      std::printf("%s\n",
                  (options->json ? (*function)->explainJson : (*function)->explainText).c_str());
      return Status::success();
    };
    Status status = run();
    return status ? 0 : reportError("explain", status.error());
  };
}

} // namespace pe::cli
