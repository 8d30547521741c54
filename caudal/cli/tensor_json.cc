#include "caudal/cli/tensor_json.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "caudal/base/thread_pool.h"
#include "caudal/cli/json.h"
#include "caudal/kernels/cast.h"

namespace caudal::inline v0::cli {
namespace {

template <class T>
std::string number_json(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return "null";
  }
  char text[48];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class T>
std::string numbers_json(const Tensor& tensor) {
  std::vector<std::string> members;
  for (const T value : tensor.flat<T>()) members.push_back(number_json(value));
  return json_list(members);
}

template <class T>
std::string complex_json(const Tensor& tensor) {
  std::vector<std::string> members;
  for (const auto& value : tensor.flat<std::complex<T>>()) {
    members.push_back(json_list({number_json(value.real()), number_json(value.imag())}));
  }
  return json_list(members);
}

std::string bools_json(const Tensor& tensor) {
  std::vector<std::string> members;
  for (const bool value : tensor.flat<bool>()) members.emplace_back(value ? "true" : "false");
  return json_list(members);
}

Tensor cast_to(const Tensor& tensor, DType dtype) {
  Tensor out(dtype, tensor.shape());
  kernels::cast(default_pool(), tensor.dtype(), tensor.raw(), dtype, out.raw(), tensor.num_elements());
  return out;
}

// Empty for types whose values have no JSON.
std::string values_json(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kString:
      return json_strings(tensor.to_vector<std::string>());
    case DType::kBool:
      return bools_json(tensor);
    case DType::kFloat:
      return numbers_json<float>(tensor);
    case DType::kDouble:
      return numbers_json<double>(tensor);
    case DType::kHalf:
    case DType::kBFloat16:
      return numbers_json<float>(cast_to(tensor, float32));
    case DType::kUint64:
      return numbers_json<std::uint64_t>(tensor);
    case DType::kComplex64:
      return complex_json<float>(tensor);
    case DType::kComplex128:
      return complex_json<double>(tensor);
    default:
      return is_integer(tensor.dtype()) ? numbers_json<std::int64_t>(cast_to(tensor, int64)) : "";
  }
}

}  // namespace

std::string tensor_json(const Tensor& tensor, std::int64_t limit) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : tensor.shape().dims()) sizes.push_back(std::to_string(size));
  JsonObject object;
  object.add("dtype", dtype_name(tensor.dtype())).add_json("shape", json_list(sizes));
  if (tensor.num_elements() > limit) return object.str();
  if (const std::string values = values_json(tensor); !values.empty()) object.add_json("values", values);
  return object.str();
}

}  // namespace caudal::inline v0::cli
