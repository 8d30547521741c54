#include "caudal/ops/tensor_list_kernels.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "caudal/ops/op_util.h"
#include "caudal/ops/strided_copy.h"
#include "caudal/ops/tensor_list.h"

namespace caudal::inline v0::internal {
namespace {

// A list longer than this is a mistake, or meant to exhaust memory.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 24;

const TensorList& list_of(const Variant& value) {
  const auto* list = value.as<TensorList>();
  if (list == nullptr) {
    throw invalid_argument("Input handle is not a list. Saw: '", value.empty() ? "" : value.get()->to_string(), "'");
  }
  return *list;
}

const TensorList& list_of(const RunContext& c, int i) {
  const Tensor& input = c.input(i);
  if (input.rank() != 0) throw invalid_argument("Input list must be a scalar saw: ", input.shape());
  return list_of(input.item<Variant>());
}

// The list that may be changed in the Variant of an output: the one that is there already, because the output lies over
// the input, or a copy of `list`.
TensorList& writable(Variant& to, const TensorList& list) {
  if (to.get() == &list && list.is_unique()) return const_cast<TensorList&>(list);
  auto copy = std::make_shared<TensorList>(list);
  TensorList& result = *copy;
  to = Variant(std::move(copy));
  return result;
}

TensorList& writable_output(RunContext& c, const TensorList& list) {
  return writable(c.allocate_output(0, {}).data<Variant>()[0], list);
}

void set_list(RunContext& c, std::shared_ptr<TensorList> list) {
  c.set_output(0, Tensor::scalar(Variant(std::move(list))));
}

std::int32_t scalar_of(const Tensor& value, std::string_view what) {
  if (value.rank() != 0) throw invalid_argument(what, " must be a scalar, but got shape: ", value.shape());
  return value.item<std::int32_t>();
}

void resize(const RunContext& c, TensorList& list, std::int64_t size) {
  if (size > kMaxElements) throw resource_exhausted("a TensorList of ", size, " elements is too long");
  // Elements that are not set cost memory too.
  const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(Tensor);
  c.step().memory->charge(bytes);
  c.step().memory->refund(bytes);
  list.tensors.resize(size);
}

void check_type(const RunContext& c, const TensorList& list) {
  const DType op = c.node().attr<DType>("element_dtype");
  if (op == list.dtype) return;
  throw invalid_argument("Invalid data types; op elements ", kernel_type_name(op), " but list elements ",
                         kernel_type_name(list.dtype));
}

// What input i and the list together say of the elements' shape.
PartialShape element_shape_of(const RunContext& c, int i, const TensorList& list) {
  return merge_shapes(partial_shape_from(c.input(i)), list.element_shape);
}

PartialShape without_first(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape::unknown();
  return PartialShape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}

Tensor slice(const Tensor& value, std::int64_t k) { return value.rows(k, k + 1).reshape(value.shape().remove(0)); }

void check_vector(const Tensor& tensor) {
  if (tensor.rank() == 0) {
    throw invalid_argument("Tensor must be at least a vector, but saw shape: ", tensor.shape());
  }
}

// Copies an element, or zeros where there is none, and moves `to` behind it.
void append(RunContext& c, const Tensor& element, DType dtype, std::int64_t elements, char** to) {
  if (element.valid()) {
    copy_elements(c.pool(), dtype, element.raw(), *to, elements);
  } else {
    const Tensor zero = Tensor::zeros(dtype, Shape{});
    fill_elements(c.pool(), dtype, zero.raw(), *to, elements);
  }
  *to += elements * static_cast<std::int64_t>(dtype_size(dtype));
}

// ---- Changes

void run_push_back(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  const Tensor& element = c.input(1);
  if (!list.element_shape.compatible(element.shape())) {
    throw invalid_argument("Tried to append a tensor with incompatible shape to a list. Op element shape: ",
                           element.shape(), " list shape: ", list.element_shape);
  }
  check_type(c, list);
  const auto size = static_cast<std::int64_t>(list.tensors.size());
  if (list.max_num_elements != -1 && size >= list.max_num_elements) {
    throw invalid_argument("Tried to push item into a full list list size: ", size,
                           " max_num_elements: ", list.max_num_elements);
  }
  Tensor kept = c.take_input(1);
  writable_output(c, list).tensors.push_back(std::move(kept));
}

void run_pop_back(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  check_type(c, list);
  if (list.tensors.empty()) throw invalid_argument("Trying to pop from an empty list.");
  Tensor last = list.tensors.back();
  if (!last.valid()) {
    const PartialShape shape = element_shape_of(c, 1, list);
    const auto known = shape.to_shape();
    if (!known) {
      throw invalid_argument("Trying to read an uninitialized tensor but element_shape is not fully defined.", shape);
    }
    last = Tensor::zeros(list.dtype, *known);
  }
  writable_output(c, list).tensors.pop_back();
  c.set_output(1, std::move(last));
}

void run_set_item(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  check_type(c, list);
  const Tensor& item = c.input(2);
  const std::int32_t index = scalar_of(c.input(1), "index");
  if (!list.element_shape.compatible(item.shape())) {
    throw invalid_argument("Tried to set a tensor with incompatible shape at a list index. Item element shape: ",
                           item.shape(), " list shape: ", list.element_shape);
  }
  const auto size = static_cast<std::int64_t>(list.tensors.size());
  const bool grow = c.node().attr<bool>("resize_if_index_out_of_bounds");
  if (index < 0 || (index >= size && !grow)) {
    throw invalid_argument("Trying to modify element ", index, " in a list with ", size, " elements.");
  }
  Tensor kept = c.take_input(2);
  TensorList& output = writable_output(c, list);
  if (index >= size) resize(c, output, std::int64_t{index} + 1);
  output.tensors[index] = std::move(kept);
}

void run_resize(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  if (c.input(1).rank() != 0) throw invalid_argument("size must be a scalar");
  const auto size = c.input(1).item<std::int32_t>();
  if (size < 0) throw invalid_argument("TensorListSlice expects size to be non-negative. Got: ", size);
  resize(c, writable_output(c, list), size);
}

void scatter(const Tensor& values, const Tensor& indices, TensorList& list) {
  const auto places = indices.flat<std::int32_t>();
  const Tensor kept = values.keep();
  for (std::size_t i = 0; i < places.size(); ++i) list.tensors[places[i]] = slice(kept, static_cast<std::int64_t>(i));
}

std::int64_t list_size_for(const Tensor& indices) {
  std::int64_t size = 0;
  for (const std::int32_t index : indices.flat<std::int32_t>()) {
    if (index < 0) throw invalid_argument("Indices in TensorListScatter must all be non-negative.");
    size = std::max(size, std::int64_t{index} + 1);
  }
  return size;
}

void run_scatter_into(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  const Tensor &values = c.input(1), &indices = c.input(2);
  if (values.dtype() != list.dtype) {
    throw invalid_argument("Invalid data types; input tensor type: ", kernel_type_name(values.dtype()),
                           " list element_type: ", kernel_type_name(list.dtype));
  }
  check_vector(values);
  if (indices.rank() != 1) {
    throw invalid_argument("Expected indices to be a vector, but received shape: ", indices.shape());
  }
  if (indices.num_elements() != values.dim(0)) {
    throw invalid_argument("Expected len(indices) == tensor.shape[0], but saw: ", indices.num_elements(), " vs. ",
                           values.dim(0));
  }
  const std::int64_t size = list_size_for(indices);
  TensorList& output = writable_output(c, list);
  if (size > static_cast<std::int64_t>(output.tensors.size())) resize(c, output, size);
  scatter(values, indices, output);
}

void check_batch(const RunContext& c, const Tensor& lists, const Shape& element) {
  for (std::int64_t b = 0; b < lists.num_elements(); ++b) {
    const Variant& value = lists.data<Variant>()[b];
    const auto* list = value.as<TensorList>();
    if (list == nullptr) {
      throw invalid_argument("Input handle at index ", b, " is not a list. Saw: '",
                             value.empty() ? "" : value.get()->to_string(), "'");
    }
    if (!list->element_shape.compatible(element)) {
      throw invalid_argument("Tried to append a tensor with incompatible shape to a list at index ", b,
                             ". Op element shape: ", element, " list shape: ", list->element_shape);
    }
    if (list->dtype != c.node().attr<DType>("element_dtype")) {
      throw invalid_argument("Invalid data type at index ", b, "; op elements ",
                             kernel_type_name(c.node().attr<DType>("element_dtype")), " but list elements ",
                             kernel_type_name(list->dtype));
    }
  }
}

// The lists of an output that lies over input 0, or copies of them.
Variant* writable_lists(RunContext& c) {
  const Tensor input = c.input(0);
  Variant* output = c.allocate_output(0, input.shape()).data<Variant>();
  if (input.num_elements() > 0 && output != input.data<Variant>()) {
    std::ranges::copy(input.flat<Variant>(), output);
  }
  return output;
}

void run_push_back_batch(RunContext& c) {
  const Tensor& elements = c.input(1);
  if (elements.rank() == 0) {
    throw invalid_argument("Expected tensor to be at least a vector, but saw shape: ", elements.shape());
  }
  const Shape shape = c.input(0).shape();
  if (shape.rank() != 1) throw invalid_argument("Expected input_handles to be a vector, but saw shape: ", shape);
  if (elements.dim(0) != shape[0]) {
    throw invalid_argument("Expected tensor.shape[0] == input_handles.size, but saw ", elements.dim(0), " vs. ",
                           shape[0]);
  }
  check_batch(c, c.input(0), elements.shape().remove(0));
  const Tensor kept = c.take_input(1);
  Variant* lists = writable_lists(c);
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    writable(lists[b], list_of(lists[b])).tensors.push_back(slice(kept, b));
  }
}

void check_joinable(const RunContext& c, std::int64_t i, const TensorList& a, const TensorList& b) {
  const DType op = c.node().attr<DType>("element_dtype");
  if (a.dtype != op || b.dtype != op) {
    throw invalid_argument("input_", a.dtype != op ? "a" : "b", "[", i,
                           "].dtype != element_dtype.  Saw: ", kernel_type_name(a.dtype != op ? a.dtype : b.dtype),
                           " vs. ", kernel_type_name(op));
  }
  if (!a.element_shape.compatible(b.element_shape)) {
    throw invalid_argument("input_a and input_b TensorList element shapes are not identical at index ", i, ".  Saw ",
                           a.element_shape, " vs. ", b.element_shape);
  }
}

void run_concat_lists(RunContext& c) {
  const Tensor b = c.input(1);
  if (c.input(0).shape() != b.shape()) {
    throw invalid_argument("Incompatible input TensorList tensor shapes: ", c.input(0).shape(), " vs. ", b.shape());
  }
  Variant* lists = writable_lists(c);
  for (std::int64_t i = 0; i < b.num_elements(); ++i) {
    const TensorList& tail = list_of(b.data<Variant>()[i]);
    check_joinable(c, i, list_of(lists[i]), tail);
    const std::vector<Tensor> more = tail.tensors;  // the two lists may be one
    auto& tensors = writable(lists[i], list_of(lists[i])).tensors;
    tensors.insert(tensors.end(), more.begin(), more.end());
  }
}

template <void (*run)(RunContext&)>
std::unique_ptr<Kernel> in_place(PrepareContext& c) {
  c.allow_in_place(0, 0);
  return kernel_of<run>(c);
}

// ---- Concat

struct Concat {
  std::int64_t first = -1;  // the common first size, if there is one
  PartialShape rest;
};

// What is asked of the shape of the elements, by TensorListConcatV2's input or by the old op's attribute.
Concat wanted_of(const RunContext& c, const TensorList& list) {
  if (c.num_inputs() == 1) {
    const auto& shape = c.node().attr<PartialShape>("element_shape");
    if (shape.rank() == 0) throw invalid_argument("element_shape must not be empty");
    return {-1, without_first(shape)};
  }
  const PartialShape shape = element_shape_of(c, 1, list);
  if (shape.rank() == 0) {
    throw invalid_argument("Concat requires elements to be at least vectors, found scalars instead.");
  }
  return {shape.has_rank() ? shape[0] : -1, without_first(shape)};
}

Concat merged_with_elements(Concat wanted, const TensorList& list) {
  std::int64_t common = wanted.first;
  bool differ = false;
  for (std::size_t i = 0; i < list.tensors.size(); ++i) {
    const Tensor& tensor = list.tensors[i];
    if (!tensor.valid()) continue;
    if (tensor.rank() == 0) {
      throw invalid_argument("Concat saw a scalar shape at index ", i, " but requires at least vectors.");
    }
    wanted.rest = merge_shapes(wanted.rest, tensor.shape().remove(0));
    if (wanted.first != -1 && wanted.first != tensor.dim(0)) {
      throw invalid_argument(
          "First entry of element_shape input does not match the first dim of list element at index: ", i,
          " Expected: ", wanted.first, " Actual: ", tensor.dim(0));
    }
    if (common == -1) common = tensor.dim(0);
    differ = differ || common != tensor.dim(0);
  }
  wanted.first = differ ? -1 : common;
  return wanted;
}

std::int64_t length_of(const RunContext& c, const TensorList& list, std::int64_t i, std::int64_t first) {
  if (list.tensors[i].valid()) return list.tensors[i].dim(0);
  const std::int64_t given = c.num_inputs() > 2 ? c.input(2).num_elements() : 0;
  if (i >= given && first != -1) return first;
  if (c.num_inputs() <= 2) {
    throw invalid_argument(
        "Concating lists with uninitialized tensors is not supported in this version of "
        "TensorListConcat. Consider updating your GraphDef to run the newer version.");
  }
  if (i >= given) {
    throw invalid_argument("List contains uninitialized tensor at index ", i, " but leading_dims has only ", given,
                           " elements.");
  }
  const auto length = c.input(2).flat<std::int64_t>()[i];
  if (length < 0) throw invalid_argument("leading_dims[", i, "] = ", length, " is negative");
  return length;
}

}  // namespace

// ---- New lists

void run_empty_tensor_list(RunContext& c) {
  if (c.input(1).rank() != 0) {
    throw invalid_argument("max_num_elements expected to be a scalar but got shape: ", c.input(1).shape());
  }
  auto list = std::make_shared<TensorList>();
  list->dtype = c.node().attr<DType>("element_dtype");
  list->max_num_elements = c.input(1).item<std::int32_t>();
  list->element_shape = partial_shape_from(c.input(0));
  set_list(c, std::move(list));
}

void run_list_reserve(RunContext& c) {
  auto list = std::make_shared<TensorList>();
  list->element_shape = partial_shape_from(c.input(0));
  if (c.input(1).rank() != 0) {
    throw invalid_argument("The num_elements to reserve must be a tensor size 1, but got ", c.input(1).shape());
  }
  const auto size = c.input(1).item<std::int32_t>();
  if (size < 0) {
    throw invalid_argument("The num_elements to reserve must be a non negative number, but got ", size);
  }
  list->dtype = c.node().attr<DType>("element_dtype");
  resize(c, *list, size);
  set_list(c, std::move(list));
}

void run_list_from_tensor(RunContext& c) {
  if (c.input(1).rank() > 1) {
    throw invalid_argument("TensorListFromTensor: element_shape must be at most rank 1 but has the shape of ",
                           c.input(1).shape());
  }
  auto list = std::make_shared<TensorList>();
  list->element_shape = partial_shape_from(c.input(1));
  list->dtype = c.input(0).dtype();
  check_vector(c.input(0));
  const Tensor all = c.take_input(0);
  if (!list->element_shape.compatible(all.shape().remove(0))) {
    throw invalid_argument("Specified a list with shape ", list->element_shape, " from a tensor with shape ",
                           all.shape().remove(0));
  }
  resize(c, *list, all.dim(0));
  for (std::int64_t i = 0; i < all.dim(0); ++i) list->tensors[i] = slice(all, i);
  set_list(c, std::move(list));
}

void run_list_split(RunContext& c) {
  auto list = std::make_shared<TensorList>();
  list->element_shape = partial_shape_from(c.input(1));
  list->dtype = c.input(0).dtype();
  if (list->element_shape.rank() == 0) {
    throw invalid_argument("TensorListSplit requires element_shape to be at least of rank 1, but saw: ",
                           list->element_shape);
  }
  check_vector(c.input(0));
  const Tensor all = c.take_input(0);
  if (!without_first(list->element_shape).compatible(all.shape().remove(0))) {
    throw invalid_argument("tensor shape ", all.shape(), " is not compatible with element_shape ", list->element_shape);
  }
  const Tensor& lengths = c.input(2);
  if (lengths.rank() != 1) {
    throw invalid_argument("Expected lengths to be a vector, received shape: ", lengths.shape());
  }
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths.flat<std::int64_t>()) {
    if (length < 0) throw invalid_argument("Invalid value in lengths: ", length);
    if (length > all.dim(0) - begin) {
      throw invalid_argument("Attempting to slice [", begin, ", ", begin + length, "] from tensor with length ",
                             all.dim(0));
    }
    list->tensors.push_back(all.rows(begin, begin + length));
    begin += length;
  }
  if (begin != all.dim(0)) {
    throw invalid_argument("Unused values in tensor. Length of tensor: ", all.dim(0), " Values used: ", begin);
  }
  set_list(c, std::move(list));
}

void run_list_scatter(RunContext& c) {
  const Tensor &values = c.input(0), &indices = c.input(1);
  if (c.input(2).rank() > 1) {
    throw invalid_argument("TensorListScatter: element_shape must be at most rank 1 but has the shape of ",
                           c.input(2).shape());
  }
  auto list = std::make_shared<TensorList>();
  list->element_shape = partial_shape_from(c.input(2));
  list->dtype = values.dtype();
  const std::int64_t wanted = c.num_inputs() > 3 ? scalar_of(c.input(3), "num_elements") : -1;
  if (wanted < -1) throw invalid_argument("TensorListScatter expects num_elements >= -1, found: ", wanted);
  check_vector(values);
  if (!list->element_shape.compatible(values.shape().remove(0))) {
    throw invalid_argument("Specified a list with shape ", list->element_shape, " from a tensor with shape ",
                           values.shape().remove(0));
  }
  if (indices.num_elements() != values.dim(0)) {
    throw invalid_argument("Invalid number of rows in input tensor. Expected: ", indices.num_elements(),
                           " Actual: ", values.dim(0));
  }
  const std::int64_t size = list_size_for(indices);
  if (wanted != -1 && size > wanted) {
    throw invalid_argument("TensorListScatter: Trying to scatter at index ", size - 1, " in list with size ", wanted);
  }
  resize(c, *list, std::max(size, wanted));
  scatter(values, indices, *list);
  set_list(c, std::move(list));
}

// ---- Reads

void run_list_length(RunContext& c) {
  const auto length = static_cast<std::int32_t>(list_of(c, 0).tensors.size());
  c.allocate_output(0, {}).data<std::int32_t>()[0] = length;
}

void run_list_element_shape(RunContext& c) {
  const PartialShape shape = list_of(c, 0).element_shape;
  const std::vector<std::int64_t> sizes = shape.has_rank() ? shape.dims() : std::vector<std::int64_t>{-1};
  const Shape out = shape.has_rank() ? Shape{shape.rank()} : Shape{};
  Tensor& output = c.allocate_output(0, out);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (output.dtype() == DType::kInt64) {
      output.data<std::int64_t>()[i] = sizes[i];
    } else {
      output.data<std::int32_t>()[i] = static_cast<std::int32_t>(sizes[i]);
    }
  }
}

void run_list_get_item(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  check_type(c, list);
  const std::int32_t index = scalar_of(c.input(1), "index");
  if (index < 0 || index >= static_cast<std::int64_t>(list.tensors.size())) {
    throw invalid_argument("Trying to access element ", index, " in a list with ", list.tensors.size(), " elements.");
  }
  if (list.tensors[index].valid()) return c.set_output(0, list.tensors[index]);
  PartialShape shape = element_shape_of(c, 2, list);
  if (!shape.is_fully_known()) {
    for (const Tensor& tensor : list.tensors) {
      if (tensor.valid()) shape = merge_shapes(shape, tensor.shape());
    }
  }
  const auto known = shape.to_shape();
  if (!known) {
    throw invalid_argument("Trying to read an uninitialized tensor but element_shape is not fully defined: ", shape,
                           " and no list element is set.");
  }
  c.set_output(0, Tensor::zeros(list.dtype, *known));
}

void run_list_stack(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  check_type(c, list);
  const auto size = static_cast<std::int64_t>(list.tensors.size());
  const auto wanted = c.node().attr<std::int64_t>("num_elements");
  if (wanted != -1 && size != wanted) {
    throw invalid_argument("Operation expected a list with ", wanted, " elements but got a list with ", size,
                           " elements.");
  }
  PartialShape shape = element_shape_of(c, 1, list);
  if (size == 0 && !shape.is_fully_known()) {
    throw invalid_argument("Tried to stack elements of an empty list with non-fully-defined element_shape: ", shape);
  }
  for (const Tensor& tensor : list.tensors) {
    if (tensor.valid()) shape = merge_shapes(shape, tensor.shape());
  }
  const auto known = shape.to_shape();
  if (!known) {
    throw invalid_argument(
        "Tried to stack list which only contains uninitialized tensors and has a "
        "non-fully-defined element_shape: ",
        shape);
  }
  char* to = c.allocate_output(0, known->insert(0, size)).raw();
  for (const Tensor& tensor : list.tensors) append(c, tensor, list.dtype, known->num_elements(), &to);
}

void run_list_gather(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  check_type(c, list);
  const auto indices = c.input(1).flat<std::int32_t>();
  PartialShape shape = element_shape_of(c, 2, list);
  if (indices.empty() && !shape.is_fully_known()) {
    throw invalid_argument("Tried to gather 0-elements from a list with non-fully-defined shape: ", shape);
  }
  for (const std::int32_t index : indices) {
    if (index < 0 || index >= static_cast<std::int64_t>(list.tensors.size())) {
      throw invalid_argument("Trying to gather element ", index, " in a list with ", list.tensors.size(), " elements.");
    }
    if (list.tensors[index].valid()) shape = merge_shapes(shape, list.tensors[index].shape());
  }
  const auto known = shape.to_shape();
  if (!known) {
    throw invalid_argument("Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: ",
                           shape);
  }
  char* to = c.allocate_output(0, known->insert(0, static_cast<std::int64_t>(indices.size()))).raw();
  for (const std::int32_t index : indices) append(c, list.tensors[index], list.dtype, known->num_elements(), &to);
}

void run_list_concat(RunContext& c) {
  const TensorList& list = list_of(c, 0);
  check_type(c, list);
  Concat shape = wanted_of(c, list);
  if (list.tensors.empty() && !shape.rest.is_fully_known()) {
    throw invalid_argument(
        "All except the first dimension must be fully defined when concating an empty tensor list. "
        "element_shape: ",
        shape.rest);
  }
  shape = merged_with_elements(shape, list);
  const auto rest = shape.rest.to_shape();
  if (!rest) {
    throw invalid_argument(
        "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim "
        "is not fully defined: ",
        shape.rest);
  }
  const auto size = static_cast<std::int64_t>(list.tensors.size());
  std::int64_t rows = 0;
  auto* lengths = c.allocate_output(1, {size}).data<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) {
    lengths[i] = length_of(c, list, i, shape.first);
    if (__builtin_add_overflow(rows, lengths[i], &rows)) throw invalid_argument("the lengths are beyond int64");
  }
  char* to = c.allocate_output(0, rest->insert(0, rows)).raw();
  for (std::int64_t i = 0; i < size; ++i) {
    append(c, list.tensors[i], list.dtype, lengths[i] * rest->num_elements(), &to);
  }
}

std::unique_ptr<Kernel> prepare_list_push_back(PrepareContext& c) { return in_place<run_push_back>(c); }
std::unique_ptr<Kernel> prepare_list_pop_back(PrepareContext& c) { return in_place<run_pop_back>(c); }
std::unique_ptr<Kernel> prepare_list_set_item(PrepareContext& c) { return in_place<run_set_item>(c); }
std::unique_ptr<Kernel> prepare_list_resize(PrepareContext& c) { return in_place<run_resize>(c); }
std::unique_ptr<Kernel> prepare_list_scatter_into(PrepareContext& c) { return in_place<run_scatter_into>(c); }
std::unique_ptr<Kernel> prepare_list_push_back_batch(PrepareContext& c) { return in_place<run_push_back_batch>(c); }
std::unique_ptr<Kernel> prepare_list_concat_lists(PrepareContext& c) { return in_place<run_concat_lists>(c); }

}  // namespace caudal::inline v0::internal
