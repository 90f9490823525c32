# Verbs for developers: check, format, format-check, lint, bench.
file(GLOB_RECURSE HEARTH_FORMATTED CONFIGURE_DEPENDS
    app/*.h app/*.cpp engine/*.h engine/*.cpp kernels/*.h kernels/*.cpp kernels/*.cu kernels/*.cuh
    tests/*.h tests/*.cpp)
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format)
if(CLANG_FORMAT)
    add_custom_target(format COMMAND ${CLANG_FORMAT} -i ${HEARTH_FORMATTED} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    add_custom_target(format-check COMMAND ${CLANG_FORMAT} --dry-run -Werror ${HEARTH_FORMATTED}
        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    add_test(NAME format COMMAND ${CLANG_FORMAT} --dry-run -Werror ${HEARTH_FORMATTED}
        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endif()
add_custom_target(check
    COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR}
    COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${CMAKE_BINARY_DIR} --output-on-failure
    USES_TERMINAL)
find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
if(CLANG_TIDY)
    # Changed files only: against HEAD, else the last commit.
    add_custom_target(lint COMMAND sh ${CMAKE_SOURCE_DIR}/packaging/lint.sh ${CLANG_TIDY} ${CMAKE_BINARY_DIR}
        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} USES_TERMINAL)
endif()
