#include "caudal/cli/command.h"

int main(int argc, char** argv) { return caudal::cli::main(argc, argv); }
