#include "caudal/ops/rendezvous_ops.h"

#include <charconv>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/core/cancellation.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/rendezvous.h"
#include "caudal/core/shape_context.h"

namespace caudal::inline v0 {

std::string rendezvous_key(std::string_view sender, std::uint64_t incarnation, std::string_view receiver,
                           std::string_view tensor, std::uint64_t frame, std::int64_t iteration) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, incarnation, 16).ptr;
  const std::string hex(digits, end);
  return internal::concat(sender, ';', std::string(sizeof digits - hex.size(), '0'), hex, ';', receiver, ';', tensor,
                          ';', frame, ':', iteration);
}

namespace {

// An edge that leaves the graph is used once per step: it lies in no loop.
std::string key_of(const NodeInfo& node) {
  return rendezvous_key(node.attr<std::string>("send_device"),
                        static_cast<std::uint64_t>(node.attr<std::int64_t>("send_device_incarnation")),
                        node.attr<std::string>("recv_device"), node.attr<std::string>("tensor_name"), 0, 0);
}

// ---- Shape function

void unknown_output(ShapeContext& c) { c.set_output(0, PartialShape::unknown()); }
void no_output(ShapeContext&) {}

// ---- Kernels

void run_send(RunContext& c) {
  c.step().rendezvous->send(key_of(c.node()), {.tensor = c.take_input(0), .is_dead = false});
}

// Whoever comes first, the tensor or the end of the step, ends the wait; the other finds it ended.
class Receipt {
 public:
  Receipt(RunContext& context, Kernel::Done done) : context_(context), done_(std::move(done)) {}

  void arrived(const Error* error, Rendezvous::Item item) {
    if (!take()) return;
    // Of a token that is being cancelled nothing is to be forgotten; waiting for its callbacks might be from one of
    // them.
    CancellationToken* token = context_.step().cancellation;
    if (cancellation_ && !token->is_cancelled()) token->forget(*cancellation_);
    if (error == nullptr) context_.set_output(0, std::move(item.tensor));
    done_(error);
  }
  void cancelled() {
    if (!take()) return;
    try {
      context_.step().cancellation->check();
    } catch (const Error& error) {
      done_(&error);
    }
  }
  void set_cancellation(CancellationToken::CallbackId id) { cancellation_ = id; }

 private:
  bool take() {
    std::lock_guard lock(mutex_);
    return !std::exchange(ended_, true);
  }

  RunContext& context_;
  Kernel::Done done_;
  std::optional<CancellationToken::CallbackId> cancellation_;  // set before anybody can arrive
  std::mutex mutex_;
  bool ended_ = false;
};

class RecvKernel final : public WaitingKernel {
 public:
  void run_async(RunContext& context, Done done) const override {
    StepContext& step = context.step();
    const std::string key = key_of(context.node());
    Rendezvous& rendezvous = *step.rendezvous;
    const auto receipt = std::make_shared<Receipt>(context, std::move(done));
    if (step.cancellation != nullptr) {
      const auto id = step.cancellation->on_cancel([receipt] { receipt->cancelled(); });
      if (!id) return receipt->cancelled();  // it has happened before
      receipt->set_cancellation(*id);
    }
    rendezvous.recv_async(
        key, [receipt](const Error* error, Rendezvous::Item item) { receipt->arrived(error, std::move(item)); });
  }
};

std::unique_ptr<Kernel> prepare_recv(PrepareContext&) { return std::make_unique<RecvKernel>(); }

// ---- Registration

CAUDAL_REGISTER_OP({
    .name = "_Send",
    .inputs = "tensor: T",
    .attrs = "T: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; "
             "client_terminated: bool = false",
    .stateful = true,
    .shape = no_output,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_send>,
});
CAUDAL_REGISTER_OP({
    .name = "_HostSend",
    .inputs = "tensor: T",
    .attrs = "T: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string; "
             "client_terminated: bool = false",
    .stateful = true,
    .shape = no_output,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_send>,
});
CAUDAL_REGISTER_OP({
    .name = "_Recv",
    .outputs = "tensor: tensor_type",
    .attrs = "tensor_type: type; tensor_name: string; send_device: string; send_device_incarnation: int; "
             "recv_device: string; client_terminated: bool = false",
    .stateful = true,
    .shape = unknown_output,
    .gradient = not_differentiable,
    .cpu = prepare_recv,
});
CAUDAL_REGISTER_OP({
    .name = "_HostRecv",
    .outputs = "tensor: tensor_type",
    .attrs = "tensor_type: type; tensor_name: string; send_device: string; send_device_incarnation: int; "
             "recv_device: string; client_terminated: bool = false",
    .stateful = true,
    .shape = unknown_output,
    .gradient = not_differentiable,
    .cpu = prepare_recv,
});

}  // namespace
}  // namespace caudal::inline v0
