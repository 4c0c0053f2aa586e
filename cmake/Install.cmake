# `cmake --install` and find_package(karakuri).
include(CMakePackageConfigHelpers)

install(TARGETS karakuri EXPORT karakuriTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/karakuri DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT karakuriTargets NAMESPACE karakuri:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/karakuri)
configure_package_config_file(cmake/karakuriConfig.cmake.in karakuriConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/karakuri)
write_basic_package_version_file(karakuriConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/karakuriConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/karakuriConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindHdf5C.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/karakuri)
