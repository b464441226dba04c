//! A bounded table of sessions with an idle time and a maximal age.
//!
//! A session leaves the table when its owner drops or closes it, when it was not used for the idle
//! time, when it is older than the maximal age, or, in a table that evicts, when newer sessions need
//! its place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// The behavior of a full table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// A new session is refused.
    Refuse,
    /// The session that was not used for the longest time ends.
    Evict,
}

/// The reason why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// It was not used for the idle time.
    Idle,
    /// It reached the maximal age.
    Age,
}

impl SessionEnd {
    /// Returns the reason in a few words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Idle => "session ended: it was not used for the idle time",
            Self::Age => "session ended: it reached the maximal age",
        }
    }
}

/// The error for a full table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Server at capacity: {active}/{max} sessions active. Cannot accept new connections.")]
pub struct AtCapacity {
    /// Number of sessions in the table.
    pub active: usize,
    /// Largest number of sessions.
    pub max: usize,
}

/// The error for an operating system that gives no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the operating system gives no random numbers ({0}): session ids and seeds would be guessable, so none is made"
)]
pub struct NoEntropy(pub getrandom::Error);

/// The reason why a session was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The table is full.
    #[error(transparent)]
    Full(#[from] AtCapacity),
    /// There is no random id.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

/// A source of 64 random bits.
type RandomBits = fn() -> Result<u64, NoEntropy>;

/// A session of the table.
#[derive(Debug)]
pub struct Session<T> {
    id: String,
    value: Mutex<T>,
    created: Instant,
    used: Mutex<Instant>,
    attachment: Mutex<Attachment>,
    ended: CancellationToken,
}

/// The relation of a session to a WebSocket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attachment {
    #[default]
    Free,
    Attached,
    /// Attached, and to be closed once it is detached.
    Closing,
}

impl<T> Session<T> {
    /// Returns the id of the session: 122 random bits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Locks the value of the session and marks the session as used.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        *lock(&self.used) = Instant::now();
        lock(&self.value)
    }

    /// Locks the value of the session without marking the session as used, for those who only watch.
    pub fn watch(&self) -> MutexGuard<'_, T> {
        lock(&self.value)
    }

    /// Returns the token that is canceled when the session leaves the table.
    #[must_use]
    pub const fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// Marks the session as attached to a WebSocket; `false` if it is attached already.
    pub fn attach(&self) -> bool {
        let mut attachment = lock(&self.attachment);
        let free = *attachment == Attachment::Free;
        if free {
            *attachment = Attachment::Attached;
        }
        free
    }

    /// Marks the session as no longer attached; `true` if it is to be closed now.
    pub fn detach(&self) -> bool {
        let was = std::mem::take(&mut *lock(&self.attachment));
        was == Attachment::Closing
    }

    /// Asks for the session to be closed once it is detached; `false` if it is not attached.
    pub fn close_on_detach(&self) -> bool {
        let mut attachment = lock(&self.attachment);
        let attached = *attachment != Attachment::Free;
        if attached {
            *attachment = Attachment::Closing;
        }
        attached
    }

    /// Returns the reason to end the session at `now`, if there is one.
    #[must_use]
    pub fn expiry(&self, idle: Duration, age: Duration, now: Instant) -> Option<SessionEnd> {
        let since = |then: Instant| now.saturating_duration_since(then);
        if since(self.created) > age {
            Some(SessionEnd::Age)
        } else if since(*lock(&self.used)) > idle {
            Some(SessionEnd::Idle)
        } else {
            None
        }
    }
}

/// A table of sessions.
#[derive(Debug)]
pub struct Sessions<T> {
    max: usize,
    when_full: WhenFull,
    idle: Duration,
    age: Duration,
    random: RandomBits,
    table: Mutex<HashMap<String, Arc<Session<T>>>>,
}

impl<T> Sessions<T> {
    /// Creates an empty table.
    #[must_use]
    pub fn new(max: usize, when_full: WhenFull, idle: Duration, age: Duration) -> Self {
        Self {
            max,
            when_full,
            idle,
            age,
            random: random_bits,
            table: Mutex::default(),
        }
    }

    /// Adds a session, whose value `new` makes from its id.
    ///
    /// # Errors
    /// If the table is full and refuses, or if there are no random numbers for the id.
    pub fn open(&self, new: impl FnOnce(&str) -> T) -> Result<Arc<Session<T>>, OpenError> {
        let id = random_id(self.random)?;
        let mut table = lock(&self.table);
        while table.len() >= self.max {
            match (self.when_full, oldest(&table)) {
                (WhenFull::Evict, Some(id)) => end(table.remove(&id)),
                _ => {
                    let active = table.len();
                    let max = self.max;
                    return Err(AtCapacity { active, max }.into());
                }
            }
        }
        let session = Arc::new(Session {
            value: Mutex::new(new(&id)),
            id: id.clone(),
            created: Instant::now(),
            used: Mutex::new(Instant::now()),
            attachment: Mutex::default(),
            ended: CancellationToken::new(),
        });
        table.insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// Returns the session with this id, if it is in the table and not expired.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<Session<T>>> {
        let found = lock(&self.table).get(id).cloned()?;
        match found.expiry(self.idle, self.age, Instant::now()) {
            None => Some(found),
            Some(_) => {
                self.close(id);
                None
            }
        }
    }

    /// Ends a session; `false` if there is none with this id.
    pub fn close(&self, id: &str) -> bool {
        let removed = lock(&self.table).remove(id);
        let found = removed.is_some();
        end(removed);
        found
    }

    /// Ends the sessions that are idle or too old, and returns how many.
    pub fn end_expired(&self) -> usize {
        let now = Instant::now();
        let mut table = lock(&self.table);
        let expired: Vec<String> = table
            .values()
            .filter(|session| session.expiry(self.idle, self.age, now).is_some())
            .map(|session| session.id.clone())
            .collect();
        for id in &expired {
            end(table.remove(id));
        }
        expired.len()
    }

    /// Returns the number of sessions.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.table).len()
    }

    /// Returns `true` if there is no session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the largest number of sessions.
    #[must_use]
    pub const fn max(&self) -> usize {
        self.max
    }

    /// Returns the time after which a session that is not used ends.
    #[must_use]
    pub const fn idle(&self) -> Duration {
        self.idle
    }
}

/// Returns the id of the session that was not used for the longest time. Ties are broken by the id.
fn oldest<T>(table: &HashMap<String, Arc<Session<T>>>) -> Option<String> {
    let found = table
        .values()
        .min_by_key(|session| (*lock(&session.used), &session.id))?;
    Some(found.id.clone())
}

fn end<T>(session: Option<Arc<Session<T>>>) {
    if let Some(session) = session {
        session.ended.cancel();
    }
}

/// Locks a mutex, also after a panic of another holder: every value is valid after each step.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns 64 random bits of the operating system.
///
/// # Errors
/// If the system gives none. There is no other source: an id from a clock could be guessed.
pub(crate) fn random_bits() -> Result<u64, NoEntropy> {
    getrandom::u64().map_err(NoEntropy)
}

/// Returns a random UUID of version 4.
fn random_id(random: RandomBits) -> Result<String, NoEntropy> {
    let (high, low) = (random()?, random()?);
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0x0fff);
    let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    Ok(format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn full_table_refuses_or_evicts_the_least_recently_used() {
        let table = Sessions::new(2, WhenFull::Refuse, LONG, LONG);
        let first = table.open(|_| 1).expect("room");
        table.open(|_| 2).expect("room");
        let error = table.open(|_| 3).expect_err("full");
        assert_eq!(error, AtCapacity { active: 2, max: 2 }.into());
        assert!(table.close(first.id()) && !table.close(first.id()));
        assert!(first.ended().is_cancelled());
        table.open(|_| 3).expect("room again");

        let table = Sessions::new(2, WhenFull::Evict, LONG, LONG);
        let first = table.open(|_| 1).expect("room");
        let second = table.open(|_| 2).expect("room");
        *first.lock() += 1;
        table.open(|_| 3).expect("evicts");
        assert!(table.get(first.id()).is_some() && table.get(second.id()).is_none());
        assert!(second.ended().is_cancelled());
    }

    #[test]
    fn session_without_entropy_is_refused() {
        let broken = || Err(NoEntropy(getrandom::Error::UNSUPPORTED));
        for when_full in [WhenFull::Refuse, WhenFull::Evict] {
            let mut table = Sessions::new(1, when_full, LONG, LONG);
            let first = table.open(|_| ()).expect("room");
            table.random = broken;
            let error = table.open(|_| ()).expect_err("no id");
            assert!(matches!(error, OpenError::NoEntropy(_)));
            assert!(error.to_string().contains("random numbers"), "{error}");
            assert!(table.get(first.id()).is_some(), "the first session stays");
        }
    }

    #[test]
    fn ids_are_random_uuids() {
        let ids: Vec<String> = (0..64)
            .map(|_| random_id(random_bits).expect("an id"))
            .collect();
        for (index, id) in ids.iter().enumerate() {
            assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
            assert!("89ab".contains(&id[19..20]), "{id}");
            assert!(!ids[..index].contains(id));
        }
    }

    #[test]
    fn sessions_expire_by_idle_time_and_age() {
        let table = Sessions::new(9, WhenFull::Refuse, LONG, 2 * LONG);
        let session = table.open(|_| ()).expect("room");
        let start = session.created;
        let at = |after: Duration| session.expiry(LONG, 2 * LONG, start + after);
        assert_eq!(at(LONG / 2), None);
        assert_eq!(at(LONG + LONG / 2), Some(SessionEnd::Idle));
        assert_eq!(at(3 * LONG), Some(SessionEnd::Age));

        let none = Sessions::new(9, WhenFull::Refuse, Duration::ZERO, LONG);
        let id = none.open(|_| ()).expect("room").id().to_owned();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(none.end_expired(), 1);
        assert!(none.get(&id).is_none() && none.is_empty());
    }

    #[test]
    fn attachment_is_exclusive() {
        let table = Sessions::new(1, WhenFull::Refuse, LONG, LONG);
        let session = table.open(|_| ()).expect("room");
        assert!(!session.close_on_detach());
        assert!(session.attach() && !session.attach());
        assert!(!session.detach() && session.attach());
        assert!(session.close_on_detach() && session.detach());
    }
}
