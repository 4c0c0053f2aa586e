// The commands. Each adds itself to the program with its options; when it is chosen it runs and sets `code`.
#pragma once

namespace CLI {
class App;
}

namespace karakuri::cli {

void add_run(CLI::App& app, int& code);
void add_render(CLI::App& app, int& code);
void add_check(CLI::App& app, int& code);
void add_info(CLI::App& app, int& code);
void add_convert(CLI::App& app, int& code);
void add_list(CLI::App& app, int& code);
void add_trust(CLI::App& app, int& code);
void add_schema(CLI::App& app, int& code);

}  // namespace karakuri::cli
