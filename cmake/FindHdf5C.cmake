# The C library of HDF5 as Hdf5::C. CMake's own FindHDF5 needs the language C and names the libraries that
# libhdf5 was linked to, down to libpthread.a; nothing of that is ours to link. Its headers are for the few files
# that use it (HDF5C_INCLUDE_DIR), so that no other is compiled anew for them.
find_path(HDF5C_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(HDF5C_LIBRARY NAMES hdf5 hdf5_serial PATH_SUFFIXES hdf5/serial)
mark_as_advanced(HDF5C_INCLUDE_DIR HDF5C_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hdf5C REQUIRED_VARS HDF5C_LIBRARY HDF5C_INCLUDE_DIR)
if(Hdf5C_FOUND AND NOT TARGET Hdf5::C)
  add_library(Hdf5::C UNKNOWN IMPORTED)
  set_target_properties(Hdf5::C PROPERTIES IMPORTED_LOCATION ${HDF5C_LIBRARY})
endif()
