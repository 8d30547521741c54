// CSVDataset: the records of comma-separated files as typed columns (RFC 4180 with TensorFlow's rules).
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/formats/compression.h"
#include "caudal/ops/csv_field.h"
#include "caudal/ops/file_records.h"
#include "caudal/ops/line_reader.h"

namespace caudal::inline v0 {
namespace {

using namespace ops;  // NOLINT: the family is all about them

struct CsvFormat {
  std::string compression;
  bool header = false;
  char delim = ',';
  bool use_quotes = true;
  std::string na_value;
  std::vector<std::int64_t> selected, excluded;  // columns, ascending; at most one is not empty
  std::vector<Tensor> defaults;                  // one per column given; no element: the field is required
};

// Characters of a file; kEnd at its end.
class Characters {
 public:
  static constexpr int kEnd = -1;
  explicit Characters(std::unique_ptr<SequentialFile> file) : file_(std::move(file)) {}
  int peek() {
    if (at_ == block_.size() && !fill()) return kEnd;
    return static_cast<unsigned char>(block_[at_]);
  }
  void skip() { ++at_; }

 private:
  bool fill() {
    block_.resize(256 << 10);
    block_.resize(file_->read(block_.data(), block_.size()));
    at_ = 0;
    return !block_.empty();
  }

  std::unique_ptr<SequentialFile> file_;
  std::string block_;
  std::size_t at_ = 0;
};

// What is wrong with a record is remembered until its end was read, so that the next one can follow.
class CsvRecords final : public FileRecords {
 public:
  CsvRecords(Env& env, const std::string& path, std::shared_ptr<const CsvFormat> format)
      : format_(std::move(format)), path_(path), in_(internal::open_inflated(env, path, format_->compression)) {
    if (format_->header && in_.peek() != Characters::kEnd) skip_line();
  }

  bool goes_on() const override { return true; }

  bool next(const Iteration&, Element& out) override {
    if (in_.peek() == Characters::kEnd) return false;
    ++number_;
    problem_.reset();
    out.clear();
    std::int64_t column = 0;
    for (bool more = true; more; ++column) {
      text_.clear();
      more = read_field();
      if (wants(column, std::ssize(out))) add_field(out);
    }
    if (!problem_ && std::ssize(out) != std::ssize(format_->defaults)) {
      problem_ = internal::concat("Expect ", format_->defaults.size(), " fields but have ",
                                  std::ssize(out) > std::ssize(format_->defaults) ? "more" : std::to_string(out.size()),
                                  " in record");
    }
    if (problem_) throw invalid_argument("'", path_, "', record ", number_, ": ", *problem_);
    return true;
  }

  void transfer(StateArchive& archive) override {
    std::int64_t number = number_;
    archive.number(number);
    for (; number_ < number && in_.peek() != Characters::kEnd; ++number_) {
      while (read_field()) text_.clear();
      text_.clear();
    }
  }

 private:
  bool wants(std::int64_t column, std::int64_t given) const {
    if (!format_->excluded.empty()) {
      return !std::binary_search(format_->excluded.begin(), format_->excluded.end(), column);
    }
    if (format_->selected.empty()) return true;
    return given < std::ssize(format_->selected) && format_->selected[static_cast<std::size_t>(given)] == column;
  }

  void skip_line() {
    for (int c = in_.peek(); c != Characters::kEnd && c != '\n' && c != '\r'; c = in_.peek()) in_.skip();
    end_line();
  }

  // Passes over "\n", "\r" or "\r\n".
  void end_line() {
    if (in_.peek() == '\r') in_.skip();
    if (in_.peek() == '\n') in_.skip();
  }

  void complain(std::string text) {
    if (!problem_) problem_ = std::move(text);
  }

  // Reads one field into text_; false if it was the record's last.
  bool read_field() {
    if (format_->use_quotes && in_.peek() == '"') {
      in_.skip();
      return read_quoted();
    }
    for (;; in_.skip()) {
      const int c = in_.peek();
      if (c == format_->delim) return in_.skip(), true;
      if (c == Characters::kEnd || c == '\n' || c == '\r') return end_line(), false;
      if (c == '"' && format_->use_quotes) complain("Unquoted fields cannot have quotes inside");
      text_ += static_cast<char>(c);
    }
  }

  bool read_quoted() {
    for (;; in_.skip()) {
      const int c = in_.peek();
      if (c == Characters::kEnd) {
        complain("Reached end of file without closing quoted field in record");
        return false;
      }
      if (c != '"') {
        text_ += static_cast<char>(c);
        continue;
      }
      in_.skip();
      const int after = in_.peek();
      if (after == format_->delim) return in_.skip(), true;
      if (after == Characters::kEnd || after == '\n' || after == '\r') return end_line(), false;
      if (after != '"') complain("Quote inside a string has to be escaped by another quote");
      text_ += '"';
      if (after != '"') text_ += static_cast<char>(after);
    }
  }

  void add_field(Element& out) {
    const std::size_t i = out.size();
    if (i >= format_->defaults.size()) {
      out.emplace_back();  // one too many, which the count tells
      return;
    }
    const Tensor& fallback = format_->defaults[i];
    Tensor value(fallback.dtype(), Shape());
    if (text_.empty() || text_ == format_->na_value) {
      if (fallback.num_elements() != 1) {
        complain(internal::concat("Field ", i, " is required but missing in record!"));
      } else {
        value = fallback.reshape(Shape());
      }
    } else if (!parse_csv_field(text_, value, 0)) {
      complain(internal::concat("Field ", i, " in record is not a valid ", csv_type_name(value.dtype()), ": ",
                                escaped(text_)));
    }
    out.push_back(std::move(value));
  }

  const std::shared_ptr<const CsvFormat> format_;
  const std::string path_;
  Characters in_;
  std::int64_t number_ = 0;
  std::string text_;
  std::optional<std::string> problem_;
};

// Throws unless the numbers are those of columns, ascending.
void check_columns(const std::vector<std::int64_t>& columns, const char* name) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0)
      throw invalid_argument("Column indices should be non-negative indices; ", name, " has ", columns[i]);
    if (i > 0 && columns[i] <= columns[i - 1]) throw invalid_argument(name, " should be strictly increasing indices");
  }
}

DatasetPtr make_csv(RunContext& c) {
  auto format = std::make_shared<CsvFormat>();
  format->compression = string_input(c, 1, "compression_type");
  compression_from_name(format->compression);
  if (int_input(c, 2, "buffer_size") <= 0) throw invalid_argument("buffer_size should be positive");
  format->header = bool_input(c, 3, "header");
  const std::string delim = string_input(c, 4, "field_delim");
  if (delim.size() != 1) throw invalid_argument("field_delim should be only 1 char");
  format->delim = delim[0];
  format->use_quotes = bool_input(c, 5, "use_quote_delim");
  format->na_value = string_input(c, 6, "na_value");
  format->selected = c.input(7).to_int64s();
  check_columns(format->selected, "select_cols");
  const ArgRange defaults = arg_range(c.node().op->def.inputs, c.node().attrs, "record_defaults");
  for (int i = defaults.begin; i < defaults.end; ++i) {
    if (c.input(i).rank() > 1 || c.input(i).num_elements() > 1) {
      throw invalid_argument("There should only be 1 default per field but field ", i - defaults.begin, " has ",
                             c.input(i).num_elements());
    }
    format->defaults.push_back(c.take_input(i));
  }
  if (c.num_inputs() > defaults.end) format->excluded = c.input(defaults.end).to_int64s();
  check_columns(format->excluded, "exclude_cols");
  if (!format->selected.empty() && !format->excluded.empty()) {
    throw invalid_argument("Either select_cols or exclude_cols should be empty");
  }
  if (!format->selected.empty() && format->selected.size() != format->defaults.size()) {
    throw invalid_argument("select_cols should match output size");
  }
  return std::make_shared<FilesDataset>(dataset_spec(c.node()), strings_input(c, 0, "filenames"),
                                        [format](Env& env, const std::string& path, std::size_t) {
                                          return std::make_unique<CsvRecords>(env, path, format);
                                        });
}

}  // namespace

#define CAUDAL_CSV_INPUTS                                                                                \
  "filenames: string; compression_type: string; buffer_size: int64; header: bool; field_delim: string; " \
  "use_quote_delim: bool; na_value: string; select_cols: int64; record_defaults: output_types"
#define CAUDAL_CSV_ATTRS \
  "output_types: list({float, double, int32, int64, string}) >= 1; output_shapes: list(shape) >= 1"
CAUDAL_REGISTER_DATASET("CSVDataset", CAUDAL_CSV_INPUTS, CAUDAL_CSV_ATTRS, true, ops::prepare_dataset<make_csv>);
CAUDAL_REGISTER_DATASET("CSVDatasetV2", CAUDAL_CSV_INPUTS "; exclude_cols: int64", CAUDAL_CSV_ATTRS, true,
                        ops::prepare_dataset<make_csv>);

}  // namespace caudal::inline v0
