// A call of an exponential, a trigonometric function, an activation or a special function of another language
// is an error that names the equivalent formula, or an alternative if there is none
// (runtime/plan/FunctionForms.cpp).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

// expected-error @below {{unknown function 'ln'; write log(x)}}
func.func @f() { %0 = pe.bias_fn expr "ln(i)" return }
// -----
// expected-error @below {{unknown function 'log2'; write log(x) / log(2)}}
func.func @f() { %0 = pe.bias_fn expr "log2(i)" return }
// -----
// expected-error @below {{unknown function 'log10'; write log(x) / log(10)}}
func.func @f() { %0 = pe.bias_fn expr "log10(i)" return }
// -----
// expected-error @below {{unknown function 'exp2'; write 2 ^ x}}
func.func @f() { %0 = pe.bias_fn expr "exp2(i)" return }
// -----
// expected-error @below {{unknown function 'pow2'; write 2 ^ x}}
func.func @f() { %0 = pe.bias_fn expr "pow2(i)" return }
// -----
// expected-error @below {{unknown function 'exp10'; write 10 ^ x}}
func.func @f() { %0 = pe.bias_fn expr "exp10(i)" return }
// -----
// expected-error @below {{unknown function 'expm1'; write exp(x) - 1}}
func.func @f() { %0 = pe.bias_fn expr "expm1(i)" return }
// -----
// expected-error @below {{unknown function 'logit'; write log(x) - log(1 - x)}}
func.func @f() { %0 = pe.bias_fn expr "logit(i)" return }
// -----
// expected-error @below {{unknown function 'logaddexp'; write max(a, b) + softplus(-abs(a - b))}}
func.func @f() { %0 = pe.bias_fn expr "logaddexp(i)" return }
// -----
// expected-error @below {{unknown function 'xlogy'; write a * log(b)}}
func.func @f() { %0 = pe.bias_fn expr "xlogy(i)" return }
// -----
// expected-error @below {{unknown function 'tan'; write sin(x) / cos(x)}}
func.func @f() { %0 = pe.bias_fn expr "tan(i)" return }
// -----
// expected-error @below {{unknown function 'cot'; write cos(x) / sin(x)}}
func.func @f() { %0 = pe.bias_fn expr "cot(i)" return }
// -----
// expected-error @below {{unknown function 'sec'; write 1 / cos(x)}}
func.func @f() { %0 = pe.bias_fn expr "sec(i)" return }
// -----
// expected-error @below {{unknown function 'csc'; write 1 / sin(x)}}
func.func @f() { %0 = pe.bias_fn expr "csc(i)" return }
// -----
// expected-error @below {{unknown function 'sinc'; write let y = max(abs(pi * x), 1e-4) in sin(y) / y}}
func.func @f() { %0 = pe.bias_fn expr "sinc(i)" return }
// -----
// expected-error @below {{unknown function 'sinh'; write (exp(x) - exp(-x)) / 2}}
func.func @f() { %0 = pe.bias_fn expr "sinh(i)" return }
// -----
// expected-error @below {{unknown function 'cosh'; write (exp(x) + exp(-x)) / 2}}
func.func @f() { %0 = pe.bias_fn expr "cosh(i)" return }
// -----
// expected-error @below {{unknown function 'sech'; write 2 / (exp(x) + exp(-x))}}
func.func @f() { %0 = pe.bias_fn expr "sech(i)" return }
// -----
// expected-error @below {{unknown function 'coth'; write 1 / tanh(x)}}
func.func @f() { %0 = pe.bias_fn expr "coth(i)" return }
// -----
// expected-error @below {{unknown function 'acosh'; write log(x + sqrt(x * x - 1))}}
func.func @f() { %0 = pe.bias_fn expr "acosh(i)" return }
// -----
// expected-error @below {{unknown function 'arccosh'; write log(x + sqrt(x * x - 1))}}
func.func @f() { %0 = pe.bias_fn expr "arccosh(i)" return }
// -----
// expected-error-re @below {{unknown function 'asinh'; write let s = select(x < 0, -1, 1) in s * log({{.*}}* x + 1))}}
func.func @f() { %0 = pe.bias_fn expr "asinh(i)" return }
// -----
// expected-error-re @below {{unknown function 'arcsinh'; write let{{.*}}in s * log(s * x + sqrt(x * x + 1))}}
func.func @f() { %0 = pe.bias_fn expr "arcsinh(i)" return }
// -----
// expected-error @below {{unknown function 'atanh'; write (log1p(x) - log1p(-x)) / 2}}
func.func @f() { %0 = pe.bias_fn expr "atanh(i)" return }
// -----
// expected-error @below {{unknown function 'arctanh'; write (log1p(x) - log1p(-x)) / 2}}
func.func @f() { %0 = pe.bias_fn expr "arctanh(i)" return }
// -----
// expected-error @below {{unknown function 'deg2rad'; write x * pi / 180}}
func.func @f() { %0 = pe.bias_fn expr "deg2rad(i)" return }
// -----
// expected-error @below {{unknown function 'radians'; write x * pi / 180}}
func.func @f() { %0 = pe.bias_fn expr "radians(i)" return }
// -----
// expected-error @below {{unknown function 'rad2deg'; write x * 180 / pi}}
func.func @f() { %0 = pe.bias_fn expr "rad2deg(i)" return }
// -----
// expected-error @below {{unknown function 'degrees'; write x * 180 / pi}}
func.func @f() { %0 = pe.bias_fn expr "degrees(i)" return }
// -----
// CHECK: unknown function 'asin'; formulas have no inverse trigonometric functions; a region has math.asin
// expected-error-re @below {{unknown function 'asin';{{.*}}trigonometric functions; a region has math.asin}}
func.func @f() { %0 = pe.bias_fn expr "asin(i)" return }
// -----
// expected-error-re @below {{unknown function 'arcsin';{{.*}}trigonometric functions; a region has math.asin}}
func.func @f() { %0 = pe.bias_fn expr "arcsin(i)" return }
// -----
// expected-error-re @below {{unknown function 'acos';{{.*}}trigonometric functions; a region has math.acos}}
func.func @f() { %0 = pe.bias_fn expr "acos(i)" return }
// -----
// expected-error-re @below {{unknown function 'arccos';{{.*}}trigonometric functions; a region has math.acos}}
func.func @f() { %0 = pe.bias_fn expr "arccos(i)" return }
// -----
// expected-error-re @below {{unknown function 'atan';{{.*}}trigonometric functions; a region has math.atan}}
func.func @f() { %0 = pe.bias_fn expr "atan(i)" return }
// -----
// expected-error-re @below {{unknown function 'arctan';{{.*}}trigonometric functions; a region has math.atan}}
func.func @f() { %0 = pe.bias_fn expr "arctan(i)" return }
// -----
// expected-error-re @below {{unknown function 'atan2';{{.*}}trigonometric functions; a region has math.atan2}}
func.func @f() { %0 = pe.bias_fn expr "atan2(i)" return }
// -----
// expected-error-re @below {{unknown function 'arctan2';{{.*}}trigonometric functions; a region has math.atan2}}
func.func @f() { %0 = pe.bias_fn expr "arctan2(i)" return }
// -----
// expected-error @below {{unknown function 'logistic'; write sigmoid(x)}}
func.func @f() { %0 = pe.bias_fn expr "logistic(i)" return }
// -----
// expected-error @below {{unknown function 'expit'; write sigmoid(x)}}
func.func @f() { %0 = pe.bias_fn expr "expit(i)" return }
// -----
// expected-error @below {{unknown function 'logsigmoid'; write -softplus(-x)}}
func.func @f() { %0 = pe.bias_fn expr "logsigmoid(i)" return }
// -----
// expected-error @below {{unknown function 'log_sigmoid'; write -softplus(-x)}}
func.func @f() { %0 = pe.bias_fn expr "log_sigmoid(i)" return }
// -----
// expected-error @below {{unknown function 'silu'; write x * sigmoid(x)}}
func.func @f() { %0 = pe.bias_fn expr "silu(i)" return }
// -----
// expected-error @below {{unknown function 'swish'; write x * sigmoid(x)}}
func.func @f() { %0 = pe.bias_fn expr "swish(i)" return }
// -----
// expected-error @below {{unknown function 'gelu'; write x * (1 + erf(x / sqrt(2))) / 2}}
func.func @f() { %0 = pe.bias_fn expr "gelu(i)" return }
// -----
// expected-error @below {{unknown function 'mish'; write x * tanh(softplus(x))}}
func.func @f() { %0 = pe.bias_fn expr "mish(i)" return }
// -----
// expected-error @below {{unknown function 'elu'; write max(x, 0) + exp(min(x, 0)) - 1}}
func.func @f() { %0 = pe.bias_fn expr "elu(i)" return }
// -----
// expected-error @below {{unknown function 'leaky_relu'; write max(x, 0.01 * x)}}
func.func @f() { %0 = pe.bias_fn expr "leaky_relu(i)" return }
// -----
// expected-error @below {{unknown function 'relu6'; write clamp(x, 0, 6)}}
func.func @f() { %0 = pe.bias_fn expr "relu6(i)" return }
// -----
// expected-error @below {{unknown function 'hardtanh'; write clamp(x, -1, 1)}}
func.func @f() { %0 = pe.bias_fn expr "hardtanh(i)" return }
// -----
// expected-error @below {{unknown function 'hardsigmoid'; write clamp(x / 6 + 0.5, 0, 1)}}
func.func @f() { %0 = pe.bias_fn expr "hardsigmoid(i)" return }
// -----
// expected-error @below {{unknown function 'softsign'; write x / (1 + abs(x))}}
func.func @f() { %0 = pe.bias_fn expr "softsign(i)" return }
// -----
// expected-error @below {{unknown function 'erfc'; write 1 - erf(x)}}
func.func @f() { %0 = pe.bias_fn expr "erfc(i)" return }
// -----
// CHECK: unknown function 'erfinv'; this function is not available; capture a table of its values and read table[i - j]
// expected-error-re @below {{unknown function 'erfinv';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "erfinv(i)" return }
// -----
// expected-error-re @below {{unknown function 'gamma';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "gamma(i)" return }
// -----
// expected-error-re @below {{unknown function 'lgamma';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "lgamma(i)" return }
// -----
// expected-error-re @below {{unknown function 'gammaln';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "gammaln(i)" return }
// -----
// expected-error-re @below {{unknown function 'loggamma';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "loggamma(i)" return }
// -----
// expected-error-re @below {{unknown function 'digamma';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "digamma(i)" return }
// -----
// expected-error-re @below {{unknown function 'beta';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "beta(i)" return }
// -----
// expected-error-re @below {{unknown function 'zeta';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "zeta(i)" return }
// -----
// expected-error-re @below {{unknown function 'factorial';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "factorial(i)" return }
// -----
// expected-error-re @below {{unknown function 'bessel';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "bessel(i)" return }
// -----
// expected-error-re @below {{unknown function 'bessel_j0';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "bessel_j0(i)" return }
// -----
// expected-error-re @below {{unknown function 'bessel_j1';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "bessel_j1(i)" return }
// -----
// expected-error-re @below {{unknown function 'i0';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "i0(i)" return }
// -----
// expected-error-re @below {{unknown function 'j0';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "j0(i)" return }
// -----
// expected-error-re @below {{unknown function 'j1';{{.*}}capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "j1(i)" return }
