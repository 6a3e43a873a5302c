//===- RepresentCommand.cpp - pe represent ---===//
#include "runtime/api/Compiler.h"
#include "runtime/core/File.h"
#include "runtime/core/Safetensors.h"
#include "tools/pe/CommandLine.h"
#include "tools/pe/Commands.h"
#include "tools/pe/Run.h"

namespace pe::cli {

namespace {

struct RepresentOptions {
  std::string file, entry, in, out, outParams;
  int64_t length = 0, heads = 0;
};

/// Reads the floating-point tensors of a file, converted to f32.
Expected<std::vector<jit::NamedNumbers>> readParameters(const std::string &path) {
  auto file = readSafetensors(path);
  if (!file)
    return file.takeError();
  std::vector<jit::NamedNumbers> parameters;
  for (const NamedTensor &entry : file->tensors) {
    if (!isFloating(entry.tensor.dtype()))
      continue;
    auto single = convert(entry.tensor, DType::F32);
    if (!single)
      return single.takeError();
    const float *first = single->data<float>();
    parameters.push_back({entry.name,
                          std::vector<int64_t>(single->shape().begin(), single->shape().end()),
                          std::vector<float>(first, first + single->numel())});
  }
  return parameters;
}

Status writeParameters(const std::string &path, const std::vector<jit::NamedNumbers> &parameters) {
  Safetensors content;
  for (const jit::NamedNumbers &parameter : parameters)
    content.tensors.push_back(
        {parameter.name,
         Tensor::of(parameter.numbers, Shape(parameter.shape.begin(), parameter.shape.end()))});
  return writeSafetensors(path, content);
}

Status represent(const RepresentOptions &options) {
  for (auto [option, file] :
       {std::pair("--out", &options.out), std::pair("--out-params", &options.outParams)})
    if (Status output = checkOutput(option, *file); !output)
      return output;
  auto program = loadFile(options.file, options.entry);
  if (!program)
    return program.takeError();
  if ((*program)->packaged)
    return makeError("expected a source to represent, found a package");
  jit::RepresentRequest request;
  request.source = (*program)->source;
  request.length = options.length;
  request.heads = options.heads;
  request.derives = !options.outParams.empty();
  if (!options.in.empty()) {
    auto parameters = readParameters(options.in);
    if (!parameters)
      return parameters.takeError();
    request.parameters = *std::move(parameters);
  }
  auto result = api::Compiler::instance().represent(request);
  if (!result)
    return result.takeError();
  const std::string text = "// " + options.file +
                           " as progressive interpolation, made by pe represent --length=" +
                           std::to_string(options.length) + ".\n//\n" +
                           "// Theorem 3.1 of Li et al. 2023, arXiv 2310.04418: with the "
                           "matching parameters, the bias "
                           "equals that\n// of the file for every query position up to " +
                           std::to_string(options.length) + ".\n" + result->text;
  if (!options.outParams.empty())
    if (Status written = writeParameters(options.outParams, result->parameters); !written)
      return written;
  if (!options.out.empty())
    return writeFileAtomically(options.out, text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return Status::success();
}

} // namespace

Action addRepresent(CLI::App &app) {
  auto options = std::make_shared<RepresentOptions>();
  app.add_option("FILE", options->file, "A .mlir source, or the name of one of pe's examples")
      ->required()
      ->transform(findFile);
  app.add_option("--entry", options->entry, "Public function to use; default: the only one");
  app.add_option("--length", options->length,
                 "Largest position at which the new biases equal the old ones")
      ->required();
  app.add_option("--heads", options->heads,
                 "Number of heads, for slopes that follow a rule (alibi.mlir)");
  app.add_option("--in", options->in, "Parameters of FILE (safetensors)");
  app.add_option("--out", options->out, "Write the new source here; default: standard output");
  app.add_option("--out-params", options->outParams,
                 "Write the parameters of the new source here (safetensors)");
  app.footer("Example: pe represent examples/encodings/t5.mlir --length=512 --in=t5.safetensors "
             "--out=fire_of_t5.mlir --out-params=fire_of_t5.safetensors");
  return [options] {
    Status status = represent(*options);
    return status ? 0 : reportError("represent", status.error());
  };
}

} // namespace pe::cli
