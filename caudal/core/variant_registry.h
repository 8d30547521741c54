// What the runtime must be able to do with types inside DT_VARIANT tensors: zeros, sums, bytes, copies between devices.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/tensor/buffer.h"
#include "caudal/tensor/tensor.h"
#include "caudal/tensor/variant.h"

namespace caudal::inline v0 {

// One instance per type, registered before main; all functions are thread-safe.
class CAUDAL_API VariantOps {
 public:
  virtual ~VariantOps();
  virtual std::string_view type_name() const = 0;
  virtual Variant zeros_like(const Variant& value) const = 0;
  virtual Variant add(const Variant& a, const Variant& b) const = 0;
  virtual Variant copy_to(const Variant& value, MemorySpace space) const = 0;
  virtual std::string encode(const Variant& value) const = 0;
  // Throws DATA_LOSS for bytes that encode() did not make.
  virtual Variant decode(std::string_view bytes) const = 0;
  // The tensors inside, which travel beside the bytes of encode() and not in them; none by default.
  virtual std::vector<Tensor> encode_tensors(const Variant& value) const;
  // From the bytes and the tensors beside them. Throws DATA_LOSS like decode(), which is what it does by default.
  virtual Variant decode_tensors(std::string_view bytes, std::vector<Tensor> tensors) const;
};

CAUDAL_API void register_variant(std::unique_ptr<VariantOps> ops);
// Throws UNIMPLEMENTED for a type that nobody registered.
CAUDAL_API const VariantOps& variant_ops(std::string_view type_name);

}  // namespace caudal::inline v0
