//===- Attributes.cpp - Replacement of attributes of a source -------------===//
#include "runtime/jit/Attributes.h"

#include "dialect/PE/PE.h"
#include "dialect/PE/RotationFactor.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <cstdlib>
#include <set>

namespace pe::jit {
namespace {

/// Parses the value as an attribute of the kind of `old`. Returns null if that is not possible.
mlir::Attribute parseLike(mlir::Attribute old, const std::string &value) {
  const llvm::StringRef text(value);
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(old)) {
    double parsed = 0;
    if (text.getAsDouble(parsed))
      return {};
    return mlir::FloatAttr::get(number.getType(), parsed);
  }
  if (auto number = llvm::dyn_cast<mlir::IntegerAttr>(old)) {
    int64_t parsed = 0;
    if (text.getAsInteger(10, parsed))
      return {};
    return mlir::IntegerAttr::get(number.getType(), parsed);
  }
  // The caller reports parse errors.
  mlir::ScopedDiagnosticHandler quiet(old.getContext(), [](mlir::Diagnostic &) {});
  mlir::Attribute parsed = mlir::parseAttribute(text, old.getContext());
  return parsed && parsed.getTypeID() == old.getTypeID() ? parsed : mlir::Attribute();
}

std::string listOf(const std::set<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

std::string textOf(mlir::Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  attribute.print(stream, /*elideType=*/true);
  return text;
}

} // namespace

/// Adds dropout, with an argument "seed", to every attention of public functions that has no
/// dropout.
static void addDropout(mlir::ModuleOp module, const std::string &value) {
  const double share = std::strtod(value.c_str(), nullptr);
  mlir::Builder builder(module.getContext());
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    mlir::Value seed;
    if (!function.isPublic())
      continue;
    function.walk([&](mlir::pe::AttentionOp op) {
      if (op.getSeed())
        return;
      if (!seed) {
        const unsigned index = function.getNumArguments();
        auto name = builder.getDictionaryAttr(
            builder.getNamedAttr("pe.name", builder.getStringAttr("seed")));
        if (mlir::failed(function.insertArgument(
                index, mlir::RankedTensorType::get({}, builder.getI64Type()), name,
                function.getLoc())))
          return;
        seed = function.getArgument(index);
      }
      op.getSeedMutable().assign(seed);
      op.setDropoutAttr(builder.getF64FloatAttr(share));
    });
  }
}

/// Replaces the factor of every scaling of a rotation.
static Status setRotationFactor(mlir::ModuleOp module, const std::string &value) {
  double factor = 0;
  if (llvm::StringRef(value).getAsDouble(factor) || !(factor > 0))
    return makeError("expected a factor of rotations above 0, found '", value, "'");
  if (!mlir::pe::setRotationFactor(module, factor))
    return makeError("expected a rotation with a scaling that has a factor, found none");
  return Status::success();
}

Status setAttributes(mlir::ModuleOp module, const AttributeValues &values) {
  for (const auto &[name, value] : values) {
    if (name == kAddedDropout) {
      addDropout(module, value);
      continue;
    }
    if (name == kRotationFactor) {
      if (Status set = setRotationFactor(module, value); !set)
        return set;
      continue;
    }
    bool found = false;
    std::string wrong;
    std::set<std::string> known;
    module.walk([&, &name = name, &value = value](mlir::Operation *op) {
      if (op->getName().getDialectNamespace() != "pe")
        return;
      for (mlir::StringAttr other : op->getName().getAttributeNames())
        if (auto number = op->getInherentAttr(other);
            number && *number && llvm::isa<mlir::FloatAttr, mlir::IntegerAttr>(*number))
          known.insert(other.str());
      const std::optional<mlir::Attribute> old = op->getInherentAttr(name);
      if (!old || !*old)
        return;
      found = true;
      if (mlir::Attribute parsed = parseLike(*old, value))
        op->setInherentAttr(mlir::StringAttr::get(op->getContext(), name), parsed);
      else
        wrong = textOf(*old);
    });
    if (!wrong.empty())
      return makeError("attribute '", name, "': expected a value like ", wrong, ", found '", value,
                       "'");
    if (!found)
      return makeError("expected an operation with the attribute '", name, "', found ",
                       known.empty() ? "no numeric attributes" : listOf(known));
  }
  return Status::success();
}

} // namespace pe::jit
