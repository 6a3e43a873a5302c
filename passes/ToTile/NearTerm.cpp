//===- NearTerm.cpp - content terms with few vectors -----------------------===//
//
// With the vectors P[w] at the distances low + w, w = 0 ... W - 1:
//
//   prepare    products[w, i] = scale log2(e) <q'_i, P[w]>
//   kernel     the score of (i, j) gets products[clamp(i - j - low, 0, W - 1), i]
//   backward   sums[w, i] = sum over the j of w of dS_ij: one pair, but for the vectors of all far
//              distances, whose sums over the keys are folds
//   finish     dq'_i = scale sum_w sums[w, i] P[w],  dP[w] = scale sum_i sums[w, i] q'_i
//
// which is O(N W D) outside the kernel, and one addition per score in it.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Content.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class NearTerm : public ContentTerm {
public:
  NearTerm(PlanContext &context, pe::ContentFnOp op, pe::ContentStructure structure,
           pe::DifferenceRange range, const Attention &attention, std::string name)
      : ContentTerm(context, op, std::move(structure), attention, std::move(name)),
        count(this->structure.high - this->structure.low + 1), extent(std::to_string(count)),
        hasBelow(range.min < this->structure.low), hasAbove(range.max > this->structure.high) {}

  LogicalResult prepare() override;
  Value emit(TileBuilder &t) override {
    return t.create<NearOp>(t.type({"r", "c"}), products, structure.low);
  }
  SmallVector<SpaceSet> gradientFolds() const override {
    return SmallVector<SpaceSet>(hasBelow + hasAbove, SpaceSet{"r"});
  }
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override;
  void storeFolds(TileBuilder &t, ValueRange folds) override;
  void finish() override;

private:
  void prepareVectors();
  void finishQueries();
  void finishVectors();
  /// The sum over the keys of `cotangent` at distances beyond `bound`, on one side.
  Value sumBeyond(TileBuilder &t, Value cotangent, bool isAbove, int64_t bound);
  Value sumAt(Scalar &s, Value batch, Value head, Value vector, Value row);

  int64_t count; // W
  std::string extent;
  bool hasBelow, hasAbove;   // pairs at distances below `low` and above `high` take part
  Value vectors, transposed; // [hq, W, d] and [hq, d, W], in f32
  Value products, sums;      // [b, hq, W, r]
  Value below, above;        // [b, hq, r]: sums of the first and the last vector
};

} // namespace

void NearTerm::prepareVectors() {
  vectors = context.kept(name + "_vectors", {"hq", extent, "d"});
  transposed = context.kept(name + "_transposed", {"hq", "d", extent});
  TileBuilder t = beginStage(context.plan, name + "_prepare_vectors", Phase::Prepare, {"hq"});
  t.foreach ({extent, "d"}, [&](Scalar &s, ValueRange at) {
    Value distance = s.add(at[1], s.index(structure.low));
    Value element =
        s.create<arith::TruncFOp>(s.getF32Type(), emitElement(s, at[0], distance, at[2]));
    writeElement(s, element, vectors, at);
    writeElement(s, element, transposed, {at[0], at[2], at[1]});
  });
}

LogicalResult NearTerm::prepare() {
  if (failed(derive()))
    return failure();
  queries.prepare();
  prepareVectors();
  products = context.kept(name + "_products", {"b", "hq", extent, "r"});
  TileBuilder t = beginStage(context.plan, name + "_prepare_products", Phase::Prepare, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(count, [&](int64_t first, unsigned number) {
      SmallVector<Value> results = emitSums(
          s, s.size("d"), number, s.getF32Type(),
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

Value NearTerm::sumBeyond(TileBuilder &t, Value cotangent, bool isAbove, int64_t bound) {
  Value far = t.map(
      {cotangent, t.position("r"), t.position("c")}, {"r", "c"}, [&](Scalar &s, ValueRange in) {
        Value distance = s.sub(in[1], in[2]);
        Value isFar =
            s.create<arith::CmpIOp>(isAbove ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle,
                                    distance, s.index(bound));
        return s.select(isFar, in[0], s.number(0.0));
      });
  return t.reduce(Reduction::Add, "c", far);
}

SmallVector<Value> NearTerm::emitGradient(TileBuilder &t, Value cotangent) {
  auto make = [&](StringRef word, ArrayRef<StringRef> extents) {
    Value buffer = context.temporary(name + "_" + word, extents, {}, /*zero=*/true);
    buffer.getDefiningOp()->moveBefore(vectors.getDefiningOp());
    return buffer;
  };
  sums = make("sums", {"b", "hq", extent, "r"});
  t.create<NearGradOp>(cotangent, sums, structure.low);
  SmallVector<Value> folds;
  if (hasBelow) {
    below = make("below", {"b", "hq", "r"});
    folds.push_back(sumBeyond(t, cotangent, /*isAbove=*/false, structure.low));
  }
  if (hasAbove) {
    above = make("above", {"b", "hq", "r"});
    folds.push_back(sumBeyond(t, cotangent, /*isAbove=*/true, structure.high));
  }
  return folds;
}

void NearTerm::storeFolds(TileBuilder &t, ValueRange folds) {
  if (hasBelow)
    t.store(folds.front(), below);
  if (hasAbove)
    t.store(folds.back(), above);
}

/// The tables' sum, or that of all far distances.
Value NearTerm::sumAt(Scalar &s, Value batch, Value head, Value vector, Value row) {
  Value sum = readElement(s, sums, {batch, head, vector, row});
  for (auto [fold, end] : {std::pair(below, int64_t(0)), std::pair(above, count - 1)}) {
    if (!fold)
      continue;
    Value isEnd = s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, vector, s.index(end));
    sum = s.select(isEnd, readElement(s, fold, {batch, head, row}), sum);
  }
  return sum;
}

void NearTerm::finishQueries() {
  TileBuilder t = beginStage(context.plan, name + "_finish_queries", Phase::Finish, {"b", "hq"});
  t.foreach ({"r"}, [&](Scalar &s, ValueRange at) {
    eachPiece(context.headDim, [&](int64_t first, unsigned number) {
      SmallVector<Value> results = emitSums(
          s, s.index(count), number, s.getF32Type(),
          [&](Scalar &x, Value w) { return sumAt(x, at[0], at[1], w, at[2]); },
          [&](Scalar &x, Value w, unsigned n) {
            return readElement(x, vectors, {at[1], w, x.index(first + n)});
          });
      for (auto [n, sum] : llvm::enumerate(results))
        writeElement(s, s.mul(sum, s.number(scale)), queries.gradient(),
                     {at[0], at[1], at[2], s.index(first + n)});
    });
  });
}

/// Per batch entry and head, then over all of them through the reverse mode of the code.
void NearTerm::finishVectors() {
  Type f64 = context.plan.getF64Type();
  Value partial = context.temporary(name + "_d_vectors", {"b", "hq", extent, "d"}, f64);
  partial.getDefiningOp()->moveBefore(vectors.getDefiningOp());
  TileBuilder t = beginStage(context.plan, name + "_finish_vectors", Phase::Finish, {"b", "hq"});
  t.foreach ({extent}, [&](Scalar &s, ValueRange at) {
    auto wide = [&](Scalar &x, Value value) -> Value {
      return x.create<arith::ExtFOp>(f64, x.widen(value));
    };
    eachPiece(context.headDim, [&](int64_t first, unsigned number) {
      SmallVector<Value> results = emitSums(
          s, s.size("r"), number, f64,
          [&](Scalar &x, Value row) { return wide(x, sumAt(x, at[0], at[1], at[2], row)); },
          [&](Scalar &x, Value row, unsigned n) {
            return wide(x, readElement(x, queries.rows(), {at[0], at[1], row, x.index(first + n)}));
          });
      for (auto [n, sum] : llvm::enumerate(results))
        writeElement(s, s.mul(sum, s.number(scale, f64)), partial,
                     {at[0], at[1], at[2], s.index(first + n)});
    });
  });
  TileBuilder last = beginStage(context.plan, name + "_finish", Phase::Finish, {});
  last.foreach ({"hq", extent, "d"}, [&](Scalar &s, ValueRange at) {
    Value sum = sumOver(s, {"b"}, [&](Scalar &x, ValueRange batch) {
      return readElement(x, partial, {batch[0], at[0], at[1], at[2]});
    });
    ifNonZero(s, sum, [&](Scalar &x) {
      emitAdjoint(x, at[0], x.add(at[1], x.index(structure.low)), at[2], sum);
    });
  });
}

void NearTerm::finish() {
  finishQueries();
  queries.finish();
  if (isActive())
    finishVectors();
}

std::unique_ptr<ContentTerm> mlir::tile::createNearTerm(PlanContext &context, pe::ContentFnOp op,
                                                        pe::ContentStructure structure,
                                                        pe::DifferenceRange range,
                                                        const Attention &attention,
                                                        std::string name) {
  return std::make_unique<NearTerm>(context, op, std::move(structure), range, attention,
                                    std::move(name));
}
