//===- PlanContext.cpp - the plan being built -----------------------------===//
#include "passes/ToTile/PlanContext.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

SmallVector<StringRef> Parameter::extents() const {
  SmallVector<StringRef> names;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents())
    names.push_back(extent.getValue());
  return names;
}

std::string mlir::tile::givenExtent(StringRef name) { return ("given_" + name).str(); }

SmallVector<Value> PlanContext::sourcesOf(ValueRange captures) {
  llvm::SetVector<Value> sources;
  for (Value capture : captures) {
    sources.insert(capture);
    if (Value absent = parameters[capture].absent)
      sources.insert(absent);
  }
  return sources.takeVector();
}

Value PlanContext::buffer(const Twine &name, Role role, ArrayRef<StringRef> extents, Type element,
                          bool zero) {
  return plan.create<BufferOp>(plan.bufferType(extents, element), plan.getStringAttr(name), role,
                               zero, /*strided=*/false, /*slots=*/SlotsAttr(),
                               /*pages=*/StringAttr());
}
Value PlanContext::strided(const Twine &name, Role role, ArrayRef<StringRef> extents,
                           Type element) {
  Value memory = buffer(name, role, extents, element);
  memory.getDefiningOp<BufferOp>().setStrided(true);
  return memory;
}
Value PlanContext::kept(const Twine &name, ArrayRef<StringRef> extents, Type element) {
  return buffer(name, grad ? Role::Residual : Role::Temporary, extents, element);
}
Value PlanContext::temporary(const Twine &name, ArrayRef<StringRef> extents, Type element,
                             bool zero) {
  return buffer(name, Role::Temporary, extents, element, zero);
}

TileParameters::TileParameters(PlanContext &context, Block &region, ValueRange captures)
    : context(context) {
  unsigned first = region.getNumArguments() - captures.size();
  for (auto [index, capture] : llvm::enumerate(captures))
    argumentOf[region.getArgument(first + index)] = capture;
}

Parameter &TileParameters::parameterOf(BlockArgument tensor) {
  return context.parameters[argumentOf.lookup(tensor)];
}

SmallVector<Value> TileParameters::placeOf(Scalar &s, Parameter &parameter, ValueRange indices,
                                           const KnownIndices &known) {
  SmallVector<Value> place;
  for (auto [index, extent] : llvm::zip_equal(indices, parameter.extents())) {
    if (extent == "r" && known.row && index == known.rowPosition)
      place.push_back(known.row);
    else if (extent == "c" && known.column && index == known.columnPosition)
      place.push_back(known.column);
    else if (extent == "r" || extent == "c")
      place.push_back(s.sub(index, s.size(extent == "r" ? "q_start" : "k_start")));
    else if (extent == "hkv")
      place.push_back(s.create<arith::DivUIOp>(index, s.size("ceildiv(hq,hkv)")));
    else
      place.push_back(index);
  }
  return place;
}

Value TileParameters::isGiven(Scalar &s, const Parameter &parameter) const {
  return s.create<arith::CmpIOp>(arith::CmpIPredicate::ne, s.size(givenExtent(parameter.name)),
                                 s.index(0));
}

Value TileParameters::read(OpBuilder &builder, Location loc, BlockArgument tensor,
                           ValueRange indices) {
  Scalar s(loc, builder);
  Parameter &parameter = parameterOf(tensor);
  SmallVector<Value> place = placeOf(s, parameter, indices, known);
  if (isInside)
    for (auto [index, at, extent] : llvm::zip_equal(indices, place, parameter.extents()))
      if (!isInside(index, extent)) {
        Value last = s.create<arith::MinSIOp>(at, s.sub(s.size(extent), s.index(1)));
        at = s.create<arith::MaxSIOp>(last, s.index(0));
      }
  Value stored = readElement(s, parameter.buffer, place, /*inbounds=*/isInside != nullptr);
  if (parameter.absent) {
    Parameter &source = context.parameters[parameter.absent];
    Value other =
        readElement(s, source.buffer, placeOf(s, source, indices, known), /*inbounds=*/false);
    stored = s.select(isGiven(s, parameter), stored, other);
  }
  if (compute && compute.isF64() && stored.getType().isF32())
    return s.create<arith::ExtFOp>(compute, stored);
  return stored;
}

void TileParameters::accumulate(OpBuilder &builder, Location loc, BlockArgument tensor,
                                ValueRange indices, Value value) {
  if (addsNothing)
    return;
  Scalar s(loc, builder);
  Parameter &parameter = parameterOf(tensor);
  if (isMasked)
    value = s.select(isMasked, s.number(0.0, value.getType()), value);
  if (!parameter.absent)
    return add(s, parameter, indices, value);
  Value zero = s.number(0.0, value.getType());
  add(s, parameter, indices, s.select(isGiven(s, parameter), value, zero));
  add(s, context.parameters[parameter.absent], indices,
      s.select(isGiven(s, parameter), zero, value));
}

/// Adds to the gradient of one element.
void TileParameters::add(Scalar &s, Parameter &parameter, ValueRange indices, Value value) {
  if (auto sink = sinks.find(parameter.buffer); sink != sinks.end())
    return sink->second(s, value);
  if (!batch || !partial.contains(parameter.buffer)) {
    if (!value.getType().isF64())
      value = s.create<arith::ExtFOp>(s.getF64Type(), value);
    return accumulateElement(s, value, parameter.gradientSums,
                             placeOf(s, parameter, indices, known));
  }
  const PartialSums &sums = partial.find(parameter.buffer)->second;
  SmallVector<Value> all = {batch, head};
  sums.appendRest(all, placeOf(s, parameter, indices, known));
  accumulateElement(s, value, sums.buffer, all, Reduction::Add, sums.ofPairs);
}

Value TileParameters::globalHead(OpBuilder &builder, Location loc, Value head) {
  Scalar s(loc, builder);
  return s.add(head, s.size("head_start"));
}
Value TileParameters::headsTotal(OpBuilder &builder, Location loc) {
  return Scalar(loc, builder).size("heads_total");
}

Value TileParameters::axisSize(OpBuilder &builder, Location loc, BlockArgument tensor,
                               int64_t axis) {
  return Scalar(loc, builder).size(parameterOf(tensor).extents()[axis]);
}

Value TileParameters::scratch(OpBuilder &builder, Location loc, int64_t size, Type element) {
  return ScratchOp::create(builder, loc, MemRefType::get({size}, element));
}
