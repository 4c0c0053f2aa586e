# Fails when LIBRARY defines a dynamic symbol outside of the namespace karakuri.
# By mangled names, which begin with the namespace; those of templates' instances would begin with what they return.
execute_process(COMMAND ${NM} --dynamic --defined-only ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[][;]" "_" symbols "${symbols}")  # they mean something to CMake's lists
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
list(LENGTH lines count)
list(FILTER lines EXCLUDE REGEX "^[0-9a-f]+ [A-Za-z] _Z(T[VIST]|GV)?NK?8karakuri")
if(lines OR count LESS 10)
  list(JOIN lines "\n" text)
  message(FATAL_ERROR "${count} symbols in ${LIBRARY}; not ours:\n${text}")
endif()
