// Errors on the syntax of other languages name the syntax of formulas.
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: {{.*}}expected a number, a name or '(', found '**';
  // CHECK-SAME: {{^}} a power is written x ^ 2
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "(i - j) ** 2"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '.'; write exp(...) without 'torch.'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "torch.exp(-abs(i - j))"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '.'; write select(condition, a, b) without 'np.'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "np.where(i > j, 1, 0)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '.'; write inf
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "math.inf"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '.'; a function is written before its argument, as in abs(x)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp.exp()"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found 'if'; a choice is written select(condition, a, b)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "1 if i > j else 0"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found 'h'; write the formula itself, without 'lambda ...:'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "lambda h, i, j: amp[h]"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '&&'; write 'and'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "i > j && j > 2"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '||'; write 'or'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "i > j || j > 2"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '!'; write 'not'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "select(!(i > j), 1, 2)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '?'; a choice is written select(condition, a, b)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "select(i > j ? 1 : 2)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: {{.*}}expected one comparison, found two in a chain;
  // CHECK-SAME: {{^}} write 0 <= i - j and i - j < 10
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "select(0 <= i - j < 10, 1, 2)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}unknown function 'where'; write select(condition, a, b)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "where(i > j, 1, 2)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '='; equality is written ==
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "select(i = j, 1, 2)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}unknown function 'expp'; did you mean exp?
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "expp(i - j)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: {{.*}}expected a function, found the tensor 'amp';
  // CHECK-SAME: {{^}} read its elements as amp{{\[}}h{{\]}}
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp(h)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: {{.*}}expected a captured tensor (amp), found 'exp';
  // CHECK-SAME: {{^}} call a function as exp(x)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "exp[h]"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}expected a captured tensor (amp), found 'ampl'; did you mean amp?
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "ampl[h]"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: {{.*}}or a captured tensor, found 's'; only pe.score_fn has s,
  // CHECK-SAME: {{^}} the scaled product of query and key
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "s * 2"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}expected 2 argument(s) of max, found 3; write max(a, max(b, c))
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "max(i, j, 1)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: {{.*}}found a real number; use a // b for the quotient rounded down,
  // CHECK-SAME: {{^}} or int(x)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h / 2]"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: {{.*}}found ':'; a tensor is read at one index per axis;
  // CHECK-SAME: {{^}} there are no slices
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h, :]"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '['; write all indices of a tensor in one list, as in t[h, i]
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h][i]"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '≤'; write <=
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "i ≤ j"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}found '.'; write log(x + sqrt(x * x - 1)) without 'torch.'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "torch.acosh(i)"
}
// -----
func.func @f(%amp: tensor<?xf32>) {
  // CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: {{.*}}found '.'; formulas have no inverse trigonometric functions;
  // CHECK-SAME: {{^}} a region has math.atan{{$}}
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "np.arctan(i)"
}
