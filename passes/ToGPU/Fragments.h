//===- Fragments.h - operands of contractions from shared memory -*- C++ -*-===//
//
// 16-bit operands are fragments loaded by ldmatrix. For tf32, a chunk of four words is a row of an
// 8 x 8 matrix of halves, so ldmatrix also loads its fragments, but it cannot transpose them: these
// are read word by word. A contraction over pairs or distances may use any order: word t of a
// fragment is index 2t, word t + 4 index 2t + 1, so that accumulators can be used as left-hand
// fragments unchanged and the lanes read different banks. f32 operands are vectors of four along
// the contraction.
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_FRAGMENTS_H
#define PE_PASSES_TOGPU_FRAGMENTS_H

#include "passes/ToGPU/FragmentKernel.h"

namespace mlir::tile::gpu {

/// Loads operands of contractions from panels in shared memory.
class FragmentReader {
public:
  FragmentReader(FragmentKernel &kernel, Type element) : k(kernel), b(kernel.b), element(element) {}

protected:
  /// Returns true if mma.sync multiplies these operands.
  bool isMatrixType() const { return !element.isF32(); }
  /// Returns the length of the contraction in one fragment: 16, or 8 for tf32.
  int64_t stepSize() const { return element.isTF32() ? 8 : 16; }
  /// Loads the fragment of 16 owners: rows [rowConstant, +16) of the panel, depths of the step.
  SmallVector<Value> loadA(const Panel &panel, int64_t rowConstant, const Num &row, int64_t step);
  /// Loads the transposed fragment, A[m][k] from a panel whose rows are k.
  SmallVector<Value> loadATransposed(const Panel &panel, int64_t rowConstant, const Num &column,
                                     int64_t columnConstant);
  /// Loads two fragments for columns [rowConstant + row, +16) of the result: B[k][n] from rows n of
  /// the panel. `row` is a multiple of 8.
  SmallVector<Value> loadB(const Panel &panel, int64_t rowConstant, const Num &row, int64_t step);
  /// Loads two fragments from a panel whose rows are k: depths [8 tileConstant + 8 tile, +16). A
  /// tile known only at run time may be after the last one; it then gets unspecified elements of
  /// the panel.
  SmallVector<Value> loadBTransposed(const Panel &panel, int64_t rowConstant, const Num &row,
                                     int64_t tileConstant, const Num &tile);
  /// Loads four f32 of one chunk.
  SmallVector<Value> vectorAt(const Panel &panel, int64_t rowConstant, const Num &row,
                              const Num &chunk);
  /// Loads two f32 of a row of a panel: this lane's of the eight in a tile, which may also be after
  /// the last one.
  SmallVector<Value> twoAt(const Panel &panel, const Num &row, const Num &tile);
  /// Adds A B to sums[at .. at + 4).
  void addProduct(Registers &sums, int64_t at, ArrayRef<Value> a, ArrayRef<Value> b);

  FragmentKernel &k;
  KernelBuilder &b;
  const Type element;

private:
  /// Loads the word of tf32 panel row `rowConstant + row + 2t + odd` and a column.
  Value wordAt(const Panel &panel, int64_t rowConstant, const Num &row, int odd,
               int64_t columnConstant, const Num &column);
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_FRAGMENTS_H
