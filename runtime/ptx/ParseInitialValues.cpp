//===- ParseInitialValues.cpp - Initial values of variables --------------------===//
//
// A nested brace fills one element of the dimension around it, as in C; what it omits is zero. A
// vector type is one more dimension.
//
//===----------------------------------------------------------------------===//

#include "runtime/ptx/ConstantExpression.h"
#include "runtime/ptx/Parser.h"

#include <bit>
#include <cstring>

namespace pe::ptx {

/// The limit for all variables of a module, so that a damaged size cannot exhaust memory.
static constexpr uint64_t greatestInitialBytes = uint64_t{1} << 28;

namespace {

class InitialValues {
public:
  InitialValues(Lexer &lexer, Variable &variable, const std::vector<uint64_t> &dimensions,
                uint64_t budget)
      : lexer(lexer), variable(variable), size(bytesOf(variable.type)), budget(budget),
        spans(dimensions.size() + 1, 1) {
    for (size_t n = dimensions.size(); n-- > 0;)
      spans[n] = dimensions[n] * spans[n + 1];
    isInferred = !dimensions.empty() && dimensions[0] == 0;
    resize(variable.bytes);
  }

  void take() {
    if (!lexer.peek().isMark("{")) {
      if (spans.size() > 1)
        lexer.failExpected("'{' before the initial value of an array");
      takeValue();
    } else {
      takeBraces();
    }
    checkMasks();
    if (isInferred)
      resize((at + spans[1] - 1) / spans[1] * spans[1] * size);
    variable.bytes = variable.initial.size();
  }

private:
  /// An open brace: the dimension it fills and the element at which it begins.
  struct Brace {
    size_t dimension;
    uint64_t begin;
  };

  void takeBraces() {
    std::vector<Brace> open;
    do {
      if (lexer.accept("{")) {
        openBrace(open);
        if (!lexer.peek().isMark("}"))
          continue;
      } else {
        checkRoom(open.back());
        takeValue();
      }
      while (!open.empty() && lexer.accept("}")) {
        if (open.size() > 1 || !isInferred)
          at = open.back().begin + spans[open.back().dimension];
        open.pop_back();
      }
      if (!open.empty())
        lexer.expect(",", "or '}' after an initial value");
    } while (!open.empty());
  }

  void openBrace(std::vector<Brace> &open) {
    const size_t dimension = open.size();
    // The braces of a scalar are those of an array with one element.
    if (dimension >= std::max<size_t>(spans.size() - 1, 1))
      lexer.fail(lexer.peek().line, "expected at most " + std::to_string(dimension) +
                                        " nested braces in the initial value of '" + variable.name +
                                        "', found more");
    if (!open.empty()) {
      checkRoom(open.back());
      if ((at - open.back().begin) % spans[dimension])
        lexer.failExpected("values up to the end of a row before a nested brace");
    }
    open.push_back({dimension, at});
  }

  void checkRoom(const Brace &brace) {
    const bool isUnlimited = brace.dimension == 0 && isInferred;
    if (!isUnlimited && at - brace.begin >= spans[brace.dimension])
      lexer.fail(lexer.peek().line, "expected at most " + std::to_string(spans[brace.dimension]) +
                                        " values in a brace of '" + variable.name +
                                        "', found more");
  }

  void resize(uint64_t bytes) {
    if (bytes > budget)
      lexer.fail(variable.line, "expected initial values of at most 2^28 bytes, found more at '" +
                                    variable.name + "'");
    variable.initial.resize(bytes);
  }

  void takeValue() {
    if (isInferred && variable.initial.size() < (at + 1) * size)
      resize((at + 1) * size);
    const Token token = lexer.peek();
    const bool isNegative = token.isMark("-");
    const Token value = isNegative ? lexer.peekSecond() : token;
    const bool isMask = token.kind == Token::Kind::Integer && lexer.peekSecond().isMark("(");
    if (!isMask)
      checkMasks();
    if (isMask)
      takeMask();
    else if (value.kind == Token::Kind::Single || value.kind == Token::Kind::Double)
      takeFloat(isNegative);
    else if (token.kind == Token::Kind::Name && token.text != "WARP_SZ")
      takeSymbol();
    else
      takeInteger();
    ++at;
  }

  void store(uint64_t bits) {
    std::memcpy(&variable.initial[at * size], &bits, std::min<uint64_t>(size, 8));
    if (size > 8 && static_cast<int64_t>(bits) < 0)
      std::memset(&variable.initial[at * size + 8], 0xff, size - 8);
  }

  void takeInteger() {
    const int line = lexer.peek().line;
    const Constant value = takeConstant(lexer);
    const auto number = static_cast<int64_t>(value.bits);
    if (variable.type == Type::F32)
      return store(std::bit_cast<uint32_t>(value.isUnsigned ? static_cast<float>(value.bits)
                                                            : static_cast<float>(number)));
    if (variable.type == Type::F64)
      return store(std::bit_cast<uint64_t>(value.isUnsigned ? static_cast<double>(value.bits)
                                                            : static_cast<double>(number)));
    const unsigned width = 8 * size;
    const bool isSmall = value.isUnsigned && number < 0
                             ? width >= 64
                             : width >= 64 || (number >= -(int64_t{1} << (width - 1)) &&
                                               number < int64_t{1} << width);
    if (!isSmall)
      lexer.fail(line,
                 "expected an initial value of " + std::to_string(width) + " bits, found " +
                     (value.isUnsigned ? std::to_string(value.bits) : std::to_string(number)));
    store(value.bits);
  }

  void takeFloat(bool isNegative) {
    if (isNegative)
      lexer.take();
    const Token token = lexer.take();
    const bool isSingle = token.kind == Token::Kind::Single;
    const auto single = std::bit_cast<float>(static_cast<uint32_t>(token.bits));
    const double value = std::bit_cast<double>(token.bits) * (isNegative ? -1 : 1);
    const bool asSingle = variable.type == Type::F32 || (variable.type == Type::B32 && isSingle);
    const bool asDouble = variable.type == Type::F64 || (variable.type == Type::B64 && !isSingle);
    if (!asSingle && !asDouble)
      lexer.failExpected("an integer for a variable of type ." + std::string(nameOf(variable.type)),
                         token);
    // NaN keeps its bits unless the precision changes.
    const uint64_t sign = isNegative ? uint64_t{1} << (isSingle ? 31 : 63) : 0;
    if (isSingle == asSingle)
      store(token.bits ^ sign);
    else if (asSingle)
      store(std::bit_cast<uint32_t>(static_cast<float>(value)));
    else
      store(std::bit_cast<uint64_t>(static_cast<double>(isNegative ? -single : single)));
  }

  /// Reads `symbol`, `generic(symbol)`, each with an optional `+ 4`.
  Variable::Reference takeReference() {
    Variable::Reference reference;
    reference.at = at * size;
    Token name = lexer.expectName("the name of a symbol");
    if (name.text == "generic" && lexer.accept("(")) {
      reference.isGeneric = true;
      name = lexer.expectName("the name of a symbol");
      takeAddend(reference);
      lexer.expect(")", "after the symbol of generic()");
    }
    reference.symbol = name.text;
    takeAddend(reference);
    return reference;
  }

  void takeAddend(Variable::Reference &reference) {
    if (lexer.peek().isMark("+") || lexer.peek().isMark("-"))
      reference.addend =
          static_cast<int64_t>(static_cast<uint64_t>(reference.addend) + takeConstant(lexer).bits);
  }

  void takeSymbol() {
    const Token name = lexer.peek();
    if (size != 4 && size != 8)
      lexer.failExpected("an element of 4 or 8 bytes for an address", name);
    variable.references.push_back(takeReference());
  }

  /// Reads `0xFF00(symbol)`: one byte of an address. Eight of them in order are one reference.
  void takeMask() {
    const Token mask = lexer.take();
    lexer.take();
    Variable::Reference reference = takeReference();
    lexer.expect(")", "after the symbol of a mask");
    if (size != 1 || mask.bits != uint64_t{0xff} << (8 * masks))
      lexer.failExpected("the masks 0xFF, 0xFF00, ... of one address in order, in bytes", mask);
    if (masks == 0)
      masked = reference;
    if (masked.symbol != reference.symbol || masked.addend != reference.addend ||
        masked.at + masks != at)
      lexer.failExpected("eight masks of one address", mask);
    if (++masks == 8) {
      variable.references.push_back(masked);
      masks = 0;
    }
  }

  void checkMasks() {
    if (masks)
      lexer.failExpected("all eight masks of the address of '" + masked.symbol + "'");
  }

  Lexer &lexer;
  Variable &variable;
  uint64_t size, budget;
  std::vector<uint64_t> spans; // spans[n]: the elements of one brace of dimension n
  bool isInferred = false;
  uint64_t at = 0;    // the element that is next
  unsigned masks = 0; // of an address that is not complete
  Variable::Reference masked;
};

} // namespace

void Parser::parseInitializer(Variable &variable, const std::vector<uint64_t> &dimensions) {
  InitialValues(lexer, variable, dimensions, greatestInitialBytes - bytesOfInitialValues).take();
  bytesOfInitialValues += variable.initial.size();
  for (const Variable::Reference &reference : variable.references)
    moduleReferences.push_back({reference.symbol, variable.line});
}

} // namespace pe::ptx
