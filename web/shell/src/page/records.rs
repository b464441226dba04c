//! Recorded results: training runs side by side, checkpoints on one episode, and reports.

use super::training::LEARNER;
use super::*;

/// Creates the engines' pool: one for each world, one that reads training
/// logs and reports, and one that trains.
pub(super) fn engine_pool(mut programs: Vec<Program>) -> EnginePool {
    programs.push(Program {
        world: RECORDS.to_owned(),
        module: browser::program("records-engine"),
        ..Program::default()
    });
    programs.push(Program {
        world: LEARNER.to_owned(),
        module: browser::program("learner-engine"),
        ..Program::default()
    });
    EnginePool::new(browser::engine_script(), programs)
}

impl Page {
    /// Requests what a screen of recorded results shows; `world` has the training run that is shown
    /// if `runs` names none.
    pub fn request_records(&self, screen: Screen, world: String, runs: String) {
        if screen == Screen::Training {
            self.send(Role::Play, &Request::Checkpoints);
            self.send(Role::Records, &Request::Training { world, runs });
        } else {
            self.send(Role::Records, &Request::Results { world });
        }
    }

    /// Adds a training run to the Training screen, from the text of its `trainer_state.json`, and
    /// shows it beside the runs that are shown.
    pub fn add_run(&self, name: String, text: String) {
        let request = Request::File {
            name,
            content: Ok(text.into_bytes()),
            dropped: true,
        };
        self.send(Role::Records, &request);
    }

    /// Shows what a query stands for: the screen and its runs, or an episode, with the settings of
    /// this visit.
    pub fn open_query(&self, query: &str) {
        let (mut there, _) = self.parse(query);
        self.playing.set(false);
        if there.screen.is_of_records() {
            return self.state.update(|state| {
                (state.screen, state.runs) = (there.screen, there.runs);
            });
        }
        self.cache_state();
        self.keep_training_form(&mut there);
        self.state.update(|state| {
            *state = PageState {
                truth: state.truth && there.world == state.world,
                embed: state.embed,
                theme: state.theme,
                speed: state.speed,
                ..there
            }
        });
        window().scroll_to_with_x_and_y(0.0, 0.0);
    }

    /// Parses a query; the second part are sentences about what was not understood.
    pub fn parse(&self, query: &str) -> (PageState, Vec<String>) {
        self.programs.with_value(|programs| {
            let worlds = programs.iter().map(|program| program.world.as_str());
            parse_query(query, &worlds.collect::<Vec<_>>())
        })
    }
}
