// ParseExampleDataset: batches of serialised Examples as columns, in the order of their names.
#include <algorithm>
#include <numeric>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/dataset.h"
#include "caudal/ops/example_columns.h"
#include "caudal/ops/work_ahead.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

class ParseDataset final : public UnaryDataset {
 public:
  // Columns without values, as they are wanted.
  ParseDataset(Spec spec, DatasetPtr input, std::vector<Column> columns)
      : UnaryDataset(std::move(spec), std::move(input)), columns_(std::move(columns)) {}
  const std::vector<Column>& columns() const { return columns_; }
  std::unique_ptr<DatasetIterator> make_iterator(const Iteration& c) const override;

 private:
  const std::vector<Column> columns_;
};

class ParseIterator final : public UnaryIterator<ParseDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  bool next(const Iteration& c, Element& out) override {
    Element records;
    if (!input().next(c, records)) return false;
    const Tensor& serialized = records[0];
    if (serialized.rank() != 1)
      throw invalid_argument("Examples are parsed in batches: a vector of strings, not ", serialized.describe());
    std::vector<Column> columns = dataset().columns();
    ExampleGatherer gatherer(&columns, {});
    for (std::int64_t i = 0; i < serialized.num_elements(); ++i) {
      const std::string& bytes = serialized.data<std::string>()[i];
      in_record({}, i, bytes, [&] { gatherer.add(i, example_fields(bytes)); });
    }
    out.clear();
    for (const Column& column : columns) out.push_back(dense_part(column, /*single=*/false));
    return true;
  }
  void transfer(const Iteration& c, StateArchive& archive) override {
    archive.tag("ParseExample");
    transfer_input(c, archive);
  }
};

std::unique_ptr<DatasetIterator> ParseDataset::make_iterator(const Iteration& c) const {
  return std::make_unique<ParseIterator>(*this, c);
}

DatasetPtr make_parse(RunContext& c) {
  parallel_calls(c, int_input(c, 1, "num_parallel_calls"));
  const DatasetPtr input = dataset_input(c, 0);
  if (input->types() != std::vector<DType>{DType::kString}) {
    throw invalid_argument("Input to parse_example_dataset() must be a dataset of strings, not ",
                           AttrValue(input->types()));
  }
  const auto& keys = c.node().attr<std::vector<std::string>>("dense_keys");
  const auto& shapes = c.node().attr<std::vector<PartialShape>>("dense_shapes");
  const ArgRange defaults = arg_range(c.node().op->def.inputs, c.node().attrs, "dense_defaults");
  if (keys.size() != shapes.size() || std::ssize(keys) != defaults.size()) {
    throw invalid_argument("there are ", keys.size(), " dense keys, ", shapes.size(), " shapes and ", defaults.size(),
                           " defaults");
  }
  std::vector<int> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  std::vector<Column> columns;
  for (const int i : order) columns.push_back(dense_column(keys[i], shapes[i], c.take_input(defaults.begin + i), i));
  return std::make_shared<ParseDataset>(dataset_spec(c.node()), input, std::move(columns));
}

std::unique_ptr<Kernel> prepare_parse(PrepareContext& c) {
  if (!c.attr<std::vector<std::string>>("sparse_keys").empty() ||
      !c.attr<std::vector<std::string>>("ragged_keys").empty()) {
    throw unimplemented("sparse and ragged features as components of a dataset")
        .hint("Parse the batches in a map, with io.parse_example, and give the parts of the sparse tensor there.");
  }
  return prepare_dataset<make_parse>(c);
}

}  // namespace

#define CAUDAL_PARSE_ATTRS(order)                                                                       \
  "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; "                                     \
  "sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; "        \
  "dense_shapes: list(shape) >= 0; " CAUDAL_DATASET_TYPES "; " order                                    \
  "; ragged_keys: list(string) >= 0 = []; ragged_value_types: list({float, int64, string}) >= 0 = []; " \
  "ragged_split_types: list({int32, int64}) >= 0 = []"
CAUDAL_REGISTER_DATASET("ParseExampleDataset",
                        "input_dataset: variant; num_parallel_calls: int64; dense_defaults: Tdense",
                        CAUDAL_PARSE_ATTRS("sloppy: bool = false"), false, prepare_parse);
CAUDAL_REGISTER_DATASET("ParseExampleDatasetV2",
                        "input_dataset: variant; num_parallel_calls: int64; dense_defaults: Tdense",
                        CAUDAL_PARSE_ATTRS("deterministic: string = 'default'"), false, prepare_parse);

}  // namespace caudal::inline v0
