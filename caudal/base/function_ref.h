// A non-owning reference to something callable: two words, no allocation.
//
// Ownership: the callable must outlive the reference; meant for parameters of functions that call it before they
// return. Thread safety: that of the callable.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace caudal::inline v0 {

template <class Signature>
class FunctionRef;

template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable&, Args...>)
  // Implicit, so that a lambda can be passed as it is.
  FunctionRef(Callable&& callable) {
    using Plain = std::remove_reference_t<Callable>;
    if constexpr (std::is_function_v<Plain>) {
      object_.function = reinterpret_cast<void (*)()>(&callable);
      call_ = [](Object object, Args... args) -> Result {
        return reinterpret_cast<Plain*>(object.function)(std::forward<Args>(args)...);
      };
    } else {
      object_.data = const_cast<void*>(static_cast<const void*>(std::addressof(callable)));
      call_ = [](Object object, Args... args) -> Result {
        return (*static_cast<Plain*>(object.data))(std::forward<Args>(args)...);
      };
    }
  }

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  union Object {
    void* data;
    void (*function)();
  };
  Object object_;
  Result (*call_)(Object, Args...);
};

}  // namespace caudal::inline v0
