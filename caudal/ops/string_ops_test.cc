#include "caudal/ops/string_ops.h"

#include <gtest/gtest.h>

#include <functional>

#include "caudal/base/env.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Strings = std::vector<std::string>;

TEST(StringOps, FilesComeAndGo) {
  const TempDir dir;
  Graph graph;
  const GraphScope scope(graph);
  const std::string path = dir.file("new/folder/x.bin"), bytes("a\0b\n", 4);
  const Operation write = write_file(path, bytes);
  const Output read = read_file(path);
  Session session;
  try {
    session.run(read);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
  }
  session.run(write);
  EXPECT_EQ(session.run(read).item<std::string>(), bytes);
  EXPECT_EQ(default_env().list(dir.file("new/folder")), Strings{"x.bin"});
}

TEST(StringOps, JoinsScalarsWithLists) {
  Graph graph;
  const GraphScope scope(graph);
  const Output joined = strings::join({Tensor(Strings{"a", "b"}), "x"}, {.separator = "/"});
  EXPECT_EQ(joined.shape(), PartialShape{2});
  EXPECT_EQ(strings::join({placeholder(string), "x"}).shape(), PartialShape::unknown());
  EXPECT_EQ(strings::join({placeholder(string), Tensor(Strings{"a", "b"})}).shape(), PartialShape{2});
  Session session;
  EXPECT_EQ(session.run(joined).to_vector<std::string>(), (Strings{"a/x", "b/x"}));
}

CAUDAL_OP_SAMPLES(ReadFile) { samples.covered_by("StringOps.FilesComeAndGo"); }
CAUDAL_OP_SAMPLES(WriteFile) { samples.covered_by("StringOps.FilesComeAndGo"); }
CAUDAL_OP_SAMPLES(StringJoin) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 3, 1, 2}}) {
    samples.add({.inputs = {{samples.random(string, shape), samples.random(string, shape)}}});
    samples.add({.inputs = {{samples.random(string, shape), samples.random(string, {}), samples.random(string, shape)}},
                 .attrs = {{"separator", ", "}}});
  }
  samples.add({.inputs = {std::vector<Tensor>{}}, .attrs = {{"N", 0}}, .expected = {Tensor("")}});
  samples.error({{Tensor(Strings{"a", "b"}), Tensor(Strings{"a"})}}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(AsString) {
  for (const DType type : {float32, float64, float16, bfloat16, int8, int16, int32, int64, uint8, uint16, uint32,
                           uint64, boolean, complex64, complex128, string}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 3, 1, 2}}) {
      samples.add({.inputs = {samples.random(type, shape)}});
    }
  }
  // Values of TensorFlow 2.21.
  const auto one = [&](Tensor value, AttrMap attrs, const char* expected) {
    samples.add({.inputs = {std::move(value)}, .attrs = std::move(attrs), .expected = {Tensor(expected)}});
  };
  one(1.5F, {{"width", 8}, {"fill", " "}}, " 1.500000");
  one(1.5F, {{"width", 8}, {"fill", "-"}}, "1.500000");
  one(1.5F, {{"fill", "+"}}, "+1.500000");
  one(3, {{"width", 4}}, "   3");
  one("ab", {{"width", 5}}, "   ab");
  one("ab", {{"width", 5}, {"fill", "-"}}, "ab   ");
  one("ab", {{"precision", 1}, {"scientific", true}}, "ab");
  one(true, {{"width", 7}, {"fill", "0"}}, "true");
  one(Tensor::scalar(std::complex<float>(1, 2)), {{"precision", 1}, {"width", 6}}, "(   1.0,   2.0)");
  one(1e-7F, {{"shortest", true}}, "1e-07");
  one(1e30, {{"precision", 40}}, "1000000000000000019884624838656.0000000000000000000000000000000000000000");
  samples.error({Tensor(1.5F)}, Code::kInvalidArgument, {{"fill", "*"}});
  samples.error({Tensor(1.5F)}, Code::kInvalidArgument, {{"fill", "00"}});
  samples.error({Tensor(1.5F)}, Code::kInvalidArgument, {{"scientific", true}, {"shortest", true}});
  samples.error({Tensor(3)}, Code::kInvalidArgument, {{"precision", 2}});
  samples.error({Tensor(true)}, Code::kInvalidArgument, {{"precision", 2}});
  samples.error({Tensor(3)}, Code::kInvalidArgument, {{"shortest", true}});
}

}  // namespace
}  // namespace caudal
