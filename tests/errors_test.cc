// Common mistakes and the whole message that each gives: what was wrong, where, which shapes, what to do. After each of
// them the session goes on.
#include <gtest/gtest.h>

#include <cerrno>
#include <regex>

#include "caudal/autodiff/gradient.h"
#include "caudal/base/error.h"
#include "caudal/base/fault_env.h"
#include "caudal/base/memory_env.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/conv.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"
#include "caudal/train/optimizer.h"
#include "caudal/train/saver.h"

namespace caudal {
namespace {

class ErrorsTest : public ::testing::Test {
 protected:
  // The message with line numbers of this file as N.
  template <class Action>
  static std::string error_of(const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      return std::regex_replace(std::string(error.what()), std::regex(R"(errors_test\.cc:\d+)"), "errors_test.cc:N");
    }
    return "no error";
  }

  void TearDown() override { EXPECT_EQ(session_->run(x_ + 1.0F, {{x_, one_row_}}).shape(), (Shape{1, 3})); }

  Graph graph_;
  GraphScope scope_{graph_};
  MemoryEnv files_;
  FaultEnv env_{files_};
  std::unique_ptr<Session> session_ = std::make_unique<Session>(SessionOptions{.env = &env_});
  Output x_ = placeholder(float32, {-1, 3}, {.name = "input"});
  Output y_ = identity(x_, {.name = "loss"});
  const Tensor one_row_ = Tensor::from<float>({1, 3}, {1, 2, 3});
};

TEST_F(ErrorsTest, UnknownFeed) {
  EXPECT_EQ(error_of([&] { session_->run(y_, {{"inptu:0", one_row_}}); }), "?");
}

TEST_F(ErrorsTest, UnknownFetch) {
  EXPECT_EQ(error_of([&] { session_->run({"los:0"}, {{x_, one_row_}}); }), "?");
  EXPECT_EQ(error_of([&] { session_->run({"loss:1"}, {{x_, one_row_}}); }), "?");
}

TEST_F(ErrorsTest, FeedOfAnotherType) {
  EXPECT_EQ(error_of([&] { session_->run(y_, {{x_, Tensor::from<double>({1, 3}, {1, 2, 3})}}); }), "?");
}

TEST_F(ErrorsTest, FeedOfAnotherShape) {
  EXPECT_EQ(error_of([&] { session_->run(y_, {{x_, Tensor(std::vector<float>{1, 2, 3})}}); }), "?");
}

TEST_F(ErrorsTest, PlaceholderNotFed) {
  EXPECT_EQ(error_of([&] { session_->run(y_); }), "?");
}

TEST_F(ErrorsTest, FedTwice) {
  EXPECT_EQ(error_of([&] { session_->run(y_, {{x_, one_row_}, {"input", one_row_}}); }), "?");
}

TEST_F(ErrorsTest, UninitialisedVariable) {
  const Variable w(zeros({3, 2}), {.name = "kernel"});
  const Output product = matmul(x_, w, {.name = "product"});
  EXPECT_EQ(error_of([&] { session_->run(product, {{x_, one_row_}}); }), "?");
  const Variable r(zeros({3, 2}), {.name = "handle", .use_resource = true});
  EXPECT_EQ(error_of([&] { session_->run(r); }), "?");
}

TEST_F(ErrorsTest, LabelOutOfRange) {
  const Output labels = placeholder(int64, {-1}, {.name = "labels"});
  const Output losses =
      nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = x_, .name = "losses"});
  EXPECT_EQ(error_of([&] {
              session_->run(losses, {{x_, one_row_}, {labels, Tensor(std::vector<std::int64_t>{3})}});
            }),
            "?");
}

TEST_F(ErrorsTest, InnerDimensionsOfAProduct) {
  EXPECT_EQ(error_of([&] { matmul(x_, zeros({4, 2}), {.name = "product"}); }), "?");
  const Output b = placeholder(float32, {-1, 2}, {.name = "b"});  // known at run time only
  const Output product = matmul(x_, b, {.name = "late"});
  EXPECT_EQ(error_of([&] { session_->run(product, {{x_, one_row_}, {b, Tensor::zeros(float32, {4, 2})}}); }), "?");
}

TEST_F(ErrorsTest, ShapesThatDoNotBroadcast) {
  EXPECT_EQ(error_of([&] { add(x_, zeros({4}), {.name = "sum"}); }), "?");
  const Output b = placeholder(float32, {-1}, {.name = "b"});
  const Output sum = add(x_, b, {.name = "late"});
  EXPECT_EQ(error_of([&] { session_->run(sum, {{x_, one_row_}, {b, Tensor::zeros(float32, {4})}}); }), "?");
}

TEST_F(ErrorsTest, ChannelsOfAConvolution) {
  const Output images = placeholder(float32, {-1, 28, 28, 1}, {.name = "images"});
  EXPECT_EQ(error_of([&] { nn::conv2d(images, zeros({5, 5, 3, 8}), {.name = "conv"}); }), "?");
}

TEST_F(ErrorsTest, ReshapeToAnotherSize) {
  EXPECT_EQ(error_of([&] { reshape(zeros({2, 3}), {4, -1}, {.name = "flat"}); }), "?");
  const Output flat = reshape(x_, {2, 2}, {.name = "late"});
  EXPECT_EQ(error_of([&] { session_->run(flat, {{x_, one_row_}}); }), "?");
}

TEST_F(ErrorsTest, ConcatOfOtherSizes) {
  EXPECT_EQ(error_of([&] { concat({zeros({2, 3}), zeros({3, 3})}, 1, {.name = "joined"}); }), "?");
}

TEST_F(ErrorsTest, IntegerNextToFloat) {
  const Output i = constant({1, 2, 3}, {.name = "counts"});
  EXPECT_EQ(error_of([&] { add(x_, i, {.name = "sum"}); }), "?");
}

TEST_F(ErrorsTest, ClosedSession) {
  Session closed;
  closed.close();
  EXPECT_EQ(error_of([&] { closed.run(y_, {{x_, one_row_}}); }), "?");
}

TEST_F(ErrorsTest, CycleInTheGraph) {
  const Output a = identity(x_, {.name = "a"});
  const Output b = identity(a, {.name = "b"});
  graph_.connect(*a.node(), 0, b);
  EXPECT_EQ(error_of([&] { session_->run(b, {{x_, one_row_}}); }), "?");
}

TEST_F(ErrorsTest, GradientOfAnInteger) {
  EXPECT_EQ(error_of([&] { gradients({cast(y_, int32, {.name = "rounded"})}, {x_}); }), "?");
}

TEST_F(ErrorsTest, OptimiserWithoutVariables) {
  const Output loss = reduce_mean(y_);
  EXPECT_EQ(error_of([&] { train::GradientDescentOptimizer().minimize(loss); }), "?");
  const Variable unrelated(1.0F, {.name = "unrelated"});
  EXPECT_EQ(error_of([&] { train::GradientDescentOptimizer().minimize(loss); }), "?");
}

TEST_F(ErrorsTest, CheckpointThatDoesNotFit) {
  {
    Graph other;
    const GraphScope scope(other);
    const Variable w(ones({3, 4}), {.name = "kernel"});
    const Variable b(ones({4}), {.name = "bias_old"});
    train::Saver saver;
    Session session({.env = &env_});
    session.run(global_variables_initializer());
    saver.save(session, "/model/a.ckpt");
  }
  const Variable w(ones({3, 2}), {.name = "kernel"});
  const Variable b(ones({2}), {.name = "bias"});
  train::Saver saver;
  session_->run(global_variables_initializer());
  EXPECT_EQ(error_of([&] { saver.restore(*session_, "/model/a.ckpt"); }), "?");
  EXPECT_EQ(session_->run(w).to_vector<float>(), std::vector<float>(6, 1));  // nothing was touched
  EXPECT_EQ(error_of([&] { saver.restore(*session_, "/model/b.ckpt"); }), "?");
}

class CheckpointErrorsTest : public ErrorsTest {
 protected:
  CheckpointErrorsTest() { session_->run(global_variables_initializer()); }

  const Variable w_{ones({100, 20}), {.name = "kernel"}};
  train::Saver saver_;
};

TEST_F(CheckpointErrorsTest, Truncated) {
  saver_.save(*session_, "/model/a.ckpt");
  const std::string data = "/model/a.ckpt.data-00000-of-00001";
  const std::string bytes = read_file(files_, data);
  const auto cut = [&](std::string_view part) {
    const auto file = files_.create(data);
    file->append(part);
    file->close();
  };
  cut(std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_EQ(error_of([&] { saver_.restore(*session_, "/model/a.ckpt"); }), "?");
  std::string flipped = bytes;
  flipped[100] ^= 1;
  cut(flipped);
  EXPECT_EQ(error_of([&] { saver_.restore(*session_, "/model/a.ckpt"); }), "?");
  cut(bytes);
  EXPECT_NO_THROW(saver_.restore(*session_, "/model/a.ckpt"));
  const std::string index = read_file(files_, "/model/a.ckpt.index");
  const auto file = files_.create("/model/a.ckpt.index");
  file->append(std::string_view(index).substr(0, 20));
  file->close();
  EXPECT_EQ(error_of([&] { saver_.restore(*session_, "/model/a.ckpt"); }), "?");
}

TEST_F(CheckpointErrorsTest, NoSpace) {
  env_.fail_at(FileOp::kAppend, 0, Fault::kNoSpace);
  EXPECT_EQ(error_of([&] { saver_.save(*session_, "/model/a.ckpt"); }), "?");
  EXPECT_NO_THROW(saver_.save(*session_, "/model/a.ckpt"));
}

TEST_F(CheckpointErrorsTest, NoPermission) {
  class Forbidding final : public EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    size_t before(FileOp op, const std::string&, std::string_view, int* failure) override {
      if (op == FileOp::kCreate || op == FileOp::kMkdirs) *failure = EACCES;
      return 0;
    }
  } forbidding(files_);
  Session session({.env = &forbidding});
  session.run(global_variables_initializer());
  EXPECT_EQ(error_of([&] { saver_.save(session, "/model/a.ckpt"); }), "?");
  EXPECT_EQ(session.run(w_).num_elements(), 2000);
}

TEST_F(ErrorsTest, MemoryLimit) {
  Session session({.memory_limit = 10'000'000, .env = &env_});
  const Output rows = placeholder(int32, {}, {.name = "rows"});
  const Output first = fill(stack({rows, 1000}), 1.0F, {.name = "first"});
  const Output second = add(first, first, {.name = "second"});
  const Output both = add(reduce_mean(second), reduce_mean(first), {.name = "both"});
  EXPECT_EQ(error_of([&] { session.run(both, {{rows, Tensor(2000)}}); }), "?");
  EXPECT_EQ(session.run(both, {{rows, Tensor(100)}}).item<float>(), 3);
  EXPECT_EQ(session.memory().in_use(), 0U);
  // A program whose sizes are known takes its memory at once.
  const Output planned = fill({2000, 2000}, 1.0F, {.name = "large"});
  EXPECT_EQ(error_of([&] { session.run(reduce_mean(planned + 1.0F)); }), "?");
}

TEST_F(ErrorsTest, MoreMemoryThanThereIs) {
  const Output rows = placeholder(int64, {2}, {.name = "rows"});
  const Output filled = fill(rows, 1.0F, {.name = "filled"});
  const std::int64_t million = 1'000'000;
  const Tensor sizes(std::vector<std::int64_t>{million, million * million});
  EXPECT_EQ(error_of([&] { session_->run(reduce_mean(filled), {{rows, sizes}}); }), "?");
  const Tensor beyond(std::vector<std::int64_t>{million * million, million * million});
  EXPECT_EQ(error_of([&] { session_->run(reduce_mean(filled), {{rows, beyond}}); }), "?");
  const Output known = fill(sizes, 1.0F, {.name = "known"});
  EXPECT_EQ(error_of([&] { session_->run(reduce_mean(known)); }), "?");
}

}  // namespace
}  // namespace caudal
