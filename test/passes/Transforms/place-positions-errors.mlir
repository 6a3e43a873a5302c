// One case per constraint positions-C5, -C6 and -C8 and documents-C1 to -C4 of docs/spec.md.
// RUN: pe-opt %s --split-input-file --verify-diagnostics --pe-expand-biases --pe-split-terms --pe-place-positions

!qkv = tensor<?x?x?x?xf32>
!pos = tensor<?x?xi32>
func.func @key_data_at_i(%q: !qkv, %k: !qkv, %v: !qkv, %f: tensor<?x?xf32> {pe.axes = ["batch", "key"]}, %x: !pos,
                         %y: !pos) -> !qkv {
  // expected-error-re @below {{expected a tensor over the axis "key" to{{.*}}found it read at i{{.*}}(positions-C5)}}
  %b = pe.bias_fn(%f : tensor<?x?xf32>) expr "f[b, i]"
  %o = pe.attention %q, %k, %v bias(%b) positions(%x, %y : !pos, !pos) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
!pos = tensor<?x?xi32>
func.func @data_in_sum(%q: !qkv, %k: !qkv, %v: !qkv, %f: tensor<?x?xf32> {pe.axes = ["batch", "key"]}, %x: !pos,
                       %y: !pos) -> !qkv {
  // expected-error-re @below {{expected a sum that reads no data of tokens if{{.*}}found one that does (positions-C6)}}
  %b = pe.bias_fn(%f : tensor<?x?xf32>) expr "sum(n < 3, f[b, j - n] * j)"
  %o = pe.attention %q, %k, %v bias(%b) positions(%x, %y : !pos, !pos) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
!pos = tensor<?x?xi32>
func.func @tables(%q: !qkv, %k: !qkv, %v: !qkv, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %x: !pos, %y: !pos) -> !qkv {
  // expected-error-re @below {{expected a rotation by frequencies{{.*}}found tables over positions (positions-C8)}}
  %r = pe.rotation_table %c, %s : tensor<?x4xf32>, tensor<?x4xf32>
  %o = pe.attention %q, %k, %v rotate(%r) positions(%x, %y : !pos, !pos) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @either_documents(%q: !qkv, %k: !qkv, %v: !qkv, %cu: tensor<?xi32>) -> !qkv {
  %c = pe.causal
  // expected-error-re @below {{expected documents with restart{{.*}}found them under pe.mask_or{{.*}}(documents-C1)}}
  %d = pe.documents %cu : tensor<?xi32> {restart = true}
  %m = pe.mask_or %c, %d
  %o = pe.attention %q, %k, %v mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @two(%q: !qkv, %k: !qkv, %v: !qkv, %cu: tensor<?xi32>, %other: tensor<?xi32>) -> !qkv {
  %d = pe.documents %cu : tensor<?xi32> {restart = true}
  // expected-error @below {{expected positions to restart in one set of documents, found two (documents-C2)}}
  %e = pe.documents %other : tensor<?xi32> {restart = true}
  %m = pe.mask_and %d, %e
  %o = pe.attention %q, %k, %v mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
!pos = tensor<?x?xi32>
func.func @both(%q: !qkv, %k: !qkv, %v: !qkv, %cu: tensor<?xi32>, %x: !pos, %y: !pos) -> !qkv {
  %d = pe.documents %cu : tensor<?xi32> {restart = true}
  // expected-error @below {{expected either positions(...) or documents with restart, found both (documents-C3)}}
  %o = pe.attention %q, %k, %v positions(%x, %y : !pos, !pos) mask(%d) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @shifted(%q: !qkv, %k: !qkv, %v: !qkv, %cu: tensor<?xi32>, %u: tensor<?x?xf32>) -> !qkv {
  %d = pe.documents %cu : tensor<?xi32> {restart = true}
  %p = pe.query_shift %u : tensor<?x?xf32>
  // expected-error @below {{expected no prologue(...) together with documents with restart, found one (documents-C4)}}
  %o = pe.attention %q, %k, %v prologue(%p) mask(%d) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
