// The AdamW update of one parameter (Loshchilov and Hutter 2019, Algorithm 2), over `count` elements
// (a multiple of 8; buffers are padded with zeros). `clip` multiplies the gradient, `first` and
// `second` are the bias corrections 1/(1 - beta^step), `keep` is 1 - lr * decay, and `minimum` is a
// lower bound of the result.
//
//   m = beta1 m + (1 - beta1) g      v = beta2 v + (1 - beta2) g^2
//   p = max(keep p - lr (m first) / (sqrt(v second) + epsilon), minimum)
func.func @adamw(%p0: memref<1xf32>, %g0: memref<1xf32>, %m0: memref<1xf32>, %v0: memref<1xf32>,
                 %count: index, %clip: f32, %lr: f32, %beta1: f32, %beta2: f32, %epsilon: f32,
                 %first: f32, %second: f32, %keep: f32, %minimum: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %p = memref.reinterpret_cast %p0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %g = memref.reinterpret_cast %g0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %m = memref.reinterpret_cast %m0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %v = memref.reinterpret_cast %v0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %rest1 = arith.subf %one, %beta1 : f32
  %rest2 = arith.subf %one, %beta2 : f32
  %rate = arith.mulf %lr, %first : f32
  %clip8 = vector.broadcast %clip : f32 to vector<8xf32>
  %rate8 = vector.broadcast %rate : f32 to vector<8xf32>
  %beta1_8 = vector.broadcast %beta1 : f32 to vector<8xf32>
  %beta2_8 = vector.broadcast %beta2 : f32 to vector<8xf32>
  %rest1_8 = vector.broadcast %rest1 : f32 to vector<8xf32>
  %rest2_8 = vector.broadcast %rest2 : f32 to vector<8xf32>
  %epsilon8 = vector.broadcast %epsilon : f32 to vector<8xf32>
  %second8 = vector.broadcast %second : f32 to vector<8xf32>
  %keep8 = vector.broadcast %keep : f32 to vector<8xf32>
  %minimum8 = vector.broadcast %minimum : f32 to vector<8xf32>
  scf.for %i = %c0 to %count step %c8 {
    %raw = vector.load %g[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %gradient = arith.mulf %raw, %clip8 : vector<8xf32>
    %m_old = vector.load %m[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %m_decayed = arith.mulf %m_old, %beta1_8 : vector<8xf32>
    %m_new = vector.fma %gradient, %rest1_8, %m_decayed : vector<8xf32>
    vector.store %m_new, %m[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %square = arith.mulf %gradient, %gradient : vector<8xf32>
    %v_old = vector.load %v[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %v_decayed = arith.mulf %v_old, %beta2_8 : vector<8xf32>
    %v_new = vector.fma %square, %rest2_8, %v_decayed : vector<8xf32>
    vector.store %v_new, %v[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %corrected = arith.mulf %v_new, %second8 : vector<8xf32>
    %root = math.sqrt %corrected : vector<8xf32>
    %denominator = arith.addf %root, %epsilon8 : vector<8xf32>
    %numerator = arith.mulf %m_new, %rate8 : vector<8xf32>
    %step = arith.divf %numerator, %denominator : vector<8xf32>
    %p_old = vector.load %p[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %kept = arith.mulf %p_old, %keep8 : vector<8xf32>
    %moved = arith.subf %kept, %step : vector<8xf32>
    %p_new = arith.maximumf %moved, %minimum8 : vector<8xf32>
    vector.store %p_new, %p[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
  }
  return
}

// Muon's Nesterov momentum (Jordan 2024) over `count` elements (a multiple of 8):
//
//   m = momentum m + (1 - momentum) g      u = momentum m + (1 - momentum) g
func.func @muon_momentum(%g0: memref<1xf32>, %m0: memref<1xf32>, %u0: memref<1xf32>,
                         %count: index, %momentum: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %g = memref.reinterpret_cast %g0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %m = memref.reinterpret_cast %m0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %u = memref.reinterpret_cast %u0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %rest = arith.subf %one, %momentum : f32
  %momentum8 = vector.broadcast %momentum : f32 to vector<8xf32>
  %rest8 = vector.broadcast %rest : f32 to vector<8xf32>
  scf.for %i = %c0 to %count step %c8 {
    %gradient = vector.load %g[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %share = arith.mulf %gradient, %rest8 : vector<8xf32>
    %m_old = vector.load %m[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %m_new = vector.fma %m_old, %momentum8, %share : vector<8xf32>
    vector.store %m_new, %m[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %ahead = vector.fma %m_new, %momentum8, %share : vector<8xf32>
    vector.store %ahead, %u[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
  }
  return
}

// p = keep p - rate u
func.func @muon_update(%p0: memref<1xf32>, %u0: memref<1xf32>, %count: index, %keep: f32,
                       %rate: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = memref.reinterpret_cast %p0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %u = memref.reinterpret_cast %u0 to offset: [0], sizes: [%count], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %keep8 = vector.broadcast %keep : f32 to vector<8xf32>
  %rate8 = vector.broadcast %rate : f32 to vector<8xf32>
  scf.for %i = %c0 to %count step %c8 {
    %p_old = vector.load %p[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %direction = vector.load %u[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
    %kept = arith.mulf %p_old, %keep8 : vector<8xf32>
    %step = arith.mulf %direction, %rate8 : vector<8xf32>
    %p_new = arith.subf %kept, %step : vector<8xf32>
    vector.store %p_new, %p[%i] : memref<?xf32, strided<[1]>>, vector<8xf32>
  }
  return
}
