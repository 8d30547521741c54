// Searches for good settings, and the learning-rate range test.
//
//   auto results = data::random_search({{"rate", data::log_uniform(1e-4, 1e-1)}, {"units", data::choice({50, 100,
//   300})}},
//                                      20, train_and_score, {.seed = 7});
//   std::cout << results;                       // a table, best first
//   results.best().settings.at("rate").number();
//
// What is tried is fixed by the seed on every machine. Thread safety: functions of their arguments; trials run one
// after another.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0::data {

// A setting: a number, a whole number or a word.
class CAUDAL_API Setting {
 public:
  Setting(double value) : value_(value) {}                    // NOLINT: lists read naturally
  Setting(std::int64_t value) : value_(value) {}              // NOLINT
  Setting(int value) : value_(std::int64_t{value}) {}         // NOLINT
  Setting(std::string value) : value_(std::move(value)) {}    // NOLINT
  Setting(const char* value) : value_(std::string(value)) {}  // NOLINT
  // Throw INVALID_ARGUMENT for the wrong kind; a whole number is a number, too.
  double number() const;
  std::int64_t integer() const;
  const std::string& word() const;
  std::string to_string() const;
  friend bool operator==(const Setting&, const Setting&) = default;

 private:
  std::variant<double, std::int64_t, std::string> value_;
};
using Settings = std::map<std::string, Setting>;

// Where a setting of a random search comes from.
struct Distribution {
  enum class Kind { kChoice, kUniform, kLogUniform, kInteger };
  Kind kind;
  double low = 0, high = 0;
  std::vector<Setting> choices = {};
};
CAUDAL_API Distribution choice(std::vector<Setting> values);
CAUDAL_API Distribution uniform(double low, double high);              // [low, high)
CAUDAL_API Distribution log_uniform(double low, double high);          // its logarithm is uniform; 0 < low < high
CAUDAL_API Distribution integer(std::int64_t low, std::int64_t high);  // low, ..., high

struct Trial {
  Settings settings;
  double score = 0;
  std::string error;  // what the trial failed with; empty: it went through
};

struct CAUDAL_API SearchResults {
  bool higher_is_better = true;
  std::vector<Trial> trials;  // as they were made

  // Throws FAILED_PRECONDITION, with the first error, if every trial failed.
  const Trial& best() const;
  // Best first, failed ones last.
  std::vector<Trial> ranked() const;
  // One line per trial, ranked, in columns.
  std::string to_string() const;
};
CAUDAL_API std::ostream& operator<<(std::ostream& out, const SearchResults& results);

struct SearchOptions {
  bool higher_is_better = true;
  std::uint64_t seed = 0;  // of random_search
};
// A score for settings; what it throws as caudal::Error is kept with the trial, and the search goes on.
using Score = std::function<double(const Settings& settings)>;

// Every combination, the last setting (by name) changing fastest. Throws INVALID_ARGUMENT for a setting without values.
CAUDAL_API SearchResults grid_search(const std::map<std::string, std::vector<Setting>>& grid, const Score& score,
                                     const SearchOptions& options = {});
CAUDAL_API SearchResults random_search(const std::map<std::string, Distribution>& space, int trials, const Score& score,
                                       const SearchOptions& options = {});

// ---- Learning-rate range test (Smith, "Cyclical Learning Rates for Training Neural Networks", 2017)

struct RatePoint {
  double rate, loss;
  double smoothed;  // moving average of the losses, bias removed
};
struct CAUDAL_API RateCurve {
  std::vector<RatePoint> points;
  // The rate where the smoothed loss falls fastest. Throws FAILED_PRECONDITION if it never falls.
  double steepest() const;
  // A picture of smoothed losses over rates on a logarithmic axis.
  std::string to_svg() const;
};
struct RateRangeOptions {
  double lowest = 1e-6, highest = 1;
  int steps = 100;         // rates in equal ratios from lowest to highest
  double smoothing = 0.9;  // of the moving average
  double stop_factor = 4;  // ends when the smoothed loss is so many times the best one, or no number
};
// `step` trains one batch at a rate and returns its loss.
CAUDAL_API RateCurve learning_rate_range_test(const std::function<double(double rate)>& step,
                                              const RateRangeOptions& options = {});

}  // namespace caudal::inline v0::data
