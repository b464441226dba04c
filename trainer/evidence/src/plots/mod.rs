//! `sentinel plots`: twelve charts, each from files that the program wrote. A chart whose input is
//! missing is not drawn, and the reason names the file and the command that makes it.

mod ablation;
mod cluster;
mod comparison;
mod eval_file;
mod report_file;
mod reward_report_charts;
mod sourced_chart;
#[cfg(test)]
mod tests;
mod training;

use std::path::{Path, PathBuf};

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};

use self::sourced_chart::SourcedChart;
use super::charts::{Chart, ChartFiles};
use super::input::EvidenceError;

/// A function that draws a chart from the files that the options name.
type Draw = fn(&PlotsConfig) -> Result<SourcedChart, EvidenceError>;

/// The charts in the order of the published ones: the name, which is that of its files, and the function
/// that draws it.
const CHARTS: [(&str, Draw); 12] = [
    ("baseline_grouped_bars", |options| {
        comparison::baseline_grouped_bars(options.pre.as_deref(), &options.post)
    }),
    ("grpo_reward_curve", |options| {
        training::grpo_reward_curve(&options.trainer_state)
    }),
    ("trust_evolution", |options| {
        reward_report_charts::trust_evolution(&options.reward_report_task3)
    }),
    ("detection_vs_poisoning", |options| {
        comparison::detection_vs_poisoning(&options.post)
    }),
    ("cluster_health_timeline", |options| {
        cluster::cluster_health_timeline(&options.cluster_health)
    }),
    ("task_radar", |options| {
        comparison::task_radar(&options.post)
    }),
    ("ablation", |options| ablation::ablation(&options.ablation)),
    ("baseline_delta_lines", |options| {
        comparison::baseline_delta_lines(&options.post)
    }),
    ("cluster_health_policy_lines", |options| {
        cluster::cluster_health_policy_lines(&options.cluster_health)
    }),
    ("trust_gap_over_time", |options| {
        reward_report_charts::trust_gap_over_time(&options.reward_report_task3)
    }),
    ("reward_component_stacked_area", |options| {
        reward_report_charts::reward_component_stacked_area(&options.reward_report_task3)
    }),
    ("failure_fishbone_map", |options| {
        reward_report_charts::failure_fishbone_map(&options.analyzed())
    }),
];

/// The names of the charts, which are those of their files, in the order of the published ones.
pub const CHART_NAMES: [&str; CHARTS.len()] = {
    let mut names = [""; CHARTS.len()];
    let mut index = 0;
    while index < CHARTS.len() {
        names[index] = CHARTS[index].0;
        index += 1;
    }
    names
};

/// The configuration of `sentinel plots`.
#[derive(Clone, Debug, clap::Args)]
pub struct PlotsConfig {
    /// The evaluation before training; it may be missing unless it is named
    #[arg(long, value_name = "FILE")]
    pub pre: Option<PathBuf>,
    /// The evaluation after training, by `sentinel eval --out`
    #[arg(long, value_name = "FILE", default_value = "outputs/eval_post.json")]
    pub post: PathBuf,
    /// The logs of training: one file, or one of each training seed
    #[arg(long, value_name = "FILE", num_args = 1.., default_value = "outputs/grpo/trainer_state.json")]
    pub trainer_state: Vec<PathBuf>,
    /// The report of one episode, by `sentinel reward-report`
    #[arg(
        long,
        visible_alias = "reward-report",
        value_name = "FILE",
        default_value = "outputs/reward_report_task3_seed42.json"
    )]
    pub reward_report_task3: PathBuf,
    /// The history of the cluster's health, by `sentinel cluster-health`
    #[arg(
        long,
        value_name = "FILE",
        default_value = "outputs/cluster_health_history.json"
    )]
    pub cluster_health: PathBuf,
    /// Evaluations of policies that were trained without a feature: a folder of them, or a JSON
    /// file that lists them
    #[arg(long, value_name = "PATH", default_value = "outputs/ablation")]
    pub ablation: PathBuf,
    /// Reports whose causes of lost reward are counted: files or folders [default: the report of
    /// --reward-report-task3]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub analysis: Vec<PathBuf>,
    /// The charts to draw, separated by commas [default: all]
    #[arg(long, value_name = "LIST")]
    pub only: Option<String>,
    /// The folder for the charts, which is made if it is missing
    #[arg(
        long,
        visible_alias = "out",
        value_name = "DIR",
        default_value = "outputs/charts"
    )]
    pub out_dir: PathBuf,
}

/// The result of drawing the charts.
#[derive(Debug, Default)]
pub struct DrawnCharts {
    /// The charts that were drawn, by name.
    pub drawn: Vec<(&'static str, ChartFiles)>,
    /// The charts that were not drawn, with the reason.
    pub not_drawn: Vec<(&'static str, EvidenceError)>,
}

impl PlotsConfig {
    /// Returns the names of the charts to draw, in their order.
    ///
    /// # Errors
    /// Returns an error that lists the names if one is unknown or occurs twice.
    pub fn names(&self) -> Result<Vec<&'static str>, Error> {
        let Some(only) = &self.only else {
            return Ok(CHART_NAMES.to_vec());
        };
        let known = |word: &str| {
            let found = CHART_NAMES.into_iter().find(|name| *name == word);
            found.ok_or_else(|| format!("unknown chart {word:?}: use {}", CHART_NAMES.join(", ")))
        };
        sentinel_base::arg_parsers::parse_list("chart", only, known)
            .map_err(|reason| Error::argument("--only", reason))
    }

    /// Returns the paths of the reports whose causes are counted.
    fn analyzed(&self) -> Vec<&Path> {
        if self.analysis.is_empty() {
            vec![&self.reward_report_task3]
        } else {
            self.analysis.iter().map(PathBuf::as_path).collect()
        }
    }
}

/// Draws the charts whose inputs exist into the folder.
///
/// # Errors
/// Returns an error if a chart is unknown, or a file cannot be written. Charts that cannot be drawn
/// are in [`DrawnCharts::not_drawn`].
pub fn draw(config: &PlotsConfig) -> Result<DrawnCharts, EvidenceError> {
    let names = config.names()?;
    files::create_folder(&config.out_dir)?;
    let mut result = DrawnCharts::default();
    let charts = names
        .iter()
        .filter_map(|name| CHARTS.iter().find(|(other, _)| other == name));
    for (name, draw) in charts {
        match draw(config) {
            Ok(SourcedChart { chart, provenance }) => {
                let chart = with_fallback_note(chart, &provenance);
                match chart.write(&config.out_dir, &provenance) {
                    Ok(files) => result.drawn.push((name, files)),
                    Err(super::charts::ChartError::File(error)) => return Err(error.into()),
                    Err(error) => result.not_drawn.push((name, error.into())),
                }
            }
            Err(error) => result.not_drawn.push((name, error)),
        }
    }
    Ok(result)
}

/// Marks a chart whose numbers depend on a fallback.
fn with_fallback_note(mut chart: Chart, provenance: &Provenance) -> Chart {
    if provenance.is_fallback() {
        let subtitle = chart.subtitle.unwrap_or_default();
        chart.subtitle = Some(format!("{subtitle}; depends on a fallback, see the JSON"));
    }
    chart
}
