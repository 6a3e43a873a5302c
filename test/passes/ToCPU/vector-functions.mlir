// Functions in loops of scalar stages (passes/ToCPU/MathFunctions.h): logarithms, exponentials and sines
// are polynomials in f64, with the same bits in a vector and in the remainder. A function of f32 is
// computed in f64 and rounded once.
//
// RUN: pe-opt %s --pe-schedule-cpu=machine=x86-64-v4 --pe-tile-to-cpu | FileCheck %s
//
// Errors below 2 ulp. Logarithms of normal numbers, near 1, and over the range of exponents; those of
// negative numbers are NaN, that of 0 is -inf, and that of infinity is itself. Sines of small and of
// large angles; exponentials of the range, and 0 and infinity outside of it.
// RUN: pe-kernel-bench %s --r=1000 --tolerance=3e-16 --ignore=narrow
// RUN: pe-kernel-bench %s --r=13 --tolerance=3e-16 --ignore=narrow
// RUN: not pe-kernel-bench %s --r=1000 --tolerance=1e-18 | FileCheck %s --check-prefix=LARGE
// LARGE: wide {{.*}} <-- too large

// CHECK-LABEL: func.func @logarithms_rows
// CHECK:         scf.for {{.*}} step %c32
// CHECK:           vector.load {{.*}} vector<32xf32>
// CHECK-NOT:       math.log
// CHECK:           arith.divf {{.*}} : vector<32xf64>
// CHECK:           arith.truncf {{.*}} : vector<32xf64> to vector<32xf32>
// CHECK:         scf.for {{.*}} step %c1
// CHECK-NOT:       math.log
// CHECK:           arith.divf {{.*}} : vector<1xf64>
tile.plan @logarithms attributes {head_dim = 0 : i64, value_dim = 0 : i64} {
  %a = tile.buffer "a" argument : !tile.buffer<[r], f32>
  %plain = tile.buffer "plain" result : !tile.buffer<[r], f64>
  %near = tile.buffer "near" result : !tile.buffer<[r], f64>
  %wide = tile.buffer "wide" result : !tile.buffer<[r], f64>
  %zero = tile.buffer "zero" result : !tile.buffer<[r], f64>
  %infinite = tile.buffer "infinite" result : !tile.buffer<[r], f64>
  %sine = tile.buffer "sine" result : !tile.buffer<[r], f64>
  %cosine = tile.buffer "cosine" result : !tile.buffer<[r], f64>
  %far = tile.buffer "far" result : !tile.buffer<[r], f64>
  %little = tile.buffer "little" result : !tile.buffer<[r], f64>
  %power = tile.buffer "power" result : !tile.buffer<[r], f64>
  %two = tile.buffer "two" result : !tile.buffer<[r], f64>
  %most = tile.buffer "most" result : !tile.buffer<[r], f64>
  %least = tile.buffer "least" result : !tile.buffer<[r], f64>
  %narrow = tile.buffer "narrow" result : !tile.buffer<[r], f32>
  tile.stage @rows forward over [] {
    tile.foreach over ["r"] {
    ^bb0(%r: index):
      %x = tile.read %a[%r] inbounds : !tile.buffer<[r], f32> -> f32
      %w = arith.extf %x : f32 to f64
      %log = math.log %w : f64
      tile.write %log, %plain[%r] : f64 -> !tile.buffer<[r], f64>
      %one = arith.constant 1.0 : f64
      %tiny = arith.constant 1.0e-6 : f64
      %step = arith.mulf %w, %tiny : f64
      %beside = arith.addf %step, %one : f64
      %log1 = math.log %beside : f64
      tile.write %log1, %near[%r] : f64 -> !tile.buffer<[r], f64>
      %w2 = arith.mulf %w, %w : f64
      %w4 = arith.mulf %w2, %w2 : f64
      %w8 = arith.mulf %w4, %w4 : f64
      %w16 = arith.mulf %w8, %w8 : f64
      %w32 = arith.mulf %w16, %w16 : f64
      %w64 = arith.mulf %w32, %w32 : f64
      %log2 = math.log %w64 : f64
      tile.write %log2, %wide[%r] : f64 -> !tile.buffer<[r], f64>
      %none = arith.constant 0.0 : f64
      %nothing = arith.mulf %w2, %none : f64
      %log3 = math.log %nothing : f64
      tile.write %log3, %zero[%r] : f64 -> !tile.buffer<[r], f64>
      %all = arith.divf %w2, %nothing : f64
      %log4 = math.log %all : f64
      tile.write %log4, %infinite[%r] : f64 -> !tile.buffer<[r], f64>
      %s = math.sin %w : f64
      tile.write %s, %sine[%r] : f64 -> !tile.buffer<[r], f64>
      %c = math.cos %w : f64
      tile.write %c, %cosine[%r] : f64 -> !tile.buffer<[r], f64>
      %million = arith.constant 1.0e+6 : f64
      %angle = arith.mulf %w, %million : f64
      %s1 = math.sin %angle : f64
      tile.write %s1, %far[%r] : f64 -> !tile.buffer<[r], f64>
      %nano = arith.constant 1.0e-9 : f64
      %small = arith.mulf %w, %nano : f64
      %s2 = math.sin %small : f64
      tile.write %s2, %little[%r] : f64 -> !tile.buffer<[r], f64>
      %e = math.exp %w : f64
      tile.write %e, %power[%r] : f64 -> !tile.buffer<[r], f64>
      %hundred = arith.constant 100.0 : f64
      %hundreds = arith.mulf %w, %hundred : f64
      %p2 = math.exp2 %hundreds : f64
      tile.write %p2, %two[%r] : f64 -> !tile.buffer<[r], f64>
      %e1 = math.exp %all : f64
      tile.write %e1, %most[%r] : f64 -> !tile.buffer<[r], f64>
      %minus = arith.negf %all : f64
      %e2 = math.exp %minus : f64
      tile.write %e2, %least[%r] : f64 -> !tile.buffer<[r], f64>
      %f = math.log %x : f32
      tile.write %f, %narrow[%r] : f32 -> !tile.buffer<[r], f32>
    }
  }
}
