#include "caudal/ops/mutex_ops.h"

#include <atomic>
#include <memory>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/waiting_room.h"
#include "caudal/ops/named_resource.h"
#include "caudal/tensor/variant.h"

namespace caudal::inline v0 {
namespace {

class Mutex final : public Resource, public WaitingRoom {
 public:
  explicit Mutex(std::string name) : WaitingRoom(1, Order::kFirstOnly), name_(std::move(name)) {}

  std::string describe() const override { return "Mutex " + name_; }

  void acquire(CancellationToken* token, Done done) {
    wait(0, {.attempt =
                 [this] {
                   if (locked_) return Outcome::kWait;
                   locked_ = true;
                   return Outcome::kDone;
                 },
             .done = std::move(done),
             .cancellation = token,
             .cancelled = "Lock acquisition cancelled."});
  }
  void release() {
    change([this] { locked_ = false; });
  }

 private:
  const std::string name_;
  bool locked_ = false;
};

// The mutex is free when this is consumed, or when the last one who holds it goes.
class Lock final : public VariantValue, public std::enable_shared_from_this<Lock> {
 public:
  explicit Lock(std::shared_ptr<Mutex> mutex) : mutex_(std::move(mutex)) {}
  ~Lock() override { release(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  std::string_view type_name() const override { return "tensorflow::Mutex::SharedLockReleaser"; }
  long holders() const { return weak_from_this().use_count(); }
  // Does nothing the second time.
  void release() const {
    if (!released_.exchange(true)) mutex_->release();
  }

 private:
  std::shared_ptr<Mutex> mutex_;
  mutable std::atomic<bool> released_{false};
};

// ---- Shape functions

void one_handle_shape(ShapeContext& c) {
  c.with_rank(0, 0);
  if (c.num_outputs() > 0) c.set_output(0, PartialShape::scalar());
}

// ---- Kernels

class MutexKernel final : public Kernel {
 public:
  explicit MutexKernel(PrepareContext& c) : handle_(c, internal::resource_name(c.node()), "tensorflow::Mutex") {}
  void run(RunContext& c) const override { handle_.set(c); }

 private:
  internal::HandleOutput handle_;
};

class LockKernel final : public WaitingKernel {
 public:
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const internal::ResourceName id = internal::resource_name(c, 0);
      const auto mutex = c.step().resources->get_or_create<Mutex>(id.container, id.name,
                                                                  [&] { return std::make_shared<Mutex>(id.name); });
      mutex->acquire(c.step().cancellation, [mutex, &c, done](const Error* error) {
        if (error == nullptr) c.set_output(0, Tensor::scalar(Variant(std::make_shared<Lock>(mutex))));
        done(error);
      });
    });
  }
};

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  if constexpr (std::is_constructible_v<K, PrepareContext&>) {
    return std::make_unique<K>(c);
  } else {
    return std::make_unique<K>();
  }
}

void run_consume(RunContext& c) {
  const Tensor& input = c.input(0);
  if (input.rank() != 0) throw invalid_argument("Expected input to be a scalar, saw shape: ", input.shape());
  const Variant& value = input.item<Variant>();
  const auto* lock = value.as<Lock>();
  if (lock == nullptr) {
    throw invalid_argument("Expected input to contain a SharedLockReleaser object, but saw variant: '",
                           value.empty() ? "" : value.get()->to_string(), "'");
  }
  if (lock->holders() != 1) {
    throw invalid_argument("Expected use count of lock to be 1, but saw: ", lock->holders());
  }
  lock->release();  // now, not when the step lets go of the value: another lock of the same step may wait
}

}  // namespace

// ---- Registrations

CAUDAL_REGISTER_OP({.name = "MutexV2",
                    .outputs = "resource: resource",
                    .attrs = "container: string = ''; shared_name: string = ''",
                    .stateful = true,
                    .shape = scalar_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<MutexKernel>});

CAUDAL_REGISTER_OP({.name = "MutexLock",
                    .inputs = "mutex: resource",
                    .outputs = "mutex_lock: variant",
                    .stateful = true,
                    .shape = one_handle_shape,
                    .gradient = no_gradient,
                    .cpu = prepare<LockKernel>});

CAUDAL_REGISTER_OP({.name = "ConsumeMutexLock",
                    .inputs = "mutex_lock: variant",
                    .stateful = true,
                    .shape = one_handle_shape,
                    .gradient = no_gradient,
                    .cpu = kernel_of<run_consume>});

// ---- Public functions

namespace raw_ops {

Output mutex_v2(const MutexOptions& options) {
  OpBuilder builder("MutexV2", {.name = options.name, .where = options.where});
  return builder.attr("container", options.container).attr("shared_name", options.shared_name).build();
}

Output mutex_lock(const Output& mutex, const OpOptions& options) {
  return OpBuilder("MutexLock", options).input(mutex).build();
}

Operation consume_mutex_lock(const Output& lock, const OpOptions& options) {
  return OpBuilder("ConsumeMutexLock", options).input(lock).build_operation();
}

}  // namespace raw_ops
}  // namespace caudal::inline v0
