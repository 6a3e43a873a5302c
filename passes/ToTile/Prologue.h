//===- Prologue.h - row maps of queries and keys before the kernel --------===//
//
// A prologue maps every row of queries, keys or both to another row of the same depth, in a prepare
// stage, so that kernels read rows directly from memory. In the backward pass, a finish stage maps
// the gradients of the new rows to those of the old ones, and further stages sum the gradients of
// the prologue's tensors. Prologues are chained:
//
//   caller's rows ─► prologue(%a) ─► prologue(%b) ─► rotate(%r) ─► rows that the kernel reads
//   caller's d_q  ◄─     ...      ◄─     ...      ◄─    ...     ◄─ d_q that the kernel writes
//
// Rows between two prologues are stored in f32; only kernel operands are rounded.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_PROLOGUE_H
#define PE_PASSES_TOTILE_PROLOGUE_H

#include "dialect/PE/PE.h"
#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"
#include "passes/Transforms/ScalarVjp.h"

#include <memory>

namespace mlir::tile {

/// Queries or keys: the extents of their rows, and their start position.
struct Side {
  bool isQueries;
  StringRef heads() const { return isQueries ? "hq" : "hkv"; }
  StringRef rows() const { return isQueries ? "r" : "c"; }
  StringRef start() const { return isQueries ? "q_start" : "k_start"; }
  StringRef word() const { return isQueries ? "queries" : "keys"; }
  /// Returns the word in the names of tables.
  StringRef singular() const { return isQueries ? "query" : "key"; }
};
inline constexpr Side kQueries{true}, kKeys{false};

class Prologue {
public:
  Prologue(PlanContext &context, std::string name) : context(context), name(std::move(name)) {}
  virtual ~Prologue() = default;
  virtual bool changes(Side side) const = 0;
  /// Adds the prepare stages that do not depend on queries and keys.
  virtual LogicalResult prepare() = 0;
  /// Adds the stage that maps `from` to `to` ([b, heads, rows, d]).
  virtual void emit(Side side, Value from, Value to) = 0;
  /// Adds the finish stages that map the gradient `from` of the output of `emit` on `rows` to `to`,
  /// and that sum the side's contributions to gradients of tensors.
  virtual void emitBack(Side side, Value rows, Value from, Value to) = 0;
  /// Adds the finish stages that follow the finish stages of both sides.
  virtual void finish() = 0;

protected:
  PlanContext &context;
  std::string name;
};

/// Arguments [b, rows] with the positions of queries and keys, or null if positions are
/// consecutive.
struct GivenPositions {
  Value queries, keys;
  Value of(Side side) const { return side.isQueries ? queries : keys; }
};

/// A rotation of the rows of both sides, which may be those of values and outputs instead of keys
/// and queries.
class RowRotation : public Prologue {
public:
  using Prologue::Prologue;
  /// Adds a stage that rotates the rows `from` to `to`, or rotates them back by the transposed
  /// matrix.
  virtual void turn(Side side, Value from, Value to, StringRef stage, Phase phase, bool isBack) = 0;
};
/// The rows that a rotation turns: their dims, as a number and as an extent.
struct RowDims {
  int64_t count;
  StringRef extent;
};

/// Create a rotation by its op, the prologue of any other op with PrologueOpInterface, and that of
/// a score function that is a factor of the query.
std::unique_ptr<RowRotation> createRotation(PlanContext &, pe::RotationOpInterface,
                                            std::string name, RowDims dims,
                                            GivenPositions positions = {});
std::unique_ptr<Prologue> createElementwise(PlanContext &, pe::PrologueOpInterface,
                                            std::string name);
std::unique_ptr<Prologue> createScoreFactor(PlanContext &, pe::ScoreFnOp, std::string name);

/// cos and sin per position of one side and pair of dimensions: [rows, pairs], preceded by the head
/// if frequencies depend on it, and by the batch if positions are given.
struct RotationTables {
  Value cosine, sine;
};
/// Adds the prepare stages of a rotation and returns the tables of the queries.
FailureOr<RotationTables> prepareQueryTables(PlanContext &, pe::RotationOpInterface,
                                             std::string name);

/// All prologues of one attention.
class Prologues {
public:
  /// Fails with an error if a prologue is not defined for the head dim.
  static FailureOr<Prologues> create(PlanContext &context, pe::AttentionOp op,
                                     const std::string &name);
  /// Appends a prologue that multiplies queries by the value of the score function at 1.
  void addFactor(pe::ScoreFnOp function);
  /// Adds the stages before the kernels, and returns the rows that kernels read.
  FailureOr<KernelRows> prepare(const ProductRows &rows, Type activation);
  /// Adds the stages after the kernels.
  void finish();

private:
  /// Rows before the first, between two, and after the last prologue that changes them.
  struct Chain {
    Side side;
    SmallVector<Prologue *> prologues;
    SmallVector<Value> rows, gradients;
  };
  Chain createChain(Side side, Value &rows, Value &gradient, Type activation);

  PlanContext *context = nullptr;
  std::string name;
  bool keepsKeys = false; // the caller gives keys as kernels read them
  SmallVector<std::unique_ptr<Prologue>> all;
  SmallVector<Chain> chains;
};

/// Scalar code that an op has emitted into a separate region, from which it can be copied and
/// differentiated. The region has the `leading` arguments, then one per tensor operand of the op.
class OpCode {
public:
  using Build = llvm::function_ref<Value(OpBuilder &, ValueRange leading, ValueRange tensors)>;
  OpCode(Operation *op, TypeRange leading, Build build);
  /// Computes the derivative with respect to the first `inputs` arguments and the tensors. Fails
  /// with an error if there is none.
  LogicalResult differentiate(unsigned inputs = 0);

  TileParameters parameters(PlanContext &context) {
    return TileParameters(context, block(), op->getOperands());
  }
  /// Maps the leading arguments.
  IRMapping mapLeading(ValueRange values);
  const pe::ScalarVjp &derivative() const { return *vjp; }

private:
  Block &block() { return region->front(); }

  Operation *op;
  std::unique_ptr<Region> region;
  Value root;
  std::optional<pe::ScalarVjp> vjp;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_PROLOGUE_H
