//===- Embedding.h - lowering of pe.embedding_fn --------------------------===//
//
// The embedding E[p, d] does not depend on the batch, so almost all of it is prepared once per
// call, in float64:
//
//   - a value that depends only on d (frequencies, powers) or only on p is stored per dimension or
//     per row;
//   - sin and cos of p * w(d) follow from those of 64 m and n by the addition theorem, with
//     p = q_start + 64 m + n, as in the tables of rotations (Rotation.cpp);
//   - x(p)^(w d) is (x^(16 w))^m (x^w)^n for d = 16 m + n: two short tables per row;
//   - if other functions of both p and d remain, the values are stored in a table with an entry per
//     row and dimension.
//
// The remaining reads and arithmetic are emitted in the loop that adds the embedding to the tokens.
// For gradients of parameters (EmbeddingGradients.cpp), the sum of the cotangents over the batch,
// in order, passes through the adjoint of the code.
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
  /// Adds the stage that writes `to` = `from` + E, times the factors of dropout if it is given.
  void emitForward(Value from, Value to, const TokenDropout *dropout, StringRef stage);
  /// The cotangent of a sum of tokens and embedding, the dropout of the sum, and the buffer for the
  /// gradient of the tokens.
  struct Cotangent {
    Value buffer;
    const TokenDropout *dropout; // null without dropout
    Value tokens;
    std::string stage; // the name of the stage that writes only the tokens' gradient
  };
  /// Adds the stages for the gradients of the captures and of all tokens that E was added to.
  void emitBackward(ArrayRef<Cotangent> cotangents);

private:
  /// A prepared inner value. `dims` and `rows` are the axes that it has elements for. For angles,
  /// `coarse` and `fine` hold sines, then cosines; for powers they are indexed by m and n.
  struct Piece {
    Value value;
    bool rows = false, dims = false;
    Value buffer, coarse, fine;
    Value frequency; // of an angle: the factor (or divisor) of p
    Value base;      // of a power; `buffer` stores whether it is negative
    Value signs;     // of powers of negative bases, by dimension
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
  /// Maps the point and the pieces for emission at a row and dimension of this call.
  enum class Mapped { Point, PiecesOfDims, All };
  void mapPoint(Scalar &s, IRMapping &mapping, const Place &at, Mapped mapped);
  Value readPiece(Scalar &s, const Piece &piece, const Place &at);
  Value readAngle(Scalar &s, const Piece &piece, Value row, Value dim);
  Value readPower(Scalar &s, const Piece &piece, const Place &at);
  Value emitValue(Scalar &s, const Place &at);
  TileParameters parameters();

  /// Returns the only read of a capture [rows, dimensions] if it is at the position plus an offset
  /// and at the dimension.
  std::optional<pe::ReadOp> readOfRows(Value capture);
  bool hasFewSums(Value capture);
  /// Returns the range of rows of the call that a work item of a gradient stage sums.
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
  Value table; // null: the code is emitted at its uses
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_EMBEDDING_H
