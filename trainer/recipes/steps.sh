# Functions of the recipes in this folder. A recipe that was stopped continues when it is started again: files that
# are there are kept, and runs continue from their last checkpoint.

set -eu

# The folder of what a recipe makes, and its training seed: the arguments of the recipe.
out=${1:-outputs/recipes/$(basename "$0" .sh)}
seed=${2:-1}
# The program; set SENTINEL to use another than the one on the PATH.
sentinel=${SENTINEL:-sentinel}

# Makes the folder, and keeps the seed and other settings there; stops if they were others before.
begin() {
  mkdir -p "$out"
  kept=$out/settings
  settings="seed $seed${1:+, $1}"
  if [ -e "$kept" ] && [ "$(cat "$kept")" != "$settings" ]; then
    echo "error: $kept has other settings ($(cat "$kept")) than this run ($settings): name another folder" >&2
    exit 1
  fi
  echo "$settings" > "$kept"
}

# Runs a command of `sentinel` whose last argument is its folder, from the checkpoint in the folder if it has one.
# A run that is finished is left as it is.
run() {
  for folder; do :; done
  if [ -e "$folder/checkpoint.safetensors" ]; then
    set -- "$@" --resume-from-checkpoint
  fi
  echo "sentinel $*" >&2
  "$sentinel" "$@"
}

# Runs a command of `sentinel` whose last argument is the file or folder that it makes, unless that is complete: its
# provenance is written last.
create() {
  for made; do :; done
  if [ -e "$made.sentinel.json" ] || [ -e "$made/sentinel.json" ]; then return; fi
  echo "sentinel $*" >&2
  "$sentinel" "$@"
}

# Writes the lines of a file in a random order, which depends on the seed and on the program `awk`: seed, file, new
# file.
shuffle() {
  if [ -e "$3" ]; then return; fi
  LC_ALL=C awk -v seed="$1" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' "$2" > "$3.keys"
  LC_ALL=C sort -n "$3.keys" > "$3.sorted"
  cut -f 2- "$3.sorted" > "$3.part"
  rm -f "$3.keys" "$3.sorted"
  mv "$3.part" "$3"
}

# Writes lines of a file: first line, number of lines, file, new file.
select_lines() {
  if [ -e "$4" ]; then return; fi
  LC_ALL=C awk -v first="$1" -v count="$2" 'NR >= first && NR < first + count { print; found++ } END { exit found < count }' \
    "$3" > "$4.part" || { echo "error: $3 has fewer than $(($1 + $2 - 1)) rows" >&2; exit 1; }
  mv "$4.part" "$4"
}
