// Errors in the results and types of pe.attention are reported at their locations.
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @lse_type_missing(%q: !qkv, %k: !qkv, %v: !qkv) -> (!qkv, !r) {
  // CHECK: expected the type of the log-sum-exp after that of the output, found one type for 2 results;
  // CHECK-SAME: {{^}} write -> tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
  // expected-error @below {{that of the output, found one type for 2 results; write -> tensor<?x?x?x64xf32>,}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv
  return %o, %l : !qkv, !r
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @lse_f32(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // CHECK: expected 'tensor<?x?x?xf32>' as the type of the log-sum-exp, found 'f32';
  // CHECK-SAME: {{^}} the order is the output and the log-sum-exp
  // expected-error @below {{'tensor<?x?x?xf32>' as the type of the log-sum-exp, found 'f32'; the order is}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, f32
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @three(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected at most 2 results, the output and the log-sum-exp, found 3; omit the other types}}
  %o, %l, %m = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, !r, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @swapped(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // CHECK: expected a tensor [batch, heads, length, head dim] of f32, bf16 or f16 as the type of the output,
  // CHECK-SAME: {{^}} found 'tensor<?x?x?xf32>'; the order is the output and the log-sum-exp
  // expected-error @below {{as the type of the output, found 'tensor<?x?x?xf32>'; the order is the output}}
  %l, %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !r, !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @parens(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected the types of the results without parentheses, as in (!qkv, !qkv, !qkv) -> !qkv}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> (!qkv, !r)
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @lse_rank4(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{'tensor<?x?x?xf32>' as the type of the log-sum-exp, found 'tensor<?x?x?x64xf32>';}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @onename_two_types(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{each of the 2 results, as in %o, %lse = pe.attention, found 1; or omit the second type}}
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @three_names_two_types(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{at most 2 results, the output and the log-sum-exp, found 3 names; omit the other names}}
  %o, %l, %m = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @lse_bf16(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{'tensor<?x?x?xf32>' as the type of the log-sum-exp, found 'tensor<?x?x?xbf16>';}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xbf16>
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @out_f32(%q: !qkv, %k: !qkv, %v: !qkv) -> f32 {
  // expected-error @below {{of f32, bf16 or f16 as the type of the output, found 'f32'; the order is}}
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> f32
  return %o : f32
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @no_arrow(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // CHECK: expected '->' and the type of the output after the types of the operands, as in (!qkv, !qkv, !qkv) -> !qkv
  // expected-error-re @below {{expected '->' and the type of the output{{.*}}, as in (!qkv, !qkv, !qkv) -> !qkv}}
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv)
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @no_types(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected ':' and the types after the operands, as in : (!qkv, !qkv, !qkv) -> !qkv}}
  %o = pe.attention %q, %k, %v
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @single_type(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{query, the key and the value in parentheses, as in (!qkv, !qkv, !qkv) -> !qkv}}
  %o = pe.attention %q, %k, %v : !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @trailing_comma(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected a type after ',', as in (!qkv, !qkv, !qkv) -> !qkv}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv,
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @clause_after_types(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  %c = pe.causal
  // expected-error @below {{expected mask(...) before ':' and the types, found it after them}}
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv mask(%c)
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @two_operand_types(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{3 types, of the query, the key and the value, found 2; write (!qkv, !qkv, !qkv) -> !qkv}}
  %o = pe.attention %q, %k, %v : (!qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @clause_after_attributes(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  %c = pe.causal
  // expected-error @below {{expected mask(...) before the attributes in braces, found it after them}}
  %o = pe.attention %q, %k, %v {scale = 1.0} mask(%c) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
