# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion for quantscope-cli. Commands, options and ids come from the program itself, so they are never stale.

_quantscope_cli() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command='' word i
    COMPREPLY=()

    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word != -* ]]; then command=$word; break; fi
    done

    if [[ -z $command ]]; then
        local known
        known=$("$program" --help 2>/dev/null | awk '/^Subcommands:/ {on = 1; next} on && /^  [a-z]/ {print $1; next} on {exit}')
        COMPREPLY=($(compgen -W "$known --help --version" -- "$current"))
        return
    fi

    case $previous in
    --spec)
        COMPREPLY=($(compgen -W "$(_quantscope_cli_ids formats)" -- "$current"))
        compopt -o nospace 2>/dev/null # more keys may follow: nf4:block=64
        return ;;
    --layout) COMPREPLY=($(compgen -W "$(_quantscope_cli_ids layouts)" -- "$current")); return ;;
    --decode) COMPREPLY=($(compgen -W "table poly" -- "$current")); return ;;
    --backend) COMPREPLY=($(compgen -W "cpu openblas cuda pjrt" -- "$current")); return ;;
    --op) COMPREPLY=($(compgen -W "matmul_t matmul dequantize quantize" -- "$current")); return ;;
    --act) COMPREPLY=($(compgen -W "f32 bf16 int8" -- "$current")); return ;;
    --cache) COMPREPLY=($(compgen -W "cold warm both" -- "$current")); return ;;
    --tensor | --shape | --seconds | --threads | --seed) return ;;
    esac

    if [[ $current == -* ]]; then
        local options
        options=$("$program" "$command" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,' | sort -u)
        COMPREPLY=($(compgen -W "$options" -- "$current"))
        return
    fi
    compopt -o filenames 2>/dev/null
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$current"))
}

_quantscope_cli_ids() {
    "$program" "$1" --json - 2>/dev/null | grep -oE '"id": "[^"]+"' | cut -d'"' -f4
}

complete -F _quantscope_cli quantscope-cli
