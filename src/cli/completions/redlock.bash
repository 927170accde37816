# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of redlock for bash 4.4 or later. `redlock completions bash` prints this file. redlock itself
# knows what fits: `redlock completions for WORD...`, see src/cli/complete.cc.

# _redlock_words: sets words to the command line up to the cursor, and starts to the index in COMP_WORDS of
# each of them. bash cuts words at : and =, as in a:b, redis://host and --option=value.
_redlock_words() {
  local line=${COMP_LINE:0:COMP_POINT} word index
  words=() starts=()
  for ((index = 0; index <= COMP_CWORD; ++index)); do
    word=${COMP_WORDS[index]}
    if ((index > 0)) && [[ $line != [[:blank:]]* && -n $line ]]; then
      words[${#words[@]} - 1]+=${line:0:${#word}}
    else
      line=${line#"${line%%[![:blank:]]*}"}
      words+=("${line:0:${#word}}") starts+=("$index")
    fi
    line=${line:${#word}}
  done
}

# _redlock_unquote: sets word to what the shell would make of it, and quote to the quote that is still open. Fails if
# readline would replace only a part of the word, or the shell would expand it: then it leaves the word as it is.
_redlock_unquote() {
  local plain='^([^\"$`'\'']|\\.)*$' single="^'[^']*\$" double='^"([^\"$`]|\\.)*$' rest next
  quote=
  case $word in
    \'*\' | \"*\") word=${word:1:${#word}-2} && return 1 ;;
  esac
  if [[ $word =~ $single ]]; then
    quote=\' word=${word:1}
    return 0
  elif [[ $word =~ $double ]]; then
    quote=\" word=${word:1}
  elif [[ ! $word =~ $plain ]]; then
    return 1
  fi
  rest=$word word=
  while [[ $rest == *\\?* ]]; do
    word+=${rest%%\\*} rest=${rest#*\\}
    next=${rest:0:1} rest=${rest:1}
    [[ -z $quote || $next == [\"\\\$\`] ]] || word+=\\
    word+=$next
  done
  word+=$rest
}

# _redlock_quote: sets word to text that stands for it in the shell. Fails if no text does after an open ".
_redlock_quote() {
  local char
  case $quote in
    \') word=${word//\'/\'\\\'\'} ;;
    \")
      [[ $word != *!* ]] || return 1 # the shell would look for an earlier command
      for char in \\ \" \$ \`; do word=${word//"$char"/\\"$char"}; done
      ;;
    *) printf -v word %q "$word" ;;
  esac
}

# _redlock_job INDEX: the job begins at that word of COMP_WORDS.
_redlock_job() {
  local command=_command_offset
  ! declare -F _comp_command_offset >/dev/null || command=_comp_command_offset
  if declare -F "$command" >/dev/null; then # of the package bash-completion
    "$command" "$1"
  elif (($1 == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -A command -- "$word")
  else
    compopt -o default
  fi
}

_redlock() {
  local words starts word line also quote whole=1 asked=() before=
  COMPREPLY=()
  _redlock_words
  for word in "${words[@]:1}"; do
    _redlock_unquote && whole=1 || whole=
    asked+=("$word")
  done
  mapfile -t line < <("${words[0]/#\~/$HOME}" completions for "${asked[@]}" 2>/dev/null)
  ((${#line[@]})) || return 0
  also=${line[-1]}
  unset 'line[-1]'

  # readline replaces what comes after the last : or = only.
  if [[ -z $quote && $word == *[:=]* && $COMP_WORDBREAKS == *[:=]* ]]; then
    before=${word%"${word##*[:=]}"}
  fi
  case $also in
    ':job '*) _redlock_job "${starts[${also#* } + 1]:-$COMP_CWORD}" ;;
    :files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "${word#--*=}") ;;
    :directories) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "${word#--*=}") ;;
    *)
      [[ $also != :the-rest ]] || compopt -o nospace
      for word in "${line[@]}"; do
        word=${word%%$'\t'*}
        word=${word#"$before"}
        [[ -n $whole ]] && _redlock_quote && COMPREPLY+=("$word")
      done
      ;;
  esac
  return 0
}

complete -F _redlock redlock
