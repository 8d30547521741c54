#include "caudal/ops/regex_ops.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Strings = std::vector<std::string>;

Strings replaced(const Strings& texts, const std::string& pattern, const std::string& rewrite, bool global = true) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  const Output fixed = strings::regex_replace(Tensor(texts), pattern, rewrite, {.replace_global = global});
  const Output fed = strings::regex_replace(Tensor(texts), constant(Tensor(pattern)), constant(Tensor(rewrite)),
                                            {.replace_global = global});
  EXPECT_EQ(fixed.node()->op().name(), "StaticRegexReplace");
  EXPECT_EQ(fed.node()->op().name(), "RegexReplace");
  const auto values = session.run(Fetches{fixed, fed});
  EXPECT_TRUE(identical(values[0], values[1]));
  return values[0].to_vector<std::string>();
}

// Values of TensorFlow 2.21.
TEST(RegexReplace, GroupsEmptyMatchesAndBytes) {
  EXPECT_EQ(replaced({"banana", ""}, "a(n)", "<\\1>"), (Strings{"b<n><n>a", ""}));
  EXPECT_EQ(replaced({"banana"}, "a(n)", "<\\0>", false), (Strings{"b<an>ana"}));
  EXPECT_EQ(replaced({"abc"}, "b", "\\2"), (Strings{"abc"}));  // no such group: as it was
  EXPECT_EQ(replaced({"a\xff"
                      "b\xc3\xa9"},
                     "", "-"),
            (Strings{"-a-\xff-b-\xc3\xa9-"}));
  EXPECT_EQ(replaced({"a\xff"
                      "b\xc3\xa9"},
                     ".", "-"),
            (Strings{"-\xff--"}));
}

TEST(RegexReplace, PatternsAndResultsAreBounded) {
  for (const std::string pattern : {"(", "((((a{1,100}){1,100}){1,100}){1,100})", "a**", "(?<x>", "\\8"}) {
    try {
      replaced({"abc"}, pattern, "x");
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(error.detail().find("Invalid pattern"), std::string::npos) << error.what();
    }
  }
  std::string references;
  for (int i = 0; i < 5000; ++i) references += "\\0";
  try {
    replaced({std::string(1 << 20, 'a')}, "a*", references);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.what();
  }
  EXPECT_EQ(replaced({std::string(100000, 'a')}, "(a*)*b", "x")[0].size(), 100000U);
}

CAUDAL_OP_SAMPLES(RegexReplace) {
  samples.add({.inputs = {Tensor(Strings{"banana", "", "n"}), Tensor("n+"), Tensor("[\\0]")},
               .expected = {Tensor(Strings{"ba[n]a[n]a", "", "[n]"})}});
  samples.add({.inputs = {Tensor("aa"), Tensor("a"), Tensor("b")},
               .attrs = {{"replace_global", false}},
               .expected = {Tensor("ba")}});
  samples.add({.inputs = {Tensor::zeros(string, {0, 3}), Tensor("a"), Tensor("b")}});
  samples.add({.inputs = {samples.random(string, {2, 1, 700}), Tensor("[a-m]"), Tensor("")}});
  samples.error({Tensor("x"), Tensor("a("), Tensor("b")}, Code::kInvalidArgument, {}, "missing )");
  samples.error({Tensor("x"), Tensor(Strings{"a"}), Tensor("b")}, Code::kInvalidArgument);
  samples.error({Tensor("x"), Tensor("a"), Tensor(Strings{"b"})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(RegexFullMatch) {
  samples.add({.inputs = {Tensor(Strings{"abc", "ab", "abcd"}), Tensor("a.c")},
               .expected = {Tensor::from<bool>({3}, {true, false, false})}});
  samples.add({.inputs = {Tensor::zeros(string, {2, 0}), Tensor("a")}});
  samples.error({Tensor("x"), Tensor("a(")}, Code::kInvalidArgument);
  samples.error({Tensor("x"), Tensor(Strings{"a", "b"})}, Code::kInvalidArgument);
}
CAUDAL_OP_SAMPLES(StaticRegexReplace) {
  samples.add({.inputs = {Tensor(Strings{"banana", ""})},
               .attrs = {{"pattern", "an"}, {"rewrite", "X"}},
               .expected = {Tensor(Strings{"bXXa", ""})}});
  samples.add({.inputs = {Tensor("banana")},
               .attrs = {{"pattern", "(a)(n)"}, {"rewrite", "\\2\\1"}, {"replace_global", false}},
               .expected = {Tensor("bnaana")}});
  samples.add({.inputs = {Tensor::zeros(string, {0})}, .attrs = {{"pattern", "a"}, {"rewrite", ""}}});
  samples.error({Tensor("x")}, Code::kInvalidArgument, {{"pattern", "["}, {"rewrite", ""}});
}
CAUDAL_OP_SAMPLES(StaticRegexFullMatch) {
  samples.add({.inputs = {Tensor(Strings{"s3://a", "/tmp/x"})},
               .attrs = {{"pattern", "^s3://.*"}},
               .expected = {Tensor::from<bool>({2}, {true, false})}});
  samples.add({.inputs = {Tensor::zeros(string, {0, 1})}, .attrs = {{"pattern", "a"}}});
  samples.error({Tensor("x")}, Code::kInvalidArgument, {{"pattern", "[a"}});
}

}  // namespace
}  // namespace caudal
