# The schemas: generated code lives in the build folder and stays inside the library.
file(GLOB caudal_schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/caudal/proto/*.proto)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
target_sources(caudal_proto PRIVATE ${caudal_schemas})
protobuf_generate(TARGET caudal_proto IMPORT_DIRS ${CMAKE_SOURCE_DIR} PROTOC_OUT_DIR ${CMAKE_BINARY_DIR}/generated)
# protobuf's headers give a class another layout under the thread sanitizer, which its library does not know.
target_compile_options(caudal_proto PRIVATE -U__SANITIZE_THREAD__)
