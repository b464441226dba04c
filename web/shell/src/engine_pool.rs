//! The running engines: one for each world visited lately, one for tournaments, and one for recorded
//! results.

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
    /// Plays tournaments, so that episodes never wait for them.
    Tournament,
    /// Reads training logs and reports.
    Records,
}

/// Name of the engine that reads training logs and reports; no world has it.
pub const RECORDS: &str = "records";

/// A world for which the page has an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of the world in the address.
    pub world: String,
    /// Address of the engine's program.
    pub module: String,
    /// Title of the world's tab.
    pub title: String,
}

type Listener = Rc<dyn Fn(&str, Role, EngineEvent)>;

/// Engines that are started when needed and kept while they are in use.
pub struct EnginePool {
    script: String,
    programs: Vec<Program>,
    /// Running engines, the most recently used last.
    running: Vec<(String, Role, Engine)>,
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
            Role::Tournament | Role::Records => 1,
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
}
