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
  // The message with line numbers of this file and numbers in temporary names as N.
  template <class Action>
  static std::string error_of(const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      const std::string lines =
          std::regex_replace(error.what(), std::regex(R"(errors_test\.cc:\d+)"), "errors_test.cc:N");
      return std::regex_replace(lines, std::regex(R"(tempstate[\d-]+)"), "tempstateN");
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
  EXPECT_EQ(error_of([&] {
              session_->run(y_, {{"inptu:0", one_row_}});
            }),
            "NOT_FOUND: the graph has no operation 'inptu'. Did you mean 'input'?");
}

TEST_F(ErrorsTest, UnknownFetch) {
  EXPECT_EQ(error_of([&] {
              session_->run({"los:0"}, {{x_, one_row_}});
            }),
            "NOT_FOUND: the graph has no operation 'los'. Did you mean 'loss'?");
  EXPECT_EQ(error_of([&] {
              session_->run({"loss:1"}, {{x_, one_row_}});
            }),
            "NOT_FOUND: operation 'loss' has 1 output; there is no 'loss:1'. Outputs count from 0.");
}

TEST_F(ErrorsTest, FeedOfAnotherType) {
  EXPECT_EQ(error_of([&] {
              session_->run(y_, {{x_, Tensor::from<double>({1, 3}, {1, 2, 3})}});
            }),
            "INVALID_ARGUMENT: the feed of 'input:0' is float64[1,3]; float32[?,3] is wanted. Made at "
            "errors_test.cc:N. Feed a tensor of type float32.");
}

TEST_F(ErrorsTest, FeedOfAnotherShape) {
  EXPECT_EQ(error_of([&] {
              session_->run(y_, {{x_, Tensor(std::vector<float>{1, 2, 3})}});
            }),
            "INVALID_ARGUMENT: the feed of 'input:0' has shape [3]; [?,3] is wanted. Made at errors_test.cc:N. Reshape "
            "the value, or give the placeholder another shape (-1 for a size that varies).");
}

TEST_F(ErrorsTest, PlaceholderNotFed) {
  EXPECT_EQ(error_of([&] { session_->run(y_); }),
            "INVALID_ARGUMENT: Placeholder 'input': You must feed a value for placeholder 'input' with dtype float32 "
            "and shape [?,3]. Made at errors_test.cc:N. Give run() {{\"input\", value}} as well.");
}

TEST_F(ErrorsTest, FedTwice) {
  EXPECT_EQ(error_of([&] {
              session_->run(y_, {{x_, one_row_}, {"input", one_row_}});
            }),
            "INVALID_ARGUMENT: 'input:0' is fed twice. Give each tensor one value.");
}

TEST_F(ErrorsTest, UninitialisedVariable) {
  const Variable w(zeros({3, 2}), {.name = "kernel"});
  const Output product = matmul(x_, w, {.name = "product"});
  EXPECT_EQ(
      error_of([&] {
        session_->run(product, {{x_, one_row_}});
      }),
      "FAILED_PRECONDITION: Identity 'kernel/read': Attempting to use uninitialized value kernel, a variable "
      "float32[3,2]. Made at errors_test.cc:N. Run global_variables_initializer() or restore a checkpoint first.");
  const Variable r(zeros({3, 2}), {.name = "handle", .use_resource = true});
  EXPECT_EQ(error_of([&] { session_->run(r); }),
            "FAILED_PRECONDITION: ReadVariableOp 'handle/Read/ReadVariableOp': Attempting to use uninitialized value "
            "handle, a variable of container 'localhost'. Made at errors_test.cc:N. Run global_variables_initializer() "
            "or restore a "
            "checkpoint first.");
}

TEST_F(ErrorsTest, LabelOutOfRange) {
  const Output labels = placeholder(int64, {-1}, {.name = "labels"});
  const Output losses =
      nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = x_, .name = "losses"});
  EXPECT_EQ(
      error_of([&] {
        session_->run(losses, {{x_, one_row_}, {labels, Tensor(std::vector<std::int64_t>{3})}});
      }),
      "INVALID_ARGUMENT: SparseSoftmaxCrossEntropyWithLogits 'losses/SparseSoftmaxCrossEntropyWithLogits': label 3 of "
      "row 0 is outside [0, 3). Made at errors_test.cc:N. Labels count from 0; the logits need one column per class.");
}

TEST_F(ErrorsTest, InnerDimensionsOfAProduct) {
  EXPECT_EQ(error_of([&] {
              matmul(x_, zeros({4, 2}), {.name = "product"});
            }),
            "INVALID_ARGUMENT: MatMul 'product': inner dimensions differ: a float32[?,3], b float32[4,2] (inputs: "
            "float32[?,3] 'input:0', float32[4,2] 'zeros:0'). Made at errors_test.cc:N. Give b 3 rows, or transpose.");
  const Output b = placeholder(float32, {-1, 2}, {.name = "b"});  // known at run time only
  const Output product = matmul(x_, b, {.name = "late"});
  EXPECT_EQ(error_of([&] {
              session_->run(product, {{x_, one_row_}, {b, Tensor::zeros(float32, {4, 2})}});
            }),
            "INVALID_ARGUMENT: MatMul 'late': inner dimensions differ: a float32[1,3], b float32[4,2]. Made at "
            "errors_test.cc:N. Give b 3 rows, or transpose.");
}

TEST_F(ErrorsTest, ShapesThatDoNotBroadcast) {
  EXPECT_EQ(error_of([&] { add(x_, zeros({4}), {.name = "sum"}); }),
            "INVALID_ARGUMENT: AddV2 'sum': shapes [?,3] and [4] cannot be broadcast together (inputs: float32[?,3] "
            "'input:0', float32[4] 'zeros:0'). Made at errors_test.cc:N. Sizes must agree from the right, or be 1.");
  const Output b = placeholder(float32, {-1}, {.name = "b"});
  const Output sum = add(x_, b, {.name = "late"});
  EXPECT_EQ(error_of([&] {
              session_->run(sum, {{x_, one_row_}, {b, Tensor::zeros(float32, {4})}});
            }),
            "INVALID_ARGUMENT: AddV2 'late': shapes [1,3] and [4] cannot be broadcast together. Made at "
            "errors_test.cc:N. Sizes must agree from the right, or be 1.");
}

TEST_F(ErrorsTest, ChannelsOfAConvolution) {
  const Output images = placeholder(float32, {-1, 28, 28, 1}, {.name = "images"});
  EXPECT_EQ(error_of([&] {
              nn::conv2d(images, zeros({5, 5, 3, 8}), {.name = "conv"});
            }),
            "INVALID_ARGUMENT: Conv2D 'conv': the input has 1 channels, but the filter takes 3 (inputs: "
            "float32[?,28,28,1] 'images:0', float32[5,5,3,8] 'zeros:0'). Made at errors_test.cc:N. The third size of a "
            "filter is the number of input channels.");
}

TEST_F(ErrorsTest, ReshapeToAnotherSize) {
  EXPECT_EQ(error_of([&] {
              reshape(zeros({2, 3}), {4, -1}, {.name = "flat"});
            }),
            "INVALID_ARGUMENT: Reshape 'flat': cannot reshape [2,3] to [4,?]: 6 elements do not fill 4*? (inputs: "
            "float32[2,3] 'zeros:0', int32[2] 'Const:0'). Made at errors_test.cc:N.");
  const Output flat = reshape(x_, {2, -1}, {.name = "late"});
  EXPECT_EQ(error_of([&] {
              session_->run(flat, {{x_, one_row_}});
            }),
            "INVALID_ARGUMENT: Reshape 'late': cannot reshape float32[1,3] (3 elements) to [ 2 -1]. Made at "
            "errors_test.cc:N.");
}

TEST_F(ErrorsTest, ConcatOfOtherSizes) {
  EXPECT_EQ(error_of([&] {
              concat({zeros({2, 3}), zeros({3, 3})}, 1, {.name = "joined"});
            }),
            "INVALID_ARGUMENT: ConcatV2 'joined': sizes of dimension 0 differ: values[1] has shape [3,3], the others 2 "
            "(inputs: float32[2,3] 'zeros:0', float32[3,3] 'zeros_1:0', int32[] 'Const:0'). Made at errors_test.cc:N. "
            "All dimensions but the one of the concatenation must agree.");
}

TEST_F(ErrorsTest, IntegerNextToFloat) {
  const Output i = constant({1, 2, 3}, {.name = "counts"});
  EXPECT_EQ(error_of([&] { add(x_, i, {.name = "sum"}); }),
            "INVALID_ARGUMENT: AddV2 'sum': 'y' is int32; its type T is float32 by the other inputs or attributes "
            "(inputs: float32[?,3] 'input:0', int32[3] 'counts:0'). Made at errors_test.cc:N. Cast one side: inputs "
            "that share T must have one type.");
}

TEST_F(ErrorsTest, ClosedSession) {
  Session closed;
  closed.close();
  EXPECT_EQ(error_of([&] {
              closed.run(y_, {{x_, one_row_}});
            }),
            "FAILED_PRECONDITION: Session is closed. Make a new Session.");
}

TEST_F(ErrorsTest, CycleInTheGraph) {
  const Output a = identity(x_, {.name = "a"});
  const Output b = identity(a, {.name = "b"});
  graph_.connect(*a.node(), 0, b);
  EXPECT_EQ(error_of([&] {
              session_->run(b, {{x_, one_row_}});
            }),
            "INVALID_ARGUMENT: the graph has a cycle: 'a' -> 'b' -> 'a'. No node can run first: take one of these "
            "inputs or control inputs away.");
}

TEST_F(ErrorsTest, GradientOfAnInteger) {
  EXPECT_EQ(error_of([&] { gradients({cast(y_, int32, {.name = "rounded"})}, {x_}); }),
            "INVALID_ARGUMENT: gradients() of 'rounded:0': its type int32 has no gradient. Made at errors_test.cc:N. "
            "Cast it to a floating type first: gradients flow through floating and complex types only.");
}

TEST_F(ErrorsTest, OptimiserWithoutVariables) {
  const Output loss = reduce_mean(y_);
  EXPECT_EQ(error_of([&] { train::GradientDescentOptimizer().minimize(loss); }),
            "INVALID_ARGUMENT: GradientDescent: there are no variables to train. Made at errors_test.cc:N. Make layers "
            "or variables first, or give var_list.");
  const Variable unrelated(1.0F, {.name = "unrelated"});
  EXPECT_EQ(error_of([&] { train::GradientDescentOptimizer().minimize(loss); }),
            "INVALID_ARGUMENT: GradientDescent: no gradients for any variable: 'unrelated'. Made at errors_test.cc:N. "
            "The loss does not depend on them through differentiable ops.");
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
  EXPECT_EQ(
      error_of([&] { saver.restore(*session_, "/model/a.ckpt"); }),
      "INVALID_ARGUMENT: checkpoint '/model/a.ckpt' does not fit the graph; nothing was restored:\n  'bias' "
      "float32[2]: not in the checkpoint\n  'kernel' float32[3,2]: float32[3,4] in the checkpoint\nThe checkpoint "
      "also holds:\n  'bias_old' float32[4]. Give Saver the variables that it should restore, under the checkpoint's "
      "names.");
  EXPECT_EQ(session_->run(w).to_vector<float>(), std::vector<float>(6, 1));  // nothing was touched
  EXPECT_EQ(error_of([&] { saver.restore(*session_, "/model/b.ckpt"); }),
            "NOT_FOUND: /model/b.ckpt.index: there is no such checkpoint. Did you mean 'a.ckpt'?");
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
  EXPECT_EQ(error_of([&] { saver_.restore(*session_, "/model/a.ckpt"); }),
            "OUT_OF_RANGE: RestoreV2 'save/RestoreV2': tensor 'kernel': /model/a.ckpt.data-00000-of-00001: has 4000 "
            "bytes, but 8000 are needed at 0. Made at errors_test.cc:N. The checkpoint is damaged: restore an earlier "
            "one, or copy it again.");
  std::string flipped = bytes;
  flipped[100] ^= 1;
  cut(flipped);
  EXPECT_EQ(error_of([&] { saver_.restore(*session_, "/model/a.ckpt"); }),
            "DATA_LOSS: RestoreV2 'save/RestoreV2': tensor 'kernel': /model/a.ckpt.data-00000-of-00001: the checksum "
            "of the 8000 bytes at 0 is wrong. Made at errors_test.cc:N. The checkpoint is damaged: restore an earlier "
            "one, or copy it again.");
  cut(bytes);
  EXPECT_NO_THROW(saver_.restore(*session_, "/model/a.ckpt"));
  const std::string index = read_file(files_, "/model/a.ckpt.index");
  const auto file = files_.create("/model/a.ckpt.index");
  file->append(std::string_view(index).substr(0, 20));
  file->close();
  EXPECT_EQ(error_of([&] { saver_.restore(*session_, "/model/a.ckpt"); }),
            "DATA_LOSS: /model/a.ckpt.index: is too short for a table. The checkpoint is damaged: restore an earlier "
            "one, or copy it again.");
}

TEST_F(CheckpointErrorsTest, NoSpace) {
  env_.fail_at(FileOp::kAppend, 0, Fault::kNoSpace);
  EXPECT_EQ(error_of([&] { saver_.save(*session_, "/model/a.ckpt"); }),
            "RESOURCE_EXHAUSTED: SaveV2 'save/SaveV2': /model/a.ckpt.data-00000-of-00001.tempstateN: write: No space "
            "left on device. Made at errors_test.cc:N. Free some space, or write to another place.");
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
  EXPECT_EQ(error_of([&] { saver_.save(session, "/model/a.ckpt"); }),
            "PERMISSION_DENIED: /model: make directory: Permission denied. Change the owner or mode of the path, or "
            "use another place.");
  EXPECT_EQ(session.run(w_).num_elements(), 2000);
}

TEST_F(ErrorsTest, MemoryLimit) {
  Session session({.memory_limit = 10'000'000, .env = &env_});
  const Output rows = placeholder(int32, {}, {.name = "rows"});
  const Output first = fill(stack({rows, 1000}), 1.0F, {.name = "first"});
  const Output second = add(first, first, {.name = "second"});
  const Output both = add(reduce_mean(second), reduce_mean(first), {.name = "both"});
  EXPECT_EQ(error_of([&] {
              session.run(both, {{rows, Tensor(2000)}});
            }),
            "RESOURCE_EXHAUSTED: AddV2 'second': out of memory: 8000000 bytes wanted, 8000000 of 10000000 in use. Made "
            "at errors_test.cc:N. Largest live tensors: 'first:0' float32[2000,1000] 8.0 MB.");
  EXPECT_EQ(session.run(both, {{rows, Tensor(100)}}).item<float>(), 3);
  EXPECT_LT(session.memory().in_use(), 1000U);
  // A program whose sizes are known takes its memory at once.
  const Output planned = fill({2000, 2000}, 1.0F, {.name = "large"});
  EXPECT_EQ(error_of([&] { session.run(reduce_mean(planned + 1.0F)); }),
            "RESOURCE_EXHAUSTED: out of memory: 16000000 bytes wanted, 0 of 10000000 in use. The run's largest "
            "tensors: 'large:0' float32[2000,2000] 16.0 MB, 'AddV2:0' float32[2000,2000] 16.0 MB.");
}

TEST_F(ErrorsTest, MoreMemoryThanThereIs) {
  const Output rows = placeholder(int64, {2}, {.name = "rows"});
  const Output filled = fill(rows, 1.0F, {.name = "filled"});
  const std::int64_t million = 1'000'000;
  const Tensor sizes(std::vector<std::int64_t>{million, million * million});
  EXPECT_EQ(error_of([&] {
              session_->run(reduce_mean(filled), {{rows, sizes}});
            }),
            "RESOURCE_EXHAUSTED: Fill 'filled': out of memory: 4000000000000000000 bytes could not be allocated on the "
            "host. Made at errors_test.cc:N. Largest live tensors: 'rows:0' int64[2] 16 bytes, 'Const_1:0' int32[2] 8 "
            "bytes, 'Const:0' float32[] 4 bytes.");
  const Tensor beyond(std::vector<std::int64_t>{million * million, million * million});
  EXPECT_EQ(error_of([&] {
              session_->run(reduce_mean(filled), {{rows, beyond}});
            }),
            "INVALID_ARGUMENT: Fill 'filled': shape [1000000000000,1000000000000] has a negative size or more than "
            "2^63-1 elements. Made at errors_test.cc:N.");
  const Output known = fill(sizes, 1.0F, {.name = "known"});
  EXPECT_EQ(error_of([&] { session_->run(reduce_mean(known)); }),
            "RESOURCE_EXHAUSTED: Fill 'known': out of memory: 4000000000000000000 bytes could not be allocated on the "
            "host. Made at errors_test.cc:N. Largest live tensors: 'Const_3:0' int64[2] 16 bytes, 'Const_5:0' int32[2] "
            "8 bytes, 'Const_4:0' float32[] 4 bytes.");
}

}  // namespace
}  // namespace caudal
