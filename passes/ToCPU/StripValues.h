//===- StripValues.h - values over r, rd, re and h of one strip -----------===//
//
// The values of a strip of rows that are not over pairs: scalars (h), vectors with lanes along the
// rows (r), and panels (rd, re). Panels are packed transposed, [depth][rows of the strip], so that
// the rows of one depth form a vector. If lanes are keys, values over r are scalars, panels are
// vectors along depth, padded to whole ones, and values over c are vectors (RowValues.cpp). Used
// before, in and after the stream.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_STRIPVALUES_H
#define PE_PASSES_TOCPU_STRIPVALUES_H

#include "passes/ToCPU/MapEmitter.h"

namespace mlir::tile::cpu {

/// A packed block of f32: rows of `stripRows()` floats from `at` on.
struct Panel {
  Value memory;
  Index at;
};

/// Returns the offset of `value` from the index of a row or column if it is such an index or
/// position, else std::nullopt.
std::optional<Index> startOf(const StageContext &context, Value value);

/// Evaluates and stores the values of one strip of rows.
class StripValues : public OperandSource {
public:
  explicit StripValues(StageContext &context) : maps(context, *this), context(context) {}

  void begin(const StripPlace &place);
  const StripPlace &getPlace() const { return place; }

  void setRow(Value value, ArrayRef<Value> vectors) { rows[value] = SmallVector<Value>(vectors); }
  void setPanel(Value value, const Panel &panel) { panels[value] = panel; }
  void setUniform(Value value, Value scalar) { uniforms[value] = scalar; }
  bool hasPanel(Value value) const { return panels.count(value); }
  const Panel &getPanel(Value value) { return panels.find(value)->second; }
  /// The words of pairs of depths of a panel: [pair of depths][rows of the strip].
  void setDepthPairs(Value value, const Panel &panel) { depthPairs[value] = panel; }
  const Panel &getDepthPairs(Value value) { return depthPairs.find(value)->second; }
  /// The words of pairs of rows of a loaded panel: [pair of rows][depth].
  void setRowPairs(Value value, const Panel &panel) { rowPairs[value] = panel; }
  const Panel &getRowPairs(Value value) { return rowPairs.find(value)->second; }

  //===- Reading -----------------------------------------------------------------===//
  Value uniform(Value value) override;
  Value row(Value value, int64_t vector) override;
  Value column(Value value, const Index &column) override;
  /// Starts another key, or vector of keys from `column` on.
  void beginKey(const Index &column);
  /// Returns a panel's rows at depth `d`, from memory or by evaluating them.
  Value panelAt(Value value, const Index &d, int64_t vector);
  /// Evaluates the operands of `panelAt(value)` that are the same for the entire strip.
  void preparePanel(Value value);

  //===- Evaluating --------------------------------------------------------------===//
  /// Evaluates a load, constant, map or reduction over depth with a result over r or h.
  void evaluate(Operation *op);
  /// Packs a loaded panel, transposed.
  void pack(LoadOp load, const Panel &panel);
  /// Evaluates a computed panel into memory.
  void materialize(Value value, const Panel &panel);
  void fillZero(const Panel &panel, int64_t depth);
  /// Packs a panel in words of pairs of depths.
  void packDepthPairs(const Panel &from, const Panel &into, int64_t depth);
  /// Packs the strip's rows of a loaded panel in words of pairs of rows.
  void packRowPairs(LoadOp load, const Panel &into);
  /// Stores a vector or panel for the rows of the strip that exist.
  void store(StoreOp store, const Index &keyBlock = 0);
  void storeZero(StoreOp store, const Index &keyBlock);

  void loadRows(Value value, Value memory, const Index &at);
  void storeRows(Value value, Value memory, const Index &at);

  MapEmitter maps;

private:
  void evaluateReduce(ReduceOp reduce);
  void storePanel(Value value, Value buffer);
  /// Returns the mask of the lanes of vector `vector` that are rows of the call.
  Value existingLanes(int64_t vector);

  // If lanes are keys:
  Value rowScalar(Value value);
  Value columnVector(Value value, const Index &column);
  void evaluateRow(Operation *op);
  void evaluateRowReduce(ReduceOp reduce);
  void packRow(LoadOp load, const Panel &panel);
  void storeRowPanel(Value value, Value buffer);
  /// Visits the vectors of a panel: the depth of each, and a mask for the last one if only some of
  /// its lanes exist, else null.
  void eachVector(int64_t depth, llvm::function_ref<void(const Index &, Value)> body);

  StageContext &context;
  StripPlace place;
  llvm::DenseMap<Value, SmallVector<Value>> rows;
  llvm::DenseMap<Value, Panel> panels, depthPairs, rowPairs;
  llvm::DenseMap<Value, Value> uniforms;
  llvm::DenseMap<Value, Value> columns; // of the vector of keys
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STRIPVALUES_H
