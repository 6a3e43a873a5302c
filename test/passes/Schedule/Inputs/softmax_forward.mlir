// Softmax forward: rows carry the running maximum m, the sum l and the output; scores
// are in units of log2 (queries are scaled by scale * log2 e).
tile.plan @softmax_forward attributes {head_dim = 64 : i64, value_dim = 64 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], f32>
  %T = tile.buffer "table" temporary : !tile.buffer<[hq, t], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, e], f32>
  %L = tile.buffer "lse" residual : !tile.buffer<[b, hq, r], f32>
  // A bias of the distance, -0.5 * (i - j), already in units of log2.
  tile.stage @table prepare over ["hq"] {
    tile.foreach over ["r + c - 1"] {
    ^bb0(%h: index, %t: index):
      %slope = arith.constant -0.72134752 : f32
      %c = tile.size "c - 1 - q_start + k_start" : index
      %d = arith.subi %t, %c : index
      %d32 = arith.index_cast %d : index to i32
      %x = arith.sitofp %d32 : i32 to f32
      %y = arith.mulf %x, %slope : f32
      tile.write %y, %T[%h, %t] : f32 -> !tile.buffer<[hq, t], f32>
      tile.yield
    }
  }
  %pairs = tile.pairs band(right = 1)
  tile.stage @forward forward over ["b", "hq"] pairs %pairs {
    %q0 = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %q = tile.map(%q0) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f32):
      %scale = arith.constant 0.18033688 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    %m0 = tile.constant -1.0e30 : !tile.val<[r], f32>
    %l0 = tile.constant 0.0 : !tile.val<[r], f32>
    %o0 = tile.constant 0.0 : !tile.val<[r, e], f32>
    %m, %l, %o = tile.stream ascending carry(%m0, %l0, %o0 : !tile.val<[r], f32>, !tile.val<[r], f32>,
        !tile.val<[r, e], f32>) {
    ^bb0(%mc: !tile.val<[r], f32>, %lc: !tile.val<[r], f32>, %oc: !tile.val<[r, e], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], f32> -> !tile.val<[c, e], f32>
      %w = tile.window %T : !tile.buffer<[hq, t], f32> -> !tile.val<[r, c], f32>
      %s0 = tile.dot %q, %k over d init(%w : !tile.val<[r, c], f32>) : !tile.val<[r, d], f32>, !tile.val<[c, d], f32>
          -> !tile.val<[r, c], f32>
      %s = tile.mask %s0 fill -1.0e30 : !tile.val<[r, c], f32>
      %mb = tile.reduce max over c %s : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %mn = tile.map(%mc, %mb) : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maxnumf %x, %y : f32
        tile.yield %z : f32
      }
      %alpha = tile.map(%mc, %mn) : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %x, %y : f32
        %e = math.exp2 %z : f32
        tile.yield %e : f32
      }
      %p = tile.map(%s, %mn) : (!tile.val<[r, c], f32>, !tile.val<[r], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %x, %y : f32
        %e = math.exp2 %z : f32
        tile.yield %e : f32
      }
      %pb = tile.reduce add over c %p : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %ln = tile.map(%lc, %alpha, %pb) : (!tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r], f32>)
          -> !tile.val<[r], f32> {
      ^bb0(%x: f32, %a: f32, %y: f32):
        %z = arith.mulf %x, %a : f32
        %e = arith.addf %z, %y : f32
        tile.yield %e : f32
      }
      %os = tile.map(%oc, %alpha) : (!tile.val<[r, e], f32>, !tile.val<[r], f32>) -> !tile.val<[r, e], f32> {
      ^bb0(%x: f32, %a: f32):
        %z = arith.mulf %x, %a : f32
        tile.yield %z : f32
      }
      %on = tile.dot %p, %v over c init(%os : !tile.val<[r, e], f32>) : !tile.val<[r, c], f32>, !tile.val<[c, e], f32>
          -> !tile.val<[r, e], f32>
      tile.yield %mn, %ln, %on : !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r, e], f32>
    } : !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r, e], f32>
    // A row whose maximum never exceeded the fill has no key: output 0, log-sum-exp -inf (in units of log2).
    %out = tile.map(%o, %l, %m) : (!tile.val<[r, e], f32>, !tile.val<[r], f32>, !tile.val<[r], f32>)
        -> !tile.val<[r, e], f32> {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %none = arith.constant -1.0e29 : f32
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %inv = arith.divf %one, %y : f32
      %u = arith.mulf %x, %inv : f32
      %some = arith.cmpf ogt, %z, %none : f32
      %w = arith.select %some, %u, %zero : f32
      tile.yield %w : f32
    }
    %lse = tile.map(%l, %m) : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%y: f32, %z: f32):
      %none = arith.constant -1.0e29 : f32
      %ninf = arith.constant 0xFF800000 : f32
      %u = math.log2 %y : f32
      %v = arith.addf %u, %z : f32
      %some = arith.cmpf ogt, %z, %none : f32
      %w = arith.select %some, %v, %ninf : f32
      tile.yield %w : f32
    }
    tile.store %out, %O : !tile.val<[r, e], f32> -> !tile.buffer<[b, hq, r, e], f32>
    tile.store %lse, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
