#include "caudal/data/splits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "caudal/base/error.h"

namespace caudal::inline v0::data {
namespace {

using Rows = std::vector<std::int64_t>;

Rows ordered(std::int64_t n, bool shuffle, std::uint64_t seed) {
  if (shuffle) return permutation(n, seed, 0);
  Rows rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

bool is_integer_type(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
      return true;
    default:
      return false;
  }
}

// The class of each row. Throws unless labels are whole numbers, one per row.
Rows classes_of(const DataSet& rows) {
  const Tensor& labels = rows.labels();
  if (!is_integer_type(labels.dtype()) || labels.num_elements() != rows.size()) {
    throw invalid_argument("labels are ", labels.describe(), "; classes are whole numbers, one per row")
        .hint("Give int32 or int64 class numbers; from one-hot rows take argmax.");
  }
  return labels.to_int64s();
}

// The rows of `order`, by class.
std::map<std::int64_t, Rows> by_class(const DataSet& rows, const Rows& order) {
  const Rows classes = classes_of(rows);
  std::map<std::int64_t, Rows> groups;
  for (const std::int64_t row : order) groups[classes[static_cast<std::size_t>(row)]].push_back(row);
  return groups;
}

void check_sizes(const DataSet& rows, std::int64_t validation, std::int64_t test) {
  if (validation < 0 || test < 0 || validation + test >= rows.size()) {
    throw invalid_argument(validation, " rows for validation and ", test, " for the test leave none of ", rows.size(),
                           " for training");
  }
}

// So many rows of each class that together they are `wanted`, in proportion: the largest remainders are rounded up.
std::map<std::int64_t, std::int64_t> shares(const std::map<std::int64_t, Rows>& groups, std::int64_t wanted) {
  std::int64_t all = 0;
  for (const auto& [label, rows] : groups) all += std::ssize(rows);
  std::map<std::int64_t, std::int64_t> share;
  std::vector<std::pair<double, std::int64_t>> remainders;
  std::int64_t given = 0;
  for (const auto& [label, rows] : groups) {
    const double exact = static_cast<double>(std::ssize(rows)) * static_cast<double>(wanted) / static_cast<double>(all);
    share[label] = static_cast<std::int64_t>(exact);
    given += share[label];
    remainders.emplace_back(static_cast<double>(share[label]) - exact, label);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; given < wanted; ++i, ++given) ++share[remainders[i].second];
  return share;
}

Rows take(Rows& from, std::int64_t count) {
  Rows taken(from.end() - count, from.end());
  from.erase(from.end() - count, from.end());
  return taken;
}

void append(Rows& to, const Rows& more) { to.insert(to.end(), more.begin(), more.end()); }

// The first thing that is no finite number, or -1.
template <class T>
std::int64_t first_bad(const Tensor& values) {
  const T* data = values.data<T>();
  for (std::int64_t i = 0; i < values.num_elements(); ++i) {
    if (!std::isfinite(data[i])) return i;
  }
  return -1;
}

void check_features(const Tensor& features) {
  std::int64_t bad = -1;
  if (features.dtype() == DType::kFloat) bad = first_bad<float>(features);
  if (features.dtype() == DType::kDouble) bad = first_bad<double>(features);
  if (bad < 0) return;
  const std::int64_t width = features.num_elements() / features.dim(0);
  const double value = features.dtype() == DType::kFloat ? static_cast<double>(features.data<float>()[bad])
                                                         : features.data<double>()[bad];
  throw invalid_argument("row ", bad / width, " of the features has ", value, " at position ", bad % width)
      .hint("Drop the row, or put a number there (the column's mean).");
}

}  // namespace

DataSet select(const DataSet& rows, const std::vector<std::int64_t>& indices) {
  for (const std::int64_t row : indices) {
    if (row < 0 || row >= rows.size()) throw invalid_argument("there is no row ", row, " among ", rows.size());
  }
  Batch picked = rows.gather(indices.data(), std::ssize(indices), /*scale_uint8=*/false);
  return DataSet(std::move(picked.features), std::move(picked.labels));
}

DataSets split(const DataSet& rows, std::int64_t validation, std::int64_t test, const SplitOptions& options) {
  check_sizes(rows, validation, test);
  Rows order = ordered(rows.size(), options.shuffle, options.seed);
  const Rows for_test = take(order, test), for_validation = take(order, validation);
  return {select(rows, order), select(rows, for_validation), select(rows, for_test)};
}

DataSets stratified_split(const DataSet& rows, std::int64_t validation, std::int64_t test,
                          const SplitOptions& options) {
  check_sizes(rows, validation, test);
  auto groups = by_class(rows, ordered(rows.size(), options.shuffle, options.seed));
  const auto for_test = shares(groups, test);
  Rows train_rows, validation_rows, test_rows;
  for (auto& [label, group] : groups) append(test_rows, take(group, for_test.at(label)));
  const auto for_validation = shares(groups, validation);
  for (auto& [label, group] : groups) {
    append(validation_rows, take(group, for_validation.at(label)));
    append(train_rows, group);
  }
  if (!options.shuffle) {
    for (Rows* part : {&train_rows, &validation_rows, &test_rows}) std::sort(part->begin(), part->end());
  }
  return {select(rows, train_rows), select(rows, validation_rows), select(rows, test_rows)};
}

std::vector<Fold> k_fold(const DataSet& rows, int k, const FoldOptions& options) {
  if (k < 2 || k > rows.size()) {
    throw invalid_argument(k, " folds of ", rows.size(), " rows").hint("At least two, and at most one per row.");
  }
  const Rows order = ordered(rows.size(), options.shuffle, options.seed);
  std::vector<Rows> parts(static_cast<std::size_t>(k));
  if (options.stratified) {
    // Dealt out like cards, class after class.
    std::size_t next = 0;
    for (const auto& [label, group] : by_class(rows, order)) {
      for (const std::int64_t row : group) parts[next++ % parts.size()].push_back(row);
    }
  } else {
    for (std::size_t f = 0; f < parts.size(); ++f) {
      const auto cut = [&](std::size_t i) {
        return order.begin() + static_cast<std::ptrdiff_t>(order.size() * i / parts.size());
      };
      parts[f].assign(cut(f), cut(f + 1));
    }
  }
  std::vector<Fold> folds;
  for (std::size_t f = 0; f < parts.size(); ++f) {
    Rows train;
    for (std::size_t other = 0; other < parts.size(); ++other) {
      if (other != f) append(train, parts[other]);
    }
    folds.push_back({select(rows, train), select(rows, parts[f])});
  }
  return folds;
}

CrossValidation cross_validate(const DataSet& rows, int k,
                               const std::function<double(const Fold& fold, int number)>& score,
                               const FoldOptions& options) {
  CrossValidation result;
  int number = 0;
  for (const Fold& fold : k_fold(rows, k, options)) result.scores.push_back(score(fold, number++));
  const auto n = static_cast<double>(result.scores.size());
  result.mean = std::accumulate(result.scores.begin(), result.scores.end(), 0.0) / n;
  double squares = 0;
  for (const double each : result.scores) squares += (each - result.mean) * (each - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  return result;
}

void check(const DataSet& rows, const CheckOptions& options) {
  if (rows.size() == 0) throw invalid_argument("the data set is empty: it has no rows");
  if (!options.allow_nan) check_features(rows.features());
  if (options.num_classes <= 0) return;
  const Rows classes = classes_of(rows);
  for (std::size_t row = 0; row < classes.size(); ++row) {
    if (classes[row] >= 0 && classes[row] < options.num_classes) continue;
    throw invalid_argument("row ", row, " has label ", classes[row], "; there are classes 0 to ",
                           options.num_classes - 1);
  }
}

}  // namespace caudal::inline v0::data
