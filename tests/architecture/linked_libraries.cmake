# SPDX-License-Identifier: GPL-3.0-or-later
# cmake -DPROGRAM=<file> -DREADELF=<readelf> -P linked_libraries.cmake: checks which programs link libhdf5 and libseccomp.
execute_process(COMMAND ${READELF} -d "${PROGRAM}" RESULT_VARIABLE code OUTPUT_VARIABLE said)
if(NOT code EQUAL 0 OR NOT said MATCHES "NEEDED")
  message(FATAL_ERROR "${PROGRAM} cannot be examined.")
endif()
get_filename_component(name "${PROGRAM}" NAME)
foreach(library libhdf5 libseccomp)
  if(name STREQUAL "quantscope-worker" AND NOT said MATCHES "${library}")
    message(SEND_ERROR "${name} must link ${library}.")
  elseif(NOT name STREQUAL "quantscope-worker" AND said MATCHES "${library}")
    message(SEND_ERROR "${name} may not link ${library}.")
  endif()
endforeach()
