// One case per constraint of plans, buffers, extents, parameters and requirements (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

// expected-error @below {{expected a positive value_dim, found 0 (plan-C1)}}
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 0 : i64} {
}

// -----

// expected-error @below {{expected a positive key_split, found 0 (plan-C1)}}
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 0 : i64} {
}

// -----

// expected-error @below {{expected a distance_padding of at least 0, found -1 (plan-C1)}}
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, distance_padding = -1 : i64} {
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // CHECK: expected only extents, parameters, requirements, buffers, pairs, stages,
  // CHECK-SAME: {{^}} launches and constants in a tile.plan (plan-C2)
  // expected-error-re @below {{expected only extents, parameters, requirements,{{.*}}in a tile.plan (plan-C2)}}
  %n = tile.size "r" : index
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "q" argument : !tile.buffer<[r], f32>
  // expected-error @below {{expected unique buffer names in a plan, found a second "q" (plan-C3)}}
  %1 = tile.buffer "q" argument : !tile.buffer<[c], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{"rows": expected the names b,{{.*}}, capacity, t, kb, ks, found rows (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<[rows], f32>
}

// -----

// An extent must not contain a start, because sizes of buffers do not depend on starts.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{extent "r + q_start": expected the names b, hq,{{.*}}, found q_start (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["r + q_start"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "ceildiv(r, 8": expected ')', found the end (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["ceildiv(r, 8"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "2 r": expected an operator or the end, found 'r' (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["2 r"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "r *": expected an integer, a name or '(', found the end (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["r *"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected an integer below 2^63, found '99999999999999999999' (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["99999999999999999999"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected at most 64 nested parentheses}}
  %0 = tile.buffer "x" temporary
      : !tile.buffer<["((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((r"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected elements of f32, f64, bf16, f16, i32 or i64, found 'i8' (buffer-C2)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<[r], i8>
}

// -----

// tf32 is a type of values, not of buffers.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected elements of f32, f64, bf16, f16, i32 or i64, found 'tf32' (buffer-C2)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<[r], tf32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected no `zero` on a buffer that the caller fills (buffer-C3)}}
  %0 = tile.buffer "x" cotangent {zero} : !tile.buffer<[r], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a name that is not reserved, found "kb" (extent-C1)}}
  tile.extent "kb"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  // expected-error @below {{expected a name that is not reserved, found "ks" (extent-C1)}}
  tile.extent "ks"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{expected the names b,{{.*}}, capacity, t, kb, ks, found n (require_values-C1)}}
  tile.require_values "x" ascending from "0" to "n"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected the names b, hq, hkv, r, c, d, e, capacity, t, kb, ks, found n (require-C1)}}
  tile.require "n" at_least "r + c" of "rows of 'table'"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a name that is not in use in the plan, found "hq" (extent-C1)}}
  tile.extent "hq"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected the names b, hq, hkv, r, c, d, e, capacity, t, kb, ks, found n (require-C1)}}
  tile.require "n" at_least "r + c" of "rows of 'table'"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a name that is not reserved, found "2 starts" (parameter-C1)}}
  tile.parameter "2 starts"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a name that is not in use in the plan, found "r" (parameter-C1)}}
  tile.parameter "r"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{q_start': size expression 'k_start - r': expected{{.*}}found 'k_start' (parameter-C2)}}
  tile.parameter "q_start" default "k_start - r"
  tile.parameter "k_start" default "0"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // CHECK: expected `strided` on a tensor of the caller with an axis that is not cleared,
  // CHECK-SAME: {{^}} found a gradient with `zero` of rank 2 (buffer-C4)
  // expected-error-re @below {{`strided` on a tensor{{.*}}, found a gradient with `zero` of rank 2 (buffer-C4)}}
  %0 = tile.buffer "d_x" gradient {strided, zero} : !tile.buffer<[b, r], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{`slots` of blocks of r or c{{.*}}without `zero` of{{.*}}(buffer-C5)}}
  %0 = tile.buffer "s" temporary slots <c by 64> : !tile.buffer<[b, hq], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{found #tile.slots<e by 64> on a temporary with `zero`}}
  %0 = tile.buffer "s" temporary slots <e by 64> {zero} : !tile.buffer<[b, hq, 4, t], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{with `zero` of '!tile.buffer<[b, hq, 0, t], f32>' (buffer-C5)}}
  %0 = tile.buffer "s" temporary slots <c by 64> {zero} : !tile.buffer<[b, hq, 0, t], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{with `zero` of '!tile.buffer<[b, hq, r, t], f32>' (buffer-C5)}}
  %0 = tile.buffer "s" temporary slots <c by 64> {zero} : !tile.buffer<[b, hq, r, t], f32>
}

// -----

// The lesser of a number and the blocks of the other side, or of the blocks and 0, is not a number of slots.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{with `zero` of{{.*}}min(ceildiv(r,64),4){{.*}}(buffer-C5)}}
  %0 = tile.buffer "s" temporary slots <c by 64> {zero} : !tile.buffer<[b, hq, "min(ceildiv(r,64),4)", t], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{with `zero` of{{.*}}min(ceildiv(c,64),0){{.*}}(buffer-C5)}}
  %0 = tile.buffer "s" temporary slots <c by 64> {zero} : !tile.buffer<[b, hq, "min(ceildiv(c,64),0)", t], f32>
}
