# Functions of the recipes in this folder. A recipe that was stopped continues when it is started again: files that
# are there are kept, and runs continue from their last checkpoint.

# The program; set SENTINEL to use another than the one on the PATH.
sentinel=${SENTINEL:-sentinel}

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

# Runs a command of `sentinel` whose last argument is the file or folder that it makes, unless that is there.
create() {
  for made; do :; done
  if [ -e "$made.sentinel.json" ] || [ -e "$made/sentinel.json" ]; then return; fi
  echo "sentinel $*" >&2
  "$sentinel" "$@"
}

# Writes the lines of a file in a random order that depends on a seed only: seed, file, new file.
shuffle() {
  if [ -e "$3" ]; then return; fi
  awk -v seed="$1" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' "$2" |
    sort -n | cut -f 2- > "$3.part"
  mv "$3.part" "$3"
}

# Writes lines of a file: first line, number of lines, file, new file.
select_lines() {
  if [ -e "$4" ]; then return; fi
  tail -n "+$1" "$3" | head -n "$2" > "$4.part"
  mv "$4.part" "$4"
}
