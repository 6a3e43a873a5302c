// One case per constraint of content terms with their own queries (query-C*, content_fn-C9).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
!t = tensor<?x8x?x64xf32>

func.func @number(%q: !t, %r: tensor<?x8x?x16xf32>) {
  %c = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  // expected-error @below {{expected one tensor in query(...) per content term, found 1 for 2 (query-C1)}}
  %o = pe.attention %q, %q, %q content(%c, %c) query(%r : tensor<?x8x?x16xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<2x8x?x64xf32>

func.func @batch(%q: !t, %r: tensor<3x8x?x16xf32>) {
  %c = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  // expected-error-re @below {{the batch of the tensor in query(...) to match the 2 of the query, found 3 (query-C2)}}
  %o = pe.attention %q, %q, %q content(%c) query(%r : tensor<3x8x?x16xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<2x8x5x64xf32>

func.func @length(%q: !t, %r: tensor<2x8x6x16xf32>) {
  %c = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  // expected-error @below {{the length of the tensor in query(...) to match the 5 of the query, found 6 (query-C2)}}
  %o = pe.attention %q, %q, %q content(%c) query(%r : tensor<2x8x6x16xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x8x?x64xf32>

func.func @depth(%q: !t, %r: tensor<?x8x?x12xf32>) {
  %c = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  // expected-error-re @below {{expected a known depth from 8 to 64, a multiple of 8,{{.*}}12xf32>';{{.*}}(query-C3)}}
  %o = pe.attention %q, %q, %q content(%c) query(%r : tensor<?x8x?x12xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x8x?x64xf32>

func.func @unknown_depth(%q: !t, %r: tensor<?x8x?x?xf32>) {
  %c = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  // expected-error @below {{(query-C3)}}
  %o = pe.attention %q, %q, %q content(%c) query(%r : tensor<?x8x?x?xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x8x?x64xf32>

func.func @shift(%q: !t, %r: tensor<?x8x?x16xf32>, %u: tensor<?x?xf32>) {
  %c = pe.content_fn shift(%u : tensor<?x?xf32>) expr "exp(-abs(i - j) / (1 + d))"
  // expected-error @below {{a content term without shift(...) together with query(...), found one with it;}}
  %o = pe.attention %q, %q, %q content(%c) query(%r : tensor<?x8x?x16xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

func.func @extent(%p: tensor<16x64xf32>) {
  // expected-error @below {{expected an extent from 1 to 1073741824 distances, found 0; without a limit, omit}}
  %c = pe.content_fn(%p : tensor<16x64xf32>) extent(0) expr "p[d, i - j]"
  return
}

// -----

func.func @far_extent() {
  // expected-error @below {{distances, found 9223372036854775807; without a limit, omit extent(...) (content_fn-C9)}}
  %c = pe.content_fn extent(9223372036854775807) expr "exp(-abs(i - j) / (1 + d))"
  return
}

// -----

!t = tensor<?x8x?x64xf32>

func.func @values(%q: !t, %p: tensor<16x64xf32>) {
  %c = pe.content_fn(%p : tensor<16x64xf32>) extent(64) expr "p[d, i - j]"
  // expected-error @below {{without extent(...), which belongs to scores, found one with it (value_content-C3)}}
  %o = pe.attention %q, %q, %q value_content(%c) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x8x?x64xf32>

func.func @types(%q: !t, %r: tensor<?x8x?x16xf32>) {
  %c = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  // expected-error @below {{expected one type per tensor of query(...), found 1 for 2}}
  %o = pe.attention %q, %q, %q content(%c, %c) query(%r, %r : tensor<?x8x?x16xf32>) : (!t, !t, !t) -> !t
  return
}
