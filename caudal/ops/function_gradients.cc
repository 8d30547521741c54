#include "caudal/ops/function_gradients.h"

#include <algorithm>

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/functional_ops.h"

namespace caudal::inline v0::ops {
namespace {

// Positions of the outputs at which a gradient arrives.
std::vector<int> arriving(const GradientContext& c) {
  std::vector<int> ys;
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (c.has_grad(i) && carries_gradient(c.output(i).dtype())) ys.push_back(i);
  }
  return ys;
}

std::vector<Output> arriving_gradients(const GradientContext& c, const std::vector<int>& ys) {
  std::vector<Output> grads;
  for (const int y : ys) grads.push_back(c.grad(y));
  return grads;
}

std::vector<Output> call_with(TracedFunction function, std::vector<Output> arguments) {
  function.captures.clear();  // they are among the arguments
  return call_function(function, arguments);
}

bool is_argument(const FunctionBody& body, const Output& output) {
  return std::ranges::find(body.arguments, output) != body.arguments.end();
}

// The gradient function that the library has for `function`, called with the node's inputs and all gradients.
void custom_gradient(GradientContext& c, const std::string& name, const FunctionAttr& function) {
  FunctionLibrary& library = c.node().graph().functions();
  const auto gradient = library.find(name);
  if (gradient == nullptr) throw not_found("the gradient function '", name, "' is not in the library");
  std::vector<Output> arguments(c.node().inputs().begin(), c.node().inputs().end());
  for (int i = 0; i < c.num_outputs(); ++i) arguments.push_back(c.grad(i));
  TracedFunction traced;
  traced.function = make_function_attr(name, *function.attrs);
  traced.result_types = function_types(*gradient, *function.attrs).results;
  traced.result_shapes.assign(traced.result_types.size(), PartialShape::unknown());
  traced.stateful = gradient->signature.stateful;
  const std::vector<Output> grads = call_with(std::move(traced), std::move(arguments));
  for (std::size_t i = 0; i < grads.size() && i < static_cast<std::size_t>(c.num_inputs()); ++i) {
    if (carries_gradient(c.input(static_cast<int>(i)).dtype())) c.set_input_grad(static_cast<int>(i), grads[i]);
  }
}

void append_types(const std::vector<Output>& outputs, std::vector<DType>& types) {
  for (const Output& output : outputs) types.push_back(output.dtype());
}

// Puts the body with further results into the library.
FunctionAttr extended_function(const FunctionBody& body, const std::vector<Output>& more) {
  FunctionLibrary& library = body.graph->functions();
  std::vector<Output> results = body.results;
  results.insert(results.end(), more.begin(), more.end());
  const std::string name = library.unique_name("__forward_" + body.name);
  library.add(std::make_shared<const Function>(function_from_graph(name, *body.graph, body.arguments, results)));
  return make_function_attr(name);
}

// A branch in both directions.
struct Branch {
  FunctionBody body;
  std::unique_ptr<BackwardFunction> backward;
  std::vector<Output> intermediates;
  std::vector<Output> more_results;  // of all branches; its own among stand-ins for the others'
};

// A value that is never read, in place of one of another branch. Unknown sizes keep it empty.
Output stand_in(Graph& graph, const Output& other) {
  PartialShape shape = PartialShape::unknown();
  if (other.shape().has_rank()) shape = PartialShape(std::vector<std::int64_t>(other.shape().rank(), -1));
  if (!is_plain(other.dtype())) shape = Shape();
  const BodyScope scope(graph);
  return raw_ops::fake_param(other.dtype(), shape);
}

// Traces the gradients of all branches; gives the inputs (counted without the selector) that have one in any branch.
std::vector<int> trace_branches(GradientContext& c, const std::vector<FunctionAttr>& functions,
                                const std::vector<int>& ys, std::vector<Branch>& branches) {
  std::vector<bool> has_gradient(static_cast<std::size_t>(c.num_inputs() - 1));
  for (const FunctionAttr& function : functions) {
    Branch& branch = branches.emplace_back();
    branch.body = forward_body(c.node().graph(), function);
    branch.backward = std::make_unique<BackwardFunction>(branch.body, "__backward_" + function.name, ys);
    for (std::size_t i = 0; i < has_gradient.size(); ++i) {
      if (branch.backward->gradients()[i]) has_gradient[i] = true;
    }
  }
  std::vector<int> xs;
  for (std::size_t i = 0; i < has_gradient.size(); ++i) {
    if (has_gradient[i]) xs.push_back(static_cast<int>(i));
  }
  return xs;
}

// The bodies' further results, in the same places in all branches.
std::vector<Output> align_intermediates(std::vector<Branch>& branches) {
  std::vector<Output> all;
  for (Branch& branch : branches) branch.intermediates = branch.backward->intermediates();
  for (const Branch& owner : branches) {
    all.insert(all.end(), owner.intermediates.begin(), owner.intermediates.end());
    for (Branch& branch : branches) {
      for (const Output& value : owner.intermediates) {
        branch.more_results.push_back(&branch == &owner ? value : stand_in(*branch.body.graph, value));
      }
    }
  }
  return all;
}

void branch_gradient(GradientContext& c, const std::vector<FunctionAttr>& functions,
                     AttrMap (*function_attrs)(const std::vector<FunctionAttr>&)) {
  Node& node = c.node();
  const std::vector<int> ys = arriving(c);
  std::vector<Branch> branches;
  branches.reserve(functions.size());
  const std::vector<int> xs = trace_branches(c, functions, ys, branches);
  if (xs.empty()) return;
  for (Branch& branch : branches) branch.backward->return_gradients(xs);
  const std::vector<Output> more = align_intermediates(branches);
  const int first_more = c.num_outputs();
  std::vector<FunctionAttr> forward;
  std::vector<TracedFunction> backward;
  for (Branch& branch : branches) {
    if (!more.empty()) forward.push_back(extended_function(branch.body, branch.more_results));
    std::vector<Output> order = branch.body.arguments;
    order.insert(order.end(), branch.more_results.begin(), branch.more_results.end());
    backward.push_back(branch.backward->builder().finish(&order));
  }
  if (!more.empty()) {
    AttrMap attrs = function_attrs(forward);
    auto types = node.attr<std::vector<DType>>("Tout");
    auto shapes = node.attr<std::vector<PartialShape>>("output_shapes");
    append_types(more, types);
    if (!shapes.empty()) {
      for (const Output& value : more) {
        const bool ranked = value.shape().has_rank() && is_plain(value.dtype());
        shapes.push_back(ranked ? PartialShape(std::vector<std::int64_t>(value.shape().rank(), -1))
                                : PartialShape::unknown());
      }
    }
    attrs["Tout"] = std::move(types);
    attrs["output_shapes"] = std::move(shapes);
    node.graph().extend(node, std::move(attrs));
  }
  std::vector<Output> inputs = arriving_gradients(c, ys);
  inputs.insert(inputs.end(), node.inputs().begin() + 1, node.inputs().end());
  for (std::size_t k = 0; k < more.size(); ++k) inputs.push_back(node.output(first_more + static_cast<int>(k)));
  const bool by_index = node.op().def.find_attr("branches") != nullptr;
  const std::vector<Output> grads = by_index ? raw_ops::switch_case(node.input(0), inputs, backward)
                                             : raw_ops::if_else(node.input(0), inputs, backward[0], backward[1]);
  for (std::size_t i = 0; i < xs.size(); ++i) c.set_input_grad(xs[i] + 1, grads[i]);
}

}  // namespace

// ---- Shared pieces

FunctionBody forward_body(Graph& graph, const FunctionAttr& function) {
  const auto found = graph.functions().find(function.name);
  if (found == nullptr) throw not_found("function '", function.name, "' is not in the graph's library");
  return instantiate_function(*found, *function.attrs, graph.shared_functions());
}

bool carries_gradient(DType dtype) { return is_differentiable(dtype) || dtype == DType::kVariant; }

DType gradient_type(const Output& x) {
  if (x.dtype() != DType::kResource) return x.dtype();
  const HandleData& handle = x.node()->output_handle(x.index());
  return handle.size() == 1 ? handle[0].dtype : DType::kInvalid;
}

Output zero_gradient(const Output& x) {
  if (x.dtype() != DType::kResource) return OpBuilder("ZerosLike", {}).input(x).build();
  const DType dtype = gradient_type(x);
  if (dtype == DType::kInvalid) throw invalid_argument("what the variable '", x.name(), "' holds is not known");
  const Output shape = OpBuilder("VariableShape", {}).input(x).build();
  const Output zero = OpBuilder("Const", {}).attr("value", Tensor::zeros(dtype, Shape())).attr("dtype", dtype).build();
  return OpBuilder("Fill", {}).input(shape).input(zero).build();
}

BackwardFunction::BackwardFunction(FunctionBody& body, std::string_view name, const std::vector<int>& ys)
    : body_(body), builder_(*body.graph, name), gradients_(body.arguments.size()) {
  builder_.copy_all_constants();
  std::vector<Output> results, arguments;
  for (const int y : ys) {
    results.push_back(body.results[static_cast<std::size_t>(y)]);
    builder_.add_argument({.dtype = results.back().dtype(), .shape = results.back().shape()});
  }
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < body.arguments.size(); ++i) {
    const Output& argument = body.arguments[i];
    if (!carries_gradient(argument.dtype()) && gradient_type(argument) == argument.dtype()) continue;
    positions.push_back(i);
    arguments.push_back(argument);
  }
  if (results.empty() || arguments.empty()) return;
  builder_.trace([&](const std::vector<Output>& grad_ys) {
    GradientOptions options;
    options.grad_ys.assign(grad_ys.begin(), grad_ys.end());
    options.graph = &builder_.graph();
    const auto grads = caudal::gradients(results, arguments, options);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      // One that is a value of the body itself is an argument of the gradient's graph.
      if (grads[i]) gradients_[positions[i]] = grads[i].dense();
    }
    return std::vector<Output>();
  });
}

void BackwardFunction::return_gradients(const std::vector<int>& xs) {
  builder_.trace([&](const std::vector<Output>&) {
    std::vector<Output> results;
    for (const int x : xs) {
      const auto i = static_cast<std::size_t>(x);
      results.push_back(gradients_[i] ? gradients_[i] : zero_gradient(body_.arguments[i]));
    }
    return results;
  });
}

std::vector<Output> BackwardFunction::intermediates() const {
  std::vector<Output> values;
  for (const Output& value : builder_.captures()) {
    if (!is_argument(body_, value)) values.push_back(value);
  }
  return values;
}

// ---- Gradients of calls

void call_gradient(GradientContext& c) {
  Node& node = c.node();
  const auto& function = c.attr<FunctionAttr>("f");
  if (const std::string custom = node.graph().functions().gradient_of(function.name); !custom.empty()) {
    return custom_gradient(c, custom, function);
  }
  const std::vector<int> ys = arriving(c);
  FunctionBody body = forward_body(node.graph(), function);
  BackwardFunction backward(body, "__backward_" + function.name, ys);
  std::vector<int> xs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (backward.gradients()[static_cast<std::size_t>(i)]) xs.push_back(i);
  }
  if (xs.empty()) return;
  backward.return_gradients(xs);
  const std::vector<Output> more = backward.intermediates();
  const int first_more = c.num_outputs();
  const TracedFunction traced = backward.builder().finish();
  if (!more.empty()) {
    auto types = node.attr<std::vector<DType>>("Tout");
    append_types(more, types);
    node.graph().extend(node, {{"f", extended_function(body, more)}, {"Tout", std::move(types)}});
  }
  std::vector<Output> inputs = arriving_gradients(c, ys);
  for (const Output& capture : traced.captures) {
    if (const auto argument = std::ranges::find(body.arguments, capture); argument != body.arguments.end()) {
      inputs.push_back(node.input(static_cast<int>(argument - body.arguments.begin())));
    } else {
      const auto position = std::ranges::find(more, capture) - more.begin();
      inputs.push_back(node.output(first_more + static_cast<int>(position)));
    }
  }
  const std::vector<Output> grads = call_with(traced, std::move(inputs));
  for (std::size_t i = 0; i < xs.size(); ++i) c.set_input_grad(xs[i], grads[i]);
}

void if_gradient(GradientContext& c) {
  branch_gradient(c, {c.attr<FunctionAttr>("then_branch"), c.attr<FunctionAttr>("else_branch")},
                  [](const std::vector<FunctionAttr>& f) {
                    return AttrMap{{"then_branch", f[0]}, {"else_branch", f[1]}};
                  });
}

void case_gradient(GradientContext& c) {
  const auto branches = c.attr<std::vector<FunctionAttr>>("branches");
  branch_gradient(c, branches, [](const std::vector<FunctionAttr>& f) { return AttrMap{{"branches", f}}; });
}

// As TensorFlow: the node is the function, so it cannot give more results; the body is run again.
void named_call_gradient(GradientContext& c) {
  Node& node = c.node();
  std::vector<Output> inputs(node.inputs().begin(), node.inputs().end());
  for (int i = 0; i < c.num_outputs(); ++i) inputs.push_back(c.grad(i));
  Node& gradient = OpBuilder("SymbolicGradient", {})
                       .inputs(std::move(inputs))
                       .attr("Tout", node.info().input_types)
                       .attr("f", make_function_attr(node.type(), node.info().attrs))
                       .build_node();
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (carries_gradient(c.input(i).dtype())) c.set_input_grad(i, gradient.output(i));
  }
}

FunctionBody symbolic_gradient_body(const FunctionAttr& function, std::shared_ptr<FunctionLibrary> library) {
  const auto found = library->find(function.name);
  if (found == nullptr) throw not_found("function '", function.name, "' is not in the graph's library");
  if (const std::string custom = library->gradient_of(function.name); !custom.empty()) {
    const auto gradient = library->find(custom);
    if (gradient == nullptr) throw not_found("the gradient function '", custom, "' is not in the library");
    return instantiate_function(*gradient, *function.attrs, library);
  }
  FunctionBody body;
  body.name = function.name;
  body.graph = std::make_unique<Graph>(library);
  const FunctionTypes types = function_types(*found, *function.attrs);
  const BodyScope scope(*body.graph);
  const auto add_argument = [&](DType dtype) {
    body.arguments.push_back(
        OpBuilder("_Arg", {}).attr("T", dtype).attr("index", static_cast<std::int64_t>(body.arguments.size())).build());
  };
  for (const DType dtype : types.arguments) add_argument(dtype);
  const std::vector<Output> xs = body.arguments;
  const InlinedFunction forward = inline_function(*found, *function.attrs, *body.graph, "forward/", xs);
  std::vector<Output> ys;
  GradientOptions options;
  for (std::size_t i = 0; i < types.results.size(); ++i) {
    add_argument(types.results[i]);
    if (!carries_gradient(types.results[i])) continue;
    ys.push_back(forward.results[i]);
    options.grad_ys.emplace_back(body.arguments.back());
  }
  const auto grads = ys.empty() ? std::vector<Gradient>(xs.size()) : caudal::gradients(ys, xs, options);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    body.results.push_back(grads[i] ? grads[i].dense() : zero_gradient(xs[i]));
  }
  body.stateful = !forward.targets.empty();
  return body;
}

}  // namespace caudal::inline v0::ops
