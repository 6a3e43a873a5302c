//===- PrepareTest.cpp - Programs that are prepared once ------------------===//
#include "runtime/jit/Compilation.h"
#include "runtime/jit/JitInterface.h"

#include <gtest/gtest.h>

using namespace pe;

namespace {

constexpr const char *kText = R"(
!qkv = tensor<?x?x?x?xf32>
func.func private @slope(%tau: tensor<?xf32>) -> !pe.bias {
  %distance = pe.distance
  %bias = pe.linear %distance slope(%tau : tensor<?xf32>)
  return %bias : !pe.bias
}
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %tau: tensor<?xf32> {pe.name = "tau"}) -> (!qkv {pe.name = "o"}) {
  %bias = call @slope(%tau) : (tensor<?xf32>) -> !pe.bias
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
)";

class PrepareTest : public testing::Test {
protected:
  std::unique_ptr<jit::PreparedProgram> prepare() {
    auto program = compiler->prepare(request.source);
    EXPECT_TRUE(program) << program.error().getMessage();
    return program ? *std::move(program) : nullptr;
  }
  std::string compile(const jit::PreparedProgram &program) {
    auto code = compiler->compile(program, request);
    return code ? code->object + code->explainText + code->explainJson : code.error().getMessage();
  }

  std::unique_ptr<jit::Jit> compiler{peCreateJit(jit::kJitAbiVersion)};
  jit::CompileRequest request{.source = {kText, "slope.mlir", ""}, .features = "x86-64-v3"};
};

TEST_F(PrepareTest, CompilesOneProgramSeveralTimes) {
  auto program = prepare();
  ASSERT_TRUE(program);
  const std::string json = program->description().program;
  EXPECT_EQ(json.find("slope("), std::string::npos);
  const std::string first = compile(*program);
  EXPECT_NE(first.find("affine"), std::string::npos) << first.substr(0, 1000);

  request.headDim = 7;
  EXPECT_EQ(compile(*program),
            "expected a head dim from 8 to 256 that is a multiple of 8, found 7");
  request.headDim = 64;
  request.grad = true;
  EXPECT_NE(compile(*program), first);
  auto tile = compiler->emit(*program, request, jit::EmitStage::Tile);
  ASSERT_TRUE(tile) << tile.error().getMessage();

  request.grad = false;
  EXPECT_EQ(compile(*program), first) << "earlier compilations changed the program";
  EXPECT_EQ(compile(*prepare()), first);
  EXPECT_EQ(program->description().program, json);
}

TEST_F(PrepareTest, ErrorsOfSources) {
  request.source.text = "func.func @attention(";
  auto program = compiler->prepare(request.source);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().getLocation().rfind("slope.mlir:1:", 0), 0u);
}

constexpr const char *kRotations = R"(
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  // #pe.rope_scaling<linear, factor = 7.0>
  %r = pe.rotary {scaling = #pe.rope_scaling<yarn, factor = 4.0, original_length = 2048>}
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
)";

TEST(Attributes, RotationFactor) {
  const auto parse = [](const char *text, const std::string &factor, std::string &printed) {
    jit::Compilation compilation(jit::getRegistry());
    Status parsed = compilation.parse({text, "a.mlir", "", {{jit::kRotationFactor, factor}}});
    printed = compilation.print();
    return parsed ? "" : parsed.error().getMessage();
  };
  std::string printed;
  EXPECT_EQ(parse(kRotations, "0.1", printed), "");
  EXPECT_NE(printed.find("<yarn, factor = 1.000000e-01, original_length = 2048>"),
            std::string::npos)
      << printed;
  for (const char *wrong : {"0", "-2", "nan", "four"})
    EXPECT_EQ(parse(kRotations, wrong, printed),
              std::string("file 'a.mlir': expected a factor of rotations above 0, found '") +
                  wrong + "'");
  EXPECT_EQ(parse(kText, "2", printed), "file 'a.mlir': expected a rotation with a scaling that "
                                        "has a factor, found none");
}

// A copy begins with the remarks of the original, and records its own.
TEST(Compilation, CopiesKeepMessagesApart) {
  jit::Compilation original(jit::getRegistry());
  ASSERT_TRUE(original.parse({"module {}", "empty.mlir", ""}));
  original.getModule().emitRemark("prepared");
  {
    jit::Compilation copy = original.copy();
    copy.getModule().emitRemark("compiled");
    copy.getModule().emitError("refused");
    const auto &remarks = copy.getDiagnostics().getRemarks();
    EXPECT_EQ(remarks.size(), 2u);
    EXPECT_EQ(remarks.front(), "empty.mlir:1:1: prepared");
    EXPECT_EQ(copy.takeError("none").getMessage(), "refused");
  }
  EXPECT_EQ(original.getDiagnostics().getRemarks().size(), 1u);
  EXPECT_EQ(original.takeError("none").getMessage(), "none");
  EXPECT_EQ(original.copy().getDiagnostics().getRemarks().size(), 1u);
}

} // namespace
