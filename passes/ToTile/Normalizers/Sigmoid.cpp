//===- Sigmoid.cpp - the sigmoid normalizer -------------------------------===//
//
// A_ij = sigma(z_ij), so the weights of a key do not depend on the other keys, and rows have no
// state (Ramapuram et al. 2024, arXiv 2409.04431). With dA the cotangent of the weights,
// dz_ij = A_ij (1 - A_ij) dA_ij. 1 - A is not computed by a difference, which would cancel.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Normalizer.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class SigmoidForward : public ForwardPass {
public:
  using ForwardPass::ForwardPass;

  ForwardWeights emit(TileBuilder &t, Value score, ValueRange) override {
    Value z = masked(t, a, score, kMasked);
    Value weights = t.map({z}, {"r", "c"}, [](Scalar &s, ValueRange in) {
      Value u = emitOdds(s, in[0]);
      return s.mul(u, s.approximateReciprocal(s.add(u, s.number(1.0))));
    });
    return {{weights, weights}, {}, {}, z};
  }
};

class SigmoidBackward : public BackwardPass {
public:
  using BackwardPass::BackwardPass;

  Weights emitWeights(TileBuilder &t, Value score) override {
    Value z = masked(t, a, score, kMasked);
    SmallVector<Value> both = t.mapMany({z}, {"r", "c"}, 2, [](Scalar &s, ValueRange in) {
      Value u = emitOdds(s, in[0]);
      Value rest = s.approximateReciprocal(s.add(u, s.number(1.0)));
      Value weight = s.mul(u, rest);
      return SmallVector<Value>{weight, s.mul(weight, rest)};
    });
    slope = both[1];
    return {both[0], both[0]};
  }
  SmallVector<Value> emitScores(TileBuilder &t, const WeightCotangents &c) override {
    return {pairProduct(t, pairProduct(t, slope, c.products), c.factor)};
  }

private:
  Value slope; // A (1 - A) of the current block
};

class Sigmoid : public Normalizer {
public:
  std::unique_ptr<ForwardPass> forward(const Attention &a, double) const override {
    return std::make_unique<SigmoidForward>(a);
  }
  std::unique_ptr<BackwardPass> backward(const Attention &a) const override {
    return std::make_unique<SigmoidBackward>(a);
  }
};

} // namespace

namespace mlir::tile {
const Normalizer &sigmoid() {
  static const Sigmoid instance;
  return instance;
}
} // namespace mlir::tile
