# VRAMPLAN_PORTABLE: what runs on other systems than the one that built it. Of shared libraries only those of glibc and
# libgcc_s are left, which every Linux with a PyTorch has; tests/wheel_test.sh reads which symbols they must have.
#
# Debian has the messages of ONNX as a shared library alone, but their .proto file too: they are compiled in. It says
# LITE_RUNTIME, so libprotobuf-lite is enough.
set(Protobuf_USE_STATIC_LIBS ON)
set(ZLIB_USE_STATIC_LIBS ON)
find_package(Protobuf REQUIRED)
find_file(VRAMPLAN_ONNX_PROTO onnx/onnx.proto REQUIRED)
if(NOT TARGET protobuf::protoc)
  message(FATAL_ERROR "protoc is not installed (Debian: protobuf-compiler); a portable build compiles the messages of ONNX")
endif()

set(messages ${CMAKE_BINARY_DIR}/onnx_messages)
configure_file(${VRAMPLAN_ONNX_PROTO} ${messages}/onnx/onnx-ml.proto COPYONLY)
add_custom_command(OUTPUT ${messages}/onnx/onnx-ml.pb.cc ${messages}/onnx/onnx-ml.pb.h
                   COMMAND protobuf::protoc --cpp_out=${messages} -I${messages} ${messages}/onnx/onnx-ml.proto
                   DEPENDS ${messages}/onnx/onnx-ml.proto VERBATIM)
add_library(onnx_messages STATIC ${messages}/onnx/onnx-ml.pb.cc ${messages}/onnx/onnx-ml.pb.h)
target_include_directories(onnx_messages BEFORE PUBLIC ${messages})
target_compile_definitions(onnx_messages PUBLIC ONNX_NAMESPACE=onnx ONNX_ML=1)
target_compile_options(onnx_messages PRIVATE -w)
target_link_libraries(onnx_messages PUBLIC protobuf::libprotobuf-lite)

# Of the C++ library what is used: its random_device, which nothing here uses, is what asks for arc4random of glibc 2.36.
add_link_options(-static-libstdc++ LINKER:--gc-sections)
