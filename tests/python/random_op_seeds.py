"""Calls that random_ops.py starts from where no recorded one does: (op, attributes, inputs). The form of an input: random_ops.py."""


from tensorflow.python.framework import op_def_registry
import tensorflow as tf

# Ops of variables: an input that is a variable is written as the value it starts with.
_TRAINING = """AdaMax Adadelta Adagrad AdagradDA AdagradV2 Adam AdamWithAmsgrad AddSign CenteredRMSProp Ftrl FtrlV2 GradientDescent
KerasMomentum Momentum PowerSign ProximalAdagrad ProximalGradientDescent RMSProp"""
_SCATTER = "Add Sub Mul Div Min Max Update"


def _training(op):
    """A seed for an op that updates variables: its arguments' names say what they are."""
    inputs = []
    sparse = "SparseApply" in op
    for argument in op_def_registry.get(op).input_arg:
        if argument.is_ref or argument.type == tf.resource.as_datatype_enum:
            inputs.append("float32[4,3]:0.1..2")
        elif argument.name == "grad":
            inputs.append("float32[2,3]" if sparse else "float32[4,3]")
        elif argument.name == "indices":
            inputs.append("int32[2]=3,1")
        else:
            inputs.append("int64[]=7" if argument.name == "global_step" else "float32[]:0.1..0.9")
    return op, {}, inputs


def _variables():
    for prefix in ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"):
        for name in _TRAINING.split():
            if op_def_registry.get(prefix + name) is not None:
                yield _training(prefix + name)
    for name in _SCATTER.split():
        for prefix in ("Scatter", "ResourceScatter"):
            yield prefix + name, {}, ["float32[5,3]:1..4", "int32[4]=0,4,2,2", "float32[4,3]:1..3"]
        if name not in ("Mul", "Div"):
            for prefix in ("ScatterNd", "ResourceScatterNd"):
                yield prefix + name, {}, ["float32[5,3]:1..4", "int32[4,1]=0,4,2,3", "float32[4,3]:1..3"]
                yield prefix + name, {}, ["float32[5,3]:1..4", "int32[2,2]=0,1,4,2", "float32[2]:1..3"]
    for name in ("Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"):
        yield name, {}, ["float32[2,3]", "float32[2,3]"]
    for name in ("StridedSliceAssign", "ResourceStridedSliceAssign"):
        yield name, {}, ["float32[4,3]", "int32[2]=1,0", "int32[2]=3,2", "int32[2]=1,1", "float32[2,2]"]
    yield "ReadVariableOp", {"dtype": {"type": "float32"}}, ["float32[2,3]"]
    yield "ResourceGather", {"dtype": {"type": "float32"}}, ["float32[5,3]", "int32[4]=0,4,2,2"]
    yield "ResourceGatherNd", {"dtype": {"type": "float32"}}, ["float32[5,3]", "int32[2,2]=0,1,4,2"]
    yield "VariableShape", {}, ["float32[2,3]"]
    yield "VarIsInitializedOp", {}, ["float32[2,3]"]
    yield "IsVariableInitialized", {}, ["float32[2,3]"]
    yield "RefIdentity", {}, ["float32[2,3]"]
    yield "ResourceCountUpTo", {"limit": 3, "T": {"type": "int64"}}, ["int64[]=1"]
    yield "CountUpTo", {"limit": 3}, ["int32[]=1"]


def more_seeds():
    return MORE_SEEDS + list(_variables())


def _each(ops, *inputs, **attrs):
    return [(op, attrs, list(inputs)) for op in ops.split()]


# Two sparse tensors of shape [2, 4].
_SPARSE = ("int64[3,2]=0,0,0,2,1,1", "float32[3]", "int64[2]=2,4")
_OTHER = ("int64[2,2]=0,0,1,2", "float32[2]", "int64[2]=2,4")
_SEGMENTS = ("int32[4]=0,2,1,2", "int32[4]=0,0,1,2")

MORE_SEEDS = [
    *_each("SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv", *_SPARSE, "float32[2,4]:1..3"),
    *_each("SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv", *_SPARSE, "float32[4]:1..3"),
    *_each("SparseTensorDenseAdd", *_SPARSE, "float32[2,4]"), *_each("SparseSoftmax", *_SPARSE),
    *_each("SparseReduceMax SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse", *_SPARSE, "int32[1]=1"),
    *_each("SparseReduceMax SparseReduceSum", *_SPARSE, "int32[2]=0,1", keep_dims=True),
    *_each("SparseAdd", *_SPARSE, *_OTHER, "float32[]=0"), *_each("SparseSparseMaximum SparseSparseMinimum", *_SPARSE, *_OTHER),
    *_each("SparseAddGrad", "float32[4]", _SPARSE[0], _OTHER[0], "int64[4,2]=0,0,0,2,1,1,1,2"),
    *_each("SparseConcat", *([a, b] for a, b in zip(_SPARSE, _OTHER)), concat_dim=0),
    *_each("SparseSlice", *_SPARSE, "int64[2]=0,1", "int64[2]=2,2"), *_each("SparseSplit", "int64[]=1", *_SPARSE, num_split=2),
    *_each("SparseSliceGrad", "float32[2]", _SPARSE[0], "int64[2]=0,1", "int64[2,2]=0,1,1,0"),
    *_each("SparseFillEmptyRowsGrad", "int64[3]=2,1,0", "float32[4]"),
    *_each("SetSize", _SPARSE[0], "int32[3]:0..9", _SPARSE[2]),
    *_each("DenseToDenseSetOperation", "int32[2,3]:0..3", "int32[2,4]:0..3", set_operation="union"),
    *_each("DenseToSparseSetOperation", "int32[2,3]:0..3", _SPARSE[0], "int32[3]:0..3", _SPARSE[2], set_operation="intersection"),
    *_each("SparseToSparseSetOperation", _SPARSE[0], "int32[3]:0..3", _SPARSE[2], _OTHER[0], "int32[2]:0..3", _OTHER[2],
           set_operation="a-b"),
    *_each("SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments SparseSegmentSumWithNumSegments", "float32[3,2]",
           *_SEGMENTS, "int32[]=4"),
    *_each("SparseSegmentSumGrad SparseSegmentSqrtNGrad", "float32[3,2]", *_SEGMENTS, "int32[]=3"),
    *_each("SparseSegmentSumGradV2 SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2", "float32[3,2]", *_SEGMENTS, "int32[]=3"),
    *_each("SparseMatMul", "float32[3,4]", "float32[4,2]"),
    *_each("DenseCountSparseOutput", "int32[2,4]:0..4", "float32[0]", binary_output=False),
    *_each("SparseCountSparseOutput", "int64[3,1]=0,1,2", "int32[3]:0..4", "int64[1]=3", "float32[0]", binary_output=False),
    *_each("RaggedCountSparseOutput", "int64[3]=0,2,4", "int32[4]:0..4", "float32[0]", binary_output=False),
    *_each("RaggedRange", "int32[3]:0..3", "int32[3]:3..6", "int32[3]:1..2"),
    *_each("RaggedTensorToSparse", ["int64[4]=0,2,2,3"], "float32[3]"),
    *_each("RaggedTensorToTensor", "int64[2]=3,3", "float32[3]", "float32[]", ["int64[4]=0,2,2,3"],
           row_partition_types=["ROW_SPLITS"]),
    *_each("AudioSummaryV2", "string[]=tag", "float32[2,9,1]:-1..1", "float32[]=100"),
    *_each("TensorSummary", "float32[2,3]"), *_each("TensorSummaryV2", "string[]=tag", "float32[2,3]", "string[]="),
    *_each("BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 Dawsn FresnelCos FresnelSin", "float32[3,4]:-9..9"),
    *_each("BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Expint Spence", "float32[3,4]:0.1..9"),
    *_each("IgammaGradA", "float32[5]:0.2..6", "float32[5]:0.1..8"),
    *_each("PopulationCount", "int32[5]:0..100"),
    *_each("ToBool", "float32[]"), *_each("ToBool", "float32[3]"),
    *_each("AccumulateNV2", ["float32[2,3]", "float32[2,3]"], shape={"shape": [2, 3]}),
    *_each("BatchMatMulV3", "float32[2,3,4]", "float32[2,4,5]"),
    *_each("BatchMatMulV3", "float32[3,4]", "float32[2,4,5]"),
    *_each("MatrixDeterminant BatchMatrixDeterminant MatrixInverse BatchMatrixInverse", "float32[2,3,3]"),
    *_each("MatrixExponential", "float32[2,3,3]"),
    *_each("BatchMatrixBandPart", "float32[2,3,4]", "int64[]=1", "int64[]=1"),
    *_each("BatchMatrixDiag", "float32[2,3]"), *_each("BatchMatrixDiagPart", "float32[2,3,3]"),
    *_each("BatchMatrixSetDiag", "float32[2,3,3]", "float32[2,3]"),
    *_each("BatchMatrixSolve BatchMatrixTriangularSolve", "float32[2,3,3]:0.5..3", "float32[2,3,2]"),
    *_each("MatrixSolveLs", "float32[4,3]", "float32[4,2]", "double[]=0.1"),
    *_each("BandedTriangularSolve", "float32[2,4]:1..3", "float32[4,3]"),
    *_each("Lu", "float32[2,3,3]"),
    *_each("Conv3DBackpropInput", "float32[1,4,4,4,2]", "float32[2,2,2,2,3]", "float32[1,4,4,4,3]", strides=[1] * 5, padding="SAME"),
    *_each("Conv3DBackpropFilter", "float32[1,4,4,4,2]", "float32[2,2,2,2,3]", "float32[1,4,4,4,3]", strides=[1] * 5, padding="SAME"),
    *_each("DenseBincount", "int32[6]:0..5", "int32[]=6", "float32[6]"), *_each("DenseBincount", "int32[2,6]:0..5", "int32[]=6", "float32[0]"),
    *_each("Fingerprint", "uint8[4,3]:0..255", "string[]=farmhash64"),
    *_each("FFT2D IFFT2D", "complex64[2,4,3]"), *_each("FFT3D IFFT3D", "complex64[2,4,3,2]"),
    *_each("RFFT2D", "float32[2,4,6]", "int32[2]=4,6"), *_each("IRFFT2D", "complex64[2,4,4]", "int32[2]=4,6"),
    *_each("RFFT3D", "float32[3,4,6]", "int32[3]=3,4,6"), *_each("IRFFT3D", "complex64[3,4,4]", "int32[3]=3,4,6"),
    *_each("MatrixDiagV2", "float32[2,3]", "int32[]=0", "int32[]=3", "int32[]=3", "float32[]=7"),
    *_each("MatrixDiagPartV2", "float32[2,3,4]", "int32[]=1", "float32[]=7"),
    *_each("MatrixSetDiagV2", "float32[2,3,4]", "float32[2,3]", "int32[]=1"),
    *_each("MaxPoolGradV2", "float32[1,4,4,2]", "float32[1,2,2,2]", "float32[1,2,2,2]", "int32[4]=1,2,2,1", "int32[4]=1,2,2,1",
           padding="VALID"),
    *_each("MaxPoolGradGrad", "float32[1,4,4,2]", "float32[1,2,2,2]", "float32[1,4,4,2]", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
           padding="VALID"),
    *_each("QuantizeAndDequantize", "float32[3,4]"),
    *_each("RaggedBincount", "int64[4]=0,2,3,6", "int32[6]:0..5", "int32[]=6", "float32[6]"),
    *_each("SparseBincount", "int64[3,1]=0,1,2", "int32[3]:0..5", "int64[1]=3", "int32[]=6", "float32[3]"),
    *_each("DenseCountSparseOutput", "int32[2,3]:0..5", "int32[2,3]", binary_output=False),
    *_each("SparseCountSparseOutput", "int64[3,2]=0,0,0,1,1,0", "int32[3]:0..5", "int64[2]=2,3", "int32[3]", binary_output=False),
    *_each("RaggedCountSparseOutput", "int64[3]=0,2,3", "int32[3]:0..5", "int32[3]", binary_output=False),
    *_each("SparseMatMul", "float32[2,3]", "float32[3,4]"),
    *_each("ScatterNdNonAliasingAdd", "float32[5]", "int32[3,1]:0..4", "float32[3]"),
    *_each("TopK", "float32[3,5]", k=2),
    *_each("TridiagonalMatMul", "float32[1,4]", "float32[1,4]", "float32[1,4]", "float32[4,2]"),
    *_each("TridiagonalSolve", "float32[3,4]:1..3", "float32[4,2]"),
    *_each("UniqueWithCountsV2", "int32[6]:0..3", "int64[1]=0"),
    *_each("UnsortedSegmentJoin", "string[4]=a,b,c,d", "int32[4]:0..2", "int32[]=3"),
    *_each("ScalarSummary", "string[]=tag", "float32[]"), *_each("HistogramSummary", "string[]=tag", "float32[5]"),
    *_each("SerializeTensor", "float32[2,3]"),
    *_each("PlaceholderWithDefault", "float32[2,3]", shape={"shape": "?"}),
    *_each("ShardedFilename", "string[]=base", "int32[]=1", "int32[]=4"), *_each("ShardedFilespec", "string[]=base", "int32[]=4"),
    *_each("UnicodeDecodeWithOffsets", "string[3]=a,bc,def", input_encoding="UTF-8"),
    *_each("UnicodeTranscode", "string[3]=a,bc,def", input_encoding="UTF-8", output_encoding="UTF-16-BE"),
    *_each("ComputeAccidentalHits", "int64[2,1]=1,2", "int64[3]=1,2,4", num_true=1),
    *_each("FusedBatchNormGrad FusedBatchNormGradV2", "float32[2,3,3,2]", "float32[2,3,3,2]", "float32[2]", "float32[2]", "float32[2]:1..3"),
    *_each("MaxPoolGradGradV2", "float32[1,4,4,2]", "float32[1,2,2,2]", "float32[1,4,4,2]", "int32[4]=1,2,2,1", "int32[4]=1,2,2,1",
           padding="VALID"),
    *_each("MaxPoolGradWithArgmax", "float32[1,2,2,1]", "float32[1,1,1,1]", "int64[1,1,1,1]=3", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
           padding="VALID"),
    *_each("MaxPoolGradGradWithArgmax", "float32[1,2,2,1]", "float32[1,2,2,1]", "int64[1,1,1,1]=3", ksize=[1, 2, 2, 1],
           strides=[1, 2, 2, 1], padding="VALID"),
    *_each("Svd BatchSvd", "float32[2,3,4]", compute_uv=False), *_each("SelfAdjointEigV2 BatchSelfAdjointEigV2", "float32[2,3,3]", compute_v=False),
    *_each("BatchCholesky", "float32[2,3,3]"), *_each("CholeskyGrad BatchCholeskyGrad", "float32[3,3]", "float32[3,3]"),
    *_each("MatrixSquareRoot", "complex64[3,3]"), *_each("BatchMatrixSolveLs", "float32[2,4,3]", "float32[2,4,2]", "double[]=0.1"),
    *_each("FractionalMaxPoolGrad", "float32[1,4,4,1]", "float32[1,2,2,1]", "float32[1,2,2,1]", "int64[3]=0,2,4", "int64[3]=0,2,4"),
    *_each("FractionalAvgPoolGrad", "int64[4]=1,4,4,1", "float32[1,2,2,1]", "int64[3]=0,2,4", "int64[3]=0,2,4"),
    *_each("FractionalAvgPool FractionalMaxPool", "float32[1,5,5,2]", pooling_ratio=[1.0, 1.4, 1.4, 1.0], deterministic=True, seed=3,
           seed2=5),
]
