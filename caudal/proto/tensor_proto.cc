#include "caudal/proto/tensor_proto.h"

#include <algorithm>
#include <cstring>

#include "caudal/base/error.h"
#include "caudal/core/variant_registry.h"
#include "caudal/formats/coding.h"

namespace caudal::inline v0 {
namespace {

// Copies the values of a typed field; fewer than elements: the last one repeats, none: zeros.
template <class T, class Field, class Convert>
void fill(const Field& field, Tensor& tensor, Convert convert) {
  const auto out = tensor.flat<T>();
  const auto given = static_cast<std::size_t>(field.size());
  if (given > out.size()) {
    throw invalid_argument(given, " values for a tensor of shape ", tensor.shape(), ", which has ", out.size(),
                           " elements");
  }
  for (std::size_t i = 0; i < given; ++i) out[i] = convert(field.Get(static_cast<int>(i)));
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(given), out.end(), given == 0 ? T{} : out[given - 1]);
}

template <class T, class Field>
void fill_cast(const Field& field, Tensor& tensor) {
  fill<T>(field, tensor, [](auto value) { return static_cast<T>(value); });
}

// half and bfloat16: the raw bits, one int32 each.
template <class T>
void fill_bits(const pb::TensorProto& proto, Tensor& tensor) {
  fill<T>(proto.half_val(), tensor, [](std::int32_t value) {
    T out;
    out.bits = static_cast<std::uint16_t>(value);
    return out;
  });
}

template <class T>
void fill_quantized(const pb::TensorProto& proto, Tensor& tensor) {
  fill<T>(proto.int_val(), tensor, [](std::int32_t value) {
    T out;
    out.value = static_cast<decltype(out.value)>(value);
    return out;
  });
}

template <class Real, class Field>
void fill_complex(const Field& field, Tensor& tensor) {
  const auto out = tensor.flat<std::complex<Real>>();
  const auto given = static_cast<std::size_t>(field.size()) / 2;
  if (given > out.size() || field.size() % 2 != 0) {
    throw invalid_argument(field.size(), " parts of complex numbers for a tensor of shape ", tensor.shape());
  }
  for (std::size_t i = 0; i < given; ++i) {
    out[i] = {field.Get(static_cast<int>(2 * i)), field.Get(static_cast<int>(2 * i + 1))};
  }
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(given), out.end(),
            given == 0 ? std::complex<Real>{} : out[given - 1]);
}

ResourceHandle handle_from(const pb::ResourceHandleProto& proto) {
  ResourceHandle handle;
  handle.device = proto.device();
  handle.container = proto.container();
  handle.name = proto.name();
  handle.type_name = proto.maybe_type_name();
  for (const auto& part : proto.dtypes_and_shapes()) {
    handle.parts.push_back({from_proto(part.dtype()), from_proto(part.shape())});
  }
  return handle;
}

pb::ResourceHandleProto handle_to(const ResourceHandle& handle) {
  pb::ResourceHandleProto proto;
  proto.set_device(handle.device);
  proto.set_container(handle.container);
  proto.set_name(handle.name);
  proto.set_maybe_type_name(handle.type_name);
  for (const auto& part : handle.parts) {
    auto* out = proto.add_dtypes_and_shapes();
    out->set_dtype(to_proto(part.dtype));
    *out->mutable_shape() = to_proto(part.shape);
  }
  return proto;
}

void read_typed_fields(const pb::TensorProto& proto, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return fill_cast<float>(proto.float_val(), tensor);
    case DType::kDouble:
      return fill_cast<double>(proto.double_val(), tensor);
    case DType::kInt32:
      return fill_cast<std::int32_t>(proto.int_val(), tensor);
    case DType::kInt16:
      return fill_cast<std::int16_t>(proto.int_val(), tensor);
    case DType::kInt8:
      return fill_cast<std::int8_t>(proto.int_val(), tensor);
    case DType::kUint8:
      return fill_cast<std::uint8_t>(proto.int_val(), tensor);
    case DType::kUint16:
      return fill_cast<std::uint16_t>(proto.int_val(), tensor);
    case DType::kUint32:
      return fill_cast<std::uint32_t>(proto.uint32_val(), tensor);
    case DType::kUint64:
      return fill_cast<std::uint64_t>(proto.uint64_val(), tensor);
    case DType::kInt64:
      return fill_cast<std::int64_t>(proto.int64_val(), tensor);
    case DType::kBool:
      return fill_cast<bool>(proto.bool_val(), tensor);
    case DType::kString:
      return fill<std::string>(proto.string_val(), tensor, [](const std::string& value) { return value; });
    case DType::kComplex64:
      return fill_complex<float>(proto.scomplex_val(), tensor);
    case DType::kComplex128:
      return fill_complex<double>(proto.dcomplex_val(), tensor);
    case DType::kHalf:
      return fill_bits<Half>(proto, tensor);
    case DType::kBFloat16:
      return fill_bits<BFloat16>(proto, tensor);
    case DType::kQint8:
      return fill_quantized<QInt8>(proto, tensor);
    case DType::kQuint8:
      return fill_quantized<QUint8>(proto, tensor);
    case DType::kQint16:
      return fill_quantized<QInt16>(proto, tensor);
    case DType::kQuint16:
      return fill_quantized<QUint16>(proto, tensor);
    case DType::kQint32:
      return fill_quantized<QInt32>(proto, tensor);
    case DType::kResource:
      return fill<ResourceHandle>(proto.resource_handle_val(), tensor, handle_from);
    case DType::kVariant:
      return fill<Variant>(proto.variant_val(), tensor, [](const pb::VariantTensorDataProto& value) {
        if (value.type_name().empty()) return Variant();
        std::vector<Tensor> tensors;
        for (const pb::TensorProto& inner : value.tensors()) tensors.push_back(from_proto(inner));
        return variant_ops(value.type_name()).decode_tensors(value.metadata(), std::move(tensors));
      });
    case DType::kInvalid:
      break;
  }
}

// All lengths as varint32, one after another, then all the bytes.
void read_string_content(std::string_view content, Tensor& tensor) {
  const auto out = tensor.flat<std::string>();
  std::vector<std::uint32_t> lengths(out.size());
  ByteReader reader(content);
  for (auto& length : lengths) {
    if (!reader.varint32(&length)) throw invalid_argument("string content ends within its lengths");
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::string_view value;
    if (!reader.bytes(lengths[i], &value)) throw invalid_argument("string content is shorter than its lengths say");
    out[i] = value;
  }
}

// Elements that a message of this size can really hold, unless values repeat.
void check_size(const pb::TensorProto& proto, DType dtype, const Shape& shape) {
  const auto elements = static_cast<std::size_t>(shape.num_elements());
  if (dtype == DType::kString && !proto.tensor_content().empty() && elements > proto.tensor_content().size()) {
    throw invalid_argument("string content of ", proto.tensor_content().size(), " bytes for shape ", shape);
  }
  if (elements > kMaxRepeatedBytes / dtype_size(dtype)) {
    throw resource_exhausted("a tensor ", dtype, shape, " in a message is larger than ", kMaxRepeatedBytes, " bytes");
  }
  // A long string that repeats is as large as many short ones.
  const int given = proto.string_val_size();
  if (dtype == DType::kString && given > 0 && elements > static_cast<std::size_t>(given) &&
      elements - given > kMaxRepeatedBytes / (proto.string_val(given - 1).size() + 1)) {
    throw resource_exhausted("a tensor ", dtype, shape, " in a message repeats a string of ",
                             proto.string_val(given - 1).size(), " bytes beyond ", kMaxRepeatedBytes, " bytes in all");
  }
}

}  // namespace

pb::DataType to_proto(DType dtype, bool is_ref) {
  return static_cast<pb::DataType>(static_cast<int>(dtype) + (is_ref ? 100 : 0));
}

DType from_proto(pb::DataType dtype) {
  const int number = static_cast<int>(dtype) % 100;
  if (number <= 0 || number > static_cast<int>(DType::kUint64) || static_cast<int>(dtype) >= 200) {
    throw invalid_argument("data type number ", static_cast<int>(dtype), " is not supported");
  }
  return static_cast<DType>(number);
}

pb::TensorShapeProto to_proto(const PartialShape& shape) {
  pb::TensorShapeProto proto;
  if (!shape.has_rank()) {
    proto.set_unknown_rank(true);
    return proto;
  }
  for (const std::int64_t size : shape.dims()) proto.add_dim()->set_size(size);
  return proto;
}

PartialShape from_proto(const pb::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return PartialShape::unknown();
  if (proto.dim_size() > kMaxRank) throw invalid_argument("a shape with ", proto.dim_size(), " dimensions");
  std::vector<std::int64_t> dims;
  for (const auto& dim : proto.dim()) {
    if (dim.size() < -1) throw invalid_argument("a shape with the size ", dim.size());
    dims.push_back(dim.size());
  }
  return PartialShape(std::move(dims));
}

pb::TensorProto to_proto(const Tensor& tensor) {
  pb::TensorProto proto;
  proto.set_dtype(to_proto(tensor.dtype()));
  *proto.mutable_tensor_shape() = to_proto(PartialShape(tensor.shape()));
  switch (tensor.dtype()) {
    case DType::kString:
      for (const auto& value : tensor.flat<std::string>()) proto.add_string_val(value);
      break;
    case DType::kResource:
      for (const auto& value : tensor.flat<ResourceHandle>()) *proto.add_resource_handle_val() = handle_to(value);
      break;
    case DType::kVariant:
      for (const auto& value : tensor.flat<Variant>()) {
        auto* out = proto.add_variant_val();
        if (value.empty()) continue;
        const VariantOps& ops = variant_ops(value.get()->type_name());
        out->set_type_name(std::string(ops.type_name()));
        out->set_metadata(ops.encode(value));
        for (const Tensor& inner : ops.encode_tensors(value)) *out->add_tensors() = to_proto(inner);
      }
      break;
    default:
      if (tensor.byte_size() > 0) proto.set_tensor_content(tensor.raw(), tensor.byte_size());
  }
  return proto;
}

pb::TensorProto to_readable_proto(const Tensor& tensor) {
  constexpr std::int64_t kMostReadable = 16;
  const std::int64_t n = tensor.num_elements();
  const std::size_t size = dtype_size(tensor.dtype());
  bool uniform = n > 0 && is_plain(tensor.dtype());
  for (std::int64_t i = 1; uniform && i < n; ++i) {
    uniform = std::memcmp(tensor.raw(), tensor.raw() + static_cast<std::size_t>(i) * size, size) == 0;
  }
  if (!uniform && n > kMostReadable) return to_proto(tensor);
  pb::TensorProto proto;
  proto.set_dtype(to_proto(tensor.dtype()));
  *proto.mutable_tensor_shape() = to_proto(PartialShape(tensor.shape()));
  const auto count = static_cast<std::size_t>(uniform ? 1 : n);
  switch (tensor.dtype()) {
    case DType::kFloat:
      proto.mutable_float_val()->Add(tensor.data<float>(), tensor.data<float>() + count);
      return proto;
    case DType::kDouble:
      proto.mutable_double_val()->Add(tensor.data<double>(), tensor.data<double>() + count);
      return proto;
    case DType::kInt32:
      proto.mutable_int_val()->Add(tensor.data<std::int32_t>(), tensor.data<std::int32_t>() + count);
      return proto;
    case DType::kInt64:
      proto.mutable_int64_val()->Add(tensor.data<std::int64_t>(), tensor.data<std::int64_t>() + count);
      return proto;
    case DType::kBool:
      proto.mutable_bool_val()->Add(tensor.data<bool>(), tensor.data<bool>() + count);
      return proto;
    default:
      return to_proto(tensor);
  }
}

Tensor from_proto(const pb::TensorProto& proto, Allocator& allocator) {
  const DType dtype = from_proto(proto.dtype());
  const auto shape = from_proto(proto.tensor_shape()).to_shape();
  if (!shape) throw invalid_argument("a tensor's shape is not fully known: ", from_proto(proto.tensor_shape()));
  check_size(proto, dtype, *shape);
  const std::string& content = proto.tensor_content();
  if (content.empty() || !(is_plain(dtype) || dtype == DType::kString)) {
    Tensor tensor(dtype, *shape, allocator);
    read_typed_fields(proto, tensor);
    return tensor;
  }
  if (dtype == DType::kString) {
    Tensor tensor(dtype, *shape, allocator);
    read_string_content(content, tensor);
    return tensor;
  }
  const std::size_t wanted = static_cast<std::size_t>(shape->num_elements()) * dtype_size(dtype);
  if (content.size() != wanted) {
    throw invalid_argument("tensor content has ", content.size(), " bytes; ", dtype, *shape, " has ", wanted);
  }
  Tensor tensor(dtype, *shape, allocator);
  std::memcpy(tensor.raw(), content.data(), wanted);
  if (dtype == DType::kBool) {  // any byte but 0 is true; a bool of another bit pattern is undefined behaviour
    auto* bytes = reinterpret_cast<unsigned char*>(tensor.raw());
    for (std::size_t i = 0; i < wanted; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
  }
  return tensor;
}

}  // namespace caudal::inline v0
