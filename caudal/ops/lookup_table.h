// Tables that map keys to values: what the lookup ops work on.
//
// A key has shape key_shape() (a scalar, or a vector in dense tables), a value value_shape(). All functions take many
// at once, keys of shape [..., key_shape] and values of shape [..., value_shape], and throw INVALID_ARGUMENT for types
// and shapes that do not fit. Ownership: in a resource container. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class LookupTable : public Resource {
 public:
  struct Type {
    DType key = DType::kInvalid;
    DType value = DType::kInvalid;
    Shape key_shape, value_shape;
  };
  explicit LookupTable(Type type) : type_(std::move(type)) {}

  const Type& type() const { return type_; }
  std::string describe() const override;

  virtual std::int64_t size() const = 0;
  // The values of `keys` into `values`; `defaults` (one value, or one for each key) for those that are not there.
  virtual void find(const Tensor& keys, const Tensor& defaults, Tensor& values) const = 0;
  virtual void insert(const Tensor& keys, const Tensor& values) = 0;
  virtual void remove(const Tensor& keys) = 0;
  // These entries in place of all others.
  virtual void import_all(const Tensor& keys, const Tensor& values) = 0;
  virtual std::pair<Tensor, Tensor> export_all() const = 0;
  // Fills a table that is filled once. Throws INVALID_ARGUMENT for the others.
  virtual void initialize(const Tensor& keys, const Tensor& values) = 0;
  virtual bool is_initialized() const { return true; }

  // The shape of the values of `keys`.
  Shape values_shape(const Tensor& keys) const;
  void check_find(const Tensor& keys, const Tensor& defaults) const;
  virtual void check_entries(const Tensor& keys, const Tensor& values) const;
  virtual void check_import(const Tensor& keys, const Tensor& values) const { check_entries(keys, values); }
  void check_keys(const Tensor& keys) const;

 protected:
  Error not_initializable() const;

 private:
  const Type type_;
};

// Of scalars to scalars or to vectors. One that is `filled_once` has no entries until initialize() and the same ones
// ever after.
std::shared_ptr<LookupTable> make_hash_table(const LookupTable::Type& type, bool filled_once);

struct DenseTableOptions {
  Tensor empty_key;                  // keys that no entry may have
  Tensor deleted_key;                // invalid for tables without one
  std::int64_t initial_buckets = 0;  // a power of two, at least 4
  float max_load = 0.8F;
};
// Open addressing in TensorFlow's order, so that what one library exports the other imports.
std::shared_ptr<LookupTable> make_dense_table(const LookupTable::Type& type, const DenseTableOptions& options);

// What a line of a text file gives: its number, the whole of it, or one of its columns.
struct TextFileTable {
  static constexpr std::int64_t kWholeLine = -2;
  static constexpr std::int64_t kLineNumber = -1;
  std::string path;
  std::int64_t key_index = 0, value_index = 0;
  std::int64_t vocab_size = -1;  // how many lines to take; -1 for all
  char delimiter = '\t';
  std::int64_t offset = 0;  // added to line numbers
};
class Env;
// Fills a table, unless it is filled already. Throws INVALID_ARGUMENT for lines that do not fit, NOT_FOUND without the
// file.
void initialize_from_text(Env& env, const TextFileTable& file, LookupTable& table);

}  // namespace caudal::inline v0
