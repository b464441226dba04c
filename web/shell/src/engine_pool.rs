//! The running engines: one for each world visited lately, some for tournaments, and one for
//! recorded results.

use std::rc::Rc;

use sentinel_page_protocol::Request;

use crate::dropped_files::DroppedFiles;
use crate::engine::{Engine, EngineEvent};

/// Largest number of worlds whose engines are kept running.
const WORLDS_MAX: usize = 3;

/// Purpose of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Plays the episodes that are shown.
    Play,
    /// Plays a part of a tournament, so that episodes never wait for it. Engine 0 gathers the
    /// scores.
    Tournament(u8),
    /// Analyzes a part of the steps of an episode; the engine that plays it analyzes the others.
    Analysis(u8),
    /// Plays one episode with every policy, so that it needs not wait for a tournament.
    Comparison,
    /// Plays the episodes over which the first screen computes a mean.
    Mean,
    /// Reads training logs and reports.
    Records,
    /// Trains a policy in the page.
    Learn,
    /// Plays parts of the episodes of a training run.
    Rollouts(u8),
    /// Plays the validation episodes of a training run with other players.
    Rivals,
}

impl Role {
    /// Returns `true` for every part of a tournament.
    #[must_use]
    pub const fn is_tournament(self) -> bool {
        matches!(self, Self::Tournament(_))
    }

    /// Returns `true` for every part of a tournament or an analysis.
    #[must_use]
    pub const fn is_divided(self) -> bool {
        self.is_tournament() || self.is_analysis()
    }

    /// Returns `true` for every engine of a training run that plays or learns.
    #[must_use]
    pub const fn is_training(self) -> bool {
        matches!(self, Self::Learn | Self::Rollouts(_))
    }

    /// Returns `true` for every part of an analysis.
    #[must_use]
    pub const fn is_analysis(self) -> bool {
        matches!(self, Self::Analysis(_))
    }
}

/// Name of the engine that reads training logs and reports; no world has it.
pub const RECORDS: &str = "records";

/// A world for which the page has an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Name of the world in the address.
    pub world: String,
    /// Address of the engine's program.
    pub module: String,
    /// Title of the world's tab.
    pub title: String,
    /// Sentences about the purpose of the project, with this world as the example.
    pub purpose: String,
    /// Name of the screen that asks the world's question.
    pub spot: String,
    /// The question that the world asks a visitor.
    pub question: String,
    /// One sentence about how to answer it.
    pub hint: String,
    /// Notice that is always visible above the world; empty for none.
    pub warning: String,
    /// `rows` if the suspects have long names, which need rows on a phone; empty otherwise.
    pub board: String,
}

/// A running engine with its world and purpose.
struct Running {
    world: String,
    role: Role,
    engine: Engine,
    /// Numbers of the dropped files that were lent to it.
    lent: Vec<u32>,
}

type Listener = Rc<dyn Fn(&str, Role, EngineEvent)>;

/// Engines that are started when needed and kept while they are in use.
pub struct EnginePool {
    script: String,
    programs: Vec<Program>,
    /// Running engines, the most recently used last.
    running: Vec<Running>,
    /// Files for engines that need them later.
    dropped: DroppedFiles,
    listener: Option<Listener>,
}

impl EnginePool {
    /// Creates a pool without a running engine. `script` is the address of the worker script.
    #[must_use]
    pub fn new(script: String, programs: Vec<Program>) -> Self {
        Self {
            script,
            programs,
            running: Vec::new(),
            dropped: DroppedFiles::default(),
            listener: None,
        }
    }

    /// Sets the function that receives every event, with the world and role of its engine.
    pub fn listen(&mut self, listener: Listener) {
        self.listener = Some(listener);
    }

    /// Sends a request, and first starts the engine if it does not run.
    ///
    /// # Errors
    /// Returns a sentence if the engine cannot be started.
    pub fn send(&mut self, world: &str, role: Role, request: &Request) -> Result<(), String> {
        let mut running = self.running.iter();
        let found = running.position(|r| r.world == world && r.role == role);
        let mut running = match found {
            Some(index) => self.running.remove(index),
            None => {
                let engine = self.start(world, role)?;
                if role == Role::Play {
                    self.dropped.forget_unanswered(world);
                    for file in self.dropped.of_world(world) {
                        engine.send(&file.lent());
                    }
                    if *request != Request::Describe {
                        engine.send(&Request::Describe);
                    }
                }
                Running {
                    world: world.to_owned(),
                    role,
                    engine,
                    lent: Vec::new(),
                }
            }
        };
        if role != Role::Play {
            for file in self.dropped.named_in(world, request) {
                if !running.lent.contains(&file.id()) {
                    running.lent.push(file.id());
                    running.engine.send(&file.lent());
                }
            }
        }
        running.engine.send(request);
        self.running.push(running);
        if found.is_none() {
            self.drop_oldest(role);
        }
        Ok(())
    }

    /// Returns `true` if a dropped file of this size can be kept beside the others.
    #[must_use]
    pub fn has_room(&self, size: f64) -> bool {
        self.dropped.has_room(size)
    }

    /// Sends a file that the visitor dropped to the engine that plays.
    ///
    /// # Errors
    /// Returns a sentence if the engine cannot be started.
    pub fn drop_file(&mut self, world: &str, name: String, content: Vec<u8>) -> Result<(), String> {
        let request = Request::File {
            name: name.clone(),
            content: Ok(content.clone()),
            dropped: true,
        };
        self.send(world, Role::Play, &request)?;
        self.dropped.add(world, name, content);
        Ok(())
    }

    /// Keeps a dropped file that is a player for other engines of its world, and forgets one that is
    /// none. Engines that have an earlier file of this player get the new one.
    pub fn keep_file(&mut self, world: &str, name: &str, player: &str) {
        let Some((file, old)) = self.dropped.resolve(world, name, player) else {
            return;
        };
        for running in &mut self.running {
            if running.world == world && running.lent.contains(&old) {
                running.lent.push(file.id());
                running.engine.send(&file.lent());
            }
        }
    }

    /// Sends a request to the running engines of a world whose role `is_addressed` accepts.
    pub fn send_running(&self, world: &str, is_addressed: fn(Role) -> bool, request: &Request) {
        for running in &self.running {
            if running.world == world && is_addressed(running.role) {
                running.engine.send(request);
            }
        }
    }

    fn start(&self, world: &str, role: Role) -> Result<Engine, String> {
        let program = self.programs.iter().find(|program| program.world == world);
        let program = program.ok_or("The page has no engine for this world.")?;
        let (world, listener) = (world.to_owned(), self.listener.clone());
        Engine::start(&self.script, &program.module, move |event| {
            if let Some(listener) = &listener {
                listener(&world, role, event);
            }
        })
    }

    fn drop_oldest(&mut self, role: Role) {
        let kept = match role {
            Role::Play => WORLDS_MAX,
            Role::Tournament(_)
            | Role::Analysis(_)
            | Role::Comparison
            | Role::Mean
            | Role::Records
            | Role::Learn
            | Role::Rollouts(_)
            | Role::Rivals => 1,
        };
        let count = self.running.iter().filter(|r| r.role == role).count();
        if count > kept {
            let oldest = self.running.iter().position(|r| r.role == role);
            self.running.remove(oldest.unwrap_or(0));
        }
    }

    /// Terminates an engine; the next request starts it again.
    pub fn stop(&mut self, world: &str, role: Role) {
        self.running
            .retain(|running| running.world != world || running.role != role);
    }

    /// Terminates the engines of all worlds whose role `is_over` accepts.
    pub fn stop_all(&mut self, is_over: fn(Role) -> bool) {
        self.running.retain(|running| !is_over(running.role));
    }
}
