#include "caudal/io/queue_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

#include "caudal/graph/scope.h"
#include "caudal/io/input_producer.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/variable.h"
#include "caudal/proto/meta_graph.h"

namespace caudal {
namespace {

using Ints = std::vector<int>;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Coordinator, StopsThreadsAndTellsWhy) {
  train::Coordinator coord;
  std::atomic<int> rounds{0};
  coord.start("worker", [&] {
    while (!coord.should_stop()) ++rounds;
  });
  coord.start("breaks", [] { throw invalid_argument("broken"); });
  EXPECT_TRUE(coord.wait_for_stop());
  EXPECT_EQ(error_of([&] { coord.join(); }), "INVALID_ARGUMENT: broken");
  EXPECT_TRUE(coord.joined());
  coord.clear_stop();
  EXPECT_FALSE(coord.should_stop());
}

TEST(Coordinator, TakesTheEndOfInputForASuccess) {
  train::Coordinator coord;
  coord.start("reads", [] { throw out_of_range("the end"); });
  EXPECT_EQ(error_of([&] { coord.join(); }), "no error");
  EXPECT_TRUE(coord.should_stop());
}

TEST(Coordinator, NamesThreadsThatDoNotStop) {
  std::atomic<bool> go_on{true};
  train::Coordinator coord;
  coord.start("stubborn", [&] {
    while (go_on) std::this_thread::yield();
  });
  EXPECT_FALSE(coord.wait_for_stop(1));
  coord.request_stop();
  EXPECT_EQ(error_of([&] { coord.join(1); }),
            "DEADLINE_EXCEEDED: Coordinator stopped with threads still running: stubborn");
  go_on = false;
}

class QueueRunners : public testing::Test {
 protected:
  // What the op gives until the input ends.
  std::vector<Tensor> drain(Session& session, const Output& output) {
    std::vector<Tensor> values;
    try {
      while (true) values.push_back(session.run(output));
    } catch (const Error& error) {
      if (error.code() != Code::kOutOfRange) throw;
    }
    return values;
  }

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(QueueRunners, FillUntilTheInputEnds) {
  const FIFOQueue q(4, {int32}, {.shapes = {PartialShape::scalar()}});
  const Output ones = train::limit_epochs(constant(1), 10);
  train::add_queue_runner(train::QueueRunner(q, {q.enqueue({ones})}));
  Session session;
  session.run(local_variables_initializer());
  train::Coordinator coord;
  train::start_queue_runners(session, coord);
  train::start_queue_runners(session, coord);  // they run already
  EXPECT_EQ(drain(session, q.dequeue()[0]).size(), 10U);
  coord.request_stop();
  EXPECT_EQ(error_of([&] { coord.join(); }), "no error");
}

TEST_F(QueueRunners, StopWhileTheyWait) {
  const FIFOQueue q(2, {int32}, {.shapes = {PartialShape::scalar()}});
  train::add_queue_runner(train::QueueRunner(q, {q.enqueue({1}), q.enqueue({2})}));
  Session session;
  train::Coordinator coord;
  train::start_queue_runners(session, coord);
  session.run(q.dequeue()[0]);
  coord.request_stop();
  EXPECT_EQ(error_of([&] { coord.join(); }), "no error");
  EXPECT_TRUE(session.run(q.is_closed()).item<bool>());
}

TEST_F(QueueRunners, ReportWhatGoesWrong) {
  const FIFOQueue q(2, {float32}, {.shapes = {{1}}});
  const Output bad = OpBuilder("CheckNumerics", {}).input(std::vector<float>{1.F / 0.F}).attr("message", "bad").build();
  train::add_queue_runner(train::QueueRunner(q, {q.enqueue({bad})}));
  Session session;
  train::Coordinator coord;
  train::start_queue_runners(session, coord);
  EXPECT_NE(error_of([&] { coord.join(); }).find("bad"), std::string::npos);
  EXPECT_THROW(train::QueueRunner(q, {}), Error);
}

TEST_F(QueueRunners, GoThroughMessages) {
  const FIFOQueue q(2, {int32}, {.shapes = {PartialShape::scalar()}, .name = "q"});
  const train::QueueRunner runner(q, {q.enqueue({1})},
                                  {.queue_closed_exception_types = {Code::kOutOfRange, Code::kCancelled}});
  const auto copy = train::QueueRunner::from_proto(runner.to_proto(), graph_);
  EXPECT_EQ(copy.name(), "q");
  EXPECT_EQ(copy.enqueue_ops()[0].name(), "q_enqueue");
  EXPECT_EQ(copy.close_op().name(), "q_Close");
  EXPECT_EQ(copy.cancel_op().name(), "q_Close_1");
  EXPECT_EQ(copy.to_proto(), runner.to_proto());
  EXPECT_NE(error_of([&] { train::QueueRunner::from_proto("junk", graph_); }).find("DATA_LOSS"), std::string::npos);
}

TEST_F(QueueRunners, ProduceEachStringInEachEpoch) {
  const auto q = train::string_input_producer(Tensor(std::vector<std::string>{"a", "b", "c"}), {.num_epochs = 2});
  Session session;
  session.run(local_variables_initializer());
  train::Coordinator coord;
  train::start_queue_runners(session, coord);
  std::string all;
  for (const Tensor& name : drain(session, q.dequeue()[0])) all += name.item<std::string>();
  ASSERT_EQ(all.size(), 6U);
  std::sort(all.begin(), all.begin() + 3);
  std::sort(all.begin() + 3, all.end());
  EXPECT_EQ(all, "abcabc");
  coord.request_stop();
  coord.join();
}

// Nodes as TensorFlow 2.21 makes them.
TEST_F(QueueRunners, MakeTensorFlowsNodes) {
  const auto q = train::string_input_producer(Tensor(std::vector<std::string>{"a", "b"}), {.num_epochs = 2});
  const Output x = placeholder(float32, {3});
  train::batch({q.dequeue()[0], x}, 4);
  train::shuffle_batch({x}, 4, 100, 10);
  for (const char* name : {"input_producer/Const",
                           "input_producer/Identity",
                           "input_producer/RandomShuffle",
                           "input_producer/limit_epochs/epochs",
                           "input_producer/limit_epochs",
                           "input_producer",
                           "input_producer/input_producer_EnqueueMany",
                           "input_producer/input_producer_Close",
                           "input_producer/input_producer_Close_1",
                           "input_producer/input_producer_Size",
                           "input_producer/Cast",
                           "input_producer/mul",
                           "input_producer/fraction_of_32_full",
                           "input_producer_Dequeue",
                           "batch/fifo_queue",
                           "batch/fifo_queue_enqueue",
                           "batch/fifo_queue_Close_1",
                           "batch/fifo_queue_Size",
                           "batch/fraction_of_32_full",
                           "batch/n",
                           "batch",
                           "shuffle_batch/random_shuffle_queue_enqueue",
                           "shuffle_batch/Maximum",
                           "shuffle_batch/fraction_over_10_of_90_full",
                           "shuffle_batch"}) {
    EXPECT_NE(graph_.find(name), nullptr) << name;
  }
  EXPECT_EQ(train::queue_runners(graph_).size(), 3U);
}

TEST_F(QueueRunners, MakeBatches) {
  const auto numbers = train::range_input_producer(10, {.num_epochs = 1, .shuffle = false}).dequeue()[0];
  const auto batch = train::batch({numbers}, 4, {.allow_smaller_final_batch = true})[0];
  Session session;
  session.run(local_variables_initializer());
  train::Coordinator coord;
  train::start_queue_runners(session, coord);
  Ints all;
  std::vector<std::int64_t> sizes;
  for (const Tensor& values : drain(session, batch)) {
    sizes.push_back(values.dim(0));
    for (const int value : values.to_vector<int>()) all.push_back(value);
  }
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 4, 2}));
  EXPECT_EQ(all, (Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  coord.request_stop();
  coord.join();
}

TEST_F(QueueRunners, MakeShuffledBatchesFromSeveralSources) {
  const auto even = train::range_input_producer(50, {.num_epochs = 1}).dequeue()[0];
  const auto odd = train::range_input_producer(50, {.num_epochs = 1}).dequeue()[0];
  const auto batch = train::shuffle_batch_join({{even}, {odd}}, 10, 40, 5, {.seed = 3})[0];
  Session session;
  session.run(local_variables_initializer());
  train::Coordinator coord;
  train::start_queue_runners(session, coord);
  Ints counts(50, 0);
  for (const Tensor& values : drain(session, batch)) {
    EXPECT_EQ(values.dim(0), 10);
    for (const int value : values.to_vector<int>()) ++counts[value];
  }
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), 100);
  EXPECT_EQ(*std::max_element(counts.begin(), counts.end()), 2);
  coord.request_stop();
  coord.join();
}

TEST_F(QueueRunners, SliceTensorsAndPadBatches) {
  const auto slices = train::slice_input_producer(
      {Tensor::from<int>({3, 2}, {1, 2, 3, 4, 5, 6}), Tensor(Ints{7, 8, 9})}, {.num_epochs = 1, .shuffle = false});
  EXPECT_EQ(slices[0].shape(), (PartialShape{2}));
  const auto batch = train::batch({slices[0], slices[1]}, 3);
  EXPECT_EQ(batch[0].shape(), (PartialShape{3, 2}));
  Session session;
  session.run(local_variables_initializer());
  train::Coordinator coord;
  train::start_queue_runners(session, coord);
  const auto values = session.run({batch[0], batch[1]});
  EXPECT_EQ(values[0].to_vector<int>(), (Ints{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values[1].to_vector<int>(), (Ints{7, 8, 9}));
  coord.request_stop();
  coord.join();
}

TEST_F(QueueRunners, RefuseWhatDoesNotFit) {
  const Output x = placeholder(float32), y = placeholder(int32, {2});
  EXPECT_NE(error_of([&] { train::batch({x}, 2); }).find("Cannot infer Tensor's rank"), std::string::npos);
  EXPECT_NE(error_of([&] { train::batch_join({{y}, {y, y}}, 2); }).find("Expected every source"), std::string::npos);
  EXPECT_NE(error_of([&] { train::shuffle_batch({y}, 2, 5, 5); }).find("must be bigger than min_after_dequeue"),
            std::string::npos);
  EXPECT_NE(error_of([&] { train::limit_epochs(y, 0); }).find("num_epochs must be > 0 not 0"), std::string::npos);
  EXPECT_NE(error_of([&] { train::input_producer(x); }).find("known shape"), std::string::npos);
}

}  // namespace
}  // namespace caudal
