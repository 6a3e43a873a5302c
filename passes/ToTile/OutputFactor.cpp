//===- OutputFactor.cpp - a factor on weights, applied to the output ------===//
#include "passes/ToTile/OutputFactor.h"

using namespace mlir;
using namespace mlir::tile;

OutputFactor::OutputFactor(PlanContext &context, pe::FactorFnOp op, Attention &attention,
                           std::string name)
    : name(std::move(name)),
      factor(context, op.getBody().front(), op.getCaptures(), /*isScore=*/false, this->name),
      output(attention.o), cotangent(attention.dO) {
  const StringRef extents[] = {"b", "hq", "r", "e"};
  ownOutput = context.grad ? context.buffer(this->name + "_output", Role::Residual, extents)
                           : context.temporary(this->name + "_output", extents);
  attention.o = ownOutput;
  if (!context.grad)
    return;
  ownCotangent = context.temporary("d_" + this->name + "_output", extents);
  attention.dO = ownCotangent;
}

void OutputFactor::emitForward() {
  factor.multiply(name + "_rows", Phase::Forward, "e", ownOutput, output);
}

void OutputFactor::emitBackward() {
  factor.multiply(name + "_back_rows", Phase::Backward, "e", cotangent, ownCotangent);
}

void OutputFactor::finish() { factor.finish("e", ownOutput, cotangent); }
