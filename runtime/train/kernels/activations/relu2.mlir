// The square of ReLU: max(x, 0)^2.
func.func @activation(%x: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %positive = arith.maximumf %x, %zero : f32
  %y = arith.mulf %positive, %positive : f32
  return %y : f32
}
