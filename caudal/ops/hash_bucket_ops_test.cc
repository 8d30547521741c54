#include "caudal/ops/hash_bucket_ops.h"

#include <gtest/gtest.h>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/sample_types.h"

namespace caudal {
namespace {

using harness::longs;

constexpr std::int64_t kBuckets = std::int64_t{1} << 62;

// Of all lengths that the hash functions treat differently.
Tensor texts() {
  std::string alphabet;
  for (int i = 0; i < 6; ++i) alphabet += "abcdefghijklmnopqrstuvwxyz0123456789";
  std::vector<std::string> texts;
  for (const int n : {0, 1, 3, 4, 7, 8, 9, 16, 17, 32, 33, 64, 65, 128, 200}) texts.push_back(alphabet.substr(0, n));
  return Tensor(texts);
}

// Values of TensorFlow 2.21.
CAUDAL_OP_SAMPLES(StringToHashBucketFast) {
  samples.add({.inputs = {texts()},
               .attrs = {{"num_buckets", kBuckets}},
               .expected = {longs({1936946117179621455, 3694432073954588131, 2640714258260161385, 1897425971756105985,
                                   4341691227789030229, 4533385575889643785, 3687479239766293058, 1469030743107030717,
                                   2171023947900359592, 934449955909727258, 3791661765545721355, 3646545258579766308,
                                   3889391544646074891, 2056131915184924913, 3225094344678046759})}});
  samples.add({.inputs = {Tensor(string, {2, 0})}, .attrs = {{"num_buckets", 5}}});
}
CAUDAL_OP_SAMPLES(StringToHashBucketStrong) {
  const AttrMap attrs = {{"num_buckets", kBuckets}, {"key", std::vector<std::int64_t>{12345, -6789}}};
  samples.add({.inputs = {texts()},
               .attrs = attrs,
               .expected = {longs({4415510989526894568, 1118025668190143479, 3539401371045947618, 2251230160407696045,
                                   3892285520199463377, 2413585334065572660, 3374981705928470680, 968488100185241789,
                                   132780654096159522, 3525323472853442996, 3358560581836620734, 2932020035998518006,
                                   3244012531374076807, 3398123332118539931, 2291371016888697115})}});
  samples.error({Tensor("a")}, Code::kInvalidArgument, {{"num_buckets", 5}, {"key", std::vector<std::int64_t>{1}}});
}
CAUDAL_OP_SAMPLES(StringToHashBucket) {
  samples.add({.inputs = {texts()},
               .attrs = {{"num_buckets", kBuckets}},
               .expected = {longs({105434511174508091, 2996632905371535868, 1046625677629754806, 404301170780174469,
                                   2960345911509200448, 3429851175771700306, 2154505082538699157, 956259514752743408,
                                   3675176827060214941, 2479654297830925688, 370557812084391300, 3117527298489135536,
                                   1412989826357507088, 2332619275097112376, 3126927350684431435})}});
}

TEST(HashBuckets, StringsGoToBuckets) {
  Graph graph;
  const GraphScope scope(graph);
  const Output input = constant(Tensor(std::vector<std::string>{"Hello", "TensorFlow", "2.x"}));
  Session session;
  // The documentation's example.
  EXPECT_EQ(session.run(string_to_hash_bucket_fast(input, 3)).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 2, 2}));
  for (const std::int64_t bucket :
       session.run(string_to_hash_bucket_strong(input, 3, {1, 2})).to_vector<std::int64_t>()) {
    EXPECT_GE(bucket, 0);
    EXPECT_LT(bucket, 3);
  }
}

}  // namespace
}  // namespace caudal
