# Neither flag changes a result: they let the compiler vectorise square roots, roundings and selections.
target_compile_options(caudal_kernels PRIVATE -O3 -fno-math-errno -fno-trapping-math)
# The only file that sees Eigen.
set_source_files_properties(${CMAKE_SOURCE_DIR}/caudal/kernels/fft.cc PROPERTIES INCLUDE_DIRECTORIES ${EIGEN_INCLUDE})
