#include "caudal/dist/master_service.h"

#include <exception>
#include <new>
#include <stdexcept>

#include "caudal/base/error.h"
#include "caudal/dist/master.h"
#include "caudal/proto/master_messages.h"

namespace caudal::inline v0 {
namespace {

constexpr std::string_view kService = "/tensorflow.MasterService/";

std::vector<Tensor> tensors_of(const StepOutcome& outcome) {
  std::vector<Tensor> tensors;
  for (const NamedTensor& tensor : outcome.tensors) tensors.push_back(tensor.tensor);
  return tensors;
}

// Everything that a call may throw, as an Error.
template <class Action>
std::optional<Error> error_of(const Action& action) {
  try {
    action();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return resource_exhausted("out of memory");
  } catch (const std::length_error&) {  // a container that no memory could hold
    return resource_exhausted("out of memory");
  } catch (const std::exception& error) {
    return internal_error(error.what());
  }
}

struct Request {
  Master& master;
  std::string_view bytes;
  std::string peer;
  CancellationToken& cancellation;
};

std::string create_session(const Request& r) {
  const auto session = r.master.create_session(decode_create_session(r.bytes), r.peer);
  return encode_session_created(session->handle(), session->graph_version());
}
std::string extend_session(const Request& r) {
  return encode_session_extended(r.master.extend_session(decode_extend_session(r.bytes), r.peer));
}
std::string run_step(const Request& r) {
  const RunStepCall call = decode_run_step(r.bytes);
  std::string answer;
  const auto error = error_of([&] {
    const StepOutcome outcome = r.master.run_step(call, r.peer, r.cancellation);
    answer = encode_step_result(outcome.tensors, outcome.metadata.get());
  });
  if (!error) return answer;
  if (!call.errors_in_body) throw Error(*error);
  return encode_step_error(static_cast<int>(error->code()), client_message(*error));
}
std::string partial_run_setup(const Request& r) {
  return encode_partial_run(r.master.set_up_partial_run(decode_partial_run_setup(r.bytes), r.peer));
}
std::string close_session(const Request& r) {
  r.master.close_session(decode_session_handle(r.bytes));
  return {};
}
std::string list_devices(const Request& r) {
  return encode_devices(r.master.list_devices(decode_session_handle(r.bytes), r.peer));
}
std::string reset(const Request& r) {
  r.master.reset(decode_reset(r.bytes));
  return {};
}
std::string make_callable(const Request& r) {
  return encode_callable_made(r.master.make_callable(decode_make_callable(r.bytes), r.peer));
}
std::string run_callable(const Request& r) {
  const StepOutcome outcome = r.master.run_callable(decode_run_callable(r.bytes), r.peer, r.cancellation);
  return encode_callable_result(tensors_of(outcome), outcome.metadata.get());
}
std::string release_callable(const Request& r) {
  r.master.release_callable(decode_release_callable(r.bytes), r.peer);
  return {};
}

struct Method {
  std::string_view name;
  std::string (*run)(const Request& request);
};
constexpr Method kMethods[] = {
    {"CreateSession", create_session},
    {"ExtendSession", extend_session},
    {"RunStep", run_step},
    {"PartialRunSetup", partial_run_setup},
    {"CloseSession", close_session},
    {"ListDevices", list_devices},
    {"Reset", reset},
    {"MakeCallable", make_callable},
    {"RunCallable", run_callable},
    {"ReleaseCallable", release_callable},
};

const Method& method_of(std::string_view path) {
  for (const Method& method : kMethods) {
    if (path.starts_with(kService) && path.substr(kService.size()) == method.name) return method;
  }
  throw unimplemented("this server has no method '", path, "'; it serves sessions (", kService, ")");
}

}  // namespace

std::string client_message(const Error& error) {
  std::string message = error.message();
  if (!error.node().empty()) message += "\n\t [[{{node " + error.node() + "}}]]";
  return message;
}

MasterService::MasterService(Master& master, std::size_t max_calls) : master_(master), threads_(max_calls) {}
MasterService::~MasterService() = default;

void MasterService::handle(std::shared_ptr<RpcCall> call) {
  {
    std::lock_guard lock(mutex_);
    tokens_[call.get()] = std::make_shared<CancellationToken>();
  }
  if (call->is_cancelled()) cancelled(*call);
  if (threads_.run([this, call] { serve(*call); })) return;
  {
    std::lock_guard lock(mutex_);
    tokens_.erase(call.get());
  }
  const Error error = resource_exhausted("too many calls are in progress").hint("Try again later.");
  call->finish(static_cast<int>(error.code()), error.message(), {});
}

void MasterService::cancelled(const RpcCall& call) {
  std::shared_ptr<CancellationToken> token;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = tokens_.find(&call); found != tokens_.end()) token = found->second;
  }
  if (token) token->cancel(caudal::cancelled("the client has gone, or its deadline has passed"));
}

void MasterService::serve(RpcCall& call) {
  std::shared_ptr<CancellationToken> token;
  {
    std::lock_guard lock(mutex_);
    token = tokens_.at(&call);
  }
  answer(call, *token);
  std::lock_guard lock(mutex_);
  tokens_.erase(&call);
}

void MasterService::answer(RpcCall& call, CancellationToken& cancellation) {
  std::string response;
  const auto error = error_of([&] {
    const Request request{master_, call.request(), std::string(call.peer()), cancellation};
    response = method_of(call.method()).run(request);
  });
  if (error) {
    call.finish(static_cast<int>(error->code()), client_message(*error), {});
  } else {
    call.finish(0, {}, std::move(response));
  }
}

}  // namespace caudal::inline v0
