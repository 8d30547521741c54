// What a TensorArray handle names: tensors of one type by number, each written once and read, as a rule, once.
//
// A gradient array adds what is written to one place several times, and gives zeros of the right shape where nothing
// was written. Lives as long as its handle, gradient arrays as long as their array. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "caudal/base/thread_pool.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class TensorArrayStorage final : public Resource {
 public:
  struct Config {
    std::string name;  // "forward_7", for messages
    DType dtype = DType::kInvalid;
    std::int32_t size = 0;
    PartialShape element_shape;
    bool identical_element_shapes = false;  // the first write decides the shape of all
    bool dynamic_size = false;              // a write beyond the end makes the array longer
    bool clear_after_read = true;           // a read frees the element
    bool is_grad = false;                   // writes add up; reads of nothing are zeros
    std::int32_t marked_size = -1;          // of a gradient array: how many elements its array was unpacked into
  };
  explicit TensorArrayStorage(Config config);

  std::string describe() const override;
  const std::string& name() const { return config_.name; }
  DType dtype() const { return config_.dtype; }

  // All of these throw INVALID_ARGUMENT, in TensorFlow's words, for a closed array and for what the arguments get
  // wrong. The values are kept: no step memory.
  void write(ThreadPool& pool, std::span<const std::int32_t> indices, std::span<const Tensor> values);
  std::vector<Tensor> read(std::span<const std::int32_t> indices);
  std::int32_t size() const;
  // The number of elements that Pack and Concat take.
  std::int32_t pack_size() const;
  void set_marked_size(std::int32_t size);
  bool has_dynamic_size() const;
  // Says more of the shape of the elements.
  void merge_element_shape(const PartialShape& shape);
  void close();

  // The gradient array of this array for one call of gradients(), made by the first who asks; from then on this array
  // does not grow. `prepend` are sizes that its elements have in front of this array's.
  std::shared_ptr<TensorArrayStorage> gradient(const std::string& source, const Shape& prepend);

 private:
  struct Element {
    Tensor tensor;  // invalid: zeros of `shape`
    Shape shape;
    bool written = false;
    bool read = false;
    bool cleared = false;
    bool own_sum = false;  // the tensor is a sum that was made here
  };

  void check_open() const;
  void write_one(ThreadPool& pool, std::int32_t index, const Tensor& value);
  void check_value(std::int32_t index, const Tensor& value);
  void add(ThreadPool& pool, std::int32_t index, const Tensor& value);
  Tensor read_one(std::int32_t index);
  // Makes an element that was never written readable as zeros.
  void assume_zeros(std::int32_t index, Element& element);
  std::unordered_map<std::int32_t, Element> zeros_like_elements(const Shape& prepend) const;

  mutable std::mutex mutex_;
  Config config_;
  bool closed_ = false;
  bool summed_ = false;  // some place was written twice: no gradient any more
  std::int32_t size_;
  std::unordered_map<std::int32_t, Element> elements_;  // that were touched: a large size alone costs nothing
  std::map<std::string, std::shared_ptr<TensorArrayStorage>> gradients_;
};

}  // namespace caudal::inline v0
