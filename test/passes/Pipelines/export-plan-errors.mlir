// RUN: pe-opt %s --verify-diagnostics --pe-export-plan
tile.plan @attention attributes {head_dim = 64, value_dim = 64} {
  // expected-error @+1 {{expected every stage to be lowered to tile.launch, found tile.stage}}
  tile.stage @forward forward over ["b"] {
  }
}
