//===- ScalarOpsTest.cpp - scalar operations on every target --------------===//
//
// Runs programs whose bias region contains some rows of the table (dialect/Math/ScalarOps.h) on
// loops, CPU and emulator, and compares values and derivatives with the float64 reference. Operands
// come from learned tables: values near 0, negative and large ones, and for integers the
// neighborhood of +-2^31. Results are reduced to small values before they are summed, floats to
// x / (1 + |x|) and integers to some bits of every part, so that a single wrong bit is visible.
//
//===----------------------------------------------------------------------===//
#include "dialect/Math/ScalarOps.h"
#include "conformance/Subject.h"
#include "runtime/core/Random.h"
#include "runtime/reference/Compare.h"
#include "runtime/reference/ExportedProgram.h"
#include "runtime/reference/Reference.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace pe::test {
namespace {

using Values = std::vector<float>;

/// The test of a row: code with the operands %x and %y (f32, or integers of type T) that defines
/// %r, of type `result`.
struct Case {
  std::string name; ///< the name of the row
  std::string code;
  std::string result = "f32";
  Values x = {-7.5f, -3.0f, -1.5f, -1.0f, -0.25f, 0.0f, 0.3f, 0.5f, 1.0f, 2.5f, 8.0f, 1000.5f};
  Values y = {};
};

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The length of one table: its index changes with i and j and is not a function of i - j.
constexpr int kLength = 12;

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// A region that sums the cases, and the values of its tables.
class ProgramWriter {
public:
  void add(const Case &test) {
    std::string n = std::to_string(count++);
    std::string code;
    for (auto [operand, values, step] : {std::tuple("x", &test.x, 5), {"y", &test.y, 7}})
      if (!values->empty())
        code += read(operand + n, *values, step);
    code += test.code + "\n";
    code += fold(test.result);
    // Makes names such as %r_ and %t2_ unique to the case.
    code = std::regex_replace(code, std::regex("%([a-z][0-9]?)_"), "%$1_" + n + "_");
    body += replaced(code, "%SUM", "%s" + n) + "\n";
    body += "    %s" + std::to_string(count) + " = arith.addf %s" + n + ", %z" + n + " : f32\n";
    body = replaced(body, "%Z", "%z" + n);
  }

  std::string source() const {
    std::string types, names, arguments, region;
    for (size_t i = 0; i < tables.size(); ++i) {
      std::string name = "table" + std::to_string(i);
      std::string type = "tensor<" + std::to_string(kLength) + "xf32>";
      arguments += ", %" + name + ": " + type + " {pe.name = \"" + name + "\", pe.init = 0.5}";
      names += (i ? ", %" : "%") + name;
      types += (i ? ", " : "") + type;
      region += ", %" + name + "_: " + type;
    }
    return "!t = tensor<?x?x?x?xf32>\n"
           "func.func @f(%q: !t {pe.name = \"q\"}, %k: !t {pe.name = \"k\"}, "
           "%v: !t {pe.name = \"v\"}" +
           arguments + ") -> (!t {pe.name = \"o\"}) {\n  %b = pe.bias_fn(" + names + " : " + types +
           ") {\n  ^bb0(%b: index, %h: index, %i: index, %j: index" + region +
           "):\n    %s0 = arith.constant 0.0 : f32\n" + body + "    pe.yield %s" +
           std::to_string(count) +
           " : f32\n  }\n"
           "  %o = pe.attention %q, %k, %v bias(%b) : (!t, !t, !t) -> !t\n  return %o : !t\n}\n";
  }

  const std::vector<Values> &values() const { return tables; }

private:
  /// Emits %x_ = tableN[(i * 5 + j * 3) mod 12] as an f32.
  std::string read(const std::string &operand, const Values &values, int step) {
    std::string table = "%table" + std::to_string(tables.size()) + "_", p = "%" + operand;
    std::string type = "tensor<" + std::to_string(kLength) + "xf32>";
    Values padded;
    for (int i = 0; i < kLength; ++i)
      padded.push_back(values[i % values.size()]);
    tables.push_back(padded);
    return "    " + p + "k = arith.constant " + std::to_string(step) + " : index\n    " + p +
           "m = arith.muli %i, " + p + "k : index\n    " + p + "a = arith.addi " + p +
           "m, %j : index\n    " + p + "l = arith.constant " + std::to_string(kLength) +
           " : index\n    " + p + "n = arith.remsi " + p + "a, " + p + "l : index\n    %" +
           operand.substr(0, 1) + "_ = pe.read " + table + "[" + p + "n] : " + type + "\n";
  }

  /// Emits %Z, a small value, from %r_.
  static std::string fold(const std::string &type) {
    if (type == "f32")
      return "    %a_ = math.absf %r_ : f32\n    %b_ = arith.constant 1.0 : f32\n"
             "    %c_ = arith.addf %a_, %b_ : f32\n    %Z = arith.divf %r_, %c_ : f32";
    std::string widen = type == "index" ? "    %a_ = arith.index_cast %r_ : index to i64\n"
                                        : "    %a_ = arith.extsi %r_ : " + type + " to i64\n";
    if (type == "i64")
      widen = "    %u_ = arith.constant 0 : i64\n    %a_ = arith.addi %r_, %u_ : i64\n";
    return widen + "    %b_ = arith.constant 17 : i64\n    %c_ = arith.shrsi %a_, %b_ : i64\n"
                   "    %d_ = arith.xori %a_, %c_ : i64\n    %e_ = arith.constant 31 : i64\n"
                   "    %f_ = arith.shrsi %d_, %e_ : i64\n    %g_ = arith.xori %d_, %f_ : i64\n"
                   "    %h_ = arith.constant 15 : i64\n    %t_ = arith.andi %g_, %h_ : i64\n"
                   "    %w_ = arith.sitofp %t_ : i64 to f32\n"
                   "    %v_ = arith.constant 0.125 : f32\n    %Z = arith.mulf %w_, %v_ : f32";
  }

  int count = 0;
  std::string body;
  std::vector<Values> tables;
};

//===----------------------------------------------------------------------===//
// The cases
//===----------------------------------------------------------------------===//

Case unary(const std::string &name, Values x) {
  return {name, "    %r_ = " + name + " %x_ : f32", "f32", std::move(x)};
}

const Values kAny = {-7.5f, -3.0f, -1.5f, -1.0f, -0.25f, 0.0f, 0.3f, 0.5f, 1.0f, 2.5f, 8.0f, 50.5f};
const Values kPositive = {1e-6f, 0.25f, 0.5f, 1.0f, 1.5f, 2.0f, 7.0f, 100.0f, 1e6f, 1e20f};
const Values kUnit = {-0.9f, -0.5f, -0.1f, 0.0f, 0.2f, 0.4f, 0.8f};
const Values kOther = {2.0f, -0.75f, 1.25f, 0.5f, -3.5f};

std::vector<Case> floatCases() {
  std::vector<Case> cases;
  for (const char *name : {"arith.negf", "math.absf", "math.ceil",  "math.floor", "math.trunc",
                           "math.exp",   "math.exp2", "math.expm1", "math.sin",   "math.cos",
                           "math.tan",   "math.atan", "math.sinh",  "math.cosh",  "math.tanh",
                           "math.erf",   "math.erfc", "math.cbrt",  "math.round", "math.roundeven"})
    cases.push_back(unary(name, kAny));
  for (const char *name : {"math.sqrt", "math.log", "math.log2", "math.log10", "math.log1p"})
    cases.push_back(unary(name, kPositive));
  cases.push_back(unary("math.rsqrt", {0.25f, 0.5f, 1.0f, 1.5f, 7.0f, 100.0f, 1e6f}));
  for (const char *name : {"math.asin", "math.acos"})
    cases.push_back(unary(name, kUnit));
  for (const char *name :
       {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.maximumf",
        "arith.maxnumf", "arith.minimumf", "arith.minnumf", "math.copysign", "math.atan2"})
    cases.push_back(
        {name, std::string("    %r_ = ") + name + " %x_, %y_ : f32", "f32", kAny, kOther});
  cases.push_back({"math.powf",
                   "    %r_ = math.powf %x_, %y_ : f32",
                   "f32",
                   {0.25f, 0.5f, 1.0f, 1.5f, 2.0f, 7.0f, 100.0f},
                   kOther});
  cases.push_back({"math.fpowi",
                   "    %t2_ = arith.fptosi %y_ : f32 to i32\n"
                   "    %r_ = math.fpowi %x_, %t2_ : f32, i32",
                   "f32",
                   {-7.5f, -1.0f, -0.5f, 0.25f, 0.5f, 1.0f, 3.0f},
                   {-3.0f, -1.0f, 1.0f, 2.0f, 5.0f}});
  cases.push_back({"math.fma", "    %r_ = math.fma %x_, %y_, %x_ : f32", "f32", kAny, kOther});
  cases.push_back({"math.clampf",
                   "    %t2_ = arith.constant -1.0 : f32\n"
                   "    %r_ = math.clampf %x_ to [%t2_, %y_] : f32",
                   "f32",
                   kAny,
                   {2.0f, 0.25f, 1.25f, 1.0f, 3.5f}});
  cases.push_back({"arith.extf",
                   "    %t2_ = arith.extf %x_ : f32 to f64\n    %u3_ = math.exp %t2_ : f64\n"
                   "    %r_ = arith.truncf %u3_ : f64 to f32",
                   "f32", kUnit});
  cases.back().name = "arith.extf arith.truncf";
  cases.push_back({"arith.select",
                   "    %t2_ = arith.cmpf olt, %x_, %y_ : f32\n"
                   "    %r_ = arith.select %t2_, %x_, %y_ : f32",
                   "f32", kAny, kOther});
  return cases;
}

/// Conversions of floats to booleans and integers.
std::vector<Case> conversionCases() {
  std::vector<Case> cases;
  for (const char *predicate : {"oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
                                "uge", "ult", "ule", "une", "uno"})
    cases.push_back({"arith.cmpf",
                     std::string("    %r_ = arith.cmpf ") + predicate + ", %x_, %y_ : f32",
                     "i1",
                     kAny,
                     {1.0f, -3.0f, 0.5f, 8.0f, 2.5f}});
  for (const char *name : {"math.isfinite", "math.isinf", "math.isnan"})
    cases.push_back(
        {name,
         std::string("    %t2_ = arith.divf %x_, %x_ : f32\n    %r_ = ") + name + " %t2_ : f32",
         "i1",
         {1.0f, 0.0f, -2.0f}});
  const Values whole = {-2147483648.0f, 2147483520.0f, -2.75f, 2.75f, 0.0f, 1e6f, -16777217.0f};
  for (const char *type : {"i32", "i64"}) {
    cases.push_back(
        {"arith.fptosi", std::string("    %r_ = arith.fptosi %x_ : f32 to ") + type, type, whole});
    cases.push_back({"arith.fptoui",
                     std::string("    %r_ = arith.fptoui %x_ : f32 to ") + type,
                     type,
                     {0.0f, 2.75f, 4294967040.0f, 2147483648.0f, 1e6f}});
    cases.push_back({"arith.sitofp arith.uitofp",
                     std::string("    %t2_ = arith.fptosi %x_ : f32 to ") + type +
                         "\n    %u3_ = arith.sitofp %t2_ : " + type +
                         " to f32\n    %v3_ = arith.uitofp %t2_ : " + type +
                         " to f32\n    %t4_ = arith.constant 3.0e-10 : f32\n"
                         "    %u4_ = arith.mulf %v3_, %t4_ : f32\n"
                         "    %v4_ = arith.mulf %u3_, %t4_ : f32\n"
                         "    %r_ = arith.addf %u4_, %v4_ : f32",
                     "f32",
                     {-2147483648.0f, 2147483520.0f, -2.0f, 3.0f, 0.0f, 1e6f}});
  }
  return cases;
}

const Values kWholes = {-2147483648.0f, 2147483648.0f, -5.0f, 7.0f,     0.0f,          -1.0f,
                        1.0f,           3.0f,          33.0f, 65536.0f, 4294967296.0f, -1e15f};
const Values kWholeOthers = {-1.0f, 0.0f, 2.0f, -7.0f, 2147483648.0f, 31.0f, 64.0f};

/// Tests `name` on integers of `type`. Its operands are sums of a table's value and i or j, so that
/// neighbors of 2^31 also occur.
Case onIntegers(const std::string &name, const std::string &operation, const std::string &type,
                bool isComparison = false) {
  auto toType = [&](const std::string &from, const std::string &to, const std::string &position) {
    std::string code = "    %" + to + "2_ = arith.fptosi %" + from + "_ : f32 to i64\n    %" + to +
                       "3_ = arith.index_cast %" + position + " : index to i64\n    %" + to +
                       "4_ = arith.addi %" + to + "2_, %" + to + "3_ : i64\n";
    std::string wide = "%" + to + "4_", narrow = "%" + to + "5_";
    if (type == "index")
      return code + "    " + narrow + " = arith.index_cast " + wide + " : i64 to index\n";
    if (type == "i64")
      return code + "    " + narrow + " = arith.subi " + wide + ", %t9_ : i64\n";
    return code + "    " + narrow + " = arith.trunci " + wide + " : i64 to " + type + "\n";
  };
  std::string code =
      "    %t9_ = arith.constant 1 : i64\n" + toType("x", "t", "i") + toType("y", "u", "j");
  bool isUnary = name.starts_with("math.");
  code += "    %r_ = " + operation + " %t5_" + (isUnary ? "" : ", %u5_") + " : " + type;
  return {name, code, isComparison ? "i1" : type, kWholes, kWholeOthers};
}

std::vector<Case> integerCases(const std::string &type) {
  std::vector<Case> cases;
  for (const char *name :
       {"arith.addi",       "arith.subi",      "arith.muli",      "arith.divsi", "arith.divui",
        "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui", "arith.remsi", "arith.remui",
        "arith.maxsi",      "arith.maxui",     "arith.minsi",     "arith.minui", "arith.andi",
        "arith.ori",        "arith.xori",      "arith.shli",      "arith.shrsi", "arith.shrui"})
    cases.push_back(onIntegers(name, name, type));
  for (const char *name : {"math.absi", "math.ctlz", "math.cttz", "math.ctpop"})
    if (type != "index")
      cases.push_back(onIntegers(name, name, type));
  for (const char *predicate : {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
    cases.push_back(
        onIntegers("arith.cmpi", std::string("arith.cmpi ") + predicate + ",", type, true));
  if (type == "index")
    return cases;
  auto convert = [&](const std::string &op, const std::string &from, const std::string &to) {
    Case test = onIntegers(op, "arith.addi", from);
    test.code = replaced(test.code, "%r_ =", "%u6_ =");
    test.code += "\n    %r_ = " + op + " %u6_ : " + from + " to " + to;
    test.result = to;
    cases.push_back(test);
  };
  for (const char *op : {"arith.index_cast", "arith.index_castui"}) {
    convert(op, type, "index");
    convert(op, "index", type);
    convert(op, "i1", "index");
  }
  if (type == "i32") {
    for (const char *op : {"arith.extsi", "arith.extui"}) {
      convert(op, "i32", "i64");
      convert(op, "i1", "i32");
    }
    convert("arith.trunci", "i64", "i32");
    convert("arith.trunci", "i32", "i1");
  }
  return cases;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

TensorMap drawInputs(const std::vector<Values> &tables) {
  TensorMap inputs;
  Random random(7, "scalar ops");
  for (const char *name : {"q", "k", "v", "d_o"}) {
    std::vector<float> values(16 * 16);
    for (float &value : values)
      value = static_cast<float>(random.uniform(-1.0, 1.0));
    inputs[name] = Tensor::of(values, {1, 1, 16, 16});
  }
  for (size_t i = 0; i < tables.size(); ++i)
    inputs["table" + std::to_string(i)] = Tensor::of(tables[i], {kLength});
  return inputs;
}

/// Runs one program on every target; `what` names its operations.
void expectAlike(const ProgramWriter &writer, const std::string &what) {
  jit::Source source{writer.source(), "scalar-ops.mlir", ""};
  TensorMap inputs = drawInputs(writer.values());
  std::optional<reference::Results> expected;
  for (const char *target : {"loops", "cpu", "gpu-emulator"}) {
    conformance::SubjectOptions options;
    options.target = target;
    auto subject = conformance::makeSubject(options);
    ASSERT_TRUE(subject) << subject.error().getMessage();
    if (!expected) {
      auto description = (*subject)->describe(source);
      ASSERT_TRUE(description) << description.error().render(what) << "\n" << source.text;
      auto program = reference::parseProgram(description->program);
      ASSERT_TRUE(program) << program.error().getMessage();
      auto results = reference::evaluate(*program, inputs, {}, /*grad=*/true);
      ASSERT_TRUE(results) << results.error().render(what);
      expected = std::move(*results);
    }
    auto function = (*subject)->compile(source, 16, 16);
    ASSERT_TRUE(function) << target << ": " << function.error().render(what);
    auto found = (*function)->run(inputs, {}, 1);
    ASSERT_TRUE(found) << target << ": " << found.error().render(what);
    auto report = reference::compare(*expected, *found);
    ASSERT_TRUE(report) << report.error().getMessage();
    EXPECT_TRUE(report->passes()) << target << ": " << what << "\n"
                                  << report->table() << source.text;
  }
}

/// Runs a few cases per program. A failing case is identified by the gradient of its table, or by
/// running it separately.
void expectAllAlike(const std::vector<Case> &cases, size_t perProgram) {
  for (size_t first = 0; first < cases.size(); first += perProgram) {
    ProgramWriter writer;
    std::string names;
    for (size_t i = first; i < std::min(first + perProgram, cases.size()); ++i) {
      writer.add(cases[i]);
      names += " " + cases[i].name;
    }
    expectAlike(writer, names);
    if (!::testing::Test::HasFailure())
      continue;
    for (size_t i = first; i < std::min(first + perProgram, cases.size()); ++i) {
      ProgramWriter single;
      single.add(cases[i]);
      expectAlike(single, "alone: " + cases[i].name);
    }
    return;
  }
}

TEST(ScalarOps, Floats) { expectAllAlike(floatCases(), 6); }
TEST(ScalarOps, Conversions) { expectAllAlike(conversionCases(), 8); }
TEST(ScalarOps, IntegersOf32Bits) { expectAllAlike(integerCases("i32"), 12); }
TEST(ScalarOps, IntegersOf64Bits) { expectAllAlike(integerCases("i64"), 12); }
TEST(ScalarOps, Indices) { expectAllAlike(integerCases("index"), 12); }

TEST(ScalarOps, EveryRowOfTheTableHasACase) {
  std::set<std::string> tested = {"arith.constant"};
  auto note = [&](const std::vector<Case> &cases) {
    for (const Case &test : cases) {
      size_t space = test.name.find(' ');
      tested.insert(test.name.substr(0, space));
      if (space != std::string::npos)
        tested.insert(test.name.substr(space + 1));
    }
  };
  note(floatCases());
  note(conversionCases());
  note(integerCases("i32"));
  std::set<std::string> rows;
  for (const math::ScalarOp &op : math::kScalarOps)
    rows.insert(std::string(op.name));
  EXPECT_EQ(tested, rows);
}

} // namespace
} // namespace pe::test
