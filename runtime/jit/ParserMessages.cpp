//===- ParserMessages.cpp - Parser messages for users of pe ---------------===//
#include "runtime/jit/ParserMessages.h"

#include "dialect/PE/PE.h"
#include "dialect/PE/PESynonyms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace pe::jit {
namespace {

/// Longer names are skipped: the edit distance is quadratic, and they are rarely typos.
constexpr size_t kMaxName = 64;
/// The number of characters of the source that are read after the location of a diagnostic.
constexpr size_t kMaxSource = 4096;

/// Returns the source from the location of a diagnostic on, or an empty string if the location is
/// not in the source.
StringRef textAt(Location location, StringRef text) {
  auto place = dyn_cast<FileLineColLoc>(location);
  if (!place || place.getLine() == 0 || place.getColumn() == 0)
    return {};
  for (unsigned line = 1; line < place.getLine(); ++line)
    text = text.split('\n').second;
  return text.drop_front(std::min<size_t>(place.getColumn() - 1, text.size()))
      .take_front(kMaxSource);
}

/// Returns the line of the location of a diagnostic.
StringRef lineAt(Location location, StringRef text) {
  auto place = dyn_cast<FileLineColLoc>(location);
  if (!place)
    return {};
  Location begin = FileLineColLoc::get(place.getFilename(), place.getLine(), 1);
  return textAt(begin, text).split('\n').first;
}

/// Returns the operation available to users whose name is closest to `name`, or an empty string.
StringRef nearestOperation(StringRef name, MLIRContext *context) {
  StringRef best;
  if (name.size() > kMaxName)
    return best;
  const size_t length = name.contains('.') ? name.split('.').second.size() : name.size();
  unsigned bestDistance = std::max<size_t>(1, length / 3) + 1;
  for (RegisteredOperationName known : context->getRegisteredOperations()) {
    StringRef dialect = known.getDialectNamespace();
    if (dialect != "pe" && dialect != "arith" && dialect != "math" && dialect != "func")
      continue;
    StringRef candidate = known.getStringRef();
    // Compare without the dialect if `name` does not contain one.
    StringRef compared = name.contains('.') ? candidate : candidate.split('.').second;
    unsigned distance = name.edit_distance(compared);
    if (distance < bestDistance || (distance == bestDistance && !best.empty() && dialect == "pe")) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

std::string unknownOperation(StringRef name, MLIRContext *context) {
  if (std::string synonym = mlir::pe::findSynonym(name); !synonym.empty())
    return ("unknown operation '" + name + "'; " + synonym).str();
  StringRef nearest = nearestOperation(name, context);
  const std::string shown = name.take_front(kMaxName).str() + (name.size() > kMaxName ? "..." : "");
  return ("unknown operation '" + shown + "'; " +
          (nearest.empty() ? "docs/reference/ops.md lists the operations of pe"
                           : "did you mean '" + nearest.str() + "'?"));
}

/// Returns "a bias" for !pe.bias, or "of type tensor<4xf32>" for other types.
std::string nounOf(StringRef type) {
  if (type.consume_front("!pe."))
    return ("a " + type).str();
  return ("of type " + type).str();
}

std::string wrongType(StringRef value, StringRef expected, StringRef found) {
  std::string message =
      ("'" + value + "' is " + nounOf(found) + ", expected " + nounOf(expected)).str();
  if (expected == "!pe.bias" && found == "!pe.coordinate")
    message += "; convert a coordinate to a bias with pe.linear, pe.table, pe.power or pe.mlp";
  return message;
}

/// Returns the message for `base = 10000` if a float is expected.
std::string wholeNumber(StringRef operation, StringRef attribute, StringRef source) {
  std::string message = ("'" + operation + "' op expected a float for '" + attribute + "'").str();
  SmallVector<StringRef> groups;
  llvm::Regex assignment("[{,[:space:]]" + llvm::Regex::escape(attribute) +
                         "[[:space:]]*=[[:space:]]*(-?[0-9]+)[^.0-9]");
  if (assignment.match(source, &groups))
    message += (", found " + groups[1] + "; write " + groups[1] + ".0").str();
  else
    message += "; write numbers with a decimal point";
  return message;
}

/// Returns the source before the location of a diagnostic.
StringRef textBefore(Location location, StringRef text) {
  StringRef rest = textAt(location, text);
  return rest.empty() ? StringRef() : StringRef(text.data(), rest.data() - text.data());
}

/// Returns the name of the last pe operation in `before`.
StringRef lastOperation(StringRef before) {
  StringRef operation = before.drop_front(std::min(before.rfind("pe."), before.size()));
  return operation.take_while([](char c) { return llvm::isAlnum(c) || c == '.' || c == '_'; });
}

/// Returns the message for attributes that are not in braces: `pe.NAME()`,
/// `pe.NAME (base = 10000)`, `pe.NAME 128`.
std::string misplacedAttributes(StringRef before, StringRef source, MLIRContext *context) {
  StringRef operation = lastOperation(before);
  auto known = RegisteredOperationName::lookup(operation, context);
  if (!known || !before.rtrim().ends_with(operation))
    return {};
  StringRef inside = source.starts_with("(")
                         ? source.drop_front().take_until([](char c) { return c == ')'; }).trim()
                         : source.take_until([](char c) { return llvm::isSpace(c); });
  if (source.starts_with("(") && inside.empty())
    return ("'" + operation + "' takes no parentheses; write " + operation).str();
  std::string advice = ("'" + operation + "' takes attributes in braces; write " + operation).str();
  const bool isNumber = llvm::Regex("^-?[0-9.]+$").match(inside);
  ArrayRef<StringAttr> names = known->getAttributeNames();
  if (isNumber && !names.empty())
    return advice + (" {" + names.front().getValue() + " = " + inside + "}").str();
  if (inside.contains('='))
    return advice + (" {" + inside + "}").str();
  return source.starts_with("(") || isNumber ? advice + " {...}" : std::string();
}

/// Returns a replacement for a message about one token, based on the source around it, or an empty
/// string if there is none.
std::string rewordBySource(StringRef message, StringRef before, StringRef source,
                           MLIRContext *context) {
  SmallVector<StringRef> groups;
  source = source.ltrim(" \t"); // the location may be the end of the previous token
  if (message == "expected operation name in quotes")
    return misplacedAttributes(before, source, context);
  if (message == "expected SSA operand" &&
      llvm::Regex("^([A-Za-z_][A-Za-z0-9_]*)").match(source, &groups))
    return ("expected a value, found '" + groups[1] + "'; values begin with %, as in %" + groups[1])
        .str();
  if (source.starts_with("#") && message.contains("attribute name"))
    return "expected an operation, found '#'; comments begin with //";
  return {};
}

/// Returns the message for an operand of an unsupported element type, such as a parameter of f64.
std::string wrongElementType(StringRef operation, StringRef found) {
  for (StringRef element : {"xf64>", "<f64>", "xf16>", "<f16>", "xbf16>", "<bf16>"})
    if (found.contains(element)) {
      StringRef type = element.drop_front().drop_back();
      return ("'" + operation +
              "' op expected a parameter of type f32, or integers of type i32, found " + found +
              "; write f32 instead of " + type)
          .str();
    }
  return {};
}

} // namespace

std::string rewordParserMessage(const Diagnostic &diagnostic, StringRef text) {
  if (text.contains('\0'))
    return "expected a program in the pe dialect, found a binary file";
  const std::string message = diagnostic.str();
  MLIRContext *context = diagnostic.getLocation()->getContext();
  StringRef source = textAt(diagnostic.getLocation(), text);
  SmallVector<StringRef> groups;
  auto matches = [&](StringRef pattern) { return llvm::Regex(pattern).match(message, &groups); };
  if (matches("^custom op '([^']+)' is unknown") ||
      matches("^Dialect `[^']*' not found for custom op '([^']+)'"))
    return unknownOperation(groups[1], context);
  if (StringRef(message).starts_with("operation being parsed with an unregistered dialect") &&
      llvm::Regex("\"([^\"]+)\"[[:space:]]*\\(")
          .match(lineAt(diagnostic.getLocation(), text), &groups))
    return unknownOperation(groups[1], context);
  if (matches("^[`'#!]+\"?([-A-Za-z0-9_$]*)") &&
      StringRef(message).contains("created with unregistered dialect"))
    return ("unknown dialect '" + groups[1].take_front(kMaxName) +
            "' in a type or attribute; types and attributes of pe begin with !pe. and #pe.")
        .str();
  if (matches("^use of value '([^']+)' expects different type than prior uses: "
              "'([^']+)' vs '([^']+)'"))
    return wrongType(groups[1], groups[2], groups[3]);
  if (matches("'([^']+)' op attribute '([^']+)' failed to satisfy constraint: "
              "64-bit float attribute"))
    return wholeNumber(groups[1], groups[2], source);
  if (message == "use of undeclared SSA value name" &&
      llvm::Regex("^(%[-A-Za-z0-9_$.]+)").match(source, &groups))
    return ("'" + groups[1] + "' is not defined above").str();
  if (std::string reworded =
          rewordBySource(message, textBefore(diagnostic.getLocation(), text), source, context);
      !reworded.empty())
    return reworded;
  if (matches("^'([^']+)' op operand #[0-9]+ must be .*, but got '([^']+)'"))
    if (std::string reworded = wrongElementType(groups[1], groups[2]); !reworded.empty())
      return reworded;
  if (matches("^custom op '([^']+)' (.*)")) {
    const std::string operation = ("'" + groups[1] + "' op ").str();
    return (groups[2].starts_with(operation) ? "" : operation) + groups[2].str();
  }
  return message;
}

LogicalResult verifyTerminators(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function && !isa<mlir::pe::BiasFnOp, mlir::pe::ScoreFnOp>(op))
      return WalkResult::advance();
    for (Block &block : op->getRegion(0)) {
      if (!block.empty() && block.back().mightHaveTrait<OpTrait::IsTerminator>())
        continue;
      Location end = block.empty() ? op->getLoc() : block.back().getLoc();
      if (!function) {
        emitError(end) << "the region of " << op->getName()
                       << " ends without `pe.yield`, which returns its value";
        return WalkResult::interrupt();
      }
      SmallVector<std::string> names;
      for (unsigned n = 0; n < function.getNumResults(); ++n) {
        auto name = function.getResultAttrOfType<StringAttr>(n, "pe.name");
        names.push_back("%" + (name ? name.str() : std::to_string(n)));
      }
      std::string types;
      llvm::raw_string_ostream stream(types);
      llvm::interleaveComma(function.getResultTypes(), stream);
      emitError(end) << "function @" << function.getName() << " ends without a return; add `return"
                     << (names.empty() ? "" : " ") << llvm::join(names, ", ")
                     << (names.empty() ? "" : " : ") << types << "`";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

} // namespace pe::jit
