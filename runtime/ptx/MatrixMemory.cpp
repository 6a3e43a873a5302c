//===- MatrixMemory.cpp - ldmatrix, stmatrix, movmatrix -------------------===//
//
// A register of a warp holds a matrix of 8 x 8 halves in row-major order: 4 lanes a row, two
// elements a lane.
//
//===----------------------------------------------------------------------===//

#include "runtime/ptx/MatrixMemory.h"
#include "runtime/ptx/Access.h"

namespace pe::ptx {

void expectWholeWarp(Warp &warp, Lanes lanes) {
  if (lanes != kAllLanes)
    throw Fault{"expected all 32 lanes of " + warp.describe(kWarpSize) +
                    " at an instruction of matrices, found " + std::to_string(std::popcount(lanes)),
                0};
}

namespace {

constexpr uint32_t kRowBytes = 16;

/// The lanes that supply the addresses of the rows of `count` matrices.
Lanes suppliers(unsigned count) { return count == 4 ? kAllLanes : (Lanes(1) << 8 * count) - 1; }

void transpose(const uint16_t *from, uint16_t *to) {
  for (unsigned i = 0; i < 8; ++i)
    for (unsigned j = 0; j < 8; ++j)
      to[8 * j + i] = from[8 * i + j];
}

/// Throws Fault if a row is not in shared memory.
void expectShared(Warp &warp, const Places &places, Lanes lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    if (places.space(lane) != Space::Shared)
      throw Fault{warp.describe(lane) + " supplies an address of " +
                      std::string(nameOf(places.space(lane))) + " memory, expected shared memory",
                  0};
  });
}

/// `flags`: 1 for .trans.
void loadMatrices(Warp &warp, const Step &step, Lanes lanes) {
  expectWholeWarp(warp, lanes);
  const Lanes rows = suppliers(step.count);
  const Places places(warp, step, rows, kRowBytes, {});
  expectShared(warp, places, rows);
  const uint32_t *list = warp.list(step);
  uint16_t loaded[4][64];
  forEachLane(rows, [&](unsigned lane) {
    std::memcpy(loaded[lane / 8] + lane % 8 * 8, places[lane], kRowBytes);
  });
  for (unsigned i = 0; i < step.count; ++i) {
    uint16_t *to = warp.lanes<uint16_t>(list[i]);
    if (step.flags)
      transpose(loaded[i], to);
    else
      std::memcpy(to, loaded[i], sizeof(loaded[i]));
  }
}

void storeMatrices(Warp &warp, const Step &step, Lanes lanes) {
  expectWholeWarp(warp, lanes);
  const Lanes rows = suppliers(step.count);
  const Places places(warp, step, rows, kRowBytes, {.isWrite = true});
  expectShared(warp, places, rows);
  const uint32_t *list = warp.list(step);
  for (unsigned i = 0; i < step.count; ++i) {
    const uint16_t *from = warp.lanes<uint16_t>(list[i]);
    uint16_t transposed[64];
    if (step.flags) {
      transpose(from, transposed);
      from = transposed;
    }
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(places[8 * i + row], from + 8 * row, kRowBytes);
  }
}

void moveMatrix(Warp &warp, const Step &step, Lanes lanes) {
  expectWholeWarp(warp, lanes);
  uint16_t transposed[64];
  transpose(warp.lanes<uint16_t>(step.a), transposed);
  std::memcpy(warp.lanes<uint16_t>(step.d), transposed, sizeof(transposed));
}

/// ldmatrix {list}, [address]; stmatrix [address], {list}
void decodeMatrixAccess(Decoder &decoder, const Statement &statement, Step &step, bool isLoad) {
  decoder.expectModifiers(
      statement, {"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta"});
  if (!statement.has("sync") || !statement.has("aligned") || !statement.has("m8n8") ||
      decoder.type(statement) != Type::B16)
    decoder.refuseForm(statement);
  unsigned count = 0;
  for (unsigned each : {1, 2, 4})
    if (statement.has("x" + std::to_string(each))) {
      if (count)
        decoder.refuseForm(statement);
      count = each;
    }
  if (!count)
    decoder.refuseForm(statement);
  decoder.expectOperands(statement, 2, 2);
  const Operand &place = statement.operands[isLoad ? 0 : 1];
  step.list = isLoad ? decoder.destinations(place, 4, step.count)
                     : decoder.sources(place, Type::B32, step.count);
  if (step.count != count)
    decoder.refuse("expected ", count, " registers in braces, found ", int(step.count));
  for (unsigned i = 0; i < count; ++i)
    if (decoder.code().offsets[step.list + i] == kAbsent)
      decoder.refuse("expected a register, found '_'");
  decoder.address(statement.operands[isLoad ? 1 : 0], step);
  if (statement.has("shared") || statement.has("shared::cta"))
    step.space = Space::Shared;
  step.flags = statement.has("trans");
  step.flow = Flow::Collective;
  step.run = isLoad ? loadMatrices : storeMatrices;
}

void decodeMatrixLoad(Decoder &decoder, const Statement &statement, Step &step) {
  decodeMatrixAccess(decoder, statement, step, true);
}
void decodeMatrixStore(Decoder &decoder, const Statement &statement, Step &step) {
  decodeMatrixAccess(decoder, statement, step, false);
}

void decodeMatrixMove(Decoder &decoder, const Statement &statement, Step &step) {
  decoder.expectModifiers(statement, {"sync", "aligned", "m8n8", "trans"});
  for (std::string_view word : {"sync", "aligned", "m8n8", "trans"})
    if (!statement.has(word))
      decoder.refuseForm(statement);
  if (decoder.type(statement) != Type::B16)
    decoder.refuseForm(statement);
  decoder.expectOperands(statement, 2, 2);
  step.d = decoder.destination(statement.operands[0], 4);
  step.a = decoder.source(statement.operands[1], Type::B32);
  step.flow = Flow::Collective;
  step.run = moveMatrix;
}

} // namespace

void addMatrixMemory(Opcodes &opcodes) {
  opcodes["ldmatrix"] = decodeMatrixLoad;
  opcodes["stmatrix"] = decodeMatrixStore;
  opcodes["movmatrix"] = decodeMatrixMove;
}

} // namespace pe::ptx
