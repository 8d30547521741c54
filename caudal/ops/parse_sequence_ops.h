// SequenceExamples (caudal/formats/example.h) parsed in the graph: features of a whole sequence, and lists with one
// feature per step.
//
// Errors as in parse_example_ops.h. Thread safety: as building a graph.
#pragma once

#include "caudal/ops/parse_example_ops.h"

namespace caudal::inline v0::io {

struct ParsedSequence {
  ParsedFeatures context;
  ParsedFeatures feature_lists;
};

// serialized: a string vector of SequenceExamples. `context` as in parse_example, without FixedLenSequenceFeature.
// `sequences`: of a FixedLenSequenceFeature [batch, longest] + shape and the numbers of steps in `lengths`, an absent
// list counting as one without steps; of a VarLenFeature a SparseTensor [batch, steps, values]; of a RaggedFeature rows
// of rows.
CAUDAL_API ParsedSequence parse_sequence_example(const Operand& serialized, const FeatureSpecs& context,
                                                 const FeatureSpecs& sequences,
                                                 const ParseExampleOptions& options = {});
// serialized: one SequenceExample, a string scalar; results without the batch dimension.
CAUDAL_API ParsedSequence parse_single_sequence_example(const Operand& serialized, const FeatureSpecs& context,
                                                        const FeatureSpecs& sequences,
                                                        const ParseExampleOptions& options = {});

}  // namespace caudal::inline v0::io
