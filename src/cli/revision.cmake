# Writes OUTPUT with the revision of SOURCE_DIR; empty outside of a git clone.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --tags
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define KARAKURI_REVISION \"${revision}\"\n")
