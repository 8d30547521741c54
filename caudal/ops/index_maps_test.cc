#include "caudal/ops/index_maps.h"

#include <gtest/gtest.h>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal::inline v0 {
namespace {

using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;

CAUDAL_OP_SAMPLES(UnravelIndex) {
  samples.add({.inputs = {Tensor(Ints{0, 5, 23}), Tensor(Ints{2, 3, 4})}});
  samples.add({.inputs = {Tensor(Longs{7}), Tensor(Longs{8})}});
  samples.add({.inputs = {Tensor(11), Tensor(Ints{3, 4})}});
  const auto error = [&](const Tensor& indices, const Tensor& dims) {
    samples.error({indices, dims}, Code::kInvalidArgument);
  };
  error(Tensor(12), Tensor(Ints{3, 4}));
  error(Tensor(-1), Tensor(Ints{3, 4}));
  error(Tensor(0), Tensor(Ints{3, 0}));
  error(Tensor(0), Tensor(Ints{65536, 65536}));
  error(Tensor(Ints{}), Tensor(Ints{3, 4}));
  error(Tensor(0), Tensor(3));
}

CAUDAL_OP_SAMPLES(DataFormatDimMap) {
  samples.add({.inputs = {Tensor(Ints{0, 1, 2, 3, -1, -4})}});
  samples.add({.inputs = {Tensor(std::int64_t{2})}, .attrs = {{"src_format", "NDHWC"}, {"dst_format", "NCDHW"}}});
  samples.error({Tensor(Ints{4})}, Code::kInvalidArgument);
  samples.error({Tensor(Ints{0})}, Code::kInvalidArgument, {{"src_format", "NHWW"}});
  samples.error({Tensor(Ints{0})}, Code::kInvalidArgument, {{"src_format", "NHW"}, {"dst_format", "NWH"}});
}

CAUDAL_OP_SAMPLES(DataFormatVecPermute) {
  samples.add({.inputs = {Tensor(Ints{1, 2, 3, 4})}});
  samples.add({.inputs = {Tensor(Longs{1, 2})}, .attrs = {{"dst_format", "NCWH"}}});
  samples.add({.inputs = {samples.random(int32, {5, 2})}, .attrs = {{"src_format", "NDHWC"}, {"dst_format", "NCDHW"}}});
  samples.error({Tensor(Ints{1, 2, 3})}, Code::kInvalidArgument);
  samples.error({Tensor(Ints{1, 2})}, Code::kInvalidArgument, {{"src_format", "ABCD"}, {"dst_format", "DCBA"}});
  samples.error({samples.random(int32, {4, 3})}, Code::kInvalidArgument);
}

TEST(IndexMaps, GiveWhatTensorFlowGives) {
  Graph graph;
  const GraphScope scope(graph);
  Session session;
  EXPECT_EQ(session.run(unravel_index(constant(Ints{2, 5, 7}), constant(Ints{3, 3}))).to_vector<std::int32_t>(),
            (Ints{0, 1, 2, 2, 2, 1}));
  EXPECT_EQ(session.run(raw_ops::data_format_dim_map(constant(Ints{0, 1, -1}))).to_vector<std::int32_t>(),
            (Ints{0, 2, 1}));
  EXPECT_EQ(session.run(raw_ops::data_format_vec_permute(constant(Ints{1, 2, 3, 4}))).to_vector<std::int32_t>(),
            (Ints{1, 4, 2, 3}));
}

}  // namespace
}  // namespace caudal::inline v0
