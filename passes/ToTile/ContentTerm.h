//===- ContentTerm.h - score terms of the query and the distance ----------===//
//
// A content term adds scale <q'_i, P(i - j)> to the score, q' = (q + v) W (pe.content_fn), or
// <r_i, P(i - j)> with queries r of another depth (query(%r) of pe.attention). Its
// class (#pe.content) decides what is stored per query and what the kernel
// computes:
//
//   near     The products with the few vectors P[low ... high] are prepared per query,
//            [b, hq, w, r]. The kernel reads one of them per pair; backward adds the cotangent of
//            the pair to the same entry.
//   angles   q' is rotated by its position, and the kernel multiplies it with features of the key:
//            sin((i - j) w) = sin(i w) cos(j w) - cos(i w) sin(j w)
//   panel    The vectors of all distances are prepared, and the kernel multiplies q' with the
//            vector of each pair.
//
// The stages around the kernel are the same for every term:
//
//   caller's rows ─► (q + v) W ─► tables of the term    ─► kernel
//   caller's d_q  ◄─ d_v, d_w  ◄─ gradients of q' and P ◄─
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_CONTENTTERM_H
#define PE_PASSES_TOTILE_CONTENTTERM_H

#include "passes/ToTile/QueryNumbers.h"
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::tile {

/// The queries that a content term multiplies, and the scale of the products.
struct ContentSite {
  Value queries; // [b, hq, r, depth]
  double scale;
  bool isOwn = false; // not those of the attention
  Value gradient;     // of own queries; null without gradients

  /// Returns the last extent of the queries.
  StringRef depth() const { return cast<BufferType>(queries.getType()).getExtents().back(); }
};

/// The queries of a content term, f (q + v) W or f r, and their gradient.
class ContentQueries {
public:
  ContentQueries(PlanContext &context, pe::ContentFnOp op, const ContentSite &site,
                 std::string name);

  /// Returns the rows, [b, hq, r, depth]. Valid after `prepare`.
  Value rows() const { return scaled ? scaled : unscaled; }
  /// Returns the gradient of `rows()`, f32, with the same extents, which the finish stage of the
  /// term writes. Null without gradients.
  Value gradient() const { return dRows; }
  /// Returns the term's part of the gradient of the attention's queries, or null if the term has
  /// its own queries. Valid after `finish`.
  Value gradientOfQueries() const { return site.isOwn ? Value() : dQueries; }
  StringRef depth() const { return site.depth(); }

  /// Adds the buffers and the prepare stages. New rows have the type `element`, or f32. Fails with
  /// an error at the user's line if the factor has no derivative.
  LogicalResult prepare(Type element = {});
  /// Adds the finish stages that follow the finish stage of the term.
  void finish();

private:
  void prepareUnscaled();
  void finishProjection();
  void finishShift();
  Value shifted(Scalar &s, ValueRange at, Value dim);
  int64_t size() const { return sizeOfDepth(depth(), context.headDim, context.valueDim); }
  SmallVector<StringRef, 4> extents() const { return {"b", "hq", "r", depth()}; }

  PlanContext &context;
  Value shift, projection; // arguments of the function, or null
  ContentSite site;
  std::unique_ptr<QueryNumbers> factor; // null without one
  Value unscaled;                       // the rows before the factor
  Value scaled;                         // the rows, if there is a factor
  Value dRows, dUnscaled, dQueries;     // the gradients of `rows()`, of `unscaled` and of q or r
  std::string name;
};

/// The scalar code of a term's vectors P(distance), and reverse mode through it.
class ContentFunction {
public:
  /// `depth` is the extent of the vectors: d, e or a number.
  ContentFunction(PlanContext &context, pe::ContentFnOp op, StringRef depth)
      : context(context), op(op), depth(depth) {}

  /// Computes the derivative. Must be called first.
  LogicalResult derive();
  bool isActive() const { return vjp->isActive(); }
  /// Returns the number of elements of a vector.
  int64_t size() const { return sizeOfDepth(depth, context.headDim, context.valueDim); }
  IRMapping mapPoint(Scalar &s, Value head, Value distance, Value dim) const;
  /// Emits an element of the vector in float64, which is 0 outside the term's extent.
  Value emitElement(Scalar &s, Value head, Value distance, Value dim) const;
  /// Adds to the gradients of the tensors that the element reads.
  void emitAdjoint(Scalar &s, Value head, Value distance, Value dim, Value cotangent) const;

  /// Adds a prepare stage that writes the vectors at distances `low`, `low` + 1, ... to the buffer
  /// `vectors`, [hq, W, depth], and to `transposed`, [hq, depth, W], unless that is null.
  void emitVectors(StringRef name, int64_t low, Value vectors, Value transposed) const;
  /// Adds the stages that chain the gradient of the vectors to the tensors. The gradient is scale *
  /// sum over the rows of weights(batch, head, vector, row) * rows[batch, head, row, depth].
  void emitVectorGradients(StringRef name, int64_t low, Value vectors, double scale,
                           llvm::function_ref<Value(Scalar &, ValueRange)> weights,
                           Value rows) const;

private:
  Value isWithinExtent(Scalar &s, Value distance) const;

  PlanContext &context;
  mutable pe::ContentFnOp op; // a handle, whose accessors are not const
  StringRef depth;
  mutable std::optional<pe::ScalarVjp> vjp;
};

/// A content term of the score.
class ContentTerm : public TermLowering {
public:
  ContentTerm(PlanContext &context, pe::ContentFnOp op, const ContentSite &site, std::string name);
  Value gradientOfQueries() const { return queries.gradientOfQueries(); }
  Location getLoc() const override { return pe::ContentFnOp(op).getLoc(); }

protected:
  StringRef depth() const { return queries.depth(); }

  pe::ContentFnOp op;
  double scale;
  ContentFunction function;
  ContentQueries queries;
};

std::unique_ptr<ContentTerm> createNearTerm(PlanContext &, pe::ContentFnOp,
                                            pe::DifferenceRange range, const ContentSite &,
                                            std::string name);
std::unique_ptr<ContentTerm> createAnglesTerm(PlanContext &, pe::ContentFnOp, const ContentSite &,
                                              std::string name);

std::unique_ptr<ContentTerm> createPanelTerm(PlanContext &, pe::ContentFnOp,
                                             pe::DifferenceRange range, const ContentSite &,
                                             std::string name);

/// Creates the lowering of a value_content(...) of class near.
std::unique_ptr<ValueContent> createNearValues(PlanContext &, pe::ContentFnOp,
                                               pe::DifferenceRange range, const Attention &,
                                               std::string name);

/// The content terms of one attention. Those of the score also belong to its AttentionTerms.
class Contents {
public:
  /// Adds the terms of the score to `terms`, and sets `attention.content`.
  static FailureOr<Contents> create(PlanContext &context, pe::AttentionOp op,
                                    const GivenRows &given, Attention &attention,
                                    pe::DifferenceRange range, AttentionTerms &terms);
  /// Returns the rows that prologues read. If there are terms of the score, the gradient of the
  /// queries is a buffer to which these terms do not add.
  ProductRows rows() const { return products; }
  /// Adds the prepare stages of `values`; terms of the score have their own.
  LogicalResult prepare() { return values ? values->prepare() : success(); }
  /// Adds the stage that sums the gradients of the queries, after all other stages.
  void finish();

private:
  PlanContext *context = nullptr;
  std::string name;
  SmallVector<ContentTerm *> terms;
  std::unique_ptr<ValueContent> values; // null without value_content
  Value gradient;                       // of the caller's queries; null without terms of the score
  ProductRows products;
};

/// Returns `count` sums over k = 0 ... end - 1 of shared(k) * own(k, index of the sum). The sums
/// are independent, so a machine can compute them in parallel.
SmallVector<Value> emitSums(Scalar &s, Value end, unsigned count, Type type,
                            llvm::function_ref<Value(Scalar &, Value)> shared,
                            llvm::function_ref<Value(Scalar &, Value, unsigned)> own);
/// The largest number of sums in one call of `emitSums`.
inline constexpr int64_t kSumsAtATime = 16;
/// Calls `body` with the first index and the size of every piece of [0, size).
void eachPiece(int64_t size, llvm::function_ref<void(int64_t first, unsigned count)> body);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_CONTENTTERM_H
