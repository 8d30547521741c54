#include "caudal/data/pipeline.h"

#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/data/pipeline_recipe.h"
#include "caudal/graph/function_body.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/native_function.h"
#include "caudal/ops/random.h"

namespace caudal::inline v0::data {
namespace {

using Spec = std::vector<ComponentSpec>;

std::vector<DType> types_of(const Spec& spec) {
  std::vector<DType> types;
  for (const ComponentSpec& component : spec) types.push_back(component.dtype);
  return types;
}

std::vector<PartialShape> shapes_of(const Spec& spec) {
  std::vector<PartialShape> shapes;
  for (const ComponentSpec& component : spec) shapes.push_back(component.shape);
  return shapes;
}

Spec spec_of(const std::vector<DType>& types, const std::vector<PartialShape>& shapes) {
  Spec spec;
  for (std::size_t i = 0; i < types.size(); ++i) spec.push_back({types[i], shapes[i]});
  return spec;
}

Spec spec_of(const Outputs& outputs) {
  Spec spec;
  for (const Output& output : outputs) spec.push_back({output.dtype(), output.shape()});
  return spec;
}

Output scalar64(std::int64_t value) { return constant(Tensor(value)); }

Output int64_list(const std::vector<std::int64_t>& values) { return constant(Tensor(values)); }

std::string function_name(std::string_view what) { return internal::concat("Dataset_", what, "_fn"); }

// The function that `fn` makes of components like these.
TracedFunction traced(std::string_view what, const Spec& arguments, const MapManyFn& fn) {
  FunctionBuilder builder(default_graph(), function_name(what));
  for (const ComponentSpec& component : arguments) {
    builder.add_argument({.dtype = component.dtype, .shape = component.shape});
  }
  builder.copy_all_constants();
  builder.trace(fn);
  return builder.finish();
}

Output only(const Outputs& components, std::string_view what) {
  if (components.size() == 1) return components[0];
  throw invalid_argument("the function of ", what, " takes one component, and the elements have ", components.size())
      .hint("Write it with (const Outputs&), which gets them all.");
}

MapManyFn of_many(MapFn fn, std::string_view what) {
  return [fn = std::move(fn), what](const Outputs& components) { return Outputs{fn(only(components, what))}; };
}

// Adds function `f` with its captures, which stand where the op has `other_arguments`.
void add_function(OpBuilder& node, const TracedFunction& f, const char* attr = "f") {
  node.inputs(f.captures).attr(attr, f.function);
}

template <class Shapes>
PartialShape with_front(std::int64_t rows, const Shapes& shape) {
  if (!shape.has_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> dims{rows};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return PartialShape(std::move(dims));
}

PartialShape without_front(const PartialShape& shape) {
  if (!shape.has_rank()) return shape;
  if (shape.rank() == 0) throw invalid_argument("the elements have a component that is a scalar: it has no rows");
  return PartialShape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}

// What is known of both.
PartialShape common_shape(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return PartialShape::unknown();
  std::vector<std::int64_t> dims;
  for (int d = 0; d < a.rank(); ++d) dims.push_back(a[d] == b[d] ? a[d] : -1);
  return PartialShape(std::move(dims));
}

void check_size(std::int64_t size, const char* what, const Where& where) {
  if (size >= 1) return;
  throw invalid_argument(what, " of ", size, " elements").made_at(short_location(where)).hint("Give it one at least.");
}

// A generator in use, by number; the nodes of GeneratorDataset pass the number on.
class GeneratorCalls {
 public:
  explicit GeneratorCalls(GeneratorFactory factory) : factory_(std::move(factory)) {}

  std::vector<Tensor> start() {
    Generator generator = factory_();
    const std::lock_guard lock(mutex_);
    running_.emplace(next_, std::move(generator));
    return {Tensor(next_++)};
  }
  std::vector<Tensor> next(std::int64_t number) {
    Generator* generator = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto found = running_.find(number);
      if (found == running_.end()) throw internal_error("generator ", number, " is not running");
      generator = &found->second;
    }
    Element element;
    if (!(*generator)(element)) throw out_of_range("the generator has ended");
    return element;
  }
  std::vector<Tensor> end(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    running_.erase(number);
    return {Tensor(number)};
  }

 private:
  const GeneratorFactory factory_;
  std::mutex mutex_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, Generator> running_;
};

Outputs call_native(const std::string& token, const Outputs& arguments, const Spec& results) {
  Node& node =
      OpBuilder("PyFunc", {}).inputs(arguments).attr("token", token).attr("Tout", types_of(results)).build_node();
  Outputs outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(node.output(static_cast<int>(i)));
    outputs.back().set_shape(results[i].shape);
  }
  return outputs;
}

}  // namespace

std::vector<DType> Dataset::Built::types() const { return types_of(spec); }
std::vector<PartialShape> Dataset::Built::shapes() const { return shapes_of(spec); }

Dataset::Built Dataset::Recipe::build() const {
  const LocationScope where(made_at);
  return make();
}

Dataset Dataset::make(std::function<Built()> build, Where where) {
  auto recipe = std::make_shared<Recipe>();
  recipe->make = std::move(build);
  recipe->made_at = short_location(where);
  return Dataset(std::move(recipe));
}

Dataset Dataset::over(const char* op, std::function<void(OpBuilder&, Spec&)> arguments, Where where) const {
  return make(
      [input = recipe_, op, arguments = std::move(arguments)] {
        const Built below = input->build();
        Spec spec = below.spec;
        OpBuilder node(op, {});
        node.input(below.handle);
        arguments(node, spec);
        const Op& definition = lookup_op(op);
        if (definition.def.find_attr("output_types") != nullptr) node.attr("output_types", types_of(spec));
        node.attr("output_shapes", shapes_of(spec));
        return Built{node.build(), std::move(spec)};
      },
      where);
}

// ---- Sources

Dataset Dataset::from_tensors(std::vector<Operand> values, Where where) {
  return make(
      [values = std::move(values)] {
        Outputs components;
        for (const Operand& value : values) components.push_back(value.to_output());
        Spec spec = spec_of(components);
        const Output handle =
            OpBuilder("TensorDataset", {}).inputs(components).attr("output_shapes", shapes_of(spec)).build();
        return Built{handle, std::move(spec)};
      },
      where);
}

Dataset Dataset::from_tensor_slices(std::vector<Operand> values, Where where) {
  return make(
      [values = std::move(values)] {
        Outputs components;
        for (const Operand& value : values) components.push_back(value.to_output());
        Spec spec = spec_of(components);
        std::int64_t rows = -1;
        for (ComponentSpec& component : spec) {
          const std::int64_t count = component.shape.has_rank() && component.shape.rank() > 0 ? component.shape[0] : -1;
          component.shape = without_front(component.shape);
          if (rows >= 0 && count >= 0 && rows != count) {
            throw invalid_argument("the tensors differ in their number of rows: ", rows, " and ", count);
          }
          if (count >= 0) rows = count;
        }
        const Output handle =
            OpBuilder("TensorSliceDataset", {}).inputs(components).attr("output_shapes", shapes_of(spec)).build();
        return Built{handle, std::move(spec)};
      },
      where);
}

Dataset Dataset::range(std::int64_t stop, Where where) { return range(0, stop, 1, where); }

Dataset Dataset::range(std::int64_t start, std::int64_t stop, std::int64_t step, Where where) {
  if (step == 0) throw invalid_argument("range() with a step of 0").made_at(short_location(where));
  return make(
      [start, stop, step] {
        Spec spec{{int64, PartialShape::scalar()}};
        const Output handle = OpBuilder("RangeDataset", {})
                                  .input(scalar64(start))
                                  .input(scalar64(stop))
                                  .input(scalar64(step))
                                  .attr("output_types", types_of(spec))
                                  .attr("output_shapes", shapes_of(spec))
                                  .build();
        return Built{handle, std::move(spec)};
      },
      where);
}

Dataset Dataset::from_generator(GeneratorFactory generator, std::vector<ComponentSpec> spec, Where where) {
  const auto calls = std::make_shared<GeneratorCalls>(std::move(generator));
  const auto number = [](const std::vector<Tensor>& arguments) { return arguments[0].item<std::int64_t>(); };
  const auto start = register_native_function([calls](const std::vector<Tensor>&) { return calls->start(); });
  const auto next =
      register_native_function([calls, number](const std::vector<Tensor>& a) { return calls->next(number(a)); });
  const auto end =
      register_native_function([calls, number](const std::vector<Tensor>& a) { return calls->end(number(a)); });
  return make(
      [start, next, end, spec = std::move(spec)] {
        const Spec id{{int64, PartialShape::scalar()}};
        const auto calling = [&](const char* what, const NativeRegistration& token, const Spec& arguments,
                                 const Spec& results) {
          return traced(what, arguments, [&](const Outputs& inputs) { return call_native(*token, inputs, results); });
        };
        OpBuilder node("GeneratorDataset", {});
        node.inputs({}).inputs({}).inputs({});
        node.attr("init_func", calling("generator_init", start, {}, id).function)
            .attr("next_func", calling("generator_next", next, id, spec).function)
            .attr("finalize_func", calling("generator_end", end, id, id).function)
            .attr("output_types", types_of(spec))
            .attr("output_shapes", shapes_of(spec));
        return Built{node.build(), spec};
      },
      where);
}

Dataset Dataset::list_files(std::vector<std::string> patterns, const ListFilesOptions& options) {
  return make(
      [patterns = std::move(patterns), options] {
        const Output found = OpBuilder("MatchingFiles", {}).input(Tensor(patterns)).build();
        const Output count = OpBuilder("Size", {}).input(found).attr("out_type", int64).build();
        const Output any = OpBuilder("Greater", {}).input(count).input(scalar64(0)).build();
        const Operation check =
            OpBuilder("Assert", {})
                .input(any)
                .inputs({constant(Tensor("No files matched pattern: ")), constant(Tensor(patterns))})
                .build_operation();
        const ControlDependencies after({check});
        const Output files = OpBuilder("Identity", {}).input(found).build();
        Spec spec{{string, PartialShape::scalar()}};
        Output handle =
            OpBuilder("TensorSliceDataset", {}).inputs({files}).attr("output_shapes", shapes_of(spec)).build();
        if (options.shuffle) {
          const RandomSeeds seeds = get_seed(default_graph(), options.seed);
          handle = OpBuilder("ShuffleDataset", {})
                       .input(handle)
                       .input(OpBuilder("Maximum", {}).input(count).input(scalar64(1)).build())
                       .input(scalar64(seeds.seed))
                       .input(scalar64(seeds.seed2))
                       .attr("output_types", types_of(spec))
                       .attr("output_shapes", shapes_of(spec))
                       .build();
        }
        return Built{handle, std::move(spec)};
      },
      options.where);
}

Dataset Dataset::files(const char* op, const Operand& files, std::function<void(OpBuilder&)> arguments, Where where) {
  return make(
      [op, files, arguments = std::move(arguments)] {
        OpBuilder node(op, {});
        node.input(files);
        arguments(node);
        return Built{node.build(), {{string, PartialShape::scalar()}}};
      },
      where);
}

Dataset Dataset::text_lines(const Operand& paths, const FileOptions& options) {
  return files(
      "TextLineDataset", paths,
      [options](OpBuilder& node) { node.input(Tensor(options.compression_type)).input(scalar64(0)); }, options.where);
}

Dataset Dataset::tf_record(const Operand& paths, const FileOptions& options) {
  return files(
      "TFRecordDataset", paths,
      [options](OpBuilder& node) { node.input(Tensor(options.compression_type)).input(scalar64(0)); }, options.where);
}

Dataset Dataset::fixed_length(const Operand& paths, std::int64_t record_bytes, const FixedLengthOptions& options) {
  return files(
      "FixedLengthRecordDatasetV2", paths,
      [record_bytes, options](OpBuilder& node) {
        node.input(scalar64(options.header_bytes))
            .input(scalar64(record_bytes))
            .input(scalar64(options.footer_bytes))
            .input(scalar64(0))
            .input(Tensor(options.compression_type));
      },
      options.where);
}

Dataset Dataset::csv(const Operand& paths, std::vector<Tensor> defaults, const CsvOptions& options) {
  return make(
      [paths, defaults = std::move(defaults), options] {
        Spec spec;
        Outputs columns;
        for (const Tensor& value : defaults) {
          spec.push_back({value.dtype(), PartialShape::scalar()});
          columns.push_back(constant(value));
        }
        const Output handle = OpBuilder("CSVDataset", {})
                                  .input(paths)
                                  .input(Tensor(options.compression_type))
                                  .input(scalar64(4 << 20))
                                  .input(Tensor(options.header))
                                  .input(Tensor(options.field_delim))
                                  .input(Tensor(options.use_quote_delim))
                                  .input(Tensor(options.na_value))
                                  .input(int64_list(options.select_cols))
                                  .inputs(columns)
                                  .attr("output_shapes", shapes_of(spec))
                                  .build();
        return Built{handle, std::move(spec)};
      },
      options.where);
}

Dataset Dataset::zip(std::vector<Dataset> datasets, Where where) {
  if (datasets.empty()) throw invalid_argument("zip() of no datasets").made_at(short_location(where));
  return make(
      [datasets = std::move(datasets)] {
        Outputs handles;
        Spec spec;
        for (const Dataset& dataset : datasets) {
          const Built part = dataset.recipe_->build();
          handles.push_back(part.handle);
          spec.insert(spec.end(), part.spec.begin(), part.spec.end());
        }
        const Output handle = OpBuilder("ZipDataset", {})
                                  .inputs(handles)
                                  .attr("output_types", types_of(spec))
                                  .attr("output_shapes", shapes_of(spec))
                                  .build();
        return Built{handle, std::move(spec)};
      },
      where);
}

// ---- Changes

Dataset Dataset::map(MapFn fn, const MapOptions& options) const { return map(of_many(std::move(fn), "map"), options); }

Dataset Dataset::map(MapManyFn fn, const MapOptions& options) const {
  const bool parallel = options.num_parallel_calls != 1;
  return over(
      parallel ? "ParallelMapDatasetV2" : "MapDataset",
      [fn = std::move(fn), options, parallel](OpBuilder& node, Spec& spec) {
        const TracedFunction f = traced("map", spec, fn);
        add_function(node, f);
        if (parallel) node.input(scalar64(options.num_parallel_calls));
        node.attr("preserve_cardinality", true);
        spec = spec_of(f.result_types, f.result_shapes);
      },
      options.where);
}

Dataset Dataset::filter(MapFn predicate, Where where) const {
  return filter(of_many(std::move(predicate), "filter"), where);
}

Dataset Dataset::filter(MapManyFn predicate, Where where) const {
  return over(
      "FilterDataset",
      [predicate = std::move(predicate)](OpBuilder& node, Spec& spec) {
        add_function(node, traced("filter", spec, predicate), "predicate");
      },
      where);
}

Dataset Dataset::take_while(MapFn predicate, Where where) const {
  return over(
      "TakeWhileDataset",
      [predicate = of_many(std::move(predicate), "take_while")](OpBuilder& node, Spec& spec) {
        add_function(node, traced("take_while", spec, predicate), "predicate");
      },
      where);
}

namespace {

// The function that makes a dataset of an element, and what that dataset's elements are.
TracedFunction traced_dataset(const Spec& arguments, const std::function<std::pair<Output, Spec>(const Outputs&)>& fn,
                              Spec& made) {
  return traced("flat_map", arguments, [&](const Outputs& components) {
    auto [handle, spec] = fn(components);
    made = std::move(spec);
    return Outputs{handle};
  });
}

}  // namespace

Dataset Dataset::flat_map(DatasetFn fn, Where where) const {
  return over(
      "FlatMapDataset",
      [fn = std::move(fn)](OpBuilder& node, Spec& spec) {
        const auto build = [&](const Outputs& components) {
          const Built built = fn(components).recipe_->build();
          return std::pair(built.handle, built.spec);
        };
        Spec made;
        add_function(node, traced_dataset(spec, build, made));
        spec = std::move(made);
      },
      where);
}

Dataset Dataset::interleave(DatasetFn fn, const InterleaveOptions& options) const {
  return over(
      "InterleaveDataset",
      [fn = std::move(fn), options](OpBuilder& node, Spec& spec) {
        const auto build = [&](const Outputs& components) {
          const Built built = fn(components).recipe_->build();
          return std::pair(built.handle, built.spec);
        };
        Spec made;
        add_function(node, traced_dataset(spec, build, made));
        node.input(scalar64(options.cycle_length)).input(scalar64(options.block_length));
        spec = std::move(made);
      },
      options.where);
}

Dataset Dataset::shuffle(std::int64_t buffer_size, const ShuffleOptions& options) const {
  check_size(buffer_size, "a buffer", options.where);
  return over(
      "ShuffleDataset",
      [buffer_size, options](OpBuilder& node, Spec&) {
        const RandomSeeds seeds = get_seed(default_graph(), options.seed);
        node.input(scalar64(buffer_size))
            .input(scalar64(seeds.seed))
            .input(scalar64(seeds.seed2))
            .attr("reshuffle_each_iteration", options.reshuffle_each_iteration);
      },
      options.where);
}

Dataset Dataset::batch(std::int64_t batch_size, bool drop_remainder, Where where) const {
  check_size(batch_size, "a batch", where);
  return over(
      "BatchDatasetV2",
      [batch_size, drop_remainder](OpBuilder& node, Spec& spec) {
        node.input(scalar64(batch_size)).input(Tensor(drop_remainder));
        for (ComponentSpec& component : spec)
          component.shape = with_front(drop_remainder ? batch_size : -1, component.shape);
      },
      where);
}

Dataset Dataset::padded_batch(std::int64_t batch_size, const PaddedBatchOptions& options) const {
  check_size(batch_size, "a batch", options.where);
  return over(
      "PaddedBatchDatasetV2",
      [batch_size, options](OpBuilder& node, Spec& spec) {
        Outputs shapes, values;
        for (std::size_t k = 0; k < spec.size(); ++k) {
          PartialShape padded = options.padded_shapes.empty() ? spec[k].shape : options.padded_shapes.at(k);
          if (!padded.has_rank())
            throw invalid_argument("the rank of component ", k, " is unknown").hint("Give padded_shapes.");
          shapes.push_back(int64_list(padded.dims()));
          values.push_back(constant(options.padding_values.empty() ? Tensor::zeros(spec[k].dtype, Shape())
                                                                   : options.padding_values.at(k)));
          spec[k].shape = with_front(options.drop_remainder ? batch_size : -1, padded);
        }
        node.input(scalar64(batch_size)).inputs(shapes).inputs(values).input(Tensor(options.drop_remainder));
      },
      options.where);
}

Dataset Dataset::unbatch(Where where) const {
  return over(
      "UnbatchDataset",
      [](OpBuilder&, Spec& spec) {
        for (ComponentSpec& component : spec) component.shape = without_front(component.shape);
      },
      where);
}

namespace {

std::function<void(OpBuilder&, Spec&)> one_number(std::int64_t value) {
  return [value](OpBuilder& node, Spec&) { node.input(scalar64(value)); };
}

}  // namespace

Dataset Dataset::repeat(std::int64_t count, Where where) const {
  return over("RepeatDataset", one_number(count), where);
}
Dataset Dataset::take(std::int64_t count, Where where) const { return over("TakeDataset", one_number(count), where); }
Dataset Dataset::skip(std::int64_t count, Where where) const { return over("SkipDataset", one_number(count), where); }
Dataset Dataset::prefetch(std::int64_t buffer_size, Where where) const {
  return over("PrefetchDataset", one_number(buffer_size), where);
}

Dataset Dataset::concatenate(const Dataset& other, Where where) const {
  return over(
      "ConcatenateDataset",
      [second = other.recipe_](OpBuilder& node, Spec& spec) {
        const Built more = second->build();
        if (more.types() != types_of(spec)) {
          throw invalid_argument("elements of types ", AttrValue(types_of(spec)), " and ", AttrValue(more.types()),
                                 " cannot follow one another in one dataset");
        }
        node.input(more.handle);
        for (std::size_t k = 0; k < spec.size(); ++k) spec[k].shape = common_shape(spec[k].shape, more.spec[k].shape);
      },
      where);
}

Dataset Dataset::cache(std::string filename, Where where) const {
  return over(
      "CacheDataset", [filename = std::move(filename)](OpBuilder& node, Spec&) { node.input(Tensor(filename)); },
      where);
}

Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index, Where where) const {
  return over(
      "ShardDataset",
      [num_shards, index](OpBuilder& node, Spec&) { node.input(scalar64(num_shards)).input(scalar64(index)); }, where);
}

Dataset Dataset::window(std::int64_t size, const WindowOptions& options) const {
  check_size(size, "a window", options.where);
  return over(
      "WindowDataset",
      [size, options](OpBuilder& node, Spec& spec) {
        node.input(scalar64(size))
            .input(scalar64(options.shift > 0 ? options.shift : size))
            .input(scalar64(options.stride))
            .input(Tensor(options.drop_remainder));
        for (ComponentSpec& component : spec) component = {DType::kVariant, PartialShape::scalar()};
      },
      options.where);
}

Dataset Dataset::enumerate(std::int64_t start, Where where) const {
  return zip({range(start, std::numeric_limits<std::int64_t>::max(), 1, where), *this}, where);
}

Dataset Dataset::scan(std::vector<Operand> initial_state, ScanFn fn, Where where) const {
  return over(
      "ScanDataset",
      [initial_state = std::move(initial_state), fn = std::move(fn)](OpBuilder& node, Spec& spec) {
        Outputs initial;
        for (const Operand& value : initial_state) initial.push_back(value.to_output());
        Spec arguments = spec_of(initial);
        arguments.insert(arguments.end(), spec.begin(), spec.end());
        const auto cut = static_cast<std::ptrdiff_t>(initial.size());
        const TracedFunction f = traced("scan", arguments, [&](const Outputs& all) {
          ScanResult result = fn(Outputs(all.begin(), all.begin() + cut), Outputs(all.begin() + cut, all.end()));
          Outputs both = std::move(result.state);
          both.insert(both.end(), result.element.begin(), result.element.end());
          return both;
        });
        node.inputs(initial);
        add_function(node, f);
        node.attr("preserve_cardinality", true);
        spec = spec_of({f.result_types.begin() + cut, f.result_types.end()},
                       {f.result_shapes.begin() + cut, f.result_shapes.end()});
      },
      where);
}

Dataset Dataset::ignore_errors(const IgnoreErrorsOptions& options) const {
  return over(
      "IgnoreErrorsDataset",
      [options](OpBuilder& node, Spec&) {
        node.attr("log_warning", options.log_warning);
        if (options.max_count >= 0) node.attr("_max_errors", options.max_count);
      },
      options.where);
}

Dataset Dataset::from_variant(const Output& variant, std::vector<ComponentSpec> spec) {
  return make([variant, spec = std::move(spec)] { return Built{variant, spec}; }, Where::current());
}

Outputs Dataset::reduce(std::vector<Operand> initial_state, FoldFn fn, Where where) const {
  const LocationScope scope(where);
  const Built built = recipe_->build();
  Outputs initial;
  for (const Operand& value : initial_state) initial.push_back(value.to_output());
  Spec arguments = spec_of(initial);
  arguments.insert(arguments.end(), built.spec.begin(), built.spec.end());
  const auto cut = static_cast<std::ptrdiff_t>(initial.size());
  const TracedFunction f = traced("reduce", arguments, [&](const Outputs& all) {
    return fn(Outputs(all.begin(), all.begin() + cut), Outputs(all.begin() + cut, all.end()));
  });
  Node& node = OpBuilder("ReduceDataset", {})
                   .input(built.handle)
                   .inputs(initial)
                   .inputs(f.captures)
                   .attr("f", f.function)
                   .attr("output_types", f.result_types)
                   .attr("output_shapes", f.result_shapes)
                   .build_node();
  Outputs results;
  for (int i = 0; i < node.num_outputs(); ++i) results.push_back(node.output(i));
  return results;
}

}  // namespace caudal::inline v0::data
