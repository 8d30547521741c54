#include "caudal/ops/barrier_ops.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Floats = std::vector<float>;
using Words = std::vector<std::string>;

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class BarrierOps : public testing::Test {
 protected:
  std::string insert(int component, Words keys, Floats values) {
    return error_of([&] {
      session_.run(component == 0 ? insert0_ : insert1_, {{keys_, Tensor(keys)}, {values_, Tensor(values)}});
    });
  }
  std::vector<Tensor> take(int n) {
    return session_.run({taken_.indices, taken_.keys, taken_.values[0], taken_.values[1]}, {{n_, Tensor(n)}});
  }
  std::string take_error(int n, bool small = false) {
    return error_of([&] { session_.run(small ? small_.keys : taken_.keys, {{n_, Tensor(n)}}); });
  }
  int ready() { return session_.run(ready_).item<int>(); }
  int incomplete() { return session_.run(incomplete_).item<int>(); }

  Graph graph_;
  GraphScope scope_{graph_};
  Barrier barrier_{{float32, float32}, {.shapes = {PartialShape::scalar(), PartialShape::scalar()}, .name = "b"}};
  Output keys_ = placeholder(string), values_ = placeholder(float32), n_ = placeholder(int32);
  Operation insert0_ = barrier_.insert_many(0, keys_, values_), insert1_ = barrier_.insert_many(1, keys_, values_);
  Barrier::Taken taken_ = barrier_.take_many(n_), small_ = barrier_.take_many(n_, {.allow_small_batch = true});
  Operation close_ = barrier_.close(), cancel_ = barrier_.close(true);
  Output ready_ = barrier_.ready_size(), incomplete_ = barrier_.incomplete_size();
  Session session_;
};

TEST_F(BarrierOps, CollectsTuplesByKey) {
  EXPECT_EQ(insert(0, {"a", "b"}, {1, 2}), "no error");
  EXPECT_EQ(insert(0, {"c"}, {3}), "no error");
  EXPECT_EQ(ready(), 0);
  EXPECT_EQ(incomplete(), 3);
  EXPECT_EQ(insert(1, {"c", "a"}, {30, 10}), "no error");
  EXPECT_EQ(ready(), 2);
  const auto tuples = take(2);  // the older insertion first
  EXPECT_EQ(tuples[0].to_vector<std::int64_t>(), (std::vector<std::int64_t>{kFirst, kFirst + 1}));
  EXPECT_EQ(tuples[1].to_vector<std::string>(), (Words{"a", "c"}));
  EXPECT_EQ(tuples[2].to_vector<float>(), (Floats{1, 3}));
  EXPECT_EQ(tuples[3].to_vector<float>(), (Floats{10, 30}));
  EXPECT_NE(insert(0, {"b"}, {5}).find("Key b already has a value for component 0 in barrier _b"), std::string::npos);
}

TEST_F(BarrierOps, ClosesBehindWhatIsBegun) {
  insert(0, {"a", "b"}, {1, 2});
  insert(1, {"a"}, {10});
  session_.run(close_);
  EXPECT_NE(insert(0, {"c"}, {3}).find("is closed, but attempted to insert a brand new key: c"), std::string::npos);
  EXPECT_NE(take_error(3).find("Barrier '_b' is closed and has insufficient elements (requested 3, total size 2)"),
            std::string::npos);
  EXPECT_EQ(insert(1, {"b"}, {20}), "no error");
  EXPECT_EQ(session_.run(small_.keys, {{n_, Tensor(9)}}).to_vector<std::string>(), (Words{"a", "b"}));
  EXPECT_NE(take_error(1, true).find("OUT_OF_RANGE"), std::string::npos);
  EXPECT_NE(error_of([&] { session_.run(close_); }).find("Barrier '_b' is already closed."), std::string::npos);
  EXPECT_NE(insert(1, {"b"}, {20}).find("is closed.  Pending enqueues cancelled: 0.  Number of new insertions: 1"),
            std::string::npos);
}

TEST_F(BarrierOps, DropsWhatIsBegunWhenPendingOnesAreCancelled) {
  insert(0, {"a", "b"}, {1, 2});
  insert(1, {"a"}, {10});
  session_.run(close_);
  session_.run(cancel_);  // may follow
  EXPECT_EQ(incomplete(), 0);
  EXPECT_NE(insert(1, {"b"}, {20}).find("Pending enqueues cancelled: 1"), std::string::npos);
  EXPECT_EQ(take(1)[1].to_vector<std::string>(), Words{"a"});
}

TEST_F(BarrierOps, RefuseWhatDoesNotFit) {
  EXPECT_NE(insert(0, {"a"}, {}).find("Tensors with no elements are not supported"), std::string::npos);
  EXPECT_NE(insert(0, {"a", "b"}, {1}).find("INVALID_ARGUMENT"), std::string::npos);
  EXPECT_NE(error_of([&] {
              session_.run(insert0_, {{keys_, Tensor(Words{"a"})}, {values_, Tensor::zeros(float32, {1, 3})}});
            }).find("Shape mismatch in tuple component 2. Expected [], got [3]"),
            std::string::npos);
  EXPECT_NE(take_error(-1).find("INVALID_ARGUMENT"), std::string::npos);
  EXPECT_NE(error_of([&] { barrier_.insert_many(2, keys_, values_); }).find("none at 2"), std::string::npos);
  EXPECT_NE(error_of([&] { Barrier({float32}, {.shapes = {{0}}}); }).find("Empty tensors are not supported"),
            std::string::npos);
  EXPECT_NE(error_of([&] { Barrier({float32}, {}); }).find("1 types has 0 shapes"), std::string::npos);
}

TEST_F(BarrierOps, SharesByNameAndChecksIt) {
  const BarrierOptions options{.shapes = {{2}}, .shared_name = "s"};
  const Barrier a({int32}, options), b({int32}, options), other({float32}, options);
  const Barrier shape({int32}, {.shapes = {{3}}, .shared_name = "s"});
  session_.run(a.insert_many(0, Tensor(Words{"k"}), Tensor::zeros(int32, {1, 2})));
  EXPECT_EQ(session_.run(b.ready_size()).item<int>(), 1);
  EXPECT_NE(error_of([&] { session_.run(other.ready_size()); }).find("component types"), std::string::npos);
  EXPECT_NE(error_of([&] { session_.run(shape.ready_size()); }).find("component shapes"), std::string::npos);
}

CAUDAL_OP_SAMPLES(Barrier) { samples.covered_by("BarrierOps.CollectsTuplesByKey"); }
CAUDAL_OP_SAMPLES(BarrierInsertMany) { samples.covered_by("BarrierOps.CollectsTuplesByKey"); }
CAUDAL_OP_SAMPLES(BarrierTakeMany) { samples.covered_by("BarrierOps.CollectsTuplesByKey"); }
CAUDAL_OP_SAMPLES(BarrierClose) { samples.covered_by("BarrierOps.ClosesBehindWhatIsBegun"); }
CAUDAL_OP_SAMPLES(BarrierReadySize) { samples.covered_by("BarrierOps.CollectsTuplesByKey"); }
CAUDAL_OP_SAMPLES(BarrierIncompleteSize) { samples.covered_by("BarrierOps.CollectsTuplesByKey"); }

}  // namespace
}  // namespace caudal
