# What is installed where: into a wheel (scikit-build-core sets SKBUILD) below the module, else as distributions do.
#
#   wheel    vramplan/bin/vramplan, vramplan/bin/pretend/, vramplan/bin/lib/ (libraries that other systems lack)
#   else     bin/vramplan, lib/vramplan/pretend/, manual page, completions
if(SKBUILD)
  set(vramplan_bin vramplan/bin)
  set(vramplan_pretend vramplan/bin/pretend)
  set_target_properties(vramplan_binary PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
  # Debian has the messages of ONNX as a shared library alone; other systems have neither.
  install(CODE "
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:vramplan_binary>\" RESOLVED_DEPENDENCIES_VAR found
         PRE_EXCLUDE_REGEXES \"^ld-linux\" POST_INCLUDE_REGEXES \"/lib(onnx_proto|protobuf)\\\\.so\" POST_EXCLUDE_REGEXES \".*\")
    foreach(library IN LISTS found)
      file(REAL_PATH \"\${library}\" real)
      get_filename_component(soname \"\${library}\" NAME)
      file(INSTALL \"\${real}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/vramplan/bin/lib\" RENAME \"\${soname}\")
    endforeach()")
else()
  set(vramplan_bin bin)
  set(vramplan_pretend lib/vramplan/pretend)
endif()

install(TARGETS vramplan_binary RUNTIME DESTINATION ${vramplan_bin})
install(TARGETS pretend_library pretend_nvml_name LIBRARY DESTINATION ${vramplan_pretend})
install(FILES ${CMAKE_BINARY_DIR}/pretend/libcuda.so DESTINATION ${vramplan_pretend})
install(DIRECTORY ${CMAKE_BINARY_DIR}/pretend/hook DESTINATION ${vramplan_pretend} PATTERN __pycache__ EXCLUDE)
