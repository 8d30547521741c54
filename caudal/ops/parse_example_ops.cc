#include "caudal/ops/parse_example_ops.h"

#include <algorithm>
#include <memory>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/example_columns.h"
#include "caudal/ops/feature_specs.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

using Strings = std::vector<std::string>;
using Types = std::vector<DType>;
using Shapes = std::vector<PartialShape>;

// ---- Shape functions

// Of the three parts of each sparse feature, of dense and of ragged ones, in the order of the outputs. `prefix` is the
// shape of the serialized records.
void parsed_shapes(ShapeContext& c, const PartialShape& prefix, int sparse, const Shapes& dense, int ragged) {
  const std::int64_t rank = prefix.has_rank() ? prefix.rank() + 1 : -1;
  int next = 0;
  for (int i = 0; i < sparse; ++i) c.set_output(next++, PartialShape{-1, rank});
  for (int i = 0; i < sparse; ++i) c.set_output(next++, PartialShape{-1});
  for (int i = 0; i < sparse; ++i) c.set_output(next++, PartialShape{rank});
  for (const PartialShape& shape : dense) {
    if (!prefix.has_rank() || !shape.has_rank()) {
      c.set_output(next++, PartialShape::unknown());
      continue;
    }
    std::vector<std::int64_t> dims = prefix.dims();
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    c.set_output(next++, PartialShape(std::move(dims)));
  }
  const std::int64_t splits = prefix.rank() == 1 && prefix[0] >= 0 ? prefix[0] + 1 : -1;
  for (int i = 0; i < ragged; ++i) c.set_output(next++, PartialShape{-1});
  for (int i = 0; i < ragged; ++i) c.set_output(next++, PartialShape{splits});
}

void check_count(std::string_view what, std::size_t count, std::string_view of, std::size_t wanted) {
  if (count == wanted) return;
  throw invalid_argument("there must be as many ", what, " as ", of, ", not ", count, " and ", wanted);
}

void parse_example_shape(ShapeContext& c) {
  PartialShape prefix = c.with_rank(0, 1);
  if (!prefix.has_rank()) prefix = PartialShape{-1};
  const auto& dense = c.attr<Shapes>("dense_shapes");
  check_count("dense_shapes", dense.size(), "dense types", c.attr<Types>("Tdense").size());
  parsed_shapes(c, prefix, static_cast<int>(c.attr<Types>("sparse_types").size()), dense, 0);
}

void parse_example_v2_shape(ShapeContext& c) {
  const PartialShape& prefix = c.input(0);
  if (prefix.rank() > 1) throw invalid_argument("serialized must be a scalar or a vector, not ", prefix);
  const auto& dense = c.attr<Shapes>("dense_shapes");
  check_count("dense_shapes", dense.size(), "dense types", c.attr<Types>("Tdense").size());
  parsed_shapes(c, prefix, static_cast<int>(c.attr<Types>("sparse_types").size()), dense,
                static_cast<int>(c.attr<Types>("ragged_value_types").size()));
}

void parse_single_example_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  const auto& dense = c.attr<Shapes>("dense_shapes");
  check_count("dense_shapes", dense.size(), "dense types", c.attr<Types>("Tdense").size());
  parsed_shapes(c, PartialShape::scalar(), static_cast<int>(c.attr<Types>("sparse_types").size()), dense, 0);
}

// ---- Kernels

// The keys and defaults of one run.
struct Wanted {
  Strings sparse, dense, ragged;
  std::vector<Tensor> defaults;
};

class ParseExampleKernel : public Kernel {
 public:
  explicit ParseExampleKernel(PrepareContext& c)
      : sparse_types_(c.attr<Types>("sparse_types")),
        dense_types_(c.attr<Types>("Tdense")),
        dense_shapes_(c.attr<Shapes>("dense_shapes")) {
    check_count("dense_shapes", dense_shapes_.size(), "dense types", dense_types_.size());
  }

 protected:
  void parse(RunContext& c, const Wanted& wanted, RecordNames names) const {
    const Tensor& serialized = c.input(0);
    const bool single = serialized.rank() == 0;
    if (!names.names.empty() && static_cast<std::int64_t>(names.names.size()) != serialized.num_elements()) {
      throw invalid_argument("Expected names have the same shape as serialized: ", names.names.size(),
                             " names, serialized.shape=", serialized.shape());
    }
    std::vector<Column> columns = columns_for(wanted);
    ExampleGatherer gatherer(&columns, names);
    for (std::int64_t i = 0; i < serialized.num_elements(); ++i) {
      const std::string& bytes = serialized.data<std::string>()[i];
      in_record(names, i, bytes, [&] { gatherer.add(i, example_fields(bytes)); });
    }
    int next = 0;
    std::vector<Tensor> values, shapes;
    const std::size_t first_dense = wanted.sparse.size(), first_ragged = first_dense + wanted.dense.size();
    for (std::size_t i = 0; i < first_dense; ++i) {
      SparseParts parts = sparse_parts(columns[i], single);
      c.set_output(next++, std::move(parts.indices));
      values.push_back(std::move(parts.values));
      shapes.push_back(std::move(parts.shape));
    }
    for (Tensor& value : values) c.set_output(next++, std::move(value));
    for (Tensor& shape : shapes) c.set_output(next++, std::move(shape));
    for (std::size_t i = first_dense; i < first_ragged; ++i) c.set_output(next++, dense_part(columns[i], single));
    for (std::size_t i = first_ragged; i < columns.size(); ++i) {
      c.set_output(next++, columns[i].values.to_tensor({columns[i].values.size()}));
    }
    for (std::size_t i = first_ragged; i < columns.size(); ++i) {
      c.set_output(next++, row_splits(columns[i].counts, split_types_[i - first_ragged]));
    }
  }

  Types sparse_types_, dense_types_, ragged_types_, split_types_;
  Shapes dense_shapes_;

 private:
  std::vector<Column> columns_for(const Wanted& wanted) const {
    check_count("sparse keys", wanted.sparse.size(), "sparse types", sparse_types_.size());
    check_count("dense keys", wanted.dense.size(), "dense types", dense_types_.size());
    check_count("ragged keys", wanted.ragged.size(), "ragged types", ragged_types_.size());
    std::vector<Column> columns;
    for (std::size_t i = 0; i < wanted.sparse.size(); ++i) {
      columns.emplace_back(wanted.sparse[i], sparse_types_[i], Column::Form::kSparse);
    }
    for (std::size_t i = 0; i < wanted.dense.size(); ++i) {
      columns.push_back(dense_column(wanted.dense[i], dense_shapes_[i], wanted.defaults[i], static_cast<int>(i)));
    }
    for (std::size_t i = 0; i < wanted.ragged.size(); ++i) {
      columns.emplace_back(wanted.ragged[i], ragged_types_[i], Column::Form::kRagged);
    }
    return columns;
  }
};

// The inputs of one argument of the definition.
std::vector<const Tensor*> argument(RunContext& c, std::string_view name) {
  const ArgRange range = arg_range(c.node().op->def.inputs, c.node().attrs, name);
  std::vector<const Tensor*> values;
  for (int i = range.begin; i < range.end; ++i) values.push_back(&c.input(i));
  return values;
}

Strings scalars(RunContext& c, std::string_view name) {
  Strings texts;
  for (const Tensor* value : argument(c, name)) {
    if (value->num_elements() != 1) {
      throw invalid_argument("Expected ", name, " to contain one string each, got shape ", value->shape());
    }
    texts.push_back(value->item<std::string>());
  }
  return texts;
}

Strings vector_of(RunContext& c, int i) {
  const Tensor& value = c.input(i);
  if (value.rank() != 1) {
    throw invalid_argument("Expected ", c.node().op->def.inputs[i].name, " to be a vector, got shape: ", value.shape());
  }
  return value.to_vector<std::string>();
}

std::vector<Tensor> defaults_of(RunContext& c) {
  std::vector<Tensor> defaults;
  for (const Tensor* value : argument(c, "dense_defaults")) defaults.push_back(*value);
  return defaults;
}

class ParseExampleV1Kernel final : public ParseExampleKernel {
 public:
  using ParseExampleKernel::ParseExampleKernel;
  void run(RunContext& c) const override {
    if (c.input(0).rank() != 1) {
      throw invalid_argument("Expected serialized to be a vector, got shape: ", c.input(0).shape());
    }
    parse(c,
          {.sparse = scalars(c, "sparse_keys"),
           .dense = scalars(c, "dense_keys"),
           .ragged = {},
           .defaults = defaults_of(c)},
          {c.input(1).flat<std::string>()});
  }
};

class ParseExampleV2Kernel final : public ParseExampleKernel {
 public:
  explicit ParseExampleV2Kernel(PrepareContext& c) : ParseExampleKernel(c) {
    ragged_types_ = c.attr<Types>("ragged_value_types");
    split_types_ = c.attr<Types>("ragged_split_types");
    check_count("ragged_split_types", split_types_.size(), "ragged_value_types", ragged_types_.size());
    check_count("sparse_types", sparse_types_.size(), "num_sparse",
                static_cast<std::size_t>(c.attr<std::int64_t>("num_sparse")));
  }
  void run(RunContext& c) const override {
    if (c.input(0).rank() > 1) {
      throw invalid_argument("Expected serialized to be a scalar or vector, got shape: ", c.input(0).shape());
    }
    parse(c,
          {.sparse = vector_of(c, 2), .dense = vector_of(c, 3), .ragged = vector_of(c, 4), .defaults = defaults_of(c)},
          {c.input(1).flat<std::string>()});
  }
};

class ParseSingleExampleKernel final : public ParseExampleKernel {
 public:
  explicit ParseSingleExampleKernel(PrepareContext& c)
      : ParseExampleKernel(c),
        sparse_keys_(c.attr<Strings>("sparse_keys")),
        dense_keys_(c.attr<Strings>("dense_keys")) {
    check_count("sparse_types", sparse_types_.size(), "num_sparse",
                static_cast<std::size_t>(c.attr<std::int64_t>("num_sparse")));
  }
  void run(RunContext& c) const override {
    if (c.input(0).rank() != 0) {
      throw invalid_argument("Expected serialized to be a scalar, got shape: ", c.input(0).shape());
    }
    parse(c, {.sparse = sparse_keys_, .dense = dense_keys_, .ragged = {}, .defaults = defaults_of(c)}, {});
  }

 private:
  Strings sparse_keys_, dense_keys_;
};

template <class T>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<T>(c);
}

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "ParseExample",
    .inputs = "serialized: string; names: string; sparse_keys: Nsparse * string; dense_keys: Ndense * string; "
              "dense_defaults: Tdense",
    .outputs = "sparse_indices: Nsparse * int64; sparse_values: sparse_types; sparse_shapes: Nsparse * int64; "
               "dense_values: Tdense",
    .attrs = "Nsparse: int >= 0; Ndense: int >= 0; sparse_types: list({float, int64, string}) >= 0; "
             "Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0",
    .shape = parse_example_shape,
    .gradient = not_differentiable,
    .cpu = prepare<ParseExampleV1Kernel>,
});
CAUDAL_REGISTER_OP({
    .name = "ParseExampleV2",
    .inputs = "serialized: string; names: string; sparse_keys: string; dense_keys: string; ragged_keys: string; "
              "dense_defaults: Tdense",
    .outputs = "sparse_indices: num_sparse * int64; sparse_values: sparse_types; sparse_shapes: num_sparse * int64; "
               "dense_values: Tdense; ragged_values: ragged_value_types; ragged_row_splits: ragged_split_types",
    .attrs = "Tdense: list({float, int64, string}) >= 0; num_sparse: int >= 0; "
             "sparse_types: list({float, int64, string}) >= 0; ragged_value_types: list({float, int64, string}) >= 0; "
             "ragged_split_types: list({int32, int64}) >= 0; dense_shapes: list(shape) >= 0",
    .shape = parse_example_v2_shape,
    .gradient = no_gradient,
    .cpu = prepare<ParseExampleV2Kernel>,
});
CAUDAL_REGISTER_OP({
    .name = "ParseSingleExample",
    .inputs = "serialized: string; dense_defaults: Tdense",
    .outputs = "sparse_indices: num_sparse * int64; sparse_values: sparse_types; sparse_shapes: num_sparse * int64; "
               "dense_values: Tdense",
    .attrs = "num_sparse: int >= 0; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; "
             "sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; "
             "dense_shapes: list(shape) >= 0",
    .shape = parse_single_example_shape,
    .gradient = no_gradient,
    .cpu = prepare<ParseSingleExampleKernel>,
});

io::ParsedFeatures parse(const Operand& serialized, const io::FeatureSpecs& features,
                         const io::ParseExampleOptions& options, bool single) {
  const LocationScope where(options.where);
  const SortedFeatures sorted(features);
  Node& node = OpBuilder("ParseExampleV2", {.name = options.name, .where = options.where})
                   .input(serialized)
                   .input(options.example_names)
                   .input(Tensor(sorted.sparse_keys))
                   .input(Tensor(sorted.dense_keys))
                   .input(Tensor(sorted.ragged_keys))
                   .inputs(sorted.default_outputs())
                   .attr("num_sparse", static_cast<std::int64_t>(sorted.sparse_keys.size()))
                   .attr("sparse_types", sorted.sparse_types)
                   .attr("Tdense", sorted.dense_types)
                   .attr("ragged_value_types", sorted.ragged_types)
                   .attr("ragged_split_types", sorted.split_types)
                   .attr("dense_shapes", sorted.dense_shapes)
                   .build_node();
  io::ParsedFeatures parsed;
  int next = 0;
  next = sorted.take_sparse(node, next, &parsed);
  next = sorted.take_dense(node, next, &parsed);
  const int count = static_cast<int>(sorted.ragged_keys.size());
  for (int i = 0; i < count; ++i) {
    RaggedTensor rows{.values = node.output(next + i), .row_splits = node.output(next + count + i)};
    if (single) rows.row_splits = {};
    parsed.ragged[sorted.ragged_keys[i]] = std::move(rows);
  }
  return parsed;
}

}  // namespace

// ---- Public functions

io::ParsedFeatures io::parse_example(const Operand& serialized, const FeatureSpecs& features,
                                     const ParseExampleOptions& options) {
  return parse(serialized, features, options, false);
}

io::ParsedFeatures io::parse_single_example(const Operand& serialized, const FeatureSpecs& features,
                                            const ParseExampleOptions& options) {
  return parse(serialized, features, options, true);
}

}  // namespace caudal::inline v0
