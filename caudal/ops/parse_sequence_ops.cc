#include "caudal/ops/parse_sequence_ops.h"

#include <algorithm>
#include <memory>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/example_columns.h"
#include "caudal/ops/feature_specs.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/sequence_columns.h"

namespace caudal::inline v0 {
namespace {

using Strings = std::vector<std::string>;
using Types = std::vector<DType>;
using Shapes = std::vector<PartialShape>;

// The attributes that the three ops share; the lists of ragged features are empty where an op has none.
struct SequenceAttrs {
  template <class Context>
  explicit SequenceAttrs(const Context& c, bool with_ragged)
      : context_sparse(c.template attr<Types>("context_sparse_types")),
        context_dense(c.template attr<Types>("Tcontext_dense")),
        list_sparse(c.template attr<Types>("feature_list_sparse_types")),
        list_dense(c.template attr<Types>("feature_list_dense_types")),
        context_shapes(c.template attr<Shapes>("context_dense_shapes")),
        list_shapes(c.template attr<Shapes>("feature_list_dense_shapes")) {
    if (with_ragged) {
      context_ragged = c.template attr<Types>("context_ragged_value_types");
      context_splits = c.template attr<Types>("context_ragged_split_types");
      list_ragged = c.template attr<Types>("feature_list_ragged_value_types");
      list_splits = c.template attr<Types>("feature_list_ragged_split_types");
    }
    same("context_dense_shapes", context_shapes.size(), context_dense.size());
    same("feature_list_dense_shapes", list_shapes.size(), list_dense.size());
    same("context_ragged_split_types", context_splits.size(), context_ragged.size());
    same("feature_list_ragged_split_types", list_splits.size(), list_ragged.size());
  }

  static void same(std::string_view what, std::size_t count, std::size_t wanted) {
    if (count != wanted) throw invalid_argument(what, " has ", count, " entries instead of ", wanted);
  }

  Types context_sparse, context_dense, list_sparse, list_dense;
  Types context_ragged, context_splits, list_ragged, list_splits;
  Shapes context_shapes, list_shapes;
};

// ---- Shape functions

// Says the outputs one after another.
class NextOutput {
 public:
  explicit NextOutput(ShapeContext& c) : c_(c) {}
  void say(const PartialShape& shape, std::size_t times = 1) {
    for (std::size_t i = 0; i < times; ++i) c_.set_output(next_++, shape);
  }

 private:
  ShapeContext& c_;
  int next_ = 0;
};

// prefix + middle + shape; unknown if something in it is.
PartialShape joined(const PartialShape& prefix, const std::vector<std::int64_t>& middle, const PartialShape& shape) {
  if (!prefix.has_rank() || !shape.has_rank()) return PartialShape::unknown();
  std::vector<std::int64_t> dims = prefix.dims();
  dims.insert(dims.end(), middle.begin(), middle.end());
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return PartialShape(std::move(dims));
}

void sequence_shapes(ShapeContext& c, const PartialShape& prefix, bool with_ragged, bool with_lengths) {
  const SequenceAttrs a(c, with_ragged);
  const std::int64_t rank = prefix.has_rank() ? prefix.rank() : -1;
  const auto more = [&](int by) { return rank < 0 ? -1 : rank + by; };
  const std::int64_t splits = rank == 1 && prefix[0] >= 0 ? prefix[0] + 1 : -1;
  NextOutput out(c);
  out.say({-1, more(1)}, a.context_sparse.size());
  out.say({-1}, a.context_sparse.size());
  out.say({more(1)}, a.context_sparse.size());
  for (const PartialShape& shape : a.context_shapes) out.say(joined(prefix, {}, shape));
  out.say({-1}, a.context_ragged.size());
  out.say({splits}, a.context_ragged.size());
  out.say({-1, more(2)}, a.list_sparse.size());
  out.say({-1}, a.list_sparse.size());
  out.say({more(2)}, a.list_sparse.size());
  for (const PartialShape& shape : a.list_shapes) out.say(joined(prefix, {-1}, shape));
  if (with_lengths) out.say(prefix, a.list_dense.size());
  out.say({-1}, a.list_ragged.size());
  out.say({splits}, a.list_ragged.size());
  out.say({-1}, a.list_ragged.size());
}

void parse_sequence_shape(ShapeContext& c) {
  const PartialShape prefix = c.with_rank(0, 1);
  sequence_shapes(c, prefix.has_rank() ? prefix : PartialShape{-1}, false, true);
}

void parse_sequence_v2_shape(ShapeContext& c) {
  if (c.input(0).rank() > 1) throw invalid_argument("serialized must be a scalar or a vector, not ", c.input(0));
  sequence_shapes(c, c.input(0), true, true);
}

void parse_single_sequence_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  sequence_shapes(c, PartialShape::scalar(), false, false);
}

// ---- Kernels

// The keys and defaults of one run.
struct Wanted {
  Strings context_sparse, context_dense, context_ragged;
  Strings list_sparse, list_dense, list_ragged;
  std::vector<bool> may_be_missing;  // one per list_dense
  std::vector<Tensor> defaults;
  Strings names;
};

class ParseSequenceKernel : public Kernel {
 public:
  ParseSequenceKernel(PrepareContext& c, bool with_ragged, bool with_lengths)
      : attrs_(c, with_ragged), with_lengths_(with_lengths) {
    for (const Shapes* shapes : {&attrs_.context_shapes, &attrs_.list_shapes}) {
      for (const PartialShape& shape : *shapes) {
        if (!shape.is_fully_known()) throw invalid_argument("Shape ", shape, " is not fully defined");
      }
    }
  }

 protected:
  void parse(RunContext& c, const Wanted& wanted) const {
    const Tensor& serialized = c.input(0);
    if (!wanted.names.empty() && static_cast<std::int64_t>(wanted.names.size()) != serialized.num_elements()) {
      throw invalid_argument("example_names must be empty or have the correct number of elements, not ",
                             wanted.names.size(), " for ", serialized.num_elements());
    }
    std::vector<Column> context = context_columns(wanted);
    std::vector<ListColumn> lists = list_columns(wanted);
    const RecordNames names{wanted.names};
    ExampleGatherer gatherer(&context, names);
    for (std::int64_t i = 0; i < serialized.num_elements(); ++i) {
      const std::string& bytes = serialized.data<std::string>()[i];
      in_record(names, i, bytes, [&] {
        const SequenceFields fields = sequence_example_fields(bytes);
        gatherer.add(i, fields.context);
        add_lists(i, fields.feature_lists, names, &lists);
      });
    }
    put(c, context, lists, serialized.rank() == 0);
  }

  SequenceAttrs attrs_;

 private:
  std::vector<Column> context_columns(const Wanted& wanted) const {
    SequenceAttrs::same("context_sparse_keys", wanted.context_sparse.size(), attrs_.context_sparse.size());
    SequenceAttrs::same("context_dense_keys", wanted.context_dense.size(), attrs_.context_dense.size());
    SequenceAttrs::same("context_ragged_keys", wanted.context_ragged.size(), attrs_.context_ragged.size());
    std::vector<Column> columns;
    for (std::size_t i = 0; i < wanted.context_sparse.size(); ++i) {
      columns.emplace_back(wanted.context_sparse[i], attrs_.context_sparse[i], Column::Form::kSparse);
    }
    for (std::size_t i = 0; i < wanted.context_dense.size(); ++i) {
      columns.push_back(
          dense_column(wanted.context_dense[i], attrs_.context_shapes[i], wanted.defaults[i], static_cast<int>(i)));
    }
    for (std::size_t i = 0; i < wanted.context_ragged.size(); ++i) {
      columns.emplace_back(wanted.context_ragged[i], attrs_.context_ragged[i], Column::Form::kRagged);
    }
    return columns;
  }

  std::vector<ListColumn> list_columns(const Wanted& wanted) const {
    SequenceAttrs::same("feature_list_sparse_keys", wanted.list_sparse.size(), attrs_.list_sparse.size());
    SequenceAttrs::same("feature_list_dense_keys", wanted.list_dense.size(), attrs_.list_dense.size());
    SequenceAttrs::same("feature_list_ragged_keys", wanted.list_ragged.size(), attrs_.list_ragged.size());
    std::vector<ListColumn> columns;
    for (std::size_t i = 0; i < wanted.list_sparse.size(); ++i) {
      columns.emplace_back(wanted.list_sparse[i], attrs_.list_sparse[i]);
    }
    for (std::size_t i = 0; i < wanted.list_dense.size(); ++i) {
      ListColumn& column = columns.emplace_back(wanted.list_dense[i], attrs_.list_dense[i]);
      column.step_shape = attrs_.list_shapes[i].to_shape();
      column.may_be_missing = wanted.may_be_missing[i];
    }
    for (std::size_t i = 0; i < wanted.list_ragged.size(); ++i) {
      columns.emplace_back(wanted.list_ragged[i], attrs_.list_ragged[i]);
    }
    return columns;
  }

  static void put_sparse(RunContext& c, std::vector<SparseParts> parts, int* next) {
    for (SparseParts& part : parts) c.set_output((*next)++, std::move(part.indices));
    for (SparseParts& part : parts) c.set_output((*next)++, std::move(part.values));
    for (SparseParts& part : parts) c.set_output((*next)++, std::move(part.shape));
  }

  void put(RunContext& c, const std::vector<Column>& context, const std::vector<ListColumn>& lists, bool single) const {
    int next = 0;
    auto column = context.begin();
    std::vector<SparseParts> parts;
    for (; column != context.end() && column->form == Column::Form::kSparse; ++column) {
      parts.push_back(sparse_parts(*column, single));
    }
    put_sparse(c, std::move(parts), &next);
    for (; column != context.end() && column->form == Column::Form::kDense; ++column) {
      c.set_output(next++, dense_part(*column, single));
    }
    for (auto ragged = column; ragged != context.end(); ++ragged) {
      c.set_output(next++, ragged->values.to_tensor({ragged->values.size()}));
    }
    for (auto type = attrs_.context_splits.begin(); column != context.end(); ++column) {
      c.set_output(next++, row_splits(column->counts, *type++));
    }
    put_lists(c, lists, single, next);
  }

  void put_lists(RunContext& c, const std::vector<ListColumn>& lists, bool single, int next) const {
    const auto dense = lists.begin() + static_cast<std::ptrdiff_t>(attrs_.list_sparse.size());
    const auto ragged = dense + static_cast<std::ptrdiff_t>(attrs_.list_dense.size());
    std::vector<SparseParts> parts;
    for (auto list = lists.begin(); list != dense; ++list) parts.push_back(sparse_list_parts(*list, single));
    put_sparse(c, std::move(parts), &next);
    for (auto list = dense; list != ragged; ++list) c.set_output(next++, dense_list_part(*list, single));
    for (auto list = dense; with_lengths_ && list != ragged; ++list) {
      c.set_output(next++, single ? Tensor(list->steps[0]) : Tensor(list->steps));
    }
    for (auto list = ragged; list != lists.end(); ++list) {
      c.set_output(next++, list->values.to_tensor({list->values.size()}));
    }
    auto type = attrs_.list_splits.begin();
    for (auto list = ragged; list != lists.end(); ++list) c.set_output(next++, row_splits(list->steps, *type++));
    type = attrs_.list_splits.begin();
    for (auto list = ragged; list != lists.end(); ++list) c.set_output(next++, row_splits(list->counts, *type++));
  }

  bool with_lengths_;
};

std::vector<Tensor> argument(RunContext& c, std::string_view name) {
  const ArgRange range = arg_range(c.node().op->def.inputs, c.node().attrs, name);
  std::vector<Tensor> values;
  for (int i = range.begin; i < range.end; ++i) values.push_back(c.input(i));
  return values;
}

Strings strings_of(RunContext& c, std::string_view name) {
  Strings texts;
  for (const Tensor& value : argument(c, name)) {
    const auto elements = value.flat<std::string>();
    texts.insert(texts.end(), elements.begin(), elements.end());
  }
  return texts;
}

std::vector<bool> are_in(const Strings& keys, const Strings& set) {
  std::vector<bool> in;
  for (const std::string& key : keys) in.push_back(std::ranges::find(set, key) != set.end());
  return in;
}

void check_rank(const Tensor& serialized, int most) {
  if (serialized.rank() <= most) return;
  throw invalid_argument("Expected serialized to be a scalar", most > 0 ? " or vector" : "",
                         ", got shape: ", serialized.shape());
}

class ParseSequenceV1Kernel final : public ParseSequenceKernel {
 public:
  explicit ParseSequenceV1Kernel(PrepareContext& c)
      : ParseSequenceKernel(c, false, true),
        wanted_{.context_sparse = c.attr<Strings>("context_sparse_keys"),
                .context_dense = c.attr<Strings>("context_dense_keys"),
                .list_sparse = c.attr<Strings>("feature_list_sparse_keys"),
                .list_dense = c.attr<Strings>("feature_list_dense_keys")} {
    wanted_.may_be_missing = are_in(wanted_.list_dense, c.attr<Strings>("feature_list_dense_missing_assumed_empty"));
  }
  void run(RunContext& c) const override {
    check_rank(c.input(0), 1);
    Wanted wanted = wanted_;
    wanted.names = strings_of(c, "debug_name");
    wanted.defaults = argument(c, "context_dense_defaults");
    parse(c, wanted);
  }

 private:
  Wanted wanted_;
};

class ParseSequenceV2Kernel final : public ParseSequenceKernel {
 public:
  explicit ParseSequenceV2Kernel(PrepareContext& c) : ParseSequenceKernel(c, true, true) {}
  void run(RunContext& c) const override {
    check_rank(c.input(0), 1);
    Wanted wanted{.context_sparse = strings_of(c, "context_sparse_keys"),
                  .context_dense = strings_of(c, "context_dense_keys"),
                  .context_ragged = strings_of(c, "context_ragged_keys"),
                  .list_sparse = strings_of(c, "feature_list_sparse_keys"),
                  .list_dense = strings_of(c, "feature_list_dense_keys"),
                  .list_ragged = strings_of(c, "feature_list_ragged_keys"),
                  .may_be_missing = {},
                  .defaults = argument(c, "context_dense_defaults"),
                  .names = strings_of(c, "debug_name")};
    const auto missing = c.input(8).flat<bool>();
    wanted.may_be_missing.assign(missing.begin(), missing.end());
    SequenceAttrs::same("feature_list_dense_missing_assumed_empty", wanted.may_be_missing.size(),
                        wanted.list_dense.size());
    parse(c, wanted);
  }
};

class ParseSingleSequenceKernel final : public ParseSequenceKernel {
 public:
  explicit ParseSingleSequenceKernel(PrepareContext& c) : ParseSequenceKernel(c, false, false) {}
  void run(RunContext& c) const override {
    check_rank(c.input(0), 0);
    Wanted wanted{.context_sparse = strings_of(c, "context_sparse_keys"),
                  .context_dense = strings_of(c, "context_dense_keys"),
                  .context_ragged = {},
                  .list_sparse = strings_of(c, "feature_list_sparse_keys"),
                  .list_dense = strings_of(c, "feature_list_dense_keys"),
                  .list_ragged = {},
                  .may_be_missing = {},
                  .defaults = argument(c, "context_dense_defaults"),
                  .names = strings_of(c, "debug_name")};
    wanted.may_be_missing = are_in(wanted.list_dense, strings_of(c, "feature_list_dense_missing_assumed_empty"));
    parse(c, wanted);
  }
};

template <class T>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<T>(c);
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "ParseSequenceExample",
    .inputs = "serialized: string; debug_name: string; context_dense_defaults: Tcontext_dense",
    .outputs = "context_sparse_indices: Ncontext_sparse * int64; context_sparse_values: context_sparse_types; "
               "context_sparse_shapes: Ncontext_sparse * int64; context_dense_values: Tcontext_dense; "
               "feature_list_sparse_indices: Nfeature_list_sparse * int64; "
               "feature_list_sparse_values: feature_list_sparse_types; "
               "feature_list_sparse_shapes: Nfeature_list_sparse * int64; "
               "feature_list_dense_values: feature_list_dense_types; "
               "feature_list_dense_lengths: Nfeature_list_dense * int64",
    .attrs = "feature_list_dense_missing_assumed_empty: list(string) >= 0; context_sparse_keys: list(string) >= 0; "
             "context_dense_keys: list(string) >= 0; feature_list_sparse_keys: list(string) >= 0; "
             "feature_list_dense_keys: list(string) >= 0; Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; "
             "Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: int >= 0 = 0; "
             "context_sparse_types: list({float, int64, string}) >= 0 = []; "
             "Tcontext_dense: list({float, int64, string}) >= 0 = []; "
             "feature_list_dense_types: list({float, int64, string}) >= 0 = []; "
             "context_dense_shapes: list(shape) >= 0 = []; "
             "feature_list_sparse_types: list({float, int64, string}) >= 0 = []; "
             "feature_list_dense_shapes: list(shape) >= 0 = []",
    .shape = parse_sequence_shape,
    .gradient = no_gradient,
    .cpu = prepare<ParseSequenceV1Kernel>,
});
CAUDAL_REGISTER_OP({
    .name = "ParseSequenceExampleV2",
    .inputs = "serialized: string; debug_name: string; context_sparse_keys: string; context_dense_keys: string; "
              "context_ragged_keys: string; feature_list_sparse_keys: string; feature_list_dense_keys: string; "
              "feature_list_ragged_keys: string; feature_list_dense_missing_assumed_empty: bool; "
              "context_dense_defaults: Tcontext_dense",
    .outputs = "context_sparse_indices: Ncontext_sparse * int64; context_sparse_values: context_sparse_types; "
               "context_sparse_shapes: Ncontext_sparse * int64; context_dense_values: Tcontext_dense; "
               "context_ragged_values: context_ragged_value_types; "
               "context_ragged_row_splits: context_ragged_split_types; "
               "feature_list_sparse_indices: Nfeature_list_sparse * int64; "
               "feature_list_sparse_values: feature_list_sparse_types; "
               "feature_list_sparse_shapes: Nfeature_list_sparse * int64; "
               "feature_list_dense_values: feature_list_dense_types; "
               "feature_list_dense_lengths: Nfeature_list_dense * int64; "
               "feature_list_ragged_values: feature_list_ragged_value_types; "
               "feature_list_ragged_outer_splits: feature_list_ragged_split_types; "
               "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
    .attrs = "Ncontext_sparse: int >= 0 = 0; Tcontext_dense: list({float, int64, string}) >= 0 = []; "
             "context_sparse_types: list({float, int64, string}) >= 0 = []; "
             "context_ragged_value_types: list({float, int64, string}) >= 0 = []; "
             "context_ragged_split_types: list({int32, int64}) >= 0 = []; "
             "context_dense_shapes: list(shape) >= 0 = []; Nfeature_list_sparse: int >= 0 = 0; "
             "Nfeature_list_dense: int >= 0 = 0; feature_list_dense_types: list({float, int64, string}) >= 0 = []; "
             "feature_list_sparse_types: list({float, int64, string}) >= 0 = []; "
             "feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []; "
             "feature_list_ragged_split_types: list({int32, int64}) >= 0 = []; "
             "feature_list_dense_shapes: list(shape) >= 0 = []",
    .shape = parse_sequence_v2_shape,
    .gradient = no_gradient,
    .cpu = prepare<ParseSequenceV2Kernel>,
});
CAUDAL_REGISTER_OP({
    .name = "ParseSingleSequenceExample",
    .inputs = "serialized: string; feature_list_dense_missing_assumed_empty: string; "
              "context_sparse_keys: Ncontext_sparse * string; context_dense_keys: Ncontext_dense * string; "
              "feature_list_sparse_keys: Nfeature_list_sparse * string; "
              "feature_list_dense_keys: Nfeature_list_dense * string; context_dense_defaults: Tcontext_dense; "
              "debug_name: string",
    .outputs = "context_sparse_indices: Ncontext_sparse * int64; context_sparse_values: context_sparse_types; "
               "context_sparse_shapes: Ncontext_sparse * int64; context_dense_values: Tcontext_dense; "
               "feature_list_sparse_indices: Nfeature_list_sparse * int64; "
               "feature_list_sparse_values: feature_list_sparse_types; "
               "feature_list_sparse_shapes: Nfeature_list_sparse * int64; "
               "feature_list_dense_values: feature_list_dense_types",
    .attrs = "Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 = 0; "
             "Nfeature_list_dense: int >= 0 = 0; context_sparse_types: list({float, int64, string}) >= 0 = []; "
             "Tcontext_dense: list({float, int64, string}) >= 0 = []; "
             "feature_list_dense_types: list({float, int64, string}) >= 0 = []; "
             "context_dense_shapes: list(shape) >= 0 = []; "
             "feature_list_sparse_types: list({float, int64, string}) >= 0 = []; "
             "feature_list_dense_shapes: list(shape) >= 0 = []",
    .shape = parse_single_sequence_shape,
    .gradient = not_differentiable,
    .cpu = prepare<ParseSingleSequenceKernel>,
});

Operand keys(const Strings& names) { return Tensor(names); }

io::ParsedSequence parse(const Operand& serialized, const io::FeatureSpecs& context, const io::FeatureSpecs& sequences,
                         const io::ParseExampleOptions& options, bool single) {
  const LocationScope where(options.where);
  const SortedFeatures of_context(context), lists(sequences, /*lists=*/true);
  const auto count = [](const Strings& names) { return static_cast<std::int64_t>(names.size()); };
  Tensor may_be_missing(boolean, {count(lists.dense_keys)});
  std::ranges::fill(may_be_missing.flat<bool>(), true);
  Node& node = OpBuilder("ParseSequenceExampleV2", {.name = options.name, .where = options.where})
                   .input(serialized)
                   .input(options.example_names)
                   .input(keys(of_context.sparse_keys))
                   .input(keys(of_context.dense_keys))
                   .input(keys(of_context.ragged_keys))
                   .input(keys(lists.sparse_keys))
                   .input(keys(lists.dense_keys))
                   .input(keys(lists.ragged_keys))
                   .input(may_be_missing)
                   .inputs(of_context.default_outputs())
                   .attr("Ncontext_sparse", count(of_context.sparse_keys))
                   .attr("Tcontext_dense", of_context.dense_types)
                   .attr("context_sparse_types", of_context.sparse_types)
                   .attr("context_ragged_value_types", of_context.ragged_types)
                   .attr("context_ragged_split_types", of_context.split_types)
                   .attr("context_dense_shapes", of_context.dense_shapes)
                   .attr("Nfeature_list_sparse", count(lists.sparse_keys))
                   .attr("Nfeature_list_dense", count(lists.dense_keys))
                   .attr("feature_list_dense_types", lists.dense_types)
                   .attr("feature_list_sparse_types", lists.sparse_types)
                   .attr("feature_list_ragged_value_types", lists.ragged_types)
                   .attr("feature_list_ragged_split_types", lists.split_types)
                   .attr("feature_list_dense_shapes", lists.dense_shapes)
                   .build_node();
  io::ParsedSequence parsed;
  int next = of_context.take_dense(node, of_context.take_sparse(node, 0, &parsed.context), &parsed.context);
  const int rows = static_cast<int>(of_context.ragged_keys.size());
  for (int i = 0; i < rows; ++i, ++next) {
    const Output splits = node.output(next + rows);
    parsed.context.ragged[of_context.ragged_keys[i]] = {node.output(next), single ? Output() : splits};
  }
  next = lists.take_sparse(node, next + rows, &parsed.feature_lists);
  next = lists.take_dense(node, next, &parsed.feature_lists);
  for (const std::string& key : lists.dense_keys) parsed.feature_lists.lengths[key] = node.output(next++);
  const int n = static_cast<int>(lists.ragged_keys.size());
  for (int i = 0; i < n; ++i, ++next) {
    RaggedTensor& list = parsed.feature_lists.ragged[lists.ragged_keys[i]];
    list = {node.output(next), node.output(next + 2 * n)};
    if (!single) list.outer_splits = {node.output(next + n)};
  }
  return parsed;
}

}  // namespace

// ---- Public functions

io::ParsedSequence io::parse_sequence_example(const Operand& serialized, const FeatureSpecs& context,
                                              const FeatureSpecs& sequences, const ParseExampleOptions& options) {
  return parse(serialized, context, sequences, options, false);
}

io::ParsedSequence io::parse_single_sequence_example(const Operand& serialized, const FeatureSpecs& context,
                                                     const FeatureSpecs& sequences,
                                                     const ParseExampleOptions& options) {
  return parse(serialized, context, sequences, options, true);
}

}  // namespace caudal::inline v0
