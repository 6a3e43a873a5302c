// The GELU of pe with another name.
func.func @activation(%x: f32) -> f32 {
  %scale = arith.constant -0.70710678118654752 : f32
  %half = arith.constant 0.5 : f32
  %below = arith.mulf %x, %scale : f32
  %twice = math.erfc %below : f32
  %share = arith.mulf %half, %twice : f32
  %y = arith.mulf %x, %share : f32
  return %y : f32
}
