// Streams of the four attention algorithms, which StripScheduleTest.cpp divides into steps. They
// are minimal and not executed; other tests execute the plans of passes/ToTile.

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
    %m, %l, %o = tile.stream ascending carry(%m0, %l0, %o0 : !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r, e], f32>) {
    ^bb0(%mc: !tile.val<[r], f32>, %lc: !tile.val<[r], f32>, %oc: !tile.val<[r, e], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], f32> -> !tile.val<[c, e], f32>
      %w = tile.window %T : !tile.buffer<[hq, t], f32> -> !tile.val<[r, c], f32>
      %s0 = tile.dot %q, %k over d init(%w : !tile.val<[r, c], f32>) : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
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
      %ln = tile.map(%lc, %alpha, %pb) : (!tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
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
      %on = tile.dot %p, %v over c init(%os : !tile.val<[r, e], f32>) : !tile.val<[r, c], f32>, !tile.val<[c, e], f32> -> !tile.val<[r, e], f32>
      tile.yield %mn, %ln, %on : !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r, e], f32>
    } : !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r, e], f32>
    // A row whose maximum never exceeded the fill has no key: output 0, log-sum-exp -inf (in units of log2).
    %out = tile.map(%o, %l, %m) : (!tile.val<[r, e], f32>, !tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r, e], f32> {
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
      %s = tile.dot %q, %k over d init(%wl : !tile.val<[r, c], f32>) : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %p0 = tile.map(%s) : (!tile.val<[r, c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32):
        %z = math.exp2 %x : f32
        tile.yield %z : f32
      }
      %p = tile.mask %p0 fill 0.0 : !tile.val<[r, c], f32>
      %dp = tile.dot %do, %v over e init(%ndelta : !tile.val<[r], f32>) : !tile.val<[r, e], f32>, !tile.val<[c, e], f32> -> !tile.val<[r, c], f32>
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
    %rest, %o = tile.stream descending carry(%r0, %o0 : !tile.val<[r], f32>, !tile.val<[r, e], f32>) attributes {stop_carry = 0 : i64, stop_below = 1.0e-9 : f64} {
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
      %on = tile.dot %a, %v over c init(%oc : !tile.val<[r, e], f32>) : !tile.val<[r, c], f32>, !tile.val<[c, e], f32> -> !tile.val<[r, e], f32>
      tile.yield %rn, %on : !tile.val<[r], f32>, !tile.val<[r, e], f32>
    } : !tile.val<[r], f32>, !tile.val<[r, e], f32>
    tile.store %o, %O : !tile.val<[r, e], f32> -> !tile.buffer<[b, hq, r, e], f32>
  }
}

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
    %uend, %dq, %dk, %dv = tile.stream ascending carry(%u0 : !tile.val<[r], f32>) skip(%S : !tile.buffer<[b, hq, kb, r], f32>) attributes {skip_below = 1.0e-9 : f64} {
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
      %uprev, %un = tile.scan linear ascending %keep plus %bda : !tile.val<[r, c], f32> carry %uc exclusive : !tile.val<[r, c], f32>, !tile.val<[r], f32>
      %dz = tile.map(%a, %keep, %da, %uprev) : (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>, !tile.val<[r, c], f32>, !tile.val<[r, c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%w: f32, %x: f32, %y: f32, %x2: f32):
        %0 = arith.mulf %w, %x : f32
        %1 = arith.subf %y, %x2 : f32
        %2 = arith.mulf %0, %1 : f32
        tile.yield %2 : f32
      }
      %dqb = tile.dot %dz, %k over c : !tile.val<[r, c], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, d], f32>
      %dkb = tile.dot %dz, %q0 over r : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.val<[c, d], f32>
      %dvb = tile.dot %a, %do over r : !tile.val<[r, c], f32>, !tile.val<[r, e], f32> -> !tile.val<[c, e], f32>
      tile.yield %un, %dqb, %dkb, %dvb : !tile.val<[r], f32>, !tile.val<[r, d], f32>, !tile.val<[c, d], f32>, !tile.val<[c, e], f32>
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
