// RUN: pe-opt %s --split-input-file --pe-split-terms --verify-diagnostics

func.func @not_expanded(%q: tensor<?x?x?x64xf32>, %s: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %d = pe.distance
  %bias = pe.linear %d slope(%s : tensor<?xf32>)
  // expected-error@+1 {{'pe.attention' op expected every bias to be a pe.bias_fn, found pe.linear}}
  %o = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

func.func @hidden_width(%q: tensor<?x?x?x64xf32>, %w1: tensor<?xf32>, %w2: tensor<?x?xf32>,
                        %b2: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %bias = pe.bias_fn(%w1, %w2, %b2 : tensor<?xf32>, tensor<?x?xf32>, tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %c1: tensor<?xf32>, %c2: tensor<?x?xf32>,
       %c3: tensor<?xf32>):
    %x = arith.constant 0.5 : f32
    // expected-error@+1 {{'pe.mlp_eval' op expected hidden layers of static sizes, found 'tensor<?xf32>'}}
    %y = pe.mlp_eval %x, %h layers(%c1, %c1, %c2, %c3
        : tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>, tensor<?xf32>) : f32
    pe.yield %y : f32
  }
  %o = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
