#include "caudal/data/search.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/philox.h"

namespace caudal::inline v0::data {
namespace {

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

void check_range(double low, double high, const char* what, bool positive) {
  if (std::isfinite(low) && std::isfinite(high) && low < high && (!positive || low > 0)) return;
  throw invalid_argument(what, " from ", low, " to ", high,
                         positive ? ": both must be positive, in that order" : ": the second must be larger");
}

// Numbers of one search, in the order in which they are drawn.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : bits_(PhiloxRandom(seed, 0)) {}
  double unit() {  // [0, 1), 53 bits
    const std::uint64_t high = bits_();
    return static_cast<double>(((high << 32) | bits_()) >> 11) * 0x1p-53;
  }
  std::uint64_t below(std::uint64_t n) {
    return std::min(n - 1, static_cast<std::uint64_t>(unit() * static_cast<double>(n)));
  }

 private:
  PhiloxSingles bits_;
};

Setting drawn(const Distribution& from, Draws& draws) {
  switch (from.kind) {
    case Distribution::Kind::kChoice:
      return from.choices[draws.below(from.choices.size())];
    case Distribution::Kind::kUniform:
      return from.low + draws.unit() * (from.high - from.low);
    case Distribution::Kind::kLogUniform:
      return std::exp(std::log(from.low) + draws.unit() * (std::log(from.high) - std::log(from.low)));
    default:
      return static_cast<std::int64_t>(from.low) +
             static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(from.high - from.low) + 1));
  }
}

Trial tried(Settings settings, const Score& score) {
  Trial trial{std::move(settings), 0, {}};
  try {
    trial.score = score(trial.settings);
    if (std::isnan(trial.score)) trial.error = "the score is not a number";
  } catch (const Error& error) {
    trial.error = error.what();
  }
  return trial;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

double Setting::number() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  return static_cast<double>(integer());
}

std::int64_t Setting::integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  throw invalid_argument("the setting ", to_string(), " is not a whole number");
}

const std::string& Setting::word() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  throw invalid_argument("the setting ", to_string(), " is not a word");
}

std::string Setting::to_string() const {
  if (const auto* word = std::get_if<std::string>(&value_)) return *word;
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return std::to_string(*whole);
  return short_number(std::get<double>(value_));
}

Distribution choice(std::vector<Setting> values) {
  if (values.empty()) throw invalid_argument("a choice among no values");
  return {.kind = Distribution::Kind::kChoice, .choices = std::move(values)};
}

Distribution uniform(double low, double high) {
  check_range(low, high, "numbers", false);
  return {.kind = Distribution::Kind::kUniform, .low = low, .high = high};
}

Distribution log_uniform(double low, double high) {
  check_range(low, high, "a logarithmic range", true);
  return {.kind = Distribution::Kind::kLogUniform, .low = low, .high = high};
}

Distribution integer(std::int64_t low, std::int64_t high) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;  // whole numbers that a double holds
  if (low > high || low < -kExact || high > kExact) throw invalid_argument("whole numbers from ", low, " to ", high);
  return {.kind = Distribution::Kind::kInteger, .low = static_cast<double>(low), .high = static_cast<double>(high)};
}

std::vector<Trial> SearchResults::ranked() const {
  std::vector<Trial> ranked = trials;
  std::stable_sort(ranked.begin(), ranked.end(), [this](const Trial& a, const Trial& b) {
    if (a.error.empty() != b.error.empty()) return a.error.empty();
    if (!a.error.empty()) return false;
    return higher_is_better ? a.score > b.score : a.score < b.score;
  });
  return ranked;
}

const Trial& SearchResults::best() const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (!trial.error.empty()) continue;
    if (best == nullptr || (higher_is_better ? trial.score > best->score : trial.score < best->score)) best = &trial;
  }
  if (best == nullptr) {
    throw failed_precondition("no trial went through", trials.empty() ? "" : ": ",
                              trials.empty() ? "" : trials[0].error);
  }
  return *best;
}

std::string SearchResults::to_string() const {
  std::vector<std::vector<std::string>> table(1);
  if (!trials.empty()) {
    for (const auto& [name, setting] : trials[0].settings) table[0].push_back(name);
  }
  table[0].push_back("score");
  for (const Trial& trial : ranked()) {
    std::vector<std::string>& line = table.emplace_back();
    for (const auto& [name, setting] : trial.settings) line.push_back(setting.to_string());
    line.push_back(trial.error.empty() ? short_number(trial.score) : "failed: " + trial.error);
  }
  std::vector<std::size_t> widths(table[0].size());
  for (const auto& line : table) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : table) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) text += padded(line[i], widths[i]) + "  ";
    text += line.back() + "\n";
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const SearchResults& results) { return out << results.to_string(); }

SearchResults grid_search(const std::map<std::string, std::vector<Setting>>& grid, const Score& score,
                          const SearchOptions& options) {
  std::vector<Settings> all(1);
  for (const auto& [name, values] : grid) {
    if (values.empty()) throw invalid_argument("setting '", name, "' has no values to try");
    std::vector<Settings> more;
    for (const Settings& settings : all) {
      for (const Setting& value : values) {
        more.push_back(settings);
        more.back().emplace(name, value);
      }
    }
    all = std::move(more);
  }
  SearchResults results{options.higher_is_better, {}};
  for (Settings& settings : all) results.trials.push_back(tried(std::move(settings), score));
  return results;
}

SearchResults random_search(const std::map<std::string, Distribution>& space, int trials, const Score& score,
                            const SearchOptions& options) {
  if (trials < 1) throw invalid_argument("a search of ", trials, " trials");
  SearchResults results{options.higher_is_better, {}};
  Draws draws(options.seed);
  for (int i = 0; i < trials; ++i) {
    Settings settings;
    for (const auto& [name, from] : space) settings.emplace(name, drawn(from, draws));
    results.trials.push_back(tried(std::move(settings), score));
  }
  return results;
}

// ---- Learning-rate range test

RateCurve learning_rate_range_test(const std::function<double(double rate)>& step, const RateRangeOptions& options) {
  check_range(options.lowest, options.highest, "learning rates", true);
  if (options.steps < 2) throw invalid_argument("a range test of ", options.steps, " steps");
  if (options.smoothing < 0 || options.smoothing >= 1) throw invalid_argument("a smoothing of ", options.smoothing);
  RateCurve curve;
  const double ratio = std::pow(options.highest / options.lowest, 1.0 / (options.steps - 1));
  double average = 0, weight = 1, best = 0;
  for (int i = 0; i < options.steps; ++i) {
    const double rate = options.lowest * std::pow(ratio, i);
    const double loss = step(rate);
    average = options.smoothing * average + (1 - options.smoothing) * loss;
    weight *= options.smoothing;
    const double smoothed = average / (1 - weight);
    if (!std::isfinite(smoothed)) break;
    curve.points.push_back({rate, loss, smoothed});
    best = i == 0 ? smoothed : std::min(best, smoothed);
    if (best > 0 && smoothed > options.stop_factor * best) break;
  }
  if (curve.points.empty())
    throw invalid_argument("the loss is not a number at the lowest learning rate ", options.lowest);
  return curve;
}

double RateCurve::steepest() const {
  const RatePoint* steepest = nullptr;
  if (points.empty()) throw failed_precondition("the curve has no points");
  double fall = -1e-9 * std::abs(points[0].smoothed);  // less is rounding
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    // The rates are in equal ratios, so differences compare as slopes over the logarithm.
    const double change = points[i + 1].smoothed - points[i - 1].smoothed;
    if (change < fall) {
      fall = change;
      steepest = &points[i];
    }
  }
  if (steepest == nullptr) throw failed_precondition("the loss falls at none of the learning rates that were tried");
  return steepest->rate;
}

std::string RateCurve::to_svg() const {
  constexpr double kWidth = 640, kHeight = 400, kMargin = 50;
  if (points.empty()) throw failed_precondition("the curve has no points");
  double low = points[0].smoothed, high = low;
  for (const RatePoint& point : points) {
    low = std::min(low, point.smoothed);
    high = std::max(high, point.smoothed);
  }
  const double first = std::log10(points.front().rate), last = std::log10(points.back().rate);
  const auto x = [&](double rate) {
    return kMargin + (kWidth - 2 * kMargin) * (last > first ? (std::log10(rate) - first) / (last - first) : 0.5);
  };
  const auto y = [&](double loss) {
    return kHeight - kMargin - (kHeight - 2 * kMargin) * (high > low ? (loss - low) / (high - low) : 0.5);
  };
  std::string path;
  for (const RatePoint& point : points)
    path += short_number(x(point.rate)) + "," + short_number(y(point.smoothed)) + " ";
  std::string marks;
  for (int power = static_cast<int>(std::ceil(first)); power <= std::floor(last); ++power) {
    const std::string at = short_number(x(std::pow(10, power)));
    marks += internal::concat("<text x=\"", at, "\" y=\"", kHeight - kMargin + 20, "\" text-anchor=\"middle\">1e",
                              power, "</text>\n");
  }
  for (const double loss : {low, high}) {
    marks += internal::concat("<text x=\"", kMargin - 5, "\" y=\"", short_number(y(loss)), "\" text-anchor=\"end\">",
                              short_number(loss), "</text>\n");
  }
  return internal::concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", kWidth, "\" height=\"", kHeight,
                          "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
                          "fill=\"white\"/>\n<path d=\"M ",
                          kMargin, " ", kMargin, " V ", kHeight - kMargin, " H ", kWidth - kMargin,
                          "\" fill=\"none\" stroke=\"black\"/>\n<polyline points=\"", path,
                          "\" fill=\"none\" stroke=\"steelblue\" stroke-width=\"2\"/>\n", marks, "<text x=\"",
                          kWidth / 2, "\" y=\"", kHeight - 8,
                          "\" text-anchor=\"middle\">learning rate</text>\n</svg>\n");
}

}  // namespace caudal::inline v0::data
