//===- SegmentsTerm.h - piecewise polynomials of u(i - j) v(i) --*- C++ -*-===//
//
// A univariate function is divided into pieces, each a polynomial of degree n (0, 1 or 3), exact or
// within a tolerance (tile.find_segments). The kernel reads knots and coefficients. The gradient of
// everything that the pieces depend on follows from n + 1 sums per piece: with g the cotangent and
// x in [-1, 1] the relative position of the coordinate in its piece, S_m = sum g x^m. The piece is
// the polynomial through its values y_k at the Chebyshev points x_k, y = sum_k y_k L_k(x), so
//
//   the cotangent of y_k is sum g L_k(x) = sum_m L_km S_m,  L_k(x) = sum_m L_km x^m
//
// and reverse mode runs at these points, away from the kinks, where every function has one slope.
//
// If there are too many pieces for the tables, there are none: the function is then evaluated and
// differentiated for each score. Phases of cosines are computed in float64: f32 would be off by up
// to 2^-25 w radians in a phase w u v, and a cosine is steep at any phase.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_SEGMENTSTERM_H
#define PE_PASSES_TOTILE_SEGMENTSTERM_H

#include "passes/ToTile/Terms.h"
#include "passes/Transforms/ScalarVjp.h"

#include <optional>

namespace mlir::tile {

class SegmentsTerm : public TermLowering {
public:
  using TermLowering::TermLowering;

  bool isSharable() const override { return true; }
  LogicalResult prepare() override;
  Value emit(TileBuilder &t) override;
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override;
  void finish() override;

private:
  //===- The tables (SegmentsTerm.cpp) ------------------------------------------------===//
  LogicalResult derive();
  int64_t findCapacity();
  void createBuffers();
  void mapDistance(Scalar &s, IRMapping &mapping, Value head, Value entry);
  void mapRow(Scalar &s, IRMapping &mapping, Value head, Value r);
  void prepareFactors();
  void prepareUnits(TileBuilder &t);

  //===- Pairs, if there are no pieces (SegmentsPairs.cpp) ----------------------------===//
  /// The term's value for one pair, computed in `type`, in natural units and without its scale, and
  /// the values that reverse mode needs.
  struct PairCode {
    PairCode(SegmentsTerm &term, Scalar &s, ValueRange at, FloatType type);
    SegmentsTerm &term;
    IRMapping factorMap, rowMap, pieceMap, scaleMap;
    TileParameters factorParams, rowParams, pieceParams, scaleParams;
    Value u, v, value, unit;
    void emitAdjoint(Scalar &s, Value cotangent);
  };
  Value ifNoPieces(Scalar &s, Value otherwise, llvm::function_ref<Value(Scalar &)> body);
  Value emitPairs(TileBuilder &t, Value value);
  void emitPairGradient(TileBuilder &t, Value cotangent);

  //===- Gradients from the sums (SegmentsGradient.cpp) -------------------------------===//
  SmallVector<Value> momentsOf(Scalar &s, ValueRange at);
  void emitPoint(Scalar &s, Value head, Value point, Value cotangent);
  void finishPieces();
  /// The value of u or v at one index in float64, instead of the rounded value of the table, and
  /// what reverse mode needs.
  struct FactorCode {
    TileParameters params;
    IRMapping mapping;
    Value value;
  };
  FactorCode exactFactor(Scalar &s, pe::TermPart part, ValueRange at);
  void balanceSums();
  Value surplusAt(Scalar &s, ValueRange at);
  void finishRows();
  void finishDistances();

  pe::PiecewiseOpInterface piecewise;
  std::optional<pe::ScalarVjp> piece, scale, factor, row;
  int64_t degree = 1;
  bool mayBeTooMany = false;
  std::string capacity, powers;
  Value u, v, knots, coefficients, count;
  SmallVector<Value> moments, vSums, uSums; // one per attention
  Value surplus;
  SmallVector<CaptureSums> captureSums;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_SEGMENTSTERM_H
