// A prefix language model with a window of 40 positions, a learned slope and a bucket table: rows with
// individual bounds at both ends, and bias terms of two classes.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %prefix: tensor<?xi32> {pe.name = "prefix", pe.axes = ["batch"],
                                             pe.init = "integers(0,64)"},
                     %table: tensor<32x?xf32> {pe.name = "table", pe.init = "normal(0.5)"},
                     %amp: tensor<?xf32> {pe.name = "amp", pe.init = 1.0})
    -> (!qkv {pe.name = "o"}) {
  %bucket = pe.bucket {buckets = 32, max_distance = 128, bidirectional = true}
  %by_bucket = pe.table %bucket, %table : tensor<32x?xf32>
  %wave = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h] * sin(0.001 * i * j)"
  %open = pe.mask_fn(%prefix : tensor<?xi32>) expr "j <= i or j < prefix[b]"
  %near = pe.sliding_window {left = 40}
  %mask = pe.mask_and %open, %near
  %o = pe.attention %q, %k, %v bias(%by_bucket, %wave) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
