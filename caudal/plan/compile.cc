#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "caudal/base/error.h"
#include "caudal/core/device.h"
#include "caudal/graph/constant_value.h"
#include "caudal/plan/memory_plan.h"
#include "caudal/plan/program.h"

namespace caudal::inline v0 {
namespace {

constexpr std::size_t kMaxFoldedBytes = 10 << 20;  // a folded value larger than this costs more memory than time

// Appends the value so that two values differ in the key if they differ at all: texts for messages do not tell floats
// that agree in six digits.
struct KeyWriter {
  std::string& key;
  void operator()(float value) const { key += std::to_string(std::bit_cast<std::uint32_t>(value)); }
  void operator()(const std::string& value) const { key += std::to_string(value.size()) + ":" + value; }
  template <class T>
    requires std::is_same_v<T, float> || std::is_same_v<T, std::string>
  void operator()(const std::vector<T>& values) const {
    for (const T& value : values) {
      key += '|';
      (*this)(value);
    }
  }
  template <class T>
  void operator()(const T& value) const {
    key += AttrValue(value).to_string();
  }
  void operator()(std::monostate) const {}
};

std::string subexpression_key(const Node& node, const std::vector<int>& inputs) {
  std::string key = node.type();
  for (const int input : inputs) key += "," + std::to_string(input);
  for (const auto& [name, value] : node.info().attrs) {
    if (name.starts_with('_')) continue;
    key += ";" + name + "=";
    std::visit(KeyWriter{key}, value.value());
  }
  return key;
}

class Compiler {
 public:
  Compiler(const PlanRequest& request, const PlanOptions& options, Device& device, std::span<const Shape> feed_shapes)
      : options_(options), device_(device), feed_shapes_(feed_shapes), program_(std::make_unique<Program>()) {
    program_->request = request;
  }

  std::unique_ptr<const Program> run() {
    add_feeds();
    for (Node* node : prune(program_->request)) add_node(*node);
    resolve_fetches();
    drop_unused_steps();
    find_last_uses();
    for (std::size_t s = 0; s < program_->steps.size(); ++s) grant_in_place(static_cast<int>(s));
    for (const Step& step : program_->steps) {
      program_->scratch_bytes = std::max(program_->scratch_bytes, step.scratch_bytes);
    }
    if (!feed_shapes_.empty() || program_->request.feeds.empty()) plan_memory(*program_);
    return std::move(program_);
  }

 private:
  Slot& slot(int i) { return program_->slots[i]; }

  int new_slot(const Output& source) {
    program_->slots.push_back({.source = source});
    return static_cast<int>(program_->slots.size()) - 1;
  }

  void add_feeds() {
    const auto& feeds = program_->request.feeds;
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      const int s = new_slot(feeds[i]);
      slot(s).is_feed = true;
      slot(s).shape = feed_shapes_.empty() ? feeds[i].shape() : PartialShape(feed_shapes_[i]);
      slot_of_[feeds[i]] = s;
      program_->feed_slots.push_back(s);
    }
  }

  void add_node(Node& node) {
    try {
      std::vector<int> inputs;
      for (const Output& input : node.inputs()) inputs.push_back(slot_of_.at(input));
      if (share(node, inputs)) return;
      const int first = static_cast<int>(program_->slots.size());
      for (int i = 0; i < node.num_outputs(); ++i) {
        const int s = new_slot(node.output(i));
        slot_of_.emplace(node.output(i), s);  // a fed output keeps its feed's slot
      }
      infer(node, inputs, first);
      if (fold(node, inputs, first)) return;
      add_step(node, std::move(inputs), first);
    } catch (const Error& error) {
      throw error.at_node(node.type(), node.name(), node.info().made_at);
    }
  }

  static bool is_pure(const Node& node) {
    const auto is_ref = [](bool ref) { return ref; };
    return !node.op().def.stateful && node.num_outputs() > 0 && std::ranges::none_of(node.info().input_refs, is_ref) &&
           std::ranges::none_of(node.info().output_refs, is_ref);
  }

  // Equal nodes are computed once; Const nodes have no kernel and are told apart by their values, so they stay.
  bool share(Node& node, const std::vector<int>& inputs) {
    if (!options_.share_subexpressions || !is_pure(node) || !node.control_inputs().empty() || inputs.empty()) {
      return false;
    }
    // A reference that is read: an update may lie between two equal reads.
    for (const Output& input : node.inputs()) {
      if (input.is_ref()) return false;
    }
    if (has_tensor_attr(node)) return false;
    // A fed output hides the node's own value.
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (slot_of_.contains(node.output(i))) return false;
    }
    const auto [found, inserted] = shared_.emplace(subexpression_key(node, inputs), &node);
    if (inserted) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      slot_of_.emplace(node.output(i), slot_of_.at(found->second->output(i)));
    }
    return true;
  }

  static bool has_tensor_attr(const Node& node) {
    return std::ranges::any_of(node.info().attrs, [](const auto& attr) {
      const AttrValue& value = attr.second;
      return value.get_if<Tensor>() != nullptr || value.get_if<FunctionAttr>() != nullptr ||
             value.get_if<std::vector<Tensor>>() != nullptr || value.get_if<std::vector<FunctionAttr>>() != nullptr;
    });
  }

  // Shapes with what this plan knows beyond the graph: the feeds' shapes and folded values.
  void infer(const Node& node, const std::vector<int>& inputs, int first) {
    std::vector<ShapeContext::Input> known;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Output source = node.input(static_cast<int>(i));
      const int s = inputs[i];
      known.push_back({slot(s).shape,
                       source.node()->output_handle(source.index()),
                       [this, s]() -> const Tensor* { return slot(s).constant.valid() ? &slot(s).constant : nullptr; },
                       // What the graph knows holds here too, unless something on the way is fed.
                       {}});
    }
    const auto inferred = infer_shapes(node.info(), std::move(known));
    for (int i = 0; i < node.num_outputs(); ++i) slot(first + i).shape = inferred.shapes[i];
  }

  PrepareContext prepare_context(const Node& node, const std::vector<int>& inputs) {
    std::vector<PrepareContext::Input> known;
    for (const int s : inputs) known.push_back({slot(s).shape, slot(s).constant.valid() ? &slot(s).constant : nullptr});
    return PrepareContext(node.info(), std::move(known), device_, options_.deterministic);
  }

  std::unique_ptr<Kernel> prepare(PrepareContext& context) {
    const PrepareFn function = find_kernel(*context.node().op, device_.type());
    if (function == nullptr) {
      throw unimplemented("no ", device_.type(), " kernel for types ", type_list(context.node().input_types));
    }
    return function(context);
  }

  static std::string type_list(const std::vector<DType>& types) {
    std::string text;
    for (const DType type : types) text += internal::concat(text.empty() ? "" : ", ", type);
    return "(" + text + ")";
  }

  // The value of an input for folding: the constant, or a tensor without memory where only its shape is looked at.
  std::optional<Tensor> known_input(const Node& node, int s) {
    if (slot(s).constant.valid()) return slot(s).constant;
    if (!node.op().spec->reads_only_shapes || slot(s).source.is_ref()) return std::nullopt;
    const auto shape = slot(s).shape.to_shape();
    // A variable's value may have another shape than was declared.
    if (!shape || !is_plain(slot(s).source.dtype())) return std::nullopt;
    return Tensor(slot(s).source.dtype(), *shape, BufferRef());
  }

  // Computes a node now if that is possible. An error while doing so is the run's to report, if it comes to that.
  bool fold(const Node& node, const std::vector<int>& inputs, int first) {
    if (node.num_inputs() == 0 && node.info().op->def.find_attr("value") != nullptr && node.num_outputs() == 1 &&
        is_pure(node)) {
      slot(first).constant = node.attr<Tensor>("value");
      slot(first).shape = slot(first).constant.shape();
      return true;
    }
    if (!options_.fold_constants || !is_pure(node) || !node.control_inputs().empty() || inputs.empty()) return false;
    std::vector<Value> values(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto value = known_input(node, inputs[i]);
      if (!value) return false;
      values[i].tensor = *std::move(value);
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      const DType type = node.info().output_types[i];
      if (!is_plain(type) && type != DType::kString) return false;
      const auto elements = slot(first + i).shape.num_elements();
      if (elements > static_cast<std::int64_t>(kMaxFoldedBytes / dtype_size(type))) return false;
    }
    return evaluate(node, inputs, values, first);
  }

  bool evaluate(const Node& node, const std::vector<int>& inputs, std::vector<Value>& values, int first) {
    std::vector<Value*> pointers;
    for (Value& value : values) pointers.push_back(&value);
    std::vector<Value> outputs(node.num_outputs());
    StepContext step;
    step.device = &device_;
    try {
      PrepareContext context = prepare_context(node, inputs);
      const auto kernel = prepare(context);
      if (kernel->can_wait()) return false;
      std::vector<std::byte> scratch(context.scratch_bytes());
      RunContext run(node.info(), {.inputs = pointers, .outputs = outputs, .scratch = scratch}, &step);
      kernel->run(run);
    } catch (const Error&) {
      return false;
    }
    for (const Value& output : outputs) {
      if (!output.tensor.valid() || output.tensor.byte_size() > kMaxFoldedBytes) return false;
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      slot(first + i).constant = outputs[i].tensor.clone();
      slot(first + i).shape = outputs[i].tensor.shape();
    }
    return true;
  }

  void add_step(const Node& node, std::vector<int> inputs, int first) {
    PrepareContext context = prepare_context(node, inputs);
    Step step;
    step.node = &node;
    step.kernel = prepare(context);
    step.inputs = std::move(inputs);
    step.first_output = first;
    step.in_place = context.in_place();
    step.aliases = context.aliases();
    step.scratch_bytes = context.scratch_bytes();
    for (int i = 0; i < node.num_inputs(); ++i) {
      step.has_ref_inputs |= node.input(i).is_ref() && !node.info().input_refs[i];
    }
    program_->steps.push_back(std::move(step));
  }

  void resolve_fetches() {
    for (const Output& fetch : program_->request.fetches) {
      const int s = slot_of_.at(fetch);
      slot(s).is_fetch = true;
      program_->fetch_slots.push_back(s);
    }
  }

  // Folding leaves steps whose results nobody uses; those without effects go.
  void drop_unused_steps() {
    std::unordered_set<int> used(program_->fetch_slots.begin(), program_->fetch_slots.end());
    std::unordered_set<const Node*> targets(program_->request.targets.begin(), program_->request.targets.end());
    std::vector<Step> kept;
    for (auto step = program_->steps.rbegin(); step != program_->steps.rend(); ++step) {
      bool needed = !is_pure(*step->node) || targets.contains(step->node);
      for (int i = 0; i < step->num_outputs(); ++i) needed |= used.contains(step->first_output + i);
      // Whoever waits for a node by a control edge wants it to have run.
      needed |= !step->node->control_consumers().empty();
      if (!needed) continue;
      used.insert(step->inputs.begin(), step->inputs.end());
      kept.push_back(std::move(*step));
    }
    std::ranges::reverse(kept);
    program_->steps = std::move(kept);
  }

  void find_last_uses() {
    auto& steps = program_->steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const int position = static_cast<int>(s);
      for (const int input : steps[s].inputs) slot(input).last_use = position;
      for (int i = 0; i < steps[s].num_outputs(); ++i) {
        int& last = slot(steps[s].first_output + i).last_use;
        last = std::max(last, position);  // an output that nobody reads dies at once
      }
    }
    for (std::size_t i = 0; i < program_->slots.size(); ++i) {
      const Slot& s = program_->slots[i];
      if (s.last_use >= 0 && !s.is_fetch && !s.constant.valid())
        steps[s.last_use].release.push_back(static_cast<int>(i));
    }
  }

  void grant_in_place(int position) {
    Step& step = program_->steps[position];
    if (!options_.in_place) {
      step.in_place.clear();
      return;
    }
    std::erase_if(step.in_place, [&](const PrepareContext::Pair& pair) {
      const Slot& input = slot(step.inputs[pair.input]);
      return input.last_use != position || input.is_feed || input.is_fetch || input.constant.valid() ||
             input.source.is_ref();
    });
  }

  const PlanOptions& options_;
  Device& device_;
  std::span<const Shape> feed_shapes_;
  std::unique_ptr<Program> program_;
  std::unordered_map<Output, int> slot_of_;
  std::map<std::string, Node*> shared_;
};

}  // namespace

std::unique_ptr<const Program> compile(const PlanRequest& request, const PlanOptions& options, Device& device,
                                       std::span<const Shape> feed_shapes) {
  return Compiler(request, options, device, feed_shapes).run();
}

}  // namespace caudal::inline v0
