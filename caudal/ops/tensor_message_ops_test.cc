// Samples of the ops of caudal/proto/tensor_message_ops.h.
#include "caudal/proto/tensor_message_ops.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal::inline v0 {
namespace {

using harness::Samples;
using namespace std::string_literals;

TEST(TensorMessages, ComeBackAsTheyWere) {
  for (const DType t : harness::kUsualTypes) {
    for (const Shape& shape : {Shape{}, Shape{3, 2}, Shape{0, 4}}) {
      Graph graph;
      const GraphScope scope(graph);
      const Tensor value = harness::random_tensor(t, shape, 1);
      Session session;
      EXPECT_TRUE(identical(session.run(io::parse_tensor(io::serialize_tensor(value), t)), value)) << value.describe();
    }
  }
}

CAUDAL_OP_SAMPLES(SerializeTensor) {
  for (const DType t : harness::kMovedTypes) samples.add({.inputs = {samples.random(t, {2, 3})}});
  // Bytes of TensorFlow 2.21.
  samples.add({.inputs = {Tensor(std::vector<std::string>{"a", "bc"})},
               .expected = {Tensor("\x08\x07\x12\x04\x12\x02\x08\x02\x42\x01\x61\x42\x02\x62\x63"s)}});
  samples.add({.inputs = {Tensor(std::int64_t{0})}, .expected = {Tensor("\x08\t\x12\0\"\x08\0\0\0\0\0\0\0\0"s)}});
  samples.unsupported({resource, variant}, "a handle means nothing outside its session");
}
CAUDAL_OP_SAMPLES(ParseTensor) {
  // A constant of float_val 1, shape [3]: the value repeats.
  samples.add({.inputs = {Tensor("\x08\x01\x12\x04\x12\x02\x08\x03\x2a\x04\0\0\x80\x3f"s)},
               .attrs = {{"out_type", float32}},
               .expected = {Tensor(std::vector<float>{1, 1, 1})},
               .shape_unknown = true});
  samples.add({.inputs = {Tensor("\x08\x07\x12\x04\x12\x02\x08\x02\x42\x01\x61\x42\x02\x62\x63"s)},
               .attrs = {{"out_type", string}},
               .expected = {Tensor(std::vector<std::string>{"a", "bc"})},
               .shape_unknown = true});
  samples.error({Tensor("abc")}, Code::kInvalidArgument, {{"out_type", float32}});
  samples.error({Tensor("")}, Code::kInvalidArgument, {{"out_type", float32}});
  samples.error({Tensor("\x08\x01\x12\0"s)}, Code::kInvalidArgument, {{"out_type", int32}}, "Type mismatch");
  // 2^40 elements of one value.
  samples.error({Tensor("\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x80\x20"s)}, Code::kResourceExhausted,
                {{"out_type", float32}});
  samples.error({Tensor(std::vector<std::string>{"a"})}, Code::kInvalidArgument, {{"out_type", float32}});
}

}  // namespace
}  // namespace caudal::inline v0
