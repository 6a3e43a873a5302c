// Stick-breaking forward, newest key first: with u = exp(z) and t = 1 / (1 + u), the remaining mass
// after key j is R <- R * t and the weight is R_after * u. R at the beginning of each block (in
// stream order) is the residual. Once R < 1e-9 on every row, older keys no longer contribute.
tile.plan @stick_breaking_forward attributes {head_dim = 64 : i64, value_dim = 64 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, e], f32>
  %S = tile.buffer "mass" residual : !tile.buffer<[b, hq, kb, r], f32>
  %pairs = tile.pairs band(right = 0)
  tile.stage @forward forward over ["b", "hq"] pairs %pairs {
    %q0 = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %q = tile.map(%q0) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f32):
      %scale = arith.constant 0.18033688 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    %r0 = tile.constant 1.0 : !tile.val<[r], f32>
    %o0 = tile.constant 0.0 : !tile.val<[r, e], f32>
    %rest, %o = tile.stream descending carry(%r0, %o0 : !tile.val<[r], f32>, !tile.val<[r, e], f32>) attributes
        {stop_carry = 0 : i64, stop_below = 1.0e-9 : f64} {
    ^bb0(%rc: !tile.val<[r], f32>, %oc: !tile.val<[r, e], f32>):
      tile.store %rc, %S : !tile.val<[r], f32> -> !tile.buffer<[b, hq, kb, r], f32>
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], f32> -> !tile.val<[c, e], f32>
      %z0 = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %z = tile.mask %z0 fill -1.0e30 : !tile.val<[r, c], f32>
      %u, %t = tile.map(%z) : (!tile.val<[r, c], f32>) -> (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>) {
      ^bb0(%x: f32):
        %one = arith.constant 1.0 : f32
        %limit = arith.constant 120.0 : f32
        %y = arith.minnumf %x, %limit : f32
        %e = math.exp2 %y : f32
        %f = arith.addf %e, %one : f32
        %g = arith.divf %one, %f : f32
        tile.yield %e, %g : f32, f32
      }
      %after, %rn = tile.scan mul descending %t carry %rc : !tile.val<[r, c], f32>, !tile.val<[r], f32>
      %a = tile.map(%after, %u) : (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32, %y: f32):
        %w = arith.mulf %x, %y : f32
        tile.yield %w : f32
      }
      %on = tile.dot %a, %v over c init(%oc : !tile.val<[r, e], f32>) : !tile.val<[r, c], f32>, !tile.val<[c, e], f32>
          -> !tile.val<[r, e], f32>
      tile.yield %rn, %on : !tile.val<[r], f32>, !tile.val<[r, e], f32>
    } : !tile.val<[r], f32>, !tile.val<[r, e], f32>
    tile.store %o, %O : !tile.val<[r, e], f32> -> !tile.buffer<[b, hq, r, e], f32>
  }
}
