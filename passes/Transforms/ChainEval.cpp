//===- ChainEval.cpp - A chain of layers as loops, and its adjoint --------===//

#include "passes/Transforms/ChainEval.h"

#include "dialect/FloatBuilder.h"
#include "dialect/PE/PE.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numbers>

namespace mlir::pe {
namespace {

using Body = llvm::function_ref<Value(Value index, Value carried)>;

/// Emits one chain, from the layers as parameters and scratch rows of hidden values.
class ChainEmitter : FloatBuilder {
public:
  ChainEmitter(PiecewiseOpInterface op, Value x, Value head, OpBuilder &builder,
               ParameterAccess &params)
      : FloatBuilder(op.getLoc(), builder), chain(op.getChain()), x(x), head(head),
        type(cast<FloatType>(x.getType())), params(params), layers(chain.size()) {}

  Value primal() { return forward(/*keep=*/false); }
  Value adjoint(Value cotangent);

private:
  // Parameters.
  BlockArgument weight(unsigned layer) { return cast<BlockArgument>(chain[layer].weight); }
  BlockArgument bias(unsigned layer) { return cast<BlockArgument>(chain[layer].bias); }
  bool isOutput(unsigned layer) { return layer + 1 == layers; }
  int64_t width(unsigned layer) { return cast<ShapedType>(bias(layer).getType()).getDimSize(0); }
  Value read(BlockArgument tensor, ValueRange at) {
    return params.read(*this, getLoc(), tensor, at);
  }
  void accumulate(BlockArgument tensor, ValueRange at, Value value) {
    params.accumulate(*this, getLoc(), tensor, at, value);
  }
  /// Returns the output row of this head; all heads share a single row.
  Value outputRow() { return width(layers - 1) == 1 ? index(0) : head; }

  // Arithmetic.
  Value index(int64_t value) { return create<arith::ConstantIndexOp>(value); }
  Value constant(double value) { return number(value, type); }
  /// Returns 1 if z > 0, else 0.
  Value isPositive(Value z) {
    Value on = greater(z, constant(0));
    return select(on, constant(1), constant(0));
  }
  /// Returns 1 / (1 + exp(-z)).
  Value logistic(Value z) {
    Value power = exp(neg(z));
    return div(constant(1), add(constant(1), power));
  }
  Value load(Value row, Value at) { return create<memref::LoadOp>(row, at); }
  void store(Value value, Value row, Value at) { create<memref::StoreOp>(value, row, at); }
  /// Emits a loop over [0, count) that carries one float, or nothing if `init` is null.
  Value loop(int64_t count, Value init, Body body);

  Value activate(Activation activation, Value z);
  Value slope(Activation activation, Value z);

  Value forward(bool keep);
  Value weightedSum(unsigned layer, Value row);
  void backwardOutput(Value cotangent);
  Value backwardHidden(unsigned layer);

  SmallVector<ChainLink> chain;
  Value x, head;
  FloatType type;
  ParameterAccess &params;
  unsigned layers;
  /// Per hidden layer: values before and after the activation, and adjoints of the latter.
  SmallVector<Value> before, after, adjoints;
  Value outputBefore;
};

Value ChainEmitter::loop(int64_t count, Value init, Body body) {
  SmallVector<Value, 1> inits;
  if (init)
    inits.push_back(init);
  auto loop =
      create<scf::ForOp>(index(0), index(count), index(1), inits,
                         [&](OpBuilder &inner, Location, Value iv, ValueRange carried) {
                           OpBuilder::InsertionGuard guard(*this);
                           setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
                           Value next = body(iv, init ? carried.front() : Value());
                           create<scf::YieldOp>(init ? ValueRange(next) : ValueRange());
                         });
  return init ? loop.getResult(0) : Value();
}

Value ChainEmitter::activate(Activation activation, Value z) {
  switch (activation) {
  case Activation::Identity:
    return z;
  case Activation::Relu:
    return maximum(z, constant(0));
  case Activation::Tanh:
    return create<math::TanhOp>(z);
  case Activation::Silu:
    return mul(z, logistic(z));
  case Activation::Cos:
    return create<math::CosOp>(z);
  case Activation::Step: { // propagates NaN
    Value isBelow = compare(arith::CmpFPredicate::OLE, z, constant(0));
    Value other = select(isBelow, constant(0), z);
    Value isAbove = greater(z, constant(0));
    return select(isAbove, constant(1), other);
  }
  case Activation::Gelu:
    break;
  }
  Value erf = create<math::ErfOp>(mul(constant(std::numbers::sqrt2 / 2), z));
  return mul(mul(constant(0.5), z), add(constant(1), erf));
}

Value ChainEmitter::slope(Activation activation, Value z) {
  switch (activation) {
  case Activation::Identity:
    return constant(1);
  case Activation::Relu:
    return isPositive(z);
  case Activation::Tanh: {
    Value y = create<math::TanhOp>(z);
    return sub(constant(1), mul(y, y));
  }
  case Activation::Silu: {
    Value s = logistic(z);
    return mul(s, add(constant(1), mul(z, sub(constant(1), s))));
  }
  case Activation::Cos:
    return neg(create<math::SinOp>(z));
  case Activation::Step:
    return constant(0);
  case Activation::Gelu:
    break;
  }
  // Phi(z) + z phi(z), with the distribution function and density of the normal distribution.
  double sqrtHalf = std::numbers::sqrt2 / 2;
  Value erf = create<math::ErfOp>(mul(constant(sqrtHalf), z));
  Value gauss = exp(mul(constant(-0.5), mul(z, z)));
  Value density = mul(constant(sqrtHalf * std::numbers::inv_sqrtpi), gauss);
  return add(mul(constant(0.5), add(constant(1), erf)), mul(z, density));
}

/// Returns b[row] + sum_m w[row, m] * (hidden m of the previous layer), or w[row] * x + b[row].
Value ChainEmitter::weightedSum(unsigned layer, Value row) {
  Value shift = read(bias(layer), row);
  if (layer == 0)
    return add(mul(read(weight(0), row), x), shift);
  return loop(width(layer - 1), shift, [&](Value m, Value sum) {
    return add(sum, mul(read(weight(layer), {row, m}), load(after[layer - 1], m)));
  });
}

/// Emits the layers and returns the output; with `keep` also stores the values before activations.
Value ChainEmitter::forward(bool keep) {
  for (unsigned layer = 0; !isOutput(layer); ++layer) {
    after.push_back(params.scratch(*this, getLoc(), width(layer), type));
    if (keep)
      before.push_back(params.scratch(*this, getLoc(), width(layer), type));
    loop(width(layer), {}, [&](Value k, Value) {
      Value z = weightedSum(layer, k);
      if (keep)
        store(z, before[layer], k);
      store(activate(chain[layer].function, z), after[layer], k);
      return Value();
    });
  }
  outputBefore = weightedSum(layers - 1, outputRow());
  return activate(chain.back().function, outputBefore);
}

/// Emits the gradients of the output layer after hidden layers, and the adjoints of hidden values.
void ChainEmitter::backwardOutput(Value cotangent) {
  unsigned layer = layers - 1;
  Value row = outputRow();
  adjoints.resize(layer);
  adjoints[layer - 1] = params.scratch(*this, getLoc(), width(layer - 1), type);
  loop(width(layer - 1), {}, [&](Value m, Value) {
    accumulate(weight(layer), {row, m}, mul(cotangent, load(after[layer - 1], m)));
    store(mul(cotangent, read(weight(layer), {row, m})), adjoints[layer - 1], m);
    return Value();
  });
}

/// Emits the gradients of a hidden layer and adjoints of the previous one; returns dx for the
/// first.
Value ChainEmitter::backwardHidden(unsigned layer) {
  if (layer > 0) {
    adjoints[layer - 1] = params.scratch(*this, getLoc(), width(layer - 1), type);
    loop(width(layer - 1), {}, [&](Value m, Value) {
      store(constant(0), adjoints[layer - 1], m);
      return Value();
    });
  }
  Value init = layer == 0 ? constant(0) : Value();
  return loop(width(layer), init, [&](Value k, Value dx) {
    Value dz = mul(load(adjoints[layer], k), slope(chain[layer].function, load(before[layer], k)));
    accumulate(bias(layer), k, dz);
    if (layer == 0) {
      accumulate(weight(0), k, mul(dz, x));
      return add(dx, mul(dz, read(weight(0), k)));
    }
    loop(width(layer - 1), {}, [&](Value m, Value) {
      accumulate(weight(layer), {k, m}, mul(dz, load(after[layer - 1], m)));
      Value sum = add(load(adjoints[layer - 1], m), mul(dz, read(weight(layer), {k, m})));
      store(sum, adjoints[layer - 1], m);
      return Value();
    });
    return Value();
  });
}

Value ChainEmitter::adjoint(Value cotangent) {
  forward(/*keep=*/true);
  cotangent = mul(cotangent, slope(chain.back().function, outputBefore));
  accumulate(bias(layers - 1), outputRow(), cotangent);
  if (layers == 1) {
    accumulate(weight(0), outputRow(), mul(cotangent, x));
    return mul(cotangent, read(weight(0), outputRow()));
  }
  backwardOutput(cotangent);
  Value dx;
  for (unsigned layer = layers - 1; layer-- > 0;)
    dx = backwardHidden(layer);
  return dx;
}

} // namespace

Value emitChain(PiecewiseOpInterface op, Value x, Value head, OpBuilder &builder,
                ParameterAccess &params) {
  return ChainEmitter(op, x, head, builder, params).primal();
}

Value emitChainAdjoint(PiecewiseOpInterface op, Value x, Value head, Value cotangent,
                       OpBuilder &builder, ParameterAccess &params) {
  return ChainEmitter(op, x, head, builder, params).adjoint(cotangent);
}

} // namespace mlir::pe
