# Configures, builds and runs the consumer in SOURCE against the library installed in PREFIX.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${BUILD})
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${BUILD} -DCMAKE_BUILD_TYPE=None -DCMAKE_PREFIX_PATH=${PREFIX}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
run(${CMAKE_COMMAND} --build ${BUILD})
run(${BUILD}/consumer)

# Our warnings and tuning are our own; users have theirs.
file(READ ${BUILD}/compile_commands.json commands)
string(REPLACE "${FLAGS}" "" commands "${commands}")
if(commands MATCHES "-march|-Wall|-Wextra|-Wshadow|-ffp-contract|-fno-math-errno")
  message(FATAL_ERROR "The installed target brings flags of our own build along:\n${commands}")
endif()
