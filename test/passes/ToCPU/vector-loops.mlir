// RUN: pe-opt %s --pe-schedule-cpu=machine=x86-64-v4 --pe-tile-to-cpu --split-input-file | FileCheck %s
// RUN: pe-opt %s --pe-schedule-cpu=machine=x86-64-v4 --split-input-file | FileCheck %s --check-prefix=SCHEDULE

// Loops of scalar stages, vectorized along their last index (passes/ToCPU/VectorLoops.h).

// A sum over the batch, for 32 dimensions at a time with a scalar remainder. An item has several
// rows.
// SCHEDULE-LABEL: tile.plan @sum
// SCHEDULE:       tile.stage @rows {{.*}} schedule #step.loops<lanes = 32, group = 8>
// CHECK-LABEL: func.func @sum_rows
// CHECK:         scf.for
// CHECK:           arith.remsi
// CHECK:           scf.for {{.*}} step %c32
// CHECK:             %[[SUM:.*]] = scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf64>)
// CHECK:               vector.load {{.*}} vector<32xf32>
// CHECK:               arith.extf {{.*}} : vector<32xf32> to vector<32xf64>
// CHECK:               scf.yield {{.*}} : vector<32xf64>
// CHECK:             arith.truncf %[[SUM]]
// CHECK:             vector.store
// CHECK:           scf.for {{.*}} step %c1
// CHECK:             scf.for {{.*}} -> (f64)
// CHECK:             memref.store
// CHECK:       tile.launch @sum_rows backward items "ceildiv(hq*r,8)"
tile.plan @sum attributes {head_dim = 0 : i64, value_dim = 0 : i64} {
  tile.extent "model"
  %x = tile.buffer "x" argument : !tile.buffer<[b, r, model], f32>
  %y = tile.buffer "y" result : !tile.buffer<[r, model], f32>
  tile.stage @rows backward over ["hq", "r"] {
    tile.foreach over ["model"] {
    ^bb0(%h: index, %r: index, %d: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f64
      %batch = tile.size "b" : index
      %sum = scf.for %b = %c0 to %batch step %c1 iter_args(%s = %zero) -> (f64) {
        %e = tile.read %x[%b, %r, %d] inbounds : !tile.buffer<[b, r, model], f32> -> f32
        %w = arith.extf %e : f32 to f64
        %n = arith.addf %s, %w : f64
        scf.yield %n : f64
      }
      %f = arith.truncf %sum : f64 to f32
      tile.write %f, %y[%r, %d] : f32 -> !tile.buffer<[r, model], f32>
    }
  }
}

// -----

// A sum of all lanes in one element is reduced in registers. The lane's own element is loaded with
// all indices clamped except the last. A shifted index is still consecutive; nested indices are
// allowed.
// CHECK-LABEL: func.func @adds_rows
// CHECK:         scf.for {{.*}} step %c32
// CHECK:           arith.sitofp {{.*}} : vector<32xi64> to vector<32xf32>
// CHECK:           vector.load {{.*}} vector<32xf32>
// CHECK:           arith.minsi
// CHECK:           vector.load {{.*}} vector<32xf64>
// CHECK:           vector.store {{.*}} vector<32xf64>
// CHECK:           vector.reduction <add>, {{.*}} : vector<32xf64> into f64
// CHECK:           memref.store
tile.plan @adds attributes {head_dim = 0 : i64, value_dim = 0 : i64} {
  tile.extent "model"
  %x = tile.buffer "x" argument : !tile.buffer<[r, "model+4"], f32>
  %sums = tile.buffer "sums" temporary {zero} : !tile.buffer<[r, model], f64>
  %total = tile.buffer "total" temporary {zero} : !tile.buffer<[r], f64>
  tile.stage @rows backward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %c4 = arith.constant 4 : index
      %i = arith.index_cast %d : index to i64
      %f = arith.sitofp %i : i64 to f32
      %at = arith.addi %d, %c4 : index
      %e = tile.read %x[%r, %at] inbounds : !tile.buffer<[r, "model+4"], f32> -> f32
      %p = arith.mulf %e, %f : f32
      %w = arith.extf %p : f32 to f64
      tile.accumulate %w, %sums[%r, %d] : f64 -> !tile.buffer<[r, model], f64>
      tile.accumulate %w, %total[%r] : f64 -> !tile.buffer<[r], f64>
    }
  }
}

// -----

// These loops remain scalar: a call per lane, lanes that read the elements of other lanes, elements
// that are not consecutive when written or have 16 bits, a branch or loop bounds that depend on the
// lane, and an index that
// changes in a loop, by steps of the lane, by the loop's variable, or by a value that is read. A
// row with function calls is a separate item.
// SCHEDULE-LABEL: tile.plan @scalar
// SCHEDULE:       tile.stage @call {{.*}} schedule #step.loops<lanes = 32, group = 1>
// SCHEDULE:       tile.stage @chain {{.*}} schedule #step.loops<lanes = 32, group = 8>
// CHECK-LABEL: func.func @scalar_call
// CHECK-NOT:     vector<
// CHECK-LABEL: func.func @scalar_chain
// CHECK-NOT:     vector<
// CHECK-LABEL: func.func @scalar_apart
// CHECK-NOT:     vector<
// CHECK-LABEL: func.func @scalar_narrow
// CHECK-NOT:     vector<
// CHECK-LABEL: func.func @scalar_branch
// CHECK-NOT:     vector<
// CHECK-LABEL: func.func @scalar_bound
// CHECK-NOT:     vector<
// CHECK-LABEL: func.func @scalar_moved
// CHECK-NOT:     vector<
// CHECK-LABEL: func.func @scalar_counted
// CHECK-NOT:     vector<
// CHECK-LABEL: func.func @scalar_read
// CHECK-NOT:     vector<
// CHECK:       tile.plan
tile.plan @scalar attributes {head_dim = 0 : i64, value_dim = 0 : i64} {
  tile.extent "model"
  %x = tile.buffer "x" argument : !tile.buffer<[r, model], f32>
  %y = tile.buffer "y" result : !tile.buffer<[r, model], f32>
  %t = tile.buffer "t" temporary : !tile.buffer<[model, r], f32>
  %half = tile.buffer "half" argument : !tile.buffer<[model, r], bf16>
  %by = tile.buffer "by" argument : !tile.buffer<[3], i32>
  tile.stage @call forward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %e = tile.read %x[%r, %d] inbounds : !tile.buffer<[r, model], f32> -> f32
      %s = math.tan %e : f32
      tile.write %s, %y[%r, %d] : f32 -> !tile.buffer<[r, model], f32>
    }
  }
  tile.stage @chain forward over ["r"] {
    tile.foreach over ["model-1"] {
    ^bb0(%r: index, %d: index):
      %c1 = arith.constant 1 : index
      %next = arith.addi %d, %c1 : index
      %e = tile.read %y[%r, %d] inbounds : !tile.buffer<[r, model], f32> -> f32
      tile.write %e, %y[%r, %next] : f32 -> !tile.buffer<[r, model], f32>
    }
  }
  tile.stage @apart forward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %e = tile.read %x[%r, %d] inbounds : !tile.buffer<[r, model], f32> -> f32
      tile.write %e, %t[%d, %r] : f32 -> !tile.buffer<[model, r], f32>
    }
  }
  tile.stage @narrow forward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %e = tile.read %half[%d, %r] inbounds : !tile.buffer<[model, r], bf16> -> bf16
      %f = arith.extf %e : bf16 to f32
      tile.write %f, %y[%r, %d] : f32 -> !tile.buffer<[r, model], f32>
    }
  }
  tile.stage @branch forward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %c4 = arith.constant 4 : index
      %small = arith.cmpi slt, %d, %c4 : index
      scf.if %small {
        %zero = arith.constant 0.0 : f32
        tile.write %zero, %y[%r, %d] : f32 -> !tile.buffer<[r, model], f32>
      }
    }
  }
  tile.stage @bound forward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant 1.0 : f32
      %sum = scf.for %k = %c0 to %d step %c1 iter_args(%s = %one) -> (f32) {
        %n = arith.addf %s, %one : f32
        scf.yield %n : f32
      }
      tile.write %sum, %y[%r, %d] : f32 -> !tile.buffer<[r, model], f32>
    }
  }
  tile.stage @moved forward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %end = scf.for %k = %c0 to %c3 step %c1 iter_args(%at = %c0) -> (index) {
        %place = arith.addi %d, %at : index
        %e = tile.read %x[%r, %place] inbounds : !tile.buffer<[r, model], f32> -> f32
        tile.write %e, %y[%r, %place] : f32 -> !tile.buffer<[r, model], f32>
        scf.yield %place : index
      }
    }
  }
  tile.stage @counted forward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      scf.for %k = %c0 to %c3 step %c1 {
        %place = arith.addi %d, %k : index
        %e = tile.read %x[%r, %d] inbounds : !tile.buffer<[r, model], f32> -> f32
        tile.write %e, %y[%r, %place] : f32 -> !tile.buffer<[r, model], f32>
      }
    }
  }
  tile.stage @read forward over ["r"] {
    tile.foreach over ["model"] {
    ^bb0(%r: index, %d: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      scf.for %k = %c0 to %c3 step %c1 {
        %shift = tile.read %by[%k] : !tile.buffer<[3], i32> -> i32
        %step = arith.index_cast %shift : i32 to index
        %place = arith.addi %step, %d : index
        %e = tile.read %y[%r, %place] inbounds : !tile.buffer<[r, model], f32> -> f32
        %twice = arith.addf %e, %e : f32
        tile.write %twice, %y[%r, %place] : f32 -> !tile.buffer<[r, model], f32>
      }
    }
  }
}
