# Writes a causal function whose bias is the formula argv[2] to the file argv[1].
import sys

path, formula = sys.argv[1:]
with open(path, "w") as file:
    file.write(f"""!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {{pe.name = "q"}}, %k: !qkv {{pe.name = "k"}},
                     %v: !qkv {{pe.name = "v"}}) -> (!qkv {{pe.name = "o"}}) {{
  %bias = pe.bias_fn expr "{formula}"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}}
""")
