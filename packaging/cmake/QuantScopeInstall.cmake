# SPDX-License-Identifier: GPL-3.0-or-later
# `cmake --install build/release --prefix DIR`, and a .deb or .tar.gz by `cpack --config build/release/CPackConfig.cmake`.
include(GNUInstallDirs)
install(TARGETS quantscope-cli quantscope-worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Found relative to the binaries, not in the distribution's library folder.
foreach(backend openblas cuda pjrt)
  if(TARGET qs_backend_${backend})
    install(TARGETS qs_backend_${backend} LIBRARY DESTINATION lib/quantscope/backends)
  endif()
endforeach()
if(QS_GUI)
  install(TARGETS quantscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES packaging/quantscope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications OPTIONAL)
  install(FILES packaging/quantscope.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo OPTIONAL)
  install(FILES resources/icons/quantscope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps OPTIONAL)
endif()
install(FILES resources/man/quantscope-cli.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
install(FILES resources/completion/quantscope-cli.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME quantscope-cli OPTIONAL)
install(DIRECTORY resources/samples DESTINATION ${CMAKE_INSTALL_DATADIR}/quantscope OPTIONAL)
install(FILES LICENSE LICENSE-EXCEPTION LICENSE-Apache-2.0 README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_CONTACT "QuantScope developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-inter, fonts-jetbrains-mono, libopenblas0-pthread")
set(CPACK_DEBIAN_PACKAGE_SECTION "science")
include(CPack)
