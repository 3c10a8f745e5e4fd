# The backends that belong to Sluice: each a plug-in libsluice-<name>.so beside the library, which finds it there by
# itself. They link no vendor's library and nothing of Sluice; what they need they open at run time.

option(SLUICE_BUILD_BACKENDS "Build the backends (plug-ins) of this repository" ON)

set(sluice_backends_root "${PROJECT_SOURCE_DIR}/backends")

function(sluice_set_backend_flags target)
  sluice_set_flags(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# tests/<name>_{backend,device,faults}_test.cpp, and tests/streams_*_test.cpp for all backends with streams, open the
# plug-in by the path in SLUICE_<NAME>_PLUGIN; tests/plugin_*_test.cpp find it beside the library. They are added after it.
function(sluice_connect_backend_tests name)
  string(TOUPPER "${name}" upper)
  foreach(test ${name}_backend_test ${name}_device_test ${name}_faults_test streams_backend_test streams_faults_test
               streams_components_test moves_across_test)
    if(TARGET ${test})
      target_compile_definitions(${test} PRIVATE SLUICE_${upper}_PLUGIN="$<TARGET_FILE:sluice_backend_${name}>")
      add_dependencies(${test} sluice_backend_${name})
    endif()
  endforeach()
  foreach(test plugin_map_test plugin_kernels_test plugin_index_test plugin_models_test plugin_cache_test
               plugin_groups_test plugin_gemm_test kernel_races_test streams_training_test streams_components_test
               device_moves_test device_loader_test doctor_test interop_test dlpack_test
               metal_device_test)
    if(TARGET ${test})
      add_dependencies(${test} sluice_backend_${name})
    endif()
  endforeach()
endfunction()

# sluice_add_backend(<folder> [STREAMS] [FILE <name>]): a plug-in of backends/<folder>/*.cpp and backends/common/*.cpp;
# with STREAMS also of backends/streams/*.cpp, compiled for this vendor. The file is named like the backend, where that is
# not the folder's name.
function(sluice_add_backend name)
  cmake_parse_arguments(PARSE_ARGV 1 backend "STREAMS" "FILE" "")
  if(NOT backend_FILE)
    set(backend_FILE ${name})
  endif()
  if(NOT TARGET sluice_backend_common)
    file(GLOB common CONFIGURE_DEPENDS "${sluice_backends_root}/common/*.cpp")
    add_library(sluice_backend_common OBJECT ${common})
    sluice_set_backend_flags(sluice_backend_common)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${sluice_backends_root}/${name}/*.cpp")
  if(backend_STREAMS)
    file(GLOB streams CONFIGURE_DEPENDS "${sluice_backends_root}/streams/*.cpp")
    list(APPEND sources ${streams})
  endif()
  set(target sluice_backend_${name})
  add_library(${target} MODULE ${sources} $<TARGET_OBJECTS:sluice_backend_common>)
  sluice_set_backend_flags(${target})
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  if(backend_STREAMS)
    string(TOUPPER "${name}" vendor)
    target_compile_definitions(${target} PRIVATE SLUICE_STREAMS_${vendor})
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME sluice-${backend_FILE} PREFIX lib
                                             SUFFIX "${CMAKE_SHARED_LIBRARY_SUFFIX}"
                                             LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  if(NOT APPLE)
    set(exports "${sluice_backends_root}/common/exports.map")
    target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL "-Wl,--version-script=${exports}")
    set_target_properties(${target} PROPERTIES LINK_DEPENDS "${exports}")
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/sluice")
  # A deferred call expands its variables when it runs.
  cmake_language(EVAL CODE
    "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL sluice_connect_backend_tests ${name})")
endfunction()

if(SLUICE_BUILD_BACKENDS)
  sluice_add_backend(opencl)
  sluice_add_backend(cuda STREAMS)
  sluice_add_backend(hip STREAMS FILE amdgpu)
  sluice_add_backend(metal)
endif()
