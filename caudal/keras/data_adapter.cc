#include "caudal/keras/data_adapter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "caudal/base/error.h"
#include "caudal/base/strings.h"

namespace caudal::inline v0::keras {
namespace {

std::vector<Tensor> rows_of(const std::vector<Tensor>& values, std::int64_t begin, std::int64_t end) {
  std::vector<Tensor> out;
  for (const Tensor& value : values) out.push_back(value.valid() ? value.rows(begin, end) : value);
  return out;
}

Tensor gathered(const Tensor& value, const std::int64_t* indices, std::int64_t count) {
  if (!value.valid()) return value;
  Tensor out(value.dtype(), value.shape().with_dim(0, count));
  const std::int64_t width = value.dim(0) == 0 ? 0 : value.num_elements() / value.dim(0);
  if (value.dtype() == string) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(value.data<std::string>() + indices[i] * width, width, out.data<std::string>() + i * width);
    }
    return out;
  }
  const std::size_t bytes = static_cast<std::size_t>(width) * dtype_size(value.dtype());
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out.raw() + static_cast<std::size_t>(i) * bytes,
                value.raw() + static_cast<std::size_t>(indices[i]) * bytes, bytes);
  }
  return out;
}

void check_length(const Tensor& value, std::int64_t rows, const std::string& what) {
  if (value.rank() < 1) throw invalid_argument(what, " is ", value.describe(), ", a first dimension of rows is wanted");
  if (value.dim(0) != rows) {
    throw invalid_argument(what, " has ", value.dim(0), " rows, the first input ", rows)
        .hint("All inputs, labels and weights must have as many rows.");
  }
}

std::string numbered(const char* what, std::size_t i, std::size_t count) {
  return count == 1 ? std::string(what) : std::string(what) + " " + std::to_string(i);
}

template <class T>
void check_finite(const Tensor& value, const std::string& what) {
  const auto numbers = value.flat<T>();
  const auto bad = std::ranges::find_if(numbers, [](T v) { return !std::isfinite(static_cast<double>(v)); });
  if (bad == numbers.end()) return;
  const std::int64_t width = value.num_elements() / value.dim(0);
  throw invalid_argument(what, " holds ", static_cast<double>(*bad), " in row ", (bad - numbers.begin()) / width)
      .hint("Remove or replace such values.");
}

void check_finite(const Tensor& value, const std::string& what) {
  if (!value.valid() || value.num_elements() == 0) return;
  if (value.dtype() == float32) check_finite<float>(value, what);
  if (value.dtype() == float64) check_finite<double>(value, what);
}

// Labels as whole numbers; empty where they are none.
std::vector<std::int64_t> class_numbers(const Tensor& y) {
  if (is_integer(y.dtype())) return y.to_int64s();
  std::vector<std::int64_t> out;
  if (y.dtype() == float32) {
    for (const float v : y.flat<float>()) out.push_back(static_cast<std::int64_t>(v));
  }
  return out;
}

void check_classes(const Tensor& y, std::int64_t classes, const std::string& output) {
  if (y.dtype() == float32) {
    const auto numbers = y.flat<float>();
    const auto part = std::ranges::find_if(numbers, [](float v) { return v != std::floor(v); });
    if (part != numbers.end()) {
      throw invalid_argument("label ", *part, " of output '", output, "' is no class number")
          .hint("This loss takes whole numbers; for probabilities use \"categorical_crossentropy\".");
    }
  }
  if (classes < 0) return;
  const std::vector<std::int64_t> labels = class_numbers(y);
  const auto bad = std::ranges::find_if(labels, [&](std::int64_t l) { return l < 0 || l >= classes; });
  if (bad == labels.end()) return;
  const std::int64_t width = std::max<std::int64_t>(1, y.num_elements() / std::max<std::int64_t>(1, y.dim(0)));
  throw invalid_argument("label ", *bad, " in row ", (bad - labels.begin()) / width, ", but output '", output, "' has ",
                         classes, " classes: 0 to ", classes - 1)
      .hint("Give the last layer more units, or number the classes from 0.");
}

// The class of each row: a class number, or the place of the greatest of one-hot labels.
std::vector<std::int64_t> classes_of(const Tensor& y) {
  const std::int64_t rows = y.dim(0);
  const std::int64_t width = rows == 0 ? 0 : y.num_elements() / rows;
  if (width == 1) return class_numbers(y);
  if (y.rank() != 2) throw invalid_argument("class_weight needs one label per row, the labels are ", y.describe());
  const Tensor numbers = converted(y, float32);
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* row = numbers.data<float>() + i * width;
    out.push_back(std::max_element(row, row + width) - row);
  }
  return out;
}

}  // namespace

Rows Rows::part(std::int64_t begin, std::int64_t end) const {
  return {rows_of(x, begin, end), rows_of(y, begin, end), rows_of(weights, begin, end)};
}

FitBatch Rows::batch(std::int64_t begin, std::int64_t end) const {
  return {rows_of(x, begin, end), rows_of(y, begin, end), rows_of(weights, begin, end)};
}

FitBatch Rows::gather(const std::int64_t* indices, std::int64_t count) const {
  FitBatch batch;
  for (const Tensor& value : x) batch.x.push_back(gathered(value, indices, count));
  for (const Tensor& value : y) batch.y.push_back(gathered(value, indices, count));
  for (const Tensor& value : weights) batch.weights.push_back(gathered(value, indices, count));
  return batch;
}

Rows make_rows(const Arrays& x, const Arrays& y, const Arrays& sample_weight, std::size_t outputs) {
  if (x.empty() || !x[0].valid()) throw invalid_argument("there are no data: x is empty");
  if (x[0].rank() < 1) throw invalid_argument("x is ", x[0].describe(), ", a first dimension of rows is wanted");
  const std::int64_t count = x[0].dim(0);
  if (count == 0) throw invalid_argument("there are no data: x is ", x[0].describe());
  Rows rows{x, y, {}};
  for (std::size_t i = 0; i < x.size(); ++i) check_length(x[i], count, numbered("input", i, x.size()));
  for (std::size_t i = 0; i < y.size(); ++i) check_length(y[i], count, numbered("labels", i, y.size()));
  if (sample_weight.empty()) return rows;
  if (sample_weight.size() != 1 && sample_weight.size() != outputs) {
    throw invalid_argument(sample_weight.size(), " sample weights for ", outputs, " outputs")
        .hint("Give one for all outputs, or one for each.");
  }
  for (std::size_t i = 0; i < std::max<std::size_t>(outputs, 1); ++i) {
    rows.weights.push_back(sample_weight[sample_weight.size() == 1 ? 0 : i]);
    if (rows.weights[i].valid()) check_length(rows.weights[i], count, numbered("sample_weight", i, outputs));
  }
  return rows;
}

void check_values(const Rows& rows, ModelCore& core) {
  const std::vector<std::string> inputs = core.input_names(), outputs = core.output_names();
  const auto name = [](const std::vector<std::string>& names, std::size_t i) {
    return i < names.size() ? "'" + names[i] + "'" : std::to_string(i);
  };
  for (std::size_t i = 0; i < rows.x.size(); ++i) check_finite(rows.x[i], "input " + name(inputs, i));
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    check_finite(rows.y[i], "labels of output " + name(outputs, i));
    const auto& losses = core.training()->options().loss;
    if (losses.empty() || i >= outputs.size()) continue;
    const Loss& loss = losses[losses.size() == 1 ? 0 : std::min(i, losses.size() - 1)];
    const PartialShape& shape = core.outputs()[i].shape();
    if (loss.is_sparse() && shape.has_rank() && shape.rank() > 0) check_classes(rows.y[i], shape[-1], outputs[i]);
  }
  for (const Tensor& weight : rows.weights) check_finite(weight, "sample_weight");
}

void apply_class_weight(Rows& rows, const std::map<std::int64_t, double>& class_weight) {
  if (class_weight.empty()) return;
  if (rows.y.size() != 1) {
    throw invalid_argument("class_weight is for models with one output, this one has ", rows.y.size())
        .hint("Give sample_weight for each output instead.");
  }
  const std::vector<std::int64_t> classes = classes_of(rows.y[0]);
  const std::set<std::int64_t> present(classes.begin(), classes.end());
  for (const auto& [label, weight] : class_weight) {
    if (present.contains(label)) continue;
    std::vector<std::string> names;
    for (const std::int64_t c : present) {
      if (names.size() == 20) {
        names.emplace_back("...");
        break;
      }
      names.push_back(std::to_string(c));
    }
    throw invalid_argument("class_weight has a weight for class ", label, ", but no label is ", label)
        .hint("The labels name the classes " + join(names, ", ") + ".");
  }
  Tensor weights(float32, Shape({rows.count()}));
  float* to = weights.data<float>();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto found = class_weight.find(classes[i]);
    to[i] = found == class_weight.end() ? 1.0F : static_cast<float>(found->second);
  }
  if (!rows.weights.empty() && rows.weights[0].valid()) {
    const Tensor given = converted(rows.weights[0], float32);
    if (given.rank() != 1) throw invalid_argument("class_weight goes with one sample weight per row");
    for (std::int64_t i = 0; i < rows.count(); ++i) to[i] *= given.data<float>()[i];
  }
  rows.weights = {weights};
}

}  // namespace caudal::inline v0::keras
