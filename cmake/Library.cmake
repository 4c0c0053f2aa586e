# The whole library: levels 6 to 8 as karakuri::karakuri, on the engine.
find_package(fmt REQUIRED)
find_package(tinyxml2 REQUIRED)
find_package(assimp REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Hdf5C REQUIRED)
find_package(sdformat12 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers alone
find_package(Threads REQUIRED)

file(GLOB library_sources CONFIGURE_DEPENDS src/*/*.cc src/*/*/*.cc)
list(FILTER library_sources EXCLUDE REGEX "/src/(${KARAKURI_ENGINE_MODULES_REGEX}|cli|python)/")

# alone: what takes long, and what has a flag or a clash of its own
set(alone ${library_sources})
list(FILTER alone INCLUDE REGEX "/src/(server/(socket|http|live_session)|session/hdf5|io/mesh/assimp|io/sdf/reader)\\.cc$")
list(REMOVE_ITEM library_sources ${alone})
karakuri_group(library_groups 6 ${library_sources})
karakuri_add_library(karakuri ${library_groups} ${alone})
add_library(karakuri::karakuri ALIAS karakuri)
target_link_libraries(karakuri PUBLIC karakuri_engine
  PRIVATE fmt::fmt tinyxml2::tinyxml2 assimp::assimp PNG::PNG ZLIB::ZLIB Hdf5::C sdformat12::sdformat12 yaml-cpp
  Threads::Threads $<BUILD_INTERFACE:Boost::headers> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
karakuri_precompile(karakuri ${karakuri_engine_headers} <fmt/format.h> <nlohmann/json.hpp>)
set_source_files_properties(src/session/hdf5.cc PROPERTIES INCLUDE_DIRECTORIES ${HDF5C_INCLUDE_DIR})
