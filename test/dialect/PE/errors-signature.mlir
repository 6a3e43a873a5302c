// Errors in the results and types of pe.attention and pe.merge are reported at their locations.
// RUN: pe-opt %s --split-input-file --verify-diagnostics

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @lse_type_missing(%q: !qkv, %k: !qkv, %v: !qkv) -> (!qkv, !r) {
  // expected-error @below {{expected the type of the log-sum-exp after that of the output, found one type for 2 results; write -> tensor<?x?x?x64xf32>, tensor<?x?x?xf32>}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv
  return %o, %l : !qkv, !r
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @lse_f32(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected 'tensor<?x?x?xf32>' as the type of the log-sum-exp, found 'f32'; the order is the output and the log-sum-exp}}
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
  // expected-error @below {{expected a tensor [batch, heads, length, head dim] of f32, bf16 or f16 as the type of the output, found 'tensor<?x?x?xf32>'; the order is the output and the log-sum-exp}}
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
  // expected-error @below {{expected 'tensor<?x?x?xf32>' as the type of the log-sum-exp, found 'tensor<?x?x?x64xf32>'; the order is the output and the log-sum-exp}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @onename_two_types(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected a name for each of the 2 results, as in %o, %lse = pe.attention, found 1; or omit the second type}}
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @three_names_two_types(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected at most 2 results, the output and the log-sum-exp, found 3 names; omit the other names}}
  %o, %l, %m = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @lse_bf16(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected 'tensor<?x?x?xf32>' as the type of the log-sum-exp, found 'tensor<?x?x?xbf16>'; the order is the output and the log-sum-exp}}
  %o, %l = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xbf16>
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @out_f32(%q: !qkv, %k: !qkv, %v: !qkv) -> f32 {
  // expected-error @below {{expected a tensor [batch, heads, length, head dim] of f32, bf16 or f16 as the type of the output, found 'f32'; the order is the output and the log-sum-exp}}
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> f32
  return %o : f32
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @no_arrow(%q: !qkv, %k: !qkv, %v: !qkv) -> !qkv {
  // expected-error @below {{expected '->' and the type of the output after the types of the operands, as in (!qkv, !qkv, !qkv) -> !qkv}}
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
  // expected-error @below {{expected the types of the query, the key and the value in parentheses, as in (!qkv, !qkv, !qkv) -> !qkv}}
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
!r = tensor<?x?x?xf32>
func.func @merge_no_types(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected ':' and the types after the operands, as in : (!o, !lse, !o, !lse) -> !o, !lse}}
  %o, %x = pe.merge %a, %l, %b, %m
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
  // expected-error @below {{expected 3 types, of the query, the key and the value, found 2; write (!qkv, !qkv, !qkv) -> !qkv}}
  %o = pe.attention %q, %k, %v : (!qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_one_result(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected the type of the log-sum-exp after that of the output, found one type; write -> tensor<?x?x?x64xf32>, tensor<?x?x?xf32>}}
  %o = pe.merge %a, %l, %b, %m : (!qkv, !r, !qkv, !r) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_order(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected 'tensor<?x?x?xf32>' as the type of the first log-sum-exp, found 'tensor<?x?x?x64xf32>'; the order is the first output, the first log-sum-exp, the second output and the second log-sum-exp}}
  %o, %x = pe.merge %a, %b, %l, %m : (!qkv, !qkv, !r, !r) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_two(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected four values, the output and the log-sum-exp of one call and of another, found 2; write pe.merge %o1, %lse1, %o2, %lse2}}
  %o, %x = pe.merge %a, %b : (!qkv, !qkv) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_short_types(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected the types of the first output, the first log-sum-exp, the second output and the second log-sum-exp in parentheses, as in (!o, !lse, !o, !lse) -> !o, !lse}}
  %o, %x = pe.merge %a, %l, %b, %m : !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_results_parens(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected the types of the results without parentheses, as in (!o, !lse, !o, !lse) -> !o, !lse}}
  %o, %x = pe.merge %a, %l, %b, %m : (!qkv, !r, !qkv, !r) -> (!qkv, !r)
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_results_swapped(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected a tensor [batch, heads, length, head dim] of f32, bf16 or f16 as the type of the output, found 'tensor<?x?x?xf32>'; the order is the output and the log-sum-exp}}
  %x, %o = pe.merge %a, %l, %b, %m : (!qkv, !r, !qkv, !r) -> !r, !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_grouped(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected four values without parentheses, as in pe.merge %o1, %lse1, %o2, %lse2}}
  %o, %x = pe.merge (%a, %l), (%b, %m) : (!qkv, !r, !qkv, !r) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_six(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected four values, the output and the log-sum-exp of one call and of another, found 6; write pe.merge %o1, %lse1, %o2, %lse2, and merge further calls with its results}}
  %o, %x = pe.merge %a, %l, %b, %m, %a, %l : (!qkv, !r, !qkv, !r, !qkv, !r) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_one_name(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected a name for each of the 2 results, as in %o, %lse = pe.merge, found 1}}
  %o = pe.merge %a, %l, %b, %m : (!qkv, !r, !qkv, !r) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
func.func @merge_lse_f32(%a: !qkv, %l: f32, %b: !qkv, %m: f32) -> !qkv {
  // expected-error @below {{expected 'tensor<?x?x?xf32>' as the type of the first log-sum-exp, found 'f32'; the order is the first output, the first log-sum-exp, the second output and the second log-sum-exp}}
  %o, %x = pe.merge %a, %l, %b, %m : (!qkv, f32, !qkv, f32) -> !qkv, f32
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_sink_after(%a: !qkv, %l: !r, %b: !qkv, %m: !r, %s: tensor<?xf32>) -> !qkv {
  // expected-error @below {{expected sink(...) before ':' and the types, found it after them}}
  %o, %x = pe.merge %a, %l, %b, %m : (!qkv, !r, !qkv, !r) -> !qkv, !r sink(%s : tensor<?xf32>)
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_sink_notype(%a: !qkv, %l: !r, %b: !qkv, %m: !r, %s: tensor<?xf32>) -> !qkv {
  // expected-error @below {{expected ':' and the type of the sinks, as in sink(%s : tensor<?xf32>)}}
  %o, %x = pe.merge %a, %l, %b, %m sink(%s) : (!qkv, !r, !qkv, !r) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_wrong_use(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected 'tensor<?x?x?xf32>' as the type of the first log-sum-exp, found 'tensor<?x?x?x64xf32>'; the order is the first output, the first log-sum-exp, the second output and the second log-sum-exp}}
  %o, %x = pe.merge %a, %l, %b, %m : (!qkv, !qkv, !qkv, !qkv) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_single_list(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected 4 types, of the first output, the first log-sum-exp, the second output and the second log-sum-exp, found 2; write (!o, !lse, !o, !lse) -> !o, !lse}}
  %o, %x = pe.merge %a, %l, %b, %m : (!qkv, !r) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_clause(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected sink(...), attributes or ':' with the types, found 'mask'; other clauses belong to the calls of pe.attention that are merged}}
  %o, %x = pe.merge %a, %l, %b, %m mask(%a) : (!qkv, !r, !qkv, !r) -> !qkv, !r
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
