# SPDX-License-Identifier: GPL-3.0-or-later
qs_add_test(test_worker_environment SOURCES worker/test_environment.cpp LIBS qs_worker)
