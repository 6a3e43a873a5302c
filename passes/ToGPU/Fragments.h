//===- Fragments.h - operands of contractions from shared memory -*- C++ -*-===//
//
// 16-bit operands: fragments that ldmatrix brings. tf32: a chunk of four words is a row of an 8 x 8
// matrix of halves, so ldmatrix brings its fragments too, but cannot transpose them: those are read
// word by word. Where the contraction is over pairs or distances, its order is ours: word t of a
// fragment is number 2t, word t + 4 number 2t + 1, so that accumulators are left-hand fragments as
// they are and the lanes read different banks. f32: vectors of four along the contraction.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_FRAGMENTS_H
#define PE_PASSES_TOGPU_FRAGMENTS_H

#include "passes/ToGPU/FragmentKernel.h"

namespace mlir::tile::gpu {

class FragmentReader {
public:
  FragmentReader(FragmentKernel &kernel, Type element) : k(kernel), b(kernel.b), element(element) {}

protected:
  /// Whether mma.sync multiplies these operands.
  bool isMatrixType() const { return !element.isF32(); }
  /// What one fragment contracts: 16, or 8 of tf32.
  int64_t stepSize() const { return element.isTF32() ? 8 : 16; }
  /// Fragment of 16 owners: rows [rowConstant, +16) of the panel, depths of the step.
  SmallVector<Value> loadA(const Panel &panel, int64_t rowConstant, const Num &row, int64_t step);
  /// Its transpose: A[m][k] from a panel whose rows are k.
  SmallVector<Value> loadATransposed(const Panel &panel, int64_t rowConstant, const Num &column,
                                     int64_t columnConstant);
  /// Two fragments for columns [rowConstant + row, +16) of the result: B[k][n] from rows n of the
  /// panel; `row` is a multiple of 8.
  SmallVector<Value> loadB(const Panel &panel, int64_t rowConstant, const Num &row, int64_t step);
  /// The same from a panel whose rows are k: depths [8 tileConstant + 8 tile, +16). A tile that is
  /// known at run time only may lie behind the last one: what it gets is of the panel, no more.
  SmallVector<Value> loadBTransposed(const Panel &panel, int64_t rowConstant, const Num &row,
                                     int64_t tileConstant, const Num &tile);
  /// Four f32 of one chunk.
  SmallVector<Value> vectorAt(const Panel &panel, int64_t rowConstant, const Num &row,
                              const Num &chunk);
  /// Two f32 of a row of a panel, this lane's of the eight of a tile, which may lie behind the last
  /// one likewise.
  SmallVector<Value> twoAt(const Panel &panel, const Num &row, const Num &tile);
  /// sums[at .. at + 4) += A B.
  void addProduct(Registers &sums, int64_t at, ArrayRef<Value> a, ArrayRef<Value> b);

  FragmentKernel &k;
  KernelBuilder &b;
  const Type element;

private:
  /// The word of tf32 panel row `rowConstant + row + 2t + odd` and a column.
  Value wordAt(const Panel &panel, int64_t rowConstant, const Num &row, int odd,
               int64_t columnConstant, const Num &column);
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_FRAGMENTS_H
