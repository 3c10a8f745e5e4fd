# Installs a built Sluice to a scratch prefix, builds the example of a backend against it, and looks at what it exports.
# cmake -DBUILD=<build folder> -DEXAMPLE=<examples/backend> -DSCRATCH=<folder> -DGENERATOR=<name> -DCOMPILER=<C compiler>
#       -P check.cmake
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/prefix")
# A copy outside the source tree, so nothing of the tree can help.
file(COPY "${EXAMPLE}/" DESTINATION "${SCRATCH}/source")
run("${CMAKE_COMMAND}" -S "${SCRATCH}/source" -B "${SCRATCH}/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" "-DCMAKE_C_COMPILER=${COMPILER}" "-DCMAKE_C_FLAGS=-Wpedantic -Werror")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build")

set(plugin "${SCRATCH}/build/libsluice-example.so")
execute_process(COMMAND nm -D --defined-only "${plugin}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" names "${symbols}")
list(TRANSFORM names STRIP)
list(SORT names)
if(NOT names STREQUAL "sluice_backend_abi;sluice_backend_open")
  message(FATAL_ERROR "${plugin} should export the two symbols of a backend and no more, not: ${names}")
endif()
