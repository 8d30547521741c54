#include "caudal/ops/json_example.h"

#include <limits>

#include "caudal/formats/example.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;
using Strings = std::vector<std::string>;

CAUDAL_OP_SAMPLES(DecodeJSONExample) {
  const std::string text =
      R"({"features": {"feature": {"a": {"int64List": {"value": ["1", 2]}}, "b": {"float_list": {"value": [1.5, "NaN"]}},)"
      R"( "c": {"bytesList": {"value": ["YWI=", "YWI"]}}, "d": {}}}})";
  const Example example{{{"a", std::vector<std::int64_t>{1, 2}},
                         {"b", std::vector<float>{1.5F, std::numeric_limits<float>::quiet_NaN()}},
                         {"c", Strings{"ab", "ab"}},
                         {"d", {}}}};
  samples.add({.inputs = {Tensor(Strings{text, "{}"})},
               .expected = {Tensor(Strings{example_bytes(example), example_bytes({})})}});
  for (const std::string& bad :
       Strings{"{", "[1]", R"({"x": 1})", R"({"features": {"feature": {"a": {"int64List": {"value": [1.5]}}}}})",
               R"({"features": {"feature": {"a": {"bytesList": {"value": ["*"]}}}}})",
               R"({"features": {"feature": {"a": {"floatList": {"value": 3}}}}})"}) {
    samples.error({Tensor(bad)}, Code::kInvalidArgument, {}, "element 0");
  }
  samples.error({Tensor(std::string(100000, '['))}, Code::kInvalidArgument);
}

}  // namespace
}  // namespace caudal::inline v0
