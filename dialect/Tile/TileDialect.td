//===- TileDialect.td - The tile dialect ----------------------------------===//
#ifndef PE_DIALECT_TILE_DIALECT
#define PE_DIALECT_TILE_DIALECT

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::mlir::tile";
  let summary = "Block algorithms over named index spaces, for every target and block size";
  let description = [{
    A `tile.plan` describes a compiled function: buffers, and stages that read and write them. A
    stage that computes attention is written over named spaces instead of shapes:

    | space | meaning |
    |---|---|
    | `r` | query rows (in a stage over key heads, the rows of all query heads of the group) |
    | `c` | key columns |
    | `d`, `e` | depth of queries and keys; depth of values |

    A value ranges over a set of spaces, `!tile.val<[r, d], f32>`. A value over the empty set is one
    number per (batch, query head) pair. Every rule is set arithmetic: a map takes the union, a
    reduction removes a space, and a contraction removes one that both operands have.

    Values over `[r, c]` are virtual: they cannot be loaded or stored. Except for rounding, no
    result may depend on a block size. Lowerings choose block sizes, lanes, register tiles, storage
    and pipelining. `pe-tile-to-loops` is the executable definition of every op of this dialect.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // PE_DIALECT_TILE_DIALECT
