// Root-mean-square and layer normalization without gain or bias, forward and backward. A row is a
// token; `width` is a multiple of 8. Arguments are bare pointers: memref<1xf32> is the address of an
// array of floats.

// y = x * inverse, inverse[row] = 1 / sqrt(mean(x^2) + 1e-6).
func.func @rms_norm_forward(%x0: memref<1xf32>, %y0: memref<1xf32>, %inverse0: memref<1xf32>,
                            %rows: index, %width: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %epsilon = arith.constant 1.0e-6 : f32
  %one = arith.constant 1.0 : f32
  %x = memref.reinterpret_cast %x0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %y = memref.reinterpret_cast %y0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %inverses = memref.reinterpret_cast %inverse0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %width_i64 = arith.index_cast %width : index to i64
  %width_f32 = arith.sitofp %width_i64 : i64 to f32
  scf.for %row = %c0 to %rows step %c1 {
    %squares = scf.for %d = %c0 to %width step %c8 iter_args(%sum = %zero) -> (vector<8xf32>) {
      %value = vector.load %x[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %next = vector.fma %value, %value, %sum : vector<8xf32>
      scf.yield %next : vector<8xf32>
    }
    %total = vector.reduction <add>, %squares : vector<8xf32> into f32
    %mean = arith.divf %total, %width_f32 : f32
    %shifted = arith.addf %mean, %epsilon : f32
    %root = math.sqrt %shifted : f32
    %inverse = arith.divf %one, %root : f32
    memref.store %inverse, %inverses[%row] : memref<?xf32, strided<[1]>>
    %factor = vector.broadcast %inverse : f32 to vector<8xf32>
    scf.for %d = %c0 to %width step %c8 {
      %value = vector.load %x[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %result = arith.mulf %value, %factor : vector<8xf32>
      vector.store %result, %y[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
    }
  }
  return
}

// dx += inverse * (dy - y * mean(dy * y)), where y is the normalized row. Adds to the existing gradient
// of the residual stream.
func.func @rms_norm_backward(%y0: memref<1xf32>, %inverse0: memref<1xf32>, %dy0: memref<1xf32>,
                             %dx0: memref<1xf32>, %rows: index, %width: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %y = memref.reinterpret_cast %y0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %dy = memref.reinterpret_cast %dy0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %dx = memref.reinterpret_cast %dx0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %inverses = memref.reinterpret_cast %inverse0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %width_i64 = arith.index_cast %width : index to i64
  %width_f32 = arith.sitofp %width_i64 : i64 to f32
  scf.for %row = %c0 to %rows step %c1 {
    %products = scf.for %d = %c0 to %width step %c8 iter_args(%sum = %zero) -> (vector<8xf32>) {
      %value = vector.load %y[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %gradient = vector.load %dy[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %next = vector.fma %value, %gradient, %sum : vector<8xf32>
      scf.yield %next : vector<8xf32>
    }
    %total = vector.reduction <add>, %products : vector<8xf32> into f32
    %mean = arith.divf %total, %width_f32 : f32
    %negated = arith.negf %mean : f32
    %along = vector.broadcast %negated : f32 to vector<8xf32>
    %inverse = memref.load %inverses[%row] : memref<?xf32, strided<[1]>>
    %factor = vector.broadcast %inverse : f32 to vector<8xf32>
    scf.for %d = %c0 to %width step %c8 {
      %value = vector.load %y[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %gradient = vector.load %dy[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %carried = vector.load %dx[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %across = vector.fma %along, %value, %gradient : vector<8xf32>
      %result = vector.fma %factor, %across, %carried : vector<8xf32>
      vector.store %result, %dx[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
    }
  }
  return
}

// y = (x - mean(x)) * inverse, inverse[row] = 1 / sqrt(mean((x - mean(x))^2) + 1e-5).
func.func @layer_norm_forward(%x0: memref<1xf32>, %y0: memref<1xf32>, %inverse0: memref<1xf32>,
                            %rows: index, %width: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %epsilon = arith.constant 1.0e-5 : f32
  %one = arith.constant 1.0 : f32
  %x = memref.reinterpret_cast %x0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %y = memref.reinterpret_cast %y0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %inverses = memref.reinterpret_cast %inverse0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %width_i64 = arith.index_cast %width : index to i64
  %width_f32 = arith.sitofp %width_i64 : i64 to f32
  scf.for %row = %c0 to %rows step %c1 {
    %sums = scf.for %d = %c0 to %width step %c8 iter_args(%sum = %zero) -> (vector<8xf32>) {
      %value = vector.load %x[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %next = arith.addf %sum, %value : vector<8xf32>
      scf.yield %next : vector<8xf32>
    }
    %sum_of_row = vector.reduction <add>, %sums : vector<8xf32> into f32
    %center = arith.divf %sum_of_row, %width_f32 : f32
    %center8 = vector.broadcast %center : f32 to vector<8xf32>
    %squares = scf.for %d = %c0 to %width step %c8 iter_args(%sum = %zero) -> (vector<8xf32>) {
      %value = vector.load %x[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %apart = arith.subf %value, %center8 : vector<8xf32>
      %next = vector.fma %apart, %apart, %sum : vector<8xf32>
      scf.yield %next : vector<8xf32>
    }
    %total = vector.reduction <add>, %squares : vector<8xf32> into f32
    %mean = arith.divf %total, %width_f32 : f32
    %shifted = arith.addf %mean, %epsilon : f32
    %root = math.sqrt %shifted : f32
    %inverse = arith.divf %one, %root : f32
    memref.store %inverse, %inverses[%row] : memref<?xf32, strided<[1]>>
    %factor = vector.broadcast %inverse : f32 to vector<8xf32>
    scf.for %d = %c0 to %width step %c8 {
      %value = vector.load %x[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %apart = arith.subf %value, %center8 : vector<8xf32>
      %result = arith.mulf %apart, %factor : vector<8xf32>
      vector.store %result, %y[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
    }
  }
  return
}

// dx += inverse * (dy - mean(dy) - y * mean(dy * y)), added as in @rms_norm_backward.
func.func @layer_norm_backward(%y0: memref<1xf32>, %inverse0: memref<1xf32>, %dy0: memref<1xf32>,
                             %dx0: memref<1xf32>, %rows: index, %width: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %y = memref.reinterpret_cast %y0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %dy = memref.reinterpret_cast %dy0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %dx = memref.reinterpret_cast %dx0 to offset: [0], sizes: [%rows, %width], strides: [%width, 1]
      : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %inverses = memref.reinterpret_cast %inverse0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %width_i64 = arith.index_cast %width : index to i64
  %width_f32 = arith.sitofp %width_i64 : i64 to f32
  scf.for %row = %c0 to %rows step %c1 {
    %products = scf.for %d = %c0 to %width step %c8 iter_args(%sum = %zero) -> (vector<8xf32>) {
      %value = vector.load %y[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %gradient = vector.load %dy[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %next = vector.fma %value, %gradient, %sum : vector<8xf32>
      scf.yield %next : vector<8xf32>
    }
    %sums = scf.for %d = %c0 to %width step %c8 iter_args(%sum = %zero) -> (vector<8xf32>) {
      %gradient = vector.load %dy[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %next = arith.addf %sum, %gradient : vector<8xf32>
      scf.yield %next : vector<8xf32>
    }
    %sum_of_row = vector.reduction <add>, %sums : vector<8xf32> into f32
    %common = arith.divf %sum_of_row, %width_f32 : f32
    %common8 = vector.broadcast %common : f32 to vector<8xf32>
    %total = vector.reduction <add>, %products : vector<8xf32> into f32
    %mean = arith.divf %total, %width_f32 : f32
    %negated = arith.negf %mean : f32
    %along = vector.broadcast %negated : f32 to vector<8xf32>
    %inverse = memref.load %inverses[%row] : memref<?xf32, strided<[1]>>
    %factor = vector.broadcast %inverse : f32 to vector<8xf32>
    scf.for %d = %c0 to %width step %c8 {
      %value = vector.load %y[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %gradient = vector.load %dy[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %carried = vector.load %dx[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      %apart = arith.subf %gradient, %common8 : vector<8xf32>
      %across = vector.fma %along, %value, %apart : vector<8xf32>
      %result = vector.fma %factor, %across, %carried : vector<8xf32>
      vector.store %result, %dx[%row, %d] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
    }
  }
  return
}
