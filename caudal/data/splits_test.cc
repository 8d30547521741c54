#include "caudal/data/splits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "caudal/base/error.h"
#include "caudal/data/search.h"

namespace caudal {
namespace {

using data::DataSet;

// Rows (i, -i) of class i % classes.
DataSet numbered(std::int64_t n, std::int64_t classes) {
  std::vector<float> features;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < n; ++i) {
    features.push_back(static_cast<float>(i));
    features.push_back(static_cast<float>(-i));
    labels.push_back(i % classes);
  }
  return DataSet(Tensor::from<float>({n, 2}, features), Tensor(labels));
}

std::multiset<float> members(const DataSet& rows) {
  std::multiset<float> all;
  for (std::int64_t i = 0; i < rows.size(); ++i) all.insert(rows.features().at<float>(i, 0));
  return all;
}

std::vector<int> class_counts(const DataSet& rows, int classes) {
  std::vector<int> counts(static_cast<std::size_t>(classes));
  for (const std::int64_t label : rows.labels().to_int64s()) ++counts[static_cast<std::size_t>(label)];
  return counts;
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, "");
}

TEST(Splits, PartsAreWholeAndFixedBySeeds) {
  const DataSet all = numbered(70, 7);
  const data::DataSets sets = data::split(all, 5, 10, {.seed = 3});
  EXPECT_EQ(sets.train.size(), 55);
  EXPECT_EQ(sets.validation.size(), 5);
  EXPECT_EQ(sets.test.size(), 10);
  std::multiset<float> joined = members(sets.train);
  for (const DataSet* part : {&sets.validation, &sets.test}) joined.merge(members(*part));
  EXPECT_EQ(joined, members(all));
  for (std::int64_t i = 0; i < sets.test.size(); ++i) {
    const float number = sets.test.features().at<float>(i, 0);
    EXPECT_EQ(sets.test.features().at<float>(i, 1), -number);
    EXPECT_EQ(sets.test.labels().at<std::int64_t>(i), static_cast<std::int64_t>(number) % 7);
  }
  EXPECT_EQ(members(data::split(all, 5, 10, {.seed = 3}).test), members(sets.test));
  EXPECT_NE(members(data::split(all, 5, 10, {.seed = 4}).test), members(sets.test));
  EXPECT_EQ(data::split(all, 5, 10, {.shuffle = false}).test.features().at<float>(0, 0), 60);
  EXPECT_EQ(error_of([&] { data::split(all, 60, 10); }).code(), Code::kInvalidArgument);
}

TEST(Splits, StrataKeepTheirShares) {
  std::vector<float> features(100);
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 100; ++i) labels.push_back(i < 70 ? 0 : i < 95 ? 1 : 2);
  const DataSet all(Tensor::from<float>({100, 1}, features), Tensor(labels));
  const data::DataSets sets = data::stratified_split(all, 20, 20, {.seed = 1});
  EXPECT_EQ(class_counts(sets.test, 3), (std::vector<int>{14, 5, 1}));
  EXPECT_EQ(class_counts(sets.validation, 3), (std::vector<int>{14, 5, 1}));
  EXPECT_EQ(class_counts(sets.train, 3), (std::vector<int>{42, 15, 3}));
  const DataSet odd(Tensor::from<float>({100, 1}, features), Tensor(std::vector<float>(100)));
  EXPECT_EQ(error_of([&] { data::stratified_split(odd, 20, 20); }).code(), Code::kInvalidArgument);
}

TEST(Splits, FoldsCoverEachRowOnce) {
  const DataSet all = numbered(23, 4);
  for (const bool stratified : {false, true}) {
    std::multiset<float> seen;
    for (const data::Fold& fold : data::k_fold(all, 5, {.seed = 2, .stratified = stratified})) {
      EXPECT_EQ(fold.train.size() + fold.validation.size(), 23);
      EXPECT_GE(fold.validation.size(), 4);
      EXPECT_LE(fold.validation.size(), 5);
      if (stratified) {
        for (const int count : class_counts(fold.validation, 4)) EXPECT_GE(count, 1);
      }
      seen.merge(members(fold.validation));
    }
    EXPECT_EQ(seen, members(all));
  }
  const auto result = data::cross_validate(all, 4, [](const data::Fold&, int number) { return 1.0 + number; });
  EXPECT_EQ(result.scores, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_DOUBLE_EQ(result.mean, 2.5);
  EXPECT_NEAR(result.deviation, std::sqrt(5.0 / 3), 1e-12);
  EXPECT_EQ(error_of([&] { data::k_fold(all, 24); }).code(), Code::kInvalidArgument);
  EXPECT_EQ(error_of([&] { data::k_fold(all, 1); }).code(), Code::kInvalidArgument);
}

TEST(Splits, CheckTellsWhatIsWrong) {
  const auto problem = [](const DataSet& rows, const data::CheckOptions& options = {}) {
    return error_of([&] { data::check(rows, options); }).detail();
  };
  EXPECT_EQ(problem(numbered(10, 3), {.num_classes = 3}), "");
  EXPECT_NE(problem(DataSet()).find("empty"), std::string::npos);
  EXPECT_NE(problem(DataSet(Tensor(float32, {0, 2}), Tensor(int64, {0}))).find("empty"), std::string::npos);
  EXPECT_EQ(problem(numbered(10, 3), {.num_classes = 2}), "row 2 has label 2; there are classes 0 to 1");
  std::vector<float> values(6);
  values[3] = NAN;
  const DataSet holes(Tensor::from<float>({3, 2}, values), Tensor(std::vector<float>{0, 1, 2}));
  EXPECT_EQ(problem(holes), "row 1 of the features has nan at position 1");
  EXPECT_EQ(problem(holes, {.allow_nan = true}), "");
  EXPECT_NE(problem(holes, {.num_classes = 3, .allow_nan = true}).find("float32[3]"), std::string::npos);
}

TEST(Search, GridTriesEveryCombination) {
  const auto results = data::grid_search({{"a", {1, 2, 3}}, {"b", {"x", "y"}}}, [](const data::Settings& s) {
    if (s.at("a").integer() == 2 && s.at("b").word() == "y") throw resource_exhausted("too large");
    return s.at("a").number() * (s.at("b").word() == "x" ? 1 : 10);
  });
  ASSERT_EQ(results.trials.size(), 6U);
  EXPECT_EQ(results.trials[1].settings.at("b").word(), "y");
  EXPECT_EQ(results.best().score, 30);
  EXPECT_EQ(results.ranked()[5].settings.at("a").integer(), 2);
  EXPECT_EQ(
      results.to_string(),
      "a  b  score\n3  y  30\n1  y  10\n3  x  3\n2  x  2\n1  x  1\n2  y  failed: RESOURCE_EXHAUSTED: too large\n");
  const auto nothing = data::grid_search({{"a", {1}}}, [](const data::Settings&) -> double { return NAN; });
  EXPECT_EQ(error_of([&] { nothing.best(); }).code(), Code::kFailedPrecondition);
  EXPECT_EQ(error_of([&] {
              data::grid_search({{"a", {}}}, [](const data::Settings&) { return 0.0; });
            }).code(),
            Code::kInvalidArgument);
}

TEST(Search, RandomDrawsStayInTheirRanges) {
  const std::map<std::string, data::Distribution> space{{"choice", data::choice({"p", "q"})},
                                                        {"rate", data::log_uniform(1e-4, 1)},
                                                        {"units", data::integer(3, 5)},
                                                        {"width", data::uniform(-1, 1)}};
  const auto score = [](const data::Settings& s) { return s.at("rate").number(); };
  const auto results = data::random_search(space, 300, score, {.higher_is_better = false, .seed = 5});
  std::set<std::int64_t> units;
  int small = 0;
  for (const data::Trial& trial : results.trials) {
    units.insert(trial.settings.at("units").integer());
    EXPECT_GE(trial.score, 1e-4);
    EXPECT_LT(trial.score, 1);
    EXPECT_LT(std::abs(trial.settings.at("width").number()), 1.0001);
    small += trial.score < 1e-2;
  }
  EXPECT_EQ(units, (std::set<std::int64_t>{3, 4, 5}));
  EXPECT_NEAR(small, 150, 40);
  EXPECT_LT(results.best().score, 3e-4);
  EXPECT_EQ(data::random_search(space, 3, score, {.seed = 5}).trials[2].settings, results.trials[2].settings);
}

TEST(Search, RangeTestFindsWhereTheLossFalls) {
  // Falls around 1e-3, grows beyond 1e-1.
  const auto loss = [](double rate) { return 2 - std::tanh(3 * (std::log10(rate) + 3)) + rate * rate * 1e3; };
  const auto curve =
      data::learning_rate_range_test(loss, {.lowest = 1e-6, .highest = 10, .steps = 200, .smoothing = 0.5});
  EXPECT_LT(curve.points.size(), 200U);
  EXPECT_NEAR(std::log10(curve.steepest()), -3, 0.2);
  EXPECT_NE(curve.to_svg().find("<polyline"), std::string::npos);
  EXPECT_EQ(error_of([] { data::learning_rate_range_test([](double) { return NAN; }); }).code(),
            Code::kInvalidArgument);
  const auto flat = data::learning_rate_range_test([](double) { return 1.0; }, {.steps = 10});
  EXPECT_EQ(error_of([&] { flat.steepest(); }).code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace caudal
