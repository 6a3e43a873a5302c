// A custom bias as a region of scalar code: an exponential bump around each query.
//
//   b_h(i, j) = amp_h * exp(-|i - j| / tau_h)
//
// The region gets the batch entry b, the head h, the global positions i and j, and the captured
// tensors. The compiler derives the gradients of amp and tau. A new encoding needs nothing
// else.
//
// The same region as a formula:
//
//   %bias = pe.bias_fn(%amp, %tau : tensor<?xf32>, tensor<?xf32>)
//             expr "amp[h] * exp(-abs(i - j) / tau[h])"
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp", pe.init = 1.0, pe.decay = false},
                     %tau: tensor<?xf32> {pe.name = "tau", pe.init = 16.0, pe.decay = false})
    -> (!qkv {pe.name = "o"}) {
  %bias = pe.bias_fn(%amp, %tau : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %amps: tensor<?xf32>, %taus: tensor<?xf32>):
    %difference = arith.subi %i, %j : index
    %integer = arith.index_cast %difference : index to i32
    %signed = arith.sitofp %integer : i32 to f32
    %distance = math.absf %signed : f32
    %tau_h = pe.read %taus[%h] : tensor<?xf32>
    %ratio = arith.divf %distance, %tau_h : f32
    %exponent = arith.negf %ratio : f32
    %falloff = math.exp %exponent : f32
    %amp_h = pe.read %amps[%h] : tensor<?xf32>
    %value = arith.mulf %amp_h, %falloff : f32
    pe.yield %value : f32
  }
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
