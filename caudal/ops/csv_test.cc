#include "caudal/ops/csv.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Strings = std::vector<std::string>;

// The fields of one line, each a string with the default "-".
Strings fields_of(const std::string& line, int count, const DecodeCsvOptions& options = {}) {
  Graph graph;
  const GraphScope scope(graph);
  const auto columns = decode_csv(Tensor(line), std::vector<Operand>(count, Tensor("-")), options);
  Session session;
  Strings fields;
  for (const Tensor& value : session.run(Fetches(columns.begin(), columns.end()))) {
    fields.push_back(value.item<std::string>());
  }
  return fields;
}

// Values of TensorFlow 2.21.
TEST(DecodeCsv, QuotesAndMissingFields) {
  EXPECT_EQ(fields_of("a,b", 2), (Strings{"a", "b"}));
  EXPECT_EQ(fields_of("\"a,\"\"b\"\"\",\"\"", 2), (Strings{"a,\"b\"", "-"}));
  EXPECT_EQ(fields_of("a,", 2), (Strings{"a", "-"}));
  EXPECT_EQ(fields_of(",", 2), (Strings{"-", "-"}));
  EXPECT_EQ(fields_of("a,\r\n", 1 + 0), (Strings{"a"}));
  EXPECT_EQ(fields_of("\"a\",b", 2, {.use_quote_delim = false}), (Strings{"\"a\"", "b"}));
  EXPECT_EQ(fields_of("a;NA;c", 3, {.field_delim = ";", .na_value = "NA"}), (Strings{"a", "-", "c"}));
  EXPECT_EQ(fields_of("a,b,c,d", 2, {.select_cols = {1, 3}}), (Strings{"b", "d"}));
  EXPECT_EQ(fields_of("a,b,\"c", 1, {.select_cols = {1}}), (Strings{"b"}));  // what follows is not looked at
  for (const std::string line : {"a\"b", "\"a", "\"a\"b,c", "\"", "a,b,c"}) {
    EXPECT_THROW(fields_of(line, 2), Error) << line;
  }
  EXPECT_THROW(fields_of("", 1), Error);
  EXPECT_THROW(fields_of("a,b", 1, {.select_cols = {2}}), Error);
  EXPECT_THROW(fields_of("a,b", 2, {.select_cols = {1, 0}}), Error);
  EXPECT_THROW(fields_of("a,b", 2, {.field_delim = ",,"}), Error);
}

CAUDAL_OP_SAMPLES(DecodeCSV) {
  const Tensor lines(Strings{"1.5,2,x", " 3 ,,\"a \"\"q\"\"\""});
  const harness::SampleInput defaults{Tensor(std::vector<float>{0}), Tensor(std::vector<int>{7}), Tensor(Strings{"d"})};
  samples.add({.inputs = {lines, defaults},
               .expected = {Tensor(std::vector<float>{1.5, 3}), Tensor(std::vector<int>{2, 7}),
                            Tensor(Strings{"x", "a \"q\""})}});
  samples.add({.inputs = {Tensor("4|5"), {Tensor(std::vector<std::int64_t>{}), Tensor(1.0)}},
               .attrs = {{"field_delim", "|"}},
               .expected = {Tensor(std::int64_t{4}), Tensor(5.0)}});
  samples.add({.inputs = {Tensor::zeros(string, {0, 2}), {Tensor(1)}}});
  samples.error({Tensor("x"), {Tensor(1)}}, Code::kInvalidArgument, {}, "is not a valid int32: x");
  samples.error({Tensor("3.0adf"), {Tensor(1.0F)}}, Code::kInvalidArgument, {}, "is not a valid float: 3.0adf");
  samples.error({Tensor("1,2"), {Tensor(1)}}, Code::kInvalidArgument);
  samples.error({Tensor("1,"), {Tensor(1), Tensor(std::vector<int>{})}}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal
