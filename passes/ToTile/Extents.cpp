//===- Extents.cpp - extents of the arguments of an entry function --------===//
#include "passes/ToTile/ToTile.h"

#include "dialect/PE/PE.h"
#include "dialect/PE/PEArgumentAttributes.h"

namespace mlir::pe {

/// Returns the extents of a result of attention: an output, or a value per row.
static SmallVector<std::string> extentsOfResult(bool isOutput) {
  if (isOutput)
    return {"b", "hq", "r", "e"};
  return {"b", "hq", "r"};
}

SmallVector<std::string> namedExtents(Value value) {
  if (auto attention = value.getDefiningOp<AttentionOp>())
    return extentsOfResult(value == attention.getOutput());
  if (value.getDefiningOp<EmbedOp>())
    return {"b", "r", "model"};
  if (auto merge = value.getDefiningOp<MergeOp>())
    return extentsOfResult(value == merge.getOutput());
  auto type = cast<ShapedType>(value.getType());
  if (type.getElementType().isInteger(64)) // seeds
    return SmallVector<std::string>(type.getRank(), "b");
  for (OpOperand &use : value.getUses()) {
    if (auto embed = dyn_cast<EmbedOp>(use.getOwner())) {
      if (use.get() == embed.getInput())
        return {"b", "r", "model"};
    }
    if (auto merge = dyn_cast<MergeOp>(use.getOwner()); merge && value != merge.getSink())
      return extentsOfResult(value == merge.getFirst() || value == merge.getSecond());
    if (auto rotation = dyn_cast<RotationOpInterface>(use.getOwner()))
      if (SmallVector<std::string> names = rotation.getTensorExtents(value); !names.empty())
        return names;
    if (auto attention = dyn_cast<AttentionOp>(use.getOwner())) {
      if (use.get() == attention.getQuery())
        return {"b", "hq", "r", "d"};
      const bool isPaged = attention.getPages() != nullptr;
      if (isPaged && use.get() == attention.getPages())
        return {"b", "ceildiv(c,page)"};
      if (isPaged && use.get() == attention.getKey())
        return {"pages", "page", "hkv", "d"};
      if (isPaged && use.get() == attention.getValue())
        return {"pages", "page", "hkv", "e"};
      if (use.get() == attention.getKey())
        return {"b", "hkv", "c", "d"};
      if (use.get() == attention.getValue())
        return {"b", "hkv", "c", "e"};
      if (llvm::is_contained(attention.getContentQueries(), use.get()))
        return {"b", "hq", "r", std::to_string(type.getDimSize(3))};
      if (use.get() == attention.getQueryPositions())
        return {"b", "r"};
      if (use.get() == attention.getKeyPositions())
        return {"b", "c"};
    }
    if (auto sink = dyn_cast<SinkFnOp>(use.getOwner()); sink && value == sink.getLogits())
      return {"hq"};
  }
  SmallVector<std::string> extents;
  ArrayAttr axes = axesOf(value);
  for (auto [axis, size] : llvm::enumerate(type.getShape())) {
    StringRef word = axes ? cast<StringAttr>(axes[axis]).getValue() : "head";
    extents.push_back(ShapedType::isDynamic(size) ? extentOfAxis(word) : std::to_string(size));
  }
  return extents;
}

} // namespace mlir::pe
