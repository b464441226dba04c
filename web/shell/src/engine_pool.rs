//! The running engines: one for each world visited lately, some for tournaments, and one for
//! recorded results.

use std::rc::Rc;

use sentinel_page_protocol::Request;

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

/// A file that the visitor dropped.
struct DroppedFile {
    world: String,
    name: String,
    content: Vec<u8>,
}

type Listener = Rc<dyn Fn(&str, Role, EngineEvent)>;

/// Engines that are started when needed and kept while they are in use.
pub struct EnginePool {
    script: String,
    programs: Vec<Program>,
    /// Running engines, the most recently used last.
    running: Vec<(String, Role, Engine)>,
    /// Files for engines that start later.
    dropped: Vec<DroppedFile>,
    listener: Option<Listener>,
}

impl EnginePool {
    /// Creates a pool without a running engine. `script` is the address of the worker script.
    #[must_use]
    pub const fn new(script: String, programs: Vec<Program>) -> Self {
        Self {
            script,
            programs,
            running: Vec::new(),
            dropped: Vec::new(),
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
        let found = self
            .running
            .iter()
            .position(|(w, r, _)| w == world && *r == role);
        match found {
            Some(index) => {
                let engine = self.running.remove(index);
                self.running.push(engine);
            }
            None => {
                let engine = self.start(world, role)?;
                for file in self.dropped.iter().filter(|file| file.world == world) {
                    engine.send(&lent(file));
                }
                if role == Role::Play && *request != Request::Describe {
                    engine.send(&Request::Describe);
                }
                self.running.push((world.to_owned(), role, engine));
                self.drop_oldest(role);
            }
        }
        if let Some((_, _, engine)) = self.running.last() {
            engine.send(request);
        }
        Ok(())
    }

    /// Sends a file that the visitor dropped to the engine that plays, and lends it to the other
    /// engines of the world, also to those that start later.
    ///
    /// # Errors
    /// Returns a sentence if the engine cannot be started.
    pub fn drop_file(&mut self, world: &str, name: String, content: Vec<u8>) -> Result<(), String> {
        let request = Request::File {
            name: name.clone(),
            content: Ok(content.clone()),
            dropped: true,
        };
        let sent = self.send(world, Role::Play, &request);
        let file = DroppedFile {
            world: world.to_owned(),
            name,
            content,
        };
        self.send_running(world, |role| role != Role::Play, &lent(&file));
        self.dropped
            .retain(|old| old.world != file.world || old.name != file.name);
        self.dropped.push(file);
        sent
    }

    /// Sends a request to the running engines of a world whose role `is_addressed` accepts.
    pub fn send_running(&self, world: &str, is_addressed: fn(Role) -> bool, request: &Request) {
        for (running, role, engine) in &self.running {
            if running == world && is_addressed(*role) {
                engine.send(request);
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
            | Role::Records => 1,
        };
        let count = self.running.iter().filter(|(_, r, _)| *r == role).count();
        if count > kept {
            let oldest = self.running.iter().position(|(_, r, _)| *r == role);
            self.running.remove(oldest.unwrap_or(0));
        }
    }

    /// Terminates an engine; the next request starts it again.
    pub fn stop(&mut self, world: &str, role: Role) {
        self.running.retain(|(w, r, _)| w != world || *r != role);
    }

    /// Terminates the engines of all worlds whose role `is_over` accepts.
    pub fn stop_all(&mut self, is_over: fn(Role) -> bool) {
        self.running.retain(|(_, role, _)| !is_over(*role));
    }
}

/// Returns the message that lends a file to an engine.
fn lent(file: &DroppedFile) -> Request {
    Request::Lend {
        name: file.name.clone(),
        content: file.content.clone(),
    }
}
