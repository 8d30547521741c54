#include "caudal/core/waiting_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace caudal {
namespace {

// A counter that may not go below zero: who takes more than there is waits.
class Counter final : public WaitingRoom {
 public:
  explicit Counter(Order order = Order::kFirstOnly) : WaitingRoom(1, order) {}
  void add(int n) {
    change([&] { value_ += n; });
  }
  void take(int n, CancellationToken* token, Done done) {
    wait(0, {.attempt =
                 [this, n] {
                   if (n < 0) throw invalid_argument("nothing to take");
                   if (value_ < n) return Outcome::kWait;
                   value_ -= n;
                   return Outcome::kDone;
                 },
             .done = std::move(done),
             .cancellation = token,
             .cancelled = "take was cancelled"});
  }
  void end(const Error& error) {
    change_and_end([this] { value_ = 0; }, 0, error);
  }
  int value() const {
    return look([this] { return value_; });
  }

 private:
  int value_ = 0;
};

std::string text_of(const Error* error) { return error == nullptr ? "ok" : error->what(); }

TEST(WaitingRoom, ServesInOrder) {
  const auto counter = std::make_shared<Counter>();
  std::string order;
  counter->take(3, nullptr, [&](const Error*) { order += "3"; });
  counter->take(1, nullptr, [&](const Error*) { order += "1"; });
  counter->add(2);
  EXPECT_EQ(order, "");  // the first has to wait, and the second behind it
  counter->add(2);
  EXPECT_EQ(order, "31");
  EXPECT_EQ(counter->value(), 0);
}

TEST(WaitingRoom, ServesAnybodyWhereOrderIsFree) {
  const auto counter = std::make_shared<Counter>(Counter::Order::kAny);
  std::string order;
  counter->take(3, nullptr, [&](const Error*) { order += "3"; });
  counter->take(1, nullptr, [&](const Error*) { order += "1"; });
  counter->add(2);
  EXPECT_EQ(order, "1");
  counter->add(2);
  EXPECT_EQ(order, "13");
}

TEST(WaitingRoom, ReportsWhatAnAttemptThrows) {
  const auto counter = std::make_shared<Counter>();
  std::string result;
  counter->take(-1, nullptr, [&](const Error* error) { result = text_of(error); });
  EXPECT_EQ(result, "INVALID_ARGUMENT: nothing to take");
}

TEST(WaitingRoom, EndsByCancellationOnceAndLetsOthersOn) {
  const auto counter = std::make_shared<Counter>();
  CancellationToken token;
  std::string first, second;
  counter->take(3, &token, [&](const Error* error) { first += text_of(error); });
  counter->take(1, nullptr, [&](const Error* error) { second += text_of(error); });
  counter->add(1);
  token.cancel(cancelled("the run was cancelled"));
  EXPECT_EQ(first, "CANCELLED: take was cancelled");
  EXPECT_EQ(second, "ok");
  counter->add(5);
  EXPECT_EQ(counter->value(), 5);  // the cancelled one took nothing

  std::string late;
  counter->take(1, &token, [&](const Error* error) { late = text_of(error); });
  EXPECT_EQ(late, "CANCELLED: take was cancelled");
}

TEST(WaitingRoom, SaysWhenTimeIsOver) {
  const auto counter = std::make_shared<Counter>();
  CancellationToken token;
  std::string result;
  counter->take(3, &token, [&](const Error* error) { result = text_of(error); });
  token.cancel(deadline_exceeded("the run's time is over"));
  EXPECT_EQ(result, "DEADLINE_EXCEEDED: the run's time is over");
}

// Two waits of one step: cancelling the first frees the second, which is done in the middle of the cancellation.
TEST(WaitingRoom, EndsAWaitFromWithinItsOwnCancellation) {
  const auto counter = std::make_shared<Counter>();
  CancellationToken token;
  std::string first, second;
  counter->add(1);
  counter->take(3, &token, [&](const Error* error) { first = text_of(error); });
  counter->take(1, &token, [&](const Error* error) { second = text_of(error); });
  token.cancel(cancelled("stop"));
  EXPECT_EQ(first, "CANCELLED: take was cancelled");
  EXPECT_EQ(second, "ok");
}

TEST(WaitingRoom, ForgetsTheTokenOfWhatIsDone) {
  const auto counter = std::make_shared<Counter>();
  int calls = 0;
  {
    CancellationToken token;
    counter->take(1, &token, [&](const Error*) { ++calls; });
    counter->add(1);
    token.cancel(cancelled("late"));
  }
  EXPECT_EQ(calls, 1);
}

TEST(WaitingRoom, EndsAllAtOnce) {
  const auto counter = std::make_shared<Counter>();
  std::string results;
  counter->add(1);
  for (int i = 0; i < 2; ++i) {
    counter->take(5, nullptr, [&](const Error* error) { results += text_of(error) + "\n"; });
  }
  counter->end(aborted("over"));
  EXPECT_EQ(results, "ABORTED: over\nABORTED: over\n");
}

TEST(WaitingRoom, MayBeLetGoOfByItsLastWait) {
  auto counter = std::make_shared<Counter>();
  const std::weak_ptr<Counter> watch = counter;
  CancellationToken token;
  bool called = false;
  auto& room = *counter;
  room.take(1, &token, [&called, held = std::move(counter)](const Error*) { called = true; });
  EXPECT_FALSE(watch.expired());
  token.cancel(cancelled("stop"));
  EXPECT_TRUE(called);
  EXPECT_TRUE(watch.expired());
}

TEST(WaitingRoom, EndsEachWaitOnceWhenThreadsRace) {
  constexpr int kRounds = 300, kWaits = 8;
  for (int round = 0; round < kRounds; ++round) {
    const auto counter = std::make_shared<Counter>();
    CancellationToken token;
    std::atomic<int> ends{0}, taken{0};
    std::thread taker([&] {
      for (int i = 0; i < kWaits; ++i) {
        counter->take(1, &token, [&](const Error* error) {
          ends.fetch_add(1);
          if (error == nullptr) taken.fetch_add(1);
        });
      }
    });
    std::thread giver([&] {
      for (int i = 0; i < kWaits; ++i) counter->add(1);
    });
    std::thread canceller([&] { token.cancel(cancelled("stop")); });
    taker.join();
    giver.join();
    canceller.join();
    EXPECT_EQ(ends.load(), kWaits);
    EXPECT_EQ(counter->value() + taken.load(), kWaits);
  }
}

}  // namespace
}  // namespace caudal
