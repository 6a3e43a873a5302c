// The squared ReLU of the feed-forward layer, forward and backward, over `count` elements
// (a multiple of 8).

// y = max(x, 0)^2
func.func @relu_squared_forward(%x0: memref<1xf32>, %y0: memref<1xf32>, %count: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %x = memref.reinterpret_cast %x0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %y = memref.reinterpret_cast %y0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  scf.for %i = %c0 to %count step %c8 {
    %value = vector.load %x[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %positive = arith.maximumf %value, %zero : vector<8xf32>
    %result = arith.mulf %positive, %positive : vector<8xf32>
    vector.store %result, %y[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
  }
  return
}

// dx = 2 max(x, 0) dy; dx may be the same memory as dy.
func.func @relu_squared_backward(%x0: memref<1xf32>, %dy0: memref<1xf32>, %dx0: memref<1xf32>,
                                 %count: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %x = memref.reinterpret_cast %x0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %dy = memref.reinterpret_cast %dy0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %dx = memref.reinterpret_cast %dx0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  scf.for %i = %c0 to %count step %c8 {
    %value = vector.load %x[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %gradient = vector.load %dy[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %positive = arith.maximumf %value, %zero : vector<8xf32>
    %twice = arith.addf %positive, %positive : vector<8xf32>
    %result = arith.mulf %twice, %gradient : vector<8xf32>
    vector.store %result, %dx[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
  }
  return
}
