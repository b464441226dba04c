//! The meaning of command lines, and the text of the help.

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use sentinel_env::WorldName;

use super::*;

/// Parses a command line given as one string.
fn read(line: &str) -> Result<(Command, ArgMatches), clap::Error> {
    let words = std::iter::once(NAME).chain(line.split_whitespace());
    parse(&words.map(OsString::from).collect::<Vec<_>>())
}

/// Returns the command of a line, with all its options, as debug text.
#[track_caller]
fn parsed_command(line: &str) -> String {
    match read(line) {
        Ok((command, _)) => format!("{command:?}"),
        Err(error) => panic!("{line}: {error}"),
    }
}

/// Returns the message of a line that is refused or asks for help.
#[track_caller]
fn answer(line: &str) -> (ErrorKind, String) {
    match read(line) {
        Ok((command, _)) => panic!("{line} is {command:?}"),
        Err(error) => (error.kind(), error.to_string()),
    }
}

#[test]
fn clap_command_definition_is_valid() {
    Cli::command().debug_assert();
    help::with_help(Cli::command(), &[]).debug_assert();
}

#[test]
fn help_shows_the_commands_by_group() {
    let (kind, text) = answer("--help");
    assert_eq!(kind, ErrorKind::DisplayHelp);
    let after = |title: &str| {
        let start = text.find(title);
        let rest = start
            .and_then(|start| text.get(start..))
            .unwrap_or_default();
        let lines = rest.lines().skip(1).take_while(|line| !line.is_empty());
        let names = lines.filter_map(|line| line.get(2..18).map(str::trim));
        names.collect::<Vec<_>>().join(",")
    };
    assert_eq!(
        after("Environments:"),
        "eval,record,replay,analyze,trace,bench,rules,bound,ablate"
    );
    assert_eq!(after("Compact training:"), "train,imitate,improve");
    assert_eq!(
        after("Language models:"),
        "lm corpus,lm build-corpus,lm init,lm import,lm sft,lm grpo,lm eval,lm merge,lm rollout,\
         lm postsave,lm compare"
    );
    assert_eq!(
        after("Evidence:"),
        "reward-report,cluster-health,plots,report,sweep,gate,activate,model-status,check"
    );
    assert_eq!(after("Hugging Face Hub:"), "hf-job,upload,pull");
    // Every command that is not hidden is in a group.
    for command in Cli::command().get_subcommands() {
        let line = format!("\n  {}", command.get_name());
        assert_eq!(text.contains(&line), !command.is_hide_set(), "{line}");
    }
}

#[test]
fn old_command_spellings_are_aliases() {
    for (old, today) in [
        ("corpus --out c.jsonl", "lm corpus --out c.jsonl"),
        (
            "lm corpus --profile=small --with-hf --out-dir d --world trust",
            "lm build-corpus --profile small --with-hf --output-dir d --worlds trust",
        ),
        (
            "corpus --profile small --with-local --out d --force",
            "lm build-training-corpus --with-local --output-dir d --overwrite-output-dir",
        ),
        ("init --output-dir m", "lm init --output-dir m"),
        (
            "sft --data c.jsonl --packing",
            "lm sft --data c.jsonl --packing",
        ),
        (
            "sft --compact --hidden 8 --output-dir o",
            "imitate --hidden 8 --output-dir o",
        ),
        (
            "sft --hidden 8 --compact",
            "imitate --hidden 8 --output-dir outputs/sft",
        ),
        ("grpo --world cluster", "lm grpo --world cluster"),
        ("eval-lm --model m", "lm eval --model m"),
        (
            "merge --model m --adapter a --out o",
            "lm merge --model m --adapter a --output-dir o",
        ),
        ("rollout --dry-run", "lm rollout --dry-run"),
    ] {
        assert_eq!(parsed_command(old), parsed_command(today), "{old}");
    }
}

#[test]
fn old_option_names_are_aliases() {
    for (old, today) in [
        ("train --tasks task1", "train --task task1"),
        ("train --resume", "train --resume-from-checkpoint"),
        ("imitate --force", "imitate --overwrite-output-dir"),
        (
            "train --groups-per-update 8",
            "train --episodes-per-update 8",
        ),
        ("eval --tasks task1", "eval --task task1"),
        (
            "trace --policy random --seed 7",
            "trace --policy random --seeds 7",
        ),
        (
            "lm corpus --out c --epsilon 0.5",
            "lm corpus --out c --random-action-prob 0.5",
        ),
        (
            "lm sft --batch-size 4 --epochs 3 --lora-rank 8 --lora-targets q_proj --max-seq-length 99 \
             --lr-scheduler cosine --dataset-name c",
            "lm sft --per-device-train-batch-size 4 --num-train-epochs 3 --lora-r 8 \
             --lora-target-modules q_proj --max-length 99 --lr-scheduler-type cosine --data c",
        ),
        (
            "lm grpo --batch-size 3 --micro-batch-size 5 --continue own --credit reward-to-go",
            "lm grpo --episodes-per-update 3 --per-device-train-batch-size 5 --continuation sampled \
             --credit reward_to_go",
        ),
        (
            "lm eval --model m --batch-size 3",
            "lm eval --model_name_or_path m --generation_batch_size 3",
        ),
        (
            "lm init --output-dir m --layers 1 --heads 2 --kv-heads 2 --force",
            "lm init --output-dir m --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 2 \
             --overwrite-output-dir",
        ),
        (
            "lm sft --per_device_train_batch_size 4",
            "lm sft --per-device-train-batch-size 4",
        ),
    ] {
        assert_eq!(parsed_command(old), parsed_command(today), "{old}");
    }
}

/// Checks the commands of the replay manifest and of the two documents that the program follows.
#[test]
fn recorded_command_lines_still_parse() {
    let manifest = include_str!("../../../replays/manifest.json");
    let commands = manifest.lines().filter_map(|line| {
        let text = line.trim().strip_prefix("\"command\": \"")?;
        text.split('"').next()?.strip_prefix("sentinel ")
    });
    let mut count = 0;
    for line in commands {
        parsed_command(line);
        count += 1;
    }
    assert!(count > 0, "the manifest has commands");
    for line in [
        "eval --episodes 30 --task all --policies random,heuristic,oracle_lite,trained --replay r.jsonl --out e.json",
        "lm grpo --episodes 200 --task all --seed 0 --model unsloth/Qwen2.5-1.5B-Instruct --epochs 1 \
         --batch-size 2 --learning-rate 5e-6 --lora-rank 16 --max-seq-length 1024 --output-dir o",
        "lm sft --model-id Qwen/Qwen2.5-1.5B-Instruct --epochs 1 --max-steps 20",
        "lm grpo --model-id Qwen/Qwen2.5-1.5B-Instruct --max-steps 20 --num-generations 2",
        "lm merge --model m --adapter-dir checkpoints/sft_adapter --output-dir checkpoints/merged",
        "ablate --episodes 6",
    ] {
        parsed_command(line);
    }
}

#[test]
fn help_shows_defaults_of_world() {
    let default = |line: &str, option: &str| {
        let (_, text) = answer(line);
        // The explanation is beside a short option, and below one of a group with a long option.
        let mut rows = text
            .lines()
            .skip_while(|row| !row.trim().starts_with(option));
        let mut found = rows.next().unwrap_or_default().trim().to_owned();
        let below = rows.next().filter(|row| !row.trim().starts_with('-'));
        found.extend(below.filter(|_| !found.is_empty()));
        found
    };
    for (line, option, value) in [
        ("train -h", "--learning-rate", "[default: 0.002]"),
        (
            "train --world cluster -h",
            "--learning-rate",
            "[default: 0.001]",
        ),
        (
            "train -h --world=cluster",
            "--num-generations",
            "[default: 8]",
        ),
        (
            "train --world cluster --quick -h",
            "--max-steps",
            "[default: 50]",
        ),
        ("imitate -h", "--output-dir", "[default: outputs/imitation]"),
        ("imitate --world cluster -h", "--max-steps", "[default: 30]"),
        (
            "imitate --world cluster -h",
            "--teacher",
            "[default: planner]",
        ),
        (
            "sft --compact --world cluster -h",
            "--teacher",
            "[default: planner]",
        ),
        ("eval -h", "--task", "task1, task2, task3 [default: task3]"),
        ("eval --world polyguard -h", "--task", "[default: all]"),
        ("eval -h", "--streams", "[default: reference]"),
        (
            "eval --world polyguard -h",
            "--streams",
            "[default: independent]",
        ),
        (
            "eval --world cluster -h",
            "--policies",
            "[default: random,blind,trust,oracle_lite]",
        ),
        ("rules -h", "--seeds", "[default: 1000..1500]"),
        ("lm eval -h", "--streams", "[default: independent]"),
    ] {
        let row = default(line, option);
        assert!(row.contains(value), "{line}: {row}");
    }
    // The options of the other method are not shown.
    assert_eq!(default("train -h", "--teacher"), "");
    assert_eq!(default("imitate -h", "--vespo-k-pos"), "");
    // An unknown world does not break the search for `--world`.
    let (kind, text) = answer("train --world moon");
    assert_eq!(kind, ErrorKind::InvalidValue);
    let values = format!("[possible values: {}]", WorldName::joined_names(", "));
    assert!(text.contains(&values), "{text}");
}

/// Every option of every command has a help text.
#[test]
fn every_option_has_a_help_text() {
    fn check(command: &clap::Command) {
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let name = format!("{} {}", command.get_name(), arg.get_id());
            let capital = help.chars().next().is_some_and(char::is_uppercase);
            assert!(capital || help.starts_with("TOML"), "{name}: {help:?}");
        }
        command
            .get_subcommands()
            .filter(|c| !c.is_hide_set())
            .for_each(check);
    }
    check(&help::with_help(Cli::command(), &[]));
}

#[test]
fn typos_get_suggestions_and_possible_values() {
    let (kind, text) = answer("train --learning-rat 1");
    assert_eq!(kind, ErrorKind::UnknownArgument);
    assert!(
        text.contains("tip: a similar argument exists: '--learning-rate'"),
        "{text}"
    );
    let (kind, text) = answer("evl");
    assert_eq!(kind, ErrorKind::InvalidSubcommand);
    assert!(text.contains("'eval'"), "{text}");
    let (_, text) = answer("lm grpo --loss-type dopo");
    assert!(
        text.contains("[possible values: grpo, bnpo, dr_grpo, dapo,"),
        "{text}"
    );
    assert!(
        text.contains("tip: a similar value exists: 'dapo'"),
        "{text}"
    );
    let (_, text) = answer("sft --compact --hiden 8");
    assert!(
        text.contains("'--hidden'") && text.contains("sentinel imitate"),
        "{text}"
    );
}

/// Options are stored as JSON, which cannot express infinities or nan.
#[test]
fn numeric_options_refuse_nan_and_infinity() {
    fn options(path: &str, command: &clap::Command, all: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        for arg in command.get_arguments() {
            // An option is numeric if its default is a number, or if it is one of `optional` below.
            let number = arg.get_default_values().iter().any(|text| {
                let text = text.to_str().unwrap_or_default();
                text.parse::<f64>().is_ok()
            });
            let optional = [
                "delta",
                "off_policy_mask_threshold",
                "temperature",
                "lora_alpha",
            ];
            let optional = optional.contains(&arg.get_id().as_str());
            if let (true, Some(long)) = (number || optional, arg.get_long()) {
                all.push(format!("{path} --{long}"));
            }
        }
        for next in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            options(&path, next, all);
        }
    }
    let mut all = Vec::new();
    for command in Cli::command()
        .get_subcommands()
        .filter(|c| !c.is_hide_set())
    {
        options("", command, &mut all);
    }
    assert!(all.len() > 80, "{}", all.len());
    for option in all {
        for word in ["nan", "inf", "-inf"] {
            let (kind, text) = answer(&format!("{option}={word}"));
            assert_eq!(kind, ErrorKind::ValueValidation, "{option}={word}: {text}");
        }
    }
    let (_, text) = answer("lm grpo --vespo-k-pos=nan");
    assert!(text.contains("\"nan\" is not a finite number"), "{text}");
}

#[test]
fn shell_completions_omit_old_spellings() {
    use clap_complete::Shell;

    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut text = Vec::new();
        clap_complete::generate(
            shell,
            &mut help::without_hidden_commands(Cli::command()),
            NAME,
            &mut text,
        );
        let text = String::from_utf8_lossy(&text);
        for word in ["rollout", "imitate", "overwrite-output-dir", "polyguard"] {
            assert!(text.contains(word), "{shell}: no {word}");
        }
        assert!(
            !text.contains("eval-lm"),
            "{shell} completes an old spelling"
        );
    }
}
