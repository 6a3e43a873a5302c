// RUN: pe-opt %s -o /dev/null --pe-structure-pipeline --pe-explain-structure | FileCheck %s

// Formula, price and advice for terms without a cheaper class.
// CHECK:      attention at
// CHECK-NEXT:   bias slope[h] * log(abs(i - j) + 0.5) / (1 + i * j)
// CHECK-NEXT:     at {{.*}}, parameters slope
// CHECK-NEXT:     class: general, because it
// CHECK-NEXT:     forward: evaluates its code for every score; backward: runs its reverse mode for every score
// CHECK-NEXT:     price: {{[0-9]+}} operations per score, 2 of them division, exp, log or similar;
// CHECK-SAME:     attention without a bias takes 96
// CHECK-NEXT:     advice: for a lower price, write it as a sum of functions of only i - j (tables)
func.func @general(%q: tensor<?x?x?x16xf32> {pe.name = "q"}, %v: tensor<?x?x?x32xf32> {pe.name = "v"},
                   %slope: tensor<?xf32> {pe.name = "slope"}) -> (tensor<?x?x?x32xf32> {pe.name = "o"}) {
  %b = pe.bias_fn(%slope : tensor<?xf32>) expr "slope[h] * log(abs(i - j) + 0.5) / (1 + i * j)"
  %o = pe.attention %q, %q, %v bias(%b)
      : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return %o : tensor<?x?x?x32xf32>
}
