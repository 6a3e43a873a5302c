//===- StridedCopy.cpp - Copies between two layouts -----------------------===//

#include "runtime/core/StridedCopy.h"

#include <cstring>

namespace pe {

void StridedCopy::simplify() {
  isSimple = true;
  int count = 0;
  for (int i = 0; i < rank; ++i) {
    isEmpty |= axes[i].size == 0;
    if (axes[i].size == 1)
      continue;
    if (count && axes[count - 1].to == axes[i].to * axes[i].size &&
        axes[count - 1].from == axes[i].from * axes[i].size)
      axes[count - 1] = {axes[count - 1].size * axes[i].size, axes[i].to, axes[i].from};
    else
      axes[count++] = axes[i];
  }
  rank = count;
  if (rank && axes[rank - 1].to == runBytes && axes[rank - 1].from == runBytes)
    runBytes *= axes[--rank].size;
}

int64_t StridedCopy::parts() {
  if (!isSimple)
    simplify();
  return isEmpty ? 0 : rank ? axes[0].size : 1;
}

void StridedCopy::run(int64_t part, void *to, const void *from) const {
  char *target = static_cast<char *>(to);
  const char *source = static_cast<const char *>(from);
  if (rank)
    copy(1, target + part * axes[0].to, source + part * axes[0].from);
  else
    std::memcpy(target, source, static_cast<size_t>(runBytes));
}

void StridedCopy::copy(int axis, char *to, const char *from) const {
  if (axis == rank) {
    std::memcpy(to, from, static_cast<size_t>(runBytes));
    return;
  }
  const Axis &steps = axes[axis];
  if (axis + 1 == rank && runBytes == 4) { // single elements of the most common size, inlined
    for (int64_t i = 0; i < steps.size; ++i)
      std::memcpy(to + i * steps.to, from + i * steps.from, 4);
    return;
  }
  for (int64_t i = 0; i < steps.size; ++i)
    copy(axis + 1, to + i * steps.to, from + i * steps.from);
}

} // namespace pe
