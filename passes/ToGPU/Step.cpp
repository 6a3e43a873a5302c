//===- Step.cpp - the state of emission at one point of a kernel ----------===//
#include "passes/ToGPU/Step.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

//===- Scopes ----------------------------------------------------------------------===//

Scope::Scope(const Scope &around, Step *inner)
    : k(around.k), inner(inner), values(&around.values), panels(&around.panels),
      pairPanels(&around.pairPanels), hasCopies(true) {}

Step &Scope::step() {
  assert(inner && "the code around the stream's loop has no inner block");
  return *inner;
}

void Scope::waitForCopies() {
  if (!hasCopies)
    k.b.waitForCopies(0);
  hasCopies = true;
}

const Num &Scope::queryHead() const {
  return k.item.queryHead ? *k.item.queryHead : step().at.queryHead;
}

Place Scope::place() const {
  Place place = {k.item.batch, k.item.queryHead.value_or(0), k.item.keyHead, 0, 0, 0, 0};
  if (inner)
    place.hq = inner->at.queryHead, place.kb = inner->at.block;
  return place;
}

Num Scope::innerAt(const Element &at) const { return step().at.base + k.layout.innerAt(k.t, at); }

Num Scope::foldedInnerAt(const Element &at) const {
  return k.layout.foldedInnerAt(step().at.base, k.warp, k.g, at);
}

//===- Pairs through shared memory ---------------------------------------------------===//

void Step::storePairs(const Panel &panel, const Registers &pairs) {
  KernelBuilder &b = k.b;
  Num warpRow = k.warp * Num(k.layout.ownerTiles * 16) + k.g;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    Element from = k.elementAt({"r", "c"}, i);
    Num column = k.t * Num(2);
    const int64_t first = from.innerTile * 8, perChunk = panel.perChunk();
    // Eight columns are one chunk of 16-bit elements, or two of f32.
    Value chunk = k.shared.chunkAddress(panel, from.ownerTile * 16 + from.ownerHalf * 8, warpRow,
                                        first / perChunk, column / Num(perChunk));
    Value address = b.shared(chunk, column % Num(perChunk) * Num(panel.elementBytes));
    if (panel.elementBytes == 2) {
      b.store(b.pack(pairs[i], pairs[i + 1]), address, 4);
      continue;
    }
    b.storeVector(ArrayRef<Value>(pairs).slice(i, 2), address);
  }
}

Panel Step::pairsOfWarp(const Registers &pairs) {
  // The memory was last read before the step's barrier, or by an earlier caller of this step.
  if (warpPairs)
    k.b.syncWarp();
  else
    warpPairs =
        k.shared.makePanel(k.schedule.ownerBlock(), k.schedule.innerBlock, k.b.f32(), /*copies=*/1);
  storePairs(*warpPairs, pairs);
  k.b.syncWarp();
  return *warpPairs;
}

Panel Step::newPairPanel(Type element) {
  return k.shared.makePanel(k.schedule.ownerBlock(), k.schedule.innerBlock, element, /*copies=*/1);
}

Panel Step::pairsOfAll(const Registers &pairs, Type element) {
  Panel panel = newPairPanel(element);
  storePairs(panel, pairs);
  k.b.barrier();
  return panel;
}

Panel Step::stagedPairs(Value value) {
  if (const Panel *known = staged.find(value))
    return *known;
  const Panel *made = pairPanelOf(value);
  const Panel panel = made ? *made : newPairPanel(elementOf(value));
  storePairs(panel, registers(value));
  k.b.barrier();
  staged.set(value, panel);
  return panel;
}

Interval<Num> Step::kinksOf(Value coefficients, llvm::function_ref<Interval<Num>()> find) {
  auto [found, isNew] = kinks.try_emplace(coefficients, Interval<Num>{0, 0});
  if (isNew)
    found->second = find();
  return found->second;
}
