// RUN: pe run %s --random=1063 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1063 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1063 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// A select between real values, one of them converted from an integer, stays a select between real values.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"},
    %k: !t {pe.name = "k"},
    %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %one = arith.constant 1.0 : f32
    %key = arith.index_cast %j : index to i32
    %number = arith.uitofp %key : i32 to f32
    %is_one = arith.cmpf oeq, %one, %number : f32
    %integer = arith.constant 1 : i64
    %converted = arith.sitofp %integer : i64 to f32
    %other = arith.constant 1.0 : f32
    %choice = arith.select %is_one, %converted, %other : f32
    pe.yield %choice : f32
  }
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
