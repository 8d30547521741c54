// The value of a DT_RESOURCE tensor: a name in a resource container, with what is known of the thing it names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caudal/tensor/dtype.h"
#include "caudal/tensor/shape.h"

namespace caudal::inline v0 {

// Base of everything that a ResourceManager owns (variables, queues, tables). Shared ownership; implementations lock.
class CAUDAL_API Resource {
 public:
  virtual ~Resource();
  // "variable 'w': float32[3,4]", for messages.
  virtual std::string describe() const = 0;
};

class ResourceHandle {
 public:
  std::string device;
  std::string container;
  std::string name;
  std::string type_name;
  struct Part {
    DType dtype;
    PartialShape shape;
  };
  std::vector<Part> parts;  // what the resource holds, for shape inference; may be empty
  // Set where the handle owns the resource itself (anonymous ones); otherwise it is found by container and name.
  std::shared_ptr<Resource> owned;
};

}  // namespace caudal::inline v0
