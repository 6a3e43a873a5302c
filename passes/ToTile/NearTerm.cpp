//===- NearTerm.cpp - content terms with few vectors ----------------------===//
//
// With the vectors P[w] at the distances low + w, w = 0 ... W - 1:
//
//   prepare    products[w, i] = scale log2(e) <q'_i, P[w]>
//   kernel     adds products[clamp(i - j - low, 0, W - 1), i] to the score of (i, j)
//   backward   sums[w, i] = sum of dS_ij over the j with vector w: one pair, except for the vectors
//              of all far distances, whose sums over the keys are folds
//   finish     dq'_i = scale sum_w sums[w, i] P[w],  dP[w] = scale sum_i sums[w, i] q'_i
//
// This costs O(N W D) outside the kernel, and one addition per score inside it.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/ContentTerm.h"
#include "passes/ToTile/NearDistances.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class NearTerm : public ContentTerm {
public:
  NearTerm(PlanContext &context, pe::ContentFnOp op, pe::DifferenceRange range,
           const ContentSite &site, std::string name)
      : ContentTerm(context, op, site, std::move(name)), near(*op.getStructure(), range),
        extent(near.extent) {}

  LogicalResult prepare() override;
  Value emit(TileBuilder &t) override {
    return t.create<NearOp>(t.type({"r", "c"}), products, near.low);
  }
  SmallVector<SpaceSet> gradientFolds() const override {
    return SmallVector<SpaceSet>(near.farSums(), SpaceSet{"r"});
  }
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override;
  void storeFolds(TileBuilder &t, ValueRange folds) override { sums->store(t, folds); }
  void finish() override;

private:
  void finishQueries();
  void finishVectors();

  NearDistances near;        // W distances
  std::string &extent;       // W
  Value vectors, transposed; // [hq, W, d] and [hq, d, W], in f32
  Value products;            // [b, hq, W, r]
  std::optional<NearSums> sums;
};

} // namespace

LogicalResult NearTerm::prepare() {
  if (failed(function.derive()) || failed(queries.prepare()))
    return failure();
  vectors = context.kept(name + "_vectors", {"hq", extent, depth()});
  transposed = context.kept(name + "_transposed", {"hq", depth(), extent});
  function.emitVectors(name, near.low, vectors, transposed);
  products = context.kept(name + "_products", {"b", "hq", extent, "r"});
  TileBuilder t = beginStage(context.plan, name + "_prepare_products", Phase::Prepare, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(near.count, [&](int64_t first, unsigned number) {
      SmallVector<Value> results = emitSums(
          s, s.size(depth()), number, s.getF32Type(),
          [&](Scalar &x, Value k) {
            return x.widen(readElement(x, queries.rows(), {at[0], at[1], at[2], k}));
          },
          [&](Scalar &x, Value k, unsigned n) {
            return readElement(x, transposed, {at[1], k, x.index(first + n)});
          });
      for (auto [n, product] : llvm::enumerate(results))
        writeElement(s, s.mul(product, s.number(scale * kLog2E)), products,
                     {at[0], at[1], s.index(first + n), at[2]});
    });
  });
  return success();
}

SmallVector<Value> NearTerm::emitGradient(TileBuilder &t, Value cotangent) {
  sums.emplace(context, near, name, vectors.getDefiningOp());
  sums->emitNear(t, cotangent);
  return near.emitFarSums(t, cotangent);
}

void NearTerm::finishQueries() {
  TileBuilder t = beginStage(context.plan, name + "_finish_queries", Phase::Finish, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(function.size(), [&](int64_t first, unsigned number) {
      SmallVector<Value> results = emitSums(
          s, s.index(near.count), number, s.getF32Type(),
          [&](Scalar &x, Value w) { return sums->at(x, at[0], at[1], w, at[2]); },
          [&](Scalar &x, Value w, unsigned n) {
            return readElement(x, vectors, {at[1], w, x.index(first + n)});
          });
      for (auto [n, sum] : llvm::enumerate(results))
        writeElement(s, s.mul(sum, s.number(scale)), queries.gradient(),
                     {at[0], at[1], at[2], s.index(first + n)});
    });
  });
}

void NearTerm::finish() {
  finishQueries();
  queries.finish();
  if (!function.isActive())
    return;
  function.emitVectorGradients(
      name, near.low, vectors, scale,
      [&](Scalar &s, ValueRange at) { return sums->at(s, at[0], at[1], at[2], at[3]); },
      queries.rows());
}

std::unique_ptr<ContentTerm> mlir::tile::createNearTerm(PlanContext &context, pe::ContentFnOp op,
                                                        pe::DifferenceRange range,
                                                        const ContentSite &site, std::string name) {
  return std::make_unique<NearTerm>(context, op, range, site, std::move(name));
}
