// Stick-breaking backward, oldest key first: U_j = beta_j dA_j + (1 - beta_j) U_{j-1},
// dz_j = beta_j (1 - beta_j) R_j (dA_j - U_{j-1}) with R_j the mass before key j, rebuilt inside the
// block from the forward's snapshot.
tile.plan @stick_breaking_backward attributes {head_dim = 64 : i64, value_dim = 64 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], f32>
  %S = tile.buffer "mass" residual : !tile.buffer<[b, hq, kb, r], f32>
  %DO = tile.buffer "d_o" cotangent : !tile.buffer<[b, hq, r, e], f32>
  %DQ = tile.buffer "d_q" gradient : !tile.buffer<[b, hq, r, d], f32>
  %DK = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  %DV = tile.buffer "d_v" gradient : !tile.buffer<[b, hkv, c, e], f32>
  %pairs = tile.pairs band(right = 0)
  tile.stage @backward backward over ["b", "hkv"] pairs %pairs {
    %q0 = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %q = tile.map(%q0) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f32):
      %scale = arith.constant 0.18033688 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    %do = tile.load %DO : !tile.buffer<[b, hq, r, e], f32> -> !tile.val<[r, e], f32>
    %u0 = tile.constant 0.0 : !tile.val<[r], f32>
    %uend, %dq, %dk, %dv = tile.stream ascending carry(%u0 : !tile.val<[r], f32>)
        skip(%S : !tile.buffer<[b, hq, kb, r], f32>) attributes {skip_below = 1.0e-9 : f64} {
    ^bb0(%uc: !tile.val<[r], f32>):
      %rb = tile.load %S : !tile.buffer<[b, hq, kb, r], f32> -> !tile.val<[r], f32>
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], f32> -> !tile.val<[c, e], f32>
      %z0 = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %z = tile.mask %z0 fill -1.0e30 : !tile.val<[r, c], f32>
      %beta, %keep = tile.map(%z) : (!tile.val<[r, c], f32>) -> (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>) {
      ^bb0(%x: f32):
        %one = arith.constant 1.0 : f32
        %limit = arith.constant 120.0 : f32
        %y = arith.minnumf %x, %limit : f32
        %e = math.exp2 %y : f32
        %f = arith.addf %e, %one : f32
        %g = arith.divf %one, %f : f32
        %h = arith.mulf %e, %g : f32
        tile.yield %h, %g : f32, f32
      }
      %before, %rn = tile.scan mul descending %keep carry %rb exclusive : !tile.val<[r, c], f32>, !tile.val<[r], f32>
      %a = tile.map(%before, %beta) : (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32, %y: f32):
        %w = arith.mulf %x, %y : f32
        tile.yield %w : f32
      }
      %da = tile.dot %do, %v over e : !tile.val<[r, e], f32>, !tile.val<[c, e], f32> -> !tile.val<[r, c], f32>
      %bda = tile.map(%beta, %da) : (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32, %y: f32):
        %w = arith.mulf %x, %y : f32
        tile.yield %w : f32
      }
      %uprev, %un = tile.scan linear ascending %keep plus %bda : !tile.val<[r, c], f32> carry %uc exclusive
          : !tile.val<[r, c], f32>, !tile.val<[r], f32>
      %dz = tile.map(%a, %keep, %da, %uprev) : (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>, !tile.val<[r, c], f32>,
          !tile.val<[r, c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%w: f32, %x: f32, %y: f32, %x2: f32):
        %0 = arith.mulf %w, %x : f32
        %1 = arith.subf %y, %x2 : f32
        %2 = arith.mulf %0, %1 : f32
        tile.yield %2 : f32
      }
      %dqb = tile.dot %dz, %k over c : !tile.val<[r, c], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, d], f32>
      %dkb = tile.dot %dz, %q0 over r : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.val<[c, d], f32>
      %dvb = tile.dot %a, %do over r : !tile.val<[r, c], f32>, !tile.val<[r, e], f32> -> !tile.val<[c, e], f32>
      tile.yield %un, %dqb, %dkb, %dvb : !tile.val<[r], f32>, !tile.val<[r, d], f32>, !tile.val<[c, d], f32>,
          !tile.val<[c, e], f32>
    } : !tile.val<[r], f32>, !tile.val<[r, d], f32>, !tile.val<[c, d], f32>, !tile.val<[c, e], f32>
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
