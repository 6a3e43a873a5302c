//===- Prologue.h - what is done to queries and keys before the kernel ----===//
//
// A prologue maps every row of queries, keys or both to another row of as many dims, in a prepare
// stage, so that kernels read rows directly from memory. Backward, a finish stage maps the
// gradients of the new rows to those of the old ones, and others add up the gradients of the
// prologue's tensors. Several prologues follow one another:
//
//   rows of the caller ─► prologue(%a) ─► prologue(%b) ─► rotate(%r) ─► what the kernel reads
//   d_q of the caller  ◄─      ...     ◄─      ...     ◄─     ...    ◄─ what the kernel writes
//
// Rows between two prologues are kept in f32; only what kernels multiply is rounded.
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

/// Queries or keys: the extents of their rows, and where they begin.
struct Side {
  bool isQueries;
  StringRef heads() const { return isQueries ? "hq" : "hkv"; }
  StringRef rows() const { return isQueries ? "r" : "c"; }
  StringRef start() const { return isQueries ? "q_start" : "k_start"; }
  StringRef word() const { return isQueries ? "queries" : "keys"; }
  /// In the names of tables.
  StringRef singular() const { return isQueries ? "query" : "key"; }
};
inline constexpr Side kQueries{true}, kKeys{false};

class Prologue {
public:
  Prologue(PlanContext &context, std::string name) : context(context), name(std::move(name)) {}
  virtual ~Prologue() = default;
  virtual bool changes(Side side) const = 0;
  /// Adds the prepare stages of what does not depend on queries and keys.
  virtual LogicalResult prepare() = 0;
  /// Adds the stage that maps `from` to `to` ([b, heads, rows, d]).
  virtual void emit(Side side, Value from, Value to) = 0;
  /// Adds the finish stages that map the gradient `from` of what `emit` made of `rows` to `to`, and
  /// that add up what the side contributes to gradients of tensors.
  virtual void emitBack(Side side, Value rows, Value from, Value to) = 0;
  /// Adds the finish stages behind those of both sides.
  virtual void finish() = 0;

protected:
  PlanContext &context;
  std::string name;
};

/// Arguments [b, rows] that stand for the positions of queries and keys; null: those of the rows.
struct GivenPositions {
  Value queries, keys;
  Value of(Side side) const { return side.isQueries ? queries : keys; }
};

/// By a rotation op, by any other op with PrologueOpInterface, and by a function of the score that
/// is a factor of the query.
std::unique_ptr<Prologue> createRotation(PlanContext &, pe::RotationOpInterface, std::string name,
                                         GivenPositions positions = {});
std::unique_ptr<Prologue> createElementwise(PlanContext &, pe::PrologueOpInterface,
                                            std::string name);
std::unique_ptr<Prologue> createScoreFactor(PlanContext &, pe::ScoreFnOp, std::string name);

/// cos and sin per position of one side and pair of dimensions: [rows, pairs], with the head in
/// front where frequencies depend on it, and the batch in front of that where positions are given.
struct RotationTables {
  Value cosine, sine;
};
/// Adds the prepare stages of a rotation, and returns the tables of the queries.
FailureOr<RotationTables> prepareQueryTables(PlanContext &, pe::RotationOpInterface,
                                             std::string name);

/// All prologues of one attention.
class Prologues {
public:
  /// Fails with an error where one is not defined for the head dim.
  static FailureOr<Prologues> create(PlanContext &context, pe::AttentionOp op,
                                     const std::string &name);
  /// Behind all others, queries are multiplied by what the function of the score is at 1.
  void addFactor(pe::ScoreFnOp function);
  /// Adds the stages in front of the kernels, and puts new buffers in the place of queries, keys
  /// and their gradients.
  LogicalResult prepare(Attention &attention, Type activation);
  /// Adds the stages behind them.
  void finish();

private:
  /// Rows before the first, between two, and behind the last prologue that changes them.
  struct Chain {
    Side side;
    SmallVector<Prologue *> prologues;
    SmallVector<Value> rows, gradients;
  };
  Chain createChain(Side side, Value &rows, Value &gradient, Type activation);

  PlanContext *context = nullptr;
  std::string name;
  SmallVector<std::unique_ptr<Prologue>> all;
  SmallVector<Chain> chains;
};

/// Scalar code that an op has emitted into a region of its own, where it can be copied from and
/// differentiated: `leading` arguments, then one per tensor operand of the op.
class OpCode {
public:
  using Build = llvm::function_ref<Value(OpBuilder &, ValueRange leading, ValueRange tensors)>;
  OpCode(Operation *op, TypeRange leading, Build build);
  /// Takes the derivative with respect to the first `inputs` arguments and to tensors; fails with
  /// an error where there is none.
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
