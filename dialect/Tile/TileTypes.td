//===- TileTypes.td - Values over named spaces, and buffers ---------------===//
#ifndef PE_DIALECT_TILE_TYPES
#define PE_DIALECT_TILE_TYPES

include "TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}

def Tile_Order : Tile_Enum<"Order", "the order in which a stream visits the keys", [
  I32EnumAttrCase<"Any", 0, "any">, I32EnumAttrCase<"Ascending", 1, "ascending">,
  I32EnumAttrCase<"Descending", 2, "descending">]>;
def Tile_OrderAttr : EnumAttr<Tile_Dialect, Tile_Order, "order">;

def Tile_Reduction : Tile_Enum<"Reduction", "an associative reduction", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">]>;
def Tile_ReductionAttr : EnumAttr<Tile_Dialect, Tile_Reduction, "reduction">;

def Tile_Phase : Tile_Enum<"Phase", "the phase of a call in which a stage runs", [
  I32EnumAttrCase<"Prepare", 0, "prepare">, I32EnumAttrCase<"Forward", 1, "forward">,
  I32EnumAttrCase<"Backward", 2, "backward">, I32EnumAttrCase<"Finish", 3, "finish">]>;
def Tile_PhaseAttr : EnumAttr<Tile_Dialect, Tile_Phase, "phase">;

def Tile_Role : Tile_Enum<"Role", "the role of a buffer in a call", [
  I32EnumAttrCase<"Argument", 0, "argument">, I32EnumAttrCase<"Result", 1, "result">,
  I32EnumAttrCase<"Residual", 2, "residual">, I32EnumAttrCase<"Temporary", 3, "temporary">,
  I32EnumAttrCase<"Cotangent", 4, "cotangent">, I32EnumAttrCase<"Gradient", 5, "gradient">]>;
def Tile_RoleAttr : EnumAttr<Tile_Dialect, Tile_Role, "role">;

def Tile_SlotsAttr : AttrDef<Tile_Dialect, "Slots"> {
  let mnemonic = "slots";
  let summary = "the slot of a pair in a buffer of partial sums";
  let description = [{
    `<c by 64>`: the pairs of a block of 64 columns add to one slot. The slot of a pair is column /
    64 modulo the number of slots; columns are counted within the call.
  }];
  let parameters = (ins StringRefParameter<"r or c">:$side, "int64_t":$block);
  let assemblyFormat = "`<` custom<Side>($side) `by` $block `>`";
}

def Tile_ScanKind : Tile_Enum<"ScanKind", "a scan over keys in position order", [
  I32EnumAttrCase<"Mul", 0, "mul">, I32EnumAttrCase<"Linear", 1, "linear">,
  I32EnumAttrCase<"Odds", 2, "odds">]>;
def Tile_ScanKindAttr : EnumAttr<Tile_Dialect, Tile_ScanKind, "scan_kind">;

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tile_SpaceSetParameter : AttrOrTypeParameter<"::mlir::tile::SpaceSet", "a set of spaces"> {
  let cppAccessorType = "const ::mlir::tile::SpaceSet &";
  let allocator = [{
    ::llvm::SmallVector<::llvm::StringRef> names;
    for (::llvm::StringRef name : $_self.getNames())
      names.push_back($_allocator.copyInto(name));
    $_dst = ::mlir::tile::SpaceSet(names);
  }];
  let parser = "::mlir::tile::parseSpaceSet($_parser)";
  let printer = "$_printer << $_self.toString()";
}

def Tile_ValType : Tile_Type<"Val", "val"> {
  let summary = "one number for every point of the named spaces";
  let description = [{
    `!tile.val<[r, c], f32>` is one f32 per (query row, key column) of the stage's current head,
    `!tile.val<[r, d], f32>` is a panel of query rows by depth, and `!tile.val<[], f32>` is one
    number per head. The names are a set: they are parsed in any order and printed in canonical
    order. A lowering without a layout for a set reports the set by name. Elements are f32, f64,
    bf16, f16 or tf32, where tf32 is never stored in memory, or index for positions, which only maps
    may use.
  }];
  let parameters = (ins Tile_SpaceSetParameter:$spaces, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $spaces `,` $elementType `>`";
  let genVerifyDecl = 1;
}

def Tile_PairsType : Tile_Type<"Pairs", "pairs"> {
  let summary = "the pairs of queries and keys that a stage includes";
  let description = "The result of `tile.pairs`, an operand of stages.";
}

def Tile_BufferType : Tile_Type<"Buffer", "buffer"> {
  let summary = "memory, its extents given by space names, integers or size expressions";
  let description = [{
    Row-major memory. The names of extents are `b` batch, `hq` query heads, `hkv` key heads, `r`
    queries, `c` keys, `d`, `e` depths, `t` distances (entry `x` is for the position distance
    `x - (c - 1) + q_start - k_start`; the extent is `r + capacity` plus the padding of the
    schedule), `kb` key blocks of the schedule, and `ks` splits of the keys. Any other extent is an integer or a size expression in quotes.

    ```mlir
    !tile.buffer<[b, hq, r, d], f32>      !tile.buffer<[hq, t], f32>
    !tile.buffer<["ceildiv(r,8)", 8], f64>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$extents,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Returns the position of the extent `name`, or -1.
    int64_t indexOf(::llvm::StringRef name) const;
    bool has(::llvm::StringRef name) const { return indexOf(name) >= 0; }
    int64_t getRank() const { return getExtents().size(); }
  }];
}

#endif // PE_DIALECT_TILE_TYPES
