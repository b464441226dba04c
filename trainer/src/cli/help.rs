//! Help texts: the groups of commands, and the defaults of the chosen world.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, Command};
use sentinel_compact::config::Method;
use sentinel_compact::run::command::with_defaults;
use sentinel_env::polyguard::AXES;
use sentinel_env::rng::Streams;
use sentinel_env::{Named as _, TaskName as _, WorldName, in_world};
use sentinel_play::eval::Evaluated;

/// The groups of commands; of `lm`, the help lists the subcommands.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Environments",
        &[
            "eval", "record", "replay", "analyze", "trace", "bench", "rules", "bound", "ablate",
        ],
    ),
    ("Compact training", &["train", "imitate", "improve"]),
    ("Language models", &["lm"]),
    (
        "Evidence",
        &[
            "reward-report",
            "cluster-health",
            "plots",
            "report",
            "sweep",
            "gate",
            "activate",
            "model-status",
            "check",
        ],
    ),
    ("Hugging Face Hub", &["hf-job", "upload", "pull"]),
    ("Server", &["serve"]),
    ("Other", &["doctor", "completions", "help"]),
];
/// The largest number of tasks that help lists.
const TASKS_LISTED: usize = 6;

/// The options that the help depends on, read before the command line is parsed.
struct HelpContext {
    world: WorldName,
    quick: bool,
}

impl HelpContext {
    /// Looks for `--world` and `--quick` and ignores all else; errors are reported later.
    fn new(words: &[OsString]) -> Self {
        let mut look = Self {
            world: WorldName::default(),
            quick: false,
        };
        let mut words = words.iter().filter_map(|word| word.to_str());
        while let Some(word) = words.next() {
            let world = match word.strip_prefix("--world") {
                Some("") => words.next(),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            look.world = world.and_then(WorldName::parse).unwrap_or(look.world);
            look.quick |= word == "--quick";
        }
        look
    }
}

/// Returns the command with its help: groups, the defaults of the world that `words` choose, and
/// option names that may be written with `_` for `-`, as Hugging Face's are.
pub(super) fn with_help(root: Command, words: &[OsString]) -> Command {
    let HelpContext { world, quick } = HelpContext::new(words);
    let train = |command| with_defaults(command, Method::Grpo, world, quick);
    let imitate = |command| with_defaults(command, Method::Imitation, world, quick);
    let improve = |command| with_defaults(command, Method::ExpertIteration, world, quick);
    let root = at(at(root, &["train"], &train), &["imitate"], &imitate);
    let root = at(root, &["improve"], &improve);
    let root = without_other_axes(with_world_help(root, world), world);
    let groups = groups(&root);
    underscored(root.help_template(template(&groups)))
}

/// Returns the command without the subcommands that help hides.
pub(super) fn without_hidden_commands(root: Command) -> Command {
    let shown = |command: &&Command| !command.is_hide_set();
    let kept: Vec<Command> = root.get_subcommands().filter(shown).cloned().collect();
    let name = root.get_name().to_owned();
    let args: Vec<Arg> = root.get_arguments().cloned().collect();
    Command::new(name).args(args).subcommands(kept)
}

fn template(groups: &str) -> StyledStr {
    let text = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {{options}}{{after-help}}"
    );
    text.into()
}

/// Returns the text of the groups of commands, one command per line.
fn groups(root: &Command) -> String {
    let styles = root.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let about = |command: &Command| {
        let about = command.get_about().map(ToString::to_string);
        about.unwrap_or_default()
    };
    let mut text = String::new();
    for (title, names) in GROUPS {
        let mut lines = Vec::new();
        for name in names {
            let Some(command) = root.find_subcommand(name) else {
                // clap adds this one itself.
                lines.push((
                    (*name).to_owned(),
                    "Print this message or the help of a command".to_owned(),
                ));
                continue;
            };
            let own: Vec<&Command> = command.get_subcommands().collect();
            if *name == "lm" {
                let of_lm = |own: &&Command| (format!("{name} {}", own.get_name()), about(own));
                lines.extend(own.iter().map(of_lm));
            } else {
                lines.push(((*name).to_owned(), about(command)));
            }
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for (name, about) in lines {
            let _ = writeln!(text, "  {literal}{name:<16}{literal:#} {about}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{header}Options:{header:#}");
    text
}

/// Returns the command with option names that may be written with `_` for `-`.
fn underscored(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let names = arg.get_long().into_iter().map(str::to_owned);
        let names = names.chain(
            arg.get_all_aliases()
                .into_iter()
                .flatten()
                .map(|name| (*name).to_owned()),
        );
        let with_dash = names.filter(|name| name.contains('-'));
        let others: Vec<String> = with_dash.map(|name| name.replace('-', "_")).collect();
        arg.aliases(others)
    });
    command.mut_subcommands(underscored)
}

/// The commands that play episodes: path, default stream mode, and `true` if they play the tasks of
/// an evaluation by default, `false` if they play all.
const EPISODES: [(&[&str], Streams, bool); 8] = [
    (&["eval"], Streams::Reference, true),
    (&["record"], Streams::Reference, false),
    (&["bench"], Streams::Independent, false),
    (&["rules"], Streams::Independent, false),
    (&["trace"], Streams::Reference, false),
    (&["lm", "rollout"], Streams::Reference, true),
    (&["lm", "eval"], Streams::Independent, false),
    (&["lm", "grpo"], Streams::Independent, false),
];

/// Returns the command whose help names the tasks, policies and defaults of a world.
fn with_world_help(root: Command, world: WorldName) -> Command {
    in_world!(world, W => {
        EPISODES.into_iter().fold(root, |root, (path, streams, evaluates)| {
            let task = Some(<W as Evaluated>::DEFAULT_TASK.filter(|_| evaluates).unwrap_or("all"));
            at(root, path, &|command| of_world::<W>(command, streams, task))
        })
    })
}

/// Returns the command whose help hides the options that select tasks of other worlds only, in
/// every subcommand with a choice of worlds.
fn without_other_axes(command: Command, world: WorldName) -> Command {
    let has_choice = command
        .get_arguments()
        .any(|arg| arg.get_id().as_str() == "world");
    let is_other = |id: &str| {
        let option = id.replace('_', "-");
        let axis = AXES.iter().find(|axis| axis.option == option);
        axis.is_some_and(|axis| axis.world != world.name())
    };
    let command = command.mut_args(|arg| {
        let is_hidden = arg.is_hide_set() || (has_choice && is_other(arg.get_id().as_str()));
        arg.hide(is_hidden)
    });
    command.mut_subcommands(|next| without_other_axes(next, world))
}

/// Applies `change` to the subcommand at `path`.
fn at(command: Command, path: &[&str], change: &dyn Fn(Command) -> Command) -> Command {
    match path {
        [] => change(command),
        // `mut_subcommand` would move it behind the others.
        [first, rest @ ..] => command.mut_subcommands(|next| {
            if next.get_name() == *first {
                at(next, rest, change)
            } else {
                next
            }
        }),
    }
}

fn of_world<W: Evaluated>(command: Command, streams: Streams, task: Option<&str>) -> Command {
    let policies = || {
        let names = W::PolicyName::NAMES.iter().copied();
        names.collect::<Vec<_>>().join(", ")
    };
    let tasks: Vec<&str> = W::Task::ALL.iter().map(|task| task.name()).collect();
    command.mut_args(|arg| match arg.get_id().as_str() {
        "streams" => append_help(arg, &default(W::streams_or_default(streams).name())),
        "task" if arg.get_default_values().is_empty() => {
            let listed = if tasks.len() > TASKS_LISTED {
                String::new()
            } else {
                format!(": {}", tasks.join(", "))
            };
            // A trace plays a single task and has no default.
            let usual = task.filter(|_| {
                arg.get_help()
                    .is_some_and(|help| help.to_string().contains("or all"))
            });
            append_help(arg, &(listed + &usual.map(default).unwrap_or_default()))
        }
        "policy" => append_help(arg, &format!(" ({})", policies())),
        "policies" if arg.get_default_values().is_empty() => append_help(
            arg,
            &format!(" ({}){}", policies(), default(W::DEFAULT_POLICIES)),
        ),
        _ => arg,
    })
}

fn default(value: &str) -> String {
    format!(" [default: {value}]")
}

/// Returns the option with `more` appended to its help.
fn append_help(arg: Arg, more: &str) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(help + more)
}
