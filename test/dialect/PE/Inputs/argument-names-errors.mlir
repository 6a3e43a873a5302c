// A formula with a name that is neither.
func.func @f(%ty: tensor<?xi32> {pe.name = "type"}) -> !pe.bias {
  %0 = pe.bias_fn(%ty : tensor<?xi32>) expr "kind[h]"
  return %0 : !pe.bias
}
