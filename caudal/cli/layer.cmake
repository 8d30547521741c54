# The version stands once, in the project() line.
target_compile_definitions(caudal_cli PRIVATE CAUDAL_VERSION="${PROJECT_VERSION}")
