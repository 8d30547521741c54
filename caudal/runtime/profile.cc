#include "caudal/runtime/profile.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "caudal/base/error.h"
#include "caudal/runtime/timeline.h"

namespace caudal::inline v0 {
namespace {

constexpr int kWarmUp = 5;  // steps until plans are specialised and memory is there

double now_microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The costs of the program that such a run takes.
std::map<std::string, NodeCost> costs_of_run(Session& session, const Fetches& fetches, const Feeds& feeds) {
  PlanRequest request;
  std::vector<Shape> shapes;
  const Graph& graph = session.graph();
  for (const Feed& feed : feeds) {
    request.feeds.push_back(feed.output ? feed.output : graph.tensor(feed.name));
    shapes.push_back(feed.value.shape());
  }
  for (const Fetch& fetch : fetches) {
    const bool is_tensor = fetch.output || fetch.name.find(':') != std::string::npos;
    if (is_tensor) {
      request.fetches.push_back(fetch.output ? fetch.output : graph.tensor(fetch.name));
    } else {
      request.targets.push_back(fetch.operation ? fetch.operation.node() : graph.operation(fetch.name).node());
    }
  }
  try {
    return costs_of(*compile(request, {}, session.device(), &session.functions(), shapes));
  } catch (const Error&) {  // has run already: what a plan made now lacks is only the costs
    return {};
  }
}

std::vector<ProfileRow> longest_first(std::vector<ProfileRow> rows) {
  std::ranges::stable_sort(rows, std::ranges::greater(), &ProfileRow::microseconds);
  return rows;
}

}  // namespace

Profile profile_steps(Session& session, const Fetches& fetches, const Feeds& feeds, std::int64_t steps,
                      const RunOptions& options) {
  if (steps < 1) throw invalid_argument("profile_steps() needs at least 1 step, not ", steps);
  for (int i = 0; i < kWarmUp; ++i) session.run(fetches, feeds, options);
  Profile profile{.steps = steps};
  std::vector<double> whole;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double start = now_microseconds();
    session.run(fetches, feeds, options);
    whole.push_back(now_microseconds() - start);
  }
  profile.step_microseconds = median(whole);

  std::map<std::string, std::vector<double>> times;  // by node, one for each step: a loop's node runs often in one
  for (std::int64_t i = 0; i < steps; ++i) {
    TimelineTracer timeline;
    RunOptions traced = options;
    traced.tracer = &timeline;
    session.run(fetches, feeds, traced);
    for (const TimelineTracer::Event& event : timeline.events()) {
      auto& of_node = times[event.node];
      if (of_node.empty()) profile.rows.push_back({.name = event.node, .op = event.op});
      of_node.resize(static_cast<std::size_t>(i) + 1);
      of_node.back() += static_cast<double>(event.end - event.start) / 1000;
    }
  }
  const std::map<std::string, NodeCost> costs = costs_of_run(session, fetches, feeds);
  for (ProfileRow& row : profile.rows) {
    row.microseconds = median(times[row.name]);
    if (const auto cost = costs.find(row.name); cost != costs.end()) row.cost = cost->second;
  }
  return profile;
}

std::vector<ProfileRow> Profile::by_op() const {
  std::map<std::string, ProfileRow> ops;
  for (const ProfileRow& row : rows) {
    ProfileRow& sum = ops.try_emplace(row.op, ProfileRow{.name = row.op, .op = row.op, .nodes = 0}).first->second;
    ++sum.nodes;
    sum.microseconds += row.microseconds;
    sum.cost += row.cost;
  }
  std::vector<ProfileRow> all;
  for (auto& [op, row] : ops) all.push_back(std::move(row));
  return longest_first(std::move(all));
}

std::vector<ProfileRow> Profile::slowest() const { return longest_first(rows); }

}  // namespace caudal::inline v0
