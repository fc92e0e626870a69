# SPDX-License-Identifier: GPL-3.0-or-later
# All but the completion's list of commands is tested on the real binary.
foreach(name golden contract analyze bench known_answers quantize signals completion)
  qs_add_test(test_cli_${name} SOURCES cli/test_${name}.cpp LIBS qs_cli)
  add_dependencies(test_cli_${name} quantscope-cli quantscope-worker)
endforeach()
