# `cmake --install` gives a prefix where find_package(Caudal) offers Caudal::caudal.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(caudal_install)
  install(TARGETS caudal EXPORT CaudalTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT caudal)
  if(TARGET caudal_bin)
    install(TARGETS caudal_bin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT caudal)
    file(RELATIVE_PATH library_from_binary ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(caudal_bin PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_binary}")
  endif()

  # The headers are looked up when installing, not when configuring: a new one needs no list and no second configure.
  install(CODE "set(CAUDAL_INCLUDE_FOLDER \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
    set(CAUDAL_ROOT \"${CMAKE_SOURCE_DIR}\")" COMPONENT caudal)
  install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/InstallHeaders.cmake COMPONENT caudal)

  set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Caudal)
  install(EXPORT CaudalTargets NAMESPACE Caudal:: DESTINATION ${config_folder} COMPONENT caudal)
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/CaudalConfig.cmake.in ${CMAKE_BINARY_DIR}/CaudalConfig.cmake
    INSTALL_DESTINATION ${config_folder})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/CaudalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/CaudalConfig.cmake ${CMAKE_BINARY_DIR}/CaudalConfigVersion.cmake
    DESTINATION ${config_folder} COMPONENT caudal)
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT caudal)
endfunction()
