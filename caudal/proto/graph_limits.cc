#include "caudal/proto/graph_limits.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/proto/tensor_proto.h"

namespace caudal::inline v0 {
namespace {

// Bytes of the elements; nothing for what is no tensor, which the import will say.
std::size_t bytes_of(const pb::TensorProto& proto) {
  std::vector<std::int64_t> dims;
  for (const auto& dim : proto.tensor_shape().dim()) dims.push_back(dim.size());
  const auto elements = checked_num_elements(dims);
  const int type = static_cast<int>(proto.dtype());
  if (!elements || type <= 0 || type > static_cast<int>(DType::kUint64)) return 0;
  const std::size_t size = dtype_size(static_cast<DType>(type));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(*elements), size, &bytes)) return SIZE_MAX;
  return bytes;
}

std::size_t saturating_sum(std::size_t a, std::size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

class Scan {
 public:
  void nodes(const google::protobuf::RepeatedPtrField<pb::NodeDef>& list, std::set<std::string_view>* calls) {
    node_count += list.size();
    for (const pb::NodeDef& node : list) {
      if (calls != nullptr) calls->insert(node.op());
      for (const auto& [name, value] : node.attr()) attr(value, calls);
    }
  }

  std::int64_t node_count = 0;
  std::size_t constant_bytes = 0;

 private:
  // Attributes nest no deeper than the parser of messages allows.
  void attr(const pb::AttrValue& value, std::set<std::string_view>* calls) {
    if (value.has_tensor()) tensor(value.tensor());
    if (value.has_func()) function(value.func(), calls);
    for (const auto& t : value.list().tensor()) tensor(t);
    for (const auto& f : value.list().func()) function(f, calls);
  }
  void tensor(const pb::TensorProto& proto) { constant_bytes = saturating_sum(constant_bytes, bytes_of(proto)); }
  void function(const pb::NameAttrList& list, std::set<std::string_view>* calls) {
    if (calls != nullptr) calls->insert(list.name());
    for (const auto& [name, value] : list.attr()) attr(value, calls);
  }
};

// The longest chain of calls through the library; a call of a function that is being called already ends its chain.
class CallDepth {
 public:
  explicit CallDepth(const std::unordered_map<std::string_view, std::set<std::string_view>>& calls) : calls_(calls) {}

  int longest() {
    int most = 0;
    for (const auto& [name, callees] : calls_) most = std::max(most, visit(name));
    return most;
  }

 private:
  struct Frame {
    std::string_view function;
    std::set<std::string_view>::const_iterator next;
  };

  int visit(std::string_view root) {
    if (depth_.contains(root)) return depth_[root];
    std::vector<Frame> stack{{root, calls_.at(root).begin()}};
    depth_[root] = 1;
    while (!stack.empty()) {
      auto& [function, next] = stack.back();
      if (next == calls_.at(function).end()) {
        const int depth = depth_[function];
        stack.pop_back();
        if (!stack.empty()) raise(stack.back().function, depth + 1);
        continue;
      }
      const std::string_view callee = *next++;
      if (!calls_.contains(callee)) continue;
      if (const auto known = depth_.find(callee); known != depth_.end()) {
        raise(function, known->second + 1);
      } else {
        depth_[callee] = 1;
        stack.push_back({callee, calls_.at(callee).begin()});
      }
    }
    return depth_[root];
  }

  void raise(std::string_view function, int depth) { depth_[function] = std::max(depth_[function], depth); }

  const std::unordered_map<std::string_view, std::set<std::string_view>>& calls_;
  std::unordered_map<std::string_view, int> depth_;
};

}  // namespace

std::size_t check_limits(const pb::GraphDef& def, const GraphLimits& limits) {
  Scan scan;
  scan.nodes(def.node(), nullptr);
  std::unordered_map<std::string_view, std::set<std::string_view>> calls;
  for (const auto& function : def.library().function()) {
    scan.nodes(function.node_def(), &calls[function.signature().name()]);
  }
  if (scan.node_count > limits.max_nodes) {
    throw resource_exhausted("the graph has ", scan.node_count, " nodes; the limit is ", limits.max_nodes)
        .hint("Start the server with a larger --max-nodes.");
  }
  if (scan.constant_bytes > limits.max_constant_bytes) {
    throw resource_exhausted("the graph's constants take ", scan.constant_bytes, " bytes in memory; the limit is ",
                             limits.max_constant_bytes)
        .hint("Feed large values instead.");
  }
  if (const int depth = CallDepth(calls).longest(); depth > limits.max_depth) {
    throw invalid_argument("functions call one another ", depth, " deep; the limit is ", limits.max_depth)
        .hint("Start the server with a larger --max-depth.");
  }
  return scan.constant_bytes;
}

}  // namespace caudal::inline v0
