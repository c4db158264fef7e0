# muster_kernel_text(file output): writes the text of a kernel file as a C++ string literal.
function(muster_kernel_text file output)
  file(READ ${file} text)
  # Cut, since compilers bound the length of one literal.
  string(LENGTH "${text}" length)
  set(literal "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND literal "R\"muster_text(${part})muster_text\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  file(CONFIGURE OUTPUT ${output} CONTENT "@literal@" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endfunction()

# muster_add_kernels(target file.kernel.hpp …): the target's sources may include these files and make muster::Kernel objects
# of what they define; their texts are embedded for backends that compile kernels at run time.
function(muster_add_kernels target)
  foreach(file ${ARGN})
    get_filename_component(path ${file} ABSOLUTE)
    get_filename_component(folder ${path} DIRECTORY)
    get_filename_component(name ${path} NAME)
    string(REGEX REPLACE "[.]hpp$" ".inc" text ${name})
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/kernels/${target})
    muster_kernel_text(${path} ${generated}/${text})
    file(CONFIGURE OUTPUT ${generated}/${name}.cpp @ONLY CONTENT [[
#include <muster/kernel_language_host.hpp>
namespace {
const bool registered = ::muster::register_kernel_source("@name@",
#include "@text@"
);
}
]])
    target_sources(${target} PRIVATE ${generated}/${name}.cpp)
    target_include_directories(${target} PRIVATE ${folder})
  endforeach()
endfunction()
