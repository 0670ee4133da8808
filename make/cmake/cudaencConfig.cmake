# SPDX-License-Identifier: LGPL-2.1-or-later
# find_package(cudaenc): cudaenc::cudaenc is the shared library, cudaenc::static the static one.
get_filename_component(cudaenc_libraries "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(cudaenc_headers "${CMAKE_CURRENT_LIST_DIR}/@HEADERS@" ABSOLUTE)
find_package(Threads REQUIRED)
if(NOT TARGET cudaenc::cudaenc)
  add_library(cudaenc::cudaenc SHARED IMPORTED)
  set_target_properties(cudaenc::cudaenc PROPERTIES IMPORTED_LOCATION "${cudaenc_libraries}/libcudaenc.so"
    IMPORTED_SONAME "libcudaenc.so.@ABI@" INTERFACE_INCLUDE_DIRECTORIES "${cudaenc_headers}")
  add_library(cudaenc::static STATIC IMPORTED)
  set_target_properties(cudaenc::static PROPERTIES IMPORTED_LOCATION "${cudaenc_libraries}/libcudaenc.a"
    INTERFACE_INCLUDE_DIRECTORIES "${cudaenc_headers}" IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    INTERFACE_LINK_LIBRARIES "stdc++;m;${CMAKE_DL_LIBS};Threads::Threads")
endif()
