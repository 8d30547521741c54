#include "caudal/ops/queue_ops.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/op_util.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

using Ints = std::vector<int>;

const PartialShape kScalar = PartialShape::scalar();

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class QueueOps : public testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(QueueOps, MakeTensorFlowsNodes) {
  const NameScope outer("input");
  const FIFOQueue q(10, {float32, int32}, {.shapes = {{2}, kScalar}});
  EXPECT_EQ(q.name(), "input/fifo_queue");
  EXPECT_EQ(q.queue_ref().node()->type(), "FIFOQueueV2");
  const Operation enqueue = q.enqueue({std::vector<float>{1, 2}, 3});
  EXPECT_EQ(enqueue.name(), "input/fifo_queue_enqueue");
  EXPECT_EQ(enqueue.input(1).name(), "input/fifo_queue_enqueue/component_0:0");
  EXPECT_EQ(enqueue.input(2).dtype(), int32);
  EXPECT_EQ(q.enqueue_many({Tensor::zeros(float32, {4, 2}), Tensor::zeros(int32, {4})}).name(),
            "input/fifo_queue_EnqueueMany");
  const auto one = q.dequeue();
  EXPECT_EQ(one[0].name(), "input/fifo_queue_Dequeue:0");
  EXPECT_EQ(one[0].shape(), (PartialShape{2}));
  const auto many = q.dequeue_many(5);
  EXPECT_EQ(many[1].name(), "input/fifo_queue_DequeueMany:1");
  EXPECT_EQ(many[0].shape(), (PartialShape{5, 2}));
  EXPECT_EQ(many[0].node()->input(1).name(), "input/fifo_queue_DequeueMany/n:0");
  EXPECT_EQ(q.dequeue_up_to(5)[0].shape(), (PartialShape{-1, 2}));
  EXPECT_EQ(q.close().name(), "input/fifo_queue_Close");
  EXPECT_EQ(q.size().name(), "input/fifo_queue_Size:0");
  EXPECT_EQ(q.is_closed().name(), "input/fifo_queue_Is_Closed:0");
}

TEST_F(QueueOps, HandTuplesFromRunToRun) {
  const FIFOQueue q(10, {float32, string}, {.shapes = {{2}, kScalar}, .names = {"x", "word"}});
  const Output x = placeholder(float32), word = placeholder(string);
  const Operation enqueue = q.enqueue({x, word}), close = q.close();
  const auto one = q.dequeue();
  const auto batch = q.dequeue_up_to(5);
  const Output size = q.size(), closed = q.is_closed();
  Session session;
  for (int i = 0; i < 3; ++i) {
    session.run(enqueue, {{x, Tensor(std::vector<float>{1.F * i, 2.F * i})}, {word, Tensor("w" + std::to_string(i))}});
  }
  EXPECT_EQ(session.run(size).item<int>(), 3);
  EXPECT_EQ(session.run(one[q.component("word")]).item<std::string>(), "w0");
  EXPECT_FALSE(session.run(closed).item<bool>());
  session.run(close);
  EXPECT_TRUE(session.run(closed).item<bool>());
  const auto rest = session.run({batch[0], batch[1]});
  EXPECT_EQ(rest[0].to_vector<float>(), (std::vector<float>{1, 2, 2, 4}));
  EXPECT_EQ(rest[1].to_vector<std::string>(), (std::vector<std::string>{"w1", "w2"}));
  EXPECT_NE(error_of([&] { session.run(one[0]); }).find("is closed and has insufficient elements (requested 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              session.run(enqueue, {{x, Tensor(std::vector<float>{1, 2})}, {word, Tensor("w")}});
            }).find("CANCELLED: QueueEnqueueV2 'fifo_queue_enqueue': FIFOQueue '_fifo_queue' is closed."),
            std::string::npos);
}

TEST_F(QueueOps, AreTheSessionsOwn) {
  const FIFOQueue q(10, {int32}, {.shapes = {kScalar}});
  const Operation enqueue = q.enqueue({7});
  const Output size = q.size();
  Session one, other;
  one.run(enqueue);
  EXPECT_EQ(one.run(size).item<int>(), 1);
  EXPECT_EQ(other.run(size).item<int>(), 0);
}

TEST_F(QueueOps, ShareByName) {
  const FIFOQueue a(10, {int32}, {.shapes = {kScalar}, .shared_name = "shared"});
  const FIFOQueue b(10, {int32}, {.shapes = {kScalar}, .shared_name = "shared"});
  const FIFOQueue other(11, {int32}, {.shapes = {kScalar}, .shared_name = "shared"});
  Session session;
  session.run(a.enqueue({5}));
  EXPECT_EQ(session.run(b.dequeue()[0]).item<int>(), 5);
  EXPECT_NE(error_of([&] {
              session.run(other.size());
            }).find("Shared queue 'shared' has capacity 10 but requested capacity was 11"),
            std::string::npos);
}

TEST_F(QueueOps, RefuseWhatDoesNotFitWhenTheNodeIsMade) {
  const FIFOQueue q(10, {float32, int32}, {.shapes = {{2}, kScalar}});
  EXPECT_NE(error_of([&] { q.enqueue({1.F}); }).find("has 2 components, not 1"), std::string::npos);
  EXPECT_NE(error_of([&] {
              q.enqueue({Tensor(std::vector<float>{1, 2, 3}), 1});
            }).find("component 0 of queue 'fifo_queue' is float32[2]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              q.enqueue({Tensor(std::vector<float>{1, 2}), Tensor(1.F)});
            }).find("component 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              q.enqueue_many({Tensor::zeros(float32, {3, 2}), Tensor::zeros(int32, {4})});
            }).find("in batches"),
            std::string::npos);
  EXPECT_NE(error_of([&] { FIFOQueue(1, {int32}, {.names = {"a", "b"}}); }).find("same length"), std::string::npos);
  EXPECT_NE(error_of([&] { q.dequeue_many(-1); }).find("Input 'n' must be >= 0"), std::string::npos);
}

TEST_F(QueueOps, TakeShapesOfUnknownRankForScalars) {
  const FIFOQueue q(10, {int32}, {.shapes = {PartialShape::unknown()}});
  const Output x = placeholder(int32);
  Session session;
  session.run(q.enqueue({x}), {{x, Tensor(1)}});
  EXPECT_NE(error_of([&] {
              session.run(q.enqueue({x}), {{x, Tensor(Ints{1})}});
            }).find("Shape mismatch in tuple component 0. Expected [], got [1]"),
            std::string::npos);
  EXPECT_EQ(session.run(q.dequeue_many(1)[0]).to_vector<int>(), Ints{1});
}

TEST_F(QueueOps, RefuseWhatDoesNotFitInARun) {
  const FIFOQueue q(10, {float32}, {.shapes = {{2}}});
  const Output x = placeholder(float32), n = placeholder(int32);
  const Operation enqueue = q.enqueue({x});
  const Output batch = q.dequeue_many(n)[0];
  const auto wrong = OpBuilder("QueueEnqueueV2", {}).input(q.queue_ref()).inputs({constant(1)}).build_operation();
  const auto wrong_too = OpBuilder("QueueDequeueV2", {})
                             .input(q.queue_ref())
                             .attr("component_types", std::vector<DType>{int32})
                             .build_operation();
  const auto timeout = OpBuilder("QueueDequeueV2", {})
                           .input(q.queue_ref())
                           .attr("component_types", std::vector<DType>{float32})
                           .attr("timeout_ms", 5)
                           .build_operation();
  Session session;
  const auto holds = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(holds(error_of([&] {
                      session.run(enqueue, {{x, Tensor(std::vector<float>{1})}});
                    }),
                    "Shape mismatch in tuple component 0. Expected [2], got [1]"));
  EXPECT_TRUE(holds(error_of([&] { session.run(batch, {{n, Tensor(-1)}}); }), "requested -1 < 0 elements"));
  EXPECT_TRUE(holds(error_of([&] { session.run(wrong); }),
                    "Signature mismatch, have: resource, int32-> expected: resource, float->"));
  EXPECT_TRUE(holds(error_of([&] { session.run(wrong_too); }),
                    "Signature mismatch, have: resource->int32 expected: resource->float"));
  EXPECT_TRUE(holds(error_of([&] { session.run(timeout); }), "Timeout not supported yet."));
}

TEST_F(QueueOps, ShuffleAndPadAndSort) {
  const RandomShuffleQueue shuffle(20, 2, {int32}, {.shapes = {kScalar}, .seed = 5});
  const PaddingFIFOQueue padding(20, {int32}, {{-1}});
  const PriorityQueue priority(20, {string}, {.shapes = {kScalar}});
  Session session;
  session.run(shuffle.enqueue_many({Tensor(Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}));
  EXPECT_EQ(session.run(shuffle.dequeue_many(4)[0]).to_vector<int>(), (Ints{1, 2, 0, 4}));  // as TensorFlow

  session.run(padding.enqueue({Tensor(Ints{1})}));
  session.run(padding.enqueue({Tensor(Ints{2, 3})}));
  EXPECT_EQ(session.run(padding.dequeue_many(2)[0]).to_vector<int>(), (Ints{1, 0, 2, 3}));

  session.run(priority.enqueue_many(
      {Tensor(std::vector<std::int64_t>{3, 1, 2}), Tensor(std::vector<std::string>{"three", "one", "two"})}));
  EXPECT_EQ(session.run(priority.dequeue()[1]).item<std::string>(), "one");
  EXPECT_EQ(session.run(priority.dequeue_many(2)[1]).to_vector<std::string>(),
            (std::vector<std::string>{"two", "three"}));
}

TEST_F(QueueOps, SelectFromAList) {
  const FIFOQueue a(10, {int32}, {.shapes = {{2, 1}}}), b(10, {int32}, {.shapes = {{2, 3}}});
  const Output index = placeholder(int32);
  const QueueBase selected = QueueBase::from_list(index, {a, b});
  EXPECT_EQ(selected.shapes()[0], (PartialShape{2, -1}));
  const Output size = selected.size();
  Session session;
  session.run(b.enqueue({Tensor::zeros(int32, {2, 3})}));
  EXPECT_EQ(session.run(size, {{index, Tensor(0)}}).item<int>(), 0);
  EXPECT_EQ(session.run(size, {{index, Tensor(1)}}).item<int>(), 1);
  const FIFOQueue other(10, {float32});
  EXPECT_NE(error_of([&] {
              QueueBase::from_list(0, {a, other});
            }).find("matching component dtypes"),
            std::string::npos);
}

// The older ops, whose handle is a reference to [container, name].
TEST_F(QueueOps, WorkByReference) {
  for (const std::string op : {"FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue"}) {
    const Output ref = OpBuilder(op, {.name = "q"})
                           .attr("component_types", std::vector<DType>{int32})
                           .attr("shapes", std::vector<PartialShape>{PartialShape::scalar()})
                           .build();
    EXPECT_TRUE(ref.is_ref());
    const QueueBase q(ref, {int32}, {PartialShape::scalar()});
    Session session;
    session.run(q.enqueue({3}));
    session.run(q.enqueue_many({Tensor(Ints{4, 5, 6})}));
    EXPECT_EQ(session.run(q.size()).item<int>(), 4) << op;
    int sum = session.run(q.dequeue()[0]).item<int>();
    for (const int value : session.run(q.dequeue_many(2)[0]).to_vector<int>()) sum += value;
    session.run(q.close());
    EXPECT_TRUE(session.run(q.is_closed()).item<bool>());
    EXPECT_EQ(sum + session.run(q.dequeue_up_to(5)[0]).item<int>(), 18) << op;
  }
  const Output priority = OpBuilder("PriorityQueue", {}).attr("shapes", std::vector<PartialShape>{}).build();
  const QueueBase numbers(priority, {int64});
  const FIFOQueue by_resource(3, {int32});
  const QueueBase fake(OpBuilder("FakeQueue", {}).input(by_resource.queue_ref()).build(), {int32});
  Session session;
  session.run(numbers.enqueue({Tensor(std::int64_t{5})}));
  session.run(numbers.enqueue({Tensor(std::int64_t{4})}));
  EXPECT_EQ(session.run(numbers.dequeue()[0]).item<std::int64_t>(), 4);
  session.run(by_resource.enqueue({9}));
  EXPECT_EQ(session.run(fake.dequeue()[0]).item<int>(), 9);
}

TEST_F(QueueOps, SayWhenAHandleIsNoQueues) {
  const Output variable =
      OpBuilder("VarHandleOp", {.name = "v"}).attr("dtype", int32).attr("shape", PartialShape()).build();
  const Output size = OpBuilder("QueueSizeV2", {}).input(variable).build();
  Session session;
  EXPECT_NE(error_of([&] { session.run(size); }).find("NOT_FOUND"), std::string::npos);
}

// ---- Waiting within and between runs

SessionOptions one_thread() { return {.intra_op_threads = 1}; }

TEST_F(QueueOps, MeetInOneRun) {
  const FIFOQueue q(1, {int32}, {.shapes = {kScalar}});
  const Output taken = q.dequeue()[0];
  const Operation put = q.enqueue({7});
  Session session(one_thread());
  const auto results = session.run({taken, put});
  EXPECT_EQ(results[0].item<int>(), 7);
}

// What is put in depends on what was taken out, twice, all in one run of one thread.
TEST_F(QueueOps, PlayPingPongInOneRun) {
  const FIFOQueue there(1, {int32}, {.shapes = {kScalar}}), back(1, {int32}, {.shapes = {kScalar}});
  const Operation serve = there.enqueue({1});
  const Output arrived = there.dequeue()[0];
  const Operation answer = back.enqueue({OpBuilder("AddV2", {}).input(arrived).input(1).build()});
  const Output returned = back.dequeue()[0];
  Session session(one_thread());
  for (int i = 0; i < 20; ++i) {
    const auto results = session.run({returned, answer, serve});
    EXPECT_EQ(results[0].item<int>(), 2);
  }
}

TEST_F(QueueOps, LetManyWaitersThroughInOneRun) {
  const FIFOQueue q(2, {int32}, {.shapes = {kScalar}});
  Fetches fetches;
  constexpr int kPairs = 40;
  for (int i = 0; i < kPairs; ++i) fetches.emplace_back(q.dequeue()[0]);
  for (int i = 0; i < kPairs; ++i) fetches.emplace_back(q.enqueue({i}));
  Session session(one_thread());
  const auto results = session.run(fetches);
  int sum = 0;
  for (int i = 0; i < kPairs; ++i) sum += results[i].item<int>();
  EXPECT_EQ(sum, kPairs * (kPairs - 1) / 2);
}

TEST_F(QueueOps, StayUsableWhenARunTimesOut) {
  const FIFOQueue q(1, {int32}, {.shapes = {kScalar}});
  const Output taken = q.dequeue()[0], many = q.dequeue_many(2)[0];
  const Operation put = q.enqueue({7});
  Session session;
  EXPECT_NE(error_of([&] { session.run(taken, {}, {.timeout_ms = 10}); }).find("DEADLINE_EXCEEDED"), std::string::npos);
  session.run(put);
  EXPECT_NE(error_of([&] { session.run(put, {}, {.timeout_ms = 10}); }).find("DEADLINE_EXCEEDED"), std::string::npos);
  EXPECT_NE(error_of([&] { session.run(many, {}, {.timeout_ms = 10}); }).find("DEADLINE_EXCEEDED"), std::string::npos);
  EXPECT_EQ(session.run(q.size()).item<int>(), 1);
  EXPECT_EQ(session.run(taken).item<int>(), 7);
}

TEST_F(QueueOps, EndWithTheirSession) {
  const FIFOQueue q(1, {int32}, {.shapes = {kScalar}});
  const Output taken = q.dequeue()[0];
  Session session;
  std::string result;
  std::thread waiting([&] { result = error_of([&] { session.run(taken); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  session.close();
  waiting.join();
  EXPECT_TRUE(result.starts_with("CANCELLED") || result.starts_with("FAILED_PRECONDITION")) << result;
}

TEST_F(QueueOps, EndWithAnotherFailureOfTheirRun) {
  const FIFOQueue q(1, {int32}, {.shapes = {kScalar}});
  const Output taken = q.dequeue()[0];
  const Output fails =
      OpBuilder("CheckNumerics", {}).input(std::vector<float>{1.F / 0.F}).attr("message", "bad").build();
  Session session;
  EXPECT_NE(error_of([&] { session.run({taken, fails}); }).find("bad"), std::string::npos);
  session.run(q.enqueue({3}));
  EXPECT_EQ(session.run(taken).item<int>(), 3);
}

TEST_F(QueueOps, ServeManyThreads) {
  const FIFOQueue q(3, {int32}, {.shapes = {kScalar}});
  const Output x = placeholder(int32), taken = q.dequeue()[0];
  const Operation put = q.enqueue({x});
  Session session;
  constexpr int kThreads = 4, kEach = 100;
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) session.run(put, {{x, Tensor(t * kEach + i)}});
    });
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) sum += session.run(taken).item<int>();
    });
  }
  for (auto& thread : threads) thread.join();
  constexpr std::int64_t kAll = kThreads * kEach;
  EXPECT_EQ(sum.load(), kAll * (kAll - 1) / 2);
}

CAUDAL_OP_SAMPLES(FIFOQueueV2) { samples.covered_by("QueueOps.HandTuplesFromRunToRun"); }
CAUDAL_OP_SAMPLES(RandomShuffleQueueV2) { samples.covered_by("QueueOps.ShuffleAndPadAndSort"); }
CAUDAL_OP_SAMPLES(PaddingFIFOQueueV2) { samples.covered_by("QueueOps.ShuffleAndPadAndSort"); }
CAUDAL_OP_SAMPLES(PriorityQueueV2) { samples.covered_by("QueueOps.ShuffleAndPadAndSort"); }
CAUDAL_OP_SAMPLES(QueueEnqueueV2) { samples.covered_by("QueueOps.HandTuplesFromRunToRun"); }
CAUDAL_OP_SAMPLES(QueueEnqueueManyV2) { samples.covered_by("QueueOps.ShuffleAndPadAndSort"); }
CAUDAL_OP_SAMPLES(QueueDequeueV2) { samples.covered_by("QueueOps.HandTuplesFromRunToRun"); }
CAUDAL_OP_SAMPLES(QueueDequeueManyV2) { samples.covered_by("QueueOps.ShuffleAndPadAndSort"); }
CAUDAL_OP_SAMPLES(QueueDequeueUpToV2) { samples.covered_by("QueueOps.HandTuplesFromRunToRun"); }
CAUDAL_OP_SAMPLES(QueueCloseV2) { samples.covered_by("QueueOps.HandTuplesFromRunToRun"); }
CAUDAL_OP_SAMPLES(QueueSizeV2) { samples.covered_by("QueueOps.HandTuplesFromRunToRun"); }
CAUDAL_OP_SAMPLES(QueueIsClosedV2) { samples.covered_by("QueueOps.HandTuplesFromRunToRun"); }
CAUDAL_OP_SAMPLES(FIFOQueue) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(RandomShuffleQueue) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(PaddingFIFOQueue) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(PriorityQueue) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(FakeQueue) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(QueueEnqueue) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(QueueEnqueueMany) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(QueueDequeue) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(QueueDequeueMany) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(QueueDequeueUpTo) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(QueueClose) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(QueueSize) { samples.covered_by("QueueOps.WorkByReference"); }
CAUDAL_OP_SAMPLES(QueueIsClosed) { samples.covered_by("QueueOps.WorkByReference"); }

}  // namespace
}  // namespace caudal
