#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "caudal/base/error.h"
#include "caudal/core/device.h"
#include "caudal/graph/constant_value.h"
#include "caudal/plan/fold.h"
#include "caudal/plan/frames.h"
#include "caudal/plan/fuse.h"
#include "caudal/plan/known_controls.h"
#include "caudal/plan/late_reads.h"
#include "caudal/plan/lifetimes.h"
#include "caudal/plan/memory_plan.h"
#include "caudal/plan/program.h"
#include "caudal/plan/step_draft.h"
#include "caudal/plan/units.h"

namespace caudal::inline v0 {
namespace {

// What all frames of one compilation share.
struct Compilation {
  const PlanRequest& request;
  const PlanOptions& options;
  Device& device;
  FunctionRuntime* functions;
  std::span<const Shape> feed_shapes;
  std::unordered_set<const Frame*> waiting_loops;  // found out while compiling: they are taken value by value
};

// What is known of a value that enters a loop.
struct EntryInfo {
  PartialShape shape;
  Tensor constant;  // invalid: not known, or another one in each iteration
  bool may_be_dead = false;
};

ControlFlow kind_of(const Node& node) { return node.op().spec->control; }

std::string type_list(const std::vector<DType>& types) {
  std::string text;
  for (const DType type : types) text += internal::concat(text.empty() ? "" : ", ", type);
  return "(" + text + ")";
}

// Compiles one frame, and those inside it.
class FrameCompiler {
 public:
  FrameCompiler(Compilation& compilation, const Frame& frame)
      : compilation_(compilation),
        options_(compilation.options),
        frame_(frame),
        program_(std::make_unique<Program>()) {}

  std::unique_ptr<const Program> run_top() {
    program_->request = compilation_.request;
    add_feeds();
    add_items();
    resolve_fetches();
    finish();
    if (!compilation_.feed_shapes.empty() || compilation_.request.feeds.empty()) plan_memory(*program_);
    return std::move(program_);
  }

  // The body of a loop and how it hangs together with what is around. With `token_wise` its values come one by one.
  Loop run_body(const std::vector<EntryInfo>& entries, bool token_wise) {
    token_wise_ = token_wise;
    loop_.frame_name = frame_.name;
    loop_.parallel_iterations = frame_.parallel_iterations;
    add_entries(entries);
    add_items();
    resolve_nexts();
    finish();
    for (std::size_t i = 0; i < frame_.exits.size(); ++i) {
      loop_.exits.push_back({.body_slot = slot_of_.at(Output(frame_.exits[i], 0))});
    }
    loop_.body = std::move(program_);
    return std::move(loop_);
  }

 private:
  Slot& slot(int i) { return program_->slots[i]; }

  int new_slot(const Output& source, int wait_set = 0) {
    program_->slots.push_back({.source = source, .dtype = source.dtype()});
    slot_wait_set_.push_back(wait_set);
    return static_cast<int>(program_->slots.size()) - 1;
  }

  // --- What comes from outside -----------------------------------------------------------------------------------

  void add_feeds() {
    const auto& feeds = compilation_.request.feeds;
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      const int s = new_slot(feeds[i]);
      slot(s).is_feed = true;
      slot(s).shape = compilation_.feed_shapes.empty() ? feeds[i].shape() : PartialShape(compilation_.feed_shapes[i]);
      slot_of_[feeds[i]] = s;
      program_->feed_slots.push_back(s);
    }
  }

  // A slot that gets its value while the program runs, if the loop's values come one by one.
  int new_source(const Output& output) { return token_wise_ ? new_source_slot(output) : new_slot(output); }

  int new_source_slot(const Output& output) {
    const int s = new_slot(output, wait_sets_.new_source());
    node_wait_set_[output.node()] = slot_wait_set_[s];
    source_of_[output.node()] = static_cast<int>(sources_.size());
    sources_.push_back({s});
    return s;
  }

  void add_entries(const std::vector<EntryInfo>& infos) {
    for (std::size_t i = 0; i < frame_.enters.size(); ++i) {
      Node& enter = *frame_.enters[i];
      const Output output(&enter, 0);
      const bool constant = enter.attr<bool>("is_constant");
      const int s = new_source(output);
      slot(s).shape = infos[i].shape;
      slot(s).persists = constant;
      slot(s).may_be_dead = infos[i].may_be_dead || !constant;  // there in the first iteration only
      if (constant && infos[i].constant.valid() && !infos[i].may_be_dead && !token_wise_) {
        slot(s).constant = infos[i].constant;
      }
      slot_of_[output] = s;
      loop_.entries.push_back({.body_slot = s, .constant = constant, .unit = static_cast<int>(sources_.size()) - 1});
    }
  }

  // A Merge at the head of the loop has its value from an Enter first, then from a NextIteration.
  void add_head(Node& node) {
    Loop::Head head;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Node* from = node.input(i).node();
      if (kind_of(*from) == ControlFlow::kNextIteration) {
        head.next_index = i;
      } else if (const auto entry = std::ranges::find(frame_.enters, from); entry != frame_.enters.end()) {
        head.enter_index = i;
        head.entries.push_back(static_cast<int>(entry - frame_.enters.begin()));
      } else {
        throw invalid_argument(
            "a Merge with a NextIteration must have Enter nodes of its frame as its other inputs, not '", from->name(),
            "'");
      }
    }
    head.body_slot = new_source(node.output(0));
    head.unit = static_cast<int>(sources_.size()) - 1;
    const int index = new_slot(node.output(1), slot_wait_set_[head.body_slot]);
    slot(index).shape = Shape();
    if (!node.consumers().empty()) head.index_slot = index;
    if (token_wise_) sources_.back().push_back(index);
    // Some variables of a loop may go on when others do not.
    slot(head.body_slot).may_be_dead = slot(index).may_be_dead = true;
    slot_of_[node.output(0)] = head.body_slot;
    slot_of_[node.output(1)] = index;
    may_be_dead_.insert(&node);
    loop_.heads.push_back(std::move(head));
  }

  void resolve_nexts() {
    for (StepDraft& draft : drafts_) {
      const Node& node = *draft.step.node;
      if (draft.step.kind != StepKind::kForward || kind_of(node) != ControlFlow::kNextIteration) continue;
      for (std::size_t h = 0; h < loop_.heads.size(); ++h) {
        const Node& merge = *slot(loop_.heads[h].body_slot).source.node();
        if (std::ranges::find(merge.inputs(), Output(const_cast<Node*>(&node), 0)) == merge.inputs().end()) continue;
        loop_.nexts.push_back({.body_slot = draft.step.first_output, .head = static_cast<int>(h)});
        draft.step.next_heads.push_back(static_cast<int>(h));
      }
    }
    for (StepDraft& draft : drafts_) {
      const auto exit = std::ranges::find(frame_.exits, draft.step.node);
      if (exit != frame_.exits.end()) draft.step.exit = static_cast<int>(exit - frame_.exits.begin());
    }
  }

  // --- Order: nodes and loops as soon as all they need is there ----------------------------------------------------

  struct Item {
    Node* node = nullptr;  // of this frame, or an Enter of a loop that is taken value by value
    const Frame* loop = nullptr;
    int waiting_for = 0;
    int order = 0;  // among free choices
    bool done = false;
    std::vector<int> followers;
  };

  void add_items() {
    collect_items();
    if (frame_.enters.empty()) late_reads_ = LateReads(frame_.nodes);
    std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
    const auto finish_item = [&](int i) {
      items_[i].done = true;
      for (const int follower : items_[i].followers) {
        if (--items_[follower].waiting_for == 0) ready.emplace(items_[follower].order, follower);
      }
    };
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].waiting_for == 0) ready.emplace(items_[i].order, static_cast<int>(i));
    }
    for (std::size_t left = items_.size(); left > 0; --left) {
      if (ready.empty()) throw_stuck();
      const int i = ready.top().second;
      ready.pop();
      if (items_[i].loop != nullptr) {
        add_loop(*items_[i].loop);
      } else {
        add_node(*items_[i].node);
      }
      finish_item(i);
    }
  }

  void collect_items() {
    for (Node* node : frame_.nodes) {
      item_of_[node] = static_cast<int>(items_.size());
      items_.push_back({.node = node, .order = node->id()});
    }
    for (const auto& child : frame_.children) {
      const int i = static_cast<int>(items_.size());
      for (const Node* enter : child->enters) item_of_[enter] = i;
      for (const Node* exit : child->exits) item_of_[exit] = i;
      items_.push_back({.loop = child.get(), .order = child->enters[0]->id()});
    }
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const auto depend = [&](const Node& node) {
        for (const Output& input : node.inputs()) add_dependency(static_cast<int>(i), node, *input.node(), input);
        for (const Node* before : node.control_inputs()) add_dependency(static_cast<int>(i), node, *before, {});
      };
      if (items_[i].node != nullptr) depend(*items_[i].node);
      if (items_[i].loop != nullptr) {
        for (const Node* enter : items_[i].loop->enters) depend(*enter);
      }
    }
  }

  void add_dependency(int item, const Node& node, const Node& before, const Output& output) {
    if (kind_of(node) == ControlFlow::kMerge && kind_of(before) == ControlFlow::kNextIteration) return;
    if (output && slot_of_.contains(output)) return;  // fed, or from around
    const auto found = item_of_.find(&before);
    if (found == item_of_.end() || found->second == item) return;
    items_[found->second].followers.push_back(item);
    ++items_[item].waiting_for;
  }

  [[noreturn]] void throw_stuck() const {
    for (const Item& item : items_) {
      if (item.done || item.loop == nullptr) continue;
      const Node& enter = *item.loop->enters[0];
      throw unimplemented("something enters the loop '", item.loop->name, "' that is made of what leaves it")
          .hint("Make it a loop variable.")
          .at_node(enter.type(), enter.name(), enter.info().made_at);
    }
    throw internal_error("the nodes of frame '", frame_.name, "' wait for each other");
  }

  // --- Nodes ---------------------------------------------------------------------------------------------------------

  void add_node(Node& node) {
    try {
      if (is_loop_head(node)) {
        add_head(node);
        return;
      }
      std::vector<int> inputs;
      for (int i = 0; i < node.num_inputs(); ++i) inputs.push_back(slot_of_input(node, i));
      if (share(node, inputs)) return;
      const int first = static_cast<int>(program_->slots.size());
      for (int i = 0; i < node.num_outputs(); ++i) {
        const int s = new_slot(node.output(i));
        slot_of_.emplace(node.output(i), s);  // a fed output keeps its feed's slot
      }
      const bool dead = may_be_dead(inputs, node.control_inputs()) && kind_of(node) != ControlFlow::kControlTrigger;
      infer(node, inputs, first);
      StepDraft draft = make_draft(node, std::move(inputs), first);
      draft.step.checks_dead = dead;
      if (fold(node, draft)) {
        if (dead) {
          add_constant(node, std::move(draft));
        } else {
          known_controls_.remember(node, draft.controls);
        }
        return;
      }
      const ControlFlow kind = kind_of(node);
      const bool computes =
          kind == ControlFlow::kNone || kind == ControlFlow::kLoopCond || kind == ControlFlow::kControlTrigger;
      computes ? add_kernel(node, std::move(draft)) : add_control_flow(node, std::move(draft));
    } catch (const Error& error) {
      throw error.at_node(node.type(), node.name(), node.info().made_at);
    }
  }

  int slot_of_input(const Node& node, int i) const {
    const int s = slot_for(node.input(i));
    const Node* read = late_reads_.read_of(node, i);
    return read == nullptr || program_->slots[s].is_feed ? s : slot_for(read->input(0));
  }

  int slot_for(const Output& output) const {
    const auto found = slot_of_.find(output);
    if (found != slot_of_.end()) return found->second;
    throw invalid_argument("'", output.name(), "' is fed outside of the loop '", frame_.name, "' that uses it")
        .hint("Feed what enters the loop.");
  }

  bool may_be_dead(const std::vector<int>& inputs, std::span<Node* const> controls) {
    return std::ranges::any_of(inputs, [&](int s) { return slot(s).may_be_dead; }) ||
           std::ranges::any_of(controls, [&](const Node* node) { return may_be_dead_.contains(node); });
  }

  StepDraft make_draft(const Node& node, std::vector<int> inputs, int first) {
    StepDraft draft;
    draft.step.node = &node;
    draft.step.info = &node.info();
    draft.step.inputs = std::move(inputs);
    draft.step.first_output = first;
    draft.step.num_outputs = node.num_outputs();
    draft.controls.assign(node.control_inputs().begin(), node.control_inputs().end());
    known_controls_.inherit(node, draft.controls);
    late_reads_.add_controls(node, draft.controls);
    return draft;
  }

  // Equal nodes are computed once; constants have no kernel and are told apart by their values, so they stay.
  bool share(Node& node, const std::vector<int>& inputs) {
    if (!options_.share_subexpressions || !is_pure(node) || !node.control_inputs().empty() || inputs.empty()) {
      return false;
    }
    // A reference that is read: an update may lie between two equal reads.
    if (std::ranges::any_of(inputs, [this](int s) { return slot(s).source.is_ref(); })) return false;
    // A fed output hides the node's own value.
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (slot_of_.contains(node.output(i))) return false;
    }
    const auto key = subexpression_key(node, inputs);
    if (!key) return false;
    const auto [found, inserted] = shared_.emplace(*key, &node);
    if (inserted) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      slot_of_.emplace(node.output(i), slot_of_.at(found->second->output(i)));
    }
    twin_of_[&node] = found->second;
    if (may_be_dead_.contains(found->second)) may_be_dead_.insert(&node);
    return true;
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
    return PrepareContext(node.info(), std::move(known), compilation_.device, options_.deterministic,
                          compilation_.functions);
  }

  std::unique_ptr<Kernel> prepare(PrepareContext& context) {
    const PrepareFn function = find_kernel(*context.node().op, compilation_.device.type());
    if (function == nullptr) {
      throw unimplemented("no ", compilation_.device.type(), " kernel for types ",
                          type_list(context.node().input_types));
    }
    return function(context);
  }

  // The value of an input for folding: the constant, or a tensor without memory where only its shape is looked at.
  std::optional<Tensor> known_input(const Node& node, int s) {
    if (slot(s).constant.valid()) return slot(s).constant;
    if (!node.op().spec->reads_only_shapes || slot(s).source.is_ref()) return std::nullopt;
    const auto shape = slot(s).shape.to_shape();
    // A variable's value may have another shape than was declared.
    if (!shape || !is_plain(slot(s).dtype)) return std::nullopt;
    return Tensor(slot(s).dtype, *shape, BufferRef());
  }

  // Computes a node now if that is possible: its output slots get their constants.
  bool fold(const Node& node, const StepDraft& draft) {
    const int first = draft.step.first_output;
    if (node.num_inputs() == 0 && node.info().op->def.find_attr("value") != nullptr && node.num_outputs() == 1 &&
        is_pure(node)) {
      slot(first).constant = node.attr<Tensor>("value");
      slot(first).shape = slot(first).constant.shape();
      return true;
    }
    const auto& inputs = draft.step.inputs;
    if (!options_.fold_constants || !is_pure(node) || !node.control_inputs().empty() || inputs.empty()) return false;
    std::vector<Tensor> values;
    for (const int input : inputs) {
      auto value = known_input(node, input);
      if (!value) return false;
      values.push_back(*std::move(value));
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      const DType type = node.info().output_types[i];
      if (!is_plain(type) && type != DType::kString) return false;
      if (slot(first + i).shape.num_elements() > static_cast<std::int64_t>(kMaxFoldedBytes / dtype_size(type))) {
        return false;
      }
    }
    std::optional<std::vector<Tensor>> results;
    try {
      PrepareContext context = prepare_context(node, inputs);
      const auto kernel = prepare(context);
      results = evaluate(node, *kernel, context.scratch_bytes(), std::move(values), compilation_.device);
    } catch (const Error&) {  // the run's to report, if it comes to that
      return false;
    }
    if (!results) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      slot(first + i).constant = (*results)[i];
      slot(first + i).shape = (*results)[i].shape();
    }
    return true;
  }

  void add_constant(const Node& node, StepDraft draft) {
    draft.step.kind = StepKind::kConstant;
    add_draft(node, std::move(draft));
  }

  void add_kernel(const Node& node, StepDraft draft) {
    Step& step = draft.step;
    PrepareContext context = prepare_context(node, step.inputs);
    step.kernel = prepare(context);
    step.in_place = context.in_place();
    step.aliases = context.aliases();
    step.scratch_bytes = context.scratch_bytes();
    step.waits = step.kernel->can_wait();
    for (int i = 0; i < node.num_inputs(); ++i) {
      step.has_ref_inputs |= slot(step.inputs[i]).source.is_ref() && !node.info().input_refs[i];
    }
    add_draft(node, std::move(draft));
  }

  void add_control_flow(const Node& node, StepDraft draft) {
    Step& step = draft.step;
    step.has_ref_inputs = node.input(0).is_ref() && !node.info().input_refs[0];
    if (kind_of(node) == ControlFlow::kSwitch) {
      step.kind = StepKind::kSwitch;
      for (int i = 0; i < 2; ++i) {
        step.aliases.push_back({0, i});
        slot(step.first_output + i).may_be_dead = true;
      }
    } else if (kind_of(node) == ControlFlow::kMerge) {
      step.kind = StepKind::kMerge;
      const bool all = std::ranges::all_of(step.inputs, [&](int s) { return slot(s).may_be_dead; });
      const bool control = may_be_dead({}, node.control_inputs());
      step.checks_dead = all || control;
      const int wait_set = slot_wait_set_[step.inputs[0]];
      draft.starts_early = node.control_inputs().empty() &&
                           std::ranges::any_of(step.inputs, [&](int s) { return slot_wait_set_[s] != wait_set; });
      let_escape(step);
    } else {
      step.kind = StepKind::kForward;
      let_escape(step);
    }
    add_draft(node, std::move(draft));
  }

  // Its inputs' memory may live on under its outputs.
  void let_escape(Step& step) {
    for (const int input : step.inputs) slot(input).escapes = true;
    for (int i = 0; i < step.num_outputs && !step.inputs.empty(); ++i) step.aliases.push_back({0, i});
  }

  void add_draft(const Node& node, StepDraft draft) {
    Step& step = draft.step;
    for (const int input : step.inputs) draft.wait_set = wait_sets_.join(draft.wait_set, slot_wait_set_[input]);
    for (const Node* before : draft.controls) draft.wait_set = wait_sets_.join(draft.wait_set, wait_set_of(before));
    int after = draft.wait_set;
    if (draft.starts_early) after = wait_sets_.new_source();
    if (step.waits) after = wait_sets_.join(after, wait_sets_.new_source());
    for (int i = 0; i < step.num_outputs; ++i) {
      slot_wait_set_[step.first_output + i] = after;
      slot(step.first_output + i).may_be_dead |= step.checks_dead;
    }
    node_wait_set_[&node] = after;
    if (step.checks_dead) may_be_dead_.insert(&node);
    drafts_.push_back(std::move(draft));
  }

  int wait_set_of(const Node* node) const {
    const auto found = node_wait_set_.find(representative(node));
    return found == node_wait_set_.end() ? 0 : found->second;
  }

  const Node* representative(const Node* node) const {
    for (auto twin = twin_of_.find(node); twin != twin_of_.end(); twin = twin_of_.find(node)) node = twin->second;
    return node;
  }

  // --- Loops ---------------------------------------------------------------------------------------------------------

  void add_loop(const Frame& child) {
    std::vector<int> inputs;
    std::vector<EntryInfo> infos;
    std::vector<const Node*> controls;
    bool dead = false;
    for (const Node* enter : child.enters) {
      const int s = slot_for(enter->input(0));
      inputs.push_back(s);
      const bool entry_dead = may_be_dead({s}, enter->control_inputs());
      dead |= entry_dead;
      infos.push_back({slot(s).shape, slot(s).constant, entry_dead});
      controls.insert(controls.end(), enter->control_inputs().begin(), enter->control_inputs().end());
    }
    if (!compilation_.waiting_loops.contains(&child)) {
      Loop loop = FrameCompiler(compilation_, child).run_body(infos, false);
      loop.compiled = options_.compile_loops && !loop.body->can_wait && come_together(child, inputs);
      if (loop.compiled) {
        add_compiled_loop(child, std::move(loop), std::move(inputs), std::move(controls), dead);
        return;
      }
      compilation_.waiting_loops.insert(&child);
    }
    add_waiting_loop(child, FrameCompiler(compilation_, child).run_body(infos, true));
  }

  // True if nothing leaves the loop before all that enters it is there. Else a value that leaves early could be what
  // one that enters late is waiting for.
  bool come_together(const Frame& child, const std::vector<int>& inputs) {
    std::unordered_map<const Node*, int> set_of;
    int all = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      int set = slot_wait_set_[inputs[i]];
      for (const Node* before : child.enters[i]->control_inputs()) set = wait_sets_.join(set, wait_set_of(before));
      set_of[child.enters[i]] = set;
      all = wait_sets_.join(all, set);
    }
    if (all == 0) return true;
    if (child.exits.empty()) return std::ranges::all_of(set_of, [&](const auto& entry) { return entry.second == all; });
    return std::ranges::all_of(child.exits, [&](const Node* exit) { return needs(*exit, set_of) == all; });
  }

  // What must have happened before a node in a loop can run, by the Enter nodes that it depends on in any iteration.
  int needs(const Node& node, const std::unordered_map<const Node*, int>& set_of_enter) {
    std::unordered_set<const Node*> seen;
    std::vector<const Node*> stack{&node};
    int set = 0;
    while (!stack.empty()) {
      const Node* here = stack.back();
      stack.pop_back();
      if (!seen.insert(here).second) continue;
      if (const auto enter = set_of_enter.find(here); enter != set_of_enter.end()) {
        set = wait_sets_.join(set, enter->second);
        continue;
      }
      for (const Output& input : here->inputs()) stack.push_back(input.node());
      stack.insert(stack.end(), here->control_inputs().begin(), here->control_inputs().end());
    }
    return set;
  }

  void add_exit_slots(const Frame& child, Loop& loop) {
    for (std::size_t i = 0; i < child.exits.size(); ++i) {
      const Output output(child.exits[i], 0);
      const int s = loop.compiled ? new_slot(output) : new_source_slot(output);
      slot(s).shape = loop.body->slots[loop.exits[i].body_slot].shape;
      slot(s).may_be_dead = true;  // a loop may end without a value for it
      slot_of_.emplace(output, s);
      loop.exits[i].slot = s;
      if (!loop.compiled) loop.exits[i].unit = static_cast<int>(sources_.size()) - 1;
      may_be_dead_.insert(child.exits[i]);
    }
  }

  void add_compiled_loop(const Frame& child, Loop loop, std::vector<int> inputs, std::vector<const Node*> controls,
                         bool dead) {
    const Node& enter = *child.enters[0];
    StepDraft draft;
    draft.step.kind = StepKind::kLoop;
    draft.step.node = &enter;
    draft.step.info = &enter.info();
    draft.step.inputs = std::move(inputs);
    draft.step.first_output = static_cast<int>(program_->slots.size());
    draft.step.num_outputs = static_cast<int>(child.exits.size());
    draft.step.loop = static_cast<int>(program_->loops.size());
    draft.step.checks_dead = dead;
    for (std::size_t i = 0; i < child.enters.size(); ++i) {
      const Node& node = *child.enters[i];
      draft.step.has_ref_inputs |= node.input(0).is_ref() && !node.info().input_refs[0];
    }
    draft.controls = std::move(controls);
    add_exit_slots(child, loop);
    let_escape(draft.step);
    add_draft(enter, std::move(draft));
    for (const Node* exit : child.exits) node_wait_set_[exit] = node_wait_set_[&enter];
    for (const Node* exit : child.exits) twin_of_[exit] = &enter;
    program_->loops.push_back(std::move(loop));
  }

  void add_waiting_loop(const Frame& child, Loop loop) {
    const int index = static_cast<int>(program_->loops.size());
    has_waiting_loop_ = true;
    add_exit_slots(child, loop);
    for (std::size_t i = 0; i < child.enters.size(); ++i) {
      const Node& enter = *child.enters[i];
      StepDraft draft = make_draft(enter, {slot_for(enter.input(0))}, static_cast<int>(program_->slots.size()));
      draft.step.kind = StepKind::kEnter;
      draft.step.num_outputs = 0;
      draft.step.loop = index;
      draft.step.entry = static_cast<int>(i);
      draft.step.has_ref_inputs = enter.input(0).is_ref() && !enter.info().input_refs[0];
      draft.step.checks_dead = may_be_dead(draft.step.inputs, enter.control_inputs());
      let_escape(draft.step);
      add_draft(enter, std::move(draft));
    }
    program_->loops.push_back(std::move(loop));
  }

  // --- The end -------------------------------------------------------------------------------------------------------

  void resolve_fetches() {
    for (const Output& fetch : compilation_.request.fetches) {
      const auto found = slot_of_.find(fetch);
      if (found == slot_of_.end()) {
        throw invalid_argument("'", fetch.name(), "' lies in a loop, where it has a value in each iteration")
            .hint("Fetch what leaves the loop; carry the value out as a loop variable or in a TensorArray.");
      }
      slot(found->second).is_fetch = true;
      program_->fetch_slots.push_back(found->second);
    }
  }

  void finish() {
    drop_unused_steps();
    if (options_.fuse) fuse_steps(drafts_, *program_, twin_of_, compilation_.device, options_);
    std::vector<StepNeeds> needs = number_steps();
    const bool waits = has_waiting_loop_ || token_wise_ ||
                       std::ranges::any_of(program_->steps, [](const Step& step) { return step.waits; });
    program_->can_wait = waits;
    if (waits) cut_into_units(*program_, std::move(needs), sources_);
    plan_lifetimes(*program_, options_, sources_, frame_.parent != nullptr);
    for (const Step& step : program_->steps) {
      program_->scratch_bytes = std::max(program_->scratch_bytes, step.scratch_bytes);
    }
  }

  // Folding leaves steps whose results nobody uses; those without effects go.
  void drop_unused_steps() {
    const auto& request = compilation_.request;
    std::unordered_set<int> used(program_->fetch_slots.begin(), program_->fetch_slots.end());
    std::unordered_set<const Node*> targets(request.targets.begin(), request.targets.end());
    std::vector<StepDraft> kept;
    for (auto draft = drafts_.rbegin(); draft != drafts_.rend(); ++draft) {
      const Step& step = draft->step;
      const bool may_go = step.kind == StepKind::kSwitch || step.kind == StepKind::kMerge ||
                          step.kind == StepKind::kConstant || (step.kind == StepKind::kKernel && is_pure(*step.node));
      bool needed = !may_go || targets.contains(step.node);
      for (int i = 0; i < step.num_outputs; ++i) needed |= used.contains(step.first_output + i);
      // Whoever waits for a node by a control edge wants it to have run.
      needed |= !step.node->control_consumers().empty();
      if (!needed) continue;
      used.insert(step.inputs.begin(), step.inputs.end());
      kept.push_back(std::move(*draft));
    }
    std::ranges::reverse(kept);
    drafts_ = std::move(kept);
  }

  std::vector<StepNeeds> number_steps() {
    std::unordered_map<const Node*, int> step_of;
    std::unordered_map<int, int> producer;  // by slot
    std::vector<StepNeeds> needs;
    for (StepDraft& draft : drafts_) {
      const int s = static_cast<int>(program_->steps.size());
      StepNeeds need{.wait_set = draft.wait_set, .starts_early = draft.starts_early};
      for (const int input : draft.step.inputs) {
        if (const auto from = producer.find(input); from != producer.end()) need.predecessors.push_back(from->second);
      }
      for (const Node* before : draft.controls) {
        const auto from = step_of.find(representative(before));
        if (from == step_of.end()) {  // known at plan time, fed, or from outside
          if (const auto source = source_of_.find(before); source != source_of_.end()) {
            need.sources.push_back(source->second);
          }
          continue;
        }
        need.predecessors.push_back(from->second);
        if (may_be_dead_.contains(before)) draft.step.control_inputs.push_back(from->second);
      }
      for (int i = 0; i < draft.step.num_outputs; ++i) producer[draft.step.first_output + i] = s;
      step_of.emplace(draft.step.node, s);
      needs.push_back(std::move(need));
      program_->steps.push_back(std::move(draft.step));
    }
    return needs;
  }

  Compilation& compilation_;
  const PlanOptions& options_;
  const Frame& frame_;
  bool token_wise_ = false;
  bool has_waiting_loop_ = false;
  Loop loop_;
  std::unique_ptr<Program> program_;
  std::vector<StepDraft> drafts_;
  std::vector<Item> items_;
  std::unordered_map<const Node*, int> item_of_;
  std::unordered_map<Output, int> slot_of_;
  std::map<std::string, Node*> shared_;
  Twins twin_of_;
  KnownControls known_controls_;
  LateReads late_reads_;
  std::unordered_set<const Node*> may_be_dead_;
  WaitSets wait_sets_;
  std::vector<int> slot_wait_set_;
  std::unordered_map<const Node*, int> node_wait_set_;
  std::vector<std::vector<int>> sources_;
  std::unordered_map<const Node*, int> source_of_;
};

}  // namespace

std::unique_ptr<const Program> compile(const PlanRequest& request, const PlanOptions& options, Device& device,
                                       FunctionRuntime* functions, std::span<const Shape> feed_shapes) {
  const auto frame = split_frames(request, prune(request));
  Compilation compilation{request, options, device, functions, feed_shapes, {}};
  return FrameCompiler(compilation, *frame).run_top();
}

}  // namespace caudal::inline v0
