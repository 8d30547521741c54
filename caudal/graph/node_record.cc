#include "caudal/graph/node_record.h"

#include <functional>
#include <queue>

#include "caudal/base/error.h"

namespace caudal::inline v0 {

std::vector<int> dependency_order(const std::vector<std::vector<int>>& needs) {
  std::vector<std::size_t> waiting(needs.size());
  std::vector<std::vector<int>> followers(needs.size());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    waiting[i] = needs[i].size();
    for (const int before : needs[i]) followers[before].push_back(static_cast<int>(i));
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const int follower : followers[i]) {
      if (--waiting[follower] == 0) ready.push(follower);
    }
  }
  return order;
}

namespace {

[[noreturn]] void throw_input_count(const OpDef& def, const AttrMap& attrs, std::size_t given) {
  throw invalid_argument(given, " inputs; ", expand_args(def.inputs, attrs).types.size(), " are wanted");
}

}  // namespace

std::vector<std::vector<Output>> group_inputs(const OpDef& def, const AttrMap& given,
                                              const std::vector<Output>& inputs) {
  AttrMap attrs = given;
  for (const AttrDef& attr : def.attrs) {
    if (attr.default_value) attrs.emplace(attr.name, *attr.default_value);
  }
  std::vector<std::vector<Output>> groups;
  std::size_t next = 0;
  for (const ArgDef& arg : def.inputs) {
    const auto size = static_cast<std::size_t>(arg_range({arg}, attrs, arg.name).size());
    if (size > inputs.size() - next) throw_input_count(def, attrs, inputs.size());
    groups.emplace_back(inputs.begin() + static_cast<std::ptrdiff_t>(next),
                        inputs.begin() + static_cast<std::ptrdiff_t>(next + size));
    next += size;
  }
  if (next != inputs.size()) throw_input_count(def, attrs, inputs.size());
  return groups;
}

void drop_unknown_attrs(const OpDef& def, AttrMap& attrs) {
  std::erase_if(attrs, [&](const auto& attr) { return !attr.first.starts_with('_') && !def.find_attr(attr.first); });
}

}  // namespace caudal::inline v0
