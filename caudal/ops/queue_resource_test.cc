#include "caudal/ops/queue_resource.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

namespace caudal {
namespace {

using internal::QueueCaller;
using internal::QueueResource;
using internal::Tuple;
using Ints = std::vector<int>;

const PartialShape kScalar = PartialShape::scalar();

const QueueCaller kNobody{nullptr, &host_allocator()};

QueueResource::Spec ints(std::int64_t capacity = -1, std::string op = "FIFOQueueV2") {
  return {.op = std::move(op), .name = "q", .capacity = capacity, .types = {int32}, .shapes = {PartialShape::scalar()}};
}

// What became of a call: "waits", "ok", or the error; and the tuple.
struct Call {
  std::string state = "waits";
  Tuple tuple;
  int ends = 0;

  WaitingRoom::Done done() {
    return [this](const Error* error) { finish(error); };
  }
  QueueResource::TupleDone taken() {
    return [this](const Error* error, Tuple result) {
      tuple = std::move(result);
      finish(error);
    };
  }
  Ints values() const { return tuple.empty() ? Ints{} : tuple[0].to_vector<int>(); }

 private:
  void finish(const Error* error) {
    ++ends;
    state = error == nullptr ? "ok" : error->what();
  }
};

// A queue and what was done with it.
class Queue {
 public:
  explicit Queue(QueueResource::Spec spec) : queue_(QueueResource::make(std::move(spec))) {}
  QueueResource* operator->() { return queue_.get(); }

  Call& put(int value, CancellationToken* token = nullptr) {
    Call& call = calls_.emplace_back();
    queue_->enqueue({token, &host_allocator()}, {Tensor(value)}, call.done());
    return call;
  }
  Call& put_many(Ints values, CancellationToken* token = nullptr) {
    Call& call = calls_.emplace_back();
    queue_->enqueue_many({token, &host_allocator()}, {Tensor(std::move(values))}, call.done());
    return call;
  }
  Call& take(CancellationToken* token = nullptr) {
    Call& call = calls_.emplace_back();
    queue_->dequeue({token, &host_allocator()}, call.taken());
    return call;
  }
  Call& take_many(std::int64_t n, bool up_to = false, CancellationToken* token = nullptr) {
    Call& call = calls_.emplace_back();
    queue_->dequeue_many({token, &host_allocator()}, n, up_to, call.taken());
    return call;
  }
  Call& close(bool cancel = false) {
    Call& call = calls_.emplace_back();
    queue_->close(nullptr, cancel, call.done());
    return call;
  }

 private:
  std::shared_ptr<QueueResource> queue_;
  std::list<Call> calls_;
};

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.detail();
  }
  return "no error";
}

TEST(QueueResource, GivesInOrder) {
  Queue q(ints());
  q.put(1);
  q.put_many({2, 3, 4});
  EXPECT_EQ(q->size(), 4);
  EXPECT_EQ(q.take().values(), Ints{1});
  EXPECT_EQ(q.take_many(2).values(), (Ints{2, 3}));
  EXPECT_EQ(q.take_many(0).tuple[0].shape(), (Shape{0}));
  EXPECT_EQ(q->size(), 1);
}

TEST(QueueResource, LetsTakersWaitAndServesTheFirstFirst) {
  Queue q(ints());
  Call& many = q.take_many(3);
  Call& one = q.take();
  q.put(1);
  q.put(2);
  EXPECT_EQ(many.state, "waits");
  EXPECT_EQ(q->size(), 0);  // the waiting batch holds what came
  q.put(3);
  EXPECT_EQ(many.values(), (Ints{1, 2, 3}));
  EXPECT_EQ(one.state, "waits");
  q.put(4);
  EXPECT_EQ(one.values(), Ints{4});
}

TEST(QueueResource, LetsPuttersWaitAndTakesBatchesInParts) {
  Queue q(ints(2));
  Call& many = q.put_many({1, 2, 3, 4, 5});
  Call& later = q.put(6);
  EXPECT_EQ(many.state, "waits");
  EXPECT_EQ(q->size(), 2);
  EXPECT_EQ(q.take_many(4).values(), (Ints{1, 2, 3, 4}));  // more than the queue holds
  EXPECT_EQ(many.state, "ok");
  EXPECT_EQ(later.state, "ok");
  EXPECT_EQ(q.take_many(2).values(), (Ints{5, 6}));
}

TEST(QueueResource, CancelledBatchesGiveBackWhatTheyTook) {
  Queue q(ints());
  CancellationToken token;
  q.put_many({1, 2, 3});
  Call& cancelled_call = q.take_many(5, false, &token);
  Call& next = q.take_many(2);
  EXPECT_EQ(q->size(), 0);
  token.cancel(cancelled("the run was cancelled"));
  EXPECT_EQ(cancelled_call.state, "CANCELLED: Dequeue operation was cancelled");
  EXPECT_EQ(next.values(), (Ints{1, 2}));
  EXPECT_EQ(q.take().values(), Ints{3});
}

TEST(QueueResource, StaysUsableAfterCancelledPutters) {
  Queue q(ints(1));
  CancellationToken token;
  q.put(1);
  Call& first = q.put(2, &token);
  Call& many = q.put_many({3, 4}, &token);
  Call& last = q.put(5);
  token.cancel(deadline_exceeded("the run's time is over"));
  EXPECT_EQ(first.state, "DEADLINE_EXCEEDED: the run's time is over");
  EXPECT_EQ(many.state, first.state);
  EXPECT_EQ(q.take().values(), Ints{1});
  EXPECT_EQ(last.state, "ok");
  EXPECT_EQ(q.take().values(), Ints{5});
}

TEST(QueueResource, ClosesBehindThosePuttersThatWait) {
  Queue q(ints(2));
  Call& many = q.put_many({1, 2, 3});
  Call& closing = q.close();
  Call& late = q.put(9);
  EXPECT_EQ(closing.state, "waits");
  EXPECT_FALSE(q->is_closed());
  EXPECT_EQ(q.take().values(), Ints{1});
  EXPECT_EQ(many.state, "ok");
  EXPECT_EQ(closing.state, "ok");
  EXPECT_EQ(late.state, "CANCELLED: FIFOQueue 'q' is closed.");
  EXPECT_TRUE(q->is_closed());
  EXPECT_EQ(q.close().state, "CANCELLED: Queue 'q' is already closed.");
  EXPECT_EQ(q.take_many(3).state,
            "OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 3, current size 2)");
  EXPECT_EQ(q.take_many(2).values(), (Ints{2, 3}));
  EXPECT_EQ(q.take().state,
            "OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)");
}

TEST(QueueResource, CancelsPuttersWhenAskedTo) {
  Queue q(ints(1));
  q.put(1);
  Call& waiting = q.put(2);
  EXPECT_EQ(q.close(true).state, "ok");
  EXPECT_EQ(waiting.state, "CANCELLED: Enqueue operation was cancelled");
  EXPECT_EQ(q.put(3).state, "CANCELLED: FIFOQueue 'q' is closed.");
  EXPECT_EQ(q.take().values(), Ints{1});
  EXPECT_EQ(q.close(true).state, "ok");  // again, as TensorFlow
}

TEST(QueueResource, ClosingEndsTakersThatWait) {
  Queue q(ints());
  q.put_many({1, 2});
  Call& many = q.take_many(3);
  Call& up_to = q.take_many(5, true);
  Call& up_to_late = q.take_many(5, true);
  q.close();
  EXPECT_TRUE(many.state.starts_with("OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient")) << many.state;
  EXPECT_EQ(up_to.values(), (Ints{1, 2}));  // what the first one gave back
  EXPECT_TRUE(up_to_late.state.starts_with("OUT_OF_RANGE")) << up_to_late.state;
}

TEST(QueueResource, RefusesTuplesThatDoNotFit) {
  Queue q({.op = "FIFOQueue", .name = "q", .types = {int32, float32}, .shapes = {{2}, kScalar}});
  const Tensor two(Ints{1, 2}), three(Ints{1, 2, 3});
  const auto put = [&](Tuple tuple) {
    return error_of([&] { q->enqueue(kNobody, std::move(tuple), [](const Error*) {}); });
  };
  const auto put_many = [&](Tuple tuple) {
    return error_of([&] { q->enqueue_many(kNobody, std::move(tuple), [](const Error*) {}); });
  };
  EXPECT_EQ(put({two}), "Wrong number of components in tuple. Expected 2, got 1");
  EXPECT_EQ(put({two, two}), "Type mismatch in tuple component 1. Expected float, got int32");
  EXPECT_EQ(put({three, Tensor(1.F)}), "Shape mismatch in tuple component 0. Expected [2], got [3]");
  EXPECT_EQ(put_many({two, Tensor(1.F)}), "component 1 is a scalar and no batch of tuples");
  EXPECT_EQ(put_many({three, Tensor(std::vector<float>{1, 2, 3})}),
            "Shape mismatch in tuple component 0. Expected [3,2], got [3]");
  EXPECT_EQ(q->size(), 0);

  Queue any({.op = "FIFOQueue", .name = "q", .types = {int32, int32}});
  EXPECT_EQ(error_of([&] {
              any->enqueue_many(kNobody, {two, three}, [](const Error*) {});
            }),
            "All input tensors must have the same size in the 0th dimension. Component 1 has 3, and should have 2");
  EXPECT_EQ(error_of([&] { any->dequeue_many(kNobody, 1, false, [](const Error*, Tuple) {}); }),
            "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.");
}

TEST(QueueResource, HoldsStringsAndShapes) {
  Queue q({.op = "FIFOQueue", .name = "q", .types = {string, float32}, .shapes = {kScalar, {2, 1}}});
  Call call;
  q->enqueue_many(kNobody, {Tensor(std::vector<std::string>{"a", "bc"}), Tensor::from<float>({2, 2, 1}, {1, 2, 3, 4})},
                  call.done());
  Call one, batch;
  q->dequeue(kNobody, one.taken());
  EXPECT_EQ(one.tuple[0].item<std::string>(), "a");
  EXPECT_EQ(one.tuple[1].shape(), (Shape{2, 1}));
  q->dequeue_many(kNobody, 1, false, batch.taken());
  EXPECT_EQ(batch.tuple[0].to_vector<std::string>(), std::vector<std::string>{"bc"});
  EXPECT_EQ(batch.tuple[1].to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(batch.tuple[1].shape(), (Shape{1, 2, 1}));
}

// Orders of TensorFlow 2.21 with the same seeds.
TEST(ShuffleQueue, DrawsWhatTensorFlowDraws) {
  const auto draw = [](std::int64_t seed, std::int64_t seed2, std::int64_t min_after_dequeue) {
    auto spec = ints(20, "RandomShuffleQueueV2");
    spec.seed = seed;
    spec.seed2 = seed2;
    spec.min_after_dequeue = min_after_dequeue;
    Queue q(spec);
    q.put_many({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    Ints drawn;
    for (int i = 0; i < 4; ++i) drawn.push_back(q.take().values()[0]);
    for (const int value : q.take_many(4).values()) drawn.push_back(value);
    return drawn;
  };
  EXPECT_EQ(draw(87654321, 5, 2), (Ints{1, 2, 0, 4, 8, 6, 9, 5}));
  EXPECT_EQ(draw(3, std::int64_t{1} << 40, 0), (Ints{6, 9, 5, 7, 2, 1, 0, 8}));
  EXPECT_NE(draw(0, 0, 0), draw(0, 0, 0));
}

TEST(ShuffleQueue, KeepsSomeUntilItIsClosed) {
  auto spec = ints(10, "RandomShuffleQueue");
  spec.min_after_dequeue = 3;
  Queue q(spec);
  q.put_many({1, 2, 3, 4});
  EXPECT_EQ(q.take().state, "ok");
  Call& waits = q.take_many(2);
  EXPECT_EQ(waits.state, "waits");
  Call& rest = q.take_many(4, true);
  q.close();
  EXPECT_EQ(waits.state, "ok");
  EXPECT_EQ(rest.values().size(), 1U);
}

// Order of TensorFlow 2.21, also among equal priorities.
TEST(PriorityQueueResource, GivesTheSmallestFirst) {
  Queue q({.op = "PriorityQueueV2", .name = "p", .types = {int64, int32}, .shapes = {kScalar, kScalar}});
  const std::vector<std::int64_t> priorities{3, 1, 2, 1, 3, 2, 1, 0, 3, 2, 2, 1, 1};
  Ints values(priorities.size());
  std::iota(values.begin(), values.end(), 0);
  Call put, early, taken;
  q->dequeue_many(kNobody, 20, false, early.taken());
  q->enqueue_many(kNobody, {Tensor(priorities), Tensor(values)}, put.done());
  EXPECT_EQ(q->size(), 13);  // a batch waits until all of it is there
  q.close();
  EXPECT_EQ(early.state,
            "OUT_OF_RANGE: PriorityQueue 'p' is closed and has insufficient elements (requested 20, current size 13)");
  q->dequeue_many(kNobody, 20, true, taken.taken());
  EXPECT_EQ(taken.tuple[1].to_vector<int>(), (Ints{7, 6, 11, 12, 1, 3, 2, 10, 5, 9, 0, 8, 4}));
}

TEST(PriorityQueueResource, WantsScalarNumbers) {
  EXPECT_EQ(error_of([] { QueueResource::make({.op = "PriorityQueue", .name = "p", .types = {int32}}); }),
            "PriorityQueue priority index component must be type int64, but dtype is: int32");
  Queue q({.op = "PriorityQueue", .name = "p", .types = {int64}});
  Call call;
  q->enqueue(kNobody, {Tensor(std::vector<std::int64_t>{1})}, call.done());
  EXPECT_EQ(call.state, "INVALID_ARGUMENT: Expected the priority element to be a scalar, but received shape: [1]");
}

TEST(PaddingQueue, PadsBatchesToTheLargest) {
  Queue q({.op = "PaddingFIFOQueueV2", .name = "q", .types = {int32, string}, .shapes = {{-1, 2}, {-1}}});
  Call call, batch, wrong;
  const auto put = [&](int rows, std::vector<std::string> words) {
    Tensor numbers(int32, Shape{rows, 2});
    std::iota(numbers.data<int>(), numbers.data<int>() + numbers.num_elements(), 1);
    q->enqueue(kNobody, {numbers, Tensor(std::move(words))}, call.done());
  };
  put(1, {"a", "b"});
  put(2, {});
  put(0, {"c"});
  q->dequeue_many(kNobody, 3, false, batch.taken());
  EXPECT_EQ(batch.tuple[0].shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(batch.tuple[0].to_vector<int>(), (Ints{1, 2, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0}));
  EXPECT_EQ(batch.tuple[1].to_vector<std::string>(), (std::vector<std::string>{"a", "b", "", "", "c", ""}));
  EXPECT_EQ(error_of([&] {
              q->enqueue(kNobody, {Tensor::zeros(int32, {3, 4}), Tensor(std::vector<std::string>{})}, wrong.done());
            }),
            "Shape mismatch in tuple component 0. Expected [?,2], got [3,4]");
  q->dequeue_many(kNobody, 0, false, batch.taken());
  EXPECT_EQ(batch.tuple[0].shape(), (Shape{0, 0, 2}));
}

TEST(QueueResource, SaysWhatASharedQueueDiffersIn) {
  Queue q(ints(3));
  const auto differs = [&](const std::function<void(QueueResource::Spec&)>& change) {
    auto spec = ints(3);
    change(spec);
    return error_of([&] { q->check_matches(spec); });
  };
  EXPECT_EQ(differs([](auto& spec) { spec.op = "FIFOQueue"; }), "no error");
  EXPECT_EQ(differs([](auto& spec) { spec.op = "RandomShuffleQueueV2"; }),
            "Expected FIFOQueue, found RandomShuffleQueueV2");
  EXPECT_EQ(differs([](auto& spec) { spec.capacity = 4; }),
            "Shared queue 'q' has capacity 3 but requested capacity was 4");
  EXPECT_EQ(differs([](auto& spec) {
              spec.types = {int32, float32};
            }),
            "Shared queue 'q' has component types int32 but requested component types were int32, float");
  EXPECT_EQ(differs([](auto& spec) { spec.shapes = {}; }),
            "Shared queue 'q' has component shapes [[]] but requested component shapes were []");
}

TEST(QueueResource, RefusesSpecsThatNoQueueCanHave) {
  const auto make = [](QueueResource::Spec spec) { return error_of([&] { QueueResource::make(spec); }); };
  EXPECT_EQ(make({.op = "FIFOQueueV2", .name = "q", .types = {int32}, .shapes = {{-1}}}),
            "Shape [?] is not fully defined");
  EXPECT_EQ(make({.op = "FIFOQueueV2", .name = "q", .types = {int32}, .shapes = {{1}, {2}}}),
            "Different number of component types.  Types: int32, Shapes: [[1], [2]]");
  EXPECT_EQ(make({.op = "RandomShuffleQueue", .name = "q", .capacity = 2, .types = {int32}, .min_after_dequeue = 2}),
            "min_after_dequeue 2 must be < capacity 2");
  EXPECT_EQ(make({.op = "PaddingFIFOQueue", .name = "q", .types = {int32}}),
            "Shapes must be provided for all components, but received 1 dtypes and 0 shapes.");
}

TEST(QueueResource, LosesAndDoublesNothingBetweenThreads) {
  Queue q(ints(3));
  constexpr int kValues = 2000;
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> taken{0};
  std::thread producer([&] {
    for (int i = 0; i < kValues; ++i) q->enqueue(kNobody, {Tensor(i)}, [](const Error*) {});
  });
  std::thread canceller([&] {
    for (int i = 0; i < kValues / 10; ++i) {
      CancellationToken token;
      std::atomic<bool> over{false};
      q->dequeue_many({&token, &host_allocator()}, 5, false, [&](const Error* error, Tuple tuple) {
        if (error == nullptr) {
          for (const int value : tuple[0].to_vector<int>()) sum.fetch_add(value);
          taken.fetch_add(5);
        }
        over = true;
      });
      token.cancel(cancelled("stop"));
      while (!over) std::this_thread::yield();
    }
  });
  producer.join();
  canceller.join();
  while (taken < kValues) {
    q->dequeue(kNobody, [&](const Error*, Tuple tuple) {
      sum.fetch_add(tuple[0].item<int>());
      taken.fetch_add(1);
    });
  }
  EXPECT_EQ(sum.load(), std::int64_t{kValues} * (kValues - 1) / 2);
  EXPECT_EQ(q->size(), 0);
}

}  // namespace
}  // namespace caudal
