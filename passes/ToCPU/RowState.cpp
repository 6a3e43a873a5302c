//===- RowState.cpp - values over rows that outlive a block of keys -------===//
#include "passes/ToCPU/RowState.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {
bool isPanel(Value value) { return isRowPanel(spacesOf(value)); }
bool isRowVector(Value value) { return isRow(spacesOf(value)); }
bool isRowMajorUse(OpOperand &use) {
  auto dot = dyn_cast<DotOp>(use.getOwner());
  return isa<WindowOuterOp>(use.getOwner()) || (dot && dot.getAxis() == "r");
}
} // namespace

RowInterface::RowInterface(StageOp stage, const CpuSchedule &cpu) {
  for (Operation &op : stage.getBody().front()) {
    if (auto found = dyn_cast<StreamOp>(op)) {
      stream = found;
      continue;
    }
    if (!stream) {
      before.push_back(&op);
      continue;
    }
    auto overColumns = [](Value value) {
      auto type = dyn_cast<ValType>(value.getType());
      return type && hasColumns(type.getSpaces());
    };
    bool columns =
        llvm::any_of(op.getOperands(), overColumns) || llvm::any_of(op.getResults(), overColumns);
    (columns ? afterColumns : afterRows).push_back(&op);
  }
  llvm::SetVector<Value> live;
  llvm::DenseSet<Operation *> beforeSet(before.begin(), before.end());
  for (Operation *op : before)
    for (Value value : op->getResults()) {
      if (!isa<ValType>(value.getType()) || isa<ConstantOp, PositionOp, IndexOp>(op))
        continue;
      for (OpOperand &use : value.getUses()) {
        bool inside = stream->isProperAncestor(use.getOwner());
        bool after = llvm::is_contained(afterRows, use.getOwner());
        if ((inside && !isRowMajorUse(use)) || after)
          live.insert(value);
      }
    }
  for (Value value : live) {
    if (isRowVector(value))
      rows.push_back(value);
    else if (isPanel(value))
      panels.push_back(value);
  }
  for (Operation *op : before) {
    auto load = dyn_cast<LoadOp>(op);
    if (!load || !isPanel(load.getValue()))
      continue;
    bool computedFrom =
        llvm::any_of(load->getUsers(), [&](Operation *user) { return beforeSet.contains(user); });
    if (computedFrom || live.contains(load.getValue()))
      packed.push_back(load);
  }
  findPairs(cpu);
}

void RowInterface::findPairs(const CpuSchedule &cpu) {
  llvm::SetVector<Value> depths, loaded;
  for (auto dot : stream.getBody().getOps<DotOp>()) {
    if (!isByPairs(cpu, dot))
      continue;
    if (isDepth(dot.getAxis()))
      depths.insert(dot.getLhs());
    else if (dot.getAxis() == "r")
      loaded.insert(dot.getRhs());
  }
  depthPairs = depths.takeVector(), rowPairs = loaded.takeVector();
}

SmallVector<Value> RowInterface::kept() const {
  SmallVector<Value> values(rows);
  values.append(panels);
  for (Value value : stream.getResults())
    if (isRowVector(value) || isPanel(value))
      values.push_back(value);
  return values;
}

int64_t RowInterface::stripFloats(const CpuSchedule &cpu, int64_t headDim, int64_t valueDim) const {
  int64_t floats = 0;
  for (Value value : kept())
    floats += isRowVector(value)
                  ? cpu.rowFloats()
                  : cpu.panelFloats(sizeOfDepth(depthOf(spacesOf(value)), headDim, valueDim));
  for (const SmallVector<Value> &pairs : {depthPairs, rowPairs})
    for (Value value : pairs)
      floats += cpu.panelFloats(sizeOfDepth(depthOf(spacesOf(value)), headDim, valueDim)) / 2;
  return floats;
}

RowState::RowState(StageContext &context, StripValues &values, const RowInterface &interface,
                   Value memory)
    : context(context), values(values), interface(interface), memory(memory) {
  for (Value value : interface.kept()) {
    offsets[value] = floats;
    floats += isRowVector(value) ? context.cpu.rowFloats()
                                 : context.cpu.panelFloats(context.depthOf(spacesOf(value)));
  }
  for (auto [values, places] : {std::pair(&interface.depthPairs, &depthPairOffsets),
                                {&interface.rowPairs, &rowPairOffsets}})
    for (Value value : *values) {
      (*places)[value] = floats;
      floats += context.cpu.panelFloats(context.depthOf(spacesOf(value))) / 2;
    }
  for (LoadOp load : interface.packed)
    if (!offsets.count(load.getValue()))
      packScratch[load.getValue()] =
          context.e.scratch(context.cpu.panelFloats(context.depthOf(spacesOf(load.getValue()))));
}

void RowState::begin(const Index &at) {
  for (Operation *op : interface.before) {
    if (auto load = dyn_cast<LoadOp>(op); load && llvm::is_contained(interface.packed, load)) {
      Value scratch = packScratch.lookup(load.getValue());
      values.pack(load, scratch ? Panel{scratch, 0} : panelOf(load.getValue(), at));
    } else {
      values.evaluate(op);
    }
  }
  for (Value value : interface.rows)
    values.storeRows(value, memory, at + Index(offsets.lookup(value)));
  for (Value value : interface.panels)
    if (!values.hasPanel(value))
      values.materialize(value, panelOf(value, at));
  packPairs(at);
  StreamOp stream = interface.stream;
  unsigned carries = stream.getCarries().size();
  for (auto [i, value] : llvm::enumerate(stream.getResults())) {
    if (!isRowVector(value) && !isPanel(value))
      continue;
    Panel place = panelOf(value, at);
    if (isPanel(value)) {
      if (i < carries)
        values.materialize(stream.getCarries()[i], place);
      else
        values.fillZero(place, context.depthOf(spacesOf(value)));
    } else if (i < carries) {
      values.storeRows(stream.getCarries()[i], place.memory, place.at);
    } else if (context.cpu.isAlongKeys()) {
      context.e.store(context.e.number(0.0), place.memory, place.at);
    } else {
      values.fillZero(place, 1);
    }
  }
}

void RowState::packPairs(const Index &at) {
  for (Value value : interface.depthPairs)
    values.packDepthPairs(values.getPanel(value), depthPairsOf(value, at),
                          context.depthOf(spacesOf(value)));
  for (Value value : interface.rowPairs)
    values.packRowPairs(value.getDefiningOp<LoadOp>(), rowPairsOf(value, at));
}

void RowState::restoreInputs(const Index &at) {
  for (Value value : interface.depthPairs)
    values.setDepthPairs(value, depthPairsOf(value, at));
  for (Value value : interface.rowPairs)
    values.setRowPairs(value, rowPairsOf(value, at));
  for (Value value : interface.rows)
    values.loadRows(value, memory, at + Index(offsets.lookup(value)));
  for (Value value : interface.panels)
    values.setPanel(value, panelOf(value, at));
}

RowPanels RowState::enter(const Index &at) {
  restoreInputs(at);
  RowPanels panels;
  StreamOp stream = interface.stream;
  unsigned carries = stream.getCarries().size();
  for (auto [i, value] : llvm::enumerate(stream.getResults())) {
    if (!isRowVector(value) && !isPanel(value))
      continue;
    Panel place = panelOf(value, at);
    if (isPanel(value))
      panels[stream.getYielded(i)] = place;
    if (i >= carries)
      continue;
    Value argument = stream.getBody().getArgument(i);
    if (isPanel(value))
      values.setPanel(argument, place);
    else
      values.loadRows(argument, place.memory, place.at);
  }
  return panels;
}

void RowState::leave(const Index &at) {
  Emitter &e = context.e;
  StreamOp stream = interface.stream;
  for (auto [i, value] : llvm::enumerate(stream.getResults())) {
    if (!isRowVector(value))
      continue;
    Panel place = panelOf(value, at);
    if (i < stream.getCarries().size()) {
      values.storeRows(stream.getYielded(i), place.memory, place.at);
      continue;
    }
    if (context.cpu.isAlongKeys()) {
      Value sum = e.add(e.load(memory, place.at), values.row(stream.getYielded(i), 0));
      e.store(sum, memory, place.at);
      continue;
    }
    for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
      Index to = place.at + Index(v * e.lanes);
      e.storeVector(e.add(e.loadVector(memory, to), values.row(stream.getYielded(i), v)), memory,
                    to);
    }
  }
}

void RowState::end(const Index &at) {
  restoreInputs(at);
  for (Value value : interface.stream->getResults()) {
    if (isPanel(value))
      values.setPanel(value, panelOf(value, at));
    else if (isRowVector(value))
      values.loadRows(value, memory, at + Index(offsets.lookup(value)));
  }
  for (Operation *op : interface.afterRows) {
    if (auto store = dyn_cast<StoreOp>(op))
      values.store(store);
    else
      values.evaluate(op);
  }
}
