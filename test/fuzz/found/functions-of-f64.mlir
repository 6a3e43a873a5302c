// RUN: pe run %s --random=2579 --shape=b=1,h=1,sq=3,sk=5,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=2579 --shape=b=1,h=1,sq=3,sk=5,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=2579 --shape=b=1,h=1,sq=3,sk=5,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// Functions of f64 vectors for which there is neither a polynomial nor an LLVM intrinsic.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %either = arith.xori %i, %j : index
    %whole = arith.index_cast %either : index to i64
    %x = arith.sitofp %whole : i64 to f64
    %root = math.cbrt %x : f64
    %share = math.erf %root : f64
    %angle = math.atan2 %root, %x : f64
    %sum = arith.addf %share, %angle : f64
    %result = arith.truncf %sum : f64 to f32
    pe.yield %result : f32
  }
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
