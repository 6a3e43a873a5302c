//===- SamplePlan.h - A plan whose stages are plain C++ functions -*- C++ -*-===//
//
// Computes y = 2 w_h x + q_start over [b, hq, r, 4]. The plan has all features of a compiled one: a
// prepare stage, a residual, zeroed and padded buffers, and gradients.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_DEVICE_SAMPLEPLAN_H
#define PE_TEST_RUNTIME_DEVICE_SAMPLEPLAN_H

#include "runtime/device/cpu/Executor.h"

#include <atomic>
#include <map>

namespace pe::test {

/// The numbers of items of prepare, forwardRow, backwardRow and finish that have run.
inline std::array<std::atomic<int64_t>, 4> &stageCalls() {
  static std::array<std::atomic<int64_t>, 4> calls;
  return calls;
}

constexpr int64_t kWidth = 4;

inline float *f32(void *buffer) { return static_cast<float *>(buffer); }

/// buffers: w, doubled [hq]; item: 1.
inline void prepare(void *const *buffers, const int64_t *frame, int64_t) {
  ++stageCalls()[0];
  for (int64_t h = 0; h < frame[1]; ++h)
    f32(buffers[1])[h] = 2 * f32(buffers[0])[h];
}

/// buffers: x, doubled, y, saved; item: row of b*hq*r.
inline void forwardRow(void *const *buffers, const int64_t *frame, int64_t item) {
  ++stageCalls()[1];
  const int64_t h = item / frame[3] % frame[1];
  for (int64_t d = 0; d < kWidth; ++d) {
    const float x = f32(buffers[0])[item * kWidth + d];
    f32(buffers[2])[item * kWidth + d] = x * f32(buffers[1])[h] + static_cast<float>(frame[9]);
    f32(buffers[3])[item * kWidth + d] = x;
  }
}

/// buffers: d_y, saved, w, d_x, partial [b*hq*r]; item: row.
inline void backwardRow(void *const *buffers, const int64_t *frame, int64_t item) {
  ++stageCalls()[2];
  const int64_t h = item / frame[3] % frame[1];
  for (int64_t d = 0; d < kWidth; ++d) {
    const float dy = f32(buffers[0])[item * kWidth + d];
    f32(buffers[3])[item * kWidth + d] = 2 * dy * f32(buffers[2])[h];
    f32(buffers[4])[item] += 2 * dy * f32(buffers[1])[item * kWidth + d];
  }
}

/// buffers: partial, d_w; item: head.
inline void finish(void *const *buffers, const int64_t *frame, int64_t h) {
  ++stageCalls()[3];
  for (int64_t b = 0; b < frame[0]; ++b)
    for (int64_t r = 0; r < frame[3]; ++r)
      f32(buffers[1])[h] += f32(buffers[0])[(b * frame[1] + h) * frame[3] + r];
}

inline void *lookup(const std::string &symbol) {
  static const std::map<std::string, cpu::StageFunction> table = {{"prepare", prepare},
                                                                  {"forwardRow", forwardRow},
                                                                  {"backwardRow", backwardRow},
                                                                  {"finish", finish}};
  auto found = table.find(symbol);
  return found == table.end() ? nullptr : reinterpret_cast<void *>(found->second);
}

inline plan::Plan samplePlan() {
  const std::vector<std::string> full = {"b", "hq", "r", "4"};
  using plan::Phase;
  using plan::Role;
  plan::Plan plan;
  plan.frame = plan::standardFrame(); // 0 b, 1 hq, 3 r, 9 q_start
  plan.entry = "scale";
  plan.headDim = plan.valueDim = kWidth;
  plan.buffers = {{.name = "x", .role = Role::Argument, .shape = full},
                  {.name = "w", .role = Role::Argument, .shape = {"hq"}},
                  {.name = "doubled", .role = Role::Temporary, .shape = {"ceildiv(hq,8)*8"}},
                  {.name = "y", .role = Role::Result, .shape = full},
                  {.name = "saved", .role = Role::Residual, .shape = full},
                  {.name = "d_y", .role = Role::Cotangent, .shape = full},
                  {.name = "d_x", .role = Role::Gradient, .shape = full},
                  {.name = "d_w", .role = Role::Gradient, .shape = {"hq"}, .zero = true},
                  {.name = "partial", .role = Role::Temporary, .shape = {"b*hq*r"}, .zero = true}};
  plan.stages = {{"prepare", Phase::Prepare, "1", "", {1, 2}, {2}, {}},
                 {"forwardRow", Phase::Forward, "b*hq*r", "", {0, 2, 3, 4}, {3, 4}, {}},
                 {"backwardRow", Phase::Backward, "b*hq*r", "", {5, 4, 1, 6, 8}, {6, 8}, {}},
                 {"finish", Phase::Finish, "hq", "", {8, 7}, {7}, {}}};
  return plan;
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_DEVICE_SAMPLEPLAN_H
