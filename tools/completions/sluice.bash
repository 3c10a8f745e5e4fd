# Completion of the `sluice` command for bash.
_sluice() {
  local word=${COMP_WORDS[COMP_CWORD]} command="" choices index
  for ((index = 1; index < COMP_CWORD; ++index)); do
    case ${COMP_WORDS[index]} in
      devices | doctor | backend | conformance | inspect | convert) command=${COMP_WORDS[index]} ;;
    esac
  done
  case $command in
    devices) choices="--json --require-gpu --help" ;;
    doctor) choices="--json --help" ;;
    backend) choices="CUDA AMDGPU Metal OpenCL CPU --clear --json --help" ;;
    conformance) choices="--device --quick --full --only --json --help" ;;
    inspect) choices="--json --finite --format --help" ;;
    convert) choices="--from-format --to-format --shard-bytes --json --help" ;;
    *) choices="devices doctor backend conformance inspect convert --help --version" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  case $command in
    inspect | convert) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}
complete -F _sluice sluice
