// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/option.h"

#include <CLI/CLI.hpp>

namespace qs::cli {

Option Option::type(const std::string& name) const { return Option(declared_->type_name(name)); }
Option Option::required() const { return Option(declared_->required()); }
Option Option::showDefault() const { return Option(declared_->capture_default_str()); }
Option Option::oneAtATime() const { return Option(declared_->allow_extra_args(false)); }
Option Option::list() const { return Option(declared_->expected(1)->take_all()); }
Option Option::range(int least, int most) const { return Option(declared_->check(CLI::Range(least, most))); }
Option Option::range(unsigned least, unsigned most) const { return Option(declared_->check(CLI::Range(least, most))); }
Option Option::range(double least, double most) const { return Option(declared_->check(CLI::Range(least, most))); }
Option Option::oneOf(std::vector<std::string> values) const {
    return Option(declared_->check(CLI::IsMember(std::move(values))));
}
Option Option::check(std::function<std::string(const std::string&)> problem) const {
    return Option(declared_->check(std::move(problem)));
}
bool Option::given() const { return declared_->count() > 0; }

Option option(CLI::App& app, const std::string& name, std::string& into, const std::string& text) {
    return Option(app.add_option(name, into, text));
}
Option option(CLI::App& app, const std::string& name, std::vector<std::string>& into, const std::string& text) {
    return Option(app.add_option(name, into, text));
}
Option option(CLI::App& app, const std::string& name, std::vector<std::uint32_t>& into, const std::string& text) {
    return Option(app.add_option(name, into, text));
}
Option option(CLI::App& app, const std::string& name, int& into, const std::string& text) {
    return Option(app.add_option(name, into, text));
}
Option option(CLI::App& app, const std::string& name, unsigned& into, const std::string& text) {
    return Option(app.add_option(name, into, text));
}
Option option(CLI::App& app, const std::string& name, std::int64_t& into, const std::string& text) {
    return Option(app.add_option(name, into, text));
}
Option option(CLI::App& app, const std::string& name, std::uint64_t& into, const std::string& text) {
    return Option(app.add_option(name, into, text));
}
Option option(CLI::App& app, const std::string& name, double& into, const std::string& text) {
    return Option(app.add_option(name, into, text));
}
Option flag(CLI::App& app, const std::string& name, bool& into, const std::string& text) {
    return Option(app.add_flag(name, into, text));
}

} // namespace qs::cli
