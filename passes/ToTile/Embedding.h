//===- Embedding.h - what is added to tokens -------------------------------===//
//
// The embedding E[p, d] does not depend on the batch, so that almost all of it is prepared once per
// call, in float64:
//
//   - what depends on d alone (frequencies, powers) or on p alone is one number per dimension or
//     row;
//   - sin and cos of p * w(d) come from those of 64 m and n by the addition theorem, p = q_start +
//     64 m + n, as tables of rotations do (Rotation.cpp);
//   - x(p)^(w d) is (x^(16 w))^m (x^w)^n for d = 16 m + n: two short tables per row;
//   - where functions of both p and d are left, the values are a table of their own, one per row
//     and dimension.
//
// What is left is reads and arithmetic, and written into the loop that adds it to the tokens.
// Gradients of parameters (EmbeddingGradients.cpp): the sum of the cotangents over the batch, in
// order, goes through the adjoint of the code.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_EMBEDDING_H
#define PE_PASSES_TOTILE_EMBEDDING_H

#include "dialect/PE/PE.h"
#include "passes/ToTile/PlanContext.h"
#include "passes/ToTile/TokenDropout.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::tile {

class Embedding {
public:
  Embedding(PlanContext &context, pe::EmbeddingFnOp op, std::string name);

  /// Adds the buffers and the stages that fill them.
  LogicalResult prepare();
  /// Adds the stage that writes to = from + E, times the factors of dropout if there is any.
  void emitForward(Value from, Value to, const TokenDropout *dropout, StringRef stage);
  /// The cotangent of a sum of tokens and the embedding, the factors of the sum, and where the
  /// gradient of the tokens goes.
  struct Cotangent {
    Value buffer;
    const TokenDropout *dropout; // null: none
    Value tokens;
    std::string stage; // the name of one that writes the tokens' gradient alone
  };
  /// Adds the stages for the gradients of the captures and of all tokens that it was added to.
  void emitBackward(ArrayRef<Cotangent> cotangents);

private:
  /// An inner value that is prepared. `dims` and `rows` say what it has an element for; of angles
  /// `coarse` and `fine` hold sines, then cosines, of powers they are indexed by m and n.
  struct Piece {
    Value value;
    bool rows = false, dims = false;
    Value buffer, coarse, fine;
    Value frequency; // of an angle: the value that p is multiplied by (or divided by)
    Value base;      // of a power; `buffer` says whether it is negative
    Value signs;     // of powers of negative numbers, by dimension
  };
  static constexpr int64_t kFine = 64, kPowers = 16;

  /// An element: row and dimension of the call, and d = 16 block + step.
  struct Place {
    Value row, dim, block, step;
  };

  void findPieces(Value value, llvm::DenseSet<Value> &seen);
  std::optional<Value> angleOf(Operation *op);
  std::optional<Value> powerOf(Operation *op);
  bool isMultipleOfDim(Value value);
  void prepareLine(Piece &piece);
  void prepareAngle(Piece &piece);
  void preparePower(Piece &piece);
  void prepareTable();
  /// Maps the point, and pieces, for emission at row and dim of this call.
  enum class Mapped { Point, PiecesOfDims, All };
  void mapPoint(Scalar &s, IRMapping &mapping, const Place &at, Mapped mapped);
  Value readPiece(Scalar &s, const Piece &piece, const Place &at);
  Value readAngle(Scalar &s, const Piece &piece, Value row, Value dim);
  Value readPower(Scalar &s, const Piece &piece, const Place &at);
  Value emitValue(Scalar &s, const Place &at);
  TileParameters parameters();

  /// The only read of a capture [rows, dimensions], at a position plus a number and at the
  /// dimension.
  std::optional<pe::ReadOp> readOfRows(Value capture);
  bool hasFewSums(Value capture);
  /// The rows of a call that a work item of a gradient stage adds up.
  using RowRange = llvm::function_ref<std::pair<Value, Value>(Scalar &, Value item)>;
  std::pair<Value, Value> rowsOf(Scalar &s, pe::ReadOp read, Value tableRow);
  void emitGradients(ArrayRef<Cotangent> cotangents, ArrayRef<Value> tables,
                     ArrayRef<Value> others);
  void emitTable(TileBuilder &t, Value table, ArrayRef<Cotangent> cotangents, bool writesTokens,
                 TileParameters params);
  void emitSums(TileBuilder &t, RowRange rows, ArrayRef<Cotangent> cotangents,
                TileParameters &params);
  void emitTokens(const Cotangent &cotangent);
  void finishGradients(StringRef items, ArrayRef<Value> captures, const TileParameters &params);
  /// Also writes the gradient of the tokens if `writesTokens`.
  void emitAdjoint(Scalar &s, ArrayRef<Cotangent> cotangents, Value row, Value dim,
                   TileParameters &params, bool writesTokens = false);

  PlanContext &context;
  pe::EmbeddingFnOp op;
  std::string name;
  Block &body;
  Value root;
  std::optional<pe::ScalarVjp> vjp;
  llvm::DenseMap<Value, unsigned> depends;
  std::vector<Piece> pieces;
  Value table; // null: the code is written where it is used
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_EMBEDDING_H
