// Errors on functions of other languages name the equivalent formula, or an alternative if there is
// none. Every row of runtime/plan/FunctionForms.cpp has a case here.
// RUN: pe-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{unknown function 'where'; write select(condition, a, b)}}
func.func @f() { %0 = pe.bias_fn expr "where(i)" return }
// -----
// expected-error @below {{unknown function 'cond'; write select(condition, a, b)}}
func.func @f() { %0 = pe.bias_fn expr "cond(i)" return }
// -----
// expected-error @below {{unknown function 'if'; write select(condition, a, b)}}
func.func @f() { %0 = pe.bias_fn expr "if(i)" return }
// -----
// expected-error @below {{unknown function 'heaviside'; write select(x < 0, 0, 1)}}
func.func @f() { %0 = pe.bias_fn expr "heaviside(i)" return }
// -----
// expected-error @below {{unknown function 'logical_and'; write a and b}}
func.func @f() { %0 = pe.bias_fn expr "logical_and(i)" return }
// -----
// expected-error @below {{unknown function 'logical_or'; write a or b}}
func.func @f() { %0 = pe.bias_fn expr "logical_or(i)" return }
// -----
// expected-error @below {{unknown function 'logical_not'; write not a}}
func.func @f() { %0 = pe.bias_fn expr "logical_not(i)" return }
// -----
// expected-error @below {{unknown function 'any'; write a or b}}
func.func @f() { %0 = pe.bias_fn expr "any(i)" return }
// -----
// expected-error @below {{unknown function 'all'; write a and b}}
func.func @f() { %0 = pe.bias_fn expr "all(i)" return }
// -----
// expected-error @below {{unknown function 'eq'; write a == b}}
func.func @f() { %0 = pe.bias_fn expr "eq(i)" return }
// -----
// expected-error @below {{unknown function 'ne'; write a != b}}
func.func @f() { %0 = pe.bias_fn expr "ne(i)" return }
// -----
// expected-error @below {{unknown function 'lt'; write a < b}}
func.func @f() { %0 = pe.bias_fn expr "lt(i)" return }
// -----
// expected-error @below {{unknown function 'le'; write a <= b}}
func.func @f() { %0 = pe.bias_fn expr "le(i)" return }
// -----
// expected-error @below {{unknown function 'gt'; write a > b}}
func.func @f() { %0 = pe.bias_fn expr "gt(i)" return }
// -----
// expected-error @below {{unknown function 'ge'; write a >= b}}
func.func @f() { %0 = pe.bias_fn expr "ge(i)" return }
// -----
// expected-error @below {{unknown function 'isnan'; write x != x}}
func.func @f() { %0 = pe.bias_fn expr "isnan(i)" return }
// -----
// expected-error @below {{unknown function 'isinf'; write abs(x) == inf}}
func.func @f() { %0 = pe.bias_fn expr "isinf(i)" return }
// -----
// expected-error @below {{unknown function 'isfinite'; write abs(x) < inf}}
func.func @f() { %0 = pe.bias_fn expr "isfinite(i)" return }
// -----
// expected-error @below {{unknown function 'bool'; write x != 0}}
func.func @f() { %0 = pe.bias_fn expr "bool(i)" return }
// -----
// expected-error @below {{unknown function 'add'; write a + b}}
func.func @f() { %0 = pe.bias_fn expr "add(i)" return }
// -----
// expected-error @below {{unknown function 'sub'; write a - b}}
func.func @f() { %0 = pe.bias_fn expr "sub(i)" return }
// -----
// expected-error @below {{unknown function 'subtract'; write a - b}}
func.func @f() { %0 = pe.bias_fn expr "subtract(i)" return }
// -----
// expected-error @below {{unknown function 'mul'; write a * b}}
func.func @f() { %0 = pe.bias_fn expr "mul(i)" return }
// -----
// expected-error @below {{unknown function 'multiply'; write a * b}}
func.func @f() { %0 = pe.bias_fn expr "multiply(i)" return }
// -----
// expected-error @below {{unknown function 'divide'; write a / b}}
func.func @f() { %0 = pe.bias_fn expr "divide(i)" return }
// -----
// expected-error @below {{unknown function 'true_divide'; write a / b}}
func.func @f() { %0 = pe.bias_fn expr "true_divide(i)" return }
// -----
// expected-error @below {{unknown function 'div'; write a / b}}
func.func @f() { %0 = pe.bias_fn expr "div(i)" return }
// -----
// expected-error @below {{unknown function 'floor_divide'; write a // b}}
func.func @f() { %0 = pe.bias_fn expr "floor_divide(i)" return }
// -----
// expected-error @below {{unknown function 'mod'; write a % b}}
func.func @f() { %0 = pe.bias_fn expr "mod(i)" return }
// -----
// expected-error @below {{unknown function 'remainder'; write a % b}}
func.func @f() { %0 = pe.bias_fn expr "remainder(i)" return }
// -----
// expected-error @below {{unknown function 'fmod'; write a - b * int(a / b)}}
func.func @f() { %0 = pe.bias_fn expr "fmod(i)" return }
// -----
// expected-error @below {{unknown function 'neg'; write -x}}
func.func @f() { %0 = pe.bias_fn expr "neg(i)" return }
// -----
// expected-error @below {{unknown function 'negative'; write -x}}
func.func @f() { %0 = pe.bias_fn expr "negative(i)" return }
// -----
// expected-error @below {{unknown function 'reciprocal'; write 1 / x}}
func.func @f() { %0 = pe.bias_fn expr "reciprocal(i)" return }
// -----
// expected-error @below {{unknown function 'inverse'; write 1 / x}}
func.func @f() { %0 = pe.bias_fn expr "inverse(i)" return }
// -----
// expected-error @below {{unknown function 'lerp'; write a + x * (b - a)}}
func.func @f() { %0 = pe.bias_fn expr "lerp(i)" return }
// -----
// expected-error @below {{unknown function 'square'; write x * x}}
func.func @f() { %0 = pe.bias_fn expr "square(i)" return }
// -----
// expected-error @below {{unknown function 'sqr'; write x * x}}
func.func @f() { %0 = pe.bias_fn expr "sqr(i)" return }
// -----
// expected-error @below {{unknown function 'power'; write a ^ b}}
func.func @f() { %0 = pe.bias_fn expr "power(i)" return }
// -----
// expected-error @below {{unknown function 'rsqrt'; write 1 / sqrt(x)}}
func.func @f() { %0 = pe.bias_fn expr "rsqrt(i)" return }
// -----
// expected-error @below {{unknown function 'cbrt'; write sign(x) * abs(x) ^ (1 / 3)}}
func.func @f() { %0 = pe.bias_fn expr "cbrt(i)" return }
// -----
// expected-error @below {{unknown function 'hypot'; write sqrt(a * a + b * b)}}
func.func @f() { %0 = pe.bias_fn expr "hypot(i)" return }
// -----
// expected-error @below {{unknown function 'maximum'; write max(a, b)}}
func.func @f() { %0 = pe.bias_fn expr "maximum(i)" return }
// -----
// expected-error @below {{unknown function 'minimum'; write min(a, b)}}
func.func @f() { %0 = pe.bias_fn expr "minimum(i)" return }
// -----
// expected-error @below {{unknown function 'fmax'; write max(a, b)}}
func.func @f() { %0 = pe.bias_fn expr "fmax(i)" return }
// -----
// expected-error @below {{unknown function 'fmin'; write min(a, b)}}
func.func @f() { %0 = pe.bias_fn expr "fmin(i)" return }
// -----
// expected-error @below {{unknown function 'fabs'; write abs(x)}}
func.func @f() { %0 = pe.bias_fn expr "fabs(i)" return }
// -----
// expected-error @below {{unknown function 'absolute'; write abs(x)}}
func.func @f() { %0 = pe.bias_fn expr "absolute(i)" return }
// -----
// expected-error @below {{unknown function 'sgn'; write sign(x)}}
func.func @f() { %0 = pe.bias_fn expr "sgn(i)" return }
// -----
// expected-error @below {{unknown function 'copysign'; write abs(a) * select(b < 0, -1, 1)}}
func.func @f() { %0 = pe.bias_fn expr "copysign(i)" return }
// -----
// expected-error @below {{unknown function 'clip'; write clamp(x, low, high)}}
func.func @f() { %0 = pe.bias_fn expr "clip(i)" return }
// -----
// expected-error @below {{unknown function 'ceil'; write -floor(-x)}}
func.func @f() { %0 = pe.bias_fn expr "ceil(i)" return }
// -----
// expected-error @below {{unknown function 'round'; write floor(x + 0.5)}}
func.func @f() { %0 = pe.bias_fn expr "round(i)" return }
// -----
// expected-error @below {{unknown function 'rint'; write floor(x + 0.5)}}
func.func @f() { %0 = pe.bias_fn expr "rint(i)" return }
// -----
// expected-error @below {{unknown function 'trunc'; write int(x)}}
func.func @f() { %0 = pe.bias_fn expr "trunc(i)" return }
// -----
// expected-error @below {{unknown function 'fix'; write int(x)}}
func.func @f() { %0 = pe.bias_fn expr "fix(i)" return }
// -----
// expected-error @below {{unknown function 'frac'; write x - int(x)}}
func.func @f() { %0 = pe.bias_fn expr "frac(i)" return }
// -----
// expected-error @below {{unknown function 'float'; leave it out; integers become real numbers where they meet one}}
func.func @f() { %0 = pe.bias_fn expr "float(i)" return }
// -----
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
// expected-error @below {{unknown function 'asinh'; write let s = select(x < 0, -1, 1) in s * log(s * x + sqrt(x * x + 1))}}
func.func @f() { %0 = pe.bias_fn expr "asinh(i)" return }
// -----
// expected-error @below {{unknown function 'arcsinh'; write let s = select(x < 0, -1, 1) in s * log(s * x + sqrt(x * x + 1))}}
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
// expected-error @below {{unknown function 'asin'; formulas have no inverse trigonometric functions; a region has math.asin}}
func.func @f() { %0 = pe.bias_fn expr "asin(i)" return }
// -----
// expected-error @below {{unknown function 'arcsin'; formulas have no inverse trigonometric functions; a region has math.asin}}
func.func @f() { %0 = pe.bias_fn expr "arcsin(i)" return }
// -----
// expected-error @below {{unknown function 'acos'; formulas have no inverse trigonometric functions; a region has math.acos}}
func.func @f() { %0 = pe.bias_fn expr "acos(i)" return }
// -----
// expected-error @below {{unknown function 'arccos'; formulas have no inverse trigonometric functions; a region has math.acos}}
func.func @f() { %0 = pe.bias_fn expr "arccos(i)" return }
// -----
// expected-error @below {{unknown function 'atan'; formulas have no inverse trigonometric functions; a region has math.atan}}
func.func @f() { %0 = pe.bias_fn expr "atan(i)" return }
// -----
// expected-error @below {{unknown function 'arctan'; formulas have no inverse trigonometric functions; a region has math.atan}}
func.func @f() { %0 = pe.bias_fn expr "arctan(i)" return }
// -----
// expected-error @below {{unknown function 'atan2'; formulas have no inverse trigonometric functions; a region has math.atan2}}
func.func @f() { %0 = pe.bias_fn expr "atan2(i)" return }
// -----
// expected-error @below {{unknown function 'arctan2'; formulas have no inverse trigonometric functions; a region has math.atan2}}
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
// expected-error @below {{unknown function 'erfinv'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "erfinv(i)" return }
// -----
// expected-error @below {{unknown function 'gamma'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "gamma(i)" return }
// -----
// expected-error @below {{unknown function 'lgamma'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "lgamma(i)" return }
// -----
// expected-error @below {{unknown function 'gammaln'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "gammaln(i)" return }
// -----
// expected-error @below {{unknown function 'loggamma'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "loggamma(i)" return }
// -----
// expected-error @below {{unknown function 'digamma'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "digamma(i)" return }
// -----
// expected-error @below {{unknown function 'beta'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "beta(i)" return }
// -----
// expected-error @below {{unknown function 'zeta'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "zeta(i)" return }
// -----
// expected-error @below {{unknown function 'factorial'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "factorial(i)" return }
// -----
// expected-error @below {{unknown function 'bessel'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "bessel(i)" return }
// -----
// expected-error @below {{unknown function 'bessel_j0'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "bessel_j0(i)" return }
// -----
// expected-error @below {{unknown function 'bessel_j1'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "bessel_j1(i)" return }
// -----
// expected-error @below {{unknown function 'i0'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "i0(i)" return }
// -----
// expected-error @below {{unknown function 'j0'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "j0(i)" return }
// -----
// expected-error @below {{unknown function 'j1'; this function is not available; capture a table of its values and read table[i - j]}}
func.func @f() { %0 = pe.bias_fn expr "j1(i)" return }
// -----
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
// expected-error @below {{unknown function 'prod'; a formula has no products over an index; for positive numbers write exp(sum(n < 8, log(table[n])))}}
func.func @f() { %0 = pe.bias_fn expr "prod(i)" return }
// -----
// expected-error @below {{unknown function 'argmax'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "argmax(i)" return }
// -----
// expected-error @below {{unknown function 'argmin'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "argmin(i)" return }
// -----
// expected-error @below {{unknown function 'amax'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "amax(i)" return }
// -----
// expected-error @below {{unknown function 'amin'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "amin(i)" return }
// -----
// expected-error @below {{unknown function 'std'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "std(i)" return }
// -----
// expected-error @below {{unknown function 'var'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "var(i)" return }
// -----
// expected-error @below {{unknown function 'median'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "median(i)" return }
// -----
// expected-error @below {{unknown function 'sort'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "sort(i)" return }
// -----
// expected-error @below {{unknown function 'topk'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "topk(i)" return }
// -----
// expected-error @below {{unknown function 'cumsum'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "cumsum(i)" return }
// -----
// expected-error @below {{unknown function 'cumprod'; a formula gives one number per pair; of the reductions over an index it has sums alone, as in sum(n < 8, table[n])}}
func.func @f() { %0 = pe.bias_fn expr "cumprod(i)" return }
// -----
// expected-error @below {{unknown function 'softmax'; pe.attention takes the softmax of the scores itself; a formula gives one number per pair}}
func.func @f() { %0 = pe.bias_fn expr "softmax(i)" return }
// -----
// expected-error @below {{unknown function 'log_softmax'; pe.attention takes the softmax of the scores itself; a formula gives one number per pair}}
func.func @f() { %0 = pe.bias_fn expr "log_softmax(i)" return }
// -----
// expected-error @below {{unknown function 'dropout'; a formula draws no random numbers; pe.attention has dropout(p, %seed), and noise is captured as a tensor}}
func.func @f() { %0 = pe.bias_fn expr "dropout(i)" return }
// -----
// expected-error @below {{unknown function 'rand'; a formula draws no random numbers; pe.attention has dropout(p, %seed), and noise is captured as a tensor}}
func.func @f() { %0 = pe.bias_fn expr "rand(i)" return }
// -----
// expected-error @below {{unknown function 'randn'; a formula draws no random numbers; pe.attention has dropout(p, %seed), and noise is captured as a tensor}}
func.func @f() { %0 = pe.bias_fn expr "randn(i)" return }
// -----
// expected-error @below {{unknown function 'range'; the positions are i and j, and sum(n < 8, table[n]) counts n}}
func.func @f() { %0 = pe.bias_fn expr "range(i)" return }
// -----
// expected-error @below {{unknown function 'arange'; the positions are i and j, and sum(n < 8, table[n]) counts n}}
func.func @f() { %0 = pe.bias_fn expr "arange(i)" return }
