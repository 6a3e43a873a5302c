//===- NearValues.cpp - value vectors that depend on near distances -------===//
//
// With the vectors P[w] at the distances low + w, w = 0 ... W - 1, and A the weights of pairs:
//
//   kernel     s[w, i]: the score of the pair at that distance; for the first and the last w, the
//              sum of the weights of all pairs beyond
//   output     o_i += sum_w A[w, i] P[w], with A[w, i] = exp2(s[w, i] - m_i) / l_i
//   backward   dA_ij gains <dO_i, P[w]>, prepared per row; A[w, i] is computed again for
//   finish     dP[w] = sum_i A[w, i] dO_i
//
// Scores are stored instead of weights because the maximum of a row is known only at its end.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/ContentTerm.h"
#include "passes/ToTile/NearDistances.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Represents a score of 0, because a 0 in the table means that there is no pair.
constexpr double kZeroScore = 1.0e-30;

class NearValues : public ValueContent {
public:
  NearValues(PlanContext &context, pe::ContentFnOp op, pe::DifferenceRange range,
             const Attention &attention, std::string name)
      : context(context), attention(attention), function(context, op, "e"),
        near(*op.getStructure(), range), name(std::move(name)) {}

  LogicalResult prepare() override;
  unsigned carries() const override { return near.farSums(); }
  SmallVector<Value> emitForward(TileBuilder &t, Value score, Value factor, Value weights,
                                 Value decay, ValueRange carries) override;
  void storeForward(TileBuilder &t, Value output, Value maximum, Value factor,
                    ValueRange carries) override;
  void emitOutput() override;
  void prepareBackward() override;
  Value emitCotangent(TileBuilder &t) override {
    return t.create<NearOp>(t.type({"r", "c"}), products, near.low);
  }
  SmallVector<SpaceSet> gradientFolds() const override {
    return SmallVector<SpaceSet>(near.farSums(), SpaceSet{"r"});
  }
  SmallVector<Value> emitGradient(TileBuilder &t, Value weights) override;
  void storeFolds(TileBuilder &t, ValueRange folds) override { sums->store(t, folds); }
  void finish() override;

private:
  PlanContext &context;
  const Attention &attention;
  ContentFunction function;
  NearDistances near;
  std::string name;
  Value vectors, transposed;      // [hq, W, e] and [hq, e, W], in f32
  Value ownOutput;                // [b, hq, r, e]: without the vectors
  Value maxima, factors;          // [b, hq, r]
  Value products;                 // [b, hq, W, r]: <dO, P[w]>
  std::optional<NearSums> scores; // of near pairs, and sums of weights of far pairs
  std::optional<NearSums> sums;   // of weights, in the backward pass
};

} // namespace

LogicalResult NearValues::prepare() {
  if (failed(function.derive()))
    return failure();
  vectors = context.kept(name + "_vectors", {"hq", near.extent, "e"});
  transposed = context.kept(name + "_transposed", {"hq", "e", near.extent});
  ownOutput = context.temporary(name + "_output", {"b", "hq", "r", "e"});
  maxima = context.temporary(name + "_maxima", {"b", "hq", "r"});
  factors = context.temporary(name + "_factors", {"b", "hq", "r"});
  function.emitVectors(name, near.low, vectors, transposed);
  scores.emplace(context, near, name + "_scores", vectors.getDefiningOp());
  if (!context.grad)
    return success();
  products = context.temporary(name + "_products", {"b", "hq", near.extent, "r"});
  sums.emplace(context, near, name + "_weights", vectors.getDefiningOp());
  return success();
}

SmallVector<Value> NearValues::emitForward(TileBuilder &t, Value score, Value factor, Value weights,
                                           Value decay, ValueRange carries) {
  SmallVector<Value> inputs = {score};
  if (factor)
    inputs.push_back(factor);
  auto isZero = [](Scalar &s, Value value) -> Value {
    return s.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, value, s.number(0.0));
  };
  scores->emitNear(t, t.map(inputs, {"r", "c"}, [&](Scalar &s, ValueRange in) {
    Value sum = in.size() > 1 ? s.add(in[0], s.log2(in[1])) : in[0];
    Value entry = s.select(isZero(s, sum), s.number(kZeroScore), sum);
    return in.size() > 1 ? s.select(isZero(s, in[1]), s.number(0.0), entry) : entry;
  }));
  SmallVector<Value> next;
  for (auto [carry, sum] : llvm::zip_equal(carries, near.emitFarSums(t, weights)))
    next.push_back(t.map({carry, decay, sum}, {"r"}, [](Scalar &s, ValueRange in) {
      return s.add(s.mul(in[0], in[1]), in[2]);
    }));
  return next;
}

void NearValues::storeForward(TileBuilder &t, Value output, Value maximum, Value factor,
                              ValueRange carries) {
  t.store(output, ownOutput);
  t.store(maximum, maxima);
  t.store(factor, factors);
  SmallVector<Value> farSums;
  for (Value carry : carries)
    farSums.push_back(t.map({carry, factor}, {"r"},
                            [](Scalar &s, ValueRange in) { return s.mul(in[0], in[1]); }));
  scores->store(t, farSums);
}

void NearValues::emitOutput() {
  TileBuilder t = beginStage(context.plan, name + "_output", Phase::Forward, {"b", "hq"});
  scores->rewrite(t, [&](Scalar &s, Value score, ValueRange at) {
    Value isPair = s.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, score, s.number(0.0));
    Value distance = s.sub(score, readElement(s, maxima, {at[0], at[1], at[3]}));
    Value weight = s.mul(s.exp2(distance), readElement(s, factors, {at[0], at[1], at[3]}));
    return s.select(isPair, weight, s.number(0.0));
  });
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(context.valueDim, [&](int64_t first, unsigned number) {
      Value isRead; // a vector without a pair has no effect, not even as NaN
      SmallVector<Value> results = emitSums(
          s, s.index(near.count), number, s.getF32Type(),
          [&](Scalar &x, Value w) {
            Value weight = scores->at(x, at[0], at[1], w, at[2]);
            isRead = x.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, weight, x.number(0.0));
            return weight;
          },
          [&](Scalar &x, Value w, unsigned n) {
            Value element = readElement(x, vectors, {at[1], w, x.index(first + n)});
            return x.select(isRead, element, x.number(0.0));
          });
      for (auto [n, sum] : llvm::enumerate(results)) {
        SmallVector<Value> place = {at[0], at[1], at[2], s.index(first + n)};
        Value output = s.add(readElement(s, ownOutput, place), sum);
        Type element = cast<BufferType>(attention.o.getType()).getElementType();
        writeElement(s, s.round(output, element), attention.o, place);
        if (attention.oWide)
          writeElement(s, output, attention.oWide, place);
      }
    });
  });
}

void NearValues::prepareBackward() {
  TileBuilder t = beginStage(context.plan, name + "_products", Phase::Backward, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(near.count, [&](int64_t first, unsigned number) {
      SmallVector<Value> results = emitSums(
          s, s.size("e"), number, s.getF32Type(),
          [&](Scalar &x, Value k) {
            return x.widen(readElement(x, attention.dO, {at[0], at[1], at[2], k}));
          },
          [&](Scalar &x, Value k, unsigned n) {
            return readElement(x, transposed, {at[1], k, x.index(first + n)});
          });
      for (auto [n, product] : llvm::enumerate(results))
        writeElement(s, product, products, {at[0], at[1], s.index(first + n), at[2]});
    });
  });
}

SmallVector<Value> NearValues::emitGradient(TileBuilder &t, Value weights) {
  sums->emitNear(t, weights);
  return near.emitFarSums(t, weights);
}

void NearValues::finish() {
  if (!function.isActive())
    return;
  function.emitVectorGradients(
      name, near.low, vectors, /*scale=*/1.0,
      [&](Scalar &s, ValueRange at) { return sums->at(s, at[0], at[1], at[2], at[3]); },
      attention.dO);
}

std::unique_ptr<ValueContent> mlir::tile::createNearValues(PlanContext &context, pe::ContentFnOp op,
                                                           pe::DifferenceRange range,
                                                           const Attention &attention,
                                                           std::string name) {
  return std::make_unique<NearValues>(context, op, range, attention, std::move(name));
}
