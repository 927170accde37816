# SPDX-License-Identifier: MIT
#
# Completion of redlock for fish 3.1 or later. `redlock completions fish` prints this file. redlock itself
# knows what fits: `redlock completions for WORD...`, see src/cli/complete.cc.

function __redlock_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l unquoted (string replace -r -- '^[\'"]' '' $word | string unescape)
    set -l redlock $words[1]
    set -e words[1]
    set -l found (command $redlock completions for $words "$unquoted" 2>/dev/null)
    set -q found[1]; or return
    set -l also $found[-1]
    set -e found[-1]

    switch $also
        case ':job *'
            set -l first (math (string replace ':job ' '' -- $also) + 1)
            set -l job
            test $first -le (count $words); and set job (string escape -- $words[$first..-1])
            complete -C (string join ' ' -- $job $word | string collect)
        case :files
            __redlock_paths __fish_complete_path $word
        case :directories
            __redlock_paths __fish_complete_directories $word
        case '*'
            string join \n -- $found
    end
end

# __redlock_paths FUNCTION WORD: the paths of that function for WORD, which may be --option=PATH.
function __redlock_paths
    set -l before (string match -r -- '^--[^=]*=' $argv[2])
    for path in ($argv[1] (string replace -r -- '^--[^=]*=' '' $argv[2]))
        echo $before$path
    end
end

complete -c redlock -f -a '(__redlock_complete)'
