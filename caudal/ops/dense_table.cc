// The dense hash table: keys in buckets with quadratic probing, by the hash functions of TensorFlow, whose exported
// buckets are the format of checkpoints.
#include <algorithm>
#include <cstring>
#include <shared_mutex>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/ops/lookup_table.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/string_hash.h"

namespace caudal::inline v0 {
namespace {

std::uint64_t combine(std::uint64_t a, std::uint64_t b) {
  return a ^ (b + 0x9e3779b97f4a7800ULL + (a << 10) + (a >> 4));
}

std::uint64_t hash_element(const Tensor& keys, std::int64_t i) {
  switch (keys.dtype()) {
    case DType::kString:
      return murmur_hash(keys.data<std::string>()[i]);
    case DType::kInt32:
      return static_cast<std::uint64_t>(std::int64_t{keys.data<std::int32_t>()[i]});
    case DType::kInt64:
      return static_cast<std::uint64_t>(keys.data<std::int64_t>()[i]);
    default:
      throw unimplemented("no dense table with keys of type ", keys.dtype());
  }
}

class DenseTable final : public LookupTable {
 public:
  DenseTable(const Type& type, const DenseTableOptions& options)
      : LookupTable(type),
        key_size_(type.key_shape.num_elements()),
        value_size_(type.value_shape.num_elements()),
        max_load_(options.max_load),
        empty_(options.empty_key.keep()),
        deleted_(options.deleted_key.valid() ? options.deleted_key.keep() : Tensor()) {
    if (deleted_.valid() && same_key(empty_, 0, deleted_, 0)) {
      throw invalid_argument("Empty and deleted keys cannot be equal");
    }
    make_buckets(options.initial_buckets);
  }

  std::int64_t size() const override {
    std::shared_lock lock(mutex_);
    return entries_;
  }

  void find(const Tensor& keys, const Tensor& defaults, Tensor& values) const override {
    const std::int64_t n = count(keys);
    const std::int64_t bytes = value_size_ * static_cast<std::int64_t>(dtype_size(type().value));
    const bool one_each = n > 1 && defaults.num_elements() == values.num_elements();
    std::shared_lock lock(mutex_);
    for (std::int64_t i = 0; i < n; ++i) {
      check_usable(keys, i);
      const std::int64_t bucket = probe(keys, i, false);
      const char* from = same_key(keys_, bucket, keys, i) ? values_.raw() + bucket * bytes
                                                          : defaults.raw() + (one_each ? i * bytes : 0);
      copy_elements(type().value, from, values.raw() + i * bytes, value_size_);
    }
  }

  void insert(const Tensor& keys, const Tensor& values) override {
    std::unique_lock lock(mutex_);
    const std::int64_t wanted = entries_ + count(keys);
    std::int64_t buckets = keys_.dim(0);
    while (static_cast<float>(wanted) > static_cast<float>(buckets) * max_load_) buckets *= 2;
    if (buckets != keys_.dim(0)) {
      const Tensor old_keys = keys_, old_values = values_;
      make_buckets(buckets);
      put_all(old_keys, old_values, true);
    }
    put_all(keys, values, false);
  }

  void remove(const Tensor& keys) override {
    if (!deleted_.valid()) throw unimplemented("this table has no key that marks deleted entries");
    std::unique_lock lock(mutex_);
    for (std::int64_t i = 0; i < count(keys); ++i) {
      check_usable(keys, i);
      const std::int64_t bucket = probe(keys, i, false);
      if (!same_key(keys_, bucket, keys, i)) continue;
      copy(deleted_, 0, keys_, bucket, key_size_);
      --entries_;
    }
  }

  void check_import(const Tensor& keys, const Tensor& values) const override {
    if (keys.dtype() != type().key || values.dtype() != type().value) return check_entries(keys, values);
    const std::int64_t buckets = keys.rank() > 0 ? keys.dim(0) : 0;
    if (keys.shape() != Shape{buckets, key_size_} || values.shape() != Shape{buckets, value_size_}) {
      throw invalid_argument("Expected shape ", Shape{buckets, value_size_}, " for value, got ", values.shape(),
                             ", with keys of shape ", keys.shape());
    }
    if (buckets < 4 || (buckets & (buckets - 1)) != 0) {
      throw invalid_argument("Number of buckets must be at least 4 and a power of 2, got: ", buckets);
    }
  }

  void import_all(const Tensor& keys, const Tensor& values) override {
    std::unique_lock lock(mutex_);
    keys_ = keys.clone();
    values_ = values.clone();
    entries_ = 0;
    for (std::int64_t i = 0; i < keys_.dim(0); ++i) entries_ += is_entry(keys_, i) ? 1 : 0;
  }

  std::pair<Tensor, Tensor> export_all() const override {
    std::shared_lock lock(mutex_);
    return {keys_.clone(), values_.clone()};
  }

  void initialize(const Tensor&, const Tensor&) override { throw not_initializable(); }

 private:
  std::int64_t count(const Tensor& keys) const {
    const std::int64_t n = keys.rank() == 0 ? 1 : keys.dim(0);
    if (keys.num_elements() != n * key_size_) {
      const Shape wanted = type().key_shape.insert(0, n);
      throw invalid_argument("Expected key shape ", wanted, " got ", keys.shape());
    }
    return n;
  }

  std::uint64_t hash(const Tensor& keys, std::int64_t i) const {
    if (key_size_ == 1) return hash_element(keys, i);
    std::uint64_t hash = 0;
    for (std::int64_t j = 0; j < key_size_; ++j) hash = combine(hash, hash_element(keys, i * key_size_ + j));
    return hash;
  }

  bool same_key(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) const {
    if (a.dtype() == DType::kString) {
      const auto* x = a.data<std::string>() + i * key_size_;
      return std::equal(x, x + key_size_, b.data<std::string>() + j * key_size_);
    }
    const auto bytes = key_size_ * static_cast<std::int64_t>(dtype_size(a.dtype()));
    return std::memcmp(a.raw() + i * bytes, b.raw() + j * bytes, bytes) == 0;
  }

  bool is_empty(const Tensor& keys, std::int64_t i) const { return same_key(keys, i, empty_, 0); }
  bool is_deleted(const Tensor& keys, std::int64_t i) const {
    return deleted_.valid() && same_key(keys, i, deleted_, 0);
  }
  bool is_entry(const Tensor& keys, std::int64_t i) const { return !is_empty(keys, i) && !is_deleted(keys, i); }

  void check_usable(const Tensor& keys, std::int64_t i) const {
    if (is_empty(keys, i)) throw invalid_argument("Using the empty_key as a table key is not allowed");
    if (is_deleted(keys, i)) throw invalid_argument("Using the deleted_key as a table key is not allowed");
  }

  // The bucket of key i, or the empty one where the search ends; for writing also one whose entry was deleted.
  std::int64_t probe(const Tensor& keys, std::int64_t i, bool to_write) const {
    const std::int64_t buckets = keys_.dim(0);
    auto bucket = static_cast<std::int64_t>(hash(keys, i) & static_cast<std::uint64_t>(buckets - 1));
    for (std::int64_t step = 1; step <= buckets; ++step) {
      if (same_key(keys_, bucket, keys, i) || is_empty(keys_, bucket)) return bucket;
      if (to_write && is_deleted(keys_, bucket)) return bucket;
      bucket = (bucket + step) & (buckets - 1);
    }
    throw internal_error("a dense table is full");
  }

  void copy(const Tensor& from, std::int64_t i, Tensor& to, std::int64_t j, std::int64_t elements) const {
    const auto bytes = elements * static_cast<std::int64_t>(dtype_size(to.dtype()));
    copy_elements(to.dtype(), from.raw() + i * bytes, to.raw() + j * bytes, elements);
  }

  void put_all(const Tensor& keys, const Tensor& values, bool only_entries) {
    const std::int64_t n = only_entries ? keys.dim(0) : count(keys);
    for (std::int64_t i = 0; i < n; ++i) {
      if (only_entries && !is_entry(keys, i)) continue;
      check_usable(keys, i);
      const std::int64_t bucket = probe(keys, i, true);
      if (!same_key(keys_, bucket, keys, i)) {
        ++entries_;
        copy(keys, i, keys_, bucket, key_size_);
      }
      copy(values, i, values_, bucket, value_size_);
    }
  }

  void make_buckets(std::int64_t buckets) {
    if (buckets < 4 || (buckets & (buckets - 1)) != 0) {
      throw invalid_argument("Number of buckets must be at least 4 and a power of 2, got: ", buckets);
    }
    Tensor keys(type().key, {buckets, key_size_});
    for (std::int64_t i = 0; i < buckets; ++i) copy(empty_, 0, keys, i, key_size_);
    values_ = Tensor::zeros(type().value, {buckets, value_size_});
    keys_ = std::move(keys);
    entries_ = 0;
  }

  const std::int64_t key_size_, value_size_;
  const float max_load_;
  const Tensor empty_, deleted_;
  mutable std::shared_mutex mutex_;
  std::int64_t entries_ = 0;
  Tensor keys_, values_;
};

}  // namespace

std::shared_ptr<LookupTable> make_dense_table(const LookupTable::Type& type, const DenseTableOptions& options) {
  if (!(options.max_load > 0 && options.max_load < 1)) {
    throw invalid_argument("max_load_factor must be between 0 and 1, got: ", options.max_load);
  }
  if (type.value_shape.rank() > 1) {
    throw invalid_argument("Empty value must be a scalar or a vector, got shape ", type.value_shape);
  }
  if (type.key_shape.rank() > 1) {
    throw invalid_argument("Empty key must be a scalar or a vector, got shape ", type.key_shape);
  }
  if (options.deleted_key.valid() && options.deleted_key.shape() != type.key_shape) {
    throw invalid_argument("Empty and deleted keys must have same shape, got shapes: ", type.key_shape, " and ",
                           options.deleted_key.shape());
  }
  return std::make_shared<DenseTable>(type, options);
}

}  // namespace caudal::inline v0
