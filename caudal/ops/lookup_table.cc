#include "caudal/ops/lookup_table.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"

namespace caudal::inline v0 {
namespace {

Shape joined(std::span<const std::int64_t> front, const Shape& back) {
  std::vector<std::int64_t> dims(front.begin(), front.end());
  dims.insert(dims.end(), back.dims().begin(), back.dims().end());
  return Shape(dims);
}

// The number of a scalar key, or nothing for strings.
std::uint64_t number_of(const Tensor& keys, std::int64_t i) {
  const std::size_t size = dtype_size(keys.dtype());
  std::uint64_t bits = 0;
  std::memcpy(&bits, keys.raw() + i * static_cast<std::int64_t>(size), std::min(size, sizeof(bits)));
  const bool minus_zero = (keys.dtype() == DType::kFloat && bits == 0x80000000U) ||
                          (keys.dtype() == DType::kDouble && bits == std::uint64_t{1} << 63);
  return minus_zero ? 0 : bits;
}

// Where the entry of each key lies.
class KeyIndex {
 public:
  explicit KeyIndex(DType dtype) : strings_(dtype == DType::kString) {}

  std::int64_t size() const { return static_cast<std::int64_t>(strings_ ? by_string_.size() : by_number_.size()); }
  // The place, or -1.
  std::int64_t find(const Tensor& keys, std::int64_t i) const {
    if (strings_) {
      const auto found = by_string_.find(keys.data<std::string>()[i]);
      return found == by_string_.end() ? -1 : found->second;
    }
    const auto found = by_number_.find(number_of(keys, i));
    return found == by_number_.end() ? -1 : found->second;
  }
  // REQUIRES: the key is not there.
  void add(const Tensor& keys, std::int64_t i, std::int64_t place) {
    if (strings_) {
      by_string_.emplace(keys.data<std::string>()[i], place);
    } else {
      by_number_.emplace(number_of(keys, i), place);
    }
  }
  void erase(const Tensor& keys, std::int64_t i) {
    if (strings_) {
      by_string_.erase(keys.data<std::string>()[i]);
    } else {
      by_number_.erase(number_of(keys, i));
    }
  }
  void clear() {
    by_string_.clear();
    by_number_.clear();
  }

 private:
  bool strings_;
  std::unordered_map<std::string, std::int64_t> by_string_;
  std::unordered_map<std::uint64_t, std::int64_t> by_number_;
};

// Rows of one type that are added and removed one by one.
class Rows {
 public:
  Rows(DType dtype, std::int64_t elements) : dtype_(dtype), elements_(elements), rows_(dtype, {0, elements}) {}

  void reserve(std::int64_t rows) {
    if (rows <= rows_.dim(0)) return;
    Tensor larger(dtype_, {std::max<std::int64_t>(rows, 2 * rows_.dim(0)), elements_});
    copy_elements(dtype_, rows_.raw(), larger.raw(), rows_.num_elements());
    rows_ = std::move(larger);
  }
  void set(std::int64_t row, const Tensor& from, std::int64_t i) {
    copy_elements(dtype_, at(from, i), rows_.raw() + row * bytes(), elements_);
  }
  void get(std::int64_t row, Tensor& to, std::int64_t i) const {
    copy_elements(dtype_, rows_.raw() + row * bytes(), to.raw() + i * bytes(), elements_);
  }
  bool equals(std::int64_t row, const Tensor& other, std::int64_t i) const {
    if (dtype_ == DType::kString) return rows_.data<std::string>()[row] == other.data<std::string>()[i];
    return !is_plain(dtype_) || std::memcmp(rows_.raw() + row * bytes(), at(other, i), bytes()) == 0;
  }
  std::string text(std::int64_t row) const {
    if (dtype_ == DType::kString) return rows_.data<std::string>()[row];
    return rows_.rows(row, row + 1).reshape(elements_ == 1 ? Shape{} : Shape{elements_}).to_string();
  }

 private:
  std::int64_t bytes() const { return elements_ * static_cast<std::int64_t>(dtype_size(dtype_)); }
  const char* at(const Tensor& from, std::int64_t i) const { return from.raw() + i * bytes(); }

  DType dtype_;
  std::int64_t elements_;
  Tensor rows_;
};

class HashTable final : public LookupTable {
 public:
  HashTable(const Type& type, bool filled_once)
      : LookupTable(type),
        filled_once_(filled_once),
        initialized_(!filled_once),
        index_(type.key),
        keys_(type.key, 1),
        values_(type.value, type.value_shape.num_elements()) {}

  std::int64_t size() const override {
    std::shared_lock lock(mutex_);
    return index_.size();
  }

  bool is_initialized() const override {
    std::shared_lock lock(mutex_);
    return initialized_;
  }

  void find(const Tensor& keys, const Tensor& defaults, Tensor& values) const override {
    std::shared_lock lock(mutex_);
    if (!initialized_) throw failed_precondition("Table not initialized.");
    const std::int64_t elements = type().value_shape.num_elements();
    const std::int64_t bytes = elements * static_cast<std::int64_t>(dtype_size(type().value));
    const bool one_each = defaults.num_elements() == values.num_elements();
    for (std::int64_t i = 0; i < keys.num_elements(); ++i) {
      const std::int64_t place = index_.find(keys, i);
      if (place >= 0) {
        values_.get(place, values, i);
      } else {
        copy_elements(type().value, defaults.raw() + (one_each ? i * bytes : 0), values.raw() + i * bytes, elements);
      }
    }
  }

  void insert(const Tensor& keys, const Tensor& values) override {
    if (filled_once_) throw unimplemented("Insert not supported by InitializableLookupTable implementations");
    std::unique_lock lock(mutex_);
    put_all(keys, values, false);
  }

  void remove(const Tensor& keys) override {
    if (filled_once_) throw unimplemented("Remove not supported by InitializableLookupTable implementations");
    std::unique_lock lock(mutex_);
    for (std::int64_t i = 0; i < keys.num_elements(); ++i) {
      const std::int64_t place = index_.find(keys, i);
      if (place < 0) continue;
      index_.erase(keys, i);
      used_[place] = false;
      free_.push_back(place);
    }
  }

  void import_all(const Tensor& keys, const Tensor& values) override {
    if (filled_once_) return initialize(keys, values);
    std::unique_lock lock(mutex_);
    clear();
    put_all(keys, values, false);
  }

  std::pair<Tensor, Tensor> export_all() const override {
    std::shared_lock lock(mutex_);
    if (!initialized_) throw aborted("HashTable is not initialized.");
    const std::int64_t size = index_.size();
    Tensor keys(type().key, {size}), values(type().value, joined(std::span(&size, 1), type().value_shape));
    std::int64_t i = 0;
    for (std::size_t place = 0; place < used_.size(); ++place) {
      if (!used_[place]) continue;
      keys_.get(static_cast<std::int64_t>(place), keys, i);
      values_.get(static_cast<std::int64_t>(place), values, i);
      ++i;
    }
    return {keys, values};
  }

  void initialize(const Tensor& keys, const Tensor& values) override {
    if (!filled_once_) throw not_initializable();
    if (keys.num_elements() == 0) throw invalid_argument("keys and values cannot be empty tensors.");
    std::unique_lock lock(mutex_);
    if (initialized_) {
      if (keys.num_elements() == index_.size()) return;
      throw failed_precondition("Table was already initialized with different data.");
    }
    try {
      put_all(keys, values, true);
    } catch (const Error&) {
      clear();
      throw;
    }
    initialized_ = true;
  }

 private:
  void put_all(const Tensor& keys, const Tensor& values, bool once) {
    for (std::int64_t i = 0; i < keys.num_elements(); ++i) {
      std::int64_t place = index_.find(keys, i);
      if (place < 0) {
        place = new_place();
        index_.add(keys, i, place);
        keys_.set(place, keys, i);
      } else if (once && !values_.equals(place, values, i)) {
        Rows added(type().value, type().value_shape.num_elements());
        added.reserve(1);
        added.set(0, values, i);
        throw failed_precondition("HashTable has different value for same key. Key ", keys_.text(place), " has ",
                                  values_.text(place), " and trying to add value ", added.text(0));
      }
      values_.set(place, values, i);
    }
  }

  std::int64_t new_place() {
    if (!free_.empty()) {
      const std::int64_t place = free_.back();
      free_.pop_back();
      used_[place] = true;
      return place;
    }
    const auto place = static_cast<std::int64_t>(used_.size());
    keys_.reserve(place + 1);
    values_.reserve(place + 1);
    used_.push_back(true);
    return place;
  }

  void clear() {
    index_.clear();
    used_.clear();
    free_.clear();
  }

  const bool filled_once_;
  mutable std::shared_mutex mutex_;
  bool initialized_;
  KeyIndex index_;
  Rows keys_, values_;
  std::vector<bool> used_;
  std::vector<std::int64_t> free_;
};

// ---- Text files

class LineReader {
 public:
  LineReader(const TextFileTable& file, const LookupTable::Type& type) : file_(file), type_(type) {}

  void read(std::string_view text) {
    while (!text.empty()) {
      if (file_.vocab_size != -1 && count_ >= file_.vocab_size) return;
      const auto end = text.find('\n');
      std::string line(text.substr(0, end));
      std::erase(line, '\r');
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      position_ += static_cast<std::int64_t>(line.size()) + 1;
      add(line);
    }
    if (file_.vocab_size != -1 && count_ != file_.vocab_size) {
      throw invalid_argument("Invalid vocab_size in ", file_.path, ": expected ", file_.vocab_size, " but got ",
                             count_);
    }
  }

  // As vectors of the table's types.
  Tensor keys() const { return column(keys_, type_.key); }
  Tensor values() const { return column(values_, type_.value); }

 private:
  using Field = std::string;

  void add(const std::string& line) {
    if (line.empty()) {
      throw invalid_argument("Invalid content in ", file_.path, ": empty line found at position ", position_, ".");
    }
    std::vector<std::string> columns;
    const std::int64_t highest = std::max(file_.key_index, file_.value_index);
    if (highest >= 0) {
      std::string_view rest = line;
      for (auto at = rest.find(file_.delimiter); at != std::string_view::npos; at = rest.find(file_.delimiter)) {
        columns.emplace_back(rest.substr(0, at));
        rest.remove_prefix(at + 1);
      }
      columns.emplace_back(rest);
      if (static_cast<std::int64_t>(columns.size()) <= highest) {
        throw invalid_argument("Invalid number of columns in ", file_.path, " line ", count_, " (", line,
                               ") : expected at least ", highest + 1, " got ", columns.size());
      }
    }
    keys_.push_back(field(line, columns, file_.key_index, type_.key));
    values_.push_back(field(line, columns, file_.value_index, type_.value));
    ++count_;
  }

  Field field(const std::string& line, const std::vector<std::string>& columns, std::int64_t index, DType dtype) {
    if (index == TextFileTable::kLineNumber) return std::to_string(count_ + file_.offset);
    const std::string& token = index == TextFileTable::kWholeLine ? line : columns[index];
    check_number(token, dtype);
    return token;
  }

  void check_number(const std::string& token, DType dtype) const {
    bool valid = true;
    switch (dtype) {
      case DType::kInt32:
        valid = parse<std::int32_t>(token).has_value();
        break;
      case DType::kInt64:
        valid = parse<std::int64_t>(token).has_value();
        break;
      case DType::kFloat:
      case DType::kDouble:
        valid = parse<double>(token).has_value();
        break;
      case DType::kString:
        break;
      default:
        throw invalid_argument("Data type ", kernel_type_name(dtype), " not supported.");
    }
    if (!valid) {
      throw invalid_argument("Field ", token, " in line ", count_, " is not a valid ", kernel_type_name(dtype), ".");
    }
  }

  template <class T>
  static std::optional<T> parse(std::string_view token) {
    const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
    while (!token.empty() && is_space(token.front())) token.remove_prefix(1);
    while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
    if (!token.empty() && token.front() == '+') token.remove_prefix(1);
    T value{};
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
    return value;
  }

  static Tensor column(const std::vector<Field>& fields, DType dtype) {
    const auto n = static_cast<std::int64_t>(fields.size());
    Tensor tensor(dtype, {n});
    for (std::int64_t i = 0; i < n; ++i) {
      const Field& field = fields[i];
      if (dtype == DType::kString) tensor.data<std::string>()[i] = field;
      if (dtype == DType::kInt32) tensor.data<std::int32_t>()[i] = parse<std::int32_t>(field).value_or(0);
      if (dtype == DType::kInt64) tensor.data<std::int64_t>()[i] = parse<std::int64_t>(field).value_or(0);
      if (dtype == DType::kFloat) tensor.data<float>()[i] = static_cast<float>(parse<double>(field).value_or(0));
      if (dtype == DType::kDouble) tensor.data<double>()[i] = parse<double>(field).value_or(0);
    }
    return tensor;
  }

  const TextFileTable& file_;
  const LookupTable::Type& type_;
  std::int64_t count_ = 0, position_ = 0;
  std::vector<Field> keys_, values_;
};

void check_columns(const TextFileTable& file, const LookupTable::Type& type) {
  const auto text_or_integer = [](DType t) { return t == DType::kString || is_integer(t); };
  if (file.key_index == TextFileTable::kLineNumber && type.key != DType::kInt64) {
    throw invalid_argument("Key index for line number requires table key dtype of int64, got ",
                           kernel_type_name(type.key));
  }
  if (file.key_index == TextFileTable::kWholeLine && !text_or_integer(type.key)) {
    throw invalid_argument("Key index for whole line requires string or integer table key, got ",
                           kernel_type_name(type.key));
  }
  if (file.value_index == TextFileTable::kLineNumber && type.value != DType::kInt64) {
    throw invalid_argument("Value index for line number requires table value dtype of int64, got ",
                           kernel_type_name(type.value));
  }
  if (file.value_index == TextFileTable::kWholeLine && !text_or_integer(type.value)) {
    throw invalid_argument("Value index for whole line requires table value dtype of integer or string, got ",
                           kernel_type_name(type.value));
  }
}

}  // namespace

// ---- What all tables check

std::string LookupTable::describe() const {
  return "table of " + kernel_type_name(type_.key) + " to " + kernel_type_name(type_.value);
}

Error LookupTable::not_initializable() const { return invalid_argument("the ", describe(), " is not initializable"); }

void LookupTable::check_keys(const Tensor& keys) const {
  if (keys.dtype() != type_.key) {
    throw invalid_argument("Key must be type ", kernel_type_name(type_.key), " but got ",
                           kernel_type_name(keys.dtype()));
  }
  const int rank = type_.key_shape.rank();
  if (keys.rank() < rank || !std::ranges::equal(keys.shape().dims().last(rank), type_.key_shape.dims())) {
    throw invalid_argument("Input key shape ", keys.shape(), " must end with the table's key shape ", type_.key_shape);
  }
}

Shape LookupTable::values_shape(const Tensor& keys) const {
  return joined(keys.shape().dims().first(keys.rank() - type_.key_shape.rank()), type_.value_shape);
}

void LookupTable::check_entries(const Tensor& keys, const Tensor& values) const {
  if (values.dtype() != type_.value) {
    throw invalid_argument("Value must be type ", kernel_type_name(type_.value), " but got ",
                           kernel_type_name(values.dtype()));
  }
  check_keys(keys);
  if (values.shape() != values_shape(keys)) {
    throw invalid_argument("Expected shape ", values_shape(keys), " for value, got ", values.shape());
  }
}

void LookupTable::check_find(const Tensor& keys, const Tensor& defaults) const {
  if (defaults.dtype() != type_.value) {
    throw invalid_argument("Value must be type ", kernel_type_name(type_.value), " but got ",
                           kernel_type_name(defaults.dtype()));
  }
  check_keys(keys);
  const Shape all = values_shape(keys);
  if (defaults.shape() != type_.value_shape && defaults.shape() != all) {
    throw invalid_argument("Expected shape ", type_.value_shape, " or ", all, " for default value, got ",
                           defaults.shape());
  }
}

std::shared_ptr<LookupTable> make_hash_table(const LookupTable::Type& type, bool filled_once) {
  return std::make_shared<HashTable>(type, filled_once);
}

void initialize_from_text(Env& env, const TextFileTable& file, LookupTable& table) {
  check_columns(file, table.type());
  LineReader reader(file, table.type());
  reader.read(read_file(env, file.path));
  try {
    table.initialize(reader.keys(), reader.values());
  } catch (const Error& error) {
    if (error.code() != Code::kFailedPrecondition || !table.is_initialized()) throw;
  }
}

}  // namespace caudal::inline v0
