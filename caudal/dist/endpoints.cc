#include "caudal/dist/endpoints.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0 {
namespace {

struct TensorName {
  std::string node;
  int index = 0;
};

// "a", "a:0"; the index is -1 for what is none.
TensorName parse(const std::string& name) {
  const auto colon = name.rfind(':');
  if (colon == std::string::npos) return {name, 0};
  TensorName parsed{name.substr(0, colon), -1};
  const char* end = name.data() + name.size();
  int index = 0;
  const auto result = std::from_chars(name.data() + colon + 1, end, index);
  if (result.ec == std::errc() && result.ptr == end && index >= 0) parsed.index = index;
  return parsed;
}

std::string suggestion(const Graph& graph, const std::string& node) {
  constexpr int kFew = 5000;  // comparing with more names costs more than it helps
  if (graph.num_nodes() > kFew) return {};
  std::vector<std::string> names;
  for (const Node* other : graph.nodes()) names.push_back(other->name());
  return did_you_mean(node, names);
}

Node* find(const ServedGraph& graph, const std::string& name) {
  if (Node* node = graph.graph().find(name)) return node;
  if (const auto reason = graph.left_out(name)) throw Error(*reason);
  return nullptr;
}

// `what` begins the messages: "FetchOutputs node ".
Output fetched(const ServedGraph& graph, const std::string& name) {
  const TensorName parsed = parse(name);
  Node* node = find(graph, parsed.node);
  if (node == nullptr) {
    throw not_found("FetchOutputs node ", name, ": not found").hint(suggestion(graph.graph(), parsed.node));
  }
  if (parsed.index < 0 || parsed.index >= node->num_outputs()) {
    throw invalid_argument("FetchOutputs ", name, ": output index too large, must be < ", node->num_outputs());
  }
  return node->output(parsed.index);
}

Output fed(const ServedGraph& graph, const std::string& name) {
  const TensorName parsed = parse(name);
  Node* node = find(graph, parsed.node);
  if (node == nullptr) {
    throw not_found("FeedInputs: unable to find feed output ", name).hint(suggestion(graph.graph(), parsed.node));
  }
  if (parsed.index < 0 || parsed.index >= node->num_outputs()) {
    throw invalid_argument("FeedInputs: ", name, " should have output index < ", node->num_outputs());
  }
  return node->output(parsed.index);
}

// One part of a device's name: "job" of "/job:worker/task:1" is "worker"; empty if it is not said.
std::string_view part(std::string_view device, std::string_view key) {
  for (const std::string_view piece : split(device, '/')) {
    if (piece.starts_with(key) && piece.size() > key.size() && piece[key.size()] == ':') {
      return piece.substr(key.size() + 1);
    }
  }
  return {};
}

bool same_or_open(std::string_view wanted, std::string_view ours) {
  return wanted.empty() || wanted == "*" || wanted == ours;
}

// "CPU:0", also as the old "/cpu:0".
bool is_our_cpu(std::string_view wanted) {
  std::string text;
  if (const auto device = part(wanted, "device"); !device.empty()) {
    text = device;
  } else {
    for (const char* type : {"cpu", "CPU", "gpu", "GPU"}) {
      if (const auto number = part(wanted, type); !number.empty()) text = internal::concat(type, ':', number);
    }
  }
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text.empty() || text == "*" || text == "CPU" || text == "CPU:*" || text == "CPU:0";
}

}  // namespace

ResolvedRequest resolve(const ServedGraph& graph, const GraphRequest& request) {
  ResolvedRequest resolved;
  std::set<Output> seen;
  for (const std::string& name : request.feeds) {
    resolved.feeds.push_back(fed(graph, name));
    if (!seen.insert(resolved.feeds.back()).second) {
      throw invalid_argument("Endpoint \"", name, "\" fed more than once.");
    }
  }
  for (const std::string& name : request.fetches) {
    resolved.fetches.push_back(fetched(graph, name));
    if (seen.contains(resolved.fetches.back())) {
      throw invalid_argument("Tensor ", name, " is both fed and fetched.").hint("You have its value: do not fetch it.");
    }
  }
  for (const std::string& name : request.targets) {
    Node* node = find(graph, name);
    if (node == nullptr) {
      throw not_found("PruneForTargets: Some target nodes not found: ", name).hint(suggestion(graph.graph(), name));
    }
    resolved.targets.emplace_back(node);
  }
  return resolved;
}

void check_placement(const std::vector<Node*>& nodes, const std::string& device, bool soft) {
  for (const Node* node : nodes) {
    const std::string& wanted = node->info().device;
    if (wanted.empty()) continue;
    const bool here = same_or_open(part(wanted, "job"), part(device, "job")) &&
                      same_or_open(part(wanted, "replica"), part(device, "replica")) &&
                      same_or_open(part(wanted, "task"), part(device, "task"));
    if (here && (soft || is_our_cpu(wanted))) continue;
    throw invalid_argument("Cannot assign a device for operation ", node->name(), ": it wants ", wanted,
                           "; the only device is ", device)
        .at_node(node->type(), node->name())
        .hint(here ? "Set allow_soft_placement, or leave the device out."
                   : "This server is the task of its own name only.");
  }
}

}  // namespace caudal::inline v0
