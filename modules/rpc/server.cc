// Remote calls by gRPC: every method is generic, bytes in and bytes out, so that no message of a package `tensorflow`
// is registered in a process that may hold TensorFlow itself.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "caudal/dist/rpc_module.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace caudal::inline v0 {
namespace {

constexpr std::size_t kLongestMessage = 3072;  // of an error: headers of HTTP/2 are small

std::string cut(std::string message) {
  if (message.size() > kLongestMessage) {
    message.resize(kLongestMessage);
    message += " ... [truncated]";
  }
  return message;
}

// A string as a buffer, without a copy.
grpc::ByteBuffer as_buffer(std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* user) { delete static_cast<std::string*>(user); }, owned);
  return grpc::ByteBuffer(&slice, 1);
}

// What gRPC and the library share of one call. The reactor is gRPC's and goes when gRPC is done; the call goes with its
// last user.
class Call final : public RpcCall {
 public:
  Call(std::string method, std::string peer, grpc::ServerGenericBidiReactor* reactor)
      : method_(std::move(method)), peer_(std::move(peer)), reactor_(reactor) {}

  std::string_view method() const override { return method_; }
  std::string_view peer() const override { return peer_; }
  std::string_view request() const override { return request_; }
  bool is_cancelled() const override { return cancelled_.load(); }

  void cancel() { cancelled_.store(true); }
  // The bytes in one piece: as they came if they are, else put together.
  bool take_request(grpc::ByteBuffer* buffer) {
    if (buffer->TrySingleSlice(&slice_).ok()) {
      request_ = {reinterpret_cast<const char*>(slice_.begin()), slice_.size()};
    } else {
      std::vector<grpc::Slice> slices;
      if (!buffer->Dump(&slices).ok()) return false;
      joined_.reserve(buffer->Length());
      for (const auto& slice : slices) joined_.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
      request_ = joined_;
    }
    buffer->Clear();
    return true;
  }

  void finish(int code, std::string message, std::string response) override {
    std::lock_guard lock(mutex_);
    if (reactor_ == nullptr) return;
    auto* reactor = std::exchange(reactor_, nullptr);
    request_ = {};
    slice_ = grpc::Slice();
    std::string().swap(joined_);
    if (code != 0) {
      reactor->Finish(grpc::Status(static_cast<grpc::StatusCode>(code), cut(std::move(message))));
      return;
    }
    response_ = as_buffer(std::move(response));
    reactor->StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
  }

  bool is_finished() {
    std::lock_guard lock(mutex_);
    return reactor_ == nullptr;
  }

 private:
  const std::string method_, peer_;
  std::string_view request_;
  grpc::Slice slice_;
  std::string joined_;
  grpc::ByteBuffer response_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  grpc::ServerGenericBidiReactor* reactor_;  // null once finished
};

class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  Reactor(grpc::GenericCallbackServerContext* context, RpcHandler& handler)
      : handler_(handler), call_(std::make_shared<Call>(context->method(), context->peer(), this)) {
    pass_on();
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    pass_on();
    const std::shared_ptr<Call> call = call_;  // finishing may delete this object
    if (!ok || !call->take_request(&request_)) {
      call->finish(grpc::StatusCode::INVALID_ARGUMENT, "the call has no request", {});
      return;
    }
    handler_.handle(call);
  }
  void OnCancel() override {
    pass_on();
    call_->cancel();
    if (!call_->is_finished()) handler_.cancelled(*call_);
  }
  void OnDone() override {
    pass_on();
    delete this;
  }

 private:
  // gRPC orders these calls, though in ways that the thread sanitizer does not see: this tells it.
  void pass_on() {
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(this);
    __tsan_release(this);
#endif
  }

  RpcHandler& handler_;
  grpc::ByteBuffer request_;
  std::shared_ptr<Call> call_;
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(RpcHandler& handler) : handler_(handler) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Reactor(context, handler_);
  }

 private:
  RpcHandler& handler_;
};

class GrpcServer final : public RpcServer {
 public:
  GrpcServer(const RpcServerOptions& options, RpcHandler& handler) : service_(handler) {
    grpc::ServerBuilder builder;
    const bool v6 = options.host.find(':') != std::string::npos && !options.host.starts_with('[');
    const std::string host = v6 ? "[" + options.host + "]" : options.host;
    builder.AddListeningPort(host + ":" + std::to_string(options.port), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(&service_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
    builder.SetMaxSendMessageSize(INT32_MAX);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on a port is an error
    server_ = builder.BuildAndStart();
  }

  bool is_running() const { return server_ != nullptr && port_ > 0; }
  int port() const override { return port_; }
  void stop(std::int64_t grace_ms) override {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(grace_ms));
    server_->Wait();
  }

 private:
  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

extern "C" CAUDAL_API RpcServer* caudal_open_rpc_server_1(const RpcServerOptions& options, RpcHandler& handler,
                                                          std::string* error) {
  auto server = std::make_unique<GrpcServer>(options, handler);
  if (!server->is_running()) {
    *error = "cannot listen on " + options.host + " port " + std::to_string(options.port);
    return nullptr;
  }
  return server.release();
}

}  // namespace caudal::inline v0
