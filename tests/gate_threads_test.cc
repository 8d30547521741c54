// Four threads on one session: two plans of different batch sizes train shared variables while others assign, fetch and
// save. All updates treat the elements of a variable alike, so a torn value would show as unequal elements.
#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <thread>

#include "caudal/base/env.h"
#include "caudal/ops/matmul.h"
#include "gate_util.h"

namespace caudal {
namespace {

constexpr int kSteps = 60;
constexpr std::int64_t kRows = 128, kColumns = 256;

bool all_equal(const Tensor& value) {
  for (const float element : value.flat<float>()) {
    if (element != value.flat<float>()[0]) return false;
  }
  return true;
}

class GateThreads : public ::testing::TestWithParam<bool> {
 protected:
  GateThreads() {
    const VariableScope scope("model", {.use_resource = GetParam()});
    w_ = get_variable("w", {.shape = {kRows, kColumns}, .initializer = zeros_initializer()});
    x_ = placeholder(float32, {-1, kRows}, {.name = "x"});
    // The gradient of every element of w is the number of rows: sums are exact in any order.
    loss_ = reduce_sum(matmul(x_, w_));
    train_op_ = train::MomentumOptimizer({.learning_rate = 1.0F, .momentum = 0.0F}).minimize(loss_);
    session_.run(global_variables_initializer());
  }

  // Runs the bodies at once, and reports what any of them threw.
  void together(const std::vector<std::function<void()>>& bodies) {
    std::latch start(static_cast<std::ptrdiff_t>(bodies.size()));
    std::vector<std::thread> threads;
    std::vector<std::string> failures(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        try {
          bodies[i]();
        } catch (const Error& error) {
          failures[i] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) EXPECT_EQ(failure, "");
  }

  void train(std::int64_t batch) {
    Tensor ones(float32, {batch, kRows});
    std::ranges::fill(ones.flat<float>(), 1.0F);
    for (int i = 0; i < kSteps; ++i) session_.run({train_op_, loss_}, {{x_, ones}});
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Variable w_;
  Output x_, loss_;
  Operation train_op_;
  Session session_;
};

TEST_P(GateThreads, TwoPlansAssignFetchAndSave) {
  const Output value = placeholder(float32, {}, {.name = "value"});
  const Output assigned = w_.assign(fill({kRows, kColumns}, value));
  train::Saver saver;
  const TempDir directory;
  std::vector<std::string> saved;
  together({[&] { train(8); }, [&] { train(5); },
            [&] {
              for (int i = 0; i < kSteps; ++i) {
                if (i % 4 == 0) session_.run(Operation(assigned), {{value, Tensor(static_cast<float>(1000 * i))}});
                EXPECT_TRUE(all_equal(session_.run(w_)));
              }
            },
            [&] {
              for (int i = 0; i < 10; ++i) {
                saved.push_back(saver.save(session_, directory.file("model"), {.global_step = i}));
                EXPECT_TRUE(all_equal(session_.run(w_)));
              }
            }});
  ASSERT_EQ(saved.size(), 10U);
  for (std::size_t i = 5; i < saved.size(); ++i) {
    EXPECT_TRUE(all_equal(train::load_variable(saved[i], "model/w")));
    EXPECT_TRUE(all_equal(train::load_variable(saved[i], "model/w/Momentum")));
  }
}

TEST_P(GateThreads, NoUpdateIsLost) {
  const Output added = w_.assign_add(fill({kRows, kColumns}, 1.0F));
  const auto add = [&] {
    for (int i = 0; i < kSteps; ++i) session_.run(Operation(added));
  };
  together({[&] { train(8); }, [&] { train(5); }, add, add});
  const Tensor value = session_.run(w_);
  EXPECT_TRUE(all_equal(value));
  EXPECT_EQ(value.item<float>(), static_cast<float>(kSteps * (1 + 1 - 8 - 5)));
}

TEST_P(GateThreads, BuildingTheGraphWhileOthersRun) {
  std::atomic<bool> done = false;
  together({[&] { train(8); },
            [&] {
              const GraphScope scope(graph_);
              for (int i = 0; i < kSteps; ++i) {
                EXPECT_EQ(session_.run(add(constant(Tensor(i)), constant(Tensor(1)))).item<int>(), i + 1);
              }
              done = true;
            },
            [&] {
              while (!done) EXPECT_TRUE(all_equal(session_.run(w_)));
            }});
  EXPECT_EQ(session_.run(w_).item<float>(), -8.0F * kSteps);
}

INSTANTIATE_TEST_SUITE_P(Variables, GateThreads, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

}  // namespace
}  // namespace caudal
