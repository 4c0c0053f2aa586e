# The engine: levels 0 to 5 as the library karakuri::engine. It needs Eigen alone. With oneTBB it steps islands and
# batches in several threads, with qhull it finds the hulls of points; both are taken where they are found.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
set(needed REQUIRED)
if(KARAKURI_ENGINE_ONLY)
  set(needed QUIET)
endif()
find_package(TBB ${needed})
find_package(Qhull ${needed})

set(KARAKURI_ENGINE_MODULES core spatial model collision solver dynamics constraint world)
list(TRANSFORM KARAKURI_ENGINE_MODULES REPLACE "(.+)" "src/\\1/*.cc" OUTPUT_VARIABLE patterns)
list(TRANSFORM KARAKURI_ENGINE_MODULES REPLACE "(.+)" "src/\\1/*/*.cc" OUTPUT_VARIABLE deeper_patterns)
list(JOIN KARAKURI_ENGINE_MODULES "|" KARAKURI_ENGINE_MODULES_REGEX)
file(GLOB engine_sources CONFIGURE_DEPENDS ${patterns} ${deeper_patterns})

# karakuri_add_library(TARGET SOURCES...): with our flags, which users do not inherit, and our version.
function(karakuri_add_library target)
  add_library(${target} ${ARGN})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target}
    PRIVATE $<BUILD_INTERFACE:karakuri_options> $<BUILD_INTERFACE:karakuri_tuning>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH $ORIGIN)
endfunction()

karakuri_add_library(karakuri_engine ${engine_sources})
add_library(karakuri::engine ALIAS karakuri_engine)
set_target_properties(karakuri_engine PROPERTIES EXPORT_NAME engine)
target_link_libraries(karakuri_engine PUBLIC Eigen3::Eigen)
if(TBB_FOUND)
  target_link_libraries(karakuri_engine PRIVATE TBB::tbb)
  target_compile_definitions(karakuri_engine PRIVATE KARAKURI_HAVE_TBB)
endif()
if(TARGET Qhull::qhull_r)
  target_link_libraries(karakuri_engine PRIVATE Qhull::qhull_r)
  target_compile_definitions(karakuri_engine PRIVATE KARAKURI_HAVE_QHULL)
endif()
karakuri_precompile(karakuri_engine ${karakuri_engine_headers})
