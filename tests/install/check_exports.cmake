# Fails when LIBRARY defines a dynamic symbol outside of the namespace karakuri.
execute_process(COMMAND ${NM} --dynamic --defined-only --demangle ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[][;]" "_" symbols "${symbols}")  # they mean something to CMake's lists
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
list(LENGTH lines count)
list(FILTER lines EXCLUDE REGEX "^[0-9a-f]+ [A-Za-z] (([^(<]* )?|(vtable|typeinfo|typeinfo name|guard variable) for )karakuri::")
if(lines OR count LESS 10)
  list(JOIN lines "\n" text)
  message(FATAL_ERROR "${count} symbols in ${LIBRARY}; not ours:\n${text}")
endif()
