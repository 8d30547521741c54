#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "bench.h"

namespace bench {
namespace {

constexpr double kQuietSpread = 0.10;
constexpr int kWarmUps = 3;
constexpr double kWarmUpSeconds = 2;

Values neighbours(const Values& values, std::size_t first, std::size_t count) {
  return {values.begin() + static_cast<std::ptrdiff_t>(first),
          values.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

}  // namespace

Settings quick_settings() { return {.seconds = 0.2, .repeats = 3, .patience = 5, .quick = true}; }

void print_line(const std::string& name, const Values& values) {
  std::printf(R"({"case": "%s", "values": [)", name.c_str());
  const char* separator = "";
  for (const double value : values) {
    std::printf("%s%.6g", separator, value);
    separator = ", ";
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void sync_disks() { ::sync(); }

double spread(const Values& values) {
  Values sorted = values;
  std::ranges::sort(sorted);
  const std::size_t half = sorted.size() / 2;
  const double median = sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return (sorted.back() - sorted.front()) / median;
}

Values quietest(const std::function<double()>& window, const Settings& settings) {
  const double start = now();
  const auto wanted = static_cast<std::size_t>(settings.repeats);
  Values all, best;
  while (all.size() < 3 * wanted && (all.size() < wanted || now() - start < settings.patience)) {
    all.push_back(window());
    if (all.size() < wanted) continue;
    Values last = neighbours(all, all.size() - wanted, wanted);
    if (best.empty() || spread(last) < spread(best)) best = std::move(last);
    if (spread(best) <= kQuietSpread) break;
  }
  return best;
}

Values rates(const std::function<void()>& step, double work, const Settings& settings) {
  const double start = now();
  for (int i = 0; i < kWarmUps && now() - start < kWarmUpSeconds; ++i) step();
  const double before = now();
  step();
  const double one = std::max(now() - before, 1e-8);
  const auto steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(settings.seconds / one));
  return quietest(
      [&] {
        const double begin = now();
        for (std::int64_t i = 0; i < steps; ++i) step();
        return static_cast<double>(steps) * work / (now() - begin);
      },
      settings);
}

Values microseconds(const std::function<void()>& step, double work, const Settings& settings) {
  Values values = rates(step, work, settings);
  for (double& value : values) value = 1e6 / value;
  return values;
}

}  // namespace bench
