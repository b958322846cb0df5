# Written by tools/program_pages.
_assay() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" verb="" options="" choices="" word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    if [[ $word != -* ]]; then
      verb="$word"
      break
    fi
  done
  case "$verb" in
    "") options="verify check gather report batch robust split solve merge trim bounds inspect statement lint eval adjoint run record audit gradcheck probe supports ops explain capabilities --help --name --version -h" ;;
    verify) options="--allow-vacuous --branching --budget --dim --expect --help --json --memory --network --no-attack --outputs --proof --quiet --scale --seed --semantics --serialise-assignments --set --shape --statement --threads --timeout --trim --verbose -h -q -v" ;;
    check) options="--allow-vacuous --budget --data --dim --exact --expect --help --jobs --json --junit --labels --list --markdown --memory --model --most-undecided --outputs --properties --require --sarif --semantics --set --shape --statement --threads --today --waivers -h" ;;
    gather) options="--help --json -h" ;;
    report) options="--data --dim --help --images --jobs --json --labels --memory --model --model-explorer --out --outputs --perfetto --property --samples --semantics --set --shape -h -o" ;;
    batch) options="--allow-vacuous --dim --expected --help --items --jobs --json --memory --most --outputs --pack --part --properties --quiet --resume --retry-undecided --run --sbatch --seed --semantics --set --shape --slurm --stream --timeout -h -q" ;;
    robust) options="--clip --dim --each --eps --every --first --help --items --jobs --json --labels --largest --mean --memory --norm --outputs --pack --part --properties --quiet --require --resume --retry-undecided --run --sbatch --scale --seed --semantics --set --shape --slurm --std --stream --timeout -h -q" ;;
    split) options="--branching --budget --dim --help --into --json --memory --no-attack --out --outputs --seed --semantics --set --shape --threads --timeout -h -o" ;;
    solve) options="--branching --budget --dim --help --json --memory --model --no-attack --out --outputs --property --seed --set --shape --threads --timeout -h -o" ;;
    merge) options="--budget --dim --help --json --memory --model --out --outputs --property --set --shape -h -o" ;;
    trim) options="--budget --dim --help --json --memory --out --outputs --semantics --set --shape --timeout -h -o" ;;
    bounds) options="--budget --dim --help --json --memory --method --nodes --outputs --semantics --set --shape --statement --timeout -h" ;;
    inspect) options="--bounds --box --budget --data --dim --elements --help --items --json --labels --memory --method --model-explorer --network --number --out --outputs --property --samples --set --shape --show --step --summary --tensor --values -h -o" ;;
    statement) options="--budget --dim --help --json --memory --out --outputs --semantics --set --shape -h -o" ;;
    lint) options="--dim --help --json --memory --outputs --set --shape -h" ;;
    eval) options="--dim --help --json --memory --outputs --set --shape -h" ;;
    adjoint) options="--all --help --json --op --seed -h" ;;
    run) options="--backend --device --dim --dtype --help --json --memory --outputs --seed --set --shape --values -h" ;;
    record) options="--backend --device --dim --draws --forward-only --help --json --memory --output --outputs --range --seed --set --shape --threads --values --weighted -h" ;;
    audit) options="--baseline --budget --dim --help --jobs --json --junit --markdown --memory --model --most-undecided --outputs --rerun --sample --sarif --seed --set --shape --shrink --today --waivers --write-baseline -h" ;;
    gradcheck) options="--allow-dead --backend --baseline --budget --device --dim --draws --help --jobs --json --junit --kinks --markdown --memory --model --most-undecided --output --outputs --range --sarif --save --seed --set --shape --today --values --waivers --write-baseline -h" ;;
    probe) options="--all --backend --baseline --device --dtype --forward-only --help --jobs --json --junit --markdown --most-undecided --op --sarif --seed --small --today --trace --waivers --write-baseline -h" ;;
    supports) options="--arithmetic-complexity-theories --help --hidden-node-theories --json --multiple-input-output-theories --multiple-network-theories --multiple-node-comparison-theories --onnx-element-types --onnx-operators --onnx-opset-versions --operations --optimised-disjunctive-reasoning --serialise-assignments --unsat-proofs --vnnlib-versions -h" ;;
    ops) options="--help --json -h" ;;
    explain) options="--help --json -h" ;;
    capabilities) options="--arithmetic-complexity-theories --help --hidden-node-theories --json --multiple-input-output-theories --multiple-network-theories --multiple-node-comparison-theories --onnx-element-types --onnx-operators --onnx-opset-versions --operations --optimised-disjunctive-reasoning --serialise-assignments --unsat-proofs --vnnlib-versions -h" ;;
  esac
  case "$verb $previous" in
    "verify --trim") choices="auto" ;;
    "verify --proof") choices="auto" ;;
    "verify --branching") choices="auto input relu" ;;
    "verify --expect") choices="sat unsat" ;;
    "verify --semantics") choices="real|float32" ;;
    "check --expect") choices="sat unsat" ;;
    "check --semantics") choices="real|float32" ;;
    "report --semantics") choices="real|float32" ;;
    "batch --semantics") choices="real|float32" ;;
    "robust --norm") choices="linf l2 l1" ;;
    "robust --semantics") choices="real|float32" ;;
    "split --semantics") choices="real|float32" ;;
    "split --branching") choices="auto input relu" ;;
    "solve --branching") choices="auto input relu" ;;
    "trim --semantics") choices="real|float32" ;;
    "bounds --method") choices="ibp crown" ;;
    "bounds --nodes") choices="all outputs" ;;
    "bounds --semantics") choices="real|float32" ;;
    "inspect --method") choices="ibp crown" ;;
    "statement --semantics") choices="real|float32" ;;
    "run --dtype") choices="float32 float64 bfloat16 exact interval complex64" ;;
    "run --backend") choices="eager compiled" ;;
    "run --device") choices="cpu|emulated|cuda" ;;
    "record --backend") choices="eager compiled" ;;
    "record --device") choices="cpu|emulated|cuda" ;;
    "audit --rerun") choices="eager compiled" ;;
    "audit --shrink") choices="eager compiled" ;;
    "gradcheck --backend") choices="eager compiled" ;;
    "gradcheck --device") choices="cpu|emulated|cuda" ;;
    "gradcheck --kinks") choices="any pytorch" ;;
    "probe --backend") choices="eager compiled" ;;
    "probe --device") choices="cpu|emulated|cuda" ;;
    "probe --dtype") choices="float32 float64 float16 bfloat16" ;;
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
complete -F _assay assay
