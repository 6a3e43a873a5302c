// Converts between the layouts of a sequence: tokens by features [rows, pitch] for matrix products,
// and heads by tokens [heads, head_stride / head_dim, head_dim] for attention.
// `packed` and `by_head` point at the first row of the piece at hand; head_dim is a multiple of 8.

// by_head[h * head_stride + row * head_dim + d] = packed[row * pitch + h * head_dim + d]
func.func @split_heads(%packed0: memref<1xf32>, %by_head0: memref<1xf32>, %rows: index,
                       %pitch: index, %heads: index, %head_dim: index, %head_stride: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %packed = memref.reinterpret_cast %packed0 to offset: [0], sizes: [%rows, %heads, %head_dim],
      strides: [%pitch, %head_dim, 1]
      : memref<1xf32> to memref<?x?x?xf32, strided<[?, ?, 1]>>
  %by_head = memref.reinterpret_cast %by_head0 to offset: [0], sizes: [%heads, %rows, %head_dim],
      strides: [%head_stride, %head_dim, 1]
      : memref<1xf32> to memref<?x?x?xf32, strided<[?, ?, 1]>>
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %h = %c0 to %heads step %c1 {
      scf.for %d = %c0 to %head_dim step %c8 {
        %value = vector.load %packed[%row, %h, %d]
            : memref<?x?x?xf32, strided<[?, ?, 1]>>, vector<8xf32>
        vector.store %value, %by_head[%h, %row, %d]
            : memref<?x?x?xf32, strided<[?, ?, 1]>>, vector<8xf32>
      }
    }
  }
  return
}

// packed[row * pitch + h * head_dim + d] = by_head[h * head_stride + row * head_dim + d]
func.func @merge_heads(%by_head0: memref<1xf32>, %packed0: memref<1xf32>, %rows: index,
                       %pitch: index, %heads: index, %head_dim: index, %head_stride: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %packed = memref.reinterpret_cast %packed0 to offset: [0], sizes: [%rows, %heads, %head_dim],
      strides: [%pitch, %head_dim, 1]
      : memref<1xf32> to memref<?x?x?xf32, strided<[?, ?, 1]>>
  %by_head = memref.reinterpret_cast %by_head0 to offset: [0], sizes: [%heads, %rows, %head_dim],
      strides: [%head_stride, %head_dim, 1]
      : memref<1xf32> to memref<?x?x?xf32, strided<[?, ?, 1]>>
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %h = %c0 to %heads step %c1 {
      scf.for %d = %c0 to %head_dim step %c8 {
        %value = vector.load %by_head[%h, %row, %d]
            : memref<?x?x?xf32, strided<[?, ?, 1]>>, vector<8xf32>
        vector.store %value, %packed[%row, %h, %d]
            : memref<?x?x?xf32, strided<[?, ?, 1]>>, vector<8xf32>
      }
    }
  }
  return
}
