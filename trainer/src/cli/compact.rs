//! `sentinel train`, `sentinel imitate` and `sentinel improve`: a bar on a terminal, lines in a log.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::ArgMatches;
use sentinel_compact as compact;
use sentinel_compact::run::command::{self, TrainCommand};
use sentinel_compact::run::{Event, MODEL_FILE};
use sentinel_compact::{Learn, Method, Scores, TrainConfig};
use sentinel_env::in_world;
use sentinel_run::Outcome;
use sentinel_run::distributed::refuse_ranks;
use sentinel_tensor::device::DeviceName;

use super::interrupt::{interrupted, on_interrupt, print_start};
use super::progress_bar::RunBar;

/// Runs `sentinel train`, `sentinel imitate` and `sentinel improve`.
pub(crate) fn train(command: &TrainCommand, method: Method, matches: &ArgMatches) -> Result<()> {
    refuse_ranks(match method {
        Method::Imitation => "sentinel imitate",
        Method::ExpertIteration => "sentinel improve",
        Method::Grpo => "sentinel train",
    })?;
    let config = command.config(method, matches)?;
    let world = command::config_world(&config)?;
    let run_dir = command.run.run_dir()?;
    print_start(&command.run, &run_dir);
    let (tasks, baselines) = in_world!(world, W => {
        (config.task_names::<W>(), <W as Learn>::BASELINES.join(","))
    });
    // Unknown tasks stop the run before anything is shown.
    let mut view = View::new(&config, tasks.unwrap_or_default());
    let stop = on_interrupt()?;
    let done = in_world!(world, W => {
        compact::train_until::<W>(&config, &run_dir, stop, &mut |event| view.show(event))
    });
    view.progress.close();
    if done? == Outcome::Interrupted {
        return Err(interrupted(&run_dir.path));
    }
    let Some(scores) = view.test.take() else {
        bail!("the run ended without a measurement on its test seeds");
    };
    let mut text = format!(
        "test seeds {}, independent streams: {}\n",
        config.test_seeds,
        describe_scores(&view.tasks, &scores)
    );
    let _ = writeln!(text, "wrote {}", run_dir.path.join(MODEL_FILE).display());
    let _ = writeln!(
        text,
        "compare it: sentinel eval --world {} --rules {} --streams independent {} --seeds {} \
         --policies {},trained --model {}",
        config.world,
        config.rules,
        config.task_options_text("task"),
        config.test_seeds,
        baselines,
        run_dir.path.display()
    );
    super::output::print(&text)
}

fn describe_scores(tasks: &[&str], scores: &Scores) -> String {
    let tasks: Vec<String> = (tasks.iter().zip(&scores.tasks))
        .map(|(task, score)| format!("{task} {score:.4}"))
        .collect();
    format!("score {:.4} ({})", scores.overall, tasks.join(", "))
}

/// The progress display of a training run.
struct View {
    progress: RunBar,
    total: usize,
    device: DeviceName,
    validation: String,
    test: Option<Scores>,
    tasks: Vec<&'static str>,
    env_steps: f64,
}

impl View {
    fn new(config: &TrainConfig, tasks: Vec<&'static str>) -> Self {
        Self {
            progress: RunBar::new(config.max_steps, 24),
            total: config.max_steps,
            device: config.device,
            validation: String::new(),
            test: None,
            tasks,
            env_steps: 0.0,
        }
    }

    fn show(&mut self, event: &Event) {
        match event {
            Event::Started {
                resumed_at,
                parameters,
                ..
            } => {
                let from = self.progress.begin(*resumed_at, "update");
                self.progress.line(&format!(
                    "{parameters} parameters on {}, {} updates{from}",
                    self.device, self.total
                ));
            }
            Event::Step { step, metrics, .. } => {
                self.progress.bar.set_position(*step as u64);
                let get = |name: &str| metrics.get(name).copied();
                let all = get("num_env_steps").unwrap_or(0.0);
                let rate = (all - self.env_steps) / get("step_time").unwrap_or(1.0);
                self.env_steps = all;
                let mut text = format!("reward {:.3}", get("reward").unwrap_or(0.0));
                for (name, short) in [("kl", "kl"), ("entropy", "entropy")] {
                    if let Some(value) = get(name) {
                        let _ = write!(text, " {short} {value:.3}");
                    }
                }
                let _ = write!(text, " {:.0}k steps/s{}", rate / 1000.0, self.validation);
                self.progress.bar.set_message(text);
            }
            Event::Eval { step, scores, .. } => {
                self.validation = format!(" val {:.4}", scores.overall);
                self.progress.line(&format!(
                    "update {step}/{}: validation {}",
                    self.total,
                    describe_scores(&self.tasks, scores)
                ));
            }
            Event::Warning { text, .. } => self.progress.line(text),
            Event::Finished { scores, .. } => self.test.clone_from(scores),
            Event::Data { .. } | Event::Saved { .. } | Event::Interrupted { .. } => {}
        }
    }
}
