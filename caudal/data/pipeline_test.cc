#include "caudal/data/pipeline.h"

#include <gtest/gtest.h>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/formats/example.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/parse_example_ops.h"
#include "caudal/ops/random.h"
#include "caudal/ops/variable.h"
#include "caudal/runtime/session.h"
#include "caudal/train/saver.h"

namespace caudal {
namespace {

using data::Dataset;
using data::Element;

class Pipelines : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(Pipelines, ExamplesAreParsedInBatches) {
  const TempDir folder;
  RecordWriter writer(default_env(), folder.file("examples"));
  for (int i = 0; i < 6; ++i) {
    writer.write(example_bytes({{{"x", std::vector<float>{1.0F * i, 2.0F * i}}, {"y", std::vector<std::int64_t>{i}}}}));
  }
  writer.close();
  const Dataset rows = Dataset::tf_record(folder.file("examples")).batch(4).map([](const Outputs& records) {
    const auto parsed = io::parse_example(records[0], {{"x", io::FixedLenFeature{{2}, float32}},
                                                       {"y", io::FixedLenFeature{PartialShape::scalar(), int64}}});
    return Outputs{parsed.dense.at("x"), parsed.dense.at("y")};
  });
  const auto batches = rows.to_vector();
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[1][0].to_vector<float>(), (std::vector<float>{4, 8, 5, 10}));
  EXPECT_EQ(batches[1][1].to_int64s(), (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(rows.spec()[0].shape, (PartialShape{-1, 2}));
}

TEST_F(Pipelines, FeedStepsOfAGraph) {
  const Output scale = constant(Tensor(std::int64_t{10}));
  const Dataset scaled = Dataset::range(4).map([&](const Output& x) { return multiply(x, scale); });
  const auto captured = data::Dataset::from_tensors({placeholder(float32, PartialShape::scalar())});
  EXPECT_THROW(captured.make_one_shot_iterator(), Error);
  const data::Iterator iterator = scaled.repeat().batch(3).make_initializable_iterator();
  const Output next = iterator.get_next()[0];
  Session session;
  session.run(iterator.initializer());
  EXPECT_EQ(session.run(next).to_int64s(), (std::vector<std::int64_t>{0, 10, 20}));
  EXPECT_EQ(session.run(next).to_int64s(), (std::vector<std::int64_t>{30, 0, 10}));
}

// A checkpoint holds where iterators are: a resumed session gets the very next element.
TEST_F(Pipelines, CheckpointsResumeAtTheNextElement) {
  const TempDir folder;
  const Variable step(constant(0), {.name = "step"});
  const auto shuffled =
      Dataset::range(50)
          .shuffle(20, {.seed = 4})
          .repeat(3)
          .map([](const Output& x) { return add(x, constant(Tensor(std::int64_t{100}))); }, {.num_parallel_calls = 2});
  const data::Iterator once = shuffled.batch(4).prefetch(2).make_one_shot_iterator();
  const data::Iterator started = shuffled.make_initializable_iterator();
  const Output a = once.get_next()[0], b = started.get_next()[0];
  std::vector<Tensor> wanted;
  {
    Session session;
    session.run(step.initializer());
    session.run(started.initializer());
    for (int i = 0; i < 7; ++i) session.run({a, b});
    train::Saver().save(session, folder.file("model"));
    for (int i = 0; i < 10; ++i) {
      for (const Tensor& value : session.run({a, b})) wanted.push_back(value);
    }
  }
  for (const bool initialise_first : {true, false}) {
    Session session;
    if (initialise_first) session.run(started.initializer());
    train::Saver().restore(session, folder.file("model"));
    if (!initialise_first) session.run(started.initializer());
    for (int i = 0; i < 10; ++i) {
      const auto values = session.run({a, b});
      EXPECT_TRUE(identical(values[0], wanted[static_cast<std::size_t>(2 * i)])) << i;
      EXPECT_TRUE(identical(values[1], wanted[static_cast<std::size_t>(2 * i + 1)])) << i;
    }
    session.run(started.initializer());
    Session fresh;
    fresh.run(started.initializer());
    EXPECT_TRUE(identical(session.run(b), fresh.run(b)));
  }
}

TEST_F(Pipelines, ErrorsNameTheUsersLine) {
  const auto error_of = [](const std::function<void()>& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  for (const std::string& message :
       {error_of([] { Dataset::range(3).batch(0); }), error_of([] { Dataset::range(3).shuffle(0, {.seed = 1}); }),
        error_of([] { Dataset::range(3).take_while([](const Output& x) { return x; }).to_vector(); }),
        error_of([] { Dataset::from_tensor_slices({Tensor(1.0F)}).to_vector(); })}) {
    EXPECT_NE(message.find("INVALID_ARGUMENT"), std::string::npos) << message;
  }
  EXPECT_EQ(error_of([] { Dataset::range(3).batch(0); }),
            "INVALID_ARGUMENT: a batch of 0 elements. Made at pipeline_test.cc:" + std::to_string(__LINE__ - 1) +
                ". Give it one at least.");
  const Dataset bad = Dataset::range(3).batch(2).map([](const Output& x) {
    return add(x, constant(Tensor(std::vector<std::int64_t>{1, 2, 3})));
  });
  EXPECT_NE(error_of([&] { bad.to_vector(); }).find("[2] and [3]"), std::string::npos);
}

}  // namespace
}  // namespace caudal
