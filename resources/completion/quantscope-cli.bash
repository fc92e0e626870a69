# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion for quantscope-cli. Commands, options and ids come from the program itself, so they are never stale.

_quantscope_cli() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command='' word values i
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

    # bash takes nf4:block=64 for five words.
    local spec=$current
    for ((i = COMP_CWORD; i > 1; i--)); do
        word=${COMP_WORDS[i-1]}
        if [[ $spec == [:=]* && $word != --* || $word == [:=] ]]; then spec=$word$spec; else break; fi
    done
    if [[ $word == --spec ]]; then
        _quantscope_cli_specs "$spec"
        return
    fi

    case $previous in
    --layout) COMPREPLY=($(compgen -W "$(_quantscope_cli_ids layouts)" -- "$current")); return ;;
    --decoded) COMPREPLY=($(compgen -W "f32 source" -- "$current")); return ;;
    --decode) COMPREPLY=($(compgen -W "table poly" -- "$current")); return ;;
    --backend) COMPREPLY=($(compgen -W "cpu openblas cuda pjrt" -- "$current")); return ;;
    --op) COMPREPLY=($(compgen -W "matmul_t matmul dequantize quantize quantize_stats" -- "$current")); return ;;
    --fail-on)
        if [[ $command == audit ]]; then values='fault warning note'; else values='differs unknown missing added refused claims nmse> bpw> bpw_all>'; fi
        COMPREPLY=($(compgen -W "$values" -- "$current")); return ;;
    --to) COMPREPLY=($(compgen -W "$("$program" recipe formats --json - 2>/dev/null | grep -oE '"id": "[^"]+"' | cut -d'"' -f4)" -- "$current")); return ;;
    recipe) if [[ $current != -* ]]; then COMPREPLY=($(compgen -W "resolve convert formats" -- "$current")); return; fi ;;
    --solver) COMPREPLY=($(compgen -W "$(_quantscope_cli_ids solvers)" -- "$current")); return ;;
    --as) COMPREPLY=($(compgen -W "$(_quantscope_cli_ids conventions)" -- "$current")); return ;;
    --share-codebook) COMPREPLY=($(compgen -W "tensor role model" -- "$current")); return ;;
    --act) COMPREPLY=($(compgen -W "f32 bf16 int8 fp8_e4m3" -- "$current")); return ;;
    --cache) COMPREPLY=($(compgen -W "cold warm both" -- "$current")); return ;;
    --tensor | --block | --rows | --steps | --rate | --keep | --heads | --tokens | --dim | --operand | --shape | --seconds | --threads | --seed | --memory) return ;;
    esac

    if [[ $current == -* ]]; then
        local options part=()
        if [[ $command == recipe && ${COMP_WORDS[2]:-} == [a-z]* ]]; then part=("${COMP_WORDS[2]}"); fi
        options=$("$program" "$command" "${part[@]}" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,' | sort -u)
        COMPREPLY=($(compgen -W "$options" -- "$current"))
        return
    fi
    compopt -o filenames 2>/dev/null
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$current"))
}

# nf4 -> ids; nf4:bl -> keys of the format; nf4:block= -> values. More keys may follow, so no space.
_quantscope_cli_specs() {
    local spec=$1 row values part=${1##*:} before='' i
    compopt -o nospace 2>/dev/null
    if [[ $spec != *:* ]]; then
        COMPREPLY=($(compgen -W "$(_quantscope_cli_ids formats)" -- "$spec"))
        return
    fi
    row=$("$program" formats --json - 2>/dev/null | grep -F "\"id\": \"${spec%%:*}\"")
    case $part in
    scale=*) values=$(_quantscope_cli_words scales) ;;
    calib=*) values=$(_quantscope_cli_words calibrations) ;;
    dialect=*) values=$(_quantscope_cli_words dialects) ;;
    scaletype=*) values=$(_quantscope_cli_words scale_types) ;;
    bits=*) values=$(_quantscope_cli_words bit_widths) ;;
    axis=*) values='out -1 0 0,1' ;;
    flat=*) values='yes no' ;;
    block=*) values='16 32 64 128 256 512 1024' ;;
    sym=*) values='yes no' ;;
    round=*) values='nearest stochastic,' ;;
    decode=*) values='table poly' ;;
    nan=*) values='refuse skip' ;;
    compute=*) values='f32 input' ;;
    *=*) return ;;
    *) values=$(_quantscope_cli_words keys | sed 's/[a-z]\+/&=/g') ;;
    esac
    [[ $part == *=* ]] && before=${part%%=*}=
    COMPREPLY=($(compgen -P "${spec%"$part"}$before" -W "$values" -- "${part#"$before"}"))
    # What stands before the last : or = is a word of its own to bash and stays as it is.
    before=${spec%"${spec##*[:=]}"}
    [[ $COMP_WORDBREAKS == *:* ]] || return 0
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
}

_quantscope_cli_words() {
    sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" <<< "$row"
}

_quantscope_cli_ids() {
    "$program" "$1" --json - 2>/dev/null | grep -oE '"id": "[^"]+"' | cut -d'"' -f4
}

complete -F _quantscope_cli quantscope-cli
