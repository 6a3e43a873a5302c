// Errors in the operands, results and types of pe.merge are reported at their locations.
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_no_types(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{expected ':' and the types after the operands, as in : (!o, !lse, !o, !lse) -> !o, !lse}}
  %o, %x = pe.merge %a, %l, %b, %m
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_one_result(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{that of the output, found one type; write -> tensor<?x?x?x64xf32>, tensor<?x?x?xf32>}}
  %o = pe.merge %a, %l, %b, %m : (!qkv, !r, !qkv, !r) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_order(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // CHECK: expected 'tensor<?x?x?xf32>' as the type of the first log-sum-exp, found 'tensor<?x?x?x64xf32>'; the order
  // CHECK-SAME: {{^}} is the first output, the first log-sum-exp, the second output and the second log-sum-exp
  // expected-error @below {{'tensor<?x?x?xf32>' as the type of the first log-sum-exp, found 'tensor<?x?x?x64xf32>';}}
  %o, %x = pe.merge %a, %b, %l, %m : (!qkv, !qkv, !r, !r) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_two(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{log-sum-exp of one call and of another, found 2; write pe.merge %o1, %lse1, %o2, %lse2}}
  %o, %x = pe.merge %a, %b : (!qkv, !qkv) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_short_types(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // CHECK: expected the types of the first output, the first log-sum-exp, the second output
  // CHECK-SAME: {{^}} and the second log-sum-exp in parentheses, as in (!o, !lse, !o, !lse) -> !o, !lse
  // expected-error @below {{and the second log-sum-exp in parentheses, as in (!o, !lse, !o, !lse) -> !o, !lse}}
  %o, %x = pe.merge %a, %l, %b, %m : !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_results_parens(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{the types of the results without parentheses, as in (!o, !lse, !o, !lse) -> !o, !lse}}
  %o, %x = pe.merge %a, %l, %b, %m : (!qkv, !r, !qkv, !r) -> (!qkv, !r)
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_results_swapped(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error @below {{as the type of the output, found 'tensor<?x?x?xf32>'; the order is the output}}
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
  // CHECK: expected four values, the output and the log-sum-exp of one call and of another, found 6;
  // CHECK-SAME: {{^}} write pe.merge %o1, %lse1, %o2, %lse2, and merge further calls with its results
  // expected-error @below {{found 6; write pe.merge %o1, %lse1, %o2, %lse2, and merge further calls with its results}}
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
  // expected-error @below {{as the type of the first log-sum-exp, found 'f32'; the order is the first output,}}
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
  // expected-error @below {{'tensor<?x?x?xf32>' as the type of the first log-sum-exp, found 'tensor<?x?x?x64xf32>';}}
  %o, %x = pe.merge %a, %l, %b, %m : (!qkv, !qkv, !qkv, !qkv) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_single_list(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // expected-error-re @below {{expected 4 types, of the{{.*}}, found 2; write (!o, !lse, !o, !lse) -> !o, !lse}}
  %o, %x = pe.merge %a, %l, %b, %m : (!qkv, !r) -> !qkv, !r
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x64xf32>
!r = tensor<?x?x?xf32>
func.func @merge_clause(%a: !qkv, %l: !r, %b: !qkv, %m: !r) -> !qkv {
  // CHECK: expected sink(...), attributes or ':' with the types, found 'mask';
  // CHECK-SAME: {{^}} other clauses belong to the calls of pe.attention that are merged
  // expected-error @below {{expected sink(...), attributes or ':' with the types, found 'mask'; other clauses}}
  %o, %x = pe.merge %a, %l, %b, %m mask(%a) : (!qkv, !r, !qkv, !r) -> !qkv, !r
  return %o : !qkv
}
