//===- ArgumentNames.cpp - pe.name during parsing -------------------------===//

#include "dialect/PE/ArgumentNames.h"

#include "mlir/IR/Location.h"

using namespace mlir;

/// Returns the source from `place` up to `here`. Empty if `here` is not below it in the same file.
static StringRef textBetween(OpAsmParser &parser, FileLineColLoc place, SMLoc here) {
  auto at = [&](const char *pointer) {
    return dyn_cast<FileLineColLoc>(parser.getEncodedSourceLoc(SMLoc::getFromPointer(pointer)));
  };
  FileLineColLoc end = at(here.getPointer());
  if (!end || end.getFilename() != place.getFilename() || place.getLine() == 0 ||
      place.getColumn() == 0 || place.getLine() > end.getLine())
    return {};
  // Walk back over the line breaks. The column of a line break is the length of its line.
  const char *lineEnd = here.getPointer();
  for (unsigned line = end.getLine(); line > place.getLine(); --line)
    do
      --lineEnd;
    while (*lineEnd != '\n');
  FileLineColLoc last = at(lineEnd);
  if (!last || last.getLine() != place.getLine() || place.getColumn() > last.getColumn())
    return {};
  const char *begin = lineEnd - (last.getColumn() - place.getColumn());
  return StringRef(begin, here.getPointer() - begin);
}

/// Returns the source of one argument, up to the comma or parenthesis after it.
static StringRef argumentOf(StringRef text) {
  int depth = 0;
  bool isQuoted = false;
  for (size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    if (c == '"')
      isQuoted = !isQuoted;
    if (isQuoted)
      continue;
    if (StringRef("(<[{").contains(c))
      ++depth;
    else if (depth == 0 && (c == ',' || c == ')'))
      return text.take_front(n);
    else if (StringRef(")>]}").contains(c))
      --depth;
  }
  return {};
}

StringRef mlir::pe::findNameInSignature(OpAsmParser &parser, SMLoc here, Value value,
                                        StringRef ssaName) {
  auto place =
      isa<BlockArgument>(value) ? dyn_cast<FileLineColLoc>(value.getLoc()) : FileLineColLoc();
  StringRef text = place ? textBetween(parser, place, here) : StringRef();
  if (!text.consume_front(ssaName) || !text.ltrim().starts_with(":"))
    return {};
  StringRef rest = argumentOf(text).split("pe.name").second.ltrim();
  if (!rest.consume_front("="))
    return {};
  rest = rest.ltrim();
  return rest.consume_front("\"") ? rest.take_until([](char c) { return c == '"'; }) : StringRef();
}
