# Written by tools/program_pages.
_assay_check() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" verb="" options="" choices="" word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    if [[ $word != -* ]]; then
      verb="$word"
      break
    fi
  done
  case "$verb" in
    *) options="--budget --dim --exact --memory --name --outputs --semantics --set --shape --statement --threads --version" ;;
  esac
  case "$verb $previous" in
    *) ;;
  esac
  if [ -n "$choices" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
  elif [[ $current == -* || ( -z $verb && -n $options && "${options:0:2}" != -- ) ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _assay_check assay-check
