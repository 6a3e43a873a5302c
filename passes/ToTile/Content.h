//===- Content.h - terms of queries and the distance ----------------------===//
//
// A content term adds scale <q'_i, P(i - j)> to the score, q' = (q + v) W (pe.content_fn). What is
// kept per query and what the kernel does follow from its class (passes/Analysis/Content.h):
//
//   near     products with the few vectors P[low ... high] are prepared per query, [b, hq, w, r];
//   the
//            kernel reads one of them per pair, and backward adds the pair's cotangent there
//   angles   q' is turned by its position, and the kernel multiplies it with features of the key:
//            sin((i - j) w) = sin(i w) cos(j w) - cos(i w) sin(j w)
//   panel    the vectors of all distances are prepared, and the kernel multiplies q' with that of
//            each pair
//
// Around the kernel, for every term:
//
//   rows of the caller ─► (q + v) W ─► what the term prepares ─► kernel
//   d_q of the caller  ◄─ d_v, d_w  ◄─ gradient of q', of P    ◄─
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_CONTENT_H
#define PE_PASSES_TOTILE_CONTENT_H

#include "passes/Analysis/Content.h"
#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::tile {

/// The queries that a content term is multiplied with, (q + v) W, and their gradient.
class ContentQueries {
public:
  ContentQueries(PlanContext &context, pe::ContentFnOp op, Value callerQueries, std::string name);

  /// [b, hq, r, d], after `prepare`.
  Value rows() const { return own ? own : queries; }
  /// Their gradient, f32, of the same extents; a term's finish stage writes it. Null without
  /// gradients.
  Value gradient() const { return dRows; }
  /// The gradient of the caller's queries, after `finish`.
  Value gradientOfQueries() const { return dQueries; }

  /// Adds the buffers and the prepare stage; rows of its own have the type `element`, or f32.
  void prepare(Type element = {});
  /// Adds the finish stages behind that of the term.
  void finish();

private:
  void finishProjection();
  void finishShift();
  Value shifted(Scalar &s, ValueRange at, Value dim);

  PlanContext &context;
  Value shift, projection; // arguments of the function, or null
  Value queries, own, dRows, dQueries;
  std::string name;
};

/// The code of a term: its vectors at any distance, whose gradient is chained to what it reads.
class ContentFunction {
public:
  /// `depth` is the extent of its vectors, d or e.
  ContentFunction(PlanContext &context, pe::ContentFnOp op, StringRef depth)
      : context(context), op(op), depth(depth) {}

  /// Finds the derivative, before anything else.
  LogicalResult derive();
  bool isActive() const { return vjp->isActive(); }
  IRMapping mapPoint(Scalar &s, Value head, Value distance, Value dim) const;
  /// The vector's element in float64.
  Value emitElement(Scalar &s, Value head, Value distance, Value dim) const;
  /// Adds to the gradients of what the element reads.
  void emitAdjoint(Scalar &s, Value head, Value distance, Value dim, Value cotangent) const;

  /// Adds a prepare stage that writes the vectors at the distances from `low` on to a buffer
  /// [hq, W, depth], and to [hq, depth, W] unless that is null.
  void emitVectors(StringRef name, int64_t low, Value vectors, Value transposed) const;
  /// Adds the stages that chain scale * sum over the rows of weights(batch, head, vector, row) *
  /// rows[batch, head, row, depth], the gradient of such vectors.
  void emitVectorGradients(StringRef name, int64_t low, Value vectors, double scale,
                           llvm::function_ref<Value(Scalar &, ValueRange)> weights,
                           Value rows) const;

private:
  int64_t size() const { return depth == "d" ? context.headDim : context.valueDim; }

  PlanContext &context;
  mutable pe::ContentFnOp op; // a handle; its accessors are not const
  StringRef depth;
  mutable std::optional<pe::ScalarVjp> vjp;
};

/// A content term of the score.
class ContentTerm : public TermLowering {
public:
  ContentTerm(PlanContext &context, pe::ContentFnOp op, pe::ContentStructure structure,
              const Attention &attention, std::string name);
  Value gradientOfQueries() const { return queries.gradientOfQueries(); }
  Location getLoc() const override { return pe::ContentFnOp(op).getLoc(); }

protected:
  pe::ContentFnOp op;
  pe::ContentStructure structure;
  double scale;
  ContentFunction function;
  ContentQueries queries;
};

std::unique_ptr<ContentTerm> createNearTerm(PlanContext &, pe::ContentFnOp, pe::ContentStructure,
                                            pe::DifferenceRange range, const Attention &,
                                            std::string name);
std::unique_ptr<ContentTerm> createAnglesTerm(PlanContext &, pe::ContentFnOp, pe::ContentStructure,
                                              const Attention &, std::string name);

std::unique_ptr<ContentTerm> createPanelTerm(PlanContext &, pe::ContentFnOp, pe::ContentStructure,
                                             pe::DifferenceRange range, const Attention &,
                                             std::string name);

/// A value_content(...) of the class near.
std::unique_ptr<ValueContent> createNearValues(PlanContext &, pe::ContentFnOp,
                                               const pe::ContentStructure &,
                                               pe::DifferenceRange range, const Attention &,
                                               std::string name);

/// The content terms of one attention, which also belong to its AttentionTerms.
class Contents {
public:
  /// Takes the gradient of the queries over: kernels and prologues write one of their own.
  /// `attention` gets what joins the values.
  static FailureOr<Contents> create(PlanContext &context, pe::AttentionOp op, Attention &attention,
                                    pe::DifferenceRange range, AttentionTerms &terms);
  /// Adds the prepare stages of what joins the values; terms of the score have their own.
  LogicalResult prepare() { return values ? values->prepare() : success(); }
  /// Adds the stage that adds up the gradient of the queries, behind all others.
  void finish();

private:
  PlanContext *context = nullptr;
  std::string name;
  SmallVector<ContentTerm *> terms;
  std::unique_ptr<ValueContent> values; // null without one
  Value gradient, ofOthers;             // of the caller's queries; what all but content terms add
};

/// `count` sums over k = 0 ... end - 1 of shared(k) * own(k, number of the sum): independent sums,
/// that a machine computes at the same time.
SmallVector<Value> emitSums(Scalar &s, Value end, unsigned count, Type type,
                            llvm::function_ref<Value(Scalar &, Value)> shared,
                            llvm::function_ref<Value(Scalar &, Value, unsigned)> own);
/// How many sums are computed at a time.
inline constexpr int64_t kSumsAtATime = 16;
/// `body` for every first index and number of indices of the pieces of [0, size).
void eachPiece(int64_t size, llvm::function_ref<void(int64_t first, unsigned count)> body);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_CONTENT_H
