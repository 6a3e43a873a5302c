//===- Represent.cpp - Biases as progressive interpolation ----------------===//
#include "runtime/jit/Represent.h"

#include "passes/Transforms/Representation.h"

#include <map>

namespace pe::jit {
namespace {

using mlir::pe::ParameterValues;
using Parameters = std::map<std::string, ParameterValues>;

std::string textOf(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + (size < 0 ? "?" : std::to_string(size));
  return text + "]";
}

/// Checks that the parameters that the derivations read are given, have the shapes of the program,
/// and have equal numbers of heads within each derivation.
Status check(const std::vector<mlir::pe::DerivedParameter> &derived, const EntryInfo &entry,
             const Parameters &parameters) {
  for (const mlir::pe::DerivedParameter &parameter : derived) {
    std::pair<std::string, int64_t> heads;
    for (const std::string &name : parameter.sources) {
      auto found = parameters.find(name);
      if (found == parameters.end())
        return makeError("expected parameter '", name, "', from which '", parameter.name,
                         "' is derived, found no parameter of this name");
      auto info = std::find_if(entry.arguments.begin(), entry.arguments.end(),
                               [&](const ValueInfo &value) { return value.name == name; });
      const std::vector<int64_t> &shape = found->second.shape;
      bool fits = shape.size() == info->dims.size();
      for (size_t axis = 0; fits && axis < shape.size(); ++axis)
        fits = shape[axis] > 0 && (info->dims[axis] < 0 || info->dims[axis] == shape[axis]);
      if (!fits)
        return makeError("expected parameter '", name, "' of shape ", textOf(info->dims),
                         ", found ", textOf(shape));
      if (shape.empty() || info->dims.back() >= 0)
        continue;
      if (heads.second && heads.second != shape.back())
        return makeError("expected parameters with equal numbers of heads, found ", heads.second,
                         " in '", heads.first, "' and ", shape.back(), " in '", name, "'");
      heads = {name, shape.back()};
    }
  }
  return Status::success();
}

std::vector<NamedNumbers> derive(const std::vector<mlir::pe::DerivedParameter> &derived,
                                 const EntryInfo &after, const Parameters &parameters) {
  std::vector<NamedNumbers> results;
  for (const ValueInfo &argument : after.arguments) { // unchanged parameters
    auto kept = parameters.find(argument.name);
    const bool isDerived = std::any_of(derived.begin(), derived.end(), [&](const auto &parameter) {
      return parameter.name == argument.name;
    });
    if (kept != parameters.end() && !isDerived)
      results.push_back({argument.name, kept->second.shape, kept->second.numbers});
  }
  for (const mlir::pe::DerivedParameter &parameter : derived) {
    auto source = [&](llvm::StringRef name) -> const ParameterValues & {
      return parameters.at(name.str());
    };
    ParameterValues values = parameter.derive(source);
    results.push_back({parameter.name, std::move(values.shape), std::move(values.numbers)});
  }
  return results;
}

} // namespace

Expected<RepresentedProgram> represent(Compilation compilation, const EntryInfo &before,
                                       const RepresentRequest &request) {
  if (request.length < 1 || request.length > int64_t(1) << 30)
    return makeError("expected a length of 1 to 2^30, found ", request.length);
  auto function = compilation.getModule().lookupSymbol<mlir::func::FuncOp>(before.name);
  auto derived = mlir::pe::representByInterpolation(function, request.length, request.heads);
  if (mlir::failed(derived))
    return compilation.takeError("cannot represent the program");
  RepresentedProgram result{compilation.print(), {}};
  if (!request.derives)
    return result;
  Parameters parameters;
  for (const NamedNumbers &given : request.parameters)
    parameters[given.name] = {given.shape, given.numbers};
  if (Status checked = check(*derived, before, parameters); !checked)
    return checked.error();
  const EntryInfo after = describeEntry(compilation.getModule(), request.source.entry);
  result.parameters = derive(*derived, after, parameters);
  return result;
}

} // namespace pe::jit
