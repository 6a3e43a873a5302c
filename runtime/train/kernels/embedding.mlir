// Token embedding: a lookup of table rows by token, and the addition of the gradient to these rows in
// token order (one worker owns the gradient table, so the order is fixed). `width` is a multiple of 8.

// y[row] = table[tokens[row]]
func.func @embedding_gather(%table0: memref<1xf32>, %tokens0: memref<1xi32>, %y0: memref<1xf32>,
                            %rows: index, %width: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %table = memref.reinterpret_cast %table0 to offset: [0], sizes: [%rows, %width],
      strides: [%width, 1] : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %y = memref.reinterpret_cast %y0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %tokens = memref.reinterpret_cast %tokens0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
  scf.for %row = %c0 to %rows step %c1 {
    %token_i32 = memref.load %tokens[%row] : memref<?xi32, strided<[1]>>
    %token = arith.index_cast %token_i32 : i32 to index
    scf.for %d = %c0 to %width step %c8 {
      %value = vector.load %table[%token, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      vector.store %value, %y[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
    }
  }
  return
}

// d_table[tokens[row]] += dy[row], in ascending row order
func.func @embedding_scatter(%tokens0: memref<1xi32>, %dy0: memref<1xf32>,
                             %d_table0: memref<1xf32>, %rows: index, %width: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %d_table = memref.reinterpret_cast %d_table0 to offset: [0], sizes: [%rows, %width],
      strides: [%width, 1] : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %dy = memref.reinterpret_cast %dy0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %tokens = memref.reinterpret_cast %tokens0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
  scf.for %row = %c0 to %rows step %c1 {
    %token_i32 = memref.load %tokens[%row] : memref<?xi32, strided<[1]>>
    %token = arith.index_cast %token_i32 : i32 to index
    scf.for %d = %c0 to %width step %c8 {
      %sum = vector.load %d_table[%token, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %value = vector.load %dy[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %result = arith.addf %sum, %value : vector<8xf32>
      vector.store %result, %d_table[%token, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
    }
  }
  return
}
