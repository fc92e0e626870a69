# SPDX-License-Identifier: GPL-3.0-or-later
# Installs BUILD into WORK and reads the run path of every file there with CHECK.
file(REMOVE_RECURSE "${WORK}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CHECK}" "${WORK}" COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE "${WORK}")
