# SPDX-License-Identifier: GPL-3.0-or-later
# fish completion for quantscope-cli. Commands, options and ids come from the program itself, so they are never stale.

# Words of the command line up to the cursor, without the program.
function __quantscope_cli_words
    set -l words (commandline -opc)
    set -e words[1]
    printf '%s\n' $words
end
# "name<TAB>summary" of every command
function __quantscope_cli_commands
    quantscope-cli --help 2>/dev/null | awk '/^Subcommands:/ {on = 1; next} on && /^  [a-z]/ {name = $1; $1 = ""; print name "\t" substr($0, 2); next} on && !/^ / {exit}'
end
# "--option<TAB>summary" of the command on the line
function __quantscope_cli_options
    set -l words (__quantscope_cli_words)
    test -n "$words[1]"; or begin; printf '%s\n' --help --version; return; end
    set -l part
    if test "$words[1]" = recipe; and test -n "$words[2]"; and not string match -q -- '-*' $words[2]
        set part $words[2]
    end
    quantscope-cli $words[1] $part --help 2>/dev/null | grep -oE -- '(^|[ ,])--[a-z][a-z-]*' | string trim -c ' ,' | sort -u
end
function __quantscope_cli_ids
    quantscope-cli $argv[1] --json - 2>/dev/null | grep -oE '"id": "[^"]+"' | cut -d '"' -f 4
end
function __quantscope_cli_has_command
    set -l words (__quantscope_cli_words)
    test -n "$words[1]"
end
complete -c quantscope-cli -n 'not __quantscope_cli_has_command' -f -a '(__quantscope_cli_commands)'
complete -c quantscope-cli -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__quantscope_cli_options)'
complete -c quantscope-cli -l spec -x -a '(__quantscope_cli_ids formats)'
complete -c quantscope-cli -l layout -x -a '(__quantscope_cli_ids layouts)'
complete -c quantscope-cli -l solver -x -a '(__quantscope_cli_ids solvers)'
complete -c quantscope-cli -l as -x -a '(__quantscope_cli_ids conventions)'
