# `cmake --install` and find_package(karakuri), or find_package(karakuri COMPONENTS engine) for the engine alone.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/karakuri)
install(TARGETS karakuri_engine EXPORT karakuriEngineTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT karakuriEngineTargets NAMESPACE karakuri:: DESTINATION ${package_dir})
if(TARGET karakuri)
  install(TARGETS karakuri EXPORT karakuriTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT karakuriTargets NAMESPACE karakuri:: DESTINATION ${package_dir})
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/FindHdf5C.cmake DESTINATION ${package_dir})
  install(DIRECTORY include/karakuri DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
else()
  foreach(module IN LISTS KARAKURI_ENGINE_MODULES)
    install(DIRECTORY include/karakuri/${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/karakuri)
  endforeach()
endif()
configure_package_config_file(cmake/karakuriConfig.cmake.in karakuriConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(karakuriConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/karakuriConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/karakuriConfigVersion.cmake
        DESTINATION ${package_dir})
