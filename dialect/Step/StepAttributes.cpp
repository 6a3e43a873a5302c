//===- StepAttributes.cpp - attributes of the step dialect ----------------===//
#include "dialect/Step/StepAttributes.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace mlir::step;
using tile::CpuLoops;
using tile::CpuSchedule;
using tile::GpuSchedule;
using tile::Owner;

//===- Fields -----------------------------------------------------------------------===//

static constexpr StringLiteral kOwners[] = {"rows", "columns"}, kAlong[] = {"rows", "keys"},
                               kExp2[] = {"bits", "scalef"}, kBy[] = {"fma", "pairdot"};

ArrayRef<Field<CpuSchedule>> CpuSchedule::fields() {
  using S = CpuSchedule;
  static const Field<S> table[] = {
      {"owner", &S::ownerWord, 0, 1, 1, kOwners},
      {"along", &S::alongWord, 0, 1, 1, kAlong},
      {"lanes", &S::lanes, 1, 16},
      {"query_vectors", &S::queryVectors, 1, 8},
      {"key_rows", &S::keyRows, 1, 16},
      {"depth_rows", &S::depthRows, 1, 32},
      {"column_rows", &S::columnRows, 1, 16},
      {"column_vectors", &S::columnVectors, 1, 8},
      {"sweep_keys", &S::sweepKeys, 1, 16},
      {"unroll", &S::unroll, 1, 16},
      {"query_block", &S::queryBlock, 1, 1024},
      {"key_block", &S::keyBlock, 1, 1024},
      {"part_rows", &S::partRows},
      {"most_parts", &S::mostParts, 1, 64},
      {"split_below", &S::splitBelow},
      {"exp2", &S::exp2Word, 0, 1, 1, kExp2},
      {"by", &S::byWord, 0, 1, 1, kBy},
  };
  return table;
}

ArrayRef<Field<CpuLoops>> CpuLoops::fields() {
  static const Field<CpuLoops> table[] = {{"lanes", &CpuLoops::lanes}, {"group", &CpuLoops::group}};
  return table;
}

ArrayRef<Field<GpuSchedule>> GpuSchedule::fields() {
  using S = GpuSchedule;
  static const Field<S> table[] = {{"owner", &S::ownerWord, 0, 1, 1, kOwners},
                                   {"warps", &S::warps, 1, 16},
                                   {"owner_tiles", &S::ownerTiles, 1, 4},
                                   {"inner_block", &S::innerBlock, 16, 256, 16},
                                   {"ahead", &S::ahead, 0, 1},
                                   {"slots", &S::slots, 1, 4},
                                   {"late_slots", &S::lateSlots, 1, 4}};
  return table;
}

int64_t CpuSchedule::keyUnit() const {
  const int64_t unit = std::lcm(std::lcm(keyRows, columnRows), sweepKeys);
  return isAlongKeys() ? std::lcm(unit, lanes) : unit;
}

LogicalResult CpuSchedule::verify(llvm::function_ref<InFlightDiagnostic()> emitError) const {
  for (auto [name, block, unit] :
       {std::tuple("key_block", keyBlock, keyUnit()), {"query_block", queryBlock, stripRows()}})
    if (block % unit) // step-C3
      return emitError() << "expected " << name << " to be a multiple of its tiles, " << unit
                         << ", found " << block << " (step-C3)";
  if (isByPairs() && isAlongKeys()) // step-C3
    return emitError() << "expected by = fma with along = keys, found by = pairdot (step-C3)";
  for (auto [name, keys] : {std::pair("key_rows", keyRows), {"sweep_keys", sweepKeys}})
    if (isByPairs() && keys % 2) // step-C3
      return emitError() << "expected an even " << name << " with by = pairdot, found " << keys
                         << " (step-C3)";
  return success();
}

namespace mlir::tile {
llvm::hash_code hash_value(const CpuSchedule &schedule) { return step::hashOf(schedule); }
llvm::hash_code hash_value(const CpuLoops &loops) { return step::hashOf(loops); }
llvm::hash_code hash_value(const GpuSchedule &schedule) { return step::hashOf(schedule); }
} // namespace mlir::tile

//===- Attributes -------------------------------------------------------------------===//

#include "dialect/Step/StepDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/Step/StepAttributes.cpp.inc"

void StepDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Step/StepAttributes.cpp.inc"
      >();
}

template <typename Attr, typename Schedule> static Attribute parseAttr(AsmParser &parser) {
  Schedule schedule;
  const SMLoc place = parser.getCurrentLocation();
  if (parseFields(parser, schedule))
    return {};
  return Attr::getChecked([&] { return parser.emitError(place); }, parser.getContext(), schedule);
}

using Emit = llvm::function_ref<InFlightDiagnostic()>;

Attribute CpuAttr::parse(AsmParser &parser, Type) {
  return parseAttr<CpuAttr, CpuSchedule>(parser);
}
void CpuAttr::print(AsmPrinter &printer) const { printFields(printer, getFields()); }
LogicalResult CpuAttr::verify(Emit emitError, CpuSchedule fields) {
  return success(succeeded(verifyFields(emitError, fields)) && succeeded(fields.verify(emitError)));
}
Owner CpuAttr::getOwner() const { return getFields().owner(); }
std::optional<int64_t> CpuAttr::getKeyBlock() const { return getFields().keyBlock; }

Attribute LoopsAttr::parse(AsmParser &parser, Type) {
  return parseAttr<LoopsAttr, CpuLoops>(parser);
}
void LoopsAttr::print(AsmPrinter &printer) const { printFields(printer, getFields()); }
LogicalResult LoopsAttr::verify(Emit emitError, CpuLoops fields) {
  return verifyFields(emitError, fields);
}
Owner LoopsAttr::getOwner() const { return Owner::Rows; }
std::optional<int64_t> LoopsAttr::getKeyBlock() const { return std::nullopt; }

Attribute GpuAttr::parse(AsmParser &parser, Type) {
  return parseAttr<GpuAttr, GpuSchedule>(parser);
}
void GpuAttr::print(AsmPrinter &printer) const { printFields(printer, getFields()); }
LogicalResult GpuAttr::verify(Emit emitError, GpuSchedule fields) {
  return verifyFields(emitError, fields);
}
Owner GpuAttr::getOwner() const { return getFields().owner(); }
std::optional<int64_t> GpuAttr::getKeyBlock() const { return getFields().innerBlock; }
