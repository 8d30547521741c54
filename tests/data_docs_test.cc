// The listings of docs/data.md, in their order: they compile and run.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "caudal/base/env.h"
#include "caudal/caudal.h"
#include "caudal/formats/example.h"
#include "caudal/formats/tfrecord.h"

namespace tf = caudal;

namespace {

// The lines between `begin` and `end`, without indentation and empty lines.
std::vector<std::string> lines_between(const std::string& path, const std::string& begin, const std::string& end) {
  std::ifstream file(std::string(CAUDAL_SOURCE_DIR) + "/" + path);
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    line = line.substr(first);
    if (line == (inside ? end : begin)) {
      inside = !inside;
    } else if (inside) {
      lines.push_back(line);
    }
  }
  return lines;
}

TEST(DataDocs, ListingsAreThisProgram) {
  const auto listed = lines_between("docs/data.md", "```cpp", "```");
  const auto tested = lines_between("tests/data_docs_test.cc", "// [listing]", "// [end]");
  ASSERT_GT(listed.size(), 20U);
  EXPECT_EQ(listed, tested);
}

TEST(DataDocs, ListingsRun) {
  tf::Graph graph;
  const tf::GraphScope scope(graph);
  const tf::TempDir temporary;
  const std::string folder = temporary.path();
  std::ofstream(folder + "/t.csv") << "x,y\n1,2\n,3\n5,\n7,8\n";
  tf::RecordWriter writer(tf::default_env(), folder + "/train.tfrecord");
  for (int i = 0; i < 40; ++i) writer.write(tf::example_bytes({{{"x", std::vector<float>{1, 2}}}}));
  writer.close();
  const tf::Tensor features = tf::Tensor::zeros(tf::float32, {100, 3}), labels = tf::Tensor::zeros(tf::int64, {100});
  const tf::data::DataSet all(features, labels);
  const auto train_and_score = [](const tf::data::Fold& fold) { return static_cast<double>(fold.train.size()); };
  const auto score_of = [](double rate, std::int64_t units) { return rate * static_cast<double>(units); };
  const auto loss_at = [](double rate) { return 1 / (1 + rate); };
  testing::internal::CaptureStdout();
  // clang-format off
  // [listing]
  using tf::data::Dataset;
  auto squares = Dataset::range(10)
                     .map([](const tf::Output& x) { return tf::multiply(x, x); }, {.num_parallel_calls = 4})
                     .filter([](const tf::Output& x) { return tf::greater(x, tf::constant(tf::Tensor(std::int64_t{10}))); })
                     .shuffle(100, {.seed = 42})
                     .batch(4)
                     .prefetch(1);
  for (const tf::data::Element& batch : squares) std::cout << batch[0] << "\n";
  // [end]

  // [listing]
  auto rows = Dataset::from_tensor_slices({features, labels}).shuffle(1000, {.seed = 1}).repeat().batch(32);
  auto iterator = rows.make_initializable_iterator();
  tf::Outputs next = iterator.get_next();
  tf::Output loss = tf::reduce_mean(tf::square(next[0]));
  tf::Session sess;
  sess.run(iterator.initializer());
  for (int step = 0; step < 3; ++step) sess.run(loss);
  // [end]

  // [listing]
  auto table = Dataset::csv(folder + "/t.csv", {tf::Tensor(std::vector<float>{0}), tf::Tensor(std::vector<std::int64_t>{})}, {.header = true});
  auto parsed = Dataset::tf_record(folder + "/train.tfrecord").batch(32).map([](const tf::Outputs& records) {
    auto features = tf::io::parse_example(records[0], {{"x", tf::io::FixedLenFeature{{2}, tf::float32}}});
    return tf::Outputs{features.dense.at("x")};
  });
  // [end]

  // [listing]
  tf::data::Pass pass = table.ignore_errors({.max_count = 10}).pass();
  tf::data::Element row;
  while (pass.next(row)) std::cout << row[1] << "\n";
  std::cout << pass.ignored_errors() << " bad records\n";
  // [end]

  // [listing]
  tf::data::DataSets sets = tf::data::stratified_split(all, 20, 20, {.seed = 42});
  tf::data::check(sets.train, {.num_classes = 2});
  auto result = tf::data::cross_validate(sets.train, 5, [&](const tf::data::Fold& fold, int) { return train_and_score(fold); });
  std::cout << result.mean << " +- " << result.deviation << "\n";
  // [end]

  // [listing]
  auto found = tf::data::random_search(
      {{"rate", tf::data::log_uniform(1e-4, 1e-1)}, {"units", tf::data::choice({50, 100, 300})}}, 10,
      [&](const tf::data::Settings& s) { return score_of(s.at("rate").number(), s.at("units").integer()); }, {.seed = 7});
  std::cout << found;
  auto curve = tf::data::learning_rate_range_test([&](double rate) { return loss_at(rate); }, {.lowest = 1e-5, .highest = 1});
  std::ofstream(folder + "/rates.svg") << curve.to_svg();
  // [end]
  // clang-format on
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("1 bad records"), std::string::npos) << text;
  EXPECT_NE(text.find("48 +- 0"), std::string::npos) << text;
  EXPECT_NE(text.find("rate "), std::string::npos) << text;
  EXPECT_EQ(parsed.to_vector().size(), 2U);
  EXPECT_TRUE(tf::default_env().exists(folder + "/rates.svg"));
}

}  // namespace
