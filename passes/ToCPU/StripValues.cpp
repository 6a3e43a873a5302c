//===- StripValues.cpp - values over r, rd, re and h of one strip ---------===//
#include "passes/ToCPU/StripValues.h"

#include "passes/ToCPU/VectorMath.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

void StripValues::begin(const StripPlace &newPlace) {
  place = newPlace;
  rows.clear(), panels.clear(), uniforms.clear(), columns.clear();
  depthPairs.clear(), rowPairs.clear();
  maps.beginStrip(place);
}

//===- Reading -------------------------------------------------------------------===//

Value StripValues::uniform(Value value) {
  if (context.cpu.isAlongKeys() && isRow(spacesOf(value)))
    return rowScalar(value);
  if (Value known = uniforms.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  Emitter &e = context.e;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return e.number(constant.getNumber().convertToDouble());
  if (auto index = dyn_cast<IndexOp>(op))
    return e.toValue(index.getSpace() == "b" ? place.b : place.hq);
  if (auto load = dyn_cast<LoadOp>(op))
    return uniforms[value] = e.load(context.memory(load.getBuffer()),
                                    context.offset(load.getBuffer(), place.place()));
  auto map = cast<MapOp>(op);
  SmallVector<Value> results = maps.emitScalars(map);
  for (auto [result, scalar] : llvm::zip(map.getOutputs(), results))
    uniforms[result] = scalar;
  return uniforms[value];
}

std::optional<Index> mlir::tile::cpu::startOf(const StageContext &context, Value value) {
  if (value.getDefiningOp<IndexOp>())
    return Index(0);
  auto position = value.getDefiningOp<PositionOp>();
  if (!position)
    return std::nullopt;
  return position.getSpace() == "r" ? context.rowStart : context.columnStart;
}

Value StripValues::row(Value value, int64_t vector) {
  Emitter &e = context.e;
  if (context.cpu.isAlongKeys())
    return rowScalar(value);
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return context.e.splat(constant.getNumber().convertToDouble());
  if (spacesOf(value).isEmpty())
    return context.e.broadcast(uniform(value));
  if (std::optional<Index> start = startOf(context, value))
    return e.create<arith::AddIOp>(e.iota(),
                                   e.splatIndex(place.row + *start + Index(vector * e.lanes)));
  auto found = rows.find(value);
  if (found == rows.end()) {
    evaluate(value.getDefiningOp());
    found = rows.find(value);
  }
  return found->second[vector];
}

Value StripValues::column(Value value, const Index &column) {
  Emitter &e = context.e;
  if (context.cpu.isAlongKeys())
    return columnVector(value, column);
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return e.number(constant.getNumber().convertToDouble());
  if (std::optional<Index> start = startOf(context, value))
    return e.toValue(column + *start);
  if (auto map = dyn_cast<MapOp>(op))
    return maps.emitScalars(map)[cast<OpResult>(value).getResultNumber()];
  auto load = cast<LoadOp>(op);
  Place at = place.place();
  at.c = column;
  return e.load(context.memory(load.getBuffer()), context.offset(load.getBuffer(), at));
}

Value StripValues::panelAt(Value value, const Index &d, int64_t vector) {
  Emitter &e = context.e;
  if (auto found = panels.find(value); found != panels.end()) {
    const Panel &panel = found->second;
    return e.loadVector(panel.memory,
                        panel.at + d * Index(context.cpu.stripRows()) + Index(vector * e.lanes));
  }
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return e.splat(constant.getNumber().convertToDouble());
  auto map = value.getDefiningOp<MapOp>();
  return maps.emit(map, vector, [&](Value operand) {
    return panelAt(operand, d, vector);
  })[cast<OpResult>(value).getResultNumber()];
}

void StripValues::preparePanel(Value value) {
  auto map = value.getDefiningOp<MapOp>();
  if (!map || panels.count(value))
    return;
  for (Value input : map.getInputs())
    if (isRowPanel(spacesOf(input)))
      preparePanel(input);
  maps.prepare(map);
}

//===- Evaluating ------------------------------------------------------------------===//

void StripValues::loadRows(Value value, Value memory, const Index &at) {
  if (context.cpu.isAlongKeys())
    return setRow(value, context.e.load(memory, at));
  SmallVector<Value> vectors;
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v)
    vectors.push_back(context.e.loadVector(memory, at + Index(v * context.e.lanes)));
  setRow(value, vectors);
}

void StripValues::storeRows(Value value, Value memory, const Index &at) {
  if (context.cpu.isAlongKeys())
    return context.e.store(rowScalar(value), memory, at);
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v)
    context.e.storeVector(row(value, v), memory, at + Index(v * context.e.lanes));
}

Value StripValues::existingLanes(int64_t vector) {
  return context.e.laneMask(place.rowCount - Index(vector * context.e.lanes));
}

void StripValues::evaluateReduce(ReduceOp reduce) {
  Emitter &e = context.e;
  int64_t vectors = context.cpu.queryVectors;
  preparePanel(reduce.getInput());
  bool add = reduce.getKind() == Reduction::Add;
  SmallVector<Value> start(vectors, e.splat(add ? 0.0 : -1.0e30));
  int64_t depth = context.depthOf(spacesOf(reduce.getInput()));
  rows[reduce.getOutput()] = e.loop(0, depth, 1, start, [&](Index d, ValueRange sums) {
    SmallVector<Value> next;
    for (int64_t v = 0; v < vectors; ++v) {
      Value term = panelAt(reduce.getInput(), d, v);
      next.push_back(add ? e.add(sums[v], term) : e.max(sums[v], term));
    }
    return next;
  });
}

void StripValues::evaluate(Operation *op) {
  if (context.cpu.isAlongKeys())
    return evaluateRow(op);
  Emitter &e = context.e;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return evaluateReduce(reduce);
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (!isRow(spacesOf(load.getValue())))
      return;
    Place at = place.place();
    at.kb = place.block / Index(context.cpu.keyBlock);
    Index offset = context.offset(load.getBuffer(), at);
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
      Index from = offset + Index(v * e.lanes);
      Value memory = context.memory(load.getBuffer());
      vectors.push_back(place.masked ? e.loadLanes(memory, from, existingLanes(v))
                                     : e.loadVector(memory, from));
    }
    return setRow(load.getValue(), vectors);
  }
  auto map = dyn_cast<MapOp>(op);
  if (!map || map.getOutputs().empty() || !isRow(spacesOf(map.getOutputs().front())))
    return;
  maps.prepare(map);
  SmallVector<SmallVector<Value>> results(map.getNumResults());
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v)
    for (auto [index, value] : llvm::enumerate(maps.emit(map, v, nullptr)))
      results[index].push_back(value);
  for (auto [output, vectors] : llvm::zip(map.getOutputs(), results))
    setRow(output, vectors);
}

/// Packs blocks of `lanes` rows by `lanes` depths (or the remainder). Rows after the last one are
/// copies of it, so that nothing beyond the buffer is read.
void StripValues::pack(LoadOp load, const Panel &panel) {
  if (context.cpu.isAlongKeys())
    return packRow(load, panel);
  Emitter &e = context.e;
  Value memory = context.memory(load.getBuffer());
  int64_t depth = context.depthOf(spacesOf(load.getValue())), pitch = context.cpu.stripRows();
  Index base = context.offset(load.getBuffer(), place.place());
  Index rowPitch = context.pitch(load.getBuffer());
  e.loop(0, pitch, e.lanes, [&](Index first) {
    SmallVector<Index> from;
    for (int64_t r = 0; r < e.lanes; ++r)
      from.push_back(base + minOf(first + Index(r), place.rowCount - Index(1)) * rowPitch);
    auto packDepths = [&](const Index &d, int64_t width) {
      SmallVector<Value> block;
      for (const Index &at : from)
        block.push_back(loadWidened(e, memory, at + d, width));
      block = emitTranspose(e, block);
      for (int64_t i = 0; i < width; ++i)
        e.storeVector(block[i], panel.memory, panel.at + (d + Index(i)) * Index(pitch) + first);
    };
    int64_t whole = depth / e.lanes * e.lanes;
    e.loop(0, whole, e.lanes, [&](Index d) { packDepths(d, e.lanes); });
    if (whole != depth)
      packDepths(whole, depth - whole);
  });
  setPanel(load.getValue(), panel);
}

void StripValues::materialize(Value value, const Panel &panel) {
  Emitter &e = context.e;
  preparePanel(value);
  int64_t pitch = context.cpu.stripRows();
  const int64_t step = context.cpu.isAlongKeys() ? e.lanes : 1;
  e.loop(0, context.depthOf(spacesOf(value)), step, [&](Index d) {
    for (int64_t v = 0; v < context.cpu.queryVectors; ++v)
      e.storeVector(panelAt(value, d, v), panel.memory,
                    panel.at + d * Index(pitch) + Index(v * e.lanes));
  });
  setPanel(value, panel);
}

void StripValues::fillZero(const Panel &panel, int64_t depth) {
  Emitter &e = context.e;
  e.loop(0, context.cpu.panelFloats(depth), e.lanes,
         [&](Index at) { e.storeVector(e.splat(0.0), panel.memory, panel.at + at); });
}

void StripValues::packDepthPairs(const Panel &from, const Panel &into, int64_t depth) {
  Emitter &e = context.e;
  const int64_t pitch = context.cpu.stripRows();
  e.loop(0, depth, 2, [&](Index d) {
    for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
      const Index row = v * e.lanes;
      auto load = [&](const Index &at) {
        return e.toBf16(e.loadVector(from.memory, from.at + at * Index(pitch) + row));
      };
      e.storeVector(e.pairs(load(d), load(d + Index(1))), into.memory,
                    into.at + d / Index(2) * Index(pitch) + row);
    }
  });
}

void StripValues::packRowPairs(LoadOp load, const Panel &into) {
  Value buffer = load.getBuffer();
  const int64_t depth = context.depthOf(spacesOf(load.getValue()));
  context.packRowPairs(
      {context.memory(buffer), context.offset(buffer, place.place()), context.pitch(buffer)},
      {into.memory, into.at, depth}, place.rowCount, depth);
}

//===- Storing -----------------------------------------------------------------------===//

void StripValues::storeZero(StoreOp store, const Index &keyBlock) {
  Place at = place.place();
  at.kb = keyBlock;
  Index offset = context.offset(store.getBuffer(), at);
  if (context.cpu.isAlongKeys())
    return context.e.store(context.e.number(0.0), context.memory(store.getBuffer()), offset);
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v)
    context.e.storeLanes(context.e.splat(0.0), context.memory(store.getBuffer()),
                         offset + Index(v * context.e.lanes), existingLanes(v));
}

void StripValues::store(StoreOp store, const Index &keyBlock) {
  Value value = store.getValue();
  if (!isRow(spacesOf(value)))
    return storePanel(value, store.getBuffer());
  Place at = place.place();
  at.kb = keyBlock;
  Index offset = context.offset(store.getBuffer(), at);
  if (context.cpu.isAlongKeys())
    return context.e.store(rowScalar(value), context.memory(store.getBuffer()), offset);
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v)
    context.e.storeLanes(row(value, v), context.memory(store.getBuffer()),
                         offset + Index(v * context.e.lanes), existingLanes(v));
}

/// Transposes `lanes` depths at a time into a block of rows in scratch, then copies existing rows.
void StripValues::storePanel(Value value, Value buffer) {
  if (context.cpu.isAlongKeys())
    return storeRowPanel(value, buffer);
  Emitter &e = context.e;
  preparePanel(value);
  int64_t depth = context.depthOf(spacesOf(value));
  Value staging = e.scratch(e.lanes * e.lanes), memory = context.memory(buffer);
  Index base = context.offset(buffer, place.place()), pitch = context.pitch(buffer);
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
    Index first = v * e.lanes;
    Index count = minOf(e.lanes, place.rowCount - first);
    auto storeDepths = [&](const Index &d, int64_t width) {
      SmallVector<Value> block;
      for (int64_t i = 0; i < width; ++i)
        block.push_back(panelAt(value, d + Index(i), v));
      block.resize(e.lanes, e.splat(0.0));
      for (auto [row, vector] : llvm::enumerate(emitTranspose(e, block)))
        e.storeVector(vector, staging, row * e.lanes);
      e.loop(0, count, 1, [&](Index r) {
        e.storeVector(e.loadVector(staging, r * Index(e.lanes), width), memory,
                      base + (first + r) * pitch + d);
      });
    };
    int64_t whole = depth / e.lanes * e.lanes;
    e.loop(0, whole, e.lanes, [&](Index d) { storeDepths(d, e.lanes); });
    if (whole != depth)
      storeDepths(whole, depth - whole);
  }
}
