// A call of a choice, a comparison, an arithmetic function or a rounding of another language is an error
// that names the equivalent formula (runtime/plan/FunctionForms.cpp).
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
