"""What random_ops.py knows of single ops: which cannot be compared, which differ with a reason, which need inputs of a kind."""

# Ops whose sums or series lose more than a type's usual tolerance in TensorFlow itself: by how much more.
LOOSE = {"Lgamma": 10, "Digamma": 10, "Polygamma": 100, "Zeta": 100, "Betainc": 100, "Igamma": 20, "Igammac": 20, "MatrixInverse": 50,
         "BatchMatrixInverse": 50, "MatrixSolve": 50, "BatchMatrixSolve": 50, "MatrixTriangularSolve": 50, "BatchMatrixTriangularSolve": 50,
         "Cholesky": 10, "MatrixDeterminant": 20, "LogMatrixDeterminant": 20, "IgammaGradA": 100, "RandomGammaGrad": 100, "Tan": 10,
         "SelfAdjointEigV2": 20, "Svd": 20, "Qr": 20, "Pow": 10,
         # TensorFlow sums the logarithms in float32 whatever the type.
         "CTCLoss/float64": 1e5, "CTCBeamSearchDecoder/float64": 1e5,
         # Rounded once here, after each step there.
         **{f"{op}/{kind}": 8 for kind in ("float16", "bfloat16") for op in (
             "ApplyAdadelta", "ApplyRMSProp", "ApplyCenteredRMSProp", "ResourceApplyAdadelta", "ResourceApplyRMSProp",
             "ResourceApplyCenteredRMSProp", "ResourceApplyAdaMax", "ResourceApplyKerasMomentum", "ResourceSparseApplyAdadelta",
             "ResourceSparseApplyRMSProp", "ResourceSparseApplyCenteredRMSProp", "SparseApplyAdadelta", "SparseApplyRMSProp",
             "SparseApplyCenteredRMSProp", "LSTMBlockCell", "SoftmaxCrossEntropyWithLogits")},
         "FusedBatchNorm": 30, "FusedBatchNormV2": 30, "FusedBatchNormV3": 60, "Einsum": 4}  # sums logarithms in float32 whatever the type
# Ops whose matrices must be positive definite.
POSITIVE_DEFINITE = {"Cholesky", "BatchCholesky", "CholeskyGrad", "BatchCholeskyGrad", "MatrixSquareRoot", "MatrixLogarithm"}
# Ops that read outside their inputs in TensorFlow unless the sizes fit: these stay as the seed has them.
PAIRED = {"RaggedTensorToTensor", "BlockLSTM", "BlockLSTMGrad", "BlockLSTMV2", "BlockLSTMGradV2", "AvgPoolGrad", "AvgPool3DGrad", "MaxPoolGradWithArgmax",
          "MaxPoolGradGradWithArgmax", "FractionalMaxPoolGrad", "FractionalAvgPoolGrad"}

# (ops or "*", words in the difference, reason).
DELIBERATE = [
    ("*", "Pad (\"SAME\"), or use a smaller window", "TensorFlow gives an empty result; here it is an error that says what to do"),
    ("*", "error expected: Current CPU implementations do not yet support dilation", "TensorFlow has no kernel; ours is right"),
    ("AvgPool3DGrad AvgPoolGrad", "must be [", "TensorFlow reads outside of a gradient of another shape"),
    ("Conv2DBackpropFilter Conv2D DepthwiseConv2dNative", "error expected: filter_size does not have enough", "a sound call; TensorFlow "
     "miscounts the groups"),
    ("Conv2D DepthwiseConv2dNative", "[]; ", "of an empty input TensorFlow leaves the filter's gradient as the memory was"),
    ("MaxPoolGradGrad MaxPoolGradGradV2 MaxPool3DGradGrad", "put 0[", "TensorFlow looks for the "
     "output's value in the window, here the place of the maximum is found again: the same where the output is the input's"),
    ("MaxPoolGrad MaxPoolGradV2 MaxPool3DGrad MaxPoolGradGrad MaxPoolGradGradV2", "gradient 2[", "as above"),
    ("*", "is empty |", "a filter or window without elements is an error here"),
    ("* MaxPool3DGrad MaxPool3DGradGrad MaxPoolWithArgmax LSTMBlockCell", "error expected: received empty tensor", "empty in, empty out"),
    ("MaxPoolWithArgmax BandedTriangularSolve LSTMBlockCell", "empty", "empty in, empty out"),
    ("BandedTriangularSolve", "do not fit", "more bands than columns are refused"),
    ("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", "output 3", "reserved for the gradient: in inference TensorFlow leaves the memory "
     "as it was"),
    ("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", "[0, ", "moments of nothing: NaN here, of another kind there"),
    ("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", ", 0, 0, ", "as above"),
    ("Gather GatherV2 GatherNd ResourceGather ResourceGatherNd", "is not in [0, ", "indices are checked where the result is empty, too"),
    ("IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D", "[]; ", "of an input with a size of 0 TensorFlow gives what the memory held"),
    ("MatrixSolveLs", "[]; ", "of an empty matrix TensorFlow gives what the memory held"),
    ("Digamma Polygamma Zeta", "expected np.float32(nan)", "TensorFlow's polygamma is not defined for negative numbers; ours is"),
    ("InvGrad SqrtGrad RsqrtGrad TanhGrad SigmoidGrad ReciprocalGrad", "must have one shape", "TensorFlow repeats one of the inputs "
     "though its shape function says that it does not"),
    ("DiagPart", "must be even and positive", "TensorFlow's own shape function refuses a scalar; its kernel does not look"),
    ("Svd BatchSvd SelfAdjointEigV2 BatchSelfAdjointEigV2", "output 1 is", "without vectors TensorFlow leaves outputs 1 and 2 unset"),
    ("FloorDiv", "output", "of bfloat16 TensorFlow floors the rounded quotient, ours the exact one, as both do for half"),
    ("SparseToDense", "error expected: params must be at least a vector", "the gradient of no values is none"),
    ("EditDistance", "fails: EditDistance", "TensorFlow takes indices that are out of order, repeated or outside as they come"),
    ("CTCBeamSearchDecoder", "output", "OPEN: in some calls with a wide beam the last of the paths is another; not explained yet"),
    ("DepthwiseConv2dNativeBackpropFilter Conv2DBackpropFilter", "[]; ", "of an empty input TensorFlow gives what the memory held"),
    ("FractionalAvgPoolGrad FractionalMaxPoolGrad", "fails: Fractional", "sequences and sizes that do not fit are refused"),
    ("SparseAdd", "put 0 is", "a threshold of another type than the values' real part: TensorFlow reads its bytes as if it were one"),
    ("SparseAdd", "gradient 0", "as above"), ("SparseAdd", "put 1[", "as above"), ("SparseAdd", "put 1 is", "as above"),
    ("SparseAdd SparseSparseMaximum SparseSparseMinimum", "must not be empty", "shapes of rank 0: nothing in, nothing out"),
    ("SparseReduceMax SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse", "Obtained a write index", "an index outside the "
     "shape is not always seen there"),
    ("SparseReduceSum", "error expected: params must be at least a vector", "the gradient of a tensor of rank 0"),
    ("RaggedTensorToTensor", "Invalid row split size", "splits that do not fit: TensorFlow reads outside"),
    ("Fill", "dims must be a vector of sizes", "TensorFlow's shape function refuses a scalar, too; its kernel takes it"),
    ("ScatterNd ScatterNdAdd ScatterNdSub ScatterNdMin ScatterNdMax ScatterNdUpdate ResourceScatterNdAdd ResourceScatterNdSub "
     "ResourceScatterNdMin ResourceScatterNdMax ResourceScatterNdUpdate TensorScatterAdd TensorScatterMin TensorScatterMax "
     "TensorScatterSub TensorScatterUpdate", "error expected", "updates "
     "without elements change nothing"),
    ("StatelessRandomNormalV2 StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessTruncatedNormalV2 StatelessShuffle "
     "StatelessRandomUniformFullIntV2", "counter must be a vector", "TensorFlow reads outside of a counter that is too short"),
    ("StatelessRandomUniformFullInt", "Invalid seed type", "seeds of type uint32 are taken, too"),
    ("QuantizeAndDequantizeV3 QuantizeAndDequantizeV2", "Axis requested", "an axis of -1 means none, for scalars as well"),
    ("MirrorPad", "gradient: error expected: Total paddings", "nothing in, nothing out"),
    ("SparseBincount", "are no sparse vector or matrix", "TensorFlow takes the first two columns of other indices"),
    ("ScaleAndTranslateGrad", "must have rows", "an image without rows"),
    ("TensorStridedSliceUpdate StridedSliceAssign ResourceStridedSliceAssign", "does not broadcast", "TensorFlow does not look at the "
     "value where the slice is empty"),
    ("Round", "output 0[", "of odd integers TensorFlow's round gives the even neighbour below; ours leaves integers as they are"),
    ("AudioSummaryV2", "output 0 is", "a sound without samples: headers of other lengths"),
    ("DenseToSparseSetOperation SparseToSparseSetOperation", "is out of bounds", "indices are checked though validate_indices is false"),
    ("RaggedBincount", "splits must grow", "splits that fall are refused"),
    ("Reverse", "dims must tell", "a scalar takes no dims"), ("Reverse", "Invalid input first dimension", "empty in, empty out"),
    ("SparseAddGrad", "output ", "indices out of order: TensorFlow walks both lists as if they were sorted"),
    ("SparseSegmentSumGrad SparseSegmentSqrtNGrad SparseSegmentMeanGrad SparseSegmentSum SparseSegmentSqrtN SparseSegmentMean",
     "[]; ", "without indices TensorFlow gives what the memory held"),
    ("SparseSoftmax", "put 0[", "indices out of order"), ("SparseSoftmax", "gradient 0[", "indices out of order"),
    ("SparseToSparseSetOperation", "output", "indices out of order"),
    ("StringNGrams", "output 0 is", "OPEN: values without splits"),
    ("TopKV2 TopK", "'sorted': False", "the order is not told"),
    ("UnicodeScript", "output 0[", "another version of Unicode"),
    ("SparseApplyCenteredRMSProp ResourceSparseApplyCenteredRMSProp ApplyCenteredRMSProp ResourceApplyCenteredRMSProp", "np.float16(",
     "half: the square of the mean is taken from the mean of squares; what is left has few digits"),
    ("TridiagonalSolve", "perturb_singular is not supported", "MISSING: perturb_singular"),
    ("UnsortedSegmentProd UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin", "is out of range", "ids are checked where there "
     "is no data, too"),
]

# Why an op is not compared here. The first rule that fits counts; an op without seeds and without a rule fails the test.
_RULES = [
    ("a pipeline: dataset_server_test.py", "*Dataset* *Iterator* Optional*"),
    ("random: no two implementations draw alike without a seed; seeded ones are among the golden vectors",
     "RandomCrop RandomGamma RandomPoisson* RandomUniform* RandomStandardNormal RandomShuffle SampleDistorted* Stateful* "
     "*CandidateSampler ParameterizedTruncatedNormal NonDeterministicInts Rng* *SeedGenerator Multinomial "
     "TruncatedNormal AnonymousRandomSeedGenerator"),
    ("a queue, a barrier, a staging area, an accumulator or a lock: order of several runs; in the tests beside the ops",
     "*Queue* Barrier* *Stage* Stage* Unstage *Unstage* *MapClear *MapIncompleteSize *MapPeek *MapSize MapUnstage* *Accumulator* Mutex* "
     "ConsumeMutexLock Stack*"),
    ("files and records: formats_test.py, interop_test.py", "*SummaryWriter ImportEvent Write*Summary AudioSummary CreateSummary* *Reader* Restore* Save* MergeV2Checkpoints ReadFile WriteFile MatchingFiles "
     "ImmutableConst"),
    ("tables: several runs with one handle; in the tests beside the ops", "*HashTable* *LookupTable* InitializeTable* *MemoryCache"),
    ("lists, maps and arrays that live between ops: while loops of interop_test.py", "TensorArray* TensorList* TensorMap* EmptyTensor*"),
    ("control flow: no kernel, or a body is needed; interop_test.py",
     "Enter Exit Merge Switch NextIteration LoopCond ControlTrigger Ref* If While Case For _If _While StatelessIf StatelessWhile StatelessCase PartitionedCall "
     "StatefulPartitionedCall SymbolicGradient RemoteCall MapDefun"),
    ("no output to compare", "Abort Assert NoOp Print PrintV2"),
    ("of the process: time, devices, sessions, Python", "Timestamp DeviceIndex *PyFunc PyFuncStateless *SessionTensor *SessionHandle* "
     "DebugGradientRefIdentity"),
    ("the client or the runtime makes it, not a caller", "_* Const FakeParam Placeholder PlaceholderV2 HarnessCopy"),
    ("makes or ends a variable that all other calls of variables use", "VarHandleOp Variable VariableV2 TemporaryVariable "
     "DestroyTemporaryVariable DestroyResourceOp DisableCopyOnRead"),
    ("memory without values", "Empty"),
    ("needs a whole coded file or message: golden vectors", "DecodeJSONExample SparseCross* DecodeCompressed DecodePng EncodePng ImageSummary MergeSummary Parse*"),
    ("vectors are only given up to a factor; golden vectors and residuals in the tests beside the op",
     "Eig Qr SelfAdjointEig BatchSelfAdjointEig MatrixLogarithm"),
    ("arguments must be the forward op's own: golden vectors and the gradients of the LSTM ops", "BlockLSTMV2"),
]


def why_not_compared(op):
    """The reason, or None."""
    import fnmatch
    return next((reason for reason, names in _RULES if any(fnmatch.fnmatchcase(op, name) for name in names.split())), None)
