#include "caudal/proto/context_proto.h"

#include <algorithm>
#include <set>

#include "caudal/base/error.h"
#include "caudal/ops/control_flow_contexts.h"
#include "caudal/proto/control_flow.pb.h"
#include "caudal/proto/graph_def.h"

namespace caudal::inline v0 {
namespace {

constexpr int kMaxNesting = 100;  // of contexts in a file

// ---- Export

pb::ValuesDef values_def(const ControlFlowContext& context) {
  std::vector<std::string> names;
  for (const Output& value : context.values()) names.push_back(value.name());
  std::ranges::sort(names);
  pb::ValuesDef def;
  for (const std::string& name : names) def.add_values(name);
  for (const auto& [outside, inside] : context.brought_in()) {
    (*def.mutable_external_values())[outside.name()] = inside.name();
  }
  return def;
}

pb::ControlFlowContextDef def_of(const ControlFlowContext& context);

pb::CondContextDef def_of(const CondContext& context) {
  pb::CondContextDef def;
  def.set_context_name(context.name());
  def.set_pred_name(context.pred().name());
  def.set_pivot_name(context.pivot().name());
  def.set_branch(context.branch());
  *def.mutable_values_def() = values_def(context);
  for (const ControlFlowContext* nested : context.nested()) *def.add_nested_contexts() = def_of(*nested);
  return def;
}

pb::WhileContextDef def_of(const WhileContext& context) {
  pb::WhileContextDef def;
  def.set_context_name(context.name());
  def.set_parallel_iterations(static_cast<int>(context.settings().parallel_iterations));
  def.set_back_prop(context.settings().back_prop);
  def.set_swap_memory(context.settings().swap_memory);
  if (const Output& maximum = context.settings().maximum_iterations) def.set_maximum_iterations_name(maximum.name());
  def.set_pivot_name(context.condition().name());
  def.set_pivot_for_pred_name(context.pivot_for_pred().name());
  def.set_pivot_for_body_name(context.pivot_for_body().name());
  for (const Output& exit : context.exits()) def.add_loop_exit_names(exit.name());
  for (const Output& enter : context.enters()) def.add_loop_enter_names(enter.name());
  *def.mutable_values_def() = values_def(context);
  for (const ControlFlowContext* nested : context.nested()) *def.add_nested_contexts() = def_of(*nested);
  return def;
}

pb::ControlFlowContextDef def_of(const ControlFlowContext& context) {
  pb::ControlFlowContextDef def;
  if (context.is_loop()) {
    *def.mutable_while_ctxt() = def_of(static_cast<const WhileContext&>(context));
  } else {
    *def.mutable_cond_ctxt() = def_of(static_cast<const CondContext&>(context));
  }
  return def;
}

// ---- Import

class Reader {
 public:
  explicit Reader(Graph& graph) : graph_(graph) {}

  ControlFlowContext& read(const pb::CondContextDef& def, int depth = 0) {
    auto& context = graph_.own(std::make_unique<CondContext>(
        graph_, graph_.tensor(def.pred_name()), graph_.tensor(def.pivot_name()), def.branch() != 0 ? 1 : 0));
    context.restore(def.context_name(), brought_in(def.values_def()));
    fill(context, def.values_def());
    read_nested(context, def.nested_contexts(), depth);
    return context;
  }

  ControlFlowContext& read(const pb::WhileContextDef& def, int depth = 0) {
    LoopSettings settings{.maximum_iterations = {},
                          .parallel_iterations = std::max(1, def.parallel_iterations()),
                          .back_prop = def.back_prop(),
                          .swap_memory = def.swap_memory()};
    if (!def.maximum_iterations_name().empty()) {
      settings.maximum_iterations = graph_.tensor(def.maximum_iterations_name());
    }
    auto& context = graph_.own(std::make_unique<WhileContext>(graph_, def.context_name(), settings));
    context.restore(def.context_name(), tensors(def.loop_enter_names(), ControlFlow::kEnter),
                    tensors(def.loop_exit_names(), ControlFlow::kExit), brought_in(def.values_def()));
    context.set_pivots(graph_.tensor(def.pivot_for_pred_name()), graph_.tensor(def.pivot_for_body_name()),
                       graph_.tensor(def.pivot_name()));
    fill(context, def.values_def());
    read_nested(context, def.nested_contexts(), depth);
    return context;
  }

 private:
  template <class Names>
  std::vector<Output> tensors(const Names& names, ControlFlow kind) const {
    std::vector<Output> found;
    for (const std::string& name : names) {
      found.push_back(graph_.tensor(name));
      if (found.back().node()->op().spec->control != kind) {
        throw invalid_argument("'", name, "' is no ", kind == ControlFlow::kExit ? "exit" : "entry", " of a loop");
      }
    }
    return found;
  }

  std::vector<std::pair<Output, Output>> brought_in(const pb::ValuesDef& def) const {
    std::vector<std::pair<Output, Output>> pairs;
    for (const auto& [outside, inside] : def.external_values()) {
      pairs.emplace_back(graph_.tensor(outside), graph_.tensor(inside));
    }
    return pairs;
  }

  // What is known in the context and was not brought in was made there.
  void fill(ControlFlowContext& context, const pb::ValuesDef& def) const {
    for (const std::string& name : def.values()) {
      const Output value = graph_.tensor(name);
      context.add_known(value);
      if (!def.external_values().contains(name)) value.node()->set_context(&context);
    }
  }

  template <class Defs>
  void read_nested(ControlFlowContext& context, const Defs& defs, int depth) {
    if (depth == kMaxNesting) throw invalid_argument("contexts are nested more than ", kMaxNesting, " deep");
    const ContextScope inside(&context);
    for (const auto& def : defs) {
      if (def.has_cond_ctxt()) read(def.cond_ctxt(), depth + 1);
      if (def.has_while_ctxt()) read(def.while_ctxt(), depth + 1);
    }
  }

  Graph& graph_;
};

template <class Def>
Def parsed(const std::string& bytes) {
  Def def;
  if (!def.ParseFromString(bytes)) throw invalid_argument("a member is damaged");
  return def;
}

}  // namespace

std::string context_def(const CollectionItem& item) {
  const auto& context = *static_cast<const ControlFlowContext*>(item.object.get());
  const pb::ControlFlowContextDef def = def_of(context);
  return context.is_loop() ? deterministic_bytes(def.while_ctxt()) : deterministic_bytes(def.cond_ctxt());
}

CollectionItem context_from(std::string_view key, const std::string& bytes, Graph& graph) {
  const ContextScope top(nullptr);
  Reader reader(graph);
  const ControlFlowContext& context = key == kWhileContextKey ? reader.read(parsed<pb::WhileContextDef>(bytes))
                                                              : reader.read(parsed<pb::CondContextDef>(bytes));
  CollectionItem item;
  item.object = std::shared_ptr<const void>(std::shared_ptr<const void>(), &context);
  return item;
}

}  // namespace caudal::inline v0
