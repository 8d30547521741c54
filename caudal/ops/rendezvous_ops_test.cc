#include "caudal/ops/rendezvous_ops.h"

#include <gtest/gtest.h>

#include <thread>

#include "caudal/core/rendezvous.h"
#include "caudal/graph/builder.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/runtime/session.h"
#include "tests/harness/op_samples.h"

namespace caudal {
namespace {

constexpr const char* kDevice = "/job:localhost/replica:0/task:0/device:CPU:0";

OpBuilder rendezvous_node(const std::string& op, const std::string& tensor) {
  OpBuilder builder(op, {});
  builder.attr("tensor_name", tensor).attr("send_device", kDevice).attr("recv_device", kDevice);
  builder.attr("send_device_incarnation", 7);
  return builder;
}

Output received(const std::string& op, const std::string& tensor, DType dtype) {
  return rendezvous_node(op, tensor).attr("tensor_type", dtype).build();
}

TEST(Rendezvous, KeyHasFiveParts) {
  EXPECT_EQ(rendezvous_key("/a", 0xabc, "/b", "x:0", 0, 0), "/a;0000000000000abc;/b;x:0;0:0");
  EXPECT_EQ(rendezvous_key("/a", 1, "/b", "x:1", 5, 2), "/a;0000000000000001;/b;x:1;5:2");
}

TEST(Rendezvous, ReceiveWaitsForTheTensor) {
  Graph graph;
  const GraphScope scope(graph);
  const Output y = OpBuilder("Neg", {}).input(received("_Recv", "x:0", float32)).build();
  Session session(graph);
  LocalRendezvous rendezvous;
  Tensor result;
  std::thread run([&] { result = session.run(y, {}, {.rendezvous = &rendezvous}); });
  rendezvous.send(rendezvous_key(kDevice, 7, kDevice, "x:0", 0, 0), {.tensor = Tensor(2.0F), .is_dead = false});
  run.join();
  EXPECT_EQ(result.item<float>(), -2.0F);
}

TEST(Rendezvous, CancellationEndsTheWait) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = received("_Recv", "x:0", float32);
  Session session(graph);
  LocalRendezvous rendezvous;
  CancellationToken cancellation;
  std::optional<Code> code;
  std::thread run([&] {
    try {
      session.run(x, {}, {.cancellation = &cancellation, .rendezvous = &rendezvous});
    } catch (const Error& error) {
      code = error.code();
    }
  });
  cancellation.cancel(cancelled("enough"));
  run.join();
  EXPECT_EQ(code, Code::kCancelled);
}

// Sent, then received in the same step.
Output there_and_back(const std::string& send_op, const std::string& recv_op, const Tensor& value) {
  const Operation sent = rendezvous_node(send_op, "edge").input(constant(value)).build_operation();
  const ControlDependencies after({sent});
  return received(recv_op, "edge", value.dtype());
}

template <class Samples>
void add_round_trips(Samples& samples, const std::string& send_op, const std::string& recv_op) {
  for (const DType dtype : {float32, int64, string, boolean}) {
    const Tensor value = samples.random(dtype, {2, 3});
    samples.graph({.name = std::string(dtype_name(dtype)),
                   .build = [=] { return std::vector<Output>{there_and_back(send_op, recv_op, value)}; },
                   .expected = {value}});
  }
}

CAUDAL_OP_SAMPLES(_Send) { add_round_trips(samples, "_Send", "_Recv"); }
CAUDAL_OP_SAMPLES(_Recv) { add_round_trips(samples, "_Send", "_Recv"); }
CAUDAL_OP_SAMPLES(_HostSend) { add_round_trips(samples, "_HostSend", "_HostRecv"); }
CAUDAL_OP_SAMPLES(_HostRecv) { add_round_trips(samples, "_HostSend", "_HostRecv"); }

}  // namespace
}  // namespace caudal
