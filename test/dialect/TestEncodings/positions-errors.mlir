// Where positions are data, a mask that pe does not know must not be made of others: positions-C7 of docs/spec.md.
// RUN: pe-test-opt %s --verify-diagnostics --pe-expand-biases --pe-split-terms --pe-place-positions
!qkv = tensor<?x?x?x?xf32>
!pos = tensor<?x?xi32>
func.func @attention(%q: !qkv, %k: !qkv, %v: !qkv, %x: !pos, %y: !pos) -> !qkv {
  %m = pe.causal
  // expected-error @below {{expected masks to be joined by pe.mask_and and pe.mask_or where positions are data, found 'test_encodings.opposite' (positions-C7)}}
  %n = test_encodings.opposite %m
  %o = pe.attention %q, %k, %v positions(%x, %y : !pos, !pos) mask(%n) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
