//===- Gradients.cpp - adjoints of functions of the distance --------------===//
#include "passes/ToGPU/Biases.h"
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/Sums.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

void mlir::tile::gpu::emitWindowGrad(Step &step, WindowGradOp op) {
  step.k.sums.addDiagonals(step, op.getTable(), step.registers(op.getValue()), op.getValue());
}

namespace {

class SegmentsGradEmitter {
public:
  SegmentsGradEmitter(Step &step, SegmentsGradOp op)
      : step(step), k(step.k), b(k.b), op(op), g(step.registers(op.getValue())),
        block(findSegmentBlock(step, op.getU(), op.getV(), op.getKnots(), op.getSlope(),
                               op.getCount())) {}
  void emit();

private:
  Value v(int64_t index) { return block.v[k.indexOf({"r"}, k.elementAt({"r", "c"}, index))]; }
  void addMoments(const Num &segment, const Registers &values, bool isSubtracted);
  void addRows(const Registers &slopes);

  Step &step;
  FragmentKernel &k;
  KernelBuilder &b;
  SegmentsGradOp op;
  Registers g;
  SegmentBlock block;
};

/// moments[segment] +-= (sum g, sum g * t) over the warp's pairs.
void SegmentsGradEmitter::addMoments(const Num &segment, const Registers &values,
                                     bool isSubtracted) {
  Value zeroth = b.number(0.0), first = b.number(0.0);
  for (auto [index, value] : llvm::enumerate(values)) {
    zeroth = b.add(zeroth, value);
    first = b.fma(b.mul(value, block.u[index]), v(index), first);
  }
  int64_t moment = 0;
  for (Value sum : {zeroth, first}) {
    for (int mask : {16, 8, 4, 2, 1})
      sum = b.add(sum, b.shuffleXor(sum, mask));
    if (isSubtracted)
      sum = b.create<arith::NegFOp>(sum);
    k.sums.addToHead(k, op.getMoments(), segment * Num(2) + Num(moment++), sum);
  }
}

/// v_grad[i] += sum over j of g * slope * u.
void SegmentsGradEmitter::addRows(const Registers &slopes) {
  Registers sums(k.registersOf({"r"}));
  for (auto [index, slope] : llvm::enumerate(slopes)) {
    Value &sum = sums[k.indexOf({"r"}, k.elementAt({"r", "c"}, index))];
    Value weighted = b.mul(g[index], slope);
    sum = sum ? b.fma(weighted, block.u[index], sum) : b.mul(weighted, block.u[index]);
  }
  addToLine(step, op.getVGrad(), {"r"}, std::move(sums));
}

void SegmentsGradEmitter::emit() {
  addMoments(block.firstKink, g, /*isSubtracted=*/false);
  // The slope at every pair; rows that do not exist have no v.
  Registers slopes(g.size(), block.slope(k, block.firstKink));
  slopes = b.loop(block.firstKink, block.endKink, 1, slopes, [&](Num z, ValueRange carried) {
    Value bend = block.bend(k, z), knot = block.knot(k, z), zero = b.number(0.0);
    Registers next, above;
    for (auto [index, slope] : llvm::enumerate(carried)) {
      Value isAbove =
          b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, b.mul(block.u[index], v(index)), knot);
      above.push_back(b.select(isAbove, g[index], zero));
      next.push_back(b.add(slope, b.select(isAbove, bend, zero)));
    }
    addMoments(z, above, /*isSubtracted=*/true);
    addMoments(z + Num(1), above, /*isSubtracted=*/false);
    return next;
  });
  if (op.getVGrad())
    addRows(slopes);
  if (!op.getUGrad())
    return;
  Registers weighted;
  for (auto [index, slope] : llvm::enumerate(slopes))
    weighted.push_back(b.mul(b.mul(g[index], slope), v(index)));
  k.sums.addDiagonals(step, op.getUGrad(), weighted);
}

} // namespace

void mlir::tile::gpu::emitSegmentsGrad(Step &step, SegmentsGradOp op) {
  SegmentsGradEmitter(step, op).emit();
}
