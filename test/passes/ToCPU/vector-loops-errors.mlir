// RUN: pe-opt %s --pe-tile-to-cpu --verify-diagnostics

tile.plan @plan attributes {head_dim = 0 : i64, value_dim = 0 : i64} {
  %y = tile.buffer "y" result : !tile.buffer<[r], f32>
  // expected-error-re @below {{expected 'cpu_loops' to have positive{{.*}}found {group = 0 : i64, lanes = 16 : i64}}}
  tile.stage @rows forward over ["r"] attributes {cpu_loops = {lanes = 16 : i64, group = 0 : i64}} {
    tile.foreach over [] {
    ^bb0(%r: index):
      %zero = arith.constant 0.0 : f32
      tile.write %zero, %y[%r] : f32 -> !tile.buffer<[r], f32>
    }
  }
}
