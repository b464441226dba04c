//! The engine of recorded results: it reads training logs and reports and plays nothing, so that no
//! engine of a world contains this code.

mod metrics;
mod report;
mod runs;
mod thinning;
mod training_log;

use std::collections::VecDeque;

use sentinel_page_protocol::{Chart, DeferredReply, Export, Reply, Request};

use crate::export::{NOTHING, chart_file};
use crate::files::text;
use crate::worker::Program;
use report::Reports;
use runs::Runs;

/// The engine of recorded results. Requests that concern episodes are ignored.
#[derive(Default)]
pub struct RecordsEngine {
    runs: Runs,
    reports: Reports,
    /// The charts that were sent last, which the visitor can save.
    charts: Vec<Chart>,
    replies: VecDeque<Reply>,
}

impl std::fmt::Debug for RecordsEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordsEngine")
    }
}

impl Program for RecordsEngine {
    fn handle(&mut self, request: Request) {
        match request {
            Request::Training { world, runs } => {
                let (paths, problems) = self.runs.show(&world, &runs);
                self.replies.extend(paths.into_iter().map(Reply::Need));
                self.replies
                    .extend(problems.into_iter().map(Reply::Problem));
                self.send();
            }
            Request::Export {
                export: Export::Chart { id, png, .. },
                ..
            } => self.export_chart(&id, png),
            Request::Results { world } => {
                let paths = self.reports.request(world);
                self.replies.extend(paths.into_iter().map(Reply::Need));
                self.send();
            }
            Request::File {
                name,
                content,
                dropped: true,
            } => {
                let log = content.and_then(|bytes| text(&name, bytes));
                match log.and_then(|log| self.runs.add_dropped(&name, &log)) {
                    Ok(run) => {
                        self.reply(DeferredReply::FileRead(format!(
                            "{name}: the log of a training run, on the screen “Training”."
                        )));
                        self.reply(DeferredReply::RunAdded(run));
                    }
                    Err(reason) => self.reply(DeferredReply::FileProblem(reason)),
                }
            }
            Request::File {
                name,
                content,
                dropped: false,
            } => self.take_file(&name, content),
            _ => {}
        }
    }

    fn work(&mut self, _is_time_up: impl FnMut() -> bool) -> bool {
        false
    }

    fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }
}

impl RecordsEngine {
    fn reply(&mut self, reply: DeferredReply) {
        self.replies.push_back(reply.into());
    }

    fn take_file(&mut self, path: &str, content: Result<Vec<u8>, String>) {
        let taken = if Reports::has(path) {
            self.reports.take(path, content)
        } else {
            self.runs.take(path, content)
        };
        if let Err(reason) = taken {
            self.replies.push_back(Reply::Problem(reason));
        }
        self.send();
    }

    /// Answers with a drawing of a chart that was sent.
    fn export_chart(&mut self, id: &str, png: bool) {
        let chart = self.charts.iter().find(|chart| chart.id == id);
        self.replies.push_back(match chart {
            Some(chart) => {
                let file = chart_file("sentinel", chart, "Recorded results", png);
                DeferredReply::Exported(file).into()
            }
            None => Reply::Problem(NOTHING.to_owned()),
        });
    }

    /// Sends the screens that are complete.
    fn send(&mut self) {
        let screens = [self.runs.screen(), self.reports.screen()];
        for screen in screens.into_iter().flatten() {
            let sections = screen.sections.iter();
            self.charts = sections
                .flat_map(|section| section.charts.iter().map(|(chart, _)| chart.clone()))
                .collect();
            self.reply(DeferredReply::Records(Box::new(screen)));
        }
    }
}
