// One case per constraint of coordinates (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

func.func @progressive_length() {
  // expected-error @below {{initial_length to be a finite number above 0, found 0.000000e+00 (progressive-C1)}}
  %t = pe.progressive {initial_length = 0.0}
  return
}

// -----

func.func @progressive_epsilon() {
  // expected-error @below {{epsilon to be a finite number of at least 0, found -1.000000e+00 (progressive-C2)}}
  %t = pe.progressive {epsilon = -1.0}
  return
}

// -----

func.func @no_buckets() {
  // expected-error @below {{expected at least 2 buckets, found -1 (bucket-C1)}}
  %x = pe.bucket {buckets = -1}
  return
}

// -----

func.func @too_few_buckets_per_side() {
  // expected-error @below {{expected at least 4 buckets, found 2 (bucket-C1)}}
  %x = pe.bucket {buckets = 2, bidirectional = true}
  return
}

// -----

func.func @odd_buckets() {
  // expected-error @below {{expected an even number of buckets, half of them for each side, found 33 (bucket-C2)}}
  %x = pe.bucket {buckets = 33, bidirectional = true}
  return
}

// -----

func.func @short_max_distance() {
  // expected-error @below {{expected max_distance above the 16 exact buckets, found 16 (bucket-C3)}}
  %x = pe.bucket {buckets = 32, max_distance = 16}
  return
}

// -----

func.func @too_many_buckets() {
  // expected-error @below {{expected at most 4096 buckets, found 100000 (bucket-C4)}}
  %x = pe.bucket {buckets = 100000, max_distance = 1000000}
  return
}

// -----

func.func @far_max_distance() {
  // expected-error @below {{expected max_distance below 2^31, found 4294967296 (bucket-C5)}}
  %x = pe.bucket {max_distance = 4294967296}
  return
}
