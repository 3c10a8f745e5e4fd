# Installs a built Sluice to a scratch prefix, moves the prefix, builds the consumer against it and runs it.
# cmake -DBUILD=<build folder> -DCONSUMER=<tests/consumer> -DSCRATCH=<folder> -DGENERATOR=<name> -P check.cmake
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/first")
file(RENAME "${SCRATCH}/first" "${SCRATCH}/moved")
run("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${SCRATCH}/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${SCRATCH}/moved" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build")
run("${SCRATCH}/build/consumer")
