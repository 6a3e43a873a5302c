!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x?xi32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %o = pe.attention %q, %k, %v mask(%m) pages(%table : tensor<?x?xi32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
