// Parts of data sets: training, validation and test rows; folds of a cross-validation; checks before training.
//
//   auto sets = data::split(all, 5000, 10000, {.seed = 42});                      // the rest is for training
//   auto result = data::cross_validate(sets.train, 5, [&](const data::Fold& fold, int) { return accuracy(fold); });
//   result.mean; result.deviation;
//
// Orders are fixed by the seed on every machine. Errors: INVALID_ARGUMENT in the one form. Thread safety: functions of
// their arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/data/dataset.h"

namespace caudal::inline v0::data {

struct SplitOptions {
  bool shuffle = true;  // false: parts of rows that follow one another
  std::uint64_t seed = 0;
};

// So many rows for validation and for the test, the others for training. Throws unless every part that is asked for
// and the training part have rows.
CAUDAL_API DataSets split(const DataSet& rows, std::int64_t validation, std::int64_t test,
                          const SplitOptions& options = {});
// The same with each class (a whole number as label, one per row) in each part as often as among all rows, up to
// rounding.
CAUDAL_API DataSets stratified_split(const DataSet& rows, std::int64_t validation, std::int64_t test,
                                     const SplitOptions& options = {});

// Rows `indices`, in that order. Throws for an index that is none.
CAUDAL_API DataSet select(const DataSet& rows, const std::vector<std::int64_t>& indices);

struct Fold {
  DataSet train, validation;
};
struct FoldOptions {
  bool shuffle = true;
  std::uint64_t seed = 0;
  bool stratified = false;  // each class in each fold as often as among all rows
};
// Every row is in the validation part of exactly one of the `k` folds; sizes differ by one at most. Throws unless
// 2 <= k <= the number of rows.
CAUDAL_API std::vector<Fold> k_fold(const DataSet& rows, int k, const FoldOptions& options = {});

struct CrossValidation {
  std::vector<double> scores;      // of the folds
  double mean = 0, deviation = 0;  // deviation: of the sample (n - 1)
};
// Trains and scores once per fold.
CAUDAL_API CrossValidation cross_validate(const DataSet& rows, int k,
                                          const std::function<double(const Fold& fold, int number)>& score,
                                          const FoldOptions& options = {});

struct CheckOptions {
  std::int64_t num_classes = 0;  // labels are 0 .. num_classes - 1; 0: labels are numbers of any kind
  bool allow_nan = false;
};
// What is wrong with the rows before anything is trained on them: none at all, features that are no finite numbers
// (with the row), labels of another type than whole numbers or out of range (with the row and the label).
CAUDAL_API void check(const DataSet& rows, const CheckOptions& options = {});

}  // namespace caudal::inline v0::data
