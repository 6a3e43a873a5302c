// Softmax attention with every kind of bias the tile dialect has, forward and backward: a distance
// table, a piecewise linear function built from a network, a general function of the pair, a column
// vector and a row vector. Depths 8 and 4, scale 0.25. Input of ExecutionTest.cpp.

!h = !tile.val<h, f32>
!r = !tile.val<r, f32>
!c = !tile.val<c, f32>
!rc = !tile.val<rc, f32>
!rd = !tile.val<rd, f32>
!re = !tile.val<re, f32>
!cd = !tile.val<cd, f32>
!ce = !tile.val<ce, f32>
!q = !tile.buffer<[b, hq, r, d], f32>
!k = !tile.buffer<[b, hkv, c, d], f32>
!v = !tile.buffer<[b, hkv, c, e], f32>
!o = !tile.buffer<[b, hq, r, e], f32>
!rows = !tile.buffer<[b, hq, r], f32>
!columns = !tile.buffer<[b, hq, c], f32>
!heads = !tile.buffer<[hq], f32>
!table = !tile.buffer<[hq, t], f32>

tile.plan @terms_forward attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !q
  %K = tile.buffer "k" argument : !k
  %V = tile.buffer "v" argument : !v
  %slopes = tile.buffer "slopes" argument : !heads
  %amp = tile.buffer "amp" argument : !heads
  %col = tile.buffer "col" argument : !columns
  %row = tile.buffer "row" argument : !rows
  %w1 = tile.buffer "w1" argument : !tile.buffer<[8], f32>
  %b1 = tile.buffer "b1" argument : !tile.buffer<[8], f32>
  %w2 = tile.buffer "w2" argument : !tile.buffer<[hq, 8], f32>
  %b2 = tile.buffer "b2" argument : !heads
  %T = tile.buffer "table" residual : !table
  %u = tile.buffer "u" residual : !tile.buffer<[t], f32>
  %vr = tile.buffer "v_row" residual : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" residual : !tile.buffer<[8], f32>
  %slope = tile.buffer "slope" residual : !tile.buffer<[hq, 9], f32>
  %offset = tile.buffer "offset" residual : !tile.buffer<[hq, 9], f32>
  %count = tile.buffer "count" residual : !tile.buffer<[1], i32>
  %O = tile.buffer "o" result : !o
  %L = tile.buffer "lse" residual : !rows
  tile.stage @distances prepare over ["hq"] {
    %zero_distance = tile.size "c - 1 - q_start + k_start" : index
    tile.foreach over ["r + c - 1"] {
    ^bb0(%h: index, %t: index):
      %d = arith.subi %t, %zero_distance : index
      %d32 = arith.index_cast %d : index to i32
      %x = arith.sitofp %d32 : i32 to f32
      %a = math.absf %x : f32
      %s = tile.read %slopes[%h] : !heads -> f32
      %y = arith.mulf %a, %s : f32
      %n = arith.negf %y : f32
      tile.write %n, %T[%h, %t] : f32 -> !table
      %tenth = arith.constant 0.1 : f32
      %z = arith.mulf %a, %tenth : f32
      %l = math.log1p %z : f32
      tile.write %l, %u[%t] : f32 -> !tile.buffer<[t], f32>
      tile.yield
    }
  }
  tile.stage @positions prepare over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %start = tile.size "q_start" : index
      %p = arith.addi %i, %start : index
      %five = arith.constant 5 : index
      %n = arith.maxsi %p, %five : index
      %n32 = arith.index_cast %n : index to i32
      %x = arith.sitofp %n32 : i32 to f32
      %tenth = arith.constant 0.1 : f32
      %z = arith.mulf %x, %tenth : f32
      %l = math.log1p %z : f32
      %one = arith.constant 1.0 : f32
      %y = arith.divf %one, %l : f32
      tile.write %y, %vr[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @find prepare over [] {
    tile.find_segments(%w1, %b1, %w2, %b2) range %u, %vr into %knots, %slope, %offset, %count : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !heads, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9], f32>, !tile.buffer<[hq, 9], f32>, !tile.buffer<[1], i32>
  }
  tile.stage @forward forward over ["b", "hq"] mask {kind = "causal"} {
    %q0 = tile.load %Q : !q -> !rd
    %q = tile.map(%q0) : (!rd) -> !rd {
    ^bb0(%x: f32):
      %scale = arith.constant 0.36067376 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    %a = tile.load %amp : !heads -> !h
    %rw = tile.load %row : !rows -> !r
    %m0 = tile.constant -1.0e30 : !r
    %l0 = tile.constant 0.0 : !r
    %o0 = tile.constant 0.0 : !re
    %m, %l, %o = tile.stream ascending carry(%m0, %l0, %o0 : !r, !r, !re) {
    ^bb0(%mc: !r, %lc: !r, %oc: !re):
      %k = tile.load %K : !k -> !cd
      %v = tile.load %V : !v -> !ce
      %w = tile.window %T : !table -> !rc
      %g = tile.segments %u, %vr, %knots, %slope, %offset, %count : !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9], f32>, !tile.buffer<[hq, 9], f32>, !tile.buffer<[1], i32> -> !rc
      %cl = tile.load %col : !columns -> !c
      %bias = tile.map(%w, %g, %a, %cl, %rw) positions : (!rc, !rc, !h, !c, !r) -> !rc {
      ^bb0(%x: f32, %y: f32, %am: f32, %c: f32, %r: f32, %b: index, %h: index, %i: index, %j: index):
        %d = arith.subi %i, %j : index
        %d32 = arith.index_cast %d : index to i32
        %df = arith.sitofp %d32 : i32 to f32
        %da = math.absf %df : f32
        %seventh = arith.constant -0.14285714 : f32
        %e0 = arith.mulf %da, %seventh : f32
        %e1 = math.exp %e0 : f32
        // The amplitude through the parameter, to read one inside a map.
        %am2 = tile.read %amp[%h] : !heads -> f32
        %both = arith.addf %am, %am2 : f32
        %half = arith.constant 0.5 : f32
        %mean = arith.mulf %both, %half : f32
        %e = arith.mulf %mean, %e1 : f32
        %s0 = arith.addf %x, %y : f32
        %s1 = arith.addf %s0, %e : f32
        %s2 = arith.addf %s1, %c : f32
        %s3 = arith.addf %s2, %r : f32
        %unit = arith.constant 1.44269504 : f32
        %s4 = arith.mulf %s3, %unit : f32
        tile.yield %s4 : f32
      }
      %s0 = tile.dot %q, %k over d init(%bias : !rc) : !rd, !cd -> !rc
      %s = tile.mask %s0 fill -1.0e30 : !rc
      %mb = tile.reduce max over c %s : !rc -> !r
      %mn = tile.map(%mc, %mb) : (!r, !r) -> !r {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maxnumf %x, %y : f32
        tile.yield %z : f32
      }
      %alpha = tile.map(%mc, %mn) : (!r, !r) -> !r {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %x, %y : f32
        %e = math.exp2 %z : f32
        tile.yield %e : f32
      }
      %p = tile.map(%s, %mn) : (!rc, !r) -> !rc {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %x, %y : f32
        %e = math.exp2 %z : f32
        tile.yield %e : f32
      }
      %pb = tile.reduce add over c %p : !rc -> !r
      %ln = tile.map(%lc, %alpha, %pb) : (!r, !r, !r) -> !r {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %e = arith.mulf %x, %y : f32
        %f = arith.addf %e, %z : f32
        tile.yield %f : f32
      }
      %os = tile.map(%oc, %alpha) : (!re, !r) -> !re {
      ^bb0(%x: f32, %y: f32):
        %z = arith.mulf %x, %y : f32
        tile.yield %z : f32
      }
      %on = tile.dot %p, %v over c init(%os : !re) : !rc, !ce -> !re
      tile.yield %mn, %ln, %on : !r, !r, !re
    } : !r, !r, !re
    %out = tile.map(%o, %l, %m) : (!re, !r, !r) -> !re {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %none = arith.constant -1.0e29 : f32
      %zero = arith.constant 0.0 : f32
      %u0 = arith.divf %x, %y : f32
      %some = arith.cmpf ogt, %z, %none : f32
      %u1 = arith.select %some, %u0, %zero : f32
      tile.yield %u1 : f32
    }
    %lse = tile.map(%l, %m) : (!r, !r) -> !r {
    ^bb0(%y: f32, %z: f32):
      %none = arith.constant -1.0e29 : f32
      %ninf = arith.constant 0xFF800000 : f32
      %u0 = math.log2 %y : f32
      %u1 = arith.addf %u0, %z : f32
      %some = arith.cmpf ogt, %z, %none : f32
      %u2 = arith.select %some, %u1, %ninf : f32
      tile.yield %u2 : f32
    }
    tile.store %out, %O : !re -> !o
    tile.store %lse, %L : !r -> !rows
  }
}

tile.plan @terms_backward attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !q
  %K = tile.buffer "k" argument : !k
  %V = tile.buffer "v" argument : !v
  %amp = tile.buffer "amp" argument : !heads
  %col = tile.buffer "col" argument : !columns
  %row = tile.buffer "row" argument : !rows
  %T = tile.buffer "table" residual : !table
  %u = tile.buffer "u" residual : !tile.buffer<[t], f32>
  %vr = tile.buffer "v_row" residual : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" residual : !tile.buffer<[8], f32>
  %slope = tile.buffer "slope" residual : !tile.buffer<[hq, 9], f32>
  %offset = tile.buffer "offset" residual : !tile.buffer<[hq, 9], f32>
  %count = tile.buffer "count" residual : !tile.buffer<[1], i32>
  %O = tile.buffer "o" result : !o
  %L = tile.buffer "lse" residual : !rows
  %DO = tile.buffer "d_o" cotangent : !o
  %DQ = tile.buffer "d_q" gradient : !q
  %DK = tile.buffer "d_k" gradient : !k
  %DV = tile.buffer "d_v" gradient : !v
  %G = tile.buffer "diagonals" temporary {zero} : !tile.buffer<[b, hq, t], f32>
  %M = tile.buffer "moments" temporary {zero} : !tile.buffer<[b, hq, 9, 2], f32>
  %GV = tile.buffer "v_grad" temporary {zero} : !rows
  %GU = tile.buffer "u_grad" temporary {zero} : !tile.buffer<[b, hq, t], f32>
  %GA = tile.buffer "amp_sums" temporary {zero} : !tile.buffer<[b, hq], f64>
  %GC = tile.buffer "col_sums" temporary : !tile.buffer<[b, hkv, c], f32>
  %GR = tile.buffer "row_sums" temporary : !rows
  %GH = tile.buffer "head_sums" temporary : !tile.buffer<[b, hq], f32>
  %DA = tile.buffer "d_amp" gradient {zero} : !tile.buffer<[hq], f64>
  tile.stage @backward backward over ["b", "hkv"] mask {kind = "causal"} {
    %q0 = tile.load %Q : !q -> !rd
    %q = tile.map(%q0) : (!rd) -> !rd {
    ^bb0(%x: f32):
      %scale = arith.constant 0.36067376 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    %a = tile.load %amp : !heads -> !h
    %rw = tile.load %row : !rows -> !r
    %o = tile.load %O : !o -> !re
    %do = tile.load %DO : !o -> !re
    %lse = tile.load %L : !rows -> !r
    %od = tile.map(%o, %do) : (!re, !re) -> !re {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      tile.yield %z : f32
    }
    %delta = tile.reduce add over e %od : !re -> !r
    %ndelta = tile.map(%delta) : (!r) -> !r {
    ^bb0(%x: f32):
      %z = arith.negf %x : f32
      tile.yield %z : f32
    }
    %dq, %dk, %dv, %gc, %gr, %gh = tile.stream any {
      %k = tile.load %K : !k -> !cd
      %v = tile.load %V : !v -> !ce
      %w = tile.window %T : !table -> !rc
      %g = tile.segments %u, %vr, %knots, %slope, %offset, %count : !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9], f32>, !tile.buffer<[hq, 9], f32>, !tile.buffer<[1], i32> -> !rc
      %cl = tile.load %col : !columns -> !c
      %bias = tile.map(%w, %g, %a, %cl, %rw, %lse) positions : (!rc, !rc, !h, !c, !r, !r) -> !rc {
      ^bb0(%x: f32, %y: f32, %am: f32, %c: f32, %r: f32, %ls: f32, %b: index, %h: index, %i: index, %j: index):
        %d = arith.subi %i, %j : index
        %d32 = arith.index_cast %d : index to i32
        %df = arith.sitofp %d32 : i32 to f32
        %da = math.absf %df : f32
        %seventh = arith.constant -0.14285714 : f32
        %e0 = arith.mulf %da, %seventh : f32
        %e1 = math.exp %e0 : f32
        %e = arith.mulf %am, %e1 : f32
        %s0 = arith.addf %x, %y : f32
        %s1 = arith.addf %s0, %e : f32
        %s2 = arith.addf %s1, %c : f32
        %s3 = arith.addf %s2, %r : f32
        %unit = arith.constant 1.44269504 : f32
        %s4 = arith.mulf %s3, %unit : f32
        %s5 = arith.subf %s4, %ls : f32
        tile.yield %s5 : f32
      }
      %s = tile.dot %q, %k over d init(%bias : !rc) : !rd, !cd -> !rc
      %p0 = tile.map(%s) : (!rc) -> !rc {
      ^bb0(%x: f32):
        %z = math.exp2 %x : f32
        tile.yield %z : f32
      }
      %p = tile.mask %p0 fill 0.0 : !rc
      %dp = tile.dot %do, %v over e init(%ndelta : !r) : !re, !ce -> !rc
      %ds = tile.map(%p, %dp) : (!rc, !rc) -> !rc {
      ^bb0(%x: f32, %y: f32):
        %z = arith.mulf %x, %y : f32
        tile.yield %z : f32
      }
      tile.window_grad %ds, %G : !rc -> !tile.buffer<[b, hq, t], f32>
      tile.segments_grad %ds, %u, %vr, %knots, %slope, %count into %M rows %GV diagonals %GU : !rc, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9], f32>, !tile.buffer<[1], i32>, !tile.buffer<[b, hq, 9, 2], f32>, !rows, !tile.buffer<[b, hq, t], f32>
      tile.map(%ds) positions : (!rc) -> () {
      ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
        %d = arith.subi %i, %j : index
        %d32 = arith.index_cast %d : index to i32
        %df = arith.sitofp %d32 : i32 to f32
        %da = math.absf %df : f32
        %seventh = arith.constant -0.14285714 : f32
        %e0 = arith.mulf %da, %seventh : f32
        %e1 = math.exp %e0 : f32
        %e = arith.mulf %x, %e1 : f32
        tile.accumulate %e, %GA[%b, %h] : f32 -> !tile.buffer<[b, hq], f64>
        tile.yield
      }
      %gcb = tile.reduce add over r %ds : !rc -> !c
      %grb = tile.reduce add over c %ds : !rc -> !r
      %ghb = tile.reduce add over r %grb : !r -> !h
      %dqb = tile.dot %ds, %k over c : !rc, !cd -> !rd
      %dkb = tile.dot %ds, %q0 over r : !rc, !rd -> !cd
      %dvb = tile.dot %p, %do over r : !rc, !re -> !ce
      tile.yield %dqb, %dkb, %dvb, %gcb, %grb, %ghb : !rd, !cd, !ce, !c, !r, !h
    } : !rd, !cd, !ce, !c, !r, !h
    %dqs = tile.map(%dq) : (!rd) -> !rd {
    ^bb0(%x: f32):
      %scale = arith.constant 0.25 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    %dks = tile.map(%dk) : (!cd) -> !cd {
    ^bb0(%x: f32):
      %scale = arith.constant 0.25 : f32
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    tile.store %dqs, %DQ : !rd -> !q
    tile.store %dks, %DK : !cd -> !k
    tile.store %dv, %DV : !ce -> !v
    tile.store %gc, %GC : !c -> !tile.buffer<[b, hkv, c], f32>
    tile.store %gr, %GR : !r -> !rows
    tile.store %gh, %GH : !h -> !tile.buffer<[b, hq], f32>
  }
  tile.stage @finish finish over ["hq"] {
    tile.foreach over ["b"] {
    ^bb0(%h: index, %b: index):
      %x = tile.read %GA[%b, %h] : !tile.buffer<[b, hq], f64> -> f64
      tile.accumulate %x, %DA[%h] : f64 -> !tile.buffer<[hq], f64>
      tile.yield
    }
  }
}
