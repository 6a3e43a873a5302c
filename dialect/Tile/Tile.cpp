//===- Tile.cpp - dialect, types and attributes of the tile level ---------===//
#include "dialect/Tile/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#include "dialect/Tile/TileDialect.cpp.inc"
#include "dialect/Tile/TileEnums.cpp.inc"
#include "dialect/Tile/TileInterfaces.cpp.inc"

/// Parses and prints the name of a space in the syntax of an attribute: `<c by 64>`.
static ParseResult parseSide(AsmParser &parser, std::string &side) {
  StringRef name;
  if (failed(parser.parseKeyword(&name)))
    return failure();
  side = name.str();
  return success();
}
static void printSide(AsmPrinter &printer, StringRef side) { printer << side; }

#define GET_ATTRDEF_CLASSES
#include "dialect/Tile/TileAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Tile/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Tile/TileAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Tile/TileOps.cpp.inc"
      >();
}

int64_t BufferType::indexOf(StringRef name) const {
  for (auto [index, extent] : llvm::enumerate(getExtents()))
    if (extent.getValue() == name)
      return index;
  return -1;
}

/// Parses `<` `[` (keyword | integer | string),* `]` `,` type `>`.
Type BufferType::parse(AsmParser &parser) {
  SmallVector<StringAttr> extents;
  Builder builder(parser.getContext());
  auto parseExtent = [&]() -> ParseResult {
    std::string text;
    StringRef keyword;
    int64_t number;
    OptionalParseResult integer = parser.parseOptionalInteger(number);
    if (integer.has_value()) {
      if (failed(*integer))
        return failure();
      text = std::to_string(number);
    } else if (succeeded(parser.parseOptionalKeyword(&keyword))) {
      text = keyword.str();
    } else if (failed(parser.parseString(&text))) {
      return failure();
    }
    extents.push_back(builder.getStringAttr(text));
    return success();
  };
  Type elementType;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseExtent) ||
      parser.parseComma() || parser.parseType(elementType) || parser.parseGreater())
    return {};
  return BufferType::get(parser.getContext(), extents, elementType);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getExtents(), printer, [&](StringAttr extent) {
    StringRef text = extent.getValue();
    bool word = llvm::all_of(text, [](char ch) { return llvm::isAlnum(ch) || ch == '_'; });
    int64_t number;
    bool plain = word && (!text.getAsInteger(10, number) || llvm::isAlpha(text.front()));
    if (plain)
      printer << text;
    else
      printer << '"' << text << '"';
  });
  printer << "], " << getElementType() << ">";
}

#define GET_OP_CLASSES
#include "dialect/Tile/TileOps.cpp.inc"
