# muster_add_mpi_test(name SOURCES … RANKS 1 2 4 [LIBRARIES …] [ENVIRONMENT VAR=value …] [ARGUMENTS …] [LABELS …]
#                     [TIMEOUT seconds])
#
# Builds `name` from SOURCES and adds one test per rank count, `name.ranks=N`, which runs it under mpirun with N ranks on
# this machine, more than it has cores if need be. The program's ranks must all end with status 0.
find_package(MPI QUIET COMPONENTS CXX)

function(muster_add_mpi_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;RANKS;LIBRARIES;ENVIRONMENT;ARGUMENTS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(ARG_SOURCES)
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE muster::comm ${ARG_LIBRARIES})
  endif()
  foreach(ranks IN LISTS ARG_RANKS)
    set(test ${name}.ranks=${ranks})
    if(ARG_ENVIRONMENT)
      string(REPLACE ";" "," suffix "${ARG_ENVIRONMENT}")
      set(test ${test},${suffix})
    endif()
    add_test(NAME ${test}
      COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${name}> ${ARG_ARGUMENTS})
    # Open MPI's own switches, by environment, so that other launchers see nothing strange.
    set_tests_properties(${test} PROPERTIES
      TIMEOUT ${ARG_TIMEOUT} PROCESSORS 2 LABELS "mpi;${ARG_LABELS}"
      ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_hwloc_base_binding_policy=none;OMPI_MCA_btl_base_warn_component_unused=0;${ARG_ENVIRONMENT}")
  endforeach()
endfunction()
