#include "caudal/ops/sparse_cross_ops.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/sparse_input.h"
#include "caudal/ops/string_hash.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape function

void cross_shape(ShapeContext& c) {
  c.set_output(0, PartialShape{-1, 2});
  c.set_output(1, PartialShape{-1});
  c.set_output(2, PartialShape{2});
}

// ---- Kernels

// The values of each row of one input.
struct CrossColumn {
  const Tensor* values;
  std::vector<std::vector<std::int64_t>> rows;  // positions in `values`
};

std::vector<CrossColumn> columns_of(RunContext& c) {
  const auto& def = c.node().op->def;
  const auto range = [&](std::string_view name) { return arg_range(def.inputs, c.node().attrs, name); };
  const ArgRange indices = range("indices"), values = range("values"), shapes = range("shapes"),
                 dense = range("dense_inputs");
  std::vector<CrossColumn> columns;
  for (int i = 0; i < indices.size(); ++i) {
    const SparseView view =
        sparse_view(c.input(indices.begin + i), c.input(values.begin + i), c.input(shapes.begin + i),
                    IndexOrder::kInside, "input " + std::to_string(i) + ' ');
    if (view.rank != 2) throw invalid_argument("shape imposes rank 2, but the ", i, "-th input has rank ", view.rank);
    CrossColumn& column = columns.emplace_back();
    column.values = view.values;
    // A row takes memory even if it is empty.
    constexpr std::int64_t kMostRows = 1 << 28;
    if (view.dims[0] > kMostRows)
      throw resource_exhausted("crosses have ", kMostRows, " rows at most, not ", view.dims[0]);
    column.rows.resize(static_cast<std::size_t>(view.dims[0]));
    for (std::int64_t k = 0; k < view.count; ++k) column.rows[view.index(k)[0]].push_back(k);
  }
  for (int i = dense.begin; i < dense.end; ++i) {
    const Tensor& tensor = c.input(i);
    if (tensor.rank() != 2)
      throw invalid_argument("Dense inputs should be a matrix but received shape ", tensor.shape());
    CrossColumn& column = columns.emplace_back();
    column.values = &tensor;
    column.rows.resize(static_cast<std::size_t>(tensor.dim(0)));
    for (std::int64_t k = 0; k < tensor.num_elements(); ++k) column.rows[k / tensor.dim(1)].push_back(k);
  }
  for (const CrossColumn& column : columns) {
    if (column.rows.size() == columns[0].rows.size()) continue;
    throw invalid_argument("Expected batch size ", columns[0].rows.size(), ", got ", column.rows.size());
  }
  return columns;
}

// Calls make(row, places) for each combination, the last column fastest; makes the indices and the shape.
template <class T, class Make>
void cross(RunContext& c, const std::vector<CrossColumn>& columns, Make&& make) {
  constexpr std::int64_t kMostCrosses = 1 << 28;
  const std::size_t rows = columns.empty() ? 0 : columns[0].rows.size();
  std::vector<std::int64_t> counts(rows, 1);
  std::int64_t total = 0, most = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const CrossColumn& column : columns) {
      counts[row] *= static_cast<std::int64_t>(column.rows[row].size());
      if (counts[row] > kMostCrosses) throw resource_exhausted("more than ", kMostCrosses, " crosses in row ", row);
    }
    total += counts[row];
    most = std::max(most, counts[row]);
    if (total > kMostCrosses) throw resource_exhausted("more than ", kMostCrosses, " crosses");
  }
  std::int64_t* index = c.allocate_output(0, {total, 2}).data<std::int64_t>();
  T* value = c.allocate_output(1, {total}).template data<T>();
  std::vector<std::int64_t> places(columns.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < counts[row]; ++k) {
      std::int64_t rest = k;
      for (std::size_t i = columns.size(); i-- > 0;) {
        const auto& positions = columns[i].rows[row];
        places[i] = positions[rest % static_cast<std::int64_t>(positions.size())];
        rest /= static_cast<std::int64_t>(positions.size());
      }
      *index++ = static_cast<std::int64_t>(row);
      *index++ = k;
      *value++ = make(places);
    }
  }
  std::int64_t* shape = c.allocate_output(2, {2}).data<std::int64_t>();
  shape[0] = static_cast<std::int64_t>(rows);
  shape[1] = most;
}

using Places = std::vector<std::int64_t>;

void cross_strings(RunContext& c, const std::string& separator) {
  const std::vector<CrossColumn> columns = columns_of(c);
  cross<std::string>(c, columns, [&](const Places& places) {
    std::string joined;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Tensor& values = *columns[i].values;
      if (i > 0) joined += separator;
      joined += values.dtype() == string ? values.data<std::string>()[places[i]]
                                         : std::to_string(values.data<std::int64_t>()[places[i]]);
    }
    return joined;
  });
}

// Two fingerprints as one (FarmHash's way to combine them).
std::uint64_t joined_fingerprint(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMix = 0xc6a4a7935bd1e995ULL;
  const auto mixed = [](std::uint64_t value) { return value ^ (value >> 47); };
  const std::uint64_t result = ((a ^ kMix) ^ (mixed(b * kMix) * kMix)) * kMix;
  return mixed(mixed(result) * kMix);
}

std::int64_t in_bucket(std::uint64_t hash, std::int64_t buckets) {
  const auto modulus = buckets > 0 ? static_cast<std::uint64_t>(buckets)
                                   : static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(hash % modulus);
}

class SparseCrossKernel final : public Kernel {
 public:
  explicit SparseCrossKernel(PrepareContext& c)
      : hashed_(c.attr<bool>("hashed_output")),
        buckets_(c.attr<std::int64_t>("num_buckets")),
        key_(static_cast<std::uint64_t>(c.attr<std::int64_t>("hash_key"))) {
    const DType out = c.attr<DType>("out_type"), internal = c.attr<DType>("internal_type");
    for (const char* name : {"sparse_types", "dense_types"}) {
      for (const DType type : c.attr<std::vector<DType>>(name)) {
        if (hashed_ || type == internal) continue;
        throw invalid_argument("Input values should be of internal type ", internal, " but received ", type);
      }
    }
    if (hashed_ != (out == int64)) throw invalid_argument("hashed_output goes with out_type int64, and only with it");
  }

  void run(RunContext& c) const override {
    if (!hashed_) return cross_strings(c, "_X_");
    const std::vector<CrossColumn> columns = columns_of(c);
    cross<std::int64_t>(c, columns, [&](const Places& places) {
      std::uint64_t hash = key_;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const Tensor& values = *columns[i].values;
        hash = joined_fingerprint(hash, values.dtype() == string
                                            ? farm_fingerprint(values.data<std::string>()[places[i]])
                                            : static_cast<std::uint64_t>(values.data<std::int64_t>()[places[i]]));
      }
      return in_bucket(hash, buckets_);
    });
  }

 private:
  bool hashed_;
  std::int64_t buckets_;
  std::uint64_t key_;
};

std::unique_ptr<Kernel> prepare_cross(PrepareContext& c) { return std::make_unique<SparseCrossKernel>(c); }

void run_cross_v2(RunContext& c) {
  const Tensor& separator = c.input(c.num_inputs() - 1);
  if (separator.rank() != 0) throw invalid_argument("Input separator should be a scalar, not ", separator.describe());
  cross_strings(c, separator.item<std::string>());
}

void run_cross_hashed(RunContext& c) {
  const int last = c.num_inputs();
  const Tensor &number = c.input(last - 3), &strong = c.input(last - 2), &salt = c.input(last - 1);
  if (number.rank() != 0 || strong.rank() != 0) {
    throw invalid_argument("num_buckets and strong_hash should be scalars, not ", number.describe(), " and ",
                           strong.describe());
  }
  if (salt.rank() != 1 || salt.dim(0) != 2) throw invalid_argument("salt has two numbers, not ", salt.describe());
  const std::int64_t buckets = number.item<std::int64_t>();
  const bool keyed = strong.item<bool>();
  const auto key = [&](int i) { return static_cast<std::uint64_t>(salt.data<std::int64_t>()[i]); };
  const std::vector<CrossColumn> columns = columns_of(c);
  const auto hash_of = [&](const Tensor& values, std::int64_t place) {
    const auto hashed = [&](std::string_view bytes) {
      return keyed ? sip_hash(bytes, key(0), key(1)) : farm_fingerprint(bytes);
    };
    if (values.dtype() == string) return hashed(values.data<std::string>()[place]);
    const std::int64_t* number = values.data<std::int64_t>() + place;
    // As in TensorFlow: numbers of dense inputs as they are, of sparse ones a hash of the lower four bytes.
    constexpr std::size_t kHashedBytes = 4;
    if (values.rank() == 2) return static_cast<std::uint64_t>(*number);
    return hashed({reinterpret_cast<const char*>(number), kHashedBytes});
  };
  cross<std::int64_t>(c, columns, [&](const Places& places) {
    std::uint64_t hash = hash_of(*columns[0].values, places[0]);
    for (std::size_t i = 1; i < columns.size(); ++i)
      hash = joined_fingerprint(hash, hash_of(*columns[i].values, places[i]));
    return in_bucket(hash, buckets);
  });
}

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "SparseCross",
                    .inputs = "indices: N * int64; values: sparse_types; shapes: N * int64; dense_inputs: dense_types",
                    .outputs = "output_indices: int64; output_values: out_type; output_shape: int64",
                    .attrs = "N: int >= 0; hashed_output: bool; num_buckets: int >= 0; hash_key: int; "
                             "sparse_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0; "
                             "out_type: {int64, string}; internal_type: {int64, string}",
                    .shape = cross_shape,
                    .gradient = no_gradient,
                    .cpu = prepare_cross});
CAUDAL_REGISTER_OP({.name = "SparseCrossV2",
                    .inputs = "indices: N * int64; values: sparse_types; shapes: N * int64; dense_inputs: dense_types; "
                              "sep: string",
                    .outputs = "output_indices: int64; output_values: string; output_shape: int64",
                    .attrs = "N: int >= 0; sparse_types: list({int64, string}) >= 0; "
                             "dense_types: list({int64, string}) >= 0",
                    .shape = cross_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_cross_v2>});
CAUDAL_REGISTER_OP({.name = "SparseCrossHashed",
                    .inputs = "indices: N * int64; values: sparse_types; shapes: N * int64; dense_inputs: dense_types; "
                              "num_buckets: int64; strong_hash: bool; salt: int64",
                    .outputs = "output_indices: int64; output_values: int64; output_shape: int64",
                    .attrs = "N: int >= 0; sparse_types: list({int64, string}) >= 0; "
                             "dense_types: list({int64, string}) >= 0",
                    .shape = cross_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_cross_hashed>});

// The builder with the columns, and the types that empty lists do not tell.
OpBuilder with_columns(OpBuilder builder, const std::vector<SparseTensor>& sparse_inputs,
                       const std::vector<Output>& dense_inputs) {
  std::vector<Output> indices, values, shapes;
  std::vector<DType> sparse_types, dense_types;
  for (const SparseTensor& input : sparse_inputs) {
    indices.push_back(input.indices);
    values.push_back(input.values);
    shapes.push_back(input.dense_shape);
    sparse_types.push_back(input.values.dtype());
  }
  for (const Output& input : dense_inputs) dense_types.push_back(input.dtype());
  builder.inputs(indices).inputs(values).inputs(shapes).inputs(dense_inputs);
  builder.attr("N", static_cast<std::int64_t>(sparse_inputs.size()))
      .attr("sparse_types", sparse_types)
      .attr("dense_types", dense_types);
  return builder;
}

SparseTensor as_sparse(Node& node) { return {node.output(0), node.output(1), node.output(2)}; }

}  // namespace

// ---- Public functions

SparseTensor sparse::cross(const std::vector<SparseTensor>& sparse_inputs, const std::vector<Output>& dense_inputs,
                           const CrossOptions& options) {
  return as_sparse(with_columns(OpBuilder("SparseCrossV2", {.name = options.name, .where = options.where}),
                                sparse_inputs, dense_inputs)
                       .input(options.separator)
                       .build_node());
}

SparseTensor sparse::cross_hashed(const std::vector<SparseTensor>& sparse_inputs,
                                  const std::vector<Output>& dense_inputs, const CrossHashedOptions& options) {
  return as_sparse(with_columns(OpBuilder("SparseCross", {.name = options.name, .where = options.where}), sparse_inputs,
                                dense_inputs)
                       .attr("hashed_output", true)
                       .attr("num_buckets", options.num_buckets)
                       .attr("hash_key", options.hash_key)
                       .attr("out_type", int64)
                       .attr("internal_type", int64)
                       .build_node());
}

}  // namespace caudal::inline v0
