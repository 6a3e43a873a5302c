//===- Slice.cpp - the code that computes a value of a bias region --------===//

#include "passes/Analysis/Slice.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pe {

SmallVector<Operation *> collectSlice(ValueRange roots, llvm::function_ref<bool(Value)> isLeaf) {
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> worklist(roots.begin(), roots.end());
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || (isLeaf && isLeaf(value)) || !needed.insert(op))
      continue;
    llvm::append_range(worklist, op->getOperands());
  }
  SmallVector<Operation *> ordered = needed.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

Value cloneSlice(Value root, IRMapping &mapping, OpBuilder &builder) {
  auto isDone = [&](Value value) { return mapping.contains(value); };
  for (Operation *op : collectSlice(root, isDone))
    builder.clone(*op, mapping);
  return mapping.lookup(root);
}

} // namespace mlir::pe
