#include "caudal/ops/tensor_list.h"

#include <utility>

#include "caudal/base/error.h"
#include "caudal/base/thread_pool.h"
#include "caudal/core/variant_registry.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/wire.h"
#include "caudal/kernels/elementwise.h"
#include "caudal/ops/op_util.h"

namespace caudal::inline v0 {
namespace {

Variant sum(const Variant& a, const Variant& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  return variant_ops(a.get()->type_name()).add(a, b);
}

Tensor zeros_like(const Tensor& x) {
  if (!x.valid()) return {};
  Tensor zeros = Tensor::zeros_like(x);
  if (x.dtype() == DType::kVariant) {
    for (std::int64_t i = 0; i < x.num_elements(); ++i) {
      const Variant& value = x.data<Variant>()[i];
      if (!value.empty()) zeros.data<Variant>()[i] = variant_ops(value.get()->type_name()).zeros_like(value);
    }
  }
  return zeros;
}

// TensorShapeProto.
std::string shape_bytes(const PartialShape& shape) {
  WireWriter out;
  if (!shape.has_rank()) {
    out.varint(3, 1);
    return std::move(out).str();
  }
  for (const std::int64_t size : shape.dims()) {
    WireWriter dim;
    dim.varint_unless_default(1, static_cast<std::uint64_t>(size));
    out.message(2, dim);
  }
  return std::move(out).str();
}

PartialShape shape_from_bytes(std::string_view bytes) {
  WireReader reader(bytes, "TensorShapeProto");
  std::vector<std::int64_t> dims;
  bool unknown = false;
  while (reader.next()) {
    if (reader.field() == 3) unknown = reader.boolean();
    if (reader.field() != 2) continue;
    std::int64_t size = 0;
    WireReader dim(reader.bytes(), "TensorShapeProto.Dim");
    while (dim.next()) {
      if (dim.field() == 1) size = dim.int64();
    }
    if (size < -1) throw data_loss("a TensorList has elements of size ", size);
    dims.push_back(size);
  }
  if (dims.size() > kMaxRank) throw data_loss("a TensorList has elements of rank ", dims.size());
  return unknown ? PartialShape::unknown() : PartialShape(std::move(dims));
}

const TensorList& list_in(const Variant& value) {
  const auto* list = value.as<TensorList>();
  if (list == nullptr) throw invalid_argument("a variant is no TensorList");
  return *list;
}

class TensorListOps final : public VariantOps {
 public:
  std::string_view type_name() const override { return TensorList::kTypeName; }

  Variant zeros_like(const Variant& value) const override {
    const TensorList& list = list_in(value);
    auto zeros = std::make_shared<TensorList>();
    zeros->dtype = list.dtype;
    zeros->element_shape = list.element_shape;
    for (const Tensor& tensor : list.tensors) zeros->tensors.push_back(v0::zeros_like(tensor));
    return Variant(std::move(zeros));
  }

  Variant add(const Variant& left, const Variant& right) const override {
    const TensorList &a = list_in(left), &b = list_in(right);
    if (a.dtype != b.dtype) {
      throw invalid_argument("Trying to add two lists of tensors of different dtypes. One is ",
                             kernel_type_name(a.dtype), " and the other is ", kernel_type_name(b.dtype));
    }
    const auto shape = a.element_shape.merge(b.element_shape);
    if (!shape) {
      throw invalid_argument("Trying to add two lists of tensors with incompatible element shapes. One is ",
                             a.element_shape, " and the other is ", b.element_shape);
    }
    if (a.tensors.size() != b.tensors.size()) {
      throw invalid_argument("Trying to add two lists of tensors with different lengths. One is ", a.tensors.size(),
                             " and the other is ", b.tensors.size());
    }
    auto total = std::make_shared<TensorList>();
    total->dtype = a.dtype;
    total->element_shape = *shape;
    for (std::size_t i = 0; i < a.tensors.size(); ++i)
      total->tensors.push_back(sum_of_tensors(a.tensors[i], b.tensors[i]));
    return Variant(std::move(total));
  }

  // One memory space, shared.
  Variant copy_to(const Variant& value, MemorySpace) const override { return value; }

  // How many elements are not set and which, the type, the limit, the shape of the elements. The others follow as
  // tensors.
  std::string encode(const Variant& value) const override {
    const TensorList& list = list_in(value);
    std::vector<std::uint64_t> unset;
    for (std::size_t i = 0; i < list.tensors.size(); ++i) {
      if (!list.tensors[i].valid()) unset.push_back(i);
    }
    std::string bytes;
    put_varint(&bytes, unset.size());
    for (const std::uint64_t i : unset) put_varint(&bytes, i);
    put_varint(&bytes, static_cast<std::uint64_t>(list.dtype));
    put_varint(&bytes, static_cast<std::uint64_t>(std::int64_t{list.max_num_elements}));
    return bytes + shape_bytes(list.element_shape);
  }

  std::vector<Tensor> encode_tensors(const Variant& value) const override {
    std::vector<Tensor> set;
    for (const Tensor& tensor : list_in(value).tensors) {
      if (tensor.valid()) set.push_back(tensor);
    }
    return set;
  }

  Variant decode(std::string_view bytes) const override { return decode_tensors(bytes, {}); }

  Variant decode_tensors(std::string_view bytes, std::vector<Tensor> tensors) const override {
    ByteReader reader(bytes);
    const auto number = [&] {
      std::uint64_t value = 0;
      if (!reader.varint(&value)) throw data_loss("the bytes of a TensorList end too early");
      return value;
    };
    auto list = std::make_shared<TensorList>();
    const std::uint64_t unset = number();
    if (unset > bytes.size()) throw data_loss("a TensorList says that it lacks ", unset, " elements");
    std::size_t next = 0;
    for (std::uint64_t i = 0; i < unset; ++i) {
      const std::uint64_t place = number();
      while (list->tensors.size() < place) {
        if (next == tensors.size()) throw data_loss("a TensorList lacks element ", place, " of ", list->tensors.size());
        list->tensors.push_back(std::move(tensors[next++]));
      }
      list->tensors.emplace_back();
    }
    for (; next < tensors.size(); ++next) list->tensors.push_back(std::move(tensors[next]));
    list->dtype = static_cast<DType>(number());
    list->max_num_elements = static_cast<std::int32_t>(number());
    list->element_shape = shape_from_bytes(reader.rest());
    check_elements(*list);
    return Variant(std::move(list));
  }

 private:
  static void check_elements(const TensorList& list) {
    if (list.dtype == DType::kInvalid || list.dtype > DType::kUint64) {
      throw data_loss("a TensorList has elements of an unknown type");
    }
    for (const Tensor& tensor : list.tensors) {
      if (!tensor.valid()) continue;
      if (tensor.dtype() != list.dtype || !list.element_shape.compatible(tensor.shape())) {
        throw data_loss("a TensorList of ", list.dtype, list.element_shape, " holds ", tensor.describe());
      }
    }
  }
};

[[maybe_unused]] const bool registered = (register_variant(std::make_unique<TensorListOps>()), true);

}  // namespace

Tensor sum_of_tensors(const Tensor& a, const Tensor& b) {
  if (!a.valid() || !b.valid()) return a.valid() ? a : b;
  if (a.shape() != b.shape()) {
    throw invalid_argument("Trying to add two tensors with incompatible element shapes. One is ", a.shape(),
                           " and the other is ", b.shape());
  }
  Tensor total(a.dtype(), a.shape());
  if (a.dtype() == DType::kVariant) {
    for (std::int64_t i = 0; i < a.num_elements(); ++i) {
      total.data<Variant>()[i] = sum(a.data<Variant>()[i], b.data<Variant>()[i]);
    }
    return total;
  }
  const auto loop = kernels::find_binary(kernels::BinaryOp::kAdd, a.dtype());
  if (!loop || a.dtype() == DType::kString) {
    throw invalid_argument("Trying to add unsupported dtype ", kernel_type_name(a.dtype()));
  }
  const auto dims = a.shape().dims();
  const bool ok = kernels::broadcast_binary(default_pool(), loop, a.raw(), dims, b.raw(), dims, total.raw(), dims);
  if (!ok) throw internal_error("adding two lists failed");
  return total;
}

PartialShape partial_shape_from(const Tensor& sizes) {
  if (sizes.rank() == 0) {
    if (sizes.to_int64s()[0] == -1) return PartialShape::unknown();
    throw invalid_argument("The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  if (sizes.rank() != 1) {
    throw invalid_argument("Shape must be at most rank 1 but is rank ", sizes.rank());
  }
  auto dims = sizes.to_int64s();
  if (dims.size() > kMaxRank) throw invalid_argument("a shape of rank ", dims.size(), " is too long");
  for (const std::int64_t size : dims) {
    if (size < -1) throw invalid_argument("Dimension ", size, " must be >= -1");
  }
  return PartialShape(std::move(dims));
}

}  // namespace caudal::inline v0
