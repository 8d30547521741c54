// Iterators over pipelines in graphs, and passes in plain C++.
#include <utility>

#include "caudal/base/error.h"
#include "caudal/data/pipeline.h"
#include "caudal/data/pipeline_recipe.h"
#include "caudal/graph/function_body.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/iterator_resource.h"

namespace caudal::inline v0::data {
namespace {

std::vector<DType> types_of(const std::vector<ComponentSpec>& spec) {
  std::vector<DType> types;
  for (const ComponentSpec& component : spec) types.push_back(component.dtype);
  return types;
}

std::vector<PartialShape> shapes_of(const std::vector<ComponentSpec>& spec) {
  std::vector<PartialShape> shapes;
  for (const ComponentSpec& component : spec) shapes.push_back(component.shape);
  return shapes;
}

void add_spec(OpBuilder& node, const std::vector<ComponentSpec>& spec) {
  node.attr("output_types", types_of(spec)).attr("output_shapes", shapes_of(spec));
}

Outputs outputs_of_node(Node& node) {
  Outputs outputs;
  for (int i = 0; i < node.num_outputs(); ++i) outputs.push_back(node.output(i));
  return outputs;
}

// Keeps what the nodes of a pipeline call (generators) as long as their graph.
constexpr std::string_view kPipelines = "caudal_pipelines";

}  // namespace

// ---- Iterator

Operation Iterator::initializer() const {
  if (initializer_) return initializer_;
  throw failed_precondition("'", resource_.name(), "' has no initializer: it begins by itself")
      .hint("Make it with make_initializable_iterator().");
}

Outputs Iterator::get_next(const OpOptions& options) const {
  OpBuilder node("IteratorGetNext", options);
  node.input(resource_);
  add_spec(node, spec_);
  return outputs_of_node(node.build_node());
}

Output Iterator::string_handle(const OpOptions& options) const {
  return OpBuilder("IteratorToStringHandle", options).input(resource_).build();
}

Iterator Iterator::from_string_handle(const Operand& handle, const std::vector<ComponentSpec>& spec,
                                      const OpOptions& options) {
  OpBuilder node("IteratorFromStringHandleV2", options);
  node.input(handle);
  add_spec(node, spec);
  Iterator iterator;
  iterator.resource_ = node.build();
  iterator.spec_ = spec;
  return iterator;
}

Iterator Dataset::make_one_shot_iterator(Where where) const {
  const LocationScope scope(where);
  Graph& graph = default_graph();
  FunctionBuilder builder(graph, "_make_dataset");
  builder.copy_all_constants();
  Iterator iterator;
  builder.trace([&](const Outputs&) {
    const Built built = recipe_->build();
    iterator.spec_ = built.spec;
    return Outputs{built.handle};
  });
  if (!builder.captures().empty()) {
    throw invalid_argument("a one-shot iterator cannot use tensors of the graph, such as '",
                           builder.captures()[0].name(), "'")
        .made_at(short_location(where))
        .hint("Use make_initializable_iterator().");
  }
  const TracedFunction factory = builder.finish();
  OpBuilder node("OneShotIterator", {});
  node.attr("dataset_factory", factory.function);
  add_spec(node, iterator.spec_);
  iterator.resource_ = node.build();
  graph.add_to_collection(kPipelines, {.object = recipe_});
  return iterator;
}

Iterator Dataset::make_initializable_iterator(const std::string& shared_name, Where where) const {
  const LocationScope scope(where);
  const Built built = recipe_->build();
  Iterator iterator;
  iterator.spec_ = built.spec;
  OpBuilder node("IteratorV2", {});
  node.attr("shared_name", shared_name).attr("container", "");
  add_spec(node, built.spec);
  iterator.resource_ = node.build();
  iterator.initializer_ = OpBuilder("MakeIterator", {}).input(built.handle).input(iterator.resource_).build_operation();
  default_graph().add_to_collection(kPipelines, {.object = recipe_});
  return iterator;
}

Output Dataset::variant() const {
  default_graph().add_to_collection(kPipelines, {.object = recipe_});
  return recipe_->build().handle;
}

// ---- Passes

Pass::Engine::Engine(const Dataset& made_from) {
  const std::optional<std::int64_t> seed = default_graph().seed();
  const GraphScope scope(graph);
  graph.set_seed(seed);
  const Dataset::Built built = made_from.recipe_->build();
  spec = built.spec;
  OpBuilder make("AnonymousIteratorV3", {});
  add_spec(make, spec);
  const Output made = make.build();
  const Output handle = placeholder(resource, PartialShape::scalar());
  const Output data = placeholder(caudal::variant, PartialShape::scalar());
  const Operation start = OpBuilder("MakeIterator", {}).input(data).input(handle).build_operation();
  OpBuilder get("IteratorGetNext", {.name = "element"});
  get.input(handle);
  add_spec(get, spec);
  const Outputs components = outputs_of_node(get.build_node());
  session = std::make_unique<Session>(graph);
  dataset = session->run(built.handle);
  make_handle = session->make_callable({made});
  begin = session->make_callable({start}, {data, handle});
  next = session->make_callable(Fetches(components.begin(), components.end()), {handle});
}

Pass Dataset::pass() const {
  Pass pass;
  pass.recipe_ = recipe_;
  {
    const std::lock_guard lock(recipe_->mutex);
    if (recipe_->engine == nullptr) recipe_->engine = std::make_shared<Pass::Engine>(*this);
    pass.engine_ = recipe_->engine;
  }
  pass.handle_ = pass.engine_->make_handle({})[0];
  pass.engine_->begin({pass.engine_->dataset, pass.handle_});
  return pass;
}

namespace {

std::shared_ptr<ops::IteratorResource> iterator_of(const Tensor& handle) {
  return std::dynamic_pointer_cast<ops::IteratorResource>(handle.item<ResourceHandle>().owned);
}

}  // namespace

bool Pass::next(Element& element) {
  try {
    element = engine_->next({handle_});
    return true;
  } catch (const Error& error) {
    // The end of the data, and not an error of that code on the way.
    if (error.code() == Code::kOutOfRange && error.detail() == "End of sequence") return false;
    throw;
  }
}

std::string Pass::save() const { return iterator_of(handle_)->save(); }
void Pass::restore(const std::string& position) { iterator_of(handle_)->restore(position); }
std::int64_t Pass::ignored_errors() const { return iterator_of(handle_)->ignored_errors(); }

std::vector<Element> Dataset::to_vector(std::int64_t limit) const {
  std::vector<Element> elements;
  for (const Element& element : *this) {
    if (std::ssize(elements) >= limit) {
      throw resource_exhausted("the dataset has more than ", limit, " elements").hint("Take some of them.");
    }
    elements.push_back(element);
  }
  return elements;
}

std::vector<ComponentSpec> Dataset::spec() const { return pass().engine_->spec; }

std::int64_t Dataset::cardinality() const { return ops::dataset_in(pass().engine_->dataset)->cardinality(); }

}  // namespace caudal::inline v0::data
