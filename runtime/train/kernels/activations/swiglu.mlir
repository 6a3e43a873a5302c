// silu(gate) up, with silu(x) = x / (1 + e^-x); gate is the product with w1, up the product with w3.
func.func @activation(%gate: f32, %up: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %minus = arith.negf %gate : f32
  %power = math.exp %minus : f32
  %sum = arith.addf %one, %power : f32
  %silu = arith.divf %gate, %sum : f32
  %y = arith.mulf %silu, %up : f32
  return %y : f32
}
