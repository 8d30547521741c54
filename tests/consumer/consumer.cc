// What a program outside this tree does with an installed Caudal: makes a graph, sends it through TensorFlow's format
// and runs it.
#include <cstdio>

#include "caudal/base/error.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/proto/graph_io.h"
#include "caudal/runtime/session.h"
namespace tf = caudal;

#ifdef WITH_OWN_MESSAGES
extern "C" bool own_messages_work();
#endif

int main() {
  const tf::Output x = tf::placeholder(tf::float32, {-1, 2}, {.name = "x"});
  tf::multiply(x, 2, {.name = "y"});
  tf::Graph copy;
  tf::import_graph(tf::graph_to_bytes(), copy);
  tf::Session session(copy);
  const auto y = session.run({"y:0"}, {{"x:0", tf::Tensor::from<float>({1, 2}, {1, 20})}});
  std::puts(y[0].to_string().c_str());
  if (!tf::identical(y[0], tf::Tensor::from<float>({1, 2}, {2, 40}))) return 1;
  try {
    session.run({"z:0"});
    return 1;
  } catch (const tf::Error& error) {
    std::puts(error.what());
    if (error.code() != tf::Code::kNotFound) return 1;
  }
#ifdef WITH_OWN_MESSAGES
  if (!own_messages_work()) return 1;
#endif
  return 0;
}
