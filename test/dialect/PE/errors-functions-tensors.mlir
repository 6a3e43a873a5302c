// A call of a function of tensors or of random numbers of another language is an error that names the
// equivalent formula, or an alternative if there is none (runtime/plan/FunctionForms.cpp).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

// expected-error @below {{unknown function 'len'; write size(table, 0)}}
func.func @f() { %0 = pe.bias_fn expr "len(i)" return }
// -----
// expected-error @below {{unknown function 'gather'; write table[n]}}
func.func @f() { %0 = pe.bias_fn expr "gather(i)" return }
// -----
// expected-error @below {{unknown function 'take'; write table[n]}}
func.func @f() { %0 = pe.bias_fn expr "take(i)" return }
// -----
// expected-error @below {{unknown function 'embedding'; write table[n]}}
func.func @f() { %0 = pe.bias_fn expr "embedding(i)" return }
// -----
// expected-error @below {{unknown function 'dot'; write sum(n < size(table, 0), table[n] * table[n])}}
func.func @f() { %0 = pe.bias_fn expr "dot(i)" return }
// -----
// expected-error @below {{unknown function 'norm'; write sqrt(sum(n < size(table, 0), table[n] * table[n]))}}
func.func @f() { %0 = pe.bias_fn expr "norm(i)" return }
// -----
// expected-error @below {{unknown function 'mean'; write sum(n < size(table, 0), table[n]) / size(table, 0)}}
func.func @f() { %0 = pe.bias_fn expr "mean(i)" return }
// -----
// expected-error @below {{unknown function 'logsumexp'; write log(sum(n < size(table, 0), exp(table[n])))}}
func.func @f() { %0 = pe.bias_fn expr "logsumexp(i)" return }
// -----
// CHECK: unknown function 'prod'; a formula has no products over an index;
// CHECK-SAME: {{^}} for positive numbers write exp(sum(n < 8, log(table[n])))
// expected-error @below {{unknown function 'prod'; a formula has no products over an index;}}
func.func @f() { %0 = pe.bias_fn expr "prod(i)" return }
// -----
// CHECK: unknown function 'argmax'; a formula gives one number per pair;
// CHECK-SAME: {{^}} of the reductions over an index it has sums alone, as in sum(n < 8, table[n])
// expected-error @below {{unknown function 'argmax'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "argmax(i)" return }
// -----
// expected-error @below {{unknown function 'argmin'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "argmin(i)" return }
// -----
// expected-error @below {{unknown function 'amax'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "amax(i)" return }
// -----
// expected-error @below {{unknown function 'amin'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "amin(i)" return }
// -----
// expected-error @below {{unknown function 'std'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "std(i)" return }
// -----
// expected-error @below {{unknown function 'var'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "var(i)" return }
// -----
// expected-error @below {{unknown function 'median'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "median(i)" return }
// -----
// expected-error @below {{unknown function 'sort'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "sort(i)" return }
// -----
// expected-error @below {{unknown function 'topk'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "topk(i)" return }
// -----
// expected-error @below {{unknown function 'cumsum'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "cumsum(i)" return }
// -----
// expected-error @below {{unknown function 'cumprod'; a formula gives one number per pair;}}
func.func @f() { %0 = pe.bias_fn expr "cumprod(i)" return }
// -----
// CHECK: unknown function 'softmax'; pe.attention takes the softmax of the scores itself;
// CHECK-SAME: {{^}} a formula gives one number per pair
// expected-error @below {{unknown function 'softmax'; pe.attention takes the softmax of the scores itself;}}
func.func @f() { %0 = pe.bias_fn expr "softmax(i)" return }
// -----
// expected-error @below {{unknown function 'log_softmax'; pe.attention takes the softmax of the scores itself;}}
func.func @f() { %0 = pe.bias_fn expr "log_softmax(i)" return }
// -----
// CHECK: unknown function 'dropout'; a formula draws no random numbers;
// CHECK-SAME: {{^}} pe.attention has dropout(p, %seed), and noise is captured as a tensor
// expected-error @below {{unknown function 'dropout'; a formula draws no random numbers;}}
func.func @f() { %0 = pe.bias_fn expr "dropout(i)" return }
// -----
// expected-error @below {{unknown function 'rand'; a formula draws no random numbers;}}
func.func @f() { %0 = pe.bias_fn expr "rand(i)" return }
// -----
// expected-error @below {{unknown function 'randn'; a formula draws no random numbers;}}
func.func @f() { %0 = pe.bias_fn expr "randn(i)" return }
// -----
// expected-error @below {{unknown function 'range'; the positions are i and j, and sum(n < 8, table[n]) counts n}}
func.func @f() { %0 = pe.bias_fn expr "range(i)" return }
// -----
// expected-error @below {{unknown function 'arange'; the positions are i and j, and sum(n < 8, table[n]) counts n}}
func.func @f() { %0 = pe.bias_fn expr "arange(i)" return }
