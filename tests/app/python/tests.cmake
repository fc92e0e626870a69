# SPDX-License-Identifier: GPL-3.0-or-later
# Tests of the Python module, beside the command line, with the Python that it is built for. Without NumPy they are skipped. Comparisons with
# torch, JAX, ml_dtypes, pandas and polars are in tests/peers.
if(TARGET quantscope_python)
  foreach(name quantize model commands task snippets)
    add_test(NAME test_python.${name}_test COMMAND "${Python_EXECUTABLE}" -W error "tests/app/python/${name}_test.py"
      WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(test_python.${name}_test PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77
      ENVIRONMENT "PYTHONPATH=${CMAKE_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;QS_CLI=$<TARGET_FILE:quantscope-cli>;QS_THREADS=2")
  endforeach()
endif()
