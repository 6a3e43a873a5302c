// Softmax backward: nothing is carried, everything is a fold; p = exp2(s - lse) outside the mask is
// 0, so rows without a key need no special case. Key gradients sum over the rows of all heads
// of the group (over b, hkv).
tile.plan @softmax_backward attributes {head_dim = 64 : i64, value_dim = 64 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], f32>
  %T = tile.buffer "table" temporary : !tile.buffer<[hq, t], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, e], f32>
  %L = tile.buffer "lse" residual : !tile.buffer<[b, hq, r], f32>
  %DO = tile.buffer "d_o" cotangent : !tile.buffer<[b, hq, r, e], f32>
  %DQ = tile.buffer "d_q" gradient : !tile.buffer<[b, hq, r, d], f32>
  %DK = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  %DV = tile.buffer "d_v" gradient : !tile.buffer<[b, hkv, c, e], f32>
  %G = tile.buffer "diagonals" temporary {zero} : !tile.buffer<[b, hq, t], f32>
  %pairs = tile.pairs band(right = 1)
  tile.stage @backward backward over ["b", "hkv"] pairs %pairs {
    %q0 = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %q = tile.map(%q0) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f32):
      %scale = arith.constant 0.18033688 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    %o = tile.load %O : !tile.buffer<[b, hq, r, e], f32> -> !tile.val<[r, e], f32>
    %do = tile.load %DO : !tile.buffer<[b, hq, r, e], f32> -> !tile.val<[r, e], f32>
    %lse = tile.load %L : !tile.buffer<[b, hq, r], f32> -> !tile.val<[r], f32>
    %od = tile.map(%o, %do) : (!tile.val<[r, e], f32>, !tile.val<[r, e], f32>) -> !tile.val<[r, e], f32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      tile.yield %z : f32
    }
    %delta = tile.reduce add over e %od : !tile.val<[r, e], f32> -> !tile.val<[r], f32>
    %ndelta = tile.map(%delta) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%x: f32):
      %z = arith.negf %x : f32
      tile.yield %z : f32
    }
    %dq, %dk, %dv = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], f32> -> !tile.val<[c, e], f32>
      %w = tile.window %T : !tile.buffer<[hq, t], f32> -> !tile.val<[r, c], f32>
      %wl = tile.map(%w, %lse) : (!tile.val<[r, c], f32>, !tile.val<[r], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %x, %y : f32
        tile.yield %z : f32
      }
      %s = tile.dot %q, %k over d init(%wl : !tile.val<[r, c], f32>) : !tile.val<[r, d], f32>, !tile.val<[c, d], f32>
          -> !tile.val<[r, c], f32>
      %p0 = tile.map(%s) : (!tile.val<[r, c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32):
        %z = math.exp2 %x : f32
        tile.yield %z : f32
      }
      %p = tile.mask %p0 fill 0.0 : !tile.val<[r, c], f32>
      %dp = tile.dot %do, %v over e init(%ndelta : !tile.val<[r], f32>) : !tile.val<[r, e], f32>, !tile.val<[c, e], f32>
          -> !tile.val<[r, c], f32>
      %ds = tile.map(%p, %dp) : (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.mulf %x, %y : f32
        tile.yield %z : f32
      }
      tile.window_grad %ds, %G : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, t], f32>
      %dqb = tile.dot %ds, %k over c : !tile.val<[r, c], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, d], f32>
      %dkb = tile.dot %ds, %q0 over r : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.val<[c, d], f32>
      %dvb = tile.dot %p, %do over r : !tile.val<[r, c], f32>, !tile.val<[r, e], f32> -> !tile.val<[c, e], f32>
      tile.yield %dqb, %dkb, %dvb : !tile.val<[r, d], f32>, !tile.val<[c, d], f32>, !tile.val<[c, e], f32>
    } : !tile.val<[r, d], f32>, !tile.val<[c, d], f32>, !tile.val<[c, e], f32>
    %dqs = tile.map(%dq) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f32):
      %scale = arith.constant 0.125 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    %dks = tile.map(%dk) : (!tile.val<[c, d], f32>) -> !tile.val<[c, d], f32> {
    ^bb0(%x: f32):
      %scale = arith.constant 0.125 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    tile.store %dqs, %DQ : !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, r, d], f32>
    tile.store %dks, %DK : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
    tile.store %dv, %DV : !tile.val<[c, e], f32> -> !tile.buffer<[b, hkv, c, e], f32>
  }
}
