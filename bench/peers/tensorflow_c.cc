// TensorFlow through its C interface: what TF_SessionRun costs a program in C. run.py compiles this against the library
// in TensorFlow's wheel. Takes the arguments and prints the lines of the scripts beside it (common.py).
//
// The few declarations needed are repeated here from tensorflow/c/c_api.h, so that no headers are.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../bench.h"

extern "C" {
struct TF_Status;
struct TF_Graph;
struct TF_Operation;
struct TF_OperationDescription;
struct TF_Session;
struct TF_SessionOptions;
struct TF_Tensor;
struct TF_Buffer;
struct TF_Output {
  TF_Operation* oper;
  int index;
};
TF_Status* TF_NewStatus();
int TF_GetCode(const TF_Status*);
const char* TF_Message(const TF_Status*);
TF_Graph* TF_NewGraph();
TF_OperationDescription* TF_NewOperation(TF_Graph*, const char* op, const char* name);
void TF_AddInput(TF_OperationDescription*, TF_Output);
void TF_SetAttrType(TF_OperationDescription*, const char* name, int dtype);
void TF_SetAttrShape(TF_OperationDescription*, const char* name, const int64_t* dims, int rank);
void TF_SetAttrTensor(TF_OperationDescription*, const char* name, TF_Tensor*, TF_Status*);
TF_Operation* TF_FinishOperation(TF_OperationDescription*, TF_Status*);
TF_SessionOptions* TF_NewSessionOptions();
void TF_SetConfig(TF_SessionOptions*, const void* proto, size_t size, TF_Status*);
TF_Session* TF_NewSession(TF_Graph*, const TF_SessionOptions*, TF_Status*);
void TF_SessionRun(TF_Session*, const TF_Buffer* options, const TF_Output* feeds, TF_Tensor* const* feed_values, int,
                   const TF_Output* fetches, TF_Tensor** fetch_values, int, const TF_Operation* const* targets, int,
                   TF_Buffer* metadata, TF_Status*);
TF_Tensor* TF_AllocateTensor(int dtype, const int64_t* dims, int rank, size_t bytes);
void* TF_TensorData(const TF_Tensor*);
size_t TF_TensorByteSize(const TF_Tensor*);
void TF_DeleteTensor(TF_Tensor*);
}

namespace {

constexpr int kFloat = 1;  // TF_FLOAT
constexpr int kChain = 1000;

TF_Status* status() {
  static TF_Status* one = TF_NewStatus();
  return one;
}

void check() {
  if (TF_GetCode(status()) == 0) return;
  std::fprintf(stderr, "tensorflow_c: %s\n", TF_Message(status()));
  std::exit(1);
}

TF_Tensor* zeros(const std::vector<int64_t>& shape) {
  size_t bytes = sizeof(float);
  for (const int64_t size : shape) bytes *= static_cast<size_t>(size);
  TF_Tensor* tensor = TF_AllocateTensor(kFloat, shape.data(), static_cast<int>(shape.size()), bytes);
  std::memset(TF_TensorData(tensor), 0, bytes);
  return tensor;
}

// A placeholder and `adds` additions of 1 behind each other.
struct Chain {
  Chain(int adds, const std::vector<int64_t>& shape) {
    TF_OperationDescription* node = TF_NewOperation(graph, "Placeholder", "x");
    TF_SetAttrType(node, "dtype", kFloat);
    TF_SetAttrShape(node, "shape", shape.data(), static_cast<int>(shape.size()));
    feed = {finish(node), 0};
    TF_Tensor* value = zeros({});
    *static_cast<float*>(TF_TensorData(value)) = 1;
    node = TF_NewOperation(graph, "Const", "one");
    TF_SetAttrType(node, "dtype", kFloat);
    TF_SetAttrTensor(node, "value", value, status());
    const TF_Output one{finish(node), 0};
    fetch = feed;
    for (int i = 0; i < adds; ++i) {
      node = TF_NewOperation(graph, "AddV2", ("add" + std::to_string(i)).c_str());
      TF_AddInput(node, fetch);
      TF_AddInput(node, one);
      fetch = {finish(node), 0};
    }
    nothing = finish(TF_NewOperation(graph, "NoOp", "nothing"));
  }
  static TF_Operation* finish(TF_OperationDescription* node) {
    TF_Operation* operation = TF_FinishOperation(node, status());
    check();
    return operation;
  }
  TF_Graph* graph = TF_NewGraph();
  TF_Output feed{}, fetch{};
  TF_Operation* nothing = nullptr;
};

// A ConfigProto: threads, and no rewriting of the graph, so that the chain is run and not folded.
std::string config(int threads) {
  const char t = static_cast<char>(threads);
  std::string rewrite = {'\x98', '\x01', '\x01'};  // disable_meta_optimizer = true
  std::string optimizer = {'\x18'};                // opt_level =
  optimizer += std::string(9, '\xff') + '\x01';    // L0, which is -1
  const auto field = [](char tag, const std::string& bytes) {
    return std::string{tag, static_cast<char>(bytes.size())} + bytes;
  };
  const std::string graph_options = field('\x1a', optimizer) + field('\x52', rewrite);
  return std::string{'\x10', t, '\x28', t} + field('\x52', graph_options);
}

TF_Session* session(TF_Graph* graph, int threads) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  const std::string proto = config(threads);
  TF_SetConfig(options, proto.data(), proto.size(), status());
  check();
  TF_Session* made = TF_NewSession(graph, options, status());
  check();
  return made;
}

bench::Values run(const std::string& name, int threads, const bench::Settings& settings) {
  const bool chain = name.starts_with("overhead/add_");
  const std::vector<int64_t> shape = name == "overhead/add_64" ? std::vector<int64_t>{64} : std::vector<int64_t>{};
  const Chain graph(chain ? kChain : 1, shape);
  TF_Session* made = session(graph.graph, threads);
  if (name == "overhead/no_op_run") {
    return bench::microseconds(
        [&] {
          TF_SessionRun(made, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, &graph.nothing, 1, nullptr, status());
          check();
        },
        1, settings);
  }
  return bench::microseconds(
      [&] {
        TF_Tensor* x = zeros(shape);
        TF_Tensor* y = nullptr;
        TF_SessionRun(made, nullptr, &graph.feed, &x, 1, &graph.fetch, &y, 1, nullptr, 0, nullptr, status());
        check();
        TF_DeleteTensor(x);
        TF_DeleteTensor(y);
      },
      chain ? kChain : 1, settings);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Settings settings;
  int threads = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      settings = bench::quick_settings();
    } else if (word == "--threads" && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (word == "--dir") {
      ++i;
    } else {
      bench::print_line(word, run(word, threads, settings));
    }
  }
  std::_Exit(0);
}
