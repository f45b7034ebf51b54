# What is installed where: into a wheel (scikit-build-core sets SKBUILD) below the module, else as distributions do.
#
#   wheel    vramplan/bin/vramplan, vramplan/bin/pretend/
#   else     bin/vramplan, lib/vramplan/pretend/, manual page, completions
if(SKBUILD)
  set(vramplan_bin vramplan/bin)
  set(vramplan_pretend vramplan/bin/pretend)
else()
  set(vramplan_bin bin)
  set(vramplan_pretend lib/vramplan/pretend)
  # Written by the program itself, of the rows that its parser is made of.
  foreach(file "manual,share/man/man1,vramplan.1" "completion bash,share/bash-completion/completions,vramplan"
               "completion zsh,share/zsh/vendor-completions,_vramplan" "completion fish,share/fish/vendor_completions.d,vramplan.fish")
    string(REPLACE "," ";" row "${file}")
    list(GET row 0 words)
    list(GET row 1 folder)
    list(GET row 2 name)
    string(REPLACE " " "\" \"" vramplan_words "\"${words}\"")
    install(CODE "
      file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/packaging\")
      execute_process(COMMAND \"$<TARGET_FILE:vramplan_binary>\" ${vramplan_words} OUTPUT_FILE \"${CMAKE_BINARY_DIR}/packaging/${name}\" COMMAND_ERROR_IS_FATAL ANY)
      file(INSTALL \"${CMAKE_BINARY_DIR}/packaging/${name}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${folder}\")")
  endforeach()
endif()

install(TARGETS vramplan_binary RUNTIME DESTINATION ${vramplan_bin})
install(TARGETS pretend_library pretend_nvml_name LIBRARY DESTINATION ${vramplan_pretend})
install(TARGETS pretend_nvidia_smi RUNTIME DESTINATION ${vramplan_pretend}/bin)
install(FILES ${CMAKE_BINARY_DIR}/pretend/libcuda.so DESTINATION ${vramplan_pretend})
install(DIRECTORY ${CMAKE_BINARY_DIR}/pretend/hook DESTINATION ${vramplan_pretend} PATTERN __pycache__ EXCLUDE)

# `cpack -G DEB` in the build folder.
set(CPACK_PACKAGE_NAME vramplan)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the authors of vramplan")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tells how much GPU memory a PyTorch step takes, without a GPU")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CPACK_PACKAGE_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The pretend card is named as the driver is; it is no library of a package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/pretend)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
