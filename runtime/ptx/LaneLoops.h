//===- LaneLoops.h - Handlers as loops over lanes ---------------*- C++ -*-===//
//
// Makes handlers of functions of one lane: handlerOf<Binary<uint32_t, uint32_t, uint32_t, Add>>()
// computes d[i] = Add()(a[i], b[i]). Each handler is compiled for the baseline of the target and,
// on x86, for AVX2, FMA and F16C, which are chosen if the host has them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PTX_LANELOOPS_H
#define PE_RUNTIME_PTX_LANELOOPS_H

#include "runtime/ptx/StepDecoder.h"
#include "runtime/ptx/Warp.h"

#pragma STDC FP_CONTRACT OFF
// Loops that call functions stay scalar.
#pragma clang diagnostic ignored "-Wpass-failed"

#if defined(__x86_64__)
#define PE_PTX_FAST [[gnu::target("avx2,fma,f16c,bmi,bmi2,popcnt")]]
#else
#define PE_PTX_FAST
#endif

namespace pe::ptx {

/// Returns true if the host has the instructions of PE_PTX_FAST.
inline bool hasFastLanes() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return has;
#else
  return true;
#endif
}

/// Calls function(i) for the elements of each lane of `lanes`, of which a lane has `kParts`. The
/// arrays that the function accesses must be either the same or disjoint.
template <unsigned kParts, typename Function>
[[gnu::always_inline]] inline void forLanes(Lanes lanes, Function function) {
  if (lanes == kAllLanes) {
#pragma clang loop vectorize(assume_safety)
    for (unsigned i = 0; i < kWarpSize * kParts; ++i)
      function(i);
    return;
  }
  for (; lanes; lanes &= lanes - 1)
    for (unsigned part = 0, lane = unsigned(std::countr_zero(lanes)); part < kParts; ++part)
      function(lane * kParts + part);
}

/// d = F(a).
template <typename D, typename A, typename F, unsigned kParts = 1> struct Unary {
  [[gnu::always_inline]] static void run(Warp &warp, const Step &step, Lanes lanes) {
    D *d = warp.lanes<D>(step.d);
    const A *a = warp.lanes<A>(step.a);
    forLanes<kParts>(lanes, [=](unsigned i) __attribute__((always_inline)) { d[i] = F()(a[i]); });
  }
};

/// d = F(a, b).
template <typename D, typename A, typename B, typename F, unsigned kParts = 1> struct Binary {
  [[gnu::always_inline]] static void run(Warp &warp, const Step &step, Lanes lanes) {
    D *d = warp.lanes<D>(step.d);
    const A *a = warp.lanes<A>(step.a);
    const B *b = warp.lanes<B>(step.b);
    forLanes<kParts>(lanes,
                     [=](unsigned i) __attribute__((always_inline)) { d[i] = F()(a[i], b[i]); });
  }
};

/// d = F(a, b, c).
template <typename D, typename A, typename B, typename C, typename F, unsigned kParts = 1>
struct Ternary {
  [[gnu::always_inline]] static void run(Warp &warp, const Step &step, Lanes lanes) {
    D *d = warp.lanes<D>(step.d);
    const A *a = warp.lanes<A>(step.a);
    const B *b = warp.lanes<B>(step.b);
    const C *c = warp.lanes<C>(step.c);
    forLanes<kParts>(lanes, [=](unsigned i)
                                __attribute__((always_inline)) { d[i] = F()(a[i], b[i], c[i]); });
  }
};

template <typename Body> void runPortable(Warp &warp, const Step &step, Lanes lanes) {
  Body::run(warp, step, lanes);
}
template <typename Body> PE_PTX_FAST void runFast(Warp &warp, const Step &step, Lanes lanes) {
  Body::run(warp, step, lanes);
}
/// Returns the handler that executes Body::run.
template <typename Body> Handler handlerOf() {
  return hasFastLanes() ? runFast<Body> : runPortable<Body>;
}

/// Fills `d`, of the size of `result`, and the sources `a`, `b`, `c` and `e`, and refuses other
/// numbers of operands.
void decodeOperands(Decoder &decoder, const Statement &statement, Step &step, Type result,
                    std::initializer_list<Type> sources);

/// Returns true for f16, bf16, their pairs, f32 and f64.
inline bool isFloat(Type type) {
  return type >= Type::F16 && type <= Type::F64 && type != Type::TF32;
}
inline bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }
inline bool isInteger(Type type) { return type >= Type::U8 && type <= Type::S64; }
inline bool isBits(Type type) { return type >= Type::B8 && type <= Type::B64; }

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_LANELOOPS_H
