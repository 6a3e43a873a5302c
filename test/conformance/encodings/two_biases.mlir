// Two bias terms, one of them a sum of two: three classes of bias.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %table: tensor<32x?xf32> {pe.name = "table", pe.init = "normal(0.5)"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = "slopes(geometric)"},
                     %amp: tensor<?xf32> {pe.name = "amp", pe.init = 1.0})
    -> (!qkv {pe.name = "o"}) {
  %bucket = pe.bucket {buckets = 32, max_distance = 128}
  %by_bucket = pe.table %bucket, %table : tensor<32x?xf32>
  %half = pe.scale %by_bucket {factor = 0.5}
  %wave = pe.bias_fn(%amp : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %amps: tensor<?xf32>):
    %quarter = arith.constant 0.25 : f32
    %product = arith.muli %i, %j : index
    %integer = arith.index_cast %product : index to i32
    %number = arith.sitofp %integer : i32 to f32
    %small = arith.constant 1.0e-3 : f32
    %angle = arith.mulf %number, %small : f32
    %sine = math.sin %angle : f32
    %amp_h = pe.read %amps[%h] : tensor<?xf32>
    %value = arith.mulf %amp_h, %sine : f32
    %scaled = arith.mulf %value, %quarter : f32
    pe.yield %scaled : f32
  }
  %sum = pe.add %half, %wave
  %distance = pe.distance
  %linear = pe.linear %distance slope(%slopes : tensor<?xf32>) {factor = -1.0}
  %rotation = pe.rotary
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%sum, %linear) rotate(%rotation) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
