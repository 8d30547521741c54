# Options and flags that every target shares.
option(CAUDAL_BUILD_TESTS "Build the unit tests" ON)
option(CAUDAL_BENCH "Offer the target caudal_bench" OFF)
option(CAUDAL_FUZZ "Build the fuzz targets and nothing else" OFF)
set(CAUDAL_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Kernels ask for more where it pays; for the rest -O3 costs build time only.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# -ffp-contract=off: a*b+c rounds twice everywhere, so that plain kernels give the same bits on every x86-64 machine;
# SIMD kernels ask for fused multiply-add by name.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -ffp-contract=off)
if(CAUDAL_SANITIZE)
  add_compile_options(-fsanitize=${CAUDAL_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${CAUDAL_SANITIZE})
  if(CAUDAL_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With these checks GCC no longer takes the address of a function for a constant, and registrations are constants.
    # A null pointer that is followed is reported by the address sanitizer.
    add_compile_options(-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute)
  endif()
endif()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_path(RE2_INCLUDE re2/re2.h REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
find_path(EIGEN_INCLUDE unsupported/Eigen/FFT PATH_SUFFIXES eigen3 REQUIRED)
find_package(Protobuf REQUIRED)
