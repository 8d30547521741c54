// The gradient of a While: a loop that runs the body's gradient as often as the loop ran, last iteration first.
#include <algorithm>
#include <set>

#include "caudal/base/error.h"
#include "caudal/ops/function_gradients.h"
#include "caudal/ops/functional_ops.h"

namespace caudal::inline v0::ops {
namespace {

Output number(std::int32_t value) {
  return OpBuilder("Const", {}).attr("value", Tensor(value)).attr("dtype", DType::kInt32).build();
}

Output add(const Output& a, std::int32_t b) { return OpBuilder("AddV2", {}).input(a).input(number(b)).build(); }

// The shape of the elements of a list, for ops that take it as a tensor.
Output element_shape(const PartialShape& shape) {
  if (!shape.has_rank()) return number(-1);
  std::vector<std::int32_t> dims;
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(static_cast<std::int32_t>(shape[i]));
  const Tensor value = Tensor::from<std::int32_t>(Shape({shape.rank()}), dims);
  return OpBuilder("Const", {}).attr("value", value).attr("dtype", DType::kInt32).build();
}

class WhileGradient {
 public:
  explicit WhileGradient(GradientContext& context)
      : c_(context),
        node_(context.node()),
        size_(static_cast<std::size_t>(context.num_inputs())),
        body_(forward_body(node_.graph(), context.attr<FunctionAttr>("body"))) {}

  void run() {
    find_variables();
    if (variables_.empty()) return;
    trace_body();
    extend_forward();
    build_backward();
  }

 private:
  bool is_invariant(std::size_t i) const { return body_.results[i] == body_.arguments[i]; }

  // Arguments of the body from which result i is made by way of values that carry gradients.
  std::set<std::size_t> sources_of(std::size_t i) const {
    std::set<std::size_t> sources;
    std::set<const Node*> seen;
    std::vector<Output> stack{body_.results[i]};
    while (!stack.empty()) {
      const Output output = stack.back();
      stack.pop_back();
      if (!carries_gradient(output.dtype()) && gradient_type(output) == output.dtype()) continue;
      if (const auto argument = std::ranges::find(body_.arguments, output); argument != body_.arguments.end()) {
        sources.insert(static_cast<std::size_t>(argument - body_.arguments.begin()));
      } else if (seen.insert(output.node()).second) {
        stack.insert(stack.end(), output.node()->inputs().begin(), output.node()->inputs().end());
      }
    }
    return sources;
  }

  // Which loop values get gradients: those at whose results some arrive, and what these are made from.
  void find_variables() {
    std::set<std::size_t> found;
    std::vector<std::size_t> stack;
    for (std::size_t i = 0; i < size_; ++i) {
      if (c_.has_grad(static_cast<int>(i))) stack.push_back(i);
    }
    while (!stack.empty()) {
      const std::size_t i = stack.back();
      stack.pop_back();
      if (!found.insert(i).second) continue;
      for (const std::size_t source : sources_of(i)) stack.push_back(source);
    }
    for (const std::size_t i : found) {
      const Output& argument = body_.arguments[i];
      // Nothing is known of a variable that a handle comes to name in the loop.
      if (argument.dtype() == DType::kResource && !is_invariant(i)) continue;
      if (gradient_type(argument) != DType::kInvalid) variables_.push_back(i);
    }
  }

  // The gradients of one iteration. An invariant's gradient grows by what the iteration adds: the pass itself is left
  // out, so that it works for handles of variables, too.
  void trace_body() {
    std::vector<int> ys;
    for (const std::size_t i : variables_) {
      if (!is_invariant(i)) ys.push_back(static_cast<int>(i));
    }
    backward_.emplace(body_, "__backward_" + body_.name, ys);
    std::vector<int> xs;
    for (const std::size_t i : variables_) xs.push_back(static_cast<int>(i));
    backward_->return_gradients(xs);
    step_ = backward_->builder().finish();
  }

  // The arguments of the step's captures that change from one iteration to the next are kept in lists.
  void extend_forward() {
    for (const Output& capture : step_.captures) {
      const auto argument = std::ranges::find(body_.arguments, capture);
      const bool kept = argument == body_.arguments.end() ||
                        !is_invariant(static_cast<std::size_t>(argument - body_.arguments.begin()));
      if (kept) kept_.push_back(capture);
    }
    FunctionLibrary& library = node_.graph().functions();
    const FunctionAttr body = extended_body(library);
    const FunctionAttr cond = extended_cond(library);
    auto types = c_.attr<std::vector<DType>>("T");
    auto shapes = c_.attr<std::vector<PartialShape>>("output_shapes");
    types.push_back(DType::kInt32);
    types.insert(types.end(), kept_.size(), DType::kVariant);
    if (!shapes.empty()) shapes.insert(shapes.end(), kept_.size() + 1, PartialShape(Shape()));
    node_.graph().extend(
        node_, {{"body", body}, {"cond", cond}, {"T", std::move(types)}, {"output_shapes", std::move(shapes)}},
        initial_values());
  }

  Output new_argument(DType dtype, std::vector<Output>& arguments) const {
    const Output argument = OpBuilder("_Arg", {})
                                .attr("T", dtype)
                                .attr("index", static_cast<std::int64_t>(arguments.size()))
                                .attr("_output_shapes", std::vector{PartialShape(Shape())})
                                .build();
    arguments.push_back(argument);
    return argument;
  }

  FunctionAttr extended_body(FunctionLibrary& library) {
    const BodyScope scope(*body_.graph);
    std::vector<Output> arguments = body_.arguments, results = body_.results;
    results.push_back(add(new_argument(DType::kInt32, arguments), 1));
    for (const Output& value : kept_) {
      const Output list = new_argument(DType::kVariant, arguments);
      results.push_back(OpBuilder("TensorListPushBack", {}).input(list).input(value).build());
    }
    return put(library, "__forward_" + body_.name, *body_.graph, arguments, results);
  }

  FunctionAttr extended_cond(FunctionLibrary& library) const {
    const FunctionBody cond = forward_body(node_.graph(), c_.attr<FunctionAttr>("cond"));
    const BodyScope scope(*cond.graph);
    std::vector<Output> arguments = cond.arguments;
    new_argument(DType::kInt32, arguments);
    for (std::size_t k = 0; k < kept_.size(); ++k) new_argument(DType::kVariant, arguments);
    return put(library, "__forward_" + cond.name, *cond.graph, arguments, cond.results);
  }

  static FunctionAttr put(FunctionLibrary& library, const std::string& base, const Graph& graph,
                          const std::vector<Output>& arguments, const std::vector<Output>& results) {
    const std::string name = library.unique_name(base);
    library.add(std::make_shared<const Function>(function_from_graph(name, graph, arguments, results)));
    return make_function_attr(name);
  }

  // A count of nothing and empty lists, in the graph of the loop.
  std::vector<Output> initial_values() const {
    const BodyScope scope(node_.graph());
    const NameScope names(node_.name());
    std::vector<Output> values{number(0)};
    for (const Output& value : kept_) {
      values.push_back(OpBuilder("EmptyTensorList", {})
                           .input(element_shape(value.shape()))
                           .input(number(-1))
                           .attr("element_dtype", value.dtype())
                           .build());
    }
    return values;
  }

  // Loop values: what is left of the count, gradients, lists; the invariants that the step needs are captured.
  void build_backward() {
    std::vector<Output> values{node_.output(static_cast<int>(size_))};
    for (const std::size_t i : variables_) values.push_back(arriving(i));
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      values.push_back(node_.output(static_cast<int>(size_ + 1 + k)));
    }
    FunctionBuilder cond(default_graph(), "__backward_while_cond"), body(default_graph(), "__backward_while_body");
    for (FunctionBuilder* builder : {&cond, &body}) add_arguments(*builder, values);
    cond.trace([](const std::vector<Output>& arguments) {
      return std::vector{OpBuilder("Greater", {}).input(arguments[0]).input(number(0)).build()};
    });
    body.trace([&](const std::vector<Output>& arguments) { return backward_step(body, arguments); });
    close_loop(cond, body, std::move(values));
  }

  Output arriving(std::size_t i) const {
    const int output = static_cast<int>(i);
    return c_.has_grad(output) ? c_.grad(output) : zero_gradient(node_.output(output));
  }

  void add_arguments(FunctionBuilder& builder, const std::vector<Output>& values) const {
    builder.add_argument({.dtype = DType::kInt32, .shape = Shape()});
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      const Output& argument = body_.arguments[variables_[v]];
      const bool is_handle = argument.dtype() == DType::kResource;
      builder.add_argument(
          {.dtype = values[v + 1].dtype(), .shape = is_handle ? PartialShape::unknown() : argument.shape()});
    }
    for (std::size_t k = 0; k < kept_.size(); ++k) builder.add_argument({.dtype = DType::kVariant, .shape = Shape()});
  }

  std::vector<Output> backward_step(FunctionBuilder& builder, const std::vector<Output>& arguments) const {
    const std::size_t first_list = 1 + variables_.size();
    std::vector<Output> lists, popped;
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      Node& pop = OpBuilder("TensorListPopBack", {})
                      .input(arguments[first_list + k])
                      .input(element_shape(kept_[k].shape()))
                      .attr("element_dtype", kept_[k].dtype())
                      .build_node();
      lists.push_back(pop.output(0));
      popped.push_back(pop.output(1));
    }
    std::vector<Output> inputs;
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      if (!is_invariant(variables_[v])) inputs.push_back(arguments[v + 1]);
    }
    for (const Output& capture : step_.captures) inputs.push_back(captured(builder, capture, popped));
    const FunctionLibrary& library = builder.graph().functions();
    const auto step = inline_function(*library.find(step_.function.name), {}, builder.graph(), "step/", inputs);
    std::vector<Output> results{add(arguments[0], -1)};
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      Output gradient = step.results[v];
      if (is_invariant(variables_[v])) {
        gradient = OpBuilder("AddN", {}).inputs({arguments[v + 1], gradient}).build();
      }
      results.push_back(gradient);
    }
    results.insert(results.end(), lists.begin(), lists.end());
    return results;
  }

  // What the step's capture is in an iteration of the loop back.
  Output captured(FunctionBuilder& builder, const Output& capture, const std::vector<Output>& popped) const {
    const auto kept = std::ranges::find(kept_, capture);
    if (kept != kept_.end()) return popped[static_cast<std::size_t>(kept - kept_.begin())];
    const auto argument = std::ranges::find(body_.arguments, capture) - body_.arguments.begin();
    return builder.capture(node_.input(static_cast<int>(argument)));
  }

  void close_loop(FunctionBuilder& cond, FunctionBuilder& body, std::vector<Output> values) {
    const std::vector<Output> captures = body.captures();
    // They stay as they are from one iteration to the next.
    std::vector<Output> results = body.results();
    for (const Output& capture : captures) results.push_back(body.capture(capture));
    body.set_results(std::move(results));
    const TracedFunction traced_cond = cond.finish(&captures);
    const TracedFunction traced_body = body.finish(&captures);
    values.insert(values.end(), captures.begin(), captures.end());
    const int parallel = static_cast<int>(c_.attr<std::int64_t>("parallel_iterations"));
    const std::vector<Output> grads =
        raw_ops::while_do(values, traced_cond, traced_body, {.parallel_iterations = parallel});
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      c_.set_input_grad(static_cast<int>(variables_[v]), grads[v + 1]);
    }
  }

  GradientContext& c_;
  Node& node_;
  const std::size_t size_;  // loop values before the loop was extended
  FunctionBody body_;
  std::vector<std::size_t> variables_;
  std::optional<BackwardFunction> backward_;
  TracedFunction step_;
  std::vector<Output> kept_;
};

}  // namespace

void while_gradient(GradientContext& c) { WhileGradient(c).run(); }

}  // namespace caudal::inline v0::ops
