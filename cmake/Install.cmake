# `cmake --install` and find_package(karakuri).
include(CMakePackageConfigHelpers)

# karakuri_options stays private: $<BUILD_INTERFACE> keeps our flags out of the exported target.
set_property(TARGET karakuri PROPERTY INTERFACE_LINK_LIBRARIES
  "Eigen3::Eigen;\$<LINK_ONLY:fmt::fmt>;\$<LINK_ONLY:Qhull::qhull_r>;\$<BUILD_INTERFACE:\$<LINK_ONLY:karakuri_options>>")
install(TARGETS karakuri EXPORT karakuriTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/karakuri DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT karakuriTargets NAMESPACE karakuri:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/karakuri)
configure_package_config_file(cmake/karakuriConfig.cmake.in karakuriConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/karakuri)
write_basic_package_version_file(karakuriConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/karakuriConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/karakuriConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/karakuri)
