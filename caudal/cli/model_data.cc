#include "caudal/cli/model_data.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "caudal/base/env.h"
#include "caudal/base/error.h"
#include "caudal/base/strings.h"
#include "caudal/data/dataset.h"
#include "caudal/formats/example.h"
#include "caudal/formats/npy.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/keras/backend.h"

namespace caudal::inline v0::cli {
namespace {

Tensor as_features(const Tensor& value, bool keep_bytes) {
  if (value.dtype() == DType::kUint8) {
    Tensor out(float32, value.shape());
    const float factor = keep_bytes ? 1.0F : 1.0F / 255.0F;
    const std::uint8_t* from = value.data<std::uint8_t>();
    float* to = out.data<float>();
    for (std::int64_t i = 0; i < value.num_elements(); ++i) to[i] = static_cast<float>(from[i]) * factor;
    return out;
  }
  if (value.dtype() == float64) return keras::converted(value, float32);
  return value;
}

// Labels that are whole numbers in a column of a float type are class numbers.
Tensor as_labels(const Tensor& value) {
  if (is_integer(value.dtype())) return keras::converted(value, int64);
  if (value.dtype() == float64) return keras::converted(value, float32);
  return value;
}

// --- Directories of idx files ---

ModelData load_directory(const DataOptions& o) {
  const data::DataSets sets = data::load_idx(o.path, {.validation_size = 0});
  if (o.part != "train" && o.part != "test") {
    throw invalid_argument("--part '", o.part, "': there are \"train\" and \"test\"");
  }
  const data::DataSet& set = o.part == "test" ? sets.test : sets.train;
  return {{as_features(set.features(), o.keep_bytes)}, set.labels(), internal::concat(set.size(), " pictures")};
}

// --- CSV ---

// The fields of a line; quotes may hold commas, doubled quotes are quotes.
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

bool parse_number(std::string_view text, double* value) {
  text = trim(text);
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return code == std::errc() && end == text.data() + text.size();
}

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> values;                  // by column
  std::map<std::size_t, std::vector<std::string>> classes;  // of columns of words: the words in order of appearance
};

class CsvReader {
 public:
  explicit CsvReader(const DataOptions& o) : o_(o) {}

  Table read() {
    const std::string bytes = read_file(default_env(), o_.path);
    std::size_t at = 0;
    while (at < bytes.size()) {
      std::size_t end = bytes.find('\n', at);
      if (end == std::string::npos) end = bytes.size();
      ++line_;
      const std::string_view line = std::string_view(bytes).substr(at, end - at);
      if (!trim(line).empty()) add(csv_fields(line));
      at = end + 1;
    }
    if (table_.columns.empty() || table_.values[0].empty()) throw invalid_argument("'", o_.path, "' has no rows");
    return std::move(table_);
  }

 private:
  void add(const std::vector<std::string>& fields) {
    if (table_.columns.empty()) {
      table_.values.resize(fields.size());
      double number = 0;
      bool header = true;
      for (const std::string& field : fields) header = header && !parse_number(field, &number);
      for (std::size_t i = 0; i < fields.size(); ++i) {
        table_.columns.push_back(header ? std::string(trim(fields[i])) : std::to_string(i));
      }
      if (header) return;
    }
    if (fields.size() != table_.columns.size()) {
      throw invalid_argument(o_.path, ":", line_, ": ", fields.size(), " fields, the first line has ",
                             table_.columns.size());
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      double number = 0;
      if (!parse_number(fields[i], &number)) number = word(i, std::string(trim(fields[i])));
      table_.values[i].push_back(number);
    }
  }

  // The number of a word in the column of the labels.
  double word(std::size_t column, const std::string& text) {
    if (table_.columns[column] != o_.label) {
      throw invalid_argument(o_.path, ":", line_, ": column '", table_.columns[column], "': '", escaped(text, 40),
                             "' is no number")
          .hint("Words can only be labels: name their column with --label.");
    }
    std::vector<std::string>& words = table_.classes[column];
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == text) return static_cast<double>(i);
    }
    words.push_back(text);
    return static_cast<double>(words.size() - 1);
  }

  const DataOptions& o_;
  std::int64_t line_ = 0;
  Table table_;
};

std::size_t column_of(const Table& table, const std::string& name, const std::string& path) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i] == name) return i;
  }
  throw not_found("'", path, "' has no column '", name, "'").hint("It has " + join(table.columns, ", ") + ".");
}

Tensor column_labels(const std::vector<double>& column) {
  const auto rows = static_cast<std::int64_t>(column.size());
  bool whole = true;
  for (const double v : column) whole = whole && v == static_cast<double>(static_cast<std::int64_t>(v));
  if (!whole) return Tensor::from(Shape({rows}), std::vector<float>(column.begin(), column.end()));
  return Tensor::from(Shape({rows}), std::vector<std::int64_t>(column.begin(), column.end()));
}

ModelData load_csv(const DataOptions& o) {
  const Table table = CsvReader(o).read();
  ModelData data;
  std::size_t label = table.columns.size();
  if (o.labels_wanted) {
    const bool named = o.label != "label" || std::ranges::find(table.columns, o.label) != table.columns.end();
    label = named ? column_of(table, o.label, o.path) : table.columns.size() - 1;
    data.y = column_labels(table.values[label]);
  } else if (std::ranges::find(table.columns, o.label) != table.columns.end()) {
    label = column_of(table, o.label, o.path);  // not a feature
  }
  std::vector<std::size_t> chosen;
  for (const std::string& name : o.features) chosen.push_back(column_of(table, name, o.path));
  for (std::size_t i = 0; o.features.empty() && i < table.columns.size(); ++i) {
    if (i != label) chosen.push_back(i);
  }
  const auto rows = static_cast<std::int64_t>(table.values[0].size());
  Tensor x(float32, Shape({rows, static_cast<std::int64_t>(chosen.size())}));
  float* to = x.data<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const std::size_t column : chosen)
      *to++ = static_cast<float>(table.values[column][static_cast<std::size_t>(row)]);
  }
  data.x = {x};
  data.description = internal::concat(rows, " rows of ", chosen.size(), " columns");
  return data;
}

// --- Arrays ---

ModelData load_npy(const DataOptions& o) {
  ModelData data;
  const Tensor x = read_npy(default_env(), o.path);
  data.x = {as_features(x, o.keep_bytes)};
  data.description = x.describe();
  if (!o.labels_wanted) return data;
  if (o.labels.empty()) {
    throw invalid_argument("'", o.path, "' has features only").hint("Give the labels with --labels FILE.npy.");
  }
  data.y = as_labels(read_npy(default_env(), o.labels));
  return data;
}

ModelData load_npz(const DataOptions& o) {
  const NamedTensors members = read_npz(default_env(), o.path);
  std::vector<std::string> names;
  for (const auto& [name, value] : members) names.push_back(name);
  const auto pick = [&](const std::vector<std::string>& candidates) -> const Tensor* {
    for (const std::string& name : candidates) {
      if (const auto found = members.find(name); found != members.end()) return &found->second;
    }
    return nullptr;
  };
  const auto missing = [&](const std::string& name) {
    return not_found("'", o.path, "' has no array '", name, "'").hint("It has " + join(names, ", ") + ".");
  };
  const std::string part = "_" + o.part;
  ModelData data;
  std::vector<std::string> features = o.features;
  if (features.empty()) features.push_back(pick({"x" + part}) != nullptr ? "x" + part : "x");
  for (const std::string& name : features) {
    const Tensor* x = pick({name});
    if (x == nullptr) throw missing(name);
    data.x.push_back(as_features(*x, o.keep_bytes));
  }
  data.description = data.x[0].describe();
  if (!o.labels_wanted) return data;
  const Tensor* y = pick({o.label, "y" + part, "y"});
  if (y == nullptr) throw missing(o.label == "label" ? "y" : o.label);
  data.y = as_labels(*y);
  return data;
}

// --- Records ---

// The values of one feature over all records, row after row.
class FeatureColumn {
 public:
  void add(const Feature& feature, const std::string& where) {
    if (const auto* reals = std::get_if<std::vector<float>>(&feature)) {
      extend(reals->size(), where);
      reals_.insert(reals_.end(), reals->begin(), reals->end());
    } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&feature)) {
      extend(whole->size(), where);
      whole_.insert(whole_.end(), whole->begin(), whole->end());
    } else if (const auto* bytes = std::get_if<std::vector<std::string>>(&feature);
               bytes != nullptr && bytes->size() == 1) {
      is_bytes_ = true;
      extend((*bytes)[0].size(), where);
      for (const char c : (*bytes)[0]) reals_.push_back(static_cast<float>(static_cast<unsigned char>(c)));
    } else {
      throw invalid_argument(where, " has no numbers");
    }
    ++rows_;
  }
  Tensor features(bool keep_bytes) const {
    Tensor out(float32, Shape({rows_, static_cast<std::int64_t>(width_)}));
    float* to = out.data<float>();
    for (const float v : reals_) *to++ = is_bytes_ && !keep_bytes ? v / 255.0F : v;
    for (const std::int64_t v : whole_) *to++ = static_cast<float>(v);
    return out;
  }
  Tensor labels() const {
    const Shape shape = width_ == 1 ? Shape({rows_}) : Shape({rows_, static_cast<std::int64_t>(width_)});
    return whole_.empty() ? Tensor::from(shape, reals_) : Tensor::from(shape, whole_);
  }

 private:
  void extend(std::size_t width, const std::string& where) {
    if (rows_ == 0) width_ = width;
    if (width != width_) throw invalid_argument(where, " has ", width, " values, the first record ", width_);
  }
  std::int64_t rows_ = 0;
  std::size_t width_ = 0;
  bool is_bytes_ = false;
  std::vector<float> reals_;
  std::vector<std::int64_t> whole_;
};

ModelData load_records(const DataOptions& o) {
  RecordReader reader(default_env(), o.path);
  std::map<std::string, FeatureColumn> columns;
  std::vector<std::string> wanted = o.features;
  std::string record;
  std::int64_t count = 0;
  while (reader.next(&record)) {
    const std::string where = internal::concat("'", o.path, "', record ", count);
    Example example;
    try {
      example = parse_example(record);
    } catch (const Error& error) {
      throw error.in(where);
    }
    if (count++ == 0 && wanted.empty()) {
      for (const auto& [name, feature] : example.features) {
        if (name != o.label) wanted.push_back(name);
      }
    }
    std::vector<std::string> names = wanted;
    if (o.labels_wanted) names.push_back(o.label);
    for (const std::string& name : names) {
      const auto found = example.features.find(name);
      if (found == example.features.end()) {
        std::vector<std::string> known;
        for (const auto& [key, feature] : example.features) known.push_back(key);
        throw not_found(where, " has no feature '", name, "'").hint("It has " + join(known, ", ") + ".");
      }
      columns[name].add(found->second, where + ": feature '" + name + "'");
    }
  }
  if (count == 0) throw invalid_argument("'", o.path, "' has no records");
  ModelData data;
  for (const std::string& name : wanted) data.x.push_back(columns[name].features(o.keep_bytes));
  if (o.labels_wanted) data.y = columns[o.label].labels();
  data.description = internal::concat(count, " records");
  return data;
}

}  // namespace

void DataOptions::add_to(Arguments& arguments) {
  arguments.option("data", &path,
                   "directory with idx files (as Fashion-MNIST), or a .csv, .npy, .npz or .tfrecord file");
  arguments.option("labels", &labels, "file with the labels of a .npy file");
  arguments.option("label", &label, "column or feature of the labels; default: \"label\", of csv else the last column");
  arguments.option("feature", &features, "column, array or feature that goes in; may be repeated; default: all others");
  arguments.option("part", &part, "of a directory: train or test");
  arguments.flag("keep-bytes", &keep_bytes, "leave bytes at 0 to 255 instead of 0 to 1");
}

ModelData load_model_data(const DataOptions& o) {
  if (o.path.empty()) throw invalid_argument("there are no data").hint("Give a directory or file with --data.");
  Env& env = default_env();
  if (!env.exists(o.path)) throw not_found("there is no '", o.path, "'").hint("Check the path given with --data.");
  if (env.is_directory(o.path)) return load_directory(o);
  if (o.path.ends_with(".csv")) return load_csv(o);
  if (o.path.ends_with(".npy")) return load_npy(o);
  if (o.path.ends_with(".npz")) return load_npz(o);
  if (o.path.ends_with(".tfrecord") || o.path.ends_with(".tfrecords") || o.path.ends_with(".record")) {
    return load_records(o);
  }
  throw invalid_argument("'", o.path, "': unknown kind of data")
      .hint("Known are directories with idx files, .csv, .npy, .npz and .tfrecord files.");
}

}  // namespace caudal::inline v0::cli
