#!/bin/sh
# Stands for `sentinel` in tests of recipes: writes its arguments to the file COMMANDS, and makes what it was asked
# for.
echo "$*" >> "$COMMANDS"
for argument; do
  case $argument in --resume-from-checkpoint) ;; *) made=$argument ;; esac
done
case $made in
  *.jsonl) seq 40 > "$made"; : > "$made.sentinel.json" ;;
  *) mkdir -p "$made"; : > "$made/sentinel.json" ;;
esac
case "$1 $2" in "lm corpus" | "lm init" | "lm import" | "lm merge") ;; *) : > "$made/checkpoint.safetensors" ;; esac
