//===- ParserTest.cpp - Tests of the parser of PTX ------------------------===//

#include "runtime/ptx/Syntax.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace pe::ptx;
using pe::Expected;

namespace {

const std::string head = ".version 8.0\n.target sm_90a\n.address_size 64\n";

Module parsed(const std::string &text) {
  Expected<Module> module = parse(head + text, "a.ptx");
  EXPECT_TRUE(module) << module.error().render("");
  return module ? std::move(*module) : Module();
}

/// Parses a body of one function with some registers, and returns the function.
Function body(const std::string &text) {
  Module module = parsed(".global .b32 g[4];\n.visible .entry k(.param .u64 p)\n{\n"
                         ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" +
                         text + "\n}\n");
  return module.functions.empty() ? Function() : std::move(module.functions.back());
}

Operand operandOf(const std::string &text) {
  Function function = body("op.b32 " + text + ";");
  return function.statements.empty() ? Operand() : function.statements[0].operands.at(0);
}

std::string errorOf(const std::string &text) {
  Expected<Module> module = parse(text, "a.ptx");
  return module ? "" : module.error().getLocation() + " " + module.error().getMessage();
}

std::string moduleError(const std::string &text) { return errorOf(head + text); }

/// The body begins on line 4.
std::string bodyError(const std::string &text) {
  return moduleError(".entry k() { .reg .b32 %r<9>; .reg .pred %p<2>; " + text + "}");
}

TEST(Parser, Header) {
  Module module = parsed("");
  EXPECT_EQ(module.major, 8);
  EXPECT_EQ(module.minor, 0);
  EXPECT_EQ(module.chip, "sm_90a");
  EXPECT_EQ(module.file, "a.ptx");
}

TEST(Parser, ParametersAndDirectives) {
  Module module = parsed(".extern .func (.param .b32 r) f(.param .b8 a, .param .b64 b);\n"
                         ".visible .entry k(.param .u64 .ptr .global .align 1 a, .param .u8 b,\n"
                         " .param .align 8 .b8 c[24]) .reqntid 128 .maxntid 1, 2, 3\n"
                         ".minnctapersm 1 .maxnreg 64 .explicitcluster { ret; }\n"
                         ".func (.reg .b32 %x) g(.reg .b64 %y) { cvt.u32.u64 %x, %y; ret; }");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_FALSE(module.function("f")->isDefined);
  EXPECT_EQ(module.function("f")->parameters[1].offset, 8u);
  const Function &k = *module.function("k");
  EXPECT_TRUE(k.isEntry && k.isDefined);
  EXPECT_EQ(k.parameters[0].align, 8u);
  EXPECT_EQ(k.parameters[1].offset, 8u);
  EXPECT_EQ(k.parameters[2].offset, 16u);
  EXPECT_EQ(k.parameters[2].bytes, 24u);
  EXPECT_EQ(k.requiredThreads, (std::array<int, 3>{128, 1, 1}));
  EXPECT_EQ(k.greatestThreads, (std::array<int, 3>{1, 2, 3}));
  const Function &g = *module.function("g");
  EXPECT_EQ(g.parameters[0].space, Space::Generic);
  EXPECT_EQ(g.registers[g.statements[0].operands[0].index].name, "%x");
}

TEST(Parser, DefinitionReplacesDeclarations) {
  Module module = parsed(".func f();\n.func f() { ret; }\n.func f();");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_TRUE(module.functions[0].isDefined);
}

TEST(Parser, InitialValues) {
  Module module = parsed(".global .b8 a[4] = {1, 0xFF, -1};\n"
                         ".const .f32 f[] = {0f3F800000, 2, -1.5};\n"
                         ".global .s32 m[][2] = {{1}, {2, 3}};\n"
                         ".global .u64 p[2] = {a + 4, generic(m)};\n"
                         ".global .align 8 .b8 q[8] = {0xFF(a), 0xFF00(a), 0xFF0000(a),\n"
                         "0xFF000000(a), 0xFF00000000(a), 0xFF0000000000(a),\n"
                         "0xFF000000000000(a), 0xFF00000000000000(a)};\n"
                         ".global .u32 x = 7;\n.global .v2 .b16 v = {1, 2};\n"
                         ".extern .shared .align 16 .b8 s[];\n.global .attribute(.managed) .u8 y;");
  const std::vector<Variable> &v = module.variables;
  ASSERT_EQ(v.size(), 9u);
  EXPECT_EQ(v[0].initial, (std::vector<uint8_t>{1, 255, 255, 0}));
  EXPECT_EQ(v[1].bytes, 12u);
  float floats[3];
  std::memcpy(floats, v[1].initial.data(), 12);
  EXPECT_EQ(floats[0], 1);
  EXPECT_EQ(floats[1], 2);
  EXPECT_EQ(floats[2], -1.5f);
  int32_t rows[4];
  ASSERT_EQ(v[2].bytes, 16u);
  std::memcpy(rows, v[2].initial.data(), 16);
  EXPECT_EQ(rows[1], 0);
  EXPECT_EQ(rows[3], 3);
  ASSERT_EQ(v[3].references.size(), 2u);
  EXPECT_EQ(v[3].references[0].addend, 4);
  EXPECT_TRUE(v[3].references[1].isGeneric);
  EXPECT_EQ(v[3].references[1].at, 8u);
  ASSERT_EQ(v[4].references.size(), 1u);
  EXPECT_EQ(v[4].references[0].symbol, "a");
  EXPECT_EQ(v[5].initial[0], 7);
  EXPECT_EQ(v[6].align, 4u);
  EXPECT_TRUE(v[7].isExtern);
  EXPECT_EQ(v[7].bytes, 0u);
}

TEST(Parser, OperandsOfEveryKind) {
  EXPECT_EQ(operandOf("%r3").kind, Operand::Kind::Register);
  EXPECT_GE(operandOf("%r3|%p1").second, 0);
  EXPECT_GE(operandOf("_|%p1").second, 0);
  EXPECT_EQ(operandOf("_").kind, Operand::Kind::Ignored);
  EXPECT_TRUE(operandOf("!%p1").isNegated);
  EXPECT_TRUE(operandOf("-%r1").isMinus);
  EXPECT_EQ(operandOf("%tid.x").name, "%tid.x");
  for (const char *name : {"%clock64", "%lanemask_lt", "%envreg1", "%cluster_ctaid.y", "%pm0"})
    EXPECT_EQ(operandOf(name).kind, Operand::Kind::Special) << name;
  EXPECT_EQ(operandOf("0f3F800000").bits, 0x3F800000u);
  EXPECT_EQ(operandOf("-0f3F800000").bits, 0xBF800000u);
  EXPECT_EQ(operandOf("0d3FF0000000000000").bits, 0x3FF0000000000000u);
  EXPECT_EQ(operandOf("1.0").kind, Operand::Kind::Double);
  EXPECT_EQ(operandOf("1.0").bits, 0x3FF0000000000000u);
  EXPECT_EQ(operandOf("g+8").offset, 8);
  Operand address = operandOf("[%rd1+-8]");
  EXPECT_EQ(address.kind, Operand::Kind::Address);
  EXPECT_EQ(address.offset, -8);
  EXPECT_EQ(operandOf("[%rd1-4]").offset, -4);
  EXPECT_EQ(operandOf("[g+4]").offset, 4);
  EXPECT_EQ(operandOf("[16]").elements[0].bits, 16u);
  EXPECT_EQ(operandOf("{%r1, _, 3}").elements.size(), 3u);
}

TEST(Parser, Integers) {
  const std::pair<const char *, int64_t> cases[] = {{"0x1F", 31},
                                                    {"017", 15},
                                                    {"0b101", 5},
                                                    {"7U", 7},
                                                    {"-1", -1},
                                                    {"(1+2)*3", 9},
                                                    {"8-2-1", 5},
                                                    {"64/4/2", 8},
                                                    {"1+2*3", 7},
                                                    {"7%4", 3},
                                                    {"1<<4|1", 17},
                                                    {"~0", -1},
                                                    {"!0", 1},
                                                    {"-8>>1", -4},
                                                    {"1?2:3", 2},
                                                    {"0?2:3", 3},
                                                    {"WARP_SZ", 32},
                                                    {"6^3&1", 7},
                                                    {"-7/2", -3},
                                                    {"0xFFFFFFFFFFFFFFFF/2", 0x7FFFFFFFFFFFFFFF},
                                                    {"(.s64)0xFFFFFFFFFFFFFFFF/2", 0},
                                                    {"-1<1U", 0},
                                                    {"-1<1", 1},
                                                    {"2==2&&3!=4", 1}};
  for (const auto &[text, value] : cases)
    EXPECT_EQ(static_cast<int64_t>(operandOf(text).bits), value) << text;
}

TEST(Parser, Statements) {
  Function f = body("@!%p1 ld.global.L1::no_allocate.v2.b32 {%r1, %r2}, [%rd1];\n"
                    "tcgen05.ld.cta_group::1.16x64b.x1 %r1; ret; ;");
  ASSERT_EQ(f.statements.size(), 3u);
  EXPECT_TRUE(f.statements[0].isGuardNegated);
  EXPECT_EQ(f.registers[f.statements[0].guard].name, "%p1");
  EXPECT_TRUE(f.statements[0].has("L1::no_allocate"));
  EXPECT_EQ(f.statements[1].mnemonic(), "tcgen05.ld.cta_group::1.16x64b.x1");
  EXPECT_EQ(f.statements[1].line, 9);
}

TEST(Parser, CallsAndBranchTables) {
  Function f = body("{ .param .b32 a; call.uni (a), k, (a, p), proto; }\n"
                    "{ .param .b32 a; call k, (a); }\n"
                    "proto: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
                    "T: .branchtargets L1, L2;\nL1: brx.idx %r1, T;\nL2:");
  ASSERT_EQ(f.variables.size(), 2u);
  EXPECT_EQ(f.variables[0].name, "a");
  EXPECT_EQ(f.variables[1].name, "a#2");
  EXPECT_EQ(f.statements[0].operands[2].elements[0].name, "a");
  EXPECT_EQ(f.statements[1].operands[1].elements[0].name, "a#2");
  EXPECT_EQ(f.branchTargets.at("T"), (std::vector<std::string>{"L1", "L2"}));
  EXPECT_EQ(f.labels.at("L1"), 2);
  EXPECT_EQ(f.labels.at("L2"), 3);
}

TEST(Parser, ScopesShadow) {
  Function f = body("{ .reg .b64 %r1; bra D; mov.u64 %r1, 1; D: }\n"
                    "{ bra D; D: bra E; }\nE: mov.u32 %r1, 1; bra D; D: { .shared .b32 g; "
                    "mov.u32 %r1, g; } mov.u32 %r1, g;");
  EXPECT_EQ(f.statements[0].operands[0].name, "D");
  EXPECT_EQ(f.statements[2].operands[0].name, "D#2");
  EXPECT_EQ(f.labels.at("D#2"), 3);
  EXPECT_EQ(f.statements[3].operands[0].name, "E");
  EXPECT_EQ(f.statements[5].operands[0].name, "D#3");
  EXPECT_EQ(f.registers[f.statements[1].operands[0].index].type, Type::B64);
  EXPECT_EQ(f.registers[f.statements[4].operands[0].index].type, Type::B32);
  EXPECT_EQ(f.statements[6].operands[1].name, "g#1");
  EXPECT_EQ(f.statements[7].operands[1].name, "g");
}

TEST(Parser, RangesAreNotExpanded) {
  Function f = body(".reg .b32 %z<4000000000>; mov.u32 %z3999999999, %z1; mov.u32 %z1, 0;");
  EXPECT_EQ(f.registers.size(), 2u);
}

TEST(Parser, DebugInformationIsSkipped) {
  Module module =
      parsed("@@DWARF .byte 1, 2 ' nonsense\n.file 1 \"a b.cu\", 12, 7\n"
             ".func f() { .loc 1 2 3, function_name $L__info_string0, inlined_at 1 2 3\n"
             ".pragma \"nounroll\"; $L__begin0: ret; }\n/* a\n comment */ "
             ".section .debug_str { $L__info_string0: .b8 1,2 \n .b64 $L__begin0+3 }");
  EXPECT_EQ(module.functions.size(), 1u);
}

TEST(Parser, LocationsNameTheSourceOfTheLinesBelow) {
  Module module = parsed(".func f() {\nret;\n.loc 2 7 3\nret;\n.loc 1 9 1\nret;\nret; }\n"
                         ".func g() {\nret; }\n.file 1 \"a.cu\" .file 2 \"b.h\"");
  const int first = module.functions[0].line;
  const char *const expected[] = {"", "", "b.h:7", "b.h:7", "a.cu:9", "a.cu:9", "a.cu:9", "", ""};
  for (int n = 0; n < 9; ++n)
    EXPECT_EQ(module.sourceOf(first + n), expected[n]) << n;
  EXPECT_EQ(module.functionAt(first + 7)->name, "g");
  EXPECT_EQ(module.functionAt(first - 1), nullptr);
  // Line 0 means no line, and a file may be missing.
  EXPECT_EQ(parsed(".func f() { .loc 1 0 3\nret; } .file 1 \"a.cu\"").sourceOf(4), "");
  EXPECT_EQ(parsed(".func f() { .loc 1 5 3\nret; }").sourceOf(4), "");
}

/// The directory of this file holds texts of other compilers.
Module parsedFile(const std::string &name) {
  const std::string source = __FILE__;
  const std::string path = source.substr(0, source.rfind('/')) + "/Inputs/" + name;
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  Expected<Module> module = parse(std::string{std::istreambuf_iterator<char>(in), {}}, name);
  EXPECT_TRUE(module) << module.error().render("");
  return module ? std::move(*module) : Module();
}

TEST(Parser, TextsOfOtherCompilers) {
  Module nvcc = parsedFile("nvcc.ptx");
  ASSERT_NE(nvcc.function("_Z1kPfi"), nullptr);
  EXPECT_EQ(nvcc.function("_Z1kPfi")->variables[1].bytes, 132u);
  Module triton = parsedFile("triton.ptx");
  ASSERT_NE(triton.function("kernel"), nullptr);
  EXPECT_EQ(triton.function("kernel")->statements.size(), 14u);
}

struct Refusal {
  const char *text, *message;
};

TEST(Parser, RefusesModules) {
  const Refusal cases[] = {
      {".target sm_80", "a.ptx:1 expected '.version' at the beginning of a module"},
      {".version 5.0", "a.ptx:1 expected a .version from 6.0 to 9.9, found '5.0'"},
      {".version x", "a.ptx:1 expected a version such as 8.0, found 'x'"},
      {".version 8.0\n.func", "a.ptx:2 expected '.target' after '.version', found '.func'"},
      {".version 8.0 .target gfx9", "expected a target sm_NN, texmode_unified"},
      {".version 8.0 .target debug", "expected a target sm_NN, found the end"},
      {".version 8.0 .target sm_80 .address_size 32", "expected an .address_size of 64"},
      {".version 8.0 .target sm_80 .func", "expected '.address_size 64' after"},
      {".version 8.0 /*", "a.ptx:1 expected '*/'"}};
  for (const Refusal &c : cases)
    EXPECT_NE(errorOf(c.text).find(c.message), std::string::npos) << errorOf(c.text);
  const Refusal modules[] = {
      {".alias a, b;", "a.ptx:4 expected a function, because '.alias' is not supported"},
      {".global .texref t;", "expected the type of a variable"},
      {".texref t;", "because textures are not supported"},
      {".local .b32 x;", "outside functions"},
      {".foo", "expected a directive of a module"},
      {".visible foo", "expected a function or a variable after its linkage"},
      {".global .b32 x; .global .b32 x;", "expected a new name, found 'x', which line 4"},
      {".func f() { ret; } .func f() { ret; }", "expected a new name, found 'f'"},
      {".global .b8 x[];", "expected a size or an initial value for 'x'"},
      {".global .b8 x[99999999999999];", "expected the size of an array from 0"},
      {".global .b64 x[1099511627776];", "expected a variable of at most 2^40"},
      {".global .align 3 .b8 x;", "expected a power of two"},
      {".global .b8 x = 256;", "expected an initial value of 8 bits, found 256"},
      {".global .b8 x[2] = 1;", "expected '{' before the initial value"},
      {".global .b8 x[2] = {1,2,3};", "expected at most 2 values"},
      {".global .b8 x[2] = {{1}};", "expected at most 1 nested braces"},
      {".global .b8 x[2][2] = {1,{1}};", "expected values up to the end of a row"},
      {".global .b8 x[1000000000] = {1};", "at most 2^28 bytes"},
      {".global .b16 x = 0f3F800000;", "expected an integer for a variable of type .b16"},
      {".global .b8 x = x;", "expected an element of 4 or 8 bytes"},
      {".global .b8 x[8] = {0xFF(x), 1};", "expected all eight masks"},
      {".global .b8 x[8] = {0xFF00(x)};", "expected the masks 0xFF"},
      {".global .u64 x = y;", "expected a declared name, found 'y'"},
      {".global .u64 x = 0x1FFFFFFFFFFFFFFFF;", "expected an integer of at most 64 bits"},
      {".global .u64 x = 1/0;", "expected a divisor that is not zero"},
      {".global .u64 x = 0f12;", "expected 0f and 8 hexadecimal digits"},
      {".global .u64 x = 12ab;", "expected a number, found '12ab'"},
      {".global .f64 x = 1e999;", "range of double precision"},
      {".file 1 \"abc", "expected '\"' at the end of a string"},
      {".section .x {", "expected '}' at the end of a section"},
      {".entry k() .foo {}", "expected a directive of a function"},
      {".entry k() .reqntid 0 {}", "expected a dimension from 1"},
      {".entry k() .reqntid 1,1,1,1 {}", "expected at most three dimensions"},
      {".entry k(.b32 x);", "expected a parameter that begins with .param"},
      {".entry k(.param .b32 x, .param .b32 x);", "expected a new name, found 'x'"},
      {".extern .func f() {}", "expected ';' after an external function"},
      {"#", "expected a character of PTX, found '#'"}};
  for (const Refusal &c : modules)
    EXPECT_NE(moduleError(c.text).find(c.message), std::string::npos)
        << c.text << ": " << moduleError(c.text);
}

TEST(Parser, RefusesBodies) {
  const Refusal cases[] = {
      {"add.s32 %r1, %r2\nret;", "a.ptx:5 expected ',' or ';' after an operand of 'add'"},
      {"mov.u32 %r9, 1;", "expected a declared or special register, found '%r9'"},
      {"mov.u32 %r01, 1;", "expected a declared or special register, found '%r01'"},
      {"mov.u32 %r1, x;", "expected a declared name, found 'x'"},
      {"@%q ret;", "expected a register after '@' that is declared, found '%q'"},
      {"bra L;", "expected the name of a label in scope in 'k', found 'L'"},
      {"bra L; { L: }", "expected the name of a label in scope"},
      {"brx.idx %r1, T;", "expected the name of a .branchtargets list"},
      {"L: L:", "expected a new name, found 'L', which line 4 declares"},
      {".reg .b32 %r3;", "expected a new name, found '%r3'"},
      {".reg .b32 %r<3>;", "expected a new name, found '%r<...>'"},
      {".reg .v2 .b32 %v;", "vector registers are not supported"},
      {".reg .b32 %v<9999999999>;", "expected a number of registers up to 2^32"},
      {".global .b32 x;", "belongs outside"},
      {".shared .b32 x = 1;", "expected a variable without an initial value"},
      {".foo x;", "expected a directive of a body"},
      {"{", "a.ptx:4 expected '}' for the '{' of line 4, found the end of the text"},
      {"}", "expected a directive of a module"},
      {"mov.u32 %r1.b0, 1;", "selectors are not supported"},
      {"mov.u32 %r1, %laneid.x;", "selectors are not supported"},
      {"mov.u32 %r1, %tid.q;", "expected a component"},
      {"tex.2d [%r1, {%r1, %r2}];", "coordinates of tensors and textures"},
      {"ld.b32 %r1, [%r1;", "expected ']' after an address"},
      {"ld.b32 %r1, [!%p1];", "expected a register, a symbol or an integer as an address"},
      {"ld.b32 {}, [%r1];", "expected an element in the braces"},
      {"ld.b32 {%r1, [%r1];", "expected an operand of 'ld', found '['"},
      {"ld.b32 {%r1;", "expected '}' or ','"},
      {"%r1 = 2;", "expected an instruction, a label or a directive, found '%r1'"},
      {"mov.u32 %r1, (1;", "expected ')' after an expression"},
      {"p: .callprototype _", "expected ';' after a prototype"}};
  for (const Refusal &c : cases)
    EXPECT_NE(bodyError(c.text).find(c.message), std::string::npos)
        << c.text << ": " << bodyError(c.text);
}

TEST(Parser, LimitsNesting) {
  EXPECT_EQ(bodyError(std::string(63, '{') + std::string(63, '}')), "");
  EXPECT_NE(bodyError(std::string(64, '{')).find("at most 64 nested scopes"), std::string::npos);
  for (const char *mark : {"(", "-", "~", "!", "1?"}) {
    std::string text = "mov.u32 %r1, ~";
    for (int n = 0; n < 100000; ++n)
      text += mark;
    EXPECT_NE(bodyError(text).find("256 nested operators"), std::string::npos) << mark;
  }
}

const char *const small =
    ".global .b32 g[2] = {1, 0xFF};\n.entry k(.param .u64 p) .reqntid 4\n{ .reg .pred %p<2>;\n"
    ".reg .b32 %r<3>; .loc 1 2 3\nT: .branchtargets L;\n@!%p1 bra L; { .param .b8 a[4];\n"
    "call (a), k, (a); }\nL: ld.v2.b32 {%r1,%r2}, [g+4]; mov.f32 %r1, 0f3F800000;\n"
    "brx.idx %r1, T; mov.u32 %r1, (1+2)*3 ? 5 : 4; }";

/// Damages the text at each position. The parser must end with a module or one located error.
TEST(Parser, DamagedTextNeverCrashes) {
  const std::string text = head + small;
  ASSERT_EQ(errorOf(text), "");
  const auto check = [](const std::string &damaged) {
    const std::string where = errorOf(damaged);
    if (!where.empty())
      EXPECT_EQ(where.find("a.ptx:"), 0u) << where;
  };
  for (size_t n = 0; n < text.size(); ++n) {
    check(text.substr(0, n));
    check(text.substr(0, n) + text.substr(n + 1));
    check(text.substr(0, n) + text[n] + text.substr(n));
    for (char c : std::string("{}()[];,.%@\"-0a\n\0\xff", 18)) {
      std::string damaged = text;
      damaged[n] = c;
      check(damaged);
    }
    if (n + 1 < text.size()) {
      std::string damaged = text;
      std::swap(damaged[n], damaged[n + 1]);
      check(damaged);
    }
  }
}

} // namespace
