//===- GpuSchedule.cpp - block sizes of a stage with a stream, for GPUs ---===//
#include "passes/Schedule/GpuSchedule.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tile;

DictionaryAttr GpuSchedule::toAttr(MLIRContext *context) const {
  Builder b(context);
  auto entry = [&](StringRef name, int64_t value) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(value));
  };
  return b.getDictionaryAttr(
      {entry("warps", warps), entry("owner_tiles", ownerTiles), entry("inner_block", innerBlock)});
}

FailureOr<GpuSchedule> GpuSchedule::fromAttr(DictionaryAttr attr) {
  GpuSchedule schedule;
  for (auto [name, field] : {std::pair{"warps", &schedule.warps},
                             {"owner_tiles", &schedule.ownerTiles},
                             {"inner_block", &schedule.innerBlock}}) {
    auto value = attr.getAs<IntegerAttr>(name);
    if (!value)
      return failure();
    *field = value.getInt();
  }
  bool isValid = schedule.warps >= 1 && schedule.warps <= 16 && schedule.ownerTiles >= 1 &&
                 schedule.ownerTiles <= 4 && schedule.innerBlock >= 16 &&
                 schedule.innerBlock <= 256 && schedule.innerBlock % 16 == 0;
  if (!isValid)
    return failure();
  return schedule;
}
