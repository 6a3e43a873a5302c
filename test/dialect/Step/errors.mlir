// RUN: pe-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a field of lanes, group with a value, found warps = 4 (step-C1)}}
#a = #step.loops<lanes = 16, warps = 4>

// -----

// expected-error @below {{ahead, slots, late_slots with a value, found owner = heads (step-C1)}}
#a = #step.gpu<owner = heads>

// -----

// expected-error @below {{with a value, found warps = many (step-C1)}}
#a = #step.gpu<warps = many>

// -----

// expected-error @below {{expected each field once, found warps again (step-C1)}}
#a = #step.gpu<warps = 4, warps = 8>

// -----

// expected-error @below {{expected group from 1 to 1048576, found 0 (step-C2)}}
#a = #step.loops<lanes = 16, group = 0>

// -----

// expected-error @below {{expected inner_block from 16 to 256, a multiple of 16, found 24 (step-C2)}}
#a = #step.gpu<inner_block = 24>

// -----

// expected-error @below {{expected warps from 1 to 16, found 17 (step-C2)}}
#a = #step.gpu<warps = 17>

// -----

// expected-error @below {{expected key_block to be a multiple of its tiles, 12, found 64 (step-C3)}}
#a = #step.cpu<key_rows = 3, key_block = 64>

// -----

// expected-error @below {{expected query_block to be a multiple of its tiles, 32, found 48 (step-C3)}}
#a = #step.cpu<lanes = 16, query_block = 48>

// -----

// expected-error @below {{expected an even sweep_keys with by = pairdot, found 1 (step-C3)}}
#a = #step.cpu<sweep_keys = 1, by = pairdot>

// -----

// expected-error @below {{expected an even key_rows with by = pairdot, found 1 (step-C3)}}
#a = #step.cpu<key_rows = 1, by = pairdot>

// -----

// expected-error @below {{expected by = fma with along = keys, found by = pairdot (step-C3)}}
#a = #step.cpu<along = keys, by = pairdot>

// -----

tile.plan @f attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  // expected-error @below {{invalid kind of attribute specified}}
  tile.stage @s forward over ["b", "hq"] schedule "fast" {
  }
}
