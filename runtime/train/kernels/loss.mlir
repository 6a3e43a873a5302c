// Softmax cross-entropy with one row of logits per token; computes loss and gradient together.

// e^x for x <= 0: 2^n in the exponent field times 2^f for f in [-1/2, 1/2], a minimax polynomial of
// degree 5 (relative error 7.5e-8). Results below 2^-126 become 2^-126, which is negligible in the sum.
func.func private @exp_of_nonpositive(%x: vector<8xf32>) -> vector<8xf32> {
  %log2e = arith.constant dense<1.44269504> : vector<8xf32>
  %lowest = arith.constant dense<-126.0> : vector<8xf32>
  %bias = arith.constant dense<127> : vector<8xi32>
  %mantissa_bits = arith.constant dense<23> : vector<8xi32>
  %p0 = arith.constant dense<1.000000072> : vector<8xf32>
  %p1 = arith.constant dense<0.6931469671> : vector<8xf32>
  %p2 = arith.constant dense<0.2402211972> : vector<8xf32>
  %p3 = arith.constant dense<0.0555071329> : vector<8xf32>
  %p4 = arith.constant dense<0.009675541293> : vector<8xf32>
  %p5 = arith.constant dense<0.00132764668> : vector<8xf32>
  %scaled = arith.mulf %x, %log2e : vector<8xf32>
  %clamped = arith.maximumf %scaled, %lowest : vector<8xf32>
  %whole = math.roundeven %clamped : vector<8xf32>
  %rest = arith.subf %clamped, %whole : vector<8xf32>
  %a4 = vector.fma %rest, %p5, %p4 : vector<8xf32>
  %a3 = vector.fma %rest, %a4, %p3 : vector<8xf32>
  %a2 = vector.fma %rest, %a3, %p2 : vector<8xf32>
  %a1 = vector.fma %rest, %a2, %p1 : vector<8xf32>
  %fraction = vector.fma %rest, %a1, %p0 : vector<8xf32>
  %integer = arith.fptosi %whole : vector<8xf32> to vector<8xi32>
  %biased = arith.addi %integer, %bias : vector<8xi32>
  %shifted = arith.shli %biased, %mantissa_bits : vector<8xi32>
  %power = arith.bitcast %shifted : vector<8xi32> to vector<8xf32>
  %result = arith.mulf %fraction, %power : vector<8xf32>
  return %result : vector<8xf32>
}

// losses[row] = weights[row] * (log(sum_j e^logits[j]) - logits[target]), in nats;
// logits[row, j] = scale * weights[row] * (softmax(logits)[j] - (j == target)), the gradient of
// `scale` times the sum of the losses. Rows have `width` elements and a stride of `pitch`, a multiple
// of 8; the padding is undefined afterwards. A row of weight 0 is not read, and is set to zeros.
func.func @cross_entropy(%logits0: memref<1xf32>, %targets0: memref<1xi32>,
                         %weights0: memref<1xf32>, %losses0: memref<1xf32>, %rows: index,
                         %width: index, %pitch: index, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %least = arith.constant dense<0xFF800000> : vector<8xf32>
  %nothing = arith.constant 0.0 : f32
  %minus_infinity = arith.constant 0xFF800000 : f32
  %logits = memref.reinterpret_cast %logits0 to offset: [0], sizes: [%rows, %pitch],
      strides: [%pitch, 1] : memref<1xf32> to memref<?x?xf32, strided<[?, 1]>>
  %targets = memref.reinterpret_cast %targets0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xi32> to memref<?xi32, strided<[1]>>
  %losses = memref.reinterpret_cast %losses0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  %weights = memref.reinterpret_cast %weights0 to offset: [0], sizes: [%rows], strides: [1]
      : memref<1xf32> to memref<?xf32, strided<[1]>>
  scf.for %row = %c0 to %rows step %c1 {
    %weight = memref.load %weights[%row] : memref<?xf32, strided<[1]>>
    %counts = arith.cmpf une, %weight, %nothing : f32
    scf.if %counts {
      scf.for %j = %width to %pitch step %c1 {
        memref.store %minus_infinity, %logits[%row, %j] : memref<?x?xf32, strided<[?, 1]>>
      }
      %lanes = scf.for %j = %c0 to %pitch step %c8 iter_args(%max = %least) -> (vector<8xf32>) {
        %value = vector.load %logits[%row, %j] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
        %next = arith.maximumf %max, %value : vector<8xf32>
        scf.yield %next : vector<8xf32>
      }
      %largest = vector.reduction <maximumf>, %lanes : vector<8xf32> into f32
      %largest8 = vector.broadcast %largest : f32 to vector<8xf32>
      %target_i32 = memref.load %targets[%row] : memref<?xi32, strided<[1]>>
      %target = arith.index_cast %target_i32 : i32 to index
      %target_logit = memref.load %logits[%row, %target] : memref<?x?xf32, strided<[?, 1]>>
      %sums = scf.for %j = %c0 to %pitch step %c8 iter_args(%sum = %zero) -> (vector<8xf32>) {
        %value = vector.load %logits[%row, %j] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
        %below = arith.subf %value, %largest8 : vector<8xf32>
        %power = func.call @exp_of_nonpositive(%below) : (vector<8xf32>) -> vector<8xf32>
        vector.store %power, %logits[%row, %j] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
        %next = arith.addf %sum, %power : vector<8xf32>
        scf.yield %next : vector<8xf32>
      }
      %total = vector.reduction <add>, %sums : vector<8xf32> into f32
      %logarithm = math.log %total : f32
      %below_largest = arith.subf %target_logit, %largest : f32
      %surprise = arith.subf %logarithm, %below_largest : f32
      %loss = arith.mulf %surprise, %weight : f32
      %share = arith.mulf %scale, %weight : f32
      memref.store %loss, %losses[%row] : memref<?xf32, strided<[1]>>
      %factor = arith.divf %share, %total : f32
      %factor8 = vector.broadcast %factor : f32 to vector<8xf32>
      scf.for %j = %c0 to %pitch step %c8 {
        %power = vector.load %logits[%row, %j] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
        %result = arith.mulf %power, %factor8 : vector<8xf32>
        vector.store %result, %logits[%row, %j] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      }
      %probability = memref.load %logits[%row, %target] : memref<?x?xf32, strided<[?, 1]>>
      %gradient = arith.subf %probability, %share : f32
      memref.store %gradient, %logits[%row, %target] : memref<?x?xf32, strided<[?, 1]>>
    } else {
      memref.store %nothing, %losses[%row] : memref<?xf32, strided<[1]>>
      scf.for %j = %c0 to %pitch step %c8 {
        vector.store %zero, %logits[%row, %j] : memref<?x?xf32, strided<[?, 1]>>, vector<8xf32>
      }
    }
  }
  return
}
