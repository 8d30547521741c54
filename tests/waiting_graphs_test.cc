// A thousand random graphs of waiting and plain ops end as under TensorFlow 2.21 (tests/python/make_waiting_graphs.py):
// with the same values, or, where TensorFlow waits for ever, at their deadline; on one thread.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "caudal/base/env.h"
#include "caudal/formats/tfrecord.h"
#include "caudal/proto/graph_io.h"
#include "caudal/runtime/session.h"

namespace caudal {
namespace {

struct WaitingGraph {
  std::string seed;
  Fetches fetches;  // values, then targets
  std::vector<int> values;
  bool waits_for_ever = false;
  std::string graph_def;
};

WaitingGraph parse(const std::string& record) {
  std::istringstream lines(record);
  WaitingGraph graph;
  std::string fetches, targets, word;
  std::getline(lines, graph.seed);
  std::getline(lines, fetches);
  std::getline(lines, targets);
  std::istringstream words(fetches), target_words(targets);
  while (words >> word) {
    const auto equals = word.find('=');
    graph.fetches.emplace_back(word.substr(0, equals));
    if (equals == std::string::npos) {
      graph.waits_for_ever = true;
    } else {
      graph.values.push_back(std::stoi(word.substr(equals + 1)));
    }
  }
  while (target_words >> word) graph.fetches.emplace_back(word);
  graph.graph_def = record.substr(static_cast<std::size_t>(lines.tellg()));
  return graph;
}

void expect_same_end(const WaitingGraph& expected) {
  SCOPED_TRACE("seed " + expected.seed);
  Graph graph;
  import_graph(expected.graph_def, graph);
  Session session(graph, {.intra_op_threads = 1});
  const std::int64_t timeout = expected.waits_for_ever ? 20 : 60'000;
  try {
    const auto results = session.run(expected.fetches, {}, {.timeout_ms = timeout});
    ASSERT_FALSE(expected.waits_for_ever);
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      EXPECT_EQ(results[i].item<int>(), expected.values[i]) << "value " << i;
    }
  } catch (const Error& error) {
    EXPECT_TRUE(expected.waits_for_ever && error.code() == Code::kDeadlineExceeded) << error.what();
  }
}

TEST(WaitingGraphs, EndAsUnderTensorFlow) {
  RecordReader reader(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/waiting_graphs.tfrecord",
                      {.compression = Compression::kZlib});
  std::string record;
  int graphs = 0;
  while (reader.next(&record)) {
    expect_same_end(parse(record));
    ++graphs;
    if (HasFatalFailure()) break;
  }
  EXPECT_EQ(graphs, 1000);
}

}  // namespace
}  // namespace caudal
