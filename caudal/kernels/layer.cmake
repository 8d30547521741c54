# Neither flag changes a result: they let the compiler vectorise square roots, roundings and selections.
target_compile_options(caudal_kernels PRIVATE -O3 -fno-math-errno -fno-trapping-math)
