// Two biases that no example has: a function of the distance, and a function of the query and the
// key that no cheaper class covers, with a parameter that is read at a different index for every
// pair.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = 0.1},
                     %amp: tensor<?xf32> {pe.name = "amp", pe.init = 1.0},
                     %phase: tensor<7xf32> {pe.name = "phase", pe.init = 1.0})
    -> (!qkv {pe.name = "o"}) {
  %d = pe.distance
  %linear = pe.linear %d slope(%slopes : tensor<?xf32>)
  %pairs = pe.bias_fn(%amp, %phase : tensor<?xf32>, tensor<7xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %amps: tensor<?xf32>, %phases: tensor<7xf32>):
    %seven = arith.constant 7 : index
    %product = arith.muli %i, %j : index
    %entry = arith.remsi %product, %seven : index
    %p = pe.read %phases[%entry] : tensor<7xf32>
    %j32 = arith.index_cast %j : index to i32
    %fj = arith.sitofp %j32 : i32 to f32
    %small = arith.constant 0.03 : f32
    %angle = arith.mulf %fj, %small : f32
    %wave = math.sin %angle : f32
    %a = pe.read %amps[%h] : tensor<?xf32>
    %scaled = arith.mulf %a, %wave : f32
    %value = arith.mulf %scaled, %p : f32
    pe.yield %value : f32
  }
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%linear, %pairs) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
