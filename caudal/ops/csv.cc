#include "caudal/ops/csv.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/csv_field.h"

namespace caudal::inline v0 {
namespace {

// ---- Shape function

void decode_csv_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    const PartialShape& value = c.input(i);
    if (!value.has_rank()) continue;
    if (value.rank() > 1 || (value.rank() == 1 && value[0] > 1)) {
      throw invalid_argument("the default of a column has one element or none; ", c.input_name(i), " is ", value);
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
}

// ---- Kernel

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// Cuts one line into its fields, the first `most` of them.
class FieldReader {
 public:
  FieldReader(std::string_view line, char delim, bool use_quotes)
      : line_(line), delim_(delim), use_quotes_(use_quotes) {}

  std::vector<std::string> fields(std::size_t most) {
    std::vector<std::string> fields;
    while (at_ < line_.size()) {
      if (fields.size() == most) return fields;
      if (is_line_end(line_[at_])) {
        ++at_;
      } else {
        fields.push_back(use_quotes_ && line_[at_] == '"' ? quoted() : plain());
      }
    }
    if (!line_.empty() && line_.back() == delim_) fields.emplace_back();  // nothing after the last delimiter
    return fields;
  }

 private:
  std::string plain() {
    const std::size_t start = at_;
    while (at_ < line_.size() && line_[at_] != delim_) {
      if ((use_quotes_ && line_[at_] == '"') || is_line_end(line_[at_])) {
        throw invalid_argument("Unquoted fields cannot have quotes/CRLFs inside");
      }
      ++at_;
    }
    return std::string(line_.substr(start, at_++ - start));
  }

  std::string quoted() {
    std::string field;
    for (++at_; !ends_quote(); ++at_) {
      if (at_ + 1 >= line_.size())
        throw invalid_argument("Quoted field has to end with quote followed by delim or end");
      if (line_[at_] == '"' && line_[++at_] != '"') {
        throw invalid_argument("Quote inside a string has to be escaped by another quote");
      }
      field += line_[at_];
    }
    at_ += 2;
    return field;
  }

  // Whether the quote that closes a field is here.
  bool ends_quote() const {
    return at_ < line_.size() && line_[at_] == '"' && (at_ + 1 == line_.size() || line_[at_ + 1] == delim_);
  }

  const std::string_view line_;
  const char delim_;
  const bool use_quotes_;
  std::size_t at_ = 0;
};

struct Place {
  std::size_t field;
  std::int64_t record;
};

void store(const std::string& text, const Place& place, Tensor& column) {
  if (parse_csv_field(text, column, place.record)) return;
  throw invalid_argument("Field ", place.field, " in record ", place.record, " is not a valid ",
                         csv_type_name(column.dtype()), ": ", escaped(text));
}

void store_default(const Tensor& value, const Place& place, Tensor& column) {
  if (value.num_elements() != 1) {
    throw invalid_argument("Field ", place.field, " is required but missing in record ", place.record, "!");
  }
  if (column.dtype() == DType::kString) {
    column.data<std::string>()[place.record] = value.item<std::string>();
  } else {
    const std::size_t size = dtype_size(column.dtype());
    std::memcpy(column.raw() + place.record * size, value.raw(), size);
  }
}

class DecodeCsvKernel final : public Kernel {
 public:
  explicit DecodeCsvKernel(PrepareContext& c)
      : na_value_(c.attr<std::string>("na_value")),
        select_(c.attr<std::vector<std::int64_t>>("select_cols")),
        use_quotes_(c.attr<bool>("use_quote_delim")) {
    const std::string& delim = c.attr<std::string>("field_delim");
    if (delim.size() != 1) throw invalid_argument("field_delim should be only 1 char");
    delim_ = delim[0];
    if (!select_.empty() && select_.size() + 1 != static_cast<std::size_t>(c.node().num_inputs())) {
      throw invalid_argument("select_cols should match output size");
    }
    for (std::size_t i = 0; i < select_.size(); ++i) {
      if (select_[i] < 0) throw invalid_argument("select_cols should be non-negative indices");
      if (i > 0 && select_[i] <= select_[i - 1]) {
        throw invalid_argument("select_cols should be strictly increasing indices");
      }
    }
  }

  void run(RunContext& c) const override {
    const Tensor& records = c.input(0);
    const auto columns = static_cast<std::size_t>(c.num_inputs() - 1);
    std::vector<Tensor*> out;
    for (std::size_t f = 0; f < columns; ++f) {
      const Tensor& value = c.input(static_cast<int>(f) + 1);
      if (value.num_elements() > 1 || value.rank() > 1) {
        throw invalid_argument("There should only be 1 default per field but field ", f, " has ", value.num_elements());
      }
      out.push_back(&c.allocate_output(static_cast<int>(f), records.shape()));
    }
    for (std::int64_t i = 0; i < records.num_elements(); ++i) {
      std::vector<std::string> fields = selected(records.data<std::string>()[i]);
      if (fields.size() != columns) {
        throw invalid_argument("Expect ", columns, " fields but have ", fields.size(), " in record ", i);
      }
      for (std::size_t f = 0; f < columns; ++f) {
        if (fields[f].empty() || fields[f] == na_value_) {
          store_default(c.input(static_cast<int>(f) + 1), {f, i}, *out[f]);
        } else {
          store(fields[f], {f, i}, *out[f]);
        }
      }
    }
  }

 private:
  std::vector<std::string> selected(const std::string& line) const {
    const std::size_t most = select_.empty() ? SIZE_MAX : static_cast<std::size_t>(select_.back()) + 1;
    std::vector<std::string> fields = FieldReader(line, delim_, use_quotes_).fields(most);
    if (select_.empty()) return fields;
    std::vector<std::string> some;
    for (const std::int64_t column : select_) {
      if (column < static_cast<std::int64_t>(fields.size())) some.push_back(std::move(fields[column]));
    }
    return some;
  }

  const std::string na_value_;
  const std::vector<std::int64_t> select_;
  const bool use_quotes_;
  char delim_ = ',';
};

std::unique_ptr<Kernel> prepare_decode_csv(PrepareContext& c) { return std::make_unique<DecodeCsvKernel>(c); }

CAUDAL_REGISTER_OP({
    .name = "DecodeCSV",
    .inputs = "records: string; record_defaults: OUT_TYPE",
    .outputs = "output: OUT_TYPE",
    .attrs = "OUT_TYPE: list({float, double, int32, int64, string}) >= 1; field_delim: string = ','; "
             "use_quote_delim: bool = true; na_value: string = ''; select_cols: list(int) = []",
    .shape = decode_csv_shape,
    .gradient = no_gradient,
    .cpu = prepare_decode_csv,
});

}  // namespace

// ---- Public function

std::vector<Output> decode_csv(const Operand& records, const std::vector<Operand>& record_defaults,
                               const DecodeCsvOptions& options) {
  const LocationScope where(options.where);
  std::vector<Output> defaults;
  for (const Operand& value : record_defaults) defaults.push_back(value.to_output(DType::kInvalid, "record_default"));
  Node& node = OpBuilder("DecodeCSV", {.name = options.name, .where = options.where})
                   .input(records)
                   .inputs(defaults)
                   .attr("field_delim", options.field_delim)
                   .attr("use_quote_delim", options.use_quote_delim)
                   .attr("na_value", options.na_value)
                   .attr("select_cols", options.select_cols)
                   .build_node();
  std::vector<Output> columns;
  for (int i = 0; i < node.num_outputs(); ++i) columns.push_back(node.output(i));
  return columns;
}

}  // namespace caudal::inline v0
