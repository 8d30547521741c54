// A model whose checkpoints can be checked for being all of one step: every variable holds the step's number.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/variable.h"
#include "caudal/train/saver.h"

namespace caudal::gate {

class SteppedModel {
 public:
  explicit SteppedModel(Env* env = nullptr, int max_to_keep = 3)
      : scope_(graph_),
        a_(Tensor::zeros(float32, {700}), {.name = "a"}),
        b_(Tensor::zeros(float32, {3, 50}), {.name = "b"}),
        step_(Tensor(std::int64_t{0}), {.name = "step"}),
        one_more_{a_.assign_add(fill({700}, 1.0F)), b_.assign_add(fill({3, 50}, 1.0F)),
                  step_.assign_add(constant(Tensor(std::int64_t{1})))},
        saver_({.max_to_keep = max_to_keep}),
        session_({.intra_op_threads = 1, .env = env}) {
    session_.run(global_variables_initializer());
  }

  std::int64_t step() { return session_.run(step_).item<std::int64_t>(); }
  void advance() { session_.run(one_more_); }
  Session& session() { return session_; }
  train::Saver& saver() { return saver_; }

  std::string save(const std::string& path, bool numbered = true) {
    train::SaveOptions options{.state = {{"step", std::to_string(step())}}};
    if (numbered) options.global_step = step();
    return saver_.save(session_, path, options);
  }

  // Restores and checks that everything is of one step, which it returns. `state_needed`: the sidecar must be there.
  std::int64_t restore(const std::string& prefix, bool state_needed = true) {
    const train::StateMap state = saver_.restore(session_, prefix);
    const auto values = session_.run({a_, b_});
    for (const Tensor& value : values) {
      for (const float element : value.flat<float>()) {
        if (element != static_cast<float>(step())) {
          ADD_FAILURE() << prefix << ": " << element << " in a checkpoint of step " << step();
          return -1;
        }
      }
    }
    const auto found = state.find("step");
    if (found != state.end()) {
      EXPECT_EQ(found->second, std::to_string(step())) << prefix;
    } else {
      EXPECT_FALSE(state_needed) << prefix << " has no sidecar of its own";
    }
    return step();
  }

 private:
  Graph graph_;
  GraphScope scope_;
  Variable a_, b_, step_;
  Fetches one_more_;
  train::Saver saver_;
  Session session_;
};

}  // namespace caudal::gate
