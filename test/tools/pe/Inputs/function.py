# Writes a function of q, k and v to the file argv[1]: the lines argv[2:], where "@ CLAUSES" means
# the attention with these clauses and "return" the return of its result.
import sys

TYPES = "(!qkv, !qkv, !qkv) -> !qkv"

lines = []
for line in sys.argv[2:]:
    if line.startswith("@"):
        line = f"%o = pe.attention %q, %k, %v {line[1:].strip()} : {TYPES}"
    elif line == "return":
        line = "return %o : !qkv"
    lines.append("  " + line)
with open(sys.argv[1], "w") as file:
    file.write("""!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
""" + "\n".join(lines) + "\n}\n")
