#compdef quantscope-cli
# SPDX-License-Identifier: GPL-3.0-or-later
# zsh completion for quantscope-cli. Commands, options and ids come from the program itself, so they are never stale.

_quantscope_cli_ids() {
    compadd -- ${(f)"$(quantscope-cli $1 --json - 2>/dev/null | grep -oE '"id": "[^"]+"' | cut -d '"' -f 4)"}
}

_quantscope_cli() {
    local current=${words[CURRENT]} previous=${words[CURRENT-1]} command='' part=() i
    for ((i = 2; i < CURRENT; i++)); do
        if [[ ${words[i]} != -* ]]; then command=${words[i]}; break; fi
    done
    if [[ -z $command ]]; then
        local -a known
        known=(${(f)"$(quantscope-cli --help 2>/dev/null | awk '/^Subcommands:/ {on = 1; next} on && /^  [a-z]/ {name = $1; $1 = ""; print name ":" substr($0, 2); next} on && !/^ / {exit}')"})
        _describe command known
        compadd -- --help --version
        return
    fi
    case $previous in
        --spec) _quantscope_cli_ids formats; return ;;
        --layout) _quantscope_cli_ids layouts; return ;;
        --solver) _quantscope_cli_ids solvers; return ;;
        --as) _quantscope_cli_ids conventions; return ;;
    esac
    if [[ $current == -* ]]; then
        [[ $command == recipe && ${words[i+1]} == [a-z]* ]] && part=(${words[i+1]})
        compadd -- ${(f)"$(quantscope-cli $command $part --help 2>/dev/null | grep -oE -- '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u)"}
        return
    fi
    if [[ $command == recipe && $i == $((CURRENT - 1)) ]]; then compadd -- resolve convert formats; return; fi
    _files
}
_quantscope_cli "$@"
