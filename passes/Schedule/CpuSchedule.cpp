//===- CpuSchedule.cpp - the cpu_schedule attribute -----------------------===//
#include "passes/Schedule/CpuSchedule.h"

#include "mlir/IR/Builders.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;

namespace {

struct Field {
  StringLiteral name;
  int64_t CpuSchedule::*member;
};

constexpr Field kFields[] = {
    {"lanes", &CpuSchedule::lanes},
    {"query_vectors", &CpuSchedule::queryVectors},
    {"key_rows", &CpuSchedule::keyRows},
    {"depth_rows", &CpuSchedule::depthRows},
    {"column_rows", &CpuSchedule::columnRows},
    {"column_vectors", &CpuSchedule::columnVectors},
    {"sweep_keys", &CpuSchedule::sweepKeys},
    {"unroll", &CpuSchedule::unroll},
    {"query_block", &CpuSchedule::queryBlock},
    {"key_block", &CpuSchedule::keyBlock},
    {"part_rows", &CpuSchedule::partRows},
    {"most_parts", &CpuSchedule::mostParts},
    {"split_below", &CpuSchedule::splitBelow},
};

} // namespace

int64_t CpuSchedule::keyUnit() const { return std::lcm(std::lcm(keyRows, columnRows), sweepKeys); }

DictionaryAttr CpuSchedule::toAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> entries;
  for (const Field &field : kFields)
    entries.push_back(
        builder.getNamedAttr(field.name, builder.getI64IntegerAttr(this->*field.member)));
  entries.push_back(builder.getNamedAttr(
      "exp2", builder.getStringAttr(exp2 == Exp2Flavour::Bits ? "bits" : "scalef")));
  return builder.getDictionaryAttr(entries);
}

FailureOr<CpuSchedule> CpuSchedule::fromAttr(DictionaryAttr attr) {
  CpuSchedule schedule;
  for (const Field &field : kFields) {
    auto value = attr.getAs<IntegerAttr>(field.name);
    if (!value || value.getInt() < 1)
      return failure();
    schedule.*field.member = value.getInt();
  }
  auto exp2 = attr.getAs<StringAttr>("exp2");
  if (!exp2 || (exp2 != "bits" && exp2 != "scalef"))
    return failure();
  schedule.exp2 = exp2 == "bits" ? Exp2Flavour::Bits : Exp2Flavour::ScaleF;
  if (schedule.keyBlock % schedule.keyUnit() || schedule.queryBlock % schedule.stripRows())
    return failure();
  return schedule;
}

DictionaryAttr CpuLoops::toAttr(MLIRContext *context) const {
  Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("lanes", builder.getI64IntegerAttr(lanes)),
       builder.getNamedAttr("group", builder.getI64IntegerAttr(group))});
}

std::optional<CpuLoops> CpuLoops::fromAttr(DictionaryAttr attr) {
  auto lanes = attr.getAs<IntegerAttr>("lanes"), group = attr.getAs<IntegerAttr>("group");
  if (!lanes || !group || lanes.getInt() < 1 || group.getInt() < 1)
    return std::nullopt;
  return CpuLoops{lanes.getInt(), group.getInt()};
}
