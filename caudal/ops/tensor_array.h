// TensorArray: a list of tensors of one type that a graph fills and reads place by place, mostly in loops.
//
//   tf::TensorArray parts(tf::float32, 3);
//   auto done = parts.write(0, x).write(1, y).write(2, z);
//   auto all = done.stack();                               // [3, ...]
//
// An array lives as long as a step. Every writing function gives a new TensorArray that stands for the array after the
// write: read from that one, else nothing says that the read comes after the write. An element is written once, and
// read once unless clear_after_read is false. Gradients flow through all functions. Ownership: a small handle, valid as
// long as its graph. Thread safety: as building a graph.
#pragma once

#include <memory>
#include <string>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

struct TensorArrayOptions {
  bool dynamic_size = false;      // a write beyond the end makes the array longer
  bool clear_after_read = true;   // a read frees the element; reading it again is an error
  std::string tensor_array_name;  // in messages; default: the node's name
  bool infer_shape = true;        // all elements have the shape of the first one
  PartialShape element_shape;     // what is known of the elements' shape
  std::string name;               // default "TensorArray"
  std::source_location where = std::source_location::current();
};

class CAUDAL_API TensorArray {
 public:
  // size: int32 scalar.
  TensorArray(DType dtype, const Operand& size, const TensorArrayOptions& options = {});
  // An array that is there already; of the options only infer_shape counts.
  TensorArray(DType dtype, const Output& handle, const Output& flow, bool infer_shape = true);

  const Output& handle() const { return handle_; }
  // Orders what happens to the array: what takes it comes after what gave it. Loops carry it from turn to turn.
  const Output& flow() const { return flow_; }
  DType dtype() const { return dtype_; }
  const PartialShape& element_shape() const { return *element_shape_; }
  // The same array after whatever `flow` comes from.
  TensorArray with_flow(const Output& flow) const;

  TensorArray identity(const OpOptions& options = {}) const;
  // The gradient array for one call of gradients(), named by `source`; the array does not grow any more.
  TensorArray grad(const std::string& source, const OpOptions& options = {}) const;

  // Throws INVALID_ARGUMENT for another type, and for a shape that contradicts what is known of the elements.
  TensorArray write(const Operand& index, const Operand& value, const OpOptions& options = {}) const;
  // Element i of `value` along its first axis to place i; the array must have as many places, or be dynamic.
  TensorArray unstack(const Operand& value, const OpOptions& options = {}) const;
  // Element i of `value` to place indices[i].
  TensorArray scatter(const Operand& indices, const Operand& value, const OpOptions& options = {}) const;
  // `value` cut along its first axis into pieces of the given lengths.
  TensorArray split(const Operand& value, const Operand& lengths, const OpOptions& options = {}) const;

  Output read(const Operand& index, const OpOptions& options = {}) const;
  // All elements, which must have one shape, along a new first axis.
  Output stack(const OpOptions& options = {}) const;
  Output gather(const Operand& indices, const OpOptions& options = {}) const;
  // All elements joined along their first axis.
  Output concat(const OpOptions& options = {}) const;

  // int32 scalar.
  Output size(const OpOptions& options = {}) const;
  // Frees the array before the step ends.
  Operation close(const OpOptions& options = {}) const;

 private:
  // Takes note of the shape of elements that are written.
  void note_shape(const PartialShape& shape, const OpOptions& options) const;

  DType dtype_;
  Output handle_, flow_;
  Output size_;  // none if it is not known when the graph is made
  bool dynamic_size_ = false;
  bool infer_shape_ = true;
  std::shared_ptr<PartialShape> element_shape_;  // of all TensorArrays that stand for this array
};

}  // namespace caudal::inline v0
