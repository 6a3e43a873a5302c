// Reductions: the squared norm of a gradient. `count` is a multiple of 8.

// result[0] = sum of values^2, accumulated in double
func.func @sum_squares(%values0: memref<1xf32>, %result: memref<1xf64>, %count: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf64>
  %values = memref.reinterpret_cast %values0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %lanes = scf.for %i = %c0 to %count step %c8 iter_args(%sum = %zero) -> (vector<8xf64>) {
    %value = vector.load %values[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %wide = arith.extf %value : vector<8xf32> to vector<8xf64>
    %next = vector.fma %wide, %wide, %sum : vector<8xf64>
    scf.yield %next : vector<8xf64>
  }
  %total = vector.reduction <add>, %lanes : vector<8xf64> into f64
  memref.store %total, %result[%c0] : memref<1xf64>
  return
}
